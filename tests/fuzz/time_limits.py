"""Runs that take too long."""

import contextlib
import signal
import threading


class TimedOut(BaseException):
    """Not an Exception: no program handles it, and nobody compares it."""


@contextlib.contextmanager
def time_limit(seconds, of_processor=False):
    """Raises TimedOut in the main thread; other threads have no limit."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def time_out(*_):
        raise TimedOut(f"more than {seconds} s")

    number, timer = (
        (signal.SIGPROF, signal.ITIMER_PROF) if of_processor else (signal.SIGALRM, signal.ITIMER_REAL)
    )
    saved = signal.signal(number, time_out)
    signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        signal.setitimer(timer, 0)
        signal.signal(number, saved)
