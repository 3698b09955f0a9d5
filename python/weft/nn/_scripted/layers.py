"""Activations, dropout, normalization, embeddings, sliding windows."""

from typing import List, Optional

import weft
from weft import Tensor
from weft.nn._types import BroadcastingList2
from weft.ops import aten


def tanhshrink(input: Tensor) -> Tensor:
    return input - aten.tanh(input)


def softsign(input: Tensor) -> Tensor:
    return input / (aten.abs(input) + 1)


# ---- quantized weights ---------------------------------------------------------------------------------------
def _rows(input: Tensor) -> Tensor:
    return aten.reshape(input, [-1, input.size(-1)])


def _as_before(rows: Tensor, input: Tensor) -> Tensor:
    shape = input.size()[:-1]
    shape.append(rows.size(-1))
    return aten.reshape(rows, shape)


def _linear_dynamic_int8(input: Tensor, weight: Tensor, scales: Tensor, bias: Optional[Tensor]) -> Tensor:
    rows = aten.to(_rows(input), weft.float32)
    largest = aten.amax(aten.abs(rows), [-1], True)
    row_scales = aten.clamp(largest, 1e-5) / 127.0
    numbers = aten.to(aten.clamp(aten.round(rows / row_scales), -127, 127), weft.int8)
    result = aten.to(aten._int_mm(numbers, aten.t(weight)), weft.float32) * row_scales * scales
    if bias is not None:
        result = result + aten.to(bias, weft.float32)
    return _as_before(aten.to(result, input.dtype), input)


def _linear_int8_weight(input: Tensor, weight: Tensor, scales: Tensor, bias: Optional[Tensor]) -> Tensor:
    result = aten._weight_int8pack_mm(_rows(input), weight, scales)
    if bias is not None:
        result = result + bias
    return _as_before(result, input)


def _linear_int4_weight(
    input: Tensor, weight: Tensor, scales: Tensor, bias: Optional[Tensor], group_size: int
) -> Tensor:
    result = aten._weight_int4pack_mm(_rows(input), weight, group_size, scales)
    if bias is not None:
        result = result + bias
    return _as_before(result, input)


# ---- dropout -------------------------------------------------------------------------------------------------
def _check_probability(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    _check_probability(p)
    if inplace:
        return aten.dropout_(input, p, training)
    return aten.dropout(input, p, training)


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    _check_probability(p)
    single = input.dim() == 2
    if single:
        input = input.unsqueeze(0)
    if inplace:
        result = aten.feature_dropout_(input, p, training)
    else:
        result = aten.feature_dropout(input, p, training)
    if single:
        result = result.squeeze(0)
    return result


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    _check_probability(p)
    if inplace:
        return aten.feature_dropout_(input, p, training)
    return aten.feature_dropout(input, p, training)


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    return dropout2d(input, p, training, inplace)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    _check_probability(p)
    if inplace:
        return aten.alpha_dropout_(input, p, training)
    return aten.alpha_dropout(input, p, training)


def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    _check_probability(p)
    if inplace:
        return aten.feature_alpha_dropout_(input, p, training)
    return aten.feature_alpha_dropout(input, p, training)


def rrelu(input: Tensor, lower: float = 0.125, upper: float = 0.3333333333333333, training: bool = False,
          inplace: bool = False) -> Tensor:  # fmt: skip
    if inplace:
        return aten.rrelu_(input, lower, upper, training)
    return aten.rrelu(input, lower, upper, training)


# ---- normalization -------------------------------------------------------------------------------------------
def batch_norm(input: Tensor, running_mean: Optional[Tensor], running_var: Optional[Tensor], weight: Optional[Tensor] = None,
               bias: Optional[Tensor] = None, training: bool = False, momentum: float = 0.1, eps: float = 1e-5) -> Tensor:  # fmt: skip
    return aten.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)


def instance_norm(input: Tensor, running_mean: Optional[Tensor] = None, running_var: Optional[Tensor] = None,
                  weight: Optional[Tensor] = None, bias: Optional[Tensor] = None, use_input_stats: bool = True,
                  momentum: float = 0.1, eps: float = 1e-5) -> Tensor:  # fmt: skip
    return aten.instance_norm(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True
    )


def _epsilon(input: Tensor) -> float:
    """The spacing of the input's numbers at 1, by the size of their dtype."""
    if aten.element_size(input) == 8:
        return 2.220446049250313e-16
    if aten.element_size(input) == 4:
        return 1.1920928955078125e-07
    if bool(aten.full([], 1.001953125, dtype=input.dtype) == 1):  # bfloat16 has 8 bits
        return 0.0078125
    return 0.0009765625


def rms_norm(
    input: Tensor, normalized_shape: List[int], weight: Optional[Tensor] = None, eps: Optional[float] = None
) -> Tensor:
    if eps is None:
        eps = _epsilon(input)
    dims: List[int] = []
    for i in range(len(normalized_shape)):
        dims.append(-1 - i)
    x = input
    if aten.element_size(input) < 4:
        x = input.to(weft.float32)
    x = x * aten.rsqrt(aten.mean(x * x, dims, True) + eps)
    if weight is not None:
        x = x * weight
    return aten.type_as(x, input)


def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    if input.dim() < 3:
        raise ValueError(f"local_response_norm: expected input of at least 3 dimensions, got {input.dim()}")
    squares = (input * input).unsqueeze(1)
    before, after = size // 2, (size - 1) // 2
    if input.dim() == 3:
        mean = aten.avg_pool2d(aten.pad(squares, [0, 0, before, after]), [size, 1], [1, 1]).squeeze(1)
    else:
        flat = aten.reshape(squares, [input.size(0), 1, input.size(1), input.size(2), -1])
        mean = aten.avg_pool3d(aten.pad(flat, [0, 0, 0, 0, before, after]), [size, 1, 1], [1, 1, 1]).squeeze(
            1
        )
        mean = aten.reshape(mean, input.size())
    return input / aten.pow(mean * alpha + k, beta)


def normalize(
    input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12, out: Optional[Tensor] = None
) -> Tensor:
    result = input / aten.clamp_min(aten.norm(input, p, [dim], True), eps)
    if out is None:
        return result
    return aten.copy_(out, result)


# ---- embeddings ----------------------------------------------------------------------------------------------
def embedding(input: Tensor, weight: Tensor, padding_idx: Optional[int] = None, max_norm: Optional[float] = None,
              norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False) -> Tensor:  # fmt: skip
    row = -1
    if padding_idx is not None:
        row = padding_idx
        if row < -weight.size(0) or row >= weight.size(0):
            raise ValueError(
                f"embedding: padding_idx must be within num_embeddings {weight.size(0)}, got {row}"
            )
        if row < 0:
            row = row + weight.size(0)
    if max_norm is not None:
        aten.embedding_renorm_(weight, aten.contiguous(input), max_norm, norm_type)
    return aten.embedding(weight, input, row, scale_grad_by_freq, sparse)


def embedding_bag(input: Tensor, weight: Tensor, offsets: Optional[Tensor] = None, max_norm: Optional[float] = None,
                  norm_type: float = 2.0, scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
                  per_sample_weights: Optional[Tensor] = None, include_last_offset: bool = False,
                  padding_idx: Optional[int] = None) -> Tensor:  # fmt: skip
    number = 0
    if mode == "mean":
        number = 1
    elif mode == "max":
        number = 2
    elif mode != "sum":
        raise ValueError(f"embedding_bag: mode has to be one of sum, mean and max, got {mode}")
    if per_sample_weights is not None and number != 0:
        raise NotImplementedError("embedding_bag: per_sample_weights are for mode 'sum'")
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError(
                "embedding_bag: input of 2 dimensions has its bags as rows; offsets must be None"
            )
        starts = aten.arange(0, input.size(0) * input.size(1), input.size(1), dtype=input.dtype)
        input = aten.reshape(input, [-1])
        if per_sample_weights is not None:
            per_sample_weights = aten.reshape(per_sample_weights, [-1])
    else:
        if offsets is None:
            raise ValueError("embedding_bag: input of 1 dimension needs offsets")
        starts = offsets
    if max_norm is not None:
        aten.embedding_renorm_(weight, aten.contiguous(input), max_norm, norm_type)
    return aten.embedding_bag(weight, input, starts, scale_grad_by_freq, number, sparse, per_sample_weights, include_last_offset,
                              padding_idx)[0]  # fmt: skip


# ---- sliding windows -----------------------------------------------------------------------------------------
def unfold(input: Tensor, kernel_size: BroadcastingList2[int], dilation: BroadcastingList2[int] = 1,
           padding: BroadcastingList2[int] = 0, stride: BroadcastingList2[int] = 1) -> Tensor:  # fmt: skip
    return aten.im2col(input, kernel_size, dilation, padding, stride)


def fold(input: Tensor, output_size: BroadcastingList2[int], kernel_size: BroadcastingList2[int], dilation: BroadcastingList2[int] = 1,
         padding: BroadcastingList2[int] = 0, stride: BroadcastingList2[int] = 1) -> Tensor:  # fmt: skip
    return aten.col2im(input, output_size, kernel_size, dilation, padding, stride)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    if inplace:
        return aten.silu_(input)
    return aten.silu(input)
