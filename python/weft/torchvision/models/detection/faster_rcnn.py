"""Faster R-CNN (Ren and others, 2015) over a pyramid of features (Lin and others, 2017)."""

from weft import nn
from weft.nn import functional as F

from ...ops.misc import Conv2dNormActivation
from ...ops.poolers import MultiScaleRoIAlign
from .._task_weights import published_task_weights, task_builder
from ..mobilenetv3 import MobileNet_V3_Large_Weights, mobilenet_v3_large
from ..resnet import ResNet50_Weights, resnet50
from ._utils import frozen_where_trained, overwrite_eps
from .anchor_utils import AnchorGenerator
from .backbone_utils import _mobilenet_extractor, _resnet_fpn_extractor, _validate_trainable_layers
from .generalized_rcnn import GeneralizedRCNN
from .roi_heads import RoIHeads
from .rpn import RegionProposalNetwork, RPNHead
from .transform import GeneralizedRCNNTransform

__all__ = [
    "FasterRCNN",
    "FasterRCNN_MobileNet_V3_Large_320_FPN_Weights",
    "FasterRCNN_MobileNet_V3_Large_FPN_Weights",
    "FasterRCNN_ResNet50_FPN_V2_Weights",
    "FasterRCNN_ResNet50_FPN_Weights",
    "fasterrcnn_mobilenet_v3_large_320_fpn",
    "fasterrcnn_mobilenet_v3_large_fpn",
    "fasterrcnn_resnet50_fpn",
    "fasterrcnn_resnet50_fpn_v2",
]


def _default_anchorgen():
    return AnchorGenerator(((32,), (64,), (128,), (256,), (512,)), ((0.5, 1.0, 2.0),) * 5)


def check_parts(backbone, anchors, *pools):
    """raises: ValueError for a trunk without out_channels, TypeError for parts of other classes."""
    if not hasattr(backbone, "out_channels"):
        raise ValueError(
            "backbone should contain an attribute out_channels specifying the number of output channels (assumed to be the "
            "same for all the levels)"
        )
    if not isinstance(anchors, (AnchorGenerator, type(None))):
        raise TypeError(
            f"anchor generator should be of type AnchorGenerator or None instead of {type(anchors)}"
        )
    for pool in pools:
        if not isinstance(pool, (MultiScaleRoIAlign, type(None))):
            raise TypeError(f"roi_pool should be of type MultiScaleRoIAlign or None instead of {type(pool)}")


def check_classes(num_classes, predictor, name="box_predictor"):
    """raises: ValueError unless one of both is given."""
    if num_classes is None and predictor is None:
        raise ValueError(f"num_classes should not be None when {name} is not specified")
    if num_classes is not None and predictor is not None:
        raise ValueError(f"num_classes should be None when {name} is specified")


class FasterRCNN(GeneralizedRCNN):
    """See GeneralizedRCNN. backbone gives a feature or an OrderedDict of some, of backbone.out_channels channels; num_classes
    counts the background. The parameters of names rpn_… are the RegionProposalNetwork's, of names box_… the RoIHeads',
    min_size to image_std and kwargs the GeneralizedRCNNTransform's; those of training are without effect.

    raises: ValueError, TypeError for parts that do not fit.
    """

    def __init__(self, backbone, num_classes=None, min_size=800, max_size=1333, image_mean=None, image_std=None,
                 rpn_anchor_generator=None, rpn_head=None, rpn_pre_nms_top_n_train=2000, rpn_pre_nms_top_n_test=1000,
                 rpn_post_nms_top_n_train=2000, rpn_post_nms_top_n_test=1000, rpn_nms_thresh=0.7, rpn_fg_iou_thresh=0.7,
                 rpn_bg_iou_thresh=0.3, rpn_batch_size_per_image=256, rpn_positive_fraction=0.5, rpn_score_thresh=0.0,
                 box_roi_pool=None, box_head=None, box_predictor=None, box_score_thresh=0.05, box_nms_thresh=0.5,
                 box_detections_per_img=100, box_fg_iou_thresh=0.5, box_bg_iou_thresh=0.5, box_batch_size_per_image=512,
                 box_positive_fraction=0.25, bbox_reg_weights=None, **kwargs):  # fmt: skip
        check_parts(backbone, rpn_anchor_generator, box_roi_pool)
        check_classes(num_classes, box_predictor)
        channels = backbone.out_channels
        anchors = rpn_anchor_generator or _default_anchorgen()
        if rpn_head is None:
            rpn_head = RPNHead(channels, anchors.num_anchors_per_location()[0])
        rpn = RegionProposalNetwork(
            anchors,
            rpn_head,
            rpn_fg_iou_thresh,
            rpn_bg_iou_thresh,
            rpn_batch_size_per_image,
            rpn_positive_fraction,
            {"training": rpn_pre_nms_top_n_train, "testing": rpn_pre_nms_top_n_test},
            {"training": rpn_post_nms_top_n_train, "testing": rpn_post_nms_top_n_test},
            rpn_nms_thresh,
            score_thresh=rpn_score_thresh,
        )
        pool = box_roi_pool or MultiScaleRoIAlign(["0", "1", "2", "3"], output_size=7, sampling_ratio=2)
        if box_head is None:
            box_head = TwoMLPHead(channels * pool.output_size[0] ** 2, 1024)
        if box_predictor is None:
            box_predictor = FastRCNNPredictor(1024, num_classes)
        heads = RoIHeads(pool, box_head, box_predictor, box_fg_iou_thresh, box_bg_iou_thresh, box_batch_size_per_image,
                         box_positive_fraction, bbox_reg_weights, box_score_thresh, box_nms_thresh,
                         box_detections_per_img)  # fmt: skip
        transform = GeneralizedRCNNTransform(
            min_size,
            max_size,
            [0.485, 0.456, 0.406] if image_mean is None else image_mean,
            [0.229, 0.224, 0.225] if image_std is None else image_std,
            **kwargs,
        )
        super().__init__(backbone, rpn, heads, transform)


class TwoMLPHead(nn.Module):
    """Regions [n, c, h, w], c · h · w = in_channels, to [n, representation_size] by two linear layers."""

    def __init__(self, in_channels, representation_size):
        super().__init__()
        self.fc6 = nn.Linear(in_channels, representation_size)
        self.fc7 = nn.Linear(representation_size, representation_size)

    def forward(self, x):
        return F.relu(self.fc7(F.relu(self.fc6(x.flatten(1)))))


class FastRCNNConvFCHead(nn.Sequential):
    """Regions [n, *input_size] to [n, fc_layers[-1]]: convolutions of conv_layers channels, then linear layers."""

    def __init__(self, input_size, conv_layers, fc_layers, norm_layer=None):
        channels, height, width = input_size
        layers = []
        for wide in conv_layers:
            layers.append(Conv2dNormActivation(channels, wide, norm_layer=norm_layer))
            channels = wide
        layers.append(nn.Flatten())
        features = channels * height * width
        for wide in fc_layers:
            layers += [nn.Linear(features, wide), nn.ReLU(inplace=True)]
            features = wide
        super().__init__(*layers)
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)


class FastRCNNPredictor(nn.Module):
    """[n, in_channels] (or [n, in_channels, 1, 1]) to (logits [n, num_classes], boxes' differences [n, 4 · num_classes])."""

    def __init__(self, in_channels, num_classes):
        super().__init__()
        self.cls_score = nn.Linear(in_channels, num_classes)
        self.bbox_pred = nn.Linear(in_channels, num_classes * 4)

    def forward(self, x):
        if x.ndim == 4 and tuple(x.shape[2:]) != (1, 1):
            raise ValueError(
                f"x has the wrong shape, expecting the last two dimensions to be [1,1] instead of {list(x.shape[2:])}"
            )
        x = x.flatten(1)
        return self.cls_score(x), self.bbox_pred(x)


def resnet50_pyramid(weights, weights_backbone, progress, trainable_backbone_layers, extra=None, **kwargs):
    """ResNet-50 as a pyramid; its statistics stay where it was trained. extra: makes the levels beyond it."""
    trained = weights is not None or weights_backbone is not None
    layers = _validate_trainable_layers(trained, trainable_backbone_layers, 5, 3)
    norm_layer = frozen_where_trained(weights, weights_backbone)
    trunk = resnet50(weights=weights_backbone, progress=progress, norm_layer=norm_layer)
    return _resnet_fpn_extractor(trunk, layers, extra_blocks=extra and extra(), **kwargs)


def resnet50_pyramid_v2(weights, weights_backbone, progress, trainable_backbone_layers, norm_layer=nn.BatchNorm2d, extra=None,
                        **kwargs):  # fmt: skip
    """ResNet-50 as a pyramid with normalization. extra: makes the levels beyond it."""
    trained = weights is not None or weights_backbone is not None
    layers = _validate_trainable_layers(trained, trainable_backbone_layers, 5, 3)
    trunk = resnet50(weights=weights_backbone, progress=progress)
    return _resnet_fpn_extractor(
        trunk, layers, extra_blocks=extra and extra(), norm_layer=norm_layer, **kwargs
    )


def first_published(model, weights):
    """The model, whose statistics have the eps that the first published weights were trained with."""
    if weights is not None and weights.name == "COCO_V1":
        overwrite_eps(model, 0.0)
    return model


def parts_v2(backbone):
    """The heads of the second version: {"rpn_head", "box_head"}."""
    channels = backbone.out_channels
    return {
        "rpn_head": RPNHead(channels, _default_anchorgen().num_anchors_per_location()[0], conv_depth=2),
        "box_head": FastRCNNConvFCHead((channels, 7, 7), [256] * 4, [1024], norm_layer=nn.BatchNorm2d),
    }


def _fasterrcnn(
    num_classes, *, weights, weights_backbone, progress, trainable_backbone_layers=None, **kwargs
):
    backbone = resnet50_pyramid(weights, weights_backbone, progress, trainable_backbone_layers)
    return first_published(FasterRCNN(backbone, num_classes, **kwargs), weights)


def _fasterrcnn_v2(
    num_classes, *, weights, weights_backbone, progress, trainable_backbone_layers=None, **kwargs
):
    backbone = resnet50_pyramid_v2(weights, weights_backbone, progress, trainable_backbone_layers)
    return FasterRCNN(backbone, num_classes, **parts_v2(backbone), **kwargs)


def _fasterrcnn_mobilenet(defaults, num_classes, *, weights, weights_backbone, progress, trainable_backbone_layers=None,
                          **kwargs):  # fmt: skip
    trained = weights is not None or weights_backbone is not None
    layers = _validate_trainable_layers(trained, trainable_backbone_layers, 6, 3)
    norm_layer = frozen_where_trained(weights, weights_backbone)
    trunk = mobilenet_v3_large(weights=weights_backbone, progress=progress, norm_layer=norm_layer)
    backbone = _mobilenet_extractor(trunk, True, layers)
    anchors = AnchorGenerator(((32, 64, 128, 256, 512),) * 3, ((0.5, 1.0, 2.0),) * 3)
    return FasterRCNN(backbone, num_classes, rpn_anchor_generator=anchors, **{**defaults, **kwargs})


FasterRCNN_ResNet50_FPN_Weights = published_task_weights("FasterRCNN_ResNet50_FPN_Weights", __name__)
FasterRCNN_ResNet50_FPN_V2_Weights = published_task_weights("FasterRCNN_ResNet50_FPN_V2_Weights", __name__)
FasterRCNN_MobileNet_V3_Large_FPN_Weights = published_task_weights(
    "FasterRCNN_MobileNet_V3_Large_FPN_Weights", __name__
)
FasterRCNN_MobileNet_V3_Large_320_FPN_Weights = published_task_weights(
    "FasterRCNN_MobileNet_V3_Large_320_FPN_Weights", __name__
)

OPTIONS = {"classes": 91, "parameters": ("num_classes", "weights_backbone", "trainable_backbone_layers")}
fasterrcnn_resnet50_fpn = task_builder(
    "fasterrcnn_resnet50_fpn", FasterRCNN_ResNet50_FPN_Weights, ResNet50_Weights, _fasterrcnn, **OPTIONS
)
fasterrcnn_resnet50_fpn_v2 = task_builder("fasterrcnn_resnet50_fpn_v2", FasterRCNN_ResNet50_FPN_V2_Weights,
                                          ResNet50_Weights, _fasterrcnn_v2, backbone_default=None, **OPTIONS)  # fmt: skip
fasterrcnn_mobilenet_v3_large_fpn = task_builder(
    "fasterrcnn_mobilenet_v3_large_fpn", FasterRCNN_MobileNet_V3_Large_FPN_Weights, MobileNet_V3_Large_Weights,
    _fasterrcnn_mobilenet, {"rpn_score_thresh": 0.05}, **OPTIONS)  # fmt: skip
fasterrcnn_mobilenet_v3_large_320_fpn = task_builder(
    "fasterrcnn_mobilenet_v3_large_320_fpn", FasterRCNN_MobileNet_V3_Large_320_FPN_Weights, MobileNet_V3_Large_Weights,
    _fasterrcnn_mobilenet, {"min_size": 320, "max_size": 640, "rpn_pre_nms_top_n_test": 150,
    "rpn_post_nms_top_n_test": 150, "rpn_score_thresh": 0.05}, **OPTIONS)  # fmt: skip
