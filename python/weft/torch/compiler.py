"""torch.compiler's names over weft.compiler."""

from weft.compiler import disable, is_compiling, reset  # noqa: F401


class set_stance:
    """Accepted: "default", "force_eager", "eager_on_recompile", "fail_on_recompile", "eager_then_compile". A context manager and
    decorator too. What is compiled is so in all of them: results are the same."""

    STANCES = (
        "default",
        "eager_then_compile",
        "aot_eager_then_compile",
        "force_eager",
        "eager_on_recompile",
        "fail_on_recompile",
    )

    def __init__(self, stance="default", *, skip_guard_eval_unsafe=False, force_backend=None):
        if stance not in self.STANCES:
            raise RuntimeError(
                f"torch.compiler.set_stance: expected one of {', '.join(self.STANCES)}, got {stance!r}"
            )
        self.stance = stance

    def __call__(self, function):
        return function

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


def list_backends(exclude_tags=("debug", "experimental")):
    return ["weft"]


def _as_is(fn):
    """The function as it is: weft.compile reads it as any other."""
    return fn


allow_in_graph = assume_constant_result = nested_compile_region = _as_is


def substitute_in_graph(
    original_fn, *, can_constant_fold_through=False, skip_signature_check=False, **kwargs
):
    """A decorator that changes nothing: weft.compile reads the original."""
    return _as_is


def cudagraph_mark_step_begin():
    """Does nothing: there are no CUDA graphs."""


def wrap_numpy(fn):
    """A function of tensors that calls fn with arrays."""
    import functools

    import weft

    def convert(value):
        return value.numpy() if isinstance(value, weft.Tensor) else value

    @functools.wraps(fn)
    def call(*args, **kwargs):
        result = fn(*map(convert, args), **{name: convert(value) for name, value in kwargs.items()})
        return weft.from_numpy(result) if type(result).__module__.startswith("numpy") else result

    return call


def is_dynamo_compiling():
    return is_compiling()


def is_exporting():
    return False


def compile(*args, **kwargs):
    import weft

    return weft.compile(*args, **kwargs)


def save_cache_artifacts():
    """None: kernels are kept in weft's own cache."""


def load_cache_artifacts(serialized_artifacts):
    """None."""


def keep_tensor_guards_unsafe(guard_entries, keep_parameters=False):
    return [True] * len(guard_entries)


skip_guard_on_inbuilt_nn_modules_unsafe = skip_guard_on_all_nn_modules_unsafe = keep_tensor_guards_unsafe
skip_guard_on_globals_unsafe = skip_all_guards_unsafe = keep_tensor_guards_unsafe
