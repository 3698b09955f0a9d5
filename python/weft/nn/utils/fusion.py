"""Batch normalization folded into the layer before it."""

import copy

import weft
from weft.nn.parameter import Parameter


def fuse_conv_bn_eval(conv, bn, transpose=False):
    """A convolution that computes bn(conv(x)) in eval mode; the two given are left as they are.

    transpose: conv is a transposed convolution. Raises: RuntimeError for modules in training mode.
    """
    return _fused(conv, bn, lambda *tensors: fuse_conv_bn_weights(*tensors, transpose=transpose))


def fuse_linear_bn_eval(linear, bn):
    """A linear layer that computes bn(linear(x)) in eval mode, as fuse_conv_bn_eval."""
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise ValueError(
            f"fuse_linear_bn_eval: the layer gives {linear.out_features} features, the normalization takes {bn.num_features}"
        )
    return _fused(linear, bn, fuse_linear_bn_weights)


def _fused(layer, bn, fuse):
    if layer.training or bn.training:
        raise RuntimeError("fusing batch normalization is for eval mode only")
    if bn.running_mean is None or bn.running_var is None:
        raise RuntimeError("fusing batch normalization needs its running statistics")
    result = copy.deepcopy(layer)
    result.weight, result.bias = fuse(
        layer.weight, layer.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return result


def _scale_and_shift(bias, bn_rm, bn_rv, bn_eps, bn_w, bn_b):
    scale = weft.rsqrt(bn_rv + bn_eps)
    shift = (-bn_rm if bias is None else bias - bn_rm) * scale
    if bn_w is not None:
        scale, shift = bn_w * scale, shift * bn_w
    return scale, shift if bn_b is None else shift + bn_b


def fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose=False):
    """(weight, bias) of a convolution with these parameters followed by a batch normalization with these."""
    scale, shift = _scale_and_shift(conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)
    shape = [1, -1] if transpose else [-1, 1]
    weight = conv_w * scale.reshape(shape + [1] * (conv_w.ndim - 2))
    return Parameter(weight.to(conv_w.dtype)), Parameter(shift.to(conv_w.dtype))


def fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b):
    """(weight, bias) of a linear layer with these parameters followed by a batch normalization with these."""
    scale, shift = _scale_and_shift(linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)
    return Parameter((linear_w * scale.unsqueeze(-1)).to(linear_w.dtype)), Parameter(shift.to(linear_w.dtype))
