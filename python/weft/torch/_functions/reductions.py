"""Reductions with PyTorch's arguments and named results."""

import weft as _weft
from weft import Tensor as _Tensor
from weft import _autocast
from weft import return_types as _types
from weft._composed import statistics
from weft._composed.checks import refuse_empty, refuse_nothing

from ._support import (
    all_written,
    dimension,
    is_inexact,
    is_integer,
    is_number,
    may_overlap,
    need_tensor,
    refuse_bool,
    refuse_complex,
    written,
)
from .arithmetic import logaddexp


def _refuse_empty(function, input, dim=None):
    if dim is None:
        refuse_nothing(function, input)
    else:
        refuse_empty(function, input, dim)


# ---- truth ---------------------------------------------------------------------------------------------------


def _truth(function, operator, input, dim, keepdim, out):
    need_tensor(function, input)
    if isinstance(dim, (tuple, list)) and not dim:
        result = input != 0
        return written(out, result.to(input.dtype) if input.dtype == _weft.uint8 else result)
    return written(out, operator(input) if dim is None and not keepdim else operator(input, dim, keepdim))


def count_nonzero(input, *dims, dim=None):
    """The number (int64) of elements over dimensions that differ from zero."""
    need_tensor("count_nonzero", input)
    given = dim if not dims else dims[0] if len(dims) == 1 else [int(each) for each in dims]
    return _weft.count_nonzero(input, given)


def all(input, dim=None, keepdim=False, *, out=None, axis=None, keepdims=False):
    """Whether all elements, or all over dimensions, differ from zero; of dim=() each element."""
    return _truth("all", _weft.all, input, dim if axis is None else axis, keepdim or keepdims, out)


def any(input, dim=None, keepdim=False, *, out=None, axis=None, keepdims=False):
    """Whether an element, or one over dimensions, differs from zero; of dim=() each element."""
    return _truth("any", _weft.any, input, dim if axis is None else axis, keepdim or keepdims, out)


# ---- extremes ------------------------------------------------------------------------------------------------


def _extreme(name, input, dim, keepdim, other, out):
    reduce, argument, elementwise = {
        "max": (_weft.amax, _weft.argmax, _weft.maximum),
        "min": (_weft.amin, _weft.argmin, _weft.minimum),
    }[name]
    need_tensor(name, input)
    if isinstance(dim, _Tensor):
        dim, other = None, dim
    if other is not None:
        return written(out, elementwise(input, other), own_dtype=False)
    refuse_complex(name, input)
    if dim is None:
        _refuse_empty(name, input)
        return written(out, reduce(input), own_dtype=False)
    dim = dimension(name, dim, input.dim())
    _refuse_empty(name, input, dim)
    ordered = input.to(_weft.uint8) if input.dtype == _weft.bool else input
    result = getattr(_types, name)(
        reduce(input, dim, keepdim=keepdim) if input.dim() else input.clone(),
        argument(ordered, dim, keepdim=keepdim) if input.dim() else argument(ordered),
    )
    return all_written(out, result, parts_of=(input,), own_dtype=True)


def max(input, dim=None, keepdim=False, *, other=None, out=None, axis=None, keepdims=False):
    """The largest element, max(input, dim): values and indices along a dimension, max(input, other): maximum."""
    return _extreme("max", input, dim if axis is None else axis, keepdim or keepdims, other, out)


def min(input, dim=None, keepdim=False, *, other=None, out=None, axis=None, keepdims=False):
    """The smallest element, min(input, dim): values and indices along a dimension, min(input, other): minimum."""
    return _extreme("min", input, dim if axis is None else axis, keepdim or keepdims, other, out)


def aminmax(input, *, dim=None, keepdim=False, out=None):
    """Smallest and largest element, of all or along a dimension."""
    need_tensor("aminmax", input)
    if dim is not None:
        dim = dimension("aminmax", dim, input.dim())
    if out is not None and may_overlap(*out):
        raise ValueError("aminmax(): the `min` and `max` out= tensors must not overlap.")
    found = _types.aminmax(*statistics.aminmax(input, dim, keepdim))
    return all_written(out, found, parts_of=(input,), own_dtype=True)


# ---- order statistics ----------------------------------------------------------------------------------------


def sort(input, dim=-1, descending=False, stable=False, *, out=None, axis=None):
    """The elements in order along `dim`, and their indices."""
    dim = dim if axis is None else axis
    need_tensor("sort", input)
    refuse_complex("sort", input)
    if isinstance(dim, bool):
        raise TypeError("sort(): argument 'dim' (position 2) must be int, not bool")
    return all_written(
        out, _types.sort(*_weft.sort(input, dim, descending)), parts_of=(input,), own_dtype=True
    )


def kthvalue(input, k, dim=-1, keepdim=False, *, out=None):
    """The k-th smallest element along `dim` and its index."""
    need_tensor("kthvalue", input)
    refuse_complex("kthvalue", input)
    values, indices = _weft.kthvalue(input, k, dim, keepdim)
    return all_written(out, _types.kthvalue(values.contiguous(), indices.contiguous()), input, own_dtype=True)


def _middle(whole, along, named, input, dim, keepdim, out):
    need_tensor(named.__name__, input)
    refuse_complex(named.__name__, input)
    refuse_bool(named.__name__, input)
    if dim is None:
        return written(out, whole(input))
    dim = dimension(named.__name__, dim, input.dim())
    return all_written(out, named(*along(input, dim, keepdim)), parts_of=(input,), own_dtype=True)


def nanmedian(input, dim=None, keepdim=False, *, out=None):
    """The median of what is no NaN, the lower of two; along `dim` with its index."""
    return _middle(
        statistics.nanmedian, statistics.nanmedian_along, _types.nanmedian, input, dim, keepdim, out
    )


def median(input, dim=None, keepdim=False, *, out=None, axis=None, keepdims=False):
    """The median, the lower of two; along `dim` with its index."""
    dim, keepdim = dim if axis is None else axis, keepdim or keepdims
    return _middle(statistics.median, statistics.median_along, _types.median, input, dim, keepdim, out)


def mode(input, dim=-1, keepdim=False, *, out=None):
    """The most frequent value along `dim`, the least of several, and the index of its last occurrence."""
    need_tensor("mode", input)
    dim = dimension("mode", dim, input.dim())
    found = _types.mode(*statistics.mode(input, dim, keepdim))
    return all_written(out, found, parts_of=(input,), own_dtype=True)


@_autocast.float32
def quantile(input, q, dim=None, keepdim=False, *, interpolation="linear", out=None):
    """Quantiles of all elements or along `dim`, a first dimension for several q. NaN where one is among them."""
    need_tensor("quantile", input)
    of = statistics.quantile if isinstance(q, _Tensor) else statistics.quantile_at
    return written(out, of(input, q, dim, keepdim, interpolation))


@_autocast.float32
def nanquantile(input, q, dim=None, keepdim=False, *, interpolation="linear", out=None):
    """quantile of what is no NaN."""
    need_tensor("nanquantile", input)
    of = statistics.nanquantile if isinstance(q, _Tensor) else statistics.nanquantile_at
    return written(out, of(input, q, dim, keepdim, interpolation))


# ---- moments -------------------------------------------------------------------------------------------------


def _axes_and_keepdim(args, kwargs):
    """The dim and keepdim of (dim, unbiased, keepdim) or (unbiased)."""
    dim = kwargs.get("dim", kwargs.get("axis", args[0] if args and not isinstance(args[0], bool) else None))
    return dim, kwargs.get("keepdim", kwargs.get("keepdims", args[2] if len(args) > 2 else False))


def var_mean(input, *args, **kwargs):
    """Variance and mean; the arguments are var's."""
    need_tensor("var_mean", input)
    dim, keepdim = _axes_and_keepdim(args, kwargs)
    return _weft.var(input, *args, **kwargs), _weft.mean(input, dim, keepdim)


def std_mean(input, *args, **kwargs):
    """Standard deviation and mean; the arguments are std's."""
    need_tensor("std_mean", input)
    dim, keepdim = _axes_and_keepdim(args, kwargs)
    return _weft.std(input, *args, **kwargs), _weft.mean(input, dim, keepdim)


# ---- running sums --------------------------------------------------------------------------------------------


def trapezoid(y, x=None, *, dx=1, dim=-1):
    """The integral along `dim` by the trapezoidal rule, over points x or steps dx."""
    need_tensor("trapezoid", y)
    if isinstance(x, _Tensor):
        return statistics.trapezoid_at(y, x, dim)
    return statistics.trapezoid_by(y, dx if x is None else x, dim)


trapz = trapezoid


def cumulative_trapezoid(y, x=None, *, dx=1, dim=-1):
    """The running integrals along `dim` by the trapezoidal rule."""
    need_tensor("cumulative_trapezoid", y)
    if isinstance(x, _Tensor):
        return statistics.cumulative_trapezoid_at(y, x, dim)
    return statistics.cumulative_trapezoid_by(y, dx if x is None else x, dim)


def _slice(x, dim, start, length):
    return _weft.narrow(x, dim, start, length)


def _gradient_along(f, spacing, dim, edge_order):
    size = f.shape[dim]
    if isinstance(spacing, _Tensor):
        shape = [1] * f.dim()
        shape[dim] = size - 1
        steps = _weft.diff(spacing).reshape(shape)
        left, right = _slice(steps, dim, 0, size - 2), _slice(steps, dim, 1, size - 2)
        inner = (
            -right / (left * (left + right)) * _slice(f, dim, 0, size - 2)
            + (right - left) / (left * right) * _slice(f, dim, 1, size - 2)
            + left / (right * (left + right)) * _slice(f, dim, 2, size - 2)
        )
        first, second = _slice(steps, dim, 0, 1), _slice(steps, dim, size - 2, 1)
    else:
        inner = (_slice(f, dim, 2, size - 2) - _slice(f, dim, 0, size - 2)) / (2.0 * spacing)
        first = second = spacing
    if edge_order == 1:
        head = (_slice(f, dim, 1, 1) - _slice(f, dim, 0, 1)) / first
        tail = (_slice(f, dim, size - 1, 1) - _slice(f, dim, size - 2, 1)) / second
        return _weft.cat([head, inner, tail], dim)
    if isinstance(spacing, _Tensor):
        a, b = first, _slice(steps, dim, 1, 1)
        c, d = _slice(steps, dim, size - 3, 1), second
    else:
        a = b = c = d = spacing
    points = [_slice(f, dim, at, 1) for at in (0, 1, 2, size - 3, size - 2, size - 1)]
    head = (
        -(2.0 * a + b) / (a * (a + b)) * points[0]
        + (a + b) / (a * b) * points[1]
        - a / (b * (a + b)) * points[2]
    )
    tail = (
        d / (c * (c + d)) * points[3]
        - (c + d) / (c * d) * points[4]
        + (2.0 * d + c) / (d * (c + d)) * points[5]
    )
    return _weft.cat([head, inner, tail], dim)


def gradient(input, *, spacing=1, dim=None, edge_order=1):
    """Derivatives along dimensions by second order differences; spacing: a step or coordinates, one for each."""
    need_tensor("gradient", input)
    spacing = 1 if spacing is None else spacing
    if edge_order not in (1, 2):
        raise RuntimeError(f"torch.gradient only supports edge_order=1 and edge_order=2. Got {edge_order}")
    axes = list(range(input.dim())) if dim is None else [dim] if is_integer(dim) else list(dim)
    axes = [dimension("gradient", axis, input.dim()) for axis in axes]
    if len(set(axes)) != len(axes):
        raise RuntimeError("dim appears multiple times in the list of dims")
    steps = (
        [spacing] * len(axes)
        if is_number(spacing) or isinstance(spacing, bool)
        else [spacing]
        if isinstance(spacing, _Tensor)
        else list(spacing)
    )
    if len(steps) != len(axes):
        raise RuntimeError(
            f"torch.gradient expected spacing to be unspecified, a scalar, or a list of length {len(axes)}, got {len(steps)}"
        )
    for axis in axes:
        if input.shape[axis] < edge_order + 1:
            raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    x = input if is_inexact(input) else input.to(_weft.float32)
    return tuple(_gradient_along(x, step, axis, edge_order) for axis, step in zip(axes, steps))


def logsumexp(input, dim=None, keepdim=False, *, out=None, axis=None, keepdims=False):
    """log(sum(exp(input))) over dimensions, without overflow."""
    dim, keepdim = dim if axis is None else axis, keepdim or keepdims
    if dim is None:
        raise TypeError("logsumexp() missing 1 required positional argument: 'dim'")
    need_tensor("logsumexp", input)
    if input.numel() == 0:
        summed = _weft.sum(_weft.exp(input), dim, keepdim)
        return written(out, _weft.log(summed), own_dtype=False)
    axes = dim if is_integer(dim) or isinstance(dim, int) else list(dim)
    if not input.is_complex():
        return written(out, _weft.logsumexp(input, axes, keepdim), own_dtype=False)
    if input.dim() == 0:
        return written(out, _weft.log(_weft.exp(input - input.real)) + input.real, own_dtype=False)
    greatest = _weft.amax(_weft.real(input), axes, keepdim=True)
    greatest = _weft.where(_weft.isfinite(greatest), greatest, 0.0).to(greatest.dtype)
    result = _weft.log(_weft.sum(_weft.exp(input - greatest), axes, keepdim=True)) + greatest
    return written(out, result if keepdim else result.squeeze(axes), own_dtype=False)


def logcumsumexp(input, dim, *, out=None):
    """log(cumsum(exp(input))) along `dim`, without overflow."""
    need_tensor("logcumsumexp", input)
    if input.is_complex() and input.numel() > 1:
        sums = list(_weft.unbind(input, dim))
        for at in range(1, len(sums)):
            sums[at] = logaddexp(sums[at], sums[at - 1])
        return written(out, _weft.stack(sums, dim))
    return written(out, _weft.logcumsumexp(input, dimension("logcumsumexp", dim, input.dim())))


def diff(input, n=1, dim=-1, prepend=None, append=None, *, out=None):
    """Differences of neighbours along `dim`, taken n times, of the input between `prepend` and `append`."""
    return written(out, statistics.diff(input, n, dim, prepend, append), own_dtype=False)


def hash_tensor(input, dim=(), keepdim=False, *, mode=0, out=None):
    """The exclusive or of the elements' bits: of integers as int64, of floats as float64."""
    need_tensor("hash_tensor", input)
    if mode != 0:
        raise RuntimeError(f"hash_tensor: mode: expected 0, got {mode}")
    if input.is_complex():
        raise NotImplementedError(f"hash_tensor: not implemented for {input.dtype}")
    words = (
        _weft.bitcast(input.to(_weft.float64), _weft.int64)
        if input.is_floating_point()
        else input.to(_weft.int64)
    )
    given = [dim] if is_integer(dim) else list(dim or ())
    axes = sorted({dimension("hash_tensor", axis, words.dim()) for axis in given} or range(words.dim()))
    bits = _weft.arange(64)
    # A bit of the result is the parity of its count.
    parity = _weft.bitwise_and(_weft.bitwise_right_shift(words.unsqueeze(-1), bits), 1)
    if axes and words.dim():
        parity = _weft.bitwise_and(_weft.sum(parity, axes, keepdim=keepdim), 1)
    return written(out, _weft.bitcast(_weft.sum(_weft.bitwise_left_shift(parity, bits), -1), _weft.uint64))
