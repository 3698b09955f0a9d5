"""What operators that move elements, and those that make tensors of numbers, are made of."""

import math

import weft
from weft.jit._tracer import current

from ._decompositions import (
    MEMORY_FORMATS,
    TABLE,
    _arange,
    _broadcast,
    _cast,
    _dim,
    _each,
    _permute,
    _slice,
    _sub,
    _swap,
    aten,
    rule,
    view,
)  # fmt: skip


# ---- views -----------------------------------------------------------------------------------------------------
@rule("reshape", "_unsafe_view", "_reshape_alias", "view_copy")
def reshape(x, sizes, stride=None):
    return view(x, sizes)


@rule("view_as", "reshape_as")
def view_as(x, other):
    return view(x, other.shape)


@rule("flatten.using_ints")
def flatten(x, start_dim=0, end_dim=-1):
    if x.dim() == 0:
        return aten.view(x, [1])
    start, end = _dim(x, start_dim), _dim(x, end_dim)
    sizes = list(x.shape)
    return (
        x if start == end else view(x, [*sizes[:start], math.prod(sizes[start : end + 1]), *sizes[end + 1 :]])
    )


@rule("unflatten.int")
def unflatten(x, dim, sizes):
    dim = _dim(x, dim)
    return view(x, [*x.shape[:dim], *sizes, *x.shape[dim + 1 :]])


@rule("contiguous")
def contiguous(x, *, memory_format=0):
    is_so = id(x) in current().agreed and x.is_contiguous(memory_format=MEMORY_FORMATS[memory_format])
    return x if is_so else aten.clone(x, memory_format=memory_format)


@rule("t", "t_copy", "numpy_T")
def t(x):
    return x if x.dim() < 2 else _permute(x, reversed(range(x.dim())))


@rule("transpose.int", "swapaxes", "swapdims", "transpose_copy.int")
def transpose(x, one, other):
    return x if x.dim() == 0 else _swap(x, one, other)


TABLE["mT"] = TABLE["matrix_H"] = TABLE["adjoint"] = lambda x: (
    NotImplemented if x.is_complex() else _swap(x, -2, -1)
)


@rule("movedim.int", "movedim.intlist", "moveaxis.int", "moveaxis.intlist")
def movedim(x, source, destination):
    count = len(source) if isinstance(source, (list, tuple)) else 1
    source, destination = ([_dim(x, dim) for dim in _each(dims, count)] for dims in (source, destination))
    order = [None] * x.dim()
    for one, other in zip(source, destination):
        order[other] = one
    rest = iter(dim for dim in range(x.dim()) if dim not in source)
    return _permute(x, [next(rest) if dim is None else dim for dim in order])


@rule("squeeze")
def squeeze(x):
    dims = [dim for dim, size in enumerate(x.shape) if size == 1]
    return aten["squeeze.dims"](x, dims) if dims else x


@rule("squeeze.dim")
def squeeze_dim(x, dim):
    return aten["squeeze.dims"](x, [dim])


@rule("expand_as")
def expand_as(x, other):
    return aten.expand(x, list(other.shape))


TABLE["broadcast_to"] = lambda x, size: aten.expand(x, list(size))
TABLE["detach"] = TABLE["lift_fresh"] = lambda x: x
TABLE["lift_fresh_copy"] = lambda x: aten.clone(x)
TABLE["narrow"] = lambda x, dim, start, length: _slice(x, dim, start, start + length)
TABLE["tile"] = lambda x, dims: aten.repeat(x, [1] * (x.dim() - len(dims)) + list(dims))


@rule("broadcast_tensors")
def broadcast_tensors(tensors):
    sizes = _broadcast(*(x.shape for x in tensors))
    return [aten.expand(x, sizes) for x in tensors]


@rule("meshgrid", "meshgrid.indexing")
def meshgrid(tensors, indexing="ij"):
    swapped = indexing == "xy" and len(tensors) > 1
    tensors = [tensors[1], tensors[0], *tensors[2:]] if swapped else list(tensors)
    sizes = [x.numel() if x.dim() else 1 for x in tensors]
    made = [
        aten.expand(aten.view(x, [-1 if at == dim else 1 for dim in range(len(tensors))]), sizes)
        for at, x in enumerate(tensors)
    ]
    if swapped:
        made = [_swap(x, 0, 1) for x in (made[1], made[0], *made[2:])]
    return made


# ---- parts, and what is put together ----------------------------------------------------------------------------
def _parts(x, sizes, dim):
    return list(aten.split_with_sizes(x, sizes, dim))


@rule("split.Tensor", "unsafe_split.Tensor")
def split(x, size, dim=0):
    whole = int(x.shape[dim])
    return _parts(x, [min(size, whole - at) for at in range(0, whole, size)] or [0], dim)


@rule("split.sizes", "unsafe_split_with_sizes")
def split_sizes(x, sizes, dim=0):
    return _parts(x, list(sizes), dim)


@rule("chunk", "unsafe_chunk")
def chunk(x, chunks, dim=0):
    return split(x, max(-(-int(x.shape[dim]) // chunks), 1), dim)


@rule("tensor_split.sections")
def tensor_split(x, sections, dim=0):
    size, more = divmod(int(x.shape[dim]), sections)
    return _parts(x, [size + (at < more) for at in range(sections)], dim)


@rule("unbind.int")
def unbind(x, dim=0):
    return [aten["select.int"](x, dim, at) for at in range(int(x.shape[dim]))]


@rule("stack")
def stack(tensors, dim=0):
    dim = dim % (tensors[0].dim() + 1)
    return aten.cat([aten.unsqueeze(x, dim) for x in tensors], dim)


TABLE["concat"] = TABLE["concatenate"] = lambda tensors, dim=0: aten.cat(list(tensors), dim)


TABLE["hstack"] = lambda tensors: aten.cat(list(tensors), 0 if tensors[0].dim() < 2 else 1)
TABLE["vstack"] = lambda tensors: aten.cat([aten.view(x, [1, -1]) if x.dim() < 2 else x for x in tensors], 0)


@rule("roll")
def roll(x, shifts, dims=()):
    shifts, dims = _each(shifts, 1), _each(dims, 1) if isinstance(dims, int) else list(dims)
    if not dims:
        return view(roll(view(x, [-1]), shifts, [0]), list(x.shape))
    for shift, dim in zip(shifts, dims):
        size = x.shape[dim]
        start = (int(size) - shift) % int(size) if shift > 0 else -shift % int(size)
        if start:
            # Counted from the side that does not depend on the size.
            at = -shift if shift > 0 else start
            x = aten.cat([_slice(x, dim, at, None), _slice(x, dim, 0, at)], _dim(x, dim))
    return x


@rule("rot90")
def rot90(x, k=1, dims=(0, 1)):
    one, other = dims
    k %= 4
    if k == 2:
        return aten.flip(x, [one, other])
    if k == 0:
        return aten.clone(x)
    return _swap(aten.flip(x, [other if k == 1 else one]), one, other)


TABLE["fliplr"] = lambda x: aten.flip(x, [1])
TABLE["flipud"] = lambda x: aten.flip(x, [0])


@rule("pixel_shuffle")
def pixel_shuffle(x, factor):
    batch, (channels, height, width) = list(x.shape[:-3]), x.shape[-3:]
    rank = len(batch)
    x = view(x, [*batch, channels // factor**2, factor, factor, height, width])
    x = _permute(x, [*range(rank), *(rank + at for at in (0, 3, 1, 4, 2))])
    return view(x, [*batch, channels // factor**2, height * factor, width * factor])


@rule("pixel_unshuffle")
def pixel_unshuffle(x, factor):
    batch, (channels, height, width) = list(x.shape[:-3]), x.shape[-3:]
    rank = len(batch)
    x = view(x, [*batch, channels, height // factor, factor, width // factor, factor])
    x = _permute(x, [*range(rank), *(rank + at for at in (0, 2, 4, 1, 3))])
    return view(x, [*batch, channels * factor**2, height // factor, width // factor])


@rule("channel_shuffle", "native_channel_shuffle")
def channel_shuffle(x, groups):
    sizes = list(x.shape)
    x = view(x, [sizes[0], groups, sizes[1] // groups, *sizes[2:]])
    return view(_swap(x, 1, 2), sizes)


# ---- by indices ------------------------------------------------------------------------------------------------
def _at(dim, indices):
    return [None] * dim + [indices]


@rule("index_fill.int_Scalar")
def index_fill(x, dim, indices, value):
    filler = aten.scalar_tensor(value, dtype=x.dtype)
    return aten.index_put(x, _at(_dim(x, dim), indices), filler)


@rule("index_add")
def index_add(x, dim, indices, source, *, alpha=1):
    source = source if alpha == 1 else aten["mul.Scalar"](source, alpha)
    return aten.index_put(x, _at(_dim(x, dim), indices), source, True)


@rule("index_copy")
def index_copy(x, dim, indices, source):
    return aten.index_put(x, _at(_dim(x, dim), indices), source)


TABLE["_unsafe_index.Tensor"] = lambda x, indices: aten["index.Tensor"](x, list(indices))
TABLE["_unsafe_index_put"] = lambda x, indices, values, accumulate=False: aten.index_put(
    x, list(indices), values, accumulate
)


@rule("take_along_dim")
def take_along_dim(x, indices, dim=None):
    if dim is None:
        return aten.gather(view(x, [-1]), 0, view(indices, [-1]))
    sizes = _broadcast([*x.shape[: _dim(x, dim)], *x.shape[_dim(x, dim) + 1 :]],
                       [*indices.shape[: _dim(x, dim)], *indices.shape[_dim(x, dim) + 1 :]])  # fmt: skip
    dim = _dim(x, dim)
    expanded = [aten.expand(each, [*sizes[:dim], each.shape[dim], *sizes[dim:]]) for each in (x, indices)]
    return aten.gather(expanded[0], dim, expanded[1])


@rule("one_hot")
def one_hot(x, num_classes=-1):
    if num_classes < 0:
        return NotImplemented
    return _cast(aten["eq.Tensor"](aten.unsqueeze(x, -1), _arange(num_classes)), weft.int64)


@rule("diag_embed")
def diag_embed(x, offset=0, dim1=-2, dim2=-1):
    if offset or (dim1, dim2) != (-2, -1):
        return NotImplemented
    size = x.shape[-1]
    on = aten["eq.Tensor"](aten.unsqueeze(_arange(size), 1), _arange(size))
    return aten["where.self"](on, aten.unsqueeze(x, -1), aten.scalar_tensor(0, dtype=x.dtype))


@rule("diag")
def diag(x, diagonal=0):
    return aten.diagonal(x, diagonal) if x.dim() == 2 else diag_embed(x, diagonal)


@rule("diff")
def diff(x, n=1, dim=-1, prepend=None, append=None):
    parts = [part for part in (prepend, x, append) if part is not None]
    x = x if len(parts) == 1 else aten.cat(parts, _dim(x, dim))
    for _ in range(n):
        size = x.shape[dim]
        x = _sub(_slice(x, dim, 1, size), _slice(x, dim, 0, size - 1))
    return x


# ---- dtypes ----------------------------------------------------------------------------------------------------
def _converted(x, dtype, copy=False, memory_format=None):
    is_same = (dtype is None or x.dtype == dtype) and not copy
    if memory_format is None or memory_format == 1:
        return x if is_same else aten._to_copy(x, dtype=dtype)
    if is_same and x.is_contiguous(memory_format=MEMORY_FORMATS[memory_format]):
        return x
    return aten._to_copy(x, dtype=dtype, memory_format=memory_format)


@rule("to.dtype")
def to_dtype(x, dtype, non_blocking=False, copy=False, memory_format=None):
    return _converted(x, dtype, copy, memory_format)


@rule("to.dtype_layout")
def to_layout(x, *, dtype=None, layout=None, device=None, pin_memory=None, non_blocking=False, copy=False, memory_format=None):  # fmt: skip
    return _converted(x, dtype, copy, memory_format)


@rule("to.device")
def to_device(x, device, dtype, non_blocking=False, copy=False, memory_format=None):
    return _converted(x, dtype, copy, memory_format)


@rule("to.other", "type_as")
def to_other(x, other, non_blocking=False, copy=False, memory_format=None):
    return _converted(x, other.dtype, copy, memory_format)


# ---- tensors of numbers ----------------------------------------------------------------------------------------
def _options(dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    return {} if dtype is None else {"dtype": dtype}


def _full(sizes, value, dtype=None):
    dtype = weft.get_default_dtype() if dtype is None else dtype
    return aten.full(list(sizes), value, dtype=dtype)


TABLE["zeros"] = lambda size, **options: _full(size, 0, **_options(**options))
TABLE["ones"] = lambda size, **options: _full(size, 1, **_options(**options))
TABLE["zeros_like"] = lambda x, **options: aten.full_like(x, 0, **_options(**options))
TABLE["ones_like"] = lambda x, **options: aten.full_like(x, 1, **_options(**options))
TABLE["empty_like"] = lambda x, **options: aten.full_like(x, 0, **_options(**options))
TABLE["zero"] = lambda x: aten.full_like(x, 0)
TABLE["fill.Scalar"] = lambda x, value: aten.full_like(x, value)
TABLE["fill.Tensor"] = lambda x, value: aten.expand(_cast(value, x.dtype), list(x.shape))


def _new(x, sizes, value, options):
    return _full(sizes, value, **{"dtype": x.dtype, **_options(**options)})


TABLE["new_zeros"] = lambda x, size, **options: _new(x, size, 0, options)
TABLE["new_ones"] = lambda x, size, **options: _new(x, size, 1, options)
TABLE["new_empty"] = lambda x, size, **options: _new(x, size, 0, options)
TABLE["new_full"] = lambda x, size, value, **options: _new(x, size, value, options)


def _is_float(*numbers):
    return any(isinstance(number, float) for number in numbers)


def _range(start, end, step, options):
    dtype = options.get("dtype") or (weft.get_default_dtype() if _is_float(start, end, step) else weft.int64)
    return aten["arange.start_step"](start, end, step, dtype=dtype)


TABLE["arange"] = lambda end, **options: _range(0, end, 1, options)
TABLE["arange.start"] = lambda start, end, **options: _range(start, end, 1, options)


@rule("eye", "eye.m")
def eye(rows, columns=None, **options):
    columns = rows if columns is None else columns
    on = aten["eq.Tensor"](aten.unsqueeze(_arange(rows), 1), _arange(columns))
    return _cast(on, options.get("dtype") or weft.get_default_dtype())
