"""Mask R-CNN (He and others, 2017)."""

from collections import OrderedDict

from weft import nn

from ...ops.misc import Conv2dNormActivation
from ...ops.poolers import MultiScaleRoIAlign
from .._task_weights import published_task_weights, task_builder
from ..resnet import ResNet50_Weights
from .faster_rcnn import (
    OPTIONS,
    FasterRCNN,
    check_classes,
    check_parts,
    first_published,
    parts_v2,
    resnet50_pyramid,
    resnet50_pyramid_v2,
)

__all__ = [
    "MaskRCNN",
    "MaskRCNN_ResNet50_FPN_V2_Weights",
    "MaskRCNN_ResNet50_FPN_Weights",
    "maskrcnn_resnet50_fpn",
    "maskrcnn_resnet50_fpn_v2",
]


class MaskRCNN(FasterRCNN):
    """FasterRCNN whose detections have "masks" too: probabilities [m, 1, h, w] of each detection's class at the image's
    pixels."""

    def __init__(self, backbone, num_classes=None, *args, mask_roi_pool=None, mask_head=None, mask_predictor=None,
                 **kwargs):  # fmt: skip
        check_parts(backbone, None, mask_roi_pool)
        if mask_predictor is not None and num_classes is not None:
            check_classes(num_classes, mask_predictor, "mask_predictor")
        pool = mask_roi_pool or MultiScaleRoIAlign(["0", "1", "2", "3"], output_size=14, sampling_ratio=2)
        if mask_head is None:
            mask_head = MaskRCNNHeads(backbone.out_channels, (256,) * 4, 1)
        if mask_predictor is None:
            mask_predictor = MaskRCNNPredictor(256, 256, num_classes)
        super().__init__(backbone, num_classes, *args, **kwargs)
        self.roi_heads.mask_roi_pool = pool
        self.roi_heads.mask_head = mask_head
        self.roi_heads.mask_predictor = mask_predictor


class MaskRCNNHeads(nn.Sequential):
    """Regions [n, in_channels, h, w] to [n, layers[-1], h, w] by 3×3 convolutions."""

    _version = 2

    def __init__(self, in_channels, layers, dilation, norm_layer=None):
        made = []
        for channels in layers:
            made.append(
                Conv2dNormActivation(
                    in_channels, channels, padding=dilation, dilation=dilation, norm_layer=norm_layer
                )
            )
            in_channels = channels
        super().__init__(*made)
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)

    def _load_from_state_dict(self, state_dict, prefix, *others):
        # Older states call the convolutions mask_fcn1, mask_fcn2, ….
        for i in range(len(self)):
            for kind in ("weight", "bias"):
                former = f"{prefix}mask_fcn{i + 1}.{kind}"
                if former in state_dict:
                    state_dict[f"{prefix}{i}.0.{kind}"] = state_dict.pop(former)
        super()._load_from_state_dict(state_dict, prefix, *others)


class MaskRCNNPredictor(nn.Sequential):
    """Regions [n, in_channels, h, w] to mask logits [n, num_classes, 2 · h, 2 · w]."""

    def __init__(self, in_channels, dim_reduced, num_classes):
        super().__init__(
            OrderedDict(
                conv5_mask=nn.ConvTranspose2d(in_channels, dim_reduced, 2, 2, 0),
                relu=nn.ReLU(inplace=True),
                mask_fcn_logits=nn.Conv2d(dim_reduced, num_classes, 1, 1, 0),
            )
        )
        for name, parameter in self.named_parameters():
            if name.endswith("weight"):
                nn.init.kaiming_normal_(parameter, mode="fan_out", nonlinearity="relu")


def _maskrcnn(num_classes, *, weights, weights_backbone, progress, trainable_backbone_layers=None, **kwargs):
    backbone = resnet50_pyramid(weights, weights_backbone, progress, trainable_backbone_layers)
    return first_published(MaskRCNN(backbone, num_classes, **kwargs), weights)


def _maskrcnn_v2(
    num_classes, *, weights, weights_backbone, progress, trainable_backbone_layers=None, **kwargs
):
    backbone = resnet50_pyramid_v2(weights, weights_backbone, progress, trainable_backbone_layers)
    parts = parts_v2(backbone)
    parts["mask_head"] = MaskRCNNHeads(backbone.out_channels, [256] * 4, 1, norm_layer=nn.BatchNorm2d)
    return MaskRCNN(backbone, num_classes, **parts, **kwargs)


MaskRCNN_ResNet50_FPN_Weights = published_task_weights("MaskRCNN_ResNet50_FPN_Weights", __name__)
MaskRCNN_ResNet50_FPN_V2_Weights = published_task_weights("MaskRCNN_ResNet50_FPN_V2_Weights", __name__)

maskrcnn_resnet50_fpn = task_builder(
    "maskrcnn_resnet50_fpn", MaskRCNN_ResNet50_FPN_Weights, ResNet50_Weights, _maskrcnn, **OPTIONS
)
maskrcnn_resnet50_fpn_v2 = task_builder("maskrcnn_resnet50_fpn_v2", MaskRCNN_ResNet50_FPN_V2_Weights, ResNet50_Weights,
                                        _maskrcnn_v2, backbone_default=None, **OPTIONS)  # fmt: skip
