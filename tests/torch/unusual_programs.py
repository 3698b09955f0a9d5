"""Under PyTorch: writes programs, the calls and results of each, and what it refuses; test_unusual_programs.py runs them."""

import json
import sys

import numpy as np
import torch
import torch.ao.quantization.fx._decomposed  # quantized_decomposed
import torch.nn.functional as F
from torch import nn
from torch.export import Dim

PROGRAMS = {}


def add(name, function, *calls, attributes=None, sizes=None, refused=(), core=False):
    """calls: positional arguments; exported with the first. refused: arguments that PyTorch does not take."""

    class Module(nn.Module):
        def __init__(self):
            super().__init__()
            for each, value in (attributes or {}).items():
                (self.register_buffer if isinstance(value, torch.Tensor) else self.__setattr__)(each, value)

        def forward(self, *given):
            return function(self, *given)

    PROGRAMS[name] = Module(), calls, sizes, refused, core


def x(*shape):
    return torch.randn(*shape)


def checked(condition, value):
    torch._check(condition)
    return value


torch.manual_seed(0)
auto = {0: Dim.AUTO}
add("batch_of_one", lambda s, a: s.l(a).relu(), (x(4, 3),), (x(1, 3),), (x(0, 3),), attributes={"l": nn.Linear(3, 3)},
    sizes=({0: Dim("batch")},))  # fmt: skip
add(
    "least_three",
    lambda s, a: a * 2,
    (x(4, 3),),
    (x(3, 3),),
    sizes=({0: Dim("rows", min=3)},),
    refused=[(x(2, 3),)],
)
add("multiple", lambda s, a: checked(a.shape[0] % 4 == 0, a.reshape(-1, 4, 3).sum(1)), (x(8, 3),), (x(12, 3),),
    sizes=(auto,), refused=[(x(10, 3),)])  # fmt: skip
add(
    "unequal",
    lambda s, a: checked(a.shape[0] != 5, a * 2),
    (x(8, 3),),
    (x(1, 3),),
    sizes=(auto,),
    refused=[(x(5, 3),)],
)
add("product", lambda s, a: a.reshape(a.shape[0] * a.shape[1] // 2, 2).t() @ a.reshape(-1, 2), (x(4, 6),), (x(5, 4),),
    sizes=({0: Dim.AUTO, 1: Dim.AUTO},), refused=[(x(5, 5),)])  # fmt: skip
at = torch.tensor([[0, 1], [2, 3], [1, 0]])
add("scattered", lambda s, a, i: (a.scatter(1, i, 3.0, reduce="multiply"), a.scatter(1, i, a, reduce="multiply"),
    a.scatter(1, i, 2.0, reduce="add")), (x(3, 4), at))  # fmt: skip


def narrow(s, a):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return (
            torch.cat([s.l(a), a]),
            torch.stack([s.l(a), s.l(a)]),
            s.g(a[None])[0],
            F.cross_entropy(s.l(a), s.t),
            torch.linalg.inv(a @ a.T + torch.eye(4)),
            F.pad(s.l(a), (1, 1), mode="replicate"),
            F.pad(s.l(a), (1, 1), value=2.0),
            torch.einsum("ij->ji", a),
            torch.einsum("ij,kj->ik", a, a),
            s.l(a).softmax(-1),
        )


layers = {"l": nn.Linear(4, 4), "g": nn.GRU(4, 4, batch_first=True), "t": torch.tensor([0, 1, 2, 3])}
add("autocast", narrow, (x(4, 4),), attributes=layers)
add("autocast_core", narrow, (x(4, 4),), attributes=layers, core=True)


whole = torch.ops.quantized_decomposed
low, high = (-128, 127, torch.int8), (-127, 127, torch.int8)


def quantized(s, a):
    rounded = whole.dequantize_per_tensor(whole.quantize_per_tensor(a, 0.1, 3, *low), 0.1, 3, *low)
    weight = whole.quantize_per_channel(s.w, s.steps, s.zeros, 0, *high)
    return F.linear(rounded, whole.dequantize_per_channel(weight, s.steps, s.zeros, 0, *high))


numbers = {"w": x(5, 4), "steps": torch.rand(5) * 0.1 + 0.01, "zeros": torch.arange(5)}
add("quantized", quantized, (x(3, 4),), attributes=numbers)


def leaves(value):
    return [leaf for leaf in torch.utils._pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


if __name__ == "__main__":
    folder, said = sys.argv[1], {}
    for name, (module, calls, sizes, refused, core) in PROGRAMS.items():
        with torch.no_grad():
            shapes = None if sizes is None else (sizes,)
            program = torch.export.export(module.eval(), calls[0], dynamic_shapes=shapes)
            torch.export.save(program.run_decompositions() if core else program, f"{folder}/{name}.pt2")
            run, arrays, dtypes = torch.export.load(f"{folder}/{name}.pt2").module(), {}, []
            for number, given in enumerate((*calls, *refused)):
                arrays |= {f"in{number}_{at}": leaf.numpy() for at, leaf in enumerate(given)}
                if number >= len(calls):
                    try:
                        run(*given)
                    except Exception:
                        continue
                    raise SystemExit(f"{name}: PyTorch takes what it should refuse")
                results = leaves(run(*given))
                dtypes.append([str(leaf.dtype) for leaf in results])
                arrays |= {f"{number}_{at}": leaf.float().numpy() for at, leaf in enumerate(results)}
        np.savez(f"{folder}/{name}.npz", **arrays)
        said[name] = {"dtypes": dtypes, "calls": len(calls), "refused": len(refused)}
    print(json.dumps(said))
