"""torch._higher_order_ops: functions of functions."""

from weft.torch import cond, while_loop  # noqa: F401

from .. import _absent
from .associative_scan import associative_scan  # noqa: F401

__getattr__ = _absent.names(__name__)
