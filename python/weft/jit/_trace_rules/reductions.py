"""Reductions and order."""

import weft
from weft import return_types

from .._trace_registry import OPERATORS, inexact, operator_rule
from .._tracer import aten


# ---- reductions, order ---------------------------------------------------------------------------------------
def _over_dimensions(name):
    """all(x, [0, 1]): one dimension after the other."""

    def rule(x, dim, keepdim, **others):
        if not isinstance(dim, (list, tuple)) or len(dim) < 2:
            return NotImplemented
        for one in sorted((d % x.ndim for d in dim), reverse=True):
            x = aten[name](x, one, keepdim, **others)
        return x

    OPERATORS[name] = rule


for _name in ("all", "any", "prod"):
    _over_dimensions(_name)


@operator_rule()
def logsumexp(x, dim, keepdim):
    return aten.logsumexp(x, list(range(x.ndim)) if dim is None else dim, keepdim)


@operator_rule()
def count_nonzero(x, dim, keepdim):
    counted = aten.count_nonzero(x) if dim is None else aten.count_nonzero(x, list(dim))
    if not keepdim:
        return counted
    axes = range(x.ndim) if dim is None else sorted(d % x.ndim for d in dim)
    for one in axes:
        counted = aten.unsqueeze(counted, one)
    return counted


@operator_rule()
def ptp(x, dim, keepdim):
    axes = [] if dim is None else dim
    return aten.sub(aten.amax(x, axes, keepdim), aten.amin(x, axes, keepdim))


@operator_rule()
def median_dim(x, dim, keepdim):
    return return_types.median(*aten.median(x, dim, keepdim))


@operator_rule()
def nanmedian_dim(x, dim, keepdim):
    return return_types.nanmedian(*aten.nanmedian(x, dim, keepdim))


@operator_rule()
def median(x, dim, keepdim):
    return aten.median(x) if dim is None else median_dim(x, dim, keepdim)


@operator_rule()
def vector_norm(x, ord, dim, keepdim):
    return aten.linalg_vector_norm(inexact(x, aten), ord, dim, keepdim)


@operator_rule()
def sort(x, dim, descending, stable):
    return aten.sort(x, stable=stable, dim=dim, descending=descending)


@operator_rule()
def argsort(x, dim, descending, stable):
    return aten.sort(x, stable=stable, dim=dim, descending=descending)[1]


@operator_rule()
def sort_values(x, dim):
    return aten.sort(x, stable=True, dim=dim, descending=False)[0]


@operator_rule()
def unique(x, sorted, return_inverse, return_counts, return_index):
    if return_index:
        return NotImplemented
    values, inverse, counts = aten._unique2(x, True, return_inverse, return_counts)
    rest = [*([inverse] if return_inverse else []), *([counts] if return_counts else [])]
    return (values, *rest) if rest else values


def _deviation(name):
    def rule(x, dim, unbiased, keepdim, correction):
        if correction is None:
            correction = 0 if unbiased is False else 1
        elif correction != int(correction):
            return NotImplemented
        return aten[name](x, None if dim is None else list(dim), correction=int(correction), keepdim=keepdim)

    OPERATORS[name] = rule


for _name in ("std", "var"):
    _deviation(_name)


@operator_rule()
def nanprod(x, dim, keepdim, dtype):
    return weft.prod(aten.masked_fill(x, aten.isnan(x), 1), dim, keepdim, dtype=dtype)


@operator_rule()
def quantile(x, q, dim, keepdim):
    if x.dtype in (weft.float32, weft.float64):
        return aten.quantile(x, q, dim, keepdim)
    if x.is_complex():
        return NotImplemented
    # TorchScript's takes no others.
    wide = aten.to(x, weft.float32 if x.is_floating_point() else weft.float64)
    result = aten.quantile(wide, q, dim, keepdim)
    return aten.to(result, x.dtype) if x.is_floating_point() else result


@operator_rule()
def percentile(x, q, dim, keepdim):
    return quantile(x, q / 100, dim, keepdim)
