"""Distances and losses of torch.nn.functional."""

from typing import Callable, Optional

import weft as _weft
from weft import Tensor, _autocast
from weft._composed import losses
from weft._composed.indexing import pdist  # noqa: F401


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


def _number(reduction: str) -> int:
    """As PyTorch's operators take it."""
    _need_known_reduction(reduction)
    return 0 if reduction == "none" else 1 if reduction == "mean" else 2


def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool = True, full: bool = False,
                     size_average: Optional[bool] = None, eps: float = 1e-8, reduce: Optional[bool] = None,
                     reduction: str = "mean") -> Tensor:  # fmt: skip
    return losses.poisson_nll_loss(
        input, target, log_input, full, eps, _number(_older(size_average, reduce, reduction))
    )


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


def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, size_average: Optional[bool] = None,
                         reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:  # fmt: skip
    return losses.hinge_embedding_loss(
        input, target, margin, _number(_older(size_average, reduce, reduction))
    )


def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0,
                          size_average: Optional[bool] = None, reduce: Optional[bool] = None,
                          reduction: str = "mean") -> Tensor:  # fmt: skip
    return losses.cosine_embedding_loss(
        input1, input2, target, margin, _number(_older(size_average, reduce, reduction))
    )


def soft_margin_loss(input: Tensor, target: Tensor, size_average: Optional[bool] = None, reduce: Optional[bool] = None,
                     reduction: str = "mean") -> Tensor:  # fmt: skip
    return losses.soft_margin_loss(input, target, _number(_older(size_average, reduce, reduction)))


def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0,
                        size_average: Optional[bool] = None, reduce: Optional[bool] = None,
                        reduction: str = "mean") -> Tensor:  # fmt: skip
    return losses.margin_ranking_loss(
        input1, input2, target, margin, _number(_older(size_average, reduce, reduction))
    )


def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Optional[Tensor] = None,
                                size_average: Optional[bool] = None, reduce: Optional[bool] = None,
                                reduction: str = "mean") -> Tensor:  # fmt: skip
    """Mean over the classes, the last dimension, of the binary cross entropy with logits times weight[C]."""
    loss = -(target * -_weft.softplus(-input) + (1 - target) * -_weft.softplus(input))
    if weight is not None:
        loss = loss * weight
    return _reduced(loss.mean(-1), _older(size_average, reduce, reduction))


def multi_margin_loss(input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Optional[Tensor] = None,
                      size_average: Optional[bool] = None, reduce: Optional[bool] = None,
                      reduction: str = "mean") -> Tensor:  # fmt: skip
    return losses.multi_margin_loss(
        input, target, p, margin, weight, _number(_older(size_average, reduce, reduction))
    )


def multilabel_margin_loss(input: Tensor, target: Tensor, size_average: Optional[bool] = None,
                           reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:  # fmt: skip
    return losses.multilabel_margin_loss(input, target, _number(_older(size_average, reduce, reduction)))


def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2.0,
                        eps: float = 1e-6, swap: bool = False, size_average: Optional[bool] = None,
                        reduce: Optional[bool] = None, reduction: str = "mean") -> Tensor:  # fmt: skip
    if margin <= 0:
        raise ValueError(f"triplet_margin_loss: margin must be greater than 0, got {margin}")
    number = _number(_older(size_average, reduce, reduction))
    return losses.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, number)


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
    source: the forward variables of Graves et al., Connectionist Temporal Classification (2006), in float64.
    """
    _check_reduction("ctc_loss", reduction)
    steps, lengths = _integers(input_lengths), _integers(target_lengths)
    return _weft._C._call_builtin(
        "aten::ctc_loss", log_probs, targets, steps, lengths, blank, _number(reduction), zero_infinity
    )


def _integers(values):
    return values.reshape(-1).tolist() if isinstance(values, Tensor) else [int(value) for value in values]
