"""Reshapes in captured functions whose sizes change: a view where PyTorch gives one, a copy where it copies."""

import itertools

import pytest
import weft
import weft.torch as torch

LAYOUTS = {
    "transposed": lambda a, b: torch.arange(a * b).reshape(b, a).t(),
    "expanded rows": lambda a, b: torch.arange(b).expand(a, b),
    "expanded columns": lambda a, b: torch.arange(a).reshape(a, 1).expand(a, b),
    "part": lambda a, b: torch.arange(a * (b + 1)).reshape(a, b + 1)[:, :b],
    "every other row": lambda a, b: torch.arange(2 * a * b).reshape(2 * a, b)[::2],
    "permuted": lambda a, b: torch.arange(a * b * 2).reshape(a, 2, b).permute(0, 2, 1),
}
TARGETS = {
    "rows": lambda x, n: x.reshape(n, -1),
    "columns": lambda x, n: x.reshape(-1, n),
    "flat": lambda x, n: x.reshape(-1),
    "flattened": lambda x, n: x.flatten(),
    "as it is": lambda x, n: x.reshape(x.shape),
    "between": lambda x, n: x.reshape(x.shape[0], -1, n),
}


def written(reshaped, x, n):
    y = reshaped(x, n)
    x *= -1
    return y


def returned(reshaped, x, n):
    return reshaped(x, n)


# PyTorch writes to no tensor whose elements lie on one another.
CASES = [(layout, returned) for layout in LAYOUTS] + [
    (layout, written) for layout in LAYOUTS if "expand" not in layout
]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("layout", "program"), CASES)
def test_views_and_copies(layout, target, program):
    compiled = weft.compile(program, dynamic=True)
    sizes = [
        (a, b, n)
        for a, b, n in itertools.product((1, 2, 4, 6), (1, 2, 3, 4), (1, 2, 4))
        if a * b % (a * n if target == "between" else n) == 0
    ]
    for a, b, n in sizes[::3] + sizes[1::3] + sizes[2::3] + sizes[::-1]:
        outcomes = []
        for call in (program, compiled):
            x = LAYOUTS[layout](a, b)
            y = call(TARGETS[target], x, n)
            strides = [stride for stride, size in zip(y.stride(), y.shape, strict=True) if size > 1]
            outcomes.append((y.tolist(), y.shape, strides, y.data_ptr() == x.data_ptr(), x.tolist()))
        assert outcomes[0] == outcomes[1], (a, b, n)
