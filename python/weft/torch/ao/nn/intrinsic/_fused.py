"""Modules in a row that quantization takes as one."""

from weft import nn


class _FusedModule(nn.Sequential):
    """What all of them are."""


def _of(name, *kinds):
    """A fused module of these classes of modules, in order."""

    def __init__(self, *modules):
        given = [type(module) for module in modules]
        if len(modules) != len(kinds) or not all(issubclass(each, kind) for each, kind in zip(given, kinds)):
            raise AssertionError(f"Incorrect types for input modules{''.join(map(str, given))}")
        _FusedModule.__init__(self, *modules)

    doc = " and ".join(f"a {kind.__name__}" for kind in kinds)
    return type(
        name,
        (_FusedModule,),
        {"__init__": __init__, "__doc__": f"{doc[0].upper()}{doc[1:]}.", "__module__": __name__},
    )


ConvReLU1d, ConvReLU2d, ConvReLU3d = (
    _of(f"ConvReLU{d}d", getattr(nn, f"Conv{d}d"), nn.ReLU) for d in (1, 2, 3)
)
ConvBn1d, ConvBn2d, ConvBn3d = (
    _of(f"ConvBn{d}d", getattr(nn, f"Conv{d}d"), getattr(nn, f"BatchNorm{d}d")) for d in (1, 2, 3)
)
ConvBnReLU1d, ConvBnReLU2d, ConvBnReLU3d = (
    _of(f"ConvBnReLU{d}d", getattr(nn, f"Conv{d}d"), getattr(nn, f"BatchNorm{d}d"), nn.ReLU)
    for d in (1, 2, 3)
)
BNReLU2d, BNReLU3d = (_of(f"BNReLU{d}d", getattr(nn, f"BatchNorm{d}d"), nn.ReLU) for d in (2, 3))
LinearReLU = _of("LinearReLU", nn.Linear, nn.ReLU)
LinearBn1d = _of("LinearBn1d", nn.Linear, nn.BatchNorm1d)
