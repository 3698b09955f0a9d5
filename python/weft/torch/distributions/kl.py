"""Divergences of pairs of distributions. source: Gil, Alajaji and Linder 2013, "Rényi divergence measures for commonly used
univariate continuous distributions", and the definition."""

import math

from ._base import kl_divergence, register_kl, torch
from ._continuous import (
    _EULER,
    Beta,
    Cauchy,
    Dirichlet,
    Exponential,
    Gamma,
    Laplace,
    Normal,
    Uniform,
)
from ._discrete import Bernoulli, Binomial, Categorical, Geometric, OneHotCategorical, Poisson
from ._matrices import MultivariateNormal
from ._transformed import Gumbel, HalfNormal, LogNormal, Pareto


def _log(value):
    return torch().log(value)


def _where(condition, value, otherwise):
    return torch().where(condition, value, otherwise)


@register_kl(Normal, Normal)
def _normal(p, q):
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(LogNormal, LogNormal)
def _log_normal(p, q):
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p, q):
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p, q):
    softplus = torch().nn.functional.softplus
    t1 = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    t1 = _where(p.probs == 0, 0.0, _where(q.probs == 0, math.inf, t1))
    t2 = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    t2 = _where(p.probs == 1, 0.0, _where(q.probs == 1, math.inf, t2))
    return t1 + t2


@register_kl(Binomial, Binomial)
def _binomial(p, q):
    if bool((p.total_count < q.total_count).any()):
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    kl = p.total_count * (p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p())
    return _where(p.total_count > q.total_count, math.inf, kl)


@register_kl(Categorical, Categorical)
def _categorical(p, q):
    t = p.probs * (p.logits - q.logits)
    t = _where((q.probs == 0).expand(t.shape), math.inf, t)
    return _where((p.probs == 0).expand(t.shape), 0.0, t).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p, q):
    return _categorical(p._categorical, q._categorical)


@register_kl(Geometric, Geometric)
def _geometric(p, q):
    return -p.entropy() - torch().log1p(-q.probs) / p.probs - q.logits


@register_kl(Poisson, Poisson)
def _poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(Beta, Beta)
def _beta(p, q):
    return _dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p, q):
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    norms = total.lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return norms + ((a - b) * (a.digamma() - total.digamma().unsqueeze(-1))).sum(-1)


@register_kl(Exponential, Exponential)
def _exponential(p, q):
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(Gamma, Gamma)
def _gamma(p, q):
    return (
        q.concentration * (p.rate / q.rate).log()
        + torch().lgamma(q.concentration)
        - torch().lgamma(p.concentration)
        + (p.concentration - q.concentration) * torch().digamma(p.concentration)
        + (q.rate - p.rate) * (p.concentration / p.rate)
    )


@register_kl(Gumbel, Gumbel)
def _gumbel(p, q):
    ratio, shift = p.scale / q.scale, p.loc / q.scale
    t2 = q.loc / q.scale - shift
    return -ratio.log() - t2 + ratio * _EULER + torch().exp(t2 + (1 + ratio).lgamma()) - (1 + _EULER)


@register_kl(Laplace, Laplace)
def _laplace(p, q):
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * torch().exp(-distance / p.scale) - 1


@register_kl(Cauchy, Cauchy)
def _cauchy(p, q):
    t1 = ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log()
    return t1 - (4 * p.scale * q.scale).log()


@register_kl(Pareto, Pareto)
def _pareto(p, q):
    ratio, shares = p.scale / q.scale, q.alpha / p.alpha
    result = q.alpha * ratio.log() - shares.log() + shares - 1
    return _where(p.scale < q.scale, math.inf, result)


@register_kl(Uniform, Uniform)
def _uniform(p, q):
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return _where((q.low > p.low) | (q.high < p.high), math.inf, result)


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(p, q):
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be computed"
        )
    shape = torch().broadcast_shapes(
        tuple(p._unbroadcasted_scale_tril.shape), tuple(q._unbroadcasted_scale_tril.shape)
    )
    one, other = p._unbroadcasted_scale_tril.expand(shape), q._unbroadcasted_scale_tril.expand(shape)
    solve = torch().linalg.solve_triangular
    trace = solve(other, one, upper=False).pow(2).sum((-2, -1))
    difference = (q.loc - p.loc).expand(shape[:-1]).unsqueeze(-1)
    distance = solve(other, difference, upper=False).pow(2).sum((-2, -1))
    return q._half_log_det() - p._half_log_det() + 0.5 * (trace + distance - p.event_shape[0])


@register_kl(Uniform, Normal)
def _uniform_normal(p, q):
    width = p.high - p.low
    spread = (width.pow(2) / 12 + ((p.high + p.low - 2 * q.loc) / 2).pow(2)) / 2
    return (math.sqrt(2 * math.pi) * q.scale / width).log() + spread / q.scale.pow(2)


@register_kl(Normal, Laplace)
def _normal_laplace(p, q):
    difference = p.loc - q.loc
    ratio = p.scale / q.scale
    z = difference / p.scale
    return (
        -torch().log(ratio)
        + math.sqrt(2 / math.pi) * ratio * torch().exp(-0.5 * z.pow(2))
        + difference * torch().erf(math.sqrt(0.5) * z) / q.scale
        - (0.5 + 0.5 * math.log(math.pi * 0.5))
    )


@register_kl(Exponential, Normal)
def _exponential_normal(p, q):
    variance, squared = q.scale.pow(2), p.rate.pow(2)
    return (
        0.5 * torch().log(squared * variance * 2 * math.pi)
        - 1
        + squared.reciprocal() / variance
        - q.loc / (variance * p.rate)
        + 0.5 * q.loc.pow(2) / variance
    )


@register_kl(Exponential, Gamma)
def _exponential_gamma(p, q):
    ratio = q.rate / p.rate
    a = q.concentration
    return -a * torch().log(ratio) + ratio + a.lgamma() + a * _EULER - (1 + _EULER)


@register_kl(Gamma, Exponential)
def _gamma_exponential(p, q):
    return -p.entropy() - q.rate.log() + q.rate * p.concentration / p.rate
