"""Numbers that NumPy keeps apart: signed and unsigned 64-bit integers, dtypes with names, complex reciprocals."""

import itertools

import numpy as np
import pytest
import weft
import weft.numpy
from support.compare import assert_same, check

SIGNED = [
    np.array([-(2**63), -1, 0, 1, 2**53 + 1, 2**63 - 1], np.int64),
    np.array([-128, -1, 0, 1, 127, 5], np.int8),
]
UNSIGNED = np.array([2**64 - 1, 2**63, 0, 1, 2**53, 2**63 - 1], np.uint64)
COMPARISONS = {
    "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y,
    "==": lambda x, y: x == y,
    "!=": lambda x, y: x != y,
    ">": lambda x, y: x > y,
    ">=": lambda x, y: x >= y,
    "less": np.less,
    "less_equal": np.less_equal,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
}


@pytest.mark.parametrize("form", ["arrays", "scalars", "broadcast", "constants", "masked"])
@pytest.mark.parametrize("signed", SIGNED, ids=lambda array: str(array.dtype))
@pytest.mark.parametrize("name", COMPARISONS)
def test_signed_and_unsigned_numbers_are_compared_as_they_are(name, signed, form):
    compare = COMPARISONS[name]
    pairs = {
        "arrays": [(signed, UNSIGNED), (UNSIGNED, signed)],
        "scalars": list(itertools.product(signed, UNSIGNED)) + list(itertools.product(UNSIGNED, signed)),
        "broadcast": [(signed[:, None], UNSIGNED), (UNSIGNED[:, None], signed)],
    }
    if form == "constants":
        check(lambda x: compare(x, np.uint64(2**63)), (signed,))
        check(lambda x: compare(np.int64(-1), x), (UNSIGNED,))
    elif form == "masked":
        check(lambda x, y: x[compare(x, y)], (signed, UNSIGNED))
    else:
        for x, y in pairs[form]:
            check(lambda x, y: compare(x, y), (x, y))


@pytest.mark.parametrize("name", [name for name in COMPARISONS if not name.isalpha() and "_" not in name])
def test_in_a_native_loop(name):
    scope = {"np": np}
    exec(
        f"def count(x, y):\n    n = 0\n    for k in range(len(x)):\n        if x[k] {name} y[k]:\n            n += 1\n    return n\n",
        scope,
    )
    x, y = np.tile(SIGNED[0], 50), np.tile(UNSIGNED, 50)
    for pair in ((x, y), (y, x)):
        assert weft.compile(scope["count"])(*pair) == scope["count"](*pair)


@pytest.mark.parametrize("sizes", [(1, 1), (1, 3), (20, 40)])
def test_equality_and_membership(sizes):
    repeated = [np.tile(SIGNED[0], sizes[0]), np.tile(UNSIGNED, sizes[1])]
    for x, y in (repeated, repeated[::-1]):
        check(lambda x, y: np.isin(x, y), (x, y))
        check(lambda x, y: np.isin(x, y, invert=True), (x, y))
        check(lambda x, y: np.array_equal(x, y[: len(x)]), (x, y))
        check(lambda x, y: np.array_equiv(x[:1], y[:1]), (x, y))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.uint64, np.int64, np.float32])
@pytest.mark.parametrize("edge_order", [1, 2])
def test_gradient_over_integer_places(dtype, edge_order):
    places = np.array([9, 5, 4, 2, 1]).astype(dtype)
    for f in (np.array([1.0, 4.0, 9.0, 16.0, 20.0]), np.array([200, 3, 100, 7, 250], np.uint8)):
        for spacing in (places, np.arange(5).astype(dtype), dtype(2)):
            compiled = weft.compile(lambda f, spacing: np.gradient(f, spacing, edge_order=edge_order))
            expected = np.gradient(f, spacing, edge_order=edge_order)
            for _ in range(2):
                actual = compiled(f, spacing)
                assert actual.dtype == expected.dtype
                np.testing.assert_allclose(actual, expected, rtol=1e-6)


@pytest.mark.parametrize(
    "dtype", [np.bool_, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.float64]
)
@pytest.mark.parametrize("body", ["v + v", "v * 2", "v + 0.5", "v > 1", "int(v)", "v", "np.int16(v)"])
def test_the_dtype_of_vectorize(dtype, body):
    function = eval(f"lambda v: {body}", {"np": np})
    check(lambda x: np.vectorize(function)(x), (np.array([1, 0, 1, 1]).astype(dtype),))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_reciprocals_of_complex_numbers(dtype):
    parts = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 1e-30]
    numbers = np.array([complex(re, im) for re in parts for im in parts]).astype(dtype)
    for z in (numbers, numbers.reshape(8, 8).T, numbers[4], np.array(2 - 1j, dtype)):
        compiled = weft.compile(lambda z: np.reciprocal(z))
        for _ in range(2):
            assert_same(compiled(z), np.reciprocal(z))


def enlarged():
    x = np.arange(4.0)
    x.resize(3, 2, 1)
    return x


def enlarged_by_tuple(n):
    x = np.ones(n) * 2
    x.resize((2, n))
    return x.sum(), x


def referenced():
    x = np.arange(4.0)
    y = x
    x.resize(8)
    return x, y


def viewed():
    x = np.arange(4.0)
    y = x[1:]
    x.resize(8)
    return x, y


def of_an_argument(n):
    def enlarge(array):
        array.resize(2 * n)
        return array

    return enlarge(np.zeros(n))


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (enlarged, ()),
        (enlarged_by_tuple, (5,)),
        (enlarged_by_tuple, (5000,)),
        (referenced, ()),
        (viewed, ()),
        (of_an_argument, (4,)),
    ],
)
def test_local_arrays_are_resized(function, arguments):
    check(function, arguments)


NAMED = np.dtype((np.int32, {"low": (np.int16, 0), "high": (np.int16, 2)}))
NOTED = np.dtype(np.float64, metadata={"unit": "m"})


@pytest.mark.parametrize(
    "dtype", [NAMED, NOTED, np.dtype([("a", np.int32), ("b", np.float64)])], ids=["named", "noted", "record"]
)
@pytest.mark.parametrize(
    "make",
    [
        "zeros(3, dtype)",
        "ones(3, dtype)",
        "empty(3, dtype)",
        "zeros((2, 2), dtype=dtype)",
        "asarray([1, 2, 3]).astype(dtype)",
        "array([1, 2], dtype)",
    ],
)
def test_dtypes_with_names_and_notes_keep_them(dtype, make):
    scope = {"np": np, "dtype": dtype}
    exec(f"def function():\n    return np.{make}\n", scope)
    try:
        expected = scope["function"]()
    except Exception as error:
        with pytest.raises(type(error)):
            weft.compile(scope["function"])()
        return
    compiled = weft.compile(scope["function"])
    for _ in range(2):
        actual = compiled()
        assert actual.dtype.names == expected.dtype.names and actual.dtype.metadata == expected.dtype.metadata
        assert actual.dtype == expected.dtype


def doubles(x):
    return x + x


def test_an_array_with_names_after_one_without():
    compiled = weft.compile(lambda x: x[:2])
    plain = np.arange(3, dtype=np.int32)
    named = plain.view(NAMED)
    for x in (plain, named, plain):
        assert compiled(x).dtype.names == x[:2].dtype.names


def test_the_device_of_an_array_is_its_name():
    x = weft.numpy.asarray([1.0, 2.0])
    assert x.device == "cpu" and not x.device != "cpu" and x.device != "meta"
    assert {x.device: 1}[x.device] == 1
    assert weft.numpy.zeros(3, device=x.device).device == x.device
    assert weft.compile(lambda a: a.device == "cpu")(np.zeros(3))
