"""run_decompositions: programs in PyTorch's core operators, without writes; they do what the module does, here and in PyTorch."""

import copy
import os
import sys
from pathlib import Path

import numpy as np
import pytest
import weft.torch as torch
from test_export import (
    NAMES,
    Forward,
    answers_of_pytorch,
    assert_equal,
    check,
    expected_results,
    exported,
    keep_results,
    leaves,
)
from weft.torch.export import Dim, default_decompositions, export, load, save

sys.path.append(str(Path(__file__).resolve().parents[1] / "python"))

import exported_operators

SHARED = Path(os.environ.get("WEFT_SHARED_DATA") or Path(__file__).parents[3] / "shared" / "data") / "pt2"


def operators(program):
    return [node.target for node in program.graph.nodes if hasattr(node.target, "packet")]


@pytest.mark.parametrize("name", NAMES)
def test_runs_and_is_core(name):
    program = exported(name).run_decompositions()
    assert program.dialect == "ATEN"
    core = exported_operators.core()
    for operator in operators(program):
        overload = operator.name().removeprefix("aten::")
        # (PyTorch leaves these two as they are.)
        assert overload in {*core, "sort.stable", "index_reduce"} and not operator.packet.endswith(
            "_"
        ), overload
    check(name, program)
    check(name, exported(name).run_decompositions().run_decompositions())


@pytest.mark.long
def test_pytorch_runs_the_files(tmp_path):
    for name in NAMES:
        save(exported(name).run_decompositions(), tmp_path / f"{name}.pt2")
        keep_results(
            ((result, after) for _, result, after in expected_results(name)), tmp_path / f"{name}.npz"
        )
    assert answers_of_pytorch(tmp_path) == dict.fromkeys(sorted(NAMES), "equal")


class Counter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(3))

    def forward(self, x, y):
        self.count.add_(1)
        row = x[1]
        row.mul_(self.count)
        y.t()[0].zero_()
        return row, x.sum(), y


def test_writes_are_in_the_signature():
    args = (torch.ones(2, 3), torch.ones(3, 2))
    program = export(Counter(), args).run_decompositions()
    signature = program.graph_signature
    assert list(signature.buffers_to_mutate.values()) == ["count"]
    assert list(signature.user_inputs_to_mutate.values()) == ["x", "y"]
    module, own = program.module(), Counter()
    for _ in range(3):
        one, other = ((torch.ones(2, 3) * 2, torch.ones(3, 2)) for _ in range(2))
        assert_equal((module(*one), one), (own(*other), other), "")
    assert module.count.tolist() == [3.0] * 3


def test_sizes_stay_symbols(tmp_path):
    module = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
    program = export(module, (torch.ones(3, 2, 4),), dynamic_shapes=({0: Dim("rows", min=2, max=9)},))
    save(program, tmp_path / "model.pt2")
    for each in (program, load(tmp_path / "model.pt2")):
        core = each.run_decompositions()
        assert str(core.range_constraints) == str(program.range_constraints)
        for rows in (2, 9):
            x = torch.randn(rows, 2, 4)
            assert_equal(core.module()(x), module(x), "")
        with pytest.raises(ValueError, match="<= 9"):
            core.module()(torch.ones(10, 2, 4))


def test_the_table_may_be_changed():
    program = export(Forward(lambda x: torch.nn.functional.silu(x) + 1), (torch.ones(3),))
    table = default_decompositions()
    del table[torch.ops.aten.silu.default]
    with pytest.raises(NotImplementedError, match=r"aten::silu[^_]"):
        program.run_decompositions(table)
    table["aten::silu"] = lambda x: torch.neg(x)
    assert program.run_decompositions(table).module()(torch.ones(3)).tolist() == [0.0] * 3
    assert "aten.silu.default" in str(program.run_decompositions({}))


def test_choices_of_numbers_and_stable_order():
    def forward(x):
        return (
            torch.where(x > 0, 1.5, 2),
            torch.where(x > 0, 1, 2),
            torch.argsort(x, stable=True, dim=0, descending=True),
        )

    x = torch.tensor([1.0, -2.0, 1.0, 0.0])
    program = export(Forward(forward), (x,)).run_decompositions()
    assert {operator.packet for operator in operators(program)} == {"gt", "scalar_tensor", "where", "sort"}
    assert_equal(program.module()(x), forward(x), "")


def test_what_is_not_known_is_refused():
    program = export(Forward(lambda x: torch.cov(x)), (torch.ones(3, 4),))
    with pytest.raises(NotImplementedError, match="run_decompositions: weft does not know"):
        program.run_decompositions()


def regions(graph, outer=()):
    """(operator, operators of its graphs) of all graphs within a graph."""
    for node in graph.nodes:
        for argument in node.args:
            if getattr(argument, "op", None) == "get_attr":
                inner = getattr(graph.owning_module, argument.target).graph
                packets = [each.target.packet for each in inner.nodes if hasattr(each.target, "packet")]
                yield node.target.packet, packets
                yield from regions(inner)


@pytest.mark.skipif(not SHARED.is_dir(), reason="no shared data (WEFT_SHARED_DATA)")
@pytest.mark.parametrize("name", sorted(path.stem for path in SHARED.glob("*.pt2")))
def test_programs_of_pytorch(name):
    import test_exported

    program = load(SHARED / f"{name}.pt2").run_decompositions()
    test_exported.check(name, program.module())
    assert all("wrap_with" not in packet for packet, _ in regions(program.graph))


LOOPS = {"cond": "cond", "map": "map_impl", "while_loop": "while_loop"}


@pytest.mark.skipif(not SHARED.is_dir(), reason="no shared data (WEFT_SHARED_DATA)")
@pytest.mark.parametrize("name", LOOPS)
def test_graphs_of_branches_and_loops(name):
    """They are decomposed by the table that is given, too."""
    program = load(SHARED / f"{name}.pt2")
    before, after = (list(regions(each.graph)) for each in (program, program.run_decompositions()))
    assert [packet for packet, _ in after] == [packet for packet, _ in before] == [LOOPS[name]] * len(after)
    packet = before[-1][1][-1]
    seen = []

    def noted(*args, **kwargs):
        seen.append(args)
        return NotImplemented

    table = default_decompositions()
    for overload in ("Tensor", "default"):
        table[f"aten::{packet}.{overload}"] = noted
    with pytest.raises(NotImplementedError, match=f"aten::{packet}"):
        program.run_decompositions(table)
    assert seen


@pytest.mark.long
@pytest.mark.skipif(not SHARED.is_dir(), reason="no shared data (WEFT_SHARED_DATA)")
def test_pytorch_runs_branches_and_loops(tmp_path):
    import test_exported

    for name in LOOPS:
        save(load(SHARED / f"{name}.pt2").run_decompositions(), tmp_path / f"{name}_core.pt2")
        arrays = {}
        for number, call in test_exported.calls(name):
            arrays |= {f"in{number}_{at}": leaf.numpy() for at, leaf in enumerate(call["args"])}
            found = enumerate(leaves((call["out"], (call["args_after"], {}))))
            arrays |= {f"{number}_{at}": leaf.numpy() for at, leaf in found}
        np.savez(tmp_path / f"{name}_core.npz", **arrays)
    assert answers_of_pytorch(tmp_path) == {f"{name}_core": "equal" for name in sorted(LOOPS)}


RESIZED = [
    {"size": (9, 4, 8)},
    {"scale_factor": 1.7},
    {"scale_factor": 0.5},
    {"scale_factor": 1.7, "recompute_scale_factor": True},
    {"size": (1, 6, 2), "align_corners": True},
    {"scale_factor": 2.0, "align_corners": True},
]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("options", RESIZED, ids=str)
@pytest.mark.parametrize("sizes", [(2, 3, 7), (1, 2, 4, 5, 3)], ids=["linear", "trilinear"])
def test_linear_resizing(sizes, options, dtype):
    class Resize(torch.nn.Module):
        def forward(self, x):
            return torch.nn.functional.interpolate(
                x, **options, mode="linear" if len(sizes) == 3 else "trilinear"
            )

    if "size" in options:
        options = {**options, "size": options["size"][: len(sizes) - 2]}
    x = torch.randn(*sizes, generator=torch.Generator().manual_seed(0)).to(dtype)
    module = Resize()
    program = torch.export.export(module, (x,)).run_decompositions()
    assert not any("upsample" in str(node.target) for node in program.graph.nodes)
    # Parts of 16 bits compute in float32, where the operator's own weights are of 16 bits, as PyTorch's.
    expected = module(x.float()).to(dtype) if dtype is torch.bfloat16 else module(x)
    torch.testing.assert_close(program.module()(x), expected)


class Transforms(torch.nn.Module):
    def forward(self, x, z, i):
        f = torch.fft
        return (
            (
                f.fft(x),
                f.fft(x, n=10, norm="ortho"),
                f.fft(i, 12),
                f.ifft(x),
                f.rfft(x, dim=0),
                f.irfft(z, n=9),
            ),
            (f.fft2(x, s=(3, 8)), f.ifft2(z, norm="forward"), f.rfft2(x), f.irfft2(z, s=(4, 6))),
            (f.fftn(x).real, f.fftn(i).imag, f.ifftn(z, dim=(0,)), f.rfftn(x), f.irfftn(z), x.real),
        )


def test_fourier_transforms():
    given = torch.randn(4, 8), torch.complex(torch.randn(4, 5), torch.randn(4, 5)), torch.arange(8).view(2, 4)
    program = export(Transforms().eval(), given)
    decomposed = program.run_decompositions()
    left = {operator.name().removeprefix("aten::") for operator in operators(decomposed)}
    # (PyTorch leaves these two as they are.)
    assert left <= {*exported_operators.core(), "_fft_c2c", "view_as_real"}
    assert {"_fft_c2c", "_fft_r2c", "_fft_c2r"} <= left
    for place, module in (("exported", program.module()), ("decomposed", decomposed.module())):
        assert_equal(module(*given), Transforms()(*given), place)


class Named(torch.nn.Module):
    """Its tensors have names of attributes that weft's own classes have."""

    def __init__(self):
        super().__init__()
        self._graph = torch.nn.Parameter(torch.randn(4))
        self.kept = torch.nn.Parameter(torch.randn(4))
        self.register_buffer("changed", torch.ones(4))
        self.register_buffer("_table", torch.randn(4), persistent=False)
        self.placeholders, self._call = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)

    def forward(self, x):
        self.changed.add_(1)
        return self._call(self.placeholders(x * self._graph + self.changed) - self._table * self.kept)


def test_tensors_may_have_any_names():
    x, module = torch.randn(2, 4), Named().eval()
    expected = copy.deepcopy(module)(x)
    decomposed = export(module, (x,)).run_decompositions()
    assert set(decomposed.state_dict) == set(module.state_dict())
    torch.testing.assert_close(decomposed.module()(x), expected)
