"""What test_gpu_libraries.py runs in processes of their own, with emulated devices: gpu_library_checks.py NAME."""

import sys

import numpy as np
import weft
import weft.nn.functional as F

rng = np.random.default_rng(3)


def numbers(*shape, dtype=weft.float32):
    if dtype == weft.int8:
        return weft.tensor(rng.integers(-128, 128, shape, dtype=np.int8))
    return weft.tensor(rng.standard_normal(shape).astype(np.float32)).to(dtype)


BOUNDS = {weft.float32: 1e-5, weft.float64: 1e-13, weft.float16: 4e-3, weft.bfloat16: 3e-2}


def same(function, *arguments):
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
    same(function, a, b)
    same(lambda a, b: function(a.T, b), turned_a, b)
    same(lambda a, b: function(a, b.T), a, turned_b)
    same(lambda a, b: function(a.T, b.T), turned_a, turned_b)


FLOATS = (weft.float32, weft.float64, weft.float16, weft.bfloat16)


def products():
    """Every dtype and memory order; sizes of one; batches, and one operand for all of them."""
    for dtype in FLOATS:
        for m, n, k in ((20, 33, 17), (1, 9, 8), (9, 1, 8), (5, 6, 1)):
            same_in_every_order(product, numbers(m, k, dtype=dtype), numbers(k, n, dtype=dtype))
        same(product, numbers(3, 7, 8, dtype=dtype), numbers(3, 8, 6, dtype=dtype))
        same(product, numbers(2, 3, 7, 8, dtype=dtype), numbers(2, 3, 8, 6, dtype=dtype))
        same(product, numbers(7, 8, dtype=dtype), numbers(3, 8, 6, dtype=dtype))
        same(product, numbers(3, 7, 8, dtype=dtype), numbers(8, 6, dtype=dtype))
        same(lambda a, b: a[:, 3:13] @ b[4:14], numbers(8, 20, dtype=dtype), numbers(30, 9, dtype=dtype))
    # Left to weft: batches that are not one dimension, rows that overlap, an operand turned round.
    same(product, numbers(2, 1, 7, 8), numbers(3, 8, 6))
    same(lambda a, b: a.as_strided((6, 8), (2, 1)) @ b, numbers(30), numbers(8, 5))
    same(lambda a, b: a.flip(0) @ b, numbers(6, 8), numbers(8, 5))
    same(product, numbers(4, 0), numbers(0, 6))


def followed(layer, activation, x, w, bias, residual):
    """A product and what may follow it."""
    same(lambda x, w: layer(x, w, None, None, activation), x, w)
    same(lambda x, w, b: layer(x, w, b, None, activation), x, w, bias)
    same(lambda x, w, b, r: layer(x, w, b, r, activation), x, w, bias, residual)


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
        same(lambda x, w, b: F.linear(x, w, b), x, w, bias)


def integers():
    a, b = numbers(20, 32, dtype=weft.int8), numbers(32, 24, dtype=weft.int8)
    same_in_every_order(lambda a, b: weft._int_mm(a, b), a, b)


def one():
    same(product, numbers(40, 48), numbers(48, 56))


def slow():
    weft._C._gpu.set_emulated_times(1, 1.02)
    same(product, numbers(40, 48), numbers(48, 56))
    weft._C._gpu.set_emulated_times(1, 1.005)
    same(product, numbers(40, 48), numbers(48, 57))
    weft._C._gpu.set_emulated_times(1, 0.98)
    same(product, numbers(40, 48), numbers(48, 58))


def one_linear():
    same(lambda x, w, b: weft.linear_fused(x, w, b, None), numbers(18, 40), numbers(24, 40), numbers(24))


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
        same(product, numbers(20, 24, dtype=dtype), numbers(24, 28, dtype=dtype))
    same(lambda a, b: weft._int_mm(a, b), numbers(20, 24, dtype=weft.int8), numbers(24, 28, dtype=weft.int8))


def without_autotune():
    a, b = numbers(8, 12), numbers(12, 16)
    for mode in ("default", "reduce-overhead"):
        with weft.device("cuda"):
            weft.compile(product, mode=mode)(a.to("cuda"), b.to("cuda"))
    a.to("cuda") @ b.to("cuda")


if __name__ == "__main__":
    weft._C._gpu.set_emulated_times(1, 0.5)  # libraries are faster
    globals()[sys.argv[1]]()
