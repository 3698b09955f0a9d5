"""Eager pointwise operators: the kernels that the build writes give, for every level of instructions, the bits of the
operators' own loops (which run under WEFT_VECTOR_BYTES=16), on any layout and number of elements."""

import hashlib
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import weft
from support.tiers import long_but
from test_ops_reference import POINTWISE, parameters

DTYPES = ["float16", "bfloat16", "float32", "float64"]
SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    np.inf,
    -np.inf,
    np.nan,
    1e-40,
    -1e-310,
    0.5,
    3e38,
    1e308,
    88.8,
    -104.2,
    709.9,
    -745.2,
]
REQUIRED = {"threshold": {"threshold": 1, "value": 20}}


def layouts(random, low, high):
    """Arrays for each operand: contiguous of several sizes, rows that are repeated, single elements, steps, unaligned."""
    for size in (1, 3, 16, 33, 1000, 40000):
        yield lambda: random.uniform(low, high, size)  # noqa: B023
    yield lambda: np.resize(SPECIAL, 1024)
    rows = iter([(300, 200), (200,), (300, 1), (1, 1)] * 4)
    yield lambda: random.uniform(low, high, next(rows))
    yield lambda: random.uniform(low, high, (64, 60))[:, ::3]
    yield lambda: random.uniform(low, high, 5001)[1:]
    yield lambda: random.uniform(low, high, (90, 70)).T


def digests():
    """From operator and dtype to a digest of the bits that it gives; every NaN counts as the same."""
    found = {}
    for name, operator in POINTWISE:
        names, _ = parameters(operator.schema)
        low, high = operator.definition["sample"]
        for dtype in DTYPES:
            if dtype not in operator.definition["dtypes"]:
                continue
            digest = hashlib.sha256()
            for make in layouts(np.random.default_rng(7), low, high):
                operands = []
                with np.errstate(all="ignore"):
                    for each in names:
                        array = make()
                        tensor = weft.from_numpy(array.astype("float64" if dtype == "float64" else "float32"))
                        operands.append(
                            weft.from_numpy(array > (low + high) / 2)
                            if each == "condition"
                            else tensor.to(getattr(weft, dtype))
                        )
                try:
                    result = operator(*operands, **REQUIRED.get(name, {}))
                except (TypeError, ValueError) as error:
                    digest.update(str(error).encode())
                    continue
                if result.dtype in (weft.float16, weft.bfloat16):
                    result = result.to(weft.float32)
                got = result.numpy()
                if got.dtype.kind == "f":
                    got = np.where(np.isnan(got), np.array(np.nan, got.dtype), got)
                digest.update(np.ascontiguousarray(got).tobytes())
            found[f"{name} {dtype}"] = digest.hexdigest()
    return found


def digests_at(width):
    environment = {**os.environ, "WEFT_VECTOR_BYTES": str(width)}
    environment["PYTHONPATH"] = os.pathsep.join([str(pathlib.Path(__file__).parent), *sys.path])
    script = "import json, test_built_kernels; print(json.dumps(test_built_kernels.digests()))"
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        check=True,
        env=environment,
        capture_output=True,
        text=True,
    )
    return json.loads(ran.stdout)


@pytest.fixture(scope="module")
def plain():
    return digests_at(16)


@pytest.mark.parametrize("width", [32, 64])
def test_written_kernels_give_the_bits_of_the_loops(width, plain):
    found = digests_at(width)
    assert {name for name in plain if found[name] != plain[name]} == set()


@pytest.mark.parametrize("dtype", long_but([weft.float32, weft.float64], weft.float32))
@pytest.mark.parametrize("shape", [(1,), (1, 1), (7, 1024), (7, 1025), (3, 100003), (300, 2, 5), (2, 513, 9)])
@pytest.mark.parametrize("layout", ["contiguous", "transposed", "steps"])
def test_reductions_and_softmax_of_rows(shape, dtype, layout):
    random = np.random.default_rng(3)
    array = random.standard_normal([2 * size for size in shape] if layout == "steps" else shape)
    array = array.astype("float32" if dtype == weft.float32 else "float64")
    if layout == "steps":
        array = array[tuple(slice(None, None, 2) for _ in shape)]
    if layout == "transposed":
        array = np.ascontiguousarray(array.T).T
    x, wide = weft.from_numpy(array), array.astype(np.longdouble)
    tolerance = {"rtol": 1e-5, "atol": 1e-4} if dtype == weft.float32 else {"rtol": 1e-12, "atol": 1e-12}
    for dim in range(len(shape)):
        shifted = np.exp(wide - wide.max(dim, keepdims=True))
        total = shifted.sum(dim, keepdims=True)
        expected = {
            "sum": wide.sum(dim),
            "amax": wide.max(dim),
            "amin": wide.min(dim),
            "logsumexp": (np.log(total) + wide.max(dim, keepdims=True)).squeeze(dim),
            "softmax": shifted / total,
            "log_softmax": wide - wide.max(dim, keepdims=True) - np.log(total),
            "norm": np.sqrt((wide * wide).sum(dim)),
        }
        if shape[dim] > 1:
            expected["var"] = wide.var(dim, ddof=1)
        for name, exact in expected.items():
            got = weft.norm(x, dim=dim) if name == "norm" else getattr(weft, name)(x, dim)
            np.testing.assert_allclose(
                got.numpy(), exact.astype(array.dtype), **tolerance, err_msg=f"{name} {dim}"
            )


@pytest.mark.parametrize("size", [1, 15, 16, 17, 64, 1025])
@pytest.mark.parametrize("at", [0, -1])
def test_the_largest_of_a_row_with_nan_is_nan(size, at):
    x = np.zeros((3, size), np.float32)
    x[1, at] = np.nan
    for name in ("amax", "amin"):
        np.testing.assert_array_equal(
            np.isnan(getattr(weft, name)(weft.from_numpy(x), 1).numpy()), [False, True, False]
        )
    assert np.isnan(weft.softmax(weft.from_numpy(x), 1).numpy()[1]).all()


@pytest.mark.parametrize("dtype", [weft.float32, weft.bfloat16])
@pytest.mark.parametrize("length", [1, 2, 1024, 1025])
def test_variances_and_deviations_by_length(length, dtype):
    x = weft.from_numpy(np.random.default_rng(1).standard_normal((3, length), np.float32) + 5).to(dtype)
    wide = x.to(weft.float64).numpy()
    for function, reference in ((weft.var, np.var), (weft.std, np.std)):
        for correction in (0.0, 1.0):
            with np.errstate(all="ignore"):
                expected = reference(wide, 1, ddof=correction) if length > correction else np.full(3, np.nan)
            for keepdim in (False, True):
                found = function(x, 1, correction=correction, keepdim=keepdim)
                assert found.dtype == dtype and found.shape == ((3, 1) if keepdim else (3,))
                np.testing.assert_allclose(
                    found.to(weft.float64).numpy().reshape(3),
                    expected,
                    rtol=2**-8 if dtype == weft.bfloat16 else 1e-5,
                )


def test_sums_of_nothing_but_negative_zeros():
    assert not np.signbit(weft.sum(weft.from_numpy(np.full((2, 40), -0.0, np.float32)), 1).numpy()).any()


# ---- operands in any layout ------------------------------------------------------------------------------------------

ROWS, COLUMNS = 67, 131


def seen(array, layout):
    """The same elements, laid out otherwise in memory."""
    if layout == "transposed":
        return np.ascontiguousarray(array.T).T
    if layout == "steps":
        wide = np.zeros((array.shape[0], 2 * array.shape[1]), array.dtype)
        wide[:, ::2] = array
        return wide[:, ::2]
    if layout == "slice":
        wide = np.zeros((array.shape[0] + 1, array.shape[1] + 3), array.dtype)
        wide[1:, 2:-1] = array
        return wide[1:, 2:-1]
    if layout == "reversed":
        return np.ascontiguousarray(array[::-1, ::-1])[::-1, ::-1]
    return array


LAYOUTS = ["contiguous", "transposed", "steps", "slice", "reversed"]
BROADCAST = {"row": np.s_[:1], "column": np.s_[:, :1], "number": np.s_[:1, :1], "vector": np.s_[0]}


def sample(dtype, seed, shape=(ROWS, COLUMNS)):
    values = np.random.default_rng(seed).standard_normal(shape) * 5
    values.flat[::97] = np.resize(SPECIAL, values.flat[::97].shape)
    if not np.issubdtype(dtype, np.floating):
        values = np.nan_to_num(np.clip(values, -100, 100))
    with np.errstate(all="ignore"):
        return values.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int64, np.int8])
@pytest.mark.parametrize("second", [*LAYOUTS, *BROADCAST])
@pytest.mark.parametrize("first", LAYOUTS)
def test_sums_and_choices_of_any_two_layouts(first, second, dtype):
    with np.errstate(all="ignore"):
        x, y = seen(sample(dtype, 1), first), sample(dtype, 2)
        y = y[BROADCAST[second]] if second in BROADCAST else seen(y, second)
        condition = seen(sample(np.int64, 3) > 0, first)
        a, b, c = (weft.from_numpy(each) for each in (x, y, condition))
        np.testing.assert_array_equal((a + b).numpy(), x + y)
        np.testing.assert_array_equal((b - a).numpy(), y - x)
        np.testing.assert_array_equal((a < b).numpy(), x < y)
        np.testing.assert_array_equal(weft.where(c, a, b).numpy(), np.where(condition, x, y))
        np.testing.assert_array_equal(weft.where(c, b, a).numpy(), np.where(condition, y, x))
        np.testing.assert_array_equal(weft.abs(a).numpy(), np.abs(x))


@pytest.mark.parametrize("columns", [1, 3, 47, 48, 49, 2047, 2049, 70001])
def test_columns_beside_rows_of_any_length(columns):
    x, y = sample(np.float32, 4, (3, columns)), sample(np.float32, 5, (3, 1))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal((weft.from_numpy(x) * weft.from_numpy(y)).numpy(), x * y)
        np.testing.assert_array_equal((weft.from_numpy(y) * weft.from_numpy(x[1])).numpy(), y * x[1])


@pytest.mark.parametrize("shape", [(4, 5000), (300, 200), (20000,), (6000, 4)])
def test_updates_in_place(shape):
    with np.errstate(all="ignore"):
        x, y = sample(np.float32, 6, shape), sample(np.float32, 7, shape)
        for change in (
            lambda a, b: a.__iadd__(b),
            lambda a, b: a.__imul__(2),
            lambda a, b: a.__isub__(a),
            lambda a, b: a.__iadd__(b[-1:]),
            lambda a, b: a[1:].__iadd__(a[:-1]),  # other elements of the same memory
            lambda a, b: a[::-1].__iadd__(a),
        ):
            expected, tensor = x.copy(), weft.from_numpy(x.copy())
            change(expected, y), change(tensor, weft.from_numpy(y.copy()))
            np.testing.assert_array_equal(tensor.numpy(), expected)


def test_an_update_in_place_keeps_the_dtype_and_what_lies_between():
    x = np.zeros((200, 300), np.int64)
    tensor = weft.from_numpy(x)
    tensor[:, 10:200] += 3
    assert (x[:, 10:200] == 3).all() and x.sum() == 3 * 190 * 200
    with pytest.raises(TypeError):
        tensor.__iadd__(0.5)
    halves = weft.zeros((200, 300), dtype=weft.float16)
    halves += weft.ones((200, 300), dtype=weft.float32)
    assert halves.dtype == weft.float16 and (halves.numpy() == 1).all()


def test_an_update_in_place_of_memory_that_is_repeated():
    row = weft.from_numpy(np.zeros(20000, np.float32))
    repeated = row.expand((2, 20000))
    try:
        repeated += 1
    except (RuntimeError, ValueError):
        return
    assert (row.numpy() == 1).all()


@pytest.mark.parametrize(
    "dtype", [np.float32, np.float64, np.int64, np.int8, np.bool_, np.float16, np.complex64]
)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(ROWS, COLUMNS), (5, 2100), (2100, 5), (3, 64), (64, 7)])
def test_positions_of_extremes(shape, layout, dtype):
    random = np.random.default_rng(8)
    x = random.integers(-3, 3, shape).astype(dtype)
    if dtype in (np.float32, np.float64, np.float16):
        x.flat[::50] = -0.0
        x[1, 2], x[-1, -1], x[2] = np.nan, np.inf, -np.inf
    x = seen(x, layout)
    # PyTorch has no order of truth values and complex numbers, NumPy has.
    tensor = (weft.numpy.asarray if dtype in (np.bool_, np.complex64) else weft.from_numpy)(x)
    for dim in (0, 1):
        np.testing.assert_array_equal(np.asarray(weft.argmax(tensor, dim)), np.argmax(x, dim))
        np.testing.assert_array_equal(np.asarray(weft.argmin(tensor, dim)), np.argmin(x, dim))
    assert weft.argmax(tensor).item() == np.argmax(x)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int32, np.float16])
def test_reductions_of_any_layout(layout, dtype):
    x = np.random.default_rng(9).integers(-30, 30, (6, 40, 70)).astype(dtype)
    x = np.stack([seen(each, layout) for each in x]) if layout == "steps" else x
    for array in (x, x.transpose(2, 0, 1), x.transpose(1, 2, 0), x[:, ::-1], x[1:, 3:, 1:]):
        tensor = weft.from_numpy(array)
        wide = array.astype(np.float64)
        for dim in (0, 1, 2, (0, 1), (0, 2), (1, 2), (0, 1, 2)):
            for keep in (False, True):
                total = weft.sum(tensor, dim, keepdim=keep).numpy()
                np.testing.assert_array_equal(total, wide.sum(dim, keepdims=keep).astype(total.dtype))
                np.testing.assert_array_equal(
                    weft.amax(tensor, dim, keepdim=keep).numpy(), array.max(dim, keepdims=keep)
                )
        for dim in (0, 1, 2):
            np.testing.assert_array_equal(
                weft.cumsum(tensor, dim, dtype=weft.float64).numpy(), wide.cumsum(dim)
            )


@pytest.mark.parametrize("dtype", [weft.float16, weft.bfloat16])
@pytest.mark.parametrize("dim", [0, 1])
def test_softmax_of_half_precision_rounds_once(dim, dtype):
    x = weft.from_numpy(sample(np.float32, 10) / 4).to(dtype)
    x = weft.where(weft.isfinite(x), x, 0)
    for name in ("softmax", "log_softmax", "logsumexp"):
        function = getattr(weft, name)
        expected = function(x.to(weft.float32), dim).to(dtype).to(weft.float32).numpy()
        got = function(x, dim).to(weft.float32).numpy()
        digits = 2**-10 if dtype == weft.float16 else 2**-7
        np.testing.assert_allclose(got, expected, rtol=digits, atol=1e-6)


@pytest.mark.parametrize("size", [1, 5, 1023, 1024, 1025, 4096, 5000])
@pytest.mark.parametrize("dtype", [weft.float32, weft.float64, weft.bfloat16])
def test_the_norm_of_all_elements(size, dtype):
    x = weft.from_numpy(np.random.default_rng(size).standard_normal(size)).to(dtype)
    exact = np.linalg.norm(x.to(weft.float64).numpy())
    tolerance = {weft.float32: 1e-6, weft.float64: 1e-14, weft.bfloat16: 2**-8}[dtype]
    got = weft.norm(x).to(weft.float64).numpy()
    np.testing.assert_allclose(got, exact, rtol=tolerance)
    assert weft.norm(x).shape == ()


@pytest.mark.parametrize("size", [2, 15, 1024, 1025])
def test_variances_of_rows(size):
    x = np.random.default_rng(size).standard_normal((5, size)) + 100
    for correction in (0, 1, 2):
        with np.errstate(all="ignore"):
            expected = x.var(1, ddof=correction)
        if size > correction:
            got = weft.var(weft.from_numpy(x), 1, correction=correction).numpy()
            np.testing.assert_allclose(got, expected, rtol=1e-11)
            narrow = weft.var(weft.from_numpy(x.astype(np.float32)), 1, correction=correction).numpy()
            np.testing.assert_allclose(
                narrow, x.astype(np.float32).astype(np.float64).var(1, ddof=correction), rtol=1e-5
            )


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("shape", [(31, 33), (32, 32), (64, 100), (100, 64), (3, 70, 65), (8, 7), (200, 9)])
def test_transposed_copies(shape, dtype):
    x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    tensor = weft.from_numpy(x)
    last = len(shape) - 1
    got = tensor.transpose(last - 1, last).contiguous()
    np.testing.assert_array_equal(got.numpy(), np.swapaxes(x, -1, -2))


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.bool_])
@pytest.mark.parametrize("columns", [1, 2, 3, 48, 64, 1000, 1024, 1025, 5000])
def test_rows_that_are_repeated(columns, dtype):
    shape = (41, columns)
    with np.errstate(all="ignore"):
        x, row = sample(dtype, 11, shape), sample(dtype, 12, (columns,))
        condition = sample(np.int64, 13, (columns,)) > 0
        a, b, c = weft.from_numpy(x), weft.from_numpy(row), weft.from_numpy(condition)
        np.testing.assert_array_equal((a + b).numpy(), x + row)
        np.testing.assert_array_equal((b == a).numpy(), row == x)
        np.testing.assert_array_equal(weft.where(c, a, b).numpy(), np.where(condition, x, row))
        np.testing.assert_array_equal(weft.where(c, a, a[0, 0]).numpy(), np.where(condition, x, x[0, 0]))
        if dtype != np.bool_:
            np.testing.assert_array_equal(
                weft.clip(a, b, 3).numpy(), np.minimum(np.maximum(x, row), dtype(3))
            )


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.uint8])
@pytest.mark.parametrize("length", [1, 9, 64, 65, 66, 129, 300, 320, 1000])
@pytest.mark.parametrize("count", [0, 1, 2, 5, 63, 64, 65, 200])
def test_the_first_few_of_a_row(count, length, dtype):
    if count > length:
        return
    x = np.random.default_rng(14).integers(0, 40, (3, length)).astype(dtype)
    if dtype in (np.float32, np.float16):
        x[0, ::7], x[1, ::5], x[2, ::3] = np.nan, -0.0, np.inf
    found_by = {}  # of equal elements, the same come whether rows are seen through as vectors or not
    for layout in ("contiguous", "transposed"):
        tensor = weft.from_numpy(seen(x, layout))
        for largest in (True, False):
            assert found_by.setdefault(largest, weft.topk(tensor, count, 1, largest)[1].tolist()) == (
                weft.topk(tensor, count, 1, largest)[1].tolist()
            )
            values, indices = weft.topk(tensor, count, 1, largest)
            sorted_values, _ = weft.sort(tensor, 1, largest)
            np.testing.assert_array_equal(values.numpy(), sorted_values.numpy()[:, :count])
            # Which of equal elements come is what PyTorch's selection gives.
            found = np.take_along_axis(x, indices.numpy(), 1)
            np.testing.assert_array_equal(found, values.numpy())
            assert all(len(set(row)) == count for row in indices.numpy().tolist())


def test_half_precision_is_converted_exactly():
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    for size in (1, 7, 8, 9, 1 << 16):
        for part in (halves[:size], halves[-size:]):
            wide = weft.from_numpy(part.copy()).to(weft.float32)
            np.testing.assert_array_equal(wide.numpy(), part.astype(np.float32))
            np.testing.assert_array_equal(wide.to(weft.float16).numpy(), part)
    between = np.random.default_rng(15).integers(0, 1 << 32, 100003, dtype=np.uint32).view(np.float32)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(
            weft.from_numpy(between).to(weft.float16).numpy(), between.astype(np.float16)
        )


@pytest.mark.parametrize("size", [1, 3, 8, 100, 1024])
def test_gathers_refuse_what_is_outside(size):
    random = np.random.default_rng(16)
    x, at = random.standard_normal((5, size)).astype(np.float32), random.integers(0, size, (5, 37))
    got = weft.gather(weft.from_numpy(x), 1, weft.from_numpy(at))
    np.testing.assert_array_equal(got.numpy(), np.take_along_axis(x, at, 1))
    for wrong in (size, 1 << 40):
        at[3, 30] = wrong
        with pytest.raises((IndexError, RuntimeError)):
            weft.gather(weft.from_numpy(x), 1, weft.from_numpy(at))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.int8, np.complex64])
def test_what_a_mask_selects(layout, dtype):
    x = np.random.default_rng(17).integers(-9, 9, (ROWS, COLUMNS)).astype(dtype)
    for mask in (x.real > 2, x.real > 100, x.real > -100):
        got = weft.from_numpy(seen(x, layout))[weft.from_numpy(seen(mask, "transposed"))]
        np.testing.assert_array_equal(got.numpy(), x[mask])


@pytest.mark.parametrize("portion", [0.0, 0.001, 0.05, 0.07, 0.5, 0.93, 0.95, 0.999, 1.0])
@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 16384, 16385, 40007])
def test_masks_of_any_density(size, portion):
    random = np.random.default_rng(19)
    mask = random.random(size) < portion
    for dtype in (np.int8, np.float16, np.float32, np.float64, np.complex128):
        x = random.integers(-99, 99, size).astype(dtype)
        for start in (0, min(3, size)):
            got = weft.from_numpy(x)[start:][weft.from_numpy(mask)[start:]]
            np.testing.assert_array_equal(got.numpy(), x[start:][mask[start:]])


def test_sums_of_transposed_rows_have_the_bits_of_a_copy():
    random = np.random.default_rng(20)
    sizes = [(1, 300), (31, 40), (33, 1024), (70, 1023), (5, 1025), (40, 9)]
    # Around the number of partial sums, and around the rows that are added beside each other.
    sizes += [(8, 63), (8, 64), (9, 127), (9, 128), (9, 129), (511, 256), (512, 257), (513, 512), (1030, 321)]
    for rows, length in sizes:
        x = weft.from_numpy(random.standard_normal((length, rows)))
        for dtype in (weft.float64, weft.float32, weft.float16, weft.bfloat16):
            columns = x.to(dtype).transpose(0, 1)
            for function in (weft.sum, weft.prod):
                got, expected = function(columns, 1), function(columns.contiguous(), 1)
                assert bits(got) == bits(expected)


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize(
    "shape", [(2, 3, 4), (1, 1, 1), (70, 2, 3), (3, 0, 2), (1, 65, 3), (16, 16, 16), (17, 16, 16)]
)
@pytest.mark.parametrize("dtype", [np.bool_, np.int16, np.float32, np.complex128])
def test_arrays_joined(shape, dim, dtype):
    random = np.random.default_rng(23)
    arrays = [random.integers(-9, 9, shape).astype(dtype) for _ in range(3)]
    views = [random.integers(-9, 9, shape[::-1]).astype(dtype).T, arrays[0][::-1, :, ::-1], arrays[1][:, 1:]]
    for given in (arrays, arrays + views[:2], [*arrays, *views] if dim == 1 else [views[0], arrays[2]]):
        got = weft.concatenate([weft.from_numpy(np.array(array, order="K")) for array in given], dim)
        np.testing.assert_array_equal(got.numpy(), np.concatenate(given, dim))


def test_tensors_filled_with_zero():
    for dtype in (weft.bool, weft.int64, weft.float16, weft.float32, weft.complex64):
        for shape in ((), (0,), (3, 0), (5, 7), (100, 1000)):
            for value in (0, False, 0.0, 1, True):
                got = weft.full(shape, value, dtype=dtype)
                assert got.shape == shape and got.dtype == dtype
                assert (got.numpy() == value).all()
            assert not weft.zeros(shape, dtype=dtype).numpy().any()
            assert not weft.zeros_like(weft.ones(shape, dtype=dtype)).numpy().any()
    assert np.signbit(weft.full((3,), -0.0, dtype=weft.float32).numpy()).all()
    with pytest.raises(ValueError, match="negative"):
        weft.zeros((2, -1))


@pytest.mark.parametrize("dtype", [weft.float16, weft.bfloat16])
def test_what_needs_no_rounding_in_half_precision(dtype):
    # Every value of it, beside every other one at some distance.
    every = weft.from_numpy(np.arange(1 << 16).astype(np.uint16).view(np.int16)).view(dtype)
    other = weft.roll(every, 12345)
    wide, wide_other = every.to(weft.float32), other.to(weft.float32)

    def functions(a, b):
        return [
            abs(a),
            -a,
            weft.maximum(a, b),
            weft.minimum(a, b),
            weft.where(a < b, -a, abs(b)),
            weft.relu(a),
        ]

    compiled = weft.compile(functions)(every, other)
    for got, again, expected in zip(
        functions(every, other), compiled, functions(wide, wide_other), strict=True
    ):
        for result in (got, again):
            assert result.dtype == dtype
            found, exact = result.to(weft.float32).numpy(), expected.numpy()
            np.testing.assert_array_equal(found, exact)
            zero = exact == 0
            np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(exact[zero]))


def bits(tensor):
    return tensor.to(weft.float64).numpy().tobytes()


@pytest.mark.parametrize("rows", [1, 3, 4, 5, 16, 17, 100])
@pytest.mark.parametrize("columns", [8, 513, 2049, 5000])
def test_sums_of_columns_are_exact_for_integers(rows, columns):
    x = np.random.default_rng(21).integers(-9, 9, (rows, columns)).astype(np.float64)
    for dtype in (weft.float64, weft.float32, weft.float16, weft.bfloat16):
        # Beside one another, with gaps, and repeated.
        for array in (x, np.repeat(x, 2, 1)[:, ::2], np.broadcast_to(x[:1], x.shape)):
            got = weft.sum(weft.from_numpy(array).to(dtype), 0)
            expected = weft.from_numpy(array.sum(0)).to(dtype)
            assert bits(got) == bits(expected)
    x[rows // 2, 3] = np.nan
    assert np.isnan(weft.sum(weft.from_numpy(x).to(weft.bfloat16), 0).to(weft.float64).numpy()).nonzero()[
        0
    ] == [3]


@pytest.mark.parametrize("columns", [1, 63, 64, 65, 1000])
def test_rows_and_elements_added_where_an_index_says(columns):
    random = np.random.default_rng(22)
    x, values = random.integers(-9, 9, (2, 30, columns)).astype(np.float64)
    rows, places = random.integers(0, 30, 30), random.integers(0, columns, (30, columns))
    by_rows, by_places = x.copy(), x.copy()
    np.add.at(by_rows, rows, values)
    np.add.at(by_places, (np.arange(30)[:, None], places), values)
    for dtype in (weft.float64, weft.float32, weft.bfloat16, weft.int64):
        base, given = weft.from_numpy(x).to(dtype), weft.from_numpy(values).to(dtype)
        got = weft.index_add(base, 0, weft.from_numpy(rows), given)
        np.testing.assert_array_equal(got.to(weft.float64).numpy(), by_rows)
        got = weft.scatter_add(base, 1, weft.from_numpy(places), given)
        np.testing.assert_array_equal(got.to(weft.float64).numpy(), by_places)
    for wrong in (columns, 1 << 40):
        places[29, 0] = wrong
        with pytest.raises((IndexError, RuntimeError)):
            weft.scatter_add(weft.from_numpy(x), 1, weft.from_numpy(places), weft.from_numpy(values))


@pytest.mark.parametrize("dtype", [np.int64, np.int8, np.uint8, np.float32])
def test_integers_clamped_between(dtype):
    x = np.random.default_rng(18).integers(0, 99, (50, 70)).astype(dtype)
    tensor = weft.from_numpy(x)
    for low, high in ((3, 40), (40, 3), (-5, 300 if dtype != np.int8 else 120)):
        if dtype == np.uint8 and low < 0 or dtype in (np.int8, np.uint8) and high > 127:
            continue
        got = weft.clip(tensor, low, high)
        np.testing.assert_array_equal(got.numpy(), np.minimum(np.maximum(x, dtype(low)), dtype(high)))
        assert got.dtype == tensor.dtype


@pytest.mark.parametrize("dtype", [weft.float16, weft.bfloat16])
@pytest.mark.parametrize("dim", [0, 1])
def test_running_totals_of_half_precision(dim, dtype):
    x = weft.from_numpy(np.random.default_rng(19).standard_normal((33, 70)).astype(np.float32)).to(dtype)
    for name in ("cumsum", "cumprod", "logcumsumexp"):
        got, wide = getattr(weft, name)(x, dim), getattr(weft, name)(x.to(weft.float32), dim).to(dtype)
        assert got.dtype == dtype
        np.testing.assert_array_equal(got.to(weft.float32).numpy(), wide.to(weft.float32).numpy())


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("size", [1, 3, 7, 8, 9, 15, 16, 17, 33, 1000, 40000])
def test_extremes_of_integers_are_numpys(dtype, size):
    operators, random, ends = dict(POINTWISE), np.random.default_rng(size), np.iinfo(dtype)
    x, low, high = (random.integers(ends.min, ends.max, size, dtype, endpoint=True) for _ in range(3))
    x[:: max(1, size // 3)] = ends.min
    low[-1], high[0] = ends.max, ends.min
    numbers = np.array(-5, dtype), np.array(2**30, dtype)
    rows = np.broadcast_to(x, (3, size))
    for given in (x, x[::-1], rows):
        for a, b in ((low, high), (low, numbers[1]), numbers):
            operands = [weft.from_numpy(np.array(each)) for each in (given, a, b)]
            found = operators["clamp_between"](*operands).numpy()
            np.testing.assert_array_equal(found, np.minimum(np.maximum(given, a), b))
            for name in ("maximum", "minimum"):
                expected = getattr(np, name)(given, b)
                np.testing.assert_array_equal(operators[name](operands[0], operands[2]).numpy(), expected)
                np.testing.assert_array_equal(operators[name](operands[2], operands[0]).numpy(), expected)
                assert expected.dtype == found.dtype
