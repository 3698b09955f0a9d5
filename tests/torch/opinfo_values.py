"""Arguments and results of calls as plain data, which a Python with PyTorch writes and one with weft reads.

A tensor is its memory, sizes, strides and offset; tensors of one call that share memory share it when they are read.
"""

import numpy

# What bytes of a tensor are read as; dtypes that NumPy does not have are moved as integers of their size.
MEMORY = {
    "bool": "bool",
    "uint8": "uint8",
    "int8": "int8",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
    "float16": "float16",
    "bfloat16": "int16",
    "float32": "float32",
    "float64": "float64",
    "complex64": "complex64",
    "complex128": "complex128",
}
NAMED = ("dtype", "memory_format", "layout")


class NotPlain(Exception):
    """A value that cannot be written: a function, a tensor of another layout, a dtype of its own."""


def short_name(value):
    return str(value).rsplit(".", 1)[-1]


class Writer:
    """The values of one call, and the memory that its tensors lie in."""

    def __init__(self, torch):
        self.torch = torch
        self.memory = []
        self.places = {}
        self.kept = []

    def tensor(self, value):
        torch = self.torch
        if (
            value.layout != torch.strided
            or value.is_quantized
            or type(value) not in (torch.Tensor, torch.nn.Parameter)
        ):
            raise NotPlain(f"a tensor: {type(value).__name__}, {value.layout}")
        if value.device.type != "cpu":
            return ("meta", short_name(value.dtype), tuple(value.shape), value.device.type)
        value = value.detach().resolve_conj().resolve_neg()
        dtype = short_name(value.dtype)
        if dtype not in MEMORY:
            raise NotPlain(f"a tensor: {dtype}")
        storage = value.untyped_storage()
        self.kept.append(storage)  # as long as its address says which it is
        key = (storage.data_ptr(), dtype) if storage.nbytes() else None
        if key is None or key not in self.places:
            whole = torch.empty(0, dtype=value.dtype).set_(storage)
            if dtype == "bfloat16":
                whole = whole.view(torch.int16)
            # A copy: what NumPy has seen is not resized any more.
            self.memory.append(whole.clone().numpy())
            self.places[key] = len(self.memory) - 1
        place = self.places[key] if key is not None else len(self.memory) - 1
        return ("tensor", dtype, place, tuple(value.shape), value.stride(), value.storage_offset())

    def __call__(self, value):
        torch = self.torch
        if isinstance(value, torch.Tensor):
            return self.tensor(value)
        if value is None or type(value) in (bool, int, float, complex, str):
            return value
        if value is Ellipsis:
            return ("ellipsis",)
        if type(value) in (list, tuple, torch.Size):
            kind = "list" if type(value) is list else "tuple"
            return (kind, [self(each) for each in value])
        if type(value) is dict:
            return ("dict", [(key, self(each)) for key, each in value.items()])
        if isinstance(value, slice):
            return ("slice", [self(each) for each in (value.start, value.stop, value.step)])
        if type(value).__name__ in NAMED:
            return ("name", short_name(value))
        if isinstance(value, torch.device):
            return ("device", str(value))
        if isinstance(value, numpy.generic):
            return ("scalar", value.dtype.name, value.item())
        raise NotPlain(type(value).__name__)


class Reader:
    """What a Writer wrote, over fresh memory."""

    def __init__(self, torch, memory):
        self.torch = torch
        self.memory = memory
        self.made = {}

    def tensor(self, dtype, place, shape, strides, offset):
        torch = self.torch
        if place not in self.made:
            whole = torch.from_numpy(self.memory[place].copy())
            self.made[place] = whole.view(torch.bfloat16) if dtype == "bfloat16" else whole
        return torch.as_strided(self.made[place], shape, strides, offset)

    def __call__(self, value):
        torch = self.torch
        if type(value) is not tuple:
            return value
        kind, *rest = value
        if kind == "tensor":
            return self.tensor(*rest)
        if kind == "meta":
            return torch.empty(rest[1], dtype=getattr(torch, rest[0]), device=rest[2])
        if kind in ("list", "tuple"):
            return (list if kind == "list" else tuple)(self(each) for each in rest[0])
        if kind == "dict":
            return {key: self(each) for key, each in rest[0]}
        if kind == "slice":
            return slice(*(self(each) for each in rest[0]))
        if kind == "name":
            return getattr(torch, rest[0])
        if kind == "device":
            return torch.device(rest[0])
        if kind == "scalar":
            return numpy.dtype(rest[0]).type(rest[1])
        return Ellipsis


class Results:
    """Results as trees over arrays, in the form that `recorded.Answers` compares."""

    def __init__(self, torch):
        self.torch = torch
        self.arrays = {}

    def tensor(self, value):
        torch = self.torch
        if value.layout != torch.strided or value.is_quantized or value.device.type != "cpu":
            raise NotPlain("a tensor of another layout or device")
        value = value.detach().resolve_conj().resolve_neg()
        dtype = short_name(value.dtype)
        if dtype not in MEMORY:
            raise NotPlain(f"a tensor: {dtype}")
        if dtype in ("bfloat16", "float16"):
            value = value.to(torch.float32)
        key = str(len(self.arrays))
        self.arrays[key] = value.numpy().copy()
        return {"tensor": key, "dtype": dtype, "strides": list(value.stride())}

    def __call__(self, value):
        if isinstance(value, self.torch.Tensor):
            return self.tensor(value)
        kind = type(value).__name__
        if isinstance(value, tuple | list):
            names = [name for name in getattr(type(value), "__match_args__", ())]
            return {"type": kind, "items": [self(each) for each in value], "names": names}
        if kind == "float":
            return {"type": kind, "value": repr(value)}
        if value is None or kind in ("bool", "int", "complex", "str"):
            return {"type": kind, "value": value}
        if kind == "dtype":
            return {"type": kind, "value": str(value)}
        raise NotPlain(kind)
