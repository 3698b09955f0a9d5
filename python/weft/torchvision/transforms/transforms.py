"""The classes of torchvision.transforms."""

from ._fixed import *  # noqa: F403
from ._fixed import __all__ as _fixed
from ._modes import InterpolationMode  # noqa: F401
from ._random import *  # noqa: F403
from ._random import __all__ as _random

__all__ = sorted(["InterpolationMode", *_fixed, *_random])
