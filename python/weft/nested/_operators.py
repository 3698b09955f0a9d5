"""What operators do with nested tensors: a table by the operator's name."""

import weft
from weft import return_types
from weft._errors import ArgumentError, ArgumentTypeError

from ._tensor import NestedTensor

_TABLE = {}
# Operators that work element by element: composites, and all that are pointwise.
_ELEMENTWISE = dict.fromkeys(
    """relu gelu silu mish elu selu celu hardtanh hardswish hardsigmoid leaky_relu softplus softsign tanhshrink hardshrink
    softshrink logsigmoid relu6 clamp clip masked_fill nan_to_num isclose isfinite isinf isnan square rsqrt sigmoid lerp addcmul
    addcdiv where cast float_power div floor_divide remainder fmod pow""".split(),
    True,
)
_ELEMENTWISE.update(
    (name, True)
    for name, value in vars(weft).copy().items()  # other threads may be importing parts of weft
    if isinstance(value, weft.Operator) and value.definition["kind"] == "pointwise"
)
_NAMES = {
    "subtract": "sub",
    "multiply": "mul",
    "divide": "div",
    "true_divide": "div",
    "concat": "cat",
    "concatenate": "cat",
}


def _operator(*names):
    def register(function):
        for name in names or (function.__name__.strip("_"),):
            _TABLE[name] = function
        return function

    return register


def is_known(name):
    """Is there such an operator for nested tensors?"""
    name = _NAMES.get(name, name)
    return name in _TABLE or (name in _ELEMENTWISE and hasattr(weft, name))


def call(name, *args, **kwargs):
    """The operator of a name with nested tensors among its arguments. NotImplementedError where there is none."""
    name = _NAMES.get(name, name)
    function = _TABLE.get(name)
    if function is not None:
        return function(*args, **kwargs)
    if not _ELEMENTWISE.get(name):
        raise ArgumentTypeError(f"{name}: not for nested tensors; unbind() gives their parts")
    return _pointwise(name, args, kwargs)


# ---- pointwise ---------------------------------------------------------------------------------------------------
def _same_offsets(name, one, other):
    if other._offsets is not one._offsets:
        raise ArgumentError(
            f"{name}: nested tensors of shapes {one.shape} and {other.shape}: their offsets have to be the same tensor, as those of "
            "one made of the other's, or with nested_tensor_from_jagged(values, other.offsets())"
        )
    if other._ragged != one._ragged:
        raise ArgumentError(f"{name}: nested tensors of shapes {one.shape} and {other.shape}")


def _beside(name, nested, tensor):
    """The elements of a tensor that is broadcast to a nested one, beside its rows."""
    count, dims = nested.ndim, len(tensor.shape)
    if dims > count:
        raise ArgumentError(f"{name}: a tensor of {dims} dimensions beside a nested one of {count}")
    sizes = [1] * (count - dims) + [int(size) for size in tensor.shape]
    if sizes[nested._ragged] != 1:
        raise ArgumentError(
            f"{name}: a tensor of shape {tuple(tensor.shape)} beside a nested one of {nested.shape}: its size there has to be 1"
        )
    tensor = weft.reshape(tensor, sizes[: nested._ragged] + sizes[nested._ragged + 1 :])
    if sizes[0] == 1:
        return tensor  # its first dimension is broadcast to the rows
    if sizes[0] != len(nested):
        raise ArgumentError(
            f"{name}: a tensor of shape {tuple(tensor.shape)} beside a nested one of {nested.shape}"
        )
    return weft.index_select(tensor, 0, nested._ids())


def _pointwise(name, args, kwargs):
    nested = None
    for value in (*args, *kwargs.values()):
        if isinstance(value, NestedTensor):
            if nested is None:
                nested = value
            else:
                _same_offsets(name, nested, value)

    def of(value):
        if isinstance(value, NestedTensor):
            return value._values
        if isinstance(value, weft.Tensor) and len(value.shape):
            return _beside(name, nested, value)
        return value

    given = [of(value) for value in args]
    named = {key: of(value) for key, value in kwargs.items()}
    return nested._like(getattr(weft, name)(*given, **named))


# ---- along what is not ragged ------------------------------------------------------------------------------------
@_operator()
def linear(x, weight, bias=None):
    if isinstance(weight, NestedTensor) or x._ragged == x.ndim - 1:
        raise ArgumentTypeError(
            "linear: the last dimension of a nested tensor has to be dense, as the weight"
        )
    return x._like(weft.linear(x._values, weight, bias))


def _trailing(name, x, normalized_shape):
    shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    if x.ndim - len(shape) <= x._ragged:
        raise ArgumentError(
            f"{name}: of {len(shape)} dimensions of {x.shape}: the ragged one is no part of it"
        )
    return shape


@_operator()
def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    return input._like(
        weft.layer_norm(input._values, _trailing("layer_norm", input, normalized_shape), weight, bias, eps)
    )


@_operator()
def rms_norm(input, normalized_shape, weight=None, eps=None):
    return input._like(
        weft.rms_norm(input._values, _trailing("rms_norm", input, normalized_shape), weight, eps)
    )


@_operator()
def embedding(input, weight):
    return input._like(weft.embedding(input._values, weight))


@_operator()
def matmul(x, y):
    if not isinstance(x, NestedTensor):
        raise ArgumentTypeError("matmul: a nested tensor stands on the left, unless both are")
    if isinstance(y, NestedTensor):
        if x._ragged == y._ragged == 1 and x.ndim > 3 and y.ndim > 3:
            _same_offsets("matmul", x, y)
            return x._like(weft.matmul(x._values, y._values))
        bounds = zip(x.unbind(), y.unbind())
        return weft.nested.nested_tensor([weft.matmul(one, other) for one, other in bounds])
    if x._ragged == x.ndim - 1:
        raise ArgumentTypeError("matmul: the last dimension of a nested tensor has to be dense")
    if len(y.shape) <= 2:
        return x._like(weft.matmul(x._values, y))
    if len(y.shape) != 3 or x.ndim != 3 or y.shape[0] != len(x):
        raise ArgumentError(f"matmul: {x.shape} and {tuple(y.shape)}")
    return x._like(x._unpadded(weft.matmul(x._padded(0, x.longest()), y)))


@_operator()
def softmax(x, dim=-1):
    return _softmax(x, dim, False)


@_operator()
def log_softmax(x, dim=-1):
    return _softmax(x, dim, True)


def _softmax(x, dim, is_log):
    dim = x._dimension(dim)
    if dim == 0:
        raise ArgumentError("softmax: not along the batch of a nested tensor")
    if dim != x._ragged:
        return x._like((weft.log_softmax if is_log else weft.softmax)(x._values, x._axis(dim)))
    ids = x._ids()
    largest = weft.index_select(_extreme(x, "amax"), 0, ids)
    shifted = x._values - largest
    powers = weft.exp(shifted)
    total = weft.index_select(_summed(x._like(powers)), 0, ids)
    return x._like(shifted - weft.log(total) if is_log else powers / total)


# ---- reductions --------------------------------------------------------------------------------------------------
def _summed(x):
    values = x._values
    if not values.is_floating_point() and not values.is_complex():
        values = values.to(weft.int64)
    start = weft.zeros([len(x), *values.shape[1:]], dtype=values.dtype)
    return weft.index_add(start, 0, x._ids(), values)


def _extreme(x, name):
    values, lowest = x._values, name == "amax"
    if values.is_floating_point():
        bound = float("-inf") if lowest else float("inf")
    elif values.dtype == weft.bool:
        bound = not lowest
    else:
        info = 8 * values.element_size()
        is_unsigned = str(values.dtype).rpartition(".")[2].startswith("u")
        low, high = (0, (1 << info) - 1) if is_unsigned else (-(1 << (info - 1)), (1 << (info - 1)) - 1)
        bound = low if lowest else high
    return _combined(x, name, bound)


def _combined(x, name, start):
    values = x._values
    ids = weft.reshape(x._ids(), [values.shape[0]] + [1] * (len(values.shape) - 1))
    ids = weft.expand(ids, list(values.shape))
    initial = weft.full([len(x), *values.shape[1:]], start, dtype=values.dtype)
    return weft.scatter_combine(initial, 0, ids, values, name)


def _mean(x):
    lengths = weft.reshape(x._lengths(), [len(x)] + [1] * (len(x._values.shape) - 1))
    return _summed(x) / lengths


def _spread(x, result):
    """Of a result for each part, what belongs to each row."""
    return weft.index_select(result, 0, x._ids())


def _prod(x):
    values = x._values
    if not values.is_floating_point() and not values.is_complex():
        x = x._like(values.to(weft.int64))
    return _combined(x, "prod", 1)


def _var(x, unbiased=True, correction=None):
    if correction is None:
        correction = 1 if unbiased else 0
    centered = x._values - _spread(x, _mean(x))
    lengths = x._lengths().to(weft.float64) - correction
    free = weft.where(lengths > 0, lengths, 0.0).to(x.dtype)
    free = weft.reshape(free, [len(x)] + [1] * (len(x._values.shape) - 1))
    return _summed(x._like(centered * centered)) / free


def _place(x, name):
    """argmax and argmin: within a part, where the first of the largest (NaN before all) is."""
    values, extreme = x._values, _spread(x, _extreme(x, "amax" if name == "argmax" else "amin"))
    found = values == extreme
    if values.is_floating_point():
        found = found | weft.isnan(values)
    ids = x._ids()
    rows = weft.arange(values.shape[0]) - weft.index_select(x._offsets, 0, ids)
    rows = weft.reshape(rows, [values.shape[0]] + [1] * (len(values.shape) - 1))
    return _extreme(x._like(weft.where(found, rows, (1 << 63) - 1)), "amin")


def _placed(name):
    def reduce(x):
        if not weft.compiler.is_compiling() and not (x._lengths() > 0).all().item():
            raise ArgumentError(f"{name}: a part of the nested tensor has no elements")
        return _place(x, name)

    return reduce


def _logsumexp(x):
    largest = _extreme(x, "amax")
    largest = weft.where(weft.isfinite(largest), largest, weft.zeros([], dtype=largest.dtype))
    powers = weft.exp(x._values - _spread(x, largest))
    return weft.log(_summed(x._like(powers))) + largest


_RAGGED = {
    "sum": _summed,
    "mean": _mean,
    "amax": lambda x: _extreme(x, "amax"),
    "amin": lambda x: _extreme(x, "amin"),
    "prod": _prod,
    "var": _var,
    "std": lambda x, **given: weft.sqrt(_var(x, **given)),
    "argmax": _placed("argmax"),
    "argmin": _placed("argmin"),
    "logsumexp": _logsumexp,
    "any": lambda x: _extreme(x._like((x._values != 0).to(weft.int32)), "amax") > 0,
    "all": lambda x: _extreme(x._like((x._values != 0).to(weft.int32)), "amin") > 0,
}


def _reduction(name):
    def reduce(x, dim=None, *args, keepdim=False, **kwargs):
        if args:
            keepdim = args[0]
        operator = getattr(weft, name)
        dims = [dim] if isinstance(dim, int) else list(dim) if dim is not None else []
        dims = sorted(x._dimension(one) for one in dims)
        if not dims or len(dims) == x.ndim:
            return operator(x._values, **kwargs)
        if kwargs.get("dtype") is not None:
            return reduce(x.to(kwargs["dtype"]), dim, keepdim=keepdim)
        kwargs.pop("dtype", None)
        if 0 in dims and x._ragged in dims:
            axes = [0, *(x._axis(one) for one in dims if one not in (0, x._ragged))]
            result = operator(x._values, axes, keepdim, **kwargs)
            return weft.unsqueeze(x._from_front(result), [0]) if keepdim else result
        if 0 in dims:
            raise ArgumentError(f"{name}: along the batch of a nested tensor only with the ragged dimension")
        others = [one for one in dims if one != x._ragged]
        if x._ragged not in dims:
            axes = [x._axis(one) for one in others]
            if name in ("argmax", "argmin", "prod"):
                if len(axes) != 1:
                    raise ArgumentError(f"{name}: along one dimension of a nested tensor")
                axes = axes[0]
            ragged = x._ragged if keepdim else x._ragged - sum(one < x._ragged for one in others)
            return x._like(operator(x._values, axes, keepdim, **kwargs), ragged)
        if others:
            raise ArgumentError(
                f"{name}: along the ragged dimension of a nested tensor alone, or with all before"
            )
        result = _RAGGED[name](x, **kwargs)
        return weft.unsqueeze(result, [x._ragged]) if keepdim else result

    return reduce


for _name in "sum mean amax amin any all prod argmax argmin var std logsumexp".split():
    _TABLE[_name] = _reduction(_name)


def _with_indices(name):
    values_of, places_of = f"a{name}", f"arg{name}"

    def reduce(x, dim=None, keepdim=False):
        if isinstance(dim, (NestedTensor, weft.Tensor)):
            return _pointwise(f"{name}imum", (x, dim), {})
        if dim is None:
            return getattr(weft, values_of)(x._values)
        values, places = _TABLE[values_of](x, dim, keepdim), _TABLE[places_of](x, dim, keepdim)
        return getattr(return_types, name)(values, places)

    return reduce


_TABLE["max"], _TABLE["min"] = _with_indices("max"), _with_indices("min")


# ---- shapes ------------------------------------------------------------------------------------------------------
@_operator()
def permute(x, *dims):
    dims = dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims
    order = [x._dimension(dim) for dim in dims]
    if sorted(order) != list(range(x.ndim)) or order[0] != 0:
        raise ArgumentError(
            f"permute: the batch of a nested tensor stays first, each dimension once; got {tuple(dims)}"
        )
    ragged = order.index(x._ragged)
    axes = [x._axis(dim) for dim in order[1:] if dim != x._ragged]
    return x._like(weft.permute(x._values, [0, *axes]), ragged)


@_operator("transpose", "swapaxes", "swapdims")
def transpose(x, dim0, dim1):
    order, a, b = list(range(x.ndim)), x._dimension(dim0), x._dimension(dim1)
    order[a], order[b] = order[b], order[a]
    return permute(x, order)


@_operator()
def unsqueeze(x, dim):
    dim = dim[0] if isinstance(dim, (list, tuple)) else dim
    dim = dim + x.ndim + 1 if dim < 0 else dim
    if not 0 < dim <= x.ndim:
        raise ArgumentError("unsqueeze: the batch of a nested tensor stays first")
    ragged = x._ragged + (dim <= x._ragged)
    return x._like(weft.unsqueeze(x._values, [dim if dim <= x._ragged else dim - 1]), ragged)


@_operator()
def squeeze(x, dim):
    dims = [x._dimension(one) for one in ([dim] if isinstance(dim, int) else dim)]
    if 0 in dims or x._ragged in dims:
        raise ArgumentError("squeeze: neither the batch nor the ragged dimension of a nested tensor")
    dims = [one for one in dims if x.shape[one] == 1]
    ragged = x._ragged - sum(one < x._ragged for one in dims)
    return x._like(weft.squeeze(x._values, [x._axis(one) for one in dims]) if dims else x._values, ragged)


@_operator()
def select(x, dim, index):
    dim = x._dimension(dim)
    if dim == 0:
        return x[index]
    if dim == x._ragged:
        raise ArgumentError("select: the ragged dimension of a nested tensor is indexed part by part")
    return x._like(weft.select(x._values, x._axis(dim), index), x._ragged - (dim < x._ragged))


def _dense_axis(name, x, dim):
    """The dimension of x's values that a dense one of x is."""
    dim = x._dimension(dim)
    if dim in (0, x._ragged):
        raise ArgumentError(f"{name}: along a dense dimension of a nested tensor; unbind() gives its parts")
    return x._axis(dim)


@_operator()
def narrow(x, dim, start, length):
    return x._like(weft.narrow(x._values, _dense_axis("narrow", x, dim), start, length))


@_operator()
def chunk(x, chunks, dim=0):
    return tuple(x._like(part) for part in weft.chunk(x._values, chunks, _dense_axis("chunk", x, dim)))


@_operator()
def split(x, split_size, dim=0):
    return tuple(x._like(part) for part in weft.split(x._values, split_size, _dense_axis("split", x, dim)))


@_operator("reshape", "view")
def reshape(x, *shape):
    """The batch and the ragged dimension stay (the latter as -1, or itself); others may be regrouped."""
    shape = list(shape[0] if len(shape) == 1 and isinstance(shape[0], (list, tuple)) else shape)
    if x._ragged != 1:
        raise ArgumentError(
            f"reshape: {x.shape}: the ragged dimension has to be the second; transpose() first"
        )
    is_ragged = len(shape) > 1 and (shape[1] is x._size or shape[1] == -1)
    if not is_ragged or shape[0] not in (len(x), -1):
        raise ArgumentError(
            f"reshape: {x.shape} to {tuple(shape)}: the batch stays first and the ragged dimension second, as -1"
        )
    return x._like(weft.reshape(x._values, [x._values.shape[0], *shape[2:]]))


@_operator()
def flatten(x, start_dim=0, end_dim=-1):
    first, last = x._dimension(start_dim), x._dimension(end_dim)
    if first <= x._ragged:
        raise ArgumentError("flatten: dimensions behind the ragged one of a nested tensor")
    return x._like(weft.flatten(x._values, x._axis(first), x._axis(last)))


@_operator()
def unflatten(x, dim, sizes):
    dim = x._dimension(dim)
    if dim <= x._ragged:
        raise ArgumentError("unflatten: a dimension behind the ragged one of a nested tensor")
    return x._like(weft.unflatten(x._values, x._axis(dim), list(sizes)))


@_operator()
def expand(x, *sizes):
    """The batch and the ragged dimension stay (as themselves, or -1); others of size 1 may become larger."""
    sizes = list(sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes)
    at = len(sizes) - x.ndim + x._ragged
    fits = len(sizes) >= x.ndim and sizes[at] in (x._size, -1) and sizes[0] in (len(x), -1)
    if not fits or len(sizes) > x.ndim:
        raise ArgumentError(
            f"expand: {x.shape} to {tuple(sizes)}: the batch and the ragged dimension of a nested tensor stay as they are"
        )
    return x._like(weft.expand(x._values, [-1, *sizes[1:at], *sizes[at + 1 :]]))


@_operator()
def expand_as(x, other):
    if not isinstance(other, NestedTensor):
        raise ArgumentTypeError("expand_as: a nested tensor to the shape of another")
    _same_offsets("expand_as", x, other)
    return expand(x, other.shape)


def _over_rows(name):
    """Convolutions: the batch and the ragged dimension together are a tensor's first one."""

    def apply(input, *args, **kwargs):
        if not isinstance(input, NestedTensor) or input._ragged != 1:
            raise ArgumentTypeError(f"{name}: the input nested, its ragged dimension the second")
        return input._like(getattr(weft, name)(input._values, *args, **kwargs))

    return apply


for _name in "conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d".split():
    _TABLE[_name] = _over_rows(_name)


@_operator()
def unbind(x, dim=0):
    return x.unbind(dim)


@_operator()
def cat(tensors, dim=0):
    tensors = list(tensors)
    nested = next(one for one in tensors if isinstance(one, NestedTensor))
    if not all(isinstance(one, NestedTensor) for one in tensors):
        raise ArgumentTypeError("cat: nested tensors and others; make nested ones of all")
    dim = nested._dimension(dim)
    if dim == 0:
        parts = [part for one in tensors for part in one.unbind()]
        return weft.nested.nested_tensor(parts, ragged=nested._ragged)
    if dim == nested._ragged:
        batches = zip(*(one.unbind() for one in tensors))
        if len({len(one) for one in tensors}) != 1:
            raise ArgumentError("cat: nested tensors of one number of parts")
        return weft.nested.nested_tensor([weft.cat(list(parts), dim - 1) for parts in batches], ragged=dim)
    for one in tensors:
        _same_offsets("cat", nested, one)
    return nested._like(weft.cat([one._values for one in tensors], nested._axis(dim)))


@_operator()
def stack(tensors, dim=0):
    return cat([unsqueeze(one, dim) for one in tensors], dim)


def _like_with(name):
    def make(x, *args, **kwargs):
        return x._like(getattr(weft, name)(x._values, *args, **kwargs))

    return make


for _name in ("zeros_like", "ones_like", "empty_like", "full_like"):
    _TABLE[_name] = _like_with(_name)
