"""torch.nn.attention.bias: masks of causal attention, as tensors."""

import enum

import weft

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(enum.IntEnum):
    """Which corner the diagonal starts in."""

    UPPER_LEFT = 1
    LOWER_RIGHT = 2


def CausalBias(variant, seq_len_q, seq_len_kv):
    """bool[seq_len_q, seq_len_kv]: true where a query may see a key."""
    offset = seq_len_kv - seq_len_q if variant == CausalVariant.LOWER_RIGHT else 0
    return weft.tril(weft.ones((seq_len_q, seq_len_kv), dtype=weft.bool), offset)


def _sizes(size):
    if len(size) != 2:
        raise AssertionError(f"expected two sizes, got {size}")
    return size


def causal_upper_left(*size):
    """The mask whose diagonal starts in the upper left corner."""
    return CausalBias(CausalVariant.UPPER_LEFT, *_sizes(size))


def causal_lower_right(*size):
    """The mask whose diagonal ends in the lower right corner."""
    return CausalBias(CausalVariant.LOWER_RIGHT, *_sizes(size))
