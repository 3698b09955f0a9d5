"""`weft bench sam`: images per second and peak memory of Segment Anything's image encoder, step by step.

Each step runs in a process of its own, several times; the figures are medians. Masks of a grid of points are compared with
those of the first step.
"""

import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

import weft

from .command import bounded, fail
from .config import SamConfig
from .image_encoder import Attention
from .model import Sam
from .pictures import read_image
from .predictor import SamPredictor

# (name, what it adds, dtype, compiled, fused attention, batched)
STEPS = [
    ("eager", "float32, one image, attention by its formula", "float32", False, False, False),
    ("attention", "relative positions within the online softmax", "float32", False, True, False),
    ("compile", "one graph, epilogues in products", "float32", True, True, False),
    ("bfloat16", "weights and arithmetic in bfloat16", "bfloat16", True, True, False),
    ("batch", "several images in a call", "bfloat16", True, True, True),
]


def formula(q, k, v, rel_h, rel_w):
    """relative_position_attention with all scores in memory."""
    scores = (q * q.shape[-1] ** -0.5) @ k.transpose(-2, -1)
    sums = (rel_h[..., None] + rel_w[..., None, :]).reshape(scores.shape)
    return (scores + sums).softmax(dim=-1) @ v


def model_of(options, dtype):
    if options.checkpoint:
        return Sam.from_checkpoint(options.checkpoint, dtype=dtype)
    weft.random.manual_seed(options.seed)
    return Sam(getattr(SamConfig, options.shape)()).to(dtype)


def run_step(options, index):
    """One step, in this process: a line of JSON."""
    name, _, dtype, compiled, fused, batched = STEPS[index]
    if options.threads:
        weft.set_num_threads(options.threads)
    sam = model_of(options, getattr(weft, dtype))
    if not fused:
        Attention.attend = staticmethod(formula)
    predictor = SamPredictor(sam, compile=compiled)
    image = picture(options)
    images = [image] * (options.batch if batched else 1)
    seconds = []
    for i in range(options.repetitions + 1):
        start = time.perf_counter()
        predictor.set_images(images)
        if i > 0:  # the first one compiles
            seconds.append((time.perf_counter() - start) / len(images))
    height, width = image.shape[:2]
    at = (np.arange(4) + 0.5) / 4
    points = np.stack(np.meshgrid(at * width, at * height), -1).reshape(-1, 1, 2)
    masks = predictor.predict_batch(points, np.ones((len(points), 1), np.int64))[0]
    if options.masks:
        np.save(options.masks, np.packbits(masks))
    print(json.dumps({"step": name, "seconds": statistics.median(seconds), "peak": _peak_bytes()}))
    return 0


def _peak_bytes():
    """The most memory that the process ever had."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))


def picture(options):
    if options.image:
        return read_image(options.image)
    y, x = np.mgrid[:768, :1024] / 97
    waves = [np.sin(x * (1 + c) + y) + np.sin(y * (2 - c) - x / 2) for c in (0.2, 0.5, 0.9)]
    return ((np.stack(waves, -1) + 2) * 63).astype(np.uint8)


def iou_of(a, b):
    """The mean over the masks of intersection by union; empty ones that are both empty: 1."""
    a, b = (np.unpackbits(bits).astype(bool) for bits in (a, b))
    a, b = (bits[: len(bits) // 48 * 48].reshape(48, -1) for bits in (a, b))
    union = (a | b).sum(1)
    return float(np.where(union > 0, (a & b).sum(1) / np.maximum(union, 1), 1.0).mean())


def parser():
    class Parser(argparse.ArgumentParser):
        def error(self, message):
            raise SystemExit(fail(f"bench sam: {message}", 2))

    result = Parser(prog="weft bench sam", description=__doc__.split("\n")[0], allow_abbrev=False)
    add = result.add_argument
    add("--ladder", action="store_true", help="every step; otherwise the last one")
    add("--checkpoint", metavar="FILE", help="(default: weights that mean nothing)")
    add("--shape", default="vit_b", choices=["vit_b", "vit_l", "vit_h"], help="of these (default: vit_b)")
    add("--image", metavar="IMAGE", help="(default: waves)")
    add(
        "--batch",
        type=bounded(int, 1, 1024),
        default=4,
        help="images in a call of the last step (default: 4)",
    )
    add("--repetitions", type=bounded(int, 1, 1000), default=3, help="timed calls of each step (default: 3)")
    add("--threads", type=bounded(int, 1, 1024), help="(default: the machine's)")
    add("--seed", type=bounded(int, 0, 2**63), default=0, help=argparse.SUPPRESS)
    add("--json", action="store_true", help="print JSON")
    add("--step", type=bounded(int, 0, len(STEPS) - 1), help=argparse.SUPPRESS)
    add("--masks", help=argparse.SUPPRESS)
    return result


def main(arguments=None):
    arguments = sys.argv[1:] if arguments is None else arguments
    options = parser().parse_args(arguments)
    if options.step is not None:
        return run_step(options, options.step)
    rows, first = [], None
    with tempfile.TemporaryDirectory() as folder:
        for index in range(len(STEPS)) if options.ladder else [len(STEPS) - 1]:
            masks = pathlib.Path(folder) / f"{index}.npy"
            command = [
                sys.executable,
                "-m",
                "weft.models.sam.ladder",
                *arguments,
                "--step",
                str(index),
                "--masks",
                str(masks),
            ]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
            if done.returncode != 0:
                return fail(f"bench sam: the step '{STEPS[index][0]}' failed", 1)
            row, bits = json.loads(done.stdout.splitlines()[-1]), np.load(masks)
            first = bits if first is None else first
            row["iou"] = iou_of(bits, first) if options.ladder else math.nan
            rows.append(row)
            if not options.json:
                _print_row(row, rows[0], STEPS[index][1], index == 0 or not options.ladder)
    if options.json:
        print(json.dumps({"shape": options.shape, "batch": options.batch, "steps": rows}, indent=1))
    return 0


def _print_row(row, first, what, is_first):
    if is_first:
        print("| step | img/s | times | peak memory | mask IoU | |")
        print("|---|---:|---:|---:|---:|---|")
    print(
        f"| {row['step']} | {1 / row['seconds']:.3g} | {first['seconds'] / row['seconds']:.2f} "
        f"| {row['peak'] / 1e9:.2f} GB | {row['iou']:.3f} | {what} |",
        flush=True,
    )


if __name__ == "__main__":
    raise SystemExit(main())
