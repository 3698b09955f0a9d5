"""Discrete distributions."""

import math

from . import constraints
from ._base import Distribution, ExponentialFamily, broadcast_all, clamped, torch
from ._continuous import Gamma


def _one(probs, logits):
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")


class _OfProbabilities(ExponentialFamily):
    """Of probs or of logits; the other is computed when it is asked for."""

    def _set(self, name, value):
        self.__dict__[name] = value
        self._given = name

    def __getattr__(self, name):
        if name == "logits" and "probs" in self.__dict__:
            p = clamped(self.probs)
            self.logits = self._logits_of(p)
            return self.logits
        if name == "probs" and "logits" in self.__dict__:
            self.probs = self._probs_of(self.logits)
            return self.probs
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")


class _Binary(_OfProbabilities):
    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}

    def __init__(self, probs=None, logits=None, validate_args=None):
        _one(probs, logits)
        (value,) = broadcast_all(probs if probs is not None else logits)
        self._set("probs" if probs is not None else "logits", value)
        super().__init__(value.shape, (), validate_args)
        self._check_parameters()

    @staticmethod
    def _logits_of(p):
        return torch().log(p) - torch().log1p(-p)

    @staticmethod
    def _probs_of(logits):
        return torch().sigmoid(logits)

    @property
    def param_shape(self):
        return getattr(self, self._given).shape

    def expand(self, batch_shape, _instance=None):
        value = getattr(self, self._given).expand(tuple(batch_shape))
        return self._made(_instance, **{self._given: value})


class Bernoulli(_Binary):
    """0 or 1, of the probability of 1 or its logit."""

    has_enumerate_support = True
    support = constraints.boolean

    @property
    def mean(self):
        return self.probs

    @property
    def mode(self):
        mode = (self.probs >= 0.5).to(self.probs.dtype)
        return torch().where(self.probs == 0.5, math.nan, mode)

    @property
    def variance(self):
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        return torch().bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def _loss(self, value):
        logits, value = broadcast_all(self.logits, value)
        return torch().nn.functional.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def log_prob(self, value):
        self._check_value(value)
        return -self._loss(value)

    def entropy(self):
        return self._loss(self.probs)

    def enumerate_support(self, expand=True):
        values = torch().arange(2, dtype=self.probs.dtype).reshape((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values


class ContinuousBernoulli(_Binary):
    """Of numbers in [0, 1]. lims: between these, near 1/2, series take the formulas' place.

    source: Loaiza-Ganem and Cunningham 2019, "The continuous Bernoulli".
    """

    has_rsample = True
    support = constraints.unit_interval

    def __init__(self, probs=None, logits=None, lims=(0.499, 0.501), validate_args=None):
        super().__init__(probs, logits, validate_args)
        self._lims = lims
        if probs is not None:
            self._set("probs", clamped(self.probs))

    def expand(self, batch_shape, _instance=None):
        value = getattr(self, self._given).expand(tuple(batch_shape))
        return self._made(_instance, **{self._given: value}, lims=self._lims)

    def _outside(self):
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut(self):
        return torch().where(self._outside(), self.probs, torch().full_like(self.probs, self._lims[0]))

    def _log_norm(self):
        cut = self._cut()
        below = torch().where(cut <= 0.5, cut, torch().zeros_like(cut))
        above = torch().where(cut >= 0.5, cut, torch().ones_like(cut))
        log_norm = torch().log((torch().log1p(-cut) - torch().log(cut)).abs()) - torch().where(
            cut <= 0.5, torch().log1p(-2.0 * below), torch().log(2.0 * above - 1.0)
        )
        x = (self.probs - 0.5).pow(2)
        return torch().where(self._outside(), log_norm, math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x)

    @property
    def mean(self):
        cut = self._cut()
        mean = cut / (2.0 * cut - 1.0) + 1.0 / (torch().log1p(-cut) - torch().log(cut))
        x = self.probs - 0.5
        return torch().where(self._outside(), mean, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x)

    @property
    def variance(self):
        cut = self._cut()
        variance = cut * (cut - 1.0) / (1.0 - 2.0 * cut).pow(2) + 1.0 / (
            torch().log1p(-cut) - torch().log(cut)
        ).pow(2)
        x = (self.probs - 0.5).pow(2)
        return torch().where(self._outside(), variance, 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    @property
    def stddev(self):
        return self.variance.sqrt()

    def rsample(self, sample_shape=()):
        return self.icdf(torch().rand(self._extended_shape(sample_shape), dtype=self.probs.dtype))

    def log_prob(self, value):
        self._check_value(value)
        logits, value = broadcast_all(self.logits, value)
        loss = torch().nn.functional.binary_cross_entropy_with_logits(logits, value, reduction="none")
        return -loss + self._log_norm()

    def cdf(self, value):
        self._check_value(value)
        cut = self._cut()
        curve = (cut.pow(value) * (1.0 - cut).pow(1.0 - value) + cut - 1.0) / (2.0 * cut - 1.0)
        bounded = torch().where(self._outside(), curve, value)
        return torch().where(value <= 0.0, 0.0, torch().where(value >= 1.0, 1.0, bounded))

    def icdf(self, value):
        cut = self._cut()
        inverse = (torch().log1p(-cut + value * (2.0 * cut - 1.0)) - torch().log1p(-cut)) / (
            torch().log(cut) - torch().log1p(-cut)
        )
        return torch().where(self._outside(), inverse, value)

    def entropy(self):
        log0, log1 = torch().log1p(-self.probs), torch().log(self.probs)
        return self.mean * (log0 - log1) - self._log_norm() - log0


class Geometric(_Binary):
    """How many fail before one succeeds, of the probability or its logit."""

    support = constraints.nonnegative_integer

    def __init__(self, probs=None, logits=None, validate_args=None):
        super().__init__(probs, logits, validate_args)
        if self._validate_args and probs is not None and not bool((self.probs > 0).all()):
            raise ValueError(
                f"Expected parameter probs (Tensor of shape {tuple(self.probs.shape)}) of distribution {self!r} to be positive "
                f"but found invalid values:\n{self.probs}"
            )

    @property
    def mean(self):
        return 1.0 / self.probs - 1.0

    @property
    def mode(self):
        return torch().zeros_like(self.probs)

    @property
    def variance(self):
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        tiny = torch().finfo(self.probs.dtype).tiny
        u = torch().empty(shape, dtype=self.probs.dtype).uniform_(tiny, 1)
        return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value):
        self._check_value(value)
        value, probs = broadcast_all(value, self.probs)
        probs = torch().where((probs == 1) & (value == 0), 0, probs)
        return value * torch().log1p(-probs) + self.probs.log()

    def entropy(self):
        return Bernoulli(probs=self.probs, validate_args=False).entropy() / self.probs


class _Counted(_Binary):
    """Of a number of trials, each with a probability."""

    def __init__(self, total_count, probs, logits, validate_args):
        _one(probs, logits)
        self.total_count, value = broadcast_all(total_count, probs if probs is not None else logits)
        self.total_count = self.total_count.to(value.dtype)
        super().__init__(
            value if probs is not None else None, value if probs is None else None, validate_args
        )

    def expand(self, batch_shape, _instance=None):
        value = getattr(self, self._given).expand(tuple(batch_shape))
        return self._made(_instance, self.total_count.expand(tuple(batch_shape)), **{self._given: value})


class Binomial(_Counted):
    """How many of total_count succeed, of the probability or its logit."""

    has_enumerate_support = True
    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        super().__init__(total_count, probs, logits, validate_args)

    @property
    def support(self):
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self):
        return self.total_count * self.probs

    @property
    def mode(self):
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self):
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        return torch().binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value):
        self._check_value(value)
        lgamma = torch().lgamma
        # Of the logits the part that does not overflow.
        above = self.logits.clamp(min=0)
        norm = self.total_count * above + self.total_count * torch().log1p(torch().exp(-self.logits.abs()))
        counts = lgamma(self.total_count + 1) - lgamma(value + 1) - lgamma(self.total_count - value + 1)
        return value * self.logits + counts - norm

    def _count(self):
        count = int(self.total_count.max())
        if int(self.total_count.min()) != count:
            raise NotImplementedError("Inhomogeneous total count not supported by `entropy`.")
        return count

    def entropy(self):
        self._count()
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(torch().exp(log_prob) * log_prob).sum(0)

    def enumerate_support(self, expand=True):
        values = torch().arange(1 + self._count(), dtype=self.total_count.dtype)
        values = values.reshape((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values


class NegativeBinomial(_Counted):
    """How many succeed before total_count fail, of the probability or its logit."""

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(self, total_count, probs=None, logits=None, validate_args=None):
        super().__init__(total_count, probs, logits, validate_args)

    @property
    def mean(self):
        return self.total_count * torch().exp(self.logits)

    @property
    def mode(self):
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self):
        return self.mean / torch().sigmoid(-self.logits)

    def sample(self, sample_shape=()):
        gamma = Gamma(self.total_count, torch().exp(-self.logits), validate_args=False)
        return torch().poisson(gamma.sample(sample_shape))

    def log_prob(self, value):
        self._check_value(value)
        logsigmoid, lgamma = torch().nn.functional.logsigmoid, torch().lgamma
        unnormalized = self.total_count * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        norm = -lgamma(self.total_count + value) + lgamma(1.0 + value) + lgamma(self.total_count)
        return unnormalized - torch().where(self.total_count + value == 0.0, 0.0, norm)


class Categorical(_OfProbabilities):
    """A number below n, of n probabilities or logits in the last dimension."""

    has_enumerate_support = True
    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(self, probs=None, logits=None, validate_args=None):
        _one(probs, logits)
        name, value = ("probs", probs) if probs is not None else ("logits", logits)
        if value.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        self._set(
            name, value / value.sum(-1, True) if probs is not None else value - value.logsumexp(-1, True)
        )
        self._num_events = value.shape[-1]
        super().__init__(value.shape[:-1], (), validate_args)
        self._check_parameters()

    @staticmethod
    def _logits_of(p):
        return torch().log(p)

    @staticmethod
    def _probs_of(logits):
        return torch().softmax(logits, -1)

    @property
    def param_shape(self):
        return getattr(self, self._given).shape

    @property
    def support(self):
        return constraints.integer_interval(0, self._num_events - 1)

    def expand(self, batch_shape, _instance=None):
        value = getattr(self, self._given).expand((*batch_shape, self._num_events))
        return self._made(_instance, **{self._given: value})

    @property
    def mode(self):
        return self.probs.argmax(-1)

    @property
    def mean(self):
        return torch().full(tuple(self._batch_shape), math.nan, dtype=self.probs.dtype)

    variance = mean

    def sample(self, sample_shape=()):
        count = math.prod(sample_shape)
        drawn = torch().multinomial(self.probs.reshape(-1, self._num_events), count, True)
        return drawn.transpose(0, 1).reshape(tuple(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        self._check_value(value)
        value = value.long().unsqueeze(-1)
        shape = torch().broadcast_shapes(tuple(value.shape[:-1]), tuple(self.logits.shape[:-1]))
        logits = self.logits.expand((*shape, self._num_events))
        return logits.gather(-1, value.expand((*shape, 1))).squeeze(-1)

    def entropy(self):
        logits = self.logits.clamp(min=torch().finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand=True):
        values = torch().arange(self._num_events).reshape((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values


class _OverCategories(Distribution):
    """Made of a Categorical."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(self, probs, logits, validate_args):
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical.batch_shape, (self._categorical._num_events,), validate_args)

    probs = property(lambda self: self._categorical.probs)
    logits = property(lambda self: self._categorical.logits)
    param_shape = property(lambda self: self._categorical.param_shape)

    def _expanded(self, batch_shape):
        expanded = self._categorical.expand(batch_shape)
        return {expanded._given: getattr(expanded, expanded._given)}

    def _one_hot(self, numbers):
        one_hot = torch().nn.functional.one_hot(numbers, self._categorical._num_events)
        return one_hot.to(self.probs.dtype)


class OneHotCategorical(_OverCategories):
    """One of n as a vector of one 1, of probabilities or logits."""

    has_enumerate_support = True
    support = constraints.one_hot

    def __init__(self, probs=None, logits=None, validate_args=None):
        super().__init__(probs, logits, validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._made(_instance, **self._expanded(batch_shape))

    @property
    def mean(self):
        return self.probs

    @property
    def mode(self):
        return self._one_hot(self._categorical.mode)

    @property
    def variance(self):
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        return self._one_hot(self._categorical.sample(sample_shape))

    def log_prob(self, value):
        self._check_value(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self):
        return self._categorical.entropy()

    def enumerate_support(self, expand=True):
        n = self._event_shape[0]
        values = torch().eye(n, dtype=self.probs.dtype).reshape((n,) + (1,) * len(self._batch_shape) + (n,))
        return values.expand((n, *self._batch_shape, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """OneHotCategorical whose rsample is its sample."""

    has_rsample = True

    def rsample(self, sample_shape=()):
        drawn = self.sample(sample_shape)
        return drawn + (self.probs - self.probs)


class Multinomial(_OverCategories):
    """How often each of n comes in total_count draws, of probabilities or logits."""

    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        super().__init__(probs, logits, validate_args)

    @property
    def support(self):
        return constraints.multinomial(self.total_count)

    def expand(self, batch_shape, _instance=None):
        return self._made(_instance, self.total_count, **self._expanded(batch_shape))

    @property
    def mean(self):
        return self.probs * self.total_count

    @property
    def variance(self):
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        drawn = self._categorical.sample((self.total_count, *sample_shape))
        return self._one_hot(drawn).sum(0)

    def log_prob(self, value):
        self._check_value(value)
        logits, value = broadcast_all(self.logits, value)
        logits = torch().where((value == 0) & (logits == -math.inf), 0.0, logits)
        return (
            torch().lgamma(value.sum(-1) + 1) - torch().lgamma(value + 1).sum(-1) + (logits * value).sum(-1)
        )

    def entropy(self):
        lgamma = torch().lgamma
        n = torch().tensor(float(self.total_count))
        support = (
            torch().arange(1.0, self.total_count + 1).reshape((-1,) + (1,) * (len(self._batch_shape) + 1))
        )
        terms = Binomial(self.total_count, probs=self.probs, validate_args=False).log_prob(support).exp()
        weighted = (terms * lgamma(support + 1)).sum((0, -1))
        return n * self._categorical.entropy() - lgamma(n + 1) + weighted


class Poisson(ExponentialFamily):
    """Of a rate."""

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer
    _parameters = ("rate",)

    def __init__(self, rate, validate_args=None):
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, (), validate_args)
        self._check_parameters()

    @property
    def mean(self):
        return self.rate

    @property
    def mode(self):
        return self.rate.floor()

    variance = mean

    def sample(self, sample_shape=()):
        return torch().poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        self._check_value(value)
        return torch().xlogy(value, self.rate) - self.rate - torch().lgamma(value + 1)
