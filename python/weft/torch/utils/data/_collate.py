"""How items become a batch."""

import collections.abc
import re

import weft

# The kinds of NumPy's arrays that stay as they are.
np_str_obj_array_pattern = re.compile(r"[SaUO]")


def get_worker_info():
    """None: the process itself loads."""
    return None


def _array(value):
    return type(value).__module__ == "numpy"


def default_convert(data):
    """Arrays as tensors, within containers too."""
    if isinstance(data, weft.Tensor) or isinstance(data, (str, bytes)):
        return data
    if _array(data):
        return data if data.dtype.kind in "SUO" else weft.as_tensor(data)
    if isinstance(data, collections.abc.Mapping):
        return type(data)({key: default_convert(value) for key, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(default_convert, data))
    if isinstance(data, (tuple, list)):
        return [default_convert(value) for value in data]
    return data


def collate_tensor_fn(batch, *, collate_fn_map=None):
    """A batch of tensors, stacked."""
    return weft.stack(list(batch), 0)


def default_collate(batch):
    """A batch of items: tensors stacked, numbers as a tensor, containers of these."""
    first = batch[0]
    if isinstance(first, weft.Tensor):
        return weft.stack(list(batch), 0)
    if _array(first):
        if first.dtype.kind in "SUO":
            raise TypeError(
                f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {first.dtype}"
            )
        if first.shape == ():
            import numpy

            return weft.as_tensor(numpy.array(batch))
        return weft.stack([weft.as_tensor(value) for value in batch], 0)
    if isinstance(first, float):
        return weft.tensor(batch, dtype=weft.float64)
    if isinstance(first, int):
        return weft.tensor(batch)
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, collections.abc.Mapping):
        result = {key: default_collate([item[key] for item in batch]) for key in first}
        return result if type(first) is dict else type(first)(result)
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*(default_collate(values) for values in zip(*batch, strict=True)))
    if isinstance(first, collections.abc.Sequence):
        if any(len(item) != len(first) for item in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        return [default_collate(values) for values in zip(*batch, strict=True)]
    raise TypeError(
        f"default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {type(first)}"
    )
