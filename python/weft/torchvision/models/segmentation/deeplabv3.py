"""DeepLabV3 (Chen and others, Rethinking atrous convolution for semantic image segmentation, 2017)."""

import weft
from weft import nn
from weft.nn import functional as F

from .._task_weights import published_task_weights, task_builder
from ..mobilenetv3 import MobileNet_V3_Large_Weights, mobilenet_v3_large
from ..resnet import ResNet50_Weights, ResNet101_Weights, resnet50, resnet101
from ._utils import _SimpleSegmentationModel, auxiliary_loss, dilated_mobilenet, dilated_resnet
from .fcn import FCNHead

__all__ = [
    "DeepLabV3",
    "DeepLabV3_MobileNet_V3_Large_Weights",
    "DeepLabV3_ResNet101_Weights",
    "DeepLabV3_ResNet50_Weights",
    "deeplabv3_mobilenet_v3_large",
    "deeplabv3_resnet101",
    "deeplabv3_resnet50",
]


class DeepLabV3(_SimpleSegmentationModel):
    """See _SimpleSegmentationModel."""


def _normalized(convolution):
    return convolution, nn.BatchNorm2d(convolution.out_channels), nn.ReLU()


class ASPPConv(nn.Sequential):
    """A 3×3 convolution whose kernel is spread by `dilation`."""

    def __init__(self, in_channels, out_channels, dilation):
        super().__init__(
            *_normalized(
                nn.Conv2d(in_channels, out_channels, 3, padding=dilation, dilation=dilation, bias=False)
            )
        )


class ASPPPooling(nn.Sequential):
    """The mean of the whole image, projected, at every pixel."""

    def __init__(self, in_channels, out_channels):
        projection = nn.Conv2d(in_channels, out_channels, 1, bias=False)
        super().__init__(nn.AdaptiveAvgPool2d(1), *_normalized(projection))

    def forward(self, x):
        return F.interpolate(super().forward(x), size=x.shape[-2:], mode="bilinear", align_corners=False)


class ASPP(nn.Module):
    """[n, in_channels, h, w] to [n, out_channels, h, w]: convolutions of several dilations beside each other, projected."""

    def __init__(self, in_channels, atrous_rates, out_channels=256):
        super().__init__()
        self.convs = nn.ModuleList(
            [
                nn.Sequential(*_normalized(nn.Conv2d(in_channels, out_channels, 1, bias=False))),
                *(ASPPConv(in_channels, out_channels, rate) for rate in atrous_rates),
                ASPPPooling(in_channels, out_channels),
            ]
        )
        both = nn.Conv2d(len(self.convs) * out_channels, out_channels, 1, bias=False)
        self.project = nn.Sequential(*_normalized(both), nn.Dropout(0.5))

    def forward(self, x):
        return self.project(weft.cat([branch(x) for branch in self.convs], 1))


class DeepLabHead(nn.Sequential):
    """[n, in_channels, h, w] to logits [n, num_classes, h, w]."""

    def __init__(self, in_channels, num_classes, atrous_rates=(12, 24, 36)):
        super().__init__(
            ASPP(in_channels, atrous_rates),
            *_normalized(nn.Conv2d(256, 256, 3, padding=1, bias=False)),
            nn.Conv2d(256, num_classes, 1),
        )


def _deeplab_of_resnet(trunk, num_classes, *, weights, weights_backbone, progress, aux_loss=None, **kwargs):
    aux = auxiliary_loss(weights, aux_loss)
    backbone = dilated_resnet(trunk, weights_backbone, aux)
    auxiliary = FCNHead(1024, num_classes) if aux else None
    return DeepLabV3(backbone, DeepLabHead(2048, num_classes), auxiliary)


def _deeplab_of_mobilenet(num_classes, *, weights, weights_backbone, progress, aux_loss=None, **kwargs):
    aux = auxiliary_loss(weights, aux_loss)
    backbone, channels = dilated_mobilenet(
        mobilenet_v3_large, weights_backbone, "aux" if aux else None, "out"
    )
    auxiliary = FCNHead(channels["aux"], num_classes) if aux else None
    return DeepLabV3(backbone, DeepLabHead(channels["out"], num_classes), auxiliary)


DeepLabV3_ResNet50_Weights = published_task_weights("DeepLabV3_ResNet50_Weights", __name__)
DeepLabV3_ResNet101_Weights = published_task_weights("DeepLabV3_ResNet101_Weights", __name__)
DeepLabV3_MobileNet_V3_Large_Weights = published_task_weights(
    "DeepLabV3_MobileNet_V3_Large_Weights", __name__
)

_OPTIONS = {"classes": 21, "parameters": ("num_classes", "aux_loss", "weights_backbone")}
deeplabv3_resnet50 = task_builder(
    "deeplabv3_resnet50",
    DeepLabV3_ResNet50_Weights,
    ResNet50_Weights,
    _deeplab_of_resnet,
    resnet50,
    **_OPTIONS,
)
deeplabv3_resnet101 = task_builder("deeplabv3_resnet101", DeepLabV3_ResNet101_Weights, ResNet101_Weights,
                                   _deeplab_of_resnet, resnet101, **_OPTIONS)  # fmt: skip
deeplabv3_mobilenet_v3_large = task_builder("deeplabv3_mobilenet_v3_large", DeepLabV3_MobileNet_V3_Large_Weights,
                                            MobileNet_V3_Large_Weights, _deeplab_of_mobilenet, **_OPTIONS)  # fmt: skip
