"""Tensors that wrap others: classes of programs with Tensor._make_wrapper_subclass, __torch_function__ and __torch_dispatch__.

What such a tensor is for the rest of weft is a tensor of the device meta, of its shape and dtype: operators refuse it beside others,
and leave it to __weft_operator__; its methods are replaced here. A call goes to the class's __torch_function__ with the function of
torch, and from there, under DisableTorchFunctionSubclass, to its __torch_dispatch__ with the operator of torch.ops.aten.
"""

import copy
import functools
import importlib

import weft
from weft.nn.parameter import PackedWeight

from . import _overriding


def is_wrapper(value):
    return getattr(type(value), "_weft_wraps", False) is True


def _wrappers(values):
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from _wrappers(value)
        elif is_wrapper(value):
            yield value


class _Method:
    """A method of Tensor that a class is called with: equal to Tensor's own, and called, it dispatches again."""

    def __init__(self, name):
        self.__name__, self._own = name, getattr(weft.Tensor, name)

    def __eq__(self, other):
        return self is other or other == self._own

    def __hash__(self):
        return hash(self._own)

    def __call__(self, *args, **kwargs):
        if next(_wrappers((*args, *kwargs.values())), None) is None:
            return self._own(*args, **kwargs)
        return dispatch(self, self.__name__, args, kwargs)

    def __repr__(self):
        return f"<method '{self.__name__}' of torch.Tensor>"


def dispatch(function, name, args, kwargs):
    """What the first wrapping class makes of a call. TypeError where it has neither way to say so."""
    found = list(_wrappers((*args, *kwargs.values())))
    kind, kinds = type(found[0]), tuple(dict.fromkeys(map(type, found)))
    override = getattr(kind, "__torch_function__", None)
    if override is not None and not _overriding.is_disabled():
        if override is not _overriding.disabled_torch_function_impl:
            return override(function, kinds, args, kwargs)
    override = getattr(kind, "__torch_dispatch__", None)
    if override is None:
        raise TypeError(f"{name}: {kind.__name__} wraps tensors, and has no __torch_dispatch__")
    operator, args, kwargs = _operator(name, args, kwargs)
    result = override(operator, kinds, args, kwargs)
    if result is NotImplemented:
        raise TypeError(
            f"no implementation found for '{operator}' on types that implement __torch_dispatch__: {kinds}"
        )
    return result


_CONVERSIONS = {
    "half": weft.float16, "bfloat16": weft.bfloat16, "float": weft.float32, "double": weft.float64, "int": weft.int32,
    "long": weft.int64, "bool": weft.bool}  # fmt: skip


_NAMED = {"__add__": "add", "__radd__": "add", "__mul__": "mul", "__rmul__": "mul", "__sub__": "sub", "__truediv__": "div",
          "__matmul__": "matmul", "__rmatmul__": "matmul"}  # fmt: skip


def _operator(name, args, kwargs):
    """torch.ops.aten's operator that a function or method ends in, with its arguments."""
    aten = weft.torch.ops.aten
    if name in _CONVERSIONS:
        return aten._to_copy, args, {"dtype": _CONVERSIONS[name]}
    if name in ("cpu", "cuda"):
        return aten._to_copy, args, {"device": weft.device(name)}
    if name == "to":
        device, dtype, _, memory_format = parse_to(*args[1:], **kwargs)
        given = {"dtype": dtype, "device": device, "memory_format": memory_format}
        return aten._to_copy, args[:1], {key: value for key, value in given.items() if value is not None}
    name = _NAMED.get(name, name)
    if name == "matmul" and args[0].ndim == args[1].ndim == 2:
        name = "mm"
    operator = getattr(aten, name, None)
    if operator is None:
        raise TypeError(
            f"no implementation found for 'torch.Tensor.{name}': torch.ops.aten has none of the name here"
        )
    return operator, args, kwargs


def parse_to(*args, non_blocking=False, copy=False, memory_format=None, device=None, dtype=None):
    """(device, dtype, non_blocking, memory_format) of the arguments of Tensor.to."""
    for one in args:
        if isinstance(one, weft.Tensor):
            device, dtype = one.device, one.dtype
        elif isinstance(one, weft.dtype):
            dtype = one
        elif isinstance(one, bool):
            non_blocking = one
        elif one is not None:
            device = one
    device = device if device is None or isinstance(device, weft.device) else weft.device(device)
    return device, dtype, non_blocking, memory_format


def _function(name):
    """torch's function of an operator's name."""
    own = getattr(weft.nn.functional, name, None) or getattr(weft.torch, name, None)
    return own if own is not None else _Method(name)


# What tells the shape and dtype, and what Python asks of every object.
_KEPT = frozenset(
    """size dim ndimension numel nelement stride storage_offset is_floating_point is_complex is_contiguous element_size
    requires_grad_ is_signed get_device as_subclass is_inference is_conj is_neg _make_wrapper_subclass _make_subclass""".split()
)
_DUNDERS = """
    __add__ __radd__ __sub__ __rsub__ __mul__ __rmul__ __truediv__ __rtruediv__ __floordiv__ __mod__ __pow__ __neg__ __abs__ __matmul__
    __rmatmul__ __getitem__ __setitem__ __lt__ __le__ __gt__ __ge__ __and__ __or__ __xor__ __invert__ __iadd__ __isub__ __imul__
    __itruediv__ __float__ __int__ __bool__ __array__""".split()


def _method(name):
    own = _Method(name)

    def method(self, *args, **kwargs):
        return dispatch(own, name, (self, *args), kwargs)

    method.__name__ = name
    return method


def _emptied(self):
    return make(type(self), self.shape, dtype=self.dtype, device=self._weft_device)


def _copy(self):
    made = _emptied(self)
    vars(made).update(vars(self))
    return made


def _deepcopy(self, memo):
    made = _emptied(self)
    memo[id(self)] = made
    vars(made).update(copy.deepcopy({k: v for k, v in vars(self).items() if k != "_weft_device"}, memo))
    return made


def _nothing(self, *args, **kwargs):
    """Tensor.__init__ of what wraps tensors: it is made already."""


@functools.cache
def _base():
    """What stands between Tensor and classes that wrap tensors: Tensor's methods, which dispatch."""
    names = [name for name in dir(weft.Tensor) if not name.startswith("_") and name not in _KEPT]
    members = {
        name: _method(name) for name in (*names, *_DUNDERS) if callable(getattr(weft.Tensor, name, None))
    }
    members.update(
        __init__=_nothing,
        __copy__=_copy,
        __deepcopy__=_deepcopy,
        __reduce_ex__=lambda self, protocol: importlib.import_module("weft.torch._rebuild").reduced(self),
        __weft_operator__=lambda name, *args, **kwargs: dispatch(_function(name), name, args, kwargs),
        _weft_wraps=True,
        device=property(lambda self: self._weft_device),
        layout=property(lambda self: weft.torch.strided),
        data=property(lambda self: self, lambda self, value: vars(self).update(vars(value))),
    )
    for kind in ("cuda", "cpu", "meta"):
        members[f"is_{kind}"] = property(lambda self, kind=kind: self._weft_device.type == kind)
    made = type(weft.Tensor)("Tensor", (weft.Tensor,), members)
    PackedWeight.register(made)
    return made


def _prepare(cls):
    """Puts the base between Tensor and a class of a program."""
    offering = _overriding._offering_base() if getattr(cls, "_weft_offers", False) else weft.Tensor
    base = cls.__mro__[cls.__mro__.index(offering) - 1]  # the one that derives from Tensor
    base.__bases__ = tuple(_base() if one is offering else one for one in base.__bases__)


def make(cls, size, strides=None, storage_offset=None, memory_format=None, dtype=None, layout=None, device=None,
         pin_memory=False, requires_grad=False, dispatch_sizes_strides_policy=None, **others):  # fmt: skip
    """Tensor._make_wrapper_subclass: an object of the class without elements, of a shape, a dtype and a device."""
    if not is_prepared(cls):
        _prepare(cls)
    if "__torch_dispatch__" not in dir(cls):
        raise RuntimeError(f"{cls.__name__}: a class that wraps tensors needs a __torch_dispatch__")
    shape = [int(one) for one in size]
    made = weft.Tensor.__new__(cls)
    weft.Tensor.__init__(made, weft.empty(shape, dtype=dtype or weft.get_default_dtype(), device="meta"))
    vars(made)["_weft_device"] = weft.device("cpu") if device is None else weft.device(device)
    return made


def is_prepared(cls):
    return getattr(cls, "_weft_wraps", False) is True


def _has_compatible_shallow_copy_type(input, from_):
    """Whether a tensor's memory may take the place of another's."""
    return is_wrapper(input) == is_wrapper(from_)
