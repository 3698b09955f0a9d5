"""Sparse tensors in coordinate format: the indices of some elements, and their values; all others are 0.

Products with dense matrices (graph networks' adjacency), conversions, and what works element by element are here; everything
else asks for to_dense().
"""

import weft
from weft._errors import ArgumentError, ArgumentTypeError


class SparseTensor:
    """indices [sparse_dim, nnz] of int64, values [nnz, ...]: torch.sparse_coo_tensor makes it. Of indices that occur several times the
    values are summed."""

    requires_grad, is_leaf, grad, grad_fn = False, True, None, None
    is_sparse, is_nested, is_quantized, is_cuda, is_meta = True, False, False, False, False
    is_sparse_csr = False

    def __init__(self, indices, values, size, is_coalesced=False):
        self._i, self._v, self._size, self._is_coalesced = indices, values, weft.Size(size), is_coalesced

    # ---- what it is --------------------------------------------------------------------------------------------
    @property
    def shape(self):
        return self._size

    @property
    def dtype(self):
        return self._v.dtype

    @property
    def device(self):
        return self._v.device

    @property
    def ndim(self):
        return len(self._size)

    @property
    def layout(self):
        return weft.torch.sparse_coo

    @property
    def data(self):
        return self

    @property
    def T(self):
        return self.t()

    def size(self, dim=None):
        return self._size if dim is None else self._size[dim]

    def dim(self):
        return len(self._size)

    def numel(self):
        return self._size.numel()

    def sparse_dim(self):
        return self._i.shape[0]

    def dense_dim(self):
        return self._v.dim() - 1

    def _nnz(self):
        return self._i.shape[1]

    def _indices(self):
        return self._i

    def _values(self):
        return self._v

    def is_coalesced(self):
        return self._is_coalesced

    def _of_coalesced(self, name):
        if not self._is_coalesced:
            raise RuntimeError(f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first")

    def indices(self):
        """[sparse_dim, nnz]. RuntimeError for a tensor that is not coalesced."""
        self._of_coalesced("indices")
        return self._i

    def values(self):
        """[nnz, ...]. RuntimeError for a tensor that is not coalesced."""
        self._of_coalesced("values")
        return self._v

    def is_floating_point(self):
        return self._v.is_floating_point()

    def is_complex(self):
        return self._v.is_complex()

    def __len__(self):
        return self._size[0]

    def __repr__(self):
        return (
            f"tensor(indices={self._i!r}, values={self._v!r}, size={tuple(self._size)}, nnz={self._nnz()}, "
            "layout=torch.sparse_coo)"
        )

    # ---- other forms -------------------------------------------------------------------------------------------
    def _like(self, values):
        return SparseTensor(self._i, values, self._size, self._is_coalesced)

    def _places(self):
        """[nnz]: the positions of the elements in C order of the sparse dimensions."""
        places = weft.zeros([self._nnz()], dtype=weft.int64)
        for row, size in zip(self._i, self._size, strict=False):
            places = places * size + row
        return places

    def coalesce(self):
        """Indices in C order, each once, with the sums of their values."""
        if self._is_coalesced:
            return self
        places, positions = weft.torch.unique(self._places(), return_inverse=True)
        values = weft.zeros([len(places), *self._v.shape[1:]], dtype=self.dtype)
        values.index_add_(0, positions, self._v)
        rows = []
        for size in reversed(self._size[: self.sparse_dim()]):
            rows.insert(0, places % size)
            places = weft.floor_divide(places, size)
        indices = weft.stack(rows, 0) if rows else weft.zeros([0, len(places)], dtype=weft.int64)
        return SparseTensor(indices, values, self._size, True)

    def to_dense(self, dtype=None):
        """The tensor with its zeros."""
        sparse, dense = self._size[: self.sparse_dim()], self._size[self.sparse_dim() :]
        flat = weft.zeros([weft.Size(sparse).numel(), *dense], dtype=self.dtype)
        if self._nnz():
            flat.index_add_(0, self._places(), self._v)
        result = flat.reshape(self._size)
        return result if dtype is None else result.to(dtype)

    def to_sparse(self, sparse_dim=None, *, layout=None):
        return weft.sparse._csr._of_layout(self, layout)

    to_sparse_coo = to_sparse

    def to_sparse_csr(self):
        """The matrix with its rows compressed."""
        return self.to_sparse(layout=weft.torch.sparse_csr)

    def to_sparse_csc(self):
        return self.to_sparse(layout=weft.torch.sparse_csc)

    def to(self, *args, **kwargs):
        values = self._v.to(*args, **kwargs)
        return self if values is self._v else self._like(values)

    def type(self, dtype=None):
        return "torch.sparse." + self._v.type().removeprefix("torch.") if dtype is None else self.to(dtype)

    def float(self):
        return self.to(weft.float32)

    def double(self):
        return self.to(weft.float64)

    def half(self):
        return self.to(weft.float16)

    def bfloat16(self):
        return self.to(weft.bfloat16)

    def long(self):
        return self.to(weft.int64)

    def cpu(self):
        return self

    def detach(self):
        return self

    def requires_grad_(self, requires_grad=True):
        return self

    def clone(self):
        return SparseTensor(self._i.clone(), self._v.clone(), self._size, self._is_coalesced)

    def t(self):
        """The transpose of a matrix."""
        if len(self._size) > 2 or self.dense_dim():
            raise ArgumentError(f"t: expected a sparse matrix, got a shape of {tuple(self._size)}")
        return self.transpose(0, 1) if len(self._size) == 2 else self

    def transpose(self, dim0, dim1):
        """With two of the sparse dimensions exchanged."""
        count = self.sparse_dim()
        first, second = (dim + len(self._size) if dim < 0 else dim for dim in (dim0, dim1))
        if not (0 <= first < count and 0 <= second < count):
            raise ArgumentError("transpose: only sparse dimensions can be exchanged")
        order = list(range(count))
        order[first], order[second] = order[second], order[first]
        size = [self._size[one] for one in order] + list(self._size[count:])
        rows = [self._i[one] for one in order]
        return SparseTensor(weft.stack(rows, 0), self._v, size, self._is_coalesced and first == second)

    # ---- arithmetic --------------------------------------------------------------------------------------------
    def matmul(self, other):
        """The product of a sparse matrix [m, k] with a dense [k, n] or [k]: dense [m, n] or [m]."""
        if len(self._size) != 2 or self.dense_dim():
            raise ArgumentError(f"matmul: expected a sparse matrix, got a shape of {tuple(self._size)}")
        other = other.to_dense() if isinstance(other, SparseTensor) else other
        if not isinstance(other, weft.Tensor) or other.dim() not in (1, 2) or other.shape[0] != self._size[1]:
            shape = tuple(getattr(other, "shape", ()))
            raise ArgumentError(
                f"matmul: a sparse matrix {tuple(self._size)} does not fit a factor of {shape}"
            )
        if other.dtype != self.dtype:
            raise ArgumentTypeError(
                f"matmul: expected factors of one dtype, got {self.dtype} and {other.dtype}"
            )
        rows, columns = self._i[0], self._i[1]
        scale = self._v if other.dim() == 1 else self._v.unsqueeze(1)
        result = weft.zeros([self._size[0], *other.shape[1:]], dtype=self.dtype)
        return result.index_add_(0, rows, other[columns] * scale)

    mm = mv = spmm = __matmul__ = matmul

    def __rmatmul__(self, other):
        return self.t().matmul(other.t()).t()

    def _scaled(self, name, other):
        if isinstance(other, weft.Tensor) and other.dim() > 0:
            raise ArgumentTypeError(f"{name}: a sparse tensor times a number only; to_dense() first")
        return other

    def mul(self, other):
        """Times a number; of a dense or a sparse tensor of the same shape the elements at the indices."""
        if isinstance(other, SparseTensor):
            other = other.to_dense()
        if isinstance(other, weft.Tensor) and other.dim() > 0:
            at = self.coalesce()
            chosen = other.expand(self._size)[tuple(at._i)]
            return at._like(at._v * chosen)
        return self._like(self._v * other)

    __mul__ = __rmul__ = multiply = mul

    def div(self, other):
        return self._like(self._v / self._scaled("div", other))

    __truediv__ = div

    def neg(self):
        return self._like(-self._v)

    __neg__ = neg

    def add(self, other, *, alpha=1):
        """A sparse tensor plus another is one, plus a dense one is dense."""
        if not isinstance(other, SparseTensor):
            return self.to_dense() + alpha * other
        if other.shape != self.shape or other.sparse_dim() != self.sparse_dim():
            raise ArgumentError(f"add: shapes {tuple(self.shape)} and {tuple(other.shape)} differ")
        values = other._v if alpha == 1 else other._v * alpha
        joined = SparseTensor(weft.cat([self._i, other._i], 1), weft.cat([self._v, values]), self._size)
        return joined.coalesce()

    __add__ = add

    def __radd__(self, other):
        return other + self.to_dense()

    def __sub__(self, other):
        return self.add(other, alpha=-1)

    def sum(self, dim=None, dtype=None):
        """Of all elements, or over dimensions: dense where no sparse dimension is left."""
        if dim is None:
            return self._v.sum(dtype=dtype)
        dense = self.to_dense().sum(dim, dtype=dtype)
        return dense.to_sparse() if dense.dim() else dense

    def abs(self):
        at = self.coalesce()
        return at._like(at._v.abs())

    def __getitem__(self, index):
        """A row of the first dimension: sparse where there are others."""
        if not isinstance(index, int):
            raise ArgumentTypeError("an index of a sparse tensor is an int; to_dense() first")
        row = self.to_dense()[index]
        return row.to_sparse() if row.dim() else row

    def __weft_operator__(name, *args, **kwargs):
        return call(name, *args, **kwargs)


_OPERATORS = {
    "mm": "matmul",
    "matmul": "matmul",
    "mv": "matmul",
    "multiply": "mul",
    "subtract": "__sub__",
    "sub": "__sub__",
}


def call(name, first, *rest, **kwargs):
    """An operator with a sparse operand. TypeError for those that sparse tensors do not have."""
    if not isinstance(first, SparseTensor):
        second = rest[0] if rest else None
        if name in ("matmul", "mm") and isinstance(second, SparseTensor):
            return second.__rmatmul__(first)
        if name in ("mul", "multiply") and isinstance(second, SparseTensor):
            return second.mul(first)
        if name == "add" and isinstance(second, SparseTensor):
            return first + second.to_dense() * kwargs.get("alpha", 1)
    else:
        method = _OPERATORS.get(name, name)
        if method in _METHODS:
            return getattr(first, method)(*rest, **kwargs)
    raise ArgumentTypeError(f"{name}: not for sparse tensors; to_dense() first")


_METHODS = frozenset(
    "matmul mul div neg add __sub__ sum abs t transpose clone detach to_dense coalesce".split()
)


def sparse_coo_tensor(
    indices,
    values=None,
    size=None,
    *,
    dtype=None,
    device=None,
    requires_grad=False,
    check_invariants=None,
    is_coalesced=None,
    pin_memory=False,
):
    """A sparse tensor of indices [sparse_dim, nnz] and values [nnz, ...]. size: None for the smallest that has them all. With a size
    alone, one without elements. ValueError for shapes that do not fit and for indices outside of the size."""
    if values is None:
        size = tuple(indices) if size is None else tuple(size)
        empty = weft.zeros([0], dtype=dtype or weft.get_default_dtype())
        return SparseTensor(weft.zeros([len(size), 0], dtype=weft.int64), empty, size, True)
    indices = weft.as_tensor(indices).to(weft.int64)
    values = weft.as_tensor(values) if dtype is None else weft.as_tensor(values, dtype=dtype)
    if values.dim() == 0:
        values = values.expand([indices.shape[1]])
    if indices.dim() != 2 or values.shape[0] != indices.shape[1]:
        raise ArgumentError(
            f"sparse_coo_tensor: indices of {tuple(indices.shape)} do not fit values of {tuple(values.shape)}"
        )
    count = indices.shape[0]
    most = [int(row.max()) for row in indices] if indices.shape[1] else [-1] * count
    if size is None:
        size = [number + 1 for number in most] + list(values.shape[1:])
    size = tuple(size)
    if len(size) != count + values.dim() - 1 or tuple(values.shape[1:]) != size[count:]:
        raise ArgumentError(
            f"sparse_coo_tensor: a size of {size} does not fit {count} rows of indices and values of {tuple(values.shape)}"
        )
    for dim, number in enumerate(most):
        if indices.shape[1] and (number >= size[dim] or int(indices[dim].min()) < 0):
            raise ArgumentError(
                f"sparse_coo_tensor: size is inconsistent with indices: for dim {dim}, size is {size[dim]} but found index "
                f"{number if number >= size[dim] else int(indices[dim].min())}"
            )
    return SparseTensor(indices, values, size, bool(is_coalesced))


def to_sparse(input, sparse_dim=None):
    """The elements of a dense tensor that are not 0, of the first sparse_dim dimensions (None: all)."""
    count = input.dim() if sparse_dim is None else sparse_dim
    if not 0 <= count <= input.dim() or (count == 0 and input.dim() > 0):
        raise ArgumentError(f"to_sparse: expected 1 to {input.dim()} sparse dimensions, got {count}")
    kept = input != 0
    for _ in range(input.dim() - count):
        kept = kept.any(-1)
    indices = weft.torch.nonzero(kept).t().contiguous()
    return SparseTensor(indices, input[tuple(indices)], input.shape, True)


def mm(mat1, mat2):
    """The product of a sparse or dense matrix with another: dense."""
    return weft.matmul(mat1, mat2)


def total(input, dim=None, dtype=None):
    """Of all elements, or over dimensions: sparse where dimensions are left."""
    return input.sum(dim, dtype=dtype)


sum = total


def _legacy(dtype):
    def make(*args):
        if len(args) > 1:
            return sparse_coo_tensor(*args, dtype=dtype)
        return sparse_coo_tensor(args[0] if args else [0], dtype=dtype)

    make.__doc__ = "A sparse tensor of indices, values and perhaps a size, or of a size alone."
    return make


FloatTensor, DoubleTensor, LongTensor = _legacy(weft.float32), _legacy(weft.float64), _legacy(weft.int64)


def addmm(mat, mat1, mat2, *, beta=1, alpha=1):
    """beta mat + alpha (mat1 mat2), of a sparse mat1."""
    return beta * mat + alpha * weft.matmul(mat1, mat2)
