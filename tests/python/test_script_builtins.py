"""PyTorch's recorded results through the builtins as scripts call them: parsed, type-checked, interpreted."""

import io
import json
import os
import pathlib

import numpy as np
import pytest
import weft
from script_archives import archive

SHARED = pathlib.Path(
    os.environ.get("WEFT_SHARED_DATA", pathlib.Path(__file__).parents[2] / ".." / "shared" / "data")
)
GOLDENS = SHARED / "torch_goldens"
CASES = json.loads((GOLDENS / "cases.json").read_text()) if GOLDENS.exists() else []


# ---- how archives write torch.nn.functional's own functions -------------------------------------------------------
def interpolate(x, size=None, scale_factor=None, mode="nearest", align_corners="None"):
    rank = 1 if mode == "'linear'" else 2
    name = f"{mode[1:-1]}{rank}d"
    corners = "" if mode == "'nearest'" else f", {align_corners}"
    size = f"[{size}]" if size and "[" not in size else size
    factors = f"[{', '.join([scale_factor] * rank)}]" if scale_factor else None
    return f"torch.upsample_{name}({x}, {size}{corners}, {factors})"


def unfold(x, kernel_size, padding, stride):
    return f"torch.im2col({x}, {kernel_size}, [1, 1], [{padding}, {padding}], [{stride}, {stride}])"


def normalize(x, dim):
    return f"torch.div({x}, torch.expand_as(torch.clamp_min(torch.norm({x}, 2., [{dim}], True), 1e-12), {x}))"


FUNCTIONAL = {
    "F:adaptive_max_pool2d": lambda x, size: f"(torch.adaptive_max_pool2d({x}, {size}))[0]",
    "F:batch_norm": lambda x, mean, var, w, b, *rest: f"torch.batch_norm({x}, {w}, {b}, {mean}, {var}, {', '.join(rest)}, False)",
    "F:cross_entropy": lambda x, target: f"torch.cross_entropy_loss({x}, {target}, None, 1, -100, 0.)",
    "F:embedding": lambda indices, weight: f"torch.embedding({weight}, {indices}, -1, False, False)",
    "F:grid_sample": lambda x, grid, align_corners: f"torch.grid_sampler({x}, {grid}, 0, 0, {align_corners})",
    "F:instance_norm": lambda x: f"torch.instance_norm({x}, None, None, None, None, True, 0.1, 1e-05, False)",
    "F:interpolate": interpolate,
    "F:logsigmoid": lambda x: f"torch.log_sigmoid({x})",
    "F:mse_loss": lambda x, y: f"torch.mse_loss({x}, {y}, 1)",
    "F:normalize": normalize,
    "F:softmax": lambda x, dim: f"torch.softmax({x}, {dim}, dtype=None)",
    "F:softmin": lambda x, dim: f"torch.softmax(torch.neg({x}), {dim}, dtype=None)",
    "F:softsign": lambda x: f"torch.div({x}, torch.add(torch.abs({x}), 1))",
    "F:unfold": unfold,
    "torch:einsum": lambda equation, *operands: f"torch.einsum({equation}, [{', '.join(operands)}])",
    "torch:tensordot": lambda x, y, dims: f"torch.tensordot({x}, {y}, [1, 2], [0, 1])" if dims == "2" else None,
    "torch:unique": lambda x: f"(torch._unique2({x}))[0]",
}  # fmt: skip


class Case:
    """A recorded call as a function of a script."""

    def __init__(self, index, record, arrays):
        self.name, self.record, self.arrays = f"case{index}", record, arrays
        self.tensors = []
        args = [self.source(item) for item in record["args"]]
        kwargs = {key: self.source(item) for key, item in record["kwargs"].items()}
        family, name = record["op"].split(":")
        if record["op"] in FUNCTIONAL:
            self.call = FUNCTIONAL[record["op"]](*args, **kwargs)
        else:
            name = "linalg_" + name if family == "linalg" else name
            self.call = (
                f"torch.{name}({', '.join(args + [f'{key}={value}' for key, value in kwargs.items()])})"
            )

    def source(self, item):
        if "tensor" in item:
            self.tensors.append(weft.tensor(self.arrays[item["tensor"]]))
            return f"x{len(self.tensors) - 1}"
        if "list" in item:
            return "[" + ", ".join(self.source(element) for element in item["list"]) + "]"
        return repr(item["value"])

    @property
    def outputs(self):
        out = self.record["out"]
        return out["list"] if "list" in out else [out]

    def function(self):
        parameters = [f"x{i}: Tensor" for i in range(len(self.tensors))]
        many = "list" in self.record["out"]
        result = f"Tuple[{', '.join(['Tensor'] * len(self.outputs))}]" if many else "Tensor"
        return self.name, parameters, result, f"return {self.call}"


@pytest.fixture(scope="module")
def cases():
    with np.load(GOLDENS / "cases.npz") as file:
        arrays = dict(file)
    return [Case(i, record, arrays) for i, record in enumerate(CASES)]


@pytest.fixture(scope="module")
def module(cases):
    return weft.jit.load(io.BytesIO(archive([case.function() for case in cases])))


@pytest.mark.parametrize(
    "index", range(len(CASES)), ids=[f"{i}-{case['op']}" for i, case in enumerate(CASES)]
)
def test_golden(index, cases, module):
    case = cases[index]
    result = getattr(module, case.name)(*case.tensors)
    results = list(result) if isinstance(result, tuple) else [result]
    assert len(results) == len(case.outputs)
    for got, item in zip(results, case.outputs, strict=True):
        want = case.arrays[item["tensor"]]
        assert got.numpy().dtype == want.dtype
        # Sums of terms of both signs: PyTorch's rounding is relative to the terms, not to the result.
        floor = (
            1e-6 * float(np.max(np.abs(want[np.isfinite(want)]), initial=0.1))
            if want.dtype.kind in "fc"
            else 0
        )
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-5, atol=floor)


def test_unknown_operators_are_named():
    text = archive([("f", ["x: Tensor"], "Tensor", "return torch.no_such_operator(x)")])
    # Where the statement is reached.
    with pytest.raises(
        weft.jit.Error, match=r"NotImplementedError: .*aten::no_such_operator\n  code/__torch__.py:7:12"
    ):
        weft.jit.load(io.BytesIO(text)).f(weft.ones([2]))
