"""Loops over ranges in tensor programs: rounds that name a layer are in one graph, long ones have graphs of their own."""

import numpy as np
import pytest
import weft
import weft.torch as torch
from support.tiers import long_but
from weft.torch import nn

DEPTH = 24  # more rounds than a loop of a NumPy function is unrolled


class Deep(nn.Module):
    def __init__(self, way):
        super().__init__()
        self.depth, self.way = DEPTH, getattr(self, way)
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(DEPTH)])
        self.named = nn.ModuleDict({f"layer{i}": layer for i, layer in enumerate(self.layers)})
        self.scales = [0.5 + i / 7 for i in range(DEPTH)]
        self.kinds = ["even" if i % 2 == 0 else "odd" for i in range(DEPTH)]
        for i in range(DEPTH):
            setattr(self, f"shift{i}", nn.Parameter(torch.full((4,), i / 10)))

    def forward(self, x):
        return self.way(x)

    def index(self, x):
        for i in range(self.depth):
            x = self.layers[i](x).tanh()
        return x

    def name(self, x):
        for i in range(self.depth):
            x = self.named["layer" + str(i)](x).tanh()
        return x

    def attribute(self, x):
        for i in range(self.depth):
            x = x + getattr(self, f"shift{i}")
        return x

    def number(self, x):
        for i in range(self.depth):
            x = (x * self.scales[i]).sin()
        return x

    def branch(self, x):
        for i in range(self.depth):
            x = x * 0.5 if self.kinds[i] == "even" else x + 1
        return x

    def results(self, x):
        out = {}
        for i in range(self.depth):
            x = x * 0.9
            if i in (3, 7, 20):
                out[f"r{i}"] = x
        return torch.stack(list(out.values()))

    def backwards(self, x):
        for i in range(self.depth - 1, -1, -2):
            x = self.layers[i](x).tanh()
        return x


@pytest.mark.parametrize("dynamic", long_but([None, True, False], None))
@pytest.mark.parametrize("way", "index name attribute number branch results backwards".split())
def test_rounds_that_name_their_layer_are_in_one_graph(way, dynamic):
    module = Deep(way)
    weft.compiler.reset()
    compiled = torch.compile(module, dynamic=dynamic)
    for _ in range(3):
        x = torch.randn(2, 4)
        assert torch.allclose(compiled(x), module(x), atol=1e-6)
    counts = weft.compiler.stats()
    assert counts["graphs"] == 1 and counts["breaks"] == 0
    module.depth = DEPTH - 1
    x = torch.randn(2, 4)
    assert torch.allclose(compiled(x), module(x), atol=1e-6)


def test_rounds_of_many_operations_have_graphs_of_their_own():
    weights = [torch.eye(8) * (1 + i / 1000) for i in range(150)]

    def program(x, depth):
        for i in range(depth):
            for _ in range(40):
                x = x @ weights[i]
            x = x / x.norm()
        return x

    weft.compiler.reset()
    compiled = torch.compile(program)
    for depth in (150, 150, 149, 150):
        x = torch.randn(3, 8)
        assert torch.allclose(compiled(x, depth), program(x, depth), atol=1e-5)
    assert 2 < weft.compiler.stats()["graphs"] < 20


@pytest.mark.parametrize("dynamic", [None, True])
def test_sequences_of_many_lengths_share_the_graph_of_a_step(dynamic):
    cell = nn.GRUCell(4, 4)

    def program(x):
        h = torch.zeros(x.shape[0], 4)
        for t in range(x.shape[1]):
            h = cell(x[:, t], h)
        return h

    weft.compiler.reset()
    compiled = torch.compile(program, dynamic=dynamic)
    for length in (40, 40, *range(30, 60, 2), 3, 1, 0):
        x = torch.randn(2, length, 4)
        assert torch.allclose(compiled(x), program(x), atol=1e-6)
    assert weft.compiler.stats()["graphs"] < 16


def test_rounds_that_make_a_list_longer_are_in_one_graph_for_each_length():
    cell = nn.GRUCell(4, 4)

    def program(x):
        h, results = torch.zeros(x.shape[0], 4), []
        for t in range(x.shape[1]):
            h = cell(x[:, t], h)
            results.append(h)
        return torch.stack(results, 1)

    weft.compiler.reset()
    compiled = torch.compile(program)
    for length in (20, 20, 25, 30, 20, 25):
        x = torch.randn(2, length, 4)
        assert torch.allclose(compiled(x), program(x), atol=1e-6)
    counts = weft.compiler.stats()
    assert counts["graphs"] == 3 and counts["breaks"] == 0


def test_long_rounds_that_make_a_list_longer_are_in_few_graphs():
    unit = torch.eye(3)

    def program(x, steps):
        results = []
        for t in range(steps):
            for _ in range(8):
                x = x @ unit
            x = x / x.norm() + 0.001
            results.append(x.sum())
        return torch.stack(results)

    weft.compiler.reset()
    compiled = torch.compile(program)
    for _ in range(3):
        x = torch.ones(3, 3)
        assert torch.allclose(compiled(x, 600), program(x, 600))
    assert weft.compiler.stats()["graphs"] < 9


def test_many_rounds_that_are_alike_share_a_graph():
    def program(x, steps):
        for t in range(steps):
            for _ in range(4):
                x = x * 0.99 + t * 0.001
        return x

    weft.compiler.reset()
    compiled = torch.compile(program)
    x = torch.randn(8)
    for steps in (2000, 2000, 1999):
        assert torch.allclose(compiled(x, steps), program(x, steps), atol=1e-5)
    assert weft.compiler.stats()["graphs"] < 8


@pytest.mark.parametrize(("steps", "graphs"), [(128, 1), (129, 1), (130, 3), (500, 3)])
def test_rounds_that_are_alike_are_unrolled_up_to_a_number(steps, graphs):
    def program(x):
        for _ in range(steps):
            x = x * 0.99 + 0.001
        return x

    weft.compiler.reset()
    compiled = torch.compile(program)
    for _ in range(3):
        x = torch.randn(8)
        assert torch.allclose(compiled(x), program(x), atol=1e-5)
    assert weft.compiler.stats()["graphs"] <= graphs


@pytest.mark.parametrize("dynamic", long_but([None, True, False], None))
def test_rounds_of_numpys_that_hold_for_one_number_are_unrolled(dynamic):
    table = {f"k{i}": 0.1 + i / 400 for i in range(200)}

    def program(x, begin, end, step):
        for i in range(begin, end, step):
            x = np.sin(x * table[f"k{i}"] + 1)
        return x

    weft.compiler.reset()
    compiled = weft.compile(program, dynamic=dynamic)
    x = np.linspace(0, 1, 12).reshape(3, 4)
    for rounds in ((0, 40, 1), (0, 40, 1), (0, 41, 1), (0, 40, 1), (90, 3, -2), (0, 40, 2)):
        np.testing.assert_allclose(compiled(x, *rounds), program(x, *rounds), rtol=1e-12)
    before = weft.compiler.stats()["captures"]
    compiled(x, 0, 40, 1)
    assert weft.compiler.stats()["captures"] == before


def test_what_ends_in_the_middle_of_unrolled_rounds():
    table, seen = [float(i) for i in range(60)], []

    def program(x, n):
        for i in range(n):
            x = x + table[i]
            if i == 30:
                seen.append(float(x[0]))  # the graph ends here
            if x[0] > 1500:
                break
        else:
            x = x - 1
        return x, i

    compiled = weft.compile(program)
    for n in (60, 60, 40, 56):
        (result, at), (expected, i) = compiled(np.zeros(3), n), program(np.zeros(3), n)
        assert np.array_equal(result, expected) and at == i
    assert seen[0::2] == seen[1::2]


@pytest.mark.parametrize("length", long_but([200, 255, 256, 257, 300, 900], 256, 257))
def test_long_chains_of_operations_are_several_kernels(length):
    def program(x):
        for i in range(length):
            x = (x - 0.5).abs() if i % 2 else x * 0.75
        return x

    x = torch.randn(3, 50)
    result = torch.compile(program, fullgraph=True)(x)
    assert torch.equal(result, program(x))


def test_deeply_nested_rows():
    norm = nn.LayerNorm(8)

    def program(x):
        for _ in range(70):
            x = (norm(x) * 0.5 + 1).relu().sin()
        return x

    x = torch.randn(4, 8)
    assert torch.allclose(torch.compile(program, fullgraph=True)(x), program(x), atol=1e-5)
