"""Compiled functions are pickled by reference to what they wrap: for pools of processes, and for copies."""

import concurrent.futures
import copy
import multiprocessing
import os
import pathlib
import pickle
import subprocess
import sys

import numpy as np
import pickled_functions as p
import pytest
import weft

CALLABLES = list(p.EXPECTED)


def made(text):
    return eval(text, {**vars(p), "np": np, "weft": weft})


def is_compiled(function):
    return type(function).__name__ in ("CompiledFunction", "OptimizedModule")


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("text", CALLABLES)
def test_pickled(text, protocol):
    function = made(text)
    loaded = pickle.loads(pickle.dumps(function, protocol))
    np.testing.assert_array_equal(p.call(loaded, p.ARRAY), p.EXPECTED[text])
    assert type(loaded) is type(function)


@pytest.mark.parametrize(
    "name", ["decorated", "with_options", "Model.apply", "Model.halved", "Model.Inner.apply"]
)
def test_what_a_name_finds_is_the_name(name):
    function = made(name)
    assert is_compiled(function)
    assert pickle.loads(pickle.dumps(function)) is function
    assert len(pickle.dumps(function)) < 100


@pytest.mark.parametrize("name", ["wrapping", "again", "of_partial"])
def test_options_are_kept(name):
    function = made(name)
    function.note = ["mine"]
    try:
        loaded = pickle.loads(pickle.dumps(function))
    finally:
        del function.note
    assert loaded is not function
    assert loaded._options == function._options
    assert loaded.__wrapped__ is function.__wrapped__ or name == "of_partial"
    assert loaded.note == ["mine"]
    assert weft.compile(p.plain, fullgraph=True, dynamic=True, mode="max-autotune")._options == (
        True,
        True,
        "max-autotune",
        "weft",
    )


@pytest.mark.parametrize("text", ["local_function()", "of_lambda"])
def test_what_has_no_name_raises_pickles_own_error(text):
    function = made(text)
    with pytest.raises((pickle.PicklingError, AttributeError)) as of_compiled:
        pickle.dumps(function)
    with pytest.raises((pickle.PicklingError, AttributeError)) as of_wrapped:
        pickle.dumps(function.__wrapped__)
    assert str(of_compiled.value) == str(of_wrapped.value)
    assert "inside" in str(of_compiled.value) or "<lambda>" in str(of_compiled.value)


def test_a_name_that_finds_another_function_is_refused():
    function = weft.compile(p.plain.__class__(p.plain.__code__, p.plain.__globals__))
    with pytest.raises(pickle.PicklingError, match="not the same object"):
        pickle.dumps(function)


# ---- copies --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy])
@pytest.mark.parametrize("name", ["decorated", "with_options", "wrapping", "again", "of_lambda"])
def test_functions_are_copied_as_functions_are(name, how):
    assert how(made(name)) is made(name)
    assert how([made(name)])[0] is made(name)


def test_a_deep_copy_has_modules_of_its_own():
    network = p.Network()
    compiled = weft.compile(network, dynamic=True)
    compiled.note = ["mine"]
    copied = copy.deepcopy(compiled)
    assert copy.copy(compiled)._orig_mod is network
    assert (
        copied._weft_options == compiled._weft_options
        and copied.note == ["mine"]
        and copied.note is not compiled.note
    )
    x = weft.tensor(p.ARRAY.astype(np.float32))
    before = np.asarray(compiled(x))
    np.testing.assert_array_equal(np.asarray(copied(x)), before)
    zeros = {key: weft.zeros_like(value) for key, value in network.state_dict().items()}
    copied.__wrapped__.load_state_dict(zeros)
    assert not np.asarray(copied(x)).any()
    np.testing.assert_array_equal(np.asarray(compiled(x)), before)


def test_a_deep_copy_of_a_method_has_an_object_of_its_own():
    model = p.Model(2.0)
    compiled, bound = weft.compile(model.uncompiled), model.apply
    copied, copied_bound = copy.deepcopy(compiled), copy.deepcopy(bound)
    copied.__wrapped__.__self__.factor = copied_bound.__self__.factor = 7.0
    x = np.ones(3)
    assert [f(x)[0] for f in (compiled, copied, bound, copied_bound)] == [3.0, 8.0, 2.0, 7.0]


def test_a_module_is_pickled_with_its_weights():
    compiled = weft.compile(p.Network())
    loaded = pickle.loads(pickle.dumps(compiled))
    assert is_compiled(loaded)
    x = weft.tensor(p.ARRAY.astype(np.float32))
    np.testing.assert_array_equal(np.asarray(loaded(x)), np.asarray(compiled(x)))


# ---- other processes -----------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def importable():
    """Children that are spawned find this folder."""
    before = os.environ.get("PYTHONPATH")
    folder = str(pathlib.Path(__file__).parent)
    os.environ["PYTHONPATH"] = folder + (os.pathsep + before if before else "")
    yield
    if before is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = before


@pytest.fixture(scope="module", params=["fork", "spawn", "forkserver"])
def pool(request, importable):
    context = multiprocessing.get_context(request.param)
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as executor:
        yield executor


@pytest.mark.parametrize("text", CALLABLES)
def test_executor(pool, text):
    function = made(text)
    function(p.ARRAY)  # a process that has called it has more to lose
    futures = [pool.submit(p.call, function, p.ARRAY) for _ in range(2)]
    for future in futures:
        np.testing.assert_array_equal(future.result(timeout=120), p.EXPECTED[text])
    (mapped,) = pool.map(function, [p.ARRAY])
    np.testing.assert_array_equal(mapped, p.EXPECTED[text])


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing(importable, method):
    context = multiprocessing.get_context(method)
    with context.Pool(2) as pool:
        for result in pool.map(p.wrapping, [p.ARRAY] * 3):
            np.testing.assert_array_equal(result, p.EXPECTED["wrapping"])
    queue = context.Queue()
    process = context.Process(target=p.send, args=(p.decorated, queue))
    process.start()
    result, kind = queue.get(timeout=120)
    process.join()
    assert kind == "CompiledFunction" and process.exitcode == 0
    np.testing.assert_array_equal(result, p.EXPECTED["decorated"])


SCRIPT = """
import multiprocessing, numpy, weft

@weft.compile
def own(x):
    return x * 2

if __name__ == "__main__":
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            print([result.tolist() for result in pool.map(own, [numpy.arange(3.0)] * 2)])
"""


def test_functions_of_a_script(tmp_path):
    (tmp_path / "program.py").write_text(SCRIPT)
    path = str(pathlib.Path(weft.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "program.py"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=300,
        env={**os.environ, "PYTHONPATH": path},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["[[0.0, 2.0, 4.0], [0.0, 2.0, 4.0]]"] * 2
