"""torch.linalg: products of matrices and vectors, powers, and what is solved by reshaping."""

import math

import weft as _weft
from weft import _autocast

from ._numeric import HALF, is_inexact, need_matrices, need_tensor, written
from .factors import inv, solve


def matmul(input, other, *, out=None):
    """torch.linalg.matmul: torch.matmul."""
    return written(out, _weft.matmul(input, other))


def diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """The diagonals of the matrices, a view."""
    need_tensor("linalg_diagonal", A, "A")
    for dim in (dim1, dim2):
        if not -A.ndim <= dim < A.ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-A.ndim}, {A.ndim - 1}], but got {dim})"
            )
    return _weft.diagonal(A, offset, dim1, dim2)


@_autocast.narrow
def vecdot(x, y, *, dim=-1, out=None):
    """The sum of conj(x) * y along a dimension."""
    need_tensor("linalg.vecdot", x, "x")
    need_tensor("linalg.vecdot", y, "y", 2)
    if x.dtype != y.dtype:
        raise RuntimeError(
            f"linalg.vecdot: Expected x and y to have the same dtype, but found x of type {x.dtype} and y of type {y.dtype}"
        )
    product = (_weft.conj(x) if x.is_complex() else x) * y
    return written(out, _weft.sum(product, [dim], dtype=x.dtype))


def cross(input, other, *, dim=-1, out=None):
    """The vector product along a dimension of three."""
    need_tensor("linalg.cross", input)
    need_tensor("linalg.cross", other, "other", 2)
    if input.ndim != other.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    if not -input.ndim <= dim < input.ndim:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-input.ndim}, {input.ndim - 1}], but got {dim})"
        )
    if input.shape[dim] != 3 or other.shape[dim] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {input.shape[dim]} and {other.shape[dim]}"
        )
    a = [input.select(dim, i) for i in range(3)]
    b = [other.select(dim, i) for i in range(3)]
    parts = [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    return written(out, _weft.stack(parts, dim))


def matrix_power(A, n, *, out=None):
    """The n-th power of square matrices; of the inverse for a negative n."""
    need_tensor("linalg.matrix_power", A, "A")
    if isinstance(n, (bool, float)) or not hasattr(type(n), "__index__"):
        raise TypeError(
            f"linalg_matrix_power(): argument 'n' (position 2) must be int, not {type(n).__name__}"
        )
    if A.ndim < 2:
        raise RuntimeError("linalg.matrix_power: The input tensor A must have at least 2 dimensions.")
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError(
            f"linalg.matrix_power: A must be batches of square matrices, but they are {A.shape[-2]} by {A.shape[-1]} matrices"
        )
    if n < 0:
        need_matrices("linalg.inv", A, square=True)
        inverse = inv(A)
        return written(out, inverse if n == -1 else _weft.matrix_power(inverse, -n), own_dtype=False)
    return written(out, _weft.matrix_power(A, n).contiguous(), own_dtype=False)


def matrix_exp(A):
    """The exponentials of square matrices."""
    need_matrices("linalg.matrix_exp", A, square=True, half=True)
    return _weft.matrix_exp(A.to(_weft.float32)).to(A.dtype) if A.dtype in HALF else _weft.matrix_exp(A)


def multi_dot(tensors, *, out=None):
    """The product of matrices in the order that takes the fewest multiplications; the first and last may be vectors."""
    tensors = list(tensors)
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    first, last = tensors[0].ndim == 1, tensors[-1].ndim == 1
    matrices = list(tensors)
    if first:
        matrices[0] = matrices[0].unsqueeze(0)
    if last:
        matrices[-1] = matrices[-1].unsqueeze(-1)
    for i, each in enumerate(matrices):
        if each.ndim != 2:
            raise RuntimeError(
                f"multi_dot(): tensor {i} must be {'1D or ' if i in (0, len(matrices) - 1) else ''}2D but got {tensors[i].ndim}D"
            )
        if each.dtype != matrices[0].dtype:
            raise RuntimeError(
                f"multi_dot(): all tensors must have be the same dtype but tensor 0 is {matrices[0].dtype} and tensor {i} {each.dtype}"
            )
        if i and each.shape[0] != matrices[i - 1].shape[1]:
            raise RuntimeError(
                f"multi_dot(): tensors {i - 1} and {i} with shapes {tuple(tensors[i - 1].shape)} and {tuple(tensors[i].shape)} cannot be multiplied"
            )
    result = _in_best_order(matrices)
    if last:
        result = result.squeeze(-1)
    if first:
        result = result.squeeze(0)
    return written(out, result)


def _in_best_order(matrices):
    """By dynamic programming over the lengths of chains."""
    count = len(matrices)
    sizes = [each.shape[0] for each in matrices] + [matrices[-1].shape[1]]
    cost = [[0] * count for _ in range(count)]
    split = [[0] * count for _ in range(count)]
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            cost[i][j], split[i][j] = min(
                (cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)
            )

    def product(i, j):
        if i == j:
            return matrices[i]
        return _weft.matmul(product(i, split[i][j]), product(split[i][j] + 1, j))

    return product(0, count - 1)


def chain_matmul(*matrices, out=None):
    """torch.chain_matmul: the product of matrices in the best order; of one, the matrix itself."""
    if len(matrices) == 1 and isinstance(matrices[0], (list, tuple)):
        matrices = tuple(matrices[0])
    for each in matrices:
        need_tensor("chain_matmul", each, "matrices")
        if each.ndim != 2:
            raise RuntimeError(f"Tensor dimension is {each.ndim}, expected 2 instead.")
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    return written(out, matrices[0] if len(matrices) == 1 else multi_dot(matrices))


@_autocast.float32
def tensorinv(A, ind=2, *, out=None):
    """The inverse of what A is as a map from its last to its first `ind` dimensions."""
    need_tensor("linalg.tensorinv", A, "A")
    if ind <= 0:
        raise RuntimeError("Expected a strictly positive integer for 'ind'")
    rows, cols = tuple(A.shape[:ind]), tuple(A.shape[ind:])
    if math.prod(rows) != math.prod(cols):
        raise RuntimeError(
            f"Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got {math.prod(cols)} != {math.prod(rows)}"
        )
    return written(
        out, inv(A.reshape(math.prod(rows), math.prod(cols))).reshape(cols + rows), own_dtype=False
    )


@_autocast.float32
def tensorsolve(A, B, dims=None, *, out=None):
    """x with tensordot(A, x) = B."""
    need_tensor("linalg.tensorsolve", A, "A")
    need_tensor("linalg.tensorsolve", B, "B", 2)
    if dims is not None:
        moved = [each % A.ndim for each in dims]
        A = A.permute([each for each in range(A.ndim) if each not in moved] + moved)
    shape = tuple(A.shape[B.ndim :])
    if math.prod(shape) != math.prod(A.shape[: B.ndim]):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim])"
        )
    return written(
        out, solve(A.reshape(B.numel(), math.prod(shape)), B.reshape(-1)).reshape(shape), own_dtype=False
    )


def vander(x, *, N=None):
    """The powers 0 to N - 1 of the elements, along a new last dimension."""
    need_tensor("linalg.vander", x, "x")
    x = x.reshape(1) if x.ndim == 0 else x
    count = x.shape[-1] if N is None else N
    if N is not None and N <= 1:
        raise RuntimeError(f"N must be greater than 1, but got {N}")
    base = x if is_inexact(x) else x.to(_weft.int64)
    ones = _weft.ones(*x.shape, 1, dtype=base.dtype)
    if count == 1:
        return ones
    repeated = base.unsqueeze(-1).expand(*x.shape, count - 1)
    powers = _weft.cumprod(repeated, -1)
    return _weft.cat([ones, powers.to(base.dtype)], -1)


def _int_mm(self, mat2):
    """int8 x[m, k] @ y[k, n] as int32, exactly."""
    for name, one in (("self", self), ("mat2", mat2)):
        if len(one.shape) != 2:
            raise RuntimeError(f"Expected {name} to be of dimension 2 but got {len(one.shape)}")
    if self.dtype != _weft.int8 or mat2.dtype != _weft.int8:
        raise RuntimeError(f"Expected self and mat2 to be of dtype int8, got {self.dtype} and {mat2.dtype}")
    if self.shape[1] != mat2.shape[0]:
        raise RuntimeError(
            f"self.size(1) needs to match mat2.size(0), but got {self.shape[1]} and {mat2.shape[0]}"
        )
    return _weft._int_mm(self, mat2)
