"""torch.jit.script of programs that say torch's names."""

import warnings
from typing import List, Optional

import pytest
import weft.torch as torch
from weft.torch import nn
from weft.torch.linalg import svdvals

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


def contracted(x):
    y = x.reshape(2, 3, 2)
    one = torch.tensordot(y, y, dims=([0, 2], [2, 0]), out=None)
    return one, torch.tensordot(x, x.t(), dims=1), torch.tensordot(x, x), torch.tensordot(y, x, [[2], [0]])


def norms(x):
    one = torch.norm(x), torch.norm(x, "fro", 1), torch.norm(x, p="nuc"), torch.norm(x, p=1.0, dim=[0, 1])
    return (
        *one,
        torch.norm(x, 3.0, 1, True),
        torch.norm(x, p=2, dim=0, dtype=torch.float64),
        torch.norm(x, float("inf")),
    )


def unique_rows(x):
    y = (x // 4).int()
    values, inverse = torch.unique(y, return_inverse=True)
    _, counts = torch.unique(y, return_counts=True)
    return torch.unique(y), values, inverse, counts


def unique_along(x):
    return torch.unique((x // 4).int(), return_inverse=True, return_counts=True, dim=1)


def runs(x):
    y = (x // 4).int()
    values, inverse = torch.unique_consecutive(y, return_inverse=True)
    _, counts = torch.unique_consecutive(y, return_counts=True)
    return torch.unique_consecutive(y), values, inverse, counts


def runs_along(x):
    return torch.unique_consecutive((x // 4).int(), return_inverse=True, return_counts=True, dim=1)


def names_of_namespaces(x):
    one = torch.linalg.norm(x), torch.linalg.vector_norm(x, 1.0), torch.linalg.matrix_norm(x), svdvals(x)
    return (*one, torch.fft.fft(x).abs(), torch.fft.irfft(torch.fft.rfft(x)), torch.special.expit(x))


def not_unique(x):
    return torch.unique(x, return_inverse=False)


def test_flags_of_unique_are_true_in_scripts():
    with pytest.raises(torch.jit.Error, match="a flag that a script gives is True"):
        torch.jit.script(not_unique)(X)


def contracted_into(x):
    return torch.tensordot(x, x, 2, out=x)


def test_tensordot_writes_nothing_in_scripts():
    with pytest.raises(torch.jit.Error, match="copy_\\(\\) the result"):
        torch.jit.script(contracted_into)(X)


@pytest.mark.parametrize(
    "function, arguments",
    [
        (contracted, ()),
        (norms, ()),
        (unique_rows, ()),
        (unique_along, ()),
        (runs, ()),
        (runs_along, ()),
        (names_of_namespaces, ()),
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


def placed(x):
    if x.device == torch.device("cpu"):
        return torch.zeros(2, dtype=x.dtype, device=torch.device("cpu"))
    return x


def warned(x, tell: bool):
    if tell:
        warnings.warn("of the program")
    return x


def test_devices_and_warnings(capfd):
    assert torch.equal(torch.jit.script(placed)(X.double()), torch.zeros(2, dtype=torch.float64))
    scripted = torch.jit.script(warned)
    assert torch.equal(scripted(X, False), X) and capfd.readouterr().err == ""
    assert torch.equal(scripted(X, True), X) and "of the program" in capfd.readouterr().err
