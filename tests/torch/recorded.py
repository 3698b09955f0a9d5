#!/usr/bin/env python3
"""Calls of PyTorch's names with the answers that PyTorch 2.15 gave, against weft.torch's answers.

    recorded.py [--name REGEX] [--show N] [--group] [--strides]

prints what differs, a line each. The calls are in shared data (`torch_2_15`): code to execute, the result as a tree whose
tensors are keys into an .npz, the operand after a call that changes it, or the exception's classes.
"""

import argparse
import collections
import json
import math
import os
import re
import sys
import warnings
from pathlib import Path

import numpy

ROOT = Path(__file__).resolve().parents[2]
DATA = Path(os.environ.get("WEFT_SHARED_DATA", ROOT.parent / "shared/data")) / "torch_2_15"

# float32 and its relatives: relative errors of single operators, against the largest element of the result.
TOLERANCE = {"float16": 2e-3, "bfloat16": 1.6e-2, "float32": 1e-5, "complex64": 1e-5}


class Difference(Exception):
    """A result that is not PyTorch's."""


class Answers:
    """Results as PyTorch gave them: arrays, which trees of results refer to; tolerance: of all dtypes."""

    def __init__(self, results, tolerance=None):
        self.results = results
        self.tolerance = tolerance

    def compare(self, torch, value, expected, where, strides):
        if "tensor" in expected:
            return self.compare_tensor(torch, value, expected, where, strides)
        if expected.get("items") is not None:
            if expected["type"] not in (type(value).__name__, "list", "tuple", "Size"):
                raise Difference(f"{where} is a {type(value).__name__}, expected {expected['type']}")
            if expected["type"] in ("list", "tuple", "Size") and type(value).__name__ != expected["type"]:
                raise Difference(f"{where} is a {type(value).__name__}, expected {expected['type']}")
            if len(value) != len(expected["items"]):
                raise Difference(f"{where} has {len(value)} items, expected {len(expected['items'])}")
            for field in expected.get("names") or []:
                if not hasattr(value, field):
                    raise Difference(f"{where} has no field {field}")
            for at, item in enumerate(expected["items"]):
                self.compare(torch, value[at], item, f"{where}[{at}]", strides)
            return None
        if type(value).__name__ != expected["type"]:
            raise Difference(
                f"{where} is a {type(value).__name__} ({value!r:.60}), expected {expected['type']}"
            )
        if expected["type"] == "float":
            want = float(expected["value"])
            if not (
                value == want or math.isclose(value, want, rel_tol=1e-5) or (value != value and want != want)
            ):
                raise Difference(f"{where} is {value}, expected {want}")
        elif expected["type"] == "dtype":
            if str(value).rsplit(".", 1)[-1] != expected["value"].rsplit(".", 1)[-1]:
                raise Difference(f"{where} is {value}, expected {expected['value']}")
        elif value != expected["value"]:
            raise Difference(f"{where} is {value!r}, expected {expected['value']!r}")
        return None

    def compare_tensor(self, torch, value, expected, where, strides):
        if not isinstance(value, torch.Tensor):
            raise Difference(f"{where} is a {type(value).__name__} ({value!r:.60}), expected a tensor")
        dtype = str(value.dtype).rsplit(".", 1)[-1]
        if dtype != expected["dtype"]:
            raise Difference(f"{where} is {dtype}, expected {expected['dtype']}")
        want = self.results[expected["tensor"]]
        if tuple(value.shape) != want.shape:
            raise Difference(f"{where} has shape {tuple(value.shape)}, expected {want.shape}")
        if strides and list(value.stride()) != expected["strides"] and value.numel() > 1:
            raise Difference(f"{where} has strides {list(value.stride())}, expected {expected['strides']}")
        if dtype in ("bfloat16", "float16"):
            value = value.to(torch.float32)
        if value.is_complex() and want.dtype.kind != "c":
            value = torch.view_as_real(value)
        got = (
            numpy.array(value.tolist(), dtype=want.dtype).reshape(want.shape)
            if value.numel()
            else numpy.zeros(want.shape)
        )
        if want.dtype.kind not in "fc":
            if not numpy.array_equal(got, want):
                raise Difference(f"{where} is {got.ravel()[:4]}, expected {want.ravel()[:4]}")
            return
        by_dtype = TOLERANCE.get(dtype, 1e-9 if dtype in ("float64", "complex128") else 1e-5)
        tolerance = by_dtype if self.tolerance is None else self.tolerance
        finite = numpy.isfinite(want)
        scale = numpy.abs(want[finite]).max() if finite.any() else 0
        if not numpy.array_equal(numpy.isnan(got), numpy.isnan(want)):
            raise Difference(f"{where} has other NaNs: {got.ravel()[:4]}, expected {want.ravel()[:4]}")
        rest = ~finite & ~numpy.isnan(want)
        if not numpy.array_equal(got[rest], want[rest]):
            raise Difference(f"{where} has other infinities: {got.ravel()[:4]}, expected {want.ravel()[:4]}")
        error = numpy.abs(got[finite] - want[finite])
        bound = tolerance * (numpy.abs(want[finite]) + scale * 0.1) + 1e-30
        if (error > bound).any():
            worst = int(numpy.argmax(error - bound))
            raise Difference(f"{where} is {got[finite][worst]}, expected {want[finite][worst]}")


class Recorded(Answers):
    """The recorded calls, and what they are called with."""

    def __init__(self):
        recorded = json.loads((DATA / "cases.json").read_text())
        super().__init__(dict(numpy.load(DATA / "results.npz")))
        self.cases = recorded["cases"]
        self.dtypes = recorded["inputs"]
        self.inputs = dict(numpy.load(DATA / "inputs.npz"))

    def names(self, torch):
        """Fresh operands: calls change them."""
        scope = {"torch": torch, "F": torch.nn.functional}
        for name, dtype in self.dtypes.items():
            scope[name] = torch.from_numpy(self.inputs[name].copy()).to(getattr(torch, dtype))
        return scope

    def check(self, torch, case, strides=False):
        """Raises Difference, or what the call raised."""
        scope = self.names(torch)
        torch.manual_seed(0)
        if "error" in case:
            try:
                exec(case["code"], scope)
            except Exception as error:
                raised = {each.__name__ for each in type(error).__mro__}
                if case["error"][0] not in raised and case["error"][0].lstrip("_") not in raised:
                    raise Difference(f"raised {type(error).__name__}, expected {case['error'][0]}") from error
                return
            raise Difference(f"no {case['error'][0]} was raised")
        operands = dict(scope)
        exec(case["code"], scope)
        self.compare(torch, scope["r"], case["result"], "r", strides)
        if "changed" in case:
            expected = case["changed"]
            target = re.match(r"r = (?:(?:torch|F)[\w.]*\()?(\w+)", case["code"]).group(1)
            self.compare(torch, operands[target], expected, "the operand", True)


def differences(recorded, torch, name=None, strides=False):
    """The cases whose answer is not PyTorch's, with what is different."""
    found = []
    for number, case in enumerate(recorded.cases):
        if name and not re.search(name, case["name"] + " " + case["code"]):
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                recorded.check(torch, case, strides)
        except Difference as error:
            found.append((number, case, str(error)))
        except Exception as error:  # whatever the call raised
            found.append((number, case, f"{type(error).__name__}: {error}".splitlines()[0]))
    return found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--name", help="only calls whose name or code this is found in")
    parser.add_argument("--show", type=int, default=10000)
    parser.add_argument("--group", action="store_true", help="a line per name")
    parser.add_argument("--strides", action="store_true", help="compare the strides of results too")
    options = parser.parse_args()
    import weft.torch as torch

    recorded = Recorded()
    found = differences(recorded, torch, options.name, options.strides)
    if options.group:
        groups = collections.defaultdict(list)
        for _, case, why in found:
            groups[case["name"]].append((case["code"], why))
        for name, items in list(groups.items())[: options.show]:
            print(f"{name} ({len(items)}): {items[0][0]}: {items[0][1]}"[:220])
    else:
        for number, case, why in found[: options.show]:
            print(f"{number}: {case['name']}: {case['code']}: {why}"[:260])
    count = sum(
        1 for c in recorded.cases if not options.name or re.search(options.name, c["name"] + " " + c["code"])
    )
    print(f"{count - len(found)} of {count} the same ({100 * (count - len(found)) / max(count, 1):.1f} %)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
