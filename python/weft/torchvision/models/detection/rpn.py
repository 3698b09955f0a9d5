"""torchvision.models.detection.rpn: the region proposal network of Faster R-CNN (Ren and others, 2015)."""

import weft
from weft import nn

from ...ops import boxes as box_ops
from ...ops.misc import Conv2dNormActivation
from ._utils import BoxCoder, best, refuse_training
from .anchor_utils import AnchorGenerator

__all__ = [
    "AnchorGenerator",
    "RPNHead",
    "RegionProposalNetwork",
    "concat_box_prediction_layers",
    "permute_and_flatten",
]


def initialize_convolutions(module, deviation=0.01):
    """Weights of convolutions normal, their biases 0."""
    for layer in module.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.normal_(layer.weight, std=deviation)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


class RPNHead(nn.Module):
    """Features [n, in_channels, h, w] to logits [n, num_anchors, h, w] and boxes' differences [n, 4 · num_anchors, h, w]:
    two lists."""

    _version = 2

    def __init__(self, in_channels, num_anchors, conv_depth=1):
        super().__init__()
        self.conv = nn.Sequential(
            *(Conv2dNormActivation(in_channels, in_channels, norm_layer=None) for _ in range(conv_depth))
        )
        self.cls_logits = nn.Conv2d(in_channels, num_anchors, 1)
        self.bbox_pred = nn.Conv2d(in_channels, num_anchors * 4, 1)
        initialize_convolutions(self)

    def _load_from_state_dict(self, state_dict, prefix, *others):
        # Older states have the one convolution without its place.
        for kind in ("weight", "bias"):
            if f"{prefix}conv.{kind}" in state_dict:
                state_dict[f"{prefix}conv.0.0.{kind}"] = state_dict.pop(f"{prefix}conv.{kind}")
        super()._load_from_state_dict(state_dict, prefix, *others)

    def forward(self, x):
        hidden = [self.conv(feature) for feature in x]
        return [self.cls_logits(one) for one in hidden], [self.bbox_pred(one) for one in hidden]


def permute_and_flatten(layer, N, A, C, H, W):
    """[N, A · C, H, W] to [N, H · W · A, C]."""
    return layer.reshape((N, A, C, H, W)).permute((0, 3, 4, 1, 2)).reshape((N, H * W * A, C))


def concat_box_prediction_layers(box_cls, box_regression):
    """Lists of [n, a · c, h, w] and [n, a · 4, h, w] to ([n · sum(h · w · a), c], [n · sum(h · w · a), 4])."""
    classes, boxes = [], []
    for logits, differences in zip(box_cls, box_regression):
        n, channels, height, width = logits.shape
        anchors = differences.shape[1] // 4
        classes.append(permute_and_flatten(logits, n, anchors, channels // anchors, height, width))
        boxes.append(permute_and_flatten(differences, n, anchors, 4, height, width))
    return weft.cat(classes, 1).flatten(0, 1), weft.cat(boxes, 1).reshape((-1, 4))


class RegionProposalNetwork(nn.Module):
    """(an ImageList, an OrderedDict of features) to (a list of boxes [n, 4], the likeliest first, {}). Of each level the
    pre_nms_top_n["testing"] likeliest anchors are kept, of those that non-maximum suppression leaves
    post_nms_top_n["testing"]; of an objectness of at least score_thresh. The other parameters are of training.

    raises: NotImplementedError in training mode.
    """

    def __init__(self, anchor_generator, head, fg_iou_thresh, bg_iou_thresh, batch_size_per_image, positive_fraction,
                 pre_nms_top_n, post_nms_top_n, nms_thresh, score_thresh=0.0):  # fmt: skip
        super().__init__()
        self.anchor_generator = anchor_generator
        self.head = head
        self.box_coder = BoxCoder(weights=(1.0, 1.0, 1.0, 1.0))
        self._pre_nms_top_n = pre_nms_top_n
        self._post_nms_top_n = post_nms_top_n
        self.nms_thresh = nms_thresh
        self.score_thresh = score_thresh
        self.min_size = 1e-3

    def pre_nms_top_n(self):
        return self._pre_nms_top_n["training" if self.training else "testing"]

    def post_nms_top_n(self):
        return self._post_nms_top_n["training" if self.training else "testing"]

    def filter_proposals(self, proposals, objectness, image_shapes, num_anchors_per_level):
        """proposals[n, a, 4] and logits objectness[n, a] to (a list of boxes, a list of probabilities)."""
        objectness = objectness.reshape((proposals.shape[0], -1))
        found = [
            self._weft_filter(*each, num_anchors_per_level)
            for each in zip(proposals, objectness, image_shapes)
        ]
        return [boxes for boxes, _ in found], [scores for _, scores in found]

    def _weft_filter(self, boxes, objectness, size, counts):
        chosen, levels, start = [], [], 0
        for level, own in enumerate(objectness.split(counts)):
            places = best(own, self.pre_nms_top_n())[1]
            chosen.append(places + start)
            levels.append(weft.full_like(places, level))
            start += counts[level]
        chosen, levels = weft.cat(chosen), weft.cat(levels)
        boxes = box_ops.clip_boxes_to_image(boxes[chosen], size)
        scores = weft.sigmoid(objectness[chosen])
        sides = boxes[:, 2:] - boxes[:, :2]
        kept = weft.nonzero((sides >= self.min_size).all(1) & (scores >= self.score_thresh)).squeeze(1)
        boxes, scores, levels = boxes[kept], scores[kept], levels[kept]
        kept = box_ops.batched_nms(boxes, scores, levels, self.nms_thresh)[: self.post_nms_top_n()]
        return boxes[kept], scores[kept]

    def forward(self, images, features, targets=None):
        refuse_training(self, targets)
        objectness, differences = self.head(list(features.values()))
        anchors = self.anchor_generator(images, list(features.values()))
        counts = [level.shape[1] * level.shape[2] * level.shape[3] for level in objectness]
        objectness, differences = concat_box_prediction_layers(objectness, differences)
        proposals = self.box_coder.decode(differences, anchors).reshape((len(anchors), -1, 4))
        return self.filter_proposals(proposals, objectness, images.image_sizes, counts)[0], {}
