"""Continuous distributions."""

import math

from ._base import Distribution, ExponentialFamily, broadcast_all, register_kl, torch


def _positive(value):
    return value > 0


def _real(value):
    return value == value


class _LocationScale(Distribution):
    has_rsample = True
    arg_constraints = {"loc": "Real()", "scale": "GreaterThan(lower_bound=0.0)"}

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, (), validate_args)
        self._check("loc", self.loc, _real, "Real()")
        self._check("scale", self.scale, _positive, "GreaterThan(lower_bound=0.0)")

    def expand(self, batch_shape, _instance=None):
        return type(self)(self.loc.expand(batch_shape), self.scale.expand(batch_shape), validate_args=False)


class Normal(_LocationScale, ExponentialFamily):
    @property
    def mean(self):
        return self.loc

    mode = mean

    @property
    def stddev(self):
        return self.scale

    @property
    def variance(self):
        return self.scale**2

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        return torch().normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape=()):
        eps = torch().randn(self._extended_shape(sample_shape), dtype=self.loc.dtype)
        return self.loc + eps * self.scale

    def log_prob(self, value):
        self._check_value(value, _real, "Real()")
        return (
            -((value - self.loc) ** 2) / (2 * self.scale**2)
            - self.scale.log()
            - math.log(math.sqrt(2 * math.pi))
        )

    def cdf(self, value):
        return 0.5 * (1 + torch().erf((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)))

    def icdf(self, value):
        return self.loc + self.scale * torch().erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self):
        return 0.5 + 0.5 * math.log(2 * math.pi) + torch().log(self.scale)


@register_kl(Normal, Normal)
def _kl_normal(p, q):
    ratio = (p.scale / q.scale) ** 2
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale) ** 2 - 1 - ratio.log())


class LogNormal(_LocationScale):
    def rsample(self, sample_shape=()):
        return Normal(self.loc, self.scale, False).rsample(sample_shape).exp()

    @property
    def mean(self):
        return (self.loc + self.scale**2 / 2).exp()

    @property
    def variance(self):
        return (self.scale**2).expm1() * (2 * self.loc + self.scale**2).exp()

    def log_prob(self, value):
        self._check_value(value, _positive, "GreaterThan(lower_bound=0.0)")
        return Normal(self.loc, self.scale, False).log_prob(value.log()) - value.log()

    def entropy(self):
        return Normal(self.loc, self.scale, False).entropy() + self.loc


class Laplace(_LocationScale):
    @property
    def mean(self):
        return self.loc

    mode = mean

    @property
    def variance(self):
        return 2 * self.scale**2

    def rsample(self, sample_shape=()):
        eps = torch().finfo(self.loc.dtype).eps
        u = torch().empty(self._extended_shape(sample_shape), dtype=self.loc.dtype).uniform_(eps - 1, 1)
        return self.loc - self.scale * u.sign() * torch().log1p(-u.abs())

    def log_prob(self, value):
        return -torch().log(2 * self.scale) - torch().abs(value - self.loc) / self.scale

    def cdf(self, value):
        return 0.5 - 0.5 * (value - self.loc).sign() * torch().expm1(-(value - self.loc).abs() / self.scale)

    def entropy(self):
        return 1 + torch().log(2 * self.scale)


class Cauchy(_LocationScale):
    @property
    def mean(self):
        return torch().full_like(self.loc, math.nan)

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        return torch().full_like(self.loc, math.inf)

    def rsample(self, sample_shape=()):
        return (
            self.loc
            + torch().empty(self._extended_shape(sample_shape), dtype=self.loc.dtype).cauchy_() * self.scale
        )

    def log_prob(self, value):
        return -math.log(math.pi) - self.scale.log() - (((value - self.loc) / self.scale) ** 2).log1p()

    def cdf(self, value):
        return torch().atan((value - self.loc) / self.scale) / math.pi + 0.5

    def entropy(self):
        return math.log(4 * math.pi) + self.scale.log()


class Gumbel(_LocationScale):
    _EULER = 0.57721566490153286060

    @property
    def mean(self):
        return self.loc + self.scale * self._EULER

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        return (math.pi / math.sqrt(6)) ** 2 * self.scale**2

    def rsample(self, sample_shape=()):
        limits = torch().finfo(self.loc.dtype)
        u = (
            torch()
            .rand(self._extended_shape(sample_shape), dtype=self.loc.dtype)
            .clamp(limits.tiny, 1 - limits.eps)
        )
        return self.loc - self.scale * (-u.log()).log()

    def log_prob(self, value):
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    def entropy(self):
        return self.scale.log() + (1 + self._EULER)


class HalfNormal(Distribution):
    has_rsample = True
    arg_constraints = {"scale": "GreaterThan(lower_bound=0.0)"}

    def __init__(self, scale, validate_args=None):
        (self.scale,) = broadcast_all(scale)
        super().__init__(self.scale.shape, (), validate_args)
        self._check("scale", self.scale, _positive, "GreaterThan(lower_bound=0.0)")

    @property
    def mean(self):
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self):
        return self.scale**2 * (1 - 2 / math.pi)

    def rsample(self, sample_shape=()):
        return (torch().randn(self._extended_shape(sample_shape), dtype=self.scale.dtype) * self.scale).abs()

    def log_prob(self, value):
        result = Normal(0.0 * self.scale, self.scale, False).log_prob(value) + math.log(2)
        return torch().where(value >= 0, result, -math.inf)

    def entropy(self):
        return Normal(0.0 * self.scale, self.scale, False).entropy() - math.log(2)


class Uniform(Distribution):
    has_rsample = True
    arg_constraints = {"low": "Dependent()", "high": "Dependent()"}

    def __init__(self, low, high, validate_args=None):
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.shape, (), validate_args)
        if self._validate_args and not bool((self.low < self.high).all()):
            raise ValueError("Uniform is not defined when low>= high")

    @property
    def mean(self):
        return (self.high + self.low) / 2

    @property
    def stddev(self):
        return (self.high - self.low) / 12**0.5

    @property
    def variance(self):
        return (self.high - self.low).pow(2) / 12

    def rsample(self, sample_shape=()):
        rand = torch().rand(self._extended_shape(sample_shape), dtype=self.low.dtype)
        return self.low + rand * (self.high - self.low)

    def log_prob(self, value):
        inside = (self.low <= value) & (self.high > value)
        return torch().log(inside.to(self.low.dtype)) - torch().log(self.high - self.low)

    def cdf(self, value):
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value):
        return value * (self.high - self.low) + self.low

    def entropy(self):
        return torch().log(self.high - self.low)


class Exponential(ExponentialFamily):
    has_rsample = True
    arg_constraints = {"rate": "GreaterThan(lower_bound=0.0)"}

    def __init__(self, rate, validate_args=None):
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, (), validate_args)
        self._check("rate", self.rate, _positive, "GreaterThan(lower_bound=0.0)")

    @property
    def mean(self):
        return self.rate.reciprocal()

    stddev = mean

    @property
    def variance(self):
        return self.rate.pow(-2)

    def rsample(self, sample_shape=()):
        return (
            torch().empty(self._extended_shape(sample_shape), dtype=self.rate.dtype).exponential_()
            / self.rate
        )

    def log_prob(self, value):
        self._check_value(value, lambda v: v >= 0, "GreaterThanEq(lower_bound=0.0)")
        return self.rate.log() - self.rate * value

    def cdf(self, value):
        return 1 - torch().exp(-self.rate * value)

    def icdf(self, value):
        return -torch().log1p(-value) / self.rate

    def entropy(self):
        return 1.0 - torch().log(self.rate)


def _standard_gamma(concentration):
    sampler = getattr(torch(), "_standard_gamma", None)
    if sampler is None:
        raise NotImplementedError("torch.distributions: samples of gamma distributions are not weft's yet")
    return sampler(concentration)


class Gamma(ExponentialFamily):
    has_rsample = True
    arg_constraints = {
        "concentration": "GreaterThan(lower_bound=0.0)",
        "rate": "GreaterThan(lower_bound=0.0)",
    }

    def __init__(self, concentration, rate, validate_args=None):
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, (), validate_args)
        self._check("concentration", self.concentration, _positive, "GreaterThan(lower_bound=0.0)")
        self._check("rate", self.rate, _positive, "GreaterThan(lower_bound=0.0)")

    @property
    def mean(self):
        return self.concentration / self.rate

    @property
    def variance(self):
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        return _standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)

    def log_prob(self, value):
        a, b = self.concentration, self.rate
        return torch().xlogy(a, b) + torch().xlogy(a - 1, value) - b * value - torch().lgamma(a)

    def entropy(self):
        a = self.concentration
        return a - torch().log(self.rate) + torch().lgamma(a) + (1.0 - a) * torch().digamma(a)


class Chi2(Gamma):
    arg_constraints = {"df": "GreaterThan(lower_bound=0.0)"}

    def __init__(self, df, validate_args=None):
        (self.df,) = broadcast_all(df)
        super().__init__(0.5 * self.df, 0.5, validate_args)


class Dirichlet(ExponentialFamily):
    has_rsample = True
    arg_constraints = {"concentration": "IndependentConstraint(GreaterThan(lower_bound=0.0), 1)"}

    def __init__(self, concentration, validate_args=None):
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args)
        self._check(
            "concentration",
            concentration,
            _positive,
            "IndependentConstraint(GreaterThan(lower_bound=0.0), 1)",
        )

    @property
    def mean(self):
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def variance(self):
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape=()):
        sampled = _standard_gamma(self.concentration.expand(self._extended_shape(sample_shape)))
        return sampled / sampled.sum(-1, True)

    def log_prob(self, value):
        a = self.concentration
        return torch().xlogy(a - 1.0, value).sum(-1) + torch().lgamma(a.sum(-1)) - torch().lgamma(a).sum(-1)

    def entropy(self):
        a, k = self.concentration, self.concentration.shape[-1]
        total = a.sum(-1)
        return (
            torch().lgamma(a).sum(-1)
            - torch().lgamma(total)
            - (k - total) * torch().digamma(total)
            - ((a - 1.0) * torch().digamma(a)).sum(-1)
        )


class Beta(ExponentialFamily):
    has_rsample = True
    arg_constraints = {
        "concentration1": "GreaterThan(lower_bound=0.0)",
        "concentration0": "GreaterThan(lower_bound=0.0)",
    }

    def __init__(self, concentration1, concentration0, validate_args=None):
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        super().__init__(self.concentration1.shape, (), validate_args)
        self._check("concentration1", self.concentration1, _positive, "GreaterThan(lower_bound=0.0)")
        self._check("concentration0", self.concentration0, _positive, "GreaterThan(lower_bound=0.0)")
        self._dirichlet = Dirichlet(torch().stack([self.concentration1, self.concentration0], -1), False)

    @property
    def mean(self):
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def variance(self):
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape=()):
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    def log_prob(self, value):
        return self._dirichlet.log_prob(torch().stack([value, 1.0 - value], -1))

    def entropy(self):
        return self._dirichlet.entropy()


class MultivariateNormal(Distribution):
    """Of a mean and a covariance matrix, its inverse, or its lower triangular root."""

    has_rsample = True

    def __init__(
        self, loc, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None
    ):
        given = [matrix for matrix in (covariance_matrix, precision_matrix, scale_tril) if matrix is not None]
        if len(given) != 1:
            raise ValueError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
            )
        if scale_tril is None:
            matrix = (
                covariance_matrix if covariance_matrix is not None else torch().linalg.inv(precision_matrix)
            )
            scale_tril = torch().linalg.cholesky(matrix)
        shape = torch().broadcast_shapes(tuple(loc.shape[:-1]), tuple(scale_tril.shape[:-2]))
        self.loc = loc.expand((*shape, loc.shape[-1]))
        self.scale_tril = scale_tril.expand((*shape, *scale_tril.shape[-2:]))
        super().__init__(shape, loc.shape[-1:], validate_args)

    @property
    def mean(self):
        return self.loc

    mode = mean

    @property
    def covariance_matrix(self):
        return torch().matmul(self.scale_tril, self.scale_tril.transpose(-1, -2))

    @property
    def variance(self):
        return self.scale_tril.pow(2).sum(-1)

    def rsample(self, sample_shape=()):
        eps = torch().randn(self._extended_shape(sample_shape), dtype=self.loc.dtype)
        return self.loc + torch().matmul(self.scale_tril, eps.unsqueeze(-1)).squeeze(-1)

    def _half_log_det(self):
        return torch().diagonal(self.scale_tril, dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value):
        difference = (value - self.loc).unsqueeze(-1)
        solved = torch().linalg.solve_triangular(self.scale_tril, difference, upper=False).squeeze(-1)
        return (
            -0.5 * (self.loc.shape[-1] * math.log(2 * math.pi) + solved.pow(2).sum(-1)) - self._half_log_det()
        )

    def entropy(self):
        return 0.5 * self.loc.shape[-1] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()
