"""torch.profiler's names: weft.profiler under PyTorch's."""

import types

from weft.profiler import (  # noqa: F401
    DeviceType,
    EventList,
    FunctionEvent,
    FunctionEventAvg,
    ProfilerAction,
    ProfilerActivity,
    profile,
    record_function,
    schedule,
    supported_activities,
    tensorboard_trace_handler,
)

__path__ = []
_utils = types.SimpleNamespace(
    _init_for_cuda_graphs=lambda: None
)  # nothing is recorded ahead for graphs of a GPU

_KinetoProfile = profile


class ExecutionTraceObserver:
    """raises: NotImplementedError."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(
            "torch.profiler.ExecutionTraceObserver is PyTorch's, but not weft's; use torch.profiler.profile"
        )


def register_optimizer_step_post_hook(hook):
    """Does nothing: there are no optimizers."""


def kineto_available():
    """True: what is recorded can be written as a trace."""
    return True


def is_available():
    return False


def _record_function_enter(name, args=None):
    """torch.ops.profiler's: begins a range, and gives what _record_function_exit ends."""
    opened = record_function(name, args)
    opened.__enter__()
    return opened


_record_function_enter_new = _record_function_enter


def _record_function_exit(opened):
    opened.__exit__()
