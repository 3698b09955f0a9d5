"""torch.fx.experimental.symbolic_shapes: what torch.export raises about sizes."""

from weft.torch import _absent


class ConstraintViolationError(RuntimeError):
    pass


class GuardOnDataDependentSymNode(RuntimeError):
    """A program went on by what a tensor holds."""


__getattr__ = _absent.names(__name__)
