"""torch.fx beside PyTorch: printed graphs, generated code and results of the programs of fx_programs.py (test_fx.json)."""

import copy
import json
import subprocess
import sys
import warnings
from pathlib import Path

import fx_programs
import pytest
import weft.torch as torch
import weft.torch.fx  # noqa: F401
import weft.torchvision as torchvision

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


@pytest.mark.parametrize("name", fx_programs.MODELS)
def test_names_of_models(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = json.loads(json.dumps(fx_programs.node_names(torchvision, name)))
    assert found == RECORDED["names of torchvision's models"][name]


def test_features_are_what_pruned_models_compute():
    model = torchvision.models.resnet18(num_classes=3).eval()
    extraction = torchvision.models.feature_extraction
    extractor = extraction.create_feature_extractor(model, {"layer1.0.relu_1": "a", "layer2": "b"})
    assert "layer3" not in dict(extractor.named_modules()) and extractor.conv1 is model.conv1
    x = torch.ones(1, 3, 32, 32)
    with torch.no_grad():
        stem = model.maxpool(model.relu(model.bn1(model.conv1(x))))
        found = extractor(x)
        assert torch.equal(found["a"], model.layer1[0](stem))
        assert torch.equal(found["b"], model.layer2(model.layer1(stem)))
        for other in (
            copy.deepcopy(extractor),
            torch.jit.script(extractor),
            torch.jit.trace(extractor, x, strict=False),
        ):
            again = other(x)
            assert all(torch.equal(again[key], found[key]) for key in found)
        compiled = torch.compile(extractor)(x)
        assert all(torch.allclose(compiled[key], found[key], atol=1e-5) for key in found)


def test_graph_modules_compiled_scripted_and_traced():
    model, x = fx_programs.small_model(torch)
    traced = torch.fx.symbolic_trace(model)
    expected = model(x)
    compiled = torch.compile(traced, fullgraph=True)
    for each in (torch.jit.script(traced), torch.jit.trace(traced, x), compiled):
        assert torch.allclose(each(x), expected, atol=1e-6)
    # Another graph of the same module is compiled again.
    for node in traced.graph.nodes:
        if node.target is torch.nn.functional.relu:
            node.target, node.kwargs = torch.neg, {}
    traced.recompile()
    assert torch.allclose(compiled(x), -expected, atol=1e-6)


def test_scripts_of_printed_indices():
    def function(x):
        return x[..., :1], x[1:2, None, :3], x[:-1], x[1::2], x[None, ..., 0]

    traced = torch.fx.symbolic_trace(function)
    assert "x[(Ellipsis, slice(None, 1, None))]" in traced.code
    x = torch.arange(12.0).reshape(4, 3)
    for mine, expected in zip(torch.jit.script(traced)(x), function(x)):
        assert torch.equal(mine, expected)


def test_proxies_of_another_tracer():
    graph = torch.fx.Graph()
    tracer = torch.fx.proxy.GraphAppendingTracer(graph)
    x, y = (torch.fx.Proxy(graph.placeholder(name), tracer) for name in "xy")
    z = torch.einsum("ij,jk->ik", (x, y)).reshape(x.shape[0], -1)
    graph.output(torch.nn.functional.relu(z).node)
    module = torch.fx.GraphModule({}, graph, class_name="Product")
    a, b = torch.ones(2, 3), torch.ones(3, 4)
    assert torch.equal(module(a, b), a @ b) and type(module).__name__ == "Product"


def test_written_folder(tmp_path):
    model, x = fx_programs.small_model(torch)
    torch.fx.symbolic_trace(model).to_folder(tmp_path / "made", "Made")
    program = tmp_path / "program.py"
    program.write_text(
        "import torch, made\nmodule = made.Made()\n"
        "print(module(torch.arange(8.0).reshape(2, 4)).tolist(), type(module).__name__)\n"
    )
    result = subprocess.run(
        [sys.executable, "-m", "weft.torch", "program.py"], cwd=tmp_path, capture_output=True, text=True
    )
    assert result.stdout == f"{model(x).tolist()} Made\n", result.stderr


def test_functions_are_as_before_after_a_trace():
    code, method = torch.nn.functional.relu.__code__, torch.Tensor.view
    seen = []

    def function(x):
        seen.append(torch.Tensor.view is method)
        torch.nn.functional.relu(torch.ones(2)).view(1, 2)  # calls of plain tensors are not recorded
        return torch.nn.functional.relu(x)

    graph = torch.fx.symbolic_trace(function).graph
    assert seen == [False] and [node.name for node in graph.nodes] == ["x", "relu", "output"]
    assert torch.nn.functional.relu.__code__ is code and torch.Tensor.view is method
    with pytest.raises(ZeroDivisionError):
        torch.fx.symbolic_trace(lambda x: 1 / 0)
    assert torch.nn.functional.relu.__code__ is code and not torch.fx._symbolic_trace.is_fx_tracing()
