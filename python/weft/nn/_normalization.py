"""Normalization of torch.nn.functional."""

from typing import List, Optional

import weft as _weft
from weft import Tensor

from ._pooling import avg_pool2d


def batch_norm(
    input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5
):
    """training: with the batch's statistics; the running ones are updated in place where given."""
    if eps < 0:
        raise ValueError(f"batch_norm: eps must not be negative, got {eps}")
    if input.dim() == 1 and input.numel() == 0:  # no channels: nothing to normalize
        return input.clone()
    result = _weft.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    if training and running_mean is not None:
        mean, var = _weft.batch_norm_update_stats(input, running_mean, running_var, momentum)
        running_mean[...] = mean
        running_var[...] = var
    return result


def _check_instances(input):
    size = 1
    for length in input.shape[2:]:
        size *= length
    if size == 1:
        raise ValueError(
            f"instance_norm: expected more than 1 spatial element when training, got input size {input.shape}"
        )


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
    if use_input_stats:
        _check_instances(input)
        result = _weft.instance_norm(input, None, None, weight, bias, True, momentum, eps)
    else:
        mean, var = (None if each is None else each.to(input.dtype) for each in (running_mean, running_var))
        result = _weft.instance_norm(input, mean, var, weight, bias, False, momentum, eps)
    if use_input_stats and running_mean is not None:
        dtype = input.dtype
        mean, var = _weft.batch_norm_update_stats(
            input, running_mean.to(dtype), running_var.to(dtype), momentum, True
        )
        running_mean[...] = mean
        running_var[...] = var
    return result


def layer_norm(input: Tensor, normalized_shape: List[int], weight: Optional[Tensor] = None, bias: Optional[Tensor] = None,
               eps: float = 1e-5) -> Tensor:  # fmt: skip
    return _weft.layer_norm(input, normalized_shape, weight, bias, eps)


def rms_norm(input, normalized_shape, weight=None, eps=None):
    if input.is_complex() or (weight is not None and weight.dtype != input.dtype):
        return _rms_norm_of_dtypes(input, normalized_shape, weight, eps)
    return _weft.rms_norm(input, normalized_shape, weight, eps)


def _rms_norm_of_dtypes(input, normalized_shape, weight, eps):
    """rms_norm of complex numbers, or with a weight of another dtype: rounded to the input's once, at the end."""
    if tuple(input.shape[input.dim() - len(normalized_shape) :]) != tuple(normalized_shape):
        raise RuntimeError(f"rms_norm: expected input[*, {list(normalized_shape)}], got {list(input.shape)}")
    dims = list(range(-len(normalized_shape), 0))
    wide = input.float() if input.dtype in (_weft.float16, _weft.bfloat16) else input
    if eps is None:
        eps = 2.0**-52 if wide.dtype in (_weft.float64, _weft.complex128) else 2.0**-23
    result = wide * _weft.rsqrt((wide * wide).mean(dims, keepdim=True) + eps)
    result = result if weight is None else result * weight
    return (result if input.is_complex() or not result.is_complex() else result.real).to(input.dtype)


def group_norm(input: Tensor, num_groups: int, weight: Optional[Tensor] = None, bias: Optional[Tensor] = None,
               eps: float = 1e-5) -> Tensor:  # fmt: skip
    return _weft.group_norm(input, num_groups, weight, bias, eps)


def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    if input.dtype == _weft.int64 and input.dim() > 2:
        if input.numel() == 0:
            return input
        squares = (input * input).flatten(2).unsqueeze(1)
        squares = _weft.pad(squares, [0, 0, size // 2, (size - 1) // 2])
        means = avg_pool2d(squares, (size, 1), 1).reshape(input.shape)
        return input / (means * alpha + k) ** beta
    return _weft.local_response_norm(input, size, alpha, beta, k)
