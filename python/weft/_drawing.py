"""Functions and Tensor methods that draw random numbers: PyTorch's numbers on the CPU, in its order.

Each is one operator of weft's (`random_…`) with the generator's handle, so that graphs record it. `generator`: None for the
default one.
"""

import math

import weft as _weft

from .nn import _types
from .random import _handle_of

_INTEGERS = {
    "bool": (0, 1),
    "uint8": (0, 255),
    "int8": (-128, 127),
    "int16": (-(1 << 15), (1 << 15) - 1),
    "int32": (-(1 << 31), (1 << 31) - 1),
    "int64": (-(1 << 63), (1 << 63) - 1),
    "uint16": (0, (1 << 16) - 1),
    "uint32": (0, (1 << 32) - 1),
    "uint64": (0, (1 << 64) - 1),
}
_EXACT = {"float16": 1 << 11, "bfloat16": 1 << 8, "float32": 1 << 24, "float64": 1 << 53}
_BOUNDS = {name: bounds for name, bounds in _INTEGERS.items() if name not in ("int64", "uint64")}
_BOUNDS["float16"] = (-65504, 65504)


def _name_of(dtype):
    return str(dtype).rsplit(".", 1)[-1]


def _default_dtype():
    return _weft.get_default_dtype()


def _is_size(value):
    return isinstance(value, (list, tuple))


def _sizes(name, size, keyword):
    """rand(2, 3), rand((2, 3)) or rand(size=(2, 3))."""
    if keyword is not None:
        if size:
            raise TypeError(f"{name}: size is given twice")
        size = (keyword,)
    if len(size) == 1 and _is_size(size[0]):
        return list(size[0])
    return list(size)


def _made_on(device):
    """The device given, or else that of `with torch.device(...)`."""
    return _weft.get_default_device() if device is None else device


def _is_meta(device):
    """Of tensors without elements nothing is drawn."""
    return device is not None and str(device) == "meta"


def _finish(result, out, device, requires_grad=False):
    if device is not None and str(device) != "cpu":
        result = result.to(device)
    if requires_grad:
        result.requires_grad = True
    if out is None:
        return result
    if tuple(out.shape) != tuple(result.shape):
        out.resize_(tuple(result.shape))
    out.copy_(result)
    return out


def rand(
    *args,
    size=None,
    generator=None,
    out=None,
    dtype=None,
    layout=None,
    device=None,
    requires_grad=False,
    pin_memory=False,
    names=None,
):
    """Numbers of [0, 1), each as probable."""
    shape = _sizes("rand", args, size)
    device = _made_on(device)
    dtype = dtype or (out.dtype if out is not None else _default_dtype())
    if _is_meta(device):
        return _weft.empty(shape, dtype=dtype, device=device)
    result = _weft.random_uniform(_handle_of(generator, "rand"), shape, dtype=dtype)
    return _finish(result, out, device, requires_grad)


def randn(
    *args,
    size=None,
    generator=None,
    out=None,
    dtype=None,
    layout=None,
    device=None,
    requires_grad=False,
    pin_memory=False,
    names=None,
):
    """Normal numbers of mean 0 and deviation 1."""
    shape = _sizes("randn", args, size)
    device = _made_on(device)
    dtype = dtype or (out.dtype if out is not None else _default_dtype())
    if _is_meta(device):
        return _weft.empty(shape, dtype=dtype, device=device)
    result = _weft.random_normal(_handle_of(generator, "randn"), shape, dtype=dtype)
    return _finish(result, out, device, requires_grad)


def _check_int(name, what, value):
    if isinstance(value, float):
        raise TypeError(f"{name}: {what} must be an int, got float")


def _check_range(name, low, high, dtype):
    """RuntimeError unless [low, high) has numbers, all of which the dtype has."""
    if low >= high:
        raise RuntimeError(f"{name}: expected 'from' to be less than 'to', got from={low} >= to={high}")
    kind = _name_of(dtype)
    if kind not in _BOUNDS:  # numbers of 64 bits fit
        return
    least, most = _BOUNDS[kind]
    if not least <= low <= most:
        raise RuntimeError(f"{name}: from is out of bounds for {kind}: {low}")
    if not least <= high - 1 <= most:
        raise RuntimeError(f"{name}: to - 1 is out of bounds for {kind}: {high - 1}")


def _integer_arguments(name, args, low, high, size):
    """(high, size) or (low, high, size), by position or by name."""
    args = list(args)
    if args and size is None and _is_size(args[-1]):
        size = args.pop()
    if len(args) > 2:
        raise TypeError(f"{name}: expected low, high and size, got {len(args) + 1} arguments")
    if len(args) == 2:
        low, high = args
    elif len(args) == 1:
        if high is None:
            high = args[0]
        else:
            low = args[0]
    if high is None:
        raise TypeError(f"{name}: missing argument 'high'")
    low = 0 if low is None else low
    _check_int(name, "low", low)
    _check_int(name, "high", high)
    return low, high, size


def randint(*args, low=None, high=None, size=None, generator=None, out=None, dtype=None, layout=None, device=None,
            requires_grad=False, pin_memory=False):  # fmt: skip
    """randint(low=0, high, size): integers of [low, high), each as probable."""
    low, high, size = _integer_arguments("randint", args, low, high, size)
    if size is None:
        raise TypeError("randint: missing argument 'size'")
    device = _made_on(device)
    dtype = dtype or (out.dtype if out is not None else _weft.int64)
    _check_range("randint", low, high, dtype)
    if _is_meta(device):
        return _weft.empty(list(size), dtype=dtype, device=device)
    result = _weft.random_integers(_handle_of(generator, "randint"), list(size), low, high, dtype=dtype)
    return _finish(result, out, device)


def randperm(
    n,
    *,
    generator=None,
    out=None,
    dtype=None,
    layout=None,
    device=None,
    requires_grad=False,
    pin_memory=False,
):
    """The numbers 0 … n - 1 in random order."""
    _check_int("randperm", "n", n)
    device = _made_on(device)
    dtype = dtype or (out.dtype if out is not None else _weft.int64)
    kind = _name_of(dtype)
    if kind not in _EXACT and kind not in ("uint8", "int8", "int16", "int32", "int64"):
        raise NotImplementedError(f"randperm: not implemented for {kind}")
    most = _INTEGERS[kind][1] if kind in _INTEGERS else _EXACT[kind]
    if kind != "int64" and n - 1 > most:
        raise RuntimeError(f"randperm: the numbers up to {n - 1} do not fit into {kind}")
    if _is_meta(device):
        return _weft.empty([n], dtype=dtype, device=device)
    result = _weft.random_permutation(_handle_of(generator, "randperm"), n)
    return _finish(result if dtype == _weft.int64 else result.to(dtype), out, device)


# ---- in the shape of another ---------------------------------------------------------------------------------
def rand_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None, generator=None,
              pin_memory=False):  # fmt: skip
    """Numbers of [0, 1) in the shape and order of memory of `input`."""
    handle = _handle_of(generator, "rand_like")
    result = _weft.random_uniform_like(handle, input, dtype=dtype or input.dtype)
    return _finish(result, None, device, requires_grad)


def randn_like(input, *, dtype=None, layout=None, device=None, requires_grad=False, memory_format=None, generator=None,
               pin_memory=False):  # fmt: skip
    """Normal numbers in the shape and order of memory of `input`."""
    handle = _handle_of(generator, "randn_like")
    result = _weft.random_normal_like(handle, input, dtype=dtype or input.dtype)
    return _finish(result, None, device, requires_grad)


def randint_like(input, *args, low=None, high=None, dtype=None, layout=None, device=None, requires_grad=False,
                 memory_format=None, generator=None, pin_memory=False):  # fmt: skip
    """randint_like(input, low=0, high): integers of [low, high) in the shape and order of memory of `input`."""
    args = [int(each.item()) if isinstance(each, _weft.Tensor) else each for each in args]
    low, high, _ = _integer_arguments("randint_like", args, low, high, None)
    dtype = dtype or input.dtype
    _check_range("randint_like", low, high, dtype)
    handle = _handle_of(generator, "randint_like")
    return _finish(_weft.random_integers_like(handle, input, low, high, dtype=dtype), None, device)


# ---- distributions -------------------------------------------------------------------------------------------
def normal(mean=0.0, std=1.0, size=None, *, generator=None, out=None, dtype=None, layout=None, device=None,
           requires_grad=False, pin_memory=False):  # fmt: skip
    """Normal numbers: of tensors of means and deviations, or of two numbers and a size."""
    handle = _handle_of(generator, "normal")
    tensors = [x for x in (mean, std) if isinstance(x, _weft.Tensor)]
    if not tensors or size is not None:
        if size is None:
            raise TypeError("normal: expected a tensor of means or deviations, or a size")
        if any(x.ndim > 0 for x in tensors):
            raise TypeError("normal: size goes with numbers for mean and std")
        shape = list(size) if _is_size(size) else [size]
        dtype = dtype or (out.dtype if out is not None else _default_dtype())
        return _finish(_weft.random_normal(handle, shape, float(mean), float(std), dtype=dtype), out, device)
    first = tensors[0]
    shape = first.shape if len(tensors) == 1 else (mean + std).shape
    if not isinstance(std, _weft.Tensor):
        if not std >= 0:
            raise RuntimeError(f"normal: expected std >= 0.0, got std {std}")
        result = _weft.random_normal(handle, list(shape), 0.0, float(std), dtype=first.dtype)
    else:
        if not std.is_floating_point():
            std = std.to(first.dtype)
        result = _weft.random_normal_of(handle, std.expand(shape), dtype=first.dtype)
    return _finish((result + mean).to(first.dtype), out, device)


def bernoulli(input, p=None, *, generator=None, out=None):
    """Ones and zeros: ones with the probabilities that the input has, or with p in its shape."""
    handle = _handle_of(generator, "bernoulli")
    if p is None:
        result = _weft.random_bernoulli_of(handle, input)
    elif isinstance(p, _weft.Tensor):
        result = _weft.random_bernoulli_of(handle, p.expand(input.shape), dtype=input.dtype)
    else:
        result = _weft.random_bernoulli_like(handle, input, float(p))
    return _finish(result, out, None)


def multinomial(input, num_samples, replacement=False, *, generator=None, out=None):
    """Positions in the last dimension of `input`, as probable as their weights."""
    if out is not None and out.dtype != _weft.int64:
        raise RuntimeError(f"multinomial expects Long tensor out, got: {out.dtype}")
    result = _weft.random_multinomial(_handle_of(generator, "multinomial"), input, num_samples, replacement)
    return _finish(result, out, None)


def poisson(input, generator=None):
    """Numbers of Poisson's distribution with the rates that the input has."""
    return _weft.random_poisson(_handle_of(generator, "poisson"), input)


def binomial(count, prob, generator=None):
    """How many of `count` trials succeed, each with probability prob."""
    return _weft.random_binomial(_handle_of(generator, "binomial"), count, prob)


def _standard_gamma(concentration, generator=None):
    """Numbers of Gamma's distribution with rate 1 and the concentrations that the input has."""
    return _weft.random_gamma(_handle_of(generator, "_standard_gamma"), concentration)


def _sample_dirichlet(concentration, generator=None):
    """Rows, the last dimension, of Dirichlet's distribution with the concentrations that the input has."""
    return _weft.random_dirichlet(_handle_of(generator, "_sample_dirichlet"), concentration)


# ---- in place ------------------------------------------------------------------------------------------------
def _begin_writing(tensor):
    """Raises where the tensor cannot be written to, before a number is drawn."""
    tensor.copy_(tensor)


def uniform_(self, *args, generator=None, **limits):
    """uniform_(from=0, to=1): numbers of [from, to), each as probable."""
    values = dict(zip(("from", "to"), args), **limits)
    _check_names("uniform_", args, values, ("from", "to"))
    _begin_writing(self)
    low, high = float(values.get("from", 0.0)), float(values.get("to", 1.0))
    return self.copy_(_weft.random_uniform_like(_handle_of(generator, "uniform_"), self, low, high))


def _check_names(name, args, values, known):
    if len(args) > len(known):
        raise TypeError(f"{name}: expected at most {len(known)} arguments, got {len(args)}")
    for each in values:
        if each not in known:
            raise TypeError(f"{name}: unknown argument '{each}'")


def normal_(self, mean=0.0, std=1.0, *, generator=None):
    """Normal numbers."""
    _begin_writing(self)
    handle = _handle_of(generator, "normal_")
    return self.copy_(_weft.random_normal_like(handle, self, float(mean), float(std), in_place=True))


def exponential_(self, lambd=1.0, *, generator=None):
    """Exponential numbers of rate lambd."""
    _begin_writing(self)
    return self.copy_(
        _weft.random_exponential_like(_handle_of(generator, "exponential_"), self, float(lambd))
    )


def cauchy_(self, median=0.0, sigma=1.0, *, generator=None):
    """Numbers of Cauchy's distribution."""
    _begin_writing(self)
    handle = _handle_of(generator, "cauchy_")
    return self.copy_(_weft.random_cauchy_like(handle, self, float(median), float(sigma)))


def log_normal_(self, mean=1.0, std=2.0, *, generator=None):
    """Numbers whose logarithms are normal."""
    _begin_writing(self)
    handle = _handle_of(generator, "log_normal_")
    return self.copy_(_weft.random_log_normal_like(handle, self, float(mean), float(std)))


def geometric_(self, p, *, generator=None):
    """How many trials of probability p the first success takes."""
    _begin_writing(self)
    return self.copy_(_weft.random_geometric_like(_handle_of(generator, "geometric_"), self, float(p)))


def random_(self, *args, generator=None, **limits):
    """random_(), random_(to) or random_(from, to): integers, each as probable."""
    _begin_writing(self)
    values = dict(zip(("from", "to") if len(args) > 1 else ("to",), args), **limits)
    _check_names("random_", args[2:], values, ("from", "to"))
    handle = _handle_of(generator, "random_")
    if not values:
        return self.copy_(_weft.random_words_like(handle, self))
    low, high = values.get("from", 0), values.get("to")
    _check_int("random_", "from", low)
    if high is None:
        kind = _name_of(self.dtype)
        if kind not in _INTEGERS and kind not in _EXACT:
            raise RuntimeError(f"random_: not implemented for {kind}")
        high = (_INTEGERS[kind][1] if kind in _INTEGERS else _EXACT[kind]) + 1
    _check_int("random_", "to", high)
    _check_range("random_", low, high, self.dtype)
    if high >= 1 << 62 and high >= 1 << 63:
        high -= 1 << 64
    return self.copy_(_weft.random_integers_like(handle, self, low, high))


def bernoulli_(self, p=0.5, *, generator=None):
    """Ones with probability p, a number or a tensor of them, else zeros."""
    _begin_writing(self)
    return self.copy_(bernoulli(self, p, generator=generator))


# ---- dropout -------------------------------------------------------------------------------------------------
def _drop(name, input, p, train, of_features=False, alpha=False):
    """Elements, or whole features, are dropped with probability p; the rest is scaled, or moved too (alpha), so that mean and
    deviation stay."""
    p = _types.pinned(p)
    if not 0 <= p <= 1:
        raise RuntimeError(f"{name}: dropout probability has to be between 0 and 1, but got {p}")
    if not train or p == 0 or input.numel() == 0:
        return input
    if p == 1:
        return input * _weft.zeros((), dtype=input.dtype)
    if not (input.is_floating_point() or input.is_complex()):
        raise RuntimeError(f"{name}: the result type float cannot be cast to {_name_of(input.dtype)}")
    handle = _handle_of(None, name)
    dtype = input.dtype
    if dtype in (_weft.complex64, _weft.complex128):
        dtype = _weft.float32 if dtype == _weft.complex64 else _weft.float64
    if of_features:
        if input.ndim < 2:
            raise RuntimeError(f"{name}: expected at least 2 dimensions, got shape {list(input.shape)}")
        shape = [input.shape[0], input.shape[1]] + [1] * (input.ndim - 2)
        noise = _weft.random_bernoulli(handle, shape, 1 - p, dtype=dtype)
    else:
        noise = _weft.random_bernoulli_like(handle, input, 1 - p, dtype=dtype)
    if not alpha:
        if input.dtype in (_weft.float16, _weft.bfloat16):  # the number 1 - p is not rounded
            return input * (noise.to(_weft.float32) / (1 - p)).to(input.dtype)
        return input * (noise / (1 - p))
    limit = 1.7580993408473766  # of SELU, far to the left
    a = 1.0 / math.sqrt((limit * limit * p + 1) * (1 - p))
    return input * (noise * a) + ((noise + -1) * (limit * a) + limit * a * p)


def dropout(input, p, train):
    """Elements are zero with probability p where `train`, and the rest divided by 1 - p."""
    return _drop("dropout", input, p, train)


def feature_dropout(input, p, train):
    """Whole features, input[i, j], are zero with probability p where `train`."""
    return _drop("feature_dropout", input, p, train, of_features=True)


def alpha_dropout(input, p, train):
    """Dropout that keeps mean and deviation of SELU's results."""
    return _drop("alpha_dropout", input, p, train, alpha=True)


def feature_alpha_dropout(input, p, train):
    """alpha_dropout of whole features."""
    return _drop("feature_alpha_dropout", input, p, train, of_features=True, alpha=True)


def dropout_(input, p, train):
    return _in_place(input, dropout(input, p, train))


def feature_dropout_(input, p, train):
    return _in_place(input, feature_dropout(input, p, train))


def alpha_dropout_(input, p, train):
    return _in_place(input, alpha_dropout(input, p, train))


def feature_alpha_dropout_(input, p, train):
    return _in_place(input, feature_alpha_dropout(input, p, train))


def _in_place(input, result):
    return input if result is input else input.copy_(result)


def native_dropout(input, p, train):
    """Dropout, and the mask of what is left."""
    if train is False or input.numel() == 0:
        return input.clone(), _weft.ones(input.shape, dtype=_weft.bool)
    if p == 1:
        return _weft.zeros_like(input), _weft.zeros(input.shape, dtype=_weft.bool)
    mask = _weft.random_bernoulli_like(_handle_of(None, "native_dropout"), input, 1 - p, dtype=_weft.bool)
    return input * mask * (1.0 / (1.0 - p)), mask


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, generator=None):
    """input where it is positive, else input times a slope of [lower, upper); their mean outside of training."""
    if lower > upper:
        raise RuntimeError(
            f"Lower bound should be less than or equal to the upper bound, got {lower} and {upper}"
        )
    if not training:
        slope = (lower + upper) / 2
        return _weft.where(input <= 0, input * slope, input)
    slopes = _weft.random_slopes(_handle_of(generator, "rrelu"), input, float(lower), float(upper))
    return (input * slopes).to(input.dtype)


def rrelu_(input, lower=1.0 / 8, upper=1.0 / 3, training=False, generator=None):
    return input.copy_(rrelu(input, lower, upper, training, generator))


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """softmax((logits + numbers of Gumbel's distribution) / tau); hard: ones where it is largest, else zeros."""
    handle = _handle_of(None, "gumbel_softmax")
    gumbels = -_weft.random_exponential(handle, list(logits.shape), dtype=logits.dtype).log()
    soft = ((logits + gumbels) / tau).softmax(dim)
    if not hard:
        return soft
    places = [1] * soft.ndim
    places[dim] = soft.shape[dim]
    largest = soft.argmax(dim, keepdim=True) == _weft.arange(soft.shape[dim]).reshape(places)
    return largest.to(soft.dtype) - soft + soft
