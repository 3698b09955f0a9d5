"""torch.storage's names: the memory of tensors."""

import weft
from weft import _C

DTYPES = {
    name: getattr(weft, name)
    for name in """
        float16 float32 float64 bfloat16 complex64 complex128 bool uint8 int8 int16 int32 int64 uint16 uint32 uint64
    """.split()
}
_STORAGES = {
    weft.float32: "FloatStorage",
    weft.float64: "DoubleStorage",
    weft.float16: "HalfStorage",
    weft.bfloat16: "BFloat16Storage",
    weft.int64: "LongStorage",
    weft.int32: "IntStorage",
    weft.int16: "ShortStorage",
    weft.int8: "CharStorage",
    weft.uint8: "ByteStorage",
    weft.bool: "BoolStorage",
    weft.complex64: "ComplexFloatStorage",
    weft.complex128: "ComplexDoubleStorage",
}


def storage_name(dtype):
    """The name of PyTorch's storages of the dtype; None where it has none."""
    return _STORAGES.get(dtype)


class UntypedStorage:
    """Bytes that tensors share."""

    def __init__(self, size=0, *, device=None):
        self._bytes = weft.empty((size,), dtype=weft.uint8)

    @classmethod
    def _of(cls, data):
        result = object.__new__(cls)
        result._bytes = data
        result._nbytes = data.shape[0]
        return result

    @classmethod
    def _meta(cls, nbytes):
        result = object.__new__(cls)
        result._bytes, result._nbytes = None, nbytes
        return result

    @property
    def device(self):
        return weft.device("meta" if self._bytes is None else "cpu")

    is_cuda = is_sparse = False

    def nbytes(self):
        return self._nbytes if self._bytes is None else self._bytes.shape[0]

    size = __len__ = nbytes

    def element_size(self):
        return 1

    def data_ptr(self):
        return 0 if self._bytes is None else self._bytes.data_ptr()

    _cdata = property(data_ptr)

    def tolist(self):
        return self._bytes.tolist()

    def cpu(self):
        return self

    def cuda(self, device=None, non_blocking=False):
        from .cuda import NO_GPU

        raise RuntimeError(NO_GPU)

    def clone(self):
        return UntypedStorage._of(self._bytes.clone())

    def copy_(self, source, non_blocking=None):
        self._bytes.copy_(source._bytes)
        return self

    def __getitem__(self, index):
        part = self._bytes[index]
        return UntypedStorage._of(part) if isinstance(index, slice) else part.item()

    def __setitem__(self, index, value):
        self._bytes[index] = value

    def __eq__(self, other):
        return isinstance(other, UntypedStorage) and self.data_ptr() == other.data_ptr()

    def __hash__(self):
        return hash(self.data_ptr())

    def is_pinned(self, device="cuda"):
        return False

    def is_shared(self):
        return False

    def __repr__(self):
        return f"[torch.storage.UntypedStorage(device={self.device}) of size {self.nbytes()}]"


class TypedStorage:
    """Bytes and the dtype that they are of."""

    def __init__(self, *args, wrap_storage=None, dtype=None, device=None, _internal=False):
        self._dtype = dtype or weft.float32
        self._untyped = wrap_storage or UntypedStorage((args[0] if args else 0) * self._dtype.itemsize)

    @classmethod
    def _of(cls, untyped, dtype):
        result = object.__new__(cls)
        result._untyped, result._dtype = untyped, dtype
        return result

    @property
    def dtype(self):
        return self._dtype

    @property
    def device(self):
        return self._untyped.device

    is_cuda = is_sparse = False

    def untyped(self):
        return self._untyped

    def nbytes(self):
        return self._untyped.nbytes()

    def size(self):
        return self.nbytes() // self._dtype.itemsize

    __len__ = size

    def element_size(self):
        return self._dtype.itemsize

    def data_ptr(self):
        return self._untyped.data_ptr()

    def _tensor(self):
        data = self._untyped._bytes
        return _C._storage_view(
            data, self._dtype, (self.size(),), (1,), data.storage_offset() // self._dtype.itemsize
        )

    def tolist(self):
        return self._tensor().tolist()

    def cpu(self):
        return self

    def cuda(self, device=None, non_blocking=False):
        return self._untyped.cuda()

    def clone(self):
        return TypedStorage._of(self._untyped.clone(), self._dtype)

    def __getitem__(self, index):
        return self._tensor()[index].item()

    def __setitem__(self, index, value):
        self._tensor()[index] = value

    def __repr__(self):
        return f"{self.tolist()}\n[torch.storage.TypedStorage(dtype={self._dtype}, device={self.device}) of size {self.size()}]"


def untyped_storage(tensor):
    """The tensor's whole storage."""
    if tensor.device.type == "meta":
        return UntypedStorage._meta(tensor.numel() * tensor.dtype.itemsize)
    return UntypedStorage._of(_C._storage_bytes(tensor))


def storage(tensor):
    """The tensor's whole storage, of its dtype."""
    return TypedStorage._of(untyped_storage(tensor), tensor.dtype)


typed_storage = _typed_storage = storage
