"""torch.nested with the jagged layout beside PyTorch 2.15: test_nested.json has, by expression, what PyTorch gives.

python tests/torch/test_nested.py > tests/torch/test_nested.json        # by a Python that has PyTorch
"""

import json
import math
import pathlib
import sys

if __name__ == "__main__":
    import torch
else:
    import weft.torch as torch

EXPECTED = pathlib.Path(__file__).with_suffix(".json")
F = torch.nn.functional


def names():
    """What the expressions are about."""
    parts = [torch.arange(6.0).reshape(2, 3), torch.arange(12.0).reshape(4, 3) - 5, torch.ones(1, 3)]
    nt = torch.nested.nested_tensor(parts, layout=torch.jagged)
    return {
        "torch": torch,
        "F": F,
        "A": parts,
        "nt": nt,
        "nb": torch.nested.nested_tensor_from_jagged(torch.arange(21.0).reshape(7, 3).sin(), nt.offsets()),
        "q": torch.nested.nested_tensor_from_jagged(torch.arange(56.0).reshape(7, 8).cos(), nt.offsets()),
        "w": torch.arange(6.0).reshape(2, 3),
        "heads": lambda x: x.unflatten(-1, [2, 4]).transpose(1, 2),
    }


def plain(value):
    """The value as JSON has it; nested tensors as their shape, dtype and parts."""
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if getattr(value, "is_nested", False):
        shape = [size if isinstance(size, int) else "j" for size in value.shape]
        return [
            "nested",
            shape,
            str(value.dtype).rpartition(".")[2],
            [part.double().tolist() for part in value.unbind()],
        ]
    if hasattr(value, "tolist"):
        return [str(value.dtype).rpartition(".")[2], list(value.shape), value.double().tolist()]
    return str(value)


def close(one, other):
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(close, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=2e-5, abs_tol=2e-6) or (one != one and other != other)
    return one == other


if __name__ == "__main__":
    known = json.loads(EXPECTED.read_text())
    print(
        "{\n"
        + ",\n".join(f"{json.dumps(one)}: {json.dumps(plain(eval(one, names())))}" for one in known)
        + "\n}"
    )
    sys.exit()

import pytest  # noqa: E402


@pytest.mark.parametrize("expression", json.loads(EXPECTED.read_text()))
def test_as_pytorch(expression):
    found, expected = plain(eval(expression, names())), json.loads(EXPECTED.read_text())[expression]
    assert close(found, expected), f"{found}\n{expected}"


@pytest.mark.parametrize(
    "expression, kind, message",
    [
        ("nt.sum(dim=0)", RuntimeError, "along the batch"),
        ("nt[:, 0]", RuntimeError, "part by part"),
        (
            "nt + torch.nested.nested_tensor(A, layout=torch.jagged)",
            RuntimeError,
            "offsets have to be the same",
        ),
        ("torch.nested.nested_tensor([], layout=torch.jagged)", RuntimeError, "empty list"),
        ("torch.nested.nested_tensor(A, layout=torch.strided)", ValueError, "layout"),
        ("torch.nested.nested_tensor_from_jagged(torch.ones(5, 2))", RuntimeError, "offsets or lengths"),
        ("nt.squeeze(0)", RuntimeError, "squeeze"),
        ("nt.select(0, 9)", IndexError, "index 9"),
        (
            "torch.nested.nested_tensor([torch.ones(2, 3), torch.ones(3, 4)], layout=torch.jagged)",
            RuntimeError,
            "one dim",
        ),
        ("nt + torch.ones(5, 7, 3)", RuntimeError, "beside a nested one"),
        ("F.linear(nt, torch.ones(2, 5))", RuntimeError, "inner dimensions"),
        ("torch.linalg.inv(nt)", RuntimeError, "square matrices, but they are j"),
        ("torch.cumsum(nt, dim=1)", NotImplementedError, "not for nested tensors"),
    ],
)
def test_errors(expression, kind, message):
    with pytest.raises(kind, match=message):
        eval(expression, names())


def test_modules_in_compiled_functions():
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.LayerNorm(4), torch.nn.GELU())

    def function(nt):
        y = model(nt)
        return torch.cat([y, 2 * y], dim=-1), torch.softmax(y, dim=-1).sum(dim=1)

    compiled = torch.compile(function, fullgraph=True)
    for count in (1, 2, 3):
        parts = [torch.arange(3.0 * (k + 1)).reshape(k + 1, 3) for k in range(count)]
        nt = torch.nested.nested_tensor(parts, layout=torch.jagged)
        for found, expected in zip(compiled(nt), function(nt)):
            assert close(plain(found), plain(expected))
