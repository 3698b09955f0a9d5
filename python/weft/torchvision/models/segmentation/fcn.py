"""Fully convolutional networks (Long, Shelhamer and Darrell, 2015) over a dilated ResNet."""

from weft import nn

from .._task_weights import published_task_weights, task_builder
from ..resnet import ResNet50_Weights, ResNet101_Weights, resnet50, resnet101
from ._utils import _SimpleSegmentationModel, auxiliary_loss, dilated_resnet

__all__ = ["FCN", "FCN_ResNet101_Weights", "FCN_ResNet50_Weights", "fcn_resnet101", "fcn_resnet50"]


class FCN(_SimpleSegmentationModel):
    """See _SimpleSegmentationModel."""


class FCNHead(nn.Sequential):
    """[n, in_channels, h, w] to [n, channels, h, w], through a quarter of in_channels."""

    def __init__(self, in_channels, channels):
        inner = in_channels // 4
        super().__init__(
            nn.Conv2d(in_channels, inner, 3, padding=1, bias=False),
            nn.BatchNorm2d(inner),
            nn.ReLU(),
            nn.Dropout(0.1),
            nn.Conv2d(inner, channels, 1),
        )


def _fcn(trunk, num_classes, *, weights, weights_backbone, progress, aux_loss=None, **kwargs):
    aux = auxiliary_loss(weights, aux_loss)
    backbone = dilated_resnet(trunk, weights_backbone, aux)
    auxiliary = FCNHead(1024, num_classes) if aux else None
    return FCN(backbone, FCNHead(2048, num_classes), auxiliary)


FCN_ResNet50_Weights = published_task_weights("FCN_ResNet50_Weights", __name__)
FCN_ResNet101_Weights = published_task_weights("FCN_ResNet101_Weights", __name__)

_OPTIONS = {"classes": 21, "parameters": ("num_classes", "aux_loss", "weights_backbone")}
fcn_resnet50 = task_builder(
    "fcn_resnet50", FCN_ResNet50_Weights, ResNet50_Weights, _fcn, resnet50, **_OPTIONS
)
fcn_resnet101 = task_builder(
    "fcn_resnet101", FCN_ResNet101_Weights, ResNet101_Weights, _fcn, resnet101, **_OPTIONS
)
