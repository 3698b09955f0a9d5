"""Everything mode: masks of all that is in an image."""

import math
import time

import numpy as np

import weft

from ... import _models
from . import prompts as _prompts
from .masks import mask_to_polygons, remove_small_regions
from .predictor import SamPredictor

__all__ = ["SamAutomaticMaskGenerator", "crop_boxes", "point_grid"]

OUTPUT_MODES = ("binary_mask", "uncompressed_rle", "coco_rle", "polygons")


def point_grid(side):
    """[side * side, 2]: points evenly over [0, 1] x [0, 1]."""
    at = (np.arange(side) + 0.5) / side
    return np.stack(np.meshgrid(at, at), -1).reshape(-1, 2)


def crop_boxes(size, layers, overlap):
    """[(left, top, right, bottom, layer)]: the image, and in layer i, 2**i by 2**i parts that overlap."""
    height, width = size
    boxes = [(0, 0, width, height, 0)]
    for layer in range(1, layers + 1):
        side = 2**layer
        shared = int(overlap * min(height, width) * (2 / side))
        crop_width = math.ceil((shared * (side - 1) + width) / side)
        crop_height = math.ceil((shared * (side - 1) + height) / side)
        for i in range(side):
            for j in range(side):
                left, top = (crop_width - shared) * i, (crop_height - shared) * j
                right, bottom = min(left + crop_width, width), min(top + crop_height, height)
                boxes.append((left, top, right, bottom, layer))
    return boxes


def suppress(boxes, scores, threshold):
    """Positions of the boxes that overlap no better one by more than the threshold, best first."""
    if len(boxes) == 0:
        return np.zeros(0, np.int64)
    boxes = weft.from_numpy(np.asarray(boxes, np.float32))
    return weft.nms(boxes, weft.from_numpy(np.asarray(scores, np.float32)), threshold).numpy()


def touches_cut(box, crop, size):
    """Does a mask's box end at an edge of its crop that is no edge of the image?"""
    (left, top, right, bottom), (height, width) = crop, size
    box = (box[0] + left, box[1] + top, box[2] + left, box[3] + top)
    return any(
        abs(at - cut) <= 20 and abs(at - edge) > 20
        for at, cut, edge in zip(box, (left, top, right, bottom), (0, 0, width, height))
    )


class SamAutomaticMaskGenerator:
    """Masks of all that is in an image, from a grid of points; the original's options, records and defaults.

        records = weft.models.SamAutomaticMaskGenerator(sam).generate(pixels)

    output_mode: "binary_mask", "uncompressed_rle", "coco_rle" or "polygons". progress: called with points done and points
    in all. seconds: what the last generate() took for the image's embedding ("encoder", pixels resized), for logits of
    points ("decoder"), and for all the rest ("post-processing").
    """

    def __init__(
        self,
        model,
        points_per_side=32,
        points_per_batch=64,
        pred_iou_thresh=0.88,
        stability_score_thresh=0.95,
        stability_score_offset=1.0,
        box_nms_thresh=0.7,
        crop_n_layers=0,
        crop_nms_thresh=0.7,
        crop_overlap_ratio=512 / 1500,
        crop_n_points_downscale_factor=1,
        point_grids=None,
        min_mask_region_area=0,
        output_mode="binary_mask",
        compile=True,
        progress=None,
    ):
        if (points_per_side is None) == (point_grids is None):
            raise ValueError("exactly one of points_per_side and point_grids must be given")
        if point_grids is None:
            sides = [
                int(points_per_side / crop_n_points_downscale_factor**i) for i in range(crop_n_layers + 1)
            ]
            if min(sides) < 1 or points_per_batch < 1:
                raise ValueError(f"at least one point per side and batch: got {sides} and {points_per_batch}")
            point_grids = [point_grid(side) for side in sides]
        if len(point_grids) <= crop_n_layers:
            raise ValueError(
                f"a grid of points for each layer of crops: {len(point_grids)} for {crop_n_layers + 1}"
            )
        if output_mode not in OUTPUT_MODES:
            raise ValueError(f"output_mode must be one of {', '.join(OUTPUT_MODES)}, got {output_mode!r}")
        self.predictor = SamPredictor(model, compile)
        self.point_grids = [_prompts.as_array(grid, np.float64, "point_grids") for grid in point_grids]
        self.points_per_batch = points_per_batch
        self.pred_iou_thresh, self.stability_score_thresh = pred_iou_thresh, stability_score_thresh
        self.stability_score_offset = stability_score_offset
        self.box_nms_thresh, self.crop_nms_thresh = box_nms_thresh, crop_nms_thresh
        self.crop_n_layers, self.crop_overlap_ratio = crop_n_layers, crop_overlap_ratio
        self.min_mask_region_area, self.output_mode = min_mask_region_area, output_mode
        self.progress = progress
        self.seconds = {}

    def generate(self, image, image_format="RGB"):
        """Of uint8 [H, W, 3], a list of records: segmentation (by output_mode), area, bbox [x, y, width, height],
        predicted_iou, point_coords [[x, y]], stability_score, crop_box [x, y, width, height]."""
        start = time.perf_counter()
        self.seconds = {"encoder": 0.0, "decoder": 0.0}
        records = self._generate(_prompts.as_pixels(image, image_format))
        self.seconds["post-processing"] = time.perf_counter() - start - sum(self.seconds.values())
        return records

    def _timed(self, what, function, *arguments):
        start = time.perf_counter()
        result = function(*arguments)
        self.seconds[what] += time.perf_counter() - start
        return result

    def _generate(self, image):
        size = image.shape[:2]
        crops = crop_boxes(size, self.crop_n_layers, self.crop_overlap_ratio)
        total, done, found = sum(len(self.point_grids[crop[4]]) for crop in crops), 0, []
        for *crop, layer in crops:
            found += self._masks_of_crop(image, tuple(crop), self.point_grids[layer], size, done, total)
            done += len(self.point_grids[layer])
        if len(crops) > 1:  # of several crops' masks of one thing, that of the smallest
            scores = [1 / ((m["crop"][2] - m["crop"][0]) * (m["crop"][3] - m["crop"][1])) for m in found]
            found = [found[i] for i in suppress([m["box"] for m in found], scores, self.crop_nms_thresh)]
        if self.min_mask_region_area > 0:
            found = self._without_small_regions(found, size)
        return [self._record(mask, size) for mask in found]

    def _masks_of_crop(self, image, crop, grid, size, done, total):
        left, top, right, bottom = crop
        self._timed("encoder", self.predictor.set_image, image[top:bottom, left:right])
        points = grid * np.array([right - left, bottom - top])
        found = []
        batch = min(self.points_per_batch, len(points))
        for first in range(0, len(points), batch):
            found += self._masks_of_points(points[first : first + batch], batch, crop, size)
            if self.progress is not None:
                self.progress(done + min(first + batch, len(points)), total)
        self.predictor.reset_image()
        kept = suppress([m["box"] for m in found], [m["iou"] for m in found], self.box_nms_thresh)
        found = [found[i] for i in kept]
        for mask in found:
            x0, y0, x1, y1 = mask["box"]
            mask["box"] = (x0 + left, y0 + top, x1 + left, y1 + top)
            mask["point"] = mask["point"] + (left, top)
        return found

    def _masks_of_points(self, points, batch, crop, size):
        count = len(points)
        if count < batch:  # one compiled form for all batches
            points = np.concatenate([points, np.repeat(points[-1:], batch - count, 0)])
        labels = np.ones((len(points), 1), np.int64)
        iou, low = self._timed("decoder", self.predictor.predict_logits, points[:, None, :], labels)
        masks_per_point = iou.shape[1]
        iou, low = iou[:count].reshape(-1).numpy(), low[:count].reshape(-1, *low.shape[2:])
        good = np.flatnonzero(iou > self.pred_iou_thresh) if self.pred_iou_thresh > 0 else np.arange(len(iou))
        if len(good) == 0:
            return []
        summaries = _models.summarize_masks(
            low[weft.from_numpy(good)],
            self.predictor.model.config.image_size,
            self.predictor._inputs[0],
            self.predictor.original_size,
            crop[:2],
            size,
            self.predictor.model.mask_threshold,
            self.stability_score_offset,
        )
        found = []
        for i, (area, stability, box, runs) in zip(good, summaries):
            # NaN, where no logit reaches the lower threshold, is not stable either.
            if self.stability_score_thresh > 0 and not stability >= self.stability_score_thresh:
                continue
            if not touches_cut(box, crop, size):
                found.append({"area": area, "stability": stability, "box": box, "runs": runs,
                              "iou": float(iou[i]), "point": points[i // masks_per_point], "crop": crop})  # fmt: skip
        return found

    def _without_small_regions(self, found, size):
        area, changed_any = self.min_mask_region_area, []
        for mask in found:
            bits = mask["runs"].mask().numpy()
            bits, holes = remove_small_regions(bits, area, "holes")
            bits, islands = remove_small_regions(bits, area, "islands")
            changed_any.append(holes or islands)
            if holes or islands:
                mask["runs"] = _models.run_lengths(weft.from_numpy(np.ascontiguousarray(bits)))
                mask["area"] = int(bits.sum())
                rows, columns = np.flatnonzero(bits.any(1)), np.flatnonzero(bits.any(0))
                mask["box"] = (
                    (int(columns[0]), int(rows[0]), int(columns[-1]), int(rows[-1]))
                    if len(rows)
                    else (0, 0, 0, 0)
                )
        # What has not changed is preferred.
        scores = [0.0 if changed else 1.0 for changed in changed_any]
        kept = suppress([m["box"] for m in found], scores, max(self.box_nms_thresh, self.crop_nms_thresh))
        return [found[i] for i in kept]

    def _record(self, mask, size):
        runs, of_size = mask["runs"], {"size": list(size)}
        segmentation = {
            "binary_mask": lambda: runs.mask().numpy(),
            "uncompressed_rle": lambda: {**of_size, "counts": list(runs)},
            "coco_rle": lambda: {**of_size, "counts": runs.coco_string()},
            "polygons": lambda: mask_to_polygons(runs.mask().numpy()),
        }[self.output_mode]()

        def as_xywh(box):
            return [box[0], box[1], box[2] - box[0], box[3] - box[1]]

        return {
            "segmentation": segmentation,
            "area": mask["area"],
            "bbox": as_xywh(mask["box"]),
            "predicted_iou": mask["iou"],
            "point_coords": [mask["point"].tolist()],
            "stability_score": mask["stability"],
            "crop_box": as_xywh(mask["crop"]),
        }
