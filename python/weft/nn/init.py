"""Starting values of parameters, written in place: PyTorch's, of the same numbers after the same `weft.random.manual_seed`."""

import contextlib
import math
import warnings

import weft
from weft import _drawing
from weft.random import manual_seed  # noqa: F401

_is_skipped = False


@contextlib.contextmanager
def skipped():
    """Within, functions here that draw random numbers leave tensors as they are."""
    global _is_skipped
    before, _is_skipped = _is_skipped, True
    try:
        yield
    finally:
        _is_skipped = before


def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Numbers of [a, b), each as probable."""
    return tensor if _is_skipped else _drawing.uniform_(tensor, a, b, generator=generator)


def normal_(tensor, mean=0.0, std=1.0, generator=None):
    return tensor if _is_skipped else _drawing.normal_(tensor, mean, std, generator=generator)


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Normal numbers, drawn again until they are within [a, b]; where few are, by rejection of uniform ones."""
    if _is_skipped or str(tensor.device) == "meta":
        return tensor
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "trunc_normal_: the mean is more than two deviations outside of [a, b]; the distribution is not exact there",
            stacklevel=2,
        )

    def below(x):
        return (1.0 + math.erf((x - mean) / std / math.sqrt(2.0))) / 2.0

    if below(b) - below(a) > 0.3:
        low, high = (weft.tensor(bound, dtype=tensor.dtype).item() for bound in (a, b))
        values = _drawing.normal_(tensor, mean, std, generator=generator)
        while True:
            outside = (values < low) | (values > high)
            if not bool(outside.any()):
                return tensor.copy_(values)
            values = weft.where(
                outside, _drawing.normal_(weft.empty_like(values), mean, std, generator=generator), values
            )
    most = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2

    def is_refused(values):
        heights = ((values - mean) / std) ** 2 * -0.5 - most
        return _drawing.uniform_(weft.empty_like(values), generator=generator).log() > heights

    values = _drawing.uniform_(tensor, a, b, generator=generator).clone()
    pending = is_refused(values)
    while bool(pending.any()):
        candidates = _drawing.uniform_(weft.empty_like(values), a, b, generator=generator)
        values = weft.where(pending, candidates, values)
        pending = pending & is_refused(candidates)
    return tensor.copy_(values)


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
    return tensor.copy_(weft.eye(*tensor.shape, dtype=tensor.dtype))


def dirac_(tensor, groups=1):
    """A convolution's weight[out, in, *] that gives each group its input back, as far as there are channels."""
    if not 3 <= tensor.ndim <= 5:
        raise ValueError(f"dirac_: expected 3, 4 or 5 dimensions, got shape {list(tensor.shape)}")
    if tensor.shape[0] % groups:
        raise ValueError(f"dirac_: dimension 0 must be divisible by groups {groups}, got {tensor.shape[0]}")
    tensor.zero_()
    rows = tensor.shape[0] // groups
    centre = tuple(size // 2 for size in tensor.shape[2:])
    for group in range(groups):
        for d in range(min(rows, tensor.shape[1])):
            tensor[(group * rows + d, d, *centre)] = 1.0
    return tensor


def _warn_of_empty(tensor):
    warnings.warn("a tensor without elements has nothing to be initialized", stacklevel=3)
    return tensor


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


_calculate_correct_fan = _fan


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


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Uniform with deviation gain / sqrt(fan) (He et al., 2015)."""
    if 0 in tensor.shape:
        return _warn_of_empty(tensor)
    std = calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Normal with deviation gain / sqrt(fan) (He et al., 2015)."""
    if 0 in tensor.shape:
        return _warn_of_empty(tensor)
    return normal_(tensor, 0.0, calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode)), generator)


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Uniform with deviation gain * sqrt(2 / (fan in + fan out)) (Glorot and Bengio, 2010)."""
    std = gain * math.sqrt(2.0 / max(sum(_fans(tensor)), 1))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """Normal with deviation gain * sqrt(2 / (fan in + fan out)) (Glorot and Bengio, 2010)."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / max(sum(_fans(tensor)), 1)), generator)


def orthogonal_(tensor, gain=1, generator=None):
    """Rows, or columns where there are fewer, that are orthogonal and of length gain (Saxe et al., 2013)."""
    if tensor.ndim < 2:
        raise ValueError(f"orthogonal_: expected at least two dimensions, got shape {list(tensor.shape)}")
    if _is_skipped or not tensor.numel():
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    drawn = _drawing.normal_(weft.empty((rows, columns), dtype=tensor.dtype), generator=generator)
    q, r = weft.qr(drawn.T if rows < columns else drawn)
    q = q * r.diagonal().sign()
    if rows < columns:
        q = q.T
    return tensor.copy_(q.reshape(tuple(tensor.shape)) * gain)


def sparse_(tensor, sparsity, std=0.01, generator=None):
    """A matrix of normal numbers with this share of each column zero (Martens, 2010)."""
    if tensor.ndim != 2:
        raise ValueError(f"sparse_: expected a matrix, got shape {list(tensor.shape)}")
    if _is_skipped:
        return tensor
    rows, columns = tensor.shape
    normal_(tensor, 0.0, std, generator)
    for column in range(columns):
        zeros = _drawing.randperm(rows)[: math.ceil(sparsity * rows)]
        tensor[zeros, column] = 0
    return tensor


def _older(name, function):
    def call(*args, **kwargs):
        warnings.warn(f"weft.nn.init.{name} is now {name}_", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    call.__name__, call.__doc__ = name, f"The older name of {name}_."
    return call


for _function in (uniform_, normal_, constant_, eye_, dirac_, xavier_uniform_, xavier_normal_, kaiming_uniform_, kaiming_normal_,
                  orthogonal_, sparse_):  # fmt: skip
    globals()[_function.__name__[:-1]] = _older(_function.__name__[:-1], _function)
