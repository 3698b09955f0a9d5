"""Normalization layers."""

from typing import Optional, Tuple

import weft
from weft import Tensor
from weft.nn import functional as F

from ._shared import empty
from .module import Module


class _NormBase(Module):
    _version = 2  # num_batches_tracked came with it
    __constants__ = ["track_running_stats", "momentum", "eps", "num_features", "affine"]
    num_features: int
    eps: float
    affine: bool
    track_running_stats: bool

    def __init__(
        self,
        num_features,
        eps=1e-5,
        momentum=0.1,
        affine=True,
        track_running_stats=True,
        device=None,
        dtype=None,
        *,
        bias=True,
    ):
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        place = {"device": device, "dtype": dtype}
        self.register_parameter("weight", empty(num_features, **place) if affine else None)
        self.register_parameter("bias", empty(num_features, **place) if affine and bias else None)
        for name in ("running_mean", "running_var"):
            self.register_buffer(name, weft.empty((num_features,), **place) if track_running_stats else None)
        self.register_buffer(
            "num_batches_tracked",
            weft.zeros((), dtype=weft.int64, device=device) if track_running_stats else None,
        )
        self.reset_parameters()

    def reset_running_stats(self):
        if self.track_running_stats:
            self.running_mean.fill_(0)
            self.running_var.fill_(1)
            self.num_batches_tracked.fill_(0)

    def reset_parameters(self):
        self.reset_running_stats()
        if self.affine:
            self.weight.fill_(1)
            if self.bias is not None:
                self.bias.fill_(0)

    def _check_input_dim(self, input: Tensor) -> None:
        pass

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *others):
        key = prefix + "num_batches_tracked"
        if (
            (local_metadata.get("version") or 1) < 2
            and self.num_batches_tracked is not None
            and key not in state_dict
        ):
            state_dict[key] = self.num_batches_tracked
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *others)

    def extra_repr(self):
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )


class _BatchNorm(_NormBase):
    """(input - mean) / sqrt(variance + eps) * weight + bias by channel, dimension 1: with the batch's statistics in
    training mode (the running ones are updated) and where there are no running ones, with the running ones in eval mode."""

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        mean: Optional[Tensor] = self.running_mean
        var: Optional[Tensor] = self.running_var
        use_batch = self.training or (mean is None and var is None)
        factor = 0.0
        if self.momentum is not None:
            factor = self.momentum
        if self.training:
            if self.track_running_stats:
                count = self.num_batches_tracked
                if count is not None:
                    count.add_(1)
                    if self.momentum is None:  # the plain average of all batches
                        factor = 1.0 / float(count)
            else:
                mean, var = None, None
        return F.batch_norm(input, mean, var, self.weight, self.bias, use_batch, factor, self.eps)


class BatchNorm1d(_BatchNorm):
    """input[N, num_features] or [N, num_features, L]."""

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 2 and input.dim() != 3:
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")


class BatchNorm2d(_BatchNorm):
    """input[N, num_features, H, W]."""

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 4:
            raise ValueError(f"expected 4D input (got {input.dim()}D input)")


class BatchNorm3d(_BatchNorm):
    """input[N, num_features, D, H, W]."""

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 5:
            raise ValueError(f"expected 5D input (got {input.dim()}D input)")


class SyncBatchNorm(_BatchNorm):
    """Batch normalization of input[N, num_features, *]; there is one process, so nothing is synchronized."""

    def __init__(self, num_features, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, process_group=None,
                 device=None, dtype=None, *, bias=True):  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")

    @classmethod
    def convert_sync_batchnorm(cls, module, process_group=None):
        """The module, unchanged: one process computes what its batch normalizations compute."""
        return module


class _InstanceNorm(_NormBase):
    """Batch normalization with each instance's own statistics, or with the running ones in eval mode where those are kept."""

    def __init__(
        self,
        num_features,
        eps=1e-5,
        momentum=0.1,
        affine=False,
        track_running_stats=False,
        device=None,
        dtype=None,
        *,
        bias=True,
    ):
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _get_no_batch_dim(self) -> int:
        raise NotImplementedError

    def _handle_no_batch_input(self, input: Tensor) -> Tensor:
        return self._apply_instance_norm(input.unsqueeze(0)).squeeze(0)

    def _apply_instance_norm(self, input: Tensor) -> Tensor:
        return F.instance_norm(
            input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            self.momentum if self.momentum is not None else 0.0,
            self.eps,
        )

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        if input.dim() == self._get_no_batch_dim():
            return self._handle_no_batch_input(input)
        return self._apply_instance_norm(input)


class InstanceNorm1d(_InstanceNorm):
    """input[N, num_features, L] or [num_features, L]."""

    def _get_no_batch_dim(self) -> int:
        return 2

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 2 and input.dim() != 3:
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")


class InstanceNorm2d(_InstanceNorm):
    """input[N, num_features, H, W] or [num_features, H, W]."""

    def _get_no_batch_dim(self) -> int:
        return 3

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 3 and input.dim() != 4:
            raise ValueError(f"expected 3D or 4D input (got {input.dim()}D input)")


class InstanceNorm3d(_InstanceNorm):
    """input[N, num_features, D, H, W] or [num_features, D, H, W]."""

    def _get_no_batch_dim(self) -> int:
        return 4

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 4 and input.dim() != 5:
            raise ValueError(f"expected 4D or 5D input (got {input.dim()}D input)")


class LayerNorm(Module):
    """(input - mean) / sqrt(variance + eps) * weight + bias over the last dimensions, of sizes normalized_shape."""

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]
    normalized_shape: Tuple[int, ...]
    eps: float
    elementwise_affine: bool

    def __init__(
        self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, device=None, dtype=None
    ):
        super().__init__()
        self.normalized_shape = (
            (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        )
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        place, shape = {"device": device, "dtype": dtype}, self.normalized_shape
        self.register_parameter("weight", empty(*shape, **place) if elementwise_affine else None)
        self.register_parameter("bias", empty(*shape, **place) if elementwise_affine and bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        if self.weight is not None:
            self.weight.fill_(1)
        if self.bias is not None:
            self.bias.fill_(0)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """input / sqrt(mean(input ** 2) + eps) * weight over the last dimensions, of sizes normalized_shape.

    eps: None stands for the input dtype's epsilon.
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]
    normalized_shape: Tuple[int, ...]
    eps: Optional[float]
    elementwise_affine: bool

    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape = (
            (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        )
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        own = empty(*self.normalized_shape, device=device, dtype=dtype) if elementwise_affine else None
        self.register_parameter("weight", own)
        self.reset_parameters()

    def reset_parameters(self):
        if self.weight is not None:
            self.weight.fill_(1)

    def forward(self, input: Tensor) -> Tensor:
        return F.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Module):
    """Normalization of input[N, num_channels, *] over each of num_groups groups of channels."""

    __constants__ = ["num_groups", "num_channels", "eps", "affine"]
    num_groups: int
    num_channels: int
    eps: float
    affine: bool

    def __init__(
        self, num_groups, num_channels, eps=1e-5, affine=True, device=None, dtype=None, *, bias=True
    ):
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(
                f"GroupNorm: num_channels {num_channels} must be divisible by num_groups {num_groups}"
            )
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        place = {"device": device, "dtype": dtype}
        self.register_parameter("weight", empty(num_channels, **place) if affine else None)
        self.register_parameter("bias", empty(num_channels, **place) if affine and bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        if self.affine:
            self.weight.fill_(1)
            if self.bias is not None:
                self.bias.fill_(0)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class LocalResponseNorm(Module):
    """input / (k + alpha * mean of the squares of `size` neighbouring channels) ** beta."""

    __constants__ = ["size", "alpha", "beta", "k"]
    size: int
    alpha: float
    beta: float
    k: float

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1.0):
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self):
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(Module):
    """LocalResponseNorm as Torch 7 computed it: from the window's own size on, sums of squares keep the first channel."""

    size: int
    alpha: float
    beta: float
    k: float

    def __init__(self, size, alpha=1e-4, beta=0.75, k=1):
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        half = (self.size - 1) // 2
        squares = input * input
        padded = F.pad(squares, [0, 0, 0, 0, half, half])
        channels = input.shape[1]
        sums = padded[:, :channels]
        for shift in range(1, 2 * half + 1):
            sums = sums + padded[:, shift : shift + channels]
        if channels > half + 1:
            first = squares[:, :1].expand(-1, channels - half - 1, -1, -1)
            sums = sums + F.pad(first, [0, 0, 0, 0, half + 1, 0])
        return input * (sums * (self.alpha / self.size) + self.k) ** -self.beta

    def extra_repr(self):
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
