"""Layers and losses as torch itself has them: positional forms below torch.nn.functional, reductions as numbers."""

import weft as _weft
from weft import Tensor as _Tensor
from weft import _autocast
from weft._composed import elements, layers, losses
from weft.nn import functional as _F

from ._numeric import all_written
from ._support import is_integer, need_tensor, refuse_bool, written


def _reduction(number):
    """PyTorch's numbers: 1 the mean, 2 the sum, any other each loss for itself."""
    return "mean" if number == 1 else "sum" if number == 2 else "none"


# ---- losses --------------------------------------------------------------------------------------------------


def binary_cross_entropy_with_logits(input, target, weight=None, pos_weight=None, reduction=0):
    return _F.binary_cross_entropy_with_logits(
        input, target, weight, pos_weight=pos_weight, reduction=_reduction(reduction)
    )


def kl_div(input, target, reduction=0, *, log_target=False):
    return _F.kl_div(input, target, reduction=_reduction(reduction), log_target=log_target)


def margin_ranking_loss(input1, input2, target, margin=0.0, reduction=0):
    return losses.margin_ranking_loss(input1, input2, target, float(margin), reduction)


def hinge_embedding_loss(input, target, margin=1.0, reduction=0):
    return losses.hinge_embedding_loss(input, target, float(margin), reduction)


def cosine_embedding_loss(input1, input2, target, margin=0.0, reduction=0):
    return losses.cosine_embedding_loss(input1, input2, target, float(margin), reduction)


def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2.0, eps=1e-06, swap=False, reduction=0):
    return losses.triplet_margin_loss(anchor, positive, negative, float(margin), p, eps, swap, reduction)


def poisson_nll_loss(input, target, log_input, full, eps, reduction):
    return losses.poisson_nll_loss(input, target, log_input, full, eps, reduction)


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction=0, zero_infinity=False):
    return _F.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, _reduction(reduction), zero_infinity
    )


# ---- normalization -------------------------------------------------------------------------------------------


def batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled):
    return _weft.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(
    input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled
):
    return _weft.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05, cudnn_enable=True):
    return _weft.layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-05, cudnn_enabled=True):
    return _weft.group_norm(input, num_groups, weight, bias, eps)


def native_layer_norm(input, normalized_shape, weight, bias, eps):
    """layer_norm, the mean, and one over the deviation of what is normalized."""
    sizes = [normalized_shape] if is_integer(normalized_shape) else list(normalized_shape)
    return layers.native_layer_norm(input, sizes, weight, bias, eps)


def native_batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, *, out=None):
    """batch_norm, the mean, and one over the deviation of each channel; of no training, two empty tensors."""
    results = layers.native_batch_norm(
        input, weight, bias, running_mean, running_var, training, momentum, eps
    )
    return all_written(out, results)


def batch_norm_update_stats(input, running_mean, running_var, momentum):
    """The running statistics after a batch."""
    axes = [axis for axis in range(input.dim()) if axis != 1]
    mean, variance = _weft.mean(input, axes), _weft.var(input, axes, unbiased=False)
    if running_mean is not None:
        count = input.numel() // input.shape[1]
        running_mean.copy_((1 - momentum) * running_mean + momentum * mean)
        running_var.copy_((1 - momentum) * running_var + momentum * variance * (count / max(count - 1, 1)))
    return mean, variance


# ---- activations ---------------------------------------------------------------------------------------------


def softmax(input, dim=None, dtype=None, *, out=None, axis=None):
    """exp(input) / the sum of exp(input) along `dim`."""
    dim = dim if axis is None else axis
    if (
        isinstance(input, _weft.Tensor) and dim is not None and dtype is None and out is None
    ):  # the usual call
        if input.is_floating_point() and input.numel() > 1:
            return _weft.softmax(input, dim)
    result = _softmax("softmax", _weft.softmax, input, dim, dtype)
    return result if out is None else written(out, result)


def log_softmax(input, dim=None, dtype=None, *, out=None, axis=None):
    """The logarithm of softmax."""
    dim = dim if axis is None else axis
    result = _softmax("log_softmax", _weft.log_softmax, input, dim, dtype)
    return result if out is None else written(out, result)


def _softmax(function, operator, input, dim, dtype):
    if isinstance(input, _weft.Tensor) and dim is not None and dtype is None:
        if input.is_floating_point() and input.numel() > 1:  # no number, which has no dimension
            return operator(input, dim)
    need_tensor(function, input)
    if dim is None:
        raise TypeError(f"{function}() missing 1 required positional argument: 'dim'")
    x = input if dtype is None else input.to(dtype)
    if not x.is_floating_point():
        raise NotImplementedError(f'"{function}_lastdim_kernel_impl" not implemented for {x.dtype}')
    if x.numel() == 0:
        return x.clone()
    return operator(x.reshape(1), dim).reshape(()) if x.dim() == 0 else operator(x, dim)


def threshold(input, threshold, value, *, out=None):
    """The input where it is above the threshold or NaN, else the value."""
    need_tensor("threshold", input)
    refuse_bool("threshold", input)
    result = _weft.where(input <= threshold, value, input)
    return written(out, result.to(input.dtype))


def threshold_(input, threshold, value):
    return input.copy_(_weft.where(input <= threshold, value, input))


def celu_(input, alpha=1.0):
    return input.copy_(_weft.celu(input, alpha))


def selu_(input):
    return input.copy_(_weft.selu(input))


def relu_(input):
    return input.copy_(_weft.relu(input))


# ---- convolution, pooling, sampling --------------------------------------------------------------------------


@_autocast.narrow
def conv_tbc(input, weight, bias, pad=0):
    """A convolution of [time, batch, channels] with [width, channels, filters]."""
    moved = _weft.conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, 1, pad)
    return moved.permute(2, 0, 1)


def adaptive_max_pool1d(input, output_size):
    """The largest element of each part, and its index."""
    return tuple(_weft.adaptive_max_pool1d_with_indices(input, output_size))


def max_pool1d_with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
    """The largest element of each window, and its index."""
    stride = None if stride is not None and not is_integer(stride) and not len(stride) else stride
    return tuple(_weft.max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode))


def adaptive_avg_pool1d(input, output_size):
    """The mean of each part; of integers rounded towards zero."""
    if input.dtype == _weft.int64:
        return _weft.adaptive_avg_pool1d(input.to(_weft.float64), output_size).to(_weft.int64)
    return _weft.adaptive_avg_pool1d(input, output_size)


def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    """The mean of each window; of integers rounded towards zero."""
    stride = None if stride is not None and not is_integer(stride) and not len(stride) else stride
    if input.dtype == _weft.int64:
        wide = _weft.avg_pool1d(
            input.to(_weft.float64), kernel_size, stride, padding, ceil_mode, count_include_pad
        )
        return wide.to(_weft.int64)
    return _weft.avg_pool1d(input, kernel_size, stride, padding, ceil_mode, count_include_pad)


def affine_grid_generator(theta, size, align_corners):
    return _weft.affine_grid(theta, list(size), align_corners)


_MODES = ("bilinear", "nearest", "bicubic")
_PADDINGS = ("zeros", "border", "reflection")


def _chosen(function, name, choices, number):
    if not is_integer(number) or not 0 <= number < len(choices):
        raise RuntimeError(
            f"{function}: {name}: expected one of {', '.join(map(str, range(len(choices))))}, got {number!r}"
        )
    return choices[number]


def grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners):
    mode = _chosen("grid_sampler", "interpolation_mode", _MODES, interpolation_mode)
    return _F.grid_sample(
        input, grid, mode, _chosen("grid_sampler", "padding_mode", _PADDINGS, padding_mode), align_corners
    )


grid_sampler_2d = grid_sampler_3d = grid_sampler


def constant_pad_nd(input, pad, value=0):
    """Dimensions, from the last on, made longer in front and behind, or shorter by negative numbers."""
    need_tensor("constant_pad_nd", input)
    return layers.constant_pad_nd(input, [pad] if is_integer(pad) else list(pad), value)


def native_channel_shuffle(input, groups):
    return _weft.channel_shuffle(input, groups)


# ---- embeddings ----------------------------------------------------------------------------------------------


def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    """Rows of the weight."""
    need_tensor("embedding", weight, "weight")
    need_tensor("embedding", indices, "indices", 2)
    if weight.dim() != 2:
        raise RuntimeError(f"'weight' must be 2-D, got {weight.dim()} dimensions")
    if indices.dtype not in (_weft.int32, _weft.int64):
        raise RuntimeError(
            f"Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got {indices.dtype} instead"
        )
    return _weft.embedding(indices.to(_weft.int64), weight)


def embedding_renorm_(input, indices, max_norm, norm_type):
    return input.copy_(_weft.embedding_renorm(input, indices, float(max_norm), float(norm_type)))


# ---- recurrent -----------------------------------------------------------------------------------------------


def _recurrent(name):
    whole, packed = getattr(_weft, name), getattr(_weft, f"{name}_packed")

    def function(input, *args, **kwargs):
        if args and isinstance(args[0], _Tensor) and len(args) > 1 and not isinstance(args[1], bool):
            second = args[1]
            is_packed = isinstance(second, _Tensor) if name != "lstm" else True
            if is_packed:
                return tuple(packed(input, *args, **kwargs))
        return tuple(whole(input, *args, **kwargs))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"torch.{name}(input, hx, params, …), or of a packed sequence (data, batch_sizes, hx, params, …)."
    )
    return function


lstm, gru, rnn_tanh, rnn_relu = (_recurrent(name) for name in ("lstm", "gru", "rnn_tanh", "rnn_relu"))


# ---- segments ------------------------------------------------------------------------------------------------


def segment_reduce(
    data, reduce, *, lengths=None, indices=None, offsets=None, axis=0, unsafe=False, initial=None
):
    """'sum', 'mean', 'max', 'min' or 'prod' of segments of a dimension, of given lengths or between offsets."""
    need_tensor("segment_reduce", data, "data")
    if reduce not in ("sum", "mean", "max", "min", "prod"):
        raise RuntimeError(f"segment_reduce(): unknown reduction {reduce!r}")
    if (lengths is None) == (offsets is None):
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    if lengths is None:
        lengths = _weft.diff(offsets, 1, -1)
    if lengths.dim() != 1 or axis != 0:
        return _weft.stack(
            [
                segment_reduce(each, reduce, lengths=sizes, axis=axis - 1, unsafe=unsafe, initial=initial)
                for each, sizes in zip(_weft.unbind(data, 0), _weft.unbind(lengths, 0))
            ]
        )
    number = _weft.repeat_interleave(_weft.arange(lengths.shape[0]), lengths, 0)
    if not unsafe and number.shape[0] != data.shape[0]:
        raise RuntimeError(
            "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1)"
        )
    data = data[: number.shape[0]]
    neutral = {"sum": 0.0, "mean": 0.0, "prod": 1.0, "max": -float("inf"), "min": float("inf")}[reduce]
    start = neutral if initial is None else initial
    shape = (lengths.shape[0], *data.shape[1:])
    result = _weft.full(shape, start, dtype=data.dtype)
    at = number.reshape([-1] + [1] * (data.dim() - 1)).expand(data.shape)
    if data.numel():
        if reduce in ("sum", "mean"):
            result = _weft.scatter_add(result, 0, at, data)
        else:
            result = _weft.scatter_combine(
                result, 0, at, data, {"max": "amax", "min": "amin", "prod": "prod"}[reduce]
            )
    if reduce == "mean":
        count = lengths.reshape([-1] + [1] * (data.dim() - 1)).to(data.dtype)
        result = _weft.where(count == 0, float("nan") if initial is None else initial, result / count).to(
            data.dtype
        )
    return result


def fill(input, value):
    """A tensor of the input's shape and dtype filled with one value."""
    return elements.fill_by(input, value) if isinstance(value, _Tensor) else elements.fill(input, value)
