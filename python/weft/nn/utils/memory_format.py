"""The order of weights in memory, which weft chooses itself."""

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def convert_conv2d_weight_memory_format(module, memory_format):
    """The module, unchanged."""
    return module


def convert_conv3d_weight_memory_format(module, memory_format):
    """The module, unchanged."""
    return module
