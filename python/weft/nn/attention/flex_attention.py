"""torch.nn.attention.flex_attention: attention whose scores and masks are functions of positions.

The functions are called once, with index tensors that broadcast: batch[B, 1, 1, 1], head[H, 1, 1], query[Q, 1], key[K].
"""

from typing import NamedTuple, Optional

import weft
from weft import Tensor

__all__ = ["AuxOutput", "AuxRequest", "BlockMask", "and_masks", "create_block_mask", "create_mask", "flex_attention", "noop_mask",
           "or_masks"]  # fmt: skip


_DEFAULT_SPARSE_BLOCK_SIZE = 128  # a side of the blocks of a mask


class AuxRequest(NamedTuple):
    """What flex_attention gives beside its output."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """lse: logarithms of the sums of exponentials. max_scores: the largest scores. [B, H, Q] each."""

    lse: Optional[Tensor] = None
    max_scores: Optional[Tensor] = None


def noop_mask(batch, head, token_q, token_kv):
    """All queries see all keys."""
    return weft.ones((), dtype=weft.bool)


def and_masks(*mask_mods):
    """The mask where all of these hold."""

    def mask(b, h, q, k):
        result = weft.ones((), dtype=weft.bool)
        for each in mask_mods:
            result = result & each(b, h, q, k)
        return result

    return mask


def or_masks(*mask_mods):
    """The mask where any of these holds."""

    def mask(b, h, q, k):
        result = weft.zeros((), dtype=weft.bool)
        for each in mask_mods:
            result = result | each(b, h, q, k)
        return result

    return mask


def _places(batches, heads, queries, keys):
    counts = (batches, heads, queries, keys)
    return [weft.arange(count).reshape([-1] + [1] * (3 - d)) for d, count in enumerate(counts)]


def create_mask(mod_fn, B, H, Q_LEN, KV_LEN, device=None):
    """bool[B, H, Q_LEN, KV_LEN]: where mod_fn(batch, head, query, key) holds."""
    shape = (B or 1, H or 1, Q_LEN, KV_LEN)
    return weft.broadcast_to(mod_fn(*_places(*shape)), shape)


class BlockMask:
    """A mask of attention, as create_block_mask makes it: mask_mod(batch, head, query, key) of positions."""

    def __init__(self, mask_mod, shape, block_size):
        self.mask_mod = mask_mod
        self.shape = shape
        self.seq_lengths = tuple(shape[-2:])
        self.BLOCK_SIZE = block_size

    def to_dense(self):
        """bool[B, H, Q, K]."""
        return create_mask(self.mask_mod, *self.shape)

    def to(self, device):
        return self


def create_block_mask(mask_mod, B, H, Q_LEN, KV_LEN, device=None, BLOCK_SIZE=128, _compile=False):
    """The mask of mask_mod(batch, head, query, key); B and H may be None for one that does not depend on them."""
    block = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
    return BlockMask(mask_mod, (B or 1, H or 1, Q_LEN, KV_LEN), block)


def flex_attention(query, key, value, score_mod=None, block_mask=None, scale=None, enable_gqa=False, return_lse=False,
                   kernel_options=None, *, return_aux=None):  # fmt: skip
    """softmax(score_mod(query @ key^T * scale)) @ value over what block_mask lets through; zeros for a query that sees
    no key. query[B, Hq, Q, D], key[B, Hkv, K, D], value[B, Hkv, K, V].

    score_mod(score, batch, head, query, key): elementwise. return_lse, return_aux: with further results.
    """
    batches, heads, queries, depth = query.shape
    if enable_gqa:
        groups = heads // key.shape[1]
        key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    elif key.shape[1] != heads:
        raise ValueError(
            f"flex_attention: expected {heads} heads of key and value, got {key.shape[1]}; see enable_gqa"
        )
    keys = key.shape[2]
    scores = weft.matmul(query, key.transpose(-2, -1)) * (depth**-0.5 if scale is None else scale)
    places = _places(batches, heads, queries, keys)
    if score_mod is not None:
        scores = score_mod(scores, *places).to(query.dtype)
    if block_mask is not None:
        scores = weft.where(block_mask.mask_mod(*places), scores, float("-inf"))
    largest = weft.amax(scores, -1, True)
    powers = weft.exp(scores - weft.where(largest == float("-inf"), weft.zeros_like(largest), largest))
    total = powers.sum(-1, keepdim=True)
    weights = powers / weft.where(total == 0, weft.ones_like(total), total)
    output = weft.matmul(weights.to(value.dtype), value)
    if not return_lse and return_aux is None:
        return output
    lse = (weft.log(total) + largest).squeeze(-1)
    if return_aux is None:
        return output, lse
    return output, AuxOutput(
        lse if return_aux.lse else None, largest.squeeze(-1) if return_aux.max_scores else None
    )
