"""PyTorch's Tensor methods that are no operators of weft's table: set on weft.Tensor when weft.torch is imported."""

import weft as _weft

from . import _names, _table

_ARRAY = _weft._C._ndarray


def _of_function(name, function):
    """A method that is the function of torch, called with the tensor."""

    def method(self, *args, **kwargs):
        return function(self, *args, **kwargs)

    method.__name__, method.__qualname__, method.__doc__ = name, f"Tensor.{name}", function.__doc__
    return method


def _rank(dtype):
    return 3 if dtype.is_complex else 2 if dtype.is_floating_point else 0 if dtype == _weft.bool else 1


def _in_place(name, function):
    """A method that writes the result of `function` into the tensor."""

    def method(self, *args, **kwargs):
        result = function(self, *args, **kwargs)
        if result.shape != self.shape:
            raise RuntimeError(
                f"{name}: the result of shape {list(result.shape)} does not have the tensor's shape {list(self.shape)}"
            )
        if _rank(result.dtype) > _rank(self.dtype):
            raise RuntimeError(f"{name}: the result type {result.dtype} cannot be stored in a tensor of {self.dtype}")
        return self.copy_(result)

    method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    method.__doc__ = f"{name[:-1]}, written into the tensor."
    return method


def _function(name):
    return _table.find(_names.FUNCTIONS.where(name), name)


def _method(name, where):
    """The method of the table, or None where weft.Tensor has it itself."""
    if where == "function":
        function = _function(name)
        return None if function is getattr(_weft, name, None) and hasattr(_weft.Tensor, name) else function
    if where == "in place":
        plain = name[:-1]
        return getattr(_weft.Tensor, plain, None) or _function(plain)
    return _table.find(where, name)


def _set(name, value):
    # Arrays keep what they had: NumPy's rules.
    if hasattr(_ARRAY, name) and name not in vars(_ARRAY):
        setattr(_ARRAY, name, next(vars(each)[name] for each in _ARRAY.__mro__ if name in vars(each)))
    setattr(_weft.Tensor, name, value)


def install():
    """Sets the methods of the table that weft.Tensor does not have itself; dtypes and sizes are printed as torch's."""
    _weft._C._set_printed_module("torch")
    made = {"function": _of_function, "in place": _in_place}
    # The methods without an underscore first: those with one are made of them.
    for name, where in sorted(_names.METHODS.own.items(), key=lambda item: item[1] == "in place"):
        if _names.METHODS.where(name) is None:
            continue
        value = _method(name, where)
        if value is not None:
            _set(name, made[where](name, value) if where in made else value)
