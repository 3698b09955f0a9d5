"""SSD (Liu and others, Single shot multibox detector, 2016)."""

import warnings
from collections import OrderedDict

import weft
from weft import nn
from weft.nn import functional as F

from ...ops import boxes as box_ops
from .._task_weights import published_task_weights, task_builder
from ..vgg import VGG16_Weights, vgg16
from ._dense import DenseDetector, candidates, dense_predictions, pyramid_transform, suppressed
from ._utils import BoxCoder, retrieve_out_channels
from .anchor_utils import DefaultBoxGenerator
from .backbone_utils import _freeze, _validate_trainable_layers
from .faster_rcnn import OPTIONS

__all__ = ["SSD300_VGG16_Weights", "ssd300_vgg16"]


def _xavier_init(module):
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.xavier_uniform_(layer.weight)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


class SSDHead(nn.Module):
    """Features, of in_channels[i] channels and num_anchors[i] boxes at a place, to {"bbox_regression", "cls_logits"}."""

    def __init__(self, in_channels, num_anchors, num_classes):
        super().__init__()
        self.classification_head = SSDClassificationHead(in_channels, num_anchors, num_classes)
        self.regression_head = SSDRegressionHead(in_channels, num_anchors)

    def forward(self, x):
        return {"bbox_regression": self.regression_head(x), "cls_logits": self.classification_head(x)}


class SSDScoringHead(nn.Module):
    """Features to [n, all places and boxes, num_columns], by a layer for each."""

    def __init__(self, module_list, num_columns):
        super().__init__()
        self.module_list = module_list
        self.num_columns = num_columns

    def forward(self, x):
        made = [layer(feature) for layer, feature in zip(self.module_list, x)]
        return weft.cat([dense_predictions(one, self.num_columns) for one in made], 1)


def _convolutions(in_channels, num_anchors, columns):
    layers = nn.ModuleList(
        [nn.Conv2d(wide, count * columns, 3, padding=1) for wide, count in zip(in_channels, num_anchors)]
    )
    _xavier_init(layers)
    return layers


class SSDClassificationHead(SSDScoringHead):
    """Logits of num_classes; see SSDScoringHead."""

    def __init__(self, in_channels, num_anchors, num_classes):
        super().__init__(_convolutions(in_channels, num_anchors, num_classes), num_classes)


class SSDRegressionHead(SSDScoringHead):
    """Boxes' differences; see SSDScoringHead."""

    def __init__(self, in_channels, num_anchors):
        super().__init__(_convolutions(in_channels, num_anchors, 4), 4)


class SSD(DenseDetector):
    """See DenseDetector: of each class but the background, 0, the topk_candidates best boxes of a score above score_thresh,
    the detections_per_img best after suppression. Images are resized to size, (width, height); iou_thresh and
    positive_fraction are of training.

    raises: ValueError where anchor_generator has not as many features as the trunk.
    """

    def __init__(self, backbone, anchor_generator, size, num_classes, image_mean=None, image_std=None, head=None,
                 score_thresh=0.01, nms_thresh=0.45, detections_per_img=200, iou_thresh=0.5, topk_candidates=400,
                 positive_fraction=0.25, **kwargs):  # fmt: skip
        super().__init__()
        self.backbone = backbone
        self.anchor_generator = anchor_generator
        self.box_coder = BoxCoder(weights=(10.0, 10.0, 5.0, 5.0))
        if head is None:
            channels = getattr(backbone, "out_channels", None) or retrieve_out_channels(backbone, size)
            if len(channels) != len(anchor_generator.aspect_ratios):
                raise ValueError(
                    f"SSD: expected as many features as the anchor generator's {len(anchor_generator.aspect_ratios)} "
                    f"aspect ratios, got {len(channels)}"
                )
            head = SSDHead(channels, anchor_generator.num_anchors_per_location(), num_classes)
        self.head = head
        self.transform = pyramid_transform(
            min(size), max(size), image_mean, image_std, size_divisible=1, fixed_size=size, **kwargs
        )
        self.score_thresh = score_thresh
        self.nms_thresh = nms_thresh
        self.detections_per_img = detections_per_img
        self.topk_candidates = topk_candidates

    def postprocess_detections(self, head_outputs, image_anchors, image_shapes):
        scores = weft.softmax(head_outputs["cls_logits"], -1)
        return [
            self._weft_detect(*each)
            for each in zip(head_outputs["bbox_regression"], scores, image_anchors, image_shapes)
        ]

    def _weft_detect(self, differences, scores, anchors, size):
        boxes = box_ops.clip_boxes_to_image(self.box_coder.decode_single(differences, anchors), size)
        found = []
        for label in range(1, scores.shape[-1]):
            own, values, _ = candidates(
                scores[:, label], boxes.__getitem__, 1, self.score_thresh, self.topk_candidates
            )
            found.append(
                (own, values, weft.full(values.shape, label, dtype=weft.int64, device=values.device))
            )
        return suppressed(found, self.nms_thresh, self.detections_per_img)


def _followed_by_relu(*convolutions):
    return [layer for convolution in convolutions for layer in (convolution, nn.ReLU(inplace=True))]


class SSDFeatureExtractorVGG(nn.Module):
    """Images to an OrderedDict of six features (seven with highres), from VGG-16's fourth stage, whose channels are scaled
    to a norm, to what follows its fifth."""

    def __init__(self, backbone, highres):
        super().__init__()
        pools = [i for i, layer in enumerate(backbone) if isinstance(layer, nn.MaxPool2d)]
        backbone[pools[2]].ceil_mode = True  # 75 pixels to 38
        self.scale_weight = nn.Parameter(weft.ones((512,)) * 20)
        self.features = nn.Sequential(*backbone[: pools[3]])
        extra = [
            nn.Sequential(
                *_followed_by_relu(nn.Conv2d(1024, 256, 1), nn.Conv2d(256, 512, 3, padding=1, stride=2))
            ),
            nn.Sequential(
                *_followed_by_relu(nn.Conv2d(512, 128, 1), nn.Conv2d(128, 256, 3, padding=1, stride=2))
            ),
            nn.Sequential(*_followed_by_relu(nn.Conv2d(256, 128, 1), nn.Conv2d(128, 256, 3))),
            nn.Sequential(*_followed_by_relu(nn.Conv2d(256, 128, 1), nn.Conv2d(128, 256, 3))),
        ]
        if highres:
            extra.append(nn.Sequential(*_followed_by_relu(nn.Conv2d(256, 128, 1), nn.Conv2d(128, 256, 4))))
        for block in extra:
            _xavier_init(block)
        wide = nn.Sequential(
            nn.MaxPool2d(3, 1, 1, ceil_mode=False),
            *_followed_by_relu(nn.Conv2d(512, 1024, 3, padding=6, dilation=6), nn.Conv2d(1024, 1024, 1)),
        )
        _xavier_init(wide)
        self.extra = nn.ModuleList([nn.Sequential(*backbone[pools[3] : -1], wide), *extra])

    def forward(self, x):
        x = self.features(x)
        results = [self.scale_weight.reshape((1, -1, 1, 1)) * F.normalize(x)]
        for block in self.extra:
            x = block(x)
            results.append(x)
        return OrderedDict((str(i), one) for i, one in enumerate(results))


def _vgg_extractor(backbone, highres, trainable_layers):
    """SSDFeatureExtractorVGG of a VGG, whose last trainable_layers stages keep requires_grad."""
    features = backbone.features
    starts = [0, *(i for i, layer in enumerate(features) if isinstance(layer, nn.MaxPool2d))][:-1]
    if not 0 <= trainable_layers <= len(starts):
        raise ValueError(
            f"trainable_layers should be in the range [0, {len(starts)}]. Instead got {trainable_layers}"
        )
    frozen = len(features) if trainable_layers == 0 else starts[len(starts) - trainable_layers]
    for layer in features[:frozen]:
        _freeze(layer)
    return SSDFeatureExtractorVGG(features, highres)


def ignore_size(kwargs):
    """Warns of a parameter "size", which the published models have fixed."""
    if kwargs.pop("size", None) is not None:
        warnings.warn("The size of the model is already fixed; ignoring the parameter.", stacklevel=4)


def _ssd300(num_classes, *, weights, weights_backbone, progress, trainable_backbone_layers=None, **kwargs):
    ignore_size(kwargs)
    trained = weights is not None or weights_backbone is not None
    layers = _validate_trainable_layers(trained, trainable_backbone_layers, 5, 4)
    backbone = _vgg_extractor(vgg16(weights=weights_backbone, progress=progress), False, layers)
    ratios = [[2], [2, 3], [2, 3], [2, 3], [2], [2]]
    scales, steps = [0.07, 0.15, 0.33, 0.51, 0.69, 0.87, 1.05], [8, 16, 32, 64, 100, 300]
    anchors = DefaultBoxGenerator(ratios, scales=scales, steps=steps)
    moments = {"image_mean": [0.48235, 0.45882, 0.40784], "image_std": [1.0 / 255.0] * 3}
    return SSD(backbone, anchors, (300, 300), num_classes, **{**moments, **kwargs})


SSD300_VGG16_Weights = published_task_weights("SSD300_VGG16_Weights", __name__)
ssd300_vgg16 = task_builder("ssd300_vgg16", SSD300_VGG16_Weights, VGG16_Weights, _ssd300,
                            backbone_default="IMAGENET1K_FEATURES", backbone_legacy="IMAGENET1K_FEATURES", **OPTIONS)  # fmt: skip
