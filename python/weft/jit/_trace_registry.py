"""The table of rules by operator, and what rules of several families need."""

import numbers

import weft

OPERATORS = {}


def operator_rule(*names):
    """Registers a rule for these operators, or for the one of its own name."""

    def register(function):
        for name in names or (function.__name__.strip("_"),):
            OPERATORS[name] = function
        return function

    return register


def is_number(value):
    return not isinstance(value, weft.Tensor) and isinstance(value, numbers.Number)


def repeated(values, count):
    """A size for every dimension, where one stands for all."""
    values = list(values)
    return values * count if len(values) == 1 else values


def inexact(x, aten):
    """In float32, where it is of integers or truth values."""
    return x if x.is_floating_point() or x.is_complex() else aten.to(x, weft.float32)
