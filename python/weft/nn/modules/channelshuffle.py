"""torch.nn.modules.channelshuffle: a layer of `shapes`."""

from .shapes import ChannelShuffle

__all__ = ["ChannelShuffle"]
