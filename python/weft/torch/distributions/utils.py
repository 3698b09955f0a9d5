"""torch.distributions.utils' names: what distributions of programs' own are written with."""

import functools

import weft

from ._base import broadcast_all, torch

__all__ = ["broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits"]

euler_constant = 0.57721566490153286060


def _standard_normal(shape, dtype, device):
    """Normally distributed numbers of a shape."""
    return weft.normal(
        weft.zeros(shape, dtype=dtype, device=device), weft.ones(shape, dtype=dtype, device=device)
    )


def _sum_rightmost(value, dim):
    """The sum over the last `dim` dimensions."""
    if dim == 0:
        return value
    return value.reshape(tuple(value.shape[:-dim]) + (-1,)).sum(-1)


def clamp_probs(probs):
    """Probabilities, away from 0 and 1 by the dtype's eps."""
    eps = torch().finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs, is_binary=False):
    """log p, or of binary probabilities log(p / (1 - p))."""
    probs = clamp_probs(probs)
    return weft.log(probs) - weft.log1p(-probs) if is_binary else weft.log(probs)


def logits_to_probs(logits, is_binary=False):
    """The softmax over the last dimension, or of binary logits the sigmoid."""
    return weft.sigmoid(logits) if is_binary else weft.softmax(logits, -1)


def vec_to_tril_matrix(vec, diag=0):
    """[..., n, n]: the last dimension's elements, row by row, as the part up to diagonal `diag`, at or below the main one."""
    n = round(
        (-(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * vec.shape[-1] + 4 * abs(diag) * (diag + 1)) ** 0.5) / 2
    )
    rows, columns = torch().tril_indices(n, n, diag)
    matrix = vec.new_zeros(tuple(vec.shape[:-1]) + (n, n))
    matrix[..., rows, columns] = vec
    return matrix


def tril_matrix_to_vec(mat, diag=0):
    """The elements up to diagonal `diag` of square matrices [..., n, n], row by row. ValueError for a diagonal outside of them."""
    n = mat.shape[-1]
    if diag < -n or diag >= n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    rows, columns = torch().tril_indices(n, n, diag)
    return mat[..., rows, columns]


class lazy_property:
    """A property that is computed when it is first asked for, and kept in the object's __dict__."""

    def __init__(self, wrapped):
        self.wrapped = wrapped
        functools.update_wrapper(self, wrapped)

    def __get__(self, instance, obj_type=None):
        if instance is None:
            return _LazyPropertyOfClass(self.wrapped)
        value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _LazyPropertyOfClass(lazy_property, property):
    """What a class shows of a lazy_property: a property, for documentation."""

    def __init__(self, wrapped):
        property.__init__(self, wrapped)
