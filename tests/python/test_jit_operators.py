"""What archives of PyTorch 2.15 call: operators that are not known, out=, tolist(), nested tensors, and builtins by their
definitions. The page of operators is what `make docs` writes."""

import itertools
import pathlib

import numpy as np
import pytest
import script_archives
import torchscript_operators
import weft

PAGE = pathlib.Path(__file__).parents[2] / "docs" / "TORCHSCRIPT_OPERATORS.md"


def load(tmp_path, *functions):
    path = tmp_path / "m.pt"
    path.write_bytes(script_archives.archive(functions))
    return weft.jit.load(path)


def call(name, *arguments, **keywords):
    return weft._C._call_builtin(name, *arguments, **keywords)


def ramp(*shape):
    return (np.arange(np.prod(shape), dtype=np.float32).reshape(shape) * 7 % 11 - 5) / 4


def assert_close(got, expected, tolerance=1e-5):
    np.testing.assert_allclose(np.asarray(got), expected, rtol=tolerance, atol=tolerance)


# ---- the language of archives --------------------------------------------------------------------------------

UNKNOWN = {
    "statement": "y = torch.no_such_operator(x)",
    "library": "y = ops.nowhere.no_such_operator(x, 1)",
    "argument": "y = torch.add(torch.relu(torch.no_such_operator(x)), 1)",
    "overload": "y = torch.relu(x, 1, 2, 3)",
    "condition": "y = x if bool(torch.no_such_operator(x)) else torch.relu(x)",
    "branch of an expression": "y = torch.relu(x) if flag else torch.no_such_operator(x)",
    "unpacking": "a, b = torch.no_such_operator(x)\ny = a",
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_unknown_operators_raise_when_they_are_reached(name, tmp_path):
    inner = "".join(f"  {line}\n" for line in UNKNOWN[name].splitlines())
    body = f"if wrong:\n{inner}  z = y\nelse:\n  z = torch.relu(x)\nreturn z"
    module = load(tmp_path, ("forward", ["x: Tensor", "wrong: bool", "flag: bool"], "Tensor", body))
    x = weft.from_numpy(ramp(2, 3))
    for _ in range(3):
        assert_close(module(x, False, False), np.maximum(ramp(2, 3), 0))
        with pytest.raises(NotImplementedError, match="no_such_operator|relu"):
            module(x, True, False)


def test_unknown_operators_in_loops(tmp_path):
    body = """y = x
for i in range(n):
  if i > 2:
    y = torch.no_such_operator(y)
  else:
    y = torch.add(y, 1)
while bool(torch.no_such_operator(y)):
  y = torch.relu(y)
return y"""
    module = load(tmp_path, ("forward", ["x: Tensor", "n: int"], "Tensor", body))
    with pytest.raises(NotImplementedError, match="no_such_operator"):
        module(weft.from_numpy(ramp(2)), 2)


def test_results_written_to_tensors_that_are_given(tmp_path):
    body = """z = torch.empty([0], dtype=6)
a = torch.add(x, y, alpha=2, out=z)
b = torch.div(x, torch.add(torch.abs(y), 1), rounding_mode="floor", out=torch.empty_like(x))
values = torch.empty([2], dtype=6)
places = torch.empty([2], dtype=4)
c, d = torch.max(x, 1, max=values, max_values=places)
return (z, b, values, places)"""
    module = load(
        tmp_path,
        ("forward", ["x: Tensor", "y: Tensor"], "Tuple[Tensor, Tensor, Tensor, Tensor]", body),
    )
    x, y = ramp(2, 3), ramp(2, 3)[::-1].copy()
    for _ in range(3):
        z, b, values, places = module(weft.from_numpy(x), weft.from_numpy(y))
        assert_close(z, x + 2 * y)
        assert_close(b, np.floor(x / (np.abs(y) + 1)))
        assert_close(values, x.max(1))
        assert np.array_equal(np.asarray(places), x.argmax(1))


def test_lists_of_tensors_elements(tmp_path):
    body = """a = annotate(List[float], torch.select(x, 0, 0).tolist())
b = annotate(List[List[float]], x.tolist())
d = torch.dict()
torch._set_item(d, "x", x)
return (a, b, d)"""
    returned = "Tuple[List[float], List[List[float]], Dict[str, Tensor]]"
    module = load(tmp_path, ("forward", ["x: Tensor"], returned, body))
    x = ramp(2, 3)
    for _ in range(3):
        first, rows, table = module(weft.from_numpy(x))
        assert first == x[0].tolist() and rows == x.tolist() and list(table) == ["x"]
    with pytest.raises(TypeError, match="List"):
        module(weft.from_numpy(np.arange(6).reshape(2, 3)))
    module.save(tmp_path / "saved.pt")
    assert weft.jit.load(tmp_path / "saved.pt")(weft.from_numpy(x))[1] == x.tolist()


def test_nested_tensors_of_the_encoder(tmp_path):
    parameters = {
        "qkv_w": (24, 8), "qkv_b": (24,), "out_w": (8, 8), "out_b": (8,), "n1w": (8,), "n1b": (8,), "n2w": (8,),
        "n2b": (8,), "f1w": (16, 8), "f1b": (16,), "f2w": (8, 16), "f2b": (8,),
    }  # fmt: skip
    given = [ramp(*shape) / 3 for shape in parameters.values()]
    layer = (
        "torch._transformer_encoder_layer_fwd({0}, 8, 2, p[0], p[1], p[2], p[3], True, False, 1e-05, p[4], p[5], p[6],"
        " p[7], p[8], p[9], p[10], p[11], {1})"
    )
    body = f"""y = torch._nested_tensor_from_mask(x, mask, False)
y = {layer.format("y", "None, None")}
y = {layer.format("y", "None, None")}
nested = ops.prim.is_nested(y)
padded = torch.to_padded_tensor(y, 0., torch.size(x))
short = torch.to_padded_tensor(y, 0.)
z = {layer.format("x", "torch.logical_not(mask), 1")}
z = {layer.format("z", "torch.logical_not(mask), 1")}
return (padded, torch.masked_fill(z, torch.unsqueeze(torch.logical_not(mask), -1), 0.), short, nested)"""
    module = load(
        tmp_path,
        (
            "forward",
            ["x: Tensor", "mask: Tensor", "p: List[Tensor]"],
            "Tuple[Tensor, Tensor, Tensor, bool]",
            body,
        ),
    )
    mask = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]], bool)
    for _ in range(3):
        padded, expected, short, nested = module(
            weft.from_numpy(ramp(2, 5, 8)), weft.from_numpy(mask), [weft.from_numpy(p) for p in given]
        )
        assert_close(padded, np.asarray(expected))
        assert_close(short, np.asarray(expected)[:, :4])
        assert nested


# ---- builtins by their definitions ---------------------------------------------------------------------------


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("padding", ["same", "valid"])
def test_convolutions_of_named_padding(rank, padding):
    x, weight, bias = ramp(2, 3, *[6] * rank), ramp(4, 3, *[3] * rank), ramp(4)
    one = [1] * rank
    got = call("aten::_convolution_mode", *map(weft.from_numpy, (x, weight, bias)), one, padding, one, 1)
    widths = [1 if padding == "same" else 0] * rank
    convolve = getattr(weft, f"conv{rank}d")
    assert_close(
        got,
        np.asarray(convolve(*map(weft.from_numpy, (x, weight, bias)), stride=one, padding=widths)),
    )


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
def test_fourier_transforms(norm):
    x = ramp(3, 4, 6)
    z = (x + 1j * x[::-1]).astype(np.complex64)
    for name in ("fft", "ifft", "hfft"):
        assert_close(
            call(f"aten::fft_{name}", weft.from_numpy(z), 5, 1, norm),
            getattr(np.fft, name)(z, 5, 1, norm),
            1e-4,
        )
    for name in ("rfft", "ihfft"):
        assert_close(
            call(f"aten::fft_{name}", weft.from_numpy(x), None, -1, norm),
            getattr(np.fft, name)(x, norm=norm),
            1e-4,
        )
    for name, given in (("fft2", z), ("ifft2", z), ("rfft2", x), ("irfft2", z)):
        assert_close(
            call(f"aten::fft_{name}", weft.from_numpy(given), None, [-2, -1], norm),
            getattr(np.fft, name)(given, norm=norm),
            1e-4,
        )
    for name, given in (("fftn", z), ("ifftn", z), ("rfftn", x), ("irfftn", z)):
        assert_close(
            call(f"aten::fft_{name}", weft.from_numpy(given), [4, 6], None, norm),
            getattr(np.fft, name)(given, [4, 6], axes=(1, 2), norm=norm),
            1e-4,
        )
    assert np.array_equal(
        np.asarray(call("aten::fft_fftshift", weft.from_numpy(x), [1])), np.fft.fftshift(x, 1)
    )
    assert np.array_equal(np.asarray(call("aten::fft_ifftshift", weft.from_numpy(x))), np.fft.ifftshift(x))
    assert_close(call("aten::fft_fftfreq", 7, 0.5), np.fft.fftfreq(7, 0.5))
    assert_close(call("aten::fft_rfftfreq", 6), np.fft.rfftfreq(6))


def test_short_time_fourier_transforms():
    x, window = ramp(2, 40), np.hanning(9)[:8].astype(np.float32)
    spectrum = call("aten::stft", weft.from_numpy(x), 8, 2, 8, weft.from_numpy(window), False, True, True)
    frames = np.stack([x[:, at : at + 8] * window for at in range(0, 33, 2)], 1)
    assert_close(spectrum, np.fft.rfft(frames).transpose(0, 2, 1), 1e-4)
    padded = call("aten::stft", weft.from_numpy(np.pad(x, ((0, 0), (4, 4)), "reflect")), 8, 2, 8,
                  weft.from_numpy(window), False, True, True)  # fmt: skip
    again = call("aten::istft", padded, 8, 2, 8, weft.from_numpy(window), True, False, True, 40)
    assert_close(again, x, 1e-4)


@pytest.mark.parametrize("reduce, combine", [("add", np.add), ("multiply", np.multiply)])
def test_scattered_values_are_combined(reduce, combine):
    x, source = ramp(3, 4), ramp(3, 2) + 0.5
    index = np.array([[0, 1], [2, 2], [3, 0]])
    for value in (source, 3.0):
        expected = x.copy()
        for row, at in np.ndindex(3, 2):
            place = row, index[row, at]
            expected[place] = combine(expected[place], value if np.isscalar(value) else value[row, at])
        given = value if np.isscalar(value) else weft.from_numpy(value)
        found = call("aten::scatter", weft.from_numpy(x), 1, weft.from_numpy(index), given, reduce=reduce)
        assert_close(found, expected)


def test_scattered_values_are_combined_by_two_words_only():
    x, index = weft.from_numpy(ramp(3, 4)), weft.tensor([[0, 1]])
    for reduce in ("sum", "prod", ""):
        with pytest.raises(RuntimeError, match="must be either add or multiply"):
            call("aten::scatter", x, 1, index, 1.0, reduce=reduce)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_numbers_quantized_in_plain_tensors(dtype):
    space, x, limits = (
        "quantized_decomposed::",
        ramp(3, 4) * 40,
        (0, 255) if dtype == "uint8" else (-128, 127),
    )
    given, kind = weft.from_numpy(x), getattr(weft, dtype)
    rounded = np.clip(np.round(x * np.float32(1 / 0.1)) + 3, *limits)
    back = (rounded.astype(np.float32) - 3) * np.float32(0.1)
    scales = ((0.1, 3), (weft.tensor(0.1), weft.tensor(3)))
    for overload, (scale, zero) in zip(("", ".tensor"), scales):
        found = call(f"{space}quantize_per_tensor{overload}", given, scale, zero, *limits, kind)
        assert found.dtype == kind
        assert_close(found, rounded)
        again = call(f"{space}dequantize_per_tensor{overload}", found, scale, zero, *limits, kind)
        assert_close(again, back)
    for axis in (0, 1, -1):
        steps = np.linspace(0.05, 0.2, x.shape[axis], dtype=np.float32)
        zeros = np.arange(x.shape[axis])
        by_row = (slice(None), None) if axis == 0 else (None, slice(None))
        expected = np.clip(np.round(x * (1 / steps)[by_row]) + zeros[by_row], *limits)
        scale, zero = weft.from_numpy(steps), weft.from_numpy(zeros)
        found = call(f"{space}quantize_per_channel", given, scale, zero, axis, *limits, kind)
        assert_close(found, expected)
        again = call(f"{space}dequantize_per_channel", found, scale, zero, axis, *limits, kind)
        assert_close(again, (expected - zeros[by_row]) * steps[by_row])
        again = call(f"{space}dequantize_per_channel", found, scale, None, axis, *limits, kind)
        assert_close(again, expected * steps[by_row])
    wide = call(f"{space}dequantize_per_tensor", found, 0.1, 3, *limits, kind, out_dtype=weft.bfloat16)
    assert wide.dtype == weft.bfloat16
    with pytest.raises(TypeError, match="dequantize_per_tensor: expected an input of"):
        call(f"{space}dequantize_per_tensor", given, 0.1, 3, *limits, kind)
    with pytest.raises(TypeError, match="quantize_per_tensor: expected an input of float32"):
        call(f"{space}quantize_per_tensor", weft.from_numpy(x.astype(np.float64)), 0.1, 3, *limits, kind)


@pytest.mark.parametrize("reduce", ["sum", "mean", "prod", "amax", "amin"])
@pytest.mark.parametrize("include", [True, False])
def test_reductions_by_index(reduce, include):
    x, source = ramp(3, 4), ramp(3, 6) + 0.5
    index = np.array([[0, 1, 1, 3, 0, 0], [2, 2, 2, 2, 2, 2], [3, 0, 1, 3, 3, 1]])
    combine = {"sum": sum, "mean": np.mean, "prod": np.prod, "amax": max, "amin": min}[reduce]
    expected = x.copy()
    for row, column in itertools.product(range(3), range(4)):
        found = source[row][index[row] == column].tolist()
        if found:
            expected[row, column] = combine(found + [float(x[row, column])] * include)
    given = map(weft.from_numpy, (index, source))
    assert_close(
        call("aten::scatter_reduce", weft.from_numpy(x), 1, *given, reduce, include_self=include), expected
    )
    if reduce == "sum":
        return
    rows = np.array([2, 0, 2])
    expected = x.copy()
    for row, column in itertools.product(range(3), range(4)):
        found = source[:, column][rows == row].tolist()
        if found:
            expected[row, column] = combine(found + [float(x[row, column])] * include)
    given = map(weft.from_numpy, (rows, source[:, :4].copy()))
    assert_close(
        call("aten::index_reduce", weft.from_numpy(x), 0, *given, reduce, include_self=include), expected
    )


def test_distinct_slices():
    x = np.array([[1, 2], [0, 5], [1, 2], [0, 4], [0, 5]])
    values, inverse, counts = call("aten::unique_dim", weft.from_numpy(x), 0, True, True, True)
    expected = np.unique(x, axis=0, return_inverse=True, return_counts=True)
    for got, wanted in zip((values, inverse, counts), expected):
        assert np.array_equal(np.asarray(got), wanted.reshape(np.asarray(got).shape))
    runs = np.array([[1, 1], [1, 1], [2, 2], [1, 1]])
    values, inverse, counts = call("aten::unique_dim_consecutive", weft.from_numpy(runs), 0, True, True)
    assert np.asarray(values).tolist() == [[1, 1], [2, 2], [1, 1]]
    assert np.asarray(inverse).tolist() == [0, 0, 1, 2] and np.asarray(counts).tolist() == [2, 1, 1]
    values, places = call("aten::mode", weft.from_numpy(np.array([[3, 1, 3, 1, 2], [5, 4, 4, 0, 0]])), 1)
    assert np.asarray(values).tolist() == [1, 0] and np.asarray(places).tolist() == [3, 4]


def test_decompositions():
    a = ramp(4, 4) + 4 * np.eye(4, dtype=np.float32)
    spd = a @ a.T
    x = weft.from_numpy(a)
    q, r = map(np.asarray, call("aten::linalg_qr", x))
    assert_close(q @ r, a, 1e-4)
    p, lower, upper = map(np.asarray, call("aten::linalg_lu", x))
    assert_close(p @ lower @ upper, a, 1e-4)
    assert_close(call("aten::linalg_pinv", x, 1e-7), np.linalg.pinv(a), 1e-4)
    assert int(call("aten::linalg_matrix_rank", weft.from_numpy(a[:, :1] @ a[:1]), 1e-3)) == 1
    assert_close(call("aten::linalg_cond", x), np.linalg.cond(a), 1e-4)
    assert_close(call("aten::linalg_cond", x, 1), np.linalg.cond(a, 1), 1e-4)
    values, vectors = map(np.asarray, call("aten::linalg_eigh", weft.from_numpy(spd)))
    assert_close(vectors * values @ vectors.T, spd, 1e-3)
    factor = np.linalg.cholesky(spd)
    assert_close(call("aten::cholesky_solve", x, weft.from_numpy(factor)), np.linalg.solve(spd, a), 1e-3)
    assert_close(
        call("aten::linalg_solve_triangular", weft.from_numpy(factor), x, upper=False, left=False),
        a @ np.linalg.inv(factor),
        1e-3,
    )
    solution = call("aten::linalg_lstsq", weft.from_numpy(a[:, :2].copy()), x)[0]
    assert_close(solution, np.linalg.lstsq(a[:, :2], a, rcond=None)[0], 1e-4)


def test_solving_for_vectors():
    """A stack of vectors has the shape of the matrices without their columns; other right sides are matrices."""
    a = ramp(3, 3, 3) + 3 * np.eye(3, dtype=np.float32)
    x = weft.from_numpy(a)
    for shape in ((3, 3), (3,)):
        b = ramp(*shape)
        expected = np.linalg.solve(a, np.broadcast_to(b, (3, 3))[..., None])[..., 0]
        assert_close(call("aten::linalg_solve", x, weft.from_numpy(b)), expected, 1e-4)
        assert_close(call("aten::linalg_solve_ex", x, weft.from_numpy(b))[0], expected, 1e-4)
        with pytest.raises(ValueError, match="left=False"):
            call("aten::linalg_solve", x, weft.from_numpy(b), left=False)
    for shape in ((3, 2), (1, 3, 3), (3, 3, 2)):
        b = ramp(*shape)
        assert_close(call("aten::linalg_solve", x, weft.from_numpy(b)), np.linalg.solve(a, b), 1e-4)
    # NumPy's function, and weft's, take matrices here; so does what is traced.
    b = weft.from_numpy(ramp(3, 3))
    assert_close(weft.jit.trace(weft.solve, (x, b))(x, b), np.asarray(weft.solve(x, b)), 1e-5)


def test_losses_of_sequences():
    """Against the sum over all paths of blanks and labels."""
    steps, classes, labels = 4, 3, [1, 2]
    scores = ramp(steps, 1, classes)
    log_probs = scores - np.log(np.exp(scores).sum(-1, keepdims=True))
    total = 0.0
    for path in itertools.product(range(classes), repeat=steps):
        if [label for label, _ in itertools.groupby(path) if label != 0] == labels:
            total += np.exp(sum(log_probs[t, 0, label] for t, label in enumerate(path)))
    given = weft.from_numpy(log_probs), weft.from_numpy(np.array([labels]))
    assert_close(call("aten::ctc_loss", *given, [steps], [2], 0, 2), -np.log(total))
    assert_close(call("aten::ctc_loss", *given, [steps], [2], 0, 1), -np.log(total) / 2)
    assert_close(call("aten::ctc_loss", *given, [1], [2], 0, 2, True), 0)


def test_torchvision_operators():
    x, weight = ramp(1, 4, 6, 6), ramp(3, 4, 3, 3)
    none = weft.from_numpy(np.zeros((1, 18, 6, 6), np.float32))
    one = weft.from_numpy(np.ones((1, 9, 6, 6), np.float32))
    bias = weft.from_numpy(ramp(3))
    got = call("torchvision::deform_conv2d", weft.from_numpy(x), weft.from_numpy(weight), none, one, bias, 1, 1, 1, 1, 1,
               1, 1, 1, True)  # fmt: skip
    assert_close(
        got, np.asarray(weft.conv2d(weft.from_numpy(x), weft.from_numpy(weight), bias, padding=[1, 1])), 1e-4
    )
    regions = weft.from_numpy(np.array([[0, 0, 0, 4, 4]], np.float32))
    pooled, _ = call("torchvision::ps_roi_pool", weft.from_numpy(x), regions, 1.0, 2, 2)
    assert_close(pooled, [[[[x[0, 0, :2, :2].mean(), x[0, 1, :2, 2:4].mean()],
                    [x[0, 2, 2:4, :2].mean(), x[0, 3, 2:4, 2:4].mean()]]]])  # fmt: skip


def test_composed_builtins_in_compiled_stretches(tmp_path):
    body = "y = torch.corrcoef(torch.tanh(x))\nreturn torch.exp(torch.trapezoid(torch.mul(y, 2.), dx=1))"
    module = load(tmp_path, ("forward", ["x: Tensor"], "Tensor", body))
    x = ramp(3, 5)
    correlation = 2 * np.corrcoef(np.tanh(x))
    expected = np.exp((correlation[:, 1:] + correlation[:, :-1]).sum(1) / 2)
    for _ in range(4):
        assert_close(module(weft.from_numpy(x)), expected, 1e-4)


# ---- the page ------------------------------------------------------------------------------------------------


def test_the_page_is_current():
    assert PAGE.read_text() == torchscript_operators.page(), "run `make docs`"
