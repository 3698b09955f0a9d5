"""How operations of tensors are recorded that have no TorchScript operator of their own name and parameters.

OPERATORS: by the name in the operator table; called with the operator's parameters. METHODS, PROPERTIES, FUNCTIONS: of
Tensor and of weft; called with the original and its arguments. A rule calls builtins (`aten.name`) or other
operators, which are recorded in turn. It may give NotImplemented where the builtin of the operator's name will do.
"""

import numbers

import weft

from ._tracer import TracedInt, aten, current, paused, warn, warn_value

OPERATORS = {}


def _rule(*names):
    def register(function):
        for name in names or (function.__name__.strip("_"),):
            OPERATORS[name] = function
        return function

    return register


def _is_number(value):
    return not isinstance(value, weft.Tensor) and isinstance(value, numbers.Number)


def _constant(number):
    with paused():
        return weft.tensor(number)


def _repeated(values, count):
    values = list(values)
    return values * count if len(values) == 1 else values


# ---- arithmetic ----------------------------------------------------------------------------------------------
def _commutative(name, swapped=None):
    """A number before a tensor: TorchScript's operators have the tensor first."""

    def rule(x, y, **others):
        if not _is_number(x) or _is_number(y) or isinstance(x, bool):
            return NotImplemented
        scaled = y if others.get("alpha", 1) == 1 else aten.mul(y, others["alpha"])
        return aten[swapped or name](scaled, x)

    OPERATORS[name] = rule


for _name, _swapped in {
    "add": None,
    "sub": "rsub",
    "mul": None,
    "eq": None,
    "ne": None,
    "lt": "gt",
    "gt": "lt",
    "le": "ge",
    "ge": "le",
}.items():
    _commutative(_name, _swapped)


@_rule()
def true_divide(x, y):
    if _is_number(x) and not _is_number(y):
        return aten.mul(aten.reciprocal(y), x)
    return aten.div(x, y) if isinstance(x, weft.Tensor) else NotImplemented


@_rule()
def trunc_divide(x, y):
    return aten.div(_constant(x) if _is_number(x) else x, y, rounding_mode="trunc")


@_rule()
def left_shift(x, y):
    return aten.bitwise_left_shift(x, y)


@_rule()
def right_shift(x, y):
    return aten.bitwise_right_shift(x, y)


@_rule()
def cast(x, dtype):
    return aten["to.dtype"](x, dtype, False, False)


@_rule()
def cbrt(x):
    return aten.mul(aten.sgn(x), aten.pow(aten.abs(x), 1 / 3))


@_rule()
def fabs(x):
    return aten.abs(x)


@_rule()
def rint(x):
    return aten.round(x)


@_rule("signum", "sign")
def sign(x):
    return aten.sgn(x) if x.is_complex() else aten.sign(x)


@_rule()
def clip(x, min, max):
    return aten.clamp(x, min, max)


@_rule()
def concatenate(tensors, dim):
    if dim is None:
        return aten.cat([weft.ravel(tensor) for tensor in tensors], 0)
    return aten.cat(tensors, dim)


@_rule()
def modf(x):
    whole = aten.trunc(x)
    return aten.sub(x, whole), whole


@_rule()
def divmod(x, y):
    return weft.floor_divide(x, y), weft.remainder(x, y)


# ---- activations ---------------------------------------------------------------------------------------------
@_rule()
def logsigmoid(x):
    return aten.log_sigmoid(x)


@_rule()
def gelu_erf(x):
    return aten.gelu(x, approximate="none")


@_rule()
def gelu_tanh(x):
    return aten.gelu(x, approximate="tanh")


@_rule()
def softsign(x):
    return aten.div(x, aten.add(aten.abs(x), 1))


@_rule()
def tanhshrink(x):
    return aten.sub(x, aten.tanh(x))


@_rule()
def softmin(input, dim):
    return aten.softmax(aten.neg(input), dim)


# ---- reductions, order ---------------------------------------------------------------------------------------
def _over_dimensions(name):
    """all(x, [0, 1]): one dimension after the other."""

    def rule(x, dim, keepdim):
        if not isinstance(dim, (list, tuple)) or len(dim) < 2:
            return NotImplemented
        for one in sorted((d % x.ndim for d in dim), reverse=True):
            x = aten[name](x, one, keepdim)
        return x

    OPERATORS[name] = rule


_over_dimensions("all")
_over_dimensions("any")


@_rule()
def prod(x, dim, keepdim, dtype):
    if not isinstance(dim, (list, tuple)) or len(dim) < 2:
        return NotImplemented
    for one in sorted((d % x.ndim for d in dim), reverse=True):
        x = aten.prod(x, one, keepdim, dtype=dtype)
    return x


@_rule()
def logsumexp(x, dim, keepdim):
    return aten.logsumexp(x, list(range(x.ndim)) if dim is None else dim, keepdim)


@_rule()
def count_nonzero(x, dim, keepdim):
    counted = aten.count_nonzero(x) if dim is None else aten.count_nonzero(x, list(dim))
    if not keepdim:
        return counted
    axes = range(x.ndim) if dim is None else sorted(d % x.ndim for d in dim)
    for one in axes:
        counted = aten.unsqueeze(counted, one)
    return counted


@_rule()
def ptp(x, dim, keepdim):
    axes = [] if dim is None else dim
    return aten.sub(aten.amax(x, axes, keepdim), aten.amin(x, axes, keepdim))


@_rule()
def median(x, dim, keepdim):
    return aten.median(x) if dim is None else aten.median(x, dim, keepdim)[0]


@_rule()
def vector_norm(x, ord, dim, keepdim):
    return aten.linalg_vector_norm(x, ord, dim, keepdim)


@_rule()
def sort(x, dim, descending, stable):
    return aten.sort(x, stable=stable, dim=dim, descending=descending)


@_rule()
def argsort(x, dim, descending, stable):
    return aten.sort(x, stable=stable, dim=dim, descending=descending)[1]


@_rule()
def sort_values(x, dim):
    return aten.sort(x, stable=True, dim=dim, descending=False)[0]


@_rule()
def unique(x, return_inverse, return_counts, return_index):
    if return_index:
        return NotImplemented
    values, inverse, counts = aten._unique2(x, True, return_inverse, return_counts)
    return [values, *([inverse] if return_inverse else []), *([counts] if return_counts else [])]


def _deviation(name):
    def rule(x, dim, keepdim, correction):
        if correction == 1 or correction != int(correction):
            return NotImplemented
        return aten[name](x, None if dim is None else list(dim), correction=int(correction), keepdim=keepdim)

    OPERATORS[name] = rule


_deviation("std")
_deviation("var")


@_rule()
def nanprod(x, dim, keepdim, dtype):
    return weft.prod(aten.masked_fill(x, aten.isnan(x), 1), dim, keepdim, dtype=dtype)


@_rule()
def percentile(x, q, dim, keepdim):
    return aten.quantile(x, q / 100, dim, keepdim)


# ---- linear algebra ------------------------------------------------------------------------------------------
@_rule()
def inv(x):
    return aten.linalg_inv(x)


@_rule()
def solve(a, b):
    return aten.linalg_solve(a, b)


@_rule()
def eigvalsh(x):
    return aten.linalg_eigvalsh(x)


@_rule()
def svdvals(x):
    return aten.linalg_svdvals(x)


@_rule()
def tensordot(x, y, dims, dims_x, dims_y):
    if dims_x is None:
        dims_x, dims_y = list(range(x.ndim - dims, x.ndim)), list(range(dims))
    return aten.tensordot(x, y, list(dims_x), list(dims_y))


# ---- shapes --------------------------------------------------------------------------------------------------
@_rule()
def unsqueeze(x, dim):
    rank = x.ndim + len(dim)
    for one in sorted(d % rank for d in dim):
        x = aten.unsqueeze(x, one)
    return x


@_rule()
def squeeze(x, dim):
    if dim is None:
        return aten.squeeze(x)
    for one in sorted((d % max(x.ndim, 1) for d in dim), reverse=True):
        x = aten.squeeze(x, one)
    return x


@_rule()
def flip(x, dims):
    return aten.flip(x, list(range(x.ndim)) if dims is None else dims)


@_rule()
def meshgrid(tensors, indexing):
    return aten.meshgrid(tensors, indexing=indexing)


@_rule("array_split", "split_sections")
def array_split(x, indices_or_sections, dim):
    return aten.tensor_split(x, indices_or_sections, dim)


@_rule()
def take(x, index, dim):
    return aten.take(x, index) if dim is None else aten.index_select(x, dim, index)


@_rule("slice")
def slice_(x, dim, start, stop, step):
    return aten.slice(x, dim, start, stop, step)


# ---- tensors made of nothing ---------------------------------------------------------------------------------
def _of_shape(name):
    original = getattr(weft, name)

    def rule(shape, dtype, device):
        with paused():
            dtype = original([0], dtype=dtype).dtype
        return aten[name](list(shape), dtype=dtype, device=device or weft.device("cpu"))

    OPERATORS[name] = rule


for _name in ("zeros", "ones", "empty"):
    _of_shape(_name)


@_rule()
def full(shape, value, dtype, device):
    with paused():
        dtype = weft.full([0], value, dtype=dtype).dtype
    return aten.full(list(shape), value, dtype=dtype, device=device or weft.device("cpu"))


@_rule()
def arange(start, stop, step, dtype, device):
    with paused():
        dtype = weft.arange(start, stop, step, dtype=dtype).dtype
    place = {"dtype": dtype, "device": device or weft.device("cpu")}
    if stop is None:
        return aten.arange(start, **place) if step == 1 else aten.arange(0, start, step, **place)
    return aten.arange(start, stop, **place) if step == 1 else aten.arange(start, stop, step, **place)


@_rule()
def linspace(start, end, steps, endpoint, dtype, device):
    if not endpoint:
        end = start + (end - start) * (steps - 1) / steps
    with paused():
        dtype = weft.linspace(start, end, 1, dtype=dtype).dtype
    return aten.linspace(start, end, steps, dtype=dtype, device=device or weft.device("cpu"))


@_rule()
def logspace(start, end, steps, base, dtype, device):
    with paused():
        dtype = weft.logspace(start, end, 1, base, dtype=dtype).dtype
    return aten.logspace(start, end, steps, base, dtype=dtype, device=device or weft.device("cpu"))


@_rule()
def eye(n, m, k, dtype, device):
    with paused():
        dtype = weft.eye(1, dtype=dtype).dtype
    place = {"dtype": dtype, "device": device or weft.device("cpu")}
    columns = n if m is None else m
    if k == 0:
        return aten.eye(n, columns, **place)
    return aten.tril(aten.triu(aten.ones([n, columns], **place), k), k)


@_rule()
def tri(n, m, k, dtype, device):
    with paused():
        dtype = weft.tri(1, dtype=dtype).dtype
    return aten.tril(
        aten.ones([n, n if m is None else m], dtype=dtype, device=device or weft.device("cpu")), k
    )


@_rule()
def vander(x, N, increasing):
    count = x.shape[0] if N is None else N
    powers = aten.pow(aten.unsqueeze(x, -1), weft.arange(count))
    return powers if increasing else aten.flip(powers, [-1])


# ---- layers --------------------------------------------------------------------------------------------------
@_rule()
def embedding(input, weight):
    return aten.embedding(weight, input, -1, False, False)


@_rule()
def embedding_renorm(weight, input, max_norm, norm_type):
    return aten.embedding_renorm_(aten.clone(weight), input, max_norm, norm_type)


@_rule()
def embedding_bag(input, weight, offsets, mode, per_sample_weights, include_last_offset, padding_idx):
    number = {"sum": 0, "mean": 1, "max": 2}[mode]
    if offsets is None:
        rows, width = input.shape
        offsets = weft.arange(0, rows * width, width)
        input = aten.reshape(input, [-1])
        if per_sample_weights is not None:
            per_sample_weights = aten.reshape(per_sample_weights, [-1])
    return aten.embedding_bag(
        weight, input, offsets, False, number, False, per_sample_weights, include_last_offset, padding_idx
    )[0]


@_rule()
def batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps):
    # In training, what is running is updated by the operations that follow.
    mean, var = (None, None) if training else (running_mean, running_var)
    return aten.batch_norm(input, weight, bias, mean, var, training, momentum, eps, True)


@_rule()
def instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps):
    mean, var = (None, None) if use_input_stats else (running_mean, running_var)
    return aten.instance_norm(input, weight, bias, mean, var, use_input_stats, momentum, eps, True)


@_rule()
def batch_norm_update_stats(input, running_mean, running_var, momentum, per_instance):
    axes = [d for d in range(input.ndim) if d != 1 and not (per_instance and d == 0)]
    mean, var = aten.mean(input, axes), aten.var(input, axes, correction=1)
    if per_instance:
        mean, var = aten.mean(mean, [0]), aten.mean(var, [0])
    return tuple(
        aten.add(aten.mul(old, 1 - momentum), aten.mul(new, momentum))
        for old, new in ((running_mean, mean), (running_var, var))
    )


@_rule()
def local_response_norm(input, size, alpha, beta, k):
    squares = aten.unsqueeze(aten.mul(input, input), 1)
    before, after = size // 2, (size - 1) // 2
    if input.ndim == 3:
        mean = aten.squeeze(aten.avg_pool2d(aten.pad(squares, [0, 0, before, after]), [size, 1], [1, 1]), 1)
    else:
        shape = input.shape
        flat = aten.view(squares, [shape[0], 1, shape[1], shape[2], -1])
        mean = aten.avg_pool3d(aten.pad(flat, [0, 0, 0, 0, before, after]), [size, 1, 1], [1, 1, 1])
        mean = aten.view(aten.squeeze(mean, 1), list(shape))
    return aten.div(input, aten.pow(aten.add(aten.mul(mean, alpha), k), beta))


@_rule()
def normalize(input, p, dim, eps):
    norm = aten.clamp_min(aten.linalg_vector_norm(input, p, [dim], True), eps)
    return aten.div(input, aten.expand_as(norm, input))


def _adaptive_max_pool(rank):
    def with_indices(input, output_size):
        return aten[f"adaptive_max_pool{rank}d"](input, _repeated(output_size, rank))

    OPERATORS[f"adaptive_max_pool{rank}d_with_indices"] = with_indices
    OPERATORS[f"adaptive_max_pool{rank}d"] = lambda input, output_size: with_indices(input, output_size)[0]


for _rank in (1, 2, 3):
    _adaptive_max_pool(_rank)


def _lp_pool(rank):
    def rule(input, norm_type, kernel_size, stride, ceil_mode):
        kernel = _repeated(kernel_size, rank)
        stride = kernel if stride is None else _repeated(stride, rank)
        mean = aten[f"avg_pool{rank}d"](aten.pow(input, norm_type), kernel, stride, [0] * rank, ceil_mode)
        count = 1
        for size in kernel:
            count *= size
        powers = aten.mul(aten.relu(aten.abs(mean)), aten.sign(mean))
        return aten.pow(aten.mul(powers, count), 1 / norm_type)

    OPERATORS[f"lp_pool{rank}d"] = rule


for _rank in (1, 2, 3):
    _lp_pool(_rank)


def _unpooled(size, kernel, stride, padding):
    return (size - 1) * stride - 2 * padding + kernel


@_rule()
def max_unpool1d(input, indices, kernel_size, stride, padding, output_size):
    kernel, step, pad = kernel_size[0], (stride or kernel_size)[0], padding[0]
    length = output_size[-1] if output_size else _unpooled(input.shape[-1], kernel, step, pad)
    return aten.squeeze(
        aten.max_unpool2d(aten.unsqueeze(input, -1), aten.unsqueeze(indices, -1), [length, 1]), -1
    )


@_rule()
def max_unpool2d(input, indices, kernel_size, stride, padding, output_size):
    kernel, pad = _repeated(kernel_size, 2), _repeated(padding, 2)
    step = _repeated(stride or kernel_size, 2)
    sizes = (
        list(output_size)[-2:]
        if output_size
        else [_unpooled(*each) for each in zip(input.shape[-2:], kernel, step, pad)]
    )
    return aten.max_unpool2d(input, indices, sizes)


@_rule()
def max_unpool3d(input, indices, kernel_size, stride, padding, output_size):
    kernel, pad = _repeated(kernel_size, 3), _repeated(padding, 3)
    step = _repeated(stride or kernel_size, 3)
    sizes = (
        list(output_size)[-3:]
        if output_size
        else [_unpooled(*each) for each in zip(input.shape[-3:], kernel, step, pad)]
    )
    return aten.max_unpool3d(input, indices, sizes, step, pad)


@_rule()
def im2col(input, kernel_size, dilation, padding, stride):
    return aten.im2col(input, *(_repeated(each, 2) for each in (kernel_size, dilation, padding, stride)))


@_rule()
def col2im(input, output_size, kernel_size, dilation, padding, stride):
    return aten.col2im(
        input, *(_repeated(each, 2) for each in (output_size, kernel_size, dilation, padding, stride))
    )


@_rule()
def cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing):
    number = {"none": 0, "mean": 1, "sum": 2}[reduction]
    return aten.cross_entropy_loss(input, target, weight, number, ignore_index, label_smoothing)


@_rule()
def nll_loss(input, target, weight, ignore_index, reduction):
    return aten.nll_loss_nd(input, target, weight, {"none": 0, "mean": 1, "sum": 2}[reduction], ignore_index)


# ---- images --------------------------------------------------------------------------------------------------
@_rule()
def grid_sample(input, grid, mode, padding_mode, align_corners):
    modes = {"bilinear": 0, "nearest": 1, "bicubic": 2}
    paddings = {"zeros": 0, "border": 1, "reflection": 2}
    return aten.grid_sampler(input, grid, modes[mode], paddings[padding_mode], bool(align_corners))


@_rule()
def affine_grid(theta, size, align_corners):
    return aten.affine_grid_generator(theta, size, align_corners)


_LINEAR = {
    "linear": "upsample_linear1d",
    "bilinear": "upsample_bilinear2d",
    "bicubic": "upsample_bicubic2d",
    "trilinear": "upsample_trilinear3d",
}


@_rule()
def interpolate(input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias):
    rank = input.ndim - 2
    sizes = None if size is None else _repeated(size, rank)
    factors = None if scale_factor is None else [float(scale_factor)] * rank
    if recompute_scale_factor and factors is not None:
        sizes, factors = [int(length * factor) for length, factor in zip(input.shape[2:], factors)], None
    if mode == "area":
        if sizes is None:
            sizes = [int(length * factor) for length, factor in zip(input.shape[2:], factors)]
        return aten[f"adaptive_avg_pool{rank}d"](input, sizes)
    return _upsample(input, sizes, mode, bool(align_corners), factors, antialias)


@_rule()
def upsample(input, size, mode, align_corners, scale_depth, scale_height, scale_width, antialias):
    factors = [scale_depth, scale_height, scale_width][3 - (input.ndim - 2) :]
    if any(factor is None for factor in factors):
        return _upsample(input, size, mode, align_corners, None, antialias)
    return _upsample(input, None, mode, align_corners, factors, antialias)


def _upsample(input, size, mode, align_corners, factors, antialias):
    rank = input.ndim - 2
    if mode == "nearest":
        return aten[f"upsample_nearest{rank}d.vec"](input, size, factors)
    if mode == "nearest-exact":
        return aten[f"_upsample_nearest_exact{rank}d.vec"](input, size, factors)
    if antialias:
        return aten[f"_upsample_{mode}2d_aa.vec"](input, size, align_corners, factors)
    return aten[_LINEAR[mode] + ".vec"](input, size, align_corners, factors)


# ---- recurrent layers ----------------------------------------------------------------------------------------
@_rule()
def lstm_packed(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional):
    return aten.lstm(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional)


def _packed(name):
    def rule(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional):
        return aten[name](
            data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional
        )

    OPERATORS[name + "_packed"] = rule


for _name in ("gru", "rnn_tanh", "rnn_relu"):
    _packed(_name)


# ---- attention -----------------------------------------------------------------------------------------------
def _float_mask(mask, dtype):
    """Zero where it may be looked at, -inf where not; a mask of numbers as it is."""
    if mask is None or mask.dtype != weft.bool:
        return mask
    return aten.masked_fill(aten.zeros_like(mask, dtype=dtype), mask, float("-inf"))


def _in_projection(query, key, value, embed_dim, weight, bias, separate):
    if weight is None:
        weights = separate
    else:
        weights = aten.chunk(weight, 3, 0)
    biases = [None] * 3 if bias is None else aten.chunk(bias, 3, 0)
    return [aten.linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases)]


@_rule()
def multi_head_attention_forward(
    query,
    key,
    value,
    embed_dim_to_check,
    num_heads,
    in_proj_weight,
    in_proj_bias,
    bias_k,
    bias_v,
    add_zero_attn,
    dropout_p,
    out_proj_weight,
    out_proj_bias,
    training,
    key_padding_mask,
    need_weights,
    attn_mask,
    use_separate_proj_weight,
    q_proj_weight,
    k_proj_weight,
    v_proj_weight,
    static_k,
    static_v,
    average_attn_weights,
    is_causal,
):
    """[L, N, E] or [L, E]; softmax(q k^T / sqrt(d) + mask) v for every head."""
    is_batched = query.ndim == 3
    if not is_batched:
        query, key, value = (aten.unsqueeze(x, 1) for x in (query, key, value))
        if key_padding_mask is not None:
            key_padding_mask = aten.unsqueeze(key_padding_mask, 0)
    length, batch, embed_dim = query.shape
    head = embed_dim_to_check // num_heads
    separate = (q_proj_weight, k_proj_weight, v_proj_weight)
    q, k, v = _in_projection(
        query,
        key,
        value,
        embed_dim_to_check,
        None if use_separate_proj_weight else in_proj_weight,
        in_proj_bias,
        separate,
    )
    attn_mask = _float_mask(attn_mask, query.dtype)
    padding = _float_mask(key_padding_mask, query.dtype)
    if bias_k is not None:
        k = aten.cat([k, aten.repeat(bias_k, [1, batch, 1])], 0)
        v = aten.cat([v, aten.repeat(bias_v, [1, batch, 1])], 0)
        attn_mask, padding = (
            mask if mask is None else aten.pad(mask, [0, 1]) for mask in (attn_mask, padding)
        )
    heads = batch * num_heads
    q = aten.transpose(aten.reshape(q, [length, heads, head]), 0, 1)
    k = aten.transpose(aten.reshape(k, [-1, heads, head]), 0, 1) if static_k is None else static_k
    v = aten.transpose(aten.reshape(v, [-1, heads, head]), 0, 1) if static_v is None else static_v
    if add_zero_attn:
        zeros = aten.zeros([heads, 1, head], dtype=query.dtype)
        k, v = aten.cat([k, zeros], 1), aten.cat([v, zeros], 1)
        attn_mask, padding = (
            mask if mask is None else aten.pad(mask, [0, 1]) for mask in (attn_mask, padding)
        )
    scores = aten.bmm(aten.div(q, head**0.5), aten.transpose(k, 1, 2))
    scores = aten.view(scores, [batch, num_heads, length, -1])
    if attn_mask is not None:
        mask = aten.view(attn_mask, [batch, num_heads, length, -1]) if attn_mask.ndim == 3 else attn_mask
        scores = aten.add(scores, mask)
    if padding is not None:
        scores = aten.add(scores, aten.unsqueeze(aten.unsqueeze(padding, 1), 1))
    weights = aten.softmax(scores, -1)
    mixed = aten.bmm(aten.view(weights, [heads, length, -1]), v)
    mixed = aten.reshape(aten.transpose(mixed, 0, 1), [length, batch, embed_dim_to_check])
    output = aten.linear(mixed, out_proj_weight, out_proj_bias)
    if average_attn_weights:
        weights = aten.mean(weights, [1])
    if not is_batched:
        output, weights = aten.squeeze(output, 1), aten.squeeze(weights, 0)
    return output, weights if need_weights else None


# ---- indexing ------------------------------------------------------------------------------------------------
def _index_tensor(item):
    if isinstance(item, weft.Tensor):
        return item
    with paused():
        index = weft.tensor(item) if isinstance(item, list) else weft.as_tensor(item)
        return index.to(weft.int64) if index.numel() == 0 and isinstance(item, list) else index


def _is_scalar_index(item):
    if isinstance(item, weft.Tensor):
        return item.ndim == 0 and not item.is_floating_point() and item.dtype != weft.bool
    return not isinstance(item, bool) and hasattr(item, "__index__") and not hasattr(item, "__len__")


def _select(tensor, index):
    """The view that the numbers, slices, None and ... of an index select, and its tensors by dimension of the view."""
    items = [
        item
        if item is None or item is Ellipsis or isinstance(item, slice) or _is_scalar_index(item)
        else _index_tensor(item)
        for item in (index if isinstance(index, tuple) else (index,))
    ]
    taken = sum(
        item.ndim
        if isinstance(item, weft.Tensor) and item.dtype == weft.bool
        else item is not None and item is not Ellipsis
        for item in items
    )
    rank, view, dim, arrays = tensor.ndim, tensor, 0, []
    for item in items:
        if item is Ellipsis:
            dim += rank - taken
        elif item is None:
            view = aten.unsqueeze(view, dim)
            dim += 1
        elif isinstance(item, slice):
            if any(bound is not None for bound in (item.start, item.stop, item.step)):
                view = aten.slice(view, dim, item.start, item.stop, 1 if item.step is None else item.step)
            dim += 1
        elif _is_scalar_index(item):
            if isinstance(item, weft.Tensor):
                item = aten.Int(item)
            elif type(item) not in (int, TracedInt):
                item = item.__index__()
            view = aten.select(view, dim, item)
        else:
            arrays += [None] * (dim - len(arrays)) + [item]
            dim += item.ndim if item.dtype == weft.bool else 1
    return view, arrays


def _check_index(original, tensor, index):
    """The error that the index gives, if it does."""
    with paused():
        original(tensor, index)


def _getitem(original, self, index):
    _check_index(original, self, index)
    view, arrays = _select(self, index)
    if arrays:
        return aten.index(view, arrays)
    return aten.alias(self) if view is self else view


def _setitem(original, self, index, value):
    _check_index(type(self).__getitem__, self, index)
    view, arrays = _select(self, index)
    if arrays:
        if not isinstance(value, weft.Tensor):
            with paused():
                value = weft.as_tensor(value).to(self.dtype)
        elif value.dtype != self.dtype:
            value = aten["to.dtype"](value, self.dtype, False, False)
        aten.index_put_(view, arrays, value)
    elif _is_number(value):
        aten.fill_(view, value)
    else:
        aten.copy_(view, value if isinstance(value, weft.Tensor) else _index_tensor(value))


# ---- methods of Tensor ---------------------------------------------------------------------------------------
def _to(original, self, *args, dtype=None, device=None, copy=False):
    with paused():
        target = original(self, *args, dtype=dtype, device=device)
    for other in args:
        if isinstance(other, weft.Tensor):
            return aten["to.other"](self, other, False, copy)
    if target.device != self.device:
        raise NotImplementedError(f"weft.jit.trace: to: a move to {target.device} cannot be recorded")
    if (
        target.dtype == self.dtype
        and dtype is None
        and not any(isinstance(each, weft.dtype) for each in args)
    ):
        return aten.clone(self) if copy else self
    return aten["to.dtype"](self, target.dtype, False, copy)


def _converting(original, self, *args, **kwargs):
    with paused():
        dtype = original(self, *args, **kwargs).dtype
    return aten["to.dtype"](self, dtype, False, False)


def _same(original, self):
    return self


def _builtin(name):
    return lambda original, self: aten[name](self)


def _copy(original, self, source):
    aten.copy_(self, source if isinstance(source, weft.Tensor) else _index_tensor(source))
    return self


def _fill(original, self, value):
    aten.fill_(self, value)
    return self


def _zero(original, self):
    aten.zero_(self)
    return self


def _shape(original, self):
    sizes = original(self)
    if not current().recorder.is_computed(self):
        return sizes
    return tuple(aten["size.int"](self, dim) for dim in range(len(sizes)))


def _size(original, self, dim=None):
    if dim is None:
        return self.shape
    plain = original(self, dim)
    return aten["size.int"](self, dim) if current().recorder.is_computed(self) else plain


def _numel(original, self):
    return aten.numel(self) if current().recorder.is_computed(self) else original(self)


def _len(original, self):
    length = original(self)
    if current().recorder.is_computed(self):
        warn(
            "Using len of a tensor records its length as a constant, so the trace might not hold for other inputs; use x.shape[0]"
        )
    return length


def _iter(original, self):
    if self.ndim == 0:
        return original(self)
    if current().recorder.is_computed(self):
        warn(
            "Iterating over a tensor might cause the trace to be incorrect: the number of iterations is recorded as a constant, "
            "so the trace might not hold for other inputs."
        )
    return iter(aten.unbind(self, 0))


def _value(what):
    def rule(original, self, *args, **kwargs):
        warn_value(self, what)
        return original(self, *args, **kwargs)

    return rule


METHODS = {
    "__getitem__": _getitem,
    "__setitem__": _setitem,
    "__len__": _len,
    "__iter__": _iter,
    "__bool__": _value("boolean"),
    "__int__": _value("integer"),
    "__float__": _value("float"),
    "__complex__": _value("complex number"),
    "__index__": _value("index"),
    "item": _value("number"),
    "tolist": _value("list"),
    "numpy": _value("array"),
    "__array__": _value("array"),
    "__copy__": _builtin("alias"),
    "__deepcopy__": lambda original, self, memo: aten.clone(self),
    "to": _to,
    "type": _converting,
    "astype": _converting,
    "cpu": _same,
    "contiguous": _builtin("contiguous"),
    "clone": _builtin("clone"),
    "detach": _builtin("detach"),
    "copy_": _copy,
    "fill_": _fill,
    "zero_": _zero,
    "size": _size,
    "numel": _numel,
    "nelement": _numel,
    **dict.fromkeys(
        ("half", "bfloat16", "float", "double", "short", "int", "long", "bool", "cfloat", "cdouble"),
        _converting,
    ),
}

PROPERTIES = {
    "shape": _shape,
    "T": lambda original, self: aten.permute(self, list(reversed(range(self.ndim)))),
    "mT": lambda original, self: aten.transpose(self, -2, -1),
}


def _of_data(original, data, **options):
    """weft.tensor and its relatives."""
    if isinstance(data, weft.Tensor):
        if original.__name__ == "tensor":
            data = aten.clone(data)
        return data if options.get("dtype") is None else data.to(options["dtype"])
    if _holds_traced(data):
        warn(
            "A tensor is made of values of traced tensors: it is recorded as a constant, so the trace might not hold for other inputs."
        )
    with paused():
        return original(data, **options)


def _holds_traced(data):
    if isinstance(data, (list, tuple)):
        return any(_holds_traced(item) for item in data)
    return isinstance(data, TracedInt) or (
        isinstance(data, weft.Tensor) and current().recorder.is_computed(data)
    )


FUNCTIONS = dict.fromkeys(("tensor", "as_tensor", "asarray"), _of_data)
