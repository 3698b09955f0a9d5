"""The memory of tensors as PyTorch names it: bytes (UntypedStorage), and elements of one dtype (TypedStorage)."""

import weft as _weft


class UntypedStorage:
    """The bytes that a tensor is a view of."""

    def __init__(self, size=0, *, device=None):
        self._bytes = size if isinstance(size, _weft.Tensor) else _weft.empty((size,), dtype=_weft.uint8)

    device = property(lambda self: self._bytes.device)
    is_cuda = property(lambda self: self._bytes.is_cuda)

    def data_ptr(self):
        """The address of the first byte."""
        return self._bytes.data_ptr()

    def nbytes(self):
        """How many bytes there are."""
        return self._bytes.numel()

    size = __len__ = nbytes

    def element_size(self):
        return 1

    def __getitem__(self, index):
        found = self._bytes[index]
        return UntypedStorage(found) if isinstance(index, slice) else found.item()

    def __setitem__(self, index, value):
        self._bytes[index] = value

    def __iter__(self):
        return iter(self.tolist())

    def tolist(self):
        return self._bytes.tolist()

    def fill_(self, value):
        self._bytes.fill_(value)
        return self

    def copy_(self, source, non_blocking=None):
        self._bytes.copy_(source._bytes)
        return self

    def clone(self):
        return UntypedStorage(self._bytes.clone())

    def cpu(self):
        return UntypedStorage(self._bytes.cpu())

    def is_shared(self):
        return False

    def is_pinned(self, device="cuda"):
        return False

    def share_memory_(self):
        return self

    def untyped(self):
        return self

    def __repr__(self):
        lines = "".join(f" {value}\n" for value in self.tolist())
        return f"{lines}[torch.storage.UntypedStorage(device={self.device}) of size {self.nbytes()}]"


class TypedStorage:
    """The memory that a tensor is a view of, as elements of its dtype."""

    dtype = None

    def __init__(self, *args, wrap_storage=None, dtype=None, device=None):
        self.dtype = dtype or type(self).dtype or _weft.get_default_dtype()
        if wrap_storage is not None:
            self._elements = wrap_storage._bytes.view(self.dtype)
        elif len(args) == 1 and not isinstance(args[0], int):
            self._elements = _weft.tensor(list(args[0]), dtype=self.dtype)
        else:
            self._elements = _weft.empty(args or (0,), dtype=self.dtype)

    device = property(lambda self: self._elements.device)
    is_cuda = property(lambda self: self._elements.is_cuda)

    def untyped(self):
        """The same memory as bytes."""
        return UntypedStorage(self._elements._storage_bytes())

    _untyped_storage = property(untyped)

    def data_ptr(self):
        return self._elements.data_ptr()

    def nbytes(self):
        return self._elements.nbytes

    def size(self):
        """How many elements there are."""
        return self._elements.numel()

    __len__ = size

    def element_size(self):
        return self.dtype.itemsize

    def __getitem__(self, index):
        return self._elements[index].item()

    def __setitem__(self, index, value):
        self._elements[index] = value

    def __iter__(self):
        return iter(self.tolist())

    def tolist(self):
        return self._elements.tolist()

    def fill_(self, value):
        self._elements.fill_(value)
        return self

    def copy_(self, source, non_blocking=None):
        self._elements.copy_(source._elements)
        return self

    def clone(self):
        return type(self)(wrap_storage=UntypedStorage(self._elements.clone()._storage_bytes()), dtype=self.dtype)

    def cpu(self):
        return self

    def is_shared(self):
        return False

    def is_pinned(self, device="cuda"):
        return False

    def share_memory_(self):
        return self

    def __repr__(self):
        lines = "".join(f" {value}\n" for value in self.tolist())
        size, dtype = self.size(), self.dtype
        return f"{lines}[torch.storage.TypedStorage(dtype={dtype}, device={self.device}) of size {size}]"


def _storage_type(name, dtype):
    return type(name, (TypedStorage,), {"dtype": dtype, "__module__": "torch"})


BoolStorage = _storage_type("BoolStorage", _weft.bool)
ByteStorage = _storage_type("ByteStorage", _weft.uint8)
CharStorage = _storage_type("CharStorage", _weft.int8)
ShortStorage = _storage_type("ShortStorage", _weft.int16)
IntStorage = _storage_type("IntStorage", _weft.int32)
LongStorage = _storage_type("LongStorage", _weft.int64)
HalfStorage = _storage_type("HalfStorage", _weft.float16)
BFloat16Storage = _storage_type("BFloat16Storage", _weft.bfloat16)
FloatStorage = _storage_type("FloatStorage", _weft.float32)
DoubleStorage = _storage_type("DoubleStorage", _weft.float64)
ComplexFloatStorage = _storage_type("ComplexFloatStorage", _weft.complex64)
ComplexDoubleStorage = _storage_type("ComplexDoubleStorage", _weft.complex128)
TYPES = {each.dtype: each for each in list(globals().values()) if isinstance(each, type) and each.__base__ is TypedStorage}
