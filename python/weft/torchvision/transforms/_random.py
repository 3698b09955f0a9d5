"""Classes of torchvision.transforms that change images at random: they draw from the default generator."""

import math
import numbers

import weft
from weft.nn import Module

from . import functional as F
from ._fixed import Compose, _Printed, _size_of, _torch, _uniform
from ._modes import InterpolationMode, mode_of

__all__ = [
    "ColorJitter", "ElasticTransform", "RandomAdjustSharpness", "RandomAffine", "RandomApply", "RandomAutocontrast",
    "RandomChoice", "RandomCrop", "RandomEqualize", "RandomErasing", "RandomGrayscale", "RandomHorizontalFlip", "RandomInvert",
    "RandomOrder", "RandomPerspective", "RandomPosterize", "RandomResizedCrop", "RandomRotation", "RandomSolarize",
    "RandomVerticalFlip",
]  # fmt: skip


def _range_about(value, name, center=1, bound=(0, float("inf")), clip=True):
    """[low, high] of one number, or of two; None where nothing changes."""
    if isinstance(value, numbers.Number):
        if value < 0:
            raise ValueError(f"If {name} is a single number, it must be non negative.")
        value = [center - float(value), center + float(value)]
        if clip:
            value[0] = max(value[0], 0.0)
    elif isinstance(value, (tuple, list)) and len(value) == 2:
        value = [float(value[0]), float(value[1])]
    else:
        raise TypeError(f"{name} should be a single number or a list/tuple with length 2.")
    if not bound[0] <= value[0] <= value[1] <= bound[1]:
        raise ValueError(f"{name} values should be between {bound}, but got {value}.")
    return None if value[0] == value[1] == center else tuple(value)


def _happens(p):
    return float(_torch().rand((1,)).item()) < p


def _below(high, low=0):
    """An integer from low to high - 1."""
    return int(_torch().randint(low, high, (1,)).item())


class _Sometimes(_Printed):
    """Changes the image with probability p."""

    _weft_shown = ("p",)

    def __init__(self, p=0.5):
        super().__init__()
        self.p = p

    def forward(self, img):
        return self._weft_change(img) if _happens(self.p) else img


class RandomHorizontalFlip(_Sometimes):
    def _weft_change(self, img):
        return F.hflip(img)


class RandomVerticalFlip(_Sometimes):
    def _weft_change(self, img):
        return F.vflip(img)


class RandomInvert(_Sometimes):
    def _weft_change(self, img):
        return F.invert(img)


class RandomAutocontrast(_Sometimes):
    def _weft_change(self, img):
        return F.autocontrast(img)


class RandomEqualize(_Sometimes):
    def _weft_change(self, img):
        return F.equalize(img)


class RandomGrayscale(_Sometimes):
    def __init__(self, p=0.1):
        super().__init__(p)

    def _weft_change(self, img):
        return F.rgb_to_grayscale(img, F.get_image_num_channels(img))


class RandomPosterize(_Sometimes):
    _weft_shown = ("bits", "p")

    def __init__(self, bits, p=0.5):
        super().__init__(p)
        self.bits = bits

    def _weft_change(self, img):
        return F.posterize(img, self.bits)


class RandomSolarize(_Sometimes):
    _weft_shown = ("threshold", "p")

    def __init__(self, threshold, p=0.5):
        super().__init__(p)
        self.threshold = threshold

    def _weft_change(self, img):
        return F.solarize(img, self.threshold)


class RandomAdjustSharpness(_Sometimes):
    _weft_shown = ("sharpness_factor", "p")

    def __init__(self, sharpness_factor, p=0.5):
        super().__init__(p)
        self.sharpness_factor = sharpness_factor

    def _weft_change(self, img):
        return F.adjust_sharpness(img, self.sharpness_factor)


class RandomApply(Module):
    """All of the transforms with probability p, or none."""

    def __init__(self, transforms, p=0.5):
        super().__init__()
        self.transforms = transforms
        self.p = p

    def forward(self, img):
        if self.p < _torch().rand((1,)).item():
            return img
        for transform in self.transforms:
            img = transform(img)
        return img

    def __repr__(self):
        lines = [
            f"{type(self).__name__}(",
            f"    p={self.p}",
            *(f"    {transform}" for transform in self.transforms),
        ]
        return "\n".join(lines) + "\n)"


class RandomOrder(Compose):
    """The transforms in random order."""

    def __call__(self, img):
        import random

        order = list(range(len(self.transforms)))
        random.shuffle(order)
        for i in order:
            img = self.transforms[i](img)
        return img


class RandomChoice(Compose):
    """One of the transforms; p: their weights."""

    def __init__(self, transforms, p=None):
        super().__init__(transforms)
        self.p = p

    def __call__(self, *args):
        import random

        return random.choices(self.transforms, weights=self.p)[0](*args)


class RandomCrop(_Printed):
    """A part of this size, somewhere; of the padded image where padding is given."""

    _weft_shown = ("size", "padding")

    def __init__(self, size, padding=None, pad_if_needed=False, fill=0, padding_mode="constant"):
        super().__init__()
        self.size = _size_of(size)
        self.padding = padding
        self.pad_if_needed = pad_if_needed
        self.fill = fill
        self.padding_mode = padding_mode

    @staticmethod
    def get_params(img, output_size):
        _, height, width = F.get_dimensions(img)
        th, tw = output_size
        if height < th or width < tw:
            raise ValueError(
                f"Required crop size {(th, tw)} is larger than input image size {(height, width)}"
            )
        if width == tw and height == th:
            return 0, 0, height, width
        return _below(height - th + 1), _below(width - tw + 1), th, tw

    def forward(self, img):
        if self.padding is not None:
            img = F.pad(img, self.padding, self.fill, self.padding_mode)
        _, height, width = F.get_dimensions(img)
        if self.pad_if_needed and width < self.size[1]:
            img = F.pad(img, [self.size[1] - width, 0], self.fill, self.padding_mode)
        if self.pad_if_needed and height < self.size[0]:
            img = F.pad(img, [0, self.size[0] - height], self.fill, self.padding_mode)
        return F.crop(img, *self.get_params(img, self.size))


class RandomResizedCrop(_Printed):
    """A part of random area and aspect ratio, in this size."""

    _weft_shown = ("size", "scale", "ratio", "interpolation", "antialias")

    def __init__(self, size, scale=(0.08, 1.0), ratio=(3.0 / 4.0, 4.0 / 3.0), interpolation=InterpolationMode.BILINEAR,
                 antialias=True):  # fmt: skip
        super().__init__()
        self.size = _size_of(size)
        self.scale = scale
        self.ratio = ratio
        self.interpolation = mode_of(interpolation)
        self.antialias = antialias

    @staticmethod
    def get_params(img, scale, ratio):
        _, height, width = F.get_dimensions(img)
        area = height * width
        low, high = (math.log(each) for each in ratio)
        for _ in range(10):
            target = area * _uniform(*scale)
            aspect = math.exp(_uniform(low, high))
            w, h = int(round(math.sqrt(target * aspect))), int(round(math.sqrt(target / aspect)))
            if 0 < w <= width and 0 < h <= height:
                return _below(height - h + 1), _below(width - w + 1), h, w
        w, h = width, height
        if width / height < min(ratio):
            h = int(round(w / min(ratio)))
        elif width / height > max(ratio):
            w = int(round(h * max(ratio)))
        return (height - h) // 2, (width - w) // 2, h, w

    _weft_resized_crop = staticmethod(F.resized_crop)

    def forward(self, img):
        box = self.get_params(img, self.scale, self.ratio)
        return self._weft_resized_crop(img, *box, self.size, self.interpolation, antialias=self.antialias)

    def __repr__(self):
        scale, ratio = (tuple(round(each, 4) for each in pair) for pair in (self.scale, self.ratio))
        return (
            f"{type(self).__name__}(size={self.size}, scale={scale}, ratio={ratio}, "
            f"interpolation={self.interpolation.value}, antialias={self.antialias})"
        )


class ColorJitter(_Printed):
    """Brightness, contrast, saturation and hue changed by random amounts, in random order."""

    _weft_shown = ("brightness", "contrast", "saturation", "hue")

    def __init__(self, brightness=0, contrast=0, saturation=0, hue=0):
        super().__init__()
        self.brightness = _range_about(brightness, "brightness")
        self.contrast = _range_about(contrast, "contrast")
        self.saturation = _range_about(saturation, "saturation")
        self.hue = _range_about(hue, "hue", center=0, bound=(-0.5, 0.5), clip=False)

    @staticmethod
    def get_params(brightness, contrast, saturation, hue):
        order = _torch().randperm(4)
        return (
            order,
            *(None if each is None else _uniform(*each) for each in (brightness, contrast, saturation, hue)),
        )

    def forward(self, img):
        order, *factors = self.get_params(self.brightness, self.contrast, self.saturation, self.hue)
        changes = (F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue)
        for i in order.tolist():
            if factors[i] is not None:
                img = changes[i](img, factors[i])
        return img


def _degrees(degrees, name="degrees"):
    if isinstance(degrees, numbers.Number):
        if degrees < 0:
            raise ValueError(f"If {name} is a single number, it must be positive.")
        degrees = [-degrees, degrees]
    if len(degrees) not in (2, 4):
        raise ValueError(f"{name} should be a sequence of length 2.")
    return [float(each) for each in degrees]


def _filled(img, fill):
    if not isinstance(img, weft.Tensor):
        return fill
    count = F.get_dimensions(img)[0]
    return [float(fill)] * count if isinstance(fill, numbers.Number) else [float(each) for each in fill]


class RandomRotation(_Printed):
    """See functional.rotate; the angle is random."""

    _weft_shown = ("degrees", "interpolation", "expand", "fill")

    def __init__(self, degrees, interpolation=InterpolationMode.NEAREST, expand=False, center=None, fill=0):
        super().__init__()
        self.degrees = _degrees(degrees)
        self.center = center
        self.interpolation = mode_of(interpolation)
        self.expand = expand
        self.fill = 0 if fill is None else fill

    @staticmethod
    def get_params(degrees):
        return _uniform(*degrees)

    def forward(self, img):
        angle = self.get_params(self.degrees)
        return F.rotate(img, angle, self.interpolation, self.expand, self.center, _filled(img, self.fill))


class RandomAffine(_Printed):
    """See functional.affine; angle, translation, scale and shear are random."""

    _weft_shown = ("degrees", "translate", "scale", "shear")

    def __init__(self, degrees, translate=None, scale=None, shear=None, interpolation=InterpolationMode.NEAREST, fill=0,
                 center=None):  # fmt: skip
        super().__init__()
        self.degrees = _degrees(degrees)
        self.translate = translate
        self.scale = scale
        self.shear = None if shear is None else _degrees(shear, "shear")
        self.interpolation = mode_of(interpolation)
        self.fill = 0 if fill is None else fill
        self.center = center

    @staticmethod
    def get_params(degrees, translate, scale_ranges, shears, img_size):
        angle, moved, scale, shear = _uniform(*degrees), (0, 0), 1.0, [0.0, 0.0]
        if translate is not None:
            limits = [float(share * size) for share, size in zip(translate, img_size)]
            moved = tuple(int(round(_uniform(-limit, limit))) for limit in limits)
        if scale_ranges is not None:
            scale = _uniform(*scale_ranges)
        if shears is not None:
            shear = [_uniform(*shears[:2]), _uniform(*shears[2:]) if len(shears) == 4 else 0.0]
        return angle, moved, scale, tuple(shear)

    def forward(self, img):
        _, height, width = F.get_dimensions(img)
        chosen = self.get_params(self.degrees, self.translate, self.scale, self.shear, [width, height])
        return F.affine(img, *chosen, self.interpolation, _filled(img, self.fill), self.center)


class RandomPerspective(_Printed):
    """See functional.perspective, with probability p and random corners."""

    _weft_shown = ("p",)

    def __init__(self, distortion_scale=0.5, p=0.5, interpolation=InterpolationMode.BILINEAR, fill=0):
        super().__init__()
        self.p = p
        self.distortion_scale = distortion_scale
        self.interpolation = mode_of(interpolation)
        self.fill = 0 if fill is None else fill

    @staticmethod
    def get_params(width, height, distortion_scale):
        dx, dy = int(distortion_scale * (width // 2)) + 1, int(distortion_scale * (height // 2)) + 1
        top_left = [_below(dx), _below(dy)]
        top_right = [_below(width, width - dx), _below(dy)]
        bottom_right = [_below(width, width - dx), _below(height, height - dy)]
        bottom_left = [_below(dx), _below(height, height - dy)]
        corners = [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]]
        return corners, [top_left, top_right, bottom_right, bottom_left]

    def forward(self, img):
        if not _happens(self.p):
            return img
        _, height, width = F.get_dimensions(img)
        corners, moved = self.get_params(width, height, self.distortion_scale)
        return F.perspective(img, corners, moved, self.interpolation, _filled(img, self.fill))


class RandomErasing(_Printed):
    """A random rectangle set to `value` ("random": noise), with probability p."""

    _weft_shown = ("p", "scale", "ratio", "value", "inplace")

    def __init__(self, p=0.5, scale=(0.02, 0.33), ratio=(0.3, 3.3), value=0, inplace=False):
        super().__init__()
        self.p = p
        self.scale = scale
        self.ratio = ratio
        self.value = value
        self.inplace = inplace

    @staticmethod
    def get_params(img, scale, ratio, value=None):
        channels, height, width = img.shape[-3:]
        low, high = (math.log(each) for each in ratio)
        for _ in range(10):
            area = height * width * _uniform(*scale)
            aspect = math.exp(_uniform(low, high))
            h, w = int(round(math.sqrt(area * aspect))), int(round(math.sqrt(area / aspect)))
            if not (h < height and w < width):
                continue
            if value is None:
                fill = _torch().empty((channels, h, w), dtype=img.dtype).normal_()
            else:
                fill = weft.asarray([float(each) for each in value]).to(img.dtype).reshape((-1, 1, 1))
            return _below(height - h + 1), _below(width - w + 1), h, w, fill
        return 0, 0, height, width, img

    def forward(self, img):
        if not _happens(self.p):
            return img
        value = (
            None
            if self.value == "random"
            else [self.value]
            if isinstance(self.value, numbers.Number)
            else list(self.value)
        )
        return F.erase(img, *self.get_params(img, self.scale, self.ratio, value), self.inplace)


def _pair(value, name):
    """[first, second] of one float, or of two."""
    if isinstance(value, float):
        return [value, value]
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"{name} should be float or a sequence of floats. Got {type(value)}")
    if len(value) != 2:
        raise ValueError(f"If {name} is a sequence its length should be 2. Got {len(value)}")
    for each in value:
        if not isinstance(each, float):
            raise TypeError(f"{name} should be a sequence of floats. Got {type(each)}")
    return value


class ElasticTransform(Module):
    """Pixels from beside their places: see functional.elastic_transform. alpha: how far, in x and y; sigma: how smoothly."""

    def __init__(self, alpha=50.0, sigma=5.0, interpolation=InterpolationMode.BILINEAR, fill=0):
        super().__init__()
        self.alpha, self.sigma = _pair(alpha, "alpha"), _pair(sigma, "sigma")
        self.interpolation = mode_of(interpolation)
        if not isinstance(fill, (int, float, list, tuple)):
            raise TypeError(f"fill should be int or float or a list or tuple of them. Got {type(fill)}")
        self.fill = [float(each) for each in (fill if isinstance(fill, (list, tuple)) else [fill])]

    @staticmethod
    def get_params(alpha, sigma, size):
        """A displacement[1, H, W, 2] of this size [height, width]."""
        parts = []
        for across, smooth, extent in zip(alpha, sigma, reversed(size)):
            part = _torch().rand([1, 1, *size]) * 2 - 1
            if smooth > 0.0:
                part = F.gaussian_blur(part, [int(8 * smooth + 1) | 1] * 2, list(sigma))
            parts.append(part * across / extent)
        return weft.cat(parts, 1).permute(0, 2, 3, 1)

    def forward(self, tensor):
        _, height, width = F.get_dimensions(tensor)
        displacement = self.get_params(self.alpha, self.sigma, [height, width])
        return F.elastic_transform(tensor, displacement, self.interpolation, self.fill)

    def __repr__(self):
        names = ("alpha", "sigma", "interpolation", "fill")
        return f"ElasticTransform({', '.join(f'{name}={getattr(self, name)}' for name in names)})"
