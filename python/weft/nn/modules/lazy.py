"""Layers whose input size the first call decides. After it they are of the ordinary class."""

from weft.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy

from . import conv, linear, normalization
from .module import Parameter


class _Lazy:
    """Mixed into a class of layers: parameters without shapes until the first call, or until a state is loaded.

    _weft_ordinary: the class that the layer becomes.
    """

    def _weft_make_lazy(self, names, buffers=()):
        for kind, chosen in ((UninitializedParameter, names), (UninitializedBuffer, buffers)):
            for name in chosen:
                if getattr(self, name) is not None:
                    setattr(self, name, kind(dtype=getattr(self, name).dtype))

    def has_uninitialized_params(self):
        """Are there parameters or buffers without shapes?"""
        return any(
            value is not None and is_lazy(value)
            for store in (self._parameters, self._buffers)
            for value in store.values()
        )

    def initialize_parameters(self, input):
        """Gives the parameters the shapes that this input asks for; the layer becomes an ordinary one."""
        self._weft_build(self._weft_features_of(input))

    def __call__(self, input, *args, **kwargs):
        self.initialize_parameters(input)
        return self(input, *args, **kwargs)

    def _weft_build(self, features):
        built = self._weft_ordinary(**self._weft_arguments(features))
        for store, others in ((self._parameters, built._parameters), (self._buffers, built._buffers)):
            for name, value in others.items():
                own = store[name]
                if own is not None and is_lazy(own):
                    converted = value.to(own.dtype)
                    store[name] = (
                        Parameter(converted, own.requires_grad) if isinstance(own, Parameter) else converted
                    )
        setattr(self, self._weft_size_name, features)
        self.__class__ = self._weft_ordinary

    def _load_from_state_dict(self, state_dict, prefix, *others):
        for name in (*self._parameters, *self._buffers):
            value, own = state_dict.get(prefix + name), getattr(self, name)
            if value is not None and own is not None and is_lazy(own) and not is_lazy(value):
                self._weft_build(self._weft_features_of_state(name, value))
                return self._load_from_state_dict(state_dict, prefix, *others)
        return super()._load_from_state_dict(state_dict, prefix, *others)


class LazyLinear(_Lazy, linear.Linear):
    """Linear with the input's last dimension as in_features."""

    _weft_ordinary = linear.Linear
    _weft_size_name = "in_features"

    def __init__(self, out_features, bias=True, device=None, dtype=None):
        super().__init__(0, out_features, bias, device, dtype)
        self._weft_make_lazy(("weight", "bias"))

    def _weft_arguments(self, features):
        return {"in_features": features, "out_features": self.out_features, "bias": self.bias is not None}

    def _weft_features_of(self, input):
        return input.shape[-1]

    def _weft_features_of_state(self, name, value):
        return value.shape[-1]


class _LazyConv(_Lazy):
    _weft_size_name = "in_channels"

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._weft_make_lazy(("weight", "bias"))

    def _weft_arguments(self, features):
        own = ("out_channels", "kernel_size", "stride", "padding", "dilation", "groups", "padding_mode")
        values = {name: getattr(self, name) for name in own}
        if self.transposed:
            values["output_padding"] = self.output_padding
        return {"in_channels": features, "bias": self.bias is not None, **values}

    def _weft_features_of(self, input):
        return input.shape[-1 - self._weft_rank]

    def _weft_features_of_state(self, name, value):
        if name != "weight":
            raise RuntimeError(f"{type(self).__name__}: the state has '{name}' without 'weight'")
        return value.shape[0] if self.transposed else value.shape[1] * self.groups


class _LazyConvNd(_LazyConv):
    def __init__(self, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True, padding_mode="zeros",
                 device=None, dtype=None):  # fmt: skip
        super().__init__(
            groups,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )
        self.in_channels = 0


class _LazyConvTransposeNd(_LazyConv):
    def __init__(self, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, dilation=1,
                 padding_mode="zeros", device=None, dtype=None):  # fmt: skip
        super().__init__(groups, out_channels, kernel_size, stride, padding, output_padding, groups, bias, dilation, padding_mode,
                         device, dtype)  # fmt: skip
        self.in_channels = 0


class _LazyNorm(_Lazy):
    _weft_size_name = "num_features"

    def __init__(
        self,
        eps=1e-5,
        momentum=0.1,
        affine=True,
        track_running_stats=True,
        device=None,
        dtype=None,
        *,
        bias=True,
    ):
        super().__init__(0, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self._weft_make_lazy(("weight", "bias"), ("running_mean", "running_var"))

    def _weft_arguments(self, features):
        own = ("eps", "momentum", "affine", "track_running_stats")
        has_bias = self.bias is not None
        return {"num_features": features, "bias": has_bias, **{name: getattr(self, name) for name in own}}

    def _weft_features_of(self, input):
        return input.shape[1]

    def _weft_features_of_state(self, name, value):
        return value.shape[0]


def _lazy(name, half, ordinary, doc):
    return type(name, (half, ordinary), {"_weft_ordinary": ordinary, "__doc__": doc, "__module__": __name__})


_CONV = "{} with the input's channels as in_channels."
_NORM = "{} with the input's dimension 1 as num_features."
LazyConv1d = _lazy("LazyConv1d", _LazyConvNd, conv.Conv1d, _CONV.format("Conv1d"))
LazyConv2d = _lazy("LazyConv2d", _LazyConvNd, conv.Conv2d, _CONV.format("Conv2d"))
LazyConv3d = _lazy("LazyConv3d", _LazyConvNd, conv.Conv3d, _CONV.format("Conv3d"))
LazyConvTranspose1d = _lazy(
    "LazyConvTranspose1d", _LazyConvTransposeNd, conv.ConvTranspose1d, _CONV.format("ConvTranspose1d")
)
LazyConvTranspose2d = _lazy(
    "LazyConvTranspose2d", _LazyConvTransposeNd, conv.ConvTranspose2d, _CONV.format("ConvTranspose2d")
)
LazyConvTranspose3d = _lazy(
    "LazyConvTranspose3d", _LazyConvTransposeNd, conv.ConvTranspose3d, _CONV.format("ConvTranspose3d")
)
LazyBatchNorm1d = _lazy("LazyBatchNorm1d", _LazyNorm, normalization.BatchNorm1d, _NORM.format("BatchNorm1d"))
LazyBatchNorm2d = _lazy("LazyBatchNorm2d", _LazyNorm, normalization.BatchNorm2d, _NORM.format("BatchNorm2d"))
LazyBatchNorm3d = _lazy("LazyBatchNorm3d", _LazyNorm, normalization.BatchNorm3d, _NORM.format("BatchNorm3d"))
LazyInstanceNorm1d = _lazy(
    "LazyInstanceNorm1d", _LazyNorm, normalization.InstanceNorm1d, _NORM.format("InstanceNorm1d")
)
LazyInstanceNorm2d = _lazy(
    "LazyInstanceNorm2d", _LazyNorm, normalization.InstanceNorm2d, _NORM.format("InstanceNorm2d")
)
LazyInstanceNorm3d = _lazy(
    "LazyInstanceNorm3d", _LazyNorm, normalization.InstanceNorm3d, _NORM.format("InstanceNorm3d")
)
