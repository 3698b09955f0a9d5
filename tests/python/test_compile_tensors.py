"""weft.compile of modules, and of functions that are called with weft tensors."""

import numpy as np
import pytest
import weft
from support.compare import assert_same
from weft import nn


def example():
    return weft.tensor(np.linspace(-2, 2, 24, dtype=np.float32).reshape(3, 8))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.linear, self.scale = nn.LayerNorm(8), nn.Linear(8, 8), 2.0

    def forward(self, x):
        return nn.functional.relu(self.linear(self.norm(x))) * self.scale + x


def test_module():
    block = Block().eval()
    compiled = weft.compile(block, fullgraph=True)
    assert_same(compiled(example()), block(example()), rtol=1e-5, atol=1e-6)
    assert_same(compiled(example()[:2]), block(example()[:2]), rtol=1e-5, atol=1e-6)
    assert_same(
        weft.compile(block.forward, fullgraph=True)(example()), block(example()), rtol=1e-5, atol=1e-6
    )


def test_changes_of_a_module_are_seen():
    block = Block().eval()
    compiled = weft.compile(block)
    compiled(example())
    block.scale = 3.0
    assert_same(compiled(example()), block(example()), rtol=1e-5, atol=1e-6)
    block.load_state_dict(Block().state_dict())
    assert_same(compiled(example()), block(example()), rtol=1e-5, atol=1e-6)
    block.linear.weight = nn.Parameter(weft.zeros((8, 8)))
    assert_same(compiled(example()), block(example()), rtol=1e-5, atol=1e-6)
    block.double()
    assert compiled(example().to(weft.float64)).dtype == weft.float64


def test_nested_arguments_and_results():
    def f(pair, *, k=1, options=None):
        a, b = pair
        return {"sum": a + b["x"] * k, "rest": [a * 2, "text", k, options], "pair": (a, None)}

    compiled = weft.compile(f, fullgraph=True)
    x = example()
    for k in (1, 2, 1.0, True):
        out, expected = compiled((x, {"x": x}), k=k), f((x, {"x": x}), k=k)
        assert_same(out["sum"], expected["sum"], rtol=1e-5, atol=1e-6)
        assert (
            type(out["rest"]) is list
            and out["rest"][1:] == ["text", k, None]
            and type(out["rest"][2]) is type(k)
        )
        assert_same(out["pair"][0], x, rtol=1e-5, atol=1e-6)


def test_updates_in_place():
    def put(cache, position, x):
        cache[position] = x * 2
        cache[0, 2:4] = 7.0
        return cache[position] + cache[1]

    compiled = weft.compile(put, fullgraph=True)
    caches = weft.zeros((4, 8)), weft.zeros((4, 8))
    for position in (2, 3, 1):
        results = [f(c, weft.tensor(position), example()[0]) for f, c in zip((compiled, put), caches)]
        assert_same(*results, rtol=1e-5, atol=1e-6)
        assert_same(*caches, rtol=1e-5, atol=1e-6)


def test_data_dependent_control_flow():
    def f(x):
        return x if float(x.sum()) > 0 else -x

    assert_same(weft.compile(f)(example() - 1), f(example() - 1), rtol=1e-5, atol=1e-6)
    with pytest.raises(RuntimeError, match=r"(?s)not known.*test_compile_tensors.py"):
        weft.compile(f, fullgraph=True)(example())


def test_errors_are_the_functions_own():
    compiled = weft.compile(lambda x, w: x @ w)
    with pytest.raises(ValueError, match="inner dimensions must match"):
        compiled(example(), weft.eye(7))
    assert_same(compiled(example(), weft.eye(8)), example(), rtol=1e-5, atol=1e-6)

    def raises(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        weft.compile(raises)(example())


def test_arguments_without_a_hash_are_no_constants():
    compiled = weft.compile(lambda x, a: x + weft.tensor(a))
    a = np.ones(8, np.float32)
    assert_same(compiled(example(), a), example() + 1, rtol=1e-5, atol=1e-6)
    a[:] = 5
    assert_same(compiled(example(), a), example() + 5, rtol=1e-5, atol=1e-6)


def test_compiled_inside_of_compiled():
    inner = weft.compile(lambda x: x * 2)
    outer = weft.compile(lambda x: inner(x) + 1, fullgraph=True)
    assert_same(outer(example()), example() * 2 + 1, rtol=1e-5, atol=1e-6)


def test_each_specialization_has_its_own_result():
    def f(x):
        return [x[i] for i in range(x.shape[0])], x.shape[0]

    compiled = weft.compile(f, dynamic=False, fullgraph=True)
    for rows in (2, 3, 2, 1, 3):
        parts, count = compiled(example()[:rows])
        assert len(parts) == count == rows
        assert_same(parts[-1], example()[rows - 1], rtol=1e-5, atol=1e-6)


def test_zeros_of_both_signs_differ():
    compiled = weft.compile(lambda x, zero: weft.copysign(x, weft.full_like(x, zero)))
    for zero in (0.0, -0.0, 0.0):
        assert_same(
            compiled(example(), zero),
            weft.copysign(example(), weft.full_like(example(), zero)),
            rtol=1e-5,
            atol=1e-6,
        )


def test_objects_that_may_change_are_no_constants():
    class State:
        factor = 1.0

    state = State()
    compiled = weft.compile(lambda x, s: x * s.factor)
    assert_same(compiled(example(), state), example(), rtol=1e-5, atol=1e-6)
    state.factor = 3.0
    assert_same(compiled(example(), state), example() * 3, rtol=1e-5, atol=1e-6)
    assert_same(
        weft.compile(lambda x, s: x * s.factor, fullgraph=True)(example(), state),
        example() * 3,
        rtol=1e-5,
        atol=1e-6,
    )


def test_results_that_are_objects():
    class Pair:
        def __init__(self, a):
            self.a = a

    assert_same(weft.compile(lambda x: Pair(x + 1))(example()).a, example() + 1, rtol=1e-5, atol=1e-6)


def test_buffers_updated_in_forward():
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", weft.zeros((8,)))

        def forward(self, x):
            self.total += x
            return self.total * 2

    modules = Counter().eval(), Counter().eval()
    compiled = weft.compile(modules[0])
    for row in range(3):
        assert_same(compiled(example()[row]), modules[1](example()[row]), rtol=1e-5, atol=1e-6)
    assert_same(modules[0].total, modules[1].total, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "count",
    [
        lambda x: int(x.shape[0] / 4),
        lambda x: int(x.shape[0] / 4.0),
        lambda x: int(x.shape[0] / (8 * 8 / 4 / 4)),
        lambda x: int((x.shape[0] + 1) / 3),
        lambda x: int((x.shape[0] * x.shape[1] - 1) / x.shape[1]),
    ],
)
def test_whole_parts_of_quotients_of_sizes_are_sizes(count):
    def scaled(x):
        return x * count(x)

    compiled = weft.compile(scaled, fullgraph=True)
    before = weft.compiler.stats()["captures"]
    for rows in (4, 8, 12, 15, 16, 17, 3, 20, 40):
        x = weft.tensor(np.arange(rows * 5, dtype=np.float32).reshape(rows, 5))
        assert_same(compiled(x), scaled(x), rtol=1e-5, atol=1e-6)
    assert weft.compiler.stats()["captures"] - before == 2


@pytest.mark.parametrize(
    "count",
    [
        lambda x: x.shape[0] / 4,
        lambda x: int(x.shape[0] / 2.5),
        lambda x: int(x.shape[0] / 0.5),
        lambda x: int(x.shape[0] / -4),
        lambda x: int((2 - x.shape[0]) / 4),
        lambda x: int(x.shape[0] / 4 + 0.9),
        lambda x: float(x.shape[0] / 4),
        lambda x: int(x.shape[0] / (x.shape[1] - 9)),
        lambda x: int(x.shape[0] / 2.0**53),
        lambda x: int(x.shape[0] * 2**53 / 3),
        lambda x: int(x.shape[0] / True),
        lambda x: int(x.shape[0] / 10**400) if x.shape[0] < 0 else 3,
        lambda x: [x.shape[0], 3].index(x.shape[0] / 1),
        lambda x: (x.shape[0]).__truediv__(4),
        lambda x: round(x.shape[0] / 4),
    ],
)
def test_other_quotients_of_sizes(count):
    def scaled(x):
        return x * count(x)

    compiled = weft.compile(scaled)
    for rows in (4, 8, 9, 4, 7):
        x = weft.tensor(np.arange(rows * 5, dtype=np.float64).reshape(rows, 5))
        assert_same(compiled(x), scaled(x), rtol=1e-5, atol=1e-6)


def test_a_quotient_by_zero_raises():
    compiled = weft.compile(lambda x, n: x * int(x.shape[0] / n))
    for rows in (4, 8, 9):
        for zero in (0, 0.0):
            with pytest.raises(ZeroDivisionError):
                compiled(example()[:1].expand(rows, 8), zero)
