"""torchvision.ops.drop_block: blocks of elements that training sets to zero.

source: Ghiasi et al., DropBlock (2018).
"""

from weft.nn import Module
from weft.nn import functional as F

__all__ = ["DropBlock2d", "DropBlock3d", "drop_block2d", "drop_block3d"]


def _drop_blocks(name, rank, pool, input, p, block_size, inplace, eps, training):
    if p < 0.0 or p > 1.0:
        raise ValueError(f"drop probability has to be between 0 and 1, but got {p}.")
    if input.dim() != rank + 2:
        raise ValueError(f"{name}: expected input of {rank + 2} dimensions, got {input.dim()}")
    if not training or p == 0.0:
        return input
    import weft.torch as torch

    sizes = list(input.shape[2:])
    block_size = min(block_size, *sizes)
    gamma = p
    for size in sizes:
        gamma *= size / (size - block_size + 1)
    gamma /= block_size**rank
    shape = (input.shape[0], input.shape[1], *(size - block_size + 1 for size in sizes))
    noise = torch.empty(shape, dtype=input.dtype).bernoulli_(gamma)
    noise = F.pad(noise, [block_size // 2] * (2 * rank), value=0)
    noise = 1 - pool(noise, block_size, 1, block_size // 2)
    result = input * noise * (noise.numel() / (noise.sum() + eps))
    return input.copy_(result) if inplace else result


def drop_block2d(input, p, block_size, inplace=False, eps=1e-6, training=True):
    """input[N, C, H, W]: in training mode squares of block_size are zeros, p of all elements; the rest is scaled up."""
    return _drop_blocks("drop_block2d", 2, F.max_pool2d, input, p, block_size, inplace, eps, training)


def drop_block3d(input, p, block_size, inplace=False, eps=1e-6, training=True):
    """drop_block2d for input[N, C, D, H, W]."""
    return _drop_blocks("drop_block3d", 3, F.max_pool3d, input, p, block_size, inplace, eps, training)


class DropBlock2d(Module):
    """See drop_block2d."""

    def __init__(self, p, block_size, inplace=False, eps=1e-6):
        super().__init__()
        self.p = p
        self.block_size = block_size
        self.inplace = inplace
        self.eps = eps

    def forward(self, input):
        return drop_block2d(input, self.p, self.block_size, self.inplace, self.eps, self.training)

    def __repr__(self):
        return f"{type(self).__name__}(p={self.p}, block_size={self.block_size}, inplace={self.inplace})"


class DropBlock3d(DropBlock2d):
    """See drop_block3d."""

    def forward(self, input):
        return drop_block3d(input, self.p, self.block_size, self.inplace, self.eps, self.training)
