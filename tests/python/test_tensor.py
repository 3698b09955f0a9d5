"""weft.Tensor: making one, its attributes, conversions and Python's protocols."""

import copy
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
import weft

DTYPES = [
    "bool",
    "uint8",
    "int8",
    "uint16",
    "int16",
    "uint32",
    "int32",
    "uint64",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]
NUMPY_DTYPES = [name for name in DTYPES if name != "bfloat16"]


class TestMaking:
    @pytest.mark.parametrize(
        "data, dtype, text",
        [
            ([[1, 2], [3, 4]], weft.int64, "tensor([[1, 2],\n        [3, 4]])"),
            ([1, 2.5], weft.float32, "tensor([1.0000, 2.5000])"),
            ([True, False], weft.bool, "tensor([ True, False])"),
            ([True, 3], weft.int64, "tensor([1, 3])"),
            (1j, weft.complex64, "tensor(0.+1.j)"),
            ([], weft.float32, "tensor([])"),
            ([[], []], weft.float32, "tensor([], size=(2, 0))"),
            (7, weft.int64, "tensor(7)"),
        ],
    )
    def test_dtype_follows_the_data(self, data, dtype, text):
        x = weft.tensor(data)
        assert x.dtype is dtype
        assert str(x) == text == repr(x)

    @pytest.mark.parametrize("name", DTYPES)
    def test_every_dtype(self, name):
        dtype = getattr(weft, name)
        x = weft.tensor([0, 1, 1], dtype=dtype)
        assert x.dtype is dtype and repr(dtype).rpartition(".")[2] == name
        assert x.tolist() == [0, 1, 1]
        assert x.element_size() == dtype.itemsize == x.itemsize

    def test_aliases(self):
        assert weft.float is weft.float32 and weft.half is weft.float16 and weft.double is weft.float64
        assert weft.long is weft.int64 and weft.int is weft.int32 and weft.short is weft.int16

    @pytest.mark.parametrize(
        "given, expected",
        [
            (np.float64, "float64"),
            (np.dtype("uint16"), "uint16"),
            ("f32", "float32"),
            ("int8", "int8"),
            (float, "float64"),
            (int, "int64"),
            (bool, "bool"),
            (complex, "complex128"),
            (np.bool_, "bool"),
        ],
    )
    def test_dtypes_of_others(self, given, expected):
        assert weft.tensor([1], dtype=given).dtype is getattr(weft, expected)

    def test_numpy_scalars_and_mixed_nesting(self):
        assert weft.tensor(np.float64(2.5)).dtype is weft.float64
        assert weft.tensor([np.float64(2.5), np.float64(1)]).dtype is weft.float64
        assert weft.tensor([np.int16(3), 4]).tolist() == [3, 4]
        assert weft.tensor([np.arange(3), [4, 5, 6]]).tolist() == [[0, 1, 2], [4, 5, 6]]
        assert weft.tensor([weft.tensor(1.5), 2]).tolist() == [1.5, 2.0]
        assert weft.tensor(range(4)).tolist() == [0, 1, 2, 3]

    def test_tensor_copies_and_asarray_shares(self):
        a = np.arange(3)
        assert weft.tensor(a).data_ptr() != a.ctypes.data
        assert weft.asarray(a).data_ptr() == a.ctypes.data
        x = weft.tensor([1.0])
        assert weft.tensor(x).data_ptr() != x.data_ptr() == weft.as_tensor(x).data_ptr()

    @pytest.mark.parametrize(
        "data, error, message",
        [
            ([[1, 2], [3]], ValueError, "tensor: expected a sequence of length 2 at dimension 1, got 1"),
            ([1, [2]], ValueError, "tensor: expected a number at depth 1, got list"),
            ([[1], 2], ValueError, "tensor: expected a sequence at depth 1, got a number"),
            ("abc", TypeError, "tensor: expected numbers, arrays or nested sequences of them, got str"),
            ([None], TypeError, "tensor: expected numbers, arrays or nested sequences of them, got NoneType"),
            ({1: 2}, TypeError, "got dict"),
            (np.array(["a"]), TypeError, "from_numpy: expected"),
            (np.array([object()]), TypeError, "from_numpy: expected"),
            (np.array([1], dtype=">i4"), TypeError, "from_numpy: expected native numbers or bool"),
            ([2**80], ValueError, "does not fit int64"),
        ],
    )
    def test_bad_data(self, data, error, message):
        with pytest.raises(error, match=message.replace("[", r"\[")):
            weft.tensor(data)

    def test_numbers_that_do_not_fit(self):
        with pytest.raises(ValueError, match="tensor: 300 does not fit uint8"):
            weft.tensor([300], dtype=weft.uint8)
        with pytest.raises(ValueError, match="-1 does not fit uint64"):
            weft.tensor([-1], dtype=weft.uint64)
        with pytest.raises(TypeError, match="a complex number does not fit float32"):
            weft.tensor([1j], dtype=weft.float32)
        assert weft.tensor([2**64 - 1], dtype=weft.uint64).item() == 2**64 - 1
        assert weft.tensor([2**80], dtype=weft.float64).item() == 2.0**80

    @pytest.mark.parametrize("dtype", ["float99", object, np.dtype("M8[s]"), 3])
    def test_bad_dtype(self, dtype):
        with pytest.raises(TypeError, match="dtype: expected a weft or NumPy dtype"):
            weft.tensor([1], dtype=dtype)


class TestDevices:
    def test_names(self):
        assert str(weft.device("cuda:1")) == "cuda:1" and repr(weft.device("cpu")) == "device(type='cpu')"
        assert weft.device("cuda", 1) == weft.device("cuda:1") != weft.device("cuda")
        assert weft.device("cpu").index is None and weft.device("cuda", 1).index == 1

    def test_bad_names(self):
        with pytest.raises(ValueError, match="expected 'cpu', 'cuda', 'cuda:<index>' or 'meta', got 'tpu'"):
            weft.device("tpu")
        with pytest.raises(TypeError, match="device: expected a weft.device or a string, got 3.5"):
            weft.tensor(1, device=3.5)
        with pytest.raises(RuntimeError, match="device 'cuda:3' cannot be used"):
            weft.tensor(1, device=3)

    @pytest.mark.skipif(not weft._C._gpu.why_unavailable(), reason="there is a GPU")
    def test_cuda_says_why_not(self):
        for make in (
            lambda: weft.tensor([1], device="cuda"),
            lambda: weft.tensor([1]).cuda(),
            lambda: weft.tensor([1]).to("cuda:0"),
        ):
            with pytest.raises(RuntimeError, match="device 'cuda:0' cannot be used: .*NVIDIA driver"):
                make()

    def test_meta_has_a_shape_and_no_elements(self):
        x = weft.tensor([[1.0, 2.0]], device="meta")
        assert x.shape == (1, 2) and x.is_meta and str(x) == "tensor(..., device='meta', size=(1, 2))"
        for use in (x.tolist, x.numpy, x.item, x.cpu):
            with pytest.raises((TypeError, ValueError, NotImplementedError)):
                use()


class TestAttributes:
    def test_layout(self):
        x = weft.tensor(np.zeros((2, 3, 4), np.float32))
        assert x.shape == x.size() == (2, 3, 4) and x.ndim == x.dim() == 3
        assert x.stride() == (12, 4, 1) and x.stride(-1) == 1 and x.size(1) == 3
        assert x.numel() == 24 and x.nbytes == 96 and x.is_contiguous() and x.data_ptr() % 64 == 0
        assert x.T.shape == (4, 3, 2) and x.mT.shape == (2, 4, 3) and not x.mT.is_contiguous()
        assert x.mT.contiguous().is_contiguous() and x.storage_offset() == 0
        assert not x.requires_grad and not x.is_cuda and x.is_floating_point()

    def test_out_of_range(self):
        x = weft.tensor([[1]])
        with pytest.raises(IndexError, match="dimension 2 is out of range"):
            x.size(2)
        with pytest.raises(IndexError, match="dimension -3 is out of range"):
            x.stride(-3)
        with pytest.raises(ValueError, match="mT: expected at least 2 dimensions"):
            weft.tensor([1]).mT


class TestConversions:
    def test_to(self):
        x = weft.tensor([1.5, -2.5])
        assert x.to(weft.float32) is not None and x.to(weft.float32).data_ptr() == x.data_ptr()
        assert x.to(weft.int64).tolist() == [1, -2]
        assert x.to("cpu", weft.float64).dtype is weft.float64
        assert x.to(weft.tensor([1j])).dtype is weft.complex64
        assert x.to(weft.float32, copy=True).data_ptr() != x.data_ptr()
        assert x.double().float().half().bfloat16().tolist() == [1.5, -2.5]
        assert x.bool().tolist() == [True, True] and x.long().dtype is weft.int64

    @pytest.mark.parametrize("source", NUMPY_DTYPES)
    @pytest.mark.parametrize("target", NUMPY_DTYPES)
    def test_as_numpy_converts(self, source, target):
        values = np.array([0, 1, 2, 100]).astype(source)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # complex to real
            expected = values.astype(target)
        assert weft.from_numpy(values).to(target).tolist() == expected.tolist()

    def test_items(self):
        assert weft.tensor([[3]]).item() == 3 and isinstance(weft.tensor(True).item(), bool)
        assert int(weft.tensor(2.7)) == 2 and float(weft.tensor(3)) == 3.0 and complex(weft.tensor(1j)) == 1j
        assert [10, 20, 30][weft.tensor(1)] == 20 and bool(weft.tensor([0.0])) is False
        assert f"{weft.tensor(3.14159):.2f}" == "3.14" and f"{weft.tensor([1])}" == "tensor([1])"

    def test_bad_items(self):
        x = weft.tensor([1.0, 2.0])
        for use in (x.item, lambda: float(x), lambda: int(x)):
            with pytest.raises(ValueError, match=r"expected a tensor of one element, got f32\[2\] cpu"):
                use()
        with pytest.raises(ValueError, match="truth value of a tensor of 2 elements is ambiguous"):
            bool(x)
        with pytest.raises(TypeError, match="only integer tensors of one element"):
            [1, 2][weft.tensor(1.0)]
        with pytest.raises(TypeError):
            float(weft.tensor(1j))
        with pytest.raises(TypeError, match="len"):
            len(weft.tensor(1))
        with pytest.raises(TypeError, match="iteration over a 0-d tensor"):
            iter(weft.tensor(1))

    def test_sequence_protocol(self):
        x = weft.tensor([[1, 2], [3, 4]])
        assert len(x) == 2 and [row.tolist() for row in x] == [[1, 2], [3, 4]]
        a, b = x
        assert a.tolist() == [1, 2] and b.data_ptr() == x.data_ptr() + 16


class TestCopies:
    @pytest.mark.parametrize("name", DTYPES)
    def test_pickle(self, name):
        x = weft.tensor([[0, 1], [1, 0]], dtype=getattr(weft, name)).T
        y = pickle.loads(pickle.dumps(x))
        assert y.dtype is x.dtype and y.tolist() == x.tolist() and y.data_ptr() != x.data_ptr()

    def test_pickle_of_meta_dtypes_and_devices(self):
        assert pickle.loads(pickle.dumps(weft.float16)) is weft.float16
        assert pickle.loads(pickle.dumps(weft.device("cuda:2"))) == weft.device("cuda:2")
        assert pickle.loads(pickle.dumps(weft.tensor([1], device="meta"))).is_meta

    def test_copy_and_deepcopy(self):
        x = weft.tensor([1, 2])
        assert copy.copy(x).data_ptr() == x.data_ptr()
        nested = copy.deepcopy({"x": x, "d": weft.int8})
        assert (
            nested["x"].tolist() == [1, 2]
            and nested["x"].data_ptr() != x.data_ptr()
            and nested["d"] is weft.int8
        )

    def test_in_place_copies(self):
        x = weft.tensor([[1, 2], [3, 4]])
        assert x.copy_(weft.tensor([7.9, 8])) is x and x.tolist() == [[7, 8], [7, 8]]
        x.fill_(3)
        assert x.tolist() == [[3, 3], [3, 3]] and x.zero_().tolist() == [[0, 0], [0, 0]]
        with pytest.raises(
            ValueError, match=r"source's shape must broadcast.*\n.*i64\[2, 2\] cpu   source: i64\[3\]"
        ):
            x.copy_(weft.tensor([1, 2, 3]))


def test_out_of_memory_names_the_size():
    with pytest.raises(MemoryError, match="576460752303423488 bytes"):
        weft.from_numpy(np.broadcast_to(np.float64(0), (2**56,))).clone()


def test_import_is_light():
    code = (
        "import sys, weft; heavy = [m for m in sys.modules if m.split('.')[0] in "
        "('numpy', 'inspect', 'dataclasses', 'asyncio')]; assert not heavy, heavy;"
        "assert 'LLVM' not in open('/proc/self/maps').read()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_unknown_attribute():
    with pytest.raises(AttributeError, match="module 'weft' has no attribute 'no_such_thing'"):
        weft.no_such_thing


def test_threads():
    before = weft.get_num_threads()
    weft.set_num_threads(1)
    assert weft.get_num_threads() == 1
    weft.set_num_threads(before)
    with pytest.raises(ValueError):
        weft.set_num_threads(0)
