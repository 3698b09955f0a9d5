"""torch._utils' names that programs use: how tensors are made again from a file, several tensors as one, devices' numbers.

It is a private module of PyTorch's; what is not here raises AttributeError.
"""

import weft

from ._rebuild import (  # noqa: F401
    _rebuild_parameter,
    _rebuild_parameter_with_state,
    _rebuild_tensor,
    _rebuild_tensor_v2,
    _rebuild_tensor_v3,
    _rebuild_wrapper_subclass,
    attributes_of,
)


def _element_size(dtype):
    """The bytes of an element."""
    return dtype.itemsize


def _flatten_dense_tensors(tensors):
    """The elements of tensors of one dtype in a row: a tensor of one dimension."""
    return weft.cat([tensor.contiguous().view(-1) for tensor in tensors])


def _unflatten_dense_tensors(flat, tensors):
    """Parts of a tensor of one dimension in the shapes of the tensors: a tuple of views."""
    parts, start = [], 0
    for tensor in tensors:
        parts.append(flat.narrow(0, start, tensor.numel()).view(tensor.shape))
        start += tensor.numel()
    return tuple(parts)


def _get_device_index(device, optional=False, allow_cpu=False):
    """The number of a device that is a number, a name or a device; -1 for the CPU where it may be one. ValueError for others, and
    where it has no number and optional is false."""
    if isinstance(device, int):
        return device
    if device is not None:
        device = weft.device(device) if isinstance(device, str) else device
        if device.type == "cpu":
            if allow_cpu:
                return -1
            raise ValueError(f"Expected a non cpu device, but got: {device}")
        if device.index is not None:
            return device.index
    if not optional:
        raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")
    return weft.torch.cuda.current_device()


def _set_obj_state(obj, state):
    """The object with a state's attributes."""
    for name, value in attributes_of(state):
        setattr(obj, name, value)
    return obj
