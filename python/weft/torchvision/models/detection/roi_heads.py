"""torchvision.models.detection.roi_heads: what R-CNNs make of proposed boxes."""

import weft
from weft import nn

from ...ops import boxes as box_ops
from ._masks import (
    expand_boxes,
    expand_masks,
    heatmaps_to_keypoints,
    keypointrcnn_inference,
    maskrcnn_inference,
    paste_mask_in_image,
    paste_masks_in_image,
)
from ._utils import BoxCoder, refuse_training

__all__ = [
    "RoIHeads",
    "expand_boxes",
    "expand_masks",
    "heatmaps_to_keypoints",
    "keypointrcnn_inference",
    "maskrcnn_inference",
    "paste_mask_in_image",
    "paste_masks_in_image",
]


class RoIHeads(nn.Module):
    """(features, a list of proposals [n, 4], the images' (height, width)) to (a list of {"boxes": [m, 4], "labels": int64[m],
    "scores": [m]}, with the heads for them "masks": [m, 1, s, s] and "keypoints": [m, k, 3], "keypoints_scores": [m, k], {}).
    At most detections_per_img boxes of a score above score_thresh that non-maximum suppression by class leaves. The
    parameters from fg_iou_thresh to positive_fraction are of training.

    raises: NotImplementedError in training mode.
    """

    def __init__(self, box_roi_pool, box_head, box_predictor, fg_iou_thresh, bg_iou_thresh, batch_size_per_image,
                 positive_fraction, bbox_reg_weights, score_thresh, nms_thresh, detections_per_img, mask_roi_pool=None,
                 mask_head=None, mask_predictor=None, keypoint_roi_pool=None, keypoint_head=None,
                 keypoint_predictor=None):  # fmt: skip
        super().__init__()
        self.box_coder = BoxCoder((10.0, 10.0, 5.0, 5.0) if bbox_reg_weights is None else bbox_reg_weights)
        self.box_roi_pool = box_roi_pool
        self.box_head = box_head
        self.box_predictor = box_predictor
        self.score_thresh = score_thresh
        self.nms_thresh = nms_thresh
        self.detections_per_img = detections_per_img
        self.mask_roi_pool = mask_roi_pool
        self.mask_head = mask_head
        self.mask_predictor = mask_predictor
        self.keypoint_roi_pool = keypoint_roi_pool
        self.keypoint_head = keypoint_head
        self.keypoint_predictor = keypoint_predictor

    def has_mask(self):
        return None not in (self.mask_roi_pool, self.mask_head, self.mask_predictor)

    def has_keypoint(self):
        return None not in (self.keypoint_roi_pool, self.keypoint_head, self.keypoint_predictor)

    def postprocess_detections(self, class_logits, box_regression, proposals, image_shapes):
        """class_logits[n, classes] and box_regression[n, 4 · classes] of all proposals to three lists: boxes, scores,
        labels."""
        counts = [boxes.shape[0] for boxes in proposals]
        boxes = self.box_coder.decode(box_regression, proposals).split(counts, 0)
        scores = weft.softmax(class_logits, -1).split(counts, 0)
        found = [self._weft_detect(*each) for each in zip(boxes, scores, image_shapes)]
        return tuple([one[i] for one in found] for i in range(3))

    def _weft_detect(self, boxes, scores, size):
        classes = scores.shape[-1]
        boxes = box_ops.clip_boxes_to_image(boxes.reshape((-1, classes, 4)), size)
        boxes, scores = boxes[:, 1:].reshape((-1, 4)), scores[:, 1:].reshape((-1,))  # 0 is the background
        chosen = weft.nonzero(scores > self.score_thresh).squeeze(1)
        boxes, scores, labels = boxes[chosen], scores[chosen], chosen % (classes - 1) + 1
        large = box_ops.remove_small_boxes(boxes, 1e-2)
        boxes, scores, labels = boxes[large], scores[large], labels[large]
        kept = box_ops.batched_nms(boxes, scores, labels, self.nms_thresh)[: self.detections_per_img]
        return boxes[kept], scores[kept], labels[kept]

    def forward(self, features, proposals, image_shapes, targets=None):
        refuse_training(self, targets)
        pooled = self.box_head(self.box_roi_pool(features, proposals, image_shapes))
        boxes, scores, labels = self.postprocess_detections(
            *self.box_predictor(pooled), proposals, image_shapes
        )
        result = [
            {"boxes": own, "labels": classes, "scores": values}
            for own, classes, values in zip(boxes, labels, scores)
        ]
        if self.has_mask():
            pooled = self.mask_head(self.mask_roi_pool(features, boxes, image_shapes))
            for found, masks in zip(result, maskrcnn_inference(self.mask_predictor(pooled), labels)):
                found["masks"] = masks
        if self.has_keypoint():
            pooled = self.keypoint_head(self.keypoint_roi_pool(features, boxes, image_shapes))
            points, values = keypointrcnn_inference(self.keypoint_predictor(pooled), boxes)
            for found, own, scores in zip(result, points, values):
                found["keypoints"], found["keypoints_scores"] = own, scores
        return result, {}
