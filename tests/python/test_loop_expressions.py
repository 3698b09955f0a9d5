"""Expressions over tuples, lists, dicts, generators, lambdas and small arrays of numbers in native loops."""

import sys

import numpy as np
import pytest
import weft
from loop_expressions import check_expression, is_native, loop_of, told
from support.compare import assert_same, check, check_loop

VALUES = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -3.25, 0.1, 7.0, 1e-3, -123.456, float("nan"), float("inf")]

# Of two floats and the round's number.
LANGUAGE = """a + b;a - b;a * b;a / b;a // b;a % b;a ** 2;-a;+a;abs(a - b);a < b;0 < a < b;a == b != 1.0;a and b;a or b;not a;
a if a > b else b;a is None;(c := a * b) + c;float(i);int(a);bool(a);complex(a, b).real;abs(complex(a, b));divmod(a, 1.5)[0];
i << 2;i >> 1;i & 3 | 4;i ^ 5;~i;-i % 3;i // 2;i ** 2;min(a, b);max(a, b, 0.5);
(a, b)[i % 2];[a, b][i & 1];[a, b, 1.5][-1];[a, b][0];(a, b, 2.0)[i % 3];{0: a, 1: b}[i % 2];{0: a, 1: b, 2: 0.5}.get(i % 4, -1.0);
{1: a, -1: b}[1];len((a, b));len([a, b]);i in {1, 2, 3};i not in (1, 3);a in [0.5, 1.5];a not in {0.5, 2.5};
sum((a, b));sum([a, b, 1.0]);sum(v for v in (a, b));sum(v * v for v in [a, b]);sum([v * v for v in (a, b)]);sum((a, b), 1.0);
sum(k * a for k in range(3));sum(x[j] for j in range(2));sum(v for v in (a, b) if v > 0);sum(j * v for j, v in enumerate((a, b)));
sum(v * w for v, w in zip((a, b), (1.0, 2.0)));sum(1 for v in (a, b) if v > 0);sum(v > 0 for v in (a, b));
any(v > 0 for v in (a, b));all(v > 0 for v in (a, b));any([a > 0, b > 0]);any(v == a for v in x);max(v * v for v in (a, b));
min(abs(v) for v in (a, b, 1.0));max(a, b, key=abs);min((a, b), key=lambda v: v * v);max([a, b, 0.5]);max([v + i for v in (a, b)]);
sorted((a, b))[0];sorted([a, b, 0.5])[1];sorted((a, b), reverse=True)[0];(lambda v: v * 2)(a);(lambda v, w: v + w)(a, b);(lambda: a)();
list(v + 1 for v in (a, b))[0];[v + a for v in (1.0, 2.0)][1];functools.reduce(lambda v, w: v * w, (a, b, 2.0));
functools.reduce(operator.add, (a, b), 1.0);sum(map(abs, (a, b)));sum(map(lambda v: v + 1, (a, b)));sum(filter(lambda v: v > 0, (a, b)));
math.prod(v for v in (a, b));math.prod([a, b]);max(itertools.accumulate((a, b)));operator.add(a, b);operator.mul(a, b);
operator.lt(a, b);operator.neg(a)""".replace("\n", "").split(";")
MATH = """math.sqrt(a);math.exp(a);math.log(a);math.sin(a);math.atan2(a, b);math.hypot(a, b);math.pow(a, b);math.floor(a);math.ceil(a);
math.isfinite(a);math.copysign(a, b);math.gamma(a);math.lgamma(a);math.dist((a, b), (0.0, 1.0));math.gcd(i, 12, 18);math.lcm(i, 4, 6);
math.pi * a;math.ulp(a);math.fabs(a)""".replace("\n", "").split(";")
NUMPY = """np.where(a > 0, a, 0.0);np.where(a > b, a, b);np.where(i > 0, i, 2);np.where(a > b, a, 0) + 1;float(np.where(a > b, a, b));
-np.where(a > b, a, b);np.sqrt(np.where(a > 0, a, 0));np.interp(a, [0.0, 1.0, 2.0], [1.0, 3.0, 2.0]);
np.interp(a, (-1.0, 0.0, 0.5, 2.0, 3.0), (1.0, 3.0, 2.0, 0.0, 1.0));np.cumsum([a, b, 1.0])[-1];np.cumprod((a, b))[1];np.sort([a, b, 0.5])[1];
np.median([a, b, 0.5]);np.median([a, b]);np.mean([a, b, 1.0]);np.mean((a, b));np.sum([a, b, 1.0]);np.sum((a, b));np.prod([a, b]);
np.max([a, b]);np.min((a, b, 0.0));np.argmax([a, b]);np.argmin([a, b, 0.0]);np.ptp([a, b]);np.any([a, b]);np.all((a, b));
np.cross([a, b, 1.0], [1.0, 2.0, 3.0])[2];np.diff([a, b, 1.0])[0];
np.isclose(a, b);np.allclose(a, b);np.nan_to_num(a);np.polyval([1.0, 2.0, 3.0], a);np.digitize(a, [0.0, 1.0, 2.0]);np.average([a, b]);
np.count_nonzero([a, b]);np.searchsorted([0.0, 1.0, 2.0], a);np.float64(a);np.float32(a);np.int64(i);np.abs(a);
np.minimum(np.maximum(a, 0), 1);np.pi * a;np.array([a, b])[1];np.std([a, b, 1.0]);np.var((a, b))""".replace(
    "\n", ""
).split(";")
# The results of BLAS and LAPACK differ in their last bits from one build of these to another.
ROUNDED = [
    "np.dot([a, b], [b, a])",
    "np.inner((a, b, 1.0), (1.0, 2.0, a))",
    "np.linalg.norm([a, b])",
    "np.linalg.det([[a, b], [b, 2.0]])",
    "np.linalg.det(np.array([[a, b, 1.0], [b, 2.0, a], [0.5, 1.0, b]]))",
]
# Python performs these, and why.
PERFORMED_BY_PYTHON = {
    "str(a)": "text",
    "f'{a:.2f}'": "text",
    "a.hex()": "text",
    "hash(a)": "a hash is Python's own",
    "a.as_integer_ratio()": "ints of any size",
    "math.fsum((a, b, 1.0))": "sums that are rounded once",
    "{'x': a}['x']": "keys that are no ints",
    "np.linalg.solve([[2.0, a], [1.0, 3.0]], [1.0, b])[0]": "LAPACK's own",
}
# From 3.12 on sum() makes up for the rounding of floats: Python performs it.
if sys.version_info >= (3, 12):
    for one in [
        text for text in LANGUAGE if "sum(" in text and "sum(1" not in text and "> 0 for" not in text
    ]:
        LANGUAGE.remove(one)


@pytest.mark.parametrize("text", LANGUAGE + MATH + NUMPY)
def test_expressions_of_two_floats(text):
    # Which of two zeros comes first is for NumPy's kernels for the processor to choose, and for weft's graphs.
    one_zero = any(name in text for name in ("np.sort(", "np.median(", "np.min(", "np.max(", "np.ptp("))
    check_expression(text, [v for v in VALUES if not (one_zero and str(v) == "-0.0")], two=True)


@pytest.mark.parametrize("text", ROUNDED)
def test_expressions_that_are_rounded_differently(text):
    check_expression(text, [1.0, -1.5, 0.25, 3.0, -0.75], two=True, rtol=1e-12)


@pytest.mark.parametrize("text", PERFORMED_BY_PYTHON)
def test_what_python_performs(text):
    program, x, y = loop_of(text), [0.5, 1.5, -2.0] * 20, [1.0, 2.0, 0.25] * 20
    expected, actual = [], []
    theirs, mine = told(program, x, y, expected), told(weft.compile(program), x, y, actual)
    assert_same(actual, expected)
    assert_same(mine[0], theirs[0])
    assert not is_native(program, x, y, [])


def test_interpolation_in_a_table():
    def program(x, positions, values, out):
        for i in range(len(x)):
            out[i] = np.interp(x[i], positions, values)
        return out

    rng = np.random.default_rng(0)
    for size in (2, 3, 4, 5, 9, 10, 11, 12, 40):
        positions, values = np.sort(rng.normal(size=size)), rng.normal(size=size)
        x = np.concatenate((rng.normal(size=60), positions, [np.nan, np.inf, -np.inf]))
        check_loop(program, (x, positions, values, np.zeros(len(x))))
        # NumPy takes positions that do not rise, too.
        check(program, (x, rng.permutation(positions), values, np.zeros(len(x))))


def test_functions_of_small_arrays():
    def program(rows, out):
        for i in range(len(rows)):
            row = rows[i]
            out[i, 0] = np.median(row)
            out[i, 1] = np.sort(row)[1]
            out[i, 2] = np.cumsum(row)[-1]
            out[i, 3] = sum(row) + max(row) + sorted(row)[0]
            out[i, 4] = any(v > 2 for v in row) + all(v > -2 for v in row)
        return out

    rows = np.random.default_rng(1).normal(size=(60, 5))
    check_loop(program, (rows, np.zeros((60, 5))))
    rows[40, 2] = np.nan
    check(program, (rows, np.zeros((60, 5))))


ONE_OBJECT = np.float64(1.5)


@pytest.mark.parametrize("name", ["ONE_OBJECT", "np.True_", "np.pi", "int"])
def test_identity_of_numbers(name):
    """One that is handed in may be the very object that the program names."""
    scope = {"np": np, "ONE_OBJECT": ONE_OBJECT}
    lines = [
        "def program(numbers, value, out):",
        "    for i in range(len(numbers)):",
        f"        out[i] = value is {name}",
    ]
    exec(compile("\n".join([*lines, "    return out"]), "<loop>", "exec"), scope)
    program, numbers, same = scope["program"], np.zeros(60), eval(name, scope)
    compiled = weft.compile(program)
    for value in (type(same)(0), type(same)(1), same, same):
        assert_same(compiled(numbers, value, np.zeros(60)), program(numbers, value, np.zeros(60)))


def test_nan_to_num_of_ints():
    """They stay ints."""

    def program(numbers, out):
        for i in range(len(numbers)):
            out[i] = np.nan_to_num(i) + 2**53
        return out

    check(program, (np.zeros(60), np.zeros(60, np.int64)))


def test_determinants():
    def program(matrices, out):
        for i in range(len(matrices)):
            out[i] = np.linalg.det(matrices[i])
        return out

    matrices = np.random.default_rng(2).normal(size=(50, 3, 3))
    check_loop(program, (matrices, np.zeros(50)), rtol=1e-11)
    matrices[30] = 0
    check(program, (matrices, np.zeros(50)), rtol=1e-11)


def test_an_error_in_the_middle_of_a_generator():
    def program(x, out):
        total = 0.0
        for i in range(len(x)):
            total += sum(1.0 / v for v in (1.0, x[i], 2.0))
            out.append(total)
        return total

    good, bad = [1.0, 2.0, 4.0] * 20, [1.0, 2.0, 4.0] * 20 + [0.0, 3.0]
    check(program, (good, []), (bad, []))


def test_ints_that_leave_64_bits_in_a_generator():
    def program(n):
        total = 0
        for i in range(n):
            total += sum(i**k for k in (1, 2, 13)) - max(v * i for v in (3, -(2**60)))
        return total

    check(program, (10,), (60,))


def test_effects_of_what_a_call_runs_happen_once():
    def program(x, seen, cells):
        def key(value):
            seen.append(value)
            return -value

        total = 0.0
        for i in range(len(x)):
            total += max((x[i], 1.5), key=key)
            total += sum(cells.__setitem__(0, cells[0] + v) or v for v in (1.0, 2.0))
        return total, len(seen), cells

    check(program, ([1.0, 2.0, 3.0] * 20, [], [0.0]))


def test_updates_of_closure_variables_within_a_call():
    def program(x):
        count = 0

        def test(value):
            nonlocal count
            count += 1
            return value > 1

        found = 0
        for i in range(len(x)):
            found += any(test(v) for v in (x[i], 0.5, 2.0))
        return found, count

    check(program, ([1.0, 2.0, 0.25] * 20,))


def test_functions_in_variables():
    def program(x):
        total = 0.0
        for i in range(len(x)):
            scale = x[i]
            f = lambda v: v * scale  # noqa: E731, B023
            total += f(2.0) - f(total / 100)
            scale = 3.0
            total += f(1.0)
        return total, f(2.0)

    check(program, ([1.0, 2.0, 0.25] * 20,), (np.linspace(0, 1, 40),))


def test_the_last_function_of_a_loop_is_the_one_that_is_kept():
    def program(x, kept):
        for i in range(len(x)):
            f = lambda: i  # noqa: E731, B023
            g = f
            kept.append(f is g)
        return f is g, f(), kept

    check(program, ([1.0, 2.0, 0.25] * 20, []))


def test_comprehensions():
    def program(x):
        total = 0.0
        for i in range(1, len(x)):
            row = [v * x[i] for v in (1.0, 2.0, 3.0) if v != x[i - 1]]
            total += row[-1] + len(row)
            total -= sum([j * k for j in range(3) for k in range(2)])
        return total, row

    check_loop(program, ([1.0, 2.0, 0.25] * 20,))


def neighbours(x, i):
    for step in (-1, 1):
        if 0 <= i + step < len(x):
            yield x[i + step]


def test_a_generator_of_the_programs():
    def program(x):
        total = 0.0
        for i in range(len(x)):
            total += max(neighbours(x, i)) - min(neighbours(x, i))
        return total

    check_loop(program, (np.random.default_rng(3).normal(size=60),))


def test_arrays_of_one_number():
    def program(x, out, kept):
        last = 0.0
        for i in range(len(x)):
            last = np.where(x[i] > 0.5, x[i], 0.5)
            out[i] = last * 2 - 1
            if last > 0.9:
                kept.append(last)
        return last, out, kept

    check_loop(program, (np.linspace(0, 1, 50), np.zeros(50), []))


def test_an_array_of_one_number_that_is_updated():
    def program(x):
        for i in range(len(x)):
            last = np.where(x[i] > 0.5, x[i], 0.5)
            other = last
            last += 1
        return last, other, last is other

    check(program, (np.linspace(0, 1, 50),))


def test_dicts_of_ints():
    def program(keys, x):
        total = 0.0
        for i in range(len(keys)):
            total += {0: x[i], 1: 2.0 * x[i], 1: 3.0 * x[i]}[keys[i]]  # noqa: F601
            total -= {3: 1.0, -4: 2.0}.get(keys[i], 0.25)
        return total

    x = np.linspace(0, 1, 50)
    check_loop(program, ([0, 1] * 25, x), (np.arange(50) % 2, x))
    check(program, ([0, 1] * 24 + [2, 0], x), ([0, -1] * 25, x))


def of_rest(first, *rest, scale=2.0):
    for value in rest:
        first = first + value * scale
    return first


def test_parameters_of_functions():
    def program(x):
        total = 0.0
        for i in range(len(x)):
            total += of_rest(x[i]) - of_rest(1.0, x[i], 2.0) * of_rest(0.5, x[i], scale=x[i])
        return total

    call = ([1.0, 2.0, 0.25] * 20,)
    compiled = check_loop(program, call)
    of_rest.__kwdefaults__["scale"] = 3.0
    check(program, call, compiled=compiled)
    of_rest.__kwdefaults__["scale"] = 2.0
