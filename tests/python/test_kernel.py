"""weft.kernel: functions over elements and tiles, compiled, beside the same functions run by Python."""

import math

import numpy as np
import pytest
import weft
from weft._kernel import KernelError

RANDOM = np.random.default_rng(3)


def compare(kernel, grid, *args, tolerance=1e-6, has_debug=True):
    """Native code, native code with checks, and Python change the same arrays alike."""
    results = []
    for run in (kernel, kernel.debug if has_debug else kernel, kernel.python):
        copies = [np.array(one, order="K") if isinstance(one, np.ndarray) else one for one in args]
        run[grid](*copies)
        results.append([one for one in copies if isinstance(one, np.ndarray)])
    for found in results[:2]:
        for one, expected in zip(found, results[2]):
            np.testing.assert_allclose(one, expected, rtol=tolerance, atol=tolerance)
    return results[0]


def array(*shape, dtype=np.float32):
    return RANDOM.standard_normal(shape).astype(dtype)


@weft.kernel
def elements(i, j, x, n, scale, out):
    if i < j and not x[i, j] > 0.5:
        total = np.float32(0)
        for k in range(n - 1, -1, -2):
            total += x[i, k] * scale
            if total > 10:
                break
        out[i, j] = total
    elif (i + j) % 3 == 0 or i // 2 == j:
        out[i, j] = max(x[i, j], x[j, i]) ** 3 + abs(-x[i, j])
    else:
        left = i
        while left > 0:
            left -= 2
            if left == 3:
                continue
            out[i, j] += np.exp(x[i, j]) - math.tanh(x[j, i]) + (1.5 if left > 4 else 2.5)


@pytest.mark.parametrize("size", [1, 2, 7, 20])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_elements(size, dtype):
    x = array(size, size, dtype=dtype)
    kernel = elements
    if dtype == np.float64:
        with pytest.raises(KernelError, match="'total' is float32 .* float64 here"):
            kernel[size, size](x, size, 0.5, x.copy())
        return
    for scale in (0.5, np.float32(2)):
        compare(kernel, (size, size), x, size, scale, np.zeros_like(x))
    compare(kernel, (size, size), x[::-1].T, size, 0.5, np.zeros((size, 2 * size), np.float32)[:, ::2])


@weft.kernel
def integers(i, x, n, out):
    a = x[i]
    out[i] = a // 3 + a % 5 - (n - i) // 4 * (7 % (i + 2)) + (a << 1) + (a & 3)


@pytest.mark.parametrize("dtype", [np.int64, np.int32])
def test_integers(dtype):
    x = np.arange(-9, 12).astype(dtype)
    compare(integers, x.size, x, 5, np.zeros_like(x))


@weft.kernel
def softmax(i, x, out):
    row = x[i, :]
    powers = np.exp(row - row.max())
    out[i, :] = powers / powers.sum()


@weft.kernel
def normed(i, x, weight, out, TI):
    tile = x[i * TI : i * TI + TI, :]
    mean = tile.sum(axis=1, keepdims=True) / x.shape[1]
    centred = tile - mean
    spread = (centred * centred).sum(axis=-1, keepdims=True) / x.shape[1]
    out[i * TI : i * TI + TI, :] = centred / np.sqrt(spread + 1e-5) * weight[:]


@weft.kernel
def reduced(i, x, rows, columns, both, TI):
    tile = x[i * TI : i * TI + TI, :]
    rows[i * TI : i * TI + TI] = tile.max(axis=1) + np.abs(tile).sum(axis=1)
    columns[i, :] = tile.min(axis=0) * 2
    both[i, 0] = tile.sum()
    both[i, 1] = np.max(tile)


@pytest.mark.parametrize(
    "size, dtype",
    [
        (1, np.float32),
        (8, np.float32),
        (15, np.float32),
        (16, np.float32),
        (17, np.float32),
        (4, np.float64),
        (9, np.float64),
    ],
)
def test_tiles_at_the_edges_of_vectors(size, dtype):
    x = array(6, size, dtype=dtype)
    compare(softmax, 6, x, np.zeros_like(x))
    compare(softmax, 6, np.asfortranarray(x), np.full((6, 2 * size), 7, dtype)[:, ::2], has_debug=False)
    compare(normed, 2, x, array(size, dtype=dtype), np.zeros_like(x), 3, tolerance=2e-5, has_debug=False)
    results = np.zeros(6, dtype), np.zeros((3, size), dtype), np.zeros((3, 2), dtype)
    compare(reduced, 3, x, *results, 2, tolerance=1e-5, has_debug=False)


@weft.kernel
def products(i, a, b, c, out, TI):
    part = a[i * TI : i * TI + TI, :]
    total = np.zeros((TI, b.shape[1]), np.float32)
    total += part @ b[:, :]
    total += 2 * (part @ c[:, :].T)
    total[0, :] = total[0] + total[TI - 1]
    row = part[0] @ b
    out[i * TI : i * TI + TI, :] = np.where(total > row, total, -total) + part[:, 0][:, None]


@pytest.mark.parametrize(
    "rows, columns, inner",
    [(1, 1, 1), (5, 8, 3), (6, 16, 16), (7, 17, 5), (13, 40, 64), (2, 64, 2), (12, 65, 33)],
)
def test_products(rows, columns, inner):
    a, b, c = array(2 * rows, inner), array(inner, columns), array(columns, inner)
    compare(
        products,
        2,
        a,
        b,
        c,
        np.zeros((2 * rows, columns), np.float32),
        rows,
        tolerance=2e-4,
        has_debug=rows == 7,
    )


@weft.kernel
def attention(h, i, q, k, v, rh, rw, out, TI, scale):
    """softmax(q·k·scale + bias of the key's row and column)·v, with the softmax as it goes."""
    W = rw.shape[2]
    i0 = i * TI
    queries = q[h, i0 : i0 + TI, :] * scale
    across = rw[h, i0 : i0 + TI, :]
    total = np.zeros((TI, v.shape[2]), np.float32)
    largest = np.full((TI, 1), -np.inf, np.float32)
    weight = np.zeros((TI, 1), np.float32)
    for j in range(rh.shape[2]):
        scores = queries @ k[h, :, j * W : j * W + W] + rh[h, i0 : i0 + TI, j : j + 1] + across
        now = np.maximum(largest, scores.max(axis=1, keepdims=True))
        powers = np.exp(scores - now)
        keep = np.exp(largest - now)
        weight = weight * keep + powers.sum(axis=1, keepdims=True)
        total *= keep
        total += powers @ v[h, j * W : j * W + W, :]
        largest = now.copy()
    out[h, i0 : i0 + TI, :] = total / weight


def attended(q, k, v, rh, rw, scale):
    width, height = rw.shape[-1], rh.shape[-1]
    scores = np.einsum("hid,hjd->hij", q.astype(np.float64), k) * scale
    scores += np.repeat(rh, width, axis=-1) + np.tile(rw, (1, 1, height))
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True) @ v


@pytest.mark.parametrize("height, width, channels, rows", [(2, 3, 8, 2), (7, 7, 16, 7), (4, 16, 17, 32)])
def test_attention_with_relative_position(height, width, channels, rows):
    count = height * width
    q, k, v = (array(3, count, channels) for _ in range(3))
    rh, rw = array(3, count, height), array(3, count, width)
    keys = np.ascontiguousarray(k.transpose(0, 2, 1))
    (*_, out) = compare(
        attention,
        (3, count // rows),
        q,
        keys,
        v,
        rh,
        rw,
        np.zeros_like(q),
        rows,
        np.float32(0.3),
        tolerance=1e-5,
    )
    np.testing.assert_allclose(out, attended(q, k, v, rh, rw, 0.3), rtol=2e-5, atol=2e-5)


def test_grids_threads_and_tensors():
    x, out = weft.arange(1000.0), weft.zeros(1000)

    @weft.kernel
    def twice(i, x, out):
        out[i] = x[i] * 2

    threads = weft.get_num_threads()
    try:
        for count in (1, 2):
            weft.set_num_threads(count)
            out.zero_()
            twice[1000](x, out)
            assert out.tolist() == (x * 2).tolist()
    finally:
        weft.set_num_threads(threads)
    twice[0](x, out)
    out.zero_()
    twice[[1]](x, out)
    assert out.sum().item() == 0


def test_shapes_and_numbers_that_change():
    @weft.kernel
    def scaled(i, x, out, n, scale):
        out[i, 0:n] = x[i, 0:n] * scale

    for size in (3, 5, 3, 40):
        for scale in (2, 0.5, np.float32(3)):
            x = array(4, size)
            compare(scaled, 4, x, np.zeros_like(x), size - 1, scale)
    assert scaled.source().count('extern "C"') >= 4  # for each length of the tile


def outside(i, x, out):
    value = x[i + 1]
    out[i] = value


def outside_write(i, x, out):
    if i < 100:
        out[2 * i] = x[i]


def outside_negative(i, x, out):
    out[i - 1] = x[i]


def outside_slice(i, x, out):
    tile = x[i : i + 4]
    out[i] = tile.sum()


def outside_slice_write(i, x, out):
    out[i : i + 4] = x[0:4]


def outside_tile(i, x, out):
    tile = np.zeros(4, np.float32)
    for k in range(5):
        tile[k] = x[0]
    out[i] = tile[0]


@pytest.mark.parametrize(
    "function, message, line",
    [
        (outside, "'x': index 8 is out of bounds for axis 0 of size 8, in block .7.", "value = x"),
        (outside_write, "'out': index 8 is out of bounds for axis 0 of size 8, in block .4.", "out.2"),
        (outside_negative, "'out': index -1 is out of bounds for axis 0 of size 8, in block .0.", "out.i"),
        (outside_slice, "'x': index 8 .* in block .5.", "tile = x"),
        (outside_slice_write, "'out': index 8 .* in block .5.", "out.i"),
        (outside_tile, "'tile': index 4 is out of bounds for axis 0 of size 4", "tile.k"),
    ],
)
def test_indices_out_of_bounds(function, message, line):
    kernel, out = weft.kernel(function), np.zeros(16, np.float32)
    with pytest.raises(IndexError, match=f"(?s){message}.*test_kernel.py:.*{line}"):
        kernel.debug[8](array(8), out[4:12])
    assert (out[:4] == 0).all() and (out[12:] == 0).all()
    with pytest.raises(IndexError, match=message):
        weft.kernel(function, debug=True)[8](array(8), out[4:12])


def bad_name(i, x):
    x[i] = nothing  # noqa: F821


def bad_call(i, x):
    x[i] = np.linalg.norm(x)


def bad_statement(i, x):
    with x:
        pass


def bad_type(i, x):
    total = 0.0
    for k in range(3):
        total += x[k]
    x[i] = total


def bad_length(i, x):
    for k in range(3):
        x[0] = x[0:k].sum()


def bad_return(i, x):
    return x[i]


def bad_view(i, x):
    part = x[0:2]
    x[2:4] = part


def bad_view_of_tile(i, x):
    tile = np.zeros((2, 2), np.float32)
    row = tile[0]
    x[0:2] = row


def bad_shapes(i, x):
    x[0:3] = np.zeros(3, np.float32) + np.zeros(4, np.float32)


def bad_dtypes(i, x):
    x[0:3] = np.zeros(3) + x[0:3]


def bad_loop(i, x):
    for k in x:
        pass


def bad_parameter(i, x):
    i = 3
    x[i] = 1


def bad_unset(i, x):
    x[i] = later  # noqa: F821
    later = 3


def bad_negative(i, x):
    x[-1] = 3


def bad_dimensions(i, x):
    x[i, 0] = 3


@pytest.mark.parametrize(
    "function, message",
    [
        (bad_name, "the name 'nothing' is not known"),
        (bad_call, "'norm' is not in the language"),
        (bad_statement, "With statements are not"),
        (bad_type, "'total' is a Python float in line .* and float32 here"),
        (bad_length, "the length of a tile has to be known before the kernel runs, and depends"),
        (bad_return, "return nothing"),
        (bad_view, "'part' would be a view of 'x'"),
        (bad_view_of_tile, "'row' would be a view"),
        (bad_shapes, r"shapes \(3,\) and \(4,\) do not go together"),
        (bad_dtypes, "one dtype go together, not f32, f64"),
        (bad_loop, r"loops are over range"),
        (bad_parameter, "the parameter 'i' gets another value"),
        (bad_unset, "'later' is used before it has a value"),
        (bad_negative, "negative indices"),
        (bad_dimensions, "'x' has 1 dimensions"),
    ],
)
def test_what_the_language_does_not_have(function, message):
    with pytest.raises(ValueError, match=message) as error:
        weft.kernel(function)[4](array(8))
    assert function is bad_parameter or "test_kernel.py:" in str(error.value)


def test_wrong_calls():
    @weft.kernel
    def plain(i, x, n):
        x[i] = n

    x = array(4)
    for call, error, message in (
        (lambda: plain(x, 1), TypeError, r"plain\[blocks\]"),
        (lambda: plain[4](x), TypeError, r"takes 2 arguments \(x, n\), got 1"),
        (
            lambda: plain[4](x, "a"),
            TypeError,
            "argument 'n': expected an array, a tensor or a number, got str",
        ),
        (lambda: plain[4](x.astype(np.float16), 1), TypeError, "got float16"),
        (lambda: plain[-1](x, 1), ValueError, "a grid is"),
        (lambda: plain["a"](x, 1), ValueError, "a grid is"),
        (lambda: plain[1, 1, 1, 1](), ValueError, "a grid of 4 dimensions"),
        (lambda: plain[4](np.broadcast_to(x[:1], (4,)), 1), ValueError, "read-only"),
    ):
        with pytest.raises(error, match=message):
            call()


def test_a_kernel_in_an_operator_in_a_compiled_function():
    @weft.library.custom_op("test_kernel::softmax")
    def own_softmax(x: weft.Tensor) -> weft.Tensor:
        out = weft.empty_like(x)
        softmax[x.shape[0]](x.contiguous(), out)
        return out

    own_softmax.register_fake(weft.empty_like)
    x = weft.from_numpy(array(4, 9))
    weft.library.opcheck(own_softmax, (x,))
    compiled = weft.compile(lambda x: own_softmax(x * 2) + 1, fullgraph=True)
    np.testing.assert_allclose(compiled(x).numpy(), weft.softmax(x * 2, -1).numpy() + 1, rtol=1e-6)
