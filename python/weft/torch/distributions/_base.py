"""What the distributions share."""

import weft

from . import constraints

_KL = {}


def torch():
    from weft import torch as module

    return module


def size(shape):
    return getattr(weft, "Size", tuple)(shape)


def broadcast_all(*values):
    """The values as tensors of one shape; numbers in the default dtype."""
    tensors = [value for value in values if isinstance(value, weft.Tensor)]
    dtype = tensors[0].dtype if tensors else weft.get_default_dtype()
    made = [value if isinstance(value, weft.Tensor) else weft.tensor(value, dtype=dtype) for value in values]
    shape = (
        torch().broadcast_shapes(*[tuple(value.shape) for value in made])
        if len(made) > 1
        else tuple(made[0].shape)
    )
    return [value.expand(tuple(shape)) for value in made]


class Distribution:
    """A distribution over a batch of parameters."""

    has_rsample = has_enumerate_support = False
    _validate_args = True
    arg_constraints = {}

    def __init__(self, batch_shape=(), event_shape=(), validate_args=None):
        self._batch_shape, self._event_shape = size(batch_shape), size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args

    @staticmethod
    def set_default_validate_args(value):
        Distribution._validate_args = value

    @property
    def batch_shape(self):
        return self._batch_shape

    @property
    def event_shape(self):
        return self._event_shape

    # The parameters that `expand` expands and a new distribution is made of.
    _parameters = ()

    @property
    def support(self):
        raise NotImplementedError

    @property
    def mode(self):
        raise NotImplementedError(f"{type(self)} does not implement mode")

    def cdf(self, value):
        raise NotImplementedError

    def icdf(self, value):
        raise NotImplementedError

    def enumerate_support(self, expand=True):
        raise NotImplementedError

    def expand(self, batch_shape, _instance=None):
        given = {name: getattr(self, name).expand(tuple(batch_shape)) for name in self._parameters}
        if not given:
            raise NotImplementedError
        return self._made(_instance, **given)

    def _get_checked_instance(self, cls, _instance=None):
        """An object of self's class, not initialized, for an `expand` of class `cls` to fill; _instance where it is given.

        raises: NotImplementedError where the class has another constructor than `cls`, and so needs an `expand` of its own.
        """
        if _instance is None and type(self).__init__ is not cls.__init__:
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also define a "
                "custom .expand() method."
            )
        return type(self).__new__(type(self)) if _instance is None else _instance

    def _made(self, _instance, *given, **named):
        """What `expand` gives: the distribution of these parameters, or _instance, which becomes like it."""
        own = next(each for each in type(self).__mro__ if each.__module__.startswith("weft."))
        made = own(*given, **named, validate_args=False)
        if _instance is None and type(self) is own:
            return made
        instance = self._get_checked_instance(own, _instance)
        for name, value in vars(made).items():
            setattr(instance, name, value)
        return instance

    def _extended_shape(self, sample_shape=()):
        return size((*sample_shape, *self._batch_shape, *self._event_shape))

    def _check_parameters(self):
        """raises: ValueError unless all elements of the parameters are right."""
        for name, constraint in self.arg_constraints.items():
            if name in self.__dict__ and not constraints.is_dependent(constraint):
                self._check(name, self.__dict__[name], constraint)

    def _check(self, name, value, expected):
        if self._validate_args and value.numel() and not bool(expected.check(value).all()):
            raise ValueError(
                f"Expected parameter {name} (Tensor of shape {tuple(value.shape)}) of distribution {type(self).__name__} to "
                f"satisfy the constraint {expected!r}, but found invalid values:\n{value}"
            )

    def _check_value(self, value):
        if self._validate_args and value.numel() and not bool(self.support.check(value).all()):
            raise ValueError(
                f"Expected value argument (Tensor of shape {tuple(value.shape)}) to be within the support ({self.support!r}) of the "
                f"distribution {self!r}, but found invalid values:\n{value}"
            )

    @property
    def stddev(self):
        return self.variance.sqrt()

    def sample(self, sample_shape=()):
        return self.rsample(sample_shape)

    def rsample(self, sample_shape=()):
        raise NotImplementedError(f"{type(self).__name__}.rsample")

    def entropy(self):
        raise NotImplementedError(f"{type(self).__name__}.entropy")

    def sample_n(self, n):
        return self.sample((n,))

    def perplexity(self):
        return torch().exp(self.entropy())

    def __repr__(self):
        parts = []
        for name in self.arg_constraints:
            value = self.__dict__.get(name)
            if value is not None:
                parts.append(
                    f"{name}: {value if value.numel() == 1 else 'torch.Size(' + str(list(value.shape)) + ')'}"
                )
        return f"{type(self).__name__}({', '.join(parts)})"


def clamped(probs):
    """Probabilities that are neither 0 nor 1."""
    eps = torch().finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


class ExponentialFamily(Distribution):
    """Distributions of the exponential family: a class to ask about and derive from."""


class Independent(Distribution):
    """The last dimensions of the batch as part of the event."""

    def __init__(self, base_distribution, reinterpreted_batch_ndims, validate_args=None):
        if reinterpreted_batch_ndims > len(base_distribution.batch_shape):
            raise ValueError(
                f"Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual {reinterpreted_batch_ndims} vs "
                f"{len(base_distribution.batch_shape)}"
            )
        shape = tuple(base_distribution.batch_shape) + tuple(base_distribution.event_shape)
        cut = len(base_distribution.batch_shape) - reinterpreted_batch_ndims
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, reinterpreted_batch_ndims
        super().__init__(shape[:cut], shape[cut:], validate_args)

    def _sum(self, value):
        dims = tuple(range(-self.reinterpreted_batch_ndims, 0))
        return value.sum(dims) if dims else value

    def expand(self, batch_shape, _instance=None):
        event = tuple(self._event_shape)[: self.reinterpreted_batch_ndims]
        base = self.base_dist.expand((*batch_shape, *event))
        return self._made(_instance, base, self.reinterpreted_batch_ndims)

    has_rsample = property(lambda self: self.base_dist.has_rsample)
    has_enumerate_support = property(
        lambda self: self.base_dist.has_enumerate_support and self.reinterpreted_batch_ndims == 0
    )

    @property
    def support(self):
        if not self.reinterpreted_batch_ndims:
            return self.base_dist.support
        return constraints.independent(self.base_dist.support, self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand=True):
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand)

    def __repr__(self):
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"

    @property
    def mean(self):
        return self.base_dist.mean

    @property
    def mode(self):
        return self.base_dist.mode

    @property
    def variance(self):
        return self.base_dist.variance

    def sample(self, sample_shape=()):
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape=()):
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value):
        return self._sum(self.base_dist.log_prob(value))

    def entropy(self):
        return self._sum(self.base_dist.entropy())


def register_kl(type_p, type_q):
    """A decorator: the function gives the divergence of distributions of these classes."""

    def register(function):
        _KL[type_p, type_q] = function
        return function

    return register


def kl_divergence(p, q):
    """The Kullback-Leibler divergence of p from q. raises: NotImplementedError for a pair that has no formula here."""
    for left in type(p).__mro__:
        for right in type(q).__mro__:
            if (left, right) in _KL:
                return _KL[left, right](p, q)
    raise NotImplementedError(
        f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
    )


@register_kl(Independent, Independent)
def _kl_independent(p, q):
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return p._sum(kl_divergence(p.base_dist, q.base_dist))
