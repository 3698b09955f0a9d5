"""torch.signal over weft."""

from . import windows  # noqa: F401
