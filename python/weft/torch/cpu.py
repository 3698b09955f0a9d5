"""torch.cpu's names: the one device that there is."""

import contextlib

from .amp import _cpu as amp  # noqa: F401

__path__ = []  # modules below are made by the table


class Stream:
    """The CPU's one stream; operators have run when they return."""

    def __init__(self, priority=-1):
        pass

    def wait_stream(self, stream):
        pass

    def record_event(self, event=None):
        return event

    def wait_event(self, event):
        pass

    def synchronize(self):
        pass


class Event:
    """Every event has happened."""

    def query(self):
        return True

    def record(self, stream=None):
        pass

    def synchronize(self):
        pass

    def wait(self, stream=None):
        pass


class StreamContext(contextlib.nullcontext):
    """A `with` statement of the CPU's stream."""

    def __init__(self, stream=None):
        super().__init__()


_STREAM = Stream()


def is_available():
    return True


def is_initialized():
    return True


def synchronize(device=None):
    pass


def current_stream(device=None):
    return _STREAM


def stream(stream):
    return StreamContext(stream)


def device_count():
    return 1


def set_device(device):
    pass


def current_device():
    return "cpu"


def get_capabilities():
    from .backends import cpu

    return {"architecture": "x86_64", "capability": cpu.get_cpu_capability()}
