"""amax and amin of rows of every length: what one register, several, a block and a part of a thread hold, with NaN at each place."""

import numpy as np
import pytest
import weft.torch as torch

DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.int64, torch.int16]
LENGTHS = [1, 15, 63, 64, 65, 127, 512, 513, 1023, 1024, 1025, 2049, 32767, 32768, 32769, 70001]


def values(length, dtype, rows=1):
    numbers = np.random.default_rng(length).permutation(rows * length) % 30011 - 15000
    return torch.tensor(numbers).reshape(rows, length).to(dtype)


def check_extremes(x, dim=None):
    wide = x.double().numpy()
    for function, reference in ((torch.amax, np.max), (torch.amin, np.min)):
        found = function(x) if dim is None else function(x, dim)
        assert found.dtype == x.dtype
        np.testing.assert_array_equal(found.double().numpy(), reference(wide, axis=dim))


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_length(length, dtype):
    x = values(length, dtype)[0]
    check_extremes(x)
    check_extremes(values(length, dtype, rows=3), 1)
    for at in {0, 1, length // 2, length - 1}:
        greatest = x.clone()
        greatest[at % length] = 16000
        check_extremes(greatest)
        if dtype.is_floating_point:
            greatest[at % length] = float("nan")
            assert torch.isnan(greatest.amax()) and torch.isnan(greatest.amin())
            rows = values(length, dtype, rows=3)
            rows[1, at % length] = float("nan")
            check_extremes(rows, 1)
            rows[0, -1], rows[2, 0] = float("inf"), -float("inf")
            check_extremes(rows, 1)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_rows_that_lie_apart_or_turned(dtype):
    for length in (1000, 2049, 33000):
        x = values(2 * length, dtype, rows=4)
        for view in (x[:, :length], x[:, 3 : length + 3], x[:, ::2], x[1:, 1:], x.t(), x[::2]):
            check_extremes(view, 1)
            check_extremes(view)
        if dtype.is_floating_point:
            x[2, length // 2] = float("nan")
            check_extremes(x[:, :length], 1)
            check_extremes(x[:, ::2], 1)
            check_extremes(x[:, 7:])


def test_threads_give_the_same():
    before = torch.get_num_threads()
    x = torch.randn(300_000)
    x[::3] = 0.0
    try:
        found = []
        for threads in (1, 2, 5):
            torch.set_num_threads(threads)
            found.append((x.amax().item(), x.amin().item(), x.view(3, -1).amax(1).tolist()))
    finally:
        torch.set_num_threads(before)
    assert found[0] == found[1] == found[2]
