"""Fourier transforms against NumPy's in long double, eagerly and compiled."""

import threading

import hypothesis.strategies as st
import numpy as np
import pytest
import weft
import weft.numpy as wnp
from hypothesis import given, settings

LARGE = [512, 729, 1000, 1009, 1024, 2187, 4099, 8192, 16384, 59049, 65537, 100000]
TRANSFORMS = {
    "fft": lambda z, x, h, n, axis: (weft.fft_c2c(z, n, axis), "fft", z),
    "ifft": lambda z, x, h, n, axis: (weft.fft_c2c(z, n, axis, 2, True), "ifft", z),
    "rfft": lambda z, x, h, n, axis: (weft.fft_r2c(x, n, axis), "rfft", x),
    "fft of real": lambda z, x, h, n, axis: (weft.fft_r2c(x, n, axis, onesided=False), "fft", x),
    "irfft": lambda z, x, h, n, axis: (weft.fft_c2r(h, n, axis, 2), "irfft", h),
}


def close(actual, exact, dtype, n):
    """The documented bound of the root mean square of errors."""
    error, scale = (np.sqrt(np.mean(np.abs(y) ** 2)) for y in (actual - exact, exact))
    assert error <= (1 + np.log2(n)) * np.finfo(dtype).eps * scale


def check_transforms(shape, axis, dtype, seed=0, n=None):
    random = np.random.default_rng(seed)
    n = shape[axis] if n is None else n
    x = random.standard_normal(shape).astype(dtype)
    z = (x + 1j * random.standard_normal(shape)).astype(np.result_type(dtype, 1j))
    h = np.fft.rfft(x, n, axis).astype(z.dtype)
    tensors = [weft.from_numpy(array) for array in (z, x, h)]
    for transform in TRANSFORMS.values():
        actual, name, operand = transform(*tensors, n, axis)
        operand = operand.numpy()
        theirs = getattr(np.fft, name)(operand, n, axis)
        assert actual.numpy().dtype == theirs.dtype and actual.numpy().shape == theirs.shape
        wide = operand.astype(np.clongdouble if operand.dtype.kind == "c" else np.longdouble)
        close(actual.numpy(), getattr(np.fft, name)(wide, n, axis), dtype, n)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_small_length(dtype):
    for n in range(1, 301):
        check_transforms((3, n) if n % 2 else (n,), -1, dtype)
        if n <= 64:
            check_transforms((17, n), -1, dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "shape", [(5, 12, 3), (2, 30, 8), (1, 64, 33), (3, 53, 2), (4, 7, 5), (2, 512, 16)], ids=str
)
def test_inner_axis(shape, dtype):
    check_transforms(shape, 1, dtype)
    for n in (1, shape[1] - 2, shape[1] + 3):
        check_transforms(shape, 1, dtype, n=n)


@pytest.mark.parametrize("n", LARGE)
def test_large(n):
    check_transforms((n,), -1, np.float64)
    check_transforms((n,), -1, np.float32)


@settings(max_examples=60, deadline=None)
@given(
    shape=st.lists(st.integers(1, 9), min_size=1, max_size=3).map(tuple),
    n=st.integers(1, 40),
    axis=st.integers(0, 2),
    single=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_random_shapes(shape, n, axis, single, seed):
    check_transforms(shape, axis % len(shape), np.float32 if single else np.float64, seed, n)


@np.errstate(invalid="ignore")
def test_sequences_do_not_mix():
    x = np.random.default_rng(0).standard_normal((40, 15))
    x[::2] *= 1e12
    x[4, 3] = np.inf
    for n in (15, 14, 53):
        actual, expected = weft.fft_r2c(weft.from_numpy(x), n).numpy(), np.fft.rfft(x, n)
        np.testing.assert_allclose(actual[1::2], expected[1::2], rtol=0, atol=1e-13)
        back = weft.fft_c2r(weft.from_numpy(expected), n, norm=2).numpy()
        np.testing.assert_allclose(back[1::2], np.fft.irfft(expected, n)[1::2], rtol=0, atol=1e-13)


def test_result_does_not_depend_on_threads():
    x = np.random.default_rng(0).standard_normal((70, 96))
    z, threads = weft.from_numpy(x[0] + 1j * x[1]), weft.get_num_threads()
    long = weft.from_numpy(np.random.default_rng(0).standard_normal(1 << 17))
    results = []
    try:
        for count in (1, 2, 3):
            weft.set_num_threads(count)
            results.append(
                [weft.fft_r2c(weft.from_numpy(x), 96, 0), weft.fft_c2c(z, 96), weft.fft_r2c(long, 1 << 17)]
            )
    finally:
        weft.set_num_threads(threads)
    for other in results[1:]:
        for a, b in zip(results[0], other):
            np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_threads_share_plans():
    x = np.random.default_rng(0).standard_normal(1500) + 0j
    errors = []

    def work(seed):
        for n in np.random.default_rng(seed).integers(1, 1500, 60):
            error = np.abs(
                weft.fft_c2c(weft.from_numpy(x[:n].copy()), int(n)).numpy() - np.fft.fft(x[:n])
            ).max()
            if error > 1e-10:
                errors.append((n, error))

    workers = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert errors == []


@pytest.mark.parametrize(
    "make, error, text",
    [
        (lambda x: weft.fft_c2c(x, 4), TypeError, "fft_c2c: expected complex64 or complex128, got float64"),
        (lambda x: weft.fft_r2c(x, 0), ValueError, "fft_r2c: expected n of at least one, got 0"),
        (lambda x: weft.fft_r2c(x, 3, 1), IndexError, "fft_r2c"),
        (lambda x: weft.fft_r2c(x, 3, 0, 5), ValueError, "expected norm 0, 1 or 2, got 5"),
        (lambda x: weft.fft_c2r(weft.from_numpy(np.array(1j)), 3), ValueError, "at least one dimension"),
    ],
)
def test_errors(make, error, text):
    with pytest.raises(error, match=text):
        make(weft.from_numpy(np.arange(3.0)))


V = np.random.default_rng(1).standard_normal(6)
CUBE = np.random.default_rng(2).standard_normal((2, 3, 4))
Z = CUBE[0] + 1j * CUBE[1]
OPERANDS = {
    "v": V, "s": V.astype(np.float32), "i": np.arange(12).reshape(3, 4), "b": V > 0, "cube": CUBE, "z": Z,
    "c": Z.astype(np.complex64), "f": np.asfortranarray(CUBE), "half": V.astype(np.float16),
}  # fmt: skip
CALLS = """
fft(v); fft(z, axis=0); fft(v, 8); fft(v, 3); fft(cube, norm='ortho'); fft(s); fft(s, norm='forward'); ifft(s); ifft(v)
ifft(z, 7, 0, 'forward'); fft(c); fft(i); fft(b); rfft(v); rfft(s); rfft(cube, axis=1); rfft(i, 5, 1, 'ortho'); rfft(b)
irfft(z[0]); irfft(z, 5); irfft(c); irfft(v); hfft(z[0]); hfft(z, 5, norm='ortho'); ihfft(v); ihfft(cube, 5, 0, 'forward')
rfftn(cube); rfft2(cube); rfftn(cube, s=(2, 6), axes=(2, 0)); irfftn(z); irfft2(z); irfft2(cube); fftn(cube); fftn(c)
fft2(cube, s=(4, -1)); ifftn(z); ifft2(cube); fftn(cube, axes=(0, 0)); fft(f); rfft2(f); irfft(f, axis=1); rfft(f, axis=0)
fft(z.T); fft(cube[:, :, ::2]); fft([1, 2, 3]); ifftn(cube, axes=(2, 1), norm='ortho'); fftshift(v); fftshift(cube)
ifftshift(cube, axes=(0, 2)); fftshift(i, axes=0); fft(z, out=np.empty((3, 4), complex)); fft(half); fftfreq(7); rfftfreq(6, 0.5)
"""


@pytest.mark.parametrize(
    "call", [call.strip() for line in CALLS.split("\n") for call in line.split(";") if call.strip()]
)
def test_compiled(call):
    space = {"np": np}
    exec(f"def function({', '.join(OPERANDS)}):\n    return np.fft.{call}", space)
    expected = space["function"](**OPERANDS)
    compiled = weft.compile(space["function"])
    tolerance = 1e-14 if expected.dtype in (np.float64, np.complex128) else 1e-6
    for _ in range(2):
        actual = compiled(**OPERANDS)
        assert actual.dtype == expected.dtype and actual.strides == expected.strides
        np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * np.abs(expected).max())
    if "half" not in call:
        assert weft.compiler.explain(space["function"])(**OPERANDS).breaks == []


@pytest.mark.parametrize(
    "call",
    [
        "fft(v, 0)", "fft(v, axis=3)", "fft(v, norm='other')", "rfft(z)", "fft(v[0])", "irfft(v[:1])", "fft(v, 2.5)",
        "fft2(v)", "fftn(cube, s=(1, 2), axes=(0,))", "rfft(v, out=np.empty(9, complex))", "fft(v, out=np.empty(6))",
    ],
)  # fmt: skip
def test_numpy_errors(call):
    space = {"np": np}
    exec(f"def function({', '.join(OPERANDS)}):\n    return np.fft.{call}", space)
    with pytest.raises(Exception) as expected:
        space["function"](**OPERANDS)
    with pytest.raises(expected.type) as actual:
        weft.compile(space["function"])(**OPERANDS)
    assert str(actual.value) == str(expected.value)
    if "out=" not in call:
        with pytest.raises(expected.type):
            eval(
                f"wnp.fft.{call}",
                {"wnp": wnp, "np": np, **{k: weft.from_numpy(v) for k, v in OPERANDS.items()}},
            )


def test_sizes_are_symbolic():
    compiled = weft.compile(lambda x: np.fft.irfft(np.fft.rfft(x) * 2, x.size))
    for n in range(2, 40):
        x = np.random.default_rng(n).standard_normal(n)
        np.testing.assert_allclose(compiled(x), 2 * x, rtol=0, atol=1e-14)


@pytest.mark.parametrize(
    "call",
    "fft(v);fft(s);fft(z, 7, 0, 'ortho');ifft(c);rfft(i, 5);irfft(z, axis=0);hfft(z);ihfft(v);fftn(cube);ifft2(cube);"
    "rfftn(cube, (2, 6), (2, 0));rfft2(s.reshape(2, 3));irfftn(z);irfft2(cube, (3, 5));fft2(z, (4, -1));irfftn(c)".split(
        ";"
    ),
)
def test_numpy_namespace(call):
    expected = eval(f"np.fft.{call}", {"np": np, **OPERANDS})
    actual = eval(f"wnp.fft.{call}", {"wnp": wnp, **{k: weft.from_numpy(v) for k, v in OPERANDS.items()}})
    assert actual.numpy().dtype == expected.dtype
    tolerance = 1e-14 if expected.dtype in (np.float64, np.complex128) else 1e-6
    np.testing.assert_allclose(actual.numpy(), expected, rtol=0, atol=tolerance * np.abs(expected).max())
