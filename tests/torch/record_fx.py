"""Runs the programs of fx_programs.py and override_programs.py under PyTorch and keeps what they give, for test_fx.py and
test_overrides.py.

Run with a Python that has PyTorch: python tests/torch/record_fx.py [--check]
--check compares with what is kept instead.
"""

import argparse
import json
import warnings
from pathlib import Path

import fx_programs
import override_programs
import torch
import torch.fx.experimental.optimization
import torch.fx.passes.shape_prop
import torch.fx.passes.split_module
import torchvision.models.feature_extraction

HERE = Path(__file__).parent


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    found = {name: program(torch) for name, program in fx_programs.PROGRAMS.items()}
    found["names of torchvision's models"] = {
        name: fx_programs.node_names(torchvision, name) for name in fx_programs.MODELS
    }
    overridden = {name: program(torch) for name, program in override_programs.PROGRAMS.items()}
    for file, answers in (("test_fx.json", found), ("test_overrides.json", overridden)):
        text = json.dumps(answers, indent=1) + "\n"
        if options.check:
            assert (HERE / file).read_text() == text
        else:
            (HERE / file).write_text(text)
        print(file, len(answers))


if __name__ == "__main__":
    main()
