"""What weft writes into archives PyTorch 2.15 has: every builtin is one of its operators, with its arguments."""

import collections
import io
import re
import zipfile

import aten_schemas
import numpy as np
import pytest
import script_archives
import weft
from weft.library import _operators as libraries

RECORDED = aten_schemas.recorded()

# Builtins that are no operator of PyTorch's, and why PyTorch reads what is saved all the same.
WITHOUT = {
    "written as bool(x), float(x) and int(x), which PyTorch's compiler knows": "aten::Bool.bool aten::Bool.Scalar "
    "aten::Float.float aten::Int.int",
    "written as annotate(T, x.tolist())": "aten::tolist",
    "steps backwards, which the list leaves out": "aten::max_pool2d_with_indices_backward aten::native_dropout_backward",
    "PyTorch's overload memory_format takes the same call": "aten::empty.plain",
    "save() refuses a program that calls Python": "python::call",
    "archives of older versions ask for them; scripts have no name for them": "prim::is_hpu prim::is_ort prim::shape",
    "only weft compiles a script with them: PyTorch's language has none, and no operator that gives it": "prim::real "
    "prim::imag aten::mul.str_int",
}  # fmt: skip


def test_builtins_are_operators_of_pytorch():
    overloads = collections.defaultdict(set)
    for name, arguments in RECORDED.items():
        overloads[name.split(".")[0]].add(arguments)
    reasons = {name for names in WITHOUT.values() for name in names.split()}
    different, known = {}, set()
    made = {name.partition(".")[0] for name in libraries._operators}  # by programs, other tests' among them
    for schema in weft._C._builtin_schemas():
        name, arguments = aten_schemas.normal(schema)
        known.add(name)
        # An archive does not name overloads; names of weft:: are for functions of its own only. quantized_decomposed is
        # defined by Python code of PyTorch's, when that is imported (tests/torch/unusual_programs.py runs it); torchaudio:: by its
        # library, with arguments that have no names.
        if (
            name.startswith(("weft::", "quantized_decomposed::", "torchaudio::"))
            or name in reasons
            or name.partition(".")[0] in made
            or RECORDED.get(name) == arguments
        ):
            continue
        if name in RECORDED or arguments not in overloads[name.split(".")[0]]:
            different[name] = f"{arguments}, PyTorch: {RECORDED.get(name)}"
    assert different == {}
    assert reasons <= known and not reasons & {*RECORDED}


# ---- what PyTorch dropped, or never had ----------------------------------------------------------------------

SYMMETRIC = np.array([[4, 1], [1, 3]], np.float32)
LETTERS = "torch.add(x, float({} in {}))"
DROPPED = {
    "cholesky": ("torch.cholesky(x, False)", np.linalg.cholesky(SYMMETRIC)),
    "cholesky, upper": ("torch.cholesky(x, True)", np.linalg.cholesky(SYMMETRIC).T),
    "qr": ("torch.matmul(torch.qr(x)[0], torch.qr(x, False)[1])", SYMMETRIC),
    "frobenius_norm": ("torch.frobenius_norm(x)", np.linalg.norm(SYMMETRIC)),
    "ndimension": ("torch.add(x, (x).ndimension())", SYMMETRIC + 2),
    "attention": (
        "torch._scaled_dot_product_attention(x, x, x)[0]",
        (lambda e: e / e.sum(-1, keepdims=True))(np.exp(SYMMETRIC @ SYMMETRIC / 2**0.5)) @ SYMMETRIC,
    ),
    "a text in a text": (LETTERS.format("'bc'", "'abcd'"), SYMMETRIC + 1),
    "an empty text in a text": (LETTERS.format("''", "''"), SYMMETRIC + 1),
    "a text that is not in a text": (LETTERS.format("'ca'", "'abcd'"), SYMMETRIC),
    "a truth value in a list": (LETTERS.format("True", "annotate(List[bool], [False, True])"), SYMMETRIC + 1),
    "no truth value in a list": (LETTERS.format("True", "annotate(List[bool], [])"), SYMMETRIC),
}  # fmt: skip


@pytest.mark.parametrize("name", DROPPED)
def test_operators_that_pytorch_does_not_have_are_saved_as_others(name):
    expression, expected = DROPPED[name]
    archive = script_archives.archive(
        [("forward", ["x: Tensor"], "Tensor", f"return {expression}")], version=10
    )
    module = weft.jit.load(io.BytesIO(archive))
    saved = module.save_to_buffer()
    x = weft.tensor(SYMMETRIC)
    for each in (module, weft.jit.load(io.BytesIO(saved))):
        for _ in range(3):
            np.testing.assert_allclose(each(x).numpy(), expected, rtol=1e-5, atol=1e-5)
    names = {each.split(".")[0].removeprefix("aten::") for each in RECORDED}
    with zipfile.ZipFile(io.BytesIO(saved)) as file:
        texts = [file.read(each).decode() for each in file.namelist() if each.endswith(".py")]
    called = {each for text in texts for each in re.findall(r"torch\.(\w+)\(", text)}
    assert called and called <= names
