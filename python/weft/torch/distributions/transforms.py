"""torch.distributions.transforms: invertible functions, with the logarithm of how they stretch."""

import copy
import math

import weft

from . import constraints
from ._base import torch
from .utils import tril_matrix_to_vec, vec_to_tril_matrix

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]


class Transform:
    """y = transform(x), x = transform.inv(y); log_abs_det_jacobian(x, y) is log |dy / dx|.

    cache_size: with 1 the last pair is kept, so that transform.inv(transform(x)) is x itself; 0 keeps none.
    raises: ValueError for another cache_size.
    """

    bijective = False
    domain = codomain = constraints.real
    sign = 1

    def __init__(self, cache_size=0):
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._cached_x_y = None, None
        self._inverse_of_self = None

    @property
    def event_dim(self):
        return self.domain.event_dim

    @property
    def inv(self):
        if self._inverse_of_self is None:
            self._inverse_of_self = _InverseTransform(self)
        return self._inverse_of_self

    def with_cache(self, cache_size=1):
        """The transform with a cache of that size."""
        if self._cache_size == cache_size:
            return self
        other = copy.copy(self)
        Transform.__init__(other, cache_size)
        return other

    def __call__(self, x):
        if self._cache_size == 0:
            return self._call(x)
        if x is not self._cached_x_y[0]:
            self._cached_x_y = x, self._call(x)
        return self._cached_x_y[1]

    def __eq__(self, other):
        return self is other or (
            type(self) is type(other) and not _parameters(self) and not _parameters(other)
        )

    __hash__ = object.__hash__

    def _inv_call(self, y):
        if self._cache_size == 0:
            return self._inverse(y)
        if y is not self._cached_x_y[1]:
            self._cached_x_y = self._inverse(y), y
        return self._cached_x_y[0]

    def forward_shape(self, shape):
        return shape

    def inverse_shape(self, shape):
        return shape

    def __repr__(self):
        return f"{type(self).__name__}()"


def _parameters(transform):
    return {name for name in vars(transform) if not name.startswith("_")}


class _InverseTransform(Transform):
    def __init__(self, transform):
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform

    domain = property(lambda self: self._inv.codomain)
    codomain = property(lambda self: self._inv.domain)
    bijective = property(lambda self: self._inv.bijective)
    sign = property(lambda self: self._inv.sign)
    inv = property(lambda self: self._inv)

    def __call__(self, x):
        return self._inv._inv_call(x)

    def __eq__(self, other):
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    __hash__ = object.__hash__

    def __repr__(self):
        return f"{type(self).__name__}({self._inv!r})"

    def log_abs_det_jacobian(self, x, y):
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape):
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape):
        return self._inv.forward_shape(shape)


def _summed(value, dims):
    return value.sum(tuple(range(-dims, 0))) if dims else value


def _with_caches(parts, cache_size):
    return [part.with_cache(cache_size) for part in parts] if cache_size else list(parts)


class ComposeTransform(Transform):
    """Transforms one after another."""

    def __init__(self, parts, cache_size=0):
        super().__init__(cache_size)
        self.parts = _with_caches(parts, cache_size)

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else ComposeTransform(self.parts, cache_size)

    @property
    def domain(self):
        return self.parts[0].domain if self.parts else constraints.real

    @property
    def codomain(self):
        return self.parts[-1].codomain if self.parts else constraints.real

    @property
    def bijective(self):
        return all(part.bijective for part in self.parts)

    @property
    def sign(self):
        return math.prod(part.sign for part in self.parts)

    @property
    def event_dim(self):
        return max((max(p.domain.event_dim, p.codomain.event_dim) for p in self.parts), default=0)

    def __eq__(self, other):
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = object.__hash__

    def _call(self, x):
        for part in self.parts:
            x = part(x)
        return x

    def _inverse(self, y):
        for part in reversed(self.parts):
            y = part.inv(y)
        return y

    def log_abs_det_jacobian(self, x, y):
        if not self.parts:
            return weft.zeros_like(x)
        points = [x]
        for part in self.parts[:-1]:
            points.append(part(points[-1]))
        points.append(y)
        whole = max(self.domain.event_dim, self.event_dim)
        return sum(
            _summed(part.log_abs_det_jacobian(a, b), whole - part.domain.event_dim)
            for part, a, b in zip(self.parts, points, points[1:])
        )

    def forward_shape(self, shape):
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape):
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self):
        return f"{type(self).__name__}(\n    " + ",\n    ".join(map(repr, self.parts)) + "\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A transform of which the last dimensions of the batch are part of the event."""

    def __init__(self, base_transform, reinterpreted_batch_ndims, cache_size=0):
        super().__init__(cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def with_cache(self, cache_size=1):
        if self._cache_size == cache_size:
            return self
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size)

    domain = property(
        lambda self: constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)
    )
    codomain = property(
        lambda self: constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)
    )
    bijective = property(lambda self: self.base_transform.bijective)
    sign = property(lambda self: self.base_transform.sign)

    def _call(self, x):
        return self.base_transform(x)

    def _inverse(self, y):
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x, y):
        return _summed(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)


class ReshapeTransform(Transform):
    """The last dimensions in another shape."""

    bijective = True

    def __init__(self, in_shape, out_shape, cache_size=0):
        super().__init__(cache_size)
        self.in_shape, self.out_shape = weft.Size(in_shape), weft.Size(out_shape)
        if math.prod(in_shape) != math.prod(out_shape):
            raise ValueError("in_shape, out_shape have different numbers of elements")

    domain = property(lambda self: constraints.independent(constraints.real, len(self.in_shape)))
    codomain = property(lambda self: constraints.independent(constraints.real, len(self.out_shape)))

    def _call(self, x):
        return x.reshape(tuple(x.shape[: x.dim() - len(self.in_shape)]) + tuple(self.out_shape))

    def _inverse(self, y):
        return y.reshape(tuple(y.shape[: y.dim() - len(self.out_shape)]) + tuple(self.in_shape))

    def log_abs_det_jacobian(self, x, y):
        return weft.zeros(tuple(x.shape[: x.dim() - len(self.in_shape)]), dtype=x.dtype)

    def forward_shape(self, shape):
        return (*shape[: len(shape) - len(self.in_shape)], *self.out_shape)

    def inverse_shape(self, shape):
        return (*shape[: len(shape) - len(self.out_shape)], *self.in_shape)


class ExpTransform(Transform):
    """exp(x)."""

    bijective, codomain = True, constraints.positive

    def _call(self, x):
        return x.exp()

    def _inverse(self, y):
        return y.log()

    def log_abs_det_jacobian(self, x, y):
        return x


class PowerTransform(Transform):
    """x to the power of exponent."""

    bijective, domain, codomain = True, constraints.positive, constraints.positive

    def __init__(self, exponent, cache_size=0):
        super().__init__(cache_size)
        self.exponent = exponent if isinstance(exponent, weft.Tensor) else weft.tensor(float(exponent))

    @property
    def sign(self):
        return self.exponent.sign()

    def _call(self, x):
        return x.pow(self.exponent)

    def _inverse(self, y):
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x, y):
        return (self.exponent * y / x).abs().log()


class SigmoidTransform(Transform):
    """The logistic function."""

    bijective, codomain = True, constraints.unit_interval

    def _call(self, x):
        limits = torch().finfo(x.dtype)
        return torch().sigmoid(x).clamp(min=limits.tiny, max=1.0 - limits.eps)

    def _inverse(self, y):
        limits = torch().finfo(y.dtype)
        y = y.clamp(min=limits.tiny, max=1.0 - limits.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x, y):
        softplus = torch().nn.functional.softplus
        return -softplus(-x) - softplus(x)


class SoftplusTransform(Transform):
    """log(1 + exp(x))."""

    bijective, codomain = True, constraints.positive

    def _call(self, x):
        return torch().nn.functional.softplus(x)

    def _inverse(self, y):
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x, y):
        return -torch().nn.functional.softplus(-x)


class TanhTransform(Transform):
    """tanh(x)."""

    bijective, codomain = True, constraints.interval(-1.0, 1.0)

    def _call(self, x):
        return x.tanh()

    def _inverse(self, y):
        return torch().atanh(y)

    def log_abs_det_jacobian(self, x, y):
        return 2.0 * (math.log(2.0) - x - torch().nn.functional.softplus(-2.0 * x))


class AbsTransform(Transform):
    """|x|."""

    codomain = constraints.positive

    def _call(self, x):
        return x.abs()

    def _inverse(self, y):
        return y


class AffineTransform(Transform):
    """loc + scale * x."""

    bijective = True

    def __init__(self, loc, scale, event_dim=0, cache_size=0):
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    event_dim = property(lambda self: self._event_dim)
    domain = codomain = property(
        lambda self: constraints.independent(constraints.real, self._event_dim)
        if self._event_dim
        else constraints.real
    )

    @property
    def sign(self):
        if isinstance(self.scale, (int, float)):
            return (self.scale > 0) - (self.scale < 0)
        return self.scale.sign()

    def _call(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x, y):
        if isinstance(self.scale, (int, float)):
            result = torch().full_like(x, math.log(abs(self.scale)))
        else:
            result = (
                self.scale.abs()
                .log()
                .expand(tuple(torch().broadcast_shapes(tuple(x.shape), tuple(self.scale.shape))))
            )
        return _summed(result, self._event_dim)


class SoftmaxTransform(Transform):
    """The softmax over the last dimension."""

    domain, codomain = constraints.real_vector, constraints.simplex

    def _call(self, x):
        return x.softmax(-1)

    def _inverse(self, y):
        return y.log()


class StickBreakingTransform(Transform):
    """Numbers to shares of one: each takes its share of what is left."""

    bijective, domain, codomain = True, constraints.real_vector, constraints.simplex

    def _call(self, x):
        offset = x.shape[-1] + 1 - torch().ones_like(x).cumsum(-1)
        z = SigmoidTransform()._call(x - offset.log())
        rest = (1 - z).cumprod(-1)
        pad = torch().nn.functional.pad
        return pad(z, [0, 1], value=1) * pad(rest, [1, 0], value=1)

    def _inverse(self, y):
        shares = y[..., :-1]
        offset = y.shape[-1] - torch().ones_like(shares).cumsum(-1)
        rest = (1 - shares.cumsum(-1)).clamp(min=torch().finfo(y.dtype).tiny)
        return shares.log() - rest.log() + offset.log()

    def log_abs_det_jacobian(self, x, y):
        offset = x.shape[-1] + 1 - torch().ones_like(x).cumsum(-1)
        x = x - offset.log()
        return (-x + torch().nn.functional.logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape):
        return (*shape[:-1], shape[-1] + 1)

    def inverse_shape(self, shape):
        return (*shape[:-1], shape[-1] - 1)


class LowerCholeskyTransform(Transform):
    """Matrices to lower triangular ones with a positive diagonal."""

    domain, codomain = constraints.independent(constraints.real, 2), constraints.lower_cholesky

    def _call(self, x):
        return x.tril(-1) + torch().diag_embed(torch().diagonal(x, dim1=-2, dim2=-1).exp())

    def _inverse(self, y):
        return y.tril(-1) + torch().diag_embed(torch().diagonal(y, dim1=-2, dim2=-1).log())


class CorrCholeskyTransform(Transform):
    """n (n - 1) / 2 numbers to the Cholesky factor of a correlation matrix [n, n], row by row.

    The numbers' tanh are partial correlations z: an element of the factor is z times what the squares to its left leave of
    its row's length 1. source: the definition of the LKJ distribution's parameters.
    """

    domain, codomain, bijective = constraints.real_vector, constraints.corr_cholesky, True

    def _call(self, x):
        eps = torch().finfo(x.dtype).eps
        partial = vec_to_tril_matrix(x.tanh().clamp(-1 + eps, 1 - eps), diag=-1)
        left = (1 - partial * partial).sqrt().cumprod(-1)[..., :-1]
        eye = torch().eye(partial.shape[-1], dtype=partial.dtype)
        return (partial + eye) * _behind_ones(left)

    def _inverse(self, y):
        left = 1 - torch().cumsum(y * y, -1)[..., :-1]
        partial = tril_matrix_to_vec(y, -1) / tril_matrix_to_vec(_behind_ones(left), -1).sqrt()
        return (partial.log1p() - (-partial).log1p()) / 2

    def log_abs_det_jacobian(self, x, y, intermediates=None):
        left = tril_matrix_to_vec(1 - (y * y).cumsum(-1), -2)
        of_tanh = x + weft.nn.functional.softplus(-2 * x) - math.log(2)
        return 0.5 * left.log().sum(-1) - 2 * of_tanh.sum(-1)

    def forward_shape(self, shape):
        size = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != shape[-1]:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return (*shape[:-1], size, size)

    def inverse_shape(self, shape):
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        return (*shape[:-2], shape[-1] * (shape[-1] - 1) // 2)


def _behind_ones(columns):
    """Columns behind one of ones."""
    return weft.nn.functional.pad(columns, [1, 0], value=1)


class PositiveDefiniteTransform(Transform):
    """Matrices to positive definite ones."""

    domain, codomain = constraints.independent(constraints.real, 2), constraints.positive_definite

    def _call(self, x):
        root = LowerCholeskyTransform()(x)
        return root @ root.mT

    def _inverse(self, y):
        return LowerCholeskyTransform().inv(torch().linalg.cholesky(y))


class CatTransform(Transform):
    """Transforms of parts that lie one after another."""

    def __init__(self, tseq, dim=0, lengths=None, cache_size=0):
        super().__init__(cache_size)
        self.transforms, self.dim = _with_caches(tseq, cache_size), dim
        self.lengths = list(lengths or [1] * len(self.transforms))

    bijective = property(lambda self: all(each.bijective for each in self.transforms))

    def _parts(self, value):
        if value.size(self.dim) != sum(self.lengths):
            raise AssertionError(f"{value.size(self.dim)} slices, but transforms of {sum(self.lengths)}")
        return value.split(self.lengths, self.dim)

    def _joined(self, parts):
        return torch().cat(parts, self.dim)

    def _call(self, x):
        return self._joined([each(part) for each, part in zip(self.transforms, self._parts(x))])

    def _inverse(self, y):
        return self._joined([each.inv(part) for each, part in zip(self.transforms, self._parts(y))])

    def log_abs_det_jacobian(self, x, y):
        pairs = zip(self.transforms, self._parts(x), self._parts(y))
        return self._joined([each.log_abs_det_jacobian(a, b) for each, a, b in pairs])


class StackTransform(CatTransform):
    """Transforms of the slices of a dimension."""

    def __init__(self, tseq, dim=0, cache_size=0):
        super().__init__(tseq, dim, cache_size=cache_size)

    def _parts(self, value):
        if value.size(self.dim) != len(self.transforms):
            raise AssertionError(f"{value.size(self.dim)} slices, but {len(self.transforms)} transforms")
        return value.unbind(self.dim)

    def _joined(self, parts):
        return torch().stack(parts, self.dim)


class CumulativeDistributionTransform(Transform):
    """A distribution's cdf."""

    bijective, codomain = True, constraints.unit_interval

    def __init__(self, distribution, cache_size=0):
        super().__init__(cache_size)
        self.distribution = distribution

    domain = property(lambda self: self.distribution.support)

    def _call(self, x):
        return self.distribution.cdf(x)

    def _inverse(self, y):
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x, y):
        return self.distribution.log_prob(x)
