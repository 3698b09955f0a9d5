"""Every module of weft.nn against PyTorch's: PyTorch's state loaded into weft gives PyTorch's outputs; states and texts have
the same form. Needs WEFT_TORCH_PYTHON, a Python that has PyTorch."""

import inspect
import json
import os
import pathlib
import subprocess
import warnings

import nn_cases
import numpy as np
import pytest
import weft
from nn_cases import CASES
from test_nn_scripted import needs_script, scriptable
from weft import nn

PYTHON = os.environ.get("WEFT_TORCH_PYTHON")
pytestmark = pytest.mark.skipif(not PYTHON, reason="WEFT_TORCH_PYTHON names no Python with PyTorch")
# Of PyTorch 1.13, what newer ones write differently: weft follows those.
NEWER_TEXT = {
    "Softplus",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "PairwiseDistance",
    "EmbeddingBag",
    "Upsample",
    "UpsamplingNearest2d",
    "UpsamplingBilinear2d",
}


@pytest.fixture(scope="module")
def torch_results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("torch")
    outputs = in_torch("write", folder)
    return weft.load(folder / "states.pt"), outputs, json.loads((folder / "modules.json").read_text())


def in_torch(what, folder):
    subprocess.run(
        [PYTHON, pathlib.Path(nn_cases.__file__), what, folder], check=True, capture_output=True, timeout=300
    )
    with np.load(folder / "arrays.npz") as arrays:
        return dict(arrays)


def build_with(case, state):
    module = case.build(nn)
    result = module.load_state_dict(state)
    assert result.missing_keys == [] and result.unexpected_keys == []
    return module


def call(case, module):
    inputs, options = case.arrays()
    return module(*nn_cases.to_tensors(weft.asarray, inputs), **nn_cases.to_tensors(weft.asarray, options))


@pytest.mark.parametrize("i", range(len(CASES)), ids=lambda i: repr(CASES[i]))
def test_outputs_are_pytorchs(i, torch_results):
    states, outputs, _ = torch_results
    module = build_with(CASES[i], states[i])
    got = nn_cases.flat(call(CASES[i], module))
    expected = [
        outputs[key]
        for key in sorted((k for k in outputs if k.startswith(f"{i}/")), key=lambda k: int(k.split("/")[1]))
    ]
    assert len(got) == len(expected)
    for tensor, array in zip(got, expected):
        assert tensor.dtype == weft.asarray(array).dtype and tuple(tensor.shape) == array.shape
        np.testing.assert_allclose(tensor.numpy(), array, rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("i", range(len(CASES)), ids=lambda i: repr(CASES[i]))
def test_states_and_texts_are_pytorchs(i, torch_results):
    states, _, meta = torch_results
    module = CASES[i].build(nn)
    own = module.state_dict()
    assert list(own) == list(states[i])
    assert {key: (tuple(value.shape), value.dtype) for key, value in own.items()} == {
        key: (tuple(value.shape), value.dtype) for key, value in states[i].items()
    }
    if CASES[i].name not in NEWER_TEXT:
        assert repr(module) == meta["texts"][i]


def check_archives(folder, make):
    """Archives of what `make` gives for each case, in PyTorch and in weft."""
    expected = {}
    for i, case in enumerate(CASES):
        module = nn_cases.filled(case.build(nn), weft.asarray)
        made = make(case, module)
        if made is not None:
            made.save(folder / f"{i}.pt")
            expected.update(
                {
                    f"{i}/{j}": tensor.numpy().copy()
                    for j, tensor in enumerate(nn_cases.flat(call(case, module)))
                }
            )
            for j, tensor in enumerate(nn_cases.flat(call(case, made))):
                np.testing.assert_allclose(
                    tensor.numpy(), expected[f"{i}/{j}"], rtol=2e-5, atol=1e-5, err_msg=repr(case)
                )
    outputs = in_torch("run", folder)
    assert set(outputs) == set(expected)
    for key, array in expected.items():
        case = CASES[int(key.partition("/")[0])]
        np.testing.assert_allclose(outputs[key], array, rtol=2e-5, atol=1e-5, err_msg=repr(case))


def test_traces_run_in_pytorch(tmp_path):
    def trace(case, module):
        inputs, _ = case.arrays()
        return (
            None
            if case.options
            else weft.jit.trace(module, nn_cases.to_tensors(weft.asarray, inputs), check_trace=False)
        )

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_archives(tmp_path, trace)


@needs_script
def test_scripts_run_in_pytorch(tmp_path):
    check_archives(tmp_path, lambda case, module: weft.jit.script(module) if scriptable(case) else None)


def test_constructors_take_what_pytorchs_take(torch_results):
    _, _, meta = torch_results
    for name, theirs in meta["signatures"].items():
        if not hasattr(nn, name) or name == "Module":
            continue
        ours = {p.name: p for p in inspect.signature(getattr(nn, name).__init__).parameters.values()}
        if any(kind == "VAR_POSITIONAL" for _, kind, _ in theirs) and name != "Sequential":
            continue
        order = [parameter for parameter, _, _ in theirs]
        assert [parameter for parameter in ours if parameter in order] == order, name
        for parameter, _, default in theirs:
            own = ours[parameter].default
            shown = getattr(own, "__name__", repr(own))
            assert shown == default or own == _number(default), (name, parameter)


def _number(text):
    try:
        return float(text)
    except ValueError:
        return text


def test_no_module_is_missing(torch_results):
    _, _, meta = torch_results
    left_out = {"Container", "CrossMapLRN2d", "DataParallel", "FractionalMaxPool2d", "FractionalMaxPool3d"}
    assert {name for name in meta["signatures"] if not hasattr(nn, name)} == left_out
