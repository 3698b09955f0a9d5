"""torchvision.transforms.v2: the transforms that are the same here, and the names of those that are new."""

import weft
from weft.nn import Module

from .. import transforms as _first
from .._modes import InterpolationMode
from ..transforms import *  # noqa: F403
from ..transforms import __all__ as _transforms
from . import functional

__all__ = ["Identity", "ToDtype", "ToImage", "ToPureTensor", "InterpolationMode", *_transforms]


class ToImage(Module):
    """[C, H, W] of one of Pillow's images or an array[H, W, C]; tensors as they are."""

    def forward(self, inpt):
        if isinstance(inpt, weft.Tensor):
            return inpt
        if type(inpt).__module__ == "numpy":
            array = inpt[:, :, None] if inpt.ndim == 2 else inpt
            return weft.from_numpy(array.copy()).permute(2, 0, 1).contiguous()
        return functional.pil_to_tensor(inpt)


class ToPureTensor(Module):
    """The tensor itself."""

    def forward(self, inpt):
        return inpt


class Identity(ToPureTensor):
    """The input itself."""


class ToDtype(Module):
    """The tensor in another dtype; scale: values so that the brightest stays so."""

    def __init__(self, dtype, scale=False):
        super().__init__()
        self.dtype = dtype
        self.scale = scale

    def forward(self, inpt):
        return functional.convert_image_dtype(inpt, self.dtype) if self.scale else inpt.to(self.dtype)


class Resize(_first.Resize):
    """See functional.resize."""

    _weft_resize = staticmethod(functional.resize)


class RandomResizedCrop(_first.RandomResizedCrop):
    """A part of random area and aspect ratio, in this size."""

    _weft_resized_crop = staticmethod(functional.resized_crop)
