"""torchvision.ops.misc: layers of vision models."""

from collections.abc import Sequence

import weft
from weft import nn

__all__ = [
    "Conv2dNormActivation",
    "Conv3dNormActivation",
    "FrozenBatchNorm2d",
    "MLP",
    "Permute",
    "SqueezeExcitation",
]


class FrozenBatchNorm2d(nn.Module):
    """Batch normalization by kept statistics, in training mode too; all four tensors are buffers."""

    def __init__(self, num_features, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.register_buffer("weight", weft.ones((num_features,)))
        self.register_buffer("bias", weft.zeros((num_features,)))
        self.register_buffer("running_mean", weft.zeros((num_features,)))
        self.register_buffer("running_var", weft.ones((num_features,)))

    def _load_from_state_dict(self, state_dict, prefix, *others):
        state_dict.pop(prefix + "num_batches_tracked", None)
        super()._load_from_state_dict(state_dict, prefix, *others)

    def forward(self, x):
        scale = self.weight * (self.running_var + self.eps).rsqrt()
        bias = self.bias - self.running_mean * scale
        return x * scale.reshape((1, -1, 1, 1)) + bias.reshape((1, -1, 1, 1))

    def __repr__(self):
        return f"{type(self).__name__}({self.weight.shape[0]}, eps={self.eps})"


class ConvNormActivation(nn.Sequential):
    """A convolution, its normalization and its activation, each of the last two unless None. padding None: so that stride
    1 keeps the size."""

    def __init__(self, in_channels, out_channels, kernel_size=3, stride=1, padding=None, groups=1,
                 norm_layer=nn.BatchNorm2d, activation_layer=nn.ReLU, dilation=1, inplace=True, bias=None,
                 conv_layer=nn.Conv2d):  # fmt: skip
        if padding is None:
            if isinstance(kernel_size, int) and isinstance(dilation, int):
                padding = (kernel_size - 1) // 2 * dilation
            else:
                rank = len(kernel_size) if isinstance(kernel_size, Sequence) else len(dilation)
                sizes = [kernel_size] * rank if isinstance(kernel_size, int) else kernel_size
                steps = [dilation] * rank if isinstance(dilation, int) else dilation
                padding = tuple((size - 1) // 2 * step for size, step in zip(sizes, steps))
        layers = [
            conv_layer(in_channels, out_channels, kernel_size, stride, padding, dilation=dilation, groups=groups,
                       bias=norm_layer is None if bias is None else bias)
        ]  # fmt: skip
        if norm_layer is not None:
            layers.append(norm_layer(out_channels))
        if activation_layer is not None:
            layers.append(activation_layer(**({} if inplace is None else {"inplace": inplace})))
        super().__init__(*layers)
        self.out_channels = out_channels


class Conv2dNormActivation(ConvNormActivation):
    """See ConvNormActivation."""

    def __init__(self, in_channels, out_channels, kernel_size=3, stride=1, padding=None, groups=1,
                 norm_layer=nn.BatchNorm2d, activation_layer=nn.ReLU, dilation=1, inplace=True, bias=None):  # fmt: skip
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, groups, norm_layer, activation_layer,
                         dilation, inplace, bias, nn.Conv2d)  # fmt: skip


class Conv3dNormActivation(ConvNormActivation):
    """See ConvNormActivation."""

    def __init__(self, in_channels, out_channels, kernel_size=3, stride=1, padding=None, groups=1,
                 norm_layer=nn.BatchNorm3d, activation_layer=nn.ReLU, dilation=1, inplace=True, bias=None):  # fmt: skip
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, groups, norm_layer, activation_layer,
                         dilation, inplace, bias, nn.Conv3d)  # fmt: skip


class SqueezeExcitation(nn.Module):
    """Channels scaled by what two convolutions make of their means. source: Hu et al., Squeeze-and-Excitation (2018)."""

    def __init__(self, input_channels, squeeze_channels, activation=nn.ReLU, scale_activation=nn.Sigmoid):
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(input_channels, squeeze_channels, 1)
        self.fc2 = nn.Conv2d(squeeze_channels, input_channels, 1)
        self.activation = activation()
        self.scale_activation = scale_activation()

    def _scale(self, input):
        squeezed = self.activation(self.fc1(self.avgpool(input)))
        return self.scale_activation(self.fc2(squeezed))

    def forward(self, input):
        return self._scale(input) * input


class MLP(nn.Sequential):
    """Linear layers of hidden_channels, with normalization, activation and dropout between them and dropout at the end."""

    def __init__(self, in_channels, hidden_channels, norm_layer=None, activation_layer=nn.ReLU, inplace=None, bias=True,
                 dropout=0.0):  # fmt: skip
        options = {} if inplace is None else {"inplace": inplace}
        layers = []
        for hidden in hidden_channels[:-1]:
            layers.append(nn.Linear(in_channels, hidden, bias=bias))
            if norm_layer is not None:
                layers.append(norm_layer(hidden))
            layers += [activation_layer(**options), nn.Dropout(dropout, **options)]
            in_channels = hidden
        layers += [nn.Linear(in_channels, hidden_channels[-1], bias=bias), nn.Dropout(dropout, **options)]
        super().__init__(*layers)


class Permute(nn.Module):
    """The input with its dimensions in another order."""

    def __init__(self, dims):
        super().__init__()
        self.dims = dims

    def forward(self, x):
        return x.permute(self.dims)
