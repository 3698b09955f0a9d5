"""Programs that bench/torchscript.py has PyTorch script: what they cost is the runtime, not the arithmetic."""

import torch
from torch import Tensor

OPERATORS = 10_000  # of one call of TinyOperators
TASKS = 8  # of one call of ForkMany


class TinyOperators(torch.nn.Module):
    """10,000 operators on tensors of four elements."""

    def forward(self, x: Tensor, y: Tensor, n: int):
        for _ in range(n // 4):
            x = torch.relu(x + y)
            x = x * y
            x = x - y
        return x


class TinyIntegers(torch.nn.Module):
    """10,000 operators on integers: the interpreter alone."""

    def forward(self, x: Tensor, n: int):
        total = 1
        for i in range(n // 4):
            total = (total * 3 + i) % 1000003 - 1
        return x + total


class ForkMany(torch.nn.Module):
    """Eight equal tasks of some milliseconds, each one operator after the other."""

    def task(self, x: Tensor, w: Tensor):
        for _ in range(60):
            x = torch.tanh(torch.matmul(x, w))
        return x

    def forward(self, x: Tensor, w: Tensor):
        futures: list[torch.jit.Future[Tensor]] = []
        for _ in range(8):
            futures.append(torch.jit.fork(self.task, x, w))
        results: list[Tensor] = []
        for future in futures:
            results.append(torch.jit.wait(future))
        return torch.stack(results).sum(0)


def scripted():
    modules = {"tiny_operators": TinyOperators(), "tiny_integers": TinyIntegers(), "fork_many": ForkMany()}
    return [(name, torch.jit.script(module.eval())) for name, module in modules.items()]
