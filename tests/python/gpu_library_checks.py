"""What test_gpu_libraries.py runs in processes of their own, with emulated devices, and scripts/test_gpu on a GPU:
gpu_library_checks.py NAME."""

import sys

import numpy as np
import weft
import weft.nn.functional as F
from weft.torch import fft

rng = np.random.default_rng(3)


def numbers(*shape, dtype=weft.float32):
    if dtype == weft.int8:
        return weft.tensor(rng.integers(-128, 128, shape, dtype=np.int8))
    return weft.tensor(rng.standard_normal(shape).astype(np.float32)).to(dtype)


BOUNDS = {weft.float32: 1e-5, weft.float64: 1e-13, weft.float16: 4e-3, weft.bfloat16: 3e-2}


def check_tuned(function, *arguments):
    """The function compiled with max-autotune on the device, twice, beside the CPU's."""
    want = function(*arguments)
    bound = BOUNDS.get(want.dtype, 0)
    tuned = weft.compile(function, mode="max-autotune")
    there = [x.to("cuda") for x in arguments]
    before = [x.cpu().to(weft.float64).numpy() for x in there]
    for _ in range(2):
        with weft.device("cuda"):
            got = tuned(*there)
        assert got.device == weft.device("cuda:0") and got.dtype == want.dtype, (got.device, got.dtype)
        got = got.cpu().to(weft.float64).numpy()
        expected = want.to(weft.float64).numpy()
        np.testing.assert_allclose(got, expected, rtol=bound, atol=bound * 20)
    for x, y in zip(there, before):
        np.testing.assert_array_equal(x.cpu().to(weft.float64).numpy(), y)


def product(a, b):
    return a @ b


def same_in_every_order(function, a, b):
    """Both operands by rows and by columns."""
    turned_a, turned_b = a.T.contiguous(), b.T.contiguous()
    check_tuned(function, a, b)
    check_tuned(lambda a, b: function(a.T, b), turned_a, b)
    check_tuned(lambda a, b: function(a, b.T), a, turned_b)
    check_tuned(lambda a, b: function(a.T, b.T), turned_a, turned_b)


FLOATS = (weft.float32, weft.float64, weft.float16, weft.bfloat16)


def products():
    """Every dtype and memory order; sizes of one; batches, and one operand for all of them."""
    for dtype in FLOATS:
        for m, n, k in ((20, 33, 17), (1, 9, 8), (9, 1, 8), (5, 6, 1)):
            same_in_every_order(product, numbers(m, k, dtype=dtype), numbers(k, n, dtype=dtype))
        check_tuned(product, numbers(3, 7, 8, dtype=dtype), numbers(3, 8, 6, dtype=dtype))
        check_tuned(product, numbers(2, 3, 7, 8, dtype=dtype), numbers(2, 3, 8, 6, dtype=dtype))
        check_tuned(product, numbers(7, 8, dtype=dtype), numbers(3, 8, 6, dtype=dtype))
        check_tuned(product, numbers(3, 7, 8, dtype=dtype), numbers(8, 6, dtype=dtype))
        for shift in (0, 1, 4):  # at addresses of several alignments
            check_tuned(
                lambda a, b, n=shift: a[n : n + 96].reshape(8, 12) @ b,
                numbers(100, dtype=dtype),
                numbers(12, 5, dtype=dtype),
            )
        check_tuned(
            lambda a, b: a[:, 3:13] @ b[4:14], numbers(8, 20, dtype=dtype), numbers(30, 9, dtype=dtype)
        )
    # Left to weft: batches that are not one dimension, rows that overlap, an operand turned round.
    check_tuned(product, numbers(2, 1, 7, 8), numbers(3, 8, 6))
    check_tuned(lambda a, b: a.as_strided((6, 8), (2, 1)) @ b, numbers(30), numbers(8, 5))
    check_tuned(lambda a, b: a.flip(0) @ b, numbers(6, 8), numbers(8, 5))
    check_tuned(product, numbers(4, 0), numbers(0, 6))


def followed(layer, activation, x, w, bias, residual):
    """A product and what may follow it."""
    check_tuned(lambda x, w: layer(x, w, None, None, activation), x, w)
    check_tuned(lambda x, w, b: layer(x, w, b, None, activation), x, w, bias)
    check_tuned(lambda x, w, b, r: layer(x, w, b, r, activation), x, w, bias, residual)


def linears():
    """What follows the sums, in each dtype that has it."""
    for dtype in (weft.float32, weft.float16, weft.bfloat16):
        x, w, bias = numbers(18, 40, dtype=dtype), numbers(24, 40, dtype=dtype), numbers(24, dtype=dtype)
        residual = numbers(18, 24, dtype=dtype)
        for activation in ("none", "relu", "gelu_tanh", "gelu_erf", "silu"):
            followed(lambda x, w, b, r, a: weft.linear_packed(x, w, None, b, r, activation=a),
                     activation, x, w, bias, residual)  # fmt: skip
            if dtype == weft.float32:
                followed(lambda x, w, b, r, a: weft.linear_fused(x, w, b, r, activation=a),
                         activation, x, w, bias, residual)  # fmt: skip
        check_tuned(lambda x, w, b: F.linear(x, w, b), x, w, bias)


def integers():
    a, b = numbers(20, 32, dtype=weft.int8), numbers(32, 24, dtype=weft.int8)
    same_in_every_order(lambda a, b: weft._int_mm(a, b), a, b)


def one():
    check_tuned(product, numbers(40, 48), numbers(48, 56))


def slow():
    weft._C._gpu.set_emulated_times(1, 1.02)
    check_tuned(product, numbers(40, 48), numbers(48, 56))
    weft._C._gpu.set_emulated_times(1, 1.005)
    check_tuned(product, numbers(40, 48), numbers(48, 57))
    weft._C._gpu.set_emulated_times(1, 0.98)
    check_tuned(product, numbers(40, 48), numbers(48, 58))


def one_linear():
    check_tuned(
        lambda x, w, b: weft.linear_fused(x, w, b, None), numbers(18, 40), numbers(24, 40), numbers(24)
    )


def relu():
    check_tuned(
        lambda x, w: weft.linear_fused(x, w, None, None, activation="relu"), numbers(18, 40), numbers(24, 40)
    )


def little_memory():
    """None for numbers to measure on."""
    a, b = numbers(200, 200), numbers(200, 200)
    want = (a @ b).numpy()
    tuned = weft.compile(product, mode="max-autotune")
    x, y = a.to("cuda"), b.to("cuda")
    weft._C._gpu.set_emulated_memory(600_000)
    for _ in range(2):
        with weft.device("cuda"):
            np.testing.assert_allclose(tuned(x, y).cpu().numpy(), want, rtol=1e-5, atol=1e-3)


def two_devices():
    for name in ("cuda:0", "cuda:1"):
        a, b = numbers(8, 12), numbers(12, 16)
        with weft.device(name):
            got = weft.compile(product, mode="max-autotune")(a.to(name), b.to(name))
        assert got.device == weft.device(name)
        np.testing.assert_allclose(got.cpu().numpy(), (a @ b).numpy(), rtol=1e-5, atol=1e-4)


def many():
    """More products than the library goes on with."""
    a, b = numbers(8, 12), numbers(12, 16)
    tuned = weft.compile(product, mode="max-autotune")
    want = (a @ b).numpy()
    with weft.device("cuda"):
        x, y = a.to("cuda"), b.to("cuda")
        for _ in range(150):
            np.testing.assert_allclose(tuned(x, y).cpu().numpy(), want, rtol=1e-5, atol=1e-4)


def kernels():
    """What weft does around its libraries' calls, in each dtype."""
    for dtype in FLOATS:
        check_tuned(product, numbers(20, 24, dtype=dtype), numbers(24, 28, dtype=dtype))
    check_tuned(
        lambda a, b: weft._int_mm(a, b), numbers(20, 24, dtype=weft.int8), numbers(24, 28, dtype=weft.int8)
    )
    for real, complex_ in ((weft.float32, weft.complex64), (weft.float64, weft.complex128)):
        same_eagerly(weft.fft_c2c, complex_numbers(3, 8, 2, dtype=complex_), 5, 1)
        same_eagerly(weft.fft_r2c, numbers(3, 8, 2, dtype=real), 9, 1, 1, False)
        same_eagerly(weft.fft_c2r, complex_numbers(3, 8, dtype=complex_), 9)


def without_autotune():
    a, b = numbers(8, 12), numbers(12, 16)
    for mode in ("default", "reduce-overhead"):
        with weft.device("cuda"):
            weft.compile(product, mode=mode)(a.to("cuda"), b.to("cuda"))
    a.to("cuda") @ b.to("cuda")


# ---- transforms ----


def complex_numbers(*shape, dtype=weft.complex64):
    return weft.tensor(rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).to(dtype)


def same_eagerly(function, *arguments):
    """One operator after another on the device, beside the CPU's."""
    want = function(*arguments)
    got = function(*[x.to("cuda") if isinstance(x, weft.Tensor) else x for x in arguments])
    assert got.device == weft.device("cuda:0") and got.dtype == want.dtype
    bound = 1e-12 if want.dtype in (weft.float64, weft.complex128) else 1e-5
    np.testing.assert_allclose(got.cpu().numpy(), want.numpy(), rtol=bound, atol=bound * 20)


def transforms():
    """Lengths cut and continued, dimensions, norms, dtypes; what is not contiguous."""
    for real, complex_ in ((weft.float32, weft.complex64), (weft.float64, weft.complex128)):
        x, z = numbers(4, 6, 10, dtype=real), complex_numbers(4, 6, 10, dtype=complex_)
        for dim in (0, 1, -1):
            for n in (None, 5, 6, 13):
                for norm in ("backward", "ortho", "forward"):
                    same_eagerly(fft.fft, z, n, dim, norm)
                    same_eagerly(fft.ifft, z, n, dim, norm)
                    same_eagerly(fft.rfft, x, n, dim, norm)
                    same_eagerly(fft.irfft, z, n, dim, norm)
                    same_eagerly(fft.fft, x, n, dim, norm)
        for function in (fft.fft2, fft.ifft2, fft.fftn, fft.ifftn, fft.irfft2, fft.irfftn):
            same_eagerly(function, z)
        for function in (fft.rfft2, fft.rfftn):
            same_eagerly(function, x)
        for dim in (0, 1, 2):  # the operators themselves
            for n in (3, 6, 12):
                same_eagerly(weft.fft_c2c, z, n, dim, 1, True)
                same_eagerly(weft.fft_r2c, x, n, dim, 2, False)
                same_eagerly(weft.fft_c2r, z, n, dim)
        same_eagerly(fft.fftn, z, (3, 8), (0, 2), "ortho")
        same_eagerly(lambda z: fft.fft(z.permute((2, 0, 1))[1:, :, ::2]), z)
        same_eagerly(lambda x: fft.rfft(x[0, 0, 1:]), x)  # at no multiple of 16 bytes
        same_eagerly(lambda x: fft.rfft(x[:0]), x)
        same_eagerly(lambda x: fft.rfft(x[:, :, :1]), x)


def one_transform():
    same_eagerly(fft.fft, complex_numbers(3, 8))
    same_eagerly(fft.rfft, numbers(3, 8))
    same_eagerly(fft.irfft, complex_numbers(3, 8), None, -1, "forward")
    for name in ("fft", "rfft", "irfft"):
        x = numbers(8, dtype=weft.float64) if name == "rfft" else complex_numbers(8, dtype=weft.complex128)
        same_eagerly(getattr(fft, name), x)


def many_plans():
    """More sizes than plans are kept, and the first and the last once more."""
    for n in (*range(2, 36), 35, 2):
        same_eagerly(fft.fft, complex_numbers(n))


def recorded_transforms():
    def filtered(z, window):
        return fft.ifft(fft.fft(z) * window) + z

    tuned = weft.compile(filtered, mode="reduce-overhead")
    window = complex_numbers(8)
    for _ in range(5):
        z = complex_numbers(3, 8)
        want = filtered(z, window).numpy()
        with weft.device("cuda"):
            got = tuned(z.to("cuda"), window.to("cuda"))
        np.testing.assert_allclose(got.cpu().numpy(), want, rtol=1e-5, atol=1e-4)
    for n in range(9, 50):  # what recorded work uses is not destroyed
        same_eagerly(fft.fft, complex_numbers(n))
    z = complex_numbers(3, 8)
    with weft.device("cuda"):
        got = tuned(z.to("cuda"), window.to("cuda"))
    np.testing.assert_allclose(got.cpu().numpy(), filtered(z, window).numpy(), rtol=1e-5, atol=1e-4)


def plans_that_go():
    """Between the first run and the one that would be recorded."""
    tuned = weft.compile(lambda z: fft.fft(z) * 2, mode="reduce-overhead")
    for _ in range(3):
        z = complex_numbers(3, 8)
        with weft.device("cuda"):
            got = tuned(z.to("cuda"))
        np.testing.assert_allclose(got.cpu().numpy(), (fft.fft(z) * 2).numpy(), rtol=1e-5, atol=1e-4)
        for n in range(9, 50):
            same_eagerly(fft.fft, complex_numbers(n))


# ---- linear algebra ----


def host(x):
    return x.cpu().numpy()


def on_the_gpu(function, *arguments):
    """What an operator gives there, as NumPy's arrays."""
    results = function(*[x.to("cuda") if isinstance(x, weft.Tensor) else x for x in arguments])
    results = results if isinstance(results, (tuple, list)) else (results,)
    assert all(result.device == weft.device("cuda:0") for result in results)
    return [host(result) for result in results]


def near(got, want, dtype):
    assert got.dtype == want.dtype and got.shape == want.shape
    bound = 1e-10 if dtype == weft.float64 else 2e-3
    np.testing.assert_allclose(got, want, rtol=bound, atol=bound)


def linear_systems(dtype):
    for shape in ((5, 5), (3, 4, 4), (2, 2, 6, 6), (1, 1)):
        a = numbers(*shape, dtype=dtype) + 3 * weft.eye(shape[-1], dtype=dtype)
        spd = a @ a.mT
        for x in (a, a.mT):
            for b in (numbers(*shape[:-1], 3, dtype=dtype), numbers(shape[-1], dtype=dtype),
                      numbers(shape[-1], 2, dtype=dtype)):  # fmt: skip
                near(on_the_gpu(weft.solve, x, b)[0], host(weft.solve(x, b)), dtype)
            near(on_the_gpu(weft.inv, x)[0], host(weft.inv(x)), dtype)
            for function in (weft.det, weft.slogdet, weft.lu_factor):
                want = function(x)
                want = want if isinstance(want, (tuple, list)) else (want,)
                for got, wanted in zip(on_the_gpu(function, x), want, strict=True):
                    near(got, host(wanted), dtype)
        near(on_the_gpu(weft.cholesky, spd)[0], host(weft.cholesky(spd)), dtype)
        for got, wanted in zip(on_the_gpu(weft.cholesky_ex, spd), weft.cholesky_ex(spd), strict=True):
            near(got, host(wanted), dtype)
    near(
        on_the_gpu(weft.lu_factor, numbers(6, 4, dtype=dtype))[0][:0], np.zeros((0, 4), str(dtype)[6:]), dtype
    )


def decompositions(dtype):
    for shape in ((6, 6), (6, 4), (4, 6), (2, 3, 5, 3), (2, 3, 5), (1, 3), (3, 1)):
        x = numbers(*shape, dtype=dtype)
        for turned in (x, x.mT):
            a = host(turned)
            for full in (False, True):
                u, s, vh = on_the_gpu(weft.svd, turned, full)
                want = [host(y) for y in weft.svd(turned, full)]
                assert [y.shape for y in (u, s, vh)] == [y.shape for y in want]
                least = s.shape[-1]
                near(u[..., :least] * s[..., None, :] @ vh[..., :least, :], a, dtype)
                near(
                    np.swapaxes(u, -1, -2) @ u,
                    np.zeros_like(u[..., :1, :]) + np.eye(u.shape[-1], dtype=u.dtype),
                    dtype,
                )
                near(s, want[1], dtype)
                q, r = on_the_gpu(weft.qr, turned, full)
                for got, wanted in zip((q, r), weft.qr(turned, full), strict=True):
                    near(got, host(wanted), dtype)
            near(on_the_gpu(weft.svdvals, turned)[0], s, dtype)
    for shape in ((5, 5), (2, 3, 4, 4), (1, 1)):
        x = numbers(*shape, dtype=dtype)
        for upper in (False, True):
            values, vectors = on_the_gpu(weft.eigh, x, upper)
            near(values, host(weft.eigh(x, upper)[0]), dtype)
            near(on_the_gpu(weft.eigvalsh, x, upper)[0], values, dtype)
            half = np.triu(host(x)) if upper else np.swapaxes(np.tril(host(x)), -1, -2)
            symmetric = half + np.swapaxes(np.triu(half, 1), -1, -2)
            near(symmetric @ vectors, vectors * values[..., None, :], dtype)


def linear_algebra():
    for dtype in (weft.float32, weft.float64):
        linear_systems(dtype)
        decompositions(dtype)


def error_of(function, *arguments):
    try:
        function(*arguments)
    except RuntimeError as error:
        return str(error)
    raise AssertionError("no error")


def singular():
    """The host's errors and results, the second of three matrices being the one."""
    stack = np.stack([np.eye(3), np.diag([1.0, 0.0, 2.0]), np.eye(3)]).astype(np.float32)
    for a in (weft.tensor(stack), weft.tensor(stack[1])):
        for function in (weft.cholesky, weft.inv, lambda x: weft.solve(x, weft.ones(3, 2, device=x.device))):
            assert error_of(function, a.to("cuda")) == error_of(function, a), function
        for function in (weft.det, weft.slogdet, weft.cholesky_ex, weft.lu_factor):
            want = function(a)
            want = want if isinstance(want, (tuple, list)) else (want,)
            for got, wanted in zip(on_the_gpu(function, a), want, strict=True):
                np.testing.assert_array_equal(got, host(wanted))


def one_of_each():
    for dtype in (weft.float32, weft.float64):
        a = numbers(4, 4, dtype=dtype)
        spd = a @ a.mT + weft.eye(4, dtype=dtype)
        near(on_the_gpu(weft.cholesky, spd)[0], host(weft.cholesky(spd)), dtype)
        near(on_the_gpu(weft.solve, spd, a)[0], host(weft.solve(spd, a)), dtype)
        near(on_the_gpu(weft.eigvalsh, spd)[0], host(weft.eigvalsh(spd)), dtype)
        near(on_the_gpu(weft.qr, a)[1], host(weft.qr(a)[1]), dtype)
        near(on_the_gpu(weft.svdvals, a)[0], host(weft.svdvals(a)), dtype)


def left_to_the_host():
    """Complex numbers and what is empty."""
    z = complex_numbers(3, 3)
    near(on_the_gpu(weft.det, z)[0], host(weft.det(z)), weft.float32)
    near(on_the_gpu(weft.det, numbers(0, 3, 3))[0], np.zeros(0, np.float32), weft.float32)
    near(on_the_gpu(weft.det, numbers(2, 0, 0))[0], np.ones(2, np.float32), weft.float32)


def solve_in_recorded_runs():
    tuned = weft.compile(lambda a, b: weft.solve(a, b) * 2, mode="reduce-overhead")
    for _ in range(4):
        a, b = numbers(4, 4) + 3 * weft.eye(4), numbers(4, 2)
        with weft.device("cuda"):
            got = tuned(a.to("cuda"), b.to("cuda"))
        near(host(got), host(weft.solve(a, b) * 2), weft.float32)


if __name__ == "__main__":
    weft._C._gpu.set_emulated_times(1, 0.5)  # libraries are faster
    globals()[sys.argv[1]]()
