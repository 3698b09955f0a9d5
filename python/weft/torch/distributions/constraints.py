"""torch.distributions.constraints: where parameters and values may lie. `check` says it element by element."""

import weft

__all__ = """Constraint boolean cat corr_cholesky dependent dependent_property greater_than greater_than_eq independent
integer_interval interval half_open_interval is_dependent less_than lower_cholesky lower_triangular MixtureSameFamilyConstraint
multinomial nonnegative nonnegative_integer one_hot positive positive_semidefinite positive_definite positive_integer real
real_vector simplex square stack symmetric unit_interval""".split()


class Constraint:
    """What values must satisfy. event_dim: how many of the last dimensions are one value."""

    is_discrete, event_dim = False, 0

    def check(self, value):
        raise NotImplementedError

    def __repr__(self):
        return f"{type(self).__name__.removeprefix('_')}()"


class _Dependent(Constraint):
    """Of a parameter whose constraint depends on others."""

    def __init__(self, *, is_discrete=None, event_dim=None):
        self.is_discrete, self.event_dim = bool(is_discrete), event_dim or 0

    def check(self, x):
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint):
    return isinstance(constraint, _Dependent)


class dependent_property(property):
    """A property of a distribution that is the constraint of its values."""

    def __init__(self, fn=None, *, is_discrete=None, event_dim=None):
        super().__init__(fn)

    def __call__(self, fn):
        return dependent_property(fn)


class _IndependentConstraint(Constraint):
    def __init__(self, base_constraint, reinterpreted_batch_ndims):
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims
        self.is_discrete = base_constraint.is_discrete
        self.event_dim = base_constraint.event_dim + reinterpreted_batch_ndims

    def check(self, value):
        result = self.base_constraint.check(value)
        if result.dim() < self.reinterpreted_batch_ndims:
            raise ValueError(
                f"Expected value.dim() >= {self.base_constraint.event_dim + self.reinterpreted_batch_ndims} but got {value.dim()}"
            )
        for _ in range(self.reinterpreted_batch_ndims):
            result = result.all(-1)
        return result

    def __repr__(self):
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class _MixtureSameFamilyConstraint(Constraint):
    def __init__(self, base_constraint):
        self.base_constraint = base_constraint
        self.is_discrete, self.event_dim = base_constraint.is_discrete, base_constraint.event_dim

    def check(self, value):
        result = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        return result.all(-1) if result.dim() else result

    def __repr__(self):
        return f"MixtureSameFamilyConstraint({self.base_constraint!r})"


class _Compared(Constraint):
    """A constraint of bounds."""

    _bounds = ()

    def __init__(self, *bounds, **named):
        given = {**dict(zip(self._bounds, bounds)), **named}
        if len(bounds) + len(named) != len(self._bounds) or set(given) != set(self._bounds):
            raise TypeError(f"{type(self).__name__}() takes {', '.join(self._bounds)}")
        self.__dict__.update(given)

    def __repr__(self):
        bounds = ", ".join(f"{name}={getattr(self, name)}" for name in self._bounds)
        return f"{type(self).__name__.removeprefix('_')}({bounds})"


class _GreaterThan(_Compared):
    _bounds = ("lower_bound",)

    def check(self, value):
        return value > self.lower_bound


class _GreaterThanEq(_Compared):
    _bounds = ("lower_bound",)

    def check(self, value):
        return value >= self.lower_bound


class _LessThan(_Compared):
    _bounds = ("upper_bound",)

    def check(self, value):
        return value < self.upper_bound


class _Interval(_Compared):
    _bounds = ("lower_bound", "upper_bound")

    def check(self, value):
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class _HalfOpenInterval(_Interval):
    def check(self, value):
        return (self.lower_bound <= value) & (value < self.upper_bound)


class _IntegerInterval(_Interval):
    is_discrete = True

    def check(self, value):
        return (value % 1 == 0) & (self.lower_bound <= value) & (value <= self.upper_bound)


class _IntegerLessThan(_LessThan):
    is_discrete = True

    def check(self, value):
        return (value % 1 == 0) & (value <= self.upper_bound)


class _IntegerGreaterThan(_GreaterThan):
    is_discrete = True

    def check(self, value):
        return (value % 1 == 0) & (value >= self.lower_bound)


class _Real(Constraint):
    def check(self, value):
        return value == value


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value):
        return (value == 0) | (value == 1)


class _OneHot(Constraint):
    is_discrete, event_dim = True, 1

    def check(self, value):
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class _Simplex(Constraint):
    event_dim = 1

    def check(self, value):
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    is_discrete, event_dim = True, 1

    def __init__(self, upper_bound):
        self.upper_bound = upper_bound

    def check(self, x):
        return (x >= 0).all(-1) & (x.sum(-1) <= self.upper_bound)


def _lower(value):
    return (value.tril() == value).flatten(-2).all(-1)


class _LowerTriangular(Constraint):
    event_dim = 2

    def check(self, value):
        return _lower(value)


class _LowerCholesky(Constraint):
    event_dim = 2

    def check(self, value):
        return _lower(value) & (weft.diagonal(value, 0, -2, -1) > 0).all(-1)


class _CorrCholesky(Constraint):
    event_dim = 2

    def check(self, value):
        tolerance = (1e-15 if value.dtype == weft.float64 else 1.1920928955078125e-06) * value.shape[-1] * 10
        norms = (value * value).sum(-1).sqrt()
        return _LowerCholesky().check(value) & ((norms - 1).abs() < tolerance).all(-1)


class _Square(Constraint):
    event_dim = 2

    def check(self, value):
        return weft.full(tuple(value.shape[:-2]), value.shape[-2] == value.shape[-1], dtype=weft.bool)


class _Symmetric(_Square):
    def check(self, value):
        return ((value - value.mT).abs() <= 1e-6 + 1e-5 * value.mT.abs()).all(-2).all(-1)


class _PositiveDefinite(_Symmetric):
    def check(self, value):
        return super().check(value) & (weft.cholesky_ex(value)[1] == 0)


class _PositiveSemidefinite(_Symmetric):
    def check(self, value):
        return super().check(value) & (weft.eigvalsh(value) >= 0).all(-1)


class _Cat(Constraint):
    def __init__(self, cseq, dim=0, lengths=None):
        self.cseq, self.dim, self.lengths = list(cseq), dim, list(lengths or [1] * len(list(cseq)))

    def check(self, value):
        parts = value.split(self.lengths, self.dim)
        return weft.cat([each.check(part) for each, part in zip(self.cseq, parts)], self.dim)


class _Stack(Constraint):
    def __init__(self, cseq, dim=0):
        self.cseq, self.dim = list(cseq), dim

    def check(self, value):
        return weft.stack(
            [each.check(part) for each, part in zip(self.cseq, value.unbind(self.dim))], self.dim
        )


dependent = _Dependent()
independent, mixture_same_family = _IndependentConstraint, _MixtureSameFamilyConstraint
MixtureSameFamilyConstraint = _MixtureSameFamilyConstraint
boolean, one_hot, real, simplex = _Boolean(), _OneHot(), _Real(), _Simplex()
nonnegative_integer, positive_integer = _IntegerGreaterThan(0), _IntegerGreaterThan(1)
integer_interval, interval, half_open_interval = _IntegerInterval, _Interval, _HalfOpenInterval
real_vector = independent(real, 1)
positive, nonnegative, unit_interval = _GreaterThan(0.0), _GreaterThanEq(0.0), _Interval(0.0, 1.0)
greater_than, greater_than_eq, less_than, multinomial = _GreaterThan, _GreaterThanEq, _LessThan, _Multinomial
lower_triangular, lower_cholesky, corr_cholesky = _LowerTriangular(), _LowerCholesky(), _CorrCholesky()
square, symmetric = _Square(), _Symmetric()
positive_definite, positive_semidefinite = _PositiveDefinite(), _PositiveSemidefinite()
cat, stack = _Cat, _Stack
