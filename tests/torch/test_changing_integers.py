"""Every integer argument of every operator, changed from call to call of one compiled function: a number that has become
symbolic must never stay at an earlier value."""

import ast
import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import weft
import weft.torch as torch
from weft import _C

sys.path.append(str(Path(__file__).resolve().parents[1] / "python"))
import operator_samples

OPERATORS = {name: value for name, value in vars(_C).items() if type(value).__name__ == "Operator"}
OPERATORS = {value.definition["name"]: value for value in OPERATORS.values()}
# Pointwise operators and reductions have no samples of their own: their operands follow from the schema.
OPERANDS = ["x", "y", "z_like_x"]
STEPS = (0, 1, -1, 2)


def converted(value, dtype=None):
    if not isinstance(value, (np.ndarray, np.generic)):
        return value
    tensor = weft.tensor(np.asarray(value))
    return tensor if dtype is None else tensor.to(dtype)


def operands(kind):
    given, lists, whole = operator_samples.arrays(kind)
    dtype = {"real": weft.float32, "integer": weft.int64, "bool": weft.bool, "complex": weft.complex64}[kind]
    values = {name: converted(value, dtype) for name, value in given.items()}
    values |= {name: [converted(part, dtype) for part in parts] for name, parts in lists.items()}
    values |= {name: converted(value) for name, value in whole.items()}
    values["z_like_x"] = values["p"]
    names = {"f32": weft.float32, "f64": weft.float64, "i64": weft.int64, "i32": weft.int32, "i16": weft.int16, "u8": weft.uint8,
             "bf16": weft.bfloat16, "boolean": weft.bool, "int": int, "float": float}  # fmt: skip
    return {
        **vars(_C),
        **names,
        **values,
        "dtype": dtype,
        "device": "cpu",
        "ordered": kind in ("integer", "real"),
    }


def integer_parameters(operator):
    """(name, default as code or None, is it a list) of the integers of a schema."""
    parameters = operator.schema[: operator.schema.rindex(" -> ")]
    for kind, name, default in re.findall(
        r"(int(?:\|int)?(?:\[\])?)\?? (\w+)(?:=(\[[^\]]*\]|[^,)]*))?", parameters
    ):
        yield name, default or None, kind.endswith("[]")


def base_calls(operator):
    """Calls as code: the samples, or one that the schema says."""
    name, kind = operator.definition["name"], operator.definition["kind"]
    if name in operator_samples.SAMPLES:
        return [code.strip() for code in operator_samples.SAMPLES[name].split(";")]
    if kind == "reduction":
        return [f"{name}(x, [1])"]
    if kind != "pointwise":
        return []
    tensors = re.findall(r"Tensor\?? (\w+)", operator.schema.split(" ->")[0])
    required = [f"{n}=2" for n, default, _ in integer_parameters(operator) if default is None]
    return [f"{name}({', '.join([*OPERANDS[: len(tensors)], *required])})"]


def is_int(node):
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, ast.Constant) and type(node.value) is int


def integers_within(node):
    """Where integers stand in an argument: itself, or items of a list."""
    if is_int(node):
        yield node
    elif isinstance(node, (ast.List, ast.Tuple)):
        for item in node.elts:
            yield from integers_within(item)


def variants(operator):
    """(code with n in the place of one integer, that integer) for every integer argument, those with defaults too."""
    seen = set()
    for code in base_calls(operator):
        call = ast.parse(code, mode="eval").body
        if not isinstance(call, ast.Call) or ast.unparse(call.func) != operator.definition["name"]:
            continue
        given = {keyword.arg for keyword in call.keywords}
        sources = [ast.unparse(call)]
        for name, default, is_list in integer_parameters(operator):
            if name not in given and default is not None:
                value = "1" if default == "None" else default
                value = f"[{value}]" if is_list and not value.startswith("[") else value
                sources.append(f"{ast.unparse(call)[:-1]}, {name}={value})")
        for source in sources:
            tree = ast.parse(source, mode="eval")
            arguments = [*tree.body.args, *(keyword.value for keyword in tree.body.keywords)]
            for node in [each for argument in arguments for each in integers_within(argument)]:
                text = ast.get_source_segment(source, node)
                start, end = node.col_offset, node.end_col_offset
                changed = f"{source[:start]}n{source[end:]}"
                if changed not in seen:
                    seen.add(changed)
                    yield changed, int(text.replace(" ", ""))


def value_or_error(function, n):
    torch.manual_seed(3)
    try:
        return function(n)
    except Exception as error:
        return type(error)


def flat(result):
    if isinstance(result, (tuple, list)):
        return [part for each in result for part in flat(each)]
    return [result]


def is_close(got, expected):
    if isinstance(expected, type) or isinstance(got, type):
        return got is expected
    got, expected = flat(got), flat(expected)
    if len(got) != len(expected):
        return False
    for a, b in zip(got, expected):
        if not isinstance(b, weft.Tensor):
            if a != b and not (isinstance(b, float) and math.isnan(b)):
                return False
            continue
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        a, b = (each.to(weft.float64) if each.dtype == weft.bfloat16 else each for each in (a, b))
        if not np.allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-5, equal_nan=True):
            return False
    return True


def kinds(operator):
    dtypes = operator.definition["dtypes"]
    by_kind = {"real": "float32", "integer": "int64", "complex": "complex64"}
    return next((kind for kind, dtype in by_kind.items() if not dtypes or dtype in dtypes), "bool")


# Memory that nothing has been written to.
UNINITIALIZED = ("empty", "empty_like")
CHANGEABLE = sorted(name for name, operator in OPERATORS.items()
                    if name not in UNINITIALIZED and next(variants(operator), None))  # fmt: skip


def follows(code, value, scope):
    function = eval(f"lambda n: {code}", scope)
    if isinstance(value_or_error(function, value), type):
        return False  # an argument that goes with others than these
    compiled = weft.compile(function)
    for step in STEPS:
        n = value + step
        expected = value_or_error(function, n)
        got = value_or_error(compiled, n)
        assert is_close(got, expected), f"{code} with n = {n}: {got}, expected {expected}"
    return True


@pytest.mark.semantics
@pytest.mark.parametrize("name", CHANGEABLE)
def test_integers_of_operators(name):
    operator = OPERATORS[name]
    tried = [follows(code, value, operands(kinds(operator))) for code, value in variants(operator)]
    assert any(tried)
