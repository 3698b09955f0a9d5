"""Sorting, searching, scans and counting, against NumPy."""

import contextlib

import numpy as np
import pytest
import weft
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

DTYPES = [
    np.bool_,
    np.int8,
    np.uint8,
    np.int32,
    np.int64,
    np.uint64,
    np.float16,
    np.float32,
    np.float64,
    np.complex128,
]
ORDERED = DTYPES[:-1]


def arrays(dtypes, min_dims=1):
    shapes = hnp.array_shapes(min_dims=min_dims, max_dims=3, min_side=0, max_side=7)
    return st.sampled_from(dtypes).flatmap(lambda d: hnp.arrays(d, shapes)).map(vary_layout)


@contextlib.contextmanager
def threads(count):
    before = weft.get_num_threads()
    weft.set_num_threads(count)
    try:
        yield
    finally:
        weft.set_num_threads(before)


def vary_layout(x):
    return x[::-1] if x.size % 3 == 1 else x.swapaxes(0, -1) if x.size % 3 == 2 else x


def equal(actual, expected):
    actual, expected = actual.numpy(), np.asarray(expected)
    assert actual.dtype == expected.dtype
    np.testing.assert_array_equal(actual, expected)


@settings(deadline=None, max_examples=200)
@given(arrays(DTYPES), st.integers(-1, 0))
def test_sort(x, dim):
    with np.errstate(all="ignore"):
        values, order = weft.sort(weft.asarray(x), dim)
        np.testing.assert_array_equal(values.numpy(), np.sort(x, axis=dim))
        equal(order, np.argsort(x, axis=dim, kind="stable"))
        np.testing.assert_array_equal(weft.sort_values(weft.asarray(x), dim).numpy(), np.sort(x, axis=dim))
        equal(weft.argsort(weft.asarray(x), dim), np.argsort(x, axis=dim, kind="stable"))


def test_sort_descending_is_stable_and_puts_nan_first():
    values, order = weft.sort(weft.tensor([1.0, 3.0, float("nan"), 3.0]), descending=True)
    assert order.tolist() == [2, 1, 3, 0]
    assert values.tolist()[1:] == [3.0, 3.0, 1.0]


def test_sort_many_lanes_in_parallel():
    x = np.random.default_rng(0).standard_normal((300, 400))
    equal(weft.sort(weft.from_numpy(x), 0)[0], np.sort(x, axis=0))


def test_scalars_sort():
    values, order = weft.sort(weft.tensor(3.0))
    assert values.item() == 3.0 and order.item() == 0


@settings(deadline=None)
@given(arrays([np.int32, np.float64]), st.booleans())
def test_topk(x, largest):
    if x.shape[-1] == 0:
        return
    k = 1 + x.size % x.shape[-1]
    values, indices = weft.topk(weft.asarray(x), k, largest=largest)
    ordered = np.sort(x, axis=-1)
    expected = ordered[..., ::-1][..., :k] if largest else ordered[..., :k]
    np.testing.assert_array_equal(values.numpy(), expected)
    np.testing.assert_array_equal(np.take_along_axis(x, indices.numpy(), -1), values.numpy())


def test_rank_mistakes():
    with pytest.raises(ValueError, match="expected 0 <= k <= 3, got 4"):
        weft.topk(weft.ones(3), 4)
    with pytest.raises(ValueError, match="expected 1 <= k <= 3, got 0"):
        weft.kthvalue(weft.ones(3), 0)
    with pytest.raises(IndexError):
        weft.sort(weft.ones(3), 2)
    with pytest.raises(ValueError, match=r"q must be in \[0, 1\]"):
        weft.quantile(weft.ones(3), 2.0)


@settings(deadline=None)
@given(
    hnp.arrays(np.float64, hnp.array_shapes(max_dims=2, max_side=6), elements=st.floats(-1e3, 1e3)),
    st.floats(0, 1),
)
def test_quantile(x, q):
    np.testing.assert_allclose(
        weft.quantile(weft.from_numpy(x), q).numpy(), np.quantile(x, q), rtol=1e-12, atol=1e-12
    )
    actual = weft.quantile(weft.from_numpy(x), q, dim=0, keepdim=True).numpy()
    np.testing.assert_allclose(actual, np.quantile(x, q, axis=0, keepdims=True), rtol=1e-12, atol=1e-12)


def test_quantile_of_nan_is_nan():
    assert np.isnan(weft.quantile(weft.tensor([1.0, float("nan")]), 0.5).item())


@settings(deadline=None, max_examples=200)
@given(arrays(DTYPES), st.integers(-1, 0))
def test_scans(x, dim):
    with np.errstate(all="ignore"):
        for name in ["cumsum", "cumprod"]:
            actual = getattr(weft, name)(weft.asarray(x), dim).numpy()
            expected = getattr(np, name)(x, axis=dim)
            if np.issubdtype(x.dtype, np.unsignedinteger) and x.dtype != np.uint64:
                expected = expected.astype(np.int64)  # PyTorch's accumulator; NumPy's is unsigned
            assert actual.dtype == expected.dtype
            if x.dtype == np.float16 or np.iscomplexobj(x):
                continue  # compared below: their order of rounding differs
            np.testing.assert_array_equal(actual, expected)


def test_half_scan_accumulates_in_float32():
    x = np.full(4000, 0.1, dtype=np.float16)
    actual = weft.cumsum(weft.from_numpy(x), 0).numpy()
    np.testing.assert_allclose(actual[-1], np.float32(0.1) * 4000, rtol=1e-3)


@settings(deadline=None)
@given(arrays(ORDERED))
def test_running_extremes(x):
    for name, reference in [("cummax", np.maximum), ("cummin", np.minimum)]:
        values, indices = getattr(weft, name)(weft.asarray(x), 0)
        np.testing.assert_array_equal(values.numpy(), reference.accumulate(x, axis=0))
        if x.shape[0]:
            np.testing.assert_array_equal(np.take_along_axis(x, indices.numpy(), 0), values.numpy())


@settings(deadline=None)
@given(arrays([np.bool_, np.int32, np.float64]), st.integers(0, 3))
def test_diff(x, n):
    with np.errstate(all="ignore"):
        equal(weft.diff(weft.asarray(x), n=n), np.diff(x, n=n))


@settings(deadline=None)
@given(
    hnp.arrays(np.float64, st.integers(0, 20), elements=st.floats(-9, 9)),
    arrays([np.float64, np.int32]),
    st.booleans(),
)
def test_searchsorted(sequence, values, right):
    sequence = np.sort(sequence)
    side = "right" if right else "left"
    equal(
        weft.searchsorted(weft.asarray(sequence), weft.asarray(values), right=right),
        np.searchsorted(sequence, values, side),
    )
    equal(
        weft.bucketize(weft.asarray(values), weft.asarray(sequence), right=right),
        np.searchsorted(sequence, values, side),
    )


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize(
    "sequence",
    [
        np.linspace(-3, 3, 51),
        np.array([-1.0, 0, 0, 0, 1e-300, 1e-300, 2, 1e9]),
        np.array([0.0, 1, 2, np.nan, np.nan]),
        np.array([-np.inf, 0, 1, np.inf]),
        np.array([-1e308, 1e308]),
        np.array([2.0, 2, 2]),
        np.array([0.0, 5e-324]),
        np.linspace(0, 1, 40, dtype=np.float32),
        np.array([-(2**63), -5, -5, 0, 2**53, 2**53 + 1, 2**63 - 1]),
        np.arange(9, dtype=np.uint8),
    ],
)
def test_searchsorted_of_many_values(sequence, right):
    rng = np.random.default_rng(0)
    near = [np.nextafter(sequence, -1), np.nextafter(sequence, 3)] if sequence.dtype.kind == "f" else []
    values = np.concatenate([sequence, *near, np.repeat(sequence, 100)])
    spread = rng.choice([-np.inf, np.inf, np.nan, -0.0], 500) if near else np.arange(100)
    values = np.concatenate(
        [values, spread.astype(sequence.dtype), rng.normal(0, 2, 5000).astype(sequence.dtype)]
    )
    np.testing.assert_array_equal(
        weft.searchsorted(weft.asarray(sequence), weft.asarray(values), right=right),
        np.searchsorted(sequence, values, "right" if right else "left"),
    )


def test_searchsorted_row_by_row():
    sequence, values = weft.tensor([[1, 3, 5], [2, 4, 6]]), weft.tensor([[3, 9], [3, 0]])
    assert weft.searchsorted(sequence, values).tolist() == [[1, 3], [1, 0]]
    with pytest.raises(ValueError, match="all dimensions but the last must match"):
        weft.searchsorted(sequence, weft.tensor([[1], [2], [3]]))


@settings(deadline=None)
@given(arrays([np.bool_, np.int8, np.int64, np.float64]))
def test_unique(x):
    values, inverse, counts = weft.unique(weft.asarray(x), return_inverse=True, return_counts=True)
    expected, first, expected_inverse, expected_counts = np.unique(
        x, return_index=True, return_inverse=True, return_counts=True
    )
    equal(values, expected)
    equal(counts, expected_counts)
    equal(inverse, expected_inverse.reshape(x.shape))
    equal(weft.unique(weft.asarray(x), return_index=True)[1], first)


@settings(deadline=None)
@given(hnp.arrays(np.int64, st.integers(0, 20), elements=st.integers(0, 12)), st.integers(0, 20))
def test_bincount(x, minlength):
    equal(weft.bincount(weft.asarray(x), minlength=minlength), np.bincount(x, minlength=minlength))
    weights = x * 0.5
    if x.size:  # of nothing, NumPy's weighted counts are int64
        equal(weft.bincount(weft.asarray(x), weft.asarray(weights)), np.bincount(x, weights))


def test_counting_mistakes():
    with pytest.raises(ValueError, match="non-negative integers, got -1 at position 1"):
        weft.bincount(weft.tensor([0, -1]))
    with pytest.raises(TypeError, match="expected integers"):
        weft.bincount(weft.tensor([0.5]))
    with pytest.raises(ValueError, match="bins must be positive"):
        weft.histc(weft.ones(3), bins=0)


def test_histc():
    x = np.random.default_rng(0).random(1000).astype(np.float32)
    expected, _ = np.histogram(x, bins=8, range=(0, 1))
    np.testing.assert_array_equal(weft.histc(weft.from_numpy(x), bins=8, min=0, max=1).numpy(), expected)
    np.testing.assert_array_equal(weft.histc(weft.tensor([1.0, 1.0]), bins=2).numpy(), [0, 2])


@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint16, np.int16, np.int32, np.uint64, np.int64, np.float16, np.float32, np.float64]
)
@pytest.mark.parametrize("few", [False, True])
def test_long_lanes(dtype, few):
    """Keys that fill 64 bits, few distinct ones, zeros of both signs, NaNs; longer than a thread's share."""
    rng = np.random.default_rng(5)
    if np.dtype(dtype).kind == "f":
        x = (rng.integers(-3, 4, 70001) if few else rng.standard_normal(70001)).astype(dtype)
        x[rng.integers(0, x.size, 9)] = np.nan
        x[rng.integers(0, x.size, 9)] = -0.0
    else:
        limits = np.iinfo(dtype)
        x = (
            rng.integers(0, 5, 70001).astype(dtype)
            if few
            else rng.integers(limits.min, limits.max, 70001, dtype, True)
        )
    tensor = weft.from_numpy(x)
    equal(weft.sort_values(tensor), np.sort(x))
    equal(weft.argsort(tensor), np.argsort(x, kind="stable"))
    equal(weft.argsort(tensor, descending=True), x.size - 1 - np.argsort(x[::-1], kind="stable")[::-1])


def test_zeros_sort_by_sign():
    x = np.tile(np.array([0.0, 1.0, -0.0, -1.0]), 100)
    assert np.signbit(weft.sort_values(weft.from_numpy(x)).numpy()).tolist() == [True] * 200 + [False] * 200


def test_products_with_vectors():
    rng = np.random.default_rng(6)
    a, x = rng.standard_normal((300, 70000)), rng.standard_normal(140000)
    for left, right in [
        (x, x),
        (x[::2], x[1::2]),
        (x[::-1], x),
        (a, x[::2]),
        (a, x[::-2]),
        (a.T, x[:300]),
        (x[:300], a),
        (x[::2], a.T),
    ]:
        product = (weft.from_numpy(left) @ weft.from_numpy(right)).numpy()
        np.testing.assert_allclose(product, left @ right, rtol=1e-12, atol=1e-9)
        with threads(1):
            np.testing.assert_array_equal((weft.from_numpy(left) @ weft.from_numpy(right)).numpy(), product)
