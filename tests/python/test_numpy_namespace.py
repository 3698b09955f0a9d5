"""weft.numpy: complete by the array API standard's list of names, and equal to NumPy."""

import numpy
import pytest
import weft
import weft.numpy as np

# The functions of the Python array API standard, 2024.12.
STANDARD = {
    "constants": "e inf nan newaxis pi",
    "creation": "arange asarray empty empty_like eye from_dlpack full full_like linspace meshgrid ones ones_like tril triu zeros zeros_like",
    "dtypes": """astype can_cast finfo iinfo isdtype result_type bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32
        float64 complex64 complex128""",
    "elementwise": """abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert bitwise_or
        bitwise_right_shift bitwise_xor ceil clip conj copysign cos cosh divide equal exp expm1 floor floor_divide greater
        greater_equal hypot imag isfinite isinf isnan less less_equal log log1p log2 log10 logaddexp logical_and logical_not
        logical_or logical_xor maximum minimum multiply negative nextafter not_equal positive pow real reciprocal remainder
        round sign signbit sin sinh square sqrt subtract tan tanh trunc""",
    "indexing": "take take_along_axis",
    "inspection": "__array_namespace_info__",
    "linear algebra": "matmul matrix_transpose tensordot vecdot",
    "manipulation": """broadcast_arrays broadcast_to concat expand_dims flip moveaxis permute_dims repeat reshape roll squeeze
        stack tile unstack""",
    "searching": "argmax argmin count_nonzero nonzero searchsorted where",
    "sets": "unique_all unique_counts unique_inverse unique_values",
    "sorting": "argsort sort",
    "statistics": "cumulative_prod cumulative_sum max mean min prod std sum var",
    "utilities": "all any diff",
}
LINALG = """cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank matrix_transpose outer
    pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm"""
FFT = "fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift ifftshift"

f = numpy.array([[1.5, -2.25, 0.5, 3.0], [4.0, 0.125, -1.0, 2.5], [0.0, 7.5, -3.5, 1.0]])
g = numpy.abs(f) + 0.5
i = numpy.array([[5, 2, -7, 1], [0, 3, 8, -2], [4, 4, 1, 6]])
j = numpy.abs(i) + 1
b = i > 2
z = f + 1j * g
p = f / 8
u = numpy.array([3, 200, 17, 4], dtype=numpy.uint8)
v = numpy.array([0.5, -1.5, 2.5, 3.5, -4.5, 1.0])
w = numpy.sort(v)
h = numpy.array([2, 0, 1])
m = numpy.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 5.0]])
s = f.astype(numpy.float32)

# name: calls, each an expression over np and the arrays above; `same name` samples of several.
OF_REALS = "acos asin atanh cos cosh exp expm1 sin sinh tan tanh asinh atan".split()
CALLS = [f"np.{name}(p)" for name in OF_REALS] + [f"np.{name}(s / 8)" for name in OF_REALS]
CALLS += [f"np.{name}(g + 1)" for name in "acosh log log1p log2 log10 sqrt".split()]
CALLS += [f"np.{name}(j)" for name in "sqrt exp log square sign negative abs floor isfinite".split()]
CALLS += [f"np.{name}(z)" for name in "abs conj real imag square sqrt exp sign isnan".split()]
CALLS += [
    f"np.{name}(f)" for name in "ceil floor trunc round sign signbit square negative positive isnan".split()
]
CALLS += [
    f"np.{name}({operands})"
    for name in "add subtract multiply divide remainder floor_divide maximum minimum equal less pow".split()
    for operands in ("f, g", "i, j", "f, 2", "j, 2", "s, 1.5", "f, i", "2, j")
    if (name, operands) not in {("pow", "f, g"), ("pow", "f, i"), ("divide", "2, j")}
]
CALLS += [
    f"np.{name}(i, j)"
    for name in "bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift atan2 hypot".split()
]
CALLS += [f"np.{name}(b, ~b)" for name in "logical_and logical_or logical_xor not_equal bitwise_and".split()]
CALLS += """
np.atan2(f, g); np.hypot(f, g); np.copysign(g, f); np.nextafter(f, g); np.logaddexp(f, g); np.reciprocal(g); np.bitwise_invert(i)
np.logical_not(b); np.clip(f, -1, 2); np.clip(f, min=0); np.isinf(f); np.greater(f, g); np.less_equal(i, 2); np.greater_equal(f, 1.0)
np.sum(f); np.sum(f, axis=0); np.sum(i, axis=1, keepdims=True); np.sum(u); np.sum(b); np.sum(f, axis=(0, 1)); np.sum(s, dtype=np.float64)
np.prod(g); np.prod(i, axis=1); np.prod(u); np.mean(f); np.mean(i, axis=0); np.mean(s, axis=1, keepdims=True)
np.var(f); np.var(f, axis=0, correction=1); np.std(f); np.std(s, axis=1); np.max(f); np.max(i, axis=1); np.min(f, axis=0, keepdims=True)
np.all(b); np.any(b, axis=0); np.all(f, axis=1); np.count_nonzero(f, axis=1); np.argmax(f); np.argmin(f, axis=1); np.argmax(i, axis=0, keepdims=True)
np.cumulative_sum(v); np.cumulative_sum(f, axis=1, include_initial=True); np.cumulative_prod(v); np.cumulative_sum(u)
np.diff(v); np.diff(f, axis=0, n=2); np.diff(v, prepend=w[:1])
np.reshape(f, (4, 3)); np.broadcast_to(v, (2, 6)); np.broadcast_arrays(f, f[:1])[1]; np.concat((f, g)); np.concat((f, i), axis=None); np.stack((f, g), axis=-1)
np.unstack(f)[1]; np.expand_dims(f, axis=1); np.squeeze(f[None], axis=0); np.flip(f); np.flip(f, axis=1); np.roll(f, 1); np.roll(f, (1, -1), axis=(0, 1))
np.tile(v, (2, 2)); np.repeat(v, 2); np.repeat(f, 2, axis=1); np.moveaxis(f, 0, 1); np.permute_dims(f, (1, 0)); np.matrix_transpose(f)
np.take(v, h); np.take(f, h, axis=1); np.take_along_axis(f, np.argsort(f, axis=1), axis=1); np.where(b, f, 0.0); np.where(b, f, i); np.nonzero(b)
np.searchsorted(w, f); np.searchsorted(w, f, side="right"); np.sort(f, axis=0); np.argsort(f); np.sort(np.unique_values(i)); np.unique_counts(i); np.unique_inverse(i); np.unique_all(i)
np.matmul(f, g.T); np.matmul(i, j.T); np.tensordot(f, g, axes=2); np.tensordot(f, g, axes=((0,), (0,))); np.vecdot(f, g); np.vecdot(z, z)
np.zeros((2, 3)); np.ones(3, dtype=np.int32); np.full((2,), 7); np.full((2,), 2.5); np.empty((2, 2)).shape; np.eye(3); np.eye(2, 3, k=1); np.arange(5); np.arange(1, 2, 0.25)
np.linspace(0, 1, 5); np.meshgrid(v, w)[1]; np.tril(f); np.triu(f, k=1); np.zeros_like(i); np.ones_like(s); np.full_like(f, 2); np.asarray([1, 2, 3]); np.asarray([1.5, 2])
np.astype(f, np.float32); np.can_cast(np.int32, np.float64); np.result_type(f, np.float32); np.isdtype(f.dtype, "real floating"); np.finfo(np.float32).eps; np.iinfo(np.int8).max
np.linalg.cholesky(m); np.linalg.cross(f[:, :3], g[:, :3]); np.linalg.det(m); np.linalg.diagonal(m, offset=1); np.linalg.eigvalsh(m); np.linalg.inv(m); np.linalg.matmul(m, m)
np.linalg.matrix_norm(m); np.linalg.matrix_power(m, 3); np.linalg.matrix_power(m, -1); np.linalg.matrix_rank(m); np.linalg.matrix_transpose(f); np.linalg.outer(v, w)
np.linalg.eigh(m).eigenvalues; np.linalg.pinv(m); np.linalg.qr(m).R; np.linalg.slogdet(m); np.linalg.solve(m, f[:, :2]); np.linalg.svd(m).S; np.linalg.svdvals(f)
np.linalg.tensordot(f, g); np.linalg.trace(m); np.linalg.trace(i[:3, :3]); np.linalg.vecdot(f, g); np.linalg.vector_norm(f); np.linalg.vector_norm(f, axis=1, ord=1)
np.fft.fft(v); np.fft.ifft(z); np.fft.fftn(f); np.fft.ifftn(z); np.fft.rfft(v); np.fft.irfft(z[0]); np.fft.rfftn(f); np.fft.irfftn(z); np.fft.hfft(z[0]); np.fft.ihfft(v)
np.fft.fftfreq(6, d=0.5); np.fft.rfftfreq(6); np.fft.fftshift(v); np.fft.ifftshift(v)
np.median(f); np.percentile(f, 30); np.histogram(v, 4); np.cov(f); np.interp(v, w, w); np.pad(v, 2); np.nansum(f, axis=0); np.kron(m, m); np.einsum("ij,kj->ik", f, g)
""".replace("\n", ";").split(";")
CALLS = [call.strip() for call in CALLS if call.strip()]
ARRAYS = {
    "f": f,
    "g": g,
    "i": i,
    "j": j,
    "b": b,
    "z": z,
    "p": p,
    "u": u,
    "v": v,
    "w": w,
    "h": h,
    "m": m,
    "s": s,
}


def names_of(text):
    return text.split()


@pytest.mark.parametrize("part", STANDARD)
def test_every_name_of_the_standard_is_there(part):
    missing = [name for name in names_of(STANDARD[part]) if not hasattr(np, name)]
    assert missing == []


def test_the_extensions_are_complete():
    assert [name for name in names_of(LINALG) if not hasattr(np.linalg, name)] == []
    assert [name for name in names_of(FFT) if not hasattr(np.fft, name)] == []


def test_every_function_of_the_standard_is_called_here():
    names = {name for part in STANDARD for name in names_of(STANDARD[part])} - set(
        names_of(STANDARD["constants"])
    )
    names -= {"from_dlpack", "empty_like", "__array_namespace_info__"} | {
        n for n in names_of(STANDARD["dtypes"]) if n[-1].isdigit()
    }
    text = " ".join(CALLS)
    assert sorted(name for name in names if f"np.{name}(" not in text and name != "bool") == []
    assert [name for name in names_of(LINALG) if f"np.linalg.{name}(" not in text] == []
    assert [name for name in names_of(FFT) if f"np.fft.{name}(" not in text] == []


def assert_numpys(actual, expected):
    if isinstance(expected, tuple | list):
        assert len(actual) == len(expected)
        for one, other in zip(actual, expected):
            assert_numpys(one, other)
        return
    if isinstance(actual, weft.Tensor):
        got = actual.numpy()
        expected = numpy.asarray(expected)
        assert got.dtype == expected.dtype, (got.dtype, expected.dtype)
        assert got.shape == expected.shape
        tolerance = 64 * numpy.finfo(expected.dtype).eps if expected.dtype.kind in "fc" else 0
        numpy.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)
    elif isinstance(actual, weft.dtype):
        assert str(expected) in str(actual)
    else:
        assert actual == expected


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("call", CALLS)
def test_calls_equal_numpy(call):
    expected = eval(call, {"np": numpy, **ARRAYS})
    actual = eval(call, {"np": np, **{name: weft.from_numpy(array.copy()) for name, array in ARRAYS.items()}})
    assert_numpys(actual, expected)


def test_the_namespace_tells_about_itself():
    info = np.__array_namespace_info__()
    assert np.__array_api_version__ == "2024.12"
    assert info.default_device() == "cpu" and info.devices() == ["cpu"]
    assert info.default_dtypes()["real floating"] == weft.float64
    assert set(info.dtypes(kind="unsigned integer")) == {"uint8", "uint16", "uint32", "uint64"}
    assert info.capabilities()["data-dependent shapes"]
    with pytest.raises(ValueError, match="expected device to be 'cpu'"):
        np.zeros(3, device="cuda")
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        np.nothing


def test_arrays_have_what_the_standard_asks_for():
    x = weft.from_numpy(f.copy())
    assert x.__array_namespace__() is np and x.__array_namespace__(api_version="2023.12") is np
    with pytest.raises(ValueError, match="expected api_version to be one of 2021.12, .*, got '2030.12'"):
        x.__array_namespace__(api_version="2030.12")
    assert isinstance(x.size, int) and x.size == f.size and x.size() == f.shape and x.size(-1) == f.shape[-1]
    with pytest.raises(IndexError, match="dimension 7 is out of range"):
        x.size(7)
    assert x.to_device("cpu") is x or x.to_device("cpu").data_ptr() == x.data_ptr()
    assert x.to_device("meta").device.type == "meta"

    def program(x):
        xp = x.__array_namespace__()
        return xp.sum(x) / x.size + x.size(0)

    assert_numpys(weft.compile(program)(x), f.sum() / f.size + f.shape[0])


@pytest.mark.parametrize("name", ["exp2", "expm1", "log1p", "log2"])
def test_functions_of_complex_numbers(name):
    z = numpy.array([0.5 + 1j, -2 + 3j, 1e-9 - 1e-9j, 3 - 0.25j])
    for dtype in (numpy.complex64, numpy.complex128):
        assert_numpys(
            getattr(np, name)(weft.from_numpy(z.astype(dtype))), getattr(numpy, name)(z.astype(dtype))
        )


def test_functions_compile():
    def program(x, y):
        centered = np.subtract(x, np.mean(x, axis=0, keepdims=True))
        scores = np.matmul(centered, np.matrix_transpose(y))
        return np.sum(np.where(np.greater(scores, 0), np.exp(np.negative(scores)), 0.0), axis=1)

    x, y = weft.from_numpy(f.copy()), weft.from_numpy(g.copy())
    expected = program(x, y)
    compiled = weft.compile(program)
    for _ in range(2):
        numpy.testing.assert_allclose(compiled(x, y).numpy(), expected.numpy(), rtol=1e-14)


WHOLE = [
    *(
        f"np.linalg.matrix_norm(m, ord={ord!r}, keepdims={keep})"
        for ord in ("fro", "nuc", 1, -1, 2, -2)
        for keep in (0, 1)
    ),
    "np.linalg.matrix_norm(c, ord=float('inf'))",
    "np.linalg.matrix_norm(c, ord=-float('inf'), keepdims=True)",
    *(
        f"np.linalg.vector_norm(m, axis=(0, 2), ord={ord}, keepdims=True)"
        for ord in (0, 1, 2, 3.5, "float('inf')")
    ),
    "np.linalg.vector_norm(c, axis=(0, 1), ord=-float('inf'))",
    "np.linalg.vector_norm(c, ord=1)",
    "np.linalg.pinv(m)",
    "np.linalg.pinv(c)",
    "np.linalg.pinv(np.ones_like(m), rtol=1e-6)",
    "np.linalg.matrix_rank(m)",
    "np.linalg.matrix_rank(np.ones_like(c), rtol=1e-6)",
    "np.linalg.slogdet(s)",
    "np.linalg.eigh(np.matmul(s, np.matrix_transpose(s)))[0]",
    "np.fft.fftshift(m)",
    "np.fft.ifftshift(c, axes=(0, 2))",
    "np.fft.ifftshift(m, axes=-1)",
    "np.meshgrid(s[0, 0], s[0, 1, :2], m[0, 0, :1])",
    "np.meshgrid(s[0, 0], s[0, 1, :2], indexing='ij')",
    "np.meshgrid(s[0, 0])",
    "np.round(c)",
]


@pytest.mark.parametrize("call", WHOLE)
def test_functions_are_one_graph(call):
    rng = numpy.random.default_rng(0)
    m = rng.integers(-9, 9, (2, 4, 3)) / 4.0
    arrays = {"m": m, "c": m + 1j * m[::-1], "s": m[:, :3] + 3 * numpy.eye(3)}
    program = eval(f"lambda np, m, c, s: {call}")
    expected = program(numpy, **arrays)
    compiled = weft.compile(lambda m, c, s: program(np, m, c, s), fullgraph=True)
    tensors = {name: weft.from_numpy(array) for name, array in arrays.items()}
    for actual in (program(np, **tensors), compiled(**tensors)):
        if isinstance(expected, tuple):
            assert len(actual) == len(expected) and getattr(actual, "_fields", None) == getattr(
                expected, "_fields", None
            )
        for a, e in zip(actual, expected) if isinstance(expected, tuple) else [(actual, expected)]:
            assert a.numpy().dtype == e.dtype and tuple(a.shape) == e.shape
            numpy.testing.assert_allclose(a.numpy(), e, rtol=1e-12, atol=1e-12)
