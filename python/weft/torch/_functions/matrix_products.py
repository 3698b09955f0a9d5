"""Products of matrices and vectors with PyTorch's arguments."""

import weft as _weft
from weft import Tensor as _Tensor
from weft import _autocast
from weft._composed import indexing

from ._numeric import HALF
from ._support import is_inexact, need_tensor, promoted, written


def _need_dimensions(function, **expected):
    for name, (tensor, rank) in expected.items():
        if tensor.dim() != rank:
            raise RuntimeError(
                f"{function}: {name} must be a {'vector' if rank == 1 else 'matrix' if rank == 2 else 'batch of matrices'}, got {tensor.dim()} dimensions"
            )


def _same_dtype(function, first, *others):
    for other in others:
        if other.dtype != first.dtype:
            raise RuntimeError(
                f"{function}: expected operands of one dtype, got {first.dtype} and {other.dtype}"
            )


def _combine(function, input, product, beta, alpha, out):
    """beta * input + alpha * product; with beta 0 the input does not count, not even its NaN."""
    _same_dtype(function, product, input)
    if not is_inexact(product) and function in ("addmv", "addbmm"):
        beta, alpha = int(beta), int(alpha)
    elif not is_inexact(product):
        for name, factor in (("beta", beta), ("alpha", alpha)):
            if isinstance(factor, float):
                raise RuntimeError(
                    f"{function}: For integral input tensors, argument {name} must not be a floating point number."
                )
    scaled = product if alpha == 1 else product * alpha
    if beta == 0:
        shape = tuple(product.shape)
        return written(out, scaled if tuple(input.shape) == shape else _weft.broadcast_to(scaled, shape))
    return written(out, (input if beta == 1 else input * beta) + scaled)


@_autocast.narrow
def addmm(input, *args, mat1=None, mat2=None, beta=1, alpha=1, out=None, out_dtype=None):
    """beta * input + alpha * (mat1 @ mat2)."""
    input, mat1, mat2, beta, alpha = _operands("addmm", input, args, mat1, mat2, beta, alpha)
    _need_dimensions("addmm", mat1=(mat1, 2), mat2=(mat2, 2))
    _same_dtype("addmm", input, mat1, mat2)
    result = _weft.addmm(input, mat1, mat2, beta=beta, alpha=alpha)
    return written(out, result if out_dtype is None else result.to(out_dtype))


def _operands(function, input, args, first, second, beta, alpha):
    """(input, a, b), or the older (beta, input, alpha, a, b), (beta, input, a, b) and (input, alpha, a, b)."""
    given = [input, *args]
    tensors = (
        [each for each in given if isinstance(each, _Tensor) and each.dim()] if len(given) > 3 else given
    )
    if len(given) > 3:
        if len(tensors) != 3 or len(given) > 5:
            raise TypeError(f"{function}(): expected (input, a, b), got {len(given)} positional arguments")
        at = next(i for i, each in enumerate(given) if each is tensors[0])
        beta = given[0] if at == 1 else beta
        alpha = given[at + 1] if given[at + 1] is not tensors[1] else alpha
    given = list(tensors) + [each for each in (first, second) if each is not None]
    if len(given) != 3:
        raise TypeError(f"{function}(): expected (input, a, b), got {len(given)} tensors")
    for position, each in enumerate(given):
        need_tensor(function, each, ("input", "a", "b")[position], position + 1)
    return (*given, beta, alpha)


@_autocast.unchanged
def addmv(input, *args, mat=None, vec=None, beta=1, alpha=1, out=None):
    """beta * input + alpha * (mat @ vec)."""
    input, mat, vec, beta, alpha = _operands("addmv", input, args, mat, vec, beta, alpha)
    _need_dimensions("addmv", mat=(mat, 2), vec=(vec, 1))
    return _combine("addmv", input, _weft.matmul(mat, vec), beta, alpha, out)


@_autocast.unchanged
def addr(input, *args, vec1=None, vec2=None, beta=1, alpha=1, out=None):
    """beta * input + alpha * outer(vec1, vec2)."""
    input, vec1, vec2, beta, alpha = _operands("addr", input, args, vec1, vec2, beta, alpha)
    _need_dimensions("addr", vec1=(vec1, 1), vec2=(vec2, 1))
    dtype = promoted(input.dtype, vec1.dtype, vec2.dtype)
    if dtype == _weft.bool:
        product = vec1.unsqueeze(1) & vec2
        product = product if alpha else _weft.zeros_like(product)
        return written(out, (input | product) if beta else product, own_dtype=False)
    input, product = input.to(dtype), vec1.to(dtype).unsqueeze(1) * vec2.to(dtype)
    if dtype in HALF:  # the factors are of the dtype, too
        product, alpha = product if alpha == 1 else product * _weft.full((), alpha, dtype=dtype), 1
        input, beta = (input, beta) if beta in (0, 1) else (input * _weft.full((), beta, dtype=dtype), 1)
    return written(out, _combine("addr", input, product, beta, alpha, None), own_dtype=False)


@_autocast.narrow
def addbmm(input, *args, batch1=None, batch2=None, beta=1, alpha=1, out=None):
    """beta * input + alpha * the sum of batch1[i] @ batch2[i]."""
    input, batch1, batch2, beta, alpha = _operands("addbmm", input, args, batch1, batch2, beta, alpha)
    _need_dimensions("addbmm", batch1=(batch1, 3), batch2=(batch2, 3))
    product = _weft.sum(_weft.bmm(batch1, batch2), 0).to(batch1.dtype)
    return _combine("addbmm", _weft.broadcast_to(input, tuple(product.shape)), product, beta, alpha, out)


@_autocast.narrow
def baddbmm(input, *args, batch1=None, batch2=None, beta=1, alpha=1, out=None, out_dtype=None):
    """beta * input + alpha * (batch1[i] @ batch2[i])."""
    input, batch1, batch2, beta, alpha = _operands("baddbmm", input, args, batch1, batch2, beta, alpha)
    _need_dimensions("baddbmm", batch1=(batch1, 3), batch2=(batch2, 3))
    _same_dtype("baddbmm", input, batch1, batch2)
    if not is_inexact(input):
        beta, alpha = int(beta), int(alpha)
    result = _weft.baddbmm(input, batch1, batch2, beta=beta, alpha=alpha)
    return written(out, result if out_dtype is None else result.to(out_dtype))


@_autocast.unchanged
def mv(input, vec, *, out=None):
    """The product of a matrix and a vector."""
    need_tensor("mv", input)
    _need_dimensions("mv", input=(input, 2), vec=(vec, 1))
    _same_dtype("mv", input, vec)
    return written(out, _weft.matmul(input, vec))


@_autocast.narrow
def mm(input, mat2, *, out=None, out_dtype=None):
    """The product of two matrices."""
    need_tensor("mm", input)
    _need_dimensions("mm", input=(input, 2), mat2=(mat2, 2))
    _same_dtype("mm", input, mat2)
    result = _weft.mm(input, mat2)
    return written(out, result if out_dtype is None else result.to(out_dtype))


dsmm = spmm = mm


@_autocast.narrow
def bmm(input, mat2, *, out_dtype=None, out=None):
    """The products of two batches of matrices."""
    need_tensor("bmm", input)
    _need_dimensions("bmm", input=(input, 3), mat2=(mat2, 3))
    _same_dtype("bmm", input, mat2)
    result = _weft.bmm(input, mat2)
    return written(out, result if out_dtype is None else result.to(out_dtype))


@_autocast.unchanged
def dot(input, tensor, *, out=None):
    """The sum of products of two vectors."""
    need_tensor("dot", input)
    need_tensor("dot", tensor, "tensor", 2)
    _need_dimensions("dot", input=(input, 1), tensor=(tensor, 1))
    _same_dtype("dot", input, tensor)
    return written(out, _weft.dot(input, tensor))


@_autocast.unchanged
def vdot(input, other, *, out=None):
    """The sum of products of two vectors, the first one conjugated."""
    need_tensor("vdot", input)
    need_tensor("vdot", other, "other", 2)
    _need_dimensions("vdot", input=(input, 1), other=(other, 1))
    _same_dtype("vdot", input, other)
    return written(out, _weft.vdot(input, other))


@_autocast.narrow
def inner(input, other, *, out=None):
    """The sums of products over the last dimension of both; of a number and a tensor the products."""
    need_tensor("inner", input)
    need_tensor("inner", other, "other", 2)
    if input.dim() and other.dim():
        _same_dtype("inner", input, other)
    return written(out, _weft.inner(input, other), own_dtype=False)


@_autocast.unchanged
def ger(input, vec2, *, out=None):
    """The outer product of two vectors."""
    need_tensor("ger", input)
    _need_dimensions("ger", input=(input, 1), vec2=(vec2, 1))
    return written(out, _weft.outer(input, vec2), own_dtype=False)


outer = ger


@_autocast.float32
def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    """The p-norm distances between the rows of two (batches of) matrices."""
    need_tensor("cdist", x1, "x1")
    need_tensor("cdist", x2, "x2", 2)
    modes = ("use_mm_for_euclid_dist_if_necessary", "use_mm_for_euclid_dist", "donot_use_mm_for_euclid_dist")
    if compute_mode not in (None, 0, 1, 2, *modes):
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    for each in (x1, x2):
        if not each.is_floating_point():
            raise RuntimeError(f"cdist only supports floating-point dtypes, got {each.dtype}")
    return indexing.cdist(x1, x2, float(p))


def vander(x, N=None, increasing=False):
    """Powers of a vector's elements, a row each."""
    need_tensor("vander", x, "x")
    x = x.to(_weft.int64) if x.dtype == _weft.bool else x
    return _weft.vander(x, N, increasing) if N is not None else _weft.vander(x, increasing=increasing)
