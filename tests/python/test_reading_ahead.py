"""Loops that write past the caches and read ahead: each way of them that is tried gives the same, up to the last element.

WEFT_READ_AHEAD=1 has them compiled on every processor, WEFT_STREAMING_BYTES=1 for small arrays, too.
"""

import numpy as np
import pytest
import weft
from support.tiers import long_but

STRETCH = 16384  # what one way computes at a time while the ways are tried
SIZES = [5, 2 * STRETCH - 1, 2 * STRETCH, 2 * STRETCH + 1, 40 * STRETCH + 1003]


@pytest.fixture(params=long_but(["clang", "c++"], "clang"))
def reading_ahead(monkeypatch, request):
    monkeypatch.setenv("WEFT_READ_AHEAD", "1")
    monkeypatch.setenv("WEFT_STREAMING_BYTES", "1")
    monkeypatch.setenv("WEFT_TOOLCHAIN", request.param)


@pytest.fixture
def threads():
    before = weft.get_num_threads()
    yield weft.set_num_threads
    weft.set_num_threads(before)


def nearest(x, means):
    return np.argmin(np.linalg.norm(x - means[:, None], axis=2), axis=0)


def columns(x):
    return x[:, 0] - 2 * x[:, 1]


def updated(x):
    x += x[::-1] * 2
    return x


@pytest.mark.parametrize("vector_bytes", [16, 32, 64])
def test_every_way_gives_the_same(vector_bytes, reading_ahead, threads, monkeypatch):
    monkeypatch.setenv("WEFT_VECTOR_BYTES", str(vector_bytes))
    rng = np.random.default_rng(1)
    compiled_nearest, compiled_columns = weft.compile(nearest), weft.compile(columns)
    for count in (1, 3):
        threads(count)
        for size in SIZES:
            for dtype in ("float64", "float32", "int16"):
                x = rng.integers(-99, 99, (size, 2)).astype(dtype)
                np.testing.assert_array_equal(compiled_columns(x), columns(x))
                x[: size // 2] = x[size // 2 : size // 2 * 2]
                means = np.array([[-3, 4], [30, 20], [7, -60]])
                np.testing.assert_array_equal(compiled_nearest(x, means), nearest(x, means))


def test_vectors_of_two_registers(reading_ahead, threads):
    threads(1)
    x = np.random.default_rng(2).standard_normal(SIZES[-1]).astype(np.float32)

    def scaled(x):
        return (weft.exp(x) * 2).to(weft.float32)

    half = weft.from_numpy(x).to(weft.bfloat16)
    compiled = weft.compile(scaled)
    for _ in range(2):
        assert weft.equal(compiled(half), scaled(half))


def test_updates_in_place(reading_ahead, threads):
    compiled = weft.compile(updated)
    for count in (1, 3):
        threads(count)
        for size in SIZES:
            x = np.arange(size, dtype=np.float64)
            np.testing.assert_array_equal(compiled(x.copy()), updated(x.copy()))


# ---- the roots of squares ------------------------------------------------------------------------------------


def farthest(x, means):
    return np.argmax(np.linalg.norm(x - means[:, None], axis=2), axis=0)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("vector_bytes", [16, 32, 64])
def test_roots_that_are_equal_where_squares_are_not(vector_bytes, dtype, monkeypatch):
    """Distances within some units in the last place of each other, equal ones, NaN, infinities, denormal numbers."""
    monkeypatch.setenv("WEFT_VECTOR_BYTES", str(vector_bytes))
    rng = np.random.default_rng(3)
    eps = np.finfo(dtype).eps
    tiny = np.finfo(dtype).smallest_subnormal
    special = np.array(
        [0, -0.0, tiny, 3 * tiny, 1, 1 + eps, 1 - eps / 2, 2, np.inf, -np.inf, np.nan, eps**3, 1 / eps**3],
        dtype,
    )
    angles = rng.random(5003)
    circle = np.stack([np.cos(angles), np.sin(angles)], 1)
    for count in (2, 3, 5):
        for x, means in (
            (rng.choice(special, (5003, 2)), rng.choice(special, (count, 2))),
            (circle, circle[:count] * eps),
            (circle * (1 + rng.integers(-3, 4, (5003, 1)) * eps), circle[:count] * eps / 8),
            (rng.integers(-8, 8, (5003, 2)), rng.integers(-8, 8, (count, 2))),
        ):
            x, means = x.astype(dtype), means.astype(dtype)
            for function in (nearest, farthest):
                with np.errstate(all="ignore"):
                    wanted, got = function(x, means), weft.compile(function)(x, means)
                np.testing.assert_array_equal(got, wanted, err_msg=f"{function.__name__}, {count} means")
