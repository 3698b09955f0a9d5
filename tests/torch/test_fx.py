"""torch.fx beside PyTorch: printed graphs, generated code and results of the programs of fx_programs.py (test_fx.json)."""

import json
import warnings
from pathlib import Path

import fx_programs
import pytest
import weft.torch as torch
import weft.torch.fx  # noqa: F401

RECORDED = json.loads((Path(__file__).parent / "test_fx.json").read_text())


@pytest.mark.parametrize("name", fx_programs.PROGRAMS)
def test_programs(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = json.loads(json.dumps(fx_programs.PROGRAMS[name](torch)))
    assert len(found) == len(RECORDED[name])
    for at, (mine, expected) in enumerate(zip(found, RECORDED[name])):
        if isinstance(expected, list) and expected and isinstance(expected[0], float):
            assert mine == pytest.approx(expected, abs=2e-4), f"{name}, answer {at}"
        else:
            assert mine == expected, f"{name}, answer {at}"
