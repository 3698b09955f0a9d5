"""How pixels between pixels are computed."""

import enum


class InterpolationMode(enum.Enum):
    """Interpolation of images. The last three are Pillow's only."""

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


# Pillow's numbers.
PILLOW = {"nearest": 0, "lanczos": 1, "bilinear": 2, "bicubic": 3, "box": 4, "hamming": 5, "nearest-exact": 0}
_BY_NUMBER = {0: "nearest", 1: "lanczos", 2: "bilinear", 3: "bicubic", 4: "box", 5: "hamming"}


def mode_of(interpolation):
    """An InterpolationMode; one of Pillow's numbers stands for its own."""
    if isinstance(interpolation, int):
        return InterpolationMode(_BY_NUMBER[int(interpolation)])
    if not isinstance(interpolation, InterpolationMode):
        raise TypeError(
            "Argument interpolation should be a InterpolationMode or a corresponding Pillow integer constant"
        )
    return interpolation
