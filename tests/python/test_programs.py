"""Whole NumPy programs, as people write them: the compiled function must give what the plain one gives.

Each program is a function and a maker of arguments. Results are compared with dtype, shape and type; sums
of floats may differ by their documented bound, everything else is exact.
"""

import functools

import numpy as np
import pytest
import weft
from support.compare import check

PROGRAMS = []


def program(*, rtol=0.0, fullgraph=True):
    """Registers fn(rng, n) -> (function, args)."""

    def register(make):
        PROGRAMS.append(pytest.param(make, rtol, fullgraph, id=make.__name__))
        return make

    return register


@program()
def kmeans_assignment(rng, n):
    def kmeans(X, means):
        return np.argmin(np.linalg.norm(X - means[:, None], axis=2), axis=0)

    return kmeans, (rng.standard_normal((n, 2)), np.array([[0, 0], [1, 1]]))


@program()
def kmeans_many_means(rng, n):
    def kmeans(X, means):
        return np.argmin(np.linalg.norm(X - means[:, None], axis=2), axis=0)

    return kmeans, (
        rng.standard_normal((n, 3)).astype(np.float32),
        rng.standard_normal((17, 3)).astype(np.float32),
    )


@program(rtol=1e-12)
def softmax_rows(rng, n):
    def softmax(x):
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        return e / e.sum(axis=-1, keepdims=True)

    return softmax, (rng.standard_normal((n, 7)),)


@program(rtol=1e-12)
def layer_norm(rng, n):
    def layer_norm(x, gain, bias, eps=1e-5):
        mean = x.mean(axis=-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
        return (x - mean) / np.sqrt(variance + eps) * gain + bias

    return layer_norm, (rng.standard_normal((n, 16)), rng.standard_normal(16), rng.standard_normal(16))


@program(rtol=1e-12)
def standardize(rng, n):
    def standardize(x):
        return (x - np.mean(x, axis=0)) / np.std(x, axis=0)

    return standardize, (rng.standard_normal((n + 2, 4)),)


@program()
def laplace_step(rng, n):
    def laplace_step(u):
        new = u.copy()
        new[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        return new

    return laplace_step, (rng.standard_normal((n + 3, 9)),)


@program()
def in_place_argument(rng, n):
    def scale(x, k):
        x[1:] *= k
        x[0] = -1
        return x.sum() if x.dtype == np.int64 else x

    return scale, (rng.integers(0, 9, n + 1), 3)


@program()
def polynomial(rng, n):
    def horner(x, coefficients):
        result = np.zeros_like(x)
        for c in coefficients:
            result = result * x + c
        return result

    return horner, (rng.standard_normal(n), (1.0, -2.0, 0.5, 3.0))


@program(rtol=1e-12)
def pairwise_distances(rng, n):
    def pairwise(a, b):
        return np.sqrt(((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=-1))

    return pairwise, (rng.standard_normal((n, 3)), rng.standard_normal((5, 3)))


@program()
def clip_and_where(rng, n):
    def clip_and_where(x, low, high):
        y = np.clip(x, low, high)
        return np.where(y > 0, y, -y), (y == high).any(), np.count_nonzero(y)

    return clip_and_where, (rng.standard_normal(n), -0.5, 0.75)


@program()
def integer_arithmetic(rng, n):
    def integers(a, b):
        return a // b, a % b, a & b, a | b, a ^ b, ~a, a << 2, a >> 1, -a, abs(a)

    return integers, (rng.integers(-100, 100, n), rng.integers(1, 9, n))


@program()
def mixed_dtypes(rng, n):
    def mixed(a, b, c):
        return a + b, a * 2, b * 2.5, (a + c).astype(np.float32), a < b, np.maximum(a, b)

    return mixed, (
        rng.integers(-5, 5, n).astype(np.int8),
        rng.standard_normal(n).astype(np.float32),
        rng.integers(0, 9, n),
    )


@program()
def views_and_reshapes(rng, n):
    def views(x):
        y = x.reshape(-1, 2).T
        return y[::-1], y[:, ::-2], x[None, :, None], np.transpose(y).ravel(), y.shape, y.ndim, y.size

    return views, (rng.standard_normal(2 * n),)


@program()
def stack_and_concatenate(rng, n):
    def join(a, b):
        return np.concatenate([a, b]), np.stack([a, b], axis=1), np.hstack((a, b)), np.vstack((a, b))

    return join, (rng.standard_normal(n), rng.standard_normal(n))


@program(fullgraph=False)
def fancy_indexing(rng, n):
    def fancy(x, index, mask):
        return x[index], x[mask], np.take(x, index), x[index][::-1]

    return fancy, (rng.standard_normal(n + 1), rng.integers(0, n + 1, 5), rng.standard_normal(n + 1) > 0)


@program(fullgraph=False)
def sorting(rng, n):
    def sorting(x):
        order = np.argsort(x, kind="stable")
        return np.sort(x), x[order], np.searchsorted(np.sort(x), x)

    return sorting, (rng.integers(0, 50, n),)


@program(rtol=1e-12)
def matrix_products(rng, n):
    def products(a, b, v):
        return a @ b, a.dot(v), np.matmul(a, b).sum(axis=0), np.outer(v, v), v @ v

    return products, (rng.standard_normal((5, 4)), rng.standard_normal((4, 3)), rng.standard_normal(4))


@program()
def cumulative(rng, n):
    def cumulative(x):
        return np.cumsum(x), np.diff(x), np.cumprod(x[:4])

    return cumulative, (rng.integers(0, 9, n + 4),)


@program()
def python_containers(rng, n):
    def containers(x, options):
        parts = {name: x * factor for name, factor in options.items()}
        total = sum([value for value in parts.values()])
        first, *rest = [total, x, -x]
        return {"total": first, "rest": tuple(rest), "label": f"{len(parts)}:{x.ndim}"}

    return containers, (rng.standard_normal(n), {"a": 2, "b": 3.0})


@program()
def closures_and_lambdas(rng, n):
    offset = 2.5

    def closures(x, *terms, scale=1.0, **rest):
        square = lambda value: value * value  # noqa: E731

        def shifted(value, by=offset):
            return square(value) + by

        return functools.reduce(lambda a, b: a + b, [shifted(x, t) for t in terms], x * scale) + rest["bias"]

    return functools.partial(closures), (rng.standard_normal(n), 1, 2)


class Affine:
    """A plain class with state, a property and a method."""

    def __init__(self, weight, bias):
        self.weight = weight
        self.bias = bias

    @property
    def scale(self):
        return self.weight * 2

    def __call__(self, x):
        return x * self.scale + self.bias


@program()
def plain_class(rng, n):
    model = Affine(3.0, np.arange(n, dtype=np.float64))

    def run(x):
        return model(x) - Affine(1.0, 2.0)(x)

    return run, (rng.standard_normal(n),)


@program()
def exceptions_inside(rng, n):
    def exceptions(x, table):
        try:
            value = table["missing"]
        except KeyError as error:
            value = len(error.args)
        finally:
            x = x + 1
        return x * value

    return exceptions, (rng.standard_normal(n), {})


@program(fullgraph=False)
def data_dependent_branch(rng, n):
    def branch(x):
        y = x * 2
        if y.sum() > 0:
            return y + 1
        return y - 1

    return branch, (rng.integers(-9, 9, n),)


@program(fullgraph=False)
def data_dependent_while(rng, n):
    def loop(x):
        steps = 0
        while np.abs(x).max() > 1:
            x = x / 2
            steps += 1
        return x, steps

    return loop, (rng.standard_normal(n) * 1000,)


@program()
def parts_updated_again_and_again(rng, n):
    def steps(a, b):
        work = a.copy()
        before = work[0].copy()
        for _ in range(3):
            work[1:] -= 0.5 * (b[1:] - b[:-1])  # reads what it writes
            work[:-1, 1:] = work[1:, :-1] + b[:-1, 1:]  # and what it has written
            work[0, :] = work[-1, :]
            b[1:-1, 1:-1] = work[1:-1, 1:-1]
        return work, before

    return steps, (rng.standard_normal((n + 2, n + 2)), rng.standard_normal((n + 2, n + 2)))


@program()
def updated_arrays_that_are_still_seen(rng, n):
    def steps(a):
        work = a * 2.0
        row = work[1]
        kept = work + 0.0
        work[1] = work[0] * 3.0
        seen = row + 1.0
        work[:, 0] += kept[:, 0]
        other = work * 1.0
        other[::2] = work[::2] - row
        work[0] = 7.0
        return work, kept, seen, other, row.sum() * 0.0

    return steps, (rng.standard_normal((n + 2, n + 1)),)


def _run(make, rtol, fullgraph, sizes):
    rng = np.random.default_rng(7)
    compiled = None
    for n in sizes:
        function, args = make(rng, n)
        if make is closures_and_lambdas:
            function = functools.partial(function, scale=2.0, bias=1)
        if compiled is None or make is plain_class or isinstance(function, functools.partial):
            compiled = weft.compile(function, fullgraph=fullgraph)
        check(function, tuple(args), rtol=rtol, compiled=compiled)


@pytest.mark.parametrize("make, rtol, fullgraph", PROGRAMS)
def test_program(make, rtol, fullgraph):
    _run(make, rtol, fullgraph, [6])


@pytest.mark.parametrize("make, rtol, fullgraph", PROGRAMS)
def test_program_with_changing_sizes(make, rtol, fullgraph):
    _run(make, rtol, fullgraph, [6, 10, 33, 1, 0] if make in SIZE_ZERO else [6, 10, 33, 1])


SIZE_ZERO = [laplace_step, integer_arithmetic, mixed_dtypes, cumulative, stack_and_concatenate]
