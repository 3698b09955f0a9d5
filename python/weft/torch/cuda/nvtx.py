"""torch.cuda.nvtx's names: they mark ranges for NVIDIA's profiler, and do nothing without one."""

import contextlib


def range_push(msg):
    return -2


def range_pop():
    return -2


def range_start(msg):
    return 0


def range_end(range_id):
    pass


def mark(msg):
    pass


@contextlib.contextmanager
def range(msg, *args, **kwargs):
    yield
