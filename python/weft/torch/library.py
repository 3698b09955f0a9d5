"""torch.library's names, over weft.library: operators of a program's own."""

import contextlib

import weft.library
from weft.library import OpCheckError, infer_schema  # noqa: F401
from weft.library._operators import CustomOp, add, get, read_schema, split_name

_DEVICES = {
    "cpu": "cpu",
    "CPU": "cpu",
    "Meta": "meta",
    "meta": "meta",
    "default": None,
    "types": None,
    "": None,
    "CompositeExplicitAutograd": None,
    "CompositeImplicitAutograd": None,
}
_FAKE_TESTS = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


class CustomOpDef(CustomOp):
    """An operator of a program's own, made by custom_op."""

    @property
    def _opoverload(self):
        return self

    @property
    def _namespace(self):
        return self.namespace

    @property
    def _name(self):
        return self.__name__

    def register_autograd(self, backward, /, *, setup_context=None):
        """Kept, and not used: there are no gradients."""

    def register_vmap(self, func=None):
        """Kept, and not used: torch.vmap goes through the operator's kernel."""
        return (lambda function: function) if func is None else func

    def register_torch_dispatch(self, torch_dispatch_class, fn=None, /):
        return (lambda function: function) if fn is None else fn

    def register_autocast(self, device_type, cast_inputs):
        pass

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type, enabled=True):
        """Meanwhile the device's kernel is used, or the one for all devices in its place."""
        was_disabled = device_type in self._disabled
        (self._disabled.discard if enabled else self._disabled.add)(device_type)
        try:
            yield
        finally:
            (self._disabled.add if was_disabled else self._disabled.discard)(device_type)


def custom_op(name, fn=None, /, *, mutates_args, device_types=None, schema=None, tags=None):
    """The function as the operator torch.ops.namespace.name; a decorator without fn (weft.library.custom_op)."""
    split_name(name)

    def make(function):
        text = schema or infer_schema(function, mutates_args=mutates_args)
        operator = CustomOpDef(read_schema(name, text), function)
        operator.register_kernel(device_types, function)
        return add(operator)

    return make if fn is None else make(fn)


triton_op = custom_op


def wrap_triton(triton_kernel, /):
    raise NotImplementedError("torch.library.wrap_triton is PyTorch's, but not weft's: there is no Triton")


def _later(fn):
    return (lambda function: function) if fn is None else fn


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=False):
    """The function that says shapes and dtypes of an operator's results."""
    operator = get(op)
    return operator.register_fake if func is None else operator.register_fake(func)


impl_abstract = register_fake


def _register(op, types, func):
    """Kernels by PyTorch's names of devices and dispatch keys; of other devices than weft's they are not kept."""

    def register(function):
        for kind in (types,) if types is None or isinstance(types, str) else types:
            if kind is None or kind in _DEVICES:
                get(op).register_kernel(None if kind is None else _DEVICES[kind], function)
        return function

    return register if func is None else register(func)


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """The operator's kernel for devices; those for the CPU, for meta and for all are kept."""
    return _register(op, device_types, func)


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
    weft.library.define(qualname, schema, tags=tags)


def impl(qualname, types, func=None, *, lib=None):
    """An operator's kernel for devices, as register_kernel."""
    return _register(qualname, types, func)


class Library:
    """Operators of a namespace: define() names them, impl() gives their kernels."""

    def __init__(self, ns, kind, dispatch_key=""):
        if kind not in ("DEF", "IMPL", "FRAGMENT"):
            raise ValueError("Unsupported kind: ", kind)
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def define(self, schema, alias_analysis="", *, tags=()):
        name = schema.partition("(")[0].strip()
        weft.library.define(f"{self.ns}::{name}", schema, tags=tags)
        return name

    def _qualname(self, op_name):
        name = op_name if isinstance(op_name, str) else op_name.name()
        return name if "::" in name else f"{self.ns}::{name}"

    def impl(self, op_name, fn=None, dispatch_key="", *, with_keyset=False, allow_override=False):
        return _register(self._qualname(op_name), dispatch_key or self.dispatch_key, fn)

    def _register_fake(self, op_name, fn, _stacklevel=1, *, allow_override=False):
        return register_fake(self._qualname(op_name), fn)

    def fallback(self, fn, dispatch_key="", *, with_keyset=False):
        pass

    def _destroy(self):
        pass


def fallthrough_kernel():
    raise NotImplementedError("fallthrough_kernel() should never be called.")


def opcheck(op, args, kwargs=None, *, test_utils=_FAKE_TESTS, raise_exception=True, atol=None, rtol=None):
    """Tests an operator on a call (weft.library.opcheck)."""
    return weft.library.opcheck(
        op, args, kwargs, test_utils=test_utils, raise_exception=raise_exception, atol=atol, rtol=rtol
    )


class _FakeContext:
    """What fake functions ask for sizes that depend on data: no such size is known to tensors without elements."""

    def new_dynamic_size(self, *, min=0, max=None):
        raise NotImplementedError(
            "get_ctx().new_dynamic_size(): a size that depends on elements has no value for tensors of the device meta; "
            "weft.compile runs the operator's kernel to learn it"
        )

    create_unbacked_symint = new_dynamic_size


def get_ctx():
    return _FakeContext()


def get_kernel(op, dispatch_key):
    """The kernel of an operator for a device or dispatch key."""
    return get(op)._kernel(_DEVICES.get(str(dispatch_key)) or "cpu")
