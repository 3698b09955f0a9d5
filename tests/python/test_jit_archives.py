"""weft.jit.load: archives that PyTorch wrote give PyTorch's outputs, interpreted, frozen and saved again."""

import copy
import io
import os
import pathlib
import threading

import numpy as np
import pytest
import weft

NAMES = """attention cnn_frozen cnn_scripted cnn_traced control_flow early_return encoder_layer fork_many fork_wait lstm
mobilenet_v3_small squeezenet1_1 text""".split()
RELATIVE = 1e-4  # of whole models in float32, see the data's README


@pytest.fixture(scope="module")
def folder():
    shared = os.environ.get("WEFT_SHARED_DATA")
    if not shared:
        pytest.skip("no shared data (WEFT_SHARED_DATA)")
    return pathlib.Path(shared) / "torchscript"


def flattened(value, name):
    """The names that the .npz files give to the parts of a value."""
    if isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, (list, tuple)):
        parts = enumerate(value)
    else:
        return {name: value}
    return {key: part for inner, item in parts for key, part in flattened(item, f"{name}.{inner}").items()}


def inputs_of(arrays):
    count = sum(key.startswith("in.") for key in arrays)
    inputs = [arrays[f"in.{i}"] for i in range(count)]
    return [x.item() if x.ndim == 0 else weft.tensor(x) for x in inputs]


def check_archive(module, arrays):
    found = flattened(module(*inputs_of(arrays)), "out")
    assert sorted(found) == sorted(key for key in arrays if key.startswith("out"))
    for key, value in found.items():
        expected = arrays[key]
        value = np.asarray(value)
        assert value.shape == expected.shape, key
        if expected.dtype.kind == "f":
            largest = np.abs(expected).max(initial=0)
            np.testing.assert_allclose(
                value, expected, rtol=RELATIVE, atol=0.1 * RELATIVE * largest, err_msg=key
            )
        else:
            np.testing.assert_array_equal(value, expected, err_msg=key)


def test_names_are_those_of_the_folder(folder):
    assert NAMES == sorted(path.stem for path in folder.glob("*.pt"))


@pytest.mark.parametrize("name", NAMES)
def test_outputs_are_pytorchs(folder, name):
    module = weft.jit.load(folder / f"{name}.pt")
    arrays = np.load(folder / f"{name}.npz")
    for _ in range(3):  # what runs after a profiling run, too
        check_archive(module, arrays)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("optimize", [weft.jit.freeze, weft.jit.optimize_for_inference])
def test_frozen(folder, name, optimize):
    module = weft.jit.load(folder / f"{name}.pt").eval()
    frozen = optimize(module)
    arrays = np.load(folder / f"{name}.npz")
    for _ in range(3):
        check_archive(frozen, arrays)
    assert not list(frozen.parameters())


@pytest.mark.parametrize("name", NAMES)
def test_saved_again(folder, name):
    module = weft.jit.load(folder / f"{name}.pt")
    again = weft.jit.load(io.BytesIO(module.save_to_buffer()))
    check_archive(again, np.load(folder / f"{name}.npz"))
    assert (
        again.training == module.training if hasattr(module, "training") else not hasattr(again, "training")
    )


def test_sources(folder, tmp_path):
    path = folder / "cnn_scripted.pt"
    contents = path.read_bytes()
    arrays = np.load(folder / "cnn_scripted.npz")
    with open(path, "rb") as file:
        check_archive(weft.jit.load(file), arrays)
    check_archive(weft.jit.load(contents), arrays)
    check_archive(weft.jit.load(str(path), map_location="cpu"), arrays)
    check_archive(weft.jit.load(path, weft.device("cpu")), arrays)
    with pytest.raises(FileNotFoundError):
        weft.jit.load(tmp_path / "missing.pt")
    with pytest.raises(TypeError, match="expected a path, bytes, or a file"):
        weft.jit.load(3)
    with pytest.raises(TypeError, match="binary mode"):
        weft.jit.load(io.StringIO("text"))
    with pytest.raises(ValueError, match="bytes"):
        weft.jit.load(contents[: len(contents) // 2])


def test_extra_files(folder, tmp_path):
    module = weft.jit.load(folder / "early_return.pt")
    path = tmp_path / "m.pt"
    module.save(path, _extra_files={"notes.txt": "text", "more/bytes": b"\0\1"})
    extra = {"notes.txt": "", "more/bytes": "", "missing": "?"}
    weft.jit.load(path, _extra_files=extra)
    assert extra["notes.txt"] == b"text" and extra["more/bytes"] == b"\0\1"


# ---- the module in Python --------------------------------------------------------------------------------------


@pytest.fixture
def mobilenet(folder):
    return weft.jit.load(folder / "mobilenet_v3_small.pt")


def random_image():
    return weft.tensor(np.random.default_rng(0).standard_normal((1, 3, 64, 64)), dtype=weft.float32)


def test_state(mobilenet):
    state = mobilenet.state_dict()
    names = [name for name, _ in mobilenet.named_parameters()]
    assert len(names) == len(set(names)) == len(list(mobilenet.parameters())) == 142
    assert set(names) < set(state)
    assert all(isinstance(value, weft.nn.Parameter) for value in mobilenet.parameters())
    assert {name for name, _ in mobilenet.named_buffers()} == set(state) - set(names)
    assert mobilenet.features[0][0].weight.shape == (16, 3, 3, 3)
    assert [name for name, _ in mobilenet.named_children()] == ["features", "avgpool", "classifier"]
    assert len(list(mobilenet.modules())) == len({id(m) for m in mobilenet.modules()})
    assert mobilenet.get_submodule("features.0.0") is mobilenet.features[0][0]


def test_load_state_dict(mobilenet, folder):
    x = random_image()
    other = copy.deepcopy(mobilenet)
    expected = np.asarray(mobilenet(x))
    for value in other.parameters():
        value.copy_(weft.zeros_like(value))
    assert not np.asarray(other(x)).any() and expected.any()
    assert str(other.load_state_dict(mobilenet.state_dict())) == "<All keys matched successfully>"
    for name, value in mobilenet.state_dict().items():
        np.testing.assert_array_equal(np.asarray(other.state_dict()[name]), np.asarray(value))
    # Compiled at different calls, sums are in different orders.
    np.testing.assert_allclose(np.asarray(other(x)), expected, rtol=0, atol=1e-5 * np.abs(expected).max())
    with pytest.raises(RuntimeError, match=r"Missing key\(s\) in state_dict: .*features\.0\.0\.weight"):
        other.load_state_dict({})


def test_modes_and_dtypes(mobilenet):
    assert mobilenet.eval() is mobilenet and not mobilenet.training
    mobilenet.train()
    assert mobilenet.training and all(m.training for m in mobilenet.modules())
    mobilenet.eval().to(weft.float64)
    assert {str(p.dtype) for p in mobilenet.parameters()} == {str(weft.float64)}
    assert mobilenet(random_image().to(weft.float64)).dtype == weft.float64


def test_text_of_the_program(folder):
    module = weft.jit.load(folder / "fork_wait.pt")
    assert "def forward(self" in module.code.replace("(s:", "(self:") and "compute_z" in module.code
    assert "aten::" in module.graph or "prim::" in module.graph
    assert "aten::" in module.inlined_graph
    assert "compute_z" in module.compute_z.schema
    assert "ForkWait" in repr(module) and module.original_name == "ForkWait"
    assert "compute_z" in dir(module)


def test_attributes_are_checked(mobilenet):
    mobilenet.training = True
    with pytest.raises(TypeError, match="training"):
        mobilenet.training = "yes"
    with pytest.raises(AttributeError, match="missing"):
        mobilenet.missing
    with pytest.raises(TypeError, match="deleted"):
        del mobilenet.features


def test_wrong_calls(folder):
    module = weft.jit.load(folder / "control_flow.pt")
    with pytest.raises(TypeError, match=r"forward\(\): argument 'n': expected int, got str"):
        module(weft.ones((4, 8)), "3", True, None)
    with pytest.raises(TypeError, match="missing"):
        module(weft.ones((4, 8)))
    with pytest.raises(TypeError, match="other"):
        module(weft.ones((4, 8)), 3, True, None, other=1)


def test_errors_in_scripts(folder):
    module = weft.jit.load(folder / "cnn_scripted.pt")
    with pytest.raises(weft.jit.Error, match="Traceback of TorchScript") as caught:
        module(weft.ones((1, 5, 32, 32)))
    assert isinstance(caught.value, ValueError)


def settled(module, x):
    """What it gives from the call on at which it is compiled: sums are in another order before."""
    for _ in range(3):
        result = np.asarray(module(x))
    return result


# ---- tasks -----------------------------------------------------------------------------------------------------


def test_fork_and_wait(folder):
    module = weft.jit.load(folder / "cnn_scripted.pt")
    x = weft.tensor(np.load(folder / "cnn_scripted.npz")["in.0"])
    expected = settled(module, x)
    futures = [weft.jit.fork(module, x) for _ in range(8)] + [weft.jit.fork(module.forward, x=x)]
    for future in futures:
        np.testing.assert_array_equal(np.asarray(weft.jit.wait(future)), expected)
        assert future.done() and np.array_equal(np.asarray(future.value()), expected)
    failed = weft.jit.fork(module, weft.ones((1, 5, 32, 32)))
    with pytest.raises(weft.jit.Error):
        failed.wait()


def test_futures_of_python():
    future = weft.jit.Future()
    seen = []
    future.add_done_callback(lambda f: seen.append(f.value()))
    doubled = future.then(lambda f: f.value() * 2)
    assert not future.done()
    with pytest.raises(RuntimeError, match="not done"):
        future.value()
    threading.Timer(0.01, future.set_result, (21,)).start()
    assert future.wait() == 21 and doubled.wait() == 42 and seen == [21]
    with pytest.raises(RuntimeError, match="already"):
        future.set_result(1)
    assert weft.jit.fork(lambda a, b=1: (a, b), 3, b=4).wait() == (3, 4)
    with pytest.raises(ZeroDivisionError):
        weft.jit.fork(lambda: 1 // 0).wait()
    failed = future.then(lambda f: f.missing)
    with pytest.raises(AttributeError):
        failed.wait()


def test_many_threads_run_one_module(folder):
    module = weft.jit.load(folder / "cnn_scripted.pt")
    x = weft.tensor(np.load(folder / "cnn_scripted.npz")["in.0"])
    expected = settled(module, x)
    wrong = []

    def work():
        for _ in range(10):
            if not np.array_equal(np.asarray(module(x)), expected):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
