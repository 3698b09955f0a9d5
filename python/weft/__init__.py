"""weft compiles array programs: `weft.compile` makes one fused, parallel loop nest of a NumPy function.

Importing this module is cheap: NumPy is imported when an array is first asked for, the compiler and LLVM when
something is first compiled.
"""

import importlib as _importlib


def _require_main_interpreter():
    """ImportError in any other interpreter of the process: types and what was compiled are the main one's."""
    for name in ("_interpreters", "_xxsubinterpreters"):  # of Python 3.13, and before
        try:
            interpreters = _importlib.import_module(name)
            break
        except ModuleNotFoundError:
            pass
    else:
        return  # a Python without them
    if interpreters.get_current() != interpreters.get_main():
        raise ImportError(
            "weft cannot be imported in a subinterpreter: its types and what it has compiled belong to the main "
            "interpreter of a process; use threads, or a process"
        )


_require_main_interpreter()

from . import _C  # noqa: E402

# Tensor, dtype, device, the dtypes, the operators and the runtime's functions.
globals().update({name: value for name, value in vars(_C).items() if not name.startswith("_")})
# PyTorch's own names of these begin so.
from ._C import (  # noqa: E402, F401
    _convert_weight_to_int4pack,
    _convert_weight_to_int4pack_for_cpu,
    _int_mm,
    _weight_int4pack_mm,
    _weight_int4pack_mm_for_cpu,
    _weight_int8pack_mm,
)

__version__ = _C.__version__


def _rebuild_tensor(dtype, shape, device, data):
    """What pickles of tensors call: a Python function, because pickle finds it by its name."""
    return _C._rebuild_tensor(dtype, shape, device, data)


def _foreign_dtype(name):
    """What pickles call of dtypes that weft's tensors cannot have."""
    return _C._foreign_dtype(name)


# Where each lazily imported name is found.
_LAZY = {
    "ArgumentError": "weft._errors",
    "ArgumentIndexError": "weft._errors",
    "ArgumentTypeError": "weft._errors",
    "compile": "weft.compiler",
    "compiler": None,
    "config": None,
    "distributed": None,
    "export": None,
    "jit": None,
    "jagged": "weft.nested",
    "kernel": "weft._kernel",
    "library": None,
    "models": None,
    "nested": None,
    "nn": None,
    "ops": None,
    "__config__": None,
    "profiler": None,
    "quantization": None,
    "random": None,
    "sparse": None,
}


def __getattr__(name):
    if name not in _LAZY:
        raise AttributeError(f"module 'weft' has no attribute '{name}'")
    module = _importlib.import_module(_LAZY[name] or f"weft.{name}")
    value = getattr(module, name) if _LAZY[name] else module
    globals()[name] = value
    return value


def __dir__():
    return sorted({*globals(), *_LAZY})
