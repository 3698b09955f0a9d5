"""Which observers choose the scales of a module's results and weights."""

from collections import namedtuple

import weft.torch as torch
from weft import nn

from ... import _absent
from . import observer as _observers


class QConfig(namedtuple("QConfig", ["activation", "weight"])):
    """Classes of observers, or what makes them: of results, and of weights."""

    __slots__ = ()

    def __new__(cls, activation, weight):
        if isinstance(activation, nn.Module) or isinstance(weight, nn.Module):
            raise ValueError(
                "QConfig received observer instance, please pass observer class instead. "
                "Use MyObserver.with_args(x=1) to override arguments to constructor if needed"
            )
        return super().__new__(cls, activation, weight)


class QConfigDynamic(namedtuple("QConfigDynamic", ["activation", "weight"])):
    """The older class of dynamic quantization."""

    __slots__ = ()

    def __new__(cls, activation=nn.Identity, weight=nn.Identity):
        if isinstance(weight, nn.Module):
            raise ValueError("QConfigDynamic received observer instance, please pass observer class instead.")
        return super().__new__(cls, activation, weight)


default_qconfig = QConfig(_observers.default_observer, _observers.default_weight_observer)
default_debug_qconfig = QConfig(_observers.default_debug_observer, _observers.default_weight_observer)
default_per_channel_qconfig = QConfig(
    _observers.default_observer, _observers.default_per_channel_weight_observer
)
default_dynamic_qconfig = QConfig(
    _observers.default_dynamic_quant_observer, _observers.default_weight_observer
)
float16_dynamic_qconfig = QConfig(
    _observers.PlaceholderObserver.with_args(dtype=torch.float16, is_dynamic=True),
    _observers.PlaceholderObserver.with_args(dtype=torch.float16),
)
float16_static_qconfig = QConfig(
    _observers.PlaceholderObserver.with_args(dtype=torch.float16),
    _observers.PlaceholderObserver.with_args(dtype=torch.float16),
)
per_channel_dynamic_qconfig = QConfig(
    _observers.default_dynamic_quant_observer, _observers.default_per_channel_weight_observer
)
float_qparams_weight_only_qconfig = QConfig(
    _observers.default_placeholder_observer, _observers.default_float_qparams_observer
)
float_qparams_weight_only_qconfig_4bit = QConfig(
    _observers.default_placeholder_observer, _observers.default_float_qparams_observer_4bit
)
default_reuse_input_qconfig = QConfig(_observers.default_reuse_input_observer, _observers.NoopObserver)
_symmetric = _observers.HistogramObserver.with_args(
    dtype=torch.qint8, quant_min=-127, quant_max=127, eps=2**-12
)
default_symmetric_qnnpack_qconfig = QConfig(_symmetric, _observers.weight_observer_range_neg_127_to_127)
default_per_channel_symmetric_qnnpack_qconfig = QConfig(
    _symmetric, _observers.per_channel_weight_observer_range_neg_127_to_127
)
_BACKENDS = {  # its activations have one bit less; weights have a scale for each output
    "fbgemm": (True, True),
    "x86": (True, True),
    "qnnpack": (False, False),
    "onednn": (False, True),
}


def get_default_qconfig(backend="x86", version=0):
    """Histograms of results, and weights per channel (qnnpack: per tensor)."""
    if backend not in _BACKENDS:
        raise AssertionError(
            f"backend: {backend} not supported. backend must be one of {['fbgemm', 'x86', 'qnnpack', 'onednn']}"
        )
    if version != 0:
        raise AssertionError(
            f"Version number: {version} in get_default_qconfig is not supported. Version number must be 0"
        )
    reduce_range, per_channel = _BACKENDS[backend]
    return QConfig(
        _observers.HistogramObserver.with_args(reduce_range=reduce_range),
        _observers.default_per_channel_weight_observer if per_channel else _observers.default_weight_observer,
    )


def _assert_valid_qconfig(qconfig, mod):
    """AssertionError for a transposed convolution whose weight would have a scale for each output."""
    if qconfig is None or not isinstance(mod, (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)):
        return
    if qconfig.weight is not None and isinstance(qconfig.weight(), _observers.PerChannelMinMaxObserver):
        raise AssertionError("Per channel weight observer is not supported yet for ConvTranspose{n}d.")


__getattr__ = _absent.names(__name__)
