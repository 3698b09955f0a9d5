"""What detectors without proposals share: dense predictions to detections."""

import weft
from weft import nn

from ...ops import boxes as box_ops
from ._utils import best, by_name, image_sizes, refuse_training
from .transform import GeneralizedRCNNTransform


def dense_predictions(layer, channels):
    """[n, a · channels, h, w] to [n, h · w · a, channels]."""
    n, _, height, width = layer.shape
    return layer.reshape((n, -1, channels, height, width)).permute((0, 3, 4, 1, 2)).reshape((n, -1, channels))


def candidates(scores, boxes_at, classes, threshold, count):
    """(boxes [m, 4], scores [m], labels int64[m]) of the `count` best of scores[a · classes] above the threshold;
    boxes_at(places) gives the boxes of anchors."""
    chosen = weft.nonzero(scores > threshold).squeeze(1)
    values, places = best(scores[chosen], count)
    chosen = chosen[places]
    return boxes_at(weft.floor_divide(chosen, classes)), values, chosen % classes


def suppressed(found, threshold, count):
    """The best `count` of several candidates() that non-maximum suppression by label leaves, as a detection."""
    boxes, scores, labels = (weft.cat([one[i] for one in found]) for i in range(3))
    kept = box_ops.batched_nms(boxes, scores, labels, threshold)[:count]
    return {"boxes": boxes[kept], "scores": scores[kept], "labels": labels[kept]}


class DenseDetector(nn.Module):
    """A list of images [c, h, w] in [0, 1] to a list of {"boxes": [m, 4], "scores": [m], "labels": int64[m]} in the images'
    own pixels. A subclass has backbone, anchor_generator, head and transform, and postprocess_detections(head's outputs,
    anchors, sizes).

    raises: NotImplementedError in training mode, or for targets.
    """

    def forward(self, images, targets=None):
        refuse_training(self, targets)
        original = image_sizes(images)
        images, _ = self.transform(images)
        features = list(by_name(self.backbone(images.tensors)).values())
        outputs = self.head(features)
        anchors = self.anchor_generator(images, features)
        detections = self.detections(outputs, anchors, images.image_sizes, features)
        return self.transform.postprocess(detections, images.image_sizes, original)

    def detections(self, outputs, anchors, sizes, features):
        return self.postprocess_detections(outputs, anchors, sizes)


class PyramidDetector(DenseDetector):
    """A detector whose anchors are split by levels: class by class above score_thresh, the topk_candidates best of each
    level, the detections_per_img best after suppression."""

    def detections(self, outputs, anchors, sizes, features):
        places = [feature.shape[2] * feature.shape[3] for feature in features]
        each = outputs["cls_logits"].shape[1] // sum(places)  # anchors at a place
        counts = [count * each for count in places]
        split = {name: value.split(counts, 1) for name, value in outputs.items()}
        return self.postprocess_detections(split, [one.split(counts, 0) for one in anchors], sizes)

    def postprocess_detections(self, head_outputs, anchors, image_shapes):
        """head_outputs: for each name a list of levels [n, a_level, …]; anchors: for each image a list of levels [a_level,
        4]."""
        return [
            self._weft_detect(
                {name: [level[i] for level in levels] for name, levels in head_outputs.items()}, own, size
            )
            for i, (own, size) in enumerate(zip(anchors, image_shapes))
        ]

    def _weft_detect(self, outputs, anchors, size):
        found = []
        for level, own in enumerate(anchors):
            differences = outputs["bbox_regression"][level]

            def boxes_at(places, differences=differences, own=own):
                boxes = self.decode(differences[places], own[places])
                return box_ops.clip_boxes_to_image(boxes, size)

            parts = {name: levels[level] for name, levels in outputs.items()}
            scores = self.scores(parts)
            found.append(
                candidates(
                    scores.flatten(), boxes_at, scores.shape[-1], self.score_thresh, self.topk_candidates
                )
            )
        return suppressed(found, self.nms_thresh, self.detections_per_img)


def pyramid_transform(min_size, max_size, image_mean, image_std, **kwargs):
    """The transform with ImageNet's moments where none are given."""
    mean = [0.485, 0.456, 0.406] if image_mean is None else image_mean
    std = [0.229, 0.224, 0.225] if image_std is None else image_std
    return GeneralizedRCNNTransform(min_size, max_size, mean, std, **kwargs)
