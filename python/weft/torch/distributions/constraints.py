"""torch.distributions.constraints' names: what values a parameter or a sample may have; check(value) says for each event."""

import functools

import weft

__all__ = ["Constraint", "boolean", "cat", "corr_cholesky", "dependent", "dependent_property", "greater_than",
           "greater_than_eq", "half_open_interval", "independent", "integer_interval", "interval", "is_dependent",
           "less_than", "lower_cholesky", "lower_triangular", "multinomial", "nonnegative", "nonnegative_integer", "one_hot",
           "positive", "positive_definite", "positive_integer", "positive_semidefinite", "real", "real_vector", "simplex",
           "square", "stack", "symmetric", "unit_interval"]  # fmt: skip


class Constraint:
    """is_discrete; event_dim, the dimensions that make one event; check(value): bool of the shape without these."""

    is_discrete = False
    event_dim = 0

    def check(self, value):
        raise NotImplementedError

    def __repr__(self):
        return type(self).__name__.removeprefix("_") + "()"


class _Elements(Constraint):
    """Each element by itself; bounds: names and values that the constraint prints."""

    def __init__(self, holds, is_discrete=False, **bounds):
        self._holds, self.is_discrete, self._bounds = holds, is_discrete, bounds
        vars(self).update(bounds)

    def check(self, value):
        return self._holds(value)


def _class(name, make):
    """A class of constraints of elements, made of bounds."""

    def __init__(self, *args, **kwargs):
        _Elements.__init__(self, *make(*args, **kwargs)[:2], **make(*args, **kwargs)[2])

    def __repr__(self):
        bounds = ", ".join(f"{key}={value}" for key, value in self._bounds.items())
        return f"{name}({bounds})"

    return type(name, (_Elements,), {"__init__": __init__, "__repr__": __repr__})


def _is_whole(value):
    return value % 1 == 0


_GreaterThan = _class(
    "GreaterThan", lambda lower_bound: (lambda v: lower_bound < v, False, {"lower_bound": lower_bound})
)
_GreaterThanEq = _class(
    "GreaterThanEq", lambda lower_bound: (lambda v: lower_bound <= v, False, {"lower_bound": lower_bound})
)
_LessThan = _class(
    "LessThan", lambda upper_bound: (lambda v: v < upper_bound, False, {"upper_bound": upper_bound})
)


def _between(low, high):
    return {"lower_bound": low, "upper_bound": high}


_Interval = _class(
    "Interval", lambda lower_bound, upper_bound: (
        lambda v: (lower_bound <= v) & (v <= upper_bound), False, _between(lower_bound, upper_bound))
)  # fmt: skip
_HalfOpenInterval = _class(
    "HalfOpenInterval", lambda lower_bound, upper_bound: (
        lambda v: (lower_bound <= v) & (v < upper_bound), False, _between(lower_bound, upper_bound))
)  # fmt: skip
_IntegerInterval = _class(
    "IntegerInterval", lambda lower_bound, upper_bound: (
        lambda v: _is_whole(v) & (lower_bound <= v) & (v <= upper_bound), True, _between(lower_bound, upper_bound))
)  # fmt: skip
_IntegerGreaterThan = _class(
    "IntegerGreaterThan", lambda lower_bound: (
        lambda v: _is_whole(v) & (v >= lower_bound), True, {"lower_bound": lower_bound})
)  # fmt: skip
_Boolean = _class("Boolean", lambda: (lambda v: (v == 0) | (v == 1), True, {}))
_Real = _class("Real", lambda: (lambda v: v == v, False, {}))


class _Dependent(Constraint):
    """Of variables whose support depends on others."""

    def __init__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        if is_discrete is not NotImplemented:
            self.is_discrete = is_discrete
        if event_dim is not NotImplemented:
            self.event_dim = event_dim

    def __call__(self, *, is_discrete=NotImplemented, event_dim=NotImplemented):
        return _Dependent(
            is_discrete=self.is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self.event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, x):
        raise ValueError("Cannot determine validity of dependent constraint")


class dependent_property(property, _Dependent):
    """A property that is a constraint on the others of its distribution."""

    def __init__(self, fn=None, *, is_discrete=False, event_dim=0):
        super().__init__(fn)
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def __call__(self, fn):
        return dependent_property(fn, is_discrete=self.is_discrete, event_dim=self.event_dim)


def is_dependent(constraint):
    return isinstance(constraint, _Dependent)


class independent(Constraint):
    """A constraint whose events have further dimensions."""

    def __init__(self, base_constraint, reinterpreted_batch_ndims):
        self.base_constraint, self.reinterpreted_batch_ndims = base_constraint, reinterpreted_batch_ndims
        self.is_discrete = base_constraint.is_discrete
        self.event_dim = base_constraint.event_dim + reinterpreted_batch_ndims

    def check(self, value):
        result = self.base_constraint.check(value)
        count = self.reinterpreted_batch_ndims
        if result.dim() < count:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return result.reshape(*result.shape[: result.dim() - count], -1).all(-1) if count else result

    def __repr__(self):
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(Constraint):
    """A constraint on a mixture's samples: that of its components, for each of them."""

    def __init__(self, base_constraint):
        self.base_constraint = base_constraint
        self.is_discrete, self.event_dim = base_constraint.is_discrete, base_constraint.event_dim

    def check(self, value):
        return self.base_constraint.check(value)


class _Vectors(Constraint):
    """Events that are vectors or matrices."""

    def __init__(self, name, event_dim, holds, is_discrete=False):
        self._name, self.event_dim, self._holds, self.is_discrete = name, event_dim, holds, is_discrete

    def check(self, value):
        return self._holds(value)

    def __repr__(self):
        return f"{self._name}()"


class _multinomial(Constraint):
    is_discrete, event_dim = True, 1

    def __init__(self, upper_bound):
        self.upper_bound = upper_bound

    def check(self, x):
        return (x >= 0).all(-1) & (x.sum(-1) <= self.upper_bound)


class _Parts(Constraint):
    """Slices along a dimension, each under a constraint of its own."""

    def __init__(self, constraints, dim, lengths):
        self.cseq, self.dim, self.lengths = list(constraints), dim, lengths
        self.is_discrete = any(each.is_discrete for each in self.cseq)


class cat(_Parts):
    """Parts of these lengths along a dimension."""

    def __init__(self, cseq, dim=0, lengths=None):
        cseq = list(cseq)
        super().__init__(cseq, dim, list(lengths) if lengths is not None else [1] * len(cseq))
        self.event_dim = max(each.event_dim for each in cseq)

    def check(self, value):
        parts = weft.split(value, self.lengths, self.dim)
        return weft.cat([each.check(part) for each, part in zip(self.cseq, parts)], self.dim)


class stack(_Parts):
    """The elements along a dimension."""

    def __init__(self, cseq, dim=0):
        super().__init__(cseq, dim, None)
        self.event_dim = max(each.event_dim for each in self.cseq) + (self.dim + self.event_dim < 0)

    def check(self, value):
        parts = [value.select(self.dim, i) for i in range(value.shape[self.dim])]
        return weft.stack([each.check(part) for each, part in zip(self.cseq, parts)], self.dim)


def _rows_hold(value, holds):
    return holds(value).reshape(*value.shape[:-2], -1).all(-1)


def _is_square(value):
    return weft.full(tuple(value.shape[:-2]), value.shape[-2] == value.shape[-1], dtype=weft.bool)


def _is_symmetric(value):
    square = _is_square(value)
    if not bool(square.all()):
        return square
    return _rows_hold(value, lambda v: weft.isclose(v, v.transpose(-2, -1), atol=1e-6))


def _of_symmetric(holds):
    def check(value):
        symmetric = _is_symmetric(value)
        return holds(value) if bool(symmetric.all()) else symmetric

    return check


@functools.cache
def _torch():
    from weft import torch

    return torch


def _is_lower_triangular(value):
    return _rows_hold(value, lambda v: v.tril() == v)


def _is_lower_cholesky(value):
    return _is_lower_triangular(value) & (weft.diagonal(value, dim1=-2, dim2=-1) > 0).all(-1)


def _is_corr_cholesky(value):
    tolerance = _torch().finfo(value.dtype).eps * value.shape[-1] * 10
    lengths = (value * value).sum(-1)
    return _is_lower_cholesky(value) & ((lengths - 1).abs() < tolerance).all(-1)


dependent = _Dependent()
boolean = _Boolean()
one_hot = _Vectors("OneHot", 1, lambda v: ((v == 0) | (v == 1)).all(-1) & (v.sum(-1) == 1), is_discrete=True)
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Vectors("Simplex", 1, lambda v: (v >= 0).all(-1) & ((v.sum(-1) - 1).abs() < 1e-6))
lower_triangular = _Vectors("LowerTriangular", 2, _is_lower_triangular)
lower_cholesky = _Vectors("LowerCholesky", 2, _is_lower_cholesky)
corr_cholesky = _Vectors("CorrCholesky", 2, _is_corr_cholesky)
square = _Vectors("Square", 2, _is_square)
symmetric = _Vectors("Symmetric", 2, _is_symmetric)
positive_semidefinite = _Vectors(
    "PositiveSemidefinite", 2, _of_symmetric(lambda v: (_torch().linalg.eigvalsh(v) >= 0).all(-1))
)
positive_definite = _Vectors(
    "PositiveDefinite", 2, _of_symmetric(lambda v: _torch().linalg.cholesky_ex(v).info == 0)
)
