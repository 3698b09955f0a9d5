"""torch.ao.pruning beside PyTorch 2.15's masks, and 2:4 sparse weights as parameters."""

import copy

import pytest
import weft.torch as torch
from weft.torch.ao.pruning import BaseSparsifier, FakeSparsity, WeightNormSparsifier
from weft.torch.sparse import SparseSemiStructuredTensor, to_sparse_semi_structured


def linear(rows, columns):
    layer = torch.nn.Linear(columns, rows)
    values = (torch.arange(rows * columns).reshape(rows, columns) * 7919 % 101 - 50).float() / 50
    with torch.no_grad():
        layer.weight.copy_(values)
    return layer


def pruned(rows, columns, **options):
    model = torch.nn.Sequential(linear(rows, columns))
    sparsifier = WeightNormSparsifier(**options)
    sparsifier.prepare(model, [{"tensor_fqn": "0.weight"}])
    sparsifier.step()
    return sparsifier.state["0.weight"]["mask"]


BLOCKS = {"sparsity_level": 0.5, "sparse_block_shape": (2, 4), "zeros_per_block": 3, "norm": 1}


@pytest.mark.parametrize(
    "shape, options, dtype, expected",
    [
        ((4, 8), {}, torch.float32, "11110000000011110000111111110000"),
        ((4, 8), {"sparsity_level": 0.3}, torch.float32, "11111111111111110000111111110000"),
        ((4, 8), {"sparsity_level": 1.0}, torch.float32, "0" * 32),
        ((4, 8), {"sparsity_level": 0.0}, torch.float32, "1" * 32),
        ((4, 8), {"zeros_per_block": 0}, torch.float32, "1" * 32),
        (
            (4, 8),
            {"sparsity_level": 1.0, "zeros_per_block": 2},
            torch.bool,
            "10100101101010010101101001010110",
        ),
        ((4, 8), {"zeros_per_block": 2}, torch.bool, "11110101101011110101111111110110"),
        ((4, 8), {"sparse_block_shape": (2, 2)}, torch.float32, "11111100111111001100000011000000"),
        ((4, 8), {"sparse_block_shape": (1, 1)}, torch.float32, "10110101101010010100101001010110"),
        ((4, 8), BLOCKS, torch.bool, "11111111111111110101101111010110"),
        ((4, 8), {"norm": lambda x: -x}, torch.float32, "11110000111100000000111100001111"),
        (
            (5, 7),
            {"sparsity_level": 0.4, "sparse_block_shape": (2, 3)},
            torch.float32,
            "11111101111110000000100000010001111",
        ),
    ],
)
def test_masks(shape, options, dtype, expected):
    mask = pruned(*shape, **options)
    assert (mask.dtype, tuple(mask.shape)) == (dtype, shape)
    assert "".join(str(int(one)) for one in mask.flatten().tolist()) == expected


def test_prepare_step_squash():
    model = torch.nn.Sequential(linear(8, 16), torch.nn.ReLU(), linear(4, 8))
    x = torch.arange(32.0).reshape(2, 16) / 10
    dense = model(x)
    sparsifier = WeightNormSparsifier(1.0, (1, 4), 2)
    sparsifier.prepare(model, None)
    assert "Group 1\n" in repr(sparsifier) and "tensor_fqn: 2.weight" in repr(sparsifier)
    assert isinstance(model[0].parametrizations.weight[0], FakeSparsity)
    assert list(model.state_dict()) == [
        "0.bias",
        "0.parametrizations.weight.original",
        "2.bias",
        "2.parametrizations.weight.original",
    ]
    assert torch.equal(model(x), dense)
    sparsifier.step()
    masked = model(x)
    assert ((model[0].weight != 0).reshape(-1, 4).sum(-1) <= 2).all()
    other = torch.nn.Sequential(linear(8, 16), torch.nn.ReLU(), linear(4, 8))
    other[0].bias, other[2].bias = model[0].bias, model[2].bias
    loaded = WeightNormSparsifier()
    loaded.prepare(other, None)
    loaded.load_state_dict(copy.deepcopy(sparsifier.state_dict()))
    assert torch.equal(other(x), masked)
    sparsifier.squash_mask(("sparsity_level",), {"2": ("zeros_per_block",)})
    assert type(model[0]) is torch.nn.Linear and torch.equal(model(x), masked)
    assert model[0].sparse_params == {"sparsity_level": 1.0}
    assert model[2].sparse_params == {"sparsity_level": 1.0, "zeros_per_block": 2}


@pytest.mark.parametrize(
    "call, kind, message",
    [
        (lambda: pruned(4, 8, zeros_per_block=5), ValueError, "more than the total number of elements"),
        (lambda: pruned(4, 8, zeros_per_block=-1), ValueError, "should be positive"),
        (lambda: WeightNormSparsifier(norm=3), NotImplementedError, "L-3"),
        (lambda: BaseSparsifier(), TypeError, "abstract"),
        (lambda: WeightNormSparsifier().prepare(linear(4, 8), ["weight"]), AssertionError, "should be dicts"),
        (
            lambda: WeightNormSparsifier().prepare(linear(4, 8), [{}]),
            AssertionError,
            "tensor_fqn is a required",
        ),
        (
            lambda: WeightNormSparsifier().prepare(
                linear(4, 8), [{"tensor_fqn": "weight", "tensor_name": "bias"}]
            ),
            AssertionError,
            "expected them to agree",
        ),
        (lambda: WeightNormSparsifier().convert(linear(4, 8)), NotImplementedError, "mapping"),
        (lambda: torch.ao.pruning.CubicSL(None), NotImplementedError, "CubicSL is PyTorch's, but not weft's"),
    ],
)
def test_wrong_calls(call, kind, message):
    with pytest.raises(kind, match=message):
        call()


def test_sparse_weights_are_parameters():
    model = torch.nn.Sequential(linear(16, 16), torch.nn.ReLU(), linear(16, 16))
    sparsifier = WeightNormSparsifier(1.0, (1, 4), 2)
    sparsifier.prepare(model, None)
    sparsifier.step()
    sparsifier.squash_mask()
    x = torch.arange(320.0).reshape(20, 16) / 100
    expected = model(x)
    for layer in (model[0], model[2]):
        layer.weight = torch.nn.Parameter(to_sparse_semi_structured(layer.weight))
    weight = model[0].weight
    assert isinstance(weight, SparseSemiStructuredTensor)
    assert [name for name, _ in model.named_parameters()] == ["0.bias", "0.weight", "2.bias", "2.weight"]
    assert sum(one.numel() for one in model.parameters()) == 2 * (256 + 16) and weight.dim() == 2
    for rows in (1, 20):
        assert torch.allclose(model(x[:rows]), expected[:rows], rtol=1e-5, atol=1e-5)
    compiled = torch.compile(model, fullgraph=True)
    assert torch.allclose(compiled(x), expected, rtol=1e-5, atol=1e-5)
    half = copy.deepcopy(model).to(torch.bfloat16)
    assert half[0].weight.dtype == torch.bfloat16 and weight.dtype == torch.float32
    assert torch.allclose(half(x.bfloat16()).float(), expected, rtol=0.05, atol=0.05)
    with pytest.raises(TypeError, match="float32 or bfloat16"):
        copy.deepcopy(model).half()
    with pytest.raises(TypeError, match="expected weft.nn.Parameter or None"):
        model[0].weight = torch.ones(16, 16)
    with pytest.warns(FutureWarning, match="Setting transpose"):
        to_sparse_semi_structured(torch.zeros(8, 8), transposed=True)
