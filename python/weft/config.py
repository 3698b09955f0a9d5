"""Settings of compiled functions, as attributes: `weft.config.numpy_default_float = "float32"`.

numpy_default_float: "float64" (NumPy's own) or "float32". The dtype of the floating-point arrays that a compiled function
    makes of anything that is not float64: np.zeros, np.ones, np.linspace, arrays of Python floats, quotients and means of
    integers, functions of integers. What is given as float64 (an argument, `dtype=`) stays so, np.random keeps its own
    dtypes, and so does what Python performs at a graph break. Under "float32" loops are compiled round by round, not as
    native code. Complex numbers follow: complex64.

Functions are compiled anew for each value, and compiled code of both is kept. Unknown names are refused.
"""

import contextlib as _contextlib
import sys as _sys
import types as _types

from . import _C

# Name: the values it may have, the usual one first.
_VALUES = {"numpy_default_float": ("float64", "float32")}


class _Config(_types.ModuleType):
    def __setattr__(self, name, value):
        if name.startswith("_"):
            return super().__setattr__(name, value)
        _check(name, value)
        _C._set_default_float(value == "float32")
        super().__setattr__(name, value)

    def __delattr__(self, name):
        raise AttributeError(f"weft.config: '{name}' cannot be deleted")

    def __getattr__(self, name):
        raise AttributeError(_unknown(name))

    def __dir__(self):
        return [*_VALUES, "patch"]


def _unknown(name):
    return f"weft.config has no setting '{name}'; there are: {', '.join(_VALUES)}"


def _check(name, value):
    if name not in _VALUES:
        raise AttributeError(_unknown(name))
    if not isinstance(value, str):
        raise TypeError(f"weft.config.{name}: expected a str, got {type(value).__name__}")
    if value not in _VALUES[name]:
        raise ValueError(
            f"weft.config.{name}: expected one of {', '.join(map(repr, _VALUES[name]))}, got {value!r}"
        )


@_contextlib.contextmanager
def patch(**settings):
    """Settings for a with statement: `with weft.config.patch(numpy_default_float="float32"):`."""
    for name, value in settings.items():
        _check(name, value)
    module = _sys.modules[__name__]
    before = {name: getattr(module, name) for name in settings}
    try:
        for name, value in settings.items():
            setattr(module, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(module, name, value)


numpy_default_float = "float64"
_sys.modules[__name__].__class__ = _Config
