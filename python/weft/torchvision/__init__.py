"""torchvision's names over weft: `import weft.torchvision as torchvision`. Images are read and written by Pillow.

source: torchvision 0.29's documentation and behaviour.
"""

import importlib as _importlib

from weft.torch import _absent

__version__ = "0.29.0"

_absent.install()


def __getattr__(name):
    if name in ("datasets", "io", "models", "ops", "transforms", "tv_tensors", "utils"):
        return _importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'torchvision' has no attribute '{name}'")


def get_image_backend():
    """The library that reads images."""
    return "PIL"


def set_image_backend(backend):
    """There is one: "PIL"."""
    if backend != "PIL":
        raise ValueError(f"set_image_backend: expected 'PIL', got {backend!r}")


def disable_beta_transforms_warning():
    """Nothing: there is no such warning."""


def _is_tracing():
    """Is a program being traced?"""
    from weft.jit import is_tracing

    return is_tracing()
