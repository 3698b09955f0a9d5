"""Statements that take too long."""

import contextlib
import signal
import threading


class TimedOut(BaseException):
    """Not an Exception: no program handles it."""


@contextlib.contextmanager
def time_limit(seconds):
    def time_out(*_):
        raise TimedOut(f"more than {seconds} s")

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    saved = signal.signal(signal.SIGPROF, time_out)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, saved)
