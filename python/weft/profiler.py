"""A timeline of what weft's threads do, as a file that https://ui.perfetto.dev and chrome://tracing open."""

import contextlib
import os

from . import _C


def start(path):
    """Records from now on, for the file `path`. RuntimeError while recording, or when it cannot be written."""
    _C._start_profiler(os.fspath(path))


def stop():
    """Writes the file. RuntimeError when not recording, or when it cannot be written."""
    _C._stop_profiler()


@contextlib.contextmanager
def record(path):
    """Records the body of a `with` statement."""
    start(path)
    try:
        yield
    finally:
        stop()
