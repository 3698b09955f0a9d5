"""Lite R-ASPP (Howard and others, Searching for MobileNetV3, 2019, section 6.4)."""

from collections import OrderedDict

from weft import nn
from weft.nn import functional as F

from .._task_weights import published_task_weights, task_builder
from ..mobilenetv3 import MobileNet_V3_Large_Weights, mobilenet_v3_large
from ._utils import dilated_mobilenet

__all__ = ["LRASPP", "LRASPP_MobileNet_V3_Large_Weights", "lraspp_mobilenet_v3_large"]


class LRASPP(nn.Module):
    """Images [n, 3, h, w] to an OrderedDict whose "out" are logits [n, num_classes, h, w]. backbone gives features "low" and
    "high" of low_channels and high_channels."""

    def __init__(self, backbone, low_channels, high_channels, num_classes, inter_channels=128):
        super().__init__()
        self.backbone = backbone
        self.classifier = LRASPPHead(low_channels, high_channels, num_classes, inter_channels)

    def forward(self, input):
        logits = self.classifier(self.backbone(input))
        return OrderedDict(
            out=F.interpolate(logits, size=input.shape[-2:], mode="bilinear", align_corners=False)
        )


class LRASPPHead(nn.Module):
    """Features "low" and "high" to logits of low's size: high's channels are scaled by what their means give."""

    def __init__(self, low_channels, high_channels, num_classes, inter_channels):
        super().__init__()
        self.cbr = nn.Sequential(
            nn.Conv2d(high_channels, inter_channels, 1, bias=False),
            nn.BatchNorm2d(inter_channels),
            nn.ReLU(inplace=True),
        )
        self.scale = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(high_channels, inter_channels, 1, bias=False), nn.Sigmoid()
        )
        self.low_classifier = nn.Conv2d(low_channels, num_classes, 1)
        self.high_classifier = nn.Conv2d(inter_channels, num_classes, 1)

    def forward(self, input):
        low, high = input["low"], input["high"]
        scaled = self.cbr(high) * self.scale(high)
        scaled = F.interpolate(scaled, size=low.shape[-2:], mode="bilinear", align_corners=False)
        return self.low_classifier(low) + self.high_classifier(scaled)


def _lraspp(num_classes, *, weights, weights_backbone, progress, aux_loss=False, **kwargs):
    if aux_loss:
        raise NotImplementedError("This model does not use auxiliary loss")
    backbone, channels = dilated_mobilenet(mobilenet_v3_large, weights_backbone, "low", "high")
    return LRASPP(backbone, channels["low"], channels["high"], num_classes)


LRASPP_MobileNet_V3_Large_Weights = published_task_weights("LRASPP_MobileNet_V3_Large_Weights", __name__)
lraspp_mobilenet_v3_large = task_builder(
    "lraspp_mobilenet_v3_large",
    LRASPP_MobileNet_V3_Large_Weights,
    MobileNet_V3_Large_Weights,
    _lraspp,
    classes=21,
)
