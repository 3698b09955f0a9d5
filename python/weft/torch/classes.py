"""torch.classes."""

import sys

from ._ops import classes

sys.modules[__name__] = classes
