"""The memory of tensors as PyTorch names it: bytes (UntypedStorage), and elements of one dtype (TypedStorage)."""

import weft
from weft import _C

DTYPES = {
    name: getattr(weft, name)
    for name in """
        float16 float32 float64 bfloat16 complex64 complex128 bool uint8 int8 int16 int32 int64 uint16 uint32 uint64
        float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu
    """.split()
} | {name: getattr(_C, name) for name in ("qint8", "quint8", "qint32", "quint4x2")}


class _Memory:
    """What both kinds are asked."""

    is_sparse = False
    is_cuda = property(lambda self: self.device.type == "cuda")

    def cpu(self):
        return self._moved("cpu")

    def cuda(self, device=None, non_blocking=False):
        from .cuda import require

        require("Storage")
        return self._moved("cuda" if device is None else device)

    def __iter__(self):
        return iter(self.tolist())

    def is_shared(self):
        return False

    def is_pinned(self, device="cuda"):
        return False

    def share_memory_(self):
        return self

    def __repr__(self):
        kind = "UntypedStorage" if isinstance(self, UntypedStorage) else "TypedStorage"
        dtype = f"dtype={self.dtype}, " if kind == "TypedStorage" else ""
        lines = "" if self.device.type == "meta" else "".join(f" {value}\n" for value in self.tolist())
        return f"{lines}[torch.storage.{kind}({dtype}device={self.device}) of size {self.size()}]"


class StorageBase(_Memory):
    """What storages of bytes are."""


class UntypedStorage(StorageBase):
    """The bytes that tensors are views of."""

    is_unread = False  # of a file whose tensors come before their bytes, as long as these have not come

    def __init__(self, size=0, *, device=None):
        self._bytes = weft.empty((size,), dtype=weft.uint8)

    @classmethod
    def _of(cls, data):
        """Of a tensor of uint8; the memory is its own."""
        result = object.__new__(cls)
        result._bytes = data
        return result

    @classmethod
    def _meta(cls, nbytes):
        return cls._of(weft.empty((nbytes,), dtype=weft.uint8, device="meta"))

    device = property(lambda self: self._bytes.device)

    def _moved(self, device):
        data = self._bytes.to(device)
        return self if data is self._bytes else UntypedStorage._of(data)

    def nbytes(self):
        """How many bytes there are."""
        return self._bytes.shape[0]

    size = __len__ = nbytes

    def element_size(self):
        return 1

    def data_ptr(self):
        """The address of the first byte."""
        return 0 if self.device.type == "meta" else self._bytes.data_ptr()

    _cdata = property(data_ptr)

    def untyped(self):
        return self

    def tolist(self):
        return self._bytes.tolist()

    def fill_(self, value):
        self._bytes.fill_(value)
        return self

    def copy_(self, source, non_blocking=None):
        self._bytes.copy_(source._bytes)
        return self

    def clone(self):
        return UntypedStorage._of(self._bytes.clone())

    def __getitem__(self, index):
        part = self._bytes[index]
        return UntypedStorage._of(part) if isinstance(index, slice) else part.item()

    def __setitem__(self, index, value):
        self._bytes[index] = value

    def __eq__(self, other):
        return isinstance(other, UntypedStorage) and self.data_ptr() == other.data_ptr()

    def __hash__(self):
        return hash(self.data_ptr())


class TypedStorage(_Memory):
    """The memory that tensors are views of, as elements of their dtype."""

    dtype = None

    def __init__(self, *args, wrap_storage=None, dtype=None, device=None, _internal=False):
        self.dtype = dtype or type(self).dtype or weft.get_default_dtype()
        if wrap_storage is not None:
            self._untyped = wrap_storage
        elif len(args) == 1 and not isinstance(args[0], int):
            self._untyped = untyped_storage(weft.tensor(list(args[0]), dtype=self.dtype))
        else:
            self._untyped = UntypedStorage((args[0] if args else 0) * self.dtype.itemsize)

    @classmethod
    def _of(cls, untyped, dtype):
        return TYPES.get(dtype, TypedStorage)(wrap_storage=untyped, dtype=dtype)

    device = property(lambda self: self._untyped.device)

    def _moved(self, device):
        data = self._untyped._moved(device)
        return self if data is self._untyped else TypedStorage._of(data, self.dtype)

    _dtype = property(lambda self: self.dtype)

    def untyped(self):
        """The same memory as bytes."""
        return self._untyped

    _untyped_storage = property(untyped)

    def nbytes(self):
        return self._untyped.nbytes()

    def size(self):
        """How many elements there are."""
        return self.nbytes() // self.dtype.itemsize

    __len__ = size

    def element_size(self):
        return self.dtype.itemsize

    def data_ptr(self):
        return self._untyped.data_ptr()

    def _elements(self):
        data = self._untyped._bytes
        start = data.storage_offset() // self.dtype.itemsize
        return _C._storage_view(data, self.dtype, (self.size(),), (1,), start)

    def tolist(self):
        return self._elements().tolist()

    def fill_(self, value):
        self._elements().fill_(value)
        return self

    def copy_(self, source, non_blocking=None):
        self._elements().copy_(source._elements())
        return self

    def clone(self):
        return type(self)(wrap_storage=self._untyped.clone(), dtype=self.dtype)

    def __getitem__(self, index):
        return self._elements()[index].item()

    def __setitem__(self, index, value):
        self._elements()[index] = value


def _storage_type(name, dtype):
    return type(name, (TypedStorage,), {"dtype": dtype, "__module__": "torch"})


BoolStorage = _storage_type("BoolStorage", weft.bool)
ByteStorage = _storage_type("ByteStorage", weft.uint8)
CharStorage = _storage_type("CharStorage", weft.int8)
ShortStorage = _storage_type("ShortStorage", weft.int16)
IntStorage = _storage_type("IntStorage", weft.int32)
LongStorage = _storage_type("LongStorage", weft.int64)
HalfStorage = _storage_type("HalfStorage", weft.float16)
BFloat16Storage = _storage_type("BFloat16Storage", weft.bfloat16)
FloatStorage = _storage_type("FloatStorage", weft.float32)
DoubleStorage = _storage_type("DoubleStorage", weft.float64)
ComplexFloatStorage = _storage_type("ComplexFloatStorage", weft.complex64)
ComplexDoubleStorage = _storage_type("ComplexDoubleStorage", weft.complex128)
QInt8Storage = _storage_type("QInt8Storage", _C.qint8)
QUInt8Storage = _storage_type("QUInt8Storage", _C.quint8)
QInt32Storage = _storage_type("QInt32Storage", _C.qint32)
QUInt4x2Storage = _storage_type("QUInt4x2Storage", _C.quint4x2)
TYPES = {each.dtype: each for each in TypedStorage.__subclasses__()}


def storage_name(dtype):
    """The name of PyTorch's storages of the dtype; None where it has none."""
    return TYPES[dtype].__name__ if dtype in TYPES else None


def untyped_storage(tensor):
    """The tensor's whole storage."""
    if tensor.device.type == "meta":
        return UntypedStorage._meta(tensor.numel() * tensor.dtype.itemsize)
    return UntypedStorage._of(_C._storage_bytes(tensor))


def storage(tensor):
    """The tensor's whole storage, of its dtype."""
    return TypedStorage._of(untyped_storage(tensor), tensor.dtype)


typed_storage = _typed_storage = storage
