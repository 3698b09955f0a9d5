"""torchvision.transforms: changes of images, given as Pillow's or as tensors[*, C, H, W]."""

import contextlib

from .._pillow import pillow
from . import functional, transforms
from ._modes import InterpolationMode
from .transforms import *  # noqa: F403
from .transforms import __all__ as _transforms

__all__ = ["InterpolationMode", "functional", "transforms", *_transforms]

with contextlib.suppress(ImportError):
    pillow("torchvision.transforms")  # programs that `import PIL` find PIL.Image then, as beside torchvision


def __getattr__(name):
    if name != "v2":
        raise AttributeError(f"torchvision.transforms.{name} is not here: see dir(torchvision.transforms)")
    import importlib

    return importlib.import_module(f"{__name__}.v2")
