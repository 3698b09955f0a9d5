"""A section on one side, in a process of its own: a line of JSON for each case as it begins, and for what it gives."""

import importlib
import json
import traceback

from . import latency
from .side import Side


def tell(**line):
    print(json.dumps(line), flush=True)


def why(error):
    """One line of an error."""
    text = " ".join(str(error).split()) or "without a message"
    return f"{type(error).__name__}: {text}"[:300]


def run(section, side):
    """Each case by itself: one that fails is told of, and the others go on."""
    module = importlib.import_module(f"{__package__}.{section}")
    with side.active():
        for case, way, measure in module.cases(side):
            tell(begins=case, way=way)
            try:
                found = measure()
            except Exception as error:
                traceback.print_exc()
                tell(case=case, way=way, error=why(error))
                continue
            tell(case=case, way=way, **found)
    tell(ends=section)


def main(options, command):
    """options: gpu.py's; command: what runs it again."""
    import torch

    side = Side(options.side, torch, options.device, options.tiny)
    side.points, side.command = options.points, command
    if options.measure == "first":
        with side.active():
            print(latency.first_call(side))
    else:
        run(options.measure, side)
    return 0
