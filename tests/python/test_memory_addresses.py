"""Memory of callers, which begins anywhere: updates in place, `out=`, slices, masks and tensors over it.

Arrays of every dtype begin at every multiple of their element size past a cache line, of sizes around lanes, cache
lines, pieces of threads and reductions in parallel; WEFT_STREAMING_BYTES=1 makes small ones take the paths of large
ones. Each function is called three times: for its sizes, for any size, and again. What lies around the arrays must stay
as it is.
"""

import numpy as np
import pytest
import weft
import weft.numpy
from support.tiers import long_but

DTYPES = """bool int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64 complex64 complex128""".split()
SIZES = [1, 7, 63, 64, 65, 130, 1000, 40009]
LINE, GUARD = 64, 0xA5


class Placed:
    """An array `offset` bytes past the beginning of a cache line, and the bytes around it."""

    def __init__(self, values, offset):
        self.memory = np.full(values.nbytes + 4 * LINE, GUARD, np.uint8)
        self.start = -self.memory.ctypes.data % LINE + LINE + offset
        self.end = self.start + values.nbytes
        self.array = self.memory[self.start : self.end].view(values.dtype).reshape(values.shape)
        self.array[...] = values

    def surroundings_are_whole(self):
        around = np.concatenate([self.memory[: self.start], self.memory[self.end :]])
        return bool((around == GUARD).all())


def numbers(dtype, size, seed):
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.random(size) < 0.5
    values = rng.integers(0 if dtype.startswith("u") else -9, 10, size).astype(dtype)
    return values + values.dtype.type(0.25j) if values.dtype.kind == "c" else values


def offsets_of(dtype, step=1):
    return range(0, LINE, np.dtype(dtype).itemsize * step)


def add(c, a):
    np.add(c, a, c)


def copy(c, a):
    c[:] = a


def combined(c, a):
    c[...] = np.where(a == c, a, c + a)


def masked(c, a):
    c[a == c] = 1
    c[a != a[0]] = a[0]


def shifted(c, a):
    c[1:] = a[:-1]


def both(c, a):
    c += a
    a[:] = c


def smallest(c, a):
    np.minimum(c, a, out=c)


UPDATES = [add, copy, combined, masked, shifted, both, smallest]


def call_and_compare(compiled, plain, dtype, size, offsets):
    pair = [numbers(dtype, size, seed) for seed in (size, size + 1)]
    expected = [array.copy() for array in pair]
    plain(*expected)
    placed = [Placed(values, offset) for values, offset in zip(pair, offsets)]
    compiled(*(p.array for p in placed))
    for number, (p, wanted) in enumerate(zip(placed, expected)):
        where = f"{plain.__name__}, {dtype}, {size} elements, offsets {offsets}: argument {number}"
        np.testing.assert_array_equal(p.array, wanted, err_msg=where)
        assert p.surroundings_are_whole(), f"{where}: bytes beside it were written to"


@pytest.fixture
def streaming(monkeypatch):
    """Kernels write past the caches, whatever their size."""
    monkeypatch.setenv("WEFT_STREAMING_BYTES", "1")


@pytest.fixture
def threads():
    before = weft.get_num_threads()
    yield weft.set_num_threads
    weft.set_num_threads(before)


@pytest.mark.parametrize("update", UPDATES, ids=lambda update: update.__name__)
@pytest.mark.parametrize("dtype", DTYPES)
def test_updates_at_every_address(update, dtype, streaming, threads):
    compiled = weft.compile(update)
    threads(1)
    for size in SIZES[:-1]:
        for offset in offsets_of(dtype):
            call_and_compare(compiled, update, dtype, size, (offset, offset * 5 % LINE))
    threads(3)
    for offset in offsets_of(dtype, step=max(1, 16 // np.dtype(dtype).itemsize)):
        for _ in range(3):
            call_and_compare(compiled, update, dtype, SIZES[-1], (offset, 64 - offset))


@pytest.mark.parametrize("toolchain", long_but(["clang", "c++"], "clang"))
@pytest.mark.parametrize("vector_bytes", [16, 32, 64])
def test_every_width_and_toolchain(vector_bytes, toolchain, streaming, monkeypatch):
    monkeypatch.setenv("WEFT_VECTOR_BYTES", str(vector_bytes))
    monkeypatch.setenv("WEFT_TOOLCHAIN", toolchain)
    for dtype in ("float64", "int8", "complex64"):
        compiled = weft.compile(both)
        for offset in offsets_of(dtype, step=max(1, 8 // np.dtype(dtype).itemsize)):
            for size in (65, 1000, 999):
                call_and_compare(compiled, both, dtype, size, (offset, (offset + 24) % LINE))


@pytest.mark.parametrize("dtype", DTYPES)
def test_addresses_that_are_no_multiple_of_the_element_size(dtype, streaming):
    """NumPy calls such arrays not aligned, but complex ones at multiples of a part's size."""
    size = np.dtype(dtype).itemsize
    for update in (add, masked, shifted):
        compiled = weft.compile(update)
        for offset in {1 % size, size // 2, size - 1} - {0}:
            for count in (5, 1000):
                for offsets in ((offset, 0), (0, offset), (offset, offset)):
                    for _ in range(3):
                        call_and_compare(compiled, update, dtype, count, offsets)


def test_results_over_memory_of_results(streaming):
    """Parts of new arrays begin anywhere, too."""

    def program(a):
        b = a.copy()
        b[1:] = a[:-1] * 2
        c = np.zeros(len(a) + 3)
        c[3:] = b + a
        return b, c, c[5:]

    compiled = weft.compile(program)
    for size in (9, 1000, 1001, 40009):
        a = numbers("float64", size, 3)
        for got, wanted in zip(compiled(compiled(a)[2]), program(program(a)[2])):
            np.testing.assert_array_equal(got, wanted)


# Figures of large arrays, as they come from NumPy's allocator: 16 bytes past a page.
@pytest.mark.parametrize(
    "dtype, size", [("float64", 3_000_000), ("float32", 4_200_000), ("uint8", 17_000_000)]
)
def test_large_arrays(dtype, size):
    def program(c, a):
        c += a
        np.maximum(c, a, out=c)
        c[a > 2] = 0

    compiled = weft.compile(program)
    a = numbers(dtype, size, 1)
    got, wanted = numbers(dtype, size, 2), numbers(dtype, size, 2)
    for _ in range(3):
        compiled(got, a)
        program(wanted, a)
        np.testing.assert_array_equal(got, wanted)
    for offset in (8, 40):
        call_and_compare(compiled, program, dtype, size, (offset, 0))


@pytest.mark.parametrize("columns", [1585, 1586, 66, 127, 130])
def test_pieces_of_threads_end_where_the_array_does(columns, threads):
    """Three threads of few columns each: pieces that are rounded to cache lines reach no further than the last."""

    def program(out, x):
        out[:] = x.sum(axis=0)

    compiled = weft.compile(program)
    x = numbers("float64", 2000 * columns, 5).reshape(2000, columns)
    for count in (1, 2, 3, 3, 5):
        threads(count)
        out = Placed(np.zeros(columns), 8)
        compiled(out.array, x)
        np.testing.assert_array_equal(out.array, x.sum(axis=0))
        assert out.surroundings_are_whole()


def test_native_loops(threads):
    def program(c, a):
        for i in range(len(c)):
            c[i] = c[i] + a[len(c) - 1 - i] * 2
        for i in range(1, len(c)):
            a[i] = c[i - 1]

    compiled = weft.compile(program)
    for dtype in ("float64", "int64", "float32", "uint8", "bool", "complex128"):
        for offset in [*offsets_of(dtype, step=2), 1]:
            call_and_compare(compiled, program, dtype, 130, (offset, (offset + 16) % LINE))


# ---- tensors over such memory --------------------------------------------------------------------------------

M = (24, 24)
EAGER = {
    "add": lambda x, y: weft.add(x, y),
    "exp": lambda x, y: weft.exp(x),
    "where": lambda x, y: weft.where(x > y, x, y),
    "sum": lambda x, y: weft.sum(x, 0),
    "mean": lambda x, y: weft.mean(x),
    "cumsum": lambda x, y: weft.cumsum(x, 1),
    "sort": lambda x, y: weft.sort(x)[0],
    "argmax": lambda x, y: weft.argmax(x, 1),
    "matmul": lambda x, y: weft.matmul(x, y),
    "transposed": lambda x, y: weft.matmul(x.transpose(0, 1), y),
    "softmax": lambda x, y: weft.softmax(x, 1),
    "layer_norm": lambda x, y: weft.layer_norm(x, [24]),
    "fft": lambda x, y: weft.fft_r2c(x, 24),
    "conv": lambda x, y: weft.nn.functional.conv2d(x.reshape(1, 1, 24, 24), y.reshape(64, 1, 3, 3)),
    "pool": lambda x, y: weft.nn.functional.avg_pool2d(x.reshape(1, 1, 24, 24), 3),
    "attention": lambda x, y: weft.nn.functional.scaled_dot_product_attention(x[None], y[None], x[None]),
    "gather": lambda x, y: weft.index_select(x, 0, weft.tensor([3, 1, 2])),
    "quantized": lambda x, y: weft.quantize_int8(x)[0],
    "solve": lambda x, y: weft.solve(x + 100 * weft.eye(24).to(x.dtype), y),
    "copied": lambda x, y: x.transpose(0, 1).contiguous(),
}  # fmt: skip


def square(dtype, seed):
    return np.random.default_rng(seed).standard_normal(M).astype(dtype)


@pytest.mark.parametrize("name", EAGER)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_eager_operators(name, dtype):
    if name == "quantized":
        dtype = "float32"
    x, y = square(dtype, 1), square(dtype, 2)
    wanted = EAGER[name](weft.tensor(x), weft.tensor(y)).numpy()
    for offset in offsets_of(dtype):
        placed = Placed(x, offset), Placed(y, (offset * 3) % LINE)
        got = EAGER[name](*(weft.from_numpy(p.array) for p in placed))
        np.testing.assert_array_equal(got.numpy(), wanted)
        assert all(p.surroundings_are_whole() for p in placed)


@pytest.mark.parametrize("dtype", DTYPES)
def test_eager_results_and_updates(dtype):
    a = numbers(dtype, 1000, 4)
    x = weft.tensor(a)
    wanted = (x | x).numpy() if dtype == "bool" else (x + x).numpy()
    operator = weft.logical_or if dtype == "bool" else weft.add
    for offset in offsets_of(dtype):
        for make in (weft.from_numpy, weft.from_dlpack, weft.asarray):
            if make is weft.from_dlpack and dtype == "bool" and not hasattr(np, "bool"):
                continue
            out, updated = Placed(np.zeros_like(a), offset), Placed(a, offset)
            operator(x, x, out=make(out.array))
            np.testing.assert_array_equal(out.array, wanted)
            make(updated.array)[:] = x
            if dtype != "bool":
                make(updated.array).add_(x)
                np.testing.assert_array_equal(updated.array, wanted)
            assert out.surroundings_are_whole() and updated.surroundings_are_whole()


@weft.jit.script
def scripted(x, y):
    z = x * 2 + y
    x.add_(y)
    y[1:] = x[:-1]
    return z - x


def test_torchscript(streaming):
    for offset in offsets_of("float32"):
        a, b = numbers("float32", 1000, 1), numbers("float32", 1000, 2)
        for _ in range(3):
            x, y = Placed(a, offset), Placed(b, (offset * 7) % LINE)
            z = scripted(weft.from_numpy(x.array), weft.from_numpy(y.array))
            np.testing.assert_array_equal(x.array, a + b)
            np.testing.assert_array_equal(y.array, np.concatenate([b[:1], (a + b)[:-1]]))
            np.testing.assert_array_equal(z.numpy(), a)
            assert x.surroundings_are_whole() and y.surroundings_are_whole()


@pytest.mark.parametrize("dtype", [d for d in DTYPES if np.dtype(d).itemsize > 1])
def test_tensors_over_addresses_that_are_no_multiple_of_the_element_size(dtype):
    values = numbers(dtype, 100, 6)
    array = Placed(values, 1).array
    with pytest.raises(ValueError, match=r"from_numpy: .* 1 bytes past a multiple of \d+; copy the array"):
        weft.from_numpy(array)
    for make in (weft.tensor, weft.asarray, weft.numpy.asarray):
        np.testing.assert_array_equal(make(array).numpy(), values)
        np.testing.assert_array_equal(make(array[::2]).numpy(), values[::2])
        np.testing.assert_array_equal(make(array[::-1]).numpy(), values[::-1])
    assert weft.asarray(array).data_ptr() % np.dtype(dtype).itemsize == 0
    np.testing.assert_array_equal((weft.tensor(values) == array).numpy(), True)
    np.testing.assert_array_equal(weft.from_dlpack(array).numpy(), values)
    with pytest.raises(ValueError, match="from_dlpack: .* past a multiple"):
        weft.from_dlpack(array, copy=False)
    read_only = np.frombuffer(b"." + values.tobytes(), dtype, offset=1)
    np.testing.assert_array_equal(weft.tensor(read_only).numpy(), values)
