"""What the TorchScript interpreter costs per operator: loops of tiny operators, weft beside PyTorch.

WEFT_TORCH_PYTHON names a Python that has torch; it writes the archives that both run. Prints nanoseconds per
operator (the least of several runs), and PyTorch's time divided by weft's.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROUNDS = 25
LOOPS = 2_500  # of four operators each

# Name: (class attributes, body of the loop, operators in it). `x` and `y` are tensors, `total` an int, `f` a float.
CASES = {
    "tensor x + 1, * 2, relu, - y": ("x = x + 1\nx = x * 2\nx = torch.relu(x)\nx = x - y", 4),
    "tensor + tensor": ("x = x + y\nx = x - y\nx = x + y\nx = x - y", 4),
    "tensor in place": ("x.add_(1)\nx.mul_(0.5)\nx.add_(y)\nx.relu_()", 4),
    "tensor compare, where": ("m = x > 0\nx = torch.where(m, x, y)\nm = x < 3\nx = torch.where(m, x, y)", 4),
    "tensor sigmoid, tanh, clamp, neg": ("x = torch.sigmoid(x)\nx = torch.tanh(x)\nx = torch.clamp(x, -1.0, 1.0)\nx = -x", 4),
    "tensor view, unsqueeze, t, select": ("x = x.view(-1)\nx = x.unsqueeze(0)\nx = x.t()\nx = x.select(1, 0)", 4),
    "tensor sum, item, + float": ("x = x * 0.5\nf = f + float(x.sum().item())", 4),
    "tensor cat, slice": ("x = torch.cat([x, y])\nx = x[2:6]", 2),
    "tensor stack, index": ("x = torch.stack([x, y])\nx = x[i % 2]", 3),
    "tensor zeros, size": ("x = torch.zeros([4])\ntotal += x.size(0)\nx = torch.ones_like(x)\ntotal += x.dim()", 6),
    "tensor matmul": ("x = torch.matmul(self.w, x)\nx = torch.matmul(x, self.w)", 2),
    "tensor linear": ("x = torch.nn.functional.linear(x, self.w, y)", 1),
    "tensor softmax, mean": ("x = torch.softmax(x, 0)\nx = x + x.mean(0)", 3),
    "tensor argmax, masked_fill": ("total += int(x.argmax())\nx = x.masked_fill(x > 1, 0.5)", 4),
    "int arithmetic": ("total = total + i\ntotal = total * 3\ntotal = total % 1001\ntotal = total - 1", 4),
    "float arithmetic": ("f = f + 1.5\nf = f * 0.5\nf = f - 0.25\nf = f / 1.5", 4),
    "branch": ("if total > 10:\n    total -= 7\nelse:\n    total += 3\nif i % 2 == 0:\n    total += 1", 6),
    "list append, index": ("items.append(i)\ntotal += items[i]\nitems[i] = total\ntotal += len(items)", 6),
    "dict": ('table["a"] = i\ntotal += table["a"]\nif "b" in table:\n    total += 1\ntable["b"] = total', 6),
    "string": ('s = "a" + str(i)\nif s == "a7":\n    total += 1', 4),
    "tuple": ("p = (i, total)\ni2, t2 = p\ntotal = i2 + t2 - p[0]", 5),
    "method call": ("total = self.step(total)\ntotal = self.step(total)", 6),
    "method of tensors": ("x = self.twice(x)", 2),
    "attribute": ("self.n = self.n + 1\ntotal += self.n", 4),
    "while, break": ("while True:\n    total += 1\n    if total % 3 == 0:\n        break", 5),
}  # fmt: skip


def source(body):
    lines = "\n".join("            " + line for line in body.splitlines())
    return f"""
import torch
from typing import Dict, List, Tuple

class Case(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 0
        self.w = torch.eye(4) / 2

    def step(self, k: int) -> int:
        if k % 5 == 4:
            return k - 3
        return k + 1

    def twice(self, x: torch.Tensor) -> torch.Tensor:
        return (x + 1) * 0.5

    def forward(self, x: torch.Tensor, y: torch.Tensor, n: int) -> Tuple[torch.Tensor, int, float]:
        x = x.clone()
        total = 0
        f = 0.0
        items: List[int] = []
        table: Dict[str, int] = {{}}
        for i in range(n):
{lines}
        return x, total, f
"""


def write_archives(folder):
    import importlib.util

    import torch

    for index, (body, _) in enumerate(CASES.values()):
        path = folder / f"case{index}.py"
        path.write_text(source(body))
        spec = importlib.util.spec_from_file_location(f"case{index}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        torch.jit.script(module.Case().eval()).save(str(folder / f"case{index}.pt"))


def run_torch(folder):
    import torch

    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    inputs = torch.tensor([0.5, -1.0, 2.0, 3.0]), torch.tensor([0.25, 1.0, -2.0, 0.5])
    return measure(lambda path: torch.jit.load(path), inputs, folder)


def run_weft(folder):
    import weft

    weft.set_num_threads(1)
    inputs = weft.tensor([0.5, -1.0, 2.0, 3.0]), weft.tensor([0.25, 1.0, -2.0, 0.5])
    return measure(lambda path: weft.jit.load(path), inputs, folder)


def measure(load, inputs, folder):
    """Nanoseconds per operator and the results, by case."""
    times, results = [], []
    for index, (_, count) in enumerate(CASES.values()):
        module = load(str(folder / f"case{index}.pt"))
        x, total, f = module(*inputs, 3)
        results.append([x.tolist(), total, f])
        for _ in range(2):
            module(*inputs, LOOPS)
        rounds = []
        for _ in range(ROUNDS):
            begin = time.process_time_ns()
            module(*inputs, LOOPS)
            rounds.append((time.process_time_ns() - begin) / (LOOPS * count))
        times.append(min(rounds))
    return {"times": times, "results": results}


def worker(python, engine, folder):
    command = [python, __file__, "--engine", engine, "--folder", str(folder)]
    environment = {name: value for name, value in os.environ.items() if name != "WEFT_TORCH_PYTHON"}
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment).stdout)


def close(a, b):
    if isinstance(a, list):
        return len(a) == len(b) and all(close(x, y) for x, y in zip(a, b, strict=True))
    return abs(a - b) <= 1e-6 * max(1, abs(b))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--engine", choices=["write", "torch", "weft"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=pathlib.Path, help="where the archives are kept")
    parser.add_argument("--json", type=pathlib.Path, help="also writes the figures to this file")
    options = parser.parse_args()
    if options.engine:
        engines = {"write": write_archives, "torch": run_torch, "weft": run_weft}
        print(json.dumps(engines[options.engine](options.folder)))
        return
    torch_python = os.environ.get("WEFT_TORCH_PYTHON")
    if not torch_python:
        sys.exit("script_overhead: WEFT_TORCH_PYTHON must name a Python that has torch")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or pathlib.Path(temporary)
        folder.mkdir(exist_ok=True)
        worker(torch_python, "write", folder)
        theirs, ours = worker(torch_python, "torch", folder), worker(sys.executable, "weft", folder)
    rows = []
    for index, name in enumerate(CASES):
        a, b = ours["times"][index], theirs["times"][index]
        same = close(ours["results"][index], theirs["results"][index])
        rows.append({"case": name, "weft_ns": a, "torch_ns": b, "ratio": b / a, "same_results": same})
    print(f"{'ns per operator':36} {'weft':>9} {'torch':>9} {'torch/weft':>11}")
    for row in rows:
        note = "" if row["same_results"] else "  RESULTS DIFFER"
        print(f"{row['case']:36} {row['weft_ns']:9.1f} {row['torch_ns']:9.1f} {row['ratio']:10.1f}x{note}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
