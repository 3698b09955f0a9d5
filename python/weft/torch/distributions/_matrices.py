"""torch.distributions' distributions of vectors that vary together, and of matrices."""

import math

from . import constraints
from ._base import Distribution, broadcast_all, torch
from ._continuous import Beta


class _NormalVectors(Distribution):
    """What normal distributions of vectors share: `loc`, and _half_log_det(), half the logarithm of the covariance's
    determinant."""

    has_rsample = True
    support = constraints.real_vector

    @property
    def mean(self):
        return self.loc

    mode = mean

    def _density(self, distance):
        """log_prob of vectors whose squared Mahalanobis distance from the mean this is."""
        return -0.5 * (self.loc.shape[-1] * math.log(2 * math.pi) + distance) - self._half_log_det()

    def entropy(self):
        return 0.5 * self.loc.shape[-1] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()


class MultivariateNormal(_NormalVectors):
    """Of a mean and a covariance matrix, its inverse, or its lower triangular root."""

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }

    def __init__(
        self, loc, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None
    ):
        names = ("covariance_matrix", "precision_matrix", "scale_tril")
        matrices = dict(zip(names, (covariance_matrix, precision_matrix, scale_tril)))
        given = {name: matrix for name, matrix in matrices.items() if matrix is not None}
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        if len(given) != 1:
            raise ValueError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
            )
        ((name, matrix),) = given.items()
        if matrix.dim() < 2:
            raise ValueError(
                f"{name} must be at least two-dimensional, with optional leading batch dimensions"
            )
        shape = torch().broadcast_shapes(tuple(loc.shape[:-1]), tuple(matrix.shape[:-2]))
        self.loc = loc.expand((*shape, loc.shape[-1]))
        matrix = matrix.expand((*shape, *matrix.shape[-2:]))
        setattr(self, name, matrix)
        super().__init__(shape, loc.shape[-1:], validate_args)
        self._check_parameters()
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = torch().linalg.cholesky(matrix)
        else:
            flipped = torch().linalg.cholesky(torch().flip(matrix, (-2, -1)))
            upper = torch().transpose(torch().flip(flipped, (-2, -1)), -2, -1)
            identity = torch().eye(matrix.shape[-1], dtype=matrix.dtype)
            self._unbroadcasted_scale_tril = torch().linalg.solve_triangular(upper, identity, upper=False)

    def __getattr__(self, name):
        if name == "scale_tril":
            self.scale_tril = self._unbroadcasted_scale_tril
        elif name == "covariance_matrix":
            self.covariance_matrix = torch().matmul(
                self._unbroadcasted_scale_tril, self._unbroadcasted_scale_tril.mT
            )
        elif name == "precision_matrix":
            self.precision_matrix = torch().cholesky_inverse(self._unbroadcasted_scale_tril)
        else:
            raise AttributeError(name)
        return self.__dict__[name]

    def expand(self, batch_shape, _instance=None):
        loc = self.loc.expand((*batch_shape, *self._event_shape))
        root = self._unbroadcasted_scale_tril.expand(
            (*batch_shape, *self._unbroadcasted_scale_tril.shape[-2:])
        )
        return self._made(_instance, loc, scale_tril=root)

    @property
    def variance(self):
        return self._unbroadcasted_scale_tril.pow(2).sum(-1)

    def rsample(self, sample_shape=()):
        eps = torch().randn(self._extended_shape(sample_shape), dtype=self.loc.dtype)
        return self.loc + torch().matmul(self._unbroadcasted_scale_tril, eps.unsqueeze(-1)).squeeze(-1)

    def _half_log_det(self):
        return torch().diagonal(self._unbroadcasted_scale_tril, dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value):
        self._check_value(value)
        difference = (value - self.loc).unsqueeze(-1)
        root = self._unbroadcasted_scale_tril.expand(
            (*difference.shape[:-2], *self._unbroadcasted_scale_tril.shape[-2:])
        )
        solved = torch().linalg.solve_triangular(root, difference, upper=False).squeeze(-1)
        return self._density(solved.pow(2).sum(-1))


def _column(vector):
    return vector.unsqueeze(-1)


class LowRankMultivariateNormal(_NormalVectors):
    """Of a mean [n] and the covariance matrix cov_factor @ cov_factor.mT + diag(cov_diag), of cov_factor [n, k], cov_diag [n].

    The matrix [n, n] is not made for samples and densities: one of [k, k] is (Woodbury's identity).
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }

    def __init__(self, loc, cov_factor, cov_diag, validate_args=None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event = tuple(loc.shape[-1:])
        if cov_factor.dim() < 2:
            raise ValueError(
                "cov_factor must be at least two-dimensional, with optional leading batch dimensions"
            )
        if tuple(cov_factor.shape[-2:-1]) != event:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event[0]} x m")
        if tuple(cov_diag.shape[-1:]) != event:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event}")
        shape = torch().broadcast_shapes(
            tuple(loc.shape[:-1]), tuple(cov_factor.shape[:-2]), tuple(cov_diag.shape[:-1])
        )
        self.loc = loc.expand((*shape, *event))
        self.cov_factor = cov_factor.expand((*shape, *cov_factor.shape[-2:]))
        self.cov_diag = cov_diag.expand((*shape, *event))
        super().__init__(shape, event, validate_args)
        self._check_parameters()
        scaled = self.cov_factor.mT / self.cov_diag.unsqueeze(-2)
        identity = torch().eye(cov_factor.shape[-1], dtype=cov_factor.dtype)
        self._small_root = torch().linalg.cholesky(scaled @ self.cov_factor + identity)
        self._scaled_factor = scaled  # [k, n]

    def expand(self, batch_shape, _instance=None):
        return self._made(
            _instance,
            self.loc.expand((*batch_shape, *self._event_shape)),
            self.cov_factor.expand((*batch_shape, *self.cov_factor.shape[-2:])),
            self.cov_diag.expand((*batch_shape, *self._event_shape)),
        )

    @property
    def variance(self):
        return (self.cov_factor.pow(2).sum(-1) + self.cov_diag).expand(self._batch_shape + self._event_shape)

    @property
    def covariance_matrix(self):
        return self.cov_factor @ self.cov_factor.mT + torch().diag_embed(self.cov_diag)

    @property
    def scale_tril(self):
        return torch().linalg.cholesky(self.covariance_matrix)

    @property
    def precision_matrix(self):
        solved = torch().linalg.solve_triangular(self._small_root, self._scaled_factor, upper=False)
        return torch().diag_embed(self.cov_diag.reciprocal()) - solved.mT @ solved

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        common = torch().randn((*shape[:-1], self.cov_factor.shape[-1]), dtype=self.loc.dtype)
        own = torch().randn(shape, dtype=self.loc.dtype)
        return self.loc + (self.cov_factor @ _column(common)).squeeze(-1) + self.cov_diag.sqrt() * own

    def _half_log_det(self):
        roots = torch().diagonal(self._small_root, dim1=-2, dim2=-1)
        return roots.log().sum(-1) + 0.5 * self.cov_diag.log().sum(-1)

    def log_prob(self, value):
        self._check_value(value)
        difference = value - self.loc
        small = self._scaled_factor @ _column(difference)
        root = self._small_root.expand((*small.shape[:-2], *self._small_root.shape[-2:]))
        solved = torch().linalg.solve_triangular(root, small, upper=False).squeeze(-1)
        distance = (difference.pow(2) / self.cov_diag).sum(-1) - solved.pow(2).sum(-1)
        return self._density(distance)


class LKJCholesky(Distribution):
    """Of Cholesky factors [dim, dim] of correlation matrices, whose density is that of the matrix's determinant to the power of
    concentration - 1. Drawn by the onion method. source: Lewandowski, Kurowicka and Joe, 2009.
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim, concentration=1.0, validate_args=None):
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        super().__init__(self.concentration.shape, (dim, dim), validate_args)
        self._check_parameters()
        rows = torch().arange(dim - 1, dtype=self.concentration.dtype)
        rows = torch().cat([rows.new_zeros((1,)), rows])
        whole = self.concentration + 0.5 * (dim - 2)
        self._beta = Beta(rows + 0.5, _column(whole) - 0.5 * rows)

    def expand(self, batch_shape, _instance=None):
        return self._made(_instance, self.dim, self.concentration.expand(tuple(batch_shape)))

    def sample(self, sample_shape=()):
        lengths = _column(self._beta.sample(sample_shape))
        normal = torch().randn(self._extended_shape(sample_shape), dtype=self.concentration.dtype).tril(-1)
        directions = normal / normal.norm(dim=-1, keepdim=True)
        directions[..., 0, :] = 0.0
        rows = lengths.sqrt() * directions
        rest = torch().clamp(1 - (rows**2).sum(-1), min=torch().finfo(rows.dtype).tiny)
        return rows + torch().diag_embed(rest.sqrt())

    def log_prob(self, value):
        self._check_value(value)
        diagonal = torch().diagonal(value, dim1=-1, dim2=-2)[..., 1:]
        powers = torch().arange(2, self.dim + 1, dtype=self.concentration.dtype)
        powers = _column(2 * (self.concentration - 1)) + self.dim - powers
        rows = self.dim - 1
        alpha = self.concentration + 0.5 * rows
        normalize = (
            0.5 * rows * math.log(math.pi)
            + torch().mvlgamma(alpha - 0.5, rows)
            - torch().lgamma(alpha) * rows
        )
        return (powers * diagonal.log()).sum(-1) - normalize


class Wishart(Distribution):
    """A class to name, derive from and ask about. Its constructor raises NotImplementedError."""

    def __init__(
        self, df, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None
    ):
        raise NotImplementedError("torch.distributions.Wishart is PyTorch's, but not weft's: not written yet")
