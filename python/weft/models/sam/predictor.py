"""Masks of prompts in pixels of an image."""

import contextlib
import itertools

import numpy as np

import weft

from ... import _models
from . import prompts as _prompts

__all__ = ["SamPredictor"]

_ARGUMENTS = ("point_coords", "point_labels", "boxes", "mask_input")


class SamPredictor:
    """Masks of points, boxes and masks, in pixels of the image they are set in.

        predictor = weft.models.SamPredictor(sam)
        predictor.set_image(pixels)                               # uint8 [H, W, 3]
        masks, iou, logits = predictor.predict(point_coords=[[500, 375]], point_labels=[1])

    compile: encoder and decoder through weft.compile; the first call of each form of prompts compiles.
    """

    def __init__(self, model, compile=True):
        self.model = model
        self._encode = weft.compile(model.encode, fullgraph=True) if compile else model.encode
        self._compile, self._decoders = compile, {}
        self.reset_image()

    def reset_image(self):
        self._embeddings = self._originals = self._inputs = None

    def set_image(self, image, image_format="RGB"):
        """Computes the embedding of uint8 [H, W, 3] (RGB or BGR; grey [H, W] and alpha as well)."""
        self.set_images([image], image_format)

    def set_images(self, images, image_format="RGB"):
        """Computes the embeddings of several images, of any sizes, in one call of the encoder."""
        images = [_prompts.as_pixels(image, image_format) for image in images]
        if not images:
            raise ValueError("set_images: expected at least one image")
        size = self.model.config.image_size
        originals = [image.shape[:2] for image in images]
        inputs = [_prompts.longest_side(*original, size) for original in originals]
        batch = []
        for image, input in zip(images, inputs):
            pixels = _models.resize_pixels(weft.from_numpy(image), input)
            pixels = pixels.permute(2, 0, 1).to(self.model.device)
            batch.append(self.model.preprocess(pixels))
        with self._on_device():
            self._embeddings = self._encode(weft.stack(batch))
        self._originals, self._inputs = originals, inputs

    def _on_device(self):
        """Graphs are compiled for the model's device."""
        device = self.model.device
        return contextlib.nullcontext() if device.type == "cpu" else weft.device(device)

    def _decode(self, embeddings, multimask, **prompts):
        """The model's decode, compiled for each form of prompts by itself."""
        form = (multimask, *((name, type(x)) for name, x in prompts.items()))
        if form not in self._decoders:
            decode = self.model.decode
            self._decoders[form] = weft.compile(decode, fullgraph=True) if self._compile else decode
        with self._on_device():
            return self._decoders[form](embeddings, **prompts, multimask=multimask)

    def get_image_embedding(self):
        """[images, C, grid, grid]."""
        self._require_image("get_image_embedding")
        return self._embeddings

    @property
    def original_size(self):
        self._require_image("original_size")
        return self._originals[0]

    def _require_image(self, name):
        if self._embeddings is None:
            raise RuntimeError(f"{name}: no image is set: call set_image first")

    def predict(
        self,
        point_coords=None,
        point_labels=None,
        box=None,
        mask_input=None,
        multimask_output=True,
        return_logits=False,
    ):
        """Of one prompt: masks bool [M, H, W] (or logits float32), predicted IoUs float32 [M], and logits float32
        [M, 4 * grid, 4 * grid], which a later call takes as mask_input. NumPy arrays.

        point_coords: [N, 2], x and y; point_labels: [N], 1 foreground, 0 background; box: left, top, right, bottom;
        multimask_output: three masks for an ambiguous prompt, such as one point; otherwise one. ValueError for what
        lies outside of the image.
        """
        given = self._check(0, point_coords, point_labels, box, mask_input, is_batch=False)
        masks, iou, low = self._finish(0, *self._run(0, given, multimask_output), return_logits)
        return masks[0], iou[0], low[0]

    def predict_batch(
        self,
        point_coords=None,
        point_labels=None,
        boxes=None,
        mask_input=None,
        multimask_output=True,
        return_logits=False,
        image=0,
    ):
        """Of B prompts, for one of the images: masks [B, M, H, W], predicted IoUs [B, M], logits [B, M, h, w].

        point_coords [B, N, 2] with point_labels [B, N] (-1 fills up where a prompt has fewer points), boxes [B, 4],
        mask_input [B, 1, h, w].
        """
        low, iou = self._run(
            image, self._check(image, point_coords, point_labels, boxes, mask_input), multimask_output
        )
        return self._finish(image, low, iou, return_logits)

    def predict_images(
        self,
        point_coords=None,
        point_labels=None,
        boxes=None,
        mask_input=None,
        multimask_output=True,
        return_logits=False,
    ):
        """Of all images that are set, with a number of prompts of their own, in one call of the decoder: a list with
        predict_batch's results for each.

        Each argument a list with an entry for each image, as predict_batch takes it: point_coords [[B0, N, 2],
        [B1, N, 2], ...], with one N, and so on; B may be 0. ValueError for lists of another length.
        """
        self._require_image("predict_images")
        count = len(self._originals)
        arguments = [point_coords, point_labels, boxes, mask_input]
        for name, entries in zip(_ARGUMENTS, arguments):
            if entries is not None and len(entries) != count:
                raise ValueError(
                    f"predict_images: {name}: expected {count} entries, one for each image, got {len(entries)}"
                )
        checked = [
            self._check(image, *(x if x is None else x[image] for x in arguments), may_be_empty=True)
            for image in range(count)
        ]
        if not checked[0]:
            raise ValueError("predict_images: expected points, boxes or masks")
        lengths = [len(next(iter(given.values()))) for given in checked]
        if sum(lengths) == 0:
            raise ValueError("predict_images: expected at least one prompt")
        low, iou = self._decode(self._embeddings, multimask_output, **self._nested(checked, lengths))
        return [
            self._finish(image, *parts, return_logits)
            for image, parts in enumerate(zip(low.unbind(), iou.unbind()))
        ]

    def _nested(self, checked, lengths):
        """Prompts of all images, in pixels of the model's images, as nested tensors over the same offsets."""
        offsets = weft.tensor([0, *itertools.accumulate(lengths)], dtype=weft.int64, device=self.model.device)
        scaled = [self._scaled(image, given) for image, given in enumerate(checked)]
        nested = {}
        for name in checked[0]:
            parts = [given[name] for given in scaled]
            if len({part.shape[1:] for part in parts}) != 1:
                shapes = [list(part.shape) for part in parts]
                raise ValueError(f"predict_images: {name}: as many for each prompt, got shapes {shapes}")
            values = weft.from_numpy(np.concatenate(parts)).to(self.model.device)
            nested[name] = weft.nested.nested_tensor_from_jagged(values, offsets, max_seqlen=max(lengths))
        return nested

    def predict_logits(
        self,
        point_coords=None,
        point_labels=None,
        boxes=None,
        mask_input=None,
        multimask_output=True,
        image=0,
    ):
        """predict_batch's last two results, as tensors: no mask at the image's size is made."""
        given = self._check(image, point_coords, point_labels, boxes, mask_input)
        low, iou = self._run(image, given, multimask_output)
        return iou, low

    def _check(self, image, point_coords, point_labels, boxes, mask_input, is_batch=True, may_be_empty=False):
        self._require_image("predict")
        if not 0 <= image < len(self._originals):
            raise IndexError(f"predict: image {image} of {len(self._originals)}")
        original, side = self._originals[image], 4 * self.model.config.grid
        given = {}
        if point_coords is not None:
            given["points"], given["labels"] = _prompts.check_points(
                point_coords, point_labels, original, is_batch
            )
        elif point_labels is not None:
            raise ValueError("point_coords must be given with point_labels")
        if boxes is not None:
            given["boxes"] = _prompts.check_boxes(boxes, original)
        if mask_input is not None:
            given["masks"] = _prompts.check_masks(mask_input, side, is_batch)
        if len({len(x) for x in given.values()}) > 1:
            if not is_batch:
                raise ValueError("predict: one box per call: predict_batch takes several prompts")
            raise ValueError(
                f"predict: as many prompts of each kind: got {({name: len(x) for name, x in given.items()})}"
            )
        if not may_be_empty and any(len(x) == 0 for x in given.values()):
            raise ValueError("predict: expected at least one prompt")
        return given

    def _run(self, image, given, multimask):
        scaled = self._scaled(image, given)
        device = self.model.device
        tensors = {name: weft.from_numpy(np.ascontiguousarray(x)).to(device) for name, x in scaled.items()}
        return self._decode(self._embeddings[image : image + 1], multimask, **tensors)

    def _scaled(self, image, given):
        """Prompts in pixels of an image in those of the model's."""
        original, input = self._originals[image], self._inputs[image]
        return {
            name: _prompts.scaled(x.reshape(-1, 2), original, input).reshape(x.shape)
            if name in ("points", "boxes")
            else x
            for name, x in given.items()
        }

    def _finish(self, image, low, iou, return_logits):
        low, iou = low.cpu(), iou.cpu()
        batch, masks, *side = low.shape
        full = _models.upscale_masks(
            low.reshape(batch * masks, *side),
            self.model.config.image_size,
            self._inputs[image],
            self._originals[image],
        ).reshape(batch, masks, *self._originals[image])
        if not return_logits:
            full = full > self.model.mask_threshold
        return full.numpy(), iou.numpy(), low.numpy()
