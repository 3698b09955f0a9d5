"""The modules of weft.nn."""

from . import (
    activation,
    attention,
    container,
    conv,
    dropout,
    lazy,
    linear,
    loss,
    normalization,
    padding,
    pooling,
    rnn,
    shapes,
    sparse,
    transformer,
)
from .module import Module
from .optimized import OptimizedModule

_SOURCES = (activation, attention, container, conv, dropout, lazy, linear, loss, normalization, padding, pooling, rnn, shapes,
            sparse, transformer)  # fmt: skip


def _modules_of(source):
    """The public modules that a file defines."""
    return {name: value for name, value in vars(source).items()
            if isinstance(value, type) and issubclass(value, Module) and value.__module__ == source.__name__ and name[0] != "_"}  # fmt: skip


__all__ = ["Module", "OptimizedModule"]
for _source in _SOURCES:
    _found = _modules_of(_source)
    globals().update(_found)
    __all__ += sorted(_found)
__all__.remove("NonDynamicallyQuantizableLinear")
