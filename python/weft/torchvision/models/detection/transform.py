"""torchvision.models.detection.transform: images to the tensor that a detector takes, detections to the images' own sizes."""

import weft
from weft import nn
from weft.nn import functional as F

from ._masks import paste_masks_in_image
from .image_list import ImageList

__all__ = ["GeneralizedRCNNTransform", "resize_boxes", "resize_keypoints"]


class GeneralizedRCNNTransform(nn.Module):
    """A list of images [c, h, w] in [0, 1] to (an ImageList, the targets): normalized; resized so that the shorter side is
    the last of min_size unless the longer one would be above max_size (fixed_size, as (width, height): to that); padded
    with zeros to a multiple of size_divisible.

    raises: TypeError for an image of integers, ValueError for one that is not 3-D, NotImplementedError for targets.
    """

    def __init__(
        self, min_size, max_size, image_mean, image_std, size_divisible=32, fixed_size=None, **kwargs
    ):
        super().__init__()
        self.min_size = tuple(min_size) if isinstance(min_size, (list, tuple)) else (min_size,)
        self.max_size = max_size
        self.image_mean = image_mean
        self.image_std = image_std
        self.size_divisible = size_divisible
        self.fixed_size = fixed_size
        self._skip_resize = kwargs.pop("_skip_resize", False)

    def forward(self, images, targets=None):
        if targets is not None:
            raise NotImplementedError(
                "GeneralizedRCNNTransform: weft's detectors are not trained: no targets"
            )
        made = [self.resize(self.normalize(self._weft_checked(image)))[0] for image in images]
        sizes = [(image.shape[-2], image.shape[-1]) for image in made]
        return ImageList(self.batch_images(made, self.size_divisible), sizes), targets

    @staticmethod
    def _weft_checked(image):
        if image.ndim != 3:
            raise ValueError(
                f"images is expected to be a list of 3d tensors of shape [C, H, W], got {image.shape}"
            )
        return image

    def normalize(self, image):
        """(image - image_mean) / image_std, channel by channel."""
        if not image.is_floating_point():
            raise TypeError(
                f"Expected input images to be of floating type (in range [0, 1]), but found type {image.dtype} instead"
            )
        mean, std = (
            weft.tensor(moment, dtype=image.dtype, device=image.device).reshape((-1, 1, 1))
            for moment in (self.image_mean, self.image_std)
        )
        return (image - mean) / std

    def resize(self, image, target=None):
        """(the image at the size that the detector takes, target)"""
        if self.fixed_size is not None:
            size = [self.fixed_size[1], self.fixed_size[0]]
        else:
            sides = image.shape[-2:]
            factor = min(self.min_size[-1] / min(sides), self.max_size / max(sides))
            size = [int(side * factor) for side in sides]
        resized = F.interpolate(image.unsqueeze(0), size=size, mode="bilinear", align_corners=False)
        return resized.squeeze(0), target

    def batch_images(self, images, size_divisible=32):
        """[n, c, h, w]: the images, padded with zeros below and on the right."""
        height, width = (
            -(-max(image.shape[d] for image in images) // size_divisible) * size_divisible for d in (1, 2)
        )
        return weft.stack(
            [F.pad(image, (0, width - image.shape[2], 0, height - image.shape[1])) for image in images]
        )

    def postprocess(self, result, image_shapes, original_image_sizes):
        """Detections of images of image_shapes, as those of images of original_image_sizes."""
        if self.training:
            return result
        for found, own, original in zip(result, image_shapes, original_image_sizes):
            found["boxes"] = resize_boxes(found["boxes"], own, original)
            if "masks" in found:
                found["masks"] = paste_masks_in_image(found["masks"], found["boxes"], original)
            if "keypoints" in found:
                found["keypoints"] = resize_keypoints(found["keypoints"], own, original)
        return result

    def __repr__(self):
        return (
            f"{type(self).__name__}(\n    Normalize(mean={self.image_mean}, std={self.image_std})\n"
            f"    Resize(min_size={self.min_size}, max_size={self.max_size}, mode='bilinear')\n)"
        )


def _ratios(original_size, new_size):
    """(vertical, horizontal)"""
    return [float(new) / float(original) for new, original in zip(new_size, original_size)]


def resize_keypoints(keypoints, original_size, new_size):
    """keypoints[n, k, 3] (x, y, visibility) of an image of another size."""
    vertical, horizontal = _ratios(original_size, new_size)
    x, y, visible = keypoints.unbind(2)
    return weft.stack((x * horizontal, y * vertical, visible), 2)


def resize_boxes(boxes, original_size, new_size):
    """boxes[n, 4] of an image of another size."""
    vertical, horizontal = _ratios(original_size, new_size)
    x1, y1, x2, y2 = boxes.unbind(1)
    return weft.stack((x1 * horizontal, y1 * vertical, x2 * horizontal, y2 * vertical), 1)
