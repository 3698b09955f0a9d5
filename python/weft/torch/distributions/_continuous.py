"""Continuous distributions that are drawn from at once; those made of others are in `_transformed`."""

import math

from . import constraints
from ._base import Distribution, ExponentialFamily, broadcast_all, torch

_EULER = 0.57721566490153286060


class _LocationScale(Distribution):
    has_rsample = True
    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    _parameters = ("loc", "scale")

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, (), validate_args)
        self._check_parameters()

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    def _standard(self, value):
        return (value - self.loc) / self.scale


class Normal(_LocationScale, ExponentialFamily):
    """Of a mean and a standard deviation."""

    @property
    def stddev(self):
        return self.scale

    @property
    def variance(self):
        return self.scale.pow(2)

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        return torch().normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape=()):
        eps = torch().randn(self._extended_shape(sample_shape), dtype=self.loc.dtype)
        return self.loc + eps * self.scale

    def log_prob(self, value):
        self._check_value(value)
        return (
            -((value - self.loc) ** 2) / (2 * self.scale**2)
            - self.scale.log()
            - math.log(math.sqrt(2 * math.pi))
        )

    def cdf(self, value):
        self._check_value(value)
        return 0.5 * (1 + torch().erf((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)))

    def icdf(self, value):
        return self.loc + self.scale * torch().erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self):
        return 0.5 + 0.5 * math.log(2 * math.pi) + torch().log(self.scale)


class Laplace(_LocationScale):
    """Of a median and a scale."""

    @property
    def variance(self):
        return 2 * self.scale.pow(2)

    @property
    def stddev(self):
        return 2**0.5 * self.scale

    def rsample(self, sample_shape=()):
        eps = torch().finfo(self.loc.dtype).eps
        u = torch().empty(self._extended_shape(sample_shape), dtype=self.loc.dtype).uniform_(eps - 1, 1)
        return self.loc - self.scale * u.sign() * torch().log1p(-u.abs())

    def log_prob(self, value):
        self._check_value(value)
        return -torch().log(2 * self.scale) - torch().abs(value - self.loc) / self.scale

    def cdf(self, value):
        self._check_value(value)
        return 0.5 - 0.5 * (value - self.loc).sign() * torch().expm1(-(value - self.loc).abs() / self.scale)

    def icdf(self, value):
        term = value - 0.5
        return self.loc - self.scale * term.sign() * torch().log1p(-2 * term.abs())

    def entropy(self):
        return 1 + torch().log(2 * self.scale)


class Cauchy(_LocationScale):
    """Of a median and a scale."""

    @property
    def mean(self):
        return torch().full_like(self.loc, math.nan)

    @property
    def variance(self):
        return torch().full_like(self.loc, math.inf)

    def rsample(self, sample_shape=()):
        eps = torch().empty(self._extended_shape(sample_shape), dtype=self.loc.dtype).cauchy_()
        return self.loc + eps * self.scale

    def log_prob(self, value):
        self._check_value(value)
        return -math.log(math.pi) - self.scale.log() - (self._standard(value) ** 2).log1p()

    def cdf(self, value):
        self._check_value(value)
        return torch().atan(self._standard(value)) / math.pi + 0.5

    def icdf(self, value):
        return torch().tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self):
        return math.log(4 * math.pi) + self.scale.log()


class StudentT(Distribution):
    """Of degrees of freedom, a location and a scale."""

    has_rsample = True
    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    _parameters = ("df", "loc", "scale")

    def __init__(self, df, loc=0.0, scale=1.0, validate_args=None):
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        super().__init__(self.df.shape, (), validate_args)
        self._check_parameters()
        self._chi2 = Chi2(self.df, validate_args=False)

    @property
    def mean(self):
        return torch().where(self.df > 1, self.loc, math.nan)

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        finite = self.scale.pow(2) * self.df / (self.df - 2)
        result = torch().where(self.df > 2, finite, math.inf)
        return torch().where(self.df <= 1, math.nan, result)

    def rsample(self, sample_shape=()):
        x = torch().randn(self._extended_shape(sample_shape), dtype=self.df.dtype)
        z = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (x * torch().rsqrt(z / self.df))

    def log_prob(self, value):
        self._check_value(value)
        y = (value - self.loc) / self.scale
        z = (
            self.scale.log()
            + 0.5 * self.df.log()
            + 0.5 * math.log(math.pi)
            + torch().lgamma(0.5 * self.df)
            - torch().lgamma(0.5 * (self.df + 1.0))
        )
        return -0.5 * (self.df + 1.0) * torch().log1p(y**2.0 / self.df) - z

    def entropy(self):
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        beta = torch().lgamma(half) + math.lgamma(0.5) - torch().lgamma(more)
        return (
            self.scale.log()
            + more * (torch().digamma(more) - torch().digamma(half))
            + 0.5 * self.df.log()
            + beta
        )


class Uniform(Distribution):
    """Over [low, high)."""

    has_rsample = True
    arg_constraints = {"low": constraints.dependent, "high": constraints.dependent}
    _parameters = ("low", "high")

    def __init__(self, low, high, validate_args=None):
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.shape, (), validate_args)
        if self._validate_args and not bool((self.low < self.high).all()):
            raise ValueError("Uniform is not defined when low>= high")

    @property
    def support(self):
        return constraints.interval(self.low, self.high)

    @property
    def mean(self):
        return (self.high + self.low) / 2

    @property
    def mode(self):
        return math.nan * self.high

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
        self._check_value(value)
        inside = (self.low <= value) & (self.high > value)
        return torch().log(inside.to(self.low.dtype)) - torch().log(self.high - self.low)

    def cdf(self, value):
        self._check_value(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value):
        return value * (self.high - self.low) + self.low

    def entropy(self):
        return torch().log(self.high - self.low)


class Exponential(ExponentialFamily):
    """Of a rate."""

    has_rsample = True
    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    _parameters = ("rate",)

    def __init__(self, rate, validate_args=None):
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, (), validate_args)
        self._check_parameters()

    @property
    def mean(self):
        return self.rate.reciprocal()

    stddev = mean

    @property
    def mode(self):
        return torch().zeros_like(self.rate)

    @property
    def variance(self):
        return self.rate.pow(-2)

    def rsample(self, sample_shape=()):
        drawn = torch().empty(self._extended_shape(sample_shape), dtype=self.rate.dtype).exponential_()
        return drawn / self.rate

    def log_prob(self, value):
        self._check_value(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value):
        self._check_value(value)
        return 1 - torch().exp(-self.rate * value)

    def icdf(self, value):
        return -torch().log1p(-value) / self.rate

    def entropy(self):
        return 1.0 - torch().log(self.rate)


class GeneralizedPareto(Distribution):
    """Of what is beyond a threshold. concentration 0: exponential."""

    has_rsample = True
    arg_constraints = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    _parameters = ("loc", "scale", "concentration")

    def __init__(self, loc, scale, concentration, validate_args=None):
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.shape, (), validate_args)
        self._check_parameters()

    @property
    def _is_plain(self):
        return torch().isclose(self.concentration, torch().zeros_like(self.concentration))

    @property
    def support(self):
        upper = torch().where(self.concentration < 0, self.loc - self.scale / self.concentration, math.inf)
        return constraints.interval(self.loc, upper)

    def rsample(self, sample_shape=()):
        return self.icdf(torch().rand(self._extended_shape(sample_shape), dtype=self.loc.dtype))

    def log_prob(self, value):
        self._check_value(value)
        z = (value - self.loc) / self.scale
        k = torch().where(self._is_plain, torch().ones_like(self.concentration), self.concentration)
        return torch().where(self._is_plain, -z, -(1 + 1 / k) * torch().log1p(k * z)) - torch().log(
            self.scale
        )

    def log_survival_function(self, value):
        self._check_value(value)
        z = (value - self.loc) / self.scale
        k = torch().where(self._is_plain, torch().ones_like(self.concentration), self.concentration)
        return torch().where(self._is_plain, -z, -torch().log1p(k * z) / k)

    def log_cdf(self, value):
        return torch().log1p(-torch().exp(self.log_survival_function(value)))

    def cdf(self, value):
        return torch().exp(self.log_cdf(value))

    def icdf(self, value):
        k = torch().where(self._is_plain, torch().ones_like(self.concentration), self.concentration)
        logarithm = torch().log1p(-value)
        unit = torch().where(self._is_plain, -logarithm, torch().expm1(-k * logarithm) / k)
        return self.loc + self.scale * unit

    @property
    def mean(self):
        return torch().where(
            self.concentration < 1,
            self.loc + self.scale / (1 - self.concentration),
            torch().full_like(self.loc, math.inf),
        )

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        k = self.concentration
        finite = self.scale**2 / ((1 - k) ** 2 * (1 - 2 * k))
        return torch().where(k < 0.5, finite, torch().full_like(self.loc, math.inf))

    def entropy(self):
        return torch().log(self.scale) + self.concentration + 1


class Gamma(ExponentialFamily):
    """Of a concentration and a rate."""

    has_rsample = True
    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    _parameters = ("concentration", "rate")

    def __init__(self, concentration, rate, validate_args=None):
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, (), validate_args)
        self._check_parameters()

    @property
    def mean(self):
        return self.concentration / self.rate

    @property
    def mode(self):
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self):
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        value = torch()._standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        return value.clamp(min=torch().finfo(value.dtype).tiny)

    def log_prob(self, value):
        self._check_value(value)
        a, b = self.concentration, self.rate
        return torch().xlogy(a, b) + torch().xlogy(a - 1, value) - b * value - torch().lgamma(a)

    def cdf(self, value):
        self._check_value(value)
        return torch().special.gammainc(self.concentration, self.rate * value)

    def entropy(self):
        a = self.concentration
        return a - torch().log(self.rate) + torch().lgamma(a) + (1.0 - a) * torch().digamma(a)


class Chi2(Gamma):
    """Of df degrees of freedom: Gamma(df / 2, 1 / 2)."""

    arg_constraints = {"df": constraints.positive}
    _parameters = ("df",)

    def __init__(self, df, validate_args=None):
        super().__init__(0.5 * broadcast_all(df)[0], 0.5, validate_args)

    @property
    def df(self):
        return self.concentration * 2


class Dirichlet(ExponentialFamily):
    """Over the simplex, of concentrations in the last dimension."""

    has_rsample = True
    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex

    def __init__(self, concentration, validate_args=None):
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args)
        self._check_parameters()

    def expand(self, batch_shape, _instance=None):
        return self._made(_instance, self.concentration.expand((*batch_shape, *self._event_shape)))

    @property
    def mean(self):
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self):
        excess = (self.concentration - 1).clamp(min=0.0)
        mode = excess / excess.sum(-1, True)
        is_corner = (self.concentration < 1).all(-1, keepdim=True)
        corner = torch().nn.functional.one_hot(mode.argmax(-1), self.concentration.shape[-1]).to(mode.dtype)
        return torch().where(is_corner, corner, mode)

    @property
    def variance(self):
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape=()):
        return torch()._sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        self._check_value(value)
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
    """Over (0, 1), of two concentrations."""

    has_rsample = True
    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    _parameters = ("concentration1", "concentration0")

    def __init__(self, concentration1, concentration0, validate_args=None):
        pair = torch().stack(broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(pair, False)
        super().__init__(pair.shape[:-1], (), validate_args)
        for name in self._parameters:
            self._check(name, getattr(self, name), constraints.positive)

    @property
    def concentration1(self):
        return self._dirichlet.concentration[..., 0]

    @property
    def concentration0(self):
        return self._dirichlet.concentration[..., 1]

    @property
    def mean(self):
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def mode(self):
        return self._dirichlet.mode[..., 0]

    @property
    def variance(self):
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape=()):
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    def log_prob(self, value):
        self._check_value(value)
        return self._dirichlet.log_prob(torch().stack([value, 1.0 - value], -1))

    def entropy(self):
        return self._dirichlet.entropy()


class FisherSnedecor(Distribution):
    """The ratio of two Chi2, each by its degrees of freedom."""

    has_rsample = True
    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    _parameters = ("df1", "df2")

    def __init__(self, df1, df2, validate_args=None):
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gammas = Gamma(self.df1 * 0.5, self.df1, False), Gamma(self.df2 * 0.5, self.df2, False)
        super().__init__(self.df1.shape, (), validate_args)
        self._check_parameters()

    @property
    def mean(self):
        return torch().where(self.df2 > 2, self.df2 / (self.df2 - 2), math.nan)

    @property
    def mode(self):
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return torch().where(self.df1 > 2, mode, math.nan)

    @property
    def variance(self):
        df1, df2 = self.df1, torch().where(self.df2 > 4, self.df2, math.nan)
        return 2 * df2.pow(2) * (df1 + df2 - 2) / (df1 * (df2 - 2).pow(2) * (df2 - 4))

    def rsample(self, sample_shape=()):
        one, other = (each.rsample(sample_shape) for each in self._gammas)
        tiny = torch().finfo(one.dtype).tiny
        return (one / other.clamp(min=tiny)).clamp(min=tiny)

    def log_prob(self, value):
        self._check_value(value)
        half1, half2, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        gammas = (half1 + half2).lgamma() - half1.lgamma() - half2.lgamma()
        return (
            gammas
            + half1 * ratio.log()
            + (half1 - 1) * value.log()
            - (half1 + half2) * torch().log1p(ratio * value)
        )


class VonMises(Distribution):
    """Of angles, in [-pi, pi)."""

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    _parameters = ("loc", "concentration")

    def __init__(self, loc, concentration, validate_args=None):
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, (), validate_args)
        self._check_parameters()

    def log_prob(self, value):
        self._check_value(value)
        k = self.concentration
        log_i0 = torch().special.i0e(k).log() + k
        return k * torch().cos(value - self.loc) - math.log(2 * math.pi) - log_i0

    @property
    def mean(self):
        return self.loc

    mode = mean

    @property
    def variance(self):
        return 1 - torch().special.i1e(self.concentration) / torch().special.i0e(self.concentration)

    def _proposal(self):
        k = self.concentration.double()
        tau = 1 + (1 + 4 * k**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * k)
        exact = (1 + rho**2) / (2 * rho)
        return torch().where(k < 1e-5, 1 / k + k, exact)

    def sample(self, sample_shape=()):
        """source: Best and Fisher 1979, "Efficient simulation of the von Mises distribution"."""
        shape = self._extended_shape(sample_shape)
        loc, k, r = (
            each.expand(shape) for each in (self.loc.double(), self.concentration.double(), self._proposal())
        )
        x, is_done = torch().zeros(shape, dtype=loc.dtype), torch().zeros(shape, dtype=torch().bool)
        while not bool(is_done.all()):
            u1, u2, u3 = torch().rand((3, *shape), dtype=loc.dtype).unbind()
            z = torch().cos(math.pi * u1)
            f = (1 + r * z) / (r + z)
            c = k * (r - f)
            is_taken = ((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0)
            if bool(is_taken.any()):
                x = torch().where(is_taken, (u3 - 0.5).sign() * f.acos(), x)
                is_done = is_done | is_taken
        return ((x + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)
