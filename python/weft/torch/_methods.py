"""PyTorch's Tensor methods that are no operators of weft's table: set on weft.Tensor when weft.torch is imported."""

import functools
import importlib

import weft as _weft
from weft import _autocast

from . import _names, _table

_ARRAY = _weft._C._ndarray


# Attributes and what is more than a function of torch.
_ATTRIBUTES = "weft.torch._functions.tensor_methods"


def _late(name, find):
    """A function that gives what `find` gives, which it calls once: when a method is first called, or captured."""
    function = None

    def resolve():
        nonlocal function
        if function is None:
            function = find()
        return function

    return resolve


def _of_function(name, find):
    """A method that is what `find` gives, called with the tensor."""
    resolve = _late(name, find)

    def method(self, *args, **kwargs):
        return resolve()(self, *args, **kwargs)

    method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    method.__doc__ = f"torch.{name} of the tensor."
    method._resolve = resolve
    return method


# The result has the tensor's dtype, and is not converted.
_EXACT = {"float_power_"}
# Written to what was expanded, too: PyTorch deprecates that, and does it.
_OF_SHARED = {"masked_fill_"}
# The tensor takes the result's shape.
_RESIZED = {"addbmm_"}


def _rank(dtype):
    return 3 if dtype.is_complex else 2 if dtype.is_floating_point else 0 if dtype == _weft.bool else 1


def _in_place(name, find):
    """A method that writes the result of what `find` gives into the tensor."""
    function, is_exact, is_of_shared = None, name in _EXACT, name in _OF_SHARED

    def resolve():
        nonlocal function
        if function is None:
            function = _autocast.in_place(find())
        return method

    def method(self, *args, **kwargs):
        if function is None:
            resolve()
        result = function(self, *args, **kwargs)
        if result.shape != self.shape and name in _RESIZED:
            self.resize_(tuple(result.shape))
        if result.shape != self.shape:
            raise RuntimeError(
                f"{name}: the result of shape {list(result.shape)} does not have the tensor's shape {list(self.shape)}"
            )
        if _rank(result.dtype) > _rank(self.dtype) or (is_exact and result.dtype != self.dtype):
            raise RuntimeError(
                f"{name}: the result type {result.dtype} cannot be stored in a tensor of {self.dtype}"
            )
        return self._overwrite_(result) if is_of_shared else self.copy_(result)

    method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    method.__doc__ = f"{name[:-1]}, written into the tensor."
    method._resolve = resolve
    return method


def _function(name):
    return _table.find(_names.FUNCTIONS.where(name), name)


def _plain(name):
    """What the method without the underscore is: what it calls, where that is looked up late."""
    found = getattr(_weft.Tensor, name, None) or _function(name)
    return found._resolve() if hasattr(found, "_resolve") else found


def _method(name, where):
    """The method of the table, or None where weft.Tensor has it itself."""
    if where == "function":
        if name not in _names.FUNCTIONS.own and hasattr(_weft.Tensor, name):
            return None
        return _of_function(name, functools.partial(_function, name))
    if where == "in place":
        return _in_place(name, functools.partial(_plain, name[:-1]))
    if where.partition(":")[0] == _ATTRIBUTES:
        return _table.find(where, name)
    return _of_function(name, functools.partial(_table.find, where, name))


def _set(name, value):
    # Arrays keep what they had: NumPy's rules.
    if hasattr(_ARRAY, name) and name not in vars(_ARRAY):
        setattr(_ARRAY, name, next(vars(each)[name] for each in _ARRAY.__mro__ if name in vars(each)))
    setattr(_weft.Tensor, name, value)


def _on_class(cls):
    """A class statement made a class of tensors, or one with a __torch_function__."""
    if cls.__module__.partition(".")[0] != "weft":
        importlib.import_module("weft.torch._overriding").on_class(cls)


def install():
    """Sets the methods of the table that weft.Tensor does not have itself; dtypes and sizes are printed as torch's, and indexing
    is refused where PyTorch refuses it."""
    _weft._C._set_printed_module("torch")
    _weft._C._watch_classes(_on_class)
    _weft._C._set_torch_refusals(True)
    for name, where in _names.METHODS.own.items():
        value = _method(name, where)
        if value is not None:
            _set(name, value)
