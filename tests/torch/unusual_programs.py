"""Under PyTorch: writes programs, the calls and results of each, and what it refuses; test_unusual_programs.py runs them."""

import importlib.util
import json
import sys

import numpy as np
import torch
import torch.ao.quantization.fx._decomposed  # quantized_decomposed
import torch.nn.functional as F
from torch import nn
from torch._higher_order_ops import associative_scan, scan, while_loop
from torch._higher_order_ops.map import map as map_over
from torch.export import Dim

PROGRAMS = {}


def add(name, function, *calls, attributes=None, sizes=None, refused=(), core=False, decomposed=False):
    """calls: positional arguments; exported with the first. refused: arguments that PyTorch does not take. core: PyTorch decomposes
    the program. decomposed: weft does so, too."""

    class Module(nn.Module):
        def __init__(self):
            super().__init__()
            for each, value in (attributes or {}).items():
                (self.register_buffer if isinstance(value, torch.Tensor) else self.__setattr__)(each, value)

        def forward(self, *given):
            return function(self, *given)

    PROGRAMS[name] = Module(), calls, sizes, refused, core, decomposed


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


def narrow_layers(s, a):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = s.l(a)
        with torch.autocast("cpu", enabled=False):
            z = y.float() @ a
        return (
            y,
            z,
            torch.cat([y, a]),
            s.g(a[None])[0],
            y.softmax(-1),
            torch.einsum("ij,kj->ik", a, a),
            F.layer_norm(y, (4,)) + z,
        )


add("autocast_decomposed", narrow_layers, (x(4, 4),), attributes=layers, decomposed=True)


whole = torch.ops.quantized_decomposed
low, high = (-128, 127, torch.int8), (-127, 127, torch.int8)


def quantized(s, a):
    rounded = whole.dequantize_per_tensor(whole.quantize_per_tensor(a, 0.1, 3, *low), 0.1, 3, *low)
    weight = whole.quantize_per_channel(s.w, s.steps, s.zeros, 0, *high)
    return F.linear(rounded, whole.dequantize_per_channel(weight, s.steps, s.zeros, 0, *high))


numbers = {"w": x(5, 4), "steps": torch.rand(5) * 0.1 + 0.01, "zeros": torch.arange(5)}
add("quantized", quantized, (x(3, 4),), attributes=numbers)


def chosen(s, a):
    """Scales of tensors, tokens and groups."""
    steps, zeros = whole.choose_qparams_per_token_asymmetric(a, torch.int8)
    tokens = whole.quantize_per_token(a, steps, zeros, *low)
    groups = whole.quantize_per_channel_group(a, s.steps, s.zeros, -8, 7, torch.int8, 4)
    of_all = whole.choose_qparams.tensor(a, -128, 127, 1e-5, torch.int8)
    return (
        *of_all,
        *whole.choose_qparams_symmetric.tensor(a, -127, 127, 1e-5, torch.int8),
        *whole.choose_qparams_symmetric.tensor(a, 0, 255, 1e-5, torch.uint8),
        *whole.choose_qparams_per_token(a, torch.int8),
        *(steps, zeros, tokens, groups),
        whole.dequantize_per_token(tokens, steps, zeros, *low, torch.float32),
        whole.dequantize_per_channel_group(groups, s.steps, s.zeros, -8, 7, torch.int8, 4, torch.float32),
        whole.quantize_per_tensor.tensor(a, *of_all, *low),
    )


grouped = {"steps": torch.rand(3, 2) * 0.2 + 0.1, "zeros": torch.randint(-2, 3, (3, 2))}
for shift in (0.0, 50.0, -50.0):
    add(f"chosen_{int(shift)}", chosen, (x(3, 8) + shift,), (x(3, 8) * 10 + shift,), attributes=grouped)


def scaled(s, a):
    a, w = a.to(torch.float8_e4m3fn), s.w.to(torch.float8_e4m3fn).t()
    return (
        torch._scaled_mm(a, w, s.one, s.two, out_dtype=torch.float32),
        torch._scaled_mm(a, w, s.one, s.two, bias=s.b, out_dtype=torch.bfloat16),
    )


factors = {"w": x(16, 32), "one": torch.tensor(0.5), "two": torch.tensor(2.0), "b": x(16).bfloat16()}
add("scaled_product", scaled, (x(16, 32),), attributes=factors)

unsigned = {
    "u": torch.tensor([1, 2, 4000000000, 3], dtype=torch.uint32),
    "u16": torch.tensor([65535, 1], dtype=torch.uint16),
    "u64": torch.tensor([5, 7], dtype=torch.uint64),
}
add("unsigned", lambda s, a: (a.to(torch.uint32), s.u, s.u16, s.u64, s.u.to(torch.int64) + 1, s.u.view(torch.int32), s.u[1:],
    torch.cat([s.u, s.u]), s.u == s.u, s.u & 3, s.u ^ 1, torch.where(a > 1, s.u, s.u), s.u16.to(torch.float32)),
    (torch.arange(4, dtype=torch.int32),), attributes=unsigned)  # fmt: skip


def found_boxes(s, boxes, scores):
    import torchvision

    kept = torchvision.ops.nms(boxes, scores, 0.5)
    return boxes[kept], scores[kept], torchvision.ops.roi_align(s.image, [boxes[:2]], (2, 2))


if importlib.util.find_spec("torchvision"):
    corners = torch.tensor([[0.0, 0, 4, 4], [0.5, 0.5, 4, 4], [6, 6, 8, 9]])
    add("boxes", found_boxes, (corners, torch.tensor([0.9, 0.8, 0.7])), attributes={"image": x(1, 2, 10, 10)})


# ---- lists, branches and loops ---------------------------------------------------------------------------------
def listed(s, a, b):
    both, other = [a.abs() + 0.1, b.abs() + 0.1], [b, a]
    written = [a.clone(), b.clone()]
    torch._foreach_mul_(written, 2.0)
    torch._foreach_add_(written, other)
    torch._foreach_copy_([s.kept, s.other], written)
    return (
        *(
            each(both)
            for each in (torch._foreach_sqrt, torch._foreach_neg, torch._foreach_norm, torch._foreach_exp)
        ),
        *(each(both, other) for each in (torch._foreach_mul, torch._foreach_div, torch._foreach_maximum)),
        *(
            each(both, 1.5)
            for each in (
                torch._foreach_add,
                torch._foreach_pow,
                torch._foreach_maximum,
                torch._foreach_clamp_max,
            )
        ),
        *(each(both, [2.0, 3.0]) for each in (torch._foreach_sub, torch._foreach_mul)),
        torch._foreach_add(both, other, alpha=0.5),
        torch._foreach_lerp(both, other, 0.3),
        torch._foreach_addcmul(both, other, other, 0.5),
        torch._foreach_addcdiv(other, other, both, [0.5, 2.0]),
        written,
        s.kept + 1,
    )


add("lists", listed, (x(3, 4), x(3, 4)), attributes={"kept": x(3, 4), "other": x(3, 4)}, decomposed=True)


def running(s, a, b):
    products = associative_scan(lambda p, q: p * q, a, 0, combine_mode="pointwise")
    sums = associative_scan(
        lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (a, b), 1, reverse=True, combine_mode="pointwise"
    )
    return products, *sums, associative_scan(torch.add, a[:1], 0, combine_mode="pointwise")


add("associative_scan", running, (x(6, 3), x(6, 3)), decomposed=True)
add("branches", lambda s, a: torch.cond(a.sum() > 0, lambda t: torch.cond(t.max() > 2, F.softplus, lambda u: u * 2, (t,)),
    lambda t: F.layer_norm(-t, (6,)), (a,)), (x(4, 6).abs(),), (-x(5, 6).abs(),), (x(2, 6).abs() + 3,),
    sizes=({0: Dim("rows", min=2)},), decomposed=True)  # fmt: skip
add("sizes_in_branches", lambda s, a: torch.cond(a.sum() > 0, lambda t: t.reshape(-1, 2) * t.shape[0], lambda t: -t.reshape(-1, 2),
    (a,)), (x(4, 6).abs(),), (-x(5, 6).abs(),), sizes=({0: Dim("rows", min=2)},), decomposed=True)  # fmt: skip


def repeated(s, a):
    zero = torch.zeros((), dtype=torch.int64)
    times, last = while_loop(
        lambda i, t: i < 4, lambda i, t: (i + 1, F.layer_norm(t * 1.5 + i, (4,))), (zero, a)
    )
    carried, each = scan(lambda c, v: (F.silu(c) + v, F.gelu(c)), torch.zeros(4), a, dim=0)
    return times, last, carried, each, map_over(lambda t, u: F.linear(t, u).relu(), a[:, None], s.w)


add("loops", repeated, (x(3, 4),), attributes={"w": x(2, 4)}, decomposed=True)


def leaves(value):
    return [leaf for leaf in torch.utils._pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]


if __name__ == "__main__":
    folder, said = sys.argv[1], {}
    for name, (module, calls, sizes, refused, core, decomposed) in PROGRAMS.items():
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
        said[name] = {
            "dtypes": dtypes,
            "calls": len(calls),
            "refused": len(refused),
            "decomposed": decomposed,
        }
    print(json.dumps(said))
