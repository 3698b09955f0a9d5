"""torchvision.models.detection.backbone_utils: trunks whose features are a pyramid."""

import warnings

from weft import nn

from ...ops.feature_pyramid_network import FeaturePyramidNetwork, LastLevelMaxPool
from ...ops.misc import FrozenBatchNorm2d
from .. import _families
from .._utils import IntermediateLayerGetter

__all__ = ["BackboneWithFPN", "mobilenet_backbone", "resnet_fpn_backbone"]


class BackboneWithFPN(nn.Module):
    """The children of `backbone` that return_layers names, of in_channels_list channels, as a pyramid of out_channels: an
    OrderedDict."""

    def __init__(
        self, backbone, return_layers, in_channels_list, out_channels, extra_blocks=None, norm_layer=None
    ):
        super().__init__()
        self.body = IntermediateLayerGetter(backbone, return_layers)
        self.fpn = FeaturePyramidNetwork(
            in_channels_list, out_channels, extra_blocks or LastLevelMaxPool(), norm_layer
        )
        self.out_channels = out_channels

    def forward(self, x):
        return self.fpn(self.body(x))


def resnet_fpn_backbone(*, backbone_name, weights, norm_layer=FrozenBatchNorm2d, trainable_layers=3, returned_layers=None,
                        extra_blocks=None):  # fmt: skip
    """A ResNet of that name as a pyramid: see _resnet_fpn_extractor."""
    trunk = _families.find(backbone_name)(weights=weights, norm_layer=norm_layer)
    return _resnet_fpn_extractor(trunk, trainable_layers, returned_layers, extra_blocks)


def _freeze(module):
    for parameter in module.parameters():
        parameter.requires_grad_(False)


def _resnet_fpn_extractor(
    backbone, trainable_layers, returned_layers=None, extra_blocks=None, norm_layer=None
):
    """The stages returned_layers (1 to 4; None: all) of a ResNet as a pyramid of 256 channels. trainable_layers: how many of
    its five parts, from the last one, keep requires_grad.

    raises: ValueError for numbers outside these.
    """
    if not 0 <= trainable_layers <= 5:
        raise ValueError(f"Trainable layers should be in the range [0,5], got {trainable_layers}")
    kept = ["layer4", "layer3", "layer2", "layer1", "conv1"][:trainable_layers]
    kept += ["bn1"] if trainable_layers == 5 else []
    for name, parameter in backbone.named_parameters():
        if not name.startswith(tuple(kept)):
            parameter.requires_grad_(False)
    stages = [1, 2, 3, 4] if returned_layers is None else returned_layers
    if min(stages) <= 0 or max(stages) >= 5:
        raise ValueError(f"Each returned layer should be in the range [1,4]. Got {stages}")
    first = backbone.inplanes // 8
    return BackboneWithFPN(
        backbone,
        {f"layer{stage}": str(i) for i, stage in enumerate(stages)},
        [first * 2 ** (stage - 1) for stage in stages],
        256,
        extra_blocks,
        norm_layer,
    )


def _validate_trainable_layers(is_trained, trainable_backbone_layers, max_value, default_value):
    """How many layers of a trunk keep requires_grad: all of one that is not trained, with a warning where a number is given.

    raises: ValueError for a number above max_value.
    """
    if not is_trained:
        if trainable_backbone_layers is not None:
            warnings.warn(
                f"trainable_backbone_layers is of no effect where no weights are given: all {max_value} layers of the "
                "trunk are trainable.",
                stacklevel=3,
            )
        return max_value
    layers = default_value if trainable_backbone_layers is None else trainable_backbone_layers
    if not 0 <= layers <= max_value:
        raise ValueError(f"Trainable backbone layers should be in the range [0,{max_value}], got {layers} ")
    return layers


def mobilenet_backbone(*, backbone_name, weights, fpn, norm_layer=FrozenBatchNorm2d, trainable_layers=2, returned_layers=None,
                       extra_blocks=None):  # fmt: skip
    """A MobileNet of that name as a trunk: see _mobilenet_extractor."""
    trunk = _families.find(backbone_name)(weights=weights, norm_layer=norm_layer)
    return _mobilenet_extractor(trunk, fpn, trainable_layers, returned_layers, extra_blocks)


def stage_starts(features):
    """The places in a MobileNet's features of its first layer, of the blocks that halve the image, and of its last layer."""
    halving = [i for i, block in enumerate(features) if getattr(block, "_is_cn", False)]
    return [0, *halving, len(features) - 1]


def freeze_below(
    features, trainable_layers, described="Trainable layers should be in the range [0,{}], got {} "
):
    """Takes requires_grad from all but the last trainable_layers stages of a MobileNet's features; gives stage_starts.

    raises: ValueError, with the text `described`, for fewer than none and more than all.
    """
    starts = stage_starts(features)
    if not 0 <= trainable_layers <= len(starts):
        raise ValueError(described.format(len(starts), trainable_layers))
    for layer in features[
        : len(features) if trainable_layers == 0 else starts[len(starts) - trainable_layers]
    ]:
        _freeze(layer)
    return starts


def _mobilenet_extractor(
    backbone, fpn, trainable_layers, returned_layers=None, extra_blocks=None, norm_layer=None
):
    """A MobileNet's features: with fpn, its stages returned_layers (None: the last two) as a pyramid of 256 channels;
    without, one tensor of 256. trainable_layers: how many stages, from the last one, keep requires_grad.

    raises: ValueError for numbers outside these.
    """
    features = backbone.features
    starts = freeze_below(features, trainable_layers)
    if not fpn:
        trunk = nn.Sequential(features, nn.Conv2d(features[-1].out_channels, 256, 1))
        trunk.out_channels = 256
        return trunk
    stages = [len(starts) - 2, len(starts) - 1] if returned_layers is None else returned_layers
    if min(stages) < 0 or max(stages) >= len(starts):
        raise ValueError(f"Each returned layer should be in the range [0,{len(starts) - 1}], got {stages} ")
    return BackboneWithFPN(
        features,
        {str(starts[stage]): str(i) for i, stage in enumerate(stages)},
        [features[starts[stage]].out_channels for stage in stages],
        256,
        extra_blocks,
        norm_layer,
    )
