"""Under PyTorch: runs the programs that weft wrote (test_export.py), and says of each whether it gives weft's results."""

import json
import sys
import traceback
from pathlib import Path

import numpy as np
import torch
from exported_modules import modules, register

register(torch)


def kept_inputs(arrays):
    """Positional arguments that stand beside the results: of call 0 "in0_0", "in0_1"."""
    calls = {}
    for name in arrays.files:
        if name.startswith("in"):
            number, at = map(int, name[2:].split("_"))
            calls.setdefault(number, {})[at] = torch.from_numpy(arrays[name])
    return [(tuple(call[at] for at in sorted(call)), {}) for _, call in sorted(calls.items())]


def check(path, calls):
    arrays = np.load(path.with_suffix(".npz"))
    calls = calls or kept_inputs(arrays)
    program = torch.export.load(path)
    module = program.module()
    for number, (args, kwargs) in enumerate(calls or [program.example_inputs]):
        with torch.no_grad():
            result = module(*args, **kwargs)
        for at, leaf in enumerate(torch.utils._pytree.tree_leaves((result, (args, kwargs)))):
            if not isinstance(leaf, torch.Tensor):
                continue
            wide = leaf.detach().float() if leaf.dtype in (torch.bfloat16, torch.float16) else leaf.detach()
            expected = arrays[f"{number}_{at}"]
            near = 1e-5 * max(1.0, float(np.abs(expected).max(initial=0)))
            if wide.shape != expected.shape or not np.allclose(
                wide.numpy(), expected, 1e-4, near, equal_nan=True
            ):
                return f"call {number}, leaf {at}: {wide.tolist()} instead of {expected.tolist()}"
    return "equal"


known = modules(torch)
answers = {}
for path in sorted(Path(sys.argv[1]).glob("*.pt2")):
    try:
        answers[path.stem] = check(path, known[path.stem][1] if path.stem in known else None)
    except Exception:
        answers[path.stem] = traceback.format_exc(limit=-3)
print(json.dumps(answers))
