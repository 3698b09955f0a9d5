"""Scripts of every module give what the module gives; what they call in place of functions of weft.nn.functional gives the
same outside scripts."""

import functools
import inspect
import re
import typing

import nn_cases
import numpy as np
import pytest
import weft
from nn_cases import CASES
from weft import nn
from weft.nn import _scripted
from weft.nn import functional as F

RANK = {"fold": 2, "unfold": 2}


def expanded(name, value, annotation):
    """A number given for a list of them, as the compiler repeats it; a factor as a list."""
    is_list = typing.List[int] in (annotation, *typing.get_args(annotation))
    if not is_list or not isinstance(value, int):
        return value
    found = re.search(r"(\d)d", name)
    return [value] * (int(found.group(1)) if found else RANK[name])


def as_in_scripts(name, chosen):
    """The replacement, called with what scripts would pass."""
    if isinstance(chosen, str):
        return functools.partial(weft._C._call_builtin, chosen)
    if isinstance(chosen, list):
        return lambda input, size=None, scale_factor=None, *rest, **others: chosen[
            1 if isinstance(scale_factor, float) else 2 if isinstance(size, int) else 0
        ](input, size, scale_factor, *rest, **others)

    def call(*args, **kwargs):
        parameters = inspect.signature(chosen).parameters
        kwargs.update(zip(parameters, args))
        return chosen(
            **{key: expanded(name, value, parameters[key].annotation) for key, value in kwargs.items()}
        )

    return call


def noting(called, name, run):
    def call(*args, **kwargs):
        called.append(name)
        return run(*args, **kwargs)

    return call


@pytest.fixture
def scripted_functional(monkeypatch):
    """Gives the names of the replacements that were called."""
    called = []
    for name, function in list(vars(F).items()):
        chosen = _scripted.replacement(function) if inspect.isfunction(function) else None
        # Convolutions and adaptive pooling take a number for several in the builtin itself.
        if chosen is None or isinstance(chosen, str):
            continue

        monkeypatch.setattr(F, name, noting(called, name, as_in_scripts(name, chosen)))
    monkeypatch.setattr(nn._types, "takes_fast_path", lambda: False)
    return called


def fresh(case):
    inputs, options = case.arrays()
    return nn_cases.to_tensors(weft.asarray, inputs), nn_cases.to_tensors(weft.asarray, options)


# None as a size; computed by NumPy; a Python callable as an argument: TorchScript has none of these.
NO_SCRIPTS = {"CTCLoss", "TripletMarginWithDistanceLoss"}
NOT_FOR_SCRIPTS = {"AdaptiveAvgPool2d((None, 3))", "AdaptiveMaxPool2d((None, 3))"}


@pytest.mark.parametrize("case", [case for case in CASES if repr(case) not in NOT_FOR_SCRIPTS], ids=repr)
def test_replacements_give_what_they_replace(case, request):
    module = nn_cases.filled(case.build(nn), weft.asarray)
    inputs, options = fresh(case)
    expected = [tensor.numpy().copy() for tensor in nn_cases.flat(module(*inputs, **options))]
    called = request.getfixturevalue("scripted_functional")
    inputs, options = fresh(case)
    got = nn_cases.flat(module(*inputs, **options))
    if not called:
        pytest.skip("calls no function that has a replacement")
    assert len(got) == len(expected)
    for tensor, array in zip(got, expected):
        assert tensor.dtype == weft.asarray(array).dtype
        np.testing.assert_allclose(tensor.numpy(), array, rtol=2e-5, atol=1e-5)


needs_script = pytest.mark.skipif(not hasattr(weft.jit, "script"), reason="this weft has no weft.jit.script")


def scriptable(case):
    return case.name not in NO_SCRIPTS and repr(case) not in NOT_FOR_SCRIPTS


@needs_script
@pytest.mark.parametrize("case", [case for case in CASES if scriptable(case)], ids=repr)
def test_scripts_give_what_modules_give(case):
    module = nn_cases.filled(case.build(nn), weft.asarray)
    inputs, options = fresh(case)
    expected = [tensor.numpy().copy() for tensor in nn_cases.flat(module(*inputs, **options))]
    inputs, options = fresh(case)
    got = nn_cases.flat(weft.jit.script(module)(*inputs, **options))
    assert len(got) == len(expected)
    for tensor, array in zip(got, expected):
        assert tensor.dtype == weft.asarray(array).dtype
        np.testing.assert_allclose(tensor.numpy(), array, rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [weft.float32, weft.float64, weft.float16, weft.bfloat16], ids=str)
@pytest.mark.parametrize("eps", [None, 1e-3])
def test_rms_norm(dtype, eps):
    x = weft.asarray(np.random.default_rng(0).standard_normal((3, 2, 8)) * 1e-2).to(dtype)
    weight = weft.asarray(np.linspace(0.5, 2, 16).reshape(2, 8)).to(dtype)
    got, expected = (f(x, [2, 8], weight, eps) for f in (_scripted.replacement(F.rms_norm), F.rms_norm))
    assert got.dtype == dtype
    tolerance = {weft.float32: 1e-6, weft.float64: 1e-13, weft.float16: 2e-3, weft.bfloat16: 2e-2}[dtype]
    np.testing.assert_allclose(
        got.to(weft.float64).numpy(), expected.to(weft.float64).numpy(), rtol=tolerance
    )


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "area", "bilinear", "bicubic"])
@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize(
    "place", [{"size": [5, 9]}, {"size": 6}, {"scale_factor": 1.6}, {"scale_factor": [0.7, 2.0]}]
)
def test_interpolate(mode, antialias, place):
    if antialias and not mode.startswith("bi"):
        return
    x = weft.asarray(np.random.default_rng(1).standard_normal((2, 3, 8, 7)).astype(np.float32))
    run = as_in_scripts("interpolate", _scripted.replacement(F.interpolate))
    np.testing.assert_allclose(run(x, mode=mode, antialias=antialias, **place).numpy(),
                               F.interpolate(x, mode=mode, antialias=antialias, **place).numpy(), rtol=1e-5, atol=1e-5)  # fmt: skip


def test_every_builtin_exists():
    known = {schema.partition("(")[0].partition(".")[0] for schema in weft._C._builtin_schemas()}
    assert set(_scripted._BUILTINS.values()) <= known
