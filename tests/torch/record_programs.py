"""Runs the programs of tests/torch/programs under PyTorch and keeps what they give, for test_programs.py.

Run with a Python that has PyTorch: python tests/torch/record_programs.py [--check]
--check compares with what is kept instead.
"""

import argparse
import importlib
import sys
from pathlib import Path

import numpy as np

PROGRAMS = Path(__file__).parent / "programs"
NAMES = "bert convnext detector diffusion graph llama mobilenet quantized sam speculative swin tagger text unet".split()
# (rtol, atol): what PyTorch's own results differ by from machine to machine, its kernels being others.
TOLERANCES = {"sam": (2e-4, 1e-4)}


def arrays(found):
    return {name: value.detach().cpu().numpy() for name, value in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    sys.path.insert(0, str(PROGRAMS))
    (PROGRAMS / "expected").mkdir(exist_ok=True)
    for name in NAMES:
        found = arrays(importlib.import_module(name).results(False))
        path = PROGRAMS / "expected" / f"{name}.npz"
        if options.check:
            kept = np.load(path)
            rtol, atol = TOLERANCES.get(name, (1e-4, 1e-5))
            for key, value in found.items():
                np.testing.assert_allclose(value, kept[key], rtol=rtol, atol=atol, err_msg=f"{name}: {key}")
        else:
            np.savez_compressed(path, **found)
        print(name, ", ".join(f"{key} {value.shape}" for key, value in found.items()))


if __name__ == "__main__":
    main()
