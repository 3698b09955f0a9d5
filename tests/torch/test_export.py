"""Modules that weft.torch.export exports: run here, written and loaded again, and run by PyTorch where it is installed."""

import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import weft
import weft.torch as torch
from exported_modules import modules, register
from weft.torch._dynamo.exc import UserError
from weft.torch.export import Dim, export, load, save
from weft.torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "python"))

import exported_operators  # noqa: E402

register(torch)
NAMES = list(modules(torch))


def copied(call):
    return torch.utils._pytree.tree_map(
        lambda leaf: leaf.clone() if isinstance(leaf, torch.Tensor) else leaf, call
    )


def leaves(value):
    return torch.utils._pytree.tree_leaves(value)


def assert_equal(found, expected, place):
    for one, other in zip(leaves(found), leaves(expected), strict=True):
        assert type(one) is type(other) or isinstance(one, torch.Tensor), place
        if not isinstance(other, torch.Tensor):
            assert one == other, place
            continue
        assert (one.dtype, one.shape) == (other.dtype, other.shape), place
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)


def exported(name, **options):
    module, calls, shapes = modules(torch)[name]
    args, kwargs = copied(calls[0])
    return export(module, args, kwargs, dynamic_shapes=shapes, **options)


def expected_results(name):
    """Of each call of the module itself: the result, and the arguments afterwards."""
    module, calls, _ = modules(torch)[name]
    for call in calls:
        args, kwargs = copied(call)
        yield copied(call), module(*args, **kwargs), (args, kwargs)


def check(name, program):
    module = program.module()
    for number, ((args, kwargs), result, after) in enumerate(expected_results(name)):
        assert_equal(module(*args, **kwargs), result, f"{name}, call {number}")
        assert_equal((args, kwargs), after, f"{name}, call {number}: the arguments afterwards")


@pytest.mark.parametrize("name", NAMES)
def test_runs(name):
    check(name, exported(name))


@pytest.mark.parametrize("name", NAMES)
def test_written_and_loaded(name, tmp_path):
    program = exported(name)
    save(program, tmp_path / "model.pt2")
    again = load(tmp_path / "model.pt2")
    assert str(again) == str(program)
    assert list(again.state_dict) == list(program.state_dict)
    check(name, again)


def test_export_leaves_the_module_as_it_was():
    module, calls, _ = modules(torch)["buffers"]
    before = {name: buffer.clone() for name, buffer in module.named_buffers()}
    export(module, *copied(calls[0]))
    for name, buffer in module.named_buffers():
        assert torch.equal(buffer, before[name])


def test_weights_are_the_modules_own():
    module, calls, _ = modules(torch)["linear"]
    program = export(module, *copied(calls[0]))
    assert program.state_dict["weight"].data_ptr() == module.weight.data_ptr()
    assert [name for name, _ in program.named_parameters()] == ["weight", "bias"]


def test_prints_as_pytorch():
    """Text of PyTorch 2.15 for this module, but for the line of the program."""
    module, calls, shapes = modules(torch)["sequential"]
    lines = [
        line.rstrip()
        for line in str(export(module, *calls[0], dynamic_shapes=shapes)).splitlines()
        if "# File" not in line
    ]
    assert (
        lines
        == """\
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, p_layers_0_weight: "f32[8, 4]", p_layers_0_bias: "f32[8]", p_layers_2_weight: "f32[2, 8]", p_layers_2_bias: "f32[2]", x: "f32[s77, 4]"):
            linear: "f32[s77, 8]" = torch.ops.aten.linear.default(x, p_layers_0_weight, p_layers_0_bias);  x = p_layers_0_weight = p_layers_0_bias = None
            gelu: "f32[s77, 8]" = torch.ops.aten.gelu.default(linear);  linear = None
            linear_1: "f32[s77, 2]" = torch.ops.aten.linear.default(gelu, p_layers_2_weight, p_layers_2_bias);  gelu = p_layers_2_weight = p_layers_2_bias = None
            softmax: "f32[s77, 2]" = torch.ops.aten.softmax.int(linear_1, -1);  linear_1 = None
            return (softmax,)

Graph signature:
    # inputs
    p_layers_0_weight: PARAMETER target='layers.0.weight'
    p_layers_0_bias: PARAMETER target='layers.0.bias'
    p_layers_2_weight: PARAMETER target='layers.2.weight'
    p_layers_2_bias: PARAMETER target='layers.2.bias'
    x: USER_INPUT

    # outputs
    softmax: USER_OUTPUT

Range constraints: {s77: VR[1, 64]}""".splitlines()
    )


@torch.library.custom_op("test_export::scaled", mutates_args=())
def scaled(x: torch.Tensor, k: float = 2.0) -> torch.Tensor:
    return x * k


def test_operators_of_the_programs_own(tmp_path):
    program = export(Forward(lambda x: scaled(x, 3.0) + torch.ops.test_export.scaled(x)), (torch.ones(2),))
    assert "torch.ops.test_export.scaled.default(x, 3.0)" in str(program)
    save(program, tmp_path / "model.pt2")
    assert load(tmp_path / "model.pt2").module()(torch.ones(2)).tolist() == [5.0, 5.0]


def test_custom_classes_are_refused_by_name():
    program = exported("linear")
    source = json.loads(program._program.text())
    spec = {"arg": {"name": "obj", "class_fqn": "mine.Thing"}, "custom_obj_name": "obj"}
    source["graph_module"]["signature"]["input_specs"].append({"custom_obj": spec})
    with pytest.raises(ValueError, match="'obj' is an object of a custom class"):
        weft._C._export.make(json.dumps(source), program.state_dict, program.constants)


def old_file(program, path):
    """As torch.export.save of PyTorch before 2.8 wrote it."""
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("version", "8.5")
        file.writestr("serialized_exported_program.json", program._program.text())
        for name, value in (
            ("state_dict", program.state_dict),
            ("constants", program.constants),
            ("example_inputs", program.example_inputs),
        ):
            saved = io.BytesIO()
            torch.save(value, saved)
            file.writestr(f"serialized_{name}.pt", saved.getvalue())


@pytest.mark.parametrize("name", ["conv_norm", "buffers", "constants", "tied"])
def test_old_files(name, tmp_path):
    old_file(exported(name), tmp_path / "model.pt2")
    check(name, load(tmp_path / "model.pt2"))


def test_old_files_that_are_damaged(tmp_path):
    old_file(exported("linear"), tmp_path / "model.pt2")
    with zipfile.ZipFile(tmp_path / "model.pt2") as file:
        entries = {name: file.read(name) for name in file.namelist()}
    saved = io.BytesIO()
    torch.save([1], saved)
    for name, contents in (
        ("serialized_state_dict.pt", None), ("serialized_state_dict.pt", b"no"), ("serialized_constants.pt", saved.getvalue()),
        ("serialized_exported_program.json", b"{}"), ("serialized_exported_program.json", b"["),
    ):  # fmt: skip
        with zipfile.ZipFile(tmp_path / "bad.pt2", "w") as file:
            for entry, bytes_ in {**entries, name: contents}.items():
                if bytes_ is not None:
                    file.writestr(entry, bytes_)
        with pytest.raises(ValueError):
            load(tmp_path / "bad.pt2")


# ---- sizes ---------------------------------------------------------------------------------------------------
class Forward(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x, *more):
        return self.function(x, *more)


def of(function, *args, shapes):
    return export(
        Forward(function), args, dynamic_shapes=(*shapes[:1], tuple(shapes[1:])) if shapes[1:] else shapes
    )


def test_ranges_of_sizes():
    program = of(lambda x: x * 2, torch.ones(5, 3), shapes=({0: Dim("batch", min=2, max=8)},))
    assert str(program.range_constraints) == "{s77: VR[2, 8]}"
    module = program.module()
    # A least size of 2 is what PyTorch's tracing assumes: its programs take batches of 0 and 1.
    for size in (0, 1, 2, 8):
        assert module(torch.ones(size, 3)).shape == (size, 3)
    with pytest.raises(ValueError, match=r"shape\[0\] to be <= 8"):
        module(torch.ones(9, 3))
    least = of(lambda x: x * 2, torch.ones(5, 3), shapes=({0: Dim("batch", min=3)},)).module()
    assert least(torch.ones(3, 3)).shape == (3, 3)
    with pytest.raises(ValueError, match=r"shape\[0\] to be >= 3"):
        least(torch.ones(2, 3))


def test_hints_without_bounds():
    assert (
        str(of(lambda x: x * 2, torch.ones(5), shapes=({0: Dim.DYNAMIC},)).range_constraints)
        == "{s77: VR[2, int_oo]}"
    )
    assert not of(lambda x: x * 2, torch.ones(1), shapes=({0: Dim.AUTO},)).range_constraints
    assert not of(lambda x: x * 2, torch.ones(5), shapes=({0: Dim.STATIC},)).range_constraints
    with pytest.raises(UserError, match="dynamic"):
        of(lambda x: x * 2, torch.ones(1), shapes=({0: Dim.DYNAMIC},))


def branches(x):
    if x.shape[0] > 7:
        return x + 1
    return x - 1


def test_a_branch_narrows_hints():
    for hint in (Dim.AUTO, Dim.DYNAMIC):
        assert str(of(branches, torch.ones(5), shapes=({0: hint},)).range_constraints) == "{s77: VR[2, 7]}"
        assert (
            str(of(branches, torch.ones(9), shapes=({0: hint},)).range_constraints) == "{s77: VR[8, int_oo]}"
        )


def test_a_branch_that_leaves_one_size():
    """A hint becomes that size; what was marked as dynamic, or has a name, is an error."""

    def small(x):
        return x + 1 if x.shape[0] <= 2 else x - 1

    assert not of(small, torch.ones(2), shapes=({0: Dim.AUTO},)).range_constraints
    for dim in (Dim.DYNAMIC, Dim("b", max=2)):
        with pytest.raises(UserError, match="has no value in its range beside 2, and above 1"):
            of(small, torch.ones(2), shapes=({0: dim},))


def test_a_branch_is_an_error_of_names():
    with pytest.raises(UserError) as error:
        of(branches, torch.ones(5), shapes=({0: Dim("b", min=1, max=64)},))
    text = str(error.value)
    assert "Not all values of b = L['x'].size()[0] in the specified range 1 <= b <= 64" in text
    assert "if x.shape[0] > 7:" in text and "Suggested fixes:\n  b = Dim('b', max=7)" in text
    assert of(branches, torch.ones(5), shapes=({0: Dim("b", max=7)},)).module()(torch.ones(7))[0] == 0
    assert of(branches, torch.ones(9), shapes=({0: Dim("b", min=8)},)).module()(torch.ones(8))[0] == 2


def even(x):
    return x * 2 if x.shape[0] % 2 == 0 else x


def one_size(x):
    return x + torch.ones(5, 4)


def listed(x):
    return sum(x[at] for at in range(int(x.shape[0])))


def far(x):
    return x * 2 if x.shape[0] <= 100000 else x


@pytest.mark.parametrize(
    "function, line",
    [
        (even, "x * 2 if x.shape[0] % 2 == 0"),
        (one_size, "x + torch.ones(5, 4)"),
        (listed, "sum(x[at]"),
        (far, "100000"),
    ],
)
def test_more_than_ranges(function, line):
    """The error names the line that asked."""
    with pytest.raises(UserError) as error:
        of(function, torch.ones(5, 4), shapes=({0: Dim("b", min=2)},))
    assert line in str(error.value) and "test_export.py" in str(error.value)


def test_hints_that_are_one_size():
    assert not of(one_size, torch.ones(5, 4), shapes=({0: Dim.AUTO},)).range_constraints
    with pytest.raises(UserError, match="specialized it to be a constant"):
        of(one_size, torch.ones(5, 4), shapes=({0: Dim.DYNAMIC},))


def test_sizes_that_have_to_be_equal():
    shapes = ({0: Dim.DYNAMIC}, {0: Dim.DYNAMIC})
    program = of(lambda x, y: x + y, torch.ones(5), torch.ones(5), shapes=shapes)
    assert len(program.range_constraints) == 1
    with pytest.raises(ValueError):
        program.module()(torch.ones(5), torch.ones(6))
    with pytest.raises(UserError):
        of(lambda x, y: x + y, torch.ones(5), torch.ones(5), shapes=({0: Dim("a")}, {0: Dim("b")}))


def by_value(x):
    return x if x.sum() > 0 else -x


def test_values_that_decide():
    with pytest.raises(GuardOnDataDependentSymNode, match=r"(?s)test_export.py.*return x if x.sum\(\) > 0"):
        of(by_value, torch.ones(5), shapes=({0: Dim.DYNAMIC},))


def test_sizes_that_values_decide():
    program = of(lambda x: (torch.nonzero(x), x[x > 0]), torch.tensor([1.0, 0.0, 2.0]), shapes=({},))
    found, positive = program.module()(torch.tensor([-1.0, 4.0, 2.0]))
    assert found.shape == (3, 1) and positive.tolist() == [4.0, 2.0]
    assert "u0" in str(program)


def test_wrong_shapes():
    for shapes, message in (
        (({0: Dim("b")}, {}), "2 entries"), ({"z": None}, "arg names"), ({"input": {4: Dim("b")}}, "2 dimensions"),
        ({"input": {0: 7}}, "is 5"), ({"input": {0: "b"}}, "expected a Dim"),
    ):  # fmt: skip
        with pytest.raises((ValueError, TypeError), match=message):
            export(torch.nn.Linear(4, 2), (torch.ones(5, 4),), dynamic_shapes=shapes)
    with pytest.raises(UserError, match="not in the range"):
        of(lambda x: x, torch.ones(5), shapes=({0: Dim("b", max=4)},))


def test_dims():
    d = Dim("d", min=1, max=8)
    assert (repr(d), repr(2 * d), repr(d + 1), repr(3 * d - 2)) == (
        "Dim('d', min=1, max=8)",
        "2*d",
        "d + 1",
        "3*d - 2",
    )
    assert ((2 * d).min, (2 * d).max, (d + 1).min) == (2, 16, 2)
    assert repr(Dim.AUTO(min=2, max=5)) == "DimHint(AUTO, min=2, max=5)"
    with pytest.raises(NotImplementedError):
        d * 0
    with pytest.raises(NotImplementedError):
        5 - d
    with pytest.raises(AssertionError):
        Dim("d", min=5, max=5)


def test_what_cannot_be_exported():
    with pytest.raises(ValueError, match="instance of"):
        export(lambda x: x, (torch.ones(2),))
    with pytest.raises(UserError, match="tuple"):
        export(torch.nn.Identity(), torch.ones(2))
    with pytest.raises(TypeError, match="gives object"):
        of(lambda x: object(), torch.ones(2), shapes=({},))
    with pytest.raises(TypeError, match="ExportedProgram"):
        save(torch.nn.Identity(), "model.pt2")


@pytest.mark.parametrize("name", ["sequential", "buffers", "constants"])
def test_strict_changes_nothing(name):
    assert str(exported(name, strict=True)) == str(exported(name))
    with pytest.raises(TypeError, match="strict is True or False"):
        exported(name, strict="yes")


def test_page_of_operators():
    page = (HERE.parents[1] / "docs" / "EXPORTED_OPERATORS.md").read_text()
    assert page == exported_operators.page(), "make docs"


# ---- PyTorch -------------------------------------------------------------------------------------------------
def torch_python():
    """A Python that has PyTorch 2.15; None where none is known."""
    found = os.environ.get("WEFT_TORCH_PYTHON") or HERE.parents[1] / ".venv-torch/bin/python"
    command = [str(found), "-c", "import torch; print(torch.__version__)"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    except OSError:
        return None
    return str(found) if answer.stdout.startswith("2.15") else None


def keep_results(calls, path):
    """What PyTorch's results are compared with: of each call the result and the arguments afterwards."""
    arrays = {}
    for number, found in enumerate(calls):
        for at, leaf in enumerate(leaves(found)):
            if isinstance(leaf, torch.Tensor):
                wide = leaf.float() if leaf.dtype in (torch.bfloat16, torch.float16) else leaf
                arrays[f"{number}_{at}"] = wide.numpy()
    np.savez(path, **arrays)


def answers_of_pytorch(folder):
    python = torch_python()
    if python is None:
        pytest.skip("no Python with PyTorch 2.15: WEFT_TORCH_PYTHON, or `make test-torch`")
    command = [python, str(HERE / "run_exported.py"), str(folder)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr[-4000:]
    return json.loads(answer.stdout.splitlines()[-1])


@pytest.mark.long
def test_pytorch_runs_the_files(tmp_path):
    for name in NAMES:
        save(exported(name), tmp_path / f"{name}.pt2")
        keep_results(
            ((result, after) for _, result, after in expected_results(name)), tmp_path / f"{name}.npz"
        )
    assert answers_of_pytorch(tmp_path) == dict.fromkeys(sorted(NAMES), "equal")


def int4_layers(rows=(48, 80), columns=128):
    """Layers with int4 weights; PyTorch's packs have those whose rows 16 divides, and whose columns groups divide."""
    torch.manual_seed(0)
    layers = [
        torch.nn.Linear(columns, rows[0]),
        torch.nn.GELU(),
        torch.nn.Linear(rows[0], rows[1], bias=False),
    ]
    model = torch.nn.Sequential(*layers).eval()
    weft.quantization.quantize_(model, weft.quantization.int4_weight_only(group_size=32))
    return model


@pytest.mark.parametrize("rows", [(64, 16), (32, 20), (48, 80)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_int4_layers(rows, dtype):
    model, x = int4_layers(rows), torch.randn(3, 128).to(dtype)
    program = export(model, (x,), dynamic_shapes=({0: Dim("batch", min=1, max=9)},))
    packed = sum("_weight_int4pack_mm_for_cpu" in str(node.target) for node in program.graph.nodes)
    assert packed == {(64, 16): 2, (32, 20): 1, (48, 80): 1}[rows]
    near = 1e-2 if dtype is torch.bfloat16 else 2e-4
    for given in (x, x[:1]):
        for run in (program, program.run_decompositions()):
            torch.testing.assert_close(run.module()(given), model(given), rtol=near, atol=near)


@pytest.mark.long
def test_pytorch_runs_int4_layers(tmp_path):
    model, x = int4_layers(), torch.randn(3, 128)
    save(export(model, (x,)), tmp_path / "int4.pt2")
    keep_results([(model(x), ((x,), {}))], tmp_path / "int4.npz")
    assert answers_of_pytorch(tmp_path) == {"int4": "equal"}


@pytest.mark.long
def test_pytorch_runs_models_of_torchvision(tmp_path):
    from weft.torchvision import models

    names = ["googlenet", "mobilenet_v3_small", "resnet18", "swin_t"]
    for name in names:
        torch.manual_seed(0)
        options = {"init_weights": False} if name == "googlenet" else {}
        model, x = getattr(models, name)(**options).eval(), torch.randn(2, 3, 224, 224)
        program = export(model, (x,), dynamic_shapes=({0: Dim("batch", min=1, max=32)},))
        save(program, tmp_path / f"{name}.pt2")
        keep_results([(model(x), ((x,), {}))], tmp_path / f"{name}.npz")
        torch.testing.assert_close(program.module()(x[:1]), model(x[:1]), rtol=1e-4, atol=1e-5)
    assert answers_of_pytorch(tmp_path) == dict.fromkeys(names, "equal")


class Tied(torch.nn.Module):
    """Words, and a head with their weights."""

    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(12, 32)

    def forward(self, ids):
        return torch.nn.functional.linear(self.words(ids), self.words.weight)


def test_a_weight_that_is_read_otherwise_is_quantized_beside_it():
    module, ids = Tied().eval(), torch.tensor([1, 5, 3])
    quantized = export(module, (ids,)).module()
    weft.quantization.quantize_(quantized, weft.quantization.int8_weight_only())
    weight = module.words.weight.detach()
    assert dict(quantized.named_parameters())["words.weight"].equal(weight)
    numbers, scales = weft.quantize_int8(weight)
    assert dict(quantized.named_buffers())["words.quantized"].equal(numbers)
    expected = weft.linear_packed(module.words(ids).detach(), numbers, scales)
    for _ in range(3):
        assert_equal(quantized(ids), expected, "head")


def test_tensors_made_of_data_are_changed():
    class Module(torch.nn.Module):
        def forward(self, x):
            made, first = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([5, 6, 7])
            made[1:].add_(x[1:])
            made.mul_(2)
            first[0] = 9
            return made + first * x

    zeros, ones = torch.zeros(3), torch.ones(3)
    program = export(Module(), (ones,))
    for module in (program.module(), program.run_decompositions().module()):
        for x in (zeros, ones, zeros):
            assert module(x).tolist() == Module()(x).tolist()


def test_plain_tensors_of_the_module_are_changed():
    """What PyTorch 2.15 gives: an export leaves them as they were, and the program changes the module's own."""

    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.total = torch.ones(3)

        def forward(self, x):
            self.total.add_(x)
            return self.total * 2

    module = Module()
    program = export(module, (torch.ones(3),))
    assert module.total.tolist() == [1, 1, 1]
    called = program.module()
    assert [called(torch.ones(3))[0].item() for _ in range(2)] == [4, 6]
    assert module.total.tolist() == [3, 3, 3]
