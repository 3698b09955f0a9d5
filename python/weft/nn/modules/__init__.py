"""The modules of weft.nn."""

from . import container, layers, simple
from .container import *  # noqa: F403
from .layers import *  # noqa: F403
from .module import Module, Parameter
from .simple import *  # noqa: F403


def _public(module):
    return [name for name, value in vars(module).items() if isinstance(value, type) and issubclass(value, Module) and not name.startswith("_")]


__all__ = sorted({"Module", "Parameter", *_public(container), *_public(layers), *_public(simple)})
