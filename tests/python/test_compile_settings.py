"""weft.config, `with weft.device(...)` around compiled NumPy functions, and weft.Tensor objects in them."""

import threading

import numpy as np
import pytest
import weft

x34 = np.linspace(0.1, 1, 12).reshape(3, 4)


@pytest.fixture(autouse=True)
def usual():
    weft.compiler.reset()
    yield
    weft.config.numpy_default_float = "float64"


def float32(function, *args):
    with weft.config.patch(numpy_default_float="float32"):
        return weft.compile(function, fullgraph=True)(*args)


MADE = [
    (lambda: np.zeros(3), np.float32),
    (lambda: np.ones((2, 2)), np.float32),
    (lambda: np.full(3, 2.5), np.float32),
    (lambda: np.full(3, 2), np.int64),
    (lambda: np.linspace(0, 1, 5), np.float32),
    (lambda: np.arange(0.0, 3.0), np.float32),
    (lambda: np.arange(3), np.int64),
    (lambda: np.array([1.5, 2.0]), np.float32),
    (lambda: np.array([[1, 2], [3, 4]]), np.int64),
    (lambda: np.eye(3), np.float32),
    (lambda: np.arange(4) / 2, np.float32),
    (lambda: np.arange(4) * 0.5, np.float32),
    (lambda: np.arange(4).mean(), np.float32),
    (lambda: np.sqrt(np.arange(4)), np.float32),
    (lambda: np.array([1j, 2]), np.complex64),
    (lambda: np.zeros(3, np.float64), np.float64),
    (lambda: np.zeros(3, "f8"), np.float64),
    (lambda: np.ones(3, dtype=float) + 1, np.float64),
    (lambda: np.arange(3).astype(np.float64), np.float64),
    (lambda: np.float64(2.0), np.float64),
]


@pytest.mark.parametrize("case", range(len(MADE)))
def test_default_float(case):
    function, dtype = MADE[case]
    got, want = float32(function), function()
    assert got.dtype == dtype
    np.testing.assert_allclose(got, want, rtol=1e-6)
    assert weft.compile(function)().dtype == want.dtype


def test_arrays_that_are_given_keep_their_dtype():
    def function(x, i):
        return x * 2, i * x, i / 2, np.zeros_like(x), x + np.ones(4)

    results = float32(function, x34, np.arange(4))
    assert [r.dtype for r in results] == [np.float64, np.float64, np.float32, np.float64, np.float64]


def test_setting_is_part_of_what_a_capture_is_valid_for():
    compiled = weft.compile(lambda n: np.zeros(n) + n)
    assert compiled(3).dtype == np.float64
    weft.config.numpy_default_float = "float32"
    assert compiled(3).dtype == np.float32
    weft.config.numpy_default_float = "float64"
    assert compiled(3).dtype == np.float64


def test_loops_in_float32():
    def function(n):
        a = np.zeros(n)
        for i in range(n):
            a[i] = i / 4
        return a

    weft.config.numpy_default_float = "float32"
    got = weft.compile(function)(20)
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got, function(20))


def test_config_refuses_what_it_does_not_know():
    with pytest.raises(
        AttributeError, match="no setting 'numpy_default_flaot'; there are: numpy_default_float"
    ):
        weft.config.numpy_default_flaot = "float32"
    with pytest.raises(AttributeError, match="there are: numpy_default_float"):
        weft.config.other
    with pytest.raises(ValueError, match="expected one of 'float64', 'float32', got 'float16'"):
        weft.config.numpy_default_float = "float16"
    with pytest.raises(TypeError, match="expected a str, got type"):
        weft.config.numpy_default_float = np.float32
    with pytest.raises(AttributeError, match="cannot be deleted"):
        del weft.config.numpy_default_float
    with pytest.raises(ValueError), weft.config.patch(numpy_default_float="half"):
        pass
    assert weft.config.numpy_default_float == "float64"
    assert "numpy_default_float" in dir(weft.config)


@pytest.mark.skipif(not weft._C._gpu.why_unavailable(), reason="there is a GPU")
def test_cuda_names_what_is_missing_before_anything_runs():
    log = []

    @weft.compile
    def function(x):
        log.append(1)
        return x + 1

    with (
        weft.device("cuda"),
        pytest.raises(RuntimeError, match="device 'cuda:0' cannot be used: .*NVIDIA driver"),
    ):
        function(x34)
    assert log == []
    np.testing.assert_array_equal(function(x34), x34 + 1)


def is_meta(value, shape, dtype):
    assert isinstance(value, weft.Tensor)
    assert (value.device.type, value.shape, value.dtype) == ("meta", shape, dtype)


def test_meta_gives_shapes_and_dtypes():
    def function(x, n):
        y = (x @ x.T)[1:] / 2
        return y, {"sum": x.sum(axis=0), "total": x.sum()}, np.zeros(n), x.T * 2, n + 1

    compiled = weft.compile(function)
    for rows in (3, 5, 6):
        x = np.ones((rows, 4), np.float32)
        with weft.device("meta"):
            y, sums, zeros, transposed, number = compiled(x, rows)
        is_meta(y, (rows - 1, rows), weft.float32)
        is_meta(sums["sum"], (4,), weft.float32)
        is_meta(sums["total"], (), weft.float32)
        is_meta(zeros, (rows,), weft.float64)
        is_meta(transposed, (4, rows), weft.float32)
        assert number == rows + 1
    np.testing.assert_array_equal(compiled(x, 2)[0], function(x, 2)[0])


def test_meta_computes_and_changes_no_element():
    @weft.compile
    def function(x):
        x += 1
        return x[0]

    x = np.zeros((2, 3))
    with weft.device("meta"):
        is_meta(function(x), (3,), weft.float64)
    assert not x.any()


def test_meta_refuses_what_needs_elements():
    def branch(x):
        if x.sum() > 0:
            return x
        return -x

    def number(x):
        return float(x.sum())

    for function in (branch, number):
        with weft.device("meta"), pytest.raises(NotImplementedError, match="elements"):
            weft.compile(function)(x34)


def test_device_is_of_the_thread_and_of_what_is_made_inside():
    with weft.device("meta") as device:
        assert device == weft.device("meta")
        assert weft.zeros(2, 3).device.type == "meta"
        assert weft.tensor([1.0]).device.type == "meta"
        with weft.device("cpu"):
            assert weft.zeros(2).device.type == "cpu"
        assert weft.zeros(2, device="cpu").device.type == "cpu"
        found = []
        thread = threading.Thread(target=lambda: found.append(weft.zeros(2).device.type))
        thread.start()
        thread.join()
        assert found == ["cpu"]
    assert weft.zeros(2).device.type == "cpu"
    with pytest.raises(KeyError), weft.device("meta"):
        raise KeyError
    assert weft.ones(2).device.type == "cpu"


def no_breaks(function, *args):
    explanation = weft.compiler.explain(function)(*args)
    assert explanation.breaks == [], str(explanation.breaks[0])
    return explanation.result


def test_tensors_are_seen_as_arrays_without_copies():
    def look(t):
        return t.numpy()

    def update(t):
        a = t.numpy()
        a += 1
        return np.sin(a) * t.shape[0]

    base = x34.copy()
    tensor = weft.from_numpy(base)
    assert np.shares_memory(no_breaks(look, tensor), base)
    before = base.copy()
    np.testing.assert_array_equal(no_breaks(update, tensor), np.sin(before + 1) * 3)
    np.testing.assert_array_equal(base, before + 1)
    np.testing.assert_array_equal(tensor.numpy(), before + 1)
    compiled = weft.compile(update)
    for dtype in (np.float32, np.int64):
        other = np.arange(6).reshape(3, 2).astype(dtype)
        expected = np.sin(other + dtype(1)) * 3
        np.testing.assert_allclose(
            compiled(weft.from_numpy(other)), expected, rtol=1e-6
        )  # sin of float32 is not bit-equal to NumPy's


def test_arrays_become_tensors_without_copies():
    def make(a):
        return weft.from_numpy(a), weft.from_numpy(a[1:])

    def there_and_back(a):
        return weft.from_numpy(a * 2).numpy() + 1

    base = x34.copy()
    whole, part = no_breaks(make, base)
    assert isinstance(whole, weft.Tensor) and np.shares_memory(whole.numpy(), base)
    assert np.shares_memory(part.numpy(), base)
    np.testing.assert_array_equal(no_breaks(there_and_back, base), base * 2 + 1)


def test_operators_of_weft_between_arrays():
    def mixed(a):
        t = weft.from_numpy(a)
        u = weft.sin(t) * 2 + t[0]
        v = -u.sum(0)
        return v.numpy() + 1, u > 0

    got, positive = no_breaks(mixed, x34)
    np.testing.assert_allclose(got, 1 - (np.sin(x34) * 2 + x34[0]).sum(0), rtol=1e-14)
    assert positive.numpy().all()


def test_updates_are_seen_through_both():
    def function(a):
        t = weft.from_numpy(a)
        a[0] = 5
        return t

    base = x34.copy()
    tensor = no_breaks(function, base)
    assert np.shares_memory(tensor.numpy(), base)
    assert (base[0] == 5).all()


def test_numpy_of_a_traced_tensor_in_a_called_function():
    def helper(t):
        return t.numpy()

    def function(t):
        return helper(t) + 1

    np.testing.assert_array_equal(weft.compile(function)(weft.from_numpy(x34)), x34 + 1)
