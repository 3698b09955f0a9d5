"""torch.multiprocessing's names: Python's multiprocessing. Tensors are pickled, not shared, on their way to other processes."""

import multiprocessing as _multiprocessing
from multiprocessing import *  # noqa: F403
from multiprocessing import get_start_method, set_start_method  # noqa: F401

__path__ = []

_sharing_strategy = "file_descriptor"


def get_all_sharing_strategies():
    return {"file_descriptor", "file_system"}


def get_sharing_strategy():
    return _sharing_strategy


def set_sharing_strategy(new_strategy):
    global _sharing_strategy
    if new_strategy not in get_all_sharing_strategies():
        raise AssertionError(f"expected one of {sorted(get_all_sharing_strategies())}, got {new_strategy!r}")
    _sharing_strategy = new_strategy


def init_reductions():
    pass


class ProcessException(Exception):
    """A process of spawn() that ended otherwise than by returning."""

    def __init__(self, msg, error_index, error_pid):
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, error_pid


class ProcessRaisedException(ProcessException):
    """A process of spawn() that raised."""


class ProcessExitedException(ProcessException):
    """A process of spawn() that exited."""

    def __init__(self, msg, error_index, error_pid, exit_code, signal_name=None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name


class ProcessContext:
    def __init__(self, processes):
        self.processes = processes

    def pids(self):
        return [process.pid for process in self.processes]

    def join(self, timeout=None, grace_period=None):
        for index, process in enumerate(self.processes):
            process.join(timeout)
            if process.exitcode not in (0, None):
                raise ProcessExitedException(
                    f"process {index} terminated with exit code {process.exitcode}",
                    index,
                    process.pid,
                    process.exitcode,
                )
        return all(process.exitcode is not None for process in self.processes)


SpawnContext = ProcessContext


def start_processes(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn", numa_options=None):
    """Calls fn(index, *args) in nprocs processes of their own."""
    context = _multiprocessing.get_context(start_method)
    processes = [context.Process(target=fn, args=(index, *args), daemon=daemon) for index in range(nprocs)]
    for process in processes:
        process.start()
    result = ProcessContext(processes)
    if not join:
        return result
    result.join()


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="fork"):
    """Calls fn(index, *args) in nprocs processes of their own. They are forked: a new interpreter would not find torch."""
    return start_processes(fn, args, nprocs, join, daemon, "fork")
