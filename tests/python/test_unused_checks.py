"""NumPy raises where an operation cannot be done, also where nobody uses its result."""

import numpy as np
import pytest
import weft


def reads(x):
    x[[3, 99]]
    return x * 2


def takes(x):
    np.take(x, [3, 99], axis=0)
    return x * 2


def reads_by_values(x):
    x[(x[:, 0] * 99).astype(int)]
    return x * 2


def along_axis(x):
    np.take_along_axis(x, np.full_like(x, 99, dtype=int), 0)
    return x * 2


def writes(x):
    y = x * 2
    y[[1, 99]] = 1
    return x


def only_reads(x):
    x[[99]]
    x += 1


def rounds(x):
    np.round(x > 1, 1)
    return x * 2


def accumulates_a_scalar(x):
    np.maximum.accumulate(x[0, 0])
    return x * 2


@pytest.mark.parametrize("interpret", ["0", "1"])
@pytest.mark.parametrize(
    "function",
    [reads, takes, reads_by_values, along_axis, writes, only_reads, rounds, accumulates_a_scalar],
)
def test_unused_results_are_checked(function, interpret, monkeypatch):
    monkeypatch.setenv("WEFT_INTERPRET", interpret)
    monkeypatch.setenv("WEFT_KERNEL_OPTIMIZATION", "0")
    with pytest.raises(Exception) as expected:
        function(np.ones((5, 4)) * 2)
    x = np.ones((5, 4)) * 2
    with pytest.raises(expected.type) as raised:
        weft.compile(function)(x)
    assert str(raised.value) == str(expected.value)
    assert (x == 2).all()
