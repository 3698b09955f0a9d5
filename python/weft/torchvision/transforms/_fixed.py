"""Classes of torchvision.transforms that draw nothing: functions of images with their arguments kept."""

import numbers

import weft
from weft.nn import Module

from . import functional as F
from ._modes import InterpolationMode, mode_of

__all__ = [
    "CenterCrop", "Compose", "ConvertImageDtype", "FiveCrop", "GaussianBlur", "Grayscale", "Lambda",
    "LinearTransformation", "Normalize", "PILToTensor", "Pad", "Resize", "TenCrop", "ToPILImage", "ToTensor",
]  # fmt: skip


def _torch():
    import weft.torch

    return weft.torch


def _uniform(low, high):
    return float(_torch().empty((1,)).uniform_(low, high).item())


def _size_of(size, message="Please provide only two dimensions (h, w) for size."):
    size = (int(size), int(size)) if isinstance(size, numbers.Number) else tuple(size) * (3 - len(size))
    if len(size) != 2:
        raise ValueError(message)
    return size


class Compose:
    """Calls transforms one after the other."""

    def __init__(self, transforms):
        self.transforms = transforms

    def __call__(self, img):
        for transform in self.transforms:
            img = transform(img)
        return img

    def __repr__(self):
        lines = [f"{type(self).__name__}(", *(f"    {transform}" for transform in self.transforms)]
        return "\n".join(lines) + "\n)"


class ToTensor:
    """See functional.to_tensor."""

    def __call__(self, pic):
        return F.to_tensor(pic)

    def __repr__(self):
        return f"{type(self).__name__}()"


class PILToTensor(ToTensor):
    """See functional.pil_to_tensor."""

    def __call__(self, pic):
        return F.pil_to_tensor(pic)


class ToPILImage:
    """See functional.to_pil_image."""

    def __init__(self, mode=None):
        self.mode = mode

    def __call__(self, pic):
        return F.to_pil_image(pic, self.mode)

    def __repr__(self):
        return f"{type(self).__name__}({'' if self.mode is None else f'mode={self.mode}'})"


class Lambda:
    """A function of one's own."""

    def __init__(self, lambd):
        if not callable(lambd):
            raise TypeError(f"Argument lambd should be callable, got {type(lambd).__name__}")
        self.lambd = lambd

    def __call__(self, img):
        return self.lambd(img)

    def __repr__(self):
        return f"{type(self).__name__}()"


class ConvertImageDtype(Module):
    """See functional.convert_image_dtype."""

    def __init__(self, dtype):
        super().__init__()
        self.dtype = dtype

    def forward(self, image):
        return F.convert_image_dtype(image, self.dtype)


class _Printed(Module):
    """Says its arguments: `_weft_shown` are their names."""

    _weft_shown = ()

    def __repr__(self):
        values = [(name, getattr(self, name)) for name in self._weft_shown]
        text = ", ".join(
            f"{name}={value.value if isinstance(value, InterpolationMode) else value}"
            for name, value in values
        )
        return f"{type(self).__name__}({text})"


class Normalize(_Printed):
    """See functional.normalize."""

    _weft_shown = ("mean", "std")

    def __init__(self, mean, std, inplace=False):
        super().__init__()
        self.mean = mean
        self.std = std
        self.inplace = inplace

    def forward(self, tensor):
        return F.normalize(tensor, self.mean, self.std, self.inplace)


class Resize(_Printed):
    """See functional.resize."""

    _weft_shown = ("size", "interpolation", "max_size", "antialias")

    def __init__(self, size, interpolation=InterpolationMode.BILINEAR, max_size=None, antialias=True):
        super().__init__()
        if not isinstance(size, (int, tuple, list)):
            raise TypeError(f"Size should be int or sequence. Got {type(size)}")
        if not isinstance(size, int) and len(size) not in (1, 2):
            raise ValueError("If size is a sequence, it should have 1 or 2 values")
        self.size = size
        self.max_size = max_size
        self.interpolation = mode_of(interpolation)
        self.antialias = antialias

    _weft_resize = staticmethod(F.resize)

    def forward(self, img):
        return self._weft_resize(img, self.size, self.interpolation, self.max_size, self.antialias)


class CenterCrop(_Printed):
    """See functional.center_crop."""

    _weft_shown = ("size",)

    def __init__(self, size):
        super().__init__()
        self.size = _size_of(size)

    def forward(self, img):
        return F.center_crop(img, self.size)


class Pad(_Printed):
    """See functional.pad."""

    _weft_shown = ("padding", "fill", "padding_mode")

    def __init__(self, padding, fill=0, padding_mode="constant"):
        super().__init__()
        if not isinstance(padding, (numbers.Number, tuple, list)):
            raise TypeError("Got inappropriate padding arg")
        if padding_mode not in ("constant", "edge", "reflect", "symmetric"):
            raise ValueError("Padding mode should be either constant, edge, reflect or symmetric")
        if not isinstance(padding, numbers.Number) and len(padding) not in (1, 2, 4):
            raise ValueError(
                f"Padding must be an int or a 1, 2, or 4 element tuple, not a {len(padding)} element tuple"
            )
        self.padding = padding
        self.fill = fill
        self.padding_mode = padding_mode

    def forward(self, img):
        return F.pad(img, self.padding, self.fill, self.padding_mode)


class FiveCrop(_Printed):
    """See functional.five_crop."""

    _weft_shown = ("size",)

    def __init__(self, size):
        super().__init__()
        self.size = _size_of(size)

    def forward(self, img):
        return F.five_crop(img, self.size)


class TenCrop(_Printed):
    """See functional.ten_crop."""

    _weft_shown = ("size", "vertical_flip")

    def __init__(self, size, vertical_flip=False):
        super().__init__()
        self.size = _size_of(size)
        self.vertical_flip = vertical_flip

    def forward(self, img):
        return F.ten_crop(img, self.size, self.vertical_flip)


class Grayscale(_Printed):
    """See functional.rgb_to_grayscale."""

    _weft_shown = ("num_output_channels",)

    def __init__(self, num_output_channels=1):
        super().__init__()
        self.num_output_channels = num_output_channels

    def forward(self, img):
        return F.rgb_to_grayscale(img, self.num_output_channels)


class LinearTransformation(Module):
    """(tensor - mean_vector) @ transformation_matrix, over all elements of an image."""

    def __init__(self, transformation_matrix, mean_vector):
        super().__init__()
        rows, columns = transformation_matrix.shape
        if rows != columns or mean_vector.shape[0] != rows:
            raise ValueError(
                f"expected a square matrix and a vector of its size, got {rows}, {columns}, {mean_vector.shape[0]}"
            )
        self.transformation_matrix = transformation_matrix
        self.mean_vector = mean_vector

    def forward(self, tensor):
        size = tensor.shape[-3] * tensor.shape[-2] * tensor.shape[-1]
        flat = tensor.reshape((-1, size)) - self.mean_vector
        return weft.matmul(flat, self.transformation_matrix).reshape(tensor.shape)


class GaussianBlur(_Printed):
    """See functional.gaussian_blur; sigma is drawn between two numbers."""

    _weft_shown = ("kernel_size", "sigma")

    def __init__(self, kernel_size, sigma=(0.1, 2.0)):
        super().__init__()
        self.kernel_size = _size_of(kernel_size, "Kernel size should be a tuple/list of two integers")
        if any(size <= 0 or size % 2 == 0 for size in self.kernel_size):
            raise ValueError("Kernel size value should be an odd and positive number.")
        self.sigma = (float(sigma), float(sigma)) if isinstance(sigma, numbers.Number) else tuple(sigma)
        if not 0.0 < self.sigma[0] <= self.sigma[1]:
            raise ValueError(f"sigma values should be positive and of the form (min, max). Got {self.sigma}")

    @staticmethod
    def get_params(sigma_min, sigma_max):
        return _uniform(sigma_min, sigma_max)

    def forward(self, img):
        sigma = self.get_params(*self.sigma)
        return F.gaussian_blur(img, list(self.kernel_size), [sigma, sigma])
