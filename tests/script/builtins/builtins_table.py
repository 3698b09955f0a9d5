"""Writes builtins_table.txt: what Python gives for TorchScript's builtins on numbers, strings, lists and dictionaries.

A line: builtin, arguments, result, separated by tabs; "!" and the exception's name where Python raises.
Run again after a change:  python3 tests/script/builtins/builtins_table.py > tests/script/builtins/builtins_table.txt
"""

import copy
import itertools
import math

INTS = [-9, -7, -2, -1, 0, 1, 2, 3, 8, 1000003]
FLOATS = [-7.5, -2.0, -0.5, 0.0, 0.3, 1.0, 2.5, 3.5, 1e10]
TEXTS = [
    "",
    "a",
    "Hello World",
    "  spaced out\t\n",
    "aXbXc",
    "12",
    "title Case Words",
    "tab\tbed",
    "-42",
    "aaa",
    "under_score",
]
LISTS = [[], [3], [3, 1, 2], [5, 5, -1, 0, 5]]
ONLY_INT = {"and", "or"}


def row(name, function, *arguments, shown=None):
    text = ", ".join(repr(a) for a in (arguments if shown is None else shown))
    before = copy.deepcopy(arguments)
    try:
        result = function(*before)
        if isinstance(result, complex) or (isinstance(result, int) and not -(2**63) <= result < 2**63):
            return
        result = repr(result)
    except Exception as error:
        result = "!" + type(error).__name__
    print(name, text, result, sep="\t")


def changed(method, *defaults):
    def call(self, *arguments):
        method(self, *arguments)
        return self

    return call


def mixed(name, function, ints=INTS, floats=FLOATS, with_int=True):
    for a, b in itertools.product(ints, ints):
        if with_int:
            row(f"aten::{name}.int", function, a, b)
    for a, b in itertools.product(floats, floats):
        row(f"aten::{name}.float", function, a, b)
    for a, b in itertools.product(ints[::2], floats[::2]):
        row(f"aten::{name}.int_float", function, a, b)
        row(f"aten::{name}.float_int", function, b, a)


def arithmetic():
    for name, f in {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "floordiv": lambda a, b: a // b,
        "remainder": lambda a, b: a % b,
    }.items():
        mixed(name, f)
    for a, b in itertools.product(INTS, INTS):
        row("aten::div.int", lambda a, b: a / b, a, b)
        row("aten::__and__.int", lambda a, b: a & b, a, b)
        row("aten::__or__.int", lambda a, b: a | b, a, b)
        row("aten::__xor__.int", lambda a, b: a ^ b, a, b)
        row("aten::divmod.int", divmod, a, b)
        row("prim::max.int", max, a, b)
        row("prim::min.int", min, a, b)
        row("aten::gcd.int", math.gcd, a, b)
        if 0 <= b < 10:
            row("aten::__lshift__.int", lambda a, b: a << b, a, b)
            row("aten::__rshift__.int", lambda a, b: a >> b, a, b)
            row("aten::pow.int_to_int", lambda a, b: a**b, a, b)
    for a, b in itertools.product(FLOATS, FLOATS):
        row("aten::div.float", lambda a, b: a / b, a, b)
        row("aten::divmod.float", divmod, a, b)
        row("aten::pow.float", lambda a, b: a**b, a, b)
        row("aten::fmod.float", math.fmod, a, b)
        row("aten::mathremainder.float", math.remainder, a, b)
        row("aten::atan2.float", math.atan2, a, b)
        row("aten::copysign.float", math.copysign, a, b)
        row("prim::max.float", max, a, b)
    for name, f in {
        "lt": lambda a, b: a < b,
        "le": lambda a, b: a <= b,
        "gt": lambda a, b: a > b,
        "ge": lambda a, b: a >= b,
        "eq": lambda a, b: a == b,
        "ne": lambda a, b: a != b,
    }.items():
        mixed(name, f, INTS[2:7], FLOATS[1:6])
        for a, b in itertools.product(TEXTS[:5], TEXTS[:5]):
            row(f"aten::{name}.str", f, a, b)


def math_functions():
    for name in [
        "sqrt",
        "exp",
        "log",
        "log10",
        "sin",
        "cos",
        "tan",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "tanh",
        "asinh",
        "acosh",
        "atanh",
        "log1p",
        "expm1",
        "erf",
        "erfc",
        "gamma",
        "lgamma",
        "degrees",
        "radians",
        "fabs",
    ]:
        for x in FLOATS:
            row(f"aten::{name}.float", getattr(math, name), x)
        for x in INTS[:-1]:
            row(f"aten::{name}.int", getattr(math, name), x)
    for x in FLOATS + [1e300, math.inf, math.nan]:
        row("aten::floor.float", math.floor, x)
        row("aten::ceil.float", math.ceil, x)
        row("aten::Int.float", int, x)
        row("aten::isnan.float", math.isnan, x)
        row("aten::isinf.float", math.isinf, x)
        row("aten::isfinite.float", math.isfinite, x)
    for x in FLOATS:
        row("aten::round.float", lambda x: float(round(x)), x)
        row("aten::modf", math.modf, x)
        row("aten::frexp", math.frexp, x)
        row("aten::neg.float", lambda x: -x, x)
        row("prim::abs.float", abs, x)
        row("aten::Bool.float", bool, x)
    for x in INTS:
        row("aten::factorial.int", math.factorial, x) if x < 21 else None
        row("aten::hex", hex, x)
        row("aten::oct", oct, x)
        row("aten::bin", bin, x)
        row("aten::Float.int", float, x)
        row("aten::Bool.int", bool, x)
        row("prim::abs.int", abs, x)
        row("aten::str", str, x)
    for low, high, step in itertools.product([-3, 0, 5], [-4, 0, 6], [-2, -1, 1, 3, 0]):
        row("aten::__range_length", lambda a, b, c: len(range(a, b, c)), low, high, step)
    for text in ["12", " -7 ", "+5", "1_000", "", "x", "0x10", "1e3", "1_", "9" * 25, "--1", "+-1"]:
        row("aten::Int.str", lambda t: (lambda v: v if -(2**63) <= v < 2**63 else [][0])(int(t)), text)
        row("aten::Float.str", float, text)
    for text in ["inf", "-inf", "nan", " 2.5e-3 ", "1e400", ".5", "5.", "Infinity"]:
        row("aten::Float.str", float, text)


def strings():
    for s in TEXTS:
        for name in [
            "lower",
            "upper",
            "swapcase",
            "capitalize",
            "title",
            "isdigit",
            "isdecimal",
            "isnumeric",
            "isalpha",
            "isspace",
            "isalnum",
            "isprintable",
            "islower",
            "isupper",
            "istitle",
            "isidentifier",
        ]:
            row(f"aten::{name}", getattr(str, name), s)
        row("aten::split.str", lambda s, sep, n: s.split(sep, n), s, None, -1)
        row("aten::split.str", lambda s, sep, n: s.split(sep, n), s, None, 1)
        row("aten::len.str", len, s)
        row("aten::ord", ord, s)
        row("aten::list", list, s)
        row("aten::expandtabs", str.expandtabs, s, 4)
        row("aten::str", str, s)
        for keep in [False, True]:
            row("aten::splitlines", str.splitlines, s, keep)
        for chars in [" \n\t\f\v", "a", "Hd"]:
            for name in ["strip", "lstrip", "rstrip"]:
                row(f"aten::{name}", getattr(str, name), s, chars)
        for width in [0, 4, 5, 14, 15]:
            for name in ["ljust", "rjust", "center"]:
                row(f"aten::{name}", getattr(str, name), s, width, "*")
            row("aten::zfill", str.zfill, s, width)
        for start, end, step in itertools.product(
            [None, 0, 2, -3, 100], [None, 1, -1, 100], [1, 2, -1, -2, 0]
        ):
            row("aten::slice.str", lambda s, a, b, c: s[a:b:c], s, start, end, step)
        for i in [0, 1, -1, 50, -50]:
            row("aten::__getitem__.str", lambda s, i: s[i], s, i)
        for part in ["", "a", "X", "l", "aa", "o W"]:
            for name, target in {
                "find": "find",
                "rfind": "rfind",
                "index.str": "index",
                "rindex": "rindex",
                "count": "count",
                "startswith": "startswith",
                "endswith": "endswith",
            }.items():
                for start, end in [(0, 100), (1, 4), (-3, 100), (50, 100), (2, -2)]:
                    row(f"aten::{name}", getattr(str, target), s, part, start, end)
            row("aten::partition", str.partition, s, part)
            row("aten::rpartition", str.rpartition, s, part)
            for most in [-1, 0, 1, 2]:
                row("aten::split.str", str.split, s, part, most)
                row("aten::rsplit", str.rsplit, s, part, most)
                row("aten::replace", str.replace, s, part, "--", most)
    row("aten::join", str.join, ", ", ["a", "b", "c"])
    row("aten::join", str.join, "", [])
    row("aten::chr", chr, 65)
    for template, values in [
        ("{} and {}", (1, "x")),
        ("{1}{0}", ("a", "b")),
        ("{{}}", ()),
        ("{:>5}|{:<5}|{:^5}", (1, "ab", "c")),
        ("{:.3f} {:e} {:g}", (1.5, 12345.678, 0.0001)),
        ("{:05d} {:+d} {:x} {:b}", (42, 7, 255, 5)),
        ("{!r}", ("q",)),
        ("{", ()),
        ("}", ()),
        ("{} {}", (1,)),
        ("{:d}", ("s",)),
        ("{:.1%}", (0.256,)),
        ("{:8.2f}|", (3.14159,)),
        ("{}", ([1, 2],)),
    ]:
        row("aten::format", lambda t, *v: t.format(*v), template, *values)
    for template, values in [
        ("%d items", (3,)),
        ("%s=%r", ("k", "v")),
        ("%5.2f|%-6s|%6s", (3.14159, "ab", "cd")),
        ("%x %o", (255, 8)),
        ("100%%", ()),
        ("%d", ()),
        ("%03d", (7,)),
        ("%e", (12345.0,)),
        ("x", (1,)),
    ]:
        row("aten::percentFormat", lambda t, *v: t % v, template, *values)


def lists():
    for values in LISTS:
        row("aten::len.t", len, values)
        row("aten::reverse.t", changed(list.reverse), values)
        row("aten::sort.int", lambda v, r: changed(lambda x: x.sort(reverse=r))(v), values, False)
        row("aten::sort.int", lambda v, r: changed(lambda x: x.sort(reverse=r))(v), values, True)
        row("aten::sorted.int", sorted, values)
        row("aten::clear.t", changed(list.clear), values)
        row("aten::copy.t", list, values)
        row("aten::sum.int", sum, values)
        row("aten::all.int", all, values)
        row("aten::any.int", any, values)
        row("prim::max.self_int", max, values)
        row("prim::min.self_int", min, values)
        for i in [0, 1, -1, 4, -5, 9]:
            row("aten::__getitem__.t", lambda v, i: v[i], values, i)
            row("aten::pop.t", list.pop, values, i)
            row("aten::insert.t", changed(list.insert), values, i, 7)
            row("aten::_set_item.t", changed(list.__setitem__), values, i, 7)
            row("aten::Delete.t", changed(list.__delitem__), values, i)
        for item in [5, 3, 77]:
            row("aten::index.list_int", list.index, values, item)
            row("aten::count.int", list.count, values, item)
            row("aten::remove.int", changed(list.remove), values, item)
            row("aten::append.t", changed(list.append), values, item)
            row("aten::__contains__.int_list", list.__contains__, values, item)
        for other in LISTS:
            row("aten::add.t", lambda a, b: a + b, values, other)
            row("aten::extend.t", changed(list.extend), values, other)
            row("aten::eq.int_list", lambda a, b: a == b, values, other)
            row("aten::ne.int_list", lambda a, b: a != b, values, other)
        for n in [-1, 0, 1, 3]:
            row("aten::mul.left_t", lambda a, n: a * n, values, n)
        for start, end, step in itertools.product(
            [None, 0, 1, -2, 9], [None, 0, 2, -1, 9], [1, 2, -1, -3, 0]
        ):
            row("aten::slice.t", lambda v, a, b, c: v[a:b:c], values, start, end, step)
    row("aten::sorted.str", sorted, ["b", "a", "C"])
    row("aten::sorted.any", sorted, [(2, "a"), (1, "b"), (1, "a")])
    row("aten::sum.float", sum, [0.5, 1.25])
    row("aten::any.str", any, ["", "x"])


def first_item(d):
    """PyTorch's popitem: Python's gives the last."""
    if not d:
        raise KeyError
    return next(iter(d.items()))


def dicts():
    filled = {"a": 1, "b": 2, "c": 3}
    for d in [{}, filled]:
        row("aten::len.Dict_str", len, d)
        row("aten::keys.str", lambda d: list(d.keys()), d)
        row("aten::values.str", lambda d: list(d.values()), d)
        row("aten::items.str", lambda d: list(d.items()), d)
        row("aten::popitem.str", first_item, d)
        row("aten::clear.str", changed(dict.clear), d)
        row("aten::copy.Dict_str", dict, d)
        row("aten::update.str", changed(dict.update), d, {"b": 9, "z": 8})
        for key in ["a", "z"]:
            row("aten::__getitem__.Dict_str", lambda d, k: d[k], d, key)
            row("aten::__contains__.str", dict.__contains__, d, key)
            row("aten::_set_item.str", changed(dict.__setitem__), d, key, 5)
            row("aten::Delete.Dict_str", changed(dict.__delitem__), d, key)
            row("aten::get.str", dict.get, d, key)
            row("aten::get.default_str", dict.get, d, key, 0)
            row("aten::setdefault.str", dict.setdefault, d, key, 4)
            row("aten::pop.Dict_str", dict.pop, d, key)
            row("aten::pop.Dict_default_str", dict.pop, d, key, 6)
    row("aten::dict.int", dict, [(1, "a"), (2, "b"), (1, "c")])


arithmetic()
math_functions()
strings()
lists()
dicts()
