"""Keypoint R-CNN (He and others, Mask R-CNN, 2017, section 5)."""

from weft import nn
from weft.nn import functional as F

from ...ops.poolers import MultiScaleRoIAlign
from .._task_weights import published_task_weights, task_builder
from .._utils import _ovewrite_value_param
from ..resnet import ResNet50_Weights
from .faster_rcnn import FasterRCNN, check_parts, first_published, resnet50_pyramid

__all__ = ["KeypointRCNN", "KeypointRCNN_ResNet50_FPN_Weights", "keypointrcnn_resnet50_fpn"]


class KeypointRCNN(FasterRCNN):
    """FasterRCNN whose detections have "keypoints" [m, num_keypoints, 3] (x, y, 1) and "keypoints_scores" [m,
    num_keypoints] too.

    raises: ValueError where both num_keypoints and keypoint_predictor are given.
    """

    def __init__(self, backbone, num_classes=None, min_size=None, *args, keypoint_roi_pool=None, keypoint_head=None,
                 keypoint_predictor=None, num_keypoints=None, **kwargs):  # fmt: skip
        check_parts(backbone, None, keypoint_roi_pool)
        if num_keypoints is not None and keypoint_predictor is not None:
            raise ValueError("num_keypoints should be None when keypoint_predictor is specified")
        pool = keypoint_roi_pool or MultiScaleRoIAlign(["0", "1", "2", "3"], output_size=14, sampling_ratio=2)
        if keypoint_head is None:
            keypoint_head = KeypointRCNNHeads(backbone.out_channels, (512,) * 8)
        if keypoint_predictor is None:
            keypoint_predictor = KeypointRCNNPredictor(512, 17 if num_keypoints is None else num_keypoints)
        min_size = (640, 672, 704, 736, 768, 800) if min_size is None else min_size
        super().__init__(backbone, num_classes, min_size, *args, **kwargs)
        self.roi_heads.keypoint_roi_pool = pool
        self.roi_heads.keypoint_head = keypoint_head
        self.roi_heads.keypoint_predictor = keypoint_predictor


def _initialize(layer):
    nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    nn.init.zeros_(layer.bias)


class KeypointRCNNHeads(nn.Sequential):
    """Regions [n, in_channels, h, w] to [n, layers[-1], h, w] by 3×3 convolutions."""

    def __init__(self, in_channels, layers):
        made = []
        for channels in layers:
            made += [nn.Conv2d(in_channels, channels, 3, padding=1), nn.ReLU(inplace=True)]
            in_channels = channels
        super().__init__(*made)
        for layer in made[::2]:
            _initialize(layer)


class KeypointRCNNPredictor(nn.Module):
    """Regions [n, in_channels, h, w] to heat maps [n, num_keypoints, 4 · h, 4 · w]."""

    def __init__(self, in_channels, num_keypoints):
        super().__init__()
        self.kps_score_lowres = nn.ConvTranspose2d(in_channels, num_keypoints, 4, stride=2, padding=1)
        _initialize(self.kps_score_lowres)
        self.up_scale = 2
        self.out_channels = num_keypoints

    def forward(self, x):
        return F.interpolate(
            self.kps_score_lowres(x), scale_factor=float(self.up_scale), mode="bilinear", align_corners=False
        )


def _keypointrcnn(num_classes, *, weights, weights_backbone, progress, num_keypoints=None, trainable_backbone_layers=None,
                  **kwargs):  # fmt: skip
    if weights is not None:
        names = weights.meta["keypoint_names"]
        num_keypoints = _ovewrite_value_param("num_keypoints", num_keypoints, len(names))
    elif num_keypoints is None:
        num_keypoints = 17
    backbone = resnet50_pyramid(weights, weights_backbone, progress, trainable_backbone_layers)
    model = KeypointRCNN(backbone, num_classes, num_keypoints=num_keypoints, **kwargs)
    return first_published(model, weights)


KeypointRCNN_ResNet50_FPN_Weights = published_task_weights("KeypointRCNN_ResNet50_FPN_Weights", __name__)
keypointrcnn_resnet50_fpn = task_builder(
    "keypointrcnn_resnet50_fpn", KeypointRCNN_ResNet50_FPN_Weights, ResNet50_Weights, _keypointrcnn, classes=2,
    parameters=("num_classes", "num_keypoints", "weights_backbone", "trainable_backbone_layers"), legacy="COCO_V1")  # fmt: skip
