"""Embeddings, normalization, losses and recurrent layers."""

import weft

from .._trace_registry import OPERATORS, inexact, operator_rule
from .._tracer import aten


# ---- embeddings, normalization -------------------------------------------------------------------------------
@operator_rule()
def embedding(input, weight):
    return aten.embedding(weight, input, -1, False, False)


@operator_rule()
def embedding_renorm(weight, input, max_norm, norm_type):
    return aten.embedding_renorm_(aten.clone(weight), input, max_norm, norm_type)


@operator_rule()
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


@operator_rule()
def batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps):
    # In training, what is running is updated by the operations that follow.
    mean, var = (None, None) if training else (running_mean, running_var)
    return aten.batch_norm(input, weight, bias, mean, var, training, momentum, eps, True)


@operator_rule()
def instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps):
    mean, var = (None, None) if use_input_stats else (running_mean, running_var)
    return aten.instance_norm(input, weight, bias, mean, var, use_input_stats, momentum, eps, True)


@operator_rule()
def batch_norm_update_stats(input, running_mean, running_var, momentum, per_instance):
    axes = [d for d in range(input.ndim) if d != 1 and not (per_instance and d == 0)]
    mean, var = aten.mean(input, axes), aten.var(input, axes, correction=1)
    if per_instance:
        mean, var = aten.mean(mean, [0]), aten.mean(var, [0])
    return tuple(
        aten.add(aten.mul(old, 1 - momentum), aten.mul(new, momentum))
        for old, new in ((running_mean, mean), (running_var, var))
    )


@operator_rule()
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


@operator_rule()
def normalize(input, p, dim, eps):
    norm = aten.clamp_min(aten.linalg_vector_norm(inexact(input, aten), p, [dim], True), eps)
    return aten.div(input, aten.expand_as(norm, input))


# ---- losses --------------------------------------------------------------------------------------------------
_REDUCTION = {"none": 0, "mean": 1, "sum": 2}


@operator_rule()
def cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing):
    return aten.cross_entropy_loss(
        input, target, weight, _REDUCTION[reduction], ignore_index, label_smoothing
    )


@operator_rule()
def nll_loss(input, target, weight, ignore_index, reduction):
    return aten.nll_loss_nd(input, target, weight, _REDUCTION[reduction], ignore_index)


# ---- recurrent layers ----------------------------------------------------------------------------------------
def _packed(name):
    def rule(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional):
        return aten[name](
            data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional
        )

    OPERATORS[name + "_packed"] = rule


for _name in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
    _packed(_name)
