"""What arithmetic, reductions and losses are made of."""

import math

import weft

from ._decompositions import (
    TABLE,
    _add,
    _cast,
    _div,
    _full_like,
    _mul,
    _sub,
    _sum,
    _where,
    _wide,
    aten,
    rule,
    view,
)  # fmt: skip
from ._decompositions_layers import log_softmax

# ---- other names -------------------------------------------------------------------------------------------------
_SAME = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan",
    "arctanh": "atanh", "clip": "clamp", "clip.Tensor": "clamp.Tensor", "fix": "trunc", "negative": "neg", "special_expm1": "expm1", "special_erf": "erf",
    "special_log1p": "log1p", "special_expit": "sigmoid", "greater.Scalar": "gt.Scalar", "greater.Tensor": "gt.Tensor",
    "greater_equal.Scalar": "ge.Scalar", "greater_equal.Tensor": "ge.Tensor", "less.Scalar": "lt.Scalar",
    "less.Tensor": "lt.Tensor", "less_equal.Scalar": "le.Scalar", "less_equal.Tensor": "le.Tensor",
    "not_equal.Scalar": "ne.Scalar", "not_equal.Tensor": "ne.Tensor", "multiply.Tensor": "mul.Tensor",
    "divide.Tensor": "div.Tensor", "true_divide.Tensor": "div.Tensor", "divide.Tensor_mode": "div.Tensor_mode",
    "subtract.Tensor": "sub.Tensor", "__and__.Tensor": "bitwise_and.Tensor", "__or__.Tensor": "bitwise_or.Tensor",
    "__xor__.Tensor": "bitwise_xor.Tensor", "__and__.Scalar": "bitwise_and.Scalar", "__or__.Scalar": "bitwise_or.Scalar",
    "__xor__.Scalar": "bitwise_xor.Scalar", "arctan2": "atan2", "sgn": "sign",
}  # fmt: skip


def _renamed(other):
    return lambda *args, **kwargs: aten[other](*args, **kwargs)


for _name, _other in _SAME.items():
    TABLE[_name] = _renamed(_other)

# ---- element by element ------------------------------------------------------------------------------------------
TABLE["max.other"] = lambda x, other: aten.maximum(x, other)
TABLE["min.other"] = lambda x, other: aten.minimum(x, other)
TABLE["clamp_min"] = lambda x, bound: aten.clamp(x, bound)
TABLE["clamp_max"] = lambda x, bound: aten.clamp(x, None, bound)
TABLE["clamp_min.Tensor"] = lambda x, bound: aten.maximum(x, bound)
TABLE["clamp_max.Tensor"] = lambda x, bound: aten.minimum(x, bound)
TABLE["square"] = lambda x: aten["pow.Tensor_Scalar"](x, 2)
TABLE["floor_divide"] = TABLE["floor_divide.Scalar"] = lambda x, other: aten[
    f"div.{'Tensor' if isinstance(other, weft.Tensor) else 'Scalar'}_mode"
](x, other, rounding_mode="floor")
TABLE["frac"] = lambda x: _sub(x, aten.trunc(x))
TABLE["deg2rad"] = _wide(lambda x: _mul(x, math.pi / 180))
TABLE["rad2deg"] = _wide(lambda x: _mul(x, 180 / math.pi))
TABLE["isfinite"] = lambda x: (
    aten["ne.Scalar"](aten.abs(x), math.inf) if not x.is_floating_point() else _finite(x)
)
TABLE["isposinf"] = lambda x: aten["eq.Scalar"](x, math.inf)
TABLE["isneginf"] = lambda x: aten["eq.Scalar"](x, -math.inf)
TABLE["lerp.Scalar"] = TABLE["lerp.Tensor"] = lambda x, end, weight: _add(x, _mul(_sub(end, x), weight))
TABLE["logit"] = _wide(lambda x, eps=None: _log_odds(x if eps is None else aten.clamp(x, eps, 1 - eps)))
TABLE["sinc"] = _wide(lambda x: _where(aten["eq.Scalar"](x, 0), 1, _sinc(_mul(x, math.pi))))
TABLE["where.ScalarSelf"] = TABLE["where.ScalarOther"] = _where


@rule("where.Scalar")
def where_numbers(condition, one, other):
    dtype = weft.torch.result_type(one, other)
    return aten["where.self"](
        condition, aten.scalar_tensor(one, dtype=dtype), aten.scalar_tensor(other, dtype=dtype)
    )


TABLE["masked_fill.Scalar"] = TABLE["masked_fill.Tensor"] = lambda x, mask, value: _where(
    mask, _cast(value, x.dtype) if isinstance(value, weft.Tensor) else value, x
)


def _finite(x):
    return aten.logical_and(aten["ne.Scalar"](aten.abs(x), math.inf), aten["eq.Tensor"](x, x))


def _log_odds(x):
    return aten.log(_div(x, _sub(1, x)))


def _sinc(x):
    return _div(aten.sin(x), x)


@rule("rsub.Scalar", "rsub.Tensor")
def rsub(x, other, alpha=1):
    return _sub(other, x if alpha == 1 else _mul(x, alpha))


@rule("addcmul")
def addcmul(x, one, other, *, value=1):
    return _add(x, _mul(_mul(one, value), other) if value != 1 else _mul(one, other))


@rule("addcdiv")
def addcdiv(x, one, other, *, value=1):
    return _add(x, _mul(_div(one, other), value) if value != 1 else _div(one, other))


@rule("nan_to_num")
def nan_to_num(x, nan=None, posinf=None, neginf=None):
    if not x.is_floating_point():
        return aten.clone(x)
    limits = weft.torch.finfo(x.dtype)
    x = _where(aten.isnan(x), 0.0 if nan is None else nan, x)
    x = _where(aten["eq.Scalar"](x, math.inf), limits.max if posinf is None else posinf, x)
    return _where(aten["eq.Scalar"](x, -math.inf), limits.min if neginf is None else neginf, x)


@rule("xlogy.Tensor", "special_xlogy")
def xlogy(x, other):
    product = _mul(x, aten.log(other))
    product = _where(aten["eq.Scalar"](x, 0), 0.0, product)
    return _where(aten.isnan(other), math.nan, product)


@rule("logaddexp")
def logaddexp(x, other):
    largest = aten.maximum(x, other)
    return _add(largest, aten.log1p(aten.exp(aten.neg(aten.abs(_sub(x, other))))))


# ---- reductions ------------------------------------------------------------------------------------------------
@rule("sum")
def whole_sum(x, *, dtype=None):
    return _sum(x, [], False, dtype)


@rule("logsumexp")
def logsumexp(x, dim, keepdim=False):
    dims = [dim] if isinstance(dim, int) else list(dim)
    largest = aten.amax(x, dims, True)
    largest = _where(aten["eq.Scalar"](aten.abs(largest), math.inf), 0.0, largest)
    total = aten.log(_sum(aten.exp(_sub(x, largest)), dims, keepdim))
    return _add(total, largest if keepdim else aten["squeeze.dims"](largest, dims))


def _correction(unbiased, correction):
    return (1 if unbiased else 0) if correction is None else correction


@rule("var", "var.dim", "var.correction")
def var(x, dim=None, unbiased=True, keepdim=False, *, correction=None):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    return aten["var.correction"](x, dim, correction=_correction(unbiased, correction), keepdim=keepdim)


@rule("std", "std.dim", "std.correction")
def std(x, dim=None, unbiased=True, keepdim=False, *, correction=None):
    return aten.sqrt(var(x, dim, unbiased, keepdim, correction=correction))


@rule("var_mean", "var_mean.dim", "var_mean.correction")
def var_mean(x, dim=None, unbiased=True, keepdim=False, *, correction=None):
    return var(x, dim, unbiased, keepdim, correction=correction), _mean_of(x, dim, keepdim)


@rule("std_mean", "std_mean.dim", "std_mean.correction")
def std_mean(x, dim=None, unbiased=True, keepdim=False, *, correction=None):
    return std(x, dim, unbiased, keepdim, correction=correction), _mean_of(x, dim, keepdim)


def _mean_of(x, dim, keepdim):
    is_whole = dim is None or isinstance(dim, bool)
    return aten["mean.dim"](x, list(range(x.dim())) if is_whole else dim, keepdim)


@rule("all")
def every(x):
    return aten.logical_not(aten.any(aten.logical_not(x)))


@rule("all.dim")
def every_dim(x, dim, keepdim=False):
    return aten.logical_not(aten["any.dim"](aten.logical_not(x), dim, keepdim))


@rule("aminmax")
def aminmax(x, *, dim=None, keepdim=False):
    dims = [] if dim is None else [dim]
    return aten.amin(x, dims, keepdim), aten.amax(x, dims, keepdim)


@rule("count_nonzero", "count_nonzero.dim_IntList")
def count_nonzero(x, dim=None):
    dims = [] if dim is None else [dim] if isinstance(dim, int) else list(dim)
    return _sum(_cast(aten["ne.Scalar"](x, 0), weft.int64), dims)


@rule(
    "linalg_vector_norm",
    "norm.ScalarOpt_dim",
    "norm.Scalar",
    "norm.ScalarOpt_dim_dtype",
    "norm.ScalarOpt_dtype",
)
def norm(x, ord=2, dim=None, keepdim=False, *, dtype=None, p=None):
    x, order = _cast(x, dtype), 2 if ord is None else ord
    dims = [dim] if isinstance(dim, int) else list(dim or [])
    if x.is_complex() or x.dim() == 0:
        return NotImplemented
    if order == math.inf or order == -math.inf:
        return (aten.amax if order > 0 else aten.amin)(aten.abs(x), dims, keepdim)
    if order == 0:
        return _sum(_cast(aten["ne.Scalar"](x, 0), x.dtype), dims, keepdim)
    if order == 1:
        return _sum(aten.abs(x), dims, keepdim)
    if order == 2:
        return aten.sqrt(_sum(_mul(x, x), dims, keepdim))
    powers = aten["pow.Tensor_Scalar"](aten.abs(x), order)
    return aten["pow.Tensor_Scalar"](_sum(powers, dims, keepdim), 1 / order)


TABLE["norm.Scalar"] = lambda x, p=2: norm(x, p)


@rule("linalg_norm", "frobenius_norm.dim")
def linalg_norm(x, ord=None, dim=None, keepdim=False, *, dtype=None):
    is_vector = ord is None or (
        isinstance(ord, (int, float))
        and (x.dim() == 1 or isinstance(dim, int) or (dim is not None and len(dim) == 1))
    )
    return norm(x, ord, dim, keepdim, dtype=dtype) if is_vector else NotImplemented


@rule("trace")
def trace(x):
    return _sum(aten.diagonal(x), [])


@rule("msort")
def msort(x):
    return aten.sort(x, 0)[0]


@rule("argsort")
def argsort(x, dim=-1, descending=False):
    return aten.sort(x, dim, descending)[1]


@rule("argsort.stable")
def argsort_stable(x, *, stable, dim=-1, descending=False):
    return aten["sort.stable"](x, stable=stable, dim=dim, descending=descending)[1]


# ---- losses ----------------------------------------------------------------------------------------------------
def _reduced(x, reduction):
    """0: as it is, 1: the mean, 2: the sum."""
    return x if reduction == 0 else aten.mean(x) if reduction == 1 else _sum(x, [])


@rule("mse_loss")
def mse_loss(x, target, reduction=1):
    return _reduced(aten["pow.Tensor_Scalar"](_sub(x, target), 2), reduction)


@rule("l1_loss")
def l1_loss(x, target, reduction=1):
    return _reduced(aten.abs(_sub(x, target)), reduction)


@rule("smooth_l1_loss")
def smooth_l1_loss(x, target, reduction=1, beta=1.0):
    far = aten.abs(_sub(x, target))
    if beta == 0:
        return _reduced(far, reduction)
    near = _div(_mul(aten["pow.Tensor_Scalar"](far, 2), 0.5), beta)
    return _reduced(_where(aten["lt.Scalar"](far, beta), near, _sub(far, 0.5 * beta)), reduction)


@rule("huber_loss")
def huber_loss(x, target, reduction=1, delta=1.0):
    far = aten.abs(_sub(x, target))
    near = _mul(aten["pow.Tensor_Scalar"](far, 2), 0.5)
    return _reduced(
        _where(aten["le.Scalar"](far, delta), near, _mul(_sub(far, 0.5 * delta), delta)), reduction
    )


@rule("binary_cross_entropy")
def binary_cross_entropy(x, target, weight=None, reduction=1):
    logs = [aten.clamp(each, -100) for each in (aten.log1p(aten.neg(x)), aten.log(x))]
    loss = _sub(_mul(_sub(target, 1), logs[0]), _mul(target, logs[1]))
    return _reduced(loss if weight is None else _mul(loss, weight), reduction)


@rule("binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(x, target, weight=None, pos_weight=None, reduction=1):
    least = aten.minimum(x, _full_like(x, 0))
    log_sigmoid = _sub(least, aten.log1p(aten.exp(aten.neg(aten.abs(x)))))
    if pos_weight is not None:
        log_sigmoid = _mul(_add(_mul(_sub(pos_weight, 1), target), 1), log_sigmoid)
    loss = _sub(_mul(_sub(1, target), x), log_sigmoid)
    return _reduced(loss if weight is None else _mul(loss, weight), reduction)


@rule("cross_entropy_loss")
def cross_entropy_loss(x, target, weight=None, reduction=1, ignore_index=-100, label_smoothing=0.0):
    if label_smoothing or target.is_floating_point():
        return NotImplemented
    return nll_loss(log_softmax(x, 0 if x.dim() == 1 else 1), target, weight, reduction, ignore_index)


@rule("nll_loss", "nll_loss_nd", "nll_loss2d")
def nll_loss(x, target, weight=None, reduction=1, ignore_index=-100):
    dim = 0 if x.dim() == 1 else 1
    counted = aten["ne.Scalar"](target, ignore_index)
    classes = aten.unsqueeze(_where(counted, target, 0), dim)
    loss = aten.neg(aten["squeeze.dims"](aten.gather(x, dim, classes), [dim]))
    if weight is not None:
        shared = view(weight, [-1 if at == dim else 1 for at in range(x.dim())])
        shared = aten.expand(shared, list(x.shape))
        each = aten["squeeze.dims"](aten.gather(shared, dim, classes), [dim])
        loss, weights = _mul(loss, each), _where(counted, each, 0)
    else:
        weights = _cast(counted, x.dtype)
    loss = _where(counted, loss, 0)
    return _div(_sum(loss, []), _sum(weights, [])) if reduction == 1 else _reduced(loss, reduction)


@rule("cosine_similarity")
def cosine_similarity(one, other, dim=1, eps=1e-8):
    one, other = (_div(x, aten.clamp(norm(x, 2, [dim], True), eps)) for x in (one, other))
    return _sum(_mul(one, other), [dim])


@rule("pairwise_distance")
def pairwise_distance(one, other, p=2.0, eps=1e-6, keepdim=False):
    return norm(aten["add.Scalar"](_sub(one, other), eps), p, [-1], keepdim)
