"""torchvision.transforms._presets: what the published weights of classifiers make of an image."""

import weft
from weft import nn

from . import functional as F
from .functional import InterpolationMode

__all__ = ["ImageClassification"]


class ImageClassification(nn.Module):
    """An image of PIL or [..., c, h, w], its shorter side resized, its center taken, float32 in [0, 1], normalized."""

    def __init__(self, *, crop_size, resize_size=256, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225),
                 interpolation=InterpolationMode.BILINEAR, antialias=True):  # fmt: skip
        super().__init__()
        self.crop_size, self.resize_size = [crop_size], [resize_size]
        self.mean, self.std = list(mean), list(std)
        self.interpolation, self.antialias = interpolation, antialias

    def forward(self, img):
        img = F.resize(img, self.resize_size, interpolation=self.interpolation, antialias=self.antialias)
        img = F.center_crop(img, self.crop_size)
        if not isinstance(img, weft.Tensor):
            img = F.pil_to_tensor(img)
        return F.normalize(F.convert_image_dtype(img, weft.float32), mean=self.mean, std=self.std)

    def __repr__(self):
        names = ("crop_size", "resize_size", "mean", "std", "interpolation")
        lines = [f"\n    {name}={getattr(self, name)}" for name in names]
        return f"{type(self).__name__}({''.join(lines)}\n)"

    def describe(self):
        """What it does, in a sentence."""
        return (
            f"Images (PIL, or tensors [..., C, H, W]) are resized to resize_size={self.resize_size} by {self.interpolation}, "
            f"their center of crop_size={self.crop_size} is taken, scaled to [0, 1], and normalized with mean={self.mean} "
            f"and std={self.std}."
        )
