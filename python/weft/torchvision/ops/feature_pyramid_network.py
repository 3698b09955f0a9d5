"""torchvision.ops.feature_pyramid_network. source: Lin et al., Feature Pyramid Networks (2017)."""

from collections import OrderedDict

from weft import nn
from weft.nn import functional as F
from weft.nn import init

from .misc import Conv2dNormActivation

__all__ = ["ExtraFPNBlock", "FeaturePyramidNetwork", "LastLevelMaxPool", "LastLevelP6P7"]


class ExtraFPNBlock(nn.Module):
    """Further levels of a pyramid: forward(results, inputs, names) -> (results, names)."""

    def forward(self, results, x, names):
        raise NotImplementedError(f"{type(self).__name__} has no forward()")


class FeaturePyramidNetwork(nn.Module):
    """Features of several resolutions, each added to the next coarser one enlarged.

    in_channels_list: of the inputs, the finest first. Called with an ordered dictionary of tensors; gives one.
    """

    def __init__(self, in_channels_list, out_channels, extra_blocks=None, norm_layer=None):
        super().__init__()
        self.inner_blocks = nn.ModuleList()
        self.layer_blocks = nn.ModuleList()
        for channels in in_channels_list:
            if channels == 0:
                raise ValueError("in_channels=0 is currently not supported")
            options = {"norm_layer": norm_layer, "activation_layer": None}
            self.inner_blocks.append(
                Conv2dNormActivation(channels, out_channels, kernel_size=1, padding=0, **options)
            )
            self.layer_blocks.append(
                Conv2dNormActivation(out_channels, out_channels, kernel_size=3, **options)
            )
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                init.kaiming_uniform_(module.weight, a=1)
                if module.bias is not None:
                    init.constant_(module.bias, 0)
        if extra_blocks is not None and not isinstance(extra_blocks, ExtraFPNBlock):
            raise TypeError(f"extra_blocks should be of type ExtraFPNBlock not {type(extra_blocks)}")
        self.extra_blocks = extra_blocks

    def _load_from_state_dict(self, state_dict, prefix, *others):
        # Older states have no level for the layers of a block.
        for block in ("inner_blocks", "layer_blocks"):
            for i in range(len(self.inner_blocks)):
                for kind in ("weight", "bias"):
                    old = f"{prefix}{block}.{i}.{kind}"
                    if old in state_dict:
                        state_dict[f"{prefix}{block}.{i}.0.{kind}"] = state_dict.pop(old)
        super()._load_from_state_dict(state_dict, prefix, *others)

    def forward(self, x):
        names, features = list(x.keys()), list(x.values())
        last = self.inner_blocks[-1](features[-1])
        results = [self.layer_blocks[-1](last)]
        for i in range(len(features) - 2, -1, -1):
            inner = self.inner_blocks[i](features[i])
            last = inner + F.interpolate(last, size=list(inner.shape[-2:]), mode="nearest")
            results.insert(0, self.layer_blocks[i](last))
        if self.extra_blocks is not None:
            results, names = self.extra_blocks(results, features, names)
        return OrderedDict(zip(names, results))


class LastLevelMaxPool(ExtraFPNBlock):
    """A level of every other element of the last one."""

    def forward(self, x, y, names):
        return [*x, F.max_pool2d(x[-1], kernel_size=1, stride=2, padding=0)], [*names, "pool"]


class LastLevelP6P7(ExtraFPNBlock):
    """Two levels, p6 and p7, by convolutions of stride 2."""

    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.p6 = nn.Conv2d(in_channels, out_channels, 3, 2, 1)
        self.p7 = nn.Conv2d(out_channels, out_channels, 3, 2, 1)
        for module in (self.p6, self.p7):
            init.kaiming_uniform_(module.weight, a=1)
            init.constant_(module.bias, 0)
        self.use_P5 = in_channels == out_channels

    def forward(self, p, c, names):
        p6 = self.p6(p[-1] if self.use_P5 else c[-1])
        return [*p, p6, self.p7(F.relu(p6))], [*names, "p6", "p7"]
