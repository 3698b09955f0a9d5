"""torch.ops.torchvision and torch.ops.image as torchvision's Python package calls them, beside TorchScript's builtins."""

import weft
from weft.torchvision.io import image


def _of_training(name):
    def function(*args, **kwargs):
        raise NotImplementedError(f"torchvision::{name}: weft runs models and does not train them")

    function.__name__ = name
    return function


for _name in "roi_align roi_pool ps_roi_align ps_roi_pool deform_conv2d".split():
    globals()[f"_{_name}_backward"] = _of_training(f"_{_name}_backward")


def qnms(dets, scores, iou_threshold):
    """nms of quantized boxes: of their integers, whose scale makes no difference."""
    return weft.nms(dets.float(), scores.float(), iou_threshold)


def qroi_align(*args):
    raise NotImplementedError("torchvision::qroi_align: weft aligns regions of floating-point tensors")


read_file, write_file = image.read_file, image.write_file
encode_jpeg, encode_png = image.encode_jpeg, image.encode_png


def decode_image(data, mode, apply_exif_orientation=False):
    return image.decode_image(data, image.ImageReadMode(mode), apply_exif_orientation)


def decode_png(data, mode, apply_exif_orientation=False):
    return image.decode_png(data, image.ImageReadMode(mode), apply_exif_orientation)


def decode_jpeg(data, mode, apply_exif_orientation=False):
    return image.decode_jpeg(data, image.ImageReadMode(mode), "cpu", apply_exif_orientation)
