"""Starting values of parameters, written in place. Random numbers come from NumPy's generator; `manual_seed` sets it."""

import contextlib
import math
import warnings

import weft

_generator = None
_is_skipped = False


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


@contextlib.contextmanager
def skipped():
    """Within, functions here that draw random numbers leave tensors as they are."""
    global _is_skipped
    before, _is_skipped = _is_skipped, True
    try:
        yield
    finally:
        _is_skipped = before


def _fill(tensor, values):
    tensor.copy_(weft.from_numpy(values.astype("float32")))
    return tensor


def uniform_(tensor, a=0.0, b=1.0):
    """Numbers of [a, b), each as probable."""
    return tensor if _is_skipped else _fill(tensor, _random().uniform(a, b, tuple(tensor.shape)))


def normal_(tensor, mean=0.0, std=1.0):
    return tensor if _is_skipped else _fill(tensor, _random().normal(mean, std, tuple(tensor.shape)))


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0):
    """Normal numbers, drawn again until they are within [a, b]."""
    if _is_skipped:
        return tensor
    if not a < b:
        raise ValueError(f"trunc_normal_: expected a < b, got {a} and {b}")
    random, shape = _random(), tuple(tensor.shape)
    values = random.normal(mean, std, shape)
    outside = (values < a) | (values > b)
    for _ in range(1000):
        if not outside.any():
            return _fill(tensor, values)
        values[outside] = random.normal(mean, std, int(outside.sum()))
        outside = (values < a) | (values > b)
    values[outside] = random.uniform(a, b, int(outside.sum()))  # an interval far out: it is flat there
    return _fill(tensor, values)


def constant_(tensor, val):
    tensor.fill_(val)
    return tensor


def ones_(tensor):
    return constant_(tensor, 1.0)


def zeros_(tensor):
    return constant_(tensor, 0.0)


def eye_(tensor):
    """The identity, of a matrix of any shape."""
    if tensor.ndim != 2:
        raise ValueError(f"eye_: expected a matrix, got shape {list(tensor.shape)}")
    import numpy

    return _fill(tensor, numpy.eye(*tensor.shape))


def dirac_(tensor, groups=1):
    """A convolution's weight[out, in, *] that gives each group its input back, as far as there are channels."""
    if not 3 <= tensor.ndim <= 5:
        raise ValueError(f"dirac_: expected 3, 4 or 5 dimensions, got shape {list(tensor.shape)}")
    if tensor.shape[0] % groups:
        raise ValueError(f"dirac_: dimension 0 must be divisible by groups {groups}, got {tensor.shape[0]}")
    import numpy

    values = numpy.zeros(tuple(tensor.shape))
    rows = tensor.shape[0] // groups
    centre = tuple(size // 2 for size in tensor.shape[2:])
    for group in range(groups):
        for d in range(min(rows, tensor.shape[1])):
            values[(group * rows + d, d, *centre)] = 1.0
    return _fill(tensor, values)


# ---- scaled by the number of inputs and outputs ---------------------------------------------------------------
def _fans(tensor):
    shape = list(tensor.shape)
    if len(shape) < 2:
        raise ValueError(f"fan in and fan out need at least two dimensions, got shape {shape}")
    field = math.prod(shape[2:])
    return shape[1] * field, shape[0] * field


_calculate_fan_in_and_fan_out = _fans


def _fan(tensor, mode):
    if mode.lower() not in ("fan_in", "fan_out"):
        raise ValueError(f"mode must be 'fan_in' or 'fan_out', got {mode!r}")
    return _fans(tensor)[0 if mode.lower() == "fan_in" else 1]


def calculate_gain(nonlinearity, param=None):
    """What a layer's deviation is multiplied by, so that the nonlinearity after it keeps the signal's size."""
    gains = {"relu": math.sqrt(2.0), "tanh": 5.0 / 3.0, "selu": 0.75}
    plain = (
        "linear",
        "sigmoid",
        "conv1d",
        "conv2d",
        "conv3d",
        "conv_transpose1d",
        "conv_transpose2d",
        "conv_transpose3d",
    )
    if nonlinearity == "leaky_relu":
        return math.sqrt(2.0 / (1 + (0.01 if param is None else param) ** 2))
    if nonlinearity not in gains and nonlinearity not in plain:
        raise ValueError(f"calculate_gain: unknown nonlinearity {nonlinearity!r}")
    return gains.get(nonlinearity, 1.0)


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu"):
    """Uniform with deviation gain / sqrt(fan) (He et al., 2015)."""
    fan = _fan(tensor, mode)
    bound = math.sqrt(3.0) * calculate_gain(nonlinearity, a) / math.sqrt(fan) if fan else 0.0
    return uniform_(tensor, -bound, bound)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu"):
    """Normal with deviation gain / sqrt(fan) (He et al., 2015)."""
    fan = _fan(tensor, mode)
    return normal_(tensor, 0.0, calculate_gain(nonlinearity, a) / math.sqrt(fan) if fan else 0.0)


def xavier_uniform_(tensor, gain=1.0):
    """Uniform with deviation gain * sqrt(2 / (fan in + fan out)) (Glorot and Bengio, 2010)."""
    bound = gain * math.sqrt(6.0 / max(sum(_fans(tensor)), 1))
    return uniform_(tensor, -bound, bound)


def xavier_normal_(tensor, gain=1.0):
    """Normal with deviation gain * sqrt(2 / (fan in + fan out)) (Glorot and Bengio, 2010)."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / max(sum(_fans(tensor)), 1)))


def orthogonal_(tensor, gain=1):
    """Rows, or columns where there are fewer, that are orthogonal and of length gain (Saxe et al., 2013)."""
    if tensor.ndim < 2:
        raise ValueError(f"orthogonal_: expected at least two dimensions, got shape {list(tensor.shape)}")
    if _is_skipped or not tensor.numel():
        return tensor
    import numpy

    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    q, r = numpy.linalg.qr(_random().normal(0, 1, (max(rows, columns), min(rows, columns))))
    q *= numpy.sign(numpy.diag(r))
    return _fill(tensor, gain * (q if rows >= columns else q.T).reshape(tuple(tensor.shape)))


def sparse_(tensor, sparsity, std=0.01):
    """A matrix of normal numbers with this share of each column zero (Martens, 2010)."""
    if tensor.ndim != 2:
        raise ValueError(f"sparse_: expected a matrix, got shape {list(tensor.shape)}")
    if _is_skipped:
        return tensor
    rows, columns = tensor.shape
    values = _random().normal(0, std, (rows, columns))
    for column in range(columns):
        values[_random().permutation(rows)[: math.ceil(sparsity * rows)], column] = 0
    return _fill(tensor, values)


def _older(name, function):
    def call(*args, **kwargs):
        warnings.warn(f"weft.nn.init.{name} is now {name}_", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    call.__name__, call.__doc__ = name, f"The older name of {name}_."
    return call


for _function in (uniform_, normal_, constant_, eye_, dirac_, xavier_uniform_, xavier_normal_, kaiming_uniform_, kaiming_normal_,
                  orthogonal_, sparse_):  # fmt: skip
    globals()[_function.__name__[:-1]] = _older(_function.__name__[:-1], _function)
