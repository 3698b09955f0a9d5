"""FCOS (Tian and others, Fully convolutional one-stage object detection, 2019)."""

import math
from functools import partial

import weft
from weft import nn
from weft.nn import functional as F

from ...ops.feature_pyramid_network import LastLevelP6P7
from .._task_weights import published_task_weights, task_builder
from ..resnet import ResNet50_Weights
from ._dense import PyramidDetector, dense_predictions, pyramid_transform
from ._utils import BoxLinearCoder
from .anchor_utils import AnchorGenerator
from .faster_rcnn import OPTIONS, check_parts, resnet50_pyramid
from .rpn import initialize_convolutions

__all__ = ["FCOS", "FCOS_ResNet50_FPN_Weights", "fcos_resnet50_fpn"]


def _convolutions(in_channels, count, norm_layer):
    norm_layer = partial(nn.GroupNorm, 32) if norm_layer is None else norm_layer
    layers = []
    for _ in range(count):
        layers += [nn.Conv2d(in_channels, in_channels, 3, padding=1), norm_layer(in_channels), nn.ReLU()]
    return nn.Sequential(*layers)


class FCOSClassificationHead(nn.Module):
    """Features [n, in_channels, h, w] to logits [n, all places and anchors, num_classes]."""

    def __init__(
        self, in_channels, num_anchors, num_classes, num_convs=4, prior_probability=0.01, norm_layer=None
    ):
        super().__init__()
        self.num_classes = num_classes
        self.num_anchors = num_anchors
        self.conv = _convolutions(in_channels, num_convs, norm_layer)
        initialize_convolutions(self.conv)
        self.cls_logits = nn.Conv2d(in_channels, num_anchors * num_classes, 3, padding=1)
        nn.init.normal_(self.cls_logits.weight, std=0.01)
        nn.init.constant_(self.cls_logits.bias, -math.log((1 - prior_probability) / prior_probability))

    def forward(self, x):
        return weft.cat(
            [dense_predictions(self.cls_logits(self.conv(feature)), self.num_classes) for feature in x], 1
        )


class FCOSRegressionHead(nn.Module):
    """Features [n, in_channels, h, w] to (distances [n, all places and anchors, 4], logits of being central [n, …, 1])."""

    def __init__(self, in_channels, num_anchors, num_convs=4, norm_layer=None):
        super().__init__()
        self.conv = _convolutions(in_channels, num_convs, norm_layer)
        self.bbox_reg = nn.Conv2d(in_channels, num_anchors * 4, 3, padding=1)
        self.bbox_ctrness = nn.Conv2d(in_channels, num_anchors, 3, padding=1)
        for part in (self.bbox_reg, self.bbox_ctrness, self.conv):
            initialize_convolutions(part)

    def forward(self, x):
        hidden = [self.conv(feature) for feature in x]
        distances = [dense_predictions(F.relu(self.bbox_reg(one)), 4) for one in hidden]
        central = [dense_predictions(self.bbox_ctrness(one), 1) for one in hidden]
        return weft.cat(distances, 1), weft.cat(central, 1)


class FCOSHead(nn.Module):
    """Features to {"cls_logits", "bbox_regression", "bbox_ctrness"}."""

    def __init__(self, in_channels, num_anchors, num_classes, num_convs=4):
        super().__init__()
        self.box_coder = BoxLinearCoder(normalize_by_size=True)
        self.classification_head = FCOSClassificationHead(in_channels, num_anchors, num_classes, num_convs)
        self.regression_head = FCOSRegressionHead(in_channels, num_anchors, num_convs)

    def forward(self, x):
        logits = self.classification_head(x)
        distances, central = self.regression_head(x)
        return {"cls_logits": logits, "bbox_regression": distances, "bbox_ctrness": central}


class FCOS(PyramidDetector):
    """See PyramidDetector; a score is the root of the class's probability times that of being central. min_size to
    image_std and kwargs: the transform's; center_sampling_radius is of training.

    raises: ValueError for a trunk without out_channels or several anchors at a place, TypeError for an anchor_generator
    of another class.
    """

    def __init__(self, backbone, num_classes, min_size=800, max_size=1333, image_mean=None, image_std=None,
                 anchor_generator=None, head=None, center_sampling_radius=1.5, score_thresh=0.2, nms_thresh=0.6,
                 detections_per_img=100, topk_candidates=1000, **kwargs):  # fmt: skip
        super().__init__()
        check_parts(backbone, anchor_generator)
        if anchor_generator is None:
            anchor_generator = AnchorGenerator(((8,), (16,), (32,), (64,), (128,)), ((1.0,),) * 5)
        count = anchor_generator.num_anchors_per_location()[0]
        if count != 1:
            raise ValueError(f"anchor_generator.num_anchors_per_location()[0] should be 1 instead of {count}")
        self.backbone = backbone
        self.anchor_generator = anchor_generator
        self.head = FCOSHead(backbone.out_channels, count, num_classes) if head is None else head
        self.box_coder = BoxLinearCoder(normalize_by_size=True)
        self.transform = pyramid_transform(min_size, max_size, image_mean, image_std, **kwargs)
        self.center_sampling_radius = center_sampling_radius
        self.score_thresh = score_thresh
        self.nms_thresh = nms_thresh
        self.detections_per_img = detections_per_img
        self.topk_candidates = topk_candidates

    @staticmethod
    def scores(outputs):
        return weft.sqrt(weft.sigmoid(outputs["cls_logits"]) * weft.sigmoid(outputs["bbox_ctrness"]))

    def decode(self, differences, anchors):
        return self.box_coder.decode(differences, anchors)


def _fcos(num_classes, *, weights, weights_backbone, progress, trainable_backbone_layers=None, **kwargs):
    backbone = resnet50_pyramid(weights, weights_backbone, progress, trainable_backbone_layers,
                                returned_layers=[2, 3, 4], extra=partial(LastLevelP6P7, 256, 256))  # fmt: skip
    return FCOS(backbone, num_classes, **kwargs)


FCOS_ResNet50_FPN_Weights = published_task_weights("FCOS_ResNet50_FPN_Weights", __name__)
fcos_resnet50_fpn = task_builder(
    "fcos_resnet50_fpn", FCOS_ResNet50_FPN_Weights, ResNet50_Weights, _fcos, **OPTIONS
)
