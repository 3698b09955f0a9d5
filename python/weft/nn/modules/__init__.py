"""The modules of weft.nn."""

from . import (  # noqa: F401, PyTorch's names of files
    activation,
    adaptive,
    attention,
    batchnorm,
    channelshuffle,
    container,
    conv,
    distance,
    dropout,
    flatten,
    fold,
    instancenorm,
    lazy,
    linear,
    linear_cross_entropy,
    linear_cross_entropy_options,
    loss,
    module,
    normalization,
    padding,
    parallel,
    pixelshuffle,
    pooling,
    rnn,
    shapes,
    sparse,
    transformer,
    upsampling,
    utils,
)
from .module import Module
from .optimized import OptimizedModule

_SOURCES = (activation, attention, container, conv, dropout, lazy, linear, loss, normalization, padding, parallel, pooling, rnn,
            shapes, sparse, transformer)  # fmt: skip


def _modules_of(source):
    """The public modules that a file has."""
    return {name: value for name, value in vars(source).items()
            if isinstance(value, type) and issubclass(value, Module) and name[0] != "_"}  # fmt: skip


__all__ = ["Module", "OptimizedModule"]
for _source in _SOURCES:
    _found = _modules_of(_source)
    globals().update(_found)
    __all__ += sorted(_found.keys() - {*__all__, "NonDynamicallyQuantizableLinear"})
LinearCrossEntropyOptions = loss.LinearCrossEntropyOptions
__all__.append("LinearCrossEntropyOptions")

# Names that PyTorch has in other files than weft.
activation.MultiheadAttention = attention.MultiheadAttention
linear.LazyLinear = lazy.LazyLinear
lazy.LazyModuleMixin = lazy._Lazy
for _name in (
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
):
    setattr(conv, _name, getattr(lazy, _name))
