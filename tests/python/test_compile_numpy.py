"""NumPy's names inside one graph: every entry gives what NumPy gives (dtype, shape, type) without a break."""

import copy

import numpy as np
import pytest
import weft
from support.compare import assert_same, check

f = np.array([[1.5, -2.25, 0.5, 3.0], [4.0, 0.125, -1.0, 2.5], [0.0, 7.5, -3.5, 1.0]])
v = np.array([0.5, -1.5, 2.5, 3.5, -4.5, 1.0])
i = np.array([[5, 2, -7, 1], [0, 3, 8, -2], [4, 4, 1, 6]])
s = f.astype(np.float32)
u = np.array([3, 200, 17, 4], dtype=np.uint8)
b = i > 2
z = f + 1j * f[::-1]
n = np.where(f > 3, np.nan, f)
rows = np.array([2, 0, -1])
cols = np.array([1, 3, 0])
grid = np.array([[0, 2], [1, -1]])
cube = np.arange(60.0).reshape(3, 4, 5)


@pytest.fixture(autouse=True)
def fresh():
    weft.compiler.reset()


def check_graph(function, args, rtol=0.0, breaks=0):
    check(function, tuple(args), rtol=rtol)
    explanation = weft.compiler.explain(function)(*copy.deepcopy(args))
    if breaks is not None:
        assert (
            [one.reason for one in explanation.breaks] == [""] * breaks if breaks else not explanation.breaks
        ), [one.reason for one in explanation.breaks]


def case(name, function, *args, rtol=0.0):
    return pytest.param(function, args, rtol, id=name)


def put(x, index, value):
    y = x.copy()
    y[index] = value
    return y


def put_in_argument(x, index, value):
    x[index] = value
    return x.sum()


INDEXING = [
    case("rows", lambda x, r: x[r], f, rows),
    case("rows-of-columns", lambda x, r: x[:, r], f, rows),
    case("both", lambda x, r, c: x[r, c], f, rows, cols),
    case("grid", lambda x, g: x[g], f, grid),
    case("slice-and-array", lambda x, r: x[1:, r], f, cols),
    case("array-and-slice", lambda x, r: x[r, ::2], f, rows),
    case("array-and-int", lambda x, r: x[r, 1], f, rows),
    case("int-and-array", lambda x, r: x[1, r], f, rows),
    case("apart", lambda x, r: x[r, :, r], cube, rows),
    case("int-apart", lambda x, r: x[0, :, r], cube, rows),
    case("array-slice-int", lambda x, r: x[r, 1:, 2], cube, rows),
    case("middle", lambda x, r: x[:, r, 1:3], cube, rows),
    case("none", lambda x, r: x[None, r], f, rows),
    case("none-between", lambda x, r: x[r, None, r], f, rows),
    case("ellipsis", lambda x, r: x[..., r], cube, rows),
    case("ellipsis-two", lambda x, r: x[..., r, r], cube, rows),
    case("outer", lambda x, r, c: x[r[:, None], c], f, rows, cols),
    case("list", lambda x: x[[2, 0]], f),
    case("list-of-columns", lambda x: x[:, [2, 0]], f),
    case("ix-by-hand", lambda x: x[np.arange(3), np.array([1, 0, 2])], f),
    case("small-ints", lambda x, r: x[r], v, u[[0, 3]] % 4),
    case("computed", lambda x: x[np.argmax(x, axis=0)], f),
    case("numpy-integer", lambda x: x[x.argmax()], v),
    case("reversed", lambda x, r: x[::-1, r], f, rows),
    case("integers", lambda x, r: x[r], i, rows),
    case("bools", lambda x, r: x[r], b, rows),
    case("float32", lambda x, r: x[r] * 2, s, rows),
    case("complex", lambda x, r: x[r], z, rows),
    case("empty", lambda x: x[np.zeros(0, np.int64)], f),
    case("take", lambda x, r: np.take(x, r), f, rows),
    case("take-axis", lambda x, r: np.take(x, r, axis=1), f, rows),
    case("take-grid", lambda x, g: np.take(x, g, axis=0), f, grid),
    case("take-one", lambda x: np.take(x, 2), f),
    case("take-method", lambda x, r: x.take(r), f, rows),
    case("take-along", lambda x: np.take_along_axis(x, np.argsort(x, axis=1, kind="stable"), axis=1), f),
    case("take-along-flat", lambda x, r: np.take_along_axis(x, r, axis=None), f, rows),
    case("gather-max", lambda x: np.take_along_axis(x, np.argmax(x, axis=1)[:, None], axis=1), f),
    case("put-rows", put, f, rows, 3.0),
    case("put-array", put, f, rows, v[:4]),
    case("put-both", lambda x, r, c, y: put(x, (r, c), y), f, rows, cols, v[:3]),
    case("put-columns", lambda x, c, y: put(x, (slice(None), c), y), f, cols, f[:, :3]),
    case("put-cast", lambda x, r: put(x, r, 2.75), i, rows),
    case("put-apart", lambda x, r: put(x, (r, slice(None), r), -1.0), cube, rows),
    case("put-mask", lambda x: put(x, x > 1, 0.0), f),
    case("put-mask-argument", lambda x: put_in_argument(x, x < 0, 0), f),
    case("put-mask-nan", lambda x: put(x, np.isnan(x), -1), n),
    case("put-mask-rows", lambda x, m: put(x, m, 9), f, np.array([True, False, True])),
    case(
        "put-mask-column", lambda x, m: put(x, (slice(None), m), 9), f, np.array([True, False, True, False])
    ),
    case("put-mask-int", lambda x: put(x, x > 2, 2.5), i),
    case("put-mask-float32", lambda x: put(x, x > 2, 2.5), s),
    case("put-argument", put_in_argument, f, rows, 3.0),
    case("add-at-rows", lambda x, r: put_in_argument(x, r, x[r] + 1), f, rows[:2]),
]


@pytest.mark.parametrize("function, args, rtol", INDEXING)
def test_indexing(function, args, rtol):
    check_graph(function, args, rtol)


def test_indices_out_of_range_raise_as_in_numpy():
    def function(x, i):
        x += 1
        return x[i]

    def caught(x, i):
        x += 1
        try:
            return x[i]
        except IndexError as error:
            return str(error)

    compiled, compiled_caught = weft.compile(function), weft.compile(caught)
    x = np.arange(5.0)
    for k in range(3):
        np.testing.assert_array_equal(compiled(x, np.array([1, -5])), np.array([2.0, 1.0]) + 3 * k)
        with pytest.raises(IndexError, match=f"index {7 + k} is out of bounds for axis 0 with size 5"):
            compiled(x, np.array([1, 7 + k]))
        assert compiled_caught(x, np.array([1, -8])) == "index -8 is out of bounds for axis 0 with size 5"
        np.testing.assert_array_equal(x, np.arange(5.0) + 3 * (k + 1))


def test_masks_that_select_stay_breaks():
    check_graph(lambda x: x[x > 1].sum(), (f,), breaks=None)
    check_graph(lambda x, m, y: put(x, m, y), (f, f > 3, np.array([7.0, 8.0])), breaks=None)


NAMES = [
    case("flipud", lambda x: np.flipud(x), f),
    case("fliplr", lambda x: np.fliplr(x), f),
    case("diag", lambda x: np.diag(x), f),
    case("diag-vector", lambda x: np.diag(x), v),
    case("diag-offset", lambda x: (np.diag(x, 1), np.diag(x, -1)), f),
    case("diag-vector-offset", lambda x: (np.diag(x, 1), np.diag(x, -2)), v),
    case("allclose", lambda x, y: np.allclose(x, y), f, f + 1e-12),
    case("allclose-not", lambda x, y: np.allclose(x, y), f, f + 1),
    case("array_equal", lambda x, y: np.array_equal(x, y), f, f.copy()),
    case("array_equal-shapes", lambda x, y: np.array_equal(x, y), f, v),
    case("array_equal-not", lambda x, y: np.array_equal(x, y), f, f + 1),
    case("linspace", lambda x: np.linspace(0, 1, 7) * x, np.float64(2.0)),
    case("linspace-open", lambda x: np.linspace(-1, 3, 5, endpoint=False) + x[:5], v),
    case("linspace-dtype", lambda x: np.linspace(0, 10, 6, dtype=np.float32) + x, s[0, 0]),
    case("linspace-length", lambda x: np.linspace(0.0, 1.0, len(x)) * x, v),
    case("meshgrid", lambda x, y: tuple(np.meshgrid(x, y)), v[:4], v),
    case("meshgrid-ij", lambda x, y: [g + 1 for g in np.meshgrid(x, y, indexing="ij")], v[:4], v),
    case("meshgrid-sparse", lambda x, y: [g + 1 for g in np.meshgrid(x, y, sparse=True)], v[:4], v),
    case("split", lambda x: [p + 1 for p in np.split(x, 3)], v),
    case("split-at", lambda x: [p + 1 for p in np.split(x, [1, 4])], v),
    case("split-axis", lambda x: [p + 1 for p in np.split(x, 2, axis=1)], f),
    case("array_split", lambda x: [p + 1 for p in np.array_split(x, 4)], v),
    case("hsplit", lambda x: [p + 1 for p in np.hsplit(x, 2)], f),
    case("vsplit", lambda x: [p + 1 for p in np.vsplit(x, 3)], f),
    case("average", lambda x: np.average(x), f),
    case("average-axis", lambda x: np.average(x, axis=0), f),
    case("nansum", lambda x: (np.nansum(x), np.nansum(x, axis=0)), n, rtol=1e-14),
    case("nanmean", lambda x: (np.nanmean(x), np.nanmean(x, axis=1)), n, rtol=1e-14),
    case("nanmax", lambda x: (np.nanmax(x), np.nanmax(x, axis=1)), n),
    case("nanmin", lambda x: (np.nanmin(x), np.nanmin(x, axis=1)), n),
    case("nanprod", lambda x: (np.nanprod(x), np.nanprod(x, axis=1)), n, rtol=1e-14),
    case("nansum-int", lambda x: (np.nansum(x), np.nanmax(x)), i),
    case("cross", lambda x, y: np.cross(x, y), f[:, :3], f[:, 1:]),
    case("cross-one", lambda x, y: np.cross(x, y), v[:3], v[3:]),
    case("rot90", lambda x: (np.rot90(x) + 0, np.rot90(x, 2) + 0, np.rot90(x, -1) + 0), f, rtol=1e-14),
    case("polyval", lambda p, x: np.polyval(p, x), v[:4], f, rtol=1e-14),
    case("polyval-list", lambda x: np.polyval([1, 2, 3], x), f),
    case("round", lambda x: (np.round(x), np.around(x), x.round()), f),
    case("round-decimals", lambda x: (np.round(x, 2), x.round(1)), f / 7),
    case("round-int", lambda x: np.round(x), i),
    case("round-scalar", lambda x: np.round(x.sum(), 1), f),
    case("round-builtin", lambda x: x.sum().round(2), f / 7),
    case("divmod", lambda x, y: np.divmod(x, y), i, np.array([3, -2, 5, 7])),
    case("divmod-builtin", lambda x: divmod(x, 3), i),
    case("divmod-float", lambda x: np.divmod(x, 0.75), f),
    case("modf", lambda x: np.modf(x), f),
    case("vander", lambda x: np.vander(x, 3), v, rtol=1e-14),
    case("vander-increasing", lambda x: np.vander(x, 4, increasing=True), v, rtol=1e-14),
    case("nan_to_num", lambda x: np.nan_to_num(x), n),
    case(
        "nan_to_num-values",
        lambda x: np.nan_to_num(x, nan=1.5, posinf=2.0, neginf=-2.0),
        np.where(n > 2, np.inf, n),
    ),
    case("nan_to_num-int", lambda x: np.nan_to_num(x), i),
    case("select", lambda x: np.select([x > 2, x < 0], [x, -x], 0.5), f),
    case("select-default", lambda x: np.select([x > 2, x < 0], [x, x * 2]), i),
    case("norm-matrix", lambda x: np.linalg.norm(x), f, rtol=1e-14),
    case("norm-cube", lambda x: np.linalg.norm(x), cube, rtol=1e-14),
    case("norm-fro", lambda x: np.linalg.norm(x, "fro"), f, rtol=1e-14),
    case("norm-fro-axes", lambda x: np.linalg.norm(x, axis=(1, 2)), cube, rtol=1e-14),
    case("norm-keepdims", lambda x: np.linalg.norm(x, keepdims=True), f, rtol=1e-14),
    case("norm-int", lambda x: np.linalg.norm(x), i, rtol=1e-14),
    case("norm-p", lambda x: np.linalg.norm(x, 3, axis=1), f, rtol=1e-14),
    case("norm-zero", lambda x: np.linalg.norm(x, 0, axis=1), f),
    case("casts", lambda x: (np.int8(x), np.int16(x), np.uint16(x), np.uint32(x), np.uint64(x)), np.abs(i)),
    case("float-casts", lambda x: (np.float16(x), np.complex64(x), np.complex128(x)), f),
    case("cast-scalar", lambda x: np.int16(x.sum()), i),
    case(
        "add-reduce", lambda x: (np.add.reduce(x), np.add.reduce(x, axis=1), np.add.reduce(x, axis=None)), f
    ),
    case("multiply-reduce", lambda x: np.multiply.reduce(x), f),
    case("maximum-reduce", lambda x: (np.maximum.reduce(x), np.minimum.reduce(x, axis=1)), f),
    case("reduce-list", lambda x, y: np.maximum.reduce([x, y, x + y]), v, v[::-1].copy()),
    case("logical-reduce", lambda x: (np.logical_and.reduce(x > 0), np.logical_or.reduce(x > 0, axis=1)), f),
    case("add-accumulate", lambda x: (np.add.accumulate(x), np.add.accumulate(x, axis=1)), f, rtol=1e-14),
    case("multiply-accumulate", lambda x: np.multiply.accumulate(x), f),
    case("maximum-accumulate", lambda x: (np.maximum.accumulate(x), np.minimum.accumulate(x, axis=1)), f),
    case(
        "outer-ufuncs",
        lambda x, y: (np.add.outer(x, y), np.subtract.outer(x, y), np.multiply.outer(x, y)),
        v,
        v[:4],
    ),
    case("outer-extremes", lambda x, y: (np.maximum.outer(x, y), np.minimum.outer(x, y)), v, v[:4]),
    case("sum-initial", lambda x: (np.sum(x, initial=5), x.sum(axis=0, initial=2.5)), f, rtol=1e-14),
    case("prod-initial", lambda x: x.prod(axis=1, initial=3), i),
    case("max-initial", lambda x: (np.max(x, axis=0, initial=2), x.min(initial=-1.5)), f),
    case("sum-where", lambda x: (np.sum(x, where=x > 0), np.sum(x, axis=1, where=x > 0)), f, rtol=1e-14),
    case("prod-where", lambda x: np.prod(x, axis=0, where=x > 0), i),
    case("max-where", lambda x: np.max(x, axis=0, where=x > 0, initial=-1), f),
    case("any-where", lambda x: (np.any(x > 1, axis=0, where=x < 3), np.all(x > 1, axis=0, where=x > 2)), f),
    case("sum-out", lambda x, o: (np.sum(x, axis=0, out=o), o * 2), f, np.zeros(4)),
    case("max-out", lambda x, o: np.max(x, axis=1, out=o), f, np.zeros(3)),
    case("mean-out", lambda x, o: np.mean(x, axis=0, out=o), f, np.zeros(4)),
]


@pytest.mark.parametrize("function, args, rtol", NAMES)
def test_names(function, args, rtol):
    check_graph(function, args, rtol)


def full_updated(x):
    y = np.full_like(x, 2)
    y[:] *= x
    return y


def roll_by_nothing(x):
    y = np.roll(x, 0, axis=0)
    y[:] -= 1
    return y, x + 0


def scalar_is_not_changed(x):
    largest = x.max()
    largest[..., None][:] = 3
    largest.ravel()[:1] = 4
    return largest


def part_in_use(x):
    real = x.real
    x[0] = 5
    return real + 1


def order_with_ties(x):
    return np.argsort(x), np.digitize(x, [0, 2, 4])


def tiled_before(x):
    y = np.square(x)
    tiled, repeated = np.tile(y, 2), np.repeat(y, 2)
    y[:] = 1
    return tiled, repeated


def fortran_flattened(x):
    y = np.asfortranarray(x) + 1
    y.reshape(-1)[::2] = 0
    y.ravel()[:2] = -1
    return y


def filled_then_changed(x):
    x[:] = 2
    x[1:3] += 7
    return x + 0


MEMORY = [
    case("filled-then-changed", filled_then_changed, v),
    case("reversed-flat-transposed", lambda x: x.T.ravel()[::-1] + 0, f),
    case("reversed-flat-part", lambda x: x[:, -2].ravel()[::-1] * 2, cube),
    case("reversed-flat-steps", lambda x: x.T.reshape(-1)[::-2] + x.T.reshape(-1)[1::2], f),
    case("tiled-before", tiled_before, v),
    case("fortran-flattened", fortran_flattened, f),
    case("isin-of-one", lambda x: np.isin(x.max(), [1, 2]), v),
    case("full-updated", full_updated, v),
    case("roll-by-nothing", roll_by_nothing, f),
    case("scalar-is-not-changed", scalar_is_not_changed, f),
    case("sum-in-narrow-dtype", lambda x: (x.sum(dtype=np.int16), np.trace(x, dtype=np.int32)), i),
    case("strided-asked-for-in-order", lambda x: np.asarray(x[::-1], order="F") + 1, v),
    case("copy-of-transposed", lambda x: (x + 1).T.copy(), f),
    case("joined-with-numbers", lambda x: np.r_[x.ravel(), 1, 2], s),
    case("convolve-infinite", lambda x, y: np.convolve(x, y), np.array([1.0, np.inf, 2.0]), v, rtol=1e-14),
]


@pytest.mark.parametrize("function, args, rtol", MEMORY)
def test_memory(function, args, rtol):
    check_graph(function, args, rtol)


def test_what_graphs_cannot_decide_runs_in_numpy():
    check_graph(part_in_use, (z[0],), breaks=None)
    for x in (np.array([3, 1, 2]), np.array([3, 1, 3, 1, 2])):
        compiled = weft.compile(order_with_ties)
        for _ in range(2):
            assert_same(compiled(x), order_with_ties(x))


@pytest.mark.parametrize(
    "value", [np.nan, 1e30, -1.0, 2.5, 300, -1, True, np.float64(2.5), np.float32(np.nan), np.int64(7)]
)
@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float32, np.bool_])
def test_storing_numbers_that_may_not_fit(value, dtype):
    def store(v):
        array = np.zeros(4, dtype)
        array[0] = v
        array[1:3] = v * 1
        return array

    with np.errstate(all="ignore"):
        check(store, (value,))
