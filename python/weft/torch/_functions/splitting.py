"""Tensors in parts with PyTorch's arguments and results."""

import weft as _weft
from weft import Tensor as _Tensor

from ._support import copied, dimension, is_integer, need_tensor, written
from .shapes import _slice


def tensor_split(input, indices_or_sections=None, dim=0, *, indices=None, sections=None):
    """Parts of nearly one size, or between indices; either may be a tensor."""
    need_tensor("tensor_split", input)
    where = next((each for each in (indices_or_sections, indices, sections) if each is not None), None)
    if isinstance(where, _Tensor):
        if where.dim() > 1 or where.dtype != _weft.int64:
            raise RuntimeError(
                f"tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional "
                f"tensor of int64, but got one with {where.dim()} dims of {where.dtype}"
            )
        where = where.tolist()
    if isinstance(where, (tuple, list)):
        # The end may come before the start; such a part is empty.
        where = [int(each) for each in where]
        dim = dimension("tensor_split", dim, input.dim())
        parts, start = [], 0
        for end in where:
            parts.append(_slice(input, dim, start, end, 1))
            start = end
        return (*parts, _slice(input, dim, start, None, 1))
    if where <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {where}")
    return _weft.tensor_split(input, where, dim)


def _split_along(function, input, where, dim, rank):
    need_tensor(function, input)
    if input.dim() < rank:
        raise RuntimeError(
            f"torch.{function} requires a tensor with at least {rank} dimension{'s' * (rank > 1)}, but got a tensor with "
            f"{input.dim()} dimensions!"
        )
    if where is None:
        raise TypeError(f"{function}(): expected indices or sections")
    if is_integer(where):
        if where <= 0 or input.shape[dim] % where:
            raise RuntimeError(
                f"torch.{function} attempted to split along dimension {dim}, but the size of the dimension "
                f"{input.shape[dim]} is not divisible by the split_size {where}!"
            )
    return tensor_split(input, where, dim)


def hsplit(input, indices_or_sections=None, *, indices=None, sections=None):
    """Parts of the second dimension, of a vector's only one: of one size, or between indices."""
    need_tensor("hsplit", input)
    where = next((each for each in (indices_or_sections, indices, sections) if each is not None), None)
    return _split_along("hsplit", input, where, 0 if input.dim() == 1 else 1, 1)


def vsplit(input, indices_or_sections=None, *, indices=None, sections=None):
    """Parts of the first dimension: of one size, or between indices."""
    where = next((each for each in (indices_or_sections, indices, sections) if each is not None), None)
    return _split_along("vsplit", input, where, 0, 2)


def dsplit(input, indices_or_sections=None, *, indices=None, sections=None):
    """Parts of the third dimension: of one size, or between indices."""
    where = next((each for each in (indices_or_sections, indices, sections) if each is not None), None)
    return _split_along("dsplit", input, where, 2, 3)


def split(input, split_size_or_sections=None, dim=0, *, split_size=None):
    """Parts of one size, the last may be smaller, or of the given sizes."""
    need_tensor("split", input)
    split_size_or_sections = split_size if split_size_or_sections is None else split_size_or_sections
    if isinstance(split_size_or_sections, _Tensor):
        split_size_or_sections = int(split_size_or_sections)
    if not is_integer(split_size_or_sections):
        return split_with_sizes(input, split_size_or_sections, dim)
    if split_size_or_sections == 0 and input.shape[dim] == 0:
        return (input,)
    return _weft.split(input, split_size_or_sections, dim)


def split_with_sizes(input, split_sizes, dim=0):
    """Parts of the given sizes."""
    need_tensor("split_with_sizes", input)
    return _weft.split(input, [int(each) for each in split_sizes], dim)


def unsafe_split(input, split_size, dim=0):
    """split."""
    return split(input, split_size, dim)


def unsafe_split_with_sizes(input, split_sizes, dim=0):
    """split_with_sizes."""
    return split_with_sizes(input, split_sizes, dim)


def unsafe_chunk(input, chunks, dim=0):
    """chunk."""
    return _weft.chunk(input, chunks, dim)


# ---- copies in place of views --------------------------------------------------------------------------------


def _all_written(out, results):
    if out is None:
        return results
    for target, result in zip(out, results):
        written(target, result)
    return None


def split_copy(input, split_size, dim=0, *, out=None):
    """Copies of the parts that split gives."""
    return _all_written(out, copied(split(input, split_size, dim)))


def split_with_sizes_copy(input, split_sizes, dim=0, *, out=None):
    """Copies of the parts that split_with_sizes gives."""
    return _all_written(out, copied(split_with_sizes(input, split_sizes, dim)))


def unbind_copy(input, dim=0, *, out=None):
    """Copies along a dimension."""
    return _all_written(out, copied(tuple(_weft.unbind(input, dim))))
