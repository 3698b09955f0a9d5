"""torchvision.models: image classifiers. Families are imported when a name of theirs is first used."""

import importlib as _importlib

from . import _families
from ._api import (
    Weights,
    WeightsEnum,
    get_model,
    get_model_builder,
    get_model_weights,
    get_weight,
    list_models,
)

_MODULES = (
    "_api",
    "_meta",
    "_utils",
    "feature_extraction",
    "mobilenet",
    *_families.PACKAGES,
    *_families.FAMILIES,
)

__all__ = [
    "Weights",
    "WeightsEnum",
    "get_model",
    "get_model_builder",
    "get_model_weights",
    "get_weight",
    "list_models",
    *(name for name in _families.FAMILY_OF if not name.startswith("_")),
]


def __getattr__(name):
    if name in _families.FAMILY_OF:
        return _families.find(name)
    if name in _MODULES:
        return _importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'torchvision.models' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__, *_MODULES})


for _name in (
    "alexnet",
    "googlenet",
):  # functions and modules of one name: the function is found, whoever imports which
    _families.import_family(_name)
