"""The weft command, as a user types it."""

import json
import os
import pathlib
import subprocess
import sys
import zipfile

import numpy as np
import pytest

DATA = pathlib.Path(os.environ.get("WEFT_SHARED_DATA", "../shared/data")) / "torchscript"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="no shared data (WEFT_SHARED_DATA)")


def weft(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "weft", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=120,
    )


def test_help_teaches():
    done = weft("--help")
    assert done.returncode == 0
    for word in ["info", "env", "cache", "bench", "Examples", "weft.compile"]:
        assert word in done.stdout


def test_version():
    assert weft("--version").stdout.strip().endswith("0.1.0")


def test_info_as_text_and_json(tmp_path):
    assert "toolchains" in weft("info").stdout
    facts = json.loads(weft("info", "--json", WEFT_CACHE_DIR=str(tmp_path)).stdout)
    for engine in facts["engines"]:
        assert engine["available"] or (engine["why_not"] and not engine["used"])
    # What is asked for by the environment is a reason, too.
    narrow = json.loads(weft("info", "--json", WEFT_VECTOR_BYTES="16").stdout)["engines"]
    assert [engine["name"] for engine in narrow] == [engine["name"] for engine in facts["engines"]]
    assert not any(engine["available"] for engine in narrow if engine["name"].startswith("avx512"))
    assert all(f"{engine['name']}: " in weft("info").stdout for engine in narrow)
    assert str(tmp_path) in json.dumps(facts)


def test_environment_variables_are_listed():
    shown = weft("env").stdout
    for name in ["WEFT_LOGS", "WEFT_CACHE_DIR", "WEFT_TOOLCHAIN"]:
        assert name in shown


def test_clearing_the_cache(tmp_path):
    (tmp_path / "cache").mkdir(mode=0o700)
    done = weft("cache", "clear", WEFT_CACHE_DIR=str(tmp_path / "cache"))
    assert done.returncode == 0, done.stderr


# ---- weft run and weft inspect -----------------------------------------------------------------------------


def write_archive(path, arguments, returns, body):
    """A module without attributes whose forward has these arguments and this body."""
    code = f"class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n  def forward(self: __torch__.M{arguments}) -> {returns}:\n"
    code += "".join(f"    {line}\n" for line in body.splitlines())
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("m/data.pkl", b"\x80\x02c__torch__\nM\n)\x81}b.")
        archive.writestr("m/constants.pkl", b"\x80\x02).")
        archive.writestr("m/code/__torch__.py", code)
        archive.writestr("m/version", "3\n")
    return path


def test_arrays_go_through_unchanged(tmp_path):
    model = write_archive(
        tmp_path / "m.pt",
        ", x: Dict[str, Tensor]",
        "Tuple[Dict[str, Tensor], int]",
        "return (x, torch.len(x))",
    )
    rng = np.random.default_rng(0)
    dtypes = "? i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8 c8 c16 >i4 >f8 >c16".split()
    arrays = {}
    for dtype in dtypes:
        values = (rng.standard_normal((3, 4)) * 50).astype(dtype)
        arrays |= {
            f"x.{dtype}": values,
            f"x.{dtype} fortran": np.asfortranarray(values),
            f"x.{dtype} scalar": values[0, 0],
            f"x.{dtype} empty": values[:0],
        }
        if values.dtype.kind in "fc":
            arrays[f"x.{dtype} nan"] = np.array([np.nan, np.inf, -0.0]).astype(dtype)
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "x.npz", **arrays)
        done = weft("run", model, "--input", tmp_path / "x.npz", "--output", tmp_path / "y.npz")
        assert done.returncode == 0, done.stderr
        with np.load(tmp_path / "y.npz") as outputs:
            assert outputs["out.1"] == len(arrays)
            for name, expected in arrays.items():
                got = outputs["out.0." + name.removeprefix("x.")]
                assert got.dtype == expected.dtype.newbyteorder("<") and got.shape == expected.shape, name
                np.testing.assert_array_equal(got, expected, err_msg=name)


def test_npy_files_one_for_each_argument(tmp_path):
    model = write_archive(
        tmp_path / "m.pt", ", x: Tensor, n: int", "Tensor", "return torch.mul(torch.transpose(x, 0, 1), n)"
    )
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "n.npy", 3)
    done = weft("run", model, "-i", tmp_path / "x.npy", "-i", tmp_path / "n.npy", "-o", tmp_path / "y.npy")
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), x.T * 3)


@needs_data
@pytest.mark.parametrize("optimize", ["--no-optimize", "--optimize"])
@pytest.mark.parametrize("name", sorted(path.stem for path in DATA.glob("*.pt")))
def test_archives_give_what_pytorch_gave(name, optimize, tmp_path):
    arguments = ["run", DATA / f"{name}.pt", "--input", DATA / f"{name}.npz", "--output", tmp_path / "y.npz"]
    done = weft(*arguments, optimize)
    assert done.returncode == 0, done.stderr
    with np.load(DATA / f"{name}.npz") as expected, np.load(tmp_path / "y.npz") as got:
        assert set(got) == {key for key in expected if key.startswith("out")}
        for key in got:
            assert got[key].dtype == expected[key].dtype
            np.testing.assert_allclose(got[key], expected[key], rtol=1e-4, atol=1e-4, err_msg=key)


@needs_data
def test_latency_and_timeline(tmp_path):
    done = weft(
        *["run", DATA / "cnn_scripted.pt", "--input", DATA / "cnn_scripted.npz", "--repeat", 5, "--json"],
        *["--threads", 1, "--interop-threads", 2, "--profile", tmp_path / "trace.json"],
    )
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert (shown["threads"], shown["interop_threads"], shown["calls"]) == (1, 2, 5)
    latency = shown["latency_ms"]
    assert latency["min"] <= latency["median"] <= latency["p90"] <= latency["p99"] <= latency["max"]
    assert shown["outputs"] == [{"name": "out", "dtype": "float32", "shape": [2, 10]}]
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]


@needs_data
def test_inspect_lists_methods_parameters_and_sizes():
    shown = json.loads(weft("inspect", DATA / "cnn_scripted.pt", "--json").stdout)
    assert shown["methods"] == [
        {"name": "forward", "arguments": [{"name": "x", "type": "Tensor"}], "returns": "Tensor"}
    ]
    assert shown["parameters"][0] == {
        "name": "f.0.weight",
        "dtype": "float32",
        "shape": [16, 3, 3, 3],
        "bytes": 1728,
    }
    assert shown["totals"]["buffers"] == {"tensors": 3, "elements": 33, "bytes": 136}
    text = weft("inspect", DATA / "cnn_scripted.pt", "--code").stdout
    for part in ["forward(x: Tensor) -> Tensor", "f.1.running_mean", "1.7 kB", "def forward("]:
        assert part in text
    assert "constants of the code" in weft("inspect", DATA / "cnn_frozen.pt").stdout


def test_inspect_shows_saved_values(tmp_path):
    import weft as package

    package.save({"w": package.ones(2, 3), "epoch": 7}, str(tmp_path / "state.pt"))
    shown = json.loads(weft("inspect", tmp_path / "state.pt", "--json").stdout)
    assert shown["tensors"] == [{"name": "w", "dtype": "float32", "shape": [2, 3], "bytes": 24}]
    assert "epoch" in weft("inspect", tmp_path / "state.pt").stdout
    done = weft("run", tmp_path / "state.pt")
    assert done.returncode == 1 and "not a TorchScript archive" in done.stderr


@pytest.mark.parametrize(
    "arrays, message",
    [
        ({}, "the argument 'x' (Tensor) is missing"),
        ({"x": np.ones(3), "n": np.ones(3)}, "argument 'n' (int): expected one int for int, got f64[3] cpu"),
        ({"x": np.ones(3), "n": 1, "y": 2}, "the array 'y' is no argument"),
        (
            {"x": np.array("text"), "n": 1},
            "argument 'x' (Tensor): expected an array of numbers for Tensor, got text",
        ),
        ({"x": np.array([None]), "n": 1}, "dtype '|O': Python objects are never unpickled"),
        ({"x": np.array("2020-01-01", "M8[D]"), "n": 1}, "dtype '<M8[D]'"),
    ],
)
def test_wrong_inputs_are_named(arrays, message, tmp_path):
    model = write_archive(tmp_path / "m.pt", ", x: Tensor, n: int", "Tensor", "return torch.mul(x, n)")
    np.savez(tmp_path / "x.npz", **arrays)
    done = weft("run", model, "--input", tmp_path / "x.npz")
    assert done.returncode == 1
    assert message in done.stderr


def test_wrong_files_are_named(tmp_path):
    model = write_archive(tmp_path / "m.pt", ", x: Tensor", "Tuple[Tensor, Tensor]", "return (x, x)")
    np.save(tmp_path / "x.npy", np.ones(3))
    (tmp_path / "text.npy").write_text("hello")
    (tmp_path / "cut.npy").write_bytes((tmp_path / "x.npy").read_bytes()[:-1])
    given = ["--input", tmp_path / "x.npy"]
    for arguments, message in [
        (["run", tmp_path / "none.pt"], "none.pt': cannot open: No such file"),
        (["run", tmp_path / "text.npy"], "is no zip archive"),
        (["inspect", tmp_path / "text.npy"], "is no zip archive"),
        (["run", model, "--input", tmp_path / "text.npy"], "is no .npy array"),
        (
            ["run", model, "--input", tmp_path / "cut.npy"],
            "has 23 bytes of elements: [3] of dtype <f8 need 24",
        ),
        (["run", model, "--input", tmp_path / "none.npy"], "none.npy': cannot read: No such file"),
        (["run", model, *given, "--output", tmp_path / "y.npy"], "the method returned 2 arrays"),
        (["run", model, *given, "--output", tmp_path / "none" / "y.npz"], "cannot write: No such file"),
        (["run", model, *given, "--method", "backward"], "has no method 'backward'; it has: forward"),
        (["run", model, *given, "--profile", tmp_path / "none" / "trace.json"], "No such file"),
    ]:
        done = weft(*arguments)
        assert done.returncode == 1, arguments
        assert message in done.stderr
