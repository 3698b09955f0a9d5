"""Covariances, integrals, what is most frequent."""

import math
from typing import List, Optional, Tuple

import weft as _weft
from weft import Tensor

from . import aten, aten_, number
from .checks import (
    dimension,
    is_half,
    is_inexact,
    need_tensor,
    refuse_bool,
    refuse_complex,
    refuse_empty,
    refuse_nothing,
)


# ---- covariances ---------------------------------------------------------------------------------------------
@aten("cov(Tensor self, *, int correction=1, Tensor? fweights=None, Tensor? aweights=None) -> Tensor")
def cov(
    input: Tensor,
    *,
    correction: int = 1,
    fweights: Optional[Tensor] = None,
    aweights: Optional[Tensor] = None,
) -> Tensor:
    """The covariance of variables, one a row; weights by which observations, one a column, count."""
    need_tensor("cov", input)
    refuse_bool("cov", input)
    _need_rows("cov", input)
    rows = input.reshape(1, -1) if input.dim() < 2 else input
    count = rows.shape[1]
    weights: Optional[Tensor] = None
    if fweights is not None:
        if is_inexact(fweights):
            raise RuntimeError(
                f"cov(): Expected fweights to have integral dtype but got fweights with {fweights.dtype} dtype"
            )
        weights = _checked_weights("fweights", fweights, count)
    if aweights is not None:
        if not aweights.is_floating_point():
            raise RuntimeError(
                f"cov(): Expected aweights to have floating point dtype but got aweights with {aweights.dtype} dtype"
            )
        checked = _checked_weights("aweights", aweights, count)
        weights = checked if weights is None else weights * checked
    if not is_inexact(rows):
        rows = rows.to(_weft.float32)
    if weights is None:
        deviations = rows - (rows.mean(1, keepdim=True) if count > 0 else rows.sum(1, keepdim=True) / 0)
        return (_weft.matmul(deviations, _weft.conj(deviations).t()) / max(count - correction, 0)).squeeze()
    total = weights.sum()
    deviations = rows - (rows * weights).sum(1, keepdim=True) / total
    divisor = total
    if aweights is None:
        divisor = total - correction
    elif correction != 0:
        divisor = total - correction * (weights * aweights).sum() / total
    product = _weft.matmul(deviations * weights, _weft.conj(deviations).t())
    return (product / _weft.clamp(divisor, min=0)).squeeze()


def _need_rows(function: str, input: Tensor) -> None:
    if input.dim() > 2:
        raise RuntimeError(
            f"{function}(): expected input to have two or fewer dimensions but got an input with {input.dim()} dimensions"
        )


def _checked_weights(name: str, weights: Tensor, count: int) -> Tensor:
    if weights.dim() > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with {weights.dim()} dimensions"
        )
    if weights.numel() != count:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input"
        )
    return _weft.require(weights, weights >= 0, error=f"cov(): {name} cannot be negative")


@aten("corrcoef(Tensor self) -> Tensor")
def corrcoef(input: Tensor) -> Tensor:
    """The correlation coefficients of variables, one a row."""
    need_tensor("corrcoef", input)
    _need_rows("corrcoef", input)
    covariance = cov(input)
    if covariance.dim() == 0:
        return covariance / covariance
    deviation = _weft.sqrt(_weft.real(_weft.diagonal(covariance)))
    result = covariance / deviation.unsqueeze(1) / deviation.unsqueeze(0)
    if not result.is_complex():
        return _weft.clamp(result, -1, 1)
    return _weft.complex(_weft.clamp(_weft.real(result), -1, 1), _weft.clamp(_weft.imag(result), -1, 1))


# ---- integrals -----------------------------------------------------------------------------------------------
def _low(x: Tensor, dim: int) -> Tensor:
    return _weft.narrow(x, dim, 0, x.shape[dim] - 1)


def _high(x: Tensor, dim: int) -> Tensor:
    return _weft.narrow(x, dim, 1, x.shape[dim] - 1)


def _steps(function: str, y: Tensor, x: Tensor, dim: int) -> Tensor:
    """Distances between neighbours, to be multiplied with their sums."""
    if x.dim() == 0:
        raise RuntimeError(f"{function}: x must have at least one dimension")
    if x.dim() == 1:
        if x.shape[0] != y.shape[dim]:
            raise RuntimeError(f"{function}: There must be one `x` value for each sample point")
        shape = [1] * y.dim()
        shape[dim] = x.shape[0]
        x = x.reshape(shape)
    elif x.dim() < y.dim():
        x = x.reshape([1] * (y.dim() - x.dim()) + list(x.shape))
    return _high(x, dim) - _low(x, dim)


@aten("trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor")
@aten("trapz.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor")
def trapezoid_at(y: Tensor, x: Tensor, dim: int) -> Tensor:
    refuse_bool("trapezoid", y)
    dim = dimension("trapezoid", dim, y.dim())
    if y.shape[dim] == 0:
        return _weft.sum(y, dim)
    return _weft.sum((_low(y, dim) + _high(y, dim)) * _steps("trapezoid", y, x, dim), dim) / 2.0


@aten("trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor")
@aten("trapz.dx(Tensor y, *, float dx=1, int dim=-1) -> Tensor")
def trapezoid_by(y: Tensor, dx: number, dim: int) -> Tensor:
    refuse_bool("trapezoid", y)
    dim = dimension("trapezoid", dim, y.dim())
    if y.shape[dim] == 0:
        return _weft.sum(y, dim)
    ends = _weft.select(y, dim, 0) + _weft.select(y, dim, -1)
    return (_weft.sum(y, dim) - ends * 0.5) * dx


@aten("cumulative_trapezoid.x(Tensor y, Tensor x, *, int dim=-1) -> Tensor")
def cumulative_trapezoid_at(y: Tensor, x: Tensor, dim: int) -> Tensor:
    refuse_bool("cumulative_trapezoid", y)
    dim = dimension("cumulative_trapezoid", dim, y.dim())
    if y.shape[dim] == 0:
        return y
    steps = _steps("cumulative_trapezoid", y, x, dim)
    return _weft.cumsum((_low(y, dim) + _high(y, dim)) * steps, dim) / 2.0


@aten("cumulative_trapezoid.dx(Tensor y, *, Scalar dx=1, int dim=-1) -> Tensor")
def cumulative_trapezoid_by(y: Tensor, dx: number, dim: int) -> Tensor:
    refuse_bool("cumulative_trapezoid", y)
    dim = dimension("cumulative_trapezoid", dim, y.dim())
    if y.shape[dim] == 0:
        return y
    return _weft.cumsum((_low(y, dim) + _high(y, dim)) * (dx / 2.0), dim)


@aten("diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor")
def diff(input: Tensor, n: int, dim: int, prepend: Optional[Tensor], append: Optional[Tensor]) -> Tensor:
    need_tensor("diff", input)
    if n == 0:
        return input
    parts: List[Tensor] = []
    if prepend is not None:
        parts.append(prepend)
    parts.append(input)
    if append is not None:
        parts.append(append)
    x = input if len(parts) == 1 else _weft.cat(parts, dim)
    if x.dim() == 0:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    return _weft.diff(x, n, dim)


# ---- order ---------------------------------------------------------------------------------------------------
@aten("aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)")
def aminmax(input: Tensor, dim: Optional[int], keepdim: bool) -> Tuple[Tensor, Tensor]:
    refuse_complex("aminmax", input)
    axes = list(range(input.dim()))
    if dim is None:
        refuse_nothing("aminmax", input)
    else:
        axes = [dimension("aminmax", dim, input.dim())]
        refuse_empty("aminmax", input, axes[0])
    if input.dim() == 0:
        return input.clone(), input.clone()
    return _weft.amin(input, axes, keepdim=keepdim), _weft.amax(input, axes, keepdim=keepdim)


def _no_median(input: Tensor) -> Tensor:
    """What PyTorch gives for no elements: NaN, or the least integer."""
    if input.is_floating_point():
        return _weft.full([], math.nan, dtype=input.dtype)
    return _weft.full([], -9223372036854775807 - 1, dtype=_weft.int64).to(input.dtype)


@aten("median(Tensor self) -> Tensor")
def median(input: Tensor) -> Tensor:
    return _weft.median_dim(input.reshape(-1), 0)[0] if input.numel() > 0 else _no_median(input)


@aten("median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)")
def median_along(input: Tensor, dim: int, keepdim: bool) -> Tuple[Tensor, Tensor]:
    dim = dimension("median", dim, input.dim())
    if input.dim() == 0:
        return input.clone(), _weft.zeros([], dtype=_weft.int64)
    return _weft.median_dim(input, dim, keepdim)


@aten("nanmedian(Tensor self) -> Tensor")
def nanmedian(input: Tensor) -> Tensor:
    return _weft.nanmedian_dim(input.reshape(-1), 0)[0] if input.numel() > 0 else _no_median(input)


@aten("nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)")
def nanmedian_along(input: Tensor, dim: int, keepdim: bool) -> Tuple[Tensor, Tensor]:
    dim = dimension("nanmedian", dim, input.dim())
    if input.dim() == 0:
        return input.clone(), _weft.zeros([], dtype=_weft.int64)
    return _weft.nanmedian_dim(input, dim, keepdim)


@aten("mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)")
def mode(input: Tensor, dim: int, keepdim: bool) -> Tuple[Tensor, Tensor]:
    refuse_complex("mode", input)
    dim = dimension("mode", dim, input.dim())
    refuse_empty("mode", input, dim)
    if input.dim() == 0:
        return input.clone(), _weft.zeros([], dtype=_weft.int64)
    ordered, order = _weft.sort(input, dim=dim, stable=True)
    size = input.shape[dim]
    shape = [1] * input.dim()
    shape[dim] = size
    positions = _weft.arange(size).reshape(shape).expand(input.shape)
    # The length of the run of equal values up to each element: its position less that of the run's start.
    changes = _low(ordered, dim) != _high(ordered, dim)
    starts = _weft.cat(
        [_weft.narrow(positions, dim, 0, 1), _weft.where(changes, _high(positions, dim), 0)], dim
    )
    run = positions - _weft.cummax(starts, dim)[0]
    at = _weft.argmax(run, dim, keepdim=True)
    values, indices = _weft.gather(ordered, dim, at), _weft.gather(order, dim, at)
    if not keepdim:
        values, indices = values.squeeze(dim), indices.squeeze(dim)
    return values, indices


def _quantile(
    function: str, input: Tensor, q: Tensor, dim: Optional[int], keepdim: bool, interpolation: str
) -> Tensor:
    if input.dtype != _weft.float32 and input.dtype != _weft.float64:
        raise RuntimeError(f"{function}() input tensor must be either float or double dtype")
    if interpolation not in ["linear", "lower", "higher", "midpoint", "nearest"]:
        raise RuntimeError(
            f"{function}() interpolation must be one of linear, lower, higher, midpoint or nearest, but got "
            f"{interpolation}"
        )
    if q.dim() > 1:
        raise RuntimeError(f"{function}() q must be a scalar or 1D tensor")
    if q.dtype != input.dtype:
        raise RuntimeError(f"{function}() q tensor must be same dtype as the input tensor")
    if input.numel() == 0:
        raise RuntimeError(f"{function}() input tensor must be non-empty")
    rank = input.dim()
    at = 0
    if dim is None:
        rows = input.reshape(-1)
    else:
        at = dimension(function, dim, rank)
        rows = input.movedim(at, -1) if rank > 0 else input.reshape(1)
    ordered = _weft.sort(rows, -1)[0]
    missing = _weft.isnan(ordered)
    wanted = q.reshape(-1)
    if function == "nanquantile":
        valid = _weft.logical_not(missing).sum(-1, keepdim=True).to(input.dtype)
        ranks = _weft.clamp(wanted * (valid - 1), min=0.0)
    else:
        last = float(rows.shape[-1] - 1)
        ranks = _weft.where(missing.any(-1, keepdim=True), last, wanted * last).to(input.dtype)
    if interpolation == "nearest":
        ranks = _weft.round(ranks)
    elif interpolation == "lower":
        ranks = _weft.floor(ranks)
    elif interpolation == "higher":
        ranks = _weft.ceil(ranks)
    below = _weft.floor(ranks)
    result = _weft.gather(ordered, -1, below.to(_weft.int64))
    if interpolation == "linear" or interpolation == "midpoint":
        above = _weft.gather(ordered, -1, _weft.ceil(ranks).to(_weft.int64))
        if interpolation == "midpoint":
            result = _weft.lerp(result, above, 0.5)
        else:
            result = _weft.lerp(result, above, ranks - below)
    if keepdim:
        if dim is None:
            result = result.reshape([1] * rank + [-1])
        elif rank > 0:
            result = result.unsqueeze(at)
    return result.movedim(-1, 0) if q.dim() > 0 else result.squeeze(-1)


def _rank_of(function: str, input: Tensor, q: float) -> Tensor:
    if q < 0 or q > 1:
        raise RuntimeError(f"{function}() q must be in the range [0, 1] but got {q}")
    return _weft.full([], q, dtype=input.dtype)


@aten(
    'quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor'
)
def quantile(input: Tensor, q: Tensor, dim: Optional[int], keepdim: bool, interpolation: str) -> Tensor:
    return _quantile("quantile", input, q, dim, keepdim, interpolation)


@aten(
    'quantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor'
)
def quantile_at(input: Tensor, q: float, dim: Optional[int], keepdim: bool, interpolation: str) -> Tensor:
    return quantile(input, _rank_of("quantile", input, q), dim, keepdim, interpolation)


@aten(
    'nanquantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor'
)
def nanquantile(input: Tensor, q: Tensor, dim: Optional[int], keepdim: bool, interpolation: str) -> Tensor:
    return _quantile("nanquantile", input, q, dim, keepdim, interpolation)


@aten(
    'nanquantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation="linear") -> Tensor'
)
def nanquantile_at(input: Tensor, q: float, dim: Optional[int], keepdim: bool, interpolation: str) -> Tensor:
    return nanquantile(input, _rank_of("nanquantile", input, q), dim, keepdim, interpolation)


@aten_("renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor")
def renorm(input: Tensor, p: number, dim: int, maxnorm: number) -> Tensor:
    if float(p) <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if float(maxnorm) < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    if input.dim() < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.dim()} dimensions")
    kept = dimension("renorm", dim, input.dim())
    wide = input.to(_weft.float32) if is_half(input) else input
    others = [each for each in range(input.dim()) if each != kept]
    norms = _weft.vector_norm(wide, float(p), others, keepdim=True)
    factor = _weft.where(norms > maxnorm, maxnorm / (norms + 1e-7), _weft.ones_like(norms))
    return (input * factor.to(input.dtype)).to(input.dtype)
