"""torch.nn.attention.flex_attention: attention whose scores and masks are functions of positions.

The functions are called once, with index tensors that broadcast: batch[B, 1, 1, 1], head[H, 1, 1], query[Q, 1], key[K].
"""

from collections.abc import Callable
from typing import NamedTuple, Optional

import weft
from weft import Tensor

_mask_mod_signature = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
_score_mod_signature = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]

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


def _after_slicing(batch, head, token_q, token_kv):
    """raises: RuntimeError. What stands where a sliced mask's mask_mod has to be set."""
    raise RuntimeError(
        "Cannot use mask_mod from a sliced BlockMask. When you slice a BlockMask using [], the mask_mod attribute is reset. "
        "You must set it from the original BlockMask's mask_mod."
    )


def _counted(blocks):
    """(how many blocks of each row are set, the columns of these, then of the others), int32."""
    order = weft.argsort(blocks.to(weft.int8), -1, descending=True)
    return blocks.to(weft.int32).sum(-1).to(weft.int32), order.to(weft.int32)


def _set_blocks(counts, columns, num_columns):
    """bool[..., rows, num_columns] of what _counted gives."""
    is_set = weft.arange(columns.shape[-1]) < counts.unsqueeze(-1)
    given = weft.where(is_set, columns.to(weft.int64), num_columns)
    blocks = weft.zeros((*columns.shape[:-1], num_columns + 1), dtype=weft.int8)
    return weft.scatter(blocks, -1, given, weft.ones_like(given).to(weft.int8))[..., :num_columns] != 0


def _tokens(blocks, sizes, lengths):
    """bool[..., *lengths]: each block's value at its tokens."""
    wide = blocks.repeat_interleave(sizes[0], -2)[..., : lengths[0], :]
    return wide.repeat_interleave(sizes[1], -1)[..., : lengths[1]]


class BlockMask:
    """A mask of attention: in blocks [B, H, queries, keys] of BLOCK_SIZE tokens that are partial, mask_mod(batch, head, query, key)
    of the tokens' positions tells who sees whom; in full blocks everyone sees everyone, in others nobody.

    seq_lengths: (queries, keys). kv_num_blocks, kv_indices: how many blocks of a row are partial, and which; full_kv_num_blocks,
    full_kv_indices: of full ones; q_…: of columns.
    """

    def __init__(self, seq_lengths, partial, full, block_size, mask_mod):
        self.seq_lengths, self.BLOCK_SIZE = tuple(seq_lengths), block_size
        self._partial, self._full = partial, full
        self.mask_mod = mask_mod
        self._made_of = None  # the mask_mod that tells of all tokens, whatever their block

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks,
        kv_indices,
        full_kv_num_blocks=None,
        full_kv_indices=None,
        BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE,
        mask_mod=None,
        seq_lengths=None,
        compute_q_blocks=True,
    ):
        """The mask whose partial, and full, blocks are these."""
        if kv_indices.dim() < 2:
            raise RuntimeError("BlockMask must have at least 2 dimensions")
        block = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
        if seq_lengths is None:
            seq_lengths = kv_indices.shape[-2] * block[0], kv_indices.shape[-1] * block[1]
        columns = -(-seq_lengths[1] // block[1])
        partial = _set_blocks(kv_num_blocks, kv_indices, columns)
        full = None if full_kv_indices is None else _set_blocks(full_kv_num_blocks, full_kv_indices, columns)
        return cls(seq_lengths, partial, full, block, mask_mod or noop_mask)

    @property
    def shape(self):
        return (*self._partial.shape[:-2], *self.seq_lengths)

    @property
    def kv_num_blocks(self):
        return _counted(self._partial)[0]

    @property
    def kv_indices(self):
        return _counted(self._partial)[1]

    @property
    def full_kv_num_blocks(self):
        return None if self._full is None else _counted(self._full)[0]

    @property
    def full_kv_indices(self):
        return None if self._full is None else _counted(self._full)[1]

    @property
    def q_num_blocks(self):
        return _counted(self._partial.transpose(-2, -1))[0]

    @property
    def q_indices(self):
        return _counted(self._partial.transpose(-2, -1))[1]

    @property
    def full_q_num_blocks(self):
        return None if self._full is None else _counted(self._full.transpose(-2, -1))[0]

    @property
    def full_q_indices(self):
        return None if self._full is None else _counted(self._full.transpose(-2, -1))[1]

    def __getitem__(self, index):
        """The mask of some of the batches, heads and rows of blocks. Its mask_mod is to be set."""
        index = index if isinstance(index, tuple) else (index,)
        if len(index) > 3:
            raise IndexError("BlockMask indexing supports batch, head, and Q-block dimensions")
        index = tuple(
            slice(i, i + 1 or None) if isinstance(i, int) else i
            for i in (*index, slice(None), slice(None), slice(None))[:3]
        )
        partial = self._partial[index]
        full = None if self._full is None else self._full[index]
        size, length = self.BLOCK_SIZE[0], self.seq_lengths[0]
        queries = partial.shape[-2] * size
        if isinstance(index[2], slice):
            chosen = range(self._partial.shape[-2])[index[2]]
            queries = sum(min(size, length - row * size) for row in chosen)
        return BlockMask((queries, self.seq_lengths[1]), partial, full, self.BLOCK_SIZE, _after_slicing)

    def numel(self):
        batches, heads, queries, keys = self.shape
        return batches * heads * queries * keys

    def sparsity(self):
        """The percentage of blocks in which nobody sees anyone."""
        seen = self._partial if self._full is None else self._partial | self._full
        return 100 * (1 - seen.to(weft.int64).sum().item() / seen.numel())

    def to_dense(self):
        """bool[B, H, rows, columns] of the blocks in which someone sees someone, as int32."""
        seen = self._partial if self._full is None else self._partial | self._full
        return seen.to(weft.int32)

    def to(self, device):
        moved = BlockMask(
            self.seq_lengths,
            self._partial.to(device),
            None if self._full is None else self._full.to(device),
            self.BLOCK_SIZE,
            self.mask_mod,
        )
        moved._made_of = self._made_of
        return moved

    def __repr__(self):
        return f"BlockMask(shape={self.shape}, BLOCK_SIZE={self.BLOCK_SIZE}, sparsity={self.sparsity():.2f}%)"

    def _sees(self, batches, heads, queries, keys):
        """bool that broadcasts to [batches, heads, queries, keys]: who sees whom."""
        sees = self.mask_mod(*_places(batches, heads, queries, keys))
        if self.mask_mod is self._made_of:
            return sees
        sees = sees & _tokens(self._partial, self.BLOCK_SIZE, (queries, keys))
        return sees if self._full is None else sees | _tokens(self._full, self.BLOCK_SIZE, (queries, keys))


def _in_blocks(mask, block):
    """(partial, full): bool[B, H, rows, columns] of the blocks of a mask[B, H, Q, K]."""
    batches, heads, queries, keys = mask.shape
    rows, columns = -(-queries // block[0]), -(-keys // block[1])
    padded = weft.pad(mask, (0, columns * block[1] - keys, 0, rows * block[0] - queries))
    parts = padded.reshape(batches, heads, rows, block[0], columns, block[1])
    full = weft.all(parts, (3, 5))
    return weft.any(parts, (3, 5)) & ~full, full


def create_block_mask(
    mask_mod,
    B,
    H,
    Q_LEN,
    KV_LEN,
    device=None,
    BLOCK_SIZE=_DEFAULT_SPARSE_BLOCK_SIZE,
    _compile=False,
    separate_full_blocks=True,
    compute_dq_write_order=False,
    dq_kv_order=False,
):
    """The mask of mask_mod(batch, head, query, key); B and H may be None for one that does not depend on them."""
    block = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else tuple(BLOCK_SIZE)
    partial, full = _in_blocks(create_mask(mask_mod, B, H, Q_LEN, KV_LEN), block)
    if not separate_full_blocks:
        partial, full = partial | full, None
    made = BlockMask((Q_LEN, KV_LEN), partial, full, block, mask_mod)
    made._made_of = mask_mod
    return made


def _check_lengths(mask, queries, keys):
    if mask.mask_mod is _after_slicing:
        raise RuntimeError("Cannot use mask_mod from a sliced BlockMask")
    for got, made_for in zip((queries, keys), mask.seq_lengths):
        if got != made_for:
            raise RuntimeError(
                f"block_mask was created for a {'smaller' if got > made_for else 'larger'} length than you're using it for: "
                f"expected {mask.seq_lengths[0]} queries and {mask.seq_lengths[1]} keys, got {queries} and {keys}"
            )


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
    exact = weft.float64 if query.dtype == weft.float64 else weft.float32
    scores = weft.matmul(query.to(exact), key.to(exact).transpose(-2, -1))
    scores = scores * (depth**-0.5 if scale is None else scale)
    places = _places(batches, heads, queries, keys)
    if score_mod is not None:
        scores = score_mod(scores, *places)
    if block_mask is not None:
        _check_lengths(block_mask, queries, keys)
        sees = block_mask._sees(batches, heads, queries, keys)
        scores = weft.where(sees, scores, float("-inf"))
    largest = weft.amax(scores, -1, True)
    powers = weft.exp(scores - weft.where(largest == float("-inf"), weft.zeros_like(largest), largest))
    total = powers.sum(-1, keepdim=True)
    weights = powers / weft.where(total == 0, weft.ones_like(total), total)
    output = weft.matmul(weights.to(query.dtype), value.to(query.dtype))
    if not return_lse and return_aux is None:
        return output
    lse = (weft.log(total) + largest).squeeze(-1)
    if return_aux is None:
        return output, lse
    return output, AuxOutput(
        lse if return_aux.lse else None, largest.squeeze(-1) if return_aux.max_scores else None
    )
