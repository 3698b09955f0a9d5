"""Operators that write, as PyTorch's run_decompositions leaves them: auto_functionalized_v2 in an exported program."""

import json
import typing

import pytest
import weft.torch as torch
from weft._C import _export
from weft.torch.export import ExportedProgram, export


@torch.library.custom_op("functionalized::bump", mutates_args=("x",))
def bump(x: torch.Tensor, by: int) -> None:
    x.add_(by)


@torch.library.custom_op("functionalized::both", mutates_args=("x", "ys"))
def both(x: typing.Optional[torch.Tensor], ys: typing.List[torch.Tensor], by: int = 1) -> torch.Tensor:
    total = sum(y.sum() for y in ys)
    for y in ys:
        y.mul_(2)
    if x is not None:
        x.add_(by)
    return total


class Twice(torch.nn.Module):
    def forward(self, x):
        return x * 2


def tensor(name):
    return {"as_tensor": {"name": name}}


def program_of(operator, given, own, *, copies=1):
    """A program of x: the operator on copies of it, then the first copy twice; x is what the first copy is.

    given: the operator's arguments beside the bases. own: outputs that are the operator's.
    """
    program = export(Twice(), (torch.zeros(2, 3),))._json
    module = program["graph_module"]
    graph, signature = module["graph"], module["signature"]
    names = [f"copy_{at}" for at in range(copies)]
    bases = {"as_tensors": [{"name": "x"}] * copies}
    inputs = [
        ("", {"as_operator": f"torch.ops.functionalized.{operator}.default"}),
        *given,
        ("_all_bases", bases),
    ]
    node = {
        "target": "torch.ops.higher_order.auto_functionalized_v2",
        "inputs": [{"name": name, "arg": arg, "kind": 1} for name, arg in inputs],
        "outputs": [*own, *map(tensor, names)],
        "metadata": {},
    }
    graph["tensor_values"].update({name: graph["tensor_values"]["x"] for name in names})
    graph["nodes"].insert(0, node)
    graph["nodes"][1]["inputs"][0]["arg"] = tensor(names[0])
    graph["outputs"].insert(0, tensor(names[0]))
    mutation = {"arg": {"name": names[0]}, "user_input_name": "x"}
    signature["output_specs"].insert(0, {"user_input_mutation": mutation})
    for output in own:
        if "as_tensor" in output:
            graph["outputs"].append(output)
            signature["output_specs"].append({"user_output": {"arg": output}})
            spec = module["module_call_graph"][0]["signature"]
            leaf = {"type": None, "context": None, "children_spec": []}
            pair = {"type": "builtins.tuple", "context": "null", "children_spec": [leaf, leaf]}
            spec["out_spec"] = json.dumps([1, pair])
    return ExportedProgram(_export.make(json.dumps(program), {}, {}))


NONE = {"as_none": True}
ONE = {"as_int": 1}
BASE = ("_x_base_index", {"as_int": 0})
VIEWS = {
    "base": ([BASE], lambda x: x),
    "alias": ([BASE, ("_x_alias", {"as_bool": True})], lambda x: x),
    "slice": (
        [BASE, ("_x_slice_dim", ONE), ("_x_slice_start", ONE), ("_x_slice_end", {"as_int": 3})],
        lambda x: x[:, 1:3],
    ),
    "as_strided": (
        [
            BASE,
            ("_x_size", {"as_ints": [2, 2]}),
            ("_x_stride", {"as_ints": [3, 1]}),
            ("_x_storage_offset", ONE),
        ],
        lambda x: x[:, 1:3],
    ),
}


@pytest.mark.parametrize("view", VIEWS)
def test_what_is_written(view):
    given, written = VIEWS[view]
    module = program_of("bump", [("by", {"as_int": 2}), *given], [NONE]).module()
    for _ in range(3):
        x = torch.arange(6.0).reshape(2, 3)
        expected = x.clone()
        written(expected).add_(2)
        assert torch.equal(module(x), expected * 2)
        assert torch.equal(x, expected)


def test_views_by_strides_are_of_contiguous_tensors():
    module = program_of("bump", [("by", ONE), *VIEWS["as_strided"][0]], [NONE]).module()
    with pytest.raises(RuntimeError, match="not contiguous"):
        module(torch.zeros(3, 2).t())


@pytest.mark.parametrize("is_none", [True, False])
def test_lists_and_results(is_none):
    given = [
        ("by", {"as_int": 5}),
        ("_x_base_index", NONE if is_none else {"as_int": 0}),
        ("_ys_length", {"as_int": 2}),
        ("_ys_0_base_index", {"as_int": 0}),
        ("_ys_1_base_index", ONE),
    ]
    x = torch.ones(2, 3)
    doubled, total = program_of("both", given, [tensor("total")], copies=2).module()(x)
    assert total.item() == 12
    expected = torch.ones(2, 3) * 2 + (0 if is_none else 5)
    assert torch.equal(x, expected) and torch.equal(doubled, expected * 2)


@pytest.mark.parametrize(
    ("operator", "given", "error", "text"),
    [
        ("absent", [BASE], NotImplementedError, "functionalized::absent"),
        ("bump", [("by", ONE)], ValueError, "no argument '_x_base_index'"),
        ("bump", [("by", ONE), ("_x_base_index", ONE)], ValueError, "no such base"),
        ("bump", [("by", ONE), BASE, ("other", ONE)], ValueError, "takes no argument 'other'"),
        ("bump", [("by", ONE), BASE, ("_x_slice_dim", ONE)], ValueError, "no argument '_x_slice_start'"),
    ],
)
def test_what_does_not_fit(operator, given, error, text):
    with pytest.raises(error, match=text):
        program_of(operator, given, [NONE])
