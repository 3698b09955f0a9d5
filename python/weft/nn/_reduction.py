"""The numbers and names of reductions, as programs import them from torch.nn._reduction."""

from ._losses import _reduction

_NUMBERS = {"none": 0, "mean": 1, "elementwise_mean": 1, "sum": 2}


def get_enum(reduction):
    """The number of a reduction."""
    if reduction not in _NUMBERS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _NUMBERS[reduction]


def legacy_get_string(size_average, reduce, emit_warning=True):
    """The reduction that two older arguments stand for."""
    return _reduction(
        True if size_average is None else size_average, True if reduce is None else reduce, "mean"
    )


def legacy_get_enum(size_average, reduce, emit_warning=True):
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
