"""torch.cuda.amp's names, and torch.cpu.amp's."""

import functools

from .. import amp
from ..amp import custom_bwd as _custom_bwd
from ..amp import custom_fwd as _custom_fwd

custom_fwd = functools.partial(_custom_fwd, device_type="cuda")
custom_bwd = functools.partial(_custom_bwd, device_type="cuda")


def amp_definitely_not_available():
    return True


class autocast(amp.autocast):
    """torch.amp.autocast("cuda", …)."""

    def __init__(self, enabled=True, dtype=None, cache_enabled=True):
        super().__init__("cuda", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(amp.GradScaler):
    """torch.amp.GradScaler("cuda", …)."""

    def __init__(
        self, init_scale=65536.0, growth_factor=2.0, backoff_factor=0.5, growth_interval=2000, enabled=True
    ):
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)
