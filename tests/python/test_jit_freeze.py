"""What a frozen module computes of its constants once, and what it must compute at each call."""

import os
import subprocess
import sys
from typing import List

import numpy as np
import pytest
import weft
from weft import nn


class Table(nn.Module):
    def __init__(self, size: int = 6):
        super().__init__()
        self.size = size
        self.table = nn.Parameter(
            weft.tensor(np.linspace(-1, 1, (2 * size - 1) * 4, dtype=np.float32).reshape(-1, 4))
        )
        self.register_buffer(
            "between", weft.tensor([[i - j + size - 1 for j in range(size)] for i in range(size)])
        )
        self.register_buffer("chosen", weft.tensor([i % 3 == 0 for i in range(2 * size - 1)]))


class Looks(Table):
    def forward(self, x):
        return x @ self.table[self.between].transpose(1, 2)


class Chooses(Table):
    def forward(self, x):
        return x * self.table[self.chosen].sum()


class Returns(Table):
    def forward(self, x):
        return self.table[self.between]


class ReturnsView(Table):
    def forward(self, x):
        return (self.table * 2).t()


class WritesToIt(Table):
    def forward(self, x):
        y = self.table * 2
        y.add_(1)
        return x.sum() + y.sum()


class WritesThroughAView(Table):
    def forward(self, x):
        y = self.table * 2
        y.view(-1)[0] += 3
        return x.sum() + y.sum()


class KeepsInAList(Table):
    def forward(self, x) -> List[weft.Tensor]:
        return [self.table * 2, x]


class WritesInABranch(Table):
    def forward(self, x):
        y = self.table + 1
        if bool(x.sum() > 0):
            y[0] += 1
        return y.sum() + x.sum()


class Expands(Table):
    def forward(self, x):
        return (self.table[0].unsqueeze(0).expand(3_000_000, 4) + 0.0)[:2] * x.sum()


class Fails(Table):
    def forward(self, x):
        if bool(x.sum() > 0):
            return self.table @ self.table
        return x


def frozen_of(kind):
    module = weft.jit.script(kind().eval())
    return module, weft.jit.freeze(module)


@pytest.mark.parametrize(
    "kind", [Looks, Chooses, Returns, ReturnsView, WritesToIt, WritesThroughAView, KeepsInAList, WritesInABranch, Expands]
)  # fmt: skip
def test_results_are_those_of_the_module(kind):
    module, frozen = frozen_of(kind)
    for optimized in (frozen, weft.jit.optimize_for_inference(frozen)):
        for shape in ((6, 2, 4), (6, 1, 4), (6, 2, 4), (6, 2, 4)):
            x = weft.ones(shape)
            given, expected = optimized(x), module(x)
            if not isinstance(given, list):
                given, expected = [given], [expected]
            for a, b in zip(given, expected, strict=True):
                np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5)
                a.add_(1)  # the caller's own


@pytest.mark.parametrize(
    "kind, once",
    [(Looks, True), (Chooses, True), (Returns, False), (WritesThroughAView, False), (Expands, False)],
)
def test_what_is_computed_once(kind, once):
    module, frozen = frozen_of(kind)
    name = {Looks: "index", Chooses: "index", Returns: "index", WritesThroughAView: "mul", Expands: "expand"}[
        kind
    ]
    assert f"torch.{name}(" in module.code and (f"torch.{name}(" not in frozen.code) == once


def test_errors_come_when_they_are_reached():
    module, frozen = frozen_of(Fails)
    assert frozen(-weft.ones(2)).tolist() == [-1, -1]
    with pytest.raises(RuntimeError, match="matmul"):
        frozen(weft.ones(2))


def test_relative_positions_become_attention(tmp_path):
    """A frozen image encoder's attention: tables that are looked up are constants, so the formula is in one graph."""
    program = """
import numpy as np, weft
from weft import nn

class Attention(nn.Module):
    def __init__(self, size: int, heads: int):
        super().__init__()
        self.size, self.heads = size, heads
        self.qkv = nn.Linear(16, 48)
        self.down, self.across = (nn.Parameter(weft.ones(2 * size - 1, 16 // heads) * k) for k in (0.1, 0.2))
        self.register_buffer("between", weft.tensor([[i - j + size - 1 for j in range(size)] for i in range(size)]))

    def forward(self, x):
        b, s = x.shape[0], self.size
        qkv = self.qkv(x).reshape(b, s * s, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.reshape(3, b * self.heads, s * s, -1).unbind(0)
        scores = (q * 0.5) @ k.transpose(-2, -1)
        places = q.reshape(b * self.heads, s, s, -1)
        down = weft.einsum("bhwc,hkc->bhwk", places, self.down[self.between])
        across = weft.einsum("bhwc,wkc->bhwk", places, self.across[self.between])
        scores = (scores.view(-1, s, s, s, s) + down[:, :, :, :, None] + across[:, :, :, None, :]).view(-1, s * s, s * s)
        return scores.softmax(dim=-1) @ v

module = weft.jit.script(Attention(6, 2).eval())
fast = weft.jit.optimize_for_inference(module)
x = weft.tensor(np.random.default_rng(0).standard_normal((2, 6, 6, 16)).astype(np.float32))
for _ in range(3):
    np.testing.assert_allclose(fast(x).numpy(), module(x).numpy(), atol=1e-5)
"""
    file = tmp_path / "program.py"
    file.write_text(program)
    done = subprocess.run(
        [sys.executable, str(file)], env=os.environ | {"WEFT_LOGS": "fusion"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "relative_position_attention is an operator call" in done.stderr
