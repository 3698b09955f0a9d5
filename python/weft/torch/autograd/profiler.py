"""torch.autograd.profiler's names: those of torch.profiler that do not need its schedules."""

import contextlib

from ..profiler import profile, record_function  # noqa: F401


class emit_nvtx(contextlib.nullcontext):
    """Kept, and does nothing: there is no GPU to annotate."""

    def __init__(self, enabled=True, record_shapes=False):
        super().__init__()


class emit_itt(emit_nvtx):
    """Kept, and does nothing."""
