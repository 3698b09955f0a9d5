"""The default generator's state, and generators of one's own."""

from weft.random import *  # noqa: F403
from weft.random import __all__  # noqa: F401
