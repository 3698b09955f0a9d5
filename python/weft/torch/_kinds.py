"""Objects that programs name beside tensors: layouts, memory formats, limits of dtypes, the legacy classes of tensors."""

import math

import weft as _weft


class _Named:
    """An object of torch's that is its name."""

    def __init__(self, name):
        self._name = name

    def __repr__(self):
        return f"torch.{self._name}"

    def __reduce__(self):
        return self._name


class layout(_Named):
    """How the elements of a tensor lie: weft's are strided."""


class memory_format(_Named):
    """In which order the dimensions of a tensor lie in memory; its index is TorchScript's number for it."""

    def __index__(self):
        return ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d").index(self._name)


class qscheme(_Named):
    """How integers stand for numbers."""


per_tensor_affine, per_tensor_symmetric = qscheme("per_tensor_affine"), qscheme("per_tensor_symmetric")
per_channel_affine, per_channel_symmetric = qscheme("per_channel_affine"), qscheme("per_channel_symmetric")
per_channel_affine_float_qparams = qscheme("per_channel_affine_float_qparams")
strided = layout("strided")
sparse_coo, sparse_csr, sparse_csc = layout("sparse_coo"), layout("sparse_csr"), layout("sparse_csc")
sparse_bsr, sparse_bsc, jagged = layout("sparse_bsr"), layout("sparse_bsc"), layout("jagged")
contiguous_format, preserve_format = memory_format("contiguous_format"), memory_format("preserve_format")
channels_last, channels_last_3d = memory_format("channels_last"), memory_format("channels_last_3d")
legacy_contiguous_format = contiguous_format


def _foreign(name):
    """A dtype that PyTorch has, and weft's tensors cannot have."""
    return _weft._C._foreign_dtype(name)


complex32 = chalf = _foreign("complex32")
bcomplex32 = _foreign("bcomplex32")
float4_e2m1fn_x2 = _foreign("float4_e2m1fn_x2")
uint1, uint2, uint3, uint4, uint5, uint6, uint7 = (_foreign(f"uint{bits}") for bits in range(1, 8))
int1, int2, int3, int4, int5, int6, int7 = (_foreign(f"int{bits}") for bits in range(1, 8))
qint8, quint8, qint32, quint4x2 = _weft._C.qint8, _weft._C.quint8, _weft._C.qint32, _weft._C.quint4x2
quint2x4 = _foreign("quint2x4")
bits8, bits16 = _foreign("bits8"), _foreign("bits16")
bits1x8, bits2x4, bits4x2 = _foreign("bits1x8"), _foreign("bits2x4"), _foreign("bits4x2")


# From the dtype's name: decimal digits that are kept, bits of the fraction, smallest and largest exponent.
_FLOATS = {
    "float16": (3, 10, -14, 15),
    "bfloat16": (2, 7, -126, 127),
    "float32": (6, 23, -126, 127),
    "float64": (15, 52, -1022, 1023),
}
_NARROW_FLOATS = {  # resolution, largest, eps, smallest normal
    "float8_e4m3fn": (1.0, 448.0, 0.125, 2.0**-6),
    "float8_e4m3fnuz": (1.0, 240.0, 0.125, 2.0**-7),
    "float8_e5m2": (1.0, 57344.0, 0.25, 2.0**-14),
    "float8_e5m2fnuz": (1.0, 57344.0, 0.25, 2.0**-15),
    "float8_e8m0fnu": (1.0, 2.0**127, 1.0, 2.0**-127),
}


def _name(dtype):
    return repr(dtype).rpartition(".")[2]


class _Limits:
    def __eq__(self, other):
        return type(self) is type(other) and self.dtype == other.dtype

    def __hash__(self):
        return hash((type(self), self.dtype))


class finfo(_Limits):
    """Limits of a floating-point dtype, or of a complex one's parts; without an argument the default dtype's.

    bits; eps: the distance of 1.0 to the next number; min, max; tiny, smallest_normal: the smallest normal number;
    resolution: of decimal digits; dtype: its name. raises: TypeError for other dtypes.
    """

    def __init__(self, type=None):
        dtype = _weft.get_default_dtype() if type is None else type
        if not isinstance(dtype, _weft.dtype):
            raise TypeError(f"finfo(): expected a dtype, got {dtype.__class__.__name__}")
        if not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"torch.finfo() expects a floating-point dtype, got {dtype}; integers have torch.iinfo()"
            )
        dtype = dtype.to_real()
        self.dtype = _name(dtype)
        self.bits = 8 * dtype.itemsize
        if self.dtype in _NARROW_FLOATS:
            self.resolution, self.max, self.eps, self.tiny = _NARROW_FLOATS[self.dtype]
        else:
            digits, fraction, low, high = _FLOATS[self.dtype]
            self.resolution, self.eps, self.tiny = float(f"1e-{digits}"), 2.0**-fraction, math.ldexp(1.0, low)
            self.max = math.ldexp(2.0 - self.eps, high)
        self.min, self.smallest_normal = -self.max, self.tiny
        if self.dtype == "float8_e8m0fnu":  # powers of two, all positive
            self.min = self.tiny

    def __repr__(self):
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo(_Limits):
    """Limits of an integer dtype: bits, min, max; dtype: its name. raises: TypeError for other dtypes."""

    def __init__(self, type):
        if not isinstance(type, _weft.dtype):
            raise TypeError(f"iinfo(): expected a dtype, got {type.__class__.__name__}")
        if type.is_floating_point or type.is_complex:
            raise TypeError(f"torch.iinfo() expects an integer dtype, got {type}; others have torch.finfo()")
        if type == _weft.bool:
            raise TypeError(f"torch.iinfo() expects an integer dtype, got {type}")
        self.dtype = _name(type)
        self.bits = 8 * type.itemsize
        self.min = -(2 ** (self.bits - 1)) if type.is_signed else 0
        self.max = 2 ** (self.bits - type.is_signed) - 1

    def __repr__(self):
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


class _TensorType(type):
    """Of FloatTensor and its like: tensors of one dtype are its instances, and it makes such tensors."""

    def __instancecheck__(cls, value):
        return isinstance(value, _weft.Tensor) and value.dtype == cls.dtype and value.device.type == "cpu"

    def __call__(cls, *args, device=None):
        if len(args) == 1 and isinstance(args[0], (float, complex, str)):
            raise TypeError(
                f"{cls.__name__}: expected sizes or a sequence of numbers, got {type(args[0]).__name__}"
            )
        if len(args) == 1 and not isinstance(args[0], (int, _weft.Size)):
            return _weft.tensor(args[0], dtype=cls.dtype)
        return _weft.Tensor(*args, device=device).to(cls.dtype)


def _tensor_type(name, dtype):
    return _TensorType(
        name,
        (),
        {"dtype": dtype, "_is_tensor_type": True, "__module__": "torch", "__doc__": f"Tensors of {dtype}."},
    )


BoolTensor = _tensor_type("BoolTensor", _weft.bool)
ByteTensor = _tensor_type("ByteTensor", _weft.uint8)
CharTensor = _tensor_type("CharTensor", _weft.int8)
ShortTensor = _tensor_type("ShortTensor", _weft.int16)
IntTensor = _tensor_type("IntTensor", _weft.int32)
LongTensor = _tensor_type("LongTensor", _weft.int64)
HalfTensor = _tensor_type("HalfTensor", _weft.float16)
BFloat16Tensor = _tensor_type("BFloat16Tensor", _weft.bfloat16)
FloatTensor = _tensor_type("FloatTensor", _weft.float32)
DoubleTensor = _tensor_type("DoubleTensor", _weft.float64)
