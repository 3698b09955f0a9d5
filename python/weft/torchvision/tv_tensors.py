"""torchvision.tv_tensors: tensors that say what they are: images, videos, masks, boxes, points. What operators make of them are plain
tensors, but for copies and conversions, or all of it within set_return_type("TVTensor").

source: torchvision 0.29's documentation and behaviour.
"""

import enum

import weft.torch as torch
from weft.torch import _overriding
from weft.torch._C import DisableTorchFunctionSubclass
from weft.torch.utils._pytree import tree_leaves

from ._pillow import is_pillow_image

__all__ = ["BoundingBoxFormat", "BoundingBoxes", "Image", "KeyPoints", "Mask", "TVTensor", "Video",
           "is_rotated_bounding_format", "set_return_type", "wrap"]  # fmt: skip

_keeps_classes = False
_KEEPING = {torch.Tensor.clone, torch.Tensor.to, torch.Tensor.detach, torch.Tensor.requires_grad_}


class _ReturnType:
    def __init__(self, before):
        self.before = before

    def __enter__(self):
        return self

    def __exit__(self, *_):
        global _keeps_classes
        _keeps_classes = self.before


def set_return_type(return_type):
    """What operators return: "Tensor", or "TVTensor" for the operands' class; from now on, or within a with statement."""
    global _keeps_classes
    chosen = {"tensor": False, "tvtensor": True}.get(return_type.lower())
    if chosen is None:
        raise ValueError(f"return_type must be 'TVTensor' or 'Tensor', got {return_type}")
    before, _keeps_classes = _keeps_classes, chosen
    return _ReturnType(before)


class TVTensor(torch.Tensor):
    """What the classes have in common."""

    _weft_kept = ()  # attributes of results: the first operand's of this class

    @staticmethod
    def _weft_tensor(data, dtype, device, requires_grad):
        if requires_grad is None:
            requires_grad = data.requires_grad if isinstance(data, torch.Tensor) else False
        return torch.as_tensor(data, dtype=dtype, device=device).requires_grad_(requires_grad)

    @classmethod
    def _weft_like(cls, tensor, like, **given):
        made = tensor.as_subclass(cls)
        for name in cls._weft_kept:
            setattr(made, name, given.get(name, getattr(like, name, None)))
        return made

    @classmethod
    def _wrap_output(cls, output, args=(), kwargs=None):
        if isinstance(output, torch.Tensor) and not isinstance(output, cls):
            like = next((x for x in tree_leaves((args, kwargs or {})) if isinstance(x, cls)), None)
            return cls._weft_like(output, like)
        if isinstance(output, (tuple, list)):
            return type(output)(cls._wrap_output(part, args, kwargs) for part in output)
        return output

    @classmethod
    def wrap(cls, tensor, like, **kwargs):
        """The tensor as one of this class, with what `like` says, or the keywords."""
        return cls._weft_like(tensor, like, **kwargs)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if not all(issubclass(cls, each) for each in types):
            return NotImplemented
        with DisableTorchFunctionSubclass():
            output = func(*args, **(kwargs or {}))
        if _keeps_classes or (func in _KEEPING and isinstance(args[0], cls)):
            return cls._wrap_output(output, args, kwargs)
        return output.as_subclass(torch.Tensor) if isinstance(output, cls) else output

    def __deepcopy__(self, memo):
        return self.detach().clone().requires_grad_(self.requires_grad)

    def __repr__(self, *, tensor_contents=None):
        with DisableTorchFunctionSubclass():
            text = repr(self.as_subclass(torch.Tensor)).removeprefix("tensor")
        said = "".join(f", {name}={getattr(self, name)}" for name in self._weft_kept)
        return f"{type(self).__name__}{text[:-1]}{said or ', '})"


_overriding.on_class(TVTensor)  # as of a program's own class


def wrap(wrappee, *, like, **kwargs):
    """A tensor as one of like's class, with what that says, or the keywords."""
    return type(like).wrap(wrappee, like=like, **kwargs)


def _tensor_of(data, dtype, device, requires_grad):
    if is_pillow_image(data):
        from .transforms.functional import pil_to_tensor

        data = pil_to_tensor(data)
    return TVTensor._weft_tensor(data, dtype, device, requires_grad)


class Image(TVTensor):
    """[..., C, H, W]; of two dimensions, of Pillow's images, or of what as_tensor takes."""

    def __new__(cls, data, *, dtype=None, device=None, requires_grad=None):
        tensor = _tensor_of(data, dtype, device, requires_grad)
        if tensor.ndim < 2:
            raise ValueError(f"Tensor must be 2D or higher, got {tensor.ndim}D tensor.")
        return (tensor.unsqueeze(0) if tensor.ndim == 2 else tensor).as_subclass(cls)


class Video(TVTensor):
    """[..., T, C, H, W]"""

    def __new__(cls, data, *, dtype=None, device=None, requires_grad=None):
        tensor = cls._weft_tensor(data, dtype, device, requires_grad)
        if tensor.ndim < 4:
            raise ValueError
        return tensor.as_subclass(cls)


class Mask(TVTensor):
    """[..., H, W]"""

    def __new__(cls, data, *, dtype=None, device=None, requires_grad=None):
        return _tensor_of(data, dtype, device, requires_grad).as_subclass(cls)


class BoundingBoxFormat(enum.Enum):
    """What four numbers of a box are, or five, or eight, of rotated ones."""

    XYXY = "XYXY"
    XYWH = "XYWH"
    CXCYWH = "CXCYWH"
    XYWHR = "XYWHR"
    CXCYWHR = "CXCYWHR"
    XYXYXYXY = "XYXYXYXY"


def is_rotated_bounding_format(format):
    """Do boxes of a format, or of a format's name, have an angle?"""
    name = format.value if isinstance(format, BoundingBoxFormat) else str(format)
    return name in ("XYWHR", "CXCYWHR", "XYXYXYXY")


class BoundingBoxes(TVTensor):
    """[N, 4] of a format, on a canvas of canvas_size (height, width)."""

    _weft_kept = ("format", "canvas_size", "clamping_mode")

    def __new__(
        cls, data, *, format, canvas_size, clamping_mode="soft", dtype=None, device=None, requires_grad=None
    ):
        tensor = cls._weft_tensor(data, dtype, device, requires_grad)
        if is_rotated_bounding_format(format) and not tensor.is_floating_point():
            raise ValueError(f"Rotated bounding boxes should be floating point tensors, got {tensor.dtype}.")
        return cls.wrap(tensor, None, format=format, canvas_size=canvas_size, clamping_mode=clamping_mode)

    @classmethod
    def wrap(cls, tensor, like, **kwargs):
        if tensor.ndim not in (1, 2):
            raise ValueError(f"Expected a 1D or 2D tensor, got {tensor.ndim}D")
        made = cls._weft_like(tensor.unsqueeze(0) if tensor.ndim == 1 else tensor, like, **kwargs)
        if made.clamping_mode not in (None, "hard", "soft"):
            raise ValueError(f"clamping_mode must be None, hard or soft, got {made.clamping_mode}.")
        if isinstance(made.format, str):
            made.format = BoundingBoxFormat[made.format.upper()]
        return made


class KeyPoints(TVTensor):
    """[..., 2], of x and y, on a canvas of canvas_size (height, width)."""

    _weft_kept = ("canvas_size",)

    def __new__(cls, data, *, canvas_size, dtype=None, device=None, requires_grad=None):
        return cls.wrap(cls._weft_tensor(data, dtype, device, requires_grad), None, canvas_size=canvas_size)

    @classmethod
    def wrap(cls, tensor, like, **kwargs):
        if tensor.ndim > 1 and tensor.shape[-1] != 2:
            raise ValueError(f"Expected a tensor of shape (..., 2), not {tensor.shape}")
        return cls._weft_like(tensor.unsqueeze(0) if tensor.ndim == 1 else tensor, like, **kwargs)
