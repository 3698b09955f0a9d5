"""What the array API asks of the arrays themselves, which are weft.Tensor or its subclass ndarray."""

import importlib

_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")


class Size(int):
    """The number of elements. Called, the sizes or that of one dimension, as PyTorch's method `size` gives them."""

    def __new__(cls, number, tensor):
        size = super().__new__(cls, number)
        size._sizes = tensor._sizes
        return size

    def __call__(self, dim=None):
        return self._sizes(dim)


def namespace(api_version=None):
    """weft.numpy, for a version of the standard up to its own."""
    if api_version is not None and api_version not in _VERSIONS:
        known = ", ".join(_VERSIONS)
        raise ValueError(
            f"__array_namespace__: expected api_version to be one of {known}, got {api_version!r}"
        )
    return importlib.import_module("weft.numpy")
