"""Runs the programs of fx_programs.py under PyTorch and keeps what they give, for test_fx.py.

Run with a Python that has PyTorch: python tests/torch/record_fx.py [--check]
--check compares with what is kept instead.
"""

import argparse
import json
import warnings
from pathlib import Path

import fx_programs
import torch
import torch.fx.experimental.optimization
import torch.fx.passes.shape_prop
import torch.fx.passes.split_module
import torchvision.models.feature_extraction

ANSWERS = Path(__file__).parent / "test_fx.json"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    found = {name: program(torch) for name, program in fx_programs.PROGRAMS.items()}
    found["names of torchvision's models"] = {
        name: fx_programs.node_names(torchvision, name) for name in fx_programs.MODELS
    }
    text = json.dumps(found, indent=1) + "\n"
    if options.check:
        assert ANSWERS.read_text() == text
    else:
        ANSWERS.write_text(text)
    print(len(found), "programs")


if __name__ == "__main__":
    main()
