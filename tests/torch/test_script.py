"""torch.jit.script of programs that say torch's names."""

from typing import List, Optional

import pytest
import weft.torch as torch
from weft.torch import nn

X = torch.arange(12.0).reshape(2, 6)


def split_by_sizes(x, sizes: List[int]):
    return torch.split(x, sizes, dim=-1)


def chosen(x, index: Optional[torch.Tensor] = None):
    torch._assert(x.ndim == 2, f"expected 2D input, got {x.ndim}D")
    return torch.softmax(x, dim=-1) if index is None else torch.index_select(x, 1, index)


@pytest.mark.parametrize(
    "function, arguments",
    [(split_by_sizes, ([1, 2, 3],)), (chosen, ()), (chosen, (torch.tensor([4, 0]),))],
)
def test_functions(function, arguments):
    expected, found = function(X, *arguments), torch.jit.script(function)(X, *arguments)
    for one, other in zip(
        *(each if isinstance(each, (list, tuple)) else [each] for each in (expected, found))
    ):
        torch.testing.assert_close(other, one)


class CountingNorm(nn.BatchNorm1d):
    def forward(self, x):
        if self.training and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
        return nn.functional.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias)


@pytest.mark.parametrize("tracked", [True, False])
def test_a_norm_s_buffers_are_tensors_or_none(tracked):
    norm = torch.jit.script(CountingNorm(6, track_running_stats=tracked))
    if tracked:
        norm(X)
        assert norm.num_batches_tracked.item() == 1
    else:
        assert norm.num_batches_tracked is None
    torch.testing.assert_close(torch.jit.script(nn.BatchNorm1d(6).eval())(X), X, atol=1e-4, rtol=1e-4)
