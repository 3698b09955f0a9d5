"""torch.library's names, over weft.library: operators of a program's own."""

import contextlib
import re
import weakref

import weft.library
from weft.library import OpCheckError, infer_schema  # noqa: F401
from weft.library._operators import CustomOp, Operator, add, find, get, read_schema, remove, split_name

from . import _dispatch_keys
from ._dispatch_keys import fallthrough_kernel

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


def _is_torchvisions(op):
    """Is it an operator of torchvision, which weft has? The kernels of torchvision's Python package are for tensors without
    elements and for autocast, which weft's know."""
    name = op if isinstance(op, str) else op.name()
    return name.startswith("torchvision::") and find(*split_name(name)) is None


def register_fake(op, func=None, /, *, lib=None, _stacklevel=1, allow_override=False):
    """The function that says shapes and dtypes of an operator's results; of weft's own operators these are known."""
    if _is_torchvisions(op):
        return _later(func)
    operator = get(op)
    return operator.register_fake if func is None else operator.register_fake(func)


impl_abstract = register_fake


def register_kernel(op, device_types, func=None, /, *, lib=None):
    """The operator's kernel for devices or dispatch keys, one or several; None: for all."""

    def register(function):
        many = device_types if isinstance(device_types, (list, tuple, set, frozenset)) else (device_types,)
        for one in many:
            _dispatch_keys.register(get(op), one, function)
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


class Library:
    """Operators of a namespace: define() names them, impl() gives their kernels."""

    _definers = weakref.WeakValueDictionary()  # from a namespace to its Library of the kind DEF

    def __init__(self, ns, kind, dispatch_key=""):
        if kind not in ("DEF", "IMPL", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns == "prim" and kind != "IMPL":
            raise ValueError(
                f"{ns} is a reserved namespace. Please try creating a library with another name."
            )
        if kind == "DEF" and self._definers.setdefault(ns, self) is not self:
            raise RuntimeError(
                f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}; there is a Library of the kind DEF "
                "already, and FRAGMENT is the kind of others"
            )
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._defined, self._given, self._is_destroyed = [], [], False

    def __repr__(self):
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def _check(self):
        if self._is_destroyed:
            raise AssertionError("Library object has been destroyed")

    def define(self, schema, alias_analysis="", *, tags=()):
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        self._check()
        full = self._qualname(schema.partition("(")[0].strip())
        name, _, overload = full.partition(".")
        found = find(*split_name(full)) if overload else find(*split_name(name))
        if found is not None and found._schema.overload == overload:
            raise RuntimeError(
                f"Tried to register an operator ({full}) with the same name and overload name multiple times: "
                f"{found._schema.text}"
            )
        weft.library.define(full, schema, tags=tags)
        self._defined.append(full)
        for library, key, function in _early.pop(full, ()):
            if not library._is_destroyed:
                library.impl(full, function, key)
        return name.partition("::")[2]

    def _qualname(self, op_name):
        name = op_name
        if not isinstance(op_name, (str, Operator)):
            name = op_name.name()
        elif isinstance(op_name, Operator):
            schema = op_name._schema
            name = f"{schema.name}.{schema.overload}" if schema.overload else schema.name
        return name if "::" in name else f"{self.ns}::{name}"

    def impl(self, op_name, fn, dispatch_key="", *, with_keyset=False, allow_override=True):
        """The kernel of an operator for a dispatch key, or that of the library; it may be given before define()."""
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        if with_keyset:
            raise NotImplementedError(
                "Library.impl: with_keyset: weft has no dispatcher whose keys a kernel could be given"
            )
        self._check()
        name, key = self._qualname(op_name), _dispatch_keys.key_of(dispatch_key or self.dispatch_key)
        if self.ns in ("aten", "prims", "prim"):
            raise NotImplementedError(
                f"Library.impl: {name}: weft's own operators take no kernels of programs"
            )
        if self.kind == "IMPL" and _is_torchvisions(name):
            return
        operator = find(*split_name(name))
        given = (self, key, fn)
        others = _early.get(name, []) if operator is None else operator.__dict__.setdefault("_given", [])
        if not allow_override and any(one[1] == key for one in others):
            raise RuntimeError(
                f"This is not allowed since there's already a kernel registered from python overriding "
                f"{name.partition('::')[2]}'s behavior for {key} dispatch key and {self.ns} namespace."
            )
        if operator is None:
            _early.setdefault(name, []).append(given)
            return
        if key == "Meta" and "CompositeImplicitAutograd" in operator.__dict__.get("_for_all", ()):
            raise RuntimeError(
                f"We should not register a meta kernel directly to the operator '{name}', because it has a "
                "CompositeImplicitAutograd kernel in core."
            )
        others.append(given)
        self._given.append((operator, given))
        _dispatch_keys.register(operator, key, fn)

    def _register_fake(self, op_name, fn, _stacklevel=1, *, allow_override=True):
        return register_fake(self._qualname(op_name), fn)

    def fallback(self, fn, dispatch_key="", *, with_keyset=False):
        if self.ns != "_":
            raise RuntimeError(
                f'Fallback can only be registered using library fragment on the global namespace "_" but it is {self.ns}'
            )
        if fn is not fallthrough_kernel:
            raise NotImplementedError(
                "Library.fallback: weft has no dispatcher that a kernel for all operators could serve"
            )

    def _destroy(self):
        """Takes away what it has defined and the kernels that it has given."""
        for operator, given in self._given:
            if given in operator._given:
                operator._given.remove(given)
                _dispatch_keys.unregister(operator, *given[1:])
        for name in self._defined:
            remove(name)
            vars(getattr(weft.torch.ops, self.ns)).pop(name.partition("::")[2].partition(".")[0], None)
        if self._definers.get(self.ns) is self:
            del self._definers[self.ns]
        self._defined, self._given, self._is_destroyed = [], [], True


_early = {}  # from an operator that is not defined yet to (library, key, kernel) of those that were given


@contextlib.contextmanager
def _scoped_library(*args, **kwargs):
    library = Library(*args, **kwargs)
    try:
        yield library
    finally:
        library._destroy()


def define(qualname, schema, alias_analysis="", *, lib=None, tags=()):
    """Names an operator, whose kernel impl() gives. As PyTorch once had it, define(library, "name(Tensor x) -> Tensor"): a
    decorator of the kernel."""
    if isinstance(qualname, Library):
        qualname.define(schema, alias_analysis, tags=tags)
        return impl(qualname, schema.partition("(")[0].strip())
    namespace, name = split_name(qualname)
    if not re.fullmatch(r"\(.*\) -> .*", schema):
        raise ValueError(
            f'define(qualname, schema, ...): expected schema to look like e.g. "(Tensor x) -> Tensor" but got "{schema}"'
        )
    (lib or Library(namespace, "FRAGMENT")).define(name + schema, tags=tags)


def impl(qualname, types="", func=None, *, lib=None):
    """An operator's kernel for devices or dispatch keys, as register_kernel. As PyTorch once had it, impl(library, name, key): a
    decorator of the kernel."""
    if not isinstance(qualname, Library):
        return register_kernel(qualname, types, func, lib=lib)

    def register(function):
        qualname.impl(types, function, func or "")
        return function

    return register


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
    return _dispatch_keys.kernel_of(get(op), dispatch_key)
