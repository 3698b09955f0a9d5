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


def cast(x, mask: torch.Tensor = None):
    return x.long(), x.bool(), x.double() / 3, x.half().float()


def as_square(x, size: Optional[List[int]] = None):
    if size is None:
        size = 3, 4
    return x.reshape(size[0], size[1])


def drawn(x):
    return (torch.rand(2, 6) < 1) & (x >= 0)


@pytest.mark.parametrize(
    "function, arguments",
    [
        (split_by_sizes, ([1, 2, 3],)),
        (chosen, ()),
        (chosen, (torch.tensor([4, 0]),)),
        (cast, ()),
        (as_square, ()),
        (as_square, ([6, 2],)),
        (drawn, ()),
    ],
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


class Chosen(nn.Module):
    """Its forward is a method that __init__ chooses."""

    def __init__(self, doubles, layer):
        super().__init__()
        self.layer = layer
        self.forward = self.double if doubles else self.triple

    def double(self, x):
        return x * 2 if isinstance(self.layer, nn.Identity) else self.layer(x * 2)

    def triple(self, x):
        return x * 3 if isinstance(self.layer, (nn.Identity, nn.Dropout)) else x


def test_forward_is_what_the_object_says_and_classes_are_known():
    for chosen in (Chosen(True, nn.Identity()), Chosen(False, nn.ReLU()), Chosen(True, nn.ReLU())):
        torch.testing.assert_close(torch.jit.script(chosen)(X - 3), chosen(X - 3))
