"""Losses that are builtins, whose reduction is a number."""

from typing import Optional

from weft import Tensor
from weft.nn._losses import _number, _older, _reduced
from weft.ops import aten


def cross_entropy(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None,
                  ignore_index: int = -100, reduce: Optional[bool] = None, reduction: str = "mean",
                  label_smoothing: float = 0.0) -> Tensor:  # fmt: skip
    number = _number(_older(size_average, reduce, reduction))
    return aten.cross_entropy_loss(input, target, weight, number, ignore_index, label_smoothing)


def nll_loss(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None,
             ignore_index: int = -100, reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:  # fmt: skip
    return aten.nll_loss_nd(
        input, target, weight, _number(_older(size_average, reduce, reduction)), ignore_index
    )


def mse_loss(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None,
             reduction: str = "mean") -> Tensor:  # fmt: skip
    return aten.mse_loss(input, target, _number(_older(size_average, reduce, reduction)))


def l1_loss(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None,
            reduction: str = "mean") -> Tensor:  # fmt: skip
    return aten.l1_loss(input, target, _number(_older(size_average, reduce, reduction)))


def smooth_l1_loss(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None,
                   reduction: str = "mean", beta: float = 1.0) -> Tensor:  # fmt: skip
    return aten.smooth_l1_loss(input, target, _number(_older(size_average, reduce, reduction)), beta)


def huber_loss(input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    return aten.huber_loss(input, target, _number(reduction), delta)


def kl_div(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None,
           reduction: str = "mean", log_target: bool = False) -> Tensor:  # fmt: skip
    reduction = _older(size_average, reduce, reduction)
    if reduction == "batchmean":
        return aten.kl_div(input, target, 2, log_target=log_target) / input.size(0)
    return aten.kl_div(input, target, _number(reduction), log_target=log_target)


def binary_cross_entropy(input: Tensor, target: Tensor, weight: Optional[Tensor] = None, size_average: Optional[bool] = None,
                         reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:  # fmt: skip
    return aten.binary_cross_entropy(input, target, weight, _number(_older(size_average, reduce, reduction)))


def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Optional[Tensor] = None,
                                     size_average: Optional[bool] = None, reduce: Optional[bool] = None,
                                     reduction: str = "mean", pos_weight: Optional[Tensor] = None) -> Tensor:  # fmt: skip
    number = _number(_older(size_average, reduce, reduction))
    return aten.binary_cross_entropy_with_logits(input, target, weight, pos_weight, number)


def gaussian_nll_loss(input: Tensor, target: Tensor, var: Tensor, full: bool = False, eps: float = 1e-6,
                      reduction: str = "mean") -> Tensor:  # fmt: skip
    if var.dim() == input.dim() - 1:
        var = var.unsqueeze(-1)
    if bool((var < 0).any()):
        raise ValueError("gaussian_nll_loss: var has negative elements")
    var = aten.clamp(var, min=eps)
    difference = input - target
    loss = 0.5 * (aten.log(var) + difference * difference / var)
    if full:
        loss = loss + 0.9189385332046727
    return _reduced(loss, reduction)


def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Optional[Tensor] = None,
                                size_average: Optional[bool] = None, reduce: Optional[bool] = None,
                                reduction: str = "mean") -> Tensor:  # fmt: skip
    loss = -(target * aten.log_sigmoid(input) + (1 - target) * aten.log_sigmoid(-input))
    if weight is not None:
        loss = loss * weight
    return _reduced(loss.mean(-1), _older(size_average, reduce, reduction))
