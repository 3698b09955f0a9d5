"""weft.numpy by the rules of the Python array API standard: promotion and special values of functions and operators."""

import inspect
import math
import operator

import numpy
import pytest
import weft
import weft.numpy as xp
from array_api import (
    BINARY,
    COMPLEX,
    DTYPES,
    INTEGERS,
    NUMERIC,
    REAL,
    SIGNATURES,
    SPECIAL_BINARY,
    SPECIAL_UNARY,
    UNARY,
    dtype_name,
    promoted,
    special_rows,
)

OPERATORS = {
    "+": (operator.add, operator.iadd),
    "-": (operator.sub, operator.isub),
    "*": (operator.mul, operator.imul),
    "/": (operator.truediv, operator.itruediv),
    "//": (operator.floordiv, operator.ifloordiv),
    "%": (operator.mod, operator.imod),
    "**": (operator.pow, operator.ipow),
    "&": (operator.and_, operator.iand),
    "|": (operator.or_, operator.ior),
    "^": (operator.xor, operator.ixor),
    "<<": (operator.lshift, operator.ilshift),
    ">>": (operator.rshift, operator.irshift),
    "==": (operator.eq, None),
    "!=": (operator.ne, None),
    "<": (operator.lt, None),
    "<=": (operator.le, None),
    ">": (operator.gt, None),
    ">=": (operator.ge, None),
}
REAL_OF = {"complex64": "float32", "complex128": "float64"}


def find(name):
    owner, _, last = name.rpartition(".")
    return getattr(getattr(xp, owner) if owner else xp, last)


def array(values, dtype):
    made = xp.asarray(numpy.asarray(values).astype(dtype))
    assert type(made) is xp.ndarray and made.dtype == getattr(xp, dtype)
    return made


def result_dtype(rule, dtype):
    return {"same": dtype, "bool": "bool", "real": REAL_OF.get(dtype, dtype)}[rule]


def is_array(x, dtype, shape):
    assert type(x) is xp.ndarray
    assert (dtype_name(x), tuple(x.shape)) == (str(dtype), shape)


@pytest.mark.parametrize("line", SIGNATURES)
def test_signatures(line):
    name, _, parameters = line.partition("(")
    scope = {}
    exec(f"def stub({parameters}: pass", scope)
    wanted = list(inspect.signature(scope["stub"]).parameters.values())
    got = inspect.signature(find(name)).parameters
    places = list(got.values())
    for place, parameter in enumerate(wanted):
        if parameter.kind is parameter.VAR_POSITIONAL:
            assert places[place].kind is parameter.VAR_POSITIONAL
        elif parameter.kind is parameter.POSITIONAL_ONLY:
            assert places[place].kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
            assert parameter.default in (parameter.empty, places[place].default)
        else:
            mine = got[parameter.name]
            assert mine.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
            assert mine.default == parameter.default
            if parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
                assert places[place] is mine


@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_elementwise_functions_take_their_arrays_by_position(name):
    parameters = list(inspect.signature(find(name)).parameters.values())
    required = [p for p in parameters if p.default is p.empty]
    assert len(required) == (1 if name in UNARY else 2)
    assert all(p.kind is p.POSITIONAL_ONLY for p in required)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_array(name):
    dtypes, rule = UNARY[name]
    for dtype in dtypes:
        for shape in ((), (2, 3), (0, 2)):
            x = array(numpy.full(shape, 1), dtype)
            is_array(find(name)(x), result_dtype(rule, dtype), shape)
            is_array(find(name)(weft.Tensor(x)), result_dtype(rule, dtype), shape)


@pytest.mark.parametrize("name", BINARY)
def test_functions_and_operators_promote_alike(name):
    """0-d arrays take part as others do; a Tensor beside an array does, too."""
    dtypes, rule, sign = BINARY[name]
    function = find(name)
    calls = [function] if sign is None else [function, OPERATORS[sign][0]]
    for a in dtypes:
        for b in dtypes:
            dtype = promoted(a, b)
            if dtype is None:
                continue
            for left, right in (((2,), (2,)), ((), (2,)), ((3, 1), (2,)), ((), ()), ((0,), (1,))):
                x, y = array(numpy.full(left, 1), a), array(numpy.full(right, 2), b)
                shape = numpy.broadcast_shapes(left, right)
                for call in calls:
                    is_array(call(x, y), result_dtype(rule, dtype), shape)
                is_array(function(weft.Tensor(x), weft.Tensor(y)), result_dtype(rule, dtype), shape)
                if sign is not None:
                    is_array(calls[1](weft.Tensor(x), y), result_dtype(rule, dtype), shape)
                    is_array(calls[1](x, weft.Tensor(y)), result_dtype(rule, dtype), shape)


def weak_numbers(dtype):
    """Python's numbers that an array of the dtype takes without changing."""
    numbers = [True]
    if dtype != "bool":
        numbers.append(2)
    if dtype in REAL + COMPLEX:
        numbers.append(0.5)
    if dtype in COMPLEX:
        numbers.append(0.5j)
    return numbers[1:] or numbers


@pytest.mark.parametrize("name", BINARY)
def test_python_numbers_adapt_to_the_array(name):
    dtypes, rule, sign = BINARY[name]
    function = find(name)
    for dtype in dtypes:
        wanted = result_dtype(rule, dtype)
        for number in weak_numbers(dtype):
            for shape in ((), (2,)):
                x = array(numpy.full(shape, 1), dtype)
                is_array(function(x, number), wanted, shape)
                is_array(function(number, x), wanted, shape)
                if sign is None:
                    continue
                call, in_place = OPERATORS[sign]
                is_array(call(x, number), wanted, shape)
                is_array(call(number, x), wanted, shape)
                if in_place is not None:
                    y = in_place(x, number)
                    assert y is x
                    is_array(y, dtype, shape)


def test_values_of_promoted_operands():
    assert int(array(300, "uint16") + array(1, "uint8")) == 301
    assert (array(300, "uint16") + array([1], "uint8")).tolist() == [301]
    assert (array([200], "uint8") + array([100], "int8")).tolist() == [300]
    assert (array(2**40, "int64") * array([2], "int32")).tolist() == [2**41]
    assert (array([2**63], "uint64") + array([1], "uint8")).tolist() == [2**63 + 1]
    assert (array(0.1, "float64") == array([0.1], "float32")).tolist() == [False]
    for number in (numpy.float64(1.5), numpy.int32(3)):  # NumPy's scalars are no Python numbers
        x = array([1], "float32" if isinstance(number, float) else "int8")
        assert x.numpy().dtype != (x.numpy() + number).dtype
        assert dtype_name(x + number) == str((x.numpy() + number).dtype)


def test_operators_of_tensors_stay_pytorchs():
    x, y = weft.tensor(300, dtype=weft.uint16), weft.tensor([1.0], dtype=weft.float32)
    assert type(x + y) is weft.Tensor
    assert (weft.tensor(2.0, dtype=weft.float64) + y).dtype == weft.float32
    assert (xp.asarray(weft.tensor(2.0, dtype=weft.float64)) + y).dtype == weft.float64
    assert type(weft.Tensor(xp.ones(3)) + 1) is weft.Tensor


def test_arrays_and_tensors_share_their_memory():
    t = weft.zeros(3)
    x = xp.asarray(t)
    x[0] = 5
    weft.Tensor(x)[1] = 7
    assert t.tolist() == [5, 7, 0] and x.data_ptr() == t.data_ptr() == weft.Tensor(x).data_ptr()


def test_integer_operands_as_numpy_has_them():
    """Where the standard leaves it open: no PyTorch errors, NumPy's own answers."""
    x = array([7, -7, 0], "int32")
    assert (x // 0).tolist() == [0, 0, 0] and (x % 0).tolist() == [0, 0, 0]
    for power in (-1, array([-1], "int32")):
        with pytest.raises(ValueError, match="negative integer powers"):
            x**power
        with pytest.raises(ValueError, match="negative integer powers"):
            xp.pow(x, power)
    with pytest.raises(ValueError, match="out of bounds for uint8"):
        array([1], "uint8") + 300


def test_in_place_operators_keep_the_dtype():
    x = array([1, 2], "int16")
    x += array([1], "int64")
    assert x.tolist() == [2, 3] and x.dtype == xp.int16
    for target, other in (
        ("int16", "float32"),
        ("uint8", "int8"),
        ("float32", "complex64"),
        ("bool", "int8"),
    ):
        with pytest.raises(TypeError, match="cannot be stored"):
            operator.iadd(array([1, 1], target), array([1], other))


def equal_with_sign(got, wanted, tolerance):
    if isinstance(wanted, bool):
        return got is wanted
    if math.isnan(wanted):
        return math.isnan(got)
    if wanted == 0:
        return got == 0 and math.copysign(1, got) == math.copysign(1, wanted)
    return got == wanted or abs(got - wanted) <= tolerance * abs(wanted)


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("table", [SPECIAL_UNARY, SPECIAL_BINARY], ids=["one", "two"])
def test_special_values(table, dtype):
    """Each alone, in a vector that is longer than any register, and through the operator."""
    wrong = []
    signs = {name: OPERATORS[sign][0] for name, (_, _, sign) in BINARY.items() if sign}
    for name, *arguments, result in special_rows(table):
        for call in filter(None, (find(name), signs.get(name))):
            for shape in ((), (37,)):
                got = call(*(array(numpy.full(shape, value), dtype) for value in arguments))
                values = got.reshape([-1]).tolist()
                if not all(equal_with_sign(value, result, 4 * numpy.finfo(dtype).eps) for value in values):
                    wrong.append((name, arguments, result, values[0]))
    assert wrong == []


def test_round_of_complex_and_integers():
    assert xp.round(array([0.5 + 1.5j, -2.5 - 0.5j], "complex64")).tolist() == [2j, -2 + 0j]
    for dtype in INTEGERS:
        x = array([1, 2], dtype)
        for function in (xp.round, xp.ceil, xp.floor, xp.trunc):
            is_array(function(x), dtype, (2,))
            assert function(x).data_ptr() != x.data_ptr()


@pytest.mark.parametrize("dtype", [d for d in NUMERIC if d not in COMPLEX])
def test_clip(dtype):
    x = array([1, 5, 9], dtype)
    for low, high, wanted in (
        (2, 6, [2, 5, 6]),
        (None, 6, [1, 5, 6]),
        (2, None, [2, 5, 9]),
        (None, None, [1, 5, 9]),
    ):
        got = xp.clip(x, low, high)
        is_array(got, dtype, (3,))
        assert got.tolist() == wanted and got.data_ptr() != x.data_ptr()
    is_array(xp.clip(x, array([[2], [3]], dtype), array(6, dtype)), dtype, (2, 3))


@pytest.mark.parametrize("dtype", DTYPES)
def test_operators_of_one_array(dtype):
    x = array([1, 0, 1], dtype)
    if dtype != "bool":
        is_array(-x, dtype, (3,))
        is_array(+x, dtype, (3,))
        is_array(abs(x), REAL_OF.get(dtype, dtype), (3,))
    if dtype in ("bool", *INTEGERS):
        is_array(~x, dtype, (3,))
    if dtype in REAL + COMPLEX:
        y = array(numpy.eye(2), dtype)
        is_array(y @ y, dtype, (2, 2))
        z = y
        z @= y
        is_array(z, dtype, (2, 2))
    one = xp.asarray(x[0])
    assert bool(one) is True
    if dtype not in COMPLEX:
        assert float(one) == 1.0 and int(one) == 1
    assert complex(one) == 1
    if dtype in INTEGERS:
        assert operator.index(one) == 1
    else:
        with pytest.raises(TypeError):
            operator.index(one)
