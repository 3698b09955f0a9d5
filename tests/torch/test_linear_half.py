"""F.linear of half precision in captured functions: rounded once, as eagerly."""

import pytest
import weft.torch as torch


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("shape", [(3, 5), (2, 3, 5), (5,), (0, 5)])
def test_linear_of_half_precision_is_rounded_once(dtype, shape):
    torch.manual_seed(0)
    x, weight, bias = (torch.randn(*size).to(dtype) for size in (shape, (7, 5), (7,)))
    compiled = torch.compile(torch.nn.functional.linear, fullgraph=True)
    exact = (x.double() @ weight.double().t() + bias.double()).to(dtype)
    eager = torch.nn.functional.linear(x, weight, bias)
    for given in (x, x.flip(-1).flip(-1), x.float().to(dtype)):
        got = compiled(given, weight, bias)
        assert got.dtype == dtype and torch.equal(got, eager)
        assert (got != exact).sum() <= got.numel() * 0.02  # where float32's sum lies between two numbers
    transposed = weight.t().contiguous().t()
    assert torch.equal(compiled(x, transposed, bias), eager)
    assert torch.equal(
        compiled(x, weight, bias[:1].expand(7)), torch.nn.functional.linear(x, weight, bias[:1].expand(7))
    )
    module = torch.nn.Linear(5, 7).to(dtype)
    assert torch.equal(torch.compile(module, fullgraph=True)(x), module(x))
