"""torch's classes about devices that are not here."""

import importlib

from .cuda import NO_GPU


class AcceleratorError(RuntimeError):
    """What a GPU reports."""


class OutOfMemoryError(RuntimeError):
    """A GPU's memory is full."""


class Stream:
    """raises: RuntimeError; streams are an accelerator's."""

    def __init__(self, *args, **kwargs):
        raise RuntimeError(f"torch.Stream: {NO_GPU}")


class Event:
    """raises: RuntimeError; events are an accelerator's."""

    def __init__(self, *args, **kwargs):
        raise RuntimeError(f"torch.Event: {NO_GPU}")


def get_device_module(device=None):
    """The module of a kind of device: torch.cpu, torch.cuda, …; that of the CPU without an argument."""
    kind = "cpu" if device is None else str(device).partition(":")[0]
    if kind not in ("cpu", "cuda", "mps", "mtia", "xpu"):
        raise RuntimeError(f"Invalid device module {kind!r}: torch does not have it")
    return importlib.import_module(f"weft.torch.{kind}")
