"""PyTorch's names over weft: `import weft.torch as torch`.

`python -m weft.torch program.py` runs a program whose own `import torch` finds this module. `_names.py` is the table of
PyTorch's public names: where each is found here, or why it is not; names are looked up when they are first used.

source: PyTorch 2.15's documentation and behaviour.
"""

import importlib as _importlib
import sys as _sys

from weft import Tensor  # noqa: F401

from . import _absent, _aliases, _methods, _names, _table
from .version import __version__  # noqa: F401

_weft_looks_up = True  # capture may look for names at any time, whatever the module is called
torch = _sys.modules[__name__]  # `from torch import torch` finds PyTorch, too
newaxis = None

_aliases.add("weft.torch.nn", "weft.nn")
_aliases.add("weft.torch.__config__", "weft.__config__")
_absent.install()


def _submodule(name):
    try:
        return _importlib.import_module(f"{__package__}.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"{__package__}.{name}":
            raise
        return None


def __getattr__(name):
    where = _names.FUNCTIONS.where(name)
    is_special = name.startswith("__") and name != "__config__"
    value = _table.find(where, name) if where else None if is_special else _submodule(name)
    if value is None and _names.FUNCTIONS.is_absent_class(name):
        value = _absent.absent(f"torch.{name}", _names.FUNCTIONS.left_out[name], __package__)
    if value is None:
        raise AttributeError(_names.FUNCTIONS.why_missing(name), name=name, obj=_sys.modules[__package__])
    globals()[name] = value
    if _table.on_found is not None:
        _table.on_found(name, value)
    return value


def __dir__():
    return sorted({*globals(), *_names.FUNCTIONS.found})


_methods.install()
