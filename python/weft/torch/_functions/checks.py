"""torch._check and its kin, and PyTorch's classes of symbolic numbers, of which weft has no instances: sizes are int."""

import weft as _weft

from .. import _absent

_SYMBOLIC = "sizes are int; weft.compile makes those that change symbolic by itself"


def __getattr__(name):
    if name in ("SymInt", "SymFloat", "SymBool"):
        return _absent.absent(f"torch.{name}", _SYMBOLIC, "torch")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _check_with(error_type, cond, message):
    """Raises an error of this type unless cond is True. message: what it says, or a function that makes that."""
    if not isinstance(cond, bool):
        if isinstance(cond, _weft.Tensor):
            raise TypeError(
                "cond must be a bool, but got a Tensor. For tensor conditions, use torch._check_tensor_all() to assert that "
                "all elements are true."
            )
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if not cond:
        if message is None:
            message = "Expected cond to be True, but got False."
        raise error_type(str(message() if callable(message) else message))


def _check(cond, message=None):
    """raises: RuntimeError unless cond is True."""
    _check_with(RuntimeError, cond, message)


def _check_is_size(i, message=None, *, max=None):
    """raises: RuntimeError unless 0 <= i, and i <= max where that is given."""
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _check_index(cond, message=None):
    """raises: IndexError unless cond is True."""
    _check_with(IndexError, cond, message)


def _check_value(cond, message=None):
    """raises: ValueError unless cond is True."""
    _check_with(ValueError, cond, message)


def _check_type(cond, message=None):
    """raises: TypeError unless cond is True."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond, message=None):
    """raises: NotImplementedError unless cond is True."""
    _check_with(NotImplementedError, cond, message)


def _check_tensor_all_with(error_type, cond, message=None):
    """Raises an error of this type unless all elements of cond, a tensor of bool, are True."""
    if not isinstance(cond, _weft.Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype != _weft.bool:
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check_with(error_type, bool(cond.all()), message)


def _check_tensor_all(cond, message=None):
    """raises: RuntimeError unless all elements of cond, a tensor of bool, are True."""
    _check_tensor_all_with(RuntimeError, cond, message)
