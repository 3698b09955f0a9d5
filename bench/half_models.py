"""Times image and text encoders in bfloat16: weft beside PyTorch, eager and compiled, by turns in one run.

python bench/half_models.py [--torch PATH/python] [--threads 2] [--rounds 5] [--dtype bfloat16] [--json FILE] [NAME ...]

PATH/python is a Python that has PyTorch; without it weft alone is measured. Each way runs in a process of its own:
eager (`module.bfloat16()`), compiled (`torch.compile` of that), and for weft an archive (a float32 module, scripted,
then optimize_for_inference(dtype=bfloat16)). Medians over the rounds in milliseconds.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

NAMES = ["ResNet-50", "ViT-B/16", "BERT 4 x 256", "BERT base", "SAM blocks"]


def modules():
    """The modules, of whichever library is called torch here, with an example input each."""
    import torch
    import torch.nn as nn
    import torch.nn.functional as F

    class Bottleneck(nn.Module):
        def __init__(self, inputs, width, stride):
            super().__init__()
            self.conv1 = nn.Conv2d(inputs, width, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(width)
            self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(width)
            self.conv3 = nn.Conv2d(width, 4 * width, 1, bias=False)
            self.bn3 = nn.BatchNorm2d(4 * width)
            self.relu = nn.ReLU(inplace=True)
            self.downsample = nn.Identity()
            if stride != 1 or inputs != 4 * width:
                self.downsample = nn.Sequential(
                    nn.Conv2d(inputs, 4 * width, 1, stride, bias=False), nn.BatchNorm2d(4 * width)
                )

        def forward(self, x):
            y = self.relu(self.bn1(self.conv1(x)))
            y = self.relu(self.bn2(self.conv2(y)))
            return self.relu(self.bn3(self.conv3(y)) + self.downsample(x))

    class ResNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
            self.bn1 = nn.BatchNorm2d(64)
            self.relu = nn.ReLU(inplace=True)
            self.maxpool = nn.MaxPool2d(3, 2, 1)
            blocks, inputs = [], 64
            for width, count, stride in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
                for i in range(count):
                    blocks.append(Bottleneck(inputs, width, stride if i == 0 else 1))
                    inputs = 4 * width
            self.blocks = nn.Sequential(*blocks)
            self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
            self.fc = nn.Linear(inputs, 1000)

        def forward(self, x):
            x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
            return self.fc(torch.flatten(self.avgpool(self.blocks(x)), 1))

    class Attention(nn.Module):
        def __init__(self, dim: int, heads: int):
            super().__init__()
            self.heads = heads
            self.qkv = nn.Linear(dim, 3 * dim)
            self.proj = nn.Linear(dim, dim)

        def forward(self, x):
            b, n, c = x.shape
            qkv = self.qkv(x).reshape(b, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
            y = F.scaled_dot_product_attention(qkv[0], qkv[1], qkv[2])
            return self.proj(y.transpose(1, 2).reshape(b, n, c))

    class Block(nn.Module):
        """norm_first as in ViT; else as in BERT."""

        def __init__(self, dim: int, heads: int, norm_first: bool):
            super().__init__()
            self.norm_first = norm_first
            self.norm1, self.norm2 = nn.LayerNorm(dim, eps=1e-6), nn.LayerNorm(dim, eps=1e-6)
            self.attention = Attention(dim, heads)
            self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

        def mlp(self, x):
            return self.down(F.gelu(self.up(x)))

        def forward(self, x):
            if self.norm_first:
                x = x + self.attention(self.norm1(x))
                return x + self.mlp(self.norm2(x))
            x = self.norm1(x + self.attention(x))
            return self.norm2(x + self.mlp(x))

    class ViT(nn.Module):
        def __init__(self):
            super().__init__()
            self.patches = nn.Conv2d(3, 768, 16, 16)
            self.token = nn.Parameter(torch.zeros(1, 1, 768))
            self.positions = nn.Parameter(torch.zeros(1, 197, 768))
            self.blocks = nn.Sequential(*[Block(768, 12, True) for _ in range(12)])
            self.norm, self.head = nn.LayerNorm(768, eps=1e-6), nn.Linear(768, 1000)

        def forward(self, x):
            x = self.patches(x).flatten(2).transpose(1, 2)
            x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.positions
            return self.head(self.norm(self.blocks(x))[:, 0])

    class Bert(nn.Module):
        def __init__(self, layers: int, dim: int, heads: int):
            super().__init__()
            self.words, self.places = nn.Embedding(30522, dim), nn.Embedding(512, dim)
            self.norm = nn.LayerNorm(dim)
            self.blocks = nn.Sequential(*[Block(dim, heads, False) for _ in range(layers)])

        def forward(self, tokens):
            places = torch.arange(tokens.shape[1], device=tokens.device)
            return self.blocks(self.norm(self.words(tokens) + self.places(places)))

    class RelativeAttention(nn.Module):
        """Of Segment Anything: relative positions along both axes, added to the scores."""

        def __init__(self, dim: int, heads: int, side: int):
            super().__init__()
            self.heads, self.side = heads, side
            self.scale = (dim // heads) ** -0.5
            self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
            self.down = nn.Parameter(torch.zeros(2 * side - 1, dim // heads))
            self.across = nn.Parameter(torch.zeros(2 * side - 1, dim // heads))
            self.register_buffer(
                "between", torch.arange(side)[:, None] - torch.arange(side)[None, :] + side - 1
            )

        def forward(self, x):
            b, s, c = x.shape[0], self.side, x.shape[3]
            qkv = self.qkv(x).reshape(b, s * s, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            q, k, v = qkv.reshape(3, b * self.heads, s * s, -1).unbind(0)
            scores = (q * self.scale) @ k.transpose(-2, -1)
            places = q.reshape(b * self.heads, s, s, -1)
            down = torch.einsum("bhwc,hkc->bhwk", places, self.down[self.between])
            across = torch.einsum("bhwc,wkc->bhwk", places, self.across[self.between])
            scores = (scores.view(-1, s, s, s, s) + down[:, :, :, :, None] + across[:, :, :, None, :]).view(
                -1, s * s, s * s
            )
            y = (scores.softmax(dim=-1) @ v).view(b, self.heads, s, s, -1).permute(0, 2, 3, 1, 4)
            return self.proj(y.reshape(b, s, s, c))

    class SamBlock(nn.Module):
        """On 64 x 64 positions, in windows of 14 or all at once."""

        def __init__(self, dim: int, heads: int, windows: bool):
            super().__init__()
            self.windows = windows
            self.norm1, self.norm2 = nn.LayerNorm(dim, eps=1e-6), nn.LayerNorm(dim, eps=1e-6)
            self.attention = RelativeAttention(dim, heads, 14 if windows else 64)
            self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

        def forward(self, x):
            y = self.norm1(x)
            c = x.shape[3]
            if self.windows:
                y = F.pad(y, (0, 0, 0, 6, 0, 6)).view(-1, 5, 14, 5, 14, c).permute(0, 1, 3, 2, 4, 5)
                y = self.attention(y.reshape(-1, 14, 14, c))
                y = y.view(-1, 5, 5, 14, 14, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, 70, 70, c)
                y = y[:, :64, :64]
            else:
                y = self.attention(y)
            x = x + y
            return x + self.down(F.gelu(self.up(self.norm2(x))))

    image, text = torch.randn(1, 3, 224, 224), torch.arange(128).reshape(1, 128) * 37 % 30522
    return {
        "ResNet-50": lambda: (ResNet(), image),
        "ViT-B/16": lambda: (ViT(), image),
        "BERT 4 x 256": lambda: (Bert(4, 256, 4), text),
        "BERT base": lambda: (Bert(12, 768, 12), text),
        "SAM blocks": lambda: (
            nn.Sequential(SamBlock(768, 12, True), SamBlock(768, 12, False)),
            torch.randn(1, 64, 64, 768),
        ),
    }


def measure(way, threads, dtype):
    """Runs in each process: answers each name read from standard input with its median in seconds."""
    import torch

    torch.set_num_threads(threads)
    made, calls = modules(), {}
    half = getattr(torch, dtype)

    def call_of(name):
        torch.manual_seed(0)
        module, example = made[name]()
        module.eval()
        if way == "archive":
            compiled = torch.jit.optimize_for_inference(
                torch.jit.freeze(torch.jit.script(module)), dtype=half
            )
            return lambda: compiled(example)
        module = module.to(half)
        example = example.to(half) if example.is_floating_point() else example
        if way == "compiled":
            module = torch.compile(module)
        return lambda: module(example)

    with torch.no_grad():
        for line in sys.stdin:
            name = line.strip()
            try:
                if name not in calls:
                    calls = {name: call_of(name)}
                    for _ in range(3):
                        calls[name]()
                calls[name]()
                times, end = [], time.perf_counter() + 0.3
                while len(times) < 3 or time.perf_counter() < end:
                    start = time.perf_counter()
                    calls[name]()
                    times.append(time.perf_counter() - start)
                print(statistics.median(times), flush=True)
            except Exception as error:
                print(f"{way}, {name}: {type(error).__name__}: {error}", file=sys.stderr)
                print("nan", flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", default=NAMES)
    parser.add_argument("--torch", help="a Python that has PyTorch; without it weft alone is measured")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dtype", default="bfloat16", choices=("bfloat16", "float16", "float32"))
    parser.add_argument("--json")
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        return measure(options.measure, options.threads, options.dtype)
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": str(options.threads),
        "MKL_NUM_THREADS": str(options.threads),
    }
    weft = [sys.executable, "-m", "weft.torch"]
    ways = {f"weft {way}": (weft, way) for way in ("eager", "compiled", "archive")}
    if options.torch:
        ways |= {f"PyTorch {way}": ([options.torch], way) for way in ("eager", "compiled")}
    workers = {
        label: subprocess.Popen(
            [
                *command,
                __file__,
                "--measure",
                way,
                "--threads",
                str(options.threads),
                "--dtype",
                options.dtype,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for label, (command, way) in ways.items()
    }
    print(f"{options.threads} threads, {options.dtype}, milliseconds")
    print(f"{'':<14}" + "".join(f"{label:>18}" for label in workers) + f"{'ratio':>8}" * bool(options.torch))
    found = {}
    for name in options.names:
        rounds = {label: [] for label in workers}
        for _ in range(options.rounds):
            for label, worker in workers.items():
                worker.stdin.write(name + "\n")
                worker.stdin.flush()
                rounds[label].append(float(worker.stdout.readline()))
        row = found[name] = {label: statistics.median(times) for label, times in rounds.items()}
        text = f"{name:<14}" + "".join(f"{seconds * 1e3:>18.2f}" for seconds in row.values())
        if options.torch:
            best = {
                side: min(
                    seconds for label, seconds in row.items() if label.startswith(side) and seconds == seconds
                )
                for side in ("weft", "PyTorch")
            }
            text += f"{best['PyTorch'] / best['weft']:>8.2f}"
        print(text, flush=True)
    if options.json:
        report = {"threads": options.threads, "dtype": options.dtype, "seconds": found}
        Path(options.json).write_text(json.dumps(report, indent=1))


if __name__ == "__main__":
    main()
