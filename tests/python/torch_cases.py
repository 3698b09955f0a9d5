"""Calls of PyTorch's public names and what PyTorch 2.15 answered, run on weft (torch_2_15 of the shared data)."""

import ast
import json
import warnings

import numpy as np
import weft
import weft.nn.functional

# What a case's code calls, besides its inputs.
NAMES = {"torch": weft, "F": weft.nn.functional}


class Missing(Exception):
    """The case calls a name that weft does not have."""


def load(folder):
    """(cases, inputs, results): the table's rows, the tensors they start from, the arrays they refer to."""
    table = json.loads((folder / "cases.json").read_text())
    arrays = np.load(folder / "inputs.npz")
    inputs = {name: (arrays[name], getattr(weft, dtype)) for name, dtype in table["inputs"].items()}
    return table["cases"], inputs, np.load(folder / "results.npz")


def _check_names(tree):
    """Missing where an attribute of `torch` or `F` is none of weft's."""
    for node in ast.walk(tree):
        chain = []
        while isinstance(node, ast.Attribute):
            chain.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id not in NAMES:
            continue
        owner = NAMES[node.id]
        for name in reversed(chain):
            if not hasattr(owner, name):
                raise Missing(f"{node.id}.{'.'.join(reversed(chain))}")
            owner = getattr(owner, name)


def run(case, inputs):
    """What the case's code gives on weft, and its first input as it is then. Raises what the code raises."""
    tree = ast.parse(case["code"])
    if case.get("error", [None])[0] != "AttributeError":
        _check_names(tree)
    named = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in inputs]
    used = [node.id for node in sorted(named, key=lambda node: node.col_offset)]
    scope = {**NAMES}
    for name in used:
        array, dtype = inputs[name]
        scope[name] = weft.from_numpy(array.copy()).to(dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(tree, case["code"], "exec"), scope)
        except AttributeError as error:
            if isinstance(error.obj, weft.Tensor) and "error" not in case:
                raise Missing(f"Tensor.{error.name}") from error
            raise
    return scope["r"], next((scope[name] for name in used), None)


def run_compiled(case, inputs):
    """The same as a compiled function of the case's inputs; None where it has none."""
    tree = ast.parse(case["code"])
    named = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in inputs]
    if not named:
        return None
    names = sorted(set(named))
    scope = {**NAMES}
    exec(f"def program({', '.join(names)}):\n    {case['code']}\n    return r", scope)
    arguments = [weft.from_numpy(inputs[name][0].copy()).to(inputs[name][1]) for name in names]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return weft.compile(scope["program"])(*arguments)


def _close(got, wanted, dtype):
    if got.shape != wanted.shape:
        return f"shape {got.shape}, not {wanted.shape}"
    if dtype == "bfloat16":
        tolerance = 2.0**-7
    elif wanted.dtype.kind in "fc":
        tolerance = 1e-12 if wanted.dtype.itemsize == (16 if wanted.dtype.kind == "c" else 8) else 1e-5
    else:
        return None if np.array_equal(got, wanted) else "other values"
    finite = wanted[np.isfinite(wanted)]
    largest = np.abs(finite).max() if finite.size else 0
    close = np.isclose(got, wanted, rtol=tolerance, atol=tolerance * min(1.0, largest), equal_nan=True)
    return None if close.all() else "other values"


def difference(got, wanted, results):
    """How an answer differs from the recorded one, as text; None where it does not."""
    if "tensor" in wanted:
        if not isinstance(got, weft.Tensor):
            return f"{type(got).__name__}, not a tensor"
        dtype = str(got.dtype).rpartition(".")[2]
        if dtype != wanted["dtype"]:
            return f"dtype {dtype}, not {wanted['dtype']}"
        array = got.to(weft.float32).numpy() if dtype == "bfloat16" else got.numpy()
        return _close(array, results[wanted["tensor"]], dtype)
    if "items" in wanted:
        if isinstance(got, weft.Tensor) or not isinstance(got, list | tuple | dict):
            return f"{type(got).__name__}, not {wanted['type']}"
        items = list(got.values()) if isinstance(got, dict) else got
        if len(items) != len(wanted["items"]):
            return f"{len(items)} items, not {len(wanted['items'])}"
        fields = list(getattr(got, "_fields", []))
        if wanted.get("names") and not set(wanted["names"]) <= set(fields):  # not all are recorded
            return f"fields {getattr(got, '_fields', None)}, not {wanted['names']}"
        found = (difference(one, other, results) for one, other in zip(items, wanted["items"]))
        return next((f"item: {text}" for text in found if text), None)
    if "value" not in wanted:
        return None
    if isinstance(got, weft.Tensor):
        return f"a tensor, not {wanted['type']}"
    value = float(wanted["value"]) if wanted["type"] == "float" else wanted["value"]
    if isinstance(value, float) and isinstance(got, float):
        return (
            None
            if got == value or abs(got - value) <= 1e-5 * abs(value) or got != got
            else f"{got}, not {value}"
        )
    if wanted["type"] in ("bool", "int", "float", "str") and (
        type(got).__name__ != wanted["type"] or got != value
    ):
        return f"{got!r}, not {value!r}"
    return None


def verdict(case, inputs, results):
    """("missing", name), ("same", ""), ("refused", error): weft raises where PyTorch answers, or ("differs", how)."""
    try:
        got, changed = run(case, inputs)
    except Missing as missing:
        return "missing", str(missing)
    except Exception as error:
        if "error" in case:
            return "same", ""
        return "refused", f"{type(error).__name__}: {error}".split("\n")[0]
    if "error" in case:
        return "differs", f"answers, where PyTorch raises {case['error'][0]}"
    text = difference(got, case["result"], results)
    if text is None and "changed" in case:
        text = difference(changed, case["changed"], results)
        text = text and f"the operand: {text}"
    return ("differs", text) if text else ("same", "")
