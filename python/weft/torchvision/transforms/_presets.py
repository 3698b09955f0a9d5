"""torchvision.transforms._presets: what published weights make of an image or a video."""

import weft
from weft import nn

from . import functional as F
from .functional import InterpolationMode

__all__ = ["ImageClassification", "ObjectDetection", "SemanticSegmentation", "VideoClassification"]


def _text(preset, names):
    lines = [f"\n    {name}={getattr(preset, name)}" for name in names]
    return f"{type(preset).__name__}({''.join(lines)}\n)"


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
        return _text(self, ("crop_size", "resize_size", "mean", "std", "interpolation"))

    def describe(self):
        """What it does, in a sentence."""
        return (
            f"Images (PIL, or tensors [..., C, H, W]) are resized to resize_size={self.resize_size} by {self.interpolation}, "
            f"their center of crop_size={self.crop_size} is taken, scaled to [0, 1], and normalized with mean={self.mean} "
            f"and std={self.std}."
        )


class ObjectDetection(nn.Module):
    """An image of PIL or [..., c, h, w] as float32 in [0, 1]: detectors resize and normalize their images themselves."""

    def forward(self, img):
        if not isinstance(img, weft.Tensor):
            img = F.pil_to_tensor(img)
        return F.convert_image_dtype(img, weft.float32)

    def __repr__(self):
        return f"{type(self).__name__}()"

    def describe(self):
        """What it does, in a sentence."""
        return "Images (PIL, or tensors [..., C, H, W]) are scaled to [0, 1]."


class SemanticSegmentation(nn.Module):
    """An image of PIL or [..., c, h, w], its shorter side resized unless resize_size is None, float32 in [0, 1],
    normalized."""

    def __init__(self, *, resize_size, mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225),
                 interpolation=InterpolationMode.BILINEAR, antialias=True):  # fmt: skip
        super().__init__()
        self.resize_size = None if resize_size is None else [resize_size]
        self.mean, self.std = list(mean), list(std)
        self.interpolation, self.antialias = interpolation, antialias

    def forward(self, img):
        if self.resize_size is not None:
            img = F.resize(img, self.resize_size, interpolation=self.interpolation, antialias=self.antialias)
        if not isinstance(img, weft.Tensor):
            img = F.pil_to_tensor(img)
        return F.normalize(F.convert_image_dtype(img, weft.float32), mean=self.mean, std=self.std)

    def __repr__(self):
        return _text(self, ("resize_size", "mean", "std", "interpolation"))

    def describe(self):
        """What it does, in a sentence."""
        return (
            f"Images (PIL, or tensors [..., C, H, W]) are resized to resize_size={self.resize_size} by {self.interpolation}, "
            f"scaled to [0, 1], and normalized with mean={self.mean} and std={self.std}."
        )


class VideoClassification(nn.Module):
    """Frames [n, t, c, h, w] or [t, c, h, w] to [n, c, t, h, w] or [c, t, h, w]: resized without antialiasing, their center
    taken, float32 in [0, 1], normalized."""

    def __init__(self, *, crop_size, resize_size, mean=(0.43216, 0.394666, 0.37645), std=(0.22803, 0.22145, 0.216989),
                 interpolation=InterpolationMode.BILINEAR):  # fmt: skip
        super().__init__()
        self.crop_size, self.resize_size = list(crop_size), list(resize_size)
        self.mean, self.std = list(mean), list(std)
        self.interpolation = interpolation

    def forward(self, vid):
        frames = vid.reshape((-1, *vid.shape[-3:]))
        frames = F.resize(frames, self.resize_size, interpolation=self.interpolation, antialias=False)
        frames = F.convert_image_dtype(F.center_crop(frames, self.crop_size), weft.float32)
        frames = F.normalize(frames, mean=self.mean, std=self.std)
        return frames.reshape((*vid.shape[:-3], *frames.shape[1:])).transpose(-4, -3)

    def __repr__(self):
        return _text(self, ("crop_size", "resize_size", "mean", "std", "interpolation"))

    def describe(self):
        """What it does, in a sentence."""
        return (
            f"Frames [..., T, C, H, W] are resized to resize_size={self.resize_size} by {self.interpolation}, their center of "
            f"crop_size={self.crop_size} is taken, scaled to [0, 1], normalized with mean={self.mean} and std={self.std}, and "
            "given as [..., C, T, H, W]."
        )
