"""SSDlite over MobileNetV3 (Sandler and others, MobileNetV2, 2018, section 6.2; Howard and others, 2019, section 6.3)."""

from collections import OrderedDict
from functools import partial

from weft import nn

from ...ops.misc import Conv2dNormActivation
from .._task_weights import published_task_weights, task_builder
from ..mobilenetv3 import MobileNet_V3_Large_Weights, mobilenet_v3_large
from ._utils import retrieve_out_channels
from .anchor_utils import DefaultBoxGenerator
from .backbone_utils import _validate_trainable_layers, freeze_below
from .rpn import initialize_convolutions
from .ssd import SSD, SSDScoringHead, ignore_size

__all__ = ["SSDLite320_MobileNet_V3_Large_Weights", "ssdlite320_mobilenet_v3_large"]


def _depthwise(channels, norm_layer, **options):
    return Conv2dNormActivation(
        channels, channels, groups=channels, norm_layer=norm_layer, activation_layer=nn.ReLU6, **options
    )


def _projection(in_channels, out_channels, norm_layer):
    return Conv2dNormActivation(
        in_channels, out_channels, kernel_size=1, norm_layer=norm_layer, activation_layer=nn.ReLU6
    )


def _extra_block(in_channels, out_channels, norm_layer):
    """[n, in_channels, h, w] to [n, out_channels, h / 2, w / 2]."""
    middle = out_channels // 2
    return nn.Sequential(
        _projection(in_channels, middle, norm_layer),
        _depthwise(middle, norm_layer, kernel_size=3, stride=2),
        _projection(middle, out_channels, norm_layer),
    )


class SSDLiteHead(nn.Module):
    """As SSDHead, with separable convolutions."""

    def __init__(self, in_channels, num_anchors, num_classes, norm_layer):
        super().__init__()
        self.classification_head = SSDLiteClassificationHead(
            in_channels, num_anchors, num_classes, norm_layer
        )
        self.regression_head = SSDLiteRegressionHead(in_channels, num_anchors, norm_layer)

    def forward(self, x):
        return {"bbox_regression": self.regression_head(x), "cls_logits": self.classification_head(x)}


def _separable(in_channels, num_anchors, columns, norm_layer):
    layers = nn.ModuleList(
        [
            nn.Sequential(_depthwise(wide, norm_layer, kernel_size=3), nn.Conv2d(wide, columns * count, 1))
            for wide, count in zip(in_channels, num_anchors)
        ]
    )
    initialize_convolutions(layers, 0.03)
    return layers


class SSDLiteClassificationHead(SSDScoringHead):
    """Logits of num_classes; see SSDScoringHead."""

    def __init__(self, in_channels, num_anchors, num_classes, norm_layer):
        super().__init__(_separable(in_channels, num_anchors, num_classes, norm_layer), num_classes)


class SSDLiteRegressionHead(SSDScoringHead):
    """Boxes' differences; see SSDScoringHead."""

    def __init__(self, in_channels, num_anchors, norm_layer):
        super().__init__(_separable(in_channels, num_anchors, 4, norm_layer), 4)


class SSDLiteFeatureExtractorMobileNet(nn.Module):
    """Images to an OrderedDict of six features: that of the expansion in block c4_pos, at a 16th of the size, that of the
    end, and those of four more blocks, of 512, 256, 256 and 128 channels times width_mult, but at least min_depth."""

    def __init__(self, backbone, c4_pos, norm_layer, width_mult=1.0, min_depth=16):
        super().__init__()
        block = backbone[c4_pos].block
        self.features = nn.Sequential(
            nn.Sequential(*backbone[:c4_pos], block[0]),
            nn.Sequential(block[1:], *backbone[c4_pos + 1 :]),
        )
        channels = backbone[-1].out_channels
        extra = []
        for depth in (512, 256, 256, 128):
            wide = max(min_depth, int(depth * width_mult))
            extra.append(_extra_block(channels, wide, norm_layer))
            channels = wide
        self.extra = nn.ModuleList(extra)
        initialize_convolutions(self.extra, 0.03)

    def forward(self, x):
        results = []
        for block in (*self.features, *self.extra):
            x = block(x)
            results.append(x)
        return OrderedDict((str(i), one) for i, one in enumerate(results))


def _mobilenet_extractor(backbone, trainable_layers, norm_layer):
    """SSDLiteFeatureExtractorMobileNet of a MobileNetV3, whose last trainable_layers stages keep requires_grad."""
    features = backbone.features
    described = "trainable_layers should be in the range [0, {}], instead got {}"
    starts = freeze_below(features, trainable_layers, described)
    return SSDLiteFeatureExtractorMobileNet(features, starts[-2], norm_layer)


def _ssdlite320(num_classes, *, weights, weights_backbone, progress, trainable_backbone_layers=None, norm_layer=None,
                **kwargs):  # fmt: skip
    ignore_size(kwargs)
    trained = weights is not None or weights_backbone is not None
    layers = _validate_trainable_layers(trained, trainable_backbone_layers, 6, 6)
    norm_layer = norm_layer or partial(nn.BatchNorm2d, eps=0.001, momentum=0.03)
    trunk = mobilenet_v3_large(
        weights=weights_backbone,
        progress=progress,
        norm_layer=norm_layer,
        reduced_tail=weights_backbone is None,
    )
    if weights_backbone is None:
        initialize_convolutions(trunk, 0.03)
    backbone = _mobilenet_extractor(trunk, layers, norm_layer)
    size = (320, 320)
    anchors = DefaultBoxGenerator([[2, 3]] * 6, min_ratio=0.2, max_ratio=0.95)
    counts = anchors.num_anchors_per_location()
    channels = retrieve_out_channels(backbone, size)
    defaults = {
        "score_thresh": 0.001, "nms_thresh": 0.55, "detections_per_img": 300, "topk_candidates": 300,
        "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5],
    }  # fmt: skip
    head = SSDLiteHead(channels, counts, num_classes, norm_layer)
    return SSD(backbone, anchors, size, num_classes, head=head, **{**defaults, **kwargs})


SSDLite320_MobileNet_V3_Large_Weights = published_task_weights(
    "SSDLite320_MobileNet_V3_Large_Weights", __name__
)
ssdlite320_mobilenet_v3_large = task_builder(
    "ssdlite320_mobilenet_v3_large", SSDLite320_MobileNet_V3_Large_Weights, MobileNet_V3_Large_Weights, _ssdlite320,
    classes=91, parameters=("num_classes", "weights_backbone", "trainable_backbone_layers", "norm_layer"))  # fmt: skip
