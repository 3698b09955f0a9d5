"""torch.distributions: numbers drawn and densities as PyTorch 2.15 gives them on the CPU, recorded here."""

import json
import math
import pathlib

import pytest
import weft.torch as torch

D = torch.distributions
RECORDED = json.loads(pathlib.Path(__file__).with_suffix(".json").read_text())


def names():
    return {
        "torch": torch, "D": D, "pos": torch.tensor([0.3, 1.0, 2.5, 7.0]), "loc": torch.tensor([-1.0, 0.0, 0.5, 3.0]),
        "p": torch.tensor([0.1, 0.4, 0.5, 0.9]), "mat": torch.tensor([[2.0, 0.3], [0.3, 1.0]]),
    }  # fmt: skip


def near(found, expected, tolerance=2e-5):
    values = found.double().reshape(-1).tolist()[:4]
    for value, wanted in zip(values, map(float, expected), strict=True):
        assert (
            value == wanted
            or math.isnan(value)
            and math.isnan(wanted)
            or abs(value - wanted) <= tolerance * max(1, abs(wanted))
        )


@pytest.mark.parametrize("row", RECORDED["distributions"], ids=lambda row: row[0])
def test_samples_and_densities(row):
    code, sample, log_prob, cdf, entropy, mean, variance, mode = row
    made = eval(code, names())
    torch.manual_seed(1)
    near(made.sample(), sample, 2e-6)
    torch.manual_seed(3)
    drawn = made.sample((3,))
    near(made.log_prob(drawn), log_prob)
    for what, expected in (("entropy", entropy), ("mean", mean), ("variance", variance), ("mode", mode)):
        if expected is not None:
            value = getattr(made, what)
            near(value() if what == "entropy" else value, expected)
    if cdf is not None:
        near(made.cdf(drawn), cdf)
    assert made.expand((2, *made.batch_shape)).sample().shape == (2, *made.batch_shape, *made.event_shape)


@pytest.mark.parametrize("code, expected", RECORDED["divergences"])
def test_divergences(code, expected):
    near(D.kl_divergence(*[eval(each, names()) for each in code.split("|")]), expected)


def test_functions():
    """Bit by bit, from one seed: gamma numbers in float32 and float64, rows of Dirichlet's distribution."""
    concentration = names()["pos"]
    for function, expected in RECORDED["functions"].items():
        torch.manual_seed(5)
        given = concentration.double() if function.endswith("double") else concentration
        found = getattr(torch, function.split()[0])(given)
        assert found.dtype is given.dtype and found.tolist() == expected
    with pytest.raises(NotImplementedError):
        torch._standard_gamma(concentration.half())


def test_parameters_and_values_are_checked():
    for make in (
        lambda: D.Gamma(-1.0, 1.0),
        lambda: D.Poisson(-1.0),
        lambda: D.StudentT(0.0),
        lambda: D.Binomial(3, 2.0),
    ):
        with pytest.raises(ValueError, match="Expected parameter"):
            make()
    with pytest.raises(ValueError, match="within the support"):
        D.Poisson(2.0).log_prob(torch.tensor(0.5))
    assert repr(D.Normal(0.0, 1.0)) == "Normal(loc: 0.0, scale: 1.0)"
    assert repr(D.Gamma(1.0, 1.0).support) == "GreaterThanEq(lower_bound=0.0)"


def test_transforms():
    x = torch.tensor([[-1.0, 0.5], [0.25, 2.0]])
    for transform in (
        D.ExpTransform(), D.SigmoidTransform(), D.TanhTransform(), D.SoftplusTransform(), D.AffineTransform(1.0, -2.0),
        D.ComposeTransform([D.AffineTransform(0.0, 0.5), D.ExpTransform()]), D.StickBreakingTransform(),
    ):  # fmt: skip
        y = transform(x)
        torch.testing.assert_close(transform.inv(y), x, rtol=1e-4, atol=1e-4)
        there = transform.log_abs_det_jacobian(x, y)
        torch.testing.assert_close(transform.inv.log_abs_det_jacobian(y, x), -there)


def test_captured():
    """Numbers drawn in a captured function are the same."""
    rate = torch.tensor([0.5, 2.0, 30.0])

    def function(rate):
        return torch._standard_gamma(rate), torch.poisson(rate), torch.binomial(rate.ceil(), rate * 0 + 0.5)

    torch.manual_seed(0)
    expected = function(rate)
    torch.manual_seed(0)
    for found, wanted in zip(torch.compile(function, fullgraph=True)(rate), expected):
        assert torch.equal(found, wanted)
