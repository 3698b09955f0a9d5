"""torch.cond and torch.while_loop in modules that are exported: their functions are graphs, whatever is taken at export."""

import io
import os
import subprocess

import numpy as np
import pytest
import weft
import weft.torch as torch
from weft.torch import nn
from weft.torch._dynamo.exc import UserError
from weft.torch.export import Dim, export, load, save


class Nested(nn.Module):
    """Reads parameters, a buffer, a constant and values of the function around it; a region within a region; a loop."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)
        self.register_buffer("c", torch.ones(8))

    def forward(self, x):
        h = self.a(x)

        def yes(v):
            return nn.functional.linear(v, self.b.weight) * self.c + h.reshape(h.shape[0], -1), v.sum(1)

        def no(v):
            k = torch.tensor([2.0])
            return torch.cond(v.mean() > 0.1, lambda w: w * k + h, lambda w: w - self.c, (v,)), h.sum(1)

        y, z = torch.cond(h.sum() > 0, yes, no, (h,))
        count, w = torch.while_loop(
            lambda i, w: i < 4, lambda i, w: (i + 1, w * 0.5 + self.b.bias), (torch.tensor(0), y)
        )
        return w, z, count


class Trees(nn.Module):
    """Operands and results that nest; results that are operands, and views of them."""

    def forward(self, x, flag):
        def yes(given):
            return {"a": given["x"], "b": [given["x"].T, given["y"] * 2]}

        def no(given):
            return {"a": given["x"] + 1, "b": [(given["x"] * 3).T, given["y"]]}

        found = torch.cond(flag, yes, no, ({"x": x, "y": x[:, 0]},))
        return found["a"], found["b"][0].sum(), found["b"][1]


class ByModule(nn.Module):
    """Sub-modules are the functions."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.one, self.other = nn.Sequential(nn.Linear(8, 4), nn.ReLU()), nn.Linear(8, 4)

    def forward(self, x):
        return torch.cond(x.mean() > 0, self.one, self.other, (x,))


class Newton(nn.Module):
    """A loop that ends by a value, of no known number of turns."""

    def forward(self, x):
        def more(v, step):
            return (step.abs() > 1e-4).any()

        def turn(v, step):
            new = 0.5 * (v + x / v)
            return new, new - v

        root, _ = torch.while_loop(more, turn, (x * 0.5 + 1, torch.ones_like(x)))
        return root


def numbers(*shape, scale=3.0, shift=0.0):
    return torch.randn(*shape) * scale + shift


# (module, arguments of one call, dynamic shapes)
PROGRAMS = {
    "nested": (Nested, lambda n: (numbers(n, 8),), {"x": {0: Dim("n", min=2, max=50)}}),
    "nested, of one size": (Nested, lambda n: (numbers(3, 8),), None),
    "trees": (Trees, lambda n: (numbers(3, 5), torch.tensor(n % 2 == 0)), None),
    "modules": (ByModule, lambda n: (numbers(n, 8),), {"x": {0: Dim.DYNAMIC}}),
    "newton": (Newton, lambda n: (numbers(n).abs() + n,), {"x": {0: Dim.AUTO}}),
}


@pytest.fixture(params=PROGRAMS)
def case(request):
    make, arguments, dynamic = PROGRAMS[request.param]
    torch.manual_seed(2)
    module = make().eval()
    return module, arguments, export(module, arguments(3), dynamic_shapes=dynamic)


def saved(program):
    file = io.BytesIO()
    save(program, file)
    file.seek(0)
    return file


def test_every_way_takes_the_branch_of_its_call(case):
    module, arguments, program = case
    again = load(saved(program)).module()
    ways = [program.module(), again, program.run_decompositions().module(), again.optimize_for_inference()]
    for size in [*range(2, 9), 2, 3]:
        given = arguments(size)
        expected = module(*given)
        for way in ways:
            torch.testing.assert_close(way(*given), expected)


def test_pytorch_runs_it(case, tmp_path):
    if "WEFT_TORCH_PYTHON" not in os.environ:
        pytest.skip("set WEFT_TORCH_PYTHON to a Python that has PyTorch 2.15")
    module, arguments, program = case
    save(program, str(tmp_path / "program.pt2"))
    calls = {}
    for size in range(2, 8):
        given = arguments(size)
        calls |= {f"x{size}_{at}": each.numpy() for at, each in enumerate(given)}
    np.savez(tmp_path / "given.npz", **calls)
    script = """
import numpy, torch
program, given = torch.export.load("program.pt2").module(), numpy.load("given.npz")
found = {}
for size in range(2, 8):
    result = program(*(torch.from_numpy(given[name]) for name in given.files if name.startswith(f"x{size}_")))
    result = result if isinstance(result, tuple) else (result,)
    found |= {f"y{size}_{at}": each.detach().numpy() for at, each in enumerate(result)}
numpy.savez("found.npz", **found)
"""
    done = subprocess.run(
        [os.environ["WEFT_TORCH_PYTHON"], "-c", script], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found = np.load(tmp_path / "found.npz")
    for size in range(2, 8):
        given = [weft.tensor(calls[name]) for name in calls if name.startswith(f"x{size}_")]
        result = module(*given)
        for at, each in enumerate(result if isinstance(result, tuple) else (result,)):
            np.testing.assert_allclose(found[f"y{size}_{at}"], each.numpy(), rtol=1e-5, atol=1e-5)


def test_printed():
    module = ByModule()
    text = str(export(module, (numbers(2, 8),)))
    assert "cond = torch.ops.higher_order.cond(gt, true_graph_0, false_graph_0, [x, " in text
    assert "class false_graph_0(torch.nn.Module)" in text and "getitem: " in text


def of(function, *arguments):
    class Module(nn.Module):
        def forward(self, *given):
            return function(*given)

    return lambda: export(Module(), arguments)


def in_place(v):
    v.add_(1)
    return v * 2


x = numbers(3, 4)


def closures(y):
    def changed(v):
        y[1:].add_(1)
        return v.cos()

    return torch.cond(y.sum() > 0, changed, torch.sin, (y,))


def made(v):
    number = torch.tensor(2.0)
    number.add_(v.sum())
    return v * number


class Buffers(nn.Module):
    """A branch changes a buffer of the module."""

    def __init__(self, kind):
        super().__init__()
        self.register_buffer("total", torch.ones(3, 4))
        self.kind = kind

    def zero(self, v):
        self.total.zero_()
        return v.cos()

    def assign(self, v):
        self.total = self.total + v
        return v.cos()

    def out(self, v):
        return torch.add(v, v, out=self.total)

    def forward(self, x):
        return torch.cond(x.sum() > 0, getattr(self, self.kind), torch.sin, (x,))


REFUSED = {
    "in place": (of(lambda x: torch.cond(x.sum() > 0, in_place, torch.sin, (x,)), x), r"in_place changes its argument 0 in place"),
    "in place around": (of(lambda x: closures(x * 2), x), "changed changes a tensor of the program around it, or"),
    "a view in place around": (of(lambda x: closures((x * 2).view(-1)), x), "changed changes a tensor of the program around"),
    "made of data": (of(lambda x: torch.cond(x.sum() > 0, made, torch.sin, (x,)), x), "made changes a tensor .* made of data"),
    "buffers": (lambda: export(Buffers("zero"), (x,)), "zero changes a tensor of the program around it, or"),
    "assigned buffers": (lambda: export(Buffers("assign"), (x,)), "assign assigns to the buffer total"),
    "out": (lambda: export(Buffers("out"), (x,)), "out changes a tensor of the program around it, or"),
    "sizes": (of(lambda x: torch.cond(x.sum() > 0, lambda v: v, lambda v: v[:1], (x,)), x),
              r"same structure, dtypes and sizes, got \(float32\[3, 4\].*float32\[1, 4\]"),
    "dtypes": (of(lambda x: torch.cond(x.sum() > 0, lambda v: v, lambda v: v.double(), (x,)), x), r"float64\[3, 4\]"),
    "structures": (of(lambda x: torch.cond(x.sum() > 0, lambda v: (v, v), lambda v: [v, v], (x,)), x), "same structure"),
    "numbers": (of(lambda x: torch.cond(x.sum() > 0, lambda v: 1, lambda v: 2, (x,)), x), "functions give tensors, <lambda> gives 1"),
    "operands": (of(lambda x: torch.cond(x.sum() > 0, lambda v, n: v, lambda v, n: v, (x, 2)), x), "operands .* are tensors, got int"),
    "carried": (of(lambda x: torch.while_loop(lambda v: v.sum() > 0, lambda v: v[:1], (x,)), x), "body_fn must give what it is given"),
    "asked": (of(lambda x: torch.while_loop(lambda v: v > 0, lambda v: v - 1, (x,)), x), "one tensor of bool with one element"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    call, message = REFUSED[name]
    with pytest.raises(UserError, match=message) as caught:
        call()
    assert "test_export_regions.py" in str(caught.value)  # the line


def test_sizes_that_a_branch_asks_for():
    """They narrow the range, or are an error, as those outside do."""

    class Module(nn.Module):
        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda v: v if v.shape[0] == 3 else v + 1, lambda v: -v, (x,))

    with pytest.raises(UserError, match=r"Constraints violated \(n\)"):
        export(Module(), (x,), dynamic_shapes=({0: Dim("n")},))
    assert not export(Module(), (x,), dynamic_shapes=({0: Dim.AUTO},)).range_constraints


def test_python_values_take_one_branch():
    class Module(nn.Module):
        def forward(self, x):
            return torch.cond(x.shape[0] > 2, torch.sin, torch.cos, (x,))

    program = export(Module(), (x,))
    assert "higher_order" not in str(program)
    torch.testing.assert_close(program.module()(x), torch.sin(x))


def test_products_of_branches_are_not_quantized():
    program = weft.export.load(saved(export(ByModule(), (numbers(2, 8),)))).module()
    with pytest.warns(UserWarning, match="2 products within branches and loops keep their weights"):
        weft.quantization.quantize_(program, weft.quantization.int8_weight_only())
