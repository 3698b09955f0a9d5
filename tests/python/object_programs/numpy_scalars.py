"""NumPy's scalars with Python's sequences, texts and numbers, on both sides of every operator."""

import decimal
import fractions

import numpy as np

LOG = []
SYMBOLS = "+ - * @ / // % ** << >> & | ^ < <= > >= == !=".split()
SCALARS = {
    "b": np.bool_(True),
    "i8": np.int8(3),
    "i32": np.int32(2),
    "i64": np.int64(2),
    "u8": np.uint8(2),
    "u64": np.uint64(2),
    "f16": np.float16(2.0),
    "f32": np.float32(2.0),
    "f64": np.float64(2.0),
    "c64": np.complex64(2.0),
    "c128": np.complex128(2.0),
    "s": np.str_("ab"),
    "y": np.bytes_(b"ab"),
    "longdouble": np.longdouble(2.0),
    "d": np.datetime64("2020-01-01"),
    "td": np.timedelta64(3, "D"),
}
OTHERS = {
    "list": [1, 2, 3],
    "empty list": [],
    "nested list": [[1, 2], [3, 4]],
    "list of text": ["a", "b"],
    "tuple": (1, 2),
    "empty tuple": (),
    "text": "ab",
    "number text": "3",
    "bytes": b"ab",
    "None": None,
    "dict": {"a": 1},
    "empty dict": {},
    "set": {1, 2},
    "range": range(3),
    "Decimal": decimal.Decimal(2),
    "Fraction": fractions.Fraction(1, 2),
    "bool": True,
    "int": 3,
    "negative": -3,
    "large": 2**70,
    "float": 1.5,
    "complex": 1 + 2j,
    "ellipsis": ...,
    "class": int,
    "slice": slice(1),
    "bytearray": bytearray(b"ab"),
    "memoryview": memoryview(b"ab"),
    "object": object,
}


def pair(symbol):
    """A function of two values, and one that changes a variable in place."""
    source = f"""
def plain(a, b):
    return a {symbol} b
"""
    if symbol not in ("<", "<=", ">", ">=", "==", "!="):
        source += f"""
def in_place(a, b):
    a {symbol}= b
    return a
"""
    space = {}
    exec(source, space)
    return [space[name] for name in ("plain", "in_place") if name in space]


def computed_times_list(x):
    return x[1] * [1, 2], [1, 2] * x[1]


def computed_int_times_list(x):
    n = x.astype(np.int64)[2]
    return n * [1, 2], [1, 2] * n, n * (1, 2), (1, 2) * n, n * "ab", "ab" * n


def computed_count_times_list(x):
    n = np.count_nonzero(x)
    return [0] * n, n * [0], [0.0] * np.sum(x > 1)


def computed_index(x):
    n = x.astype(np.int32)[1]
    return [5, 6, 7][n], (5, 6)[n], "abc"[n], range(5)[n], [5, 6, 7][n:], [5, 6, 7][: np.argmax(x)]


def computed_bool_index(x):
    return [5, 6][x[1] > 0], (5, 6)[np.any(x > 1)]


def computed_float_index(x):
    try:
        return [5, 6][x[1]]
    except TypeError as error:
        return x, str(error)


def computed_range(x):
    return list(range(x.astype(int)[2])), [i for i in range(np.argmax(x))]


def computed_float_range(x):
    try:
        return list(range(x[2]))
    except TypeError as error:
        return x, str(error)


def repeated_in_place(x):
    v = [1]
    w = v
    v *= np.int32(2)
    return x, v, v is w


def repeated_scalar_in_place(x):
    v = np.int32(2)
    v *= [1, 2]
    return x, v


def scalar_and_array(x):
    return np.int8(3) * x, x * np.float32(1.5), x ** np.int64(2), np.float64(2) @ x if False else 0


def scalar_and_sequence_of_arrays(x):
    return np.float64(2) * [x, x], [x] + [np.float64(2)]


def list_plus_array(x):
    return [1, 2, 3, 4] + x, x + [1, 2, 3, 4], (1, 2, 3, 4) - x, x == [0, 1, 2, 3]


def list_iadd_array(x):
    v = [1, 2]
    w = v
    v += x
    return v, v is w


def array_iadd_list(x):
    v = x
    v += [1, 2, 3, 4]
    return v is x, x


def text_times_scalar(x):
    return "ab" * np.int64(2), np.int8(2) * "ab", b"a" * np.uint8(3)


def scalar_comparison_chain(x):
    return 0 < x[1] < np.float32(2) <= 2, x[1] == 1 == True, np.int8(1) is True


def scalar_divmod(x):
    return divmod(np.int64(7), 2), divmod(7, np.int8(2)), divmod(x[3], 2), divmod(np.float64(7), -2)


def scalar_pow(x):
    return pow(np.int64(2), 3), pow(2, np.int8(3)), np.int64(2) ** 0.5, 2 ** np.float32(0.5)


def scalar_methods(x):
    a = np.float64(2.5)
    return (
        a.is_integer(),
        a.as_integer_ratio(),
        a.hex(),
        a.conjugate(),
        round(a),
        round(a, 1),
        int(a),
        abs(-a),
    )


def scalar_to_text(x):
    a = x[1]
    return str(a), repr(a), f"{a}", f"{a!r}", f"{a:.3f}", "%s %r %d %f" % (a, a, a, a), "{}".format(a)


def scalar_is_instance(x):
    a = x[1]
    return (
        isinstance(a, float),
        isinstance(np.int64(1), int),
        isinstance(np.bool_(1), bool),
        isinstance(a, np.floating),
    )


def scalar_truth(x):
    return bool(np.float64(0)), not np.int8(1), np.bool_(False) or 5, np.str_("") or "empty"


def scalar_sums(x):
    return (
        sum([np.int8(100), np.int8(27)]),
        sum([x[1], 1]),
        sum((np.float32(0.1), 0.2)),
        max(np.int8(1), 1),
        min(1, x[1]),
    )


def power_of_integers(x):
    texts = []
    for a, b in ((np.int64(2), -1), (2, np.int64(-1)), (np.int8(2), np.int8(-1))):
        try:
            texts.append(a**b)
        except ValueError as error:
            texts.append(str(error))
    return x, texts
