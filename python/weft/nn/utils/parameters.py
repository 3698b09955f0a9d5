"""Parameters as one vector; modules without starting values."""

import math

import weft
from weft.nn import init


def parameters_to_vector(parameters):
    """All elements of the parameters after one another, as one vector."""
    return weft.cat([parameter.reshape((-1,)) for parameter in parameters])


def vector_to_parameters(vec, parameters):
    """Writes parts of a vector, as parameters_to_vector makes it, into the parameters."""
    parameters = list(parameters)
    total = sum(parameter.numel() for parameter in parameters)
    if vec.ndim != 1 or vec.shape[0] != total:
        raise ValueError(
            f"vector_to_parameters: expected a vector of {total} elements, got shape {list(vec.shape)}"
        )
    start = 0
    for parameter in parameters:
        count = math.prod(parameter.shape)
        parameter.copy_(vec[start : start + count].reshape(tuple(parameter.shape)))
        start += count


def skip_init(module_cls, *args, **kwargs):
    """A module of this class whose parameters are not initialized: for one that gets a state right away."""
    with init.skipped():
        return module_cls(*args, **kwargs)
