"""weft.load and weft.save: values, files, sharing, and what is refused. PyTorch reads and writes the same files where
WEFT_TORCH_PYTHON names a Python that has it."""

import collections
import io
import os
import pathlib
import pickle
import struct
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import weft

DTYPES = (
    "bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128"
).split()


def shared(path):
    folder = os.environ.get("WEFT_SHARED_DATA")
    if not folder:
        pytest.skip("no shared data (WEFT_SHARED_DATA)")
    return pathlib.Path(folder) / path


def round_trip(value):
    file = io.BytesIO()
    weft.save(value, file)
    return weft.load(io.BytesIO(file.getvalue()))


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        0,
        255,
        256,
        65535,
        65536,
        -1,
        2**31,
        -(2**63),
        2**63 - 1,
        1.5,
        float("inf"),
        2 - 3j,
        "",
        "text",
        "é\0\n",
        [],
        [1, "a", None, [2.0]],
        (),
        (1,),
        (1, 2),
        (1, 2, 3),
        (1, 2, 3, 4),
        {},
        {"a": {"b": [1, (2, {3: 4.0})]}, 1: 2, None: 3},
    ],
)
def test_values(value):
    result = round_trip(value)
    assert result == value
    assert type(result) is type(value)


def test_device_comes_back():
    assert round_trip([weft.device("cpu")]) == [weft.device("cpu")]


def test_ordered_dict_keeps_its_order():
    value = collections.OrderedDict((key, i) for i, key in enumerate("zyx"))
    assert list(round_trip(value).items()) == list(value.items())


def test_three_hundred_strings_need_long_memo_indices():
    value = {f"key {i}": [f"key {i}", f"value {i}"] for i in range(300)}
    assert round_trip(value) == value


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype):
    tensor = weft.tensor([0, 1, 1]).to(getattr(weft, dtype))
    result = round_trip(tensor)
    assert result.dtype is tensor.dtype
    assert result.tolist() == tensor.tolist()


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (2, 3), (1, 1, 4)])
def test_shapes(shape):
    array = np.random.default_rng(0).normal(size=shape)
    assert np.array_equal(round_trip(weft.from_numpy(array)).numpy(), array)


@pytest.mark.parametrize(
    "view", [np.s_[1:], np.s_[:, ::2], np.s_[::-1], np.s_[:, ::-2], np.s_[1, 2:], np.s_[:, None], np.s_[0:0]]
)
def test_views_keep_their_elements(view):
    array = np.arange(30.0).reshape(5, 6)
    assert np.array_equal(round_trip(weft.from_numpy(array)[view]).numpy(), array[view])
    assert np.array_equal(round_trip(array[view]).numpy(), array[view])


def test_storages_stay_shared():
    base = weft.from_numpy(np.arange(12.0).reshape(3, 4))
    result = round_trip({"base": base, "row": base[1], "transposed": base.T})
    result["base"][1] = 7
    assert result["row"].tolist() == [7.0] * 4
    assert result["transposed"][:, 1].tolist() == [7.0] * 4


def test_containers_stay_shared():
    inner = [1]
    result = round_trip([inner, inner])
    assert result[0] is result[1]


def test_sharing_does_not_multiply():
    value = [1]
    for _ in range(100):
        value = [value, value]
    result = round_trip(value)
    for _ in range(100):
        assert result[0] is result[1]
        result = result[0]
    assert result == [1]


def test_arrays_and_scalars_of_numpy():
    result = round_trip({"array": np.arange(3, dtype=np.int16), "scalar": np.float32(2.5), "flag": np.True_})
    assert isinstance(result["array"], weft.Tensor)
    assert result["array"].dtype is weft.int16
    assert result["scalar"] == 2.5
    assert result["flag"] is True


def test_paths_and_files_hold_the_same_bytes(tmp_path):
    value = {"a": weft.arange(5), "b": ["x", 1]}
    weft.save(value, tmp_path / "a.pt")
    weft.save(value, str(tmp_path / "b.pt"))
    file = io.BytesIO()
    weft.save(value, file)
    assert (tmp_path / "a.pt").read_bytes() == (tmp_path / "b.pt").read_bytes() == file.getvalue()
    assert sorted(os.listdir(tmp_path)) == ["a.pt", "b.pt"]


def test_payloads_are_aligned_and_stored(tmp_path):
    path = tmp_path / "a.pt"
    weft.save([weft.ones(3), weft.ones(100, dtype=weft.uint8), weft.ones(5)], path)
    data = path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        for entry in archive.infolist():
            name_length, extra_length = struct.unpack_from("<HH", data, entry.header_offset + 26)
            assert (entry.header_offset + 30 + name_length + extra_length) % 64 == 0
            assert entry.compress_type == zipfile.ZIP_STORED


def test_writes_do_not_reach_the_file(tmp_path):
    path = tmp_path / "a.pt"
    weft.save(weft.zeros(1000), path)
    before = path.read_bytes()
    first = weft.load(path)
    first[:] = 3
    assert first.sum().item() == 3000
    assert path.read_bytes() == before
    assert weft.load(path).sum().item() == 0


def test_saving_over_the_file_that_is_loaded(tmp_path):
    path = tmp_path / "a.pt"
    weft.save({"x": weft.arange(1000)}, path)
    value = weft.load(path)
    value["x"][0] = 5
    weft.save(value, path)
    assert value["x"][:3].tolist() == [5, 1, 2]
    assert weft.load(path)["x"][:3].tolist() == [5, 1, 2]


def test_a_link_stays_a_link(tmp_path):
    weft.save(1, tmp_path / "target.pt")
    (tmp_path / "link.pt").symlink_to("target.pt")
    weft.save(2, tmp_path / "link.pt")
    assert (tmp_path / "link.pt").is_symlink()
    assert weft.load(tmp_path / "target.pt") == 2


def test_a_failed_write_leaves_the_old_file_alone(tmp_path):
    path = tmp_path / "a.pt"
    weft.save(1, path)
    program = (
        "import resource, signal, sys, weft\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))\n"
        "weft.save(weft.ones(1000000), sys.argv[1])\n"
    )
    run = subprocess.run([sys.executable, "-c", program, path], capture_output=True, text=True)
    assert run.returncode == 1
    assert f"archive '{path}': cannot write: File too large" in run.stderr
    assert os.listdir(tmp_path) == ["a.pt"]
    assert weft.load(path) == 1


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_devices_are_not_replaced():
    with pytest.raises(RuntimeError, match="not a regular file"):
        weft.save(1, "/dev/full")


def test_what_cannot_be_opened(tmp_path):
    with pytest.raises(FileNotFoundError):
        weft.load(tmp_path / "none.pt")
    with pytest.raises(RuntimeError, match="not a regular file"):
        weft.load(tmp_path)
    with pytest.raises(TypeError, match="expected a path or a file opened for reading, got int"):
        weft.load(3)
    with pytest.raises(TypeError, match="expected a path or a file opened for writing, got int"):
        weft.save(1, 3)
    with pytest.raises(TypeError, match="binary mode"):
        weft.load(io.StringIO("text"))
    with pytest.raises(RuntimeError, match="No such file or directory"):
        weft.save(1, tmp_path / "none" / "a.pt")


@pytest.mark.parametrize(
    "value, message",
    [
        ({1, 2}, "got set"),
        ({"a": [0, (1, b"x")]}, r"got bytes at \['a'\]\[1\]\[1\]"),
        ({(1, 2): 3}, "as a dictionary's key, got tuple"),
        (object(), "got object"),
        (lambda: 0, "got function"),
    ],
)
def test_what_cannot_be_saved(value, message, tmp_path):
    with pytest.raises(TypeError, match=message):
        weft.save(value, tmp_path / "a.pt")
    assert os.listdir(tmp_path) == []


def test_values_that_contain_themselves():
    value = []
    value.append({"again": value})
    with pytest.raises(ValueError, match="a list contains itself"):
        weft.save(value, io.BytesIO())
    deep = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(ValueError, match="nested deeper than 1000"):
        weft.save(deep, io.BytesIO())


def test_tensors_without_elements_are_not_saved():
    with pytest.raises(ValueError, match=r"expected a tensor on the cpu, got f32\[2\] meta"):
        weft.save(weft.empty(2, device="meta"), io.BytesIO())


def archive_of(data, **entries):
    """An archive with this data.pkl, and further entries."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", data)
        archive.writestr("archive/version", "3\n")
        for name, contents in entries.items():
            archive.writestr(f"archive/{name}", contents)
    return io.BytesIO(file.getvalue())


class Evil:
    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_nothing_is_run(protocol, tmp_path):
    target = tmp_path / "pwned"
    for value in (Evil(os.system, f"touch {target}"), [Evil(eval, "1")], {"a": Evil(getattr, "x", "y")}):
        with pytest.raises(ValueError, match=r"'[\w.]+' is not allowed: a pickle may hold tensors"):
            weft.load(archive_of(pickle.dumps(value, protocol=protocol)))
    assert not target.exists()


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_protocols(protocol):
    value = {
        "a": [1, 2.5, None, True, -1, 2**40, -(2**40), "text" * 100, (1, 2), 1j],
        "b": collections.OrderedDict(c=3),
    }
    assert weft.load(archive_of(pickle.dumps(value, protocol=protocol))) == value


@pytest.mark.parametrize(
    "value, message",
    [
        ({1}, "weft has no sets|EMPTY_SET at byte .*: the opcode is not allowed"),
        (b"bytes", "weft has no bytes values|BINBYTES at byte .*: the opcode is not allowed"),
        (bytearray(b"x"), "is not allowed|the opcode is not allowed"),
        (np.float64(1), "in place of a NumPy scalar"),
        (np.arange(3), "in place of a NumPy array"),
        (2**80, "does not fit 64 bits"),
        ({(1, 2): 3}, "as a key, got Tuple"),
        (range(3), "is not allowed"),
    ],
)
@pytest.mark.parametrize("protocol", [2, 5])
def test_values_weft_does_not_have(value, message, protocol):
    with pytest.raises(ValueError, match=message):
        weft.load(archive_of(pickle.dumps(value, protocol=protocol)))


def test_pickles_that_contain_themselves():
    value = []
    value.append(value)
    with pytest.raises(ValueError, match="contains itself"):
        weft.load(archive_of(pickle.dumps(value, protocol=2)))


def test_not_an_archive():
    for data, message in [
        (b"", "no zip archive"),
        (b"hello, world", "no zip archive"),
        (pickle.dumps(0x1950A86A20F9469CFC6C, protocol=2), "before 1.6"),
    ]:
        with pytest.raises(ValueError, match=message):
            weft.load(io.BytesIO(data))


def test_script_archives_have_a_function_of_their_own():
    with pytest.raises(ValueError, match="load it with weft.jit.load"):
        weft.load(shared("torchscript/lstm.pt"))


def test_trained_checkpoint():
    state = weft.load(shared("stories260k/consolidated.00.pth"))
    assert state["tok_embeddings.weight"].shape == (512, 64)
    assert state["layers.4.attention.wk.weight"].shape == (32, 64)
    assert all(tensor.isfinite().all().item() for tensor in state.values())


def test_segment_anything_state_dict():
    state = weft.load(shared("sam_tiny/sam_tiny.pth"))
    assert len(state) == 202
    assert round_trip(state).keys() == state.keys()


# ---- with PyTorch ------------------------------------------------------------------------------------------
def torch_run(program, *arguments):
    python = os.environ.get("WEFT_TORCH_PYTHON")
    if not python:
        pytest.skip("WEFT_TORCH_PYTHON names no Python with PyTorch")
    run = subprocess.run([python, "-c", program, *map(str, arguments)], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout


TORCH_DTYPES = [dtype for dtype in DTYPES if dtype not in ("uint16", "uint32", "uint64")]


def test_torch_reads_what_weft_writes(tmp_path):
    base = weft.from_numpy(np.arange(12.0).reshape(3, 4))
    value = {"base": base, "row": base[1], "t": base.T, "list": [1, 2**40, -1.5, "é", None, (True, 1 + 2j)]}
    value |= {dtype: weft.tensor([0, 1]).to(getattr(weft, dtype)) for dtype in TORCH_DTYPES}
    weft.save(value, tmp_path / "a.pt")
    program = """
import sys, torch
value = torch.load(sys.argv[1])
assert value["list"] == [1, 2**40, -1.5, "é", None, (True, 1 + 2j)]
for name in sys.argv[2:]:
    assert value[name].dtype is getattr(torch, name) and value[name].tolist() == [0, 1], name
value["base"][1] = 7
assert value["row"].tolist() == [7.0] * 4 and value["t"][:, 1].tolist() == [7.0] * 4
"""
    torch_run(program, tmp_path / "a.pt", *TORCH_DTYPES)


def test_weft_reads_what_torch_writes(tmp_path):
    program = """
import sys, collections, torch
torch.manual_seed(0)
base = torch.arange(12.).reshape(3, 4)
model = torch.nn.Sequential(torch.nn.Conv2d(2, 3, 3), torch.nn.BatchNorm2d(3))
value = {"base": base, "row": base[1], "expanded": base[:1].expand(5, 4), "size": base.shape,
         "device": torch.device("cpu"), "dtype": torch.float64, "state": model.state_dict(),
         "parameter": torch.nn.Parameter(torch.ones(2)), "complex": [1j]}
value.update({name: torch.tensor([0, 1]).to(getattr(torch, name)) for name in sys.argv[2:]})
torch.save(value, sys.argv[1])
torch.save({"optimizer": torch.optim.Adam(model.parameters()).state_dict()}, sys.argv[1] + ".adam")
torch.save(torch.eye(3).to_sparse(), sys.argv[1] + ".sparse")
torch.save(torch.quantize_per_tensor(torch.ones(2), 1.0, 0, torch.qint8), sys.argv[1] + ".quantized")
torch.save(model, sys.argv[1] + ".module")
torch.save(torch.ones(1), sys.argv[1] + ".legacy", _use_new_zipfile_serialization=False)
"""
    path = tmp_path / "a.pt"
    torch_run(program, path, *TORCH_DTYPES)
    value = weft.load(path)
    for name in TORCH_DTYPES:
        assert value[name].dtype is getattr(weft, name)
        assert value[name].tolist() == [0, 1]
    assert value["expanded"].tolist() == [[0.0, 1.0, 2.0, 3.0]] * 5
    assert (value["size"], value["device"], value["dtype"]) == ((3, 4), weft.device("cpu"), 7)
    assert value["parameter"].tolist() == [1.0, 1.0]
    assert value["complex"] == [1j]
    assert list(value["state"]) == [
        *(
            "0.weight",
            "0.bias",
            "1.weight",
            "1.bias",
            "1.running_mean",
            "1.running_var",
            "1.num_batches_tracked",
        )
    ]
    value["base"][1] = 7
    assert value["row"].tolist() == [7.0] * 4
    assert weft.ops.aten.int_repr(weft.load(f"{path}.quantized")).tolist() == [1, 1]
    assert weft.load(f"{path}.adam")["optimizer"]["param_groups"][0]["lr"] == 0.001
    for suffix, message in [
        ("sparse", "no sparse tensors"),
        ("module", "'torch.nn.modules.container.Sequential' is not allowed"),
        ("legacy", "before 1.6"),
    ]:
        with pytest.raises(ValueError, match=message):
            weft.load(f"{path}.{suffix}")
