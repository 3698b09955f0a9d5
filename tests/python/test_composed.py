"""Functions of weft._composed, as Python calls them and as TorchScript's builtins; names that are defined twice."""

import ast
import importlib
import inspect
import math
import pathlib
import pkgutil
import re

import pytest
import weft
from weft import _composed

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "weft"


def marked():
    for info in pkgutil.iter_modules(_composed.__path__):
        for value in vars(importlib.import_module(f"weft._composed.{info.name}")).values():
            for schema in getattr(value, "schemas", ()):
                yield schema, value


FUNCTIONS = dict(marked())


def full_name(schema):
    return schema.partition("(")[0]


def numbers(*shape, dtype=weft.float32):
    return weft.sin(weft.arange(math.prod(shape)) * 1.7 + 0.3).reshape(shape).to(dtype)


def labels(*shape, below=3):
    return weft.remainder(weft.arange(math.prod(shape)) * 7 + 1, below).reshape(shape)


# All arguments of a call, in the schema's order.
X, SQUARE = numbers(3, 5), numbers(3, 3)
LINES = [(x, n, dim, norm) for x in (X, labels(3, 5), X.to(weft.complex64)) for n in (None, 3, 7) for dim in (0, -1)
         for norm in (None, "ortho", "forward")]  # fmt: skip
SPACES = [
    (numbers(3, 4, 5), s, dim, norm)
    for s, dim in ((None, [0, 2]), ([4, -1], [2, 1]), ([3], [1]))
    for norm in (None, "ortho")
]
WINDOWS = {
    "": (),
    ".periodic": (False,),
    ".periodic_alpha": (True, 0.6),
    ".periodic_alpha_beta": (True, 0.6, 0.3),
    ".beta": (True, 3.0),
}
HOW = ("linear", "lower", "higher", "midpoint", "nearest")
SAMPLES = {
    "cov": [(X, 1, None, None), (X, 0, labels(5), None), (X, 1, labels(5), numbers(5) + 2), (X[0], 1, None, None)],
    "corrcoef": [(X,), (X[0],), (numbers(3, 5).to(weft.complex64),)],
    "trapezoid.x": [(X, numbers(5), -1), (X, numbers(3, 5), 0), (X[:, :0], numbers(0), 1)],
    "trapezoid.dx": [(X, 0.5, -1), (X, 2, 0)],
    "trapz.x": [(X, numbers(5), -1)],
    "trapz.dx": [(X, 0.5, -1)],
    "cumulative_trapezoid.x": [(X, numbers(5), -1), (X, numbers(3, 5), 0)],
    "cumulative_trapezoid.dx": [(X, 0.5, -1), (X, 2, 0)],
    "diff": [(X, n, dim, None, None) for n in (0, 1, 2) for dim in (0, -1)] + [(X, 1, 1, X[:, :1], X[:, :2]), (X, 1, 0, None, X)],
    "aminmax": [(X, dim, keep) for dim in (None, 0, -1) for keep in (False, True)] + [(numbers(), 0, True), (labels(3, 5), 1, True)],
    "median": [(X,), (labels(4, 5),), (X[:0],), (labels(0),), (numbers(),)],
    "nanmedian": [(weft.where(X > 0.8, math.nan, X),), (labels(4, 5),), (X[:0],)],
    "median.dim": [(X, 0, True), (X, -1, False), (numbers(), 0, False)],
    "nanmedian.dim": [(weft.where(X > 0.8, math.nan, X), 0, True), (X, -1, False), (numbers(), 0, True)],
    "complex": [(X, X + 1), (X, X[0]), (X.to(weft.float64), numbers().to(weft.float64))],
    "polar": [(X.abs(), X), (X[:, :1], X)],
    "frexp.Tensor": [(X * scale,) for scale in (1.0, 1e30, 1e-42, math.inf)] + [(X.to(dtype),) for dtype in (weft.float16, weft.float64)],
    "heaviside": [(weft.round(X), X), (labels(3, 5) - 1, labels(5)), (X > 0, X > 1), (X * math.nan, X)],
    "mvlgamma": [(X.abs() + 3, p) for p in (1, 2, 5)] + [(labels(4) + 4, 2)],
    "special_multigammaln": [(X.abs() + 3, 2)],
    "fill.Scalar": [(X, 2.5), (labels(3, 5), 4)],
    "fill.Tensor": [(X, weft.tensor(3)), (labels(2, 2), weft.tensor(2.0))],
    "nan_to_num": [(X / labels(3, 5), *values) for values in ((None, None, None), (1.0, 2.0, -3.0), (None, None, 7.0))],
    "adjoint": [(X,), (numbers(2, 3, 4).to(weft.complex64) * 1j,), (numbers(),)],
    "mH": [(X,), (numbers(2, 3, 4).to(weft.complex64) * 1j,), (numbers(),)],
    "sum_to_size": [(X, [5]), (X, [1, 5]), (X, [3, 1]), (X, [3, 5]), (X, []), (numbers(), [])],
    "tensordot": [(X, numbers(5, 4), [1], [0]), (numbers(2, 3, 4), numbers(4, 3), [1, 2], [1, 0]), (X[:, :1], X, [1], [1]), (X, X[:1], [0], [0])],
    "fill_diagonal_": [(numbers(3, 4), 2.5, False), (numbers(7, 3), 1, True), (numbers(2, 2, 2), -1.0, False)],
    "cdist": [(X, numbers(2, 5), p, None) for p in (0.0, 1.0, 2.0, math.inf)],
    "searchsorted.Tensor": [
        (weft.sort(X)[0], X, int32, side == "right", side, None)
        for int32 in (False, True)
        for side in (None, "left", "right")
    ]
    + [(X, X + 0.1, False, True, None, weft.argsort(X))],
    "searchsorted.Scalar": [(weft.sort(X[0])[0], value, False, right, None, None) for value in (0.2, 1) for right in (False, True)],
    "bucketize.Tensor": [(X, weft.tensor([-0.5, 0.0, 0.5]), int32, right) for int32 in (False, True) for right in (False, True)],
    "bucketize.Scalar": [(0.0, weft.tensor([-0.5, 0.0, 0.5]), False, right) for right in (False, True)],
    "mode": [(labels(4, 5), -1, False), (labels(4, 5), 0, True), (numbers(), 0, False)],
    "margin_ranking_loss": [(X, X[:, :1], weft.sign(X), 0.5, r) for r in (0, 1, 2)],
    "hinge_embedding_loss": [(X, weft.sign(X), 0.5, r) for r in (0, 1, 2)] + [(labels(3, 5), weft.sign(X), 1.5, 2)],
    "cosine_embedding_loss": [(X, X + 1, weft.sign(X[:, 0]), 0.5, r) for r in (0, 1, 2)],
    "triplet_margin_loss": [(X, X + 1, X - 2, 1.0, 2.0, 1e-6, swap, 0) for swap in (False, True)],
    "soft_margin_loss": [(X, weft.sign(X), r) for r in (0, 1, 2)],
    "poisson_nll_loss": [(X.abs(), labels(3, 5), log, full, 1e-8, 0) for log in (False, True) for full in (False, True)],
    "multi_margin_loss": [(X, labels(3, below=5), 1, 1, None, 1), (X, labels(3, below=5), 2, 0.5, numbers(5), 0)],
    "multilabel_margin_loss": [(X, labels(3, 5, below=6) - 1, r) for r in (0, 1, 2)],
    "stft.center": [
        (numbers(2, 32), 8, 4, None, None, True, "reflect", False, None, True, None),
        (numbers(32), 8, None, 6, numbers(6), True, "constant", True, None, False, None),
    ],
    "stft": [(numbers(2, 32), 8, 4, 6, None, False, None, True, True)],
    "istft": [
        (numbers(2, 5, 9).to(weft.complex64), 8, 4, None, None, True, False, None, length, False) for length in (None, 30)
    ],
    "scatter_reduce.two": [
        (X, dim, labels(3, 5), X + 1, reduce, include)
        for dim in (0, 1)
        for reduce in ("sum", "prod", "mean", "amax", "amin")
        for include in (False, True)
    ],
    "index_reduce": [(X, 1, labels(4), numbers(3, 4), reduce, False) for reduce in ("prod", "mean", "amax", "amin")],
    "put": [(X, labels(4, below=15), numbers(4), accumulate) for accumulate in (False, True)],
    "masked_scatter": [(X, X > 0, numbers(15)), (X, X[0] > 0, numbers(15))],
    "isin.Tensor_Tensor": [(labels(3, 5), labels(n), False, invert) for n in (0, 3, 20) for invert in (False, True)],
    "isin.Tensor_Scalar": [(labels(3, 5), 1, False, invert) for invert in (False, True)],
    "isin.Scalar_Tensor": [(1, labels(3, 5), False, invert) for invert in (False, True)],
    "histogram.bin_ct": [(X, 4, None, None, False), (X, 3, [-0.5, 0.5], X.abs(), True), (X[:0], 3, None, None, False)],
    "histogram.bins_tensor": [(X, weft.tensor([-1.0, 0.0, 0.5, 1.0]), None, False)],
    "pdist": [(X, 2.0), (X, 1.0)],
    "nonzero_static": [(labels(3, 5), size, -1) for size in (0, 4, 20)],
    "_unique2": [(labels(3, 5), True, inverse, counts) for inverse in (False, True) for counts in (False, True)],
    "_unique": [(labels(3, 5), True, True), (labels(0), True, True)],
    "unique_dim": [(labels(6, 2), dim, True, True, True) for dim in (0, 1)],
    "unique_consecutive": [(labels(6) // 2, True, True, None), (labels(6, 2), True, False, 0), (labels(0), True, True, None)],
    "unique_dim_consecutive": [(labels(6, 2), 0, True, True)],
    "block_diag": [([X, X[0], labels(2, 2)],), ([],)],
    "cartesian_prod": [([labels(2), labels(3)],), ([labels(2)],)],
    "pad_sequence": [([X, X[:1], X[:0]], first, 0.5, side) for first in (False, True) for side in ("left", "right")],
    "diag_embed": [(X, offset, first, second) for offset in (-1, 0, 2) for first, second in ((-2, -1), (0, 2), (1, 0))],
    "combinations": [(labels(4), r, again) for r in (0, 1, 2, 5) for again in (False, True)],
    "quantile": [(X, weft.tensor([0.0, 0.3, 1.0]), dim, True, how) for dim in (None, 0) for how in HOW],
    "quantile.scalar": [(X, 0.3, 1, False, how) for how in HOW],
    "nanquantile": [(weft.where(X > 0.8, math.nan, X), weft.tensor([0.5, 0.7]), 1, False, how) for how in HOW],
    "nanquantile.scalar": [(weft.where(X > 0.8, math.nan, X), 0.5, None, True, "linear")],
    "linalg_solve_triangular": [
        (SQUARE, weft.tril(SQUARE) + 1, upper, left, unit)
        for upper in (False, True)
        for left in (False, True)
        for unit in (False, True)
    ],
    "triangular_solve": [(SQUARE, SQUARE, upper, turn, False) for upper in (False, True) for turn in (False, True)],
    "cholesky_solve": [(X[:, :2], SQUARE, upper) for upper in (False, True)],
    "cholesky_inverse": [(SQUARE, upper) for upper in (False, True)],
    "linalg_lu_factor": [(X, True)],
    "linalg_lu_factor_ex": [(X, True, False)],
    "_linalg_det": [(numbers(3, 3),), (numbers(2, 4, 4),)],
    "_linalg_slogdet": [(numbers(3, 3),), (numbers(2, 4, 4),)],
    "_lu_with_info": [(X, True, False)],
    "linalg_lu": [(X, True), (numbers(2, 4, 3), True)],
    "lu_unpack": [(*weft.lu_factor(X)[:2], data, pivots) for data in (False, True) for pivots in (False, True)],
    "linalg_lu_solve": [
        (*weft.lu_factor(SQUARE)[:2], SQUARE + 1, left, adjoint) for left in (False, True) for adjoint in (False, True)
    ],
    "lu_solve": [(X, *weft.lu_factor(SQUARE)[:2])],
    "linalg_matrix_rank": [(X, 0.5, False)],
    "linalg_matrix_rank.atol_rtol_float": [(X, 0.5, None, False), (SQUARE + SQUARE.T, None, 0.9, True)],
    "linalg_matrix_rank.atol_rtol_tensor": [(X, None, None, False), (X, weft.tensor(0.5), weft.tensor(0.1), False)],
    "linalg_pinv": [(X, 0.5, False)],
    "linalg_pinv.atol_rtol_float": [(X, 0.5, None, False), (SQUARE + SQUARE.T, None, 0.9, True)],
    "linalg_pinv.atol_rtol_tensor": [(X, None, None, False), (X, weft.tensor(0.5), weft.tensor(0.1), False)],
    "pinverse": [(X, 1e-15), (X[:0], 1e-15)],
    "linalg_vector_norm": [(X, p, [1], True, None) for p in (0, 1, 2.5, math.inf, -math.inf)]
    + [(X, 2, None, False, weft.float64), (numbers(), 0, None, False, None)],
    "frobenius_norm.dim": [(X, [0, 1], True)],
    "norm.Scalar": [(X, 3)],
    "norm.ScalarOpt_dim": [(X, None, [0], True)],
    "norm.ScalarOpt_dim_dtype": [(X, 1, [0], True, weft.float64)],
    "norm.ScalarOpt_dtype": [(X, 1, weft.float64)],
    "dist": [(X, X[0], 1.5)],
    "norm_except_dim": [(X, 2, dim) for dim in (-1, 0, 1)] + [(X[0], 2, 0)],
    "_weight_norm": [(X, numbers(3, 1), 0)],
    "linalg_matrix_norm.str_ord": [(numbers(2, 3, 4), p, [2, 0], keep, None) for p in ("fro", "nuc") for keep in (False, True)],
    "linalg_matrix_norm": [
        (numbers(2, 3, 4), p, [-1, 0], keep, None)
        for p in (1, -1, 2, -2, math.inf, -math.inf)
        for keep in (False, True)
    ],
    "linalg_norm": [(X, None, None, False, None), (X, 1, None, False, None), (X, 1, [1], True, weft.float64)],
    "linalg_norm.ord_str": [(X, "nuc", None, False, None), (X, "fro", [0, 1], True, None)],
    "nuclear_norm": [(X, True)],
    "nuclear_norm.dim": [(X, [1, 0], False)],
    "linalg_cond": [(SQUARE, p) for p in (None, 1, -1, 2, -2, math.inf)] + [(SQUARE * 0, 1)],
    "linalg_cond.p_str": [(SQUARE, "fro"), (SQUARE, "nuc"), (SQUARE * 0, "fro")],
    "native_layer_norm": [(X, [5], None, None, 1e-5), (numbers(2, 3, 4), [3, 4], numbers(3, 4), None, 1e-5)],
    "native_group_norm": [(numbers(2, 4, 3), numbers(4), None, 2, 4, 3, 2, 1e-5)],
    "native_batch_norm": [(numbers(2, 4, 3), numbers(4), None, numbers(4), X[0, :4] + 2, train, 0.1, 1e-5) for train in (False, True)],
    "constant_pad_nd": [(X, pad, 0.5) for pad in ([1, 2], [-1, 2, 0, 1], [0, 0], [-1, -1, 1, -1], [])],
    "embedding_bag": [(X, labels(4), weft.tensor([0, 1, 3]), False, mode, False, None, False) for mode in (0, 1, 2)],
    "embedding_bag.padding_idx": [
        (X, labels(4), weft.tensor([0, 1, 4]), False, mode, False, None, True, pad)
        for mode in (0, 1, 2)
        for pad in (None, 1, -1)
    ],
    **{name: [(X, labels(4), weft.tensor([0, 1, 3]), False, 0, False, numbers(4), False, pad) for pad in (-1, 1)]
       for name in ("_embedding_bag", "_embedding_bag_forward_only")},
    **{f"quantized_decomposed::{name}": samples for name, samples in {
        "choose_qparams.tensor": [(x, -128, 127, 1e-5, weft.int8) for x in (X, X + 3, X.to(weft.bfloat16), X * 0)],
        "choose_qparams_symmetric.tensor": [(X, -127, 127, 1e-5, weft.int8), (X - 3, 0, 255, 1e-5, weft.uint8)],
        "choose_qparams_per_token": [(X, weft.int8), (X.to(weft.float16), weft.int8)],
        "choose_qparams_per_token_asymmetric": [(X, weft.int8), (X + 3, weft.int8), (X - 3, weft.int8)],
        "_choose_qparams_per_token_asymmetric_impl": [(X[0], weft.int8)],
        "quantize_per_token": [(X, numbers(3, 1).abs(), labels(3, 1), -128, 127, weft.int8)],
        "dequantize_per_token": [(labels(3, 5), numbers(3, 1), labels(3, 1), -128, 127, weft.int8, weft.float32)],
        "quantize_per_channel_group": [(numbers(3, 4), numbers(3, 2).abs(), labels(3, 2), -8, 7, weft.int8, 2),
                                       (numbers(3, 4), numbers(3, 1).abs(), labels(3, 1), -8, 7, weft.int8, 8)],
        "dequantize_per_channel_group": [(labels(3, 4), numbers(3, 2), zeros, -8, 7, weft.int8, 2, weft.float32)
                                         for zeros in (labels(3, 2), None)],
        "convert_element_type.no_fuse": [(X, weft.bfloat16)],
    }.items()},
    "_scaled_mm": [(X.to(weft.float8_e4m3fn), numbers(5, 2).to(weft.float8_e4m3fn), weft.tensor(0.5), weft.tensor(2.0), bias, None,
                    dtype, False) for bias in (None, numbers(2)) for dtype in (weft.float32, weft.bfloat16, None)],
    **{f"fft_{name}": LINES for name in ("fft", "ifft", "irfft", "hfft")},
    **{f"fft_{name}": [(X, n, 1, norm) for n in (None, 7) for norm in (None, "ortho")] for name in ("rfft", "ihfft")},
    **{f"fft_{name}{over}": SPACES for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft") for over in "2n"},
    "_fft_c2c": [(X.to(weft.complex64), [0, 1], 1, forward) for forward in (False, True)],
    "_fft_r2c": [(X, [0, 1], 0, half) for half in (False, True)],
    "_fft_c2r": [(X.to(weft.complex64), [0, 1], 2, 8)],
    "fft_fftfreq": [(n, 0.5, None) for n in (0, 1, 4, 5)] + [(4, 1.0, weft.float64)],
    "fft_rfftfreq": [(n, 0.5, None) for n in (1, 4, 5)],
    "fft_fftshift": [(X, None), (X, [1])],
    "fft_ifftshift": [(X, None), (X, [1])],
    **{
        f"{name}_window{over}": [(n, *more, dtype, None, None) for n in (0, 1, 2, 7) for dtype in (None, weft.float64)]
        for name in ("hann", "hamming", "bartlett", "blackman", "kaiser")
        for over, more in WINDOWS.items()
    },
    "renorm": [(X, 2, 0, 1.0), (numbers(2, 3, 4, dtype=weft.bfloat16), 1.0, -1, 0.5)],
    "copy": [(X, labels(5), False), (labels(3, 5), X, True)],
    "_chunk_cat": [([numbers(3, 4, 5), numbers(3, 2)], 1, 3), ([numbers(7), numbers(4)], 0, 2)],
    "_native_batch_norm_legit": [
        (numbers(4, 3, 2), numbers(3), None, numbers(3), numbers(3).abs(), training, 0.0, 1e-5) for training in (False, True)
    ],
    "_native_batch_norm_legit.no_stats": [(numbers(4, 3, 2), None, numbers(3), True, 0.1, 1e-5)],
    "_native_batch_norm_legit_functional": [
        (numbers(4, 3, 2), None, None, numbers(3), numbers(3).abs(), training, 0.1, 1e-5) for training in (False, True)
    ],
    "log_sigmoid_forward": [(X,)],
    "_weight_norm_interface": [(X, numbers(3, 1), 0), (X, numbers(1, 5), -1)],
    "native_dropout_backward": [(X, X > 0, 2.0)],
    "max_pool2d_with_indices_backward": [
        (numbers(1, 2, 2, 2), numbers(1, 2, 4, 4), [2, 2], [2, 2], [0, 0], [1, 1], False, labels(1, 2, 2, 2, below=16))
    ],
    "_linalg_check_errors": [(weft.zeros((2,), dtype=weft.int32), "inv", False)],
}  # fmt: skip


def as_tuple(result):
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def same(first, second):
    first, second = as_tuple(first), as_tuple(second)
    assert len(first) == len(second)
    for one, other in zip(first, second):
        if not isinstance(one, weft.Tensor):
            assert one == other
            continue
        assert one.dtype == other.dtype and tuple(one.shape) == tuple(other.shape)
        if one.dtype == weft.float8_e4m3fn:
            one, other = one.to(weft.float32), other.to(weft.float32)
        assert bool(((one == other) | ((one != one) & (other != other))).all())


@pytest.mark.parametrize("schema", FUNCTIONS, ids=full_name)
def test_builtins_do_what_the_functions_do(schema):
    for arguments in SAMPLES[full_name(schema)]:
        positional, keywords = arguments_of(schema, arguments)
        name = full_name(schema)
        builtin = weft._C._call_builtin(name if "::" in name else f"aten::{name}", *positional, **keywords)
        same(builtin, call(FUNCTIONS[schema], schema, arguments))


def call(function, schema, values):
    """With the arguments where src/script/run/composed.cc has them."""
    names, parameters = names_of(schema), list(inspect.signature(function).parameters)
    positional = names_of(schema.partition(", *")[0] + ")")
    given = {}
    for at, (name, value) in enumerate(zip(names, values)):
        if name in parameters:
            given[name] = value
        elif at < min(len(parameters), len(positional)) and parameters[at] not in names:
            given[parameters[at]] = value
    return function(**given)


def names_of(schema):
    parameters = re.sub(r"->.*|=\[.*?\]", "", schema)[len(full_name(schema)) + 1 :].strip()[:-1].split(", ")
    return [parameter.partition("=")[0].split()[-1] for parameter in parameters if parameter != "*"]


def arguments_of(schema, values):
    """Positional arguments, and those by keyword."""
    parameters = re.sub(r"->.*|=\[.*?\]", "", schema)[len(full_name(schema)) + 1 :].strip()[:-1].split(", ")
    count = parameters.index("*") if "*" in parameters else len(parameters)
    names = [parameter.partition("=")[0].split()[-1] for parameter in parameters if parameter != "*"]
    return values[:count], dict(zip(names[count:], values[count:]))


def test_scripts_have_pytorchs_answers():
    """Where builtins that were composed in C++ gave others, or none; PyTorch 2.15's."""
    aten = weft.ops.aten
    x = weft.tensor([0.1, 0.5, 2.0, 3.0])
    assert float(aten.quantile(x, 0.4, interpolation="nearest")) == 0.5
    assert float(aten.quantile(x, 0.4, interpolation="higher")) == 2.0
    assert float(aten.nanquantile(x, 0.4, interpolation="midpoint")) == 1.25
    large = weft.tensor([1000.0, -1000.0, 1000.0])
    assert aten.logcumsumexp(large, 0).tolist() == [1000.0, 1000.0, 1000.6931762695312]
    result, mean, deviation = aten.native_layer_norm(x, [4], None, None, 1e-5)
    assert abs(float(mean) - 1.4) < 1e-6 and abs(float(deviation) - 0.8591) < 1e-4
    assert aten.constant_pad_nd(x, [-1, 2]).tolist() == [0.5, 2.0, 3.0, 0.0, 0.0]
    with pytest.raises(RuntimeError, match="as there are observations"):
        aten.cov(X, fweights=labels(4))


# ---- names with two definitions --------------------------------------------------------------------------------
# Builtins that are composed in C++, of which weft.torch or weft.nn has a function of eight lines or more: each of these
# is to become one.
TWICE = """
    _softmax addr batch_norm einsum embedding empty_strided gather index index_fill instance_norm masked_fill nll_loss range
    repeat_interleave resize_ result_type rsub scatter softmax sort split tensor_split view_as_complex
""".split()  # fmt: skip

DEFINITION = re.compile(r'\b(?:define|with_inplace)\(\s*"(\w+)')


def composed_in_cpp():
    for path in (ROOT / "src/script/builtins").glob("*.cc"):
        yield from DEFINITION.findall(path.read_text())


# Functions of other meanings under the names of builtins: collectives, ranges of a profiler, means under a mask; rules, by operator.
OTHERS = (
    "torch/distributed/",
    "torch/cuda/",
    "torch/masked.py",
    "torch/export/_decompositions",
    "torch/_functions/_batched.py",
)


def lines_in_python():
    """From the name of each function of weft.torch and weft.nn to the lines that it has."""
    paths = [*(PACKAGE / "torch").rglob("*.py"), *(PACKAGE / "nn").rglob("*.py"), PACKAGE / "_drawing.py"]
    for path in paths:
        if path.relative_to(PACKAGE).as_posix().startswith(OTHERS):
            continue
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                yield node.name, body[-1].end_lineno - body[0].lineno + 1 if body else 0


def test_no_other_name_is_defined_twice():
    long = {name for name, lines in lines_in_python() if lines >= 8}
    assert sorted(long & set(composed_in_cpp())) == sorted(TWICE)
