"""torch.cpu.amp's names."""

import weft

from .. import amp
from ..amp import GradScaler  # noqa: F401


class autocast(amp.autocast):
    """torch.amp.autocast("cpu", …)."""

    def __init__(self, enabled=True, dtype=weft.bfloat16, cache_enabled=True):
        super().__init__("cpu", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)
