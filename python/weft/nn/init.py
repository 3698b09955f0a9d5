"""Starting values of parameters, written in place. Random numbers come from NumPy's generator; `manual_seed` sets it."""

import math

import weft

_generator = None


def _random():
    global _generator
    if _generator is None:
        import numpy

        _generator = numpy.random.default_rng()
    return _generator


def manual_seed(seed):
    """Starting values are the same after the same seed (those of another library differ)."""
    global _generator
    import numpy

    _generator = numpy.random.default_rng(seed)


def _fill(tensor, values):
    tensor.copy_(weft.from_numpy(values.astype("float32")))
    return tensor


def uniform_(tensor, a=0.0, b=1.0):
    return _fill(tensor, _random().uniform(a, b, tuple(tensor.shape)))


def normal_(tensor, mean=0.0, std=1.0):
    return _fill(tensor, _random().normal(mean, std, tuple(tensor.shape)))


def constant_(tensor, val):
    tensor.fill_(val)
    return tensor


def ones_(tensor):
    return constant_(tensor, 1.0)


def zeros_(tensor):
    return constant_(tensor, 0.0)


def _fans(tensor):
    shape = list(tensor.shape)
    if len(shape) < 2:
        raise ValueError(f"fan in and fan out need at least two dimensions, got shape {shape}")
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


def calculate_gain(nonlinearity, param=None):
    gains = {"relu": math.sqrt(2.0), "tanh": 5.0 / 3.0, "selu": 0.75}
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    return gains.get(nonlinearity, 1.0)


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu"):
    fan = _fans(tensor)[0 if mode == "fan_in" else 1]
    bound = math.sqrt(3.0) * calculate_gain(nonlinearity, a) / math.sqrt(fan) if fan else 0.0
    return uniform_(tensor, -bound, bound)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu"):
    fan = _fans(tensor)[0 if mode == "fan_in" else 1]
    return normal_(tensor, 0.0, calculate_gain(nonlinearity, a) / math.sqrt(fan) if fan else 0.0)


def xavier_uniform_(tensor, gain=1.0):
    bound = gain * math.sqrt(6.0 / sum(_fans(tensor)))
    return uniform_(tensor, -bound, bound)


def xavier_normal_(tensor, gain=1.0):
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_fans(tensor))))


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0):
    random, shape = _random(), tuple(tensor.shape)
    values = random.normal(mean, std, shape)
    while ((values < a) | (values > b)).any():
        outside = (values < a) | (values > b)
        values[outside] = random.normal(mean, std, int(outside.sum()))
    return _fill(tensor, values)
