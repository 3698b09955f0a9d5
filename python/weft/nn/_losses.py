"""Distances and losses of torch.nn.functional."""

from typing import Callable, Optional

import weft as _weft
from weft import Tensor, _autocast


def _reduction(size_average, reduce, reduction):
    """PyTorch's older arguments, where given, in place of reduction."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


def _check_reduction(name, reduction):
    expected = ("none", "mean", "sum", "batchmean") if "kl" in name.lower() else ("none", "mean", "sum")
    if reduction not in expected:
        raise ValueError(f"{name}: reduction must be one of {', '.join(expected)}, got {reduction!r}")


def _reduced(loss: Tensor, reduction: str) -> Tensor:
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    _need_known_reduction(reduction)
    return loss


def _need_known_reduction(reduction: str) -> None:
    if reduction != "none" and reduction != "mean" and reduction != "sum":
        raise ValueError(f"{reduction} is not a valid value for reduction")


def _weighted(loss, weight, reduction):
    """The sum of weighted losses, or their weighted mean."""
    if weight.shape != loss.shape:
        raise ValueError(
            f"weight: expected the shape of the losses, {tuple(loss.shape)}, got {tuple(weight.shape)}"
        )
    if reduction == "mean":
        return (loss * weight).sum() / weight.sum()
    return _reduced(loss * weight, reduction)


# ---- distances -----------------------------------------------------------------------------------------------


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    return _weft.cosine_similarity(x1, x2, dim, eps)


def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> Tensor:
    return _weft.pairwise_distance(x1, x2, p, eps, keepdim)


def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """Distances of all pairs of rows of input[N, D], N * (N - 1) / 2 of them: of 0 and 1, 0 and 2, …"""
    rows = input.shape[0]
    places = _weft.arange(rows)
    upper = places.unsqueeze(1) < places.unsqueeze(0)
    return _weft.cdist(input, input, p).masked_select(upper)


# ---- losses that are operators -------------------------------------------------------------------------------


def _class_numbers(target):
    return target.to(_weft.int64) if target.dtype == _weft.uint8 else target


def cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean",
                  label_smoothing=0.0):  # fmt: skip
    target = _class_numbers(target)
    if ignore_index >= 0 and target.is_floating_point():
        raise RuntimeError("cross_entropy: ignore_index is not for targets that are probabilities")
    return _weft.cross_entropy(
        input,
        target,
        weight,
        ignore_index=ignore_index,
        reduction=_reduction(size_average, reduce, reduction),
        label_smoothing=label_smoothing,
    )


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    target = _class_numbers(target)
    return _weft.nll_loss(
        input,
        target,
        weight,
        ignore_index=ignore_index,
        reduction=_reduction(size_average, reduce, reduction),
    )


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    reduction = _reduction(size_average, reduce, reduction)
    if weight is not None:
        return _weighted(_weft.mse_loss(input, target, reduction="none"), weight, reduction)
    return _weft.mse_loss(input, target, reduction=reduction)


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    reduction = _reduction(size_average, reduce, reduction)
    if weight is not None:
        return _weighted(_weft.l1_loss(input, target, reduction="none"), weight, reduction)
    if reduction == "sum" and not input.is_floating_point():
        return _weft.l1_loss(input, target, reduction="none").sum()
    return _weft.l1_loss(input, target, reduction=reduction)


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    return _weft.smooth_l1_loss(
        input, target, reduction=_reduction(size_average, reduce, reduction), beta=beta
    )


@_autocast.float32
def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    if weight is not None:
        return _reduced(_weft.huber_loss(input, target, reduction="none", delta=delta) * weight, reduction)
    result = _weft.huber_loss(input, target, reduction=reduction, delta=delta)
    return result.to(input.dtype) if input.is_floating_point() and target.is_floating_point() else result


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    reduction = _reduction(size_average, reduce, reduction)
    if not input.is_floating_point() or not target.is_floating_point():
        raise RuntimeError(f"kl_div: integers are not supported, got {input.dtype} and {target.dtype}")
    if reduction == "batchmean":
        total = _weft.kl_div(input, target, reduction="sum", log_target=log_target)
        return total / input.shape[0] if input.dim() else total
    return _weft.kl_div(input, target, reduction=reduction, log_target=log_target)


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


# ---- losses over operators: eager and in scripts alike -------------------------------------------------------


def _older(size_average: Optional[bool], reduce: Optional[bool], reduction: str) -> str:
    """_reduction, as a script can compile it."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is not None and not reduce:
        return "none"
    if size_average is not None and not size_average:
        return "sum"
    return "mean"


@_autocast.float32
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool = True, full: bool = False,
                     size_average: Optional[bool] = None, eps: float = 1e-8, reduce: Optional[bool] = None,
                     reduction: str = "mean") -> Tensor:  # fmt: skip
    """exp(input) - target * input, or input - target * log(input + eps) where input is no logarithm; full: with
    Stirling's approximation of log(target!) for targets above 1."""
    if log_input:
        loss = _weft.exp(input) - target * input
    else:
        loss = input - target * _weft.log(input + eps)
    if full:
        positive = _weft.where(target > 1, target, _weft.ones_like(target))
        stirling = (
            positive * _weft.log(positive) - positive + 0.5 * _weft.log(2 * 3.141592653589793 * positive)
        )
        loss = loss + _weft.where(target > 1, stirling, _weft.zeros_like(stirling))
    return _reduced(loss, _older(size_average, reduce, reduction))


def gaussian_nll_loss(input: Tensor, target: Tensor, var: Tensor, full: bool = False, eps: float = 1e-6,
                      reduction: str = "mean") -> Tensor:  # fmt: skip
    """(log(var) + (input - target) ** 2 / var) / 2, var being at least eps; full: plus log(2 pi) / 2. var may lack the
    last dimension, or have one element in a dimension, or be a number."""
    if isinstance(var, (int, float)):
        if var < 0:
            raise ValueError("gaussian_nll_loss: var has negative elements")
        var = _weft.full_like(input, var)
    elif var.shape != input.shape and var.shape != input.shape[:-1]:
        other_sizes = [have for have, size in zip(var.shape, input.shape) if have != size]
        if var.dim() != input.dim() or other_sizes != [1]:
            raise ValueError(
                f"gaussian_nll_loss: var of shape {tuple(var.shape)} does not fit input of {tuple(input.shape)}"
            )
    if var.dim() == input.dim() - 1:
        var = var.unsqueeze(-1)
    if bool((var < 0).any()):
        raise ValueError("gaussian_nll_loss: var has negative elements")
    var = _weft.clamp(var, min=eps)
    difference = input - target
    loss = 0.5 * (_weft.log(var) + difference * difference / var)
    if full:
        loss = loss + 0.9189385332046727
    return _reduced(loss, reduction)


@_autocast.float32
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, size_average: Optional[bool] = None,
                         reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:  # fmt: skip
    """input where target is 1, max(0, margin - input) where it is -1; elsewhere the sum of both."""
    zeros = _weft.zeros_like(input)
    far = _weft.where(target != 1, _weft.clamp(margin - input, min=0).to(input.dtype), zeros)
    loss = far + _weft.where(target != -1, input, zeros)
    return _reduced(loss, _older(size_average, reduce, reduction))


@_autocast.float32
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0,
                          size_average: Optional[bool] = None, reduce: Optional[bool] = None,
                          reduction: str = "mean") -> Tensor:  # fmt: skip
    """1 - cos(input1, input2) where target is 1, max(0, cos - margin) where it is -1. input[N, D] or [D]."""
    products = (input1 * input2).sum(-1)
    squares1 = (input1 * input1).sum(-1) + 1e-12
    squares2 = (input2 * input2).sum(-1) + 1e-12
    cosine = products / _weft.sqrt(squares1 * squares2)
    zeros = _weft.zeros_like(cosine)
    near = _weft.where(target == 1, 1 - cosine, zeros)
    loss = near + _weft.where(target == -1, _weft.clamp(cosine - margin, min=0), zeros)
    return _reduced(loss, _older(size_average, reduce, reduction))


@_autocast.float32
def soft_margin_loss(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None,
                     reduction: str = "mean") -> Tensor:  # fmt: skip
    """log(1 + exp(-target * input))."""
    powers = _weft.exp(-input * target)
    loss = _weft.log(1 + powers) if powers.is_complex() else _weft.log1p(powers)
    if input.is_floating_point() and target.is_floating_point():
        loss = loss.to(input.dtype)
    return _reduced(loss, _older(size_average, reduce, reduction))


@_autocast.float32
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0,
                        size_average: Optional[bool] = None, reduce: Optional[bool] = None,
                        reduction: str = "mean") -> Tensor:  # fmt: skip
    """max(0, -target * (input1 - input2) + margin)."""
    loss = _weft.clamp(-target * (input1 - input2) + margin, min=0)
    return _reduced(loss, _older(size_average, reduce, reduction))


def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Optional[Tensor] = None,
                                size_average: Optional[bool] = None, reduce: Optional[bool] = None,
                                reduction: str = "mean") -> Tensor:  # fmt: skip
    """Mean over the classes, the last dimension, of the binary cross entropy with logits times weight[C]."""
    loss = -(target * -_weft.softplus(-input) + (1 - target) * -_weft.softplus(input))
    if weight is not None:
        loss = loss * weight
    return _reduced(loss.mean(-1), _older(size_average, reduce, reduction))


@_autocast.float32
def multi_margin_loss(input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Optional[Tensor] = None,
                      size_average: Optional[bool] = None, reduce: Optional[bool] = None,
                      reduction: str = "mean") -> Tensor:  # fmt: skip
    """sum over i != target of max(0, margin - input[target] + input[i]) ** p / C. input[N, C] or [C], target[N] or []."""
    if p != 1 and p != 2:
        raise ValueError(f"multi_margin_loss: p must be 1 or 2, got {p}")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    chosen_reduction = _older(size_average, reduce, reduction)
    _need_known_reduction(chosen_reduction)
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
    return _reduced(terms.sum(-1).reshape(target.shape) / input.shape[-1], chosen_reduction)


@_autocast.float32
def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: Optional[bool] = None,
                           reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:  # fmt: skip
    """sum over targets j and other classes i of max(0, 1 - (input[j] - input[i])) / C. target: int[N, C] or [C], the
    targets' numbers before the first -1."""
    chosen_reduction = _older(size_average, reduce, reduction)
    _need_known_reduction(chosen_reduction)
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
    return _reduced(loss, chosen_reduction)


@_autocast.float32
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2.0,
                        eps: float = 1e-6, swap: bool = False, size_average: Optional[bool] = None,
                        reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:  # fmt: skip
    """max(0, margin + d(anchor, positive) - d(anchor, negative)), d being pairwise_distance; swap: the negative's
    distance to the positive counts where it is the smaller one."""
    if margin <= 0:
        raise ValueError(f"triplet_margin_loss: margin must be greater than 0, got {margin}")
    near = pairwise_distance(anchor, positive, p, eps)
    far = pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = _weft.minimum(far, pairwise_distance(positive, negative, p, eps))
    return _reduced(_weft.clamp(margin + near - far, min=0), _older(size_average, reduce, reduction))


def triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function: Optional[Callable] = None, margin=1.0,
                                      swap=False, reduction="mean"):  # fmt: skip
    """triplet_margin_loss with a distance of one's own: distance_function(x, y) gives one number per row."""
    if margin <= 0:
        raise ValueError(f"triplet_margin_with_distance_loss: margin must be greater than 0, got {margin}")
    distance = pairwise_distance if distance_function is None else distance_function
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = _weft.minimum(far, distance(positive, negative))
    return _reduced(_weft.clamp(margin + near - far, min=0), reduction)


# ---- connectionist temporal classification -------------------------------------------------------------------


@_autocast.float32
def ctc_loss(
    log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False
):
    """Minus the logarithm of the probability that the steps spell the targets, blanks and repetitions left out.

    log_probs[T, N, C] or [T, C]: logarithms of probabilities. targets: int[N, S], or all targets after one another.
    input_lengths, target_lengths: int[N] or lists. reduction "mean" divides by the targets' lengths first.
    source: the forward variables of Graves et al., Connectionist Temporal Classification (2006), in float64 NumPy.
    """
    import numpy as np

    _check_reduction("ctc_loss", reduction)
    values = np.asarray(log_probs.numpy(), np.float64)
    values = values[:, None] if values.ndim == 2 else values
    steps = np.atleast_1d(_integers(input_lengths))
    lengths = np.atleast_1d(_integers(target_lengths))
    labels = _integers(targets)
    if labels.ndim == 1:
        starts = np.concatenate([[0], np.cumsum(lengths)])
        rows = [labels[start : start + length] for start, length in zip(starts, lengths)]
    else:
        rows = [row[:length] for row, length in zip(labels, lengths)]
    if len(steps) != values.shape[1] or len(rows) != values.shape[1]:
        raise ValueError(
            f"ctc_loss: expected lengths of {values.shape[1]} sequences, got {len(steps)} and {len(rows)}"
        )
    losses = np.array([_ctc_of_one(values[: steps[n], n], row, blank) for n, row in enumerate(rows)])
    if zero_infinity:
        losses[np.isinf(losses)] = 0.0
    if reduction == "mean":
        losses = (losses / np.maximum(lengths, 1)).mean()
    elif reduction == "sum":
        losses = losses.sum()
    elif log_probs.ndim == 2:
        losses = losses[0]
    return _weft.asarray(np.asarray(losses)).to(log_probs.dtype)


def _integers(values):
    import numpy as np

    return np.asarray(values.numpy() if isinstance(values, Tensor) else values, np.int64)


def _ctc_of_one(log_probs, labels, blank):
    """log_probs[T, C] in float64, labels[S]."""
    import numpy as np

    states = np.full(2 * len(labels) + 1, blank)
    states[1::2] = labels
    # A label is entered from the one before it where the two differ, without the blank between them.
    skips = np.zeros(len(states), bool)
    skips[3::2] = states[3::2] != states[1:-2:2]
    forward = np.full(len(states), -np.inf)
    forward[0] = 0.0
    for t, step in enumerate(log_probs):
        if t > 0:
            shifted = np.concatenate([[-np.inf], forward[:-1]])
            skipped = np.where(
                skips, np.concatenate([[-np.inf, -np.inf], forward[:-2]])[: len(states)], -np.inf
            )
            forward = np.logaddexp(np.logaddexp(forward, shifted), skipped) + step[states]
        else:
            forward[:2] = step[states[:2]]
    if len(log_probs) == 0:
        return 0.0 if len(labels) == 0 else np.inf
    return -np.logaddexp.reduce(forward[-2:])
