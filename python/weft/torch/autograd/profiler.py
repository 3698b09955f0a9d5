"""torch.autograd.profiler's names: those of torch.profiler that do not need its schedules."""

import contextlib

from .. import profiler as _profiler
from ..profiler import EventList, FunctionEvent, FunctionEventAvg, record_function  # noqa: F401


class profile(_profiler.profile):
    """weft.profiler.profile without schedules; what it holds is that of events(), and `enabled=False` records nothing."""

    def __init__(
        self,
        enabled=True,
        *,
        use_cpu=True,
        use_device=None,
        record_shapes=False,
        with_flops=False,
        profile_memory=False,
        with_stack=False,
        with_modules=False,
        use_kineto=True,
        use_cuda=None,
        experimental_config=None,
        acc_events=False,
        custom_trace_id_callback=None,
    ):
        super().__init__(
            record_shapes=record_shapes,
            with_flops=with_flops,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_modules=with_modules,
            acc_events=acc_events,
            custom_trace_id_callback=custom_trace_id_callback,
        )
        self.enabled = bool(enabled)

    def start(self):
        if self.enabled:
            super().start()

    @property
    def function_events(self):
        return self.events()

    def table(self, *args, **kwargs):
        return self.events().table(*args, **kwargs)

    def total_average(self):
        return self.events().total_average()

    @property
    def self_cpu_time_total(self):
        return self.events().self_cpu_time_total


class emit_nvtx(contextlib.nullcontext):
    """Kept, and does nothing: there is no GPU to annotate."""

    def __init__(self, enabled=True, record_shapes=False):
        super().__init__()


class emit_itt(emit_nvtx):
    """Kept, and does nothing."""
