"""weft.jit.trace of every operator by its sample calls: the program gives on other arguments what the operator gives, and
is written in operators that PyTorch 2.15 has."""

import io
import re
import warnings

import aten_schemas
import gpu_operators
import numpy as np
import operator_samples
import pytest
import weft

KINDS = {"real": weft.float32, "integer": weft.int64, "complex": weft.complex64, "bool": weft.bool}
NAMES = {name.split(".")[0] for name in aten_schemas.recorded()}
# What the interpreter does by itself, and archives write as Python's own syntax.
SYNTAX = {
    f"prim::{name}"
    for name in ("Constant", "ListConstruct", "TupleConstruct", "ListUnpack", "TupleUnpack", "TupleIndex", "GetAttr")
}  # fmt: skip

# Operators that a trace refuses by name, and why.
REFUSED = {
    "PyTorch has none": "all_uint8 any_uint8 unpack_int4_for_cpu attention_with_kv_cache clamp_between count_between dequantize_int4 "
    "dequantize_int8 diagonal_update fused_multiply_add gather_nd index_extreme iota join linear_fused lstsq_qr nanmax nanmin "
    "quantize_int4 quantize_int8 quantize_tokens relative_position_attention replace_nonfinite require "
    "scatter_nd scatter_nd_extreme searchsorted_strict sign_or_zero slice_update sparse_dense sparse_linear sum_between "
    "linear_int8 linear_packed linear_dynamic_int8 _weight_int4pack_mm _weight_int8pack_mm",
    "its parameters are others than PyTorch's": "bitcast lstsq",
    "it is torchvision's": "nms roi_align roi_pool",
}  # fmt: skip


# Kinds that are left out.
LEFT_OUT = {
    "glu": {"integer": "PyTorch's takes no integers", "bool": "PyTorch's takes no integers"},
    "logcumsumexp": {"complex": "logarithms are equal up to 2 pi i"},
    "percentile": {"complex": "PyTorch's takes none"},
    "quantile": {"complex": "PyTorch's takes none"},
}


def arrays(kind, seed):
    given, lists, whole = operator_samples.arrays(kind, seed)

    def tensor(value, dtype=None):
        if not isinstance(value, (np.ndarray, np.generic)):
            return value
        made = weft.tensor(np.asarray(value))
        return made if dtype is None else made.to(dtype)

    values = {name: tensor(value, KINDS[kind]) for name, value in given.items()}
    values.update({name: [tensor(part, KINDS[kind]) for part in parts] for name, parts in lists.items()})
    values.update({name: tensor(value) for name, value in whole.items()})
    return {
        **values,
        "dtype": KINDS[kind],
        "device": weft.device("cpu"),
        "ordered": kind in ("integer", "real"),
    }


def sampled(operator, kind):
    """(function, arguments, other arguments) of each sample call."""
    name, definition = operator.definition["name"], operator.definition
    if name in operator_samples.SAMPLES:
        for text in operator_samples.SAMPLES[name].split(";"):
            code = compile(text.strip(), name, "eval")
            one, other = arrays(kind, 5), arrays(kind, 6)
            used = [each for each in one if each in code.co_names and isinstance(one[each], weft.Tensor)]
            scope = {**vars(weft._C), **gpu_operators.NAMES, **one}

            def call(*given, code=code, used=used, scope=scope):
                return eval(code, {**scope, **dict(zip(used, given))})

            if used:
                yield call, [one[each] for each in used], [other[each] for each in used]
    elif definition["kind"] == "pointwise":
        operands = next(gpu_operators.pointwise_samples(operator, KINDS[kind]))
        yield operator, operands, [each.flip([0]) for each in operands]
    elif definition["kind"] == "reduction":
        x, y = arrays(kind, 5)["x"], arrays(kind, 6)["x"]
        yield (lambda given: operator(given, [1])), [x], [y]
        yield operator, [x], [y]


def results(function, arguments):
    """None where the operator does not take them."""
    try:
        found = gpu_operators.flat(function(*[each.clone() for each in arguments]))
    except Exception:
        return None
    return found if all(isinstance(each, weft.Tensor) for each in found) else None


def is_close(got, wanted):
    if got.dtype != wanted.dtype or got.shape != wanted.shape:
        return False
    half = wanted.dtype in (weft.bfloat16, weft.float16)
    got, wanted = ((each.float() if half else each).numpy() for each in (got, wanted))
    bound = 1e-2 if half else 1e-5
    scale = 1 + np.max(np.abs(np.where(np.isfinite(wanted), wanted, 0)), initial=0) if wanted.size else 1
    return np.allclose(got, wanted, rtol=bound, atol=bound * scale, equal_nan=True)


def check_sample(function, arguments, others):
    expected = results(function, others)
    if expected is None or results(function, arguments) is None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", weft.jit.TracerWarning)
        traced = weft.jit.trace(function, tuple(arguments), check_trace=False, strict=False)
    written = {*re.findall(r"\b((?:aten|prim)::\w+)", str(traced.graph))} - SYNTAX
    assert written <= NAMES
    loaded = weft.jit.load(io.BytesIO(traced.save_to_buffer()))
    for each in (traced, loaded):
        got = gpu_operators.flat(each(*[given.clone() for given in others]))
        assert len(got) == len(expected)
        for one, other in zip(got, expected):
            assert is_close(one, other), f"{one.dtype}{tuple(one.shape)} {one}, eager {other.dtype} {other}"


def traced_operators():
    refused = {name for names in REFUSED.values() for name in names.split()}
    return {
        name: operator
        for name, operator in gpu_operators.all_operators().items()
        if operator_samples.reason(name) is None and name not in refused
    }


OPERATORS = traced_operators()


@pytest.mark.parametrize("name", OPERATORS)
def test_traces_give_what_operators_give(name):
    operator = OPERATORS[name]
    for kind, dtype in KINDS.items():
        is_pointwise = operator.definition["kind"] == "pointwise"
        if is_pointwise and str(dtype).split(".")[-1] not in operator.definition["dtypes"]:
            continue
        if kind in LEFT_OUT.get(name, {}):
            continue
        for function, arguments, others in sampled(operator, kind):
            check_sample(function, arguments, others)


@pytest.mark.parametrize("name", [name for names in REFUSED.values() for name in names.split()])
def test_what_is_refused_is_refused_by_name(name):
    """Some of its calls may be recorded: then they are what the operator does."""
    operator = gpu_operators.all_operators()[name]
    errors = []
    for kind in KINDS:
        for function, arguments, others in sampled(operator, kind):
            try:
                check_sample(function, arguments, others)
            except NotImplementedError as error:
                errors.append(str(error))
    assert all(error.startswith("weft.jit.trace") for error in errors)
    assert errors or not any(True for kind in KINDS for _ in sampled(operator, kind))


# ---- arguments that samples leave out ------------------------------------------------------------------------
A = np.random.default_rng(4).standard_normal((3, 5, 3)).astype(np.float32)
FACTORS = {
    "svd": lambda x: weft.svd(x),
    "svd, reduced": lambda x: weft.svd(x, False),
    "svd of a wide matrix": lambda x: weft.svd(x.transpose(1, 2), False),
    "qr": lambda x: weft.qr(x),
    "qr, complete": lambda x: weft.qr(x, True),
    "eigh": lambda x: weft.eigh(x.transpose(1, 2) @ x),
    "eigh, upper": lambda x: weft.eigh(x.transpose(1, 2) @ x, True),
    "solve_triangular": lambda x: weft.solve_triangular(x[:, :3], x.transpose(1, 2), True),
    "solve_triangular, unit": lambda x: weft.solve_triangular(x[:, :3], x.transpose(1, 2), False, True),
    "lu_factor": lambda x: weft.lu_factor(x[:, :3]),
    "lu_solve": lambda x: weft.lu_solve(*weft.lu_factor(x[:, :3])[:2], x.transpose(1, 2), True),
}


@pytest.mark.parametrize("name", FACTORS)
def test_factors_themselves(name):
    """Not what their product is: a transposed or a reduced factor is another program."""
    check_sample(FACTORS[name], [weft.tensor(A)], [weft.tensor(A[::-1].copy() + 0.5)])
