"""weft.jit.trace: functions and modules recorded as TorchScript, what is warned about, and what the checks find. PyTorch
runs what was saved where WEFT_TORCH_PYTHON names a Python that has it."""

import io
import os
import subprocess
import threading
import warnings

import numpy as np
import pytest
import weft
import weft.nn.functional as F
from support.compare import assert_same
from weft import nn

generator = np.random.default_rng(7)


def randn(*shape):
    return weft.tensor(generator.standard_normal(shape).astype(np.float32))


def check_trace(function, *inputs, others=(), **options):
    """The trace gives what the function gives, on the example and on `others`, before and after it was saved."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", weft.jit.TracerWarning)
        traced = weft.jit.trace(function, inputs, **options)
    loaded = weft.jit.load(io.BytesIO(traced.save_to_buffer()))
    for arguments in (inputs, *others):
        expected = function(*arguments)
        if isinstance(expected, tuple):
            expected = tuple(expected)  # traces give plain ones
        assert_same(traced(*arguments), expected, rtol=1e-5, atol=1e-6)
        assert_same(loaded(*arguments), expected, rtol=1e-5, atol=1e-6)
    return traced


# ---- functions -----------------------------------------------------------------------------------------------
def test_operators_methods_and_functionals():
    def f(x, y):
        z = F.relu(x + 2) * y - x.abs().sqrt()
        return F.softmax(z @ y.T, -1), (2 / y).sum(1), 3 - x, 2 < x, x**2

    traced = check_trace(f, randn(3, 4), randn(3, 4), others=[(randn(5, 4), randn(5, 4))])
    assert "torch.relu" in traced.code and "torch.rsub" in traced.code


def test_updates_in_place_and_views():
    def f(x):
        y = x.clone()
        y[0] = 1
        y[:, 1:] += x[:, 1:]
        y[1].mul_(2)
        z = y.reshape(-1)
        z.add_(1)
        return y, z

    traced = check_trace(f, randn(3, 4))
    assert "add_" in traced.code and "copy_" in traced.code


@pytest.mark.parametrize(
    "index",
    [
        0,
        -1,
        slice(1, None),
        (slice(None), 1),
        (Ellipsis, 0),
        None,
        (0, slice(None), None),
        [0, 2],
        (slice(None), [1, 0]),
        (slice(None, None, 2), slice(1, 3)),
        ([0, 1], [1, 2]),
        (None, Ellipsis, slice(0, 2)),
    ],
)
def test_indexing(index):
    check_trace(lambda x: x[index] + 1, randn(3, 4), others=[(randn(3, 4),)])


def test_indexing_by_tensors():
    check_trace(lambda x, i: x[i], randn(4, 3), weft.tensor([2, 0]), others=[(randn(4, 3), weft.tensor([1]))])
    check_trace(lambda x: x[x > 0], randn(4, 3), others=[(randn(4, 3),)])

    def store(x, i):
        y = x.clone()
        y[i] = 0.5
        y[x > 1] = 2
        return y

    check_trace(store, randn(4, 3), weft.tensor([2, 0]), others=[(randn(4, 3), weft.tensor([1]))])


def test_sizes_follow_the_inputs():
    def f(x):
        n, c = x.shape[0], x.size(1)
        flat = x.reshape(n, c * x.shape[2])
        half = flat[:, : flat.shape[1] // 2]
        return half.sum(1, keepdim=True).expand(n, c), weft.zeros(n, 2), weft.arange(c)

    traced = check_trace(f, randn(2, 3, 4), others=[(randn(5, 2, 6),)])
    assert "torch.size" in traced.code


def test_inputs_and_outputs_of_containers():
    def f(pair, named, several):
        x, y = pair
        return {"a": x + named["k"], "b": [y, several[0]]}["a"], (x, (y - several[1], several[0]))

    check_trace(f, (randn(2), randn(2)), {"k": randn(2)}, [randn(2), randn(2)])
    check_trace(lambda x: {"a": x + 1, "b": x * 2}, randn(2), strict=False)
    check_trace(lambda x: [x + 1, x * 2], randn(2), strict=False)


def test_split_unbind_and_lists_of_tensors():
    check_trace(lambda x: weft.cat([part * 2 for part in x.chunk(2, 1)], 0), randn(2, 4))
    check_trace(lambda x: weft.stack(list(x.unbind(0)), 1), randn(2, 4))
    check_trace(lambda x: x.sort(-1, descending=True), randn(2, 4))


def test_keyword_inputs():
    def f(x, *, scale):
        return x * scale

    x, scale = randn(2), randn(2)
    traced = weft.jit.trace(f, (x,), example_kwarg_inputs={"scale": scale})
    assert_same(traced(x, scale), x * scale, rtol=1e-5, atol=1e-6)
    assert_same(traced(x, scale=scale), x * scale, rtol=1e-5, atol=1e-6)


def test_constants_are_captured():
    table = randn(3)
    traced = check_trace(lambda x: x * table + np.float32(2), randn(3))
    assert "CONSTANTS.c0" in traced.code


def test_conversions():
    check_trace(
        lambda x: (x.to(weft.float64), x.int(), x.long().float(), x.double().half().float(), x.contiguous()),
        randn(3),
    )
    check_trace(lambda x, y: x.to(y), randn(3), weft.tensor([1, 2, 3]))


def test_creation_keeps_dtypes():
    check_trace(
        lambda x: (
            weft.zeros(2, 3),
            weft.ones(2, dtype=weft.int64),
            weft.full((2,), 7),
            weft.arange(4) * x,
            weft.linspace(0, 1, 4),
            weft.zeros_like(x),
            weft.eye(3),
        ),
        randn(4),
    )


# ---- modules -------------------------------------------------------------------------------------------------
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2)
        )
        self.head = nn.Linear(4, 2, bias=False)
        self.scale = nn.Parameter(randn(2))
        self.register_buffer("shift", randn(2))

    def forward(self, x):
        x = self.features(x)
        x = F.adaptive_avg_pool2d(x, 1).flatten(1)
        return self.head(x) * self.scale + self.shift


def test_a_convolutional_module():
    net = Net().eval()
    traced = check_trace(net, randn(2, 3, 8, 8), others=[(randn(1, 3, 10, 6),)])
    assert isinstance(traced, weft.jit.ScriptModule)
    assert list(traced.state_dict()) == list(net.state_dict())
    assert [name for name, _ in traced.named_modules()] == [name for name, _ in net.named_modules()]
    assert "self.scale" in traced.code and "(features).forward(x, )" in traced.code
    assert "self.weight" in traced.head.code
    assert_same(traced.head(randn(2, 4) * 0), weft.zeros(2, 2), rtol=1e-5, atol=1e-6)


class Block(nn.Module):
    def __init__(self, width=8, heads=2):
        super().__init__()
        self.width, self.heads = width, heads
        self.qkv = nn.Linear(width, 3 * width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 16), nn.GELU(), nn.Linear(16, width))

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (
            self.qkv(self.norm1(x))
            .reshape(batch, length, 3, self.heads, width // self.heads)
            .permute(2, 0, 3, 1, 4)
            .unbind(0)
        )
        mask = weft.ones(length, length, dtype=weft.bool).tril()
        scores = (q @ k.transpose(-2, -1) * (width // self.heads) ** -0.5).masked_fill(~mask, float("-inf"))
        x = x + (F.softmax(scores, -1) @ v).transpose(1, 2).reshape(batch, length, width)
        return x + self.mlp(self.norm2(x))


def test_a_transformer_block():
    check_trace(Block().eval(), randn(2, 5, 8), others=[(randn(1, 7, 8),)])


def test_attention_functional():
    heads, width = 2, 8
    weights = [randn(3 * width, width), randn(3 * width), randn(width, width), randn(width)]

    def f(q, k, padding):
        return weft.multi_head_attention_forward(
            q,
            k,
            k,
            width,
            heads,
            weights[0],
            weights[1],
            None,
            None,
            False,
            0.0,
            weights[2],
            weights[3],
            False,
            padding,
        )

    padding = weft.tensor([[False, False, True], [False, False, False]])
    check_trace(f, randn(4, 2, width), randn(3, 2, width), padding)


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.again = self.layer
        self.other = nn.Linear(3, 3)
        self.other.weight = self.layer.weight

    def forward(self, x):
        return self.other(self.again(self.layer(x))) @ self.layer.weight


def test_a_module_called_twice_and_shared_weights():
    traced = check_trace(Shared(), randn(2, 3), others=[(randn(4, 3),)])
    assert "forward1" in traced.code
    assert len(list(traced.parameters())) == 3


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2)

    def forward(self, x):
        return self.decode(self.encode(x))

    def encode(self, x):
        return self.layer(x).tanh()

    def decode(self, x):
        return x @ self.layer.weight


def test_several_methods():
    module = Encoder()
    traced = weft.jit.trace_module(
        module, {"forward": randn(2, 3), "encode": (randn(2, 3),), "decode": randn(2, 2)}
    )
    x, y = randn(4, 3), randn(4, 2)
    for method in (traced, weft.jit.load(io.BytesIO(traced.save_to_buffer()))):
        assert_same(method(x), module(x), rtol=1e-5, atol=1e-6)
        assert_same(method.encode(x), module.encode(x), rtol=1e-5, atol=1e-6)
        assert_same(method.decode(y), module.decode(y), rtol=1e-5, atol=1e-6)


class Updating(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", weft.zeros(1))

    def forward(self, x):
        self.count += 1
        return x + self.count


def test_a_buffer_that_is_updated():
    module = Updating()
    traced = weft.jit.trace(module, randn(1))
    assert traced.count.item() == 1  # the checks leave no mark
    traced(randn(1))
    assert traced.count.item() == 2


class Nested(nn.Module):
    """A value made in one sub-module is used in another and returned beside its result."""

    class Inner(nn.Module):
        def forward(self, x, y):
            a = x * 2
            return a, a + y

    def __init__(self):
        super().__init__()
        self.inner = self.Inner()

    def forward(self, x):
        a, b = self.inner(x, x + 1)
        return b * a


def test_several_results_of_a_submodule():
    check_trace(Nested(), randn(3))


# ---- calls of compiled functions -----------------------------------------------------------------------------
def test_compiled_functions_stay_calls():
    inner = weft.jit.trace(lambda x: x * 2 + 1, randn(3))
    traced = check_trace(lambda x: inner(x) - 1, randn(3), others=[(randn(5),)])
    assert "__torch__" in traced.code and "torch.mul" not in traced.code
    assert "aten::mul" in traced.inlined_graph


def test_fork_is_recorded_as_a_call():
    inner = weft.jit.trace(lambda x: x * 2 + 1, randn(3))
    check_trace(
        lambda x: weft.jit.wait(weft.jit.fork(inner, x)) - weft.jit.fork(lambda y: y + 1, x).wait(), randn(3)
    )


@weft.jit.script_if_tracing
def count_up(x, n: int):
    for i in range(n):
        x = x + float(i)
    return x


def test_script_if_tracing_keeps_the_loop():
    traced = check_trace(lambda x: count_up(x * 2, x.shape[0]), randn(3), others=[(randn(5),), (randn(1),)])
    assert "count_up" in traced.code


class Holder(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = weft.jit.trace(nn.Linear(3, 3), randn(2, 3))
        self.two = weft.jit.trace(nn.Linear(3, 3), randn(2, 3))

    def forward(self, x):
        return self.two(self.one(x)) + self.one.forward(x)


def test_script_modules_below_a_traced_one():
    traced = check_trace(Holder(), randn(2, 3), others=[(randn(1, 3),)])
    assert "(one).forward(x, )" in traced.code
    alone = weft.jit.trace(nn.Linear(3, 3), randn(2, 3))
    with pytest.raises(RuntimeError, match="make it an attribute"):
        weft.jit.trace(lambda x: alone(x), randn(2, 3))


def test_classes_of_one_name_in_one_archive(monkeypatch):
    """Two archives have a class __torch__….Linear each; in a third they get different names."""
    monkeypatch.setattr(weft.jit._trace, "_unique_name", str)

    class Scaled(nn.Module):
        def __init__(self, factor):
            super().__init__()
            self.factor = factor

        def forward(self, x):
            return x * self.factor

    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.two, self.three = (
                weft.jit.load(io.BytesIO(weft.jit.trace(Scaled(factor), randn(2)).save_to_buffer()))
                for factor in (2, 3)
            )

        def forward(self, x):
            return self.two(x) + self.three(x)

    check_trace(Both(), randn(2))
    one, two = (weft.jit.trace(function, randn(2)) for function in (lambda x: x + 1, lambda x: x * 2))
    check_trace(lambda x: one(two(x)), randn(2))


def test_beside_weft_compile():
    compiled = weft.compile(lambda x: (x + 1).relu() * 2)
    assert "torch.relu" in check_trace(lambda x: compiled(x) - 1, randn(3)).code

    def outer(x):
        return weft.jit.trace(lambda y: y * 3, x)(x) + 1

    x = randn(3)
    assert_same(weft.compile(outer)(x), x * 3 + 1, rtol=1e-5, atol=1e-6)
    inner = weft.jit.trace(lambda y: y * 3, x)
    assert_same(weft.compile(lambda x: inner(x) + 1)(x), x * 3 + 1, rtol=1e-5, atol=1e-6)


# ---- warnings ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "take",
    [
        lambda x: bool(x.sum() > 0),
        lambda x: int(x[0]),
        lambda x: float(x[0]),
        lambda x: x[0].item(),
        lambda x: x.tolist(),
        lambda x: x.numpy(),
        list,
        len,
        lambda x: int(x.shape[0]),
        lambda x: x.shape[0] == 3,
        lambda x: x.shape[0] / 2,
    ],
    ids="bool int float item tolist numpy iter len shape_int shape_compare shape_divide".split(),
)
def test_python_values_of_tensors_are_warned_about(take):
    def f(x):
        take(x)
        return x + 1

    with pytest.warns(weft.jit.TracerWarning) as caught:
        weft.jit.trace(f, randn(3), check_trace=False)
    assert caught[0].filename == __file__


def test_the_library_itself_does_not_warn():
    def f(x, w):
        return F.pad(F.conv2d(x, w, padding="same"), (1, 1, 1, 1), mode="reflect")

    check_trace(f, randn(1, 2, 5, 5), randn(3, 2, 3, 3))


# ---- what the checks find ------------------------------------------------------------------------------------
def test_a_graph_that_depends_on_python_state():
    calls = []

    def f(x):
        calls.append(1)
        y = x + 1
        return y * 2 if len(calls) % 2 else y - 3

    with pytest.raises(weft.jit.TracingCheckError) as error:
        weft.jit.trace(f, randn(3))
    assert (
        "aten::mul" in str(error.value)
        and "aten::sub" in str(error.value)
        and "test_jit_trace.py:" in str(error.value)
    )


def test_data_dependent_branch_is_found_by_check_inputs():
    def f(x):
        return x + 1 if bool(x.sum() > 0) else x - 1

    with pytest.raises(weft.jit.TracingCheckError), pytest.warns(weft.jit.TracerWarning):
        weft.jit.trace(f, weft.ones(3), check_inputs=[(weft.ones(3),), (-weft.ones(3),)])


def test_a_function_that_is_not_deterministic():
    state = np.random.default_rng(1)

    def f(x):
        return x + weft.tensor(state.standard_normal(3).astype(np.float32))

    with pytest.warns(weft.jit.TracerWarning, match="other results each time"):
        weft.jit.trace(f, randn(3))


def test_wrong_calls():
    with pytest.raises(TypeError, match="input 'x'"):
        weft.jit.trace(lambda x: x, (3,))
    with pytest.raises(RuntimeError, match="strict=False"):
        weft.jit.trace(lambda x: {"a": x + 1}, randn(2))
    with pytest.raises(RuntimeError, match="does not depend"):
        constant = randn(2)
        weft.jit.trace(lambda x: constant, randn(2))
    with pytest.raises(RuntimeError, match="gives tensors"):
        weft.jit.trace(lambda x: 3, randn(2))
    with pytest.raises(RuntimeError, match="tracing already"):
        weft.jit.trace(lambda x: weft.jit.trace(lambda y: y + 1, x)(x), randn(2))
    with pytest.raises(NotImplementedError, match="nanmax"):
        weft.jit.trace(lambda x: weft.nanmax(x), randn(2))
    assert not weft.jit.is_tracing()
    assert_same(randn(2)[:0], weft.zeros(0), rtol=1e-5, atol=1e-6)  # the methods of Tensor are back


# ---- beside other things -------------------------------------------------------------------------------------
def test_other_threads_are_not_recorded():
    done = []

    def f(x):
        def work():
            done.append((weft.jit.is_tracing(), (weft.ones(2) + 1)[0].item()))

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert weft.jit.is_tracing()
        return x + 1

    traced = weft.jit.trace(f, randn(2), check_trace=False)
    assert done == [(False, 2.0)]
    assert traced.code.count("torch.add") == 1


def test_pytorch_runs_what_was_saved(tmp_path):
    python = os.environ.get("WEFT_TORCH_PYTHON")
    if not python:
        pytest.skip("no PyTorch (WEFT_TORCH_PYTHON)")
    cases = {
        "net": (Net().eval(), randn(2, 3, 8, 8)),
        "block": (Block().eval(), randn(2, 5, 8)),
        "shared": (Shared(), randn(2, 3)),
        "nested": (Nested(), randn(3)),
    }
    for name, (module, x) in cases.items():
        weft.jit.trace(module, x).save(str(tmp_path / f"{name}.pt"))
        np.savez(tmp_path / f"{name}.npz", x=x.numpy(), y=module(x).numpy())
    program = """
import sys, numpy, torch
for name in sys.argv[2:]:
    module = torch.jit.load(f"{sys.argv[1]}/{name}.pt")
    arrays = numpy.load(f"{sys.argv[1]}/{name}.npz")
    numpy.testing.assert_allclose(module(torch.tensor(arrays["x"])).detach().numpy(), arrays["y"], rtol=1e-4, atol=1e-5)
"""
    subprocess.run([python, "-c", program, str(tmp_path), *cases], check=True, timeout=300)
