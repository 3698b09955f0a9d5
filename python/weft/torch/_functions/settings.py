"""Settings that PyTorch's programs make and ask for, sizes as numbers, and names of types."""

import math as _math

import weft as _weft
from weft import Tensor as _Tensor
from weft.jit._tracer import current as _current

_state = {
    "deterministic": False,
    "deterministic_warn_only": False,
    "float32_matmul_precision": "highest",
    "warn_always": False,
}


def _assert(condition: bool, message: str):
    """Python's assert as a function.

    raises: AssertionError with the message unless the condition holds.
    """
    assert condition, message


def _assert_async(input, assert_msg="Expected Tensor with single nonzero value, but got zero"):
    """A check of a value that is part of graphs: nothing is given back.

    input: one element of any dtype.
    raises: RuntimeError with the message where it is zero; RuntimeError for tensors of several elements or none.
    """
    if input.numel() != 1:
        kind = "more than one value" if input.numel() else "no values"
        raise RuntimeError(f"Boolean value of Tensor with {kind} is ambiguous")
    _weft.require(input, input != 0, error=assert_msg)


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Notes the choice; weft's operators are deterministic."""
    _state["deterministic"], _state["deterministic_warn_only"] = bool(mode), bool(warn_only)


def are_deterministic_algorithms_enabled():
    """What use_deterministic_algorithms said."""
    return _state["deterministic"]


def is_deterministic_algorithms_warn_only_enabled():
    """What use_deterministic_algorithms said of warnings."""
    return _state["deterministic_warn_only"]


def set_deterministic_debug_mode(debug_mode):
    """0 or 'default', 1 or 'warn', 2 or 'error': use_deterministic_algorithms by one number."""
    names = {"default": 0, "warn": 1, "error": 2}
    if not isinstance(debug_mode, (int, str)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if isinstance(debug_mode, str):
        if debug_mode not in names:
            raise RuntimeError(
                f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}"
            )
        debug_mode = names[debug_mode]
    if debug_mode not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)


def get_deterministic_debug_mode():
    """0, 1 or 2, as set_deterministic_debug_mode has it."""
    if not _state["deterministic"]:
        return 0
    return 1 if _state["deterministic_warn_only"] else 2


def set_float32_matmul_precision(precision):
    """'high' and 'medium' let matrix products of float32 on GPUs round their operands to TF32; 'highest', the usual, does not.

    Products on the CPU are of the highest always.
    raises: RuntimeError for any other text.
    """
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(
            f"float32_matmul_precision: expected 'highest', 'high' or 'medium', got {precision!r}"
        )
    _state["float32_matmul_precision"] = precision
    _weft._C._gpu.allow_tf32(precision != "highest")


def get_float32_matmul_precision():
    """What set_float32_matmul_precision said."""
    return _state["float32_matmul_precision"]


def set_warn_always(b):
    """Notes the choice."""
    if not isinstance(b, bool):
        raise TypeError(f"set_warn_always(): argument must be bool, not {type(b).__name__}")
    _state["warn_always"] = b


def is_warn_always_enabled():
    """What set_warn_always said."""
    return _state["warn_always"]


def set_flush_denormal(mode):
    """Whether subnormal numbers are zero in what this thread computes, and the intra-op threads for it.

    Returns True; False where the processor cannot do so.
    """
    if not isinstance(mode, bool):
        raise TypeError(f"set_flush_denormal expects a bool, but got {type(mode).__name__}")
    return _weft._C._set_flush_denormal(mode)


def get_device(input):
    """The number of a tensor's GPU; -1 of the CPU."""
    if not isinstance(input, _Tensor):
        raise TypeError(
            f"get_device(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}"
        )
    return input.device.index if input.is_cuda else -1


def is_vulkan_available(*args, **kwargs):
    """False."""
    return False


def is_storage(obj):
    """Whether the object is a storage: of tensors it is not."""
    return type(obj).__name__ in ("UntypedStorage", "TypedStorage")


def typename(obj, /):
    """The name of an object's type, with the module; of a tensor PyTorch's name for its dtype."""
    if isinstance(obj, _Tensor):
        return obj.type()
    owner = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(owner, "__module__", None) or ""
    if module in ("", "builtins", "__builtin__"):
        return owner.__qualname__
    if module.partition(".")[0] == "weft":
        module = "torch" + module.removeprefix("weft").removeprefix(".torch")
    return f"{module}.{owner.__qualname__}"


def thread_safe_generator():
    """None: outside of a data loader's threads the default generator is drawn from."""
    return None


def prepare_multiprocessing_environment(path):
    """Nothing is to prepare."""
    return None


def compiled_with_cxx11_abi():
    """True."""
    return True


def compile(
    model=None,
    *,
    fullgraph=False,
    dynamic=None,
    backend=None,
    mode=None,
    options=None,
    name=None,
    disable=False,
    recompile_limit=None,
    isolate_recompiles=False,
    dynamic_shapes=None,
):
    """weft.compile. What is PyTorch's compiler's own is taken and not looked at; backend 'eager' and disable=True give
    the model as it is."""
    if mode is not None and options is not None:
        raise RuntimeError(
            "Either mode or options can be specified, but both can't be specified at the same time."
        )
    if model is None:
        return lambda model: compile(
            model,
            fullgraph=fullgraph,
            dynamic=dynamic,
            backend=backend,
            mode=mode,
            options=options,
            disable=disable,
        )
    if not callable(model):
        raise RuntimeError("torch.compile: expected a callable")
    if disable or backend == "eager":
        return model
    known = (None, "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
    if mode not in known:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(map(str, known[1:]))}")
    chosen = "default" if mode is None else "max-autotune" if mode.startswith("max-autotune") else mode
    from weft.compiler import _MODES

    return _weft.compile(
        model, fullgraph=fullgraph, dynamic=dynamic, mode=chosen if chosen in _MODES else "default"
    )


has_lapack = has_mkl = has_openmp = has_spectral = True


def to_dlpack(input):
    """A capsule over the tensor's memory."""
    if not isinstance(input, _Tensor):
        raise TypeError(f"to_dlpack: expected a Tensor, got {type(input).__name__}")
    return input.__dlpack__()


def cond(pred, true_fn, false_fn, operands=()):
    """true_fn(*operands) where pred holds, else false_fn(*operands)."""
    if not isinstance(pred, (bool, int, float, _Tensor)):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if isinstance(pred, _Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect both branches to be callable.")
    if not isinstance(operands, (tuple, list)):
        raise RuntimeError(f"Expect operands to be a tuple or a list, but got {type(operands).__name__}.")
    if isinstance(pred, _Tensor) and (regions := _regions()) is not None:
        return regions.cond(_current(), pred, true_fn, false_fn, operands)
    return true_fn(*operands) if pred else false_fn(*operands)


def _regions():
    """What keeps functions as graphs while the thread exports a module; None otherwise."""
    if _current() is None or not _current().for_pytorch:
        return None
    from weft.torch.export import _regions as regions

    return regions


def while_loop(cond_fn, body_fn, carried_inputs):
    """The carried values after body_fn(*values) as often as cond_fn(*values) holds."""
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("Expect cond_fn and body_fn to be callable.")
    if not isinstance(carried_inputs, (tuple, list)):
        raise RuntimeError(
            f"Expect carried_inputs to be a tuple or list, got {type(carried_inputs).__name__}"
        )
    if (regions := _regions()) is not None:
        return regions.while_loop(_current(), cond_fn, body_fn, carried_inputs)
    values = tuple(carried_inputs)
    while cond_fn(*values):
        values = body_fn(*values)
        values = tuple(values) if isinstance(values, (tuple, list)) else (values,)
    return values


# ---- sizes as numbers ----------------------------------------------------------------------------------------


def sym_int(a):
    """int, towards zero."""
    return _math.trunc(a) if isinstance(a, float) else int(a)


def sym_float(a):
    """float; a tensor's number."""
    return float(a)


def sym_not(a):
    """not."""
    if isinstance(a, _Tensor) and a.numel() != 1:
        count = "no values" if a.numel() == 0 else "more than one value"
        raise RuntimeError(f"Boolean value of Tensor with {count} is ambiguous")
    return not a


def sym_max(a, b):
    """The greater of two numbers; a float where one is."""
    result = max(a, b)
    return float(result) if isinstance(a, float) or isinstance(b, float) else result


def sym_min(a, b):
    """The lesser of two numbers; a float where one is."""
    result = min(a, b)
    return float(result) if isinstance(a, float) or isinstance(b, float) else result


def sym_sum(*args):
    """The sum of numbers, given one by one or as a sequence; of a tensor alone itself."""
    if len(args) == 1 and isinstance(args[0], _Tensor):
        return args[0] + 0
    return sum(args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args)


def sym_sqrt(a):
    """The square root."""
    return _math.sqrt(a)


def sym_ite(b, t, f):
    """t if b else f."""
    return t if b else f


def sym_fresh_size(expr):
    """The number itself; a tensor's element."""
    return expr.item() if isinstance(expr, _Tensor) else expr


def sym_constrain_range(size, *, min=None, max=None):
    """Checks a size's bounds."""
    for bound, wrong in ((min, lambda x: size < x), (max, lambda x: size > x)):
        if bound is not None and wrong(bound):
            raise RuntimeError(f"Invalid value range for {size} between [{min}, {max}].")


def sym_constrain_range_for_size(size, *, min=None, max=None):
    """Checks a size's bounds."""
    sym_constrain_range(size, min=min, max=max)
