"""Sequences of different lengths, packed and padded."""

from typing import List, NamedTuple, Optional, Union

import weft
from weft import Tensor
from weft._composed import shapes


class _PackedFields(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Optional[Tensor]
    unsorted_indices: Optional[Tensor]


class PackedSequence(_PackedFields):
    """Sequences without padding, step after step: data[sum of lengths, *]; batch_sizes: int64[steps], how many sequences
    have each step. sorted_indices order the sequences by length; unsorted_indices undo that. Make one by
    pack_padded_sequence or pack_sequence.
    """

    def __new__(cls, data, batch_sizes=None, sorted_indices=None, unsorted_indices=None):
        if batch_sizes is None:
            data, batch_sizes = data
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args, **kwargs):
        """Tensor.to of the data."""
        return type(self)(
            self.data.to(*args, **kwargs), self.batch_sizes, self.sorted_indices, self.unsorted_indices
        )

    def float(self):
        return self.to(weft.float32)

    def double(self):
        return self.to(weft.float64)

    def half(self):
        return self.to(weft.float16)

    def cpu(self):
        return self

    def cuda(self, *args, **kwargs):
        return self.to("cuda")

    def byte(self):
        return self.to(weft.uint8)

    def char(self):
        return self.to(weft.int8)

    def short(self):
        return self.to(weft.int16)

    def int(self):
        return self.to(weft.int32)

    def long(self):
        return self.to(weft.int64)

    def pin_memory(self):
        return self

    def is_pinned(self):
        return False

    @property
    def is_cuda(self):
        return False


def invert_permutation(permutation: Optional[Tensor]) -> Optional[Tensor]:
    """int64[N] that undoes a permutation; None for None."""
    if permutation is None:
        return None
    return weft.argsort(permutation)


def pack_padded_sequence(
    input: Tensor, lengths: Union[Tensor, List[int]], batch_first=False, enforce_sorted=True
):
    """A PackedSequence of input[steps, batch, *] (batch_first: [batch, steps, *]), whose sequences have these lengths.

    enforce_sorted: the lengths must be in decreasing order; otherwise the sequences are sorted here.
    Raises: ValueError for lengths that are not positive, more than the steps, not one per sequence or not sorted.
    """
    lengths = lengths if isinstance(lengths, Tensor) else weft.tensor(list(lengths), dtype=weft.int64)
    order = None
    if not enforce_sorted:
        order = weft.argsort(lengths, descending=True, stable=True)
        lengths = lengths.index_select(0, order)
        input = input.index_select(0 if batch_first else 1, order)
    data, batch_sizes = weft.pack_padded_sequence(input, lengths, batch_first)
    return PackedSequence(data, batch_sizes, order, None)


def pad_packed_sequence(sequence: PackedSequence, batch_first=False, padding_value=0.0, total_length=None):
    """(padded[steps, batch, *], lengths: int64[batch]) of a PackedSequence, in the order that its sequences had before.

    total_length: steps of the result, at least those of the longest sequence.
    """
    steps = sequence.batch_sizes.shape[0]
    if total_length is not None and total_length < steps:
        raise ValueError(
            f"pad_packed_sequence: expected total_length to be at least the longest sequence's {steps}, got {total_length}"
        )
    length = steps if total_length is None else total_length
    padded, lengths = weft.pad_packed_sequence(
        sequence.data, sequence.batch_sizes, batch_first, padding_value, length
    )
    if sequence.unsorted_indices is not None:
        padded = padded.index_select(0 if batch_first else 1, sequence.unsorted_indices)
        lengths = lengths.index_select(0, sequence.unsorted_indices)
    return padded, lengths


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    """Tensors [length, *] as one [steps, batch, *] (batch_first: [batch, steps, *]), padded to the longest."""
    if isinstance(sequences, Tensor):
        sequences = sequences.unbind(0)
    return shapes.pad_sequence(list(sequences), batch_first, padding_value, padding_side)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first=False):
    """The tensors that pad_sequence padded, as a list."""
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [row[: int(length)] for row, length in zip(padded_sequences, lengths)]


def pack_sequence(sequences, enforce_sorted=True):
    """A PackedSequence of tensors [length, *]; see pack_padded_sequence."""
    sequences = list(sequences)
    lengths = weft.tensor([sequence.shape[0] for sequence in sequences], dtype=weft.int64)
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence):
    """The tensors that pack_sequence packed, as a list."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
