"""torch.masked: reductions and normalizations that leave out elements where a mask is False.

Every function takes `mask`, a boolean tensor that broadcasts to the input's shape (True: the element counts), and
None for all elements. What a reduction of no elements gives is its identity: 0, 1, -inf or inf; NaN for means.
"""

import weft as _weft

from . import _absent
from ._functions import reductions as _reductions
from ._functions._support import is_inexact, is_integer
from ._kinds import iinfo

__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "is_masked_tensor", "log_softmax", "logaddexp", "logsumexp", "mean", "median",
    "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var",
]  # fmt: skip

_SMALL = ("uint8", "bool", "int8", "int16", "int32")


def _input_mask(input, mask):
    """The mask in the input's shape. raises: IndexError where it has more dimensions."""
    if mask.ndim > input.ndim:
        raise IndexError(
            "_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)"
        )
    return _weft.broadcast_to(mask, input.shape).to(_weft.bool)


def _filled(input, mask, value):
    """The input with a value where the mask is False."""
    if mask is None:
        return input
    return _weft.where(_input_mask(input, mask), input, _weft.full((), value, dtype=input.dtype))


def _least(dtype):
    if dtype == _weft.bool:
        return False
    return float("-inf") if dtype.is_floating_point else iinfo(dtype).min


def _greatest(dtype):
    if dtype == _weft.bool:
        return True
    return float("inf") if dtype.is_floating_point else iinfo(dtype).max


def _dimensions(dim, ndim):
    """The dimensions to reduce, in order: all of them for None and ()."""
    if dim is None or (not is_integer(dim) and not tuple(dim)):
        return tuple(range(ndim))
    dims = (dim,) if is_integer(dim) else tuple(dim)
    found = []
    for each in dims:
        if not -max(ndim, 1) <= each < max(ndim, 1):
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-max(ndim, 1)}, {max(ndim, 1) - 1}], but got {each})"
            )
        if each % max(ndim, 1) in found:
            raise RuntimeError(f"dim={each} appears multiple times in the list of dims")
        found.append(each % max(ndim, 1))
    return tuple(sorted(found))


def _summed_dtype(input, dtype):
    """As sums have it: small integers are added in int64."""
    if dtype is not None:
        return dtype
    return _weft.int64 if str(input.dtype).split(".")[-1] in _SMALL else input.dtype


def _of_dims(reduce, x, dims, keepdim):
    """A reduction of one dimension at a time, over several."""
    for dim in reversed(dims if x.ndim else ()):
        x = reduce(x, dim, keepdim)
    return x


def sum(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The sum of the elements that the mask does not leave out."""
    dtype = _summed_dtype(input, dtype)
    dims = _dimensions(dim, input.ndim)
    filled = _filled(input, mask, 0)
    return _weft.sum(filled, dims, bool(keepdim), dtype=dtype) if input.ndim else filled.to(dtype)


def prod(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Their product."""
    dtype = _summed_dtype(input, dtype)
    filled = _filled(input, mask, 1).to(dtype)
    return _of_dims(
        lambda x, d, keep: _weft.prod(x, d, keep), filled, _dimensions(dim, input.ndim), bool(keepdim)
    )


def _cumulative(operator, input, dim, dtype, mask, identity):
    """Unlike sums, of the input's dtype if none is given."""
    dtype = dtype or input.dtype
    if dtype == _weft.bool:
        raise NotImplementedError(f"\"{operator.__name__}_out_cpu\" not implemented for 'Bool'")
    return operator(_filled(input, mask, identity).to(dtype), dim).to(dtype)


def cumsum(input, dim, *, dtype=None, mask=None):
    """Cumulative sums along a dimension; elements left out count as 0."""
    return _cumulative(_weft.cumsum, input, dim, dtype, mask, 0)


def cumprod(input, dim, *, dtype=None, mask=None):
    """Cumulative products along a dimension; elements left out count as 1."""
    return _cumulative(_weft.cumprod, input, dim, dtype, mask, 1)


def amax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The largest of the elements."""
    filled = _filled(input, mask, _least(input.dtype))
    return _weft.amax(filled, _dimensions(dim, input.ndim), bool(keepdim)).to(dtype or input.dtype)


def amin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The smallest of the elements."""
    filled = _filled(input, mask, _greatest(input.dtype))
    return _weft.amin(filled, _dimensions(dim, input.ndim), bool(keepdim)).to(dtype or input.dtype)


def argmax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Where the largest element is, as a number of the input's dtype."""
    return _weft.argmax(_filled(input, mask, _least(input.dtype)), dim, bool(keepdim)).to(
        dtype or input.dtype
    )


def argmin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Where the smallest element is, as a number of the input's dtype."""
    return _weft.argmin(_filled(input, mask, _greatest(input.dtype)), dim, bool(keepdim)).to(
        dtype or input.dtype
    )


def _counts(input, dims, keepdim, mask):
    shown = _weft.ones(input.shape, dtype=_weft.int64) if mask is None else _input_mask(input, mask)
    return _weft.sum(shown, dims, keepdim, dtype=_weft.int64) if input.ndim else shown.to(_weft.int64)


def mean(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The mean of the elements; NaN of none. raises: ValueError for integers without a floating dtype."""
    source = "Input" if dtype is None else "Optional"
    dtype = dtype or input.dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(
            f"mean(): Could not infer output dtype. {source} dtype must be either a floating point or complex dtype. "
            f"Got: {dtype}"
        )
    counts = _counts(input, _dimensions(dim, input.ndim), bool(keepdim), mask)
    return sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask) / counts


def median(input, dim=-1, *, keepdim=False, dtype=None, mask=None):
    """The median along a dimension. Of integers only where no row is left out altogether."""
    if mask is None:
        filled = input
    elif input.dtype.is_floating_point:
        filled = _filled(input, mask, float("nan"))
    else:
        filled = _filled(input.float(), mask, float("nan"))
    found = _reductions.nanmedian(filled, dim, bool(keepdim)).values
    if input.dtype.is_floating_point:
        return found
    if found.isnan().any():
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    return found.to(dtype or input.dtype)


def logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """log(sum(exp(x))) of the elements x, without overflow."""
    dtype = dtype or input.dtype
    filled = _filled(input, mask, _least(input.dtype) if not input.is_complex() else float("-inf"))
    return _reductions.logsumexp(filled, _dimensions(dim, input.ndim), bool(keepdim)).to(dtype)


def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None):
    """log(exp(input) + exp(other)), each without what its mask leaves out."""
    dtype = dtype or input.dtype
    a, b = (_filled(x, mask, float("-inf")) for x, mask in ((input, input_mask), (other, other_mask)))
    return _weft.logaddexp(a, b).to(dtype)


def norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The vector norm of the elements."""
    filled = _filled(input, mask, 0 if ord >= 0 else float("inf"))
    filled = filled if dtype is None else filled.to(dtype)
    return _weft.vector_norm(
        filled, float(ord), _dimensions(dim, input.ndim) if input.ndim else None, bool(keepdim)
    )


def _moment(input, dim, unbiased, correction, keepdim, dtype, mask):
    if unbiased is not None and correction is not None:
        raise RuntimeError("var and std take either unbiased or correction, not both")
    correction = (
        1 if unbiased is None and correction is None else int(unbiased) if correction is None else correction
    )
    dtype = dtype or input.dtype
    dtype = dtype if dtype.is_floating_point or dtype.is_complex else _weft.float32
    dims = _dimensions(dim, input.ndim)
    counts = _counts(input, dims, True, mask)
    apart = input - sum(input, dim, keepdim=True, dtype=dtype, mask=mask) / counts
    squares = apart * apart.conj() if apart.is_complex() else apart * apart
    total = sum(squares, dim, keepdim=keepdim, dtype=dtype, mask=mask)
    counts = counts.reshape(total.shape)
    if correction != 0:
        counts = _weft.clamp(
            counts.to(total.real.dtype if total.is_complex() else total.dtype) - correction, min=0
        )
    return (total / counts).to(dtype)


def var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The variance of the elements: squared deviations over their number - correction (1)."""
    return _moment(input, dim, unbiased, correction, keepdim, dtype, mask)


def std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The square root of var."""
    return _weft.sqrt(_moment(input, dim, unbiased, correction, keepdim, dtype, mask))


def _normalizing(operator, input, dim, dtype, mask, value):
    filled = _filled(input, mask, value)
    filled = filled if dtype is None else filled.to(dtype)
    if not is_inexact(filled):
        raise NotImplementedError(f"softmax of {filled.dtype} tensors; give a floating dtype")
    return operator(filled, dim)


def softmax(input, dim, *, dtype=None, mask=None):
    """exp(x) over its sum along a dimension, of the elements; 0 elsewhere."""
    return _normalizing(
        _weft.softmax, input, dim, dtype, mask, float("-inf") if is_inexact(input) else _least(input.dtype)
    )


def log_softmax(input, dim, *, dtype=None, mask=None):
    """The logarithm of softmax."""
    value = float("-inf") if is_inexact(input) else _least(input.dtype)
    return _normalizing(_weft.log_softmax, input, dim, dtype, mask, value)


def softmin(input, dim, *, dtype=None, mask=None):
    """softmax of -input."""
    value = float("inf") if is_inexact(input) else _greatest(input.dtype)
    return _normalizing(lambda x, d: _weft.softmax(-x, d), input, dim, dtype, mask, value)


def normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None):
    """The elements over their norm along a dimension, which counts as eps at least; 0 elsewhere."""
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    filled = _filled(input, mask, 0)
    return (filled if dtype is None else filled.to(dtype)) / _weft.clamp(length, min=eps)


def is_masked_tensor(data, /):
    """False: weft has no MaskedTensor."""
    return False


__getattr__ = _absent.names(__name__)
