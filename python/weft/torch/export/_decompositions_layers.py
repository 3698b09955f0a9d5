"""What layers, activations and recurrent layers are made of."""

import itertools
import math

import weft

from ._decompositions import (
    TABLE,
    _add,
    _arange,
    _cast,
    _dim,
    _div,
    _each,
    _full_like,
    _mean,
    _mul,
    _slice,
    _sub,
    _swap,
    _where,
    _wide,
    aten,
    linear,
    matmul,
    rule,
    view,
)


# ---- layers ----------------------------------------------------------------------------------------------------
def _convolution(dims):
    def apply(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        stride, dilation = _each(stride, dims), _each(dilation, dims)
        is_single = x.dim() == dims + 1
        if is_single:
            x = aten.unsqueeze(x, 0)
        if padding == "same":
            total = [dilation[at] * (int(weight.shape[at + 2]) - 1) for at in range(dims)]
            padding = [each // 2 for each in total]
            if any(each % 2 for each in total):
                sides = [part for each in reversed(total) for part in (0, each % 2)]
                x = aten.constant_pad_nd(x, sides, 0)
        padding = _each(0 if padding == "valid" else padding, dims)
        result = aten.convolution(x, weight, bias, stride, padding, dilation, False, [0] * dims, groups)
        return aten["squeeze.dims"](result, [0]) if is_single else result

    return apply


def _transposed_convolution(dims):
    def apply(x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
        stride, padding, more, dilation = (
            _each(each, dims) for each in (stride, padding, output_padding, dilation)
        )
        if x.dim() == dims + 1:
            one = apply(aten.unsqueeze(x, 0), weight, bias, stride, padding, more, groups, dilation)
            return aten["squeeze.dims"](one, [0])
        return aten.convolution(x, weight, bias, stride, padding, dilation, True, more, groups)

    return apply


for _dims in (1, 2, 3):
    TABLE[f"conv{_dims}d"] = TABLE[f"conv{_dims}d.padding"] = _convolution(_dims)
    TABLE[f"conv_transpose{_dims}d{'.input' if _dims > 1 else ''}"] = _transposed_convolution(_dims)


@rule("batch_norm")
def batch_norm(x, weight, bias, mean, variance, training, momentum, eps, cudnn_enabled):
    if not training:
        return aten._native_batch_norm_legit_no_training(x, weight, bias, mean, variance, momentum, eps)[0]
    if mean is not None:
        return NotImplemented
    return aten["_native_batch_norm_legit.no_stats"](x, weight, bias, True, momentum, eps)[0]


@rule("instance_norm")
def instance_norm(x, weight, bias, mean, variance, use_input_stats, momentum, eps, cudnn_enabled):
    if not use_input_stats:
        return batch_norm(x, weight, bias, mean, variance, False, momentum, eps, cudnn_enabled)
    if mean is not None:
        return NotImplemented
    batch = x.shape[0]
    weight, bias = (each if each is None else aten.repeat(each, [batch]) for each in (weight, bias))
    joined = view(x, [1, -1, *x.shape[2:]])
    return aten.view(batch_norm(joined, weight, bias, None, None, True, momentum, eps, False), list(x.shape))


@rule("layer_norm")
def layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    return aten.native_layer_norm(x, list(normalized_shape), weight, bias, eps)[0]


@rule("group_norm")
def group_norm(x, groups, weight=None, bias=None, eps=1e-5, cudnn_enabled=True):
    return aten.native_group_norm(
        x, weight, bias, x.shape[0], x.shape[1], math.prod(x.shape[2:]), groups, eps
    )[0]


@rule("rms_norm", "_fused_rms_norm")
def rms_norm(x, normalized_shape, weight=None, eps=None):
    dims = list(range(-len(normalized_shape), 0))
    wide = _cast(x, weft.float32) if x.dtype in (weft.float16, weft.bfloat16) else x
    square = _mean(aten["pow.Tensor_Scalar"](wide, 2), dims, True)
    scale = aten.rsqrt(aten["add.Scalar"](square, weft.torch.finfo(wide.dtype).eps if eps is None else eps))
    result = _mul(wide, scale)
    return _cast(result if weight is None else _mul(result, weight), x.dtype)


@rule("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout")
def dropout(x, p, train):
    return x if not train or p == 0 else NotImplemented


@rule("softmax.int", "special_softmax")
def softmax(x, dim, dtype=None):
    return aten._softmax(_cast(x, dtype), dim, False)


@rule("log_softmax.int", "special_log_softmax")
def log_softmax(x, dim, dtype=None):
    return aten._log_softmax(_cast(x, dtype), dim, False)


@rule("_safe_softmax")
def safe_softmax(x, dim, dtype=None):
    """Rows that are masked altogether are zeros."""
    x = _cast(x, dtype)
    seen = aten["any.dim"](aten["ne.Scalar"](x, -math.inf), dim, True)
    result = aten._softmax(x, dim, False)
    return _where(seen, result, 0.0)


@rule("scaled_dot_product_attention")
def attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False
):
    if dropout_p:
        return NotImplemented
    if enable_gqa:
        times = int(query.shape[-3]) // int(key.shape[-3])
        key, value = (repeat_interleave(each, times, -3) for each in (key, value))
    scale = 1 / math.sqrt(int(query.shape[-1])) if scale is None else scale
    if is_causal:
        rows, columns = query.shape[-2], key.shape[-2]
        attn_mask = _triangle(rows, columns, 0, is_lower=True)
    scores = matmul(_mul(query, math.sqrt(scale)), _swap(_mul(key, math.sqrt(scale)), -2, -1))
    if attn_mask is not None and attn_mask.dtype == weft.bool:
        scores = _where(attn_mask, scores, -math.inf)
    elif attn_mask is not None:
        scores = _add(scores, attn_mask)
    weights = aten._softmax(scores, -1, False) if attn_mask is None else safe_softmax(scores, -1)
    result = matmul(weights, value)
    if query.dim() != 4:
        return result
    # PyTorch's kernel for CPUs leaves the heads of a token side by side, and graphs have views of them.
    return _swap(aten.clone(_swap(result, -3, -2), memory_format=0), -3, -2)


@rule("max_pool1d")
def max_pool1d(x, kernel_size, stride=(), padding=0, dilation=1, ceil_mode=False):
    kernel, padding, dilation = (_each(each, 1) for each in (kernel_size, padding, dilation))
    stride = _each(stride, 1) or kernel
    found = aten.max_pool2d_with_indices(
        aten.unsqueeze(x, -2), [1, *kernel], [1, *stride], [0, *padding], [1, *dilation], ceil_mode
    )
    return aten["squeeze.dims"](found[0], [-2])


@rule("max_pool2d")
def max_pool2d(x, *args, **kwargs):
    return aten.max_pool2d_with_indices(x, *args, **kwargs)[0]


@rule("max_pool3d")
def max_pool3d(x, *args, **kwargs):
    return aten.max_pool3d_with_indices(x, *args, **kwargs)[0]


@rule("avg_pool1d")
def avg_pool1d(x, kernel_size, stride=(), padding=0, ceil_mode=False, count_include_pad=True):
    kernel, padding = _each(kernel_size, 1), _each(padding, 1)
    stride = _each(stride, 1) or kernel
    found = aten.avg_pool2d(
        aten.unsqueeze(x, -2), [1, *kernel], [1, *stride], [0, *padding], ceil_mode, count_include_pad
    )
    return aten["squeeze.dims"](found, [-2])


@rule("adaptive_avg_pool1d")
def adaptive_avg_pool1d(x, output_size):
    found = aten._adaptive_avg_pool2d(aten.unsqueeze(x, -2), [1, *_each(output_size, 1)])
    return aten["squeeze.dims"](found, [-2])


@rule("adaptive_avg_pool2d")
def adaptive_avg_pool2d(x, output_size):
    return (
        _mean(x, [-1, -2], True)
        if _each(output_size, 2) == [1, 1]
        else aten._adaptive_avg_pool2d(x, _each(output_size, 2))
    )


@rule("adaptive_avg_pool3d")
def adaptive_avg_pool3d(x, output_size):
    sizes = _each(output_size, 3)
    return _mean(x, [-1, -2, -3], True) if sizes == [1, 1, 1] else aten._adaptive_avg_pool3d(x, sizes)


@rule("pad")
def pad(x, sides, mode="constant", value=None):
    if mode == "constant":
        return aten.constant_pad_nd(x, list(sides), 0 if value is None else value)
    kind = {"reflect": "reflection", "replicate": "replication"}.get(mode)
    return NotImplemented if kind is None else aten[f"{kind}_pad{len(sides) // 2}d"](x, list(sides))


# ---- activations -----------------------------------------------------------------------------------------------
def _relu6(x):
    return aten.hardtanh(x, 0.0, 6.0)


TABLE["relu6"] = _relu6
TABLE["silu"] = _wide(lambda x: _mul(x, aten.sigmoid(x)))
TABLE["hardswish"] = _wide(lambda x: _div(_mul(x, _relu6(aten["add.Scalar"](x, 3))), 6))
TABLE["hardsigmoid"] = _wide(lambda x: _div(_relu6(aten["add.Scalar"](x, 3)), 6))
TABLE["mish"] = _wide(lambda x: _mul(x, aten.tanh(softplus(x))))
TABLE["selu"] = lambda x: aten.elu(x, 1.6732632423543772, 1.0507009873554805)
TABLE["celu"] = lambda x, alpha=1.0: aten.elu(x, alpha, 1, 1.0 / alpha)
TABLE["log_sigmoid"] = _wide(
    lambda x: _sub(aten.minimum(x, _full_like(x, 0)), aten.log1p(aten.exp(aten.neg(aten.abs(x)))))
)


@rule("softplus")
@_wide
def softplus(x, beta=1, threshold=20):
    scaled = x if beta == 1 else _mul(x, beta)
    soft = aten.log1p(aten.exp(scaled))
    return _where(aten["gt.Scalar"](scaled, threshold), x, soft if beta == 1 else _div(soft, beta))


@rule("glu")
def glu(x, dim=-1):
    one, other = halves(x, dim)
    return _mul(one, aten.sigmoid(other))


def halves(x, dim):
    half = x.shape[dim] // 2
    return _slice(x, dim, 0, half), _slice(x, dim, half, 2 * half)


@rule("prelu", "_prelu_kernel")
def prelu(x, weight):
    if weight.dim() == 1 and x.dim() > 1 and weight.numel() > 1:
        weight = aten.view(weight, [-1, *[1] * (x.dim() - 2)])
    return _where(aten["gt.Scalar"](x, 0), x, _mul(x, weight))


@rule("hardshrink")
def hardshrink(x, lambd=0.5):
    return _where(aten["le.Scalar"](aten.abs(x), lambd), 0, x)


@rule("softshrink")
def softshrink(x, lambd=0.5):
    shrunk = _sub(x, _mul(aten.sign(x), lambd))
    return _where(aten["gt.Scalar"](aten.abs(x), lambd), shrunk, _mul(x, 0))


@rule("threshold")
def threshold(x, threshold, value):
    return _where(aten["le.Scalar"](x, threshold), value, x)


@rule("embedding_bag", "embedding_bag.padding_idx")
def embedding_bag(weight, indices, offsets, scale_grad_by_freq=False, mode=0, sparse=False, per_sample_weights=None,
                  include_last_offset=False, padding_idx=None):  # fmt: skip
    padding_idx = -1 if padding_idx is None else padding_idx
    return aten._embedding_bag(
        weight,
        indices,
        offsets,
        scale_grad_by_freq,
        mode,
        sparse,
        per_sample_weights,
        include_last_offset,
        padding_idx,
    )


# ---- resizing --------------------------------------------------------------------------------------------------
def _linear_resize(dims):
    """upsample_linear1d and upsample_trilinear3d. source: the sums of torch/_decomp/decompositions.py's _upsample_linear."""

    def apply(x, output_size, align_corners, *scales):
        if not x.dtype.is_floating_point:
            return NotImplemented
        scales = list(scales) or [None] * dims
        firsts, seconds, shares = [], [], []
        for at in range(dims):
            size, wanted, scale = int(x.shape[at + 2]), int(output_size[at]), scales[at]
            place = _cast(_arange(wanted), x.dtype)
            if align_corners:
                place = _mul(place, (size - 1.0) / (wanted - 1.0) if wanted > 1 else 0.0)
            else:
                step = 1.0 / scale if scale is not None and scale > 0 else size / wanted
                place = aten.clamp(_sub(_mul(_add(place, 0.5), step), 0.5), 0.0)
            place = view(place, [wanted, *[1] * (dims - 1 - at)])
            first = _cast(place, weft.int64)
            firsts.append(first)
            seconds.append(aten.clamp(_add(first, 1), None, size - 1))
            shares.append(aten.clamp(_sub(place, _cast(first, x.dtype)), 0.0, 1.0))
        corners = [
            aten["index.Tensor"](
                x, [None, None, *(pair[which] for pair, which in zip(zip(firsts, seconds), corner))]
            )
            for corner in itertools.product((0, 1), repeat=dims)
        ]
        for share in reversed(shares):
            corners = [
                _add(one, _mul(_sub(other, one), share)) for one, other in zip(corners[::2], corners[1::2])
            ]
        return corners[0]

    return apply


def _nearest_resize(dims, offset):
    """upsample_nearest: of each element one of the input's. source: _upsample_nearest there."""

    def apply(x, output_size, *scales):
        scales = list(scales) or [None] * dims
        places = []
        for at in range(dims):
            size, wanted, scale = int(x.shape[at + 2]), int(output_size[at]), scales[at]
            step = size / (size * scale) if scale is not None and scale > 0 else size / wanted
            place = _cast(_arange(wanted), weft.float32)
            place = _cast(_mul(_add(place, offset) if offset else place, step), weft.int64)
            places.append(view(place, [wanted, *[1] * (dims - 1 - at)]))
        return aten["index.Tensor"](x, [None, None, *places])

    return apply


def _resize_by_factors(resize, dims):
    """The overload of factors. options: align_corners, of resizing that has it."""

    def apply(x, output_size, *options):
        *options, scale_factors = options
        if output_size is not None:
            return resize(x, output_size, *options)
        sizes = [int(int(x.shape[at + 2]) * scale_factors[at]) for at in range(dims)]
        return resize(x, sizes, *options, *scale_factors)

    return apply


for _name, _dims in (("linear1d", 1), ("trilinear3d", 3)):
    TABLE[f"upsample_{_name}"] = _wide(_linear_resize(_dims))
    TABLE[f"upsample_{_name}.vec"] = _wide(_resize_by_factors(_linear_resize(_dims), _dims))
for _name, _dims, _offset in (
    ("upsample_nearest1d", 1, 0.0), ("upsample_nearest2d", 2, 0.0), ("upsample_nearest3d", 3, 0.0),
    ("_upsample_nearest_exact1d", 1, 0.5), ("_upsample_nearest_exact2d", 2, 0.5), ("_upsample_nearest_exact3d", 3, 0.5),
):  # fmt: skip
    TABLE[_name] = _nearest_resize(_dims, _offset)
    if _name != "upsample_nearest2d":  # whose overload of factors is of the core set
        TABLE[f"{_name}.vec"] = _resize_by_factors(_nearest_resize(_dims, _offset), _dims)
# These stay, with sizes.
for _name in ("upsample_bicubic2d", "_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"):
    TABLE[f"{_name}.vec"] = _resize_by_factors(aten[_name], 2)


@rule("grid_sampler")
def grid_sampler(x, grid, interpolation_mode, padding_mode, align_corners):
    sampler = aten.grid_sampler_2d if x.dim() == 4 else aten.grid_sampler_3d
    return sampler(x, grid, interpolation_mode, padding_mode, align_corners)


# ---- recurrent layers ------------------------------------------------------------------------------------------
def _recurrent(step, num_states):
    """(x, states, weights, biases?, layers, dropout, training, two directions?, batch first?) -> results as PyTorch's."""

    def apply(x, states, params, has_biases, num_layers, dropout, train, bidirectional, batch_first):
        if (train and dropout) or x.dim() != 3:
            return NotImplemented
        states = [states] if num_states == 1 else list(states)
        per_layer = (4 if has_biases else 2) + (
            num_states == 2 and len(params) == num_layers * (1 + bidirectional) * (5 if has_biases else 3)
        )
        x = _swap(x, 0, 1) if batch_first else x
        last = [[] for _ in states]
        for layer in range(num_layers):
            parts = []
            for backwards in range(1 + bidirectional):
                at = layer * (1 + bidirectional) + backwards
                weights = list(params[at * per_layer : (at + 1) * per_layer])
                project = weights.pop() if per_layer in (3, 5) else None
                if not has_biases:
                    weights += [None, None]
                state = [aten["select.int"](each, 0, at) for each in states]
                gates = linear(x, weights[0], weights[2])
                outputs = []
                length = int(gates.shape[0])
                for time in reversed(range(length)) if backwards else range(length):
                    state = step(aten["select.int"](gates, 0, time), state, weights[1], weights[3])
                    if project is not None:
                        state[0] = linear(state[0], project)
                    outputs.append(aten.unsqueeze(state[0], 0))
                parts.append(aten.cat(outputs[::-1] if backwards else outputs, 0))
                for found, each in zip(last, state):
                    found.append(aten.unsqueeze(each, 0))
            x = parts[0] if len(parts) == 1 else aten.cat(parts, 2)
        x = _swap(x, 0, 1) if batch_first else x
        return (x, *(aten.cat(each, 0) for each in last))

    return apply


def _lstm_step(gates, state, weight, bias):
    hidden, cell = state
    width = weight.shape[0] // 4
    gates = _add(gates, linear(hidden, weight, bias))
    parts = [_slice(gates, 1, at * width, (at + 1) * width) for at in range(4)]
    keep, take, out = (aten.sigmoid(parts[at]) for at in (1, 0, 3))
    cell = _add(_mul(keep, cell), _mul(take, aten.tanh(parts[2])))
    return [_mul(out, aten.tanh(cell)), cell]


def _gru_step(gates, state, weight, bias):
    (hidden,) = state
    width = weight.shape[0] // 3
    own = linear(hidden, weight, bias)
    mine, theirs = (
        [_slice(each, 1, at * width, (at + 1) * width) for at in range(3)] for each in (gates, own)
    )
    reset, update = (aten.sigmoid(_add(mine[at], theirs[at])) for at in (0, 1))
    new = aten.tanh(_add(mine[2], _mul(reset, theirs[2])))
    return [_add(_mul(_sub(hidden, new), update), new)]


def _tanh_step(gates, state, weight, bias):
    return [aten.tanh(_add(gates, linear(state[0], weight, bias)))]


def _relu_step(gates, state, weight, bias):
    return [aten.relu(_add(gates, linear(state[0], weight, bias)))]


def _cell(step, num_states):
    def apply(x, states, w_ih, w_hh, b_ih=None, b_hh=None):
        states = [states] if num_states == 1 else list(states)
        found = step(linear(x, w_ih, b_ih), states, w_hh, b_hh)
        return found[0] if num_states == 1 else tuple(found)

    return apply


for _name, _step, _num_states in (
    ("lstm", _lstm_step, 2), ("gru", _gru_step, 1), ("rnn_tanh", _tanh_step, 1), ("rnn_relu", _relu_step, 1),
):  # fmt: skip
    TABLE[f"{_name}.input"] = _recurrent(_step, _num_states)
    TABLE[f"{_name}_cell"] = _cell(_step, _num_states)


# ---- triangles -------------------------------------------------------------------------------------------------
def _triangle(rows, columns, diagonal, is_lower):
    """A mask: at or below the diagonal, or at or above it."""
    difference = _sub(aten.unsqueeze(_arange(columns), 0), aten.unsqueeze(_arange(rows), 1))
    return aten["le.Scalar" if is_lower else "ge.Scalar"](difference, diagonal)


@rule("tril")
def tril(x, diagonal=0):
    return _where(_triangle(*x.shape[-2:], diagonal, True), x, 0)


@rule("triu")
def triu(x, diagonal=0):
    return _where(_triangle(*x.shape[-2:], diagonal, False), x, 0)


@rule("repeat_interleave.self_int")
def repeat_interleave(x, repeats, dim=None, *, output_size=None):
    if dim is None:
        x, dim = view(x, [-1]), 0
    dim = _dim(x, dim)
    sizes = list(x.shape)
    wide = aten.expand(aten.unsqueeze(x, dim + 1), [*sizes[: dim + 1], repeats, *sizes[dim + 1 :]])
    return view(wide, [*sizes[:dim], sizes[dim] * repeats, *sizes[dim + 1 :]])
