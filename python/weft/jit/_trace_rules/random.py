"""Random numbers: TorchScript's functions of the default generator."""

from .._trace_registry import OPERATORS, operator_rule
from .._tracer import aten


def _default(generator):
    if generator.item() != 0:
        raise NotImplementedError("TorchScript draws from the default generator only: leave out generator=")


def _fill(name, fill):
    def of_shape(generator, shape, dtype, **params):
        _default(generator)
        return fill(aten.empty(list(shape), dtype=dtype), **params)

    def like(generator, like, dtype=None, **params):
        _default(generator)
        return fill(aten.empty_like(like, dtype=like.dtype if dtype is None else dtype), **params)

    OPERATORS[name], OPERATORS[name + "_like"] = of_shape, like


_fill("random_uniform", lambda x, low=0.0, high=1.0: aten.uniform_(x, low, high))
_fill("random_normal", lambda x, mean=0.0, std=1.0, blocks=True, in_place=False: aten.normal_(x, mean, std))
_fill("random_bernoulli", lambda x, p=0.5: aten.bernoulli_(x, p))
_fill("random_exponential", lambda x, lambd=1.0: aten.exponential_(x, lambd))
_fill("random_cauchy", lambda x, median=0.0, sigma=1.0: aten.cauchy_(x, median, sigma))
_fill("random_log_normal", lambda x, mean=1.0, std=2.0: aten.log_normal_(x, mean, std))
_fill("random_geometric", lambda x, p=0.5: aten.geometric_(x, p))


@operator_rule()
def random_integers(generator, shape, low, high, *, dtype):
    _default(generator)
    return aten.randint(low, high, list(shape), dtype=dtype)


@operator_rule()
def random_integers_like(generator, like, low, high, *, dtype=None):
    _default(generator)
    return aten.randint_like(like, low, high, dtype=like.dtype if dtype is None else dtype)


@operator_rule()
def random_permutation(generator, n):
    _default(generator)
    return aten.randperm(n)


@operator_rule()
def random_bernoulli_of(generator, p, *, dtype=None):
    _default(generator)
    drawn = aten.bernoulli(p)
    return drawn if dtype is None else drawn.to(dtype)


@operator_rule()
def random_normal_of(generator, std, *, dtype=None):
    _default(generator)
    return aten.randn(list(std.shape), dtype=std.dtype if dtype is None else dtype) * std


@operator_rule()
def random_poisson(generator, rate):
    _default(generator)
    return aten.poisson(rate)


@operator_rule()
def random_multinomial(generator, weights, num_samples, replacement=False):
    _default(generator)
    return aten.multinomial(weights, num_samples, replacement)


@operator_rule()
def random_slopes(generator, x, low, high):
    _default(generator)
    sign = aten.sub(aten.mul(aten.gt(x, 0).to(x.dtype), 2), 1)
    return aten.mul(aten.rrelu(sign, low, high, True), sign)
