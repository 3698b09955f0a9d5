"""torch.set_flush_denormal: what the thread computes, alone or with others, takes subnormal numbers for zero."""

import threading

import numpy as np
import pytest
import weft
import weft.torch as torch

SUBNORMAL = 1e-310
OPERATIONS = {
    "multiplication": lambda x: x * 1.0,
    "sum of two": lambda x: x + x,
    "result": lambda x: torch.full_like(x, 1e-300) * 1e-10,
    "division": lambda x: x / 2,
    "square root": lambda x: torch.sqrt(x),
    "sum": lambda x: x.sum(),
    "product": lambda x: x.reshape(1, -1) @ torch.ones(x.numel(), 2, dtype=torch.float64),
    "compiled": weft.compile(lambda x: x * 0.5 + 0.0),
}


@pytest.fixture(autouse=True)
def settings():
    threads = weft.get_num_threads()
    yield
    torch.set_flush_denormal(False)
    weft.set_num_threads(threads)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("count", [4, 1_000_000])
@pytest.mark.parametrize("name", OPERATIONS)
def test_operations(name, count, threads):
    weft.set_num_threads(threads)
    x = torch.full((count,), SUBNORMAL, dtype=torch.float64)
    before = OPERATIONS[name](x)
    assert torch.set_flush_denormal(True) is True
    flushed = OPERATIONS[name](x)
    assert torch.set_flush_denormal(False) is True
    after = OPERATIONS[name](x)
    assert (before.numpy() != 0).all()
    assert (flushed.numpy() == 0).all()
    np.testing.assert_array_equal(after.numpy(), before.numpy())


def test_threads_that_run_already_keep_theirs():
    found, is_set = [], threading.Event()

    def multiply():
        is_set.wait()
        found.append(torch.full((10,), SUBNORMAL, dtype=torch.float64) * 1.0)

    other = threading.Thread(target=multiply)
    other.start()
    torch.set_flush_denormal(True)
    is_set.set()
    other.join()
    torch.set_flush_denormal(False)
    assert (found[0].numpy() != 0).all()


@pytest.mark.parametrize("mode", [1, 0, None, "on", 1.0])
def test_only_bools(mode):
    with pytest.raises(TypeError, match="set_flush_denormal expects a bool, but got"):
        torch.set_flush_denormal(mode)
