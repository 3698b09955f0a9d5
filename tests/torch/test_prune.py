"""torch.nn.utils.prune beside PyTorch 2.15's masks."""

import pytest
import weft.torch as torch
from weft.torch.nn.utils import prune


def linear():
    layer = torch.nn.Linear(6, 4)
    with torch.no_grad():
        layer.weight.copy_(((torch.arange(24) * 7919) % 101 - 50).float().reshape(4, 6) / 50)
        layer.bias.copy_(torch.arange(4.0) / 3)
    return layer


def mask(layer, name="weight"):
    return "".join(str(int(one)) for one in getattr(layer, name + "_mask").flatten().tolist())


def test_one_way_after_another():
    layer, x = linear(), torch.arange(12.0).reshape(2, 6) / 10
    prune.l1_unstructured(layer, "weight", 0.3)
    assert mask(layer) == "101101011110111101111010" and abs(layer(x).sum().item() - 2.484) < 1e-4
    assert list(layer.state_dict()) == ["bias", "weight_orig", "weight_mask"]
    prune.ln_structured(layer, "weight", 0.5, 2, 0)
    (hook,) = layer._forward_pre_hooks.values()
    assert (
        mask(layer) == "101101000000111101000000"
        and isinstance(hook, prune.PruningContainer)
        and len(hook) == 2
    )
    prune.l1_unstructured(layer, "weight", 3)
    assert mask(layer) == "101001000000100101000000"
    prune.l1_unstructured(layer, "bias", 2)
    assert mask(layer, "bias") == "0011" and prune.is_pruned(torch.nn.Sequential(layer))
    with torch.no_grad():
        layer.weight_orig.mul_(2)
    expected = layer(x)  # the parameter follows what it is kept as
    compiled = torch.compile(layer)
    assert torch.allclose(compiled(x), expected)
    weight = layer.weight.clone()
    prune.remove(layer, "weight")
    assert isinstance(layer.weight, torch.nn.Parameter) and torch.equal(layer.weight, weight)
    assert list(layer.state_dict()) == ["bias_orig", "weight", "bias_mask"]
    prune.remove(layer, "bias")
    assert not prune.is_pruned(layer) and torch.equal(layer(x), expected)


@pytest.mark.parametrize(
    "call, expected",
    [
        (lambda layer: prune.ln_structured(layer, "weight", 2, float("inf"), -1), "100111100111100111100111"),
        (lambda layer: prune.ln_structured(layer, "weight", 1, 1, 1), "101111101111101111101111"),
        (lambda layer: prune.identity(layer, "weight"), "1" * 24),
        (lambda layer: prune.l1_unstructured(layer, "weight", 0), "1" * 24),
        (lambda layer: prune.l1_unstructured(layer, "weight", 1.0), "0" * 24),
        (lambda layer: prune.custom_from_mask(layer, "weight", torch.tensor([[1, 0, 1, 0, 1, 0]] * 4)), "10" * 12),
        (lambda layer: prune.l1_unstructured(layer, "weight", 0.25, torch.arange(24.0).reshape(4, 6)), "0" * 6 + "1" * 18),
    ],
)  # fmt: skip
def test_masks(call, expected):
    layer = linear()
    assert call(layer) is layer and mask(layer) == expected


def test_of_several_and_at_random():
    a, b = linear(), linear()
    both = [(a, "weight"), (b, "bias")]
    prune.global_unstructured(both, prune.L1Unstructured, amount=0.4)
    assert (mask(a), mask(b, "bias")) == ("101101011010111101011010", "0011")
    prune.global_unstructured(both, prune.L1Unstructured, amount=5)
    assert (mask(a), mask(b, "bias")) == ("101001010010100101001010", "0011")
    torch.manual_seed(3)
    layer = linear()
    prune.random_unstructured(layer, "weight", 0.5)
    assert mask(layer) == "111011110110000100100001"
    prune.random_structured(layer, "weight", 1, 0)
    assert mask(layer) == "000000110110000100100001"
    assert prune.L1Unstructured(0.5).prune(torch.tensor([1.0, -3, 2, 0.5])).tolist() == [0, -3, 2, 0]


@pytest.mark.parametrize(
    "call, kind, message",
    [
        (lambda: prune.l1_unstructured(linear(), "weight", 1.5), ValueError, "amount=1.5 should either be a float"),
        (lambda: prune.l1_unstructured(linear(), "weight", "x"), TypeError, "Invalid type for amount: x"),
        (lambda: prune.l1_unstructured(linear(), "weight", 25), ValueError, "number of parameters to prune=24"),
        (lambda: prune.l1_unstructured(linear(), "weight", -1), ValueError, "amount=-1 should either"),
        (lambda: prune.ln_structured(linear(), "bias", 1, 2, 0), ValueError, "multidimensional tensors"),
        (lambda: prune.ln_structured(linear(), "weight", 1, 2, 5), IndexError, "Invalid index 5"),
        (lambda: prune.remove(linear(), "weight"), ValueError, "has to be pruned before pruning can be removed"),
        (lambda: prune.l1_unstructured(linear(), "weight", 0.5, torch.ones(2)), AssertionError, "same shape as parameter weight"),
        (lambda: prune.custom_from_mask(linear(), "weight", torch.ones(2)), AssertionError, "must match self.mask shape"),
        (lambda: prune.global_unstructured([(linear(), "weight")], prune.LnStructured, amount=1, n=2), TypeError, "Only"),
        (lambda: prune.global_unstructured(3, prune.L1Unstructured, amount=1), TypeError, "not an Iterable"),
        (lambda: prune.BasePruningMethod(), TypeError, "abstract"),
    ],
)  # fmt: skip
def test_refused(call, kind, message):
    with pytest.raises(kind, match=message):
        call()
