"""What stands in for the package safetensors in programs that `python -m weft.torch` runs: a reader and writer of its files.

source: the format's description: 8 bytes with the header's size, a JSON header, the tensors' bytes.
"""

import json
import math
import os

import weft
from weft import _C

__version__ = "0.8.0"

MAX_HEADER = 100_000_000
DTYPES = {
    "BOOL": weft.bool,
    "U8": weft.uint8,
    "I8": weft.int8,
    "U16": weft.uint16,
    "I16": weft.int16,
    "U32": weft.uint32,
    "I32": weft.int32,
    "U64": weft.uint64,
    "I64": weft.int64,
    "F16": weft.float16,
    "BF16": weft.bfloat16,
    "F32": weft.float32,
    "F64": weft.float64,
    "C64": weft.complex64,
    "C128": weft.complex128,
    "F8_E4M3": weft.float8_e4m3fn,
    "F8_E5M2": weft.float8_e5m2,
    "F8_E8M0": weft.float8_e8m0fnu,
    "F8_E4M3FNUZ": weft.float8_e4m3fnuz,
    "F8_E5M2FNUZ": weft.float8_e5m2fnuz,
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}


class SafetensorError(Exception):
    """What is wrong with a file."""


def _unique(pairs):
    result = dict(pairs)
    if len(result) != len(pairs):
        raise SafetensorError("Error while deserializing header: a name is there twice")
    return result


def _is_size(value):
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _checked_entry(name, entry):
    """(dtype's name, shape, begin, end) of a header's entry."""
    if not isinstance(entry, dict) or not {"dtype", "shape", "data_offsets"} <= entry.keys():
        raise SafetensorError(
            f"Error while deserializing header: {name!r}: expected dtype, shape and data_offsets"
        )
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if dtype not in DTYPES:
        raise SafetensorError(f"Error while deserializing header: {name!r}: unknown dtype {dtype!r:.50}")
    if not isinstance(shape, list) or not all(map(_is_size, shape)):
        raise SafetensorError(
            f"Error while deserializing header: {name!r}: expected sizes of at least 0, got {shape!r:.100}"
        )
    if (
        not isinstance(offsets, list)
        or len(offsets) != 2
        or not all(map(_is_size, offsets))
        or offsets[0] > offsets[1]
    ):
        raise SafetensorError(f"Error while deserializing header: {name!r}: invalid offset {offsets!r:.100}")
    itemsize = DTYPES[dtype].itemsize
    if math.prod(shape) * itemsize != offsets[1] - offsets[0]:
        raise SafetensorError(
            f"Error while deserializing header: {name!r}: info data offsets mismatch: {shape} of {dtype} are "
            f"{math.prod(shape) * itemsize} bytes, got {offsets[1] - offsets[0]}"
        )
    return dtype, shape, *offsets


def read_header(read, size):
    """(entries, metadata, where the tensors' bytes begin) of a file of `size` bytes; read(n) gives its next n."""
    if size < 8:
        raise SafetensorError(
            "Error while deserializing header: HeaderTooSmall: the file has fewer than 8 bytes"
        )
    length = int.from_bytes(read(8), "little")
    if length > MAX_HEADER:
        raise SafetensorError(f"Error while deserializing header: HeaderTooLarge: {length} bytes")
    if length > size - 8:
        raise SafetensorError(
            f"Error while deserializing header: InvalidHeaderLength: {length} bytes in a file of {size}"
        )
    try:
        header = json.loads(read(length).decode(), object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise SafetensorError(
            f"Error while deserializing header: InvalidHeaderDeserialization: {error}"
        ) from None
    if not isinstance(header, dict):
        raise SafetensorError("Error while deserializing header: expected an object")
    metadata = header.pop("__metadata__", None)
    if metadata is not None and (
        not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values())
    ):
        raise SafetensorError("Error while deserializing header: expected __metadata__ to hold strings")
    entries = {name: _checked_entry(name, entry) for name, entry in header.items()}
    end = 0
    for name, (_, _, begin, stop) in sorted(entries.items(), key=lambda item: item[1][2:]):
        if begin != end:
            raise SafetensorError(
                f"Error while deserializing header: {name!r}: InvalidOffset: expected {end}, got {begin}"
            )
        end = stop
    if end != size - 8 - length:
        raise SafetensorError(
            f"Error while deserializing header: MetadataIncompleteBuffer: tensors of {end} bytes, and {size - 8 - length} there"
        )
    return entries, metadata, 8 + length


def tensor_of(data, entry, start):
    """The tensor of an entry over the file's bytes, a uint8 tensor whose tensors begin at `start`."""
    dtype, shape, begin, end = entry
    part = data[start + begin : start + end]
    itemsize = DTYPES[dtype].itemsize
    if part.storage_offset() % itemsize or part.data_ptr() % itemsize:
        part = part.clone()
    stride, strides = 1, []
    for size in reversed(shape):
        strides.insert(0, stride)
        stride *= max(size, 1)
    return _C._storage_view(
        part, DTYPES[dtype], tuple(shape), tuple(strides), part.storage_offset() // itemsize
    )


def _bytes_tensor(data):
    import numpy

    return weft.from_numpy(numpy.frombuffer(data, numpy.uint8))


def map_file(path):
    """The file's bytes as a tensor; writing to it does not change the file."""
    import mmap

    with open(path, "rb") as file:
        if os.fstat(file.fileno()).st_size == 0:
            return weft.empty((0,), dtype=weft.uint8)
        return _bytes_tensor(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))


class _Slice:
    """A tensor of a file, of which parts are read by indexing."""

    def __init__(self, tensor, convert):
        self._tensor, self._convert = tensor, convert

    def get_shape(self):
        return list(self._tensor.shape)

    def get_dtype(self):
        return NAMES[self._tensor.dtype]

    def __getitem__(self, index):
        return self._convert(self._tensor[index])


class safe_open:
    """Opens a file: keys(), get_tensor(name), get_slice(name), metadata(). A context manager.

    raises: FileNotFoundError; SafetensorError for a damaged file.
    """

    def __init__(self, filename, framework="pt", device="cpu", *, backend="mmap"):
        if framework not in ("pt", "torch", "pytorch", "np", "numpy"):
            raise SafetensorError(f"framework {framework!r} is not weft's: expected 'pt' or 'numpy'")
        if not os.path.exists(filename):
            raise FileNotFoundError(f"No such file or directory: {os.fspath(filename)!r}")
        self._numpy, self._device = framework in ("np", "numpy"), device
        size = os.path.getsize(filename)
        with open(filename, "rb") as file:
            self._entries, self._metadata, self._start = read_header(file.read, size)
        self._data = map_file(filename)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._data = None

    def keys(self):
        return sorted(self._entries)

    def offset_keys(self):
        return sorted(self._entries, key=lambda name: self._entries[name][2:])

    def metadata(self):
        return self._metadata

    def _find(self, name):
        if self._data is None:
            raise SafetensorError("File is closed")
        if name not in self._entries:
            raise SafetensorError(f"File does not contain tensor {name}")
        return tensor_of(self._data, self._entries[name], self._start)

    def _convert(self, tensor):
        return (
            tensor.numpy()
            if self._numpy
            else tensor
            if str(self._device) == "cpu"
            else tensor.to(self._device)
        )

    def get_tensor(self, name):
        return self._convert(self._find(name))

    def get_tensors(self):
        """All tensors by name."""
        return {name: self.get_tensor(name) for name in self.offset_keys()}

    def get_slice(self, name):
        return _Slice(self._find(name), self._convert)


def parts(tensors, metadata=None):
    """The bytes of a file of these tensors, in parts."""
    header = {}
    if metadata is not None:
        if not isinstance(metadata, dict) or not all(
            isinstance(k, str) and isinstance(v, str) for k, v in metadata.items()
        ):
            raise SafetensorError("metadata: expected strings by strings")
        header["__metadata__"] = dict(metadata)
    order = sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name))
    begin, data = 0, []
    for name in order:
        tensor = tensors[name]
        if tensor.dtype not in NAMES:
            raise SafetensorError(f"{name!r}: the format has no dtype {tensor.dtype}")
        flat = tensor.detach().cpu().contiguous()
        size = flat.numel() * flat.dtype.itemsize
        header[name] = {
            "dtype": NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [begin, begin + size],
        }
        begin += size
        stored = _C._storage_bytes(flat)
        at = flat.storage_offset() * flat.dtype.itemsize
        data.append(memoryview(stored[at : at + size]))
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return [len(text).to_bytes(8, "little"), text, *data]


def serialize_file(tensors, filename, metadata=None):
    from ..serialization import _replacing

    with _replacing(filename) as file:
        for part in parts(tensors, metadata):
            file.write(part)
