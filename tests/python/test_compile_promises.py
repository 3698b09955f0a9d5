"""What weft.compile and weft.compiler are told: backend, options, disable, mark_dynamic, freeze; and what tensor programs do
with symbolic integers, buffers and out=."""

import pickle

import numpy
import pytest
import weft
from weft import compiler, nn


def captures(function, arguments, **options):
    """How often the function was captured for these calls, which must give what it gives."""
    compiler.reset()
    compiled = weft.compile(function, fullgraph=True, **options)
    for args in arguments:
        expected, found = function(*args), compiled(*args)
        assert found.dtype == expected.dtype and tuple(found.shape) == tuple(expected.shape)
        assert numpy.allclose(found.numpy(), expected.numpy(), atol=1e-5)
    return compiler.stats()["captures"]


def table(rows=4, columns=64):
    return weft.from_numpy(numpy.arange(rows * columns, dtype="f").reshape(rows, columns))


SLICES = {
    "to n": lambda x, n: x[:, :n] * 2,
    "from n": lambda x, n: x[:, n:].sum(1),
    "from -n": lambda x, n: x[:, -n:] + 1,
    "between": lambda x, n: x[:, n : 2 * n] + 1,
    "step": lambda x, n: x[:, n::3] + 1,
    "at n": lambda x, n: x[:, n] + 1,
    "at -n": lambda x, n: x[:, -n] + 1,
    "arange(n)": lambda x, n: weft.arange(n) * x[0, 1],
    "arange(n, 2n)": lambda x, n: weft.arange(n, 2 * n) * x[0, 1],
    "arange(0, 40, 3)": lambda x, n: weft.arange(0, 4 * n, 3, dtype=weft.float32) + x[0, 1],
    "tril": lambda x, n: weft.tril(x, n) + weft.tril(x, -n),
    "triu": lambda x, n: weft.triu(weft.ones(3, n + 2), n - 1) + x[0, 1],
    "eye": lambda x, n: weft.eye(5, 9, k=n) * x[0, 1],
    "zeros": lambda x, n: weft.zeros(n, 4) + x[0, :4],
    "narrow": lambda x, n: x.narrow(1, 0, n) + 1,
    "reshape": lambda x, n: x[:, :n].reshape(2, -1, n) + 1,
    "expand": lambda x, n: x.expand(n, 4, 64).sum(0),
}


@pytest.mark.parametrize("form", SLICES)
def test_an_int_that_changes_becomes_symbolic(form):
    assert captures(SLICES[form], [(table(), n) for n in range(3, 15)]) == 2


OPERANDS = {
    "product": lambda x, n: x * n,
    "quotient": lambda x, n: x.sum() / n,
    "reflected": lambda x, n: n - x.double(),
    "size": lambda x, n: x[:, :n] / x[:, :n].size(1),
    "comparison": lambda x, n: (x < n).sum(),
    "where": lambda x, n: weft.where(x > 3, x, n),
    "int64": lambda x, n: x.to(weft.int64) // n + n,
    "bool": lambda x, n: (x > 3) * n,
    "half": lambda x, n: x.half() * n,
    "complex": lambda x, n: weft.abs(x[0, 1:5].to(weft.complex64) * n),
    "in place": lambda x, n: x.clone().mul_(n).add_(n, alpha=2),
    "view": lambda x, n: x[:2, : 2 * n].contiguous().view(-1, n) + 1,
    "flip": lambda x, n: x[:, :n].flip(1).t().contiguous(),
    "chunk": lambda x, n: weft.cat(x[:, : 2 * n].chunk(2, 1)[::-1]),
    "split": lambda x, n: weft.stack(x[:, : 3 * n].split(n, 1)),
    "repeat_interleave": lambda x, n: x[:, :n].repeat_interleave(3, 1) + x[0, 1],
}


@pytest.mark.parametrize("form", OPERANDS)
def test_an_int_that_changes_is_an_operand(form):
    assert captures(OPERANDS[form], [(table(), n) for n in range(3, 15)]) == 2


def test_an_int_beside_narrow_integers_is_a_guard():
    # A number that does not fit their dtype is not what a tensor of int64 would be.
    assert captures(lambda x, n: x.to(weft.uint8) * n, [(table(1, 4), n) for n in range(3, 7)]) == 4


def test_an_int_that_an_operator_looks_at_is_a_guard():
    function = lambda x, n: x.repeat_interleave(n, 1)  # noqa: E731
    assert captures(function, [(table(2, 3), n) for n in (2, 3, 4)], dynamic=True) == 3


@pytest.mark.parametrize("extreme", (max, min))
def test_the_larger_of_two_floats_is_computed(extreme):
    values = (0.5, 2.0, -1.0, 1e-9, float("inf"), 3.0)
    assert captures(lambda x, t: x / extreme(t, 0.75), [(table(1, 4), t) for t in values]) == 2
    not_a_number = float("nan")
    compiled = weft.compile(
        lambda x, t: x * extreme(0.75, t) + extreme(t, 0.75), fullgraph=True, dynamic=True
    )
    for t in (*values, not_a_number):
        expected = table(1, 4) * extreme(0.75, t) + extreme(t, 0.75)
        numpy.testing.assert_array_equal(compiled(table(1, 4), t).numpy(), expected.numpy())


def test_a_whole_graph_knows_the_numbers_that_its_course_depends_on():
    function = lambda x, t: x / t if t > 0.25 else x + 1  # noqa: E731
    assert captures(function, [(table(1, 4), t) for t in (0.5, 0.1, 0.5)], dynamic=True) <= 4


def test_pieces_of_one_size_are_counted_by_guards():
    function = lambda x: weft.stack([piece.sum() for piece in x.split(2)])  # noqa: E731
    assert captures(function, [(table(rows, 3),) for rows in (2, 3, 4, 5, 6, 7, 8)]) <= 6


def test_bounds_past_the_end_are_clipped():
    for form in ("to n", "from n", "from -n", "between", "step"):
        assert captures(SLICES[form], [(table(), n) for n in (3, 5, 63, 64, 65, 200, 1, 0, -3, -70)]) <= 8


def test_an_index_out_of_range_raises_as_before():
    compiled = weft.compile(lambda x, n: x[:, n] + 1)
    for n in (3, 5, 9):
        compiled(table(), n)
    for n in (64, 100, -65):
        with pytest.raises(IndexError):
            compiled(table(), n)


def test_half_of_a_symbolic_size():
    def rotate(x):
        half = x.shape[1] // 2
        return weft.cat([-x[:, half:], x[:, :half]], 1)

    assert captures(rotate, [(table(4, n),) for n in range(4, 40, 3)]) == 2


def test_assignment_to_a_symbolic_slice():
    def fill(x, n):
        y = x.clone()
        y[:, n] = 7
        y[:, :n] += 1
        return y

    assert captures(fill, [(table(), n) for n in range(3, 15)]) == 2


@pytest.mark.parametrize("kind", [numpy.float64, numpy.float32])
def test_scalars_of_numpy_beside_tensors(kind):
    assert captures(lambda x, s: x * s + s, [(table(), kind(i)) for i in range(5)]) == 1


def test_arange_of_numpy_is_symbolic():
    def count(x, n):
        return x[0] * numpy.arange(n)

    compiler.reset()
    compiled = weft.compile(count, fullgraph=True)
    x = numpy.ones((2, 1), "f")
    for n in range(3, 15):
        assert (compiled(x, n) == count(x, n)).all()
    assert compiler.stats()["captures"] == 2


# ---- buffers and out= ---------------------------------------------------------------------------------------------


class Running(nn.Module):
    """Buffers that calls assign, update and write into."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", weft.zeros(4))
        self.register_buffer("count", weft.zeros(1))
        self.register_buffer("cache", weft.zeros(2, 8, 4))

    def forward(self, x, at=None):
        self.mean = self.mean * 0.9 + x.mean(0) * 0.1
        self.count += 1
        if at is not None:
            self.cache[:, at] = x[:, None]
        return x - self.mean


def test_buffers_are_assigned_in_one_graph():
    plain, module = Running(), Running()
    compiled = weft.compile(module, fullgraph=True)
    for i in range(5):
        x = weft.from_numpy(numpy.random.default_rng(i).standard_normal((2, 4)).astype("f"))
        at = weft.tensor([i]) if i % 2 else None
        assert numpy.allclose(plain(x, at).numpy(), compiled(x, at).numpy(), atol=1e-6)
        for name, buffer in plain.named_buffers():
            assert numpy.allclose(buffer.numpy(), getattr(module, name).numpy(), atol=1e-6)
    assert set(module.state_dict()) == {"mean", "count", "cache"}


def test_a_name_that_is_a_buffer_and_a_parameter():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.shift = nn.Parameter(weft.ones([2]))

        def forward(self, x):
            self._buffers["shift"] = x
            self.shift = self.shift * 2
            return x

    for call in (Net(), weft.compile(Net())):
        with pytest.raises(TypeError, match="shift"):
            call(weft.zeros([2]))


def test_a_buffer_is_replaced_between_calls():
    module = Running()
    compiled = weft.compile(module, fullgraph=True)
    compiled(weft.ones(2, 4))
    module.mean = weft.ones(4)
    compiled(weft.ones(2, 4))
    assert numpy.allclose(module.mean.numpy(), 1)


def test_out():
    def f(x, y, out):
        result = weft.add(x, y, out=out)
        return result * 2, result is out

    out = weft.zeros(3)
    doubled, same = weft.compile(f, fullgraph=True)(weft.ones(3), weft.ones(3), out)
    assert same and out.tolist() == [2, 2, 2] and doubled.tolist() == [4, 4, 4]


def test_out_of_another_shape_is_resized():
    def f(x, out):
        return weft.add(x, x, out=out) + 1

    for function in (f, weft.compile(f)):
        out = weft.zeros(5)
        assert function(weft.ones(3), out).tolist() == [3, 3, 3] and out.tolist() == [2, 2, 2]


# ---- options ------------------------------------------------------------------------------------------------------


def double(x):
    return x * 2


def test_backend_eager_is_the_function():
    seen = []

    def f(x):
        seen.append(1)
        return x * 2

    compiled = weft.compile(f, backend="eager")
    before = compiler.stats()["captures"]
    assert compiled(weft.ones(2)).tolist() == [2, 2] and len(seen) == 1
    assert compiler.stats()["captures"] == before


def test_options_survive_a_pickle():
    compiled = weft.compile(double, options={"max_autotune": True}, backend="eager")
    again = pickle.loads(pickle.dumps(compiled))
    assert again._options == (False, None, "max-autotune", "eager")


def test_disable_true_is_the_function_itself():
    assert weft.compile(double, disable=True) is double


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"backend": "inductor2"}, ValueError, "backend"),
        ({"mode": "fast"}, ValueError, "mode"),
        ({"mode": "default", "options": {}}, RuntimeError, "either mode or options"),
        ({"options": {"speed": True}}, RuntimeError, "speed"),
        ({"options": {"max_autotune": 3}}, RuntimeError, "True or False"),
        ({"options": [1]}, TypeError, "dict"),
    ],
)
def test_wrong_options(options, error, words):
    with pytest.raises(error, match=words):
        weft.compile(double, **options)
    with pytest.raises(error, match=words):
        weft.compile(**options)


# ---- disable ------------------------------------------------------------------------------------------------------


def test_a_disabled_function_is_a_break():
    calls = []

    @compiler.disable(reason="it counts")
    def count(x):
        calls.append(type(x))
        return x + 1

    def f(x):
        return count(x * 2) * 3

    explained = compiler.explain(f)(weft.ones(2))
    assert explained.result.tolist() == [9, 9] and calls == [weft.Tensor]
    (entry,) = explained.breaks
    assert entry.reason.endswith("count, which is disabled: it counts")
    with pytest.raises(RuntimeError, match="it counts"):
        weft.compile(f, fullgraph=True)(weft.ones(2))


def test_a_disabled_function_is_not_compiled_itself():
    disabled = compiler.disable(double)
    assert disabled(weft.ones(1)).tolist() == [2] and disabled.__name__ == "double"
    assert weft.compile(disabled) is disabled


def test_a_disabled_module():
    module = compiler.disable(nn.Linear(2, 2))
    x = weft.ones(1, 2)

    def f(x):
        return module(x) + 1

    explained = compiler.explain(f)(x)
    assert len(explained.breaks) == 1
    assert numpy.allclose(explained.result.numpy(), (module(x) + 1).numpy())


@pytest.mark.parametrize(
    "arguments", [{"fn": 3}, {"fn": double, "reason": 3}, {"fn": double, "recursive": 1}]
)
def test_wrong_arguments_of_disable(arguments):
    with pytest.raises(TypeError, match="weft.compiler.disable"):
        compiler.disable(**arguments)


def test_is_compiling():
    def f(x):
        return x + (1 if compiler.is_compiling() else 2)

    assert f(weft.zeros(1)).item() == 2 and weft.compile(f, fullgraph=True)(weft.zeros(1)).item() == 1


# ---- sizes --------------------------------------------------------------------------------------------------------


def test_marked_dynamic():
    compiler.reset()
    compiled = weft.compile(double, fullgraph=True)
    x = weft.ones(5, 3)
    compiler.mark_dynamic(x, 0)
    for value in (x, weft.ones(7, 3), weft.ones(9, 3)):
        assert compiled(value).shape[0] == value.shape[0]
    assert compiler.stats()["captures"] == 1


def test_marked_static():
    compiler.reset()
    compiled = weft.compile(double, fullgraph=True)
    for n in (3, 4, 5):
        x = weft.ones(n, 2)
        compiler.mark_static(x)
        compiled(x)
    assert compiler.stats()["captures"] == 3


def test_wrong_marks():
    x = weft.ones(2, 3)
    with pytest.raises(IndexError, match="out of range"):
        compiler.mark_dynamic(x, 2)
    with pytest.raises(TypeError, match="dimension"):
        compiler.mark_dynamic(x, "rows")
    with pytest.raises(TypeError, match="Tensor"):
        compiler.mark_dynamic([1], 0)


# ---- freeze -------------------------------------------------------------------------------------------------------


def test_frozen_parameters_are_constants():
    module = compiler.freeze(nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 5)).eval())
    x = table(8, 64)
    explained = compiler.explain(module)(x)
    assert "graph __call__(%0: f32[8, 64]) {" in explained.graphs[0]  # the parameters are no inputs
    expected = module(x).numpy()  # numbers that cancel have errors of those they are made of
    assert numpy.allclose(explained.result.numpy(), expected, rtol=1e-5, atol=1e-5 * abs(expected).max())
    compiled = weft.compile(module, fullgraph=True)
    compiled(x)
    compiler.unfreeze(module)
    module[0].weight.mul_(2)
    expected = module(x).numpy()
    assert numpy.allclose(compiled(x).numpy(), expected, rtol=1e-5, atol=1e-5 * abs(expected).max())


def test_a_new_parameter_is_seen_though_frozen():
    module = compiler.freeze(nn.Linear(4, 4))
    compiled = weft.compile(module, fullgraph=True)
    x = weft.ones(1, 4)
    compiled(x)
    module.weight = nn.Parameter(weft.zeros(4, 4))
    assert numpy.allclose(compiled(x).numpy(), module.bias.numpy())


def test_what_a_program_writes_is_not_frozen():
    class Cache(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(4, 4)
            self.register_buffer("rows", weft.zeros(3, 4))

        def forward(self, x, i):
            self.rows[i] = self.linear(x)
            return self.rows.sum()

    module = compiler.freeze(Cache())
    compiled = weft.compile(module, fullgraph=True)
    for i in range(3):
        total = compiled(weft.ones(4), i)
        assert total.item() == pytest.approx(module.rows.sum().item(), rel=1e-5)
    assert (module.rows.numpy() != 0).all()


def test_a_frozen_parameter_is_itself():
    module = compiler.freeze(nn.Linear(2, 2))
    assert weft.compile(lambda: module.weight, fullgraph=True)() is module.weight


def test_freeze_wants_a_module():
    with pytest.raises(TypeError, match="weft.compiler.freeze"):
        compiler.freeze(weft.ones(2))
