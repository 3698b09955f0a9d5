"""torchvision.datasets: images in folders and of random numbers. Others are absent: weft downloads no data."""

from weft.torch import _absent

from .fakedata import FakeData  # noqa: F401
from .folder import DatasetFolder, ImageFolder  # noqa: F401
from .vision import VisionDataset  # noqa: F401

__getattr__ = _absent.names(__name__)
