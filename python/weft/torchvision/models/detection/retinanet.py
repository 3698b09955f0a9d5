"""RetinaNet (Lin and others, Focal loss for dense object detection, 2017); its second version (Zhang and others, ATSS,
2020)."""

import math
from functools import partial

import weft
from weft import nn

from ...ops.feature_pyramid_network import LastLevelP6P7
from ...ops.misc import Conv2dNormActivation
from .._task_weights import published_task_weights, task_builder
from ..resnet import ResNet50_Weights
from ._dense import PyramidDetector, dense_predictions, pyramid_transform
from ._utils import BoxCoder
from .anchor_utils import AnchorGenerator
from .faster_rcnn import OPTIONS, check_parts, first_published, resnet50_pyramid, resnet50_pyramid_v2
from .rpn import initialize_convolutions

__all__ = [
    "RetinaNet",
    "RetinaNet_ResNet50_FPN_V2_Weights",
    "RetinaNet_ResNet50_FPN_Weights",
    "retinanet_resnet50_fpn",
    "retinanet_resnet50_fpn_v2",
]


def _default_anchorgen():
    """Three anchors an octave, at five levels."""
    sizes = tuple(
        tuple(int(side * 2 ** (third / 3)) for third in range(3)) for side in (32, 64, 128, 256, 512)
    )
    return AnchorGenerator(sizes, ((0.5, 1.0, 2.0),) * len(sizes))


class _Convolutions(nn.Module):
    """Four 3×3 convolutions, of which older states have the places 0, 2, 4 and 6."""

    _version = 2

    def __init__(self, in_channels, norm_layer):
        super().__init__()
        self.conv = nn.Sequential(
            *(Conv2dNormActivation(in_channels, in_channels, norm_layer=norm_layer) for _ in range(4))
        )

    def _load_from_state_dict(self, state_dict, prefix, *others):
        for i in range(4):
            for kind in ("weight", "bias"):
                former = f"{prefix}conv.{2 * i}.{kind}"
                if former in state_dict:
                    state_dict[f"{prefix}conv.{i}.0.{kind}"] = state_dict.pop(former)
        super()._load_from_state_dict(state_dict, prefix, *others)


class RetinaNetClassificationHead(_Convolutions):
    """Features [n, in_channels, h, w] to logits [n, all places and anchors, num_classes]."""

    def __init__(self, in_channels, num_anchors, num_classes, prior_probability=0.01, norm_layer=None):
        super().__init__(in_channels, norm_layer)
        initialize_convolutions(self.conv)
        self.cls_logits = nn.Conv2d(in_channels, num_anchors * num_classes, 3, padding=1)
        nn.init.normal_(self.cls_logits.weight, std=0.01)
        nn.init.constant_(self.cls_logits.bias, -math.log((1 - prior_probability) / prior_probability))
        self.num_classes = num_classes
        self.num_anchors = num_anchors

    def forward(self, x):
        return weft.cat(
            [dense_predictions(self.cls_logits(self.conv(feature)), self.num_classes) for feature in x], 1
        )


class RetinaNetRegressionHead(_Convolutions):
    """Features [n, in_channels, h, w] to boxes' differences [n, all places and anchors, 4]."""

    def __init__(self, in_channels, num_anchors, norm_layer=None):
        super().__init__(in_channels, norm_layer)
        self.bbox_reg = nn.Conv2d(in_channels, num_anchors * 4, 3, padding=1)
        initialize_convolutions(self.bbox_reg)
        initialize_convolutions(self.conv)

    def forward(self, x):
        return weft.cat([dense_predictions(self.bbox_reg(self.conv(feature)), 4) for feature in x], 1)


class RetinaNetHead(nn.Module):
    """Features to {"cls_logits", "bbox_regression"}."""

    def __init__(self, in_channels, num_anchors, num_classes, norm_layer=None):
        super().__init__()
        self.classification_head = RetinaNetClassificationHead(
            in_channels, num_anchors, num_classes, norm_layer=norm_layer
        )
        self.regression_head = RetinaNetRegressionHead(in_channels, num_anchors, norm_layer=norm_layer)

    def forward(self, x):
        return {"cls_logits": self.classification_head(x), "bbox_regression": self.regression_head(x)}


class RetinaNet(PyramidDetector):
    """See PyramidDetector. min_size to image_std and kwargs: the transform's; proposal_matcher, fg_iou_thresh and
    bg_iou_thresh are of training.

    raises: ValueError for a trunk without out_channels, TypeError for an anchor_generator of another class.
    """

    def __init__(self, backbone, num_classes, min_size=800, max_size=1333, image_mean=None, image_std=None,
                 anchor_generator=None, head=None, proposal_matcher=None, score_thresh=0.05, nms_thresh=0.5,
                 detections_per_img=300, fg_iou_thresh=0.5, bg_iou_thresh=0.4, topk_candidates=1000, **kwargs):  # fmt: skip
        super().__init__()
        check_parts(backbone, anchor_generator)
        self.backbone = backbone
        self.anchor_generator = anchor_generator or _default_anchorgen()
        if head is None:
            count = self.anchor_generator.num_anchors_per_location()[0]
            head = RetinaNetHead(backbone.out_channels, count, num_classes)
        self.head = head
        self.box_coder = BoxCoder(weights=(1.0, 1.0, 1.0, 1.0))
        self.transform = pyramid_transform(min_size, max_size, image_mean, image_std, **kwargs)
        self.score_thresh = score_thresh
        self.nms_thresh = nms_thresh
        self.detections_per_img = detections_per_img
        self.topk_candidates = topk_candidates

    @staticmethod
    def scores(outputs):
        return weft.sigmoid(outputs["cls_logits"])

    def decode(self, differences, anchors):
        return self.box_coder.decode_single(differences, anchors)


_STAGES = [2, 3, 4]


def _retinanet(num_classes, *, weights, weights_backbone, progress, trainable_backbone_layers=None, **kwargs):
    backbone = resnet50_pyramid(weights, weights_backbone, progress, trainable_backbone_layers,
                                returned_layers=_STAGES, extra=partial(LastLevelP6P7, 256, 256))  # fmt: skip
    return first_published(RetinaNet(backbone, num_classes, **kwargs), weights)


def _retinanet_v2(
    num_classes, *, weights, weights_backbone, progress, trainable_backbone_layers=None, **kwargs
):
    backbone = resnet50_pyramid_v2(weights, weights_backbone, progress, trainable_backbone_layers, norm_layer=None,
                                   returned_layers=_STAGES, extra=partial(LastLevelP6P7, 2048, 256))  # fmt: skip
    anchors = _default_anchorgen()
    head = RetinaNetHead(backbone.out_channels, anchors.num_anchors_per_location()[0], num_classes,
                         norm_layer=partial(nn.GroupNorm, 32))  # fmt: skip
    return RetinaNet(backbone, num_classes, anchor_generator=anchors, head=head, **kwargs)


RetinaNet_ResNet50_FPN_Weights = published_task_weights("RetinaNet_ResNet50_FPN_Weights", __name__)
RetinaNet_ResNet50_FPN_V2_Weights = published_task_weights("RetinaNet_ResNet50_FPN_V2_Weights", __name__)

retinanet_resnet50_fpn = task_builder(
    "retinanet_resnet50_fpn", RetinaNet_ResNet50_FPN_Weights, ResNet50_Weights, _retinanet, **OPTIONS
)
retinanet_resnet50_fpn_v2 = task_builder("retinanet_resnet50_fpn_v2", RetinaNet_ResNet50_FPN_V2_Weights,
                                         ResNet50_Weights, _retinanet_v2, backbone_default=None, **OPTIONS)  # fmt: skip
