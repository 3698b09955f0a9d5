"""torch.load, torch.save and safetensors."""

import collections
import io
import json
import os
import pickle
import struct
import zipfile

import numpy as np
import pytest
import weft.torch as torch
from weft.torch import _safetensors as safetensors
from weft.torch._safetensors import torch as safetensors_torch

DTYPES = """
    bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128
""".split()


def again(value, **options):
    file = io.BytesIO()
    torch.save(value, file)
    file.seek(0)
    return torch.load(file, **options)


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", [(), (0, 3), (4,), (2, 3)])
def test_tensors_of_each_dtype(name, shape):
    count = int(np.prod(shape))
    tensor = torch.arange(count).reshape(shape).to(getattr(torch, name))
    result = again(tensor)
    assert (
        result.dtype == tensor.dtype and tuple(result.shape) == shape and result.tolist() == tensor.tolist()
    )


def test_views_keep_strides_and_share():
    base = torch.arange(24.0).reshape(4, 6)
    found = again(
        {"base": base, "part": base[1:3, ::2], "turned": base.t(), "wide": torch.zeros(1).expand(3, 3)}
    )
    assert (
        found["part"].stride() == (6, 2)
        and found["turned"].stride() == (1, 6)
        and found["wide"].stride() == (0, 0)
    )
    found["base"][1, 0] = 100.0
    assert found["part"][0, 0] == 100 and found["turned"][0, 1] == 100


def test_containers_numbers_and_modules_states():
    value = {
        "list": [1, 2.5, "text", None, True, (1, 2), b"bytes", 1 + 2j],
        "dtype": torch.bfloat16,
        "device": torch.device("cpu"),
        "set": {1, 2},
        "big": 2**80,
    }
    assert again(value) == value
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    state = again(model.state_dict())
    assert type(state) is collections.OrderedDict and list(state) == list(model.state_dict())
    assert isinstance(again(torch.nn.Parameter(torch.ones(2))), torch.nn.Parameter)
    whole = again(model, weights_only=False)
    assert torch.equal(whole[0].weight, model[0].weight)


class Mine:
    def __init__(self):
        self.value = 3


def test_weights_only_names_what_it_refuses():
    with pytest.raises(pickle.UnpicklingError, match=r"test_load_save\.Mine"):
        again(Mine())
    assert again(Mine(), weights_only=False).value == 3
    with torch.serialization.safe_globals([Mine]):
        assert again(Mine()).value == 3
        assert torch.serialization.get_safe_globals() == [Mine]
    assert torch.serialization.get_safe_globals() == []

    class Runs:
        def __reduce__(self):
            return os.system, ("false",)

    file = io.BytesIO()
    torch.save(Runs(), file)
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="system"):
        torch.load(file)


@pytest.mark.parametrize(
    "place", [None, "cpu", torch.device("cpu"), {"cuda:0": "cpu"}, lambda storage, location: storage]
)
def test_map_location(place):
    assert again(torch.ones(2), map_location=place).tolist() == [1, 1]


def test_map_location_elsewhere():
    assert again(torch.ones(2, 3), map_location="meta").device.type == "meta"
    with pytest.raises(RuntimeError, match="map_location"):
        again(torch.ones(2), map_location="cuda")


def test_paths_and_maps(tmp_path):
    path = tmp_path / "weights.pt"
    torch.save({"x": torch.arange(5)}, path)
    assert torch.load(str(path))["x"].tolist() == [0, 1, 2, 3, 4]
    mapped = torch.load(path, mmap=True)["x"]
    mapped[0] = 9
    assert torch.load(path)["x"][0] == 0
    torch.save({"x": mapped}, path)  # its own file
    assert torch.load(path)["x"].tolist() == [9, 1, 2, 3, 4] and os.listdir(tmp_path) == ["weights.pt"]
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None and "weights/data.pkl" in archive.namelist()
        assert archive.read("weights/version") == b"3\n" and archive.read("weights/byteorder") == b"little"
    with pytest.raises(FileNotFoundError):
        torch.load(tmp_path / "nowhere.pt")
    with pytest.raises(ValueError, match="mmap"):
        torch.load(io.BytesIO(path.read_bytes()), mmap=True)
    with pytest.raises(AttributeError, match="read"):
        torch.load(3)
    with pytest.raises(RuntimeError, match="Parent directory"):
        torch.save(1, tmp_path / "no" / "x.pt")


def test_damaged_files_are_refused(tmp_path):
    file = io.BytesIO()
    torch.save({"x": torch.arange(5)}, file)
    whole = file.getvalue()
    for end in (0, 3, 10, len(whole) // 2, len(whole) - 30):
        with pytest.raises((RuntimeError, EOFError, pickle.UnpicklingError)):
            torch.load(io.BytesIO(whole[:end]))
    with pytest.raises(pickle.UnpicklingError):
        torch.load(io.BytesIO(b"hello, this is text"))


def legacy(value_pickle, storages):
    """A file of the format before archives."""
    file = io.BytesIO()
    for head in (
        0x1950A86A20F9469CFC6C,
        1001,
        {"protocol_version": 1001, "little_endian": True, "type_sizes": {}},
    ):
        pickle.dump(head, file, protocol=2)
    file.write(value_pickle)
    pickle.dump(list(storages), file, protocol=2)
    for data in storages.values():
        file.write(struct.pack("<q", len(data) // 4) + data)
    file.seek(0)
    return file


def test_the_format_before_archives():
    from weft.torch import _pickles

    class Writer(_pickles.Pickler):
        def _storage(self, storage, dtype):
            return *super()._storage(storage, dtype), None

    stream = io.BytesIO()
    pickler = Writer(stream, 2, lambda storage: "cpu")
    base = torch.arange(6, dtype=torch.float32)
    pickler.dump({"x": base, "y": base[2:].reshape(2, 2)})
    found = torch.load(
        legacy(stream.getvalue(), {key: bytes(data) for key, data in pickler.storages.items()})
    )
    assert found["x"].tolist() == base.tolist() and found["y"].tolist() == [[2, 3], [4, 5]]
    found["x"][2] = 7
    assert found["y"][0, 0] == 7


def test_unsafe_globals_are_listed(tmp_path):
    torch.save({"m": Mine(), "x": torch.ones(1)}, tmp_path / "x.pt")
    names = torch.serialization.get_unsafe_globals_in_checkpoint(tmp_path / "x.pt")
    assert len(names) == 1 and names[0].endswith("test_load_save.Mine")


# ---- safetensors -------------------------------------------------------------------------------------------------------


def test_safetensors_of_each_dtype(tmp_path):
    path = tmp_path / "x.safetensors"
    tensors = {name: torch.arange(3).to(getattr(torch, name)) for name in DTYPES}
    tensors |= {"empty": torch.zeros(0, 4), "scalar": torch.tensor(2.5)}
    safetensors_torch.save_file(tensors, path, {"format": "pt"})
    for found in (safetensors_torch.load_file(path), safetensors_torch.load(path.read_bytes())):
        assert set(found) == set(tensors)
        for name, tensor in tensors.items():
            assert found[name].dtype == tensor.dtype and found[name].tolist() == tensor.tolist()
            assert tuple(found[name].shape) == tuple(tensor.shape)
    with safetensors.safe_open(path, framework="pt") as file:
        assert file.metadata() == {"format": "pt"} and set(file.keys()) == set(tensors)
        assert file.get_slice("int64")[1:].tolist() == [1, 2] and file.get_slice("int64").get_shape() == [3]
        assert file.get_tensor("float32").tolist() == [0, 1, 2]
        with pytest.raises(safetensors.SafetensorError, match="nothing"):
            file.get_tensor("nothing")


def test_safetensors_shared_and_strided(tmp_path):
    base = torch.arange(6.0).reshape(2, 3)
    with pytest.raises(ValueError, match="contiguous"):
        safetensors_torch.save_file({"x": base.t()}, tmp_path / "x")
    with pytest.raises(RuntimeError, match="share memory"):
        safetensors_torch.save_file({"x": base, "y": base[0]}, tmp_path / "x")
    safetensors_torch.save_file({"x": base[1], "y": base[0]}, tmp_path / "x")
    with safetensors.safe_open(tmp_path / "x", framework="pt", backend="pread") as file:
        assert torch.equal(file.get_tensors()["x"], base[1])
    assert safetensors_torch.storage_ptr(base[1]) == base.data_ptr()
    assert safetensors_torch.storage_size(base[1]) == 24
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3))
    model[1].weight = model[0].weight
    safetensors_torch.save_model(model, tmp_path / "m")
    other = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Linear(3, 3))
    other[1].weight = other[0].weight
    assert safetensors_torch.load_model(other, tmp_path / "m") == ([], [])
    assert torch.equal(other[1].weight, model[0].weight)


def entry(dtype="F32", shape=(2,), offsets=(0, 8)):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


@pytest.mark.parametrize(
    "header, data",
    [
        ({"x": entry(offsets=(0, 4))}, 8),
        ({"x": entry(offsets=(8, 0))}, 8),
        ({"x": entry(offsets=(0, 8))}, 4),
        ({"x": entry(offsets=(8, 16))}, 16),
        ({"x": entry(shape=(2**62, 4))}, 8),
        ({"x": entry(shape=(-2,))}, 8),
        ({"x": entry(dtype="F31")}, 8),
        ({"x": entry(), "y": entry(offsets=(4, 12))}, 12),
        ({"x": {"dtype": "F32"}}, 8),
        ({"__metadata__": {"a": 1}}, 0),
        ([1, 2], 0),
        ({"x": entry()}, 9),
    ],
)
def test_hostile_safetensors_headers(header, data):
    text = json.dumps(header).encode()
    with pytest.raises(safetensors.SafetensorError):
        safetensors_torch.load(struct.pack("<Q", len(text)) + text + bytes(data))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"1234",
        struct.pack("<Q", 2**60) + b"{}",
        struct.pack("<Q", 2) + b"{",
        struct.pack("<Q", 4) + b"\xff" * 4,
    ],
)
def test_damaged_safetensors(data):
    with pytest.raises(safetensors.SafetensorError):
        safetensors_torch.load(data)
