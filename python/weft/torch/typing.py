"""torch.typing's names: what annotations say."""

from .types import *  # noqa: F403
