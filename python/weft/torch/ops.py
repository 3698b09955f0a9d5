"""torch.ops: TorchScript's operators by name; see weft.ops."""

from weft.ops import aten, prim, torchvision

__all__ = ["aten", "prim", "torchvision"]
