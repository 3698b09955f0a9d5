"""torch.nn.functional over weft's operators: the same names, parameters, defaults and results, for inference.

Every function here only arranges arguments; what is computed is documented with the operators. `inplace=True` writes
the result into the input. Functions trace through `weft.compile`, and compile as scripts (`weft.jit.script`): as they
stand, or as `_scripted` says.
"""

from typing import Optional

import weft as _weft
from weft import Tensor, _drawing
from weft.nn import _results, _types

from ._attention import *  # noqa: F403
from ._extensions import *  # noqa: F403
from ._images import *  # noqa: F403
from ._images import pad
from ._losses import *  # noqa: F403
from ._losses import _check_reduction, _reduction, cross_entropy  # noqa: F401
from ._normalization import *  # noqa: F403
from ._pooling import *  # noqa: F403

# ---- arguments -----------------------------------------------------------------------------------------------


def _finish(input, result, inplace):
    if not inplace or result is input:
        return result
    input[...] = result
    return input


def _softmax_dim(ndim: int) -> int:
    """The dimension that softmax and its relatives take where none is given."""
    if ndim == 0 or ndim == 1 or ndim == 3:
        return 0
    return 1


# ---- convolution ---------------------------------------------------------------------------------------------


def _convolve_named(operator, input, weight, bias, stride, padding, dilation, groups):
    """padding is 'valid', or 'same': then the odd element of padding goes after the input."""
    if padding == "valid":
        return operator(input, weight, bias, stride, 0, dilation, groups)
    if padding != "same":
        raise ValueError(f"{operator.__name__}: padding: expected ints, 'valid' or 'same', got {padding!r}")
    rank = len(weight.shape) - 2
    strides = [stride] * rank if isinstance(stride, int) else list(stride)
    steps = [dilation] * rank if isinstance(dilation, int) else list(dilation)
    if any(step != 1 for step in strides):
        raise RuntimeError(
            f"{operator.__name__}: padding='same' is not supported for strided convolutions, got stride {stride}"
        )
    total = [
        step * (size - 1) for step, size in zip(steps * rank if len(steps) == 1 else steps, weight.shape[2:])
    ]
    uneven = [each for one in reversed(total) for each in (0, one % 2)]
    if any(uneven):
        input = pad(input, uneven)
    return operator(input, weight, bias, stride, [one // 2 for one in total], dilation, groups)


def _convolve_integers(function, input, weight, bias, *arguments):
    """In float64, whose sums are exact below 2 ** 53."""
    if input.dtype != _weft.int64:
        raise NotImplementedError(
            f"{function.__name__}: expected floating or int64 operands, got {input.dtype}"
        )
    if bias is not None and bias.dtype != input.dtype:
        raise RuntimeError(f"Input type ({input.dtype}) and bias type ({bias.dtype}) should be the same")
    bias = None if bias is None else bias.double()
    return function(input.double(), weight.double(), bias, *arguments).to(input.dtype)


def _convolve_complex(function, input, weight, bias, *arguments):
    real = function(input.real, weight.real, None, *arguments) - function(
        input.imag, weight.imag, None, *arguments
    )
    imag = function(input.real, weight.imag, None, *arguments) + function(
        input.imag, weight.real, None, *arguments
    )
    result = _weft.complex(real, imag)
    if bias is None:
        return result
    return result + bias.reshape([-1] + [1] * (weight.dim() - 2))


def _convolve_other(function, input, weight, bias, *arguments):
    convolve = _convolve_complex if input.is_complex() else _convolve_integers
    return convolve(function, input, weight, bias, *arguments)


def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    if not input.is_floating_point():
        return _convolve_other(conv1d, input, weight, bias, stride, padding, dilation, groups)
    if isinstance(padding, str):
        return _convolve_named(_weft.conv1d, input, weight, bias, stride, padding, dilation, groups)
    return _weft.conv1d(input, weight, bias, stride, padding, dilation, groups)


def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    if not input.is_floating_point():
        return _convolve_other(conv2d, input, weight, bias, stride, padding, dilation, groups)
    if isinstance(padding, str):
        return _convolve_named(_weft.conv2d, input, weight, bias, stride, padding, dilation, groups)
    return _weft.conv2d(input, weight, bias, stride, padding, dilation, groups)


def conv3d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    if not input.is_floating_point():
        return _convolve_other(conv3d, input, weight, bias, stride, padding, dilation, groups)
    if isinstance(padding, str):
        return _convolve_named(_weft.conv3d, input, weight, bias, stride, padding, dilation, groups)
    return _weft.conv3d(input, weight, bias, stride, padding, dilation, groups)


def conv_transpose1d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    if not input.is_floating_point():
        return _convolve_other(
            conv_transpose1d, input, weight, bias, stride, padding, output_padding, groups, dilation
        )
    return _weft.conv_transpose1d(input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose2d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    if not input.is_floating_point():
        return _convolve_other(
            conv_transpose2d, input, weight, bias, stride, padding, output_padding, groups, dilation
        )
    return _weft.conv_transpose2d(input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_transpose3d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    if not input.is_floating_point():
        return _convolve_other(
            conv_transpose3d, input, weight, bias, stride, padding, output_padding, groups, dilation
        )
    return _weft.conv_transpose3d(input, weight, bias, stride, padding, output_padding, groups, dilation)


def conv_tbc(input, weight, bias, pad=0):
    """One-dimensional convolution of input[T, N, C] with weight[K, C, D] and bias[D]."""
    result = conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, 1, pad)
    return result.permute(2, 0, 1)


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    return _weft.im2col(input, kernel_size, dilation, padding, stride)


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    return _weft.col2im(input, output_size, kernel_size, dilation, padding, stride)


# ---- linear --------------------------------------------------------------------------------------------------


def linear(input, weight, bias=None, *, out=None):
    result = _weft.linear(input, weight, bias)
    return result if out is None else _results.into(out, result)


def _linear_dynamic_int8(input: Tensor, weight: Tensor, scales: Tensor, bias: Optional[Tensor]) -> Tensor:
    return _weft.linear_dynamic_int8(input, weight, scales, bias)


def _linear_int8_weight(input: Tensor, weight: Tensor, scales: Tensor, bias: Optional[Tensor]) -> Tensor:
    result = _weft.linear_packed(input, weight, scales)
    return result if bias is None else result + bias


def _linear_int4_weight(
    input: Tensor, weight: Tensor, scales: Tensor, bias: Optional[Tensor], group_size: int
) -> Tensor:
    result = _weft.linear_packed(input, weight, scales, group_size=group_size)
    return result if bias is None else result + bias


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Optional[Tensor] = None) -> Tensor:
    return _weft.bilinear(input1, input2, weight, bias)


def linear_cross_entropy(
    input,
    linear_weight,
    target,
    *,
    linear_bias=None,
    weight=None,
    reduction="mean",
    ignore_index=None,
    label_smoothing=0.0,
    options=None,
):
    """cross_entropy of linear(input, linear_weight, linear_bias): linear_weight[C, *, in_features] for logits of
    [*input.shape[:-1], C, *]. options choose how PyTorch saves memory; they change no result."""
    if linear_weight.dim() < 2:
        raise RuntimeError(
            f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}"
        )
    if linear_weight.dim() > 2 and input.dim() == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires batched input, "
            f"(N, {linear_weight.shape[-1]}), got unbatched input with shape {tuple(input.shape)}"
        )
    classes, *others = linear_weight.shape[:-1]
    flat = linear_weight.reshape((-1, linear_weight.shape[-1]))
    bias = None if linear_bias is None else linear_bias.reshape((-1,))
    logits = linear(input, flat, bias).reshape((*input.shape[:-1], classes, *others))
    return cross_entropy(
        logits,
        target,
        weight,
        ignore_index=-100 if ignore_index is None else ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )


# ---- activations ---------------------------------------------------------------------------------------------


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    if inplace:
        return input.threshold_(threshold, value)
    return _weft.threshold(input, threshold, value)


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    if inplace:
        return input.relu_()
    return _weft.relu(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    if inplace:
        return input.relu6_()
    return _weft.relu6(input)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    if min_val > max_val:
        raise ValueError(f"hardtanh: min_val must not be larger than max_val: got {min_val} and {max_val}")
    if inplace:
        return input.hardtanh_(min_val, max_val)
    return _weft.hardtanh(input, min_val, max_val)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    if inplace:
        return input.elu_(alpha)
    return _weft.elu(input, alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    if inplace:
        return input.selu_()
    return _weft.selu(input)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    if inplace:
        return input.celu_(alpha)
    return _weft.celu(input, alpha)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    if inplace:
        return input.leaky_relu_(negative_slope)
    return _weft.leaky_relu(input, negative_slope)


def rrelu(input: Tensor, lower: float = 0.125, upper: float = 0.3333333333333333, training: bool = False,
          inplace: bool = False) -> Tensor:  # fmt: skip
    if training:
        return _finish(input, _drawing.rrelu(input, lower, upper, training), inplace)
    if lower > upper:
        raise RuntimeError(
            f"Lower bound should be less than or equal to the upper bound, got {lower} and {upper}"
        )
    return leaky_relu(input, (lower + upper) / 2, inplace)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    if input.is_complex():
        return _finish(input, input / (1 + _weft.exp(-input)), inplace)
    if inplace:
        return input.silu_()
    return _weft.silu(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    if inplace:
        return input.mish_()
    return _weft.mish(input)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    if inplace:
        return input.hardsigmoid_()
    return _weft.hardsigmoid(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    if inplace:
        return input.hardswish_()
    return _weft.hardswish(input)


def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    return input.threshold_(threshold, value)


def relu_(input: Tensor) -> Tensor:
    return input.relu_()


def relu6_(input: Tensor) -> Tensor:
    return input.relu6_()


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """max_val everywhere where min_val is above it."""
    return input.copy_(_weft.clamp(input, min=min_val, max=max_val))


def elu_(input, alpha=1.0, scale=1.0, input_scale=1.0):
    """scale * (input where it is positive, else alpha * (exp(input_scale * input) - 1))."""
    if scale == 1 and input_scale == 1:
        return input.elu_(alpha)
    negative = alpha * _weft.expm1(input * input_scale)
    return input.copy_(scale * _weft.where(input > 0, input, negative))


def selu_(input: Tensor) -> Tensor:
    return input.selu_()


def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    return input.celu_(alpha)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    return input.leaky_relu_(negative_slope)


def rrelu_(
    input: Tensor, lower: float = 0.125, upper: float = 0.3333333333333333, training: bool = False
) -> Tensor:
    return rrelu(input, lower, upper, training, True)


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    return _weft.prelu(input, weight)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    return _weft.glu(input, dim)


def gelu(input, *, approximate="none", out=None):
    return _results.into(out, _weft.gelu(input, approximate=approximate))


def logsigmoid(input, *, out=None):
    return _results.into(out, _weft.logsigmoid(input))


def hardshrink(input, lambd=0.5, *, out=None):
    return _results.into(out, _weft.hardshrink(input, lambd))


def softshrink(input, lambd=0.5, *, out=None):
    if lambd < 0:
        raise RuntimeError(f"lambda must be greater or equal to 0, but found to be {lambd}.")
    return _results.into(out, _weft.softshrink(input, lambd))


def tanhshrink(input: Tensor) -> Tensor:
    if input.is_complex():
        return input - _weft.tanh(input)
    return _weft.tanhshrink(input)


def softsign(input: Tensor) -> Tensor:
    if input.is_complex():
        return input / (_weft.abs(input) + 1)
    return _weft.softsign(input)


def softplus(input, beta=1.0, threshold=20.0, *, out=None):
    return _results.into(out, _weft.softplus(input, beta, threshold))


def tanh(input: Tensor) -> Tensor:
    return input.tanh()


def sigmoid(input: Tensor) -> Tensor:
    return input.sigmoid()


def softmax(
    input: Tensor, dim: Optional[int] = None, _stacklevel: int = 3, dtype: Optional[int] = None
) -> Tensor:
    if dim is None:
        dim = _softmax_dim(input.dim())
    if dtype is not None:
        input = input.to(dtype)
    return _weft.softmax(input, dim)


def softmin(
    input: Tensor, dim: Optional[int] = None, _stacklevel: int = 3, dtype: Optional[int] = None
) -> Tensor:
    return softmax(-input, dim, _stacklevel, dtype)


def log_softmax(
    input: Tensor, dim: Optional[int] = None, _stacklevel: int = 3, dtype: Optional[int] = None
) -> Tensor:
    if dim is None:
        dim = _softmax_dim(input.dim())
    if dtype is not None:
        input = input.to(dtype)
    return _weft.log_softmax(input, dim)


# ---- dropout -------------------------------------------------------------------------------------------------


def _check_probability(p):
    p = _types.pinned(p)
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input, p=0.5, training=True, inplace=False):
    _check_probability(p)
    return _finish(input, _drawing.dropout(input, p, training), inplace)


def dropout1d(input, p=0.5, training=True, inplace=False):
    _check_probability(p)
    if input.ndim not in (2, 3):
        raise RuntimeError(f"dropout1d: expected two or three dimensions, got shape {list(input.shape)}")
    if input.ndim == 3 or not training:
        return _finish(input, _drawing.feature_dropout(input, p, training), inplace)
    return _finish(input, _drawing.feature_dropout(input.unsqueeze(0), p, training).squeeze(0), inplace)


def dropout2d(input, p=0.5, training=True, inplace=False):
    _check_probability(p)
    return _finish(input, _drawing.feature_dropout(input, p, training), inplace)


def dropout3d(input, p=0.5, training=True, inplace=False):
    _check_probability(p)
    if input.ndim == 5 or not training:
        return _finish(input, _drawing.feature_dropout(input, p, training), inplace)
    return _finish(input, _drawing.feature_dropout(input.unsqueeze(0), p, training).squeeze(0), inplace)


def alpha_dropout(input, p=0.5, training=False, inplace=False):
    _check_probability(p)
    return _finish(input, _drawing.alpha_dropout(input, p, training), inplace)


def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    _check_probability(p)
    return _finish(input, _drawing.feature_alpha_dropout(input, p, training), inplace)


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    return _drawing.gumbel_softmax(logits, tau, hard, eps, dim)


# ---- normalization -------------------------------------------------------------------------------------------


def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    if isinstance(dim, (tuple, list)):
        result = input / _weft.clamp(_weft.vector_norm(input, p, list(dim), True), min=eps)
    else:
        result = _weft.normalize(input, p, dim, eps)
    return result if out is None else _finish(out, result, True)


# ---- sparse --------------------------------------------------------------------------------------------------


def _row_number(name, padding_idx, weight):
    rows = weight.shape[0]
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise ValueError(
            f"{name}: padding_idx must be within num_embeddings: expected one in [{-rows}, {rows}), got {padding_idx}"
        )


def embedding(
    input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False
):
    """max_norm: rows that are looked up are first shortened to it, in weight itself."""
    if padding_idx is not None:
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
    return _weft.embedding_bag(
        input, weight, offsets, mode, per_sample_weights, include_last_offset, padding_idx
    )


def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    return _weft.one_hot(tensor, num_classes)
