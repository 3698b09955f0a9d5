"""torch.nn.functional over weft's operators: the same names, parameters, defaults and results, for inference.

Every function here only arranges arguments; what is computed is documented with the operators. `inplace=True` writes
the result into the input. Functions trace through `weft.compile`.
"""

import weft as _weft

# ---- arguments -----------------------------------------------------------------------------------------------


def _finish(input, result, inplace):
    if not inplace:
        return result
    input[...] = result
    return input


def _sizes(output_size, input, rank):
    """output_size as a list, None standing for the input's own size."""
    given = [output_size] * rank if output_size is None or isinstance(output_size, int) else list(output_size)
    return [own if size is None else size for size, own in zip(given, input.shape[-rank:])] if len(given) == rank else given


def _cast(input, dtype):
    return input if dtype is None else input.to(dtype)


def _dim(dim, ndim):
    """The dimension softmax and its relatives take where none is given."""
    if dim is not None:
        return dim
    return 0 if ndim in (0, 1, 3) else 1


# ---- pooling -------------------------------------------------------------------------------------------------


def max_pool1d_with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    return _weft.max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d_with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    return _weft.max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d_with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    return _weft.max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    if return_indices:
        return _weft.max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return _weft.max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    if return_indices:
        return _weft.max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return _weft.max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    if return_indices:
        return _weft.max_pool3d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)
    return _weft.max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    return _weft.max_unpool1d(input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    return _weft.max_unpool2d(input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    return _weft.max_unpool3d(input, indices, kernel_size, stride, padding, output_size)


def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    return _weft.avg_pool1d(input, kernel_size, stride, padding, ceil_mode, count_include_pad)


def avg_pool2d(
    input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
):
    return _weft.avg_pool2d(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d(
    input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None
):
    return _weft.avg_pool3d(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def adaptive_max_pool1d_with_indices(input, output_size, return_indices=False):
    return _weft.adaptive_max_pool1d_with_indices(input, _sizes(output_size, input, 1))


def adaptive_max_pool2d_with_indices(input, output_size, return_indices=False):
    return _weft.adaptive_max_pool2d_with_indices(input, _sizes(output_size, input, 2))


def adaptive_max_pool3d_with_indices(input, output_size, return_indices=False):
    return _weft.adaptive_max_pool3d_with_indices(input, _sizes(output_size, input, 3))


def adaptive_max_pool1d(input, output_size, return_indices=False):
    if return_indices:
        return adaptive_max_pool1d_with_indices(input, output_size)
    return _weft.adaptive_max_pool1d(input, _sizes(output_size, input, 1))


def adaptive_max_pool2d(input, output_size, return_indices=False):
    if return_indices:
        return adaptive_max_pool2d_with_indices(input, output_size)
    return _weft.adaptive_max_pool2d(input, _sizes(output_size, input, 2))


def adaptive_max_pool3d(input, output_size, return_indices=False):
    if return_indices:
        return adaptive_max_pool3d_with_indices(input, output_size)
    return _weft.adaptive_max_pool3d(input, _sizes(output_size, input, 3))


def adaptive_avg_pool1d(input, output_size):
    return _weft.adaptive_avg_pool1d(input, _sizes(output_size, input, 1))


def adaptive_avg_pool2d(input, output_size):
    return _weft.adaptive_avg_pool2d(input, _sizes(output_size, input, 2))


def adaptive_avg_pool3d(input, output_size):
    return _weft.adaptive_avg_pool3d(input, _sizes(output_size, input, 3))


def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    return _weft.lp_pool1d(input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    return _weft.lp_pool2d(input, norm_type, kernel_size, stride, ceil_mode)


# ---- convolution ---------------------------------------------------------------------------------------------


def _convolve(operator, input, weight, bias, stride, padding, dilation, groups):
    """padding may be 'valid', or 'same': then the odd element of padding goes after the input."""
    if not isinstance(padding, str):
        return operator(input, weight, bias, stride, padding, dilation, groups)
    if padding == "valid":
        return operator(input, weight, bias, stride, 0, dilation, groups)
    if padding != "same":
        raise ValueError(f"{operator.__name__}: padding: expected ints, 'valid' or 'same', got {padding!r}")
    rank = len(weight.shape) - 2
    strides = [stride] * rank if isinstance(stride, int) else list(stride)
    steps = [dilation] * rank if isinstance(dilation, int) else list(dilation)
    if any(step != 1 for step in strides):
        raise ValueError(f"{operator.__name__}: padding='same' needs stride 1, got {stride}")
    total = [step * (size - 1) for step, size in zip(steps * rank if len(steps) == 1 else steps, weight.shape[2:])]
    uneven = [each for one in reversed(total) for each in (0, one % 2)]
    if any(uneven):
        input = pad(input, uneven)
    return operator(input, weight, bias, stride, [one // 2 for one in total], dilation, groups)


def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    return _convolve(_weft.conv1d, input, weight, bias, stride, padding, dilation, groups)


def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    return _convolve(_weft.conv2d, input, weight, bias, stride, padding, dilation, groups)


def conv3d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    return _convolve(_weft.conv3d, input, weight, bias, stride, padding, dilation, groups)


def conv_transpose1d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    return _weft.conv_transpose1d(input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    return _weft.conv_transpose2d(input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    return _weft.conv_transpose3d(input, weight, bias, stride, padding, output_padding, groups, dilation)


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    return _weft.im2col(input, kernel_size, dilation, padding, stride)


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    return _weft.col2im(input, output_size, kernel_size, dilation, padding, stride)


# ---- linear --------------------------------------------------------------------------------------------------


def linear(input, weight, bias=None):
    return _weft.linear(input, weight, bias)


def bilinear(input1, input2, weight, bias=None):
    return _weft.bilinear(input1, input2, weight, bias)


# ---- activations ---------------------------------------------------------------------------------------------


def threshold(input, threshold, value, inplace=False):
    return _finish(input, _weft.threshold(input, threshold, value), inplace)


def relu(input, inplace=False):
    return _finish(input, _weft.relu(input), inplace)


def relu6(input, inplace=False):
    return _finish(input, _weft.relu6(input), inplace)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    if min_val > max_val:
        raise ValueError(f"hardtanh: min_val must not be larger than max_val: got {min_val} and {max_val}")
    return _finish(input, _weft.hardtanh(input, min_val, max_val), inplace)


def elu(input, alpha=1.0, inplace=False):
    return _finish(input, _weft.elu(input, alpha), inplace)


def selu(input, inplace=False):
    return _finish(input, _weft.selu(input), inplace)


def celu(input, alpha=1.0, inplace=False):
    return _finish(input, _weft.celu(input, alpha), inplace)


def leaky_relu(input, negative_slope=0.01, inplace=False):
    return _finish(input, _weft.leaky_relu(input, negative_slope), inplace)


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    if training:
        raise NotImplementedError("rrelu: training=True draws random slopes, which weft has none of")
    return _finish(input, _weft.leaky_relu(input, (lower + upper) / 2), inplace)


def silu(input, inplace=False):
    return _finish(input, _weft.silu(input), inplace)


def mish(input, inplace=False):
    return _finish(input, _weft.mish(input), inplace)


def hardsigmoid(input, inplace=False):
    return _finish(input, _weft.hardsigmoid(input), inplace)


def hardswish(input, inplace=False):
    return _finish(input, _weft.hardswish(input), inplace)


def threshold_(input, threshold, value):
    return _finish(input, _weft.threshold(input, threshold, value), True)


def relu_(input):
    return relu(input, True)


def relu6_(input):
    return relu6(input, True)


def hardtanh_(input, min_val=-1.0, max_val=1.0):
    return hardtanh(input, min_val, max_val, True)


def elu_(input, alpha=1.0):
    return elu(input, alpha, True)


def selu_(input):
    return selu(input, True)


def celu_(input, alpha=1.0):
    return celu(input, alpha, True)


def leaky_relu_(input, negative_slope=0.01):
    return leaky_relu(input, negative_slope, True)


def rrelu_(input, lower=1.0 / 8, upper=1.0 / 3, training=False):
    return rrelu(input, lower, upper, training, True)


def prelu(input, weight):
    return _weft.prelu(input, weight)


def glu(input, dim=-1):
    return _weft.glu(input, dim)


def gelu(input, *, approximate="none"):
    return _weft.gelu(input, approximate=approximate)


def logsigmoid(input):
    return _weft.logsigmoid(input)


def hardshrink(input, lambd=0.5):
    return _weft.hardshrink(input, lambd)


def softshrink(input, lambd=0.5):
    if lambd < 0:
        raise ValueError(f"softshrink: lambd must not be negative, got {lambd}")
    return _weft.softshrink(input, lambd)


def tanhshrink(input):
    return _weft.tanhshrink(input)


def softsign(input):
    return _weft.softsign(input)


def softplus(input, beta=1, threshold=20):
    return _weft.softplus(input, beta, threshold)


def tanh(input):
    return _weft.tanh(input)


def sigmoid(input):
    return _weft.sigmoid(input)


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    return _weft.softmax(_cast(input, dtype), _dim(dim, input.ndim))


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    return _weft.softmin(_cast(input, dtype), _dim(dim, input.ndim))


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    return _weft.log_softmax(_cast(input, dtype), _dim(dim, input.ndim))


# ---- dropout -------------------------------------------------------------------------------------------------


def _drop(name, input, p, training, inplace):
    if p < 0.0 or p > 1.0:
        raise ValueError(f"{name}: dropout probability has to be between 0 and 1, but got {p}")
    if not training or p == 0:
        return input
    if p == 1 and "alpha" not in name:
        return _finish(input, input * 0, inplace)
    raise NotImplementedError(f"{name}: training=True draws random numbers, which weft has none of; pass training=False")


def dropout(input, p=0.5, training=True, inplace=False):
    return _drop("dropout", input, p, training, inplace)


def dropout1d(input, p=0.5, training=True, inplace=False):
    return _drop("dropout1d", input, p, training, inplace)


def dropout2d(input, p=0.5, training=True, inplace=False):
    return _drop("dropout2d", input, p, training, inplace)


def dropout3d(input, p=0.5, training=True, inplace=False):
    return _drop("dropout3d", input, p, training, inplace)


def alpha_dropout(input, p=0.5, training=False, inplace=False):
    return _drop("alpha_dropout", input, p, training, inplace)


def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    return _drop("feature_alpha_dropout", input, p, training, inplace)


# ---- normalization -------------------------------------------------------------------------------------------


def batch_norm(
    input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5
):
    """training: with the batch's statistics; the running ones are updated in place where given."""
    result = _weft.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    if training and running_mean is not None:
        mean, var = _weft.batch_norm_update_stats(input, running_mean, running_var, momentum)
        running_mean[...] = mean
        running_var[...] = var
    return result


def instance_norm(
    input,
    running_mean=None,
    running_var=None,
    weight=None,
    bias=None,
    use_input_stats=True,
    momentum=0.1,
    eps=1e-5,
):
    """use_input_stats: with every instance's statistics; the running ones are updated in place where given."""
    result = _weft.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)
    if use_input_stats and running_mean is not None:
        mean, var = _weft.batch_norm_update_stats(input, running_mean, running_var, momentum, True)
        running_mean[...] = mean
        running_var[...] = var
    return result


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    return _weft.layer_norm(input, normalized_shape, weight, bias, eps)


def rms_norm(input, normalized_shape, weight=None, eps=None):
    return _weft.rms_norm(input, normalized_shape, weight, eps)


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    return _weft.group_norm(input, num_groups, weight, bias, eps)


def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    return _weft.local_response_norm(input, size, alpha, beta, k)


def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    result = _weft.normalize(input, p, dim, eps)
    return result if out is None else _finish(out, result, True)


# ---- sparse --------------------------------------------------------------------------------------------------


def _row_number(name, padding_idx, weight):
    rows = weight.shape[0]
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise ValueError(f"{name}: padding_idx must be within num_embeddings: expected one in [{-rows}, {rows}), got {padding_idx}")


def embedding(
    input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False
):
    """max_norm: rows that are looked up are first shortened to it, in weight itself."""
    _row_number("embedding", padding_idx, weight)
    if max_norm is not None:
        weight[...] = _weft.embedding_renorm(weight, input, max_norm, norm_type)
    return _weft.embedding(input, weight)


def embedding_bag(
    input,
    weight,
    offsets=None,
    max_norm=None,
    norm_type=2,
    scale_grad_by_freq=False,
    mode="mean",
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=None,
):
    """max_norm: rows that are looked up are first shortened to it, in weight itself."""
    if max_norm is not None:
        weight[...] = _weft.embedding_renorm(weight, input, max_norm, norm_type)
    return _weft.embedding_bag(input, weight, offsets, mode, per_sample_weights, include_last_offset, padding_idx)


def one_hot(tensor, num_classes=-1):
    return _weft.one_hot(tensor, num_classes)


# ---- distances and losses ------------------------------------------------------------------------------------


def _reduction(size_average, reduce, reduction):
    """PyTorch's older arguments, where given, in place of reduction."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    return _weft.cosine_similarity(x1, x2, dim, eps)


def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    return _weft.pairwise_distance(x1, x2, p, eps, keepdim)


def cross_entropy(
    input,
    target,
    weight=None,
    size_average=None,
    ignore_index=-100,
    reduce=None,
    reduction="mean",
    label_smoothing=0.0,
):
    return _weft.cross_entropy(
        input,
        target,
        weight,
        ignore_index=ignore_index,
        reduction=_reduction(size_average, reduce, reduction),
        label_smoothing=label_smoothing,
    )


def nll_loss(
    input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"
):
    return _weft.nll_loss(
        input, target, weight, ignore_index=ignore_index, reduction=_reduction(size_average, reduce, reduction)
    )


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    return _weft.mse_loss(input, target, reduction=_reduction(size_average, reduce, reduction))


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    return _weft.l1_loss(input, target, reduction=_reduction(size_average, reduce, reduction))


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    return _weft.smooth_l1_loss(input, target, reduction=_reduction(size_average, reduce, reduction), beta=beta)


def huber_loss(input, target, reduction="mean", delta=1.0):
    return _weft.huber_loss(input, target, reduction=reduction, delta=delta)


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    return _weft.kl_div(
        input, target, reduction=_reduction(size_average, reduce, reduction), log_target=log_target
    )


def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    return _weft.binary_cross_entropy(
        input, target, weight, reduction=_reduction(size_average, reduce, reduction)
    )


def binary_cross_entropy_with_logits(
    input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None
):
    return _weft.binary_cross_entropy_with_logits(
        input, target, weight, pos_weight, reduction=_reduction(size_average, reduce, reduction)
    )


# ---- images --------------------------------------------------------------------------------------------------


def pad(input, pad, mode="constant", value=None):
    return _weft.pad(input, pad, mode, value)


def pixel_shuffle(input, upscale_factor):
    return _weft.pixel_shuffle(input, upscale_factor)


def pixel_unshuffle(input, downscale_factor):
    return _weft.pixel_unshuffle(input, downscale_factor)


def channel_shuffle(input, groups):
    return _weft.channel_shuffle(input, groups)


def affine_grid(theta, size, align_corners=None):
    return _weft.affine_grid(theta, size, bool(align_corners))


def interpolate(
    input,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
    antialias=False,
):
    if not isinstance(scale_factor, (tuple, list)):
        return _weft.interpolate(input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias)
    rank = input.ndim - 2
    if len(scale_factor) != rank:
        raise ValueError(f"interpolate: scale_factor: expected one number, or {rank}, got {scale_factor}")
    if size is not None or all(factor == scale_factor[0] for factor in scale_factor):
        return _weft.interpolate(input, size, scale_factor[0], mode, align_corners, recompute_scale_factor, antialias)
    size = [int(length * factor) for length, factor in zip(input.shape[2:], scale_factor)]
    if recompute_scale_factor or mode == "area":
        return _weft.interpolate(input, size, None, mode, align_corners, None, antialias)
    if align_corners is not None and mode in ("nearest", "nearest-exact"):
        raise ValueError(f"interpolate: align_corners is not for mode {mode!r}")
    scales = [None] * (3 - rank) + list(scale_factor)
    return _weft.upsample(input, size, mode, bool(align_corners), *scales, antialias)


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input, size=None, scale_factor=None):
    return interpolate(input, size, scale_factor, "bilinear", True)


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    return _weft.grid_sample(input, grid, mode, padding_mode, align_corners)
