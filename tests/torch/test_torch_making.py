"""weft.torch's functions that make tensors, dtypes and their limits, devices and defaults."""

import pickle

import numpy as np
import pytest
import weft
import weft.torch as torch


def test_limits_of_dtypes():
    assert repr(torch.finfo(torch.float16)) == (
        "finfo(resolution=0.001, min=-65504, max=65504, eps=0.000976562, smallest_normal=6.10352e-05, "
        "tiny=6.10352e-05, dtype=float16)"
    )
    assert torch.finfo().dtype == "float32" and torch.finfo(torch.complex128) == torch.finfo(torch.float64)
    assert torch.finfo(torch.float8_e5m2).max == 57344.0
    assert repr(torch.iinfo(torch.int8)) == "iinfo(min=-128, max=127, dtype=int8)"
    assert torch.iinfo(torch.uint64).max == 2**64 - 1 and torch.iinfo(torch.int32).bits == 32
    for limits, dtype in (
        (torch.finfo, torch.int32),
        (torch.iinfo, torch.float32),
        (torch.iinfo, torch.bool),
    ):
        with pytest.raises(TypeError):
            limits(dtype)
    with pytest.raises(TypeError):
        torch.iinfo(5)


def test_dtypes():
    assert str(torch.float32) == "torch.float32" and torch.float32.to_complex() == torch.complex64
    assert torch.float16.to_complex() == torch.complex32 and torch.complex128.to_real() == torch.float64
    assert torch.complex32.to_real() == torch.float16 and torch.float8_e4m3fn.itemsize == 1
    assert pickle.loads(pickle.dumps(torch.float8_e5m2)) is torch.float8_e5m2
    with pytest.raises(RuntimeError):
        torch.int32.to_complex()
    with pytest.raises(NotImplementedError, match="weft has no tensors of float4_e2m1fn_x2"):
        torch.zeros(2, dtype=torch.float4_e2m1fn_x2)


def test_what_promotes_to_what():
    x, n = torch.ones(2), torch.ones(2, dtype=torch.int32)
    assert torch.result_type(n, 1) == torch.int32 and torch.result_type(n, 1.5) == torch.float32
    assert torch.result_type(x, torch.tensor(1.0, dtype=torch.float64)) == torch.float32
    assert torch.result_type(x.half(), 1j) == torch.complex64 and torch.result_type(1, 2.0) == torch.float32
    assert torch.can_cast(torch.int32, torch.float16) and not torch.can_cast(torch.float32, torch.int64)
    assert not torch.can_cast(torch.int8, torch.bool)
    with pytest.raises(TypeError):
        torch.result_type(x, "a")


def test_the_default_dtype_decides():
    doubled = weft.compile(lambda n: torch.zeros(2) + n / 2)
    n = torch.tensor([1, 2])
    assert doubled(n).dtype == torch.float32
    try:
        torch.set_default_dtype(torch.float64)
        assert torch.get_default_dtype() == torch.float64 and torch.zeros(2).dtype == torch.float64
        for made in (
            torch.tensor(1.5),
            torch.arange(0.0, 1.0, 0.5),
            n / 2,
            n.sqrt(),
            n + 1.5,
            torch.Tensor(2),
            doubled(n),
        ):
            assert made.dtype == torch.float64
        assert (
            torch.tensor(1j).dtype == torch.complex128
            and (torch.ones(2, dtype=torch.float32) / 2).dtype == torch.float32
        )
        assert repr(torch.tensor([1.5])) == "tensor([1.5000])"
    finally:
        torch.set_default_dtype(torch.float32)
    assert doubled(n).dtype == torch.float32
    with pytest.raises(TypeError):
        torch.set_default_dtype(torch.int64)


def test_the_default_device():
    try:
        torch.set_default_device("meta")
        assert torch.zeros(2).device.type == "meta" and torch.get_default_device() == torch.device("meta")
    finally:
        torch.set_default_device(None)
    assert torch.zeros(2).device == torch.device("cpu")


@pytest.mark.parametrize(
    ("make", "shape", "stride"),
    [
        (lambda: torch.empty_strided((2, 3), (1, 2)), (2, 3), (1, 2)),
        (lambda: torch.empty_strided((0, 3), (1, 2)), (0, 3), (1, 2)),
        (lambda: torch.empty_permuted((2, 3, 5), (1, 0, 2)), (2, 3, 5), (5, 10, 1)),
        (lambda: torch.scalar_tensor(3), (), ()),
        (
            lambda: torch.zeros(2, 3, 4, 5, memory_format=torch.contiguous_format),
            (2, 3, 4, 5),
            (60, 20, 5, 1),
        ),
        (
            lambda: torch.zeros_like(torch.ones(1, 3, 4, 5), memory_format=torch.channels_last),
            (1, 3, 4, 5),
            (60, 1, 15, 3),
        ),
    ],
)
def test_shapes_and_strides(make, shape, stride):
    assert (make().shape, make().stride()) == (shape, stride)


def test_options_of_functions_that_make_tensors():
    x = torch.ones(
        2, dtype=torch.float64, device="cpu", layout=torch.strided, requires_grad=True, pin_memory=False
    )
    assert x.requires_grad and x.dtype == torch.float64
    assert torch.tensor([1.0], requires_grad=True).requires_grad
    with pytest.raises(NotImplementedError, match="strided"):
        torch.zeros(2, layout=torch.sparse_coo)
    out = torch.empty(0)
    assert torch.zeros(2, 3, out=out) is out and out.shape == (2, 3)


def test_range_counts_up_to_its_end():
    assert torch.range(1, 3).tolist() == [1, 2, 3] and torch.range(1, 2, 0.5).dtype == torch.float32
    with pytest.raises(RuntimeError):
        torch.range(3, 1)
    with pytest.raises(RuntimeError):
        torch.range(1, 3, 0)


def test_frombuffer_shares_memory():
    memory = bytearray(b"\x01\x00\x02\x00\x03\x00")
    x = torch.frombuffer(memory, dtype=torch.int16, offset=2)
    assert x.tolist() == [2, 3]
    memory[2] = 9
    assert x.tolist() == [9, 3] and torch.frombuffer(memory, dtype=torch.uint8, count=2).tolist() == [1, 0]
    for options in ({"offset": 6}, {"count": 7}, {"count": 0}, {"offset": 1}):
        with pytest.raises(ValueError):
            torch.frombuffer(memory, dtype=torch.int16, **options)


def test_as_tensor_and_asarray():
    x = torch.ones(2)
    assert torch.as_tensor(x) is x and torch.as_tensor(x, torch.float64).dtype == torch.float64
    assert torch.asarray(x, copy=True).data_ptr() != x.data_ptr() == torch.asarray(x, copy=False).data_ptr()
    with pytest.raises(ValueError):
        torch.asarray([1, 2], copy=False)


def test_devices():
    assert torch.device(0) == torch.device("cuda:0") and repr(torch.device("cpu")) == "device(type='cpu')"
    with pytest.raises(RuntimeError):
        torch.device("nodevice")
    with pytest.raises(TypeError):
        torch.device(1.5)


@pytest.mark.parametrize("shared", [True, False])
def test_from_file(shared, tmp_path):
    path = tmp_path / "numbers"
    path.write_bytes(bytes(range(16)))
    x = torch.from_file(str(path), shared=shared, size=4, dtype=torch.int32)
    assert x.tolist() == [0x03020100, 0x07060504, 0x0B0A0908, 0x0F0E0D0C]
    x[0] = 1
    del x
    assert path.read_bytes()[:4] == (b"\x01\0\0\0" if shared else bytes(range(4)))
    with pytest.raises((OSError, RuntimeError, ValueError)):
        torch.from_file(str(tmp_path / "none"), size=2)


def test_small_names():
    assert torch.newaxis is None and torch.thread_safe_generator() is None
    assert issubclass(torch.UntypedStorage, torch.StorageBase)


def _range_in_runs(count, start, step, dtype):
    """As PyTorch's kernel computes it: the first number of each 32 bytes is rounded, the others lie steps from it."""
    run = 32 // np.dtype(dtype).itemsize
    positions = np.arange(count)
    first = positions // run * run
    first[count - count % (2 * run) :] = positions[count - count % (2 * run) :]
    rounded = (start + step * first.astype(np.float64)).astype(dtype).astype(np.float64)
    return (rounded + (positions - first) * step).astype(dtype)


@pytest.mark.parametrize(
    "start, end, step", [(0, 150, 0.1), (-3, 7, 0.37), (0.5, 1000, 1.7), (5, -5, -0.3), (0, 0.05, 0.1)]
)
def test_ranges_of_floats(start, end, step):
    made = torch.arange(start, end, step)
    np.testing.assert_array_equal(made.numpy(), _range_in_runs(len(made), start, step, np.float32))
    for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.float16):
        plain = torch.arange(start, end, step, dtype=dtype)
        compiled = torch.compile(lambda x: x + torch.arange(start, end, step, dtype=x.dtype), fullgraph=True)
        assert torch.equal(compiled(torch.zeros_like(plain)), plain)


def test_ranges_of_more_digits_than_the_dtype_has():
    # PyTorch's: 256 and what is rounded from it.
    made = torch.arange(264, dtype=torch.bfloat16)
    assert made[256:].tolist() == [256, 256, 258, 260, 260, 260, 262, 264]
    assert torch.arange(5, dtype=torch.float16).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_ranges_that_follow_from_sizes(dtype):
    def function(x):
        return torch.arange(0, x.shape[0] / 3, 0.1, dtype=dtype), torch.arange(x.shape[0], dtype=dtype)

    compiled = torch.compile(function, fullgraph=True, dynamic=True)
    for size in (3, 4, 7, 40, 41, 300):
        for got, expected in zip(compiled(torch.zeros(size)), function(torch.zeros(size))):
            assert torch.equal(got, expected)
