"""`weft bench sam`: images per second and peak memory of Segment Anything, step by step.

Each step runs in a process of its own, several times; the figures are medians. An image per second is one embedding and the
masks of the image's points (one to nine); the processor's time is that of all threads. Masks are compared with those of the first step.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy as np

import weft

from .command import bounded, device, fail
from .ladder_steps import BEST, STEPS, pictures, points_of, run_step, seeded_model

TORCH_WORKER = pathlib.Path(__file__).with_name("ladder_torch.py")
FAST_WORKER = pathlib.Path(__file__).with_name("ladder_fast.py")
FAST_STEPS = {
    "fp32": "segment-anything-fast as it is, float32",
    "bf16": "all of it in bfloat16",
    "compile": "torch.compile of the encoder, max-autotune",
    "nested": "prompts of all images as nested tensors",
    "int8": "torchao's apply_dynamic_quant of the encoder",
    "sparse": "instead of that, WeightNormSparsifier and to_sparse_semi_structured",
}
TORCH_STEPS = [
    ("float32", False, "PyTorch, eager, float32"),
    ("float32", True, "PyTorch, torch.compile, float32"),
    ("bfloat16", False, "PyTorch, eager, encoder in bfloat16"),
    ("bfloat16", True, "PyTorch, torch.compile, encoder in bfloat16"),
]


def iou_of(a, b):
    """The mean over masks, rows of packed bits, of intersection by union; empty ones that are both empty: 1."""
    count = np.bitwise_count
    union = count(a | b).sum(1, dtype=np.int64)
    shared = count(a & b).sum(1, dtype=np.int64)
    return float(np.where(union > 0, shared / np.maximum(union, 1), 1.0).mean())


def parser():
    class Parser(argparse.ArgumentParser):
        def error(self, message):
            raise SystemExit(fail(f"bench sam: {message}", 2))

    result = Parser(prog="weft bench sam", description=__doc__.split("\n")[0], allow_abbrev=False)
    add = result.add_argument
    add("--ladder", action="store_true", help=f"every step; otherwise '{STEPS[BEST].name}'")
    add("--checkpoint", metavar="FILE", help="(default: weights that mean nothing)")
    add("--shape", default="vit_b", choices=["vit_b", "vit_l", "vit_h"], help="of these (default: vit_b)")
    add("--image", metavar="IMAGE", help="(default: waves)")
    add(
        "--batch",
        type=bounded(int, 1, 1024),
        default=4,
        help="images, in one call from 'batch' on (default: 4)",
    )
    add("--repetitions", type=bounded(int, 1, 1000), default=3, help="timed calls of each step (default: 3)")
    add("--points-per-side", type=bounded(int, 0, 1000), default=32,
        help="everything mode's grid of points; 0 leaves it out (default: 32)")  # fmt: skip
    add("--threads", type=bounded(int, 1, 1024), help="(default: the machine's)")
    add("--device", default="cpu", type=device, help="where to compute: cpu (default), cuda or cuda:1")
    add("--torch", metavar="PYTHON", default=os.environ.get("WEFT_TORCH_PYTHON"),
        help="with --ladder: a Python that has PyTorch and segment-anything, which runs beside (default: WEFT_TORCH_PYTHON)")  # fmt: skip
    add("--fast", metavar="FOLDER",
        help="with --ladder: segment-anything-fast's folder, whose own steps run on weft and, with --torch, on PyTorch")  # fmt: skip
    add("--seed", type=bounded(int, 0, 2**63), default=0, help=argparse.SUPPRESS)
    add("--json", action="store_true", help="print JSON")
    add("--step", type=bounded(int, 0, len(STEPS) - 1), help=argparse.SUPPRESS)
    add("--everything-of", help=argparse.SUPPRESS)
    add("--masks", help=argparse.SUPPRESS)
    return result


class Ladder:
    """The processes of the steps, and their rows as they come."""

    def __init__(self, options, arguments, folder):
        self.options, self.arguments, self.folder = options, arguments, pathlib.Path(folder)
        self.rows, self.first = [], None

    def measure(self, name, what, command, environment=None, beside=None):
        """Runs what prints a row, of whose masks it is told the file. The row, or None where it failed; `beside` is the row
        whose masks should be the same."""
        masks = self.folder / f"{len(self.rows)}.npy"
        done = subprocess.run(
            [*command, "--masks", str(masks)], stdout=subprocess.PIPE, text=True, env=environment
        )
        if done.returncode != 0:
            return None
        row = {**json.loads(done.stdout.splitlines()[-1]), "step": name}
        bits = np.load(masks)
        self.first = bits if self.first is None else self.first
        row["iou"] = iou_of(bits, self.first) if self.options.ladder else 1.0
        row["seconds"] = row["encoder"] + row["decoder"]
        if beside is not None:
            row["iou_of_weft"] = iou_of(bits, np.load(self.folder / f"{self.rows.index(beside)}.npy"))
            what += f"; IoU with weft's masks {row['iou_of_weft']:.5f}"
        self.rows.append(row)
        if not self.options.json:
            self._print(row, what)
        return row

    def step(self, index):
        step = STEPS[index]
        command = [sys.executable, "-m", "weft.models.sam.ladder", *self.arguments, "--step", str(index)]
        if index == BEST and self.options.points_per_side:
            command += ["--everything-of", step.name]
        return self.measure(step.name, step.adds, command)

    def torch_steps(self):
        """PyTorch beside, on the same weights, pixels and points."""
        has = [self.options.torch, "-c", "import torch, torchvision, segment_anything"]
        if not shutil.which(has[0]) or subprocess.run(has, capture_output=True).returncode != 0:
            print(f"weft: bench sam: {self.options.torch} has no torch, torchvision and segment-anything",
                  file=sys.stderr)  # fmt: skip
            return
        for dtype, compiled, what in TORCH_STEPS:
            name = f"torch {dtype}{', compiled' if compiled else ''}"
            command = [self.options.torch, str(TORCH_WORKER), *self.given(), "--dtype", dtype,
                       "--device", str(self.options.device)]  # fmt: skip
            command += ["--compile"] * compiled
            if self.options.points_per_side and not compiled and dtype == "float32":
                command += ["--points-per-side", str(self.options.points_per_side)]
                command += ["--open-wide"] * (not self.options.checkpoint)
            if self.measure(name, what, command) is None:
                print(f"weft: bench sam: '{name}' failed", file=sys.stderr)

    def given(self):
        """What the programs written for PyTorch are told: weights, pixels and points in files, and how often."""
        inputs, checkpoint = self.folder / "inputs.npz", self.options.checkpoint
        if not inputs.exists():
            images = pictures(self.options)
            points, _ = points_of(images)
            np.savez(inputs, *images, **{f"points_{i}": x for i, x in enumerate(points)})
        if not checkpoint:
            checkpoint = self.folder / f"{self.options.shape}.pth"
            if not checkpoint.exists():
                weft.save(seeded_model(self.options).state_dict(), str(checkpoint))
        told = [str(checkpoint), str(inputs), "--shape", self.options.shape]
        told += ["--repetitions", str(self.options.repetitions)]
        return told + (["--threads", str(self.options.threads)] if self.options.threads else [])

    def fast_steps(self):
        """The package's own steps, unmodified, on weft and on PyTorch."""
        folders = [self.options.fast, os.environ.get("PYTHONPATH")]
        # Without this the package asks for its Triton kernel, which no CPU has.
        environment = {**os.environ, "SEGMENT_ANYTHING_FAST_USE_FLASH_4": "0",
                       "PYTHONPATH": os.pathsep.join(filter(None, folders))}  # fmt: skip
        for step, what in FAST_STEPS.items():
            command = [str(FAST_WORKER), *self.given(), "--step", step]
            row = None
            for on, python in (
                ("weft", [sys.executable, "-m", "weft.torch"]),
                ("torch", [self.options.torch]),
            ):
                if not python[0]:
                    continue
                found = self.measure(f"fast {step}, {on}", what, [*python, *command], environment, row)
                if found is None:
                    print(f"weft: bench sam: 'fast {step}, {on}' failed", file=sys.stderr)
                row = found if row is None else row

    def _print(self, row, what):
        first = self.rows[0]
        if row is first:
            print("| step | img/s | times | encoder | decoder | processor | peak memory | mask IoU | |")
            print("|---|---:|---:|---:|---:|---:|---:|---:|---|")
        print(
            f"| {row['step']} | {1 / row['seconds']:.3g} | {first['seconds'] / row['seconds']:.2f} "
            f"| {row['encoder'] * 1e3:.0f} ms | {row['decoder'] * 1e3:.0f} ms | {row['processor'] * 1e3:.0f} ms "
            f"| {row['peak'] / 1e9:.2f} GB | {row['iou']:.3f} | {what} |",
            flush=True,
        )

    def print_everything(self):
        rows = [row for row in self.rows if "everything" in row]
        for row in rows:
            parts = row["everything"]
            total = sum(parts[name] for name in ("encoder", "decoder", "post-processing"))
            print(
                f"\neverything mode, {row['step']}, {parts['points']} points, {parts['masks']} masks: {total:.2f} s: "
                f"encoder {parts['encoder']:.2f} s, decoder {parts['decoder']:.2f} s, "
                f"post-processing {parts['post-processing']:.2f} s ({100 * parts['post-processing'] / total:.1f} %)"
            )


def main(arguments=None):
    arguments = sys.argv[1:] if arguments is None else arguments
    options = parser().parse_args(arguments)
    try:
        weft.empty(0, device=options.device)  # before processes are started that would all say so
    except RuntimeError as error:
        return fail(f"bench sam: {error}", 1)
    if options.step is not None:
        return run_step(options, options.step)
    with tempfile.TemporaryDirectory() as folder:
        ladder = Ladder(options, arguments, folder)
        for index in range(len(STEPS)) if options.ladder else [BEST]:
            if ladder.step(index) is None:
                return fail(f"bench sam: the step '{STEPS[index].name}' failed", 1)
        if options.ladder and options.torch:
            ladder.torch_steps()
        if options.ladder and options.fast:
            ladder.fast_steps()
    if options.json:
        print(json.dumps({"shape": options.shape, "batch": options.batch, "steps": ladder.rows}, indent=1))
    else:
        ladder.print_everything()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
