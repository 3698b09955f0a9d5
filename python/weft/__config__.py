"""How weft was built and how it uses threads, as text for people and bug reports."""

from . import _C


def show():
    """Compiler, threading library, BLAS, CPU capability and build settings."""
    return _C._build_info()


def parallel_info():
    """Numbers of threads, the threading library, and the environment variables that set them."""
    return _C._parallel_info()
