"""torch.nn.modules.upsampling: layers of `shapes`."""

from .shapes import Upsample, UpsamplingBilinear2d, UpsamplingNearest2d

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]
