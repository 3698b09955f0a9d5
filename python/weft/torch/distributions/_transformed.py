"""Distributions of functions of other distributions' values."""

import math

from . import constraints, transforms
from ._base import Distribution, Independent, broadcast_all, clamped, torch
from ._continuous import _EULER, Cauchy, Exponential, Gamma, Normal, Uniform


class TransformedDistribution(Distribution):
    """Of the values of a distribution that a list of transforms, one after another, is applied to."""

    arg_constraints = {}

    def __init__(self, base_distribution, transforms_, validate_args=None):
        parts = [transforms_] if isinstance(transforms_, transforms.Transform) else list(transforms_)
        if not all(isinstance(part, transforms.Transform) for part in parts):
            raise ValueError(f"transforms must be a Transform or a list of Transforms, but was {transforms_}")
        self.transforms = parts
        transform = transforms.ComposeTransform(parts)
        base_event, batch = len(base_distribution.event_shape), tuple(base_distribution.batch_shape)
        shape = tuple(transform.forward_shape(batch + tuple(base_distribution.event_shape)))
        extra = max((part.domain.event_dim for part in parts), default=0) - base_event
        if extra > 0:
            base_distribution = Independent(base_distribution, extra)
            base_event += extra
        self.base_dist = base_distribution
        event = max(base_event, transform.codomain.event_dim if parts else 0)
        cut = len(shape) - event
        super().__init__(shape[:cut], shape[cut:], validate_args)

    has_rsample = property(lambda self: self.base_dist.has_rsample)

    @property
    def support(self):
        if not self.transforms:
            return self.base_dist.support
        found = self.transforms[-1].codomain
        rest = len(self.event_shape) - found.event_dim
        return constraints.independent(found, rest) if rest > 0 else found

    def expand(self, batch_shape, _instance=None):
        if self._parameters:
            return super().expand(batch_shape, _instance)
        return self._made(_instance, self.base_dist.expand(batch_shape), self.transforms)

    def sample(self, sample_shape=()):
        x = self.base_dist.sample(sample_shape)
        for transform in self.transforms:
            x = transform(x)
        return x

    def rsample(self, sample_shape=()):
        x = self.base_dist.rsample(sample_shape)
        for transform in self.transforms:
            x = transform(x)
        return x

    def log_prob(self, value):
        self._check_value(value)
        event, result, y = len(self.event_shape), 0.0, value
        for transform in reversed(self.transforms):
            x = transform.inv(y)
            event += transform.domain.event_dim - transform.codomain.event_dim
            dims = event - transform.domain.event_dim
            stretch = transform.log_abs_det_jacobian(x, y)
            result = result - (stretch.sum(tuple(range(-dims, 0))) if dims else stretch)
            y = x
        base = self.base_dist.log_prob(y)
        dims = event - len(self.base_dist.event_shape)
        return result + (base.sum(tuple(range(-dims, 0))) if dims else base)

    def _signed(self, value):
        sign = math.prod(transform.sign for transform in self.transforms)
        if isinstance(sign, int) and sign == 1:
            return value
        return sign * (value - 0.5) + 0.5

    def cdf(self, value):
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        self.base_dist._check_value(value)
        return self._signed(self.base_dist.cdf(value))

    def icdf(self, value):
        value = self.base_dist.icdf(self._signed(value))
        for transform in self.transforms:
            value = transform(value)
        return value


class LogNormal(TransformedDistribution):
    """The exponential of a Normal."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    _parameters = ("loc", "scale")

    def __init__(self, loc, scale, validate_args=None):
        super().__init__(Normal(loc, scale, validate_args), transforms.ExpTransform(), validate_args)

    loc = property(lambda self: self.base_dist.loc)
    scale = property(lambda self: self.base_dist.scale)

    @property
    def mean(self):
        return (self.loc + self.scale.pow(2) / 2).exp()

    @property
    def mode(self):
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self):
        squared = self.scale.pow(2)
        return squared.expm1() * (2 * self.loc + squared).exp()

    def entropy(self):
        return self.base_dist.entropy() + self.loc


class _Half(TransformedDistribution):
    """Of the absolute values of a distribution around zero."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    _parameters = ("scale",)

    def __init__(self, scale, validate_args=None):
        super().__init__(self._whole(0, scale, validate_args=False), transforms.AbsTransform(), validate_args)
        self._check("scale", self.scale, constraints.positive)

    scale = property(lambda self: self.base_dist.scale)

    @property
    def mode(self):
        return torch().zeros_like(self.scale)

    def log_prob(self, value):
        self._check_value(value)
        return torch().where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value):
        self._check_value(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value):
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self):
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(_Half):
    """The absolute value of a Normal of a scale."""

    _whole = Normal

    @property
    def mean(self):
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self):
        return self.scale.pow(2) * (1 - 2 / math.pi)


class HalfCauchy(_Half):
    """The absolute value of a Cauchy of a scale."""

    _whole = Cauchy

    @property
    def mean(self):
        return torch().full(self._extended_shape(), math.inf, dtype=self.scale.dtype)

    @property
    def variance(self):
        return self.base_dist.variance


class Gumbel(TransformedDistribution):
    """Of a location and a scale."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    _parameters = ("loc", "scale")

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        limits = torch().finfo(self.loc.dtype)
        base = Uniform(
            torch().full_like(self.loc, limits.tiny), torch().full_like(self.loc, 1 - limits.eps), False
        )
        logarithm = transforms.ExpTransform().inv
        parts = [
            logarithm,
            transforms.AffineTransform(loc=0, scale=-torch().ones_like(self.scale)),
            logarithm,
            transforms.AffineTransform(loc=self.loc, scale=-self.scale),
        ]
        super().__init__(base, parts, validate_args)
        self._check_parameters()

    def log_prob(self, value):
        self._check_value(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    @property
    def mean(self):
        return self.loc + self.scale * _EULER

    @property
    def mode(self):
        return self.loc

    @property
    def stddev(self):
        return (math.pi / math.sqrt(6)) * self.scale

    @property
    def variance(self):
        return self.stddev.pow(2)

    def entropy(self):
        return self.scale.log() + (1 + _EULER)


class InverseGamma(TransformedDistribution):
    """The reciprocal of a Gamma."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    _parameters = ("concentration", "rate")

    def __init__(self, concentration, rate, validate_args=None):
        base = Gamma(concentration, rate, validate_args)
        super().__init__(base, transforms.PowerTransform(-torch().ones_like(base.rate)), validate_args)

    concentration = property(lambda self: self.base_dist.concentration)
    rate = property(lambda self: self.base_dist.rate)

    @property
    def mean(self):
        return torch().where(self.concentration > 1, self.rate / (self.concentration - 1), math.inf)

    @property
    def mode(self):
        return self.rate / (self.concentration + 1)

    @property
    def variance(self):
        a = self.concentration
        return torch().where(a > 2, self.rate.square() / ((a - 1).square() * (a - 2)), math.inf)

    def entropy(self):
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()


class Pareto(TransformedDistribution):
    """Above scale, of a scale and alpha."""

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}
    _parameters = ("scale", "alpha")

    def __init__(self, scale, alpha, validate_args=None):
        self.scale, self.alpha = broadcast_all(scale, alpha)
        parts = [transforms.ExpTransform(), transforms.AffineTransform(loc=0, scale=self.scale)]
        super().__init__(Exponential(self.alpha, False), parts, validate_args)
        self._check_parameters()

    @property
    def support(self):
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self):
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def mode(self):
        return self.scale

    @property
    def variance(self):
        a = self.alpha.clamp(min=2)
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))

    def entropy(self):
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())


class Weibull(TransformedDistribution):
    """Of a scale and a concentration."""

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    _parameters = ("scale", "concentration")

    def __init__(self, scale, concentration, validate_args=None):
        self.scale, self.concentration = broadcast_all(scale, concentration)
        parts = [
            transforms.PowerTransform(exponent=self.concentration.reciprocal()),
            transforms.AffineTransform(loc=0, scale=self.scale),
        ]
        super().__init__(Exponential(torch().ones_like(self.scale), False), parts, validate_args)
        self._check_parameters()

    def _moment(self, power):
        return torch().exp(torch().lgamma(1 + power * self.concentration.reciprocal()))

    @property
    def mean(self):
        return self.scale * self._moment(1)

    @property
    def mode(self):
        k = self.concentration
        return self.scale * ((k - 1) / k) ** k.reciprocal()

    @property
    def variance(self):
        return self.scale.pow(2) * (self._moment(2) - self._moment(1) ** 2)

    def entropy(self):
        inverse = self.concentration.reciprocal()
        return _EULER * (1 - inverse) + torch().log(self.scale * inverse) + 1


class Kumaraswamy(TransformedDistribution):
    """Over (0, 1), of two concentrations."""

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    _parameters = ("concentration1", "concentration0")

    def __init__(self, concentration1, concentration0, validate_args=None):
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        zeros = torch().zeros_like(self.concentration0)
        parts = [
            transforms.PowerTransform(exponent=self.concentration0.reciprocal()),
            transforms.AffineTransform(loc=1, scale=-1),
            transforms.PowerTransform(exponent=self.concentration1.reciprocal()),
        ]
        super().__init__(Uniform(zeros, zeros + 1, False), parts, validate_args)
        self._check_parameters()

    def _moment(self, power):
        a, b = self.concentration1, self.concentration0
        inner = 1 + power / a
        return torch().exp(b.log() + torch().lgamma(inner) + torch().lgamma(b) - torch().lgamma(inner + b))

    @property
    def mean(self):
        return self._moment(1)

    @property
    def mode(self):
        a, b = self.concentration1, self.concentration0
        log_mode = a.reciprocal() * (-b).log1p() - (-a * b).log1p()
        return torch().where((a < 1) | (b < 1), math.nan, log_mode.exp())

    @property
    def variance(self):
        return self._moment(2) - self._moment(1).pow(2)

    def entropy(self):
        a, b = self.concentration1, self.concentration0
        t1, t0 = 1 - a.reciprocal(), 1 - b.reciprocal()
        harmonic = torch().digamma(b + 1) + _EULER
        return t0 + t1 * harmonic - a.log() - b.log()


class LogitRelaxedBernoulli(Distribution):
    has_rsample = True
    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        from ._discrete import Bernoulli

        self.temperature, self._bernoulli = temperature, Bernoulli(probs, logits, validate_args)
        super().__init__(self._bernoulli.batch_shape, (), validate_args)

    probs = property(lambda self: self._bernoulli.probs)
    logits = property(lambda self: self._bernoulli.logits)

    def expand(self, batch_shape, _instance=None):
        return self._made(_instance, self.temperature, probs=self.probs.expand(tuple(batch_shape)))

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        probs = clamped(self.probs.expand(shape))
        uniform = clamped(torch().rand(shape, dtype=probs.dtype))
        return (uniform.log() - (-uniform).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value):
        self._check_value(value)
        logits, value = broadcast_all(self.logits, value)
        difference = logits - value * self.temperature
        return self.temperature.log() + difference - 2 * difference.exp().log1p()


class _Relaxed(TransformedDistribution):
    temperature = property(lambda self: self.base_dist.temperature)
    probs = property(lambda self: self.base_dist.probs)
    logits = property(lambda self: self.base_dist.logits)

    def expand(self, batch_shape, _instance=None):
        base = self.base_dist.expand(batch_shape)
        return self._made(_instance, base.temperature, probs=base.probs)


class RelaxedBernoulli(_Relaxed):
    """A Bernoulli over (0, 1), of a temperature."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, transforms.SigmoidTransform(), validate_args)


class ExpRelaxedCategorical(Distribution):
    has_rsample = True
    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        from ._discrete import Categorical

        self._categorical, self.temperature = Categorical(probs, logits), temperature
        super().__init__(self._categorical.batch_shape, (self._categorical._num_events,), validate_args)

    probs = property(lambda self: self._categorical.probs)
    logits = property(lambda self: self._categorical.logits)

    def expand(self, batch_shape, _instance=None):
        probs = self.probs.expand((*batch_shape, *self._event_shape))
        return self._made(_instance, self.temperature, probs=probs)

    def rsample(self, sample_shape=()):
        uniform = clamped(torch().rand(self._extended_shape(sample_shape), dtype=self.logits.dtype))
        scores = (self.logits - (-(uniform.log())).log()) / self.temperature
        return scores - scores.logsumexp(-1, True)

    def log_prob(self, value):
        self._check_value(value)
        count = self._categorical._num_events
        logits, value = broadcast_all(self.logits, value)
        scale = torch().full_like(self.temperature, float(count)).lgamma() - self.temperature.log().mul(
            -(count - 1)
        )
        score = logits - value.mul(self.temperature)
        return (score - score.logsumexp(-1, True)).sum(-1) + scale


class RelaxedOneHotCategorical(_Relaxed):
    """A OneHotCategorical over the simplex, of a temperature."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args)
        super().__init__(base, transforms.ExpTransform(), validate_args)


class LogisticNormal(TransformedDistribution):
    """A Normal on the simplex, by stick breaking."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex

    def __init__(self, loc, scale, validate_args=None):
        base = Normal(loc, scale, validate_args)
        base = base if base.batch_shape else base.expand((1,))
        super().__init__(base, transforms.StickBreakingTransform(), validate_args)

    loc = property(lambda self: self.base_dist.base_dist.loc)
    scale = property(lambda self: self.base_dist.base_dist.scale)

    def expand(self, batch_shape, _instance=None):
        shape = (*batch_shape, self.loc.shape[-1])
        return self._made(_instance, self.loc.expand(shape), self.scale.expand(shape))


class MixtureSameFamily(Distribution):
    """Of one of several distributions of one class, which a Categorical chooses."""

    arg_constraints = {}
    has_rsample = False

    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        from ._discrete import Categorical

        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                "The Mixture distribution needs to be an instance of torch.distributions.Categorical"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "The Component distribution need to be an instance of torch.distributions.Distribution"
            )
        batch, parts = tuple(mixture_distribution.batch_shape), tuple(component_distribution.batch_shape)
        if batch and batch != parts[:-1] and not all(a in (b, 1) or b == 1 for a, b in zip(batch, parts)):
            raise ValueError(
                f"`mixture_distribution.batch_shape` ({batch}) is not compatible with "
                f"`component_distribution.batch_shape` ({parts})"
            )
        if mixture_distribution._num_events != parts[-1]:
            raise ValueError(
                f"`mixture_distribution component` ({mixture_distribution._num_events}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({parts[-1]})"
            )
        self.mixture_distribution, self.component_distribution = mixture_distribution, component_distribution
        self._events = len(component_distribution.event_shape)
        super().__init__(parts[:-1], component_distribution.event_shape, validate_args)

    @property
    def support(self):
        return constraints.mixture_same_family(self.component_distribution.support)

    def _pad(self, x):
        return x.unsqueeze(-1 - self._events)

    def _shares(self):
        probs = self.mixture_distribution.probs
        return probs.reshape(tuple(probs.shape) + (1,) * self._events)

    def expand(self, batch_shape, _instance=None):
        mixture = self.mixture_distribution.expand(batch_shape)
        parts = self.component_distribution.expand((*batch_shape, mixture._num_events))
        return self._made(_instance, mixture, parts)

    @property
    def mean(self):
        return (self._shares() * self.component_distribution.mean).sum(-1 - self._events)

    @property
    def variance(self):
        dim = -1 - self._events
        within = (self._shares() * self.component_distribution.variance).sum(dim)
        between = (self._shares() * (self.component_distribution.mean - self._pad(self.mean)).pow(2)).sum(dim)
        return within + between

    def cdf(self, x):
        return (self.component_distribution.cdf(self._pad(x)) * self.mixture_distribution.probs).sum(-1)

    def log_prob(self, x):
        self._check_value(x)
        logs = self.component_distribution.log_prob(self._pad(x))
        return torch().logsumexp(logs + torch().log_softmax(self.mixture_distribution.logits, -1), -1)

    def sample(self, sample_shape=()):
        dim = len(sample_shape) + len(self.batch_shape)
        chosen = self.mixture_distribution.sample(sample_shape)
        parts = self.component_distribution.sample(sample_shape)
        chosen = chosen.reshape(tuple(chosen.shape) + (1,) * (self._events + 1))
        chosen = chosen.expand((*chosen.shape[: dim + 1], *self.event_shape))
        return parts.gather(dim, chosen).squeeze(dim)

    def __repr__(self):
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
