"""What test_gpu_operators.py runs in a process of its own: each sample call of each operator on the CPU and on cuda:0,
which WEFT_DEVICE_EMULATE=1 emulates. Prints, as JSON, by operator and kind of dtype, what ran on the host and what
differed."""

import itertools
import json
import os
import re
import sys
import tempfile

import numpy as np
import operator_samples
import weft

C = weft._C
KINDS = {
    "bool": ("bool", [weft.bool]),
    "integers": ("integer", [weft.int32]),
    "half": ("real", [weft.bfloat16]),
    "floats": ("real", [weft.float32, weft.float64]),
    "complex": ("complex", [weft.complex64]),
}
NAMES = {
    **{"f32": weft.float32, "f64": weft.float64, "bf16": weft.bfloat16, "boolean": weft.bool},
    **{"i64": weft.int64, "i32": weft.int32, "i16": weft.int16, "u8": weft.uint8, "None": None},
}
# Of other than pointwise operators, as in tests/gpu.
# On a GPU, in 16 bits, as PyTorch's are; on the CPU every operation is rounded.
COMPUTED_IN_FLOAT32 = {"grid_sample"}
BOUNDS = {weft.float64: 1e-12, weft.float32: 1e-5, weft.bfloat16: 1e-2, weft.complex64: 1e-5}


def all_operators():
    """By name, without the other names of the same ones."""
    found = {}
    for name in dir(C):
        operator = getattr(C, name)
        if isinstance(operator, C.Operator):
            found.setdefault(operator.definition["name"], operator)
    return dict(sorted(found.items()))


class Log:
    """The lines of WEFT_LOGS=syncs, which go to the process's standard error output."""

    def __init__(self):
        self.file = tempfile.TemporaryFile()
        self.kept = os.dup(2)
        os.dup2(self.file.fileno(), 2)

    def lines(self):
        self.file.seek(0)
        text = self.file.read().decode()
        self.file.seek(0)
        self.file.truncate()
        return text.splitlines()

    def close(self):
        os.dup2(self.kept, 2)


def on_host(lines):
    """What of a call was done by the host: operators, and reading elements."""
    found = set()
    for line in lines:
        if match := re.search(r"(\w+) has no form for cuda", line):
            found.add(match[1])
        elif "on the host" in line:
            found.add("a conversion")
        elif "bytes are copied from cuda" in line:
            found.add("elements are read")
    # A copy back is part of an operator's run there.
    return found - {"elements are read"} or found


def flat(result):
    if isinstance(result, weft.Tensor):
        return [result]
    if isinstance(result, (tuple, list)):
        return [tensor for part in result for tensor in flat(part)]
    return [result]


def as_numpy(x):
    x = x.cpu()
    return (x.float() if x.dtype in (weft.bfloat16, weft.float16) else x).numpy()


def difference(got, want, bound):
    """Empty, or where two results differ; to the last bit where `bound` is 0."""
    got, want = flat(got), flat(want)
    if len(got) != len(want):
        return f"{len(got)} results, {len(want)} on the CPU"
    for a, b in zip(got, want):
        if not isinstance(b, weft.Tensor):
            if a != b:
                return f"{a}, {b} on the CPU"
            continue
        if a.device.type != "cuda":
            return f"a result on {a.device}"
        if a.dtype != b.dtype or a.shape != b.shape:
            return f"{a.dtype}{tuple(a.shape)}, {b.dtype}{tuple(b.shape)} on the CPU"
        bound_of = BOUNDS.get(b.dtype, 0) if bound else 0
        a, b = as_numpy(a), as_numpy(b)
        if bound_of == 0:
            same = (a == b) & (np.signbit(a) == np.signbit(b)) if a.dtype.kind == "f" else a == b
            same = np.all(same | ((a != a) & (b != b)))
        else:
            scale = 1 + np.max(np.abs(np.where(np.isfinite(b), b, 0)), initial=0)
            same = np.allclose(a, b, rtol=bound_of, atol=bound_of * scale, equal_nan=True)
        if not same:
            return f"{a.ravel()[:6]}, {b.ravel()[:6]} on the CPU"
    return ""


def tensors(kind, dtype, device):
    """The arrays of samples, on a device; the same twice."""
    given, lists, whole = operator_samples.arrays(kind)

    def moved(value, dtype=None):
        if not isinstance(value, (np.ndarray, np.generic)):
            return value
        tensor = weft.tensor(np.asarray(value))
        return (tensor if dtype is None else tensor.to(dtype)).to(device)

    values = {name: moved(value, dtype) for name, value in given.items()}
    values.update({name: [moved(part, dtype) for part in parts] for name, parts in lists.items()})
    values.update({name: moved(value) for name, value in whole.items()})
    return {**values, "dtype": dtype, "device": device, "ordered": kind in ("integer", "real")}


def pointwise_samples(operator, dtype):
    """Calls with 300 numbers per operand from the operator's domain; the second with numbers that are none or extreme."""
    low, high = operator.definition["sample"]
    parameters = re.findall(r"Tensor\?? (\w+)", operator.schema.split(" ->")[0])
    rng = np.random.default_rng(3)
    extremes = [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 2, 0.5, 1e30, -1e30, 1e-40, 65504, 1e5]

    def one(special, is_condition, is_first):
        values = rng.uniform(low, high, 300)
        if dtype == weft.bool or is_condition:
            return weft.tensor(rng.integers(0, 2, 300).astype(bool))
        if not (dtype.is_floating_point or dtype.is_complex):
            lowest = max(low, 0) if dtype == weft.uint8 else low
            whole = np.floor(np.clip(values, lowest, high))
            # Integers are not divided by zero.
            return weft.tensor(whole if is_first else np.where(whole == 0, 1, whole)).to(dtype)
        if special:
            values[::2] = rng.choice(extremes, 150)
        if dtype.is_complex:
            values = values + 1j * rng.permutation(values)
        return weft.tensor(values).to(dtype)

    for special in (False, True):
        yield [one(special, name == "condition", name == parameters[0]) for name in parameters]


def in_float32(code, names, dtype):
    """The call's result as operands of float32 give it, in their own dtype."""
    wide = {
        name: x.float() if isinstance(x, weft.Tensor) and x.dtype == dtype else x for name, x in names.items()
    }
    return eval(code, wide).to(dtype)


def sampled(operator, kind, dtype):
    """Per call: the result on the CPU and one on the device, which is not computed yet."""
    name, definition = operator.definition["name"], operator.definition
    if name in operator_samples.SAMPLES:
        for code in operator_samples.SAMPLES[name].split(";"):
            codes = compile(code.strip(), name, "eval")
            here, there = ({**vars(C), **NAMES, **tensors(kind, dtype, place)} for place in ("cpu", "cuda"))
            is_wider_there = name in COMPUTED_IN_FLOAT32 and dtype == weft.bfloat16
            expected = in_float32(codes, here, dtype) if is_wider_there else eval(codes, here)
            yield expected, lambda codes=codes, there=there: eval(codes, there)
    elif definition["kind"] == "pointwise":
        for operands in pointwise_samples(operator, dtype):
            yield operator(*operands), lambda operands=operands: operator(*[x.to("cuda") for x in operands])
    elif definition["kind"] == "reduction":
        x, y = tensors(kind, dtype, "cpu")["x"], tensors(kind, dtype, "cuda")["x"]
        yield operator(x, [1]), lambda: operator(y, [1])
        yield operator(x), lambda: operator(y)


def sweep(operator, kinds, log):
    """By kind of dtype that the operator takes: what ran on the host, and what differed."""
    answer = {}
    definition = operator.definition
    for kind in kinds:
        family, dtypes = KINDS[kind]
        for dtype in dtypes:
            if (
                definition["kind"] == "pointwise"
                and str(dtype).removeprefix("weft.").removeprefix("torch.") not in definition["dtypes"]
            ):
                continue
            host, wrong = set(), []
            calls = sampled(operator, family, dtype)
            try:
                first = next(calls)
            except Exception as error:  # the CPU does not take the dtype
                answer.setdefault("refused", {})[kind] = f"{type(error).__name__}: {error}"
                continue
            try:
                for want, call in itertools.chain([first], calls):
                    log.lines()
                    got = call()
                    host |= on_host(log.lines())
                    if wrong_here := difference(got, want, definition["kind"] != "pointwise"):
                        wrong.append(f"{dtype}: {wrong_here}")
            except Exception as error:
                wrong.append(f"{dtype}: {type(error).__name__}: {error}")
            known, differs = answer.setdefault("kinds", {}).setdefault(kind, ([], []))
            known[:] = sorted({*known, *host})
            differs += wrong
    return answer


def sweep_all(is_wanted=lambda name: True, kinds=KINDS):
    """By operator."""
    weft.set_logs("syncs")
    log = Log()
    try:
        return {
            name: sweep(operator, kinds, log)
            for name, operator in all_operators().items()
            if operator_samples.reason(name) is None and is_wanted(name)
        }
    finally:
        log.close()


if __name__ == "__main__":
    names = sys.argv[1:]
    print(json.dumps(sweep_all(lambda name: not names or name in names)))
