"""weft.compile(mode="reduce-overhead") gives what plain calls give; results stay as they are, whatever is called later."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
import weft
import weft.torch as torch
from weft.torch import nn

PROGRAMS = Path(__file__).parent / "programs"


class Layers(nn.Module):
    """Fifty parameters, and views between the layers."""

    def __init__(self, width=8, count=25):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(count)])

    def forward(self, x):
        for index, layer in enumerate(self.layers):
            x = torch.relu(layer(x)) + x
            if index % 5 == 0:
                x = x.reshape(x.shape[0], 2, -1).transpose(1, 2).reshape(x.shape)
        return x, x.sum(-1), x[:1]


class Cached(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(6, 6)
        self.register_buffer("cache", torch.zeros(5, 6))

    def forward(self, x, position):
        self.cache[position] = self.project(x)
        return torch.softmax(self.cache @ self.cache.T, -1)


def made(module):
    torch.manual_seed(3)
    return module().eval()


def values(results):
    return [result.numpy().copy() for result in (results if isinstance(results, tuple) else (results,))]


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("rows", [1, 2, 7])
def test_results_stay_when_the_function_is_called_again(rows):
    module = made(Layers)
    compiled = weft.compile(module, mode="reduce-overhead", fullgraph=True)
    kept, expected = [], []
    with torch.no_grad():
        for call in range(5):
            x = torch.sin(torch.arange(rows * 8).reshape(rows, 8) * (call + 1.0))
            kept.append(compiled(x))
            expected.append(values(module(x)))
    for results, each in zip(kept, expected, strict=True):
        assert_same(values(results), each)


def test_a_result_that_is_an_argument_of_the_next_call():
    module = made(Layers)
    compiled = weft.compile(module, mode="reduce-overhead")
    x = y = torch.ones(2, 8) * 0.1
    with torch.no_grad():
        for _ in range(5):
            x, y = compiled(x)[0] * 0.01, module(y)[0] * 0.01
    assert_same(values(x), values(y))


def test_results_that_the_program_changes():
    module = made(Layers)
    compiled = weft.compile(module, mode="reduce-overhead")
    x = torch.ones(2, 8)
    with torch.no_grad():
        expected = values(module(x))
        for _ in range(4):
            result, total, first = compiled(x)
            assert_same(values((result, total, first)), expected)
            result.fill_(7.0)
            assert first.tolist() == [[7.0] * 8]  # a view of it, as without compiling
            total.zero_()


@pytest.mark.parametrize("dynamic", [None, True, False])
def test_sizes_in_turn(dynamic):
    module = made(Layers)
    compiled = weft.compile(module, mode="reduce-overhead", dynamic=dynamic)
    with torch.no_grad():
        for rows in (2, 2, 3, 2, 3, 3, 1, 1, 1, 4, 5, 2):
            x = torch.cos(torch.arange(rows * 8).reshape(rows, 8) * 1.0)
            assert_same(values(compiled(x)), values(module(x)))


def test_weights_that_change_between_calls():
    module = made(Layers)
    compiled = weft.compile(module, mode="reduce-overhead")
    x = torch.ones(2, 8)
    with torch.no_grad():
        for call in range(12):
            assert_same(values(compiled(x)), values(module(x)))
            if call % 3 == 2:
                module.layers[call].weight.mul_(0.5)
            if call == 7:
                module.layers[4].bias = nn.Parameter(torch.ones(8))


def test_buffers_that_the_program_writes():
    module, other = made(Cached), made(Cached)
    compiled = weft.compile(module, mode="reduce-overhead", fullgraph=True)
    with torch.no_grad():
        kept, expected = [], []
        for call in range(7):
            x, position = torch.arange(6) * 0.1 + call, torch.tensor(call % 5)
            kept.append(compiled(x, position))
            expected.append(values(other(x, position)))
            assert_same(values(module.cache), values(other.cache))
    for result, each in zip(kept, expected, strict=True):
        assert_same(values(result), each)


def test_an_error_in_between():
    def pick(table, index):
        doubled = (table + table).reshape(-1)
        return torch.relu(doubled[index]).sum(), doubled[:2]

    compiled = weft.compile(pick, mode="reduce-overhead")
    table = torch.arange(6.0).reshape(2, 3)
    results = []
    for last in (5, 3, 12, 4, -13, 12, 1):
        index = torch.tensor([0, last])
        if not -12 <= last < 6:
            with pytest.raises((IndexError, RuntimeError)):
                compiled(table, index)
            continue
        results.append((compiled(table, index), values(pick(table, index))))
    for found, expected in results:
        assert_same(values(found), expected)


def test_a_call_within_a_call():
    inner = weft.compile(lambda x: torch.tanh(x @ x.T).sum(0) * 2, mode="reduce-overhead")

    def outer(x, depth):
        y = torch.sin(x) @ x.T
        print(end="")  # the graph ends here
        return (outer_compiled(y, depth - 1) if depth else inner(y)) + y.mean()

    outer_compiled = weft.compile(outer, mode="reduce-overhead")

    def plain(x, depth):
        y = torch.sin(x) @ x.T
        return (plain(y, depth - 1) if depth else torch.tanh(y @ y.T).sum(0) * 2) + y.mean()

    x = torch.arange(9.0).reshape(3, 3) / 9
    for _ in range(4):
        assert_same(values(outer_compiled(x, 2)), values(plain(x, 2)))


def test_several_threads_from_the_first_call_on():
    module = made(Layers)
    compiled = weft.compile(module, mode="reduce-overhead")
    start, wrong = threading.Barrier(4), []

    def work(number):
        x = torch.sin(torch.arange(16).reshape(2, 8) * (number + 1.0))
        with torch.no_grad():
            expected = values(module(x))
            start.wait(60)
            kept = [compiled(x) for _ in range(20)]
        try:
            for results in kept:
                assert_same(values(results), expected)
        except AssertionError as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong[0]


# Run as a program that imports torch: its steps plain and prepared, results of all calls compared at the end.
STEPS = """
import importlib, sys
import torch

for name in sys.argv[1:]:
    torch.manual_seed(0)
    step, inputs = importlib.import_module(name).build()
    prepared = torch.compile(step, mode="reduce-overhead")
    with torch.no_grad():
        expected = step(*inputs)
        found = [prepared(*inputs) for _ in range(4)]
    as_tuple = lambda results: results if isinstance(results, (tuple, list)) else (results,)
    for each in found:
        for one, other in zip(as_tuple(each), as_tuple(expected), strict=True):
            torch.testing.assert_close(one, other, rtol=2e-4, atol=2e-5)
"""


def test_steps_of_programs():
    names = ["bert", "convnext", "graph", "llama", "swin", "tagger", "unet"]
    folders = [str(PROGRAMS), *filter(None, [os.environ.get("PYTHONPATH")])]
    ran = subprocess.run(
        [sys.executable, "-m", "weft.torch", "-c", STEPS, *names],
        capture_output=True,
        text=True,
        timeout=600,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
