"""Losses whose reduction is a number: 1 the mean, 2 the sum, any other each loss for itself."""

import math
from typing import Optional

import weft as _weft
from weft import Tensor, _autocast

from . import aten, number


def _reduced(loss: Tensor, reduction: int) -> Tensor:
    if reduction == 1:
        return loss.mean()
    if reduction == 2:
        return loss.sum()
    return loss


@aten(
    "margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=1) -> Tensor"
)
@_autocast.float32
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float, reduction: int
) -> Tensor:
    """max(0, -target * (input1 - input2) + margin)."""
    return _reduced(_weft.clamp(-target * (input1 - input2) + margin, min=0), reduction)


@aten("hinge_embedding_loss(Tensor self, Tensor target, float margin=1.0, int reduction=1) -> Tensor")
@_autocast.float32
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float, reduction: int) -> Tensor:
    """input where target is 1, max(0, margin - input) where it is -1; elsewhere the sum of both."""
    if input.is_floating_point():
        gap = _weft.clamp(margin - input, min=0).to(input.dtype)
    else:  # PyTorch takes the margin in the input's dtype, and computes in it
        gap = _weft.clamp(_weft.full([], margin).to(input.dtype) - input, min=0)
    zeros = _weft.zeros_like(input)
    loss = _weft.where(target != 1, gap, zeros) + _weft.where(target != -1, input, zeros)
    return _reduced(loss, reduction)


@aten(
    "cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0.0, int reduction=1) -> Tensor"
)
@_autocast.float32
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float, reduction: int
) -> Tensor:
    """1 - cos(input1, input2) where target is 1, max(0, cos - margin) where it is -1. input[N, D] or [D]."""
    products = (input1 * input2).sum(-1)
    squares1 = (input1 * input1).sum(-1) + 1e-12
    squares2 = (input2 * input2).sum(-1) + 1e-12
    cosine = products / _weft.sqrt(squares1 * squares2)
    zeros = _weft.zeros_like(cosine)
    near = _weft.where(target == 1, 1 - cosine, zeros)
    far = _weft.where(target == -1, _weft.clamp(cosine - margin, min=0), zeros)
    return _reduced(near + far, reduction)


@aten(
    "triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1.0, float p=2, float eps=1e-06, "
    "bool swap=False, int reduction=1) -> Tensor"
)
@_autocast.float32
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float,
    p: float,
    eps: float,
    swap: bool,
    reduction: int,
) -> Tensor:
    """max(0, margin + d(anchor, positive) - d(anchor, negative)), d being pairwise_distance; swap: the negative's
    distance to the positive counts where it is the smaller one."""
    near = _weft.pairwise_distance(anchor, positive, p, eps, False)
    far = _weft.pairwise_distance(anchor, negative, p, eps, False)
    if swap:
        far = _weft.minimum(far, _weft.pairwise_distance(positive, negative, p, eps, False))
    return _reduced(_weft.clamp(margin + near - far, min=0), reduction)


@aten("soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor")
@_autocast.float32
def soft_margin_loss(input: Tensor, target: Tensor, reduction: int) -> Tensor:
    """log(1 + exp(-target * input))."""
    powers = _weft.exp(-input * target)
    loss = _weft.log(1 + powers) if powers.is_complex() else _weft.log1p(powers)
    if input.is_floating_point() and target.is_floating_point():
        loss = loss.to(input.dtype)
    return _reduced(loss, reduction)


@aten(
    "poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor"
)
@_autocast.float32
def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int
) -> Tensor:
    """exp(input) - target * input, or input - target * log(input + eps) where input is no logarithm; full: with
    Stirling's approximation of log(target!) for targets above 1."""
    if log_input:
        loss = _weft.exp(input) - target * input
    else:
        loss = input - target * _weft.log(input + eps)
    if full:
        positive = _weft.where(target > 1, target, _weft.ones_like(target))
        stirling = positive * _weft.log(positive) - positive + 0.5 * _weft.log(2 * math.pi * positive)
        loss = loss + _weft.where(target > 1, stirling, _weft.zeros_like(stirling))
    return _reduced(loss, reduction)


@aten(
    "multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int reduction=1) "
    "-> Tensor"
)
@_autocast.float32
def multi_margin_loss(
    input: Tensor, target: Tensor, p: number, margin: number, weight: Optional[Tensor], reduction: int
) -> Tensor:
    """sum over i != target of max(0, margin - input[target] + input[i]) ** p / C. input[N, C] or [C], target[N] or []."""
    if p != 1 and p != 2:
        raise ValueError(f"multi_margin_loss: p must be 1 or 2, got {p}")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    if input.dim() == 0:
        input = input.reshape([1])
    index = target.reshape(list(input.shape[:-1]) + [1])
    terms = _weft.clamp(margin - input.gather(-1, index) + input, min=0)
    if p == 2:
        terms = terms * terms
    if weight is not None:
        terms = terms * weight.index_select(0, target.reshape([-1])).reshape(index.shape)
    classes = _weft.arange(input.shape[-1])
    terms = _weft.where(classes == index, _weft.zeros_like(terms), terms)
    return _reduced(terms.sum(-1).reshape(target.shape) / input.shape[-1], reduction)


@aten("multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor")
@_autocast.float32
def multilabel_margin_loss(input: Tensor, target: Tensor, reduction: int) -> Tensor:
    """sum over targets j and other classes i of max(0, 1 - (input[j] - input[i])) / C. target: int[N, C] or [C], the
    targets' numbers before the first -1."""
    if input.dim() == 0:
        input, target = input.reshape([1]), target.reshape([1])
    size = input.shape[-1]
    if input.dim() > 2 or size == 0:
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}"
        )
    listed = ((target < 0).to(_weft.int64).cumsum(-1) == 0).unsqueeze(-1)  # [*, C, 1]
    classes = _weft.arange(size)
    is_target = ((target.unsqueeze(-1) == classes) & listed).any(-2)
    chosen = input.gather(-1, _weft.clamp(target, min=0)).unsqueeze(-1)  # [*, C, 1]
    terms = _weft.clamp(1 - chosen + input.unsqueeze(-2), min=0)
    counted = _weft.logical_and(listed, _weft.logical_not(is_target).unsqueeze(-2))
    loss = _weft.where(counted, terms, _weft.zeros_like(terms)).sum(-1).sum(-1) / size
    return _reduced(loss, reduction)
