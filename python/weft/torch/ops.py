"""torch.ops."""

import sys

from ._ops import ops

sys.modules[__name__] = ops
