"""torch._higher_order_ops.out_dtype."""

import pytest
import weft.torch as torch
from weft.torch._higher_order_ops.out_dtype import out_dtype

aten = torch.ops.aten


@pytest.mark.parametrize("compiled", [False, True])
def test_products_of_bytes_are_exact(compiled):
    x = ((torch.arange(35 * 300).reshape(35, 300) * 7919) % 255 - 127).to(torch.int8)
    y = ((torch.arange(300 * 9).reshape(300, 9) * 104729) % 255 - 127).to(torch.int8)

    def function(x, y):
        return out_dtype(aten.mm.default, torch.int32, x, y)

    found = (torch.compile(function, fullgraph=True) if compiled else function)(x, y)
    assert found.dtype == torch.int32 and torch.equal(found.long(), x.long() @ y.long())


def test_other_operators():
    x = torch.arange(-100, 100, 10).to(torch.int8)
    assert torch.equal(out_dtype(aten.mul.Tensor, torch.int32, x, x), x.int() * x.int())
    assert out_dtype(aten.mul.Scalar, torch.int32, x, 300).tolist() == [300 * one for one in x.tolist()]
    floats = out_dtype(aten.mm.default, torch.int32, torch.ones(2, 3) * 1.5, torch.ones(3, 2))
    assert floats.dtype == torch.int32 and floats.tolist() == [[4, 4], [4, 4]]
    with pytest.raises(ValueError, match="must be an OpOverload"):
        out_dtype(torch.mm, torch.int32, x, x)
    with pytest.raises(ValueError, match="only allows the following operators"):
        out_dtype(aten.sin.default, torch.int32, x)
