"""What torchaudio's own package calls by torch.ops: its libraries are there, and the loops of its filters are weft's."""

import pytest
import weft.torch as torch


def test_its_libraries_are_there():
    for name in ("_torchaudio.so", "libtorchaudio.so"):
        torch.ops.load_library(f"/somewhere/torchaudio/lib/{name}")
    for path in (
        "torchaudio/lib/torchaudio_prefixctc.so",
        "torchaudio/_torchaudio.so",
        "my_torchaudio/lib/_torchaudio.so",
    ):
        with pytest.raises(OSError, match="cannot load"):
            torch.ops.load_library(f"/somewhere/{path}")
    assert torch.ops._torchaudio.cuda_version() is None
    assert torch.ops._torchaudio.is_align_available() is False


def filtered(x, factors, before):
    """By the definition: y[i] = x[i] - sum of y[i - order + 1 + j] factors[j]."""
    batch, channels, samples = x.shape
    y = before.clone()
    order = factors.shape[1]
    for i in range(samples):
        y[:, :, i + order - 1] = x[:, :, i] - (y[:, :, i : i + order] * factors).sum(-1)
    return y


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("samples, order", [(0, 3), (1, 1), (9, 1), (9, 3), (2, 5)])
def test_recursive_filters(dtype, samples, order):
    x = torch.sin(torch.arange(2 * 3 * samples, dtype=dtype)).reshape(2, 3, samples)
    factors = torch.cos(torch.arange(3 * order, dtype=dtype)).reshape(3, order) / 4
    result = torch.zeros(2, 3, samples + order - 1, dtype=dtype)
    result[:, :, : order - 1] = 0.5
    expected = filtered(x, factors, result)
    assert torch.ops.torchaudio._lfilter_core_loop(x, factors, result) is None
    assert torch.allclose(result, expected, rtol=1e-6, atol=1e-6)
    again = torch.zeros_like(result)
    again[:, :, : order - 1] = 0.5
    turned = x.permute(2, 1, 0).contiguous().permute(2, 1, 0)
    torch.ops.torchaudio._lfilter_core_loop(turned, factors.t().contiguous().t(), again)
    assert torch.equal(again, result)


def test_filters_in_scripts():
    @torch.jit.script
    def filter(x, factors):
        y = torch.zeros(1, 1, 6)
        torch.ops.torchaudio._lfilter_core_loop(x, factors, y)
        return y

    x, factors = torch.arange(4.0).reshape(1, 1, 4), torch.tensor([[0.1, 0.2, 0.0]])
    assert torch.allclose(filter(x, factors), filtered(x, factors, torch.zeros(1, 1, 6)))


@pytest.mark.parametrize(
    "x, factors, result, message",
    [
        (torch.ones(1, 1, 4), torch.ones(1, 2), torch.zeros(1, 1, 4), r"a result of shape \[1, 1, 5\]"),
        (torch.ones(1, 2, 4), torch.ones(1, 2), torch.zeros(1, 2, 5), "channels"),
        (torch.ones(1, 1, 4), torch.ones(1, 0), torch.zeros(1, 1, 3), "order"),
        (torch.ones(1, 4), torch.ones(1, 2), torch.zeros(1, 1, 5), "batch, channels, samples"),
        (torch.ones(1, 1, 4).half(), torch.ones(1, 2).half(), torch.zeros(1, 1, 5).half(), "float32 or float64"),
        (torch.ones(1, 1, 4), torch.ones(1, 2).double(), torch.zeros(1, 1, 5), "first operand"),
        (torch.ones(1, 1, 4), torch.ones(1, 2), torch.zeros(1, 5, 2)[:, :, :1].transpose(1, 2)[:, :, :5], "contiguous"),
    ],
)  # fmt: skip
def test_wrong_filters(x, factors, result, message):
    with pytest.raises((RuntimeError, TypeError, ValueError), match=message):
        torch.ops.torchaudio._lfilter_core_loop(x, factors, result)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("samples", [0, 1, 7])
def test_overdrive(dtype, samples):
    x = torch.sin(torch.arange(2 * samples, dtype=dtype)).reshape(2, samples)
    driven, result = x * 2 + 0.1, torch.zeros_like(x)
    last_in, last_out = torch.tensor([0.1, 0.2], dtype=dtype), torch.tensor([0.3, 0.4], dtype=dtype)
    before, after, expected = last_in.clone(), last_out.clone(), torch.zeros_like(x)
    for i in range(samples):
        after = driven[:, i] - before + 0.995 * after
        before = driven[:, i]
        expected[:, i] = x[:, i] * 0.5 + after * 0.75
    torch.ops.torchaudio._overdrive_core_loop(x, driven, last_in, last_out, result)
    assert (
        torch.allclose(result, expected) and torch.allclose(last_out, after) and torch.equal(last_in, before)
    )
    with pytest.raises((RuntimeError, ValueError), match="driven samples of shape"):
        torch.ops.torchaudio._overdrive_core_loop(x, x[:1], last_in, last_out, result)
