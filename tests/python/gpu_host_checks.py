"""Operators with kernels written by hand on the device cuda beside the host's, of sizes on each side of a tile: gpu_host_checks.py [NAME]...

Run by scripts/test_gpu on a GPU, and by test_gpu_host_checks.py on the emulated device.
"""

import sys

import numpy as np
import weft

F = weft.nn.functional
FLOATS = (weft.float32, weft.float64, weft.bfloat16, weft.float16)
BOUNDS = {weft.float32: 1e-5, weft.float64: 1e-12, weft.bfloat16: 2e-2, weft.float16: 3e-3}
random = np.random.default_rng(11)


def sample(*shape, dtype=weft.float32):
    return weft.tensor(random.standard_normal(shape).astype("f4")).to(dtype)


def there(value):
    return value.to("cuda") if isinstance(value, weft.Tensor) else value


def check_host(function, *operands, bound=None, **options):
    """function of operands on the device and on the host: equal, or within a bound of the largest element."""
    want = function(*operands, **options)
    got = function(*map(there, operands), **{name: there(value) for name, value in options.items()})
    both = zip(got, want, strict=True) if isinstance(want, (tuple, list)) else [(got, want)]
    for a, b in both:
        assert a.is_cuda and a.shape == b.shape and a.dtype == b.dtype, (a, b)
        bound_of = BOUNDS.get(b.dtype, 0) if bound is None else bound
        a, b = (x.cpu().to(weft.float64).numpy() for x in (a, b))
        assert np.isfinite(a).all() == np.isfinite(b).all(), (function, options)
        wrong, largest = np.abs(a - b).max(initial=0), np.abs(b).max(initial=0)
        assert wrong <= bound_of * largest, (
            function,
            [x.shape for x in operands if x is not None],
            wrong,
            largest,
        )


def products():
    for dtype in FLOATS:
        for rows, columns, depth in (
            (1, 300, 64),
            (5, 129, 33),
            (16, 64, 128),
            (17, 200, 96),
            (130, 260, 264),
        ):
            a, b = sample(rows, depth, dtype=dtype), sample(columns, depth, dtype=dtype)
            check_host(weft.matmul, a, b.T)
            check_host(weft.matmul, a, b.T.contiguous())
            check_host(F.linear, a, b, sample(columns, dtype=dtype))
        check_host(weft.matmul, sample(3, 2, 40, 24, dtype=dtype), sample(3, 2, 24, 33, dtype=dtype))
    for rows in (1, 33, 140):
        numbers = [
            weft.tensor(random.integers(-127, 128, shape).astype("i1")) for shape in ((rows, 80), (64, 80))
        ]
        check_host(weft._int_mm, numbers[0], numbers[1].T)
        for dtype in (weft.float32, weft.bfloat16, weft.float16):
            scales = sample(rows, 1).abs() / 100, sample(64).abs()  # float16 ends at 65504
            check_host(
                weft.linear_int8, numbers[0], scales[0], numbers[1], scales[1], sample(64), dtype=dtype
            )


def quantized_weights():
    weight = sample(200, 128)
    for dtype in (weft.float32, weft.bfloat16, weft.float16):
        for rows in (1, 3, 16, 17, 150):
            x = sample(rows, 128, dtype=dtype)
            # The host may round activations before it multiplies; float32 says that it must not.
            for values, scales, group in (
                (*weft.quantize_int8(weight), 0),
                (*weft.quantize_int4(weight, 32), 32),
            ):
                check_host(
                    weft.linear_packed,
                    x,
                    values,
                    scales,
                    group_size=group,
                    activation="silu",
                    precision="float32",
                )


def attention():
    for dtype in (weft.float32, weft.bfloat16, weft.float16):
        for queries, keys, size in (
            (1, 300, 64),
            (16, 16, 80),
            (70, 70, 128),
            (150, 150, 64),
            (20, 600, 256),
        ):
            q = sample(2, 4, queries, size, dtype=dtype)
            k, v = sample(2, 4, keys, size, dtype=dtype), sample(2, 4, keys, size, dtype=dtype)
            check_host(weft.scaled_dot_product_attention, q, k, v)
            check_host(weft.scaled_dot_product_attention, q, k, v, is_causal=queries == keys)
        rel = sample(1, 2, 150, 15, dtype=dtype), sample(1, 2, 150, 10, dtype=dtype)
        q = sample(1, 2, 150, 64, dtype=dtype)
        check_host(weft.relative_position_attention, q, q, q, *rel)
    position, rope = weft.tensor(5), sample(300, 32, 2)
    for tokens in (1, 2, 40):
        for dtype, bound in ((weft.float32, 1e-5), (weft.bfloat16, 2e-2)):
            cache = sample(2, 300, 64, dtype=dtype), sample(2, 300, 64, dtype=dtype)
            check_host(
                weft.attention_with_kv_cache, sample(tokens, 8 * 64), *cache, position, rope, bound=bound
            )


def convolutions():
    for dtype in (weft.float32, weft.bfloat16, weft.float16):
        x = sample(2, 4, 17, 18, dtype=dtype)
        check_host(F.conv2d, x, sample(6, 4, 3, 3, dtype=dtype), sample(6, dtype=dtype), padding=1)
        check_host(F.conv2d, x, sample(6, 2, 4, 4, dtype=dtype), stride=4, groups=2)
        check_host(F.conv_transpose2d, x, sample(4, 6, 2, 2, dtype=dtype), stride=2)
        check_host(F.interpolate, x, size=(31, 40), mode="bilinear")


def order():
    """Sorting, scans, scattering and selecting, of sizes on each side of what a block takes."""
    for size in (7, 2048, 2049, 9000):
        x = weft.tensor(random.permutation(3 * size).reshape(3, size).astype("f4"))
        check_host(weft.sort, x, 1)
        check_host(weft.topk, x, 3, 1)
        check_host(weft.cumsum, x, 1)
        check_host(weft.cummax, x, 1)
        check_host(weft.nonzero, x % 3 == 0)
        at = weft.tensor(random.integers(0, 3, (3, size)))
        check_host(weft.scatter_add, x, 0, at, sample(3, size))
        check_host(weft.bincount, at[0])
        check_host(weft.unique, at[1])


CHECKS = (products, quantized_weights, attention, convolutions, order)
if __name__ == "__main__":
    for check in CHECKS:
        if not sys.argv[1:] or check.__name__ in sys.argv[1:]:
            check()
            print("passed", check.__name__)
