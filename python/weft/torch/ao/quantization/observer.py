"""Observers: modules that tensors pass through, and that choose the scale and zero point for what they have seen.

source: PyTorch 2.15's observers; the same numbers in float32.
"""

import functools
import math

import numpy

import weft
import weft.torch as torch
from weft import nn

from ... import _absent

_EPS = float(numpy.finfo(numpy.float32).eps)
_BITS = {torch.qint8: 8, torch.int8: 8, torch.quint8: 8, torch.uint8: 8, torch.quint4x2: 4}


class _PartialWrapper:
    """A class with some of its arguments, as with_args gives it."""

    def __init__(self, p):
        self.p = p
        self.callable_args = {}

    def __call__(self, *args, **keywords):
        made = {name: make() for name, make in self.callable_args.items() if name not in keywords}
        return self.p(*args, **{**made, **keywords})

    def __repr__(self):
        return repr(self.p) + repr(self.callable_args)

    def with_args(self, **kwargs):
        return _with_args(self, **kwargs)

    def with_callable_args(self, **kwargs):
        result = _PartialWrapper(p=self.p)
        result.callable_args = {**self.callable_args, **kwargs}
        return result


def _with_args(cls_or_self, **kwargs):
    return _PartialWrapper(functools.partial(cls_or_self, **kwargs))


def _is_activation_post_process(module):
    return isinstance(module, ObserverBase) or bool(getattr(module, "_weft_observes", False))


def _quant_range(dtype, reduce_range):
    """The least and the largest integer; reduce_range: of one bit less."""
    if dtype in (torch.qint8, torch.int8):
        low, high = -128, 127
    elif dtype in (torch.quint8, torch.uint8):
        low, high = 0, 255
    elif dtype == torch.quint4x2:
        low, high = 0, 15
    elif dtype == torch.uint16:
        low, high = 0, 2**16 - 1
    elif dtype == torch.int16:
        low, high = -(2**15), 2**15 - 1
    elif dtype in (torch.qint32, torch.int32):
        low, high = -(2**31), 2**31 - 1
    else:
        raise AssertionError(f"Default Observer does not work for {dtype}")
    if reduce_range and _BITS.get(dtype) == 8:
        return (-64, 63) if low < 0 else (0, 127)
    return low, high


def _is_seen(least, most):
    """Was anything observed, and is it in order?"""
    if least.numel() == 0 or most.numel() == 0:
        return False
    if least.ndim == 0 or most.ndim == 0:
        if math.isinf(least.item()) and math.isinf(most.item()):
            return False
        if least.item() > most.item():
            raise AssertionError(f"min {least} should be less than max {most}")
    elif bool((least > most).any()):
        raise AssertionError(f"min {least} should be less than max {most}")
    return True


class ObserverBase(nn.Module):
    """What observers are: forward() sees a tensor and gives it back, calculate_qparams() a scale and a zero point."""

    def __init__(self, dtype, is_dynamic=False):
        super().__init__()
        self.dtype, self.is_dynamic = dtype, is_dynamic

    def forward(self, x):
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def calculate_qparams(self, **kwargs):
        raise NotImplementedError(f"{type(self).__name__} has no calculate_qparams")

    with_args = classmethod(_with_args)

    @classmethod
    def with_callable_args(cls, **kwargs):
        return _PartialWrapper(p=cls).with_callable_args(**kwargs)


class UniformQuantizationObserverBase(ObserverBase):
    """The scale and zero point of evenly spaced numbers, from the least and the largest number."""

    _version = 3

    def __init__(
        self,
        dtype=torch.quint8,
        qscheme=torch.per_tensor_affine,
        reduce_range=False,
        quant_min=None,
        quant_max=None,
        factory_kwargs=None,
        eps=_EPS,
        is_dynamic=False,
        **kwargs,
    ):
        super().__init__(dtype=dtype, is_dynamic=is_dynamic, **kwargs)
        self.qscheme, self.reduce_range = qscheme, reduce_range
        self.register_buffer("eps", weft.tensor([eps], dtype=weft.float32))
        self.has_customized_qrange = quant_min is not None and quant_max is not None
        if self.has_customized_qrange:
            if not quant_min <= 0 <= quant_max:
                raise AssertionError("Used-specified quantization range must include 0.")
            if quant_min >= quant_max:
                raise AssertionError(
                    "qmin must be strictly less than qmax for user-specified quantization range."
                )
            self.quant_min, self.quant_max = quant_min, quant_max
            if reduce_range:
                self.quant_min, self.quant_max = quant_min // 2, quant_max // 2
        else:
            self.quant_min, self.quant_max = _quant_range(dtype, reduce_range)
        if (
            qscheme in (torch.per_tensor_symmetric, torch.per_channel_symmetric)
            and reduce_range
            and dtype == torch.quint8
        ):
            raise NotImplementedError("Cannot reduce range for symmetric quantization for quint8")

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *args):
        if local_metadata.get("version", None) in (None, 1):
            state_dict[prefix + "eps"] = weft.tensor([_EPS], dtype=weft.float32)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)

    def _calculate_qparams(self, least, most):
        if not _is_seen(least, most):
            return weft.tensor([1.0]), weft.tensor([0])
        low, high = self.quant_min, self.quant_max
        below = weft.minimum(least, weft.zeros_like(least))
        above = weft.maximum(most, weft.zeros_like(most))
        zero_point = weft.zeros(below.shape, dtype=weft.int64)
        if self.qscheme in (torch.per_tensor_symmetric, torch.per_channel_symmetric):
            scale = weft.maximum(-below, above) / (float(high - low) / 2)
            scale = weft.maximum(scale, self.eps)
            if self.dtype in (torch.quint8, torch.uint8):
                middle = (low + high) // 2 if self.has_customized_qrange else 128
                zero_point = weft.full(zero_point.shape, middle, dtype=weft.int64)
            elif self.dtype == torch.uint16:
                zero_point = weft.full(zero_point.shape, 2**15, dtype=weft.int64)
        elif self.qscheme == torch.per_channel_affine_float_qparams:
            scale = (most - least) / float(high - low)
            scale = weft.where(scale > self.eps, scale, weft.ones_like(scale))
            zero_point = -1 * least / scale
        else:
            scale = weft.maximum((above - below) / float(high - low), self.eps)
            zero_point = low - weft.round(below / scale).to(weft.int32)
            zero_point = weft.clip(zero_point, low, high)
        return (
            scale.reshape([1]) if scale.ndim == 0 else scale,
            zero_point.reshape([1]) if zero_point.ndim == 0 else zero_point,
        )

    def calculate_qparams(self):
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self):
        return f"min_val={self.min_val}, max_val={self.max_val}"

    def reset_min_max_vals(self):
        raise NotImplementedError("Cannot reset min/max values in the given observer.")


class MinMaxObserver(UniformQuantizationObserverBase):
    """The least and the largest number so far."""

    def __init__(self, dtype=torch.quint8, qscheme=torch.per_tensor_affine, *args, **kwargs):
        if qscheme not in (torch.per_tensor_affine, torch.per_tensor_symmetric):
            raise NotImplementedError(
                f"{type(self).__name__}'s qscheme only support torch.per_tensor_symmetric and torch.per_tensor_affine."
            )
        super().__init__(dtype, qscheme, *args, **kwargs)
        self.register_buffer("min_val", weft.tensor(math.inf))
        self.register_buffer("max_val", weft.tensor(-math.inf))

    def forward(self, x_orig):
        if x_orig.numel() == 0:
            return x_orig
        x = x_orig.detach().to(self.min_val.dtype)
        self._update(x.min(), x.max())
        return x_orig

    def _update(self, least, most):
        self.min_val.copy_(weft.minimum(least, self.min_val))
        self.max_val.copy_(weft.maximum(most, self.max_val))

    def reset_min_max_vals(self):
        self.min_val.copy_(weft.tensor(math.inf))
        self.max_val.copy_(weft.tensor(-math.inf))


class MovingAverageMinMaxObserver(MinMaxObserver):
    """Averages of the least and the largest numbers, of which a new one has the weight averaging_constant."""

    def __init__(self, averaging_constant=0.01, *args, **kwargs):
        if kwargs.get("is_dynamic") and averaging_constant != 1:
            raise NotImplementedError(
                "MovingAverageMinMaxObserver doesn't support dynamic quantization for averaging constant of "
                f"{averaging_constant}"
            )
        super().__init__(*args, **kwargs)
        self.averaging_constant = averaging_constant

    def _update(self, least, most):
        if not (math.isinf(self.min_val.item()) and math.isinf(self.max_val.item())):
            least = self.min_val + self.averaging_constant * (least - self.min_val)
            most = self.max_val + self.averaging_constant * (most - self.max_val)
        self.min_val.copy_(least)
        self.max_val.copy_(most)


class PerChannelMinMaxObserver(UniformQuantizationObserverBase):
    """The least and the largest number of each index of dimension ch_axis."""

    def __init__(self, ch_axis=0, dtype=torch.quint8, qscheme=torch.per_channel_affine, *args, **kwargs):
        allowed = (
            torch.per_channel_affine,
            torch.per_channel_symmetric,
            torch.per_channel_affine_float_qparams,
        )
        if qscheme not in allowed:
            raise NotImplementedError(
                "PerChannelMinMaxObserver's qscheme only support torch.per_channel_symmetric, torch.per_channel_affine and "
                "torch.per_channel_affine_float_qparams."
            )
        if kwargs.get("is_dynamic"):
            raise NotImplementedError("PerChannelMinMaxObserver doesn't support dynamic quantization")
        super().__init__(dtype, qscheme, *args, **kwargs)
        self.ch_axis = ch_axis
        self.register_buffer("min_val", weft.tensor([], dtype=weft.float32))
        self.register_buffer("max_val", weft.tensor([], dtype=weft.float32))

    def forward(self, x_orig):
        if x_orig.numel() == 0:
            return x_orig
        x = weft.swapaxes(x_orig.detach(), 0, self.ch_axis).to(weft.float32)
        rows = x.reshape([x.shape[0], -1])
        self._update(weft.amin(rows, dim=[1]), weft.amax(rows, dim=[1]))
        return x_orig

    def _update(self, least, most):
        if self.min_val.numel() > 0:
            least, most = weft.minimum(least, self.min_val), weft.maximum(most, self.max_val)
        self._set(least, most)

    def _set(self, least, most):
        self._buffers["min_val"], self._buffers["max_val"] = least, most

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing, *args):
        version = local_metadata.get("version")
        suffix = "s" if version is not None and version < 3 else ""
        for name in ("min_val", "max_val"):
            key = prefix + name + suffix
            if key in state_dict:
                value = state_dict[key]
                state_dict[prefix + name] = value
                self._buffers[name] = weft.empty(value.shape, dtype=weft.float32)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, strict, missing, *args)

    def reset_min_max_vals(self):
        self._set(weft.tensor([], dtype=weft.float32), weft.tensor([], dtype=weft.float32))


class MovingAveragePerChannelMinMaxObserver(PerChannelMinMaxObserver):
    """Averages of each channel's least and largest numbers."""

    def __init__(self, averaging_constant=0.01, ch_axis=0, *args, **kwargs):
        super().__init__(ch_axis, *args, **kwargs)
        self.averaging_constant = averaging_constant

    def _update(self, least, most):
        if self.min_val.numel() > 0:
            least = self.min_val + self.averaging_constant * (least - self.min_val)
            most = self.max_val + self.averaging_constant * (most - self.max_val)
        self._set(least, most)


class HistogramObserver(MinMaxObserver):
    """A histogram of all numbers; the ends are those with the smallest squared error of quantization, found by steps."""

    def __init__(self, bins=2048, dtype=torch.quint8, *args, **kwargs):
        if kwargs.get("is_dynamic"):
            raise NotImplementedError("HistogramObserver doesn't support dynamic quantization")
        super().__init__(dtype, *args, **kwargs)
        self.bins, self.upsample_rate = bins, 16
        self.register_buffer("histogram", weft.zeros([bins]))
        self.dst_nbins = 2 ** _BITS.get(dtype, 32)

    def _norm(self, begin, end, density):
        return density * ((end * end * end - begin * begin * begin) / 3)

    def _compute_quantization_error(self, first, last):
        width = (self.max_val.item() - self.min_val.item()) / self.bins
        to_width = width * (last - first + 1) / self.dst_nbins
        if to_width == 0.0:
            return 0.0
        begins = (weft.arange(self.bins) - first) * width
        ends = begins + width
        of_begin = weft.clip(weft.floor(begins / to_width), 0, self.dst_nbins - 1)
        of_end = weft.clip(weft.floor(ends / to_width), 0, self.dst_nbins - 1)
        density = self.histogram / width
        half = to_width / 2
        norm = weft.zeros([self.bins])
        norm = norm + self._norm(begins - (of_begin + 0.5) * to_width, weft.ones([self.bins]) * half, density)
        norm = norm + (of_end - of_begin - 1) * self._norm(weft.tensor(-half), weft.tensor(half), density)
        norm = norm + self._norm(weft.tensor(-half), ends - (of_end * to_width + half), density)
        return norm.sum().item()

    def _non_linear_param_search(self):
        width = (self.max_val - self.min_val) / self.bins
        total = weft.sum(self.histogram).item()
        sums = numpy.asarray(weft.cumsum(self.histogram, dim=0))
        step, alpha, beta = 1e-5, 0.0, 1.0
        start, end, least = 0, self.bins - 1, math.inf
        while alpha < beta:
            next_alpha, next_beta = alpha + step, beta - step
            left, right = start, end
            while left < end and sums[left] < numpy.float32(next_alpha * total):
                left += 1
            while right > start and sums[right] > numpy.float32(next_beta * total):
                right -= 1
            next_start, next_end = start, end
            if left - start > end - right:
                next_start, alpha = left, next_alpha
            else:
                next_end, beta = right, next_beta
            if next_start == start and next_end == end:
                continue
            norm = self._compute_quantization_error(next_start, next_end)
            if norm > least:
                break
            least, start, end = norm, next_start, next_end
        return self.min_val + width * start, self.min_val + width * (end + 1)

    def _upscale(self, histogram, least, most, new_least, new_most):
        """The histogram over wider ends, each bin as `upsample_rate` narrow ones."""
        histogram = torch.repeat_interleave(histogram, self.upsample_rate) / self.upsample_rate
        narrow = (most - least) / (self.bins * self.upsample_rate)
        middles = torch.linspace(least, most, self.bins * self.upsample_rate + 1)[:-1] + 0.5 * narrow
        boundaries = torch.linspace(new_least, new_most, self.bins + 1)
        places = torch.bucketize(middles, boundaries, right=True) - 1
        places = weft.clip(places, 0, self.bins - 1)
        return torch.bincount(places, weights=histogram, minlength=self.bins)

    def _combined(self, histogram, least, most, update, new_least, new_most):
        if new_least == least and new_most == most:
            return histogram + update
        if least == most:
            one = torch.histc(least, bins=self.bins, min=new_least.item(), max=new_most.item())
            return one * weft.sum(histogram) + update
        return update + self._upscale(histogram, least, most, new_least, new_most)

    def forward(self, x_orig):
        if x_orig.numel() == 0:
            return x_orig
        x = x_orig.detach().to(weft.float32)
        if bool(weft.isinf(x).any()):
            x = x[weft.abs(x) != math.inf]
            if x.numel() == 0:
                return x_orig
        least, most = x.min(), x.max()
        is_new = math.isinf(self.min_val.item()) or math.isinf(self.max_val.item())
        if not is_new:
            least, most = weft.minimum(self.min_val, least), weft.maximum(self.max_val, most)
        update = torch.histc(x, self.bins, min=least.item(), max=most.item())
        if not is_new:
            update = self._combined(self.histogram, self.min_val, self.max_val, update, least, most)
        self.histogram.copy_(update)
        self.min_val.copy_(least)
        self.max_val.copy_(most)
        return x_orig

    def calculate_qparams(self):
        if math.isinf(self.min_val.item()) and math.isinf(self.max_val.item()):
            return weft.tensor([1.0]), weft.tensor([0])
        return self._calculate_qparams(*self._non_linear_param_search())

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *args):
        version = local_metadata.get("version")
        if version is None or version < 3:
            for name, value in (("min_val", math.inf), ("max_val", -math.inf)):
                if prefix + name in state_dict and state_dict[prefix + name].numel() == 0:
                    state_dict[prefix + name] = weft.tensor(value)
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)


class FixedQParamsObserver(ObserverBase):
    """A scale and a zero point that are known beforehand."""

    def __init__(
        self,
        scale,
        zero_point,
        dtype=torch.quint8,
        qscheme=torch.per_tensor_affine,
        quant_min=0,
        quant_max=255,
        is_dynamic=False,
        **kwargs,
    ):
        if is_dynamic:
            raise NotImplementedError("FixedQParamsObserver doesn't support dynamic quantization")
        super().__init__(dtype=dtype, is_dynamic=is_dynamic, **kwargs)
        self.quant_min, self.quant_max, self.qscheme = quant_min, quant_max, qscheme
        self.register_buffer("scale", weft.tensor([scale], dtype=weft.float32))
        self.register_buffer("zero_point", weft.tensor([zero_point], dtype=weft.int32))

    def forward(self, x):
        return x

    def calculate_qparams(self):
        return self.scale, self.zero_point


class PlaceholderObserver(ObserverBase):
    """Sees nothing: a dtype for modules that need no more."""

    def __init__(
        self,
        dtype=torch.float32,
        custom_op_name="",
        compute_dtype=None,
        quant_min=None,
        quant_max=None,
        qscheme=None,
        eps=None,
        is_dynamic=False,
    ):
        super().__init__(dtype=dtype, is_dynamic=is_dynamic)
        self.qscheme = torch.per_tensor_affine if qscheme is None else qscheme
        self.quant_min, self.quant_max, self.eps, self.custom_op = quant_min, quant_max, eps, custom_op_name
        if compute_dtype:
            self.is_dynamic = True

    def forward(self, x):
        return x

    def extra_repr(self):
        return f"dtype={self.dtype}, is_dynamic={self.is_dynamic}"

    def calculate_qparams(self):
        raise RuntimeError("calculate_qparams should not be called for PlaceholderObserver")


class NoopObserver(ObserverBase):
    """Sees nothing: for float16, which needs no scale."""

    def __init__(self, dtype=torch.float16, custom_op_name=""):
        super().__init__(dtype=dtype, is_dynamic=False)
        self.custom_op = custom_op_name

    def forward(self, x):
        return x

    def calculate_qparams(self):
        raise RuntimeError("calculate_qparams should not be called for NoopObserver")


class RecordingObserver(ObserverBase):
    """Keeps all tensors that it sees."""

    def __init__(self, dtype=torch.quint8):
        super().__init__(dtype=dtype, is_dynamic=False)
        self.tensor_val = []

    def forward(self, x):
        self.tensor_val.append(x.clone())
        return x

    def calculate_qparams(self):
        raise RuntimeError("calculate_qparams should not be called for RecordingObserver")

    def get_tensor_value(self):
        return self.tensor_val


default_observer = MinMaxObserver.with_args(quant_min=0, quant_max=127)
default_placeholder_observer = PlaceholderObserver
default_debug_observer = RecordingObserver
default_weight_observer = MinMaxObserver.with_args(dtype=torch.qint8, qscheme=torch.per_tensor_symmetric)
weight_observer_range_neg_127_to_127 = MinMaxObserver.with_args(
    dtype=torch.qint8, qscheme=torch.per_tensor_symmetric, quant_min=-127, quant_max=127, eps=2**-12
)
default_histogram_observer = HistogramObserver.with_args(quant_min=0, quant_max=127)
default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args(
    dtype=torch.qint8, qscheme=torch.per_channel_symmetric
)
per_channel_weight_observer_range_neg_127_to_127 = PerChannelMinMaxObserver.with_args(
    dtype=torch.qint8, qscheme=torch.per_channel_symmetric, quant_min=-127, quant_max=127, eps=2**-12
)
default_dynamic_quant_observer = PlaceholderObserver.with_args(
    dtype=torch.quint8, quant_min=0, quant_max=255, is_dynamic=True
)
default_float_qparams_observer = PerChannelMinMaxObserver.with_args(
    dtype=torch.quint8, qscheme=torch.per_channel_affine_float_qparams, ch_axis=0
)
default_float_qparams_observer_4bit = PerChannelMinMaxObserver.with_args(
    dtype=torch.quint4x2, qscheme=torch.per_channel_affine_float_qparams, ch_axis=0
)
default_fixed_qparams_range_neg1to1_observer = FixedQParamsObserver.with_args(
    scale=2.0 / 256.0, zero_point=128, dtype=torch.quint8, quant_min=0, quant_max=255
)
default_fixed_qparams_range_0to1_observer = FixedQParamsObserver.with_args(
    scale=1.0 / 256.0, zero_point=0, dtype=torch.quint8, quant_min=0, quant_max=255
)
default_symmetric_fixed_qparams_observer = default_fixed_qparams_range_neg1to1_observer
default_affine_fixed_qparams_observer = default_fixed_qparams_range_0to1_observer
default_reuse_input_observer = NoopObserver


def get_observer_state_dict(mod):
    """The entries of observers in a module's state."""
    return type(mod.state_dict())(
        (k, v) for k, v in mod.state_dict().items() if "activation_post_process" in k
    )


__getattr__ = _absent.names(__name__)
