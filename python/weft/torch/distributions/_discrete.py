"""Discrete distributions."""

from ._base import Distribution, ExponentialFamily, broadcast_all, register_kl, torch


def _one(probs, logits):
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")


def _clamped(probs):
    eps = torch().finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


class _Binary(ExponentialFamily):
    arg_constraints = {"probs": "Interval(lower_bound=0.0, upper_bound=1.0)", "logits": "Real()"}

    def __init__(self, probs=None, logits=None, validate_args=None):
        _one(probs, logits)
        (value,) = broadcast_all(probs if probs is not None else logits)
        self.__dict__["probs" if probs is not None else "logits"] = value
        super().__init__(value.shape, (), validate_args)
        if probs is not None:
            self._check(
                "probs", value, lambda p: (p >= 0) & (p <= 1), "Interval(lower_bound=0.0, upper_bound=1.0)"
            )

    def __getattr__(self, name):
        if name == "logits":
            p = _clamped(self.probs)
            self.logits = torch().log(p) - torch().log1p(-p)
            return self.logits
        if name == "probs":
            self.probs = torch().sigmoid(self.logits)
            return self.probs
        raise AttributeError(name)


class Bernoulli(_Binary):
    has_enumerate_support = True

    @property
    def mean(self):
        return self.probs

    @property
    def variance(self):
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        return torch().bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def _loss(self, value):
        logits, value = broadcast_all(self.logits, value)
        return torch().nn.functional.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def log_prob(self, value):
        self._check_value(value, lambda v: (v == 0) | (v == 1), "Boolean()")
        return -self._loss(value)

    def entropy(self):
        return self._loss(self.probs)


@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli(p, q):
    softplus = torch().nn.functional.softplus
    t1 = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    t2 = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    return t1 + t2


class Geometric(_Binary):
    @property
    def mean(self):
        return 1.0 / self.probs - 1.0

    @property
    def variance(self):
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        limits = torch().finfo(self.probs.dtype)
        u = torch().empty(shape, dtype=self.probs.dtype).uniform_(limits.tiny, 1)
        return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value):
        self._check_value(value, lambda v: v >= 0, "IntegerGreaterThan(lower_bound=0)")
        return value * torch().log1p(-self.probs) + self.probs.log()

    def entropy(self):
        return Bernoulli(probs=self.probs, validate_args=False).entropy() / self.probs


class Categorical(Distribution):
    has_enumerate_support = True
    arg_constraints = {"probs": "Simplex()", "logits": "IndependentConstraint(Real(), 1)"}

    def __init__(self, probs=None, logits=None, validate_args=None):
        _one(probs, logits)
        value = probs if probs is not None else logits
        if value.dim() < 1:
            raise ValueError(
                f"`{'probs' if probs is not None else 'logits'}` parameter must be at least one-dimensional."
            )
        if validate_args is not None:
            self._validate_args = validate_args
        if probs is not None:
            self._check(
                "probs",
                probs,
                lambda p: (p >= 0).all(-1) & ((p.sum(-1) - 1).abs() < float("inf")),
                "Simplex()",
            )
            self.__dict__["probs"] = probs / probs.sum(-1, True)
        else:
            self._check("logits", logits, lambda v: v == v, "IndependentConstraint(Real(), 1)")
            self.__dict__["logits"] = logits - logits.logsumexp(-1, True)
        self._num_events = value.shape[-1]
        super().__init__(value.shape[:-1], (), validate_args)

    def __getattr__(self, name):
        if name == "logits":
            self.logits = torch().log(_clamped(self.probs))
            return self.logits
        if name == "probs":
            self.probs = torch().softmax(self.logits, -1)
            return self.probs
        raise AttributeError(name)

    @property
    def mode(self):
        return self.probs.argmax(-1)

    @property
    def mean(self):
        return torch().full(tuple(self._batch_shape), float("nan"), dtype=self.probs.dtype)

    variance = mean

    def sample(self, sample_shape=()):
        count = 1
        for length in sample_shape:
            count *= length
        drawn = torch().multinomial(self.probs.reshape(-1, self._num_events), count, True)
        return drawn.transpose(0, 1).reshape(tuple(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        self._check_value(value, lambda v: (v >= 0) & (v < self._num_events), "IntegerInterval")
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


@register_kl(Categorical, Categorical)
def _kl_categorical(p, q):
    t = p.probs * (p.logits - q.logits)
    t = torch().where((q.probs == 0).expand(t.shape), float("inf"), t)
    t = torch().where((p.probs == 0).expand(t.shape), 0.0, t)
    return t.sum(-1)


class OneHotCategorical(Distribution):
    def __init__(self, probs=None, logits=None, validate_args=None):
        self._categorical = Categorical(probs, logits, validate_args)
        super().__init__(self._categorical.batch_shape, (self._categorical._num_events,), validate_args)

    @property
    def probs(self):
        return self._categorical.probs

    mean = probs

    @property
    def logits(self):
        return self._categorical.logits

    @property
    def variance(self):
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        drawn = self._categorical.sample(sample_shape)
        return torch().nn.functional.one_hot(drawn, self._categorical._num_events).to(self.probs.dtype)

    def log_prob(self, value):
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self):
        return self._categorical.entropy()


class Multinomial(Distribution):
    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count, self._categorical = total_count, Categorical(probs, logits, validate_args)
        super().__init__(self._categorical.batch_shape, (self._categorical._num_events,), validate_args)

    @property
    def probs(self):
        return self._categorical.probs

    @property
    def logits(self):
        return self._categorical.logits

    @property
    def mean(self):
        return self.probs * self.total_count

    @property
    def variance(self):
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        drawn = self._categorical.sample((self.total_count, *sample_shape))
        one_hot = torch().nn.functional.one_hot(drawn, self._categorical._num_events)
        return one_hot.sum(0).to(self.probs.dtype)

    def log_prob(self, value):
        logits, value = broadcast_all(self.logits, value)
        logits = torch().where((value == 0) & (logits == -float("inf")), 0.0, logits)
        return (
            torch().lgamma(value.sum(-1) + 1) - torch().lgamma(value + 1).sum(-1) + (logits * value).sum(-1)
        )


class Poisson(ExponentialFamily):
    arg_constraints = {"rate": "GreaterThanEq(lower_bound=0.0)"}

    def __init__(self, rate, validate_args=None):
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, (), validate_args)
        self._check("rate", self.rate, lambda v: v >= 0, "GreaterThanEq(lower_bound=0.0)")

    @property
    def mean(self):
        return self.rate

    variance = mean

    def sample(self, sample_shape=()):
        return torch().poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        self._check_value(value, lambda v: v >= 0, "IntegerGreaterThan(lower_bound=0)")
        return torch().xlogy(value, self.rate) - self.rate - torch().lgamma(value + 1)
