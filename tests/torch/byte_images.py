"""Calls that resize uint8 images, and the checksums of what they give.

python byte_images.py > test_byte_images.json      (by a Python that has PyTorch and torchvision)
"""

import itertools
import json
import zlib

import numpy as np

IMAGES = {"narrow": (2, 1, 7, 9), "line": (1, 3, 1, 5), "color": (1, 3, 40, 52), "deep": (2, 5, 33, 18)}
SIZES = ("(5, 6)", "(7, 9)", "(13, 30)", "(64, 3)", "(40, 20)", "(20, 52)", "(97, 101)")
SCALES = ("0.5", "1.7", "(0.3, 2.1)", "1.05")


def calls():
    """Calls as code over the images, F and v2 (torchvision.transforms.v2.functional)."""
    for image, mode, antialias in itertools.product(IMAGES, ("bilinear", "bicubic"), (False, True)):
        options = f"mode='{mode}', antialias={antialias}"
        for size, corners in itertools.product(SIZES, (False, True)):
            yield f"F.interpolate({image}, size={size}, {options}, align_corners={corners})"
        for scale, recompute in itertools.product(SCALES if image != "line" else ("1.7",), (None, True)):
            yield f"F.interpolate({image}, scale_factor={scale}, {options}, recompute_scale_factor={recompute})"
        interpolation = f"v2.InterpolationMode('{mode}')"
        for size in ("[5, 6]", "[20]", "[13, 30]", "[97, 101]"):
            yield f"v2.resize({image}, {size}, {interpolation}, antialias={antialias})"
        if image == "color":
            yield f"v2.resized_crop({image}, 3, 2, 30, 21, [24, 24], {interpolation}, antialias={antialias})"


def scope(torch, v2):
    values = {"F": torch.nn.functional, "v2": v2}
    for name, shape in IMAGES.items():
        count = int(np.prod(shape))
        values[name] = torch.from_numpy(
            (np.arange(count) * 7919 % 251 * 3 % 256).astype(np.uint8).reshape(shape)
        )
    return values


def checksum(result):
    array = np.ascontiguousarray(result.numpy())
    return [str(array.dtype), list(array.shape), zlib.crc32(array.tobytes())]


def main():
    import torch
    from torchvision.transforms.v2 import functional as v2

    values = scope(torch, v2)
    lines = [f"{json.dumps(code)}: {json.dumps(checksum(eval(code, values)))}" for code in calls()]
    print("{\n" + ",\n".join(lines) + "\n}")


if __name__ == "__main__":
    main()
