"""torch.nn.modules.pixelshuffle: layers of `shapes`."""

from .shapes import PixelShuffle, PixelUnshuffle

__all__ = ["PixelShuffle", "PixelUnshuffle"]
