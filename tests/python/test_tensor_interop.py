"""Sharing memory with NumPy: buffers, __array__, DLPack, read-only arrays and lifetimes."""

import gc
import sys
import weakref

import numpy as np
import pytest
import weft

NUMPY_DTYPES = [
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
    "float32",
    "float64",
    "complex64",
    "complex128",
]
LAYOUTS = {
    "plain": lambda a: a,
    "transposed": lambda a: a.T,
    "reversed": lambda a: a[::-1, ::-1],
    "strided": lambda a: a[:, ::2],
    "broadcast": lambda a: np.broadcast_to(a[0], (3, 6)),
    "empty": lambda a: a[:0],
    "scalar": lambda a: a[1:2, 2:3].reshape(()),
}


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_numpy_round_trip_shares_memory(dtype, layout):
    a = LAYOUTS[layout](np.arange(24).reshape(4, 6).astype(dtype))
    x = weft.from_numpy(a)
    assert x.shape == a.shape and x.dtype is getattr(weft, dtype) and x.tolist() == a.tolist()
    assert a.size == 0 or x.data_ptr() == a.__array_interface__["data"][0]
    back = x.numpy()
    assert back.dtype == a.dtype and np.array_equal(back, a)
    assert a.size == 0 or np.shares_memory(back, a)


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("versioned", [False, True])
def test_dlpack_round_trip(dtype, layout, versioned):
    a = LAYOUTS[layout](np.arange(24).reshape(4, 6).astype(dtype))
    if not a.flags.writeable:
        a = a.copy()
    x = weft.from_dlpack(a)
    assert x.tolist() == a.tolist() and (a.size == 0 or x.data_ptr() == a.__array_interface__["data"][0])
    capsule = x.__dlpack__(max_version=(1, 0)) if versioned else x.__dlpack__()
    assert ("versioned" in repr(capsule)) == versioned
    y = weft.from_dlpack(capsule)
    assert y.tolist() == a.tolist() and y.stride() == x.stride()
    with pytest.raises(ValueError, match="expected an unused DLPack capsule"):
        weft.from_dlpack(capsule)
    b = np.from_dlpack(x)
    assert np.array_equal(b, a) and (a.size == 0 or np.shares_memory(b, a))


def test_dlpack_bfloat16_and_unused_capsules():
    x = weft.tensor([1.5, 2.5], dtype=weft.bfloat16)
    assert weft.from_dlpack(x).tolist() == [1.5, 2.5]
    for _ in range(3):
        x.__dlpack__(max_version=(1, 0))
        x.__dlpack__()
    assert x.__dlpack_device__() == (1, 0)


def test_dlpack_keywords():
    x = weft.tensor([1.0, 2.0])
    assert weft.from_dlpack(x.__dlpack__(copy=True, max_version=(1, 0))).data_ptr() != x.data_ptr()
    assert weft.from_dlpack(x, copy=True).data_ptr() != x.data_ptr()
    assert weft.from_dlpack(x.__dlpack__(dl_device=(1, 0), copy=False)).data_ptr() == x.data_ptr()
    with pytest.raises(BufferError, match="exported to device"):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(ValueError, match="no stream"):
        x.__dlpack__(stream=1)
    with pytest.raises(TypeError, match="expected an object with __dlpack__, got int"):
        weft.from_dlpack(3)
    with pytest.raises(RuntimeError, match="cuda:0|no CUDA"):
        weft.from_dlpack(x, device="cuda")
    with pytest.raises(TypeError, match="has no elements on the host"):
        weft.tensor(1, device="meta").__dlpack__()


class LegacyProducer:
    """Knows DLPack as it was before version 1."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __dlpack__(self):
        return self.tensor.__dlpack__()


def test_legacy_producers():
    x = weft.tensor([1, 2])
    assert weft.from_dlpack(LegacyProducer(x)).data_ptr() == x.data_ptr()


class TestReadOnly:
    def make(self):
        a = np.arange(4.0)
        a.flags.writeable = False
        return weft.from_numpy(a)

    def test_writing_is_an_error(self):
        x = self.make()

        def fill():
            x[1:] = 0

        def scatter():
            x[[0, 1]] = 0

        for write in (fill, scatter, x.zero_, lambda: x.fill_(1), lambda: x[::2].copy_([0, 0])):
            with pytest.raises(ValueError, match="read-only"):
                write()
        assert x.tolist() == [0, 1, 2, 3]

    def test_flag_travels(self):
        x = self.make()
        assert not x.numpy().flags.writeable and not x[1:].numpy().flags.writeable
        assert x.clone().numpy().flags.writeable
        y = weft.from_dlpack(x)
        with pytest.raises(ValueError, match="read-only"):
            y.zero_()
        with pytest.raises(BufferError, match="read-only tensor needs DLPack 1.0"):
            x.__dlpack__()
        assert memoryview(x).readonly and not memoryview(x.clone()).readonly


class TestArrayProtocol:
    def test_copy_and_dtype(self):
        x = weft.tensor([1.0, 2.0])
        assert np.shares_memory(np.asarray(x), np.from_dlpack(x))
        assert not np.shares_memory(np.array(x), np.from_dlpack(x))
        assert np.asarray(x, dtype=np.int32).dtype == np.int32
        assert x.__array__().ctypes.data == x.__array__(copy=False).ctypes.data == x.data_ptr()
        assert x.__array__(copy=True).ctypes.data != x.data_ptr()
        with pytest.raises(ValueError, match="copy=False forbids it"):
            x.__array__(np.float64, copy=False)

    def test_numpy_functions_take_tensors(self):
        assert np.concatenate([weft.tensor([1, 2]), np.array([3])]).tolist() == [1, 2, 3]
        assert type(np.multiply(weft.tensor([1, 2]), 2)) is np.ndarray

    def test_bfloat16_is_refused(self):
        with pytest.raises(TypeError, match="NumPy has no bfloat16"):
            weft.tensor([1.0], dtype=weft.bfloat16).numpy()
        with pytest.raises(BufferError, match="bfloat16"):
            memoryview(weft.tensor([1.0], dtype=weft.bfloat16))


class TestBuffers:
    def test_memoryview(self):
        x = weft.tensor([[1, 2], [3, 4]], dtype=weft.int32)
        view = memoryview(x)
        assert view.shape == (2, 2) and view.format == "i" and view.tolist() == [[1, 2], [3, 4]]
        view[0, 1] = 9
        assert x.tolist() == [[1, 9], [3, 4]]
        with pytest.raises(BufferError, match="not C-contiguous"):
            np.frombuffer(x.T)

    def test_other_exporters(self):
        import array

        assert weft.asarray(array.array("d", [1.5, 2])).tolist() == [1.5, 2.0]
        assert weft.asarray(bytearray(b"\x01\x02")).dtype is weft.uint8

    @pytest.mark.parametrize(
        "array",
        [
            np.array(["a"]),
            np.array([None]),
            np.array(["2020-01-01"], "M8[D]"),
            np.zeros(2, [("a", "i4")]),
            np.array([1], ">f8"),
            np.zeros(2, np.longdouble),
        ],
    )
    def test_arrays_that_do_not_fit(self, array):
        with pytest.raises(TypeError, match="from_numpy: expected"):
            weft.from_numpy(array)

    def test_odd_strides(self):
        a = np.zeros(4, [("a", "u1"), ("b", "i4")])["b"]
        with pytest.raises(ValueError, match="strides must be multiples of the element size 4, got 5 bytes"):
            weft.from_numpy(a)

    @pytest.mark.parametrize("thing", [3, "text", [1, 2], None, b"bytes"])
    def test_from_numpy_wants_an_array(self, thing):
        with pytest.raises(TypeError):
            weft.from_numpy(thing)


class TestLifetimes:
    def test_array_dies_first(self):
        a = np.arange(100000.0)
        expected = a.copy()
        x = weft.from_numpy(a)[::3]
        del a
        gc.collect()
        assert np.array_equal(x.numpy(), expected[::3])

    def test_tensor_dies_first(self):
        x = weft.tensor(np.arange(100000.0))
        a = x.numpy()
        del x
        gc.collect()
        weft.tensor(np.zeros(100000))
        assert np.array_equal(a, np.arange(100000.0))

    def test_dlpack_consumer_outlives_both(self):
        a = np.arange(5)
        b = np.from_dlpack(weft.from_dlpack(a)[1:])
        del a
        gc.collect()
        assert b.tolist() == [1, 2, 3, 4]

    def test_references_are_given_back(self):
        a = np.arange(10)
        before = sys.getrefcount(a)
        tensors = [weft.from_numpy(a) for _ in range(10)] + [weft.from_dlpack(a) for _ in range(10)]
        views = [x[1:] for x in tensors]
        assert sys.getrefcount(a) > before
        del tensors, views
        gc.collect()
        assert sys.getrefcount(a) == before
        a.resize(20, refcheck=False)

    def test_weak_references(self):
        x = weft.tensor([1])
        reference = weakref.ref(x)
        assert reference() is x
        del x
        assert reference() is None

    def test_memory_is_recycled(self):
        weft.empty_cache()
        x = weft.tensor(np.zeros(1 << 20))
        address = x.data_ptr()
        del x
        reused = weft.allocator_stats()["num_reused"]
        assert weft.tensor(np.zeros(1 << 20)).data_ptr() == address
        assert weft.allocator_stats()["num_reused"] == reused + 1
        weft.empty_cache()
        assert weft.allocator_stats()["cached"] == 0
