"""A detector: a backbone, anchors, boxes after suppression, and features of regions."""

import math

import torch
import torchvision
from common import fill, main, wave
from torch import nn
from torchvision.ops import box_iou, clip_boxes_to_image, nms, remove_small_boxes, roi_align


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, stride=2, padding=1)
        )
        self.layer = nn.Sequential(nn.ReLU(), nn.Conv2d(32, 32, 3, stride=2, padding=1), nn.ReLU())

    def forward(self, x):
        return self.layer(self.stem(x))


class Head(nn.Module):
    def __init__(self, anchors):
        super().__init__()
        self.conv = nn.Conv2d(32, 32, 3, padding=1)
        self.objectness = nn.Conv2d(32, anchors, 1)
        self.deltas = nn.Conv2d(32, 4 * anchors, 1)

    def forward(self, x):
        x = torch.relu(self.conv(x))
        return self.objectness(x), self.deltas(x)


def make_anchors(height, width, stride, sizes):
    shift_x = torch.arange(0, width, dtype=torch.float32) * stride
    shift_y = torch.arange(0, height, dtype=torch.float32) * stride
    shift_y, shift_x = torch.meshgrid(shift_y, shift_x, indexing="ij")
    shifts = torch.stack((shift_x, shift_y, shift_x, shift_y), dim=-1).reshape(-1, 1, 4)
    base = torch.tensor([[-s / 2, -s / 2, s / 2, s / 2] for s in sizes])
    return (shifts + base.view(1, -1, 4)).reshape(-1, 4)


def decode(deltas, anchors):
    widths, heights = anchors[:, 2] - anchors[:, 0], anchors[:, 3] - anchors[:, 1]
    ctr_x, ctr_y = anchors[:, 0] + 0.5 * widths, anchors[:, 1] + 0.5 * heights
    dx, dy, dw, dh = deltas.unbind(1)
    dw, dh = (d.clamp(max=math.log(1000.0 / 16)) for d in (dw, dh))
    x, y, w, h = dx * widths + ctr_x, dy * heights + ctr_y, dw.exp() * widths, dh.exp() * heights
    return torch.stack((x - 0.5 * w, y - 0.5 * h, x + 0.5 * w, y + 0.5 * h), dim=1)


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.backbone, self.head = Backbone(), Head(3)
        self.box_head = nn.Sequential(nn.Flatten(), nn.Linear(32 * 7 * 7, 16), nn.ReLU(), nn.Linear(16, 5))

    def features(self, images):
        features = self.backbone(images)
        objectness, deltas = self.head(features)
        n, a, h, w = objectness.shape
        objectness = objectness.permute(0, 2, 3, 1).reshape(n, -1)
        deltas = deltas.view(n, a, 4, h, w).permute(0, 3, 4, 1, 2).reshape(n, -1, 4)
        anchors = make_anchors(h, w, 8, (16.0, 32.0, 48.0))
        boxes = decode(deltas.reshape(-1, 4) * 0.2, anchors.repeat(n, 1)).view(n, -1, 4)
        return features, objectness.sigmoid(), boxes


@torch.inference_mode()
def detect(model, features_of, images):
    features, scores, boxes = features_of(images)
    size = tuple(images.shape[-2:])
    top, order = scores[0].topk(60)
    candidates = clip_boxes_to_image(boxes[0][order], size)
    keep = remove_small_boxes(candidates, 4.0)
    candidates, top = candidates[keep], top[keep]
    keep = nms(candidates, top, 0.5)[:8]
    rois = candidates[keep]
    pooled = roi_align(
        features, [rois], output_size=(7, 7), spatial_scale=1 / 8, sampling_ratio=2, aligned=True
    )
    return {
        "boxes": rois,
        "scores": top[keep],
        "classes": model.box_head(pooled).softmax(-1),
        "iou": box_iou(rois, candidates[:10]),
        "batched": torchvision.ops.batched_nms(candidates, top, torch.arange(len(top)) % 3, 0.5).float(),
    }


def build():
    model = fill(Detector())
    return model.features, (wave(1, 3, 96, 128),)


def results(compiled=False):
    model = fill(Detector())
    features_of = torch.compile(model.features) if compiled else model.features
    return detect(model, features_of, wave(1, 3, 96, 128))


if __name__ == "__main__":
    main(results)
