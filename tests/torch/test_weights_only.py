"""torch.load with weights_only, its default: nothing that a file says is run, whatever it composes of the allowed names."""

import collections
import io
import pathlib
import pickle
import struct
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import weft
import weft.torch as torch
from weft.torch import _weights_only

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "fuzz"))
import weights_fuzz

# Every name that a file may say, and what calls of it make. A name that is added here makes, with any arguments that a file can
# have, only this, and does nothing else.
STORAGES = """
    Bool Byte Char Short Int Long Half BFloat16 Float Double ComplexFloat ComplexDouble QInt8 QUInt8 QInt32 QUInt4x2
""".split()
DTYPES = """
    bool uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 bfloat16 float32 float64 complex64 complex128
    float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu qint8 quint8 qint32 quint4x2
""".split()
SCHEMES = """
    per_tensor_affine per_tensor_symmetric per_channel_affine per_channel_symmetric per_channel_affine_float_qparams
""".split()
CALLED = {
    "torch._utils._rebuild_tensor": "tensor",
    "torch._utils._rebuild_tensor_v2": "tensor",
    "torch._utils._rebuild_tensor_v3": "tensor",
    "torch._utils._rebuild_meta_tensor_no_storage": "tensor",
    "torch._utils._rebuild_wrapper_subclass": "tensor",
    "torch._utils._rebuild_device_tensor_from_numpy": "tensor",
    "torch._utils._rebuild_parameter": "parameter",
    "torch._utils._rebuild_parameter_with_state": "parameter",
    "torch._utils._rebuild_sparse_tensor": "tensor",  # an error that says what weft has not
    "torch._utils._rebuild_sparse_csr_tensor": "tensor",  # likewise
    "torch._utils._rebuild_nested_tensor": "tensor",  # likewise
    "torch._utils._rebuild_qtensor": "tensor",
    "torch._tensor._rebuild_from_type_v2": "tensor",  # by one of the above, of a class of tensors
    "torch.serialization._get_layout": "layout",  # of a table
    "torch.nn.parameter.Parameter": "parameter",
    "torch.nn.Parameter": "parameter",
    "torch.nn.parameter.UninitializedParameter": "parameter",
    "torch.device": "device",
    "torch.Size": "size",
    "collections.OrderedDict": "ordered dict",
    "collections.Counter": "counter",
    "_codecs.encode": "bytes",  # of latin1 alone: codecs are modules
    "builtins.bytearray": "bytearray",
    "builtins.set": "set",
    "builtins.complex": "complex",
    "__builtin__.bytearray": "bytearray",
    "__builtin__.set": "set",
    "__builtin__.complex": "complex",
}
NAMED = ["torch.Tensor", "torch.storage.TypedStorage", "torch.UntypedStorage"]
NAMED += ["torch.storage.UntypedStorage", "torch.storage._UntypedStorage"]
NAMED += [f"torch.{name}Storage" for name in STORAGES]


def archive(pickled, data=bytes(16)):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as written:
        written.writestr("archive/data.pkl", pickled)
        written.writestr("archive/version", b"3\n")
        written.writestr("archive/byteorder", b"little")
        written.writestr("archive/data/0", data)
    return file.getvalue()


def text(value):
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def named(name):
    module, _, name = name.rpartition(".")
    return f"c{module}\n{name}\n".encode()


def called(name, *arguments):
    return named(name) + b"(" + b"".join(arguments) + b"tR"


def test_the_list_of_names():
    names = _weights_only.allowed()
    assert {f"torch.{name}": getattr(torch, name) for name in DTYPES + SCHEMES} == {
        name: value for name, value in names.items() if not isinstance(value, _weights_only.Name)
    }
    made = {name: value.makes for name, value in names.items() if isinstance(value, _weights_only.Name)}
    assert made == CALLED | dict.fromkeys(NAMED, "nothing")


def sample(name):
    """Arguments that a call is made for; None where it only says what weft has not, or needs a class that the program allows."""
    plain = "0", 16, "cpu"
    tensor = (
        weights_fuzz.storage.TypedStorage._of(weights_fuzz.load_storage(*plain), weft.float32),
        0,
        (2, 2),
        (2, 1),
    )
    names = _weights_only.allowed()
    rebuild = names["torch._utils._rebuild_tensor"], names["torch.nn.Parameter"], tensor, {"note": 1}
    return {
        "_rebuild_tensor": tensor,
        "_rebuild_tensor_v2": (*tensor, False, {}),
        "_rebuild_tensor_v3": (tensor[0].untyped(), *tensor[1:], False, {}, weft.int16),
        "_rebuild_qtensor": (
            weights_fuzz.storage.TypedStorage._of(weights_fuzz.load_storage(*plain), torch.quint8),
            *tensor[1:],
            (torch.per_tensor_affine, 0.5, 3),
            False,
            {},
        ),
        "_rebuild_meta_tensor_no_storage": (weft.float32, (2, 2), (2, 1), False),
        "_rebuild_device_tensor_from_numpy": (np.ones(2), weft.float32, "cpu", False),
        "_rebuild_parameter": (weft.ones((2,)), True, {}),
        "_rebuild_parameter_with_state": (weft.ones((2,)), True, {}, {"note": 1}),
        "_rebuild_from_type_v2": rebuild,
        "_get_layout": ("torch.strided",),
        "Parameter": (weft.ones((2,)), True),
        "UninitializedParameter": (),
        "device": ("cuda", 0),
        "Size": ((2, 3),),
        "OrderedDict": ([("a", 1), ["b", 2]],),
        "Counter": ({"a": 1},),
        "encode": ("\xe9", "latin1"),
        "bytearray": ("\xe9", "latin-1"),
        "set": ([1, 2],),
        "complex": (1.0, 2.0),
    }.get(name.rpartition(".")[2])


@pytest.mark.parametrize("name", sorted([*CALLED, *NAMED]))
def test_what_names_make(name):
    entry, made, calls = _weights_only.allowed()[name], [], []
    weights_fuzz.warm_up()
    calls += [weights_fuzz.arguments(seed) for seed in range(400)]
    wanted = sample(name)
    if wanted is not None:
        calls += [wanted, *weights_fuzz.changed_arguments(wanted, 200)]
    with weights_fuzz.watching():
        for arguments in calls:
            try:
                made.append(entry.function(*arguments))
            except Exception:
                continue
    for result in made:
        assert isinstance(result, weights_fuzz.RESULTS[entry.makes]) and weights_fuzz.is_data(result)
    assert (len(made) > 0) == (wanted is not None)


def test_composed_pickles():
    weights_fuzz.warm_up()
    values = [weights_fuzz.read(weights_fuzz.Program(seed).bytes) for seed in range(2000)]
    assert sum(not isinstance(value, Exception) for value in values) > 200  # they get somewhere


def hostile():
    """Pickles that would run something, or change something, where a reader let them."""
    save = called("torch.serialization._get_layout", text("save"))
    builtins = called("torch.serialization._get_layout", text("__builtins__"))
    yield "save", b"\x80\x02" + save + b"(" + text("x") + text("victim") + b"tR."
    yield "builtins", b"\x80\x02" + builtins + b"."
    yield "attributes of a module", b"\x80\x02" + named("torch.Tensor") + builtins + b"b."
    for of in (
        "collections.Counter",
        "torch.nn.parameter.Parameter",
        "torch.storage.UntypedStorage",
        "torch.Tensor",
    ):
        for attribute in ("update", "__repr__", "_of", "__init__"):
            state = b"}" + text(attribute) + named("torch._utils._rebuild_parameter") + b"s"
            yield f"{of}.{attribute}", b"\x80\x02" + named(of) + state + b"b."
            yield (
                f"{of}.{attribute} to a number",
                b"\x80\x02" + named(of) + b"}" + text(attribute) + b"K\x01sb.",
            )
            yield (
                f"{of}.{attribute} in slots",
                b"\x80\x02" + named(of) + b"N}" + text(attribute) + b"K\x01s\x86b.",
            )
    for attribute in ("items", "__class__", "update"):
        state = b"}" + text(attribute) + b"K\x01s"
        yield f"an OrderedDict's {attribute}", b"\x80\x02" + called("collections.OrderedDict") + state + b"b."
        tensor = called(
            "torch._utils._rebuild_meta_tensor_no_storage",
            named("torch.float32"),
            b"K\x02\x85",
            b"K\x01\x85",
            b"\x89",
        )
        yield f"a tensor's {attribute}", b"\x80\x02" + tensor + state + b"b."
    yield "a codec", b"\x80\x02" + called("_codecs.encode", text("x"), text("rot13")) + b"."
    yield "memory", b"]r\xff\xff\xff\x0f."
    yield "a memo's index", b"\x80\x02]r\xff\xff\xff\xffj\xff\xff\xff\x0f."
    yield "bytearray of a size", b"\x80\x02" + called("builtins.bytearray", b"J\xff\xff\xff\x7f") + b"."
    yield "a name as the result", b"\x80\x02" + named("_codecs.encode") + b"."
    yield "a name in a list", b"\x80\x02]" + named("_codecs.encode") + b"a."
    yield "a name in a dictionary", b"\x80\x02}K\x01" + named("_codecs.encode") + b"s."
    yield "a name in a tuple in a list", b"\x80\x02]" + named("_codecs.encode") + b"\x85a."
    yield "tuples without end", b"\x80\x02" + b")" + b"\x85" * 100_000 + b"."
    yield "os.system", b"\x80\x02" + called("os.system", text("true")) + b"."
    yield (
        "os.system by two strings",
        b"\x80\x04" + text("os") + text("system") + b"\x93(" + text("true") + b"tR.",
    )
    yield (
        "builtins.getattr",
        b"\x80\x02" + called("builtins.getattr", named("torch.Tensor"), text("__class__")) + b".",
    )
    yield (
        "a storage of more than there is",
        b"\x80\x02("
        + text("storage")
        + named("torch.FloatStorage")
        + text("0")
        + text("cpu")
        + b"J\xff\xff\xff\x7ftQ.",
    )
    yield (
        "repeated",
        b"\x80\x02]("
        + b"K\x01" * 10_000
        + b"e\x94]("
        + (named("builtins.set") + b"h\x00\x85R") * 10_000
        + b"e.",
    )
    yield "not UTF-8", b"\x80\x02X\x02\x00\x00\x00\xff\xfe."
    yield "truncated", b"\x80\x02]"
    yield "no pickle", b"hello"


HOSTILE = dict(hostile())
REFUSED = (pickle.UnpicklingError, RuntimeError)


def is_harmless(load):
    weights_fuzz.warm_up()
    with weights_fuzz.watching():
        try:
            value = load()
        except REFUSED:
            return True
    return weights_fuzz.is_data(value)


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_hostile_pickles(name):
    file = archive(HOSTILE[name])
    if name == "a memo's index":  # no more than an entry is kept of it
        with pytest.raises(REFUSED):
            torch.load(io.BytesIO(file))
        return
    with pytest.raises(REFUSED):
        torch.load(io.BytesIO(file))
    assert is_harmless(lambda: _weights_only.unpickle(HOSTILE[name], weights_fuzz.load_storage)[0])


def legacy(pickled):
    heads = (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True})
    return b"".join(pickle.dumps(head, protocol=2) for head in heads) + pickled + pickle.dumps([], protocol=2)


@pytest.mark.parametrize(
    "name", ["save", "builtins", "os.system", "collections.Counter.update", "memory", "truncated"]
)
def test_every_way_to_load(name, tmp_path):
    path = tmp_path / "x.pt"
    path.write_bytes(archive(HOSTILE[name]))
    old = tmp_path / "old.pt"
    old.write_bytes(legacy(HOSTILE[name]))
    before = sorted(tmp_path.iterdir())
    for load in (
        lambda: torch.load(path),
        lambda: torch.load(str(path), mmap=True),
        lambda: torch.load(path.open("rb")),
        lambda: torch.load(old),
        lambda: torch.load(path, weights_only=True, map_location="cpu"),
        lambda: torch.hub.load_state_dict_from_url(
            f"file://{path}", model_dir=str(tmp_path), weights_only=True
        ),
    ):
        with pytest.raises(REFUSED):
            load()
    program = tmp_path / "program.py"
    program.write_text("import sys, torch\ntorch.load(sys.argv[1])\n")
    ran = subprocess.run(
        [sys.executable, "-m", "weft", "torch", str(program), str(path)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert ran.returncode == 1 and (
        "UnpicklingError" in ran.stderr or "RuntimeError" in ran.stderr
    ), ran.stderr
    program.unlink()
    assert sorted(tmp_path.iterdir()) == before


def test_unsafe_globals_are_the_ones_that_are_refused(tmp_path):
    path = tmp_path / "x.pt"
    for pickled, names in [
        (HOSTILE["os.system"], ["os.system"]),
        (HOSTILE["os.system by two strings"], ["os.system"]),
        (HOSTILE["builtins.getattr"], ["builtins.getattr"]),
        # Strings that come from the memo, behind others.
        (
            b"\x80\x04"
            + text("os")
            + b"\x94"
            + text("system")
            + b"\x94"
            + text("a")
            + text("b")
            + b"h\x00h\x01\x93(ttt.",
            ["os.system"],
        ),
        (b"\x80\x02" + called("collections.OrderedDict") + b"(" + text("a") + called("a.b") + b"u.", ["a.b"]),
    ]:
        path.write_bytes(archive(pickled))
        try:
            assert torch.serialization.get_unsafe_globals_in_checkpoint(path) == names
        except pickle.UnpicklingError:
            assert pickled.endswith(b"ttt.")
    with pytest.raises(ValueError, match="checkpoint returned by torch.save"):
        torch.serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(legacy(b"\x80\x02N.")))


def damaged(whole, count):
    choose = weights_fuzz.random.Random(0)
    for _ in range(count):
        changed = bytearray(whole)
        for _ in range(choose.randrange(1, 4)):
            changed[choose.randrange(len(changed))] = choose.randrange(256)
        yield bytes(changed[: choose.choice((len(changed), choose.randrange(1, len(changed))))])


def test_errors_are_pytorchs():
    """Of damaged files: UnpicklingError and RuntimeError, whatever is damaged."""
    file = io.BytesIO()
    torch.save(collections.OrderedDict(a=torch.arange(5), b=[1, "text", {2.5: (None, b"bytes")}]), file)
    tensor = called(
        "torch._utils._rebuild_tensor_v2",
        b"(" + text("storage") + named("torch.FloatStorage") + text("0") + text("cpu") + b"K\x02NtQ",
        b"K\x00K\x02\x85K\x01\x85\x89N",
    )
    old = legacy(b"\x80\x02" + tensor + b".")[: -len(pickle.dumps([], protocol=2))]
    old += pickle.dumps(["0"], protocol=2) + struct.pack("<q", 2) + struct.pack("<ff", 1, 2)
    assert torch.load(io.BytesIO(old)).tolist() == [1, 2]
    read = 0
    for whole in (file.getvalue(), old):
        for changed in damaged(whole, 1500):
            try:
                torch.load(io.BytesIO(changed))
                read += 1
            except REFUSED:
                pass
    assert read > 100


def test_a_file_claims_no_memory_that_it_has_not():
    big = b"J\xff\xff\xff\x7f"
    storage = b"(" + text("storage") + named("torch.DoubleStorage") + text("0") + text("cpu") + big + b"NtQ"
    with pytest.raises(RuntimeError, match="the file has"):
        torch.load(io.BytesIO(legacy(b"\x80\x02" + storage + b".")))
    # Sizes and strides whose product overflows every integer.
    huge = b"(" + b"\x8a\x08" + struct.pack("<q", 2**62) + b"t"
    sizes = b"(" + b"".join([b"\x8a\x08" + struct.pack("<q", 2**62)] * 8) + b"t"
    for shape, stride in ((sizes, sizes), (huge, huge), (sizes, b"(" + b"K\x00" * 8 + b"t")):
        tensor = called(
            "torch._utils._rebuild_tensor_v2",
            b"(" + text("storage") + named("torch.FloatStorage") + text("0") + text("cpu") + b"K\x04tQ",
            b"K\x00" + shape + stride + b"\x89N",
        )
        with pytest.raises(REFUSED):
            torch.load(io.BytesIO(archive(b"\x80\x02" + tensor + b".")))


class Attributes(dict):
    def __init__(self, *args):
        super().__init__(*args)
        self.note = "made"


class Slots:
    __slots__ = ("value",)


def test_what_the_program_allows():
    value = Slots()
    value.value = 3
    file = io.BytesIO()
    torch.save({"a": Attributes({"x": torch.ones(2)}), "b": value}, file)
    with pytest.raises(pickle.UnpicklingError, match="Attributes|Slots"):
        torch.load(io.BytesIO(file.getvalue()))
    with torch.serialization.safe_globals([Attributes]), pytest.raises(pickle.UnpicklingError, match="Slots"):
        torch.load(io.BytesIO(file.getvalue()))
    with torch.serialization.safe_globals([Attributes, Slots]):
        found = torch.load(io.BytesIO(file.getvalue()))
    assert found["a"]["x"].tolist() == [1, 1] and found["a"].note == "made" and found["b"].value == 3
    with (
        torch.serialization.safe_globals([(Slots, "os.system")]),
        pytest.raises(pickle.UnpicklingError, match="blocked"),
    ):
        torch.load(io.BytesIO(archive(HOSTILE["os.system"])))


def test_flags_of_tensors():
    def loaded(flags):
        tensor = called(
            "torch._utils._rebuild_tensor_v2",
            b"("
            + text("storage")
            + named("torch.ComplexFloatStorage")
            + text("0")
            + text("cpu")
            + b"K\x02tQ",
            b"K\x00K\x01\x85K\x01\x85\x89N" + flags,
        )
        file = archive(b"\x80\x02" + tensor + b".", struct.pack("<ffff", 1, 2, 3, 4))
        return torch.load(io.BytesIO(file)).tolist()

    assert loaded(b"}" + text("conj") + b"\x88s") == [1 - 2j]
    assert loaded(b"}" + text("neg") + b"\x88s") == [-1 - 2j]
    assert loaded(b"}" + text("conj") + b"\x89s") == [1 + 2j]
    with pytest.raises(RuntimeError, match="flag"):
        loaded(b"}" + text("other") + b"\x88s")
    tensor = called(
        "torch._utils._rebuild_tensor_v2",
        b"(" + text("storage") + named("torch.ComplexFloatStorage") + text("0") + text("cpu") + b"K\x02NtQ",
        b"K\x00K\x01\x85K\x01\x85\x89N" + b"}" + text("conj") + b"\x88s",
    )
    with pytest.raises(RuntimeError, match="before archives"):
        torch.load(io.BytesIO(legacy(b"\x80\x02" + tensor + b".") + bytes(100)))
