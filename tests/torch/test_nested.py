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
        "rows": nt.unsqueeze(2),  # [batch, ragged, 1, 3]
        "images": torch.nested.nested_tensor_from_jagged(
            torch.arange(252.0).reshape(7, 2, 3, 6).sin(), nt.offsets()
        ),
        "st": torch.nested.nested_tensor(parts),
        "s4": torch.nested.nested_tensor(
            [torch.arange(24.0).reshape(2, 3, 4).sin(), torch.arange(40.0).reshape(2, 5, 4).cos()]
        ),
        "w": torch.arange(6.0).reshape(2, 3),
        "heads": lambda x: x.unflatten(-1, [2, 4]).transpose(1, 2),
    }


def plain(value):
    """The value as JSON has it; nested tensors as their shape, dtype and parts."""
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if getattr(value, "is_nested", False):
        if value.layout == torch.strided:
            shape = "strided"
        else:
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
        (
            "torch.nested.nested_tensor(A, layout=torch.sparse_coo)",
            RuntimeError,
            "layout is unsupported for nested",
        ),
        ("nt.expand_as(w)", TypeError, "shape of another"),
        ("nt.expand(3, 7, 3)", RuntimeError, "ragged dimension of a nested tensor stay"),
        ("nt.expand(1, 3, -1, 3)", RuntimeError, "ragged dimension of a nested tensor stay"),
        ("F.conv1d(images.transpose(1, 2), w)", TypeError, "ragged dimension the second"),
        (
            "F.scaled_dot_product_attention(images, images, torch.nested.nested_tensor(list(images), layout=torch.jagged))",
            RuntimeError,
            "offsets have to be the same",
        ),
        ("st.shape", RuntimeError, "no shape"),
        ("st.size(1)", RuntimeError, "Given dimension 1 is irregular and does not have a size."),
        ("st.size(3)", IndexError, "Dimension out of range"),
        ("st[3]", IndexError, "index 3 is out of bounds for dimension 0 with size 3"),
        ("st + w", RuntimeError, "Expected both self and other to be nested, but got a nested self"),
        (
            "st + st.transpose(1, 2)",
            RuntimeError,
            "add does not support broadcasting when given a NestedTensor",
        ),
        ("st + st[:2]", RuntimeError, "nested tensors of 3 and 2 parts"),
        ("st + nt", TypeError, "strided and of the jagged"),
        ("st @ w.t()", RuntimeError, "Expected both to be nested"),
        ("st.transpose(0, 1)", RuntimeError, "dimension 0"),
        ("torch.softmax(st, 0)", RuntimeError, "dimension 0"),
        ("st.unsqueeze(0)", RuntimeError, "stays first"),
        ("st.squeeze(0)", RuntimeError, "stays"),
        ("st.reshape(9, -1)", RuntimeError, "stays first"),
        ("st.reshape(3, -1)", RuntimeError, "reshape"),
        ("st.chunk(2, 0)", RuntimeError, "only supported for the last dimension"),
        ("st.to_padded_tensor(0., (3, 4, 2))", RuntimeError, "expected at least"),
        ("torch.cumsum(st, dim=1)", NotImplementedError, "not for nested tensors of the strided"),
        ("torch.cat([st, w])", TypeError, "make nested ones of all"),
        ("F.scaled_dot_product_attention(s4, s4, s4, is_causal=True)", RuntimeError, "without mask"),
        (
            "torch.nested.nested_tensor([torch.ones(2), torch.ones(2, 2)])",
            RuntimeError,
            "Found dimension 2 for Tensor at index 1",
        ),
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


def test_rows_of_tokens_in_compiled_functions():
    """What is ragged is a batch beside the batch: each row has tokens of its own."""
    convolution = torch.nn.ConvTranspose2d(1, 2, 2, stride=2)

    def function(nt):
        tokens = torch.cat([nt.unsqueeze(2), nt.unsqueeze(2) + 1], dim=2)
        heads = tokens.unflatten(-1, (3, -1)).transpose(-3, -2)
        attended = F.scaled_dot_product_attention(heads, heads, heads)
        marked = torch.where((nt > 2)[..., :1].expand_as(nt), nt, -nt)
        return attended @ heads.transpose(-2, -1), convolution(tokens.unsqueeze(2)), marked

    compiled = torch.compile(function, fullgraph=True)
    for count in (1, 2, 3):
        parts = [torch.arange(3.0 * (k + 1)).reshape(k + 1, 3) for k in range(count)]
        nt = torch.nested.nested_tensor(parts, layout=torch.jagged)
        for found, expected in zip(compiled(nt), function(nt)):
            assert close(plain(found), plain(expected))
