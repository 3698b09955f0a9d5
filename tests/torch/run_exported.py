"""Under PyTorch: runs the programs that weft wrote (test_export.py), and says of each whether it gives weft's results."""

import json
import sys
import traceback
from pathlib import Path

import numpy as np
import torch
from exported_modules import Pair, modules

torch.utils._pytree._register_namedtuple(Pair, serialized_type_name="exported_modules.Pair")


def check(folder, name, calls):
    arrays = np.load(folder / f"{name}.npz")
    module = torch.export.load(folder / f"{name}.pt2").module()
    for number, (args, kwargs) in enumerate(calls):
        found = torch.utils._pytree.tree_leaves((module(*args, **kwargs), (args, kwargs)))
        for at, leaf in enumerate(found):
            if not isinstance(leaf, torch.Tensor):
                continue
            wide = leaf.detach().float() if leaf.dtype in (torch.bfloat16, torch.float16) else leaf.detach()
            expected = arrays[f"{number}_{at}"]
            if wide.shape != expected.shape or not np.allclose(
                wide.numpy(), expected, 1e-4, 1e-5, equal_nan=True
            ):
                return f"call {number}, leaf {at}: {wide.tolist()} instead of {expected.tolist()}"
    return "equal"


answers = {}
for name, (_, calls, _) in modules(torch).items():
    try:
        answers[name] = check(Path(sys.argv[1]), name, calls)
    except Exception:
        answers[name] = traceback.format_exc(limit=-3)
print(json.dumps(answers))
