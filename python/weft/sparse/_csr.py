"""Sparse matrices whose rows (CSR) or columns (CSC) are compressed: where each begins among the others' places and the values."""

import weft
from weft._errors import ArgumentError, ArgumentTypeError

from ._coo import SparseTensor

# Of rows and of columns: the layout's name, what PyTorch calls it in errors, and the methods that give its indices.
_LAYOUTS = ("sparse_csr", "sparse_csc")
_TITLES = ("SparseCsr", "SparseCsc")
_OFFSETS, _PLACES = ("crow_indices", "ccol_indices"), ("col_indices", "row_indices")
_DIMENSIONS = ("row", "column")


class CompressedTensor(SparseTensor):
    """offsets [size[dim] + 1], places [nnz] in the other dimension and values [nnz]: torch.sparse_csr_tensor makes it (dim 0), or
    torch.sparse_csc_tensor (dim 1)."""

    is_sparse = False

    def __init__(self, dim, offsets, places, values, size):
        counts = offsets[1:] - offsets[:-1]
        own = weft.torch.repeat_interleave(weft.arange(size[dim]), counts.to(weft.int64))
        pair = (own, places.to(weft.int64)) if dim == 0 else (places.to(weft.int64), own)
        super().__init__(weft.stack(pair, 0), values, size, True)
        self._dim, self._offsets, self._at = dim, offsets, places

    @property
    def layout(self):
        return getattr(weft.torch, _LAYOUTS[self._dim])

    @property
    def is_sparse_csr(self):
        return self._dim == 0

    def _indices_of(self, dim, names, found):
        if dim != self._dim:
            raise RuntimeError(
                f"{names[dim]} expected sparse {_DIMENSIONS[dim]} compressed tensor layout but got {_TITLES[self._dim]}"
            )
        return found

    def crow_indices(self):
        return self._indices_of(0, _OFFSETS, self._offsets)

    def col_indices(self):
        return self._indices_of(0, _PLACES, self._at)

    def ccol_indices(self):
        return self._indices_of(1, _OFFSETS, self._offsets)

    def row_indices(self):
        return self._indices_of(1, _PLACES, self._at)

    def values(self):
        return self._v

    def indices(self):
        raise RuntimeError(f"indices expected sparse coordinate tensor layout but got {_TITLES[self._dim]}")

    _indices = coalesce = is_coalesced = indices

    def __repr__(self):
        parts = [
            f"{_OFFSETS[self._dim]}={self._offsets!r}",
            f"{_PLACES[self._dim]}={self._at!r}",
            f"values={self._v!r}, size={tuple(self._size)}, nnz={self._nnz()}",
            f"layout=torch.{_LAYOUTS[self._dim]}",
        ]
        return f"tensor({(',' + chr(10) + ' ' * 7).join(parts)})"

    def _like(self, values):
        return CompressedTensor(self._dim, self._offsets, self._at, values, self._size)

    def clone(self):
        return CompressedTensor(
            self._dim, self._offsets.clone(), self._at.clone(), self._v.clone(), self._size
        )

    def to_sparse(self, sparse_dim=None, *, layout=None):
        """In another layout, by default in coordinate format."""
        return _of_layout(SparseTensor(self._i, self._v, self._size, self._dim == 0).coalesce(), layout)

    to_sparse_coo = to_sparse

    def transpose(self, dim0, dim1):
        """Rows become columns: of the other layout."""
        if {dim0 % 2, dim1 % 2} == {0}:
            return self
        return CompressedTensor(1 - self._dim, self._offsets, self._at, self._v, tuple(self._size)[::-1])

    def add(self, other, *, alpha=1):
        """A sparse matrix plus another of its layout is one, plus a dense one is dense."""
        if not isinstance(other, SparseTensor):
            return super().add(other, alpha=alpha)
        if other.layout != self.layout:
            raise ArgumentTypeError(f"add: expected two of {self.layout}, got one of {other.layout}")
        return _of_layout(self.to_sparse().add(other.to_sparse(), alpha=alpha), self.layout)

    __add__ = add

    def abs(self):
        return self._like(self._v.abs())

    def mul(self, other):
        """Times a number; of a dense matrix the elements at the places."""
        if isinstance(other, SparseTensor):
            other = other.to_dense()
        if isinstance(other, weft.Tensor) and other.dim() > 0:
            return self._like(self._v * other.expand(self._size)[tuple(self._i)])
        return self._like(self._v * other)

    __mul__ = __rmul__ = multiply = mul

    def sum(self, dim=None, dtype=None):
        if dim is not None:
            raise NotImplementedError(
                f"sum: over dimensions of {self.layout}: use to_dense() or to_sparse_coo() first"
            )
        return self._v.sum(dtype=dtype)


def compress(coordinates, dim):
    """A coalesced sparse matrix with its rows (dim 0) or columns (dim 1) compressed."""
    if len(coordinates.shape) != 2 or coordinates.dense_dim():
        raise NotImplementedError(
            f"to_{_LAYOUTS[dim]}: expected a matrix without dense dimensions, got a shape of {tuple(coordinates.shape)}"
        )
    coordinates = coordinates.coalesce()
    own, other, values = coordinates._i[dim], coordinates._i[1 - dim], coordinates._v
    if dim == 1:  # the coordinates are in order of rows
        order = weft.torch.argsort(own, stable=True)
        own, other, values = own[order], other[order], values[order]
    counts = weft.torch.bincount(own, minlength=coordinates.shape[dim])
    offsets = weft.cat([weft.zeros([1], dtype=weft.int64), weft.torch.cumsum(counts, 0)])
    return CompressedTensor(dim, offsets, other, values, coordinates.shape)


def _of_layout(coordinates, layout):
    name = "sparse_coo" if layout is None else str(layout).removeprefix("torch.")
    if name in _LAYOUTS:
        return compress(coordinates, _LAYOUTS.index(name))
    if name == "sparse_coo":
        return coordinates
    if name == "strided":
        raise RuntimeError("to_sparse: expected a sparse layout, got torch.strided")
    raise NotImplementedError(f"to_sparse: weft has no sparse tensors of {layout}")


def to_sparse(input, sparse_dim, layout):
    """A dense tensor's elements that are not 0, in this layout."""
    return _of_layout(weft.sparse._coo.to_sparse(input, sparse_dim), layout)


def _check(dim, offsets, places, values, size):
    name = f"{_LAYOUTS[dim]}_tensor"
    if len(size) != 2 or offsets.dim() != 1 or places.dim() != 1 or values.dim() != 1:
        raise NotImplementedError(
            f"{name}: expected one matrix of numbers: vectors of {_OFFSETS[dim]}, {_PLACES[dim]} and values and a size of 2"
        )
    if offsets.dtype != places.dtype or offsets.dtype not in (weft.int32, weft.int64):
        raise RuntimeError(
            f"{_OFFSETS[dim]} and {_PLACES[dim]} must be an int32 or int64 type, but got: {offsets.dtype} and {places.dtype}"
        )
    starts, others, across = offsets.tolist(), places.tolist(), size[1 - dim]
    if len(starts) != size[dim] + 1 or len(others) != values.shape[0]:
        raise ArgumentError(
            f"{name}: {len(starts)} {_OFFSETS[dim]}, {len(others)} {_PLACES[dim]} and {values.shape[0]} values do not fit a "
            f"size of {tuple(size)}"
        )
    lines = list(zip(starts, starts[1:]))
    if starts[0] != 0 or starts[-1] != len(others) or any(not 0 <= b - a <= across for a, b in lines):
        raise ArgumentError(
            f"{name}: {_OFFSETS[dim]} must begin with 0, end with the number of values, and never fall: got {starts}"
        )
    for begin, end in lines:
        line = others[begin:end]
        if line != sorted(set(line)) or any(not 0 <= each < across for each in line):
            raise ArgumentError(
                f"{name}: {_PLACES[dim]} of a {_DIMENSIONS[dim]} must be sorted, distinct and below {across}, got {line}"
            )


def _make(dim, offsets, places, values, size, dtype):
    offsets, places = weft.as_tensor(offsets), weft.as_tensor(places)
    values = weft.as_tensor(values) if dtype is None else weft.as_tensor(values, dtype=dtype)
    if size is None:
        own, across = offsets.shape[0] - 1, int(places.max()) + 1 if places.numel() else 0
        size = (own, across) if dim == 0 else (across, own)
    size = tuple(size)
    _check(dim, offsets, places, values, size)
    return CompressedTensor(dim, offsets, places, values, size)


def sparse_csr_tensor(crow_indices, col_indices, values, size=None, *, dtype=None, device=None, pin_memory=False,
                      requires_grad=False, check_invariants=None):  # fmt: skip
    """A sparse matrix: row i has values[crow_indices[i] : crow_indices[i + 1]], in the columns that col_indices has there. size: None
    for the smallest that has them all. What does not fit is refused, check_invariants or not."""
    return _make(0, crow_indices, col_indices, values, size, dtype)


def sparse_csc_tensor(ccol_indices, row_indices, values, size=None, *, dtype=None, device=None, pin_memory=False,
                      requires_grad=False, check_invariants=None):  # fmt: skip
    """The same, column by column."""
    return _make(1, ccol_indices, row_indices, values, size, dtype)


def sparse_compressed_tensor(compressed_indices, plain_indices, values, size=None, *, dtype=None, layout=None, device=None,
                             pin_memory=False, requires_grad=False, check_invariants=None):  # fmt: skip
    """Of layout torch.sparse_csr or torch.sparse_csc."""
    name = str(layout).removeprefix("torch.")
    if name not in _LAYOUTS:
        raise NotImplementedError(f"sparse_compressed_tensor: weft has CSR and CSC, got layout {layout}")
    return _make(_LAYOUTS.index(name), compressed_indices, plain_indices, values, size, dtype)
