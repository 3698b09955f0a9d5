"""Programs that weft and PyTorch both run: composed builtins, the text of values, random ones."""

import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "fuzz"))
import script_fuzz

pytestmark = pytest.mark.skipif(
    "WEFT_TORCH_PYTHON" not in os.environ, reason="no PyTorch (WEFT_TORCH_PYTHON)"
)

# Of the parameters that script_fuzz.PARAMETERS lists.
EXPRESSIONS = [
    "torch.margin_ranking_loss(a, a * 0.5, torch.sign(a), 0.25, 2)",
    "torch.hinge_embedding_loss(a, torch.sign(a), 1.5, 0)",
    "torch.cosine_embedding_loss(a, a + 1, torch.tensor([1, -1]), 0.1, 0)",
    "torch.triplet_margin_loss(a, a + 1, a * 2 - 1, 1.0, 2., 1e-06, False, 0)",
    "torch.triplet_margin_loss(a, a + 1, a * 2 - 1, 1.0, 2., 1e-06, True, 1)",
    "torch.soft_margin_loss(a, torch.sign(a), 1)",
    "torch.poisson_nll_loss(a, torch.abs(a) * 2, True, True, 1e-08, 0)",
    "torch.poisson_nll_loss(torch.abs(a), torch.abs(a), False, False, 1e-08, 1)",
    "torch.special_xlogy(a, torch.abs(a))",
    "torch.special_entr(a)",
    "torch.special_ndtr(a)",
    "torch.special_logsumexp(a, [1])",
    "torch.special_softmax(a, 1)",
    "torch.special_log_softmax(a, 0)",
    "torch.cov(a)",
    "torch.cov(a, correction=0, fweights=torch.tensor([1, 2, 1]))",
    "torch.cov(a, aweights=torch.tensor([0.5, 1., 2.]))",
    "torch.cov(b)",
    "torch.corrcoef(a)",
    "torch.trapezoid(a, dx=0.5)",
    "torch.trapezoid(a, b, dim=1)",
    "torch.trapz(a, dx=2., dim=0)",
    "torch.vander(b)",
    "torch.vander(b, 2, True)",
    "torch.diagflat(b)",
    "torch.diagflat(a, 1)",
    "torch.view_as_real(torch.view_as_complex(torch.stack([a, a + 1], -1)))",
    "torch.slice_scatter(a, torch.zeros([2, 1]), 1, 0, 3, 3)",
    "k.floor_divide_(torch.tensor([2, -3, 4]))",
    "torch._shape_as_tensor(a)",
    "torch.repeat_interleave(b, 2)",
    "torch.roll(b.repeat([2, 1]), 2, 0)",
]
TEXTS = [
    "str(6.0)", "str(f)", "str(0.1)", "str(1e30)", "str(-0.0)", "str(1.0 / 0.0)", "str(l)", "str([f, 1.0])", "str(['a', s])", "str((1.0, 'a'))", "str((i,))",
    "str(d)", "str(complex(1.0, -2.5))", "str(None)", "str(p)", "'{} {}'.format(f, 2.0)", "'%s' % (f)", "str(torch.device('cpu'))", "'abc'[1:]", "s[::2]",
    "str(len('abcd') + len(s))", "str(f // 0.0)",
]  # fmt: skip


def program(kind, expression):
    parameters = ", ".join(f"{name}: {of}" for name, (of, _) in script_fuzz.PARAMETERS.items())
    return f"def f({parameters}) -> {kind}:\n    return {expression}\n"


def check_texts(texts, ignored=()):
    theirs, ours = script_fuzz.torch_results(texts), script_fuzz.run_weft(texts)
    verdicts = [
        (text, found)
        for text, a, b in zip(texts, ours, theirs, strict=True)
        if (found := script_fuzz.verdict(a, b)) and found not in ignored
    ]
    assert verdicts == []
    return theirs


@pytest.mark.parametrize(
    ("kind", "expressions"), [("Tensor", EXPRESSIONS), ("str", TEXTS)], ids=["tensors", "texts"]
)
def test_fixed_programs(kind, expressions):
    # Not all are in PyTorch's namespace under the name that archives have.
    results = check_texts([program(kind, expression) for expression in expressions])
    assert [
        (text, result) for text, result in zip(expressions, results, strict=True) if "error" in result
    ] == []


def test_random_programs():
    # PyTorch leaves out what nobody reads, errors too: only values are compared.
    check_texts([script_fuzz.Program(seed).text for seed in range(40)], ("error", "no error"))
