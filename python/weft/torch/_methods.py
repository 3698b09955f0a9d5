"""PyTorch's Tensor methods that are no operators of weft's table: set on weft.Tensor when weft.torch is imported."""

import weft as _weft

from . import _names, _table


def _of_function(name, function):
    """A method that is the function of torch, called with the tensor."""

    def method(self, *args, **kwargs):
        return function(self, *args, **kwargs)

    method.__name__, method.__qualname__, method.__doc__ = name, f"Tensor.{name}", function.__doc__
    return method


def _in_place(name, function):
    """A method that writes the result of `function` into the tensor."""

    def method(self, *args, **kwargs):
        return self.copy_(function(self, *args, **kwargs))

    method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    method.__doc__ = f"{name[:-1]}, written into the tensor."
    return method


def _function(name):
    return _table.find(_names.FUNCTIONS.where(name), name)


def install():
    """Sets the methods of the table that weft.Tensor does not have itself."""
    for name, where in _names.METHODS.own.items():
        if where == "function":
            value = _of_function(name, _function(name))
        elif where == "in place":
            plain = name[:-1]
            value = _in_place(name, getattr(_weft.Tensor, plain, None) or _function(plain))
        else:
            value = _table.find(where, name)
        setattr(_weft.Tensor, name, value)
