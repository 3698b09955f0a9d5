"""What the Python array API standard, 2024.12, says: signatures, dtypes, promotion and special values, as tables."""

import math

# Every function and what it is called with. source: data-apis.org/array-api/2024.12/API_specification
SIGNATURES = """
arange(start, /, stop=None, step=1, *, dtype=None, device=None)
asarray(obj, /, *, dtype=None, device=None, copy=None)
empty(shape, *, dtype=None, device=None)
empty_like(x, /, *, dtype=None, device=None)
eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None)
from_dlpack(x, /, *, device=None, copy=None)
full(shape, fill_value, *, dtype=None, device=None)
full_like(x, /, fill_value, *, dtype=None, device=None)
linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True)
meshgrid(*arrays, indexing='xy')
ones(shape, *, dtype=None, device=None)
ones_like(x, /, *, dtype=None, device=None)
tril(x, /, *, k=0)
triu(x, /, *, k=0)
zeros(shape, *, dtype=None, device=None)
zeros_like(x, /, *, dtype=None, device=None)
astype(x, dtype, /, *, copy=True, device=None)
can_cast(from_, to, /)
finfo(type, /)
iinfo(type, /)
isdtype(dtype, kind)
result_type(*arrays_and_dtypes)
take(x, indices, /, *, axis=None)
take_along_axis(x, indices, /, *, axis=-1)
matmul(x1, x2, /)
matrix_transpose(x, /)
tensordot(x1, x2, /, *, axes=2)
vecdot(x1, x2, /, *, axis=-1)
broadcast_arrays(*arrays)
broadcast_to(x, /, shape)
concat(arrays, /, *, axis=0)
expand_dims(x, /, *, axis=0)
flip(x, /, *, axis=None)
moveaxis(x, source, destination, /)
permute_dims(x, /, axes)
repeat(x, repeats, /, *, axis=None)
reshape(x, /, shape, *, copy=None)
roll(x, /, shift, *, axis=None)
squeeze(x, /, axis)
stack(arrays, /, *, axis=0)
tile(x, repetitions, /)
unstack(x, /, *, axis=0)
argmax(x, /, *, axis=None, keepdims=False)
argmin(x, /, *, axis=None, keepdims=False)
count_nonzero(x, /, *, axis=None, keepdims=False)
nonzero(x, /)
searchsorted(x1, x2, /, *, side='left', sorter=None)
where(condition, x1, x2, /)
unique_all(x, /)
unique_counts(x, /)
unique_inverse(x, /)
unique_values(x, /)
argsort(x, /, *, axis=-1, descending=False, stable=True)
sort(x, /, *, axis=-1, descending=False, stable=True)
cumulative_prod(x, /, *, axis=None, dtype=None, include_initial=False)
cumulative_sum(x, /, *, axis=None, dtype=None, include_initial=False)
max(x, /, *, axis=None, keepdims=False)
mean(x, /, *, axis=None, keepdims=False)
min(x, /, *, axis=None, keepdims=False)
prod(x, /, *, axis=None, dtype=None, keepdims=False)
std(x, /, *, axis=None, correction=0.0, keepdims=False)
sum(x, /, *, axis=None, dtype=None, keepdims=False)
var(x, /, *, axis=None, correction=0.0, keepdims=False)
all(x, /, *, axis=None, keepdims=False)
any(x, /, *, axis=None, keepdims=False)
diff(x, /, *, axis=-1, n=1, prepend=None, append=None)
clip(x, /, min=None, max=None)
linalg.cholesky(x, /, *, upper=False)
linalg.cross(x1, x2, /, *, axis=-1)
linalg.det(x, /)
linalg.diagonal(x, /, *, offset=0)
linalg.eigh(x, /)
linalg.eigvalsh(x, /)
linalg.inv(x, /)
linalg.matmul(x1, x2, /)
linalg.matrix_norm(x, /, *, keepdims=False, ord='fro')
linalg.matrix_power(x, n, /)
linalg.matrix_rank(x, /, *, rtol=None)
linalg.matrix_transpose(x, /)
linalg.outer(x1, x2, /)
linalg.pinv(x, /, *, rtol=None)
linalg.qr(x, /, *, mode='reduced')
linalg.slogdet(x, /)
linalg.solve(x1, x2, /)
linalg.svd(x, /, *, full_matrices=True)
linalg.svdvals(x, /)
linalg.tensordot(x1, x2, /, *, axes=2)
linalg.trace(x, /, *, offset=0, dtype=None)
linalg.vecdot(x1, x2, /, *, axis=-1)
linalg.vector_norm(x, /, *, axis=None, keepdims=False, ord=2)
fft.fft(x, /, *, n=None, axis=-1, norm='backward')
fft.ifft(x, /, *, n=None, axis=-1, norm='backward')
fft.fftn(x, /, *, s=None, axes=None, norm='backward')
fft.ifftn(x, /, *, s=None, axes=None, norm='backward')
fft.rfft(x, /, *, n=None, axis=-1, norm='backward')
fft.irfft(x, /, *, n=None, axis=-1, norm='backward')
fft.rfftn(x, /, *, s=None, axes=None, norm='backward')
fft.irfftn(x, /, *, s=None, axes=None, norm='backward')
fft.hfft(x, /, *, n=None, axis=-1, norm='backward')
fft.ihfft(x, /, *, n=None, axis=-1, norm='backward')
fft.fftfreq(n, /, *, d=1.0, dtype=None, device=None)
fft.rfftfreq(n, /, *, d=1.0, dtype=None, device=None)
fft.fftshift(x, /, *, axes=None)
fft.ifftshift(x, /, *, axes=None)
""".split("\n")[1:-1]

SIGNED = "int8 int16 int32 int64".split()
UNSIGNED = "uint8 uint16 uint32 uint64".split()
REAL = "float32 float64".split()
COMPLEX = "complex64 complex128".split()
INTEGERS = SIGNED + UNSIGNED
NUMERIC = INTEGERS + REAL + COMPLEX
DTYPES = ["bool", *NUMERIC]


def dtype_name(array):
    """NumPy's name of the array's dtype."""
    return repr(array.dtype).rpartition(".")[2]


def promoted(a, b):
    """The dtype of both, None where the standard leaves it open."""
    if a == b:
        return a
    for kind in (SIGNED, UNSIGNED, REAL, COMPLEX):
        if a in kind and b in kind:
            return kind[max(kind.index(a), kind.index(b))]
    if {a, b} <= {*INTEGERS}:
        signed, unsigned = (a, b) if a in SIGNED else (b, a)
        if unsigned == "uint64":
            return None
        return SIGNED[max(SIGNED.index(signed), UNSIGNED.index(unsigned) + 1)]
    if {a, b} <= {*REAL, *COMPLEX}:
        real, complex_ = (a, b) if a in REAL else (b, a)
        return COMPLEX[max(REAL.index(real), COMPLEX.index(complex_))]
    return None


# Functions of one array: the dtypes they take, and what comes out ("same", "bool", "real").
UNARY = {
    **dict.fromkeys(
        "acos acosh asin asinh atan atanh cos cosh exp expm1 log log1p log2 log10 sin sinh sqrt tan tanh".split(),
        (REAL + COMPLEX, "same"),
    ),
    **dict.fromkeys("negative positive square sign".split(), (NUMERIC, "same")),
    **dict.fromkeys("isfinite isinf isnan".split(), (NUMERIC, "bool")),
    **dict.fromkeys("ceil floor trunc".split(), (INTEGERS + REAL, "same")),
    "abs": (NUMERIC, "real"),
    "bitwise_invert": (["bool", *INTEGERS], "same"),
    "conj": (NUMERIC, "same"),
    "imag": (COMPLEX, "real"),
    "logical_not": (["bool"], "bool"),
    "real": (NUMERIC, "real"),
    "reciprocal": (REAL + COMPLEX, "same"),
    "round": (NUMERIC, "same"),
    "signbit": (REAL, "bool"),
}
# Functions of two arrays, with Python's operator for them.
BINARY = {
    "add": (NUMERIC, "same", "+"),
    "subtract": (NUMERIC, "same", "-"),
    "multiply": (NUMERIC, "same", "*"),
    "divide": (REAL + COMPLEX, "same", "/"),
    "floor_divide": (INTEGERS + REAL, "same", "//"),
    "remainder": (INTEGERS + REAL, "same", "%"),
    "pow": (NUMERIC, "same", "**"),
    "bitwise_and": (["bool", *INTEGERS], "same", "&"),
    "bitwise_or": (["bool", *INTEGERS], "same", "|"),
    "bitwise_xor": (["bool", *INTEGERS], "same", "^"),
    "bitwise_left_shift": (INTEGERS, "same", "<<"),
    "bitwise_right_shift": (INTEGERS, "same", ">>"),
    "equal": (DTYPES, "bool", "=="),
    "not_equal": (DTYPES, "bool", "!="),
    "less": (INTEGERS + REAL, "bool", "<"),
    "less_equal": (INTEGERS + REAL, "bool", "<="),
    "greater": (INTEGERS + REAL, "bool", ">"),
    "greater_equal": (INTEGERS + REAL, "bool", ">="),
    **dict.fromkeys("atan2 copysign hypot logaddexp nextafter".split(), (REAL, "same", None)),
    **dict.fromkeys("maximum minimum".split(), (INTEGERS + REAL, "same", None)),
    **dict.fromkeys("logical_and logical_or logical_xor".split(), (["bool"], "bool", None)),
}

NAN, INF, PI = math.nan, math.inf, math.pi
# name: argument -> result; -0.0 and 0.0 are different.
SPECIAL_UNARY = f"""
abs: nan nan, -0.0 0.0, -inf inf
acos: nan nan, 1.5 nan, -1.5 nan, 1 0.0
acosh: nan nan, 0.5 nan, 1 0.0, inf inf
asin: nan nan, 1.5 nan, -1.5 nan, 0.0 0.0, -0.0 -0.0
asinh: nan nan, 0.0 0.0, -0.0 -0.0, inf inf, -inf -inf
atan: nan nan, 0.0 0.0, -0.0 -0.0, inf {PI / 2}, -inf {-PI / 2}
atanh: nan nan, 1.5 nan, -1.5 nan, -1 -inf, 1 inf, 0.0 0.0, -0.0 -0.0
ceil: nan nan, inf inf, -inf -inf, 0.0 0.0, -0.0 -0.0, -0.5 -0.0, 2.0 2.0
cos: nan nan, 0.0 1, -0.0 1, inf nan, -inf nan
cosh: nan nan, 0.0 1, -0.0 1, inf inf, -inf inf
exp: nan nan, 0.0 1, -0.0 1, inf inf, -inf 0.0
expm1: nan nan, 0.0 0.0, -0.0 -0.0, inf inf, -inf -1
floor: nan nan, inf inf, -inf -inf, 0.0 0.0, -0.0 -0.0, -2.0 -2.0
log: nan nan, -1 nan, 0.0 -inf, -0.0 -inf, 1 0.0, inf inf
log1p: nan nan, -2 nan, -1 -inf, -0.0 -0.0, 0.0 0.0, inf inf
log2: nan nan, -1 nan, 0.0 -inf, -0.0 -inf, 1 0.0, inf inf
log10: nan nan, -1 nan, 0.0 -inf, -0.0 -inf, 1 0.0, inf inf
reciprocal: nan nan, inf 0.0, -inf -0.0, 0.0 inf, -0.0 -inf
round: nan nan, inf inf, -inf -inf, 0.0 0.0, -0.0 -0.0, 0.5 0.0, 1.5 2.0, 2.5 2.0, -0.5 -0.0
sign: nan nan, 0.0 0.0, -0.0 0.0, 2 1, -2 -1, inf 1, -inf -1
signbit: 0.0 False, -0.0 True, inf False, -inf True, 3 False, -3 True
sin: nan nan, 0.0 0.0, -0.0 -0.0, inf nan, -inf nan
sinh: nan nan, 0.0 0.0, -0.0 -0.0, inf inf, -inf -inf
sqrt: nan nan, -1 nan, 0.0 0.0, -0.0 -0.0, inf inf
square: nan nan, -0.0 0.0, -inf inf
tan: nan nan, 0.0 0.0, -0.0 -0.0, inf nan, -inf nan
tanh: nan nan, 0.0 0.0, -0.0 -0.0, inf 1, -inf -1
trunc: nan nan, inf inf, -inf -inf, 0.0 0.0, -0.0 -0.0, -0.5 -0.0, 0.5 0.0
isfinite: nan False, inf False, -inf False, 1 True
isinf: nan False, inf True, -inf True, 1 False
isnan: nan True, inf False, 1 False
negative: 0.0 -0.0, -0.0 0.0, inf -inf, nan nan
"""
SPECIAL_BINARY = f"""
add: nan 1 nan, 1 nan nan, inf -inf nan, -inf inf nan, inf inf inf, -inf -inf -inf, inf 1 inf, -inf 1 -inf, 1 inf inf, -0.0 -0.0 -0.0, -0.0 0.0 0.0, 0.0 -0.0 0.0, -0.0 2 2, 2 -2 0.0
atan2: nan 1 nan, 1 nan nan, 1 0.0 {PI / 2}, 1 -0.0 {PI / 2}, 0.0 1 0.0, 0.0 0.0 0.0, 0.0 -0.0 {PI}, 0.0 -1 {PI}, -0.0 1 -0.0, -0.0 0.0 -0.0, -0.0 -0.0 {-PI}, -0.0 -1 {-PI}, -1 0.0 {-PI / 2}, 1 inf 0.0, 1 -inf {PI}, -1 inf -0.0, -1 -inf {-PI}, inf 1 {PI / 2}, -inf 1 {-PI / 2}, inf inf {PI / 4}, inf -inf {3 * PI / 4}, -inf inf {-PI / 4}, -inf -inf {-3 * PI / 4}
copysign: 2 0.0 2, 2 -0.0 -2, -2 3 2, nan 1 nan, 0.0 -1 -0.0
divide: nan 1 nan, 1 nan nan, inf inf nan, inf -inf nan, 0.0 0.0 nan, 0.0 -0.0 nan, 0.0 1 0.0, -0.0 1 -0.0, 0.0 -1 -0.0, -0.0 -1 0.0, 1 0.0 inf, 1 -0.0 -inf, -1 0.0 -inf, -1 -0.0 inf, inf 1 inf, inf -1 -inf, -inf 1 -inf, -inf -1 inf, 1 inf 0.0, 1 -inf -0.0, -1 inf -0.0, -1 -inf 0.0
floor_divide: nan 1 nan, 1 nan nan, inf inf nan, 0.0 0.0 nan, 0.0 1 0.0, -0.0 1 -0.0, 0.0 -1 -0.0, -0.0 -1 0.0, 7 2 3, -7 2 -4, 1 inf 0.0
hypot: inf 1 inf, -inf nan inf, nan inf inf, 1 nan nan, nan 1 nan, 3 4 5
logaddexp: nan 1 nan, 1 nan nan, inf 1 inf, 1 inf inf
maximum: nan 1 nan, 1 nan nan, inf 1 inf, 1 -inf 1
minimum: nan 1 nan, 1 nan nan, -inf 1 -inf, 1 inf 1
multiply: nan 1 nan, inf 0.0 nan, 0.0 -inf nan, inf inf inf, inf -inf -inf, inf -1 -inf, -1 -inf inf, -0.0 2 -0.0, -0.0 -2 0.0
nextafter: nan 1 nan, 1 nan nan, 0.0 -0.0 -0.0, -0.0 0.0 0.0
pow: 2 nan nan, nan 0.0 1, nan -0.0 1, 1 nan 1, 1 inf 1, nan 2 nan, 2 inf inf, 2 -inf 0.0, 0.5 inf 0.0, 0.5 -inf inf, -1 inf 1, inf 2 inf, inf -2 0.0, -inf 3 -inf, -inf 2 inf, -inf -3 -0.0, -inf -2 0.0, 0.0 2 0.0, 0.0 -2 inf, -0.0 3 -0.0, -0.0 2 0.0, -0.0 -3 -inf, -0.0 -2 inf, -8 0.5 nan
remainder: nan 1 nan, 1 nan nan, inf 1 nan, inf inf nan, 0.0 0.0 nan, 1 0.0 nan, 0.0 1 0.0, -0.0 -1 -0.0, 7 -2 -1, -7 2 1, -2 -2 -0.0, 2 2 0.0
subtract: inf inf nan, nan 1 nan, -0.0 0.0 -0.0, 0.0 0.0 0.0, 1 inf -inf
"""


def special_rows(text):
    """(function, arguments…, result) of each row."""
    for line in filter(None, text.split("\n")):
        name, _, rows = line.partition(": ")
        for row in rows.split(", "):
            yield (
                name,
                *(word == "True" if word in ("True", "False") else float(word) for word in row.split()),
            )
