"""Views, copies of views and joining with PyTorch's arguments and results."""

import weft as _weft
from weft import Tensor as _Tensor
from weft import _autocast
from weft._composed import shapes
from weft._composed.shapes import (
    adjoint,  # noqa: F401
    block_diag_of,
    cartesian_prod_of,
    combinations,  # noqa: F401
    common_shape,
    diag_embed,
)

from ._support import copied, dimension, is_integer, need_tensor, written


def _size(sizes):
    return getattr(_weft, "Size", tuple)(sizes)


def _listed(args):
    """The tensors of f(a, b) or f([a, b])."""
    return list(args[0]) if len(args) == 1 and isinstance(args[0], (tuple, list)) else list(args)


def _tensors(function, args):
    for position, each in enumerate(args):
        need_tensor(function, each, "tensors", position + 1)
    return list(args)


# ---- broadcasting --------------------------------------------------------------------------------------------


def broadcast_shapes(*shapes):
    """The shape that tensors of these shapes broadcast to."""
    sizes = []
    for shape in shapes:
        given = [shape] if is_integer(shape) else list(shape)
        if any(size < 0 for size in given):
            raise RuntimeError(f"broadcast_shapes: Trying to create tensor with negative dimension: {given}")
        sizes = common_shape("broadcast_shapes", sizes, given)
    return _size(sizes)


def broadcast_tensors(*tensors):
    """The tensors expanded to their common shape."""
    given = _tensors("broadcast_tensors", tensors)
    shape = tuple(broadcast_shapes(*[each.shape for each in given]))
    return tuple(each.expand(shape) for each in given)


# ---- joining -------------------------------------------------------------------------------------------------


def block_diag(*tensors):
    """A matrix with the given ones on its diagonal; numbers and vectors count as one row."""
    return block_diag_of(_tensors("block_diag", tensors))


def cartesian_prod(*tensors):
    """All tuples of elements of one-dimensional tensors, a row each; of one tensor the tensor itself."""
    return cartesian_prod_of(_tensors("cartesian_prod", tensors))


def _at_least(function, args):
    if len(args) == 1 and isinstance(args[0], _Tensor):
        return function(args[0])
    return tuple(function(each) for each in _listed(args))


def atleast_1d(*tensors):
    """With at least one dimension; a tuple of several tensors."""
    return _at_least(_weft.atleast_1d, tensors)


def atleast_2d(*tensors):
    """With at least two dimensions; a tuple of several tensors."""
    return _at_least(_weft.atleast_2d, tensors)


def atleast_3d(*tensors):
    """With at least three dimensions; a tuple of several tensors."""
    return _at_least(_weft.atleast_3d, tensors)


# ---- diagonals -----------------------------------------------------------------------------------------------


def diagflat(input, offset=0):
    """A matrix with the elements on a diagonal."""
    need_tensor("diagflat", input)
    return diag_embed(input.reshape(-1), offset)


def diagonal_scatter(input, src, offset=0, dim1=0, dim2=1):
    """A copy of the input with `src` on a diagonal."""
    result = input.clone()
    _put(_weft.diagonal(result, offset, dim1, dim2), src, "diagonal_scatter")
    return result


def select_scatter(input, src, dim, index):
    """A copy of the input with `src` at an index of a dimension."""
    result = input.clone()
    _put(_weft.select(result, dim, index), src, "select_scatter")
    return result


def slice_scatter(input, src, dim=0, start=None, end=None, step=1, *, out=None):
    """A copy of the input with `src` in a slice of a dimension."""
    result = input.clone()
    _put(_slice(result, dim, start, end, step), src, "slice_scatter", broadcast=True)
    return written(out, result)


def as_strided_scatter(input, src, size, stride, storage_offset=None):
    """A copy of the input with `src` where as_strided reads."""
    result = input.clone()
    _put(_weft.as_strided(result, size, stride, storage_offset or 0), src, "as_strided_scatter")
    return result


def _put(view, src, function, broadcast=False):
    if tuple(view.shape) != tuple(src.shape) and not broadcast:
        raise RuntimeError(
            f"{function}: expected src to have a size equal to the slice of self. src size = {list(src.shape)}, "
            f"slice size = {list(view.shape)}"
        )
    view.copy_(src)


def _slice(input, dim, start, end, step):
    if step <= 0:
        raise RuntimeError("slice step must be positive")
    dim = dimension("slice", dim, input.dim())
    return input[(slice(None),) * dim + (slice(start, end, step),)]


def tril_indices(row, col, offset=0, *, dtype=None, device=None, layout=None, pin_memory=False):
    """[2, n]: row and column numbers of a matrix's lower triangle, up to the diagonal `offset`."""
    return _triangle("tril_indices", row, col, dtype, lambda rows, columns: columns - rows <= offset)


def triu_indices(row, col, offset=0, *, dtype=None, device=None, layout=None, pin_memory=False):
    """[2, n]: row and column numbers of a matrix's upper triangle, from the diagonal `offset` on."""
    return _triangle("triu_indices", row, col, dtype, lambda rows, columns: columns - rows >= offset)


def _triangle(function, row, col, dtype, condition):
    if row < 0 or col < 0:
        raise RuntimeError(f"{function}: row and col must be non-negative, got {row} and {col}")
    inside = condition(_weft.arange(row).unsqueeze(1), _weft.arange(col))
    return _weft.nonzero(inside).t().contiguous().to(dtype or _weft.int64)


# ---- views ---------------------------------------------------------------------------------------------------


def detach(input):
    """The same tensor over the same memory."""
    need_tensor("detach", input)
    return input.detach()


def clone(input, *, memory_format=None):
    """A copy."""
    need_tensor("clone", input)
    return input.clone() if memory_format is None else input.clone(memory_format=memory_format)


def slice_inverse(input, src, dim=0, start=None, end=None, step=1):
    """A tensor of the shape of `src` over the memory that the input, a slice of one, is in."""
    return input.as_strided(tuple(src.shape), src.stride(), input.storage_offset())


def unflatten(input, dim, sizes):
    """One dimension as several; one size may be -1."""
    need_tensor("unflatten", input)
    return _weft.unflatten(input, dim, [sizes] if is_integer(sizes) else list(sizes))


def tensordot(a, b, dims=2, out=None):
    """The sum of products over dimensions: the last and first `dims`, or a list of each."""
    if isinstance(dims, _Tensor):
        dims = dims.tolist()
    if isinstance(dims, (tuple, list)):
        if len(dims) > 2:
            raise RuntimeError(f"tensordot expects dims to be a tuple of two lists, got {dims}")
        first, second = dims if len(dims) == 2 else (dims[0], dims[0])
    elif dims < 0:
        raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
    else:
        first, second = range(-dims, 0), range(dims)
    first = [first] if is_integer(first) else list(first)
    second = [second] if is_integer(second) else list(second)
    return written(out, shapes.tensordot(a, b, first, second))


def meshgrid(*tensors, indexing=None):
    """Grids of coordinates of vectors; indexing 'ij' or 'xy'."""
    given = [each.reshape(1) if each.dim() == 0 else each for each in _listed(tensors)]
    if not given:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    return _weft.meshgrid(given, indexing=indexing or "ij")


def _flipped(function, input, dims):
    need_tensor(function, input)
    return _weft.flip(input, dims).clone()


def flip(input, dims, *more):
    """A copy with the elements of dimensions in the opposite order."""
    axes = [dims, *more] if is_integer(dims) else list(dims)
    return _flipped("flip", input, axes) if axes else input.clone()


def fliplr(input):
    """A copy with the second dimension in the opposite order."""
    need_tensor("fliplr", input)
    if input.dim() < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return _flipped("fliplr", input, [1])


def flipud(input):
    """A copy with the first dimension in the opposite order."""
    need_tensor("flipud", input)
    if input.dim() < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return _flipped("flipud", input, [0])


def rot90(input, k=1, dims=(0, 1)):
    """Turned k times by 90 degrees in the plane of two dimensions, from the first towards the second."""
    need_tensor("rot90", input)
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.dim() < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.dim()}")
    first, second = (dimension("rot90", dim, input.dim()) for dim in dims)
    if first == second:
        raise RuntimeError(
            f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}"
        )
    turns = k % 4
    if turns == 0:
        return input.clone()
    if turns == 2:
        return _flipped("rot90", input, [first, second])
    return _flipped("rot90", input, [second if turns == 1 else first]).transpose(first, second)


def roll(input, shifts, dims=()):
    """The elements moved along dimensions, those beyond the end first; of no dimensions, the flattened ones."""
    need_tensor("roll", input)
    axes = dims if is_integer(dims) else list(dims or ())
    if not is_integer(shifts) and not len(shifts):
        raise RuntimeError("`shifts` required")
    if not is_integer(axes) and not axes and not is_integer(shifts) and len(shifts) > 1:
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:0")
    return _weft.roll(input, shifts, axes) if is_integer(axes) or axes else _weft.roll(input, shifts)


def diag(input, diagonal=0, *, out=None):
    """A matrix with a vector on a diagonal; of a matrix a copy of a diagonal."""
    need_tensor("diag", input)
    result = _weft.diag(input, diagonal)
    return written(out, result.clone() if input.dim() == 2 else result)


def swapaxes(input, axis0, axis1):
    """Two dimensions swapped."""
    need_tensor("swapaxes", input)
    return _weft.transpose(input, axis0, axis1)


def swapdims(input, dim0, dim1):
    """Two dimensions swapped."""
    need_tensor("swapdims", input)
    return _weft.transpose(input, dim0, dim1)


# ---- copies in place of views --------------------------------------------------------------------------------


def alias_copy(input, *, out=None):
    """A copy."""
    return written(out, copied(input))


detach_copy = alias_copy


def as_strided_copy(input, size, stride, storage_offset=None, *, out=None):
    """A copy of what as_strided views."""
    offset = input.storage_offset() if storage_offset is None else storage_offset
    return written(out, copied(_weft.as_strided(input, size, stride, offset)))


def diagonal_copy(input, offset=0, dim1=0, dim2=1, *, out=None):
    """A copy of a diagonal."""
    return written(out, copied(_weft.diagonal(input, offset, dim1, dim2)))


def expand_copy(input, size, *, implicit=False, out=None):
    """A copy, expanded."""
    return written(out, copied(input.expand(size)))


def narrow_copy(input, dim, start, length, *, out=None):
    """A copy of a range of a dimension."""
    return written(out, copied(_weft.narrow(input, dim, start, length)))


def permute_copy(input, dims, *, out=None):
    """A copy with the dimensions in another order."""
    return written(out, copied(_weft.permute(input, dims)))


def select_copy(input, dim, index, *, out=None):
    """A copy at an index of a dimension."""
    return written(out, copied(_weft.select(input, dim, index)))


def slice_copy(input, dim=0, start=None, end=None, step=1, *, out=None):
    """A copy of a slice of a dimension."""
    return written(out, copied(_slice(input, dim, start, end, step)))


def squeeze_copy(input, dim=None, *, out=None):
    """A copy without dimensions of size 1."""
    return written(out, copied(_weft.squeeze(input, dim)))


def t_copy(input, *, out=None):
    """A copy of the transposed matrix."""
    return written(out, copied(_weft.t(input)))


def transpose_copy(input, dim0, dim1, *, out=None):
    """A copy with two dimensions swapped."""
    return written(out, copied(_weft.transpose(input, dim0, dim1)))


def unfold_copy(input, dimension, size, step, *, out=None):
    """A copy of sliding windows along a dimension."""
    return written(out, copied(_weft.unfold(input, dimension, size, step)))


def unsqueeze_copy(input, dim, *, out=None):
    """A copy with a new dimension of size 1."""
    return written(out, copied(_weft.unsqueeze(input, dim)))


def view_copy(input, size=None, dtype=None, *, out=None):
    """A copy in another shape, or of the same bytes in another dtype."""
    if size is not None and not isinstance(size, (tuple, list)) and not is_integer(size):
        size, dtype = None, size
    return written(out, copied(input.view(dtype) if dtype is not None else input.reshape(size)))


def view_as_real(input):
    """[..., 2]: real and imaginary parts of a complex tensor, over its memory."""
    need_tensor("view_as_real", input)
    if not input.is_complex():
        raise RuntimeError("view_as_real is only supported for complex tensors")
    return _parts_of_complex(input)


def _parts_of_complex(input):
    real = _weft.float32 if input.dtype == _weft.complex64 else _weft.float64
    return input.unsqueeze(-1).view(real)


@_autocast.float32
def view_as_complex(input):
    """The complex tensor whose real and imaginary parts the last dimension, of size 2, is."""
    need_tensor("view_as_complex", input)
    if not input.is_floating_point() or input.dtype in (_weft.float16, _weft.bfloat16):
        raise RuntimeError(
            f"view_as_complex is only supported for floating point tensors, but got a tensor of {input.dtype}"
        )
    if input.dim() == 0:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if input.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    return input.view(_weft.complex64 if input.dtype == _weft.float32 else _weft.complex128).squeeze(-1)


def view_as_real_copy(input, *, out=None):
    """A copy of what view_as_real gives."""
    return written(out, copied(view_as_real(input)))


def view_as_complex_copy(input, *, out=None):
    """A copy of what view_as_complex gives."""
    return written(out, copied(view_as_complex(input)))
