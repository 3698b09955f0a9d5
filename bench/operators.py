"""Times eager operators on 512 x 1024 float32 (or as said): weft's beside PyTorch's, in one run, one after the other.

python bench/operators.py [--torch PATH/python] [--threads 1] [--json FILE] [NAME ...]

PATH/python is a Python that has PyTorch; without it weft alone is measured. Medians, in microseconds.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

# Operands: x, y of 512 x 1024; p positive, u in (-1, 1), i of int64, b of bool, h of bfloat16, s of 8 x 16.
UNARY = (
    "abs neg exp exp2 expm1 log log1p log2 sqrt rsqrt sin cos tan asin acos atan sinh cosh tanh asinh atanh erf erfc "
    "lgamma digamma sigmoid floor round trunc frac sign reciprocal square relu isnan"
).split()
ON_UNIT = {"asin", "acos", "atanh"}
POSITIVE = {"log", "log1p", "log2", "sqrt", "rsqrt", "lgamma", "digamma", "reciprocal"}
FUNCTIONAL = (
    "gelu silu elu selu softplus mish hardswish hardsigmoid leaky_relu relu6 logsigmoid softsign tanhshrink celu"
).split()
CASES = {
    name: f"torch.{name}({'u' if name in ON_UNIT else 'p' if name in POSITIVE else 'x'})" for name in UNARY
}
CASES |= {name: f"F.{name}(x)" for name in FUNCTIONAL}
CASES |= {name: f"torch.{name}(x, y)" for name in "add sub mul div maximum minimum atan2 fmod lt eq".split()}
CASES |= {
    "gelu tanh": "F.gelu(x, approximate='tanh')",
    "pow": "torch.pow(p, y)",
    "pow 2.5": "torch.pow(p, 2.5)",
    "add number": "x + 1.5",
    "add row": "x + y[0]",
    "where": "torch.where(b, x, y)",
    "clamp": "torch.clamp(x, -0.5, 0.5)",
    "lerp": "torch.lerp(x, y, 0.3)",
    "addcmul": "torch.addcmul(x, y, p, value=0.5)",
    "to bf16": "x.to(torch.bfloat16)",
    "from bf16": "h.to(torch.float32)",
    "bf16 add": "h + h",
    "bf16 gelu": "F.gelu(h)",
    "to int": "x.to(torch.int32)",
    "sum": "x.sum()",
    "sum rows": "x.sum(-1)",
    "sum columns": "x.sum(0)",
    "mean rows": "x.mean(-1)",
    "amax rows": "x.amax(-1)",
    "max rows": "x.max(-1)",
    "argmax rows": "x.argmax(-1)",
    "amax columns": "x.amax(0)",
    "prod rows": "x.prod(-1)",
    "any": "b.any()",
    "std rows": "x.std(-1)",
    "var rows": "x.var(-1)",
    "norm": "torch.linalg.vector_norm(x)",
    "norm rows": "torch.linalg.vector_norm(x, dim=-1)",
    "logsumexp": "torch.logsumexp(x, -1)",
    "softmax": "torch.softmax(x, -1)",
    "log_softmax": "torch.log_softmax(x, -1)",
    "softmax columns": "torch.softmax(x, 0)",
    "small softmax": "torch.softmax(s, -1)",
    "cumsum": "torch.cumsum(x, -1)",
    "layer_norm": "F.layer_norm(x, (1024,), y[0], y[1])",
    "rms_norm": "F.rms_norm(x, (1024,), y[0])",
    "group_norm": "F.group_norm(x.view(8, 64, 1024), 8)",
    "batch_norm": "F.batch_norm(x.view(8, 64, 32, 32), y[0, :64], p[0, :64])",
    "tril": "torch.tril(x)",
    "flip": "torch.flip(x, [1])",
    "roll": "torch.roll(x, 3, 1)",
    "repeat": "x.repeat(2, 2)",
    "cat": "torch.cat([x, y], 1)",
    "stack": "torch.stack([x, y])",
    "contiguous": "x.t().contiguous()",
    "clone": "x.clone()",
    "index rows": "x[i]",
    "gather": "torch.gather(x, 1, g)",
    "embedding": "F.embedding(i, x)",
    "one_hot": "F.one_hot(i, 1000)",
    "masked_fill": "x.masked_fill(b, 0.0)",
    "sort": "torch.sort(x, -1)",
    "topk": "torch.topk(x, 10)",
    "pad": "F.pad(x, (1, 1, 1, 1))",
    "matmul": "x @ w",
    "small matmul": "s @ s.t()",
    "linear": "F.linear(x, w.t(), y[0, :256])",
    "conv 3x3": "F.conv2d(c, k3, padding=1)",
    "conv 1x1": "F.conv2d(c, k1)",
    "max_pool": "F.max_pool2d(c, 2)",
    "avg_pool": "F.avg_pool2d(c, 2)",
    "interpolate": "F.interpolate(c, scale_factor=2.0, mode='bilinear')",
    "attention": "F.scaled_dot_product_attention(q, q, q)",
}


def operands(torch):
    torch.manual_seed(0)
    x, y = torch.randn(512, 1024), torch.randn(512, 1024)
    return {
        "x": x,
        "y": y,
        "p": x.abs() + 0.1,
        "u": torch.rand(512, 1024) * 1.9 - 0.95,
        "b": x > 0,
        "h": x.to(torch.bfloat16),
        "i": torch.randint(0, 512, (512,)),
        "g": torch.randint(0, 1024, (512, 1024)),
        "s": torch.randn(8, 16),
        "w": torch.randn(1024, 256),
        "c": torch.randn(1, 64, 56, 56),
        "k3": torch.randn(64, 64, 3, 3),
        "k1": torch.randn(128, 64, 1, 1),
        "q": torch.randn(1, 8, 128, 64),
    }


def measure(names, threads):
    """Runs in each process: answers each name read from standard input with its median in microseconds."""
    import torch
    import torch.nn.functional as F

    torch.set_num_threads(threads)
    scope = {**operands(torch), "torch": torch, "F": F}
    with torch.no_grad():
        for line in sys.stdin:
            code = compile(CASES[line.strip()], "<case>", "eval")
            try:
                for _ in range(3):
                    eval(code, scope)
                times = []
                end = time.perf_counter() + 0.15
                while len(times) < 5 or time.perf_counter() < end:
                    start = time.perf_counter()
                    eval(code, scope)
                    times.append(time.perf_counter() - start)
                print(json.dumps(statistics.median(times) * 1e6), flush=True)
            except Exception as error:
                print(json.dumps(f"{type(error).__name__}: {error}"[:100]), flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", default=list(CASES))
    parser.add_argument("--torch", help="a Python that has PyTorch; without it weft alone is measured")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        return measure(options.names, options.threads)
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": str(options.threads),
        "MKL_NUM_THREADS": str(options.threads),
    }
    sides = {"weft": [sys.executable, "-m", "weft.torch"]}
    if options.torch:
        sides["torch"] = [options.torch]
    workers = {
        side: subprocess.Popen(
            [*command, __file__, "--measure", "--threads", str(options.threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for side, command in sides.items()
    }
    found, ratios = {}, []
    for name in options.names:
        row = found[name] = {}
        for side, worker in workers.items():
            worker.stdin.write(name + "\n")
            worker.stdin.flush()
            row[side] = json.loads(worker.stdout.readline() or '"stopped"')
        line = f"{name:<18}" + "".join(
            f"{side} {t:>10.1f} us  " if isinstance(t, float) else f"{side}: {t}  " for side, t in row.items()
        )
        if len(row) == 2 and all(isinstance(t, float) for t in row.values()):
            ratios.append(row["weft"] / row["torch"])
            line += f"{ratios[-1]:>7.2f}{'  *' if ratios[-1] > 1.2 else ''}"
        print(line, flush=True)
    if ratios:
        print(
            f"{len(ratios)} operators, weft's time / PyTorch's: geometric mean {statistics.geometric_mean(ratios):.2f}, "
            f"largest {max(ratios):.2f}, {sum(ratio > 1.2 for ratio in ratios)} above 1.2"
        )
    if options.json:
        Path(options.json).write_text(
            json.dumps({"threads": options.threads, "microseconds": found}, indent=1)
        )


if __name__ == "__main__":
    main()
