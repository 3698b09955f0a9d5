"""weft.jit.script of functions and classes: what they compute, what names mean, and what errors say."""

import enum
import io
import math
import math as mathematics
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

import numpy as np
import pytest
import weft
from support.compare import assert_same
from weft import Tensor, relu
from weft.jit import Future

SCALE = 3
SHAPE = (2, 3)
LETTERS = ["a", "b"]


def x23():
    return weft.tensor(np.arange(6, dtype=np.float32).reshape(2, 3) - 2)


def check_script(function, *arguments):
    """The compiled function, and what an archive of it gives, are the function."""
    compiled = weft.jit.script(function)
    expected = function(*arguments)
    assert_same(compiled(*arguments), expected)
    loaded = weft.jit.load(io.BytesIO(compiled.save_to_buffer()))
    assert_same(loaded(*arguments), expected)
    return compiled


# ---- functions -------------------------------------------------------------------------------------------------


def test_arithmetic_and_operators():
    def f(x, y):
        z = weft.matmul(x, y.t()) + relu(x).sum() * SCALE
        return weft.softmax(z, dim=1), z.mean(), -z[0], z[:, 1:], mathematics.sqrt(2.0) + math.pi

    check_script(f, x23(), x23() + 1)


def test_control_flow():
    def f(x, n: int):
        total = weft.zeros([2, 3])
        kept: List[int] = []
        for i in range(n):
            if i % 2 == 0:
                continue
            if i > 6:
                break
            total = total + x * i
            kept.append(i)
        while len(kept) < 6:
            kept.append(-1)
        if n > 100:
            return total, kept[:1]
        return total, kept

    for n in (0, 3, 20, 101):
        check_script(f, x23(), n)


def test_containers_and_strings():
    def f(words: List[str], table: Dict[str, int]):
        lengths = {word: len(word) for word in words}
        for key, value in table.items():
            lengths[key] = value
        first, *rest = "x", "y", "z"
        text = ",".join(sorted(words)) + f"{len(rest)}" + "{}-{}".format(first, 1)
        return lengths, [w.upper() for w in words if w != "b"], text, ("a" in table, words[-1])

    check_script(f, ["b", "ab", "c"], {"a": 5, "z": 7})


def test_what_has_a_length_is_a_condition():
    def f(word: str, words: List[str], table: Dict[str, int]):
        while words and not word:
            words.pop()
        return bool(word), bool(words), 1 if table else 2

    check_script(f, "", ["a", "b"], {"a": 5})
    check_script(f, "b", ["a", "b"], {})


def test_type_comments():
    def f(x, n, names):
        # type: (Tensor, int, Optional[List[str]]) -> Tuple[Tensor, int]
        count = 0  # type: int
        if names is not None:
            count = len(names)
        return x * n, count

    check_script(f, x23(), 2, ["a"])
    check_script(f, x23(), 2, None)


def test_unions_and_optionals():
    def f(x: Union[int, str, List[int]], y: int | None = None, z: Optional[Tensor] = None) -> str:
        if isinstance(x, int):
            return str(x + 1)
        if weft.jit.isinstance(x, List[int]):
            return "list" + str(len(x))
        assert isinstance(x, str)
        if y is None:
            return x
        return x * y if z is None else x + str(z.dim())

    compiled = weft.jit.script(f)
    for arguments in ((1,), ("a",), ("ab", 2), ([1, 2],), ("a", 1, x23())):
        assert compiled(*arguments) == f(*arguments)


def test_defaults_are_pythons_values():
    def f(
        x,
        size: List[int] = [2, 3],
        scale: float = SCALE * 2,
        dtype: weft.dtype = weft.float64,
        name: Optional[str] = None,
    ):
        return (x * scale).to(dtype).reshape(size), name

    check_script(f, x23())


def test_any_and_annotate():
    def f(x: Any) -> int:
        if isinstance(x, Tensor):
            return x.dim()
        values = weft.jit.annotate(List[Optional[int]], [])
        values.append(None)
        return len(values)

    check_script(f, x23())
    check_script(f, "text")


def helper(x, k: int = 2):
    return x * k


def calls_itself(n: int) -> int:
    return 1 if n <= 1 else n * calls_itself(n - 1)


def test_functions_called_are_compiled_too():
    bias = 4

    def closure(x):
        return helper(x) + helper(x, k=3) + bias

    def f(x):
        return closure(x) * calls_itself(5)

    compiled = check_script(f, x23())
    assert "calls_itself" in compiled.code
    assert "aten::mul" in compiled.inlined_graph


def test_constants_of_the_module_around():
    def f(x):
        return x.reshape(SHAPE[0] * SHAPE[1]), SHAPE, weft.float32 == x.dtype

    compiled = weft.jit.script(f)
    assert compiled(x23())[1] == SHAPE and compiled(x23())[2] is True

    def uses_list(x):
        return LETTERS[0]

    with pytest.raises(weft.jit.Error, match="'LETTERS' is a Python value of type list"):
        weft.jit.script(uses_list)


def test_is_scripting():
    def f(x):
        if weft.jit.is_scripting():
            return 1
        else:
            import os

            return os.getpid()

    assert weft.jit.script(f)(x23()) == 1
    assert not weft.jit.is_scripting() and not weft.jit.is_tracing()


def test_fork_in_scripts():
    def work(x, n: int):
        for _ in range(n):
            x = x.sin()
        return x

    def f(x):
        futures: List[Future[Tensor]] = []
        for i in range(4):
            futures.append(weft.jit.fork(work, x, i))
        results = [weft.jit.wait(future) for future in futures]
        return weft.stack(results)

    check_script(f, x23())


def test_decorator_and_properties():
    @weft.jit.script
    def f(x, n: int = 2):
        """Doubles."""
        return x * n

    assert f.name == "f" and f.__doc__ == "Doubles."
    assert f.schema == "f(Tensor x, int n=2) -> Tensor"
    assert "torch.mul" in f.code and "aten::mul" in f.graph
    assert weft.jit.script(f) is f
    assert_same(f(x23(), n=3), x23() * 3)
    with pytest.raises(TypeError, match=r"f\(\): argument 'n': expected int, got str"):
        f(x23(), "a")


def test_script_if_tracing():
    @weft.jit.script_if_tracing
    def clipped(x):
        if x.sum() > 0:
            return x
        return -x

    def f(x):
        return clipped(x) + 1

    assert_same(clipped(x23()), x23())
    check_script(f, x23())


@weft.jit._overload
def twice(x: int) -> int: ...


@weft.jit._overload
def twice(x: str) -> str: ...


@weft.jit._overload
def twice(x: Tensor) -> Tensor: ...


def twice(x):
    if isinstance(x, str):
        return x + x
    return x * 2


def test_overloads():
    def f(x):
        return twice(x), twice(3), twice("ab")

    check_script(f, x23())
    scripted = weft.jit.script(twice)
    assert scripted(4) == 8 and scripted("a") == "aa"
    with pytest.raises(TypeError, match="no overload fits"):
        scripted([1])


# ---- Python from scripts ---------------------------------------------------------------------------------------


@weft.jit.ignore
def in_python(x, n: int) -> List[int]:
    return [n, len(sorted({"a", "b"})), int(x.sum())]


@weft.jit.unused
def not_here(x) -> int:
    return open(x)


def test_ignored_functions_are_pythons():
    def f(x):
        return in_python(x, 4)

    compiled = weft.jit.script(f)
    assert compiled(weft.ones((2, 3))) == [4, 2, 6]
    assert "in_python" in compiled.code
    with pytest.raises(ValueError, match=r"'in_python'.*weft\.jit\.ignore"):
        compiled.save_to_buffer()

    @weft.jit.ignore
    def fails(x) -> int:
        raise KeyError("mine")

    @weft.jit.ignore
    def wrong(x) -> int:
        return "text"

    with pytest.raises(KeyError, match="mine"):
        weft.jit.script(lambda_free(fails))(x23())
    with pytest.raises(TypeError, match="the result of the Python function 'wrong': expected int, got str"):
        weft.jit.script(lambda_free(wrong))(x23())


def lambda_free(function):
    def f(x):
        return function(x)

    return f


def test_unused_functions_raise():
    def f(x, n: int) -> int:
        return not_here(x) if n > 0 else n

    compiled = weft.jit.script(f)
    assert compiled(x23(), 0) == 0
    loaded = weft.jit.load(io.BytesIO(compiled.save_to_buffer()))
    for function in (compiled, loaded):
        with pytest.raises(weft.jit.Error, match="'not_here' is marked @weft.jit.unused"):
            function(x23(), 1)


# ---- classes ---------------------------------------------------------------------------------------------------


class Point(NamedTuple):
    x: int
    y: Tensor
    label: str = "none"


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Counter:
    step: int

    def __init__(self, start: int, step: int = 1):
        self.count = start
        self.step = step
        self.seen: List[int] = []

    def add(self) -> "Counter":
        self.count += self.step
        self.seen.append(self.count)
        return self

    @property
    def doubled(self) -> int:
        return self.count * 2

    @staticmethod
    def zero() -> int:
        return 0

    def __len__(self) -> int:
        return len(self.seen)

    @weft.jit.ignore
    def describe(self):
        return {1, 2}


@weft.jit.interface
class Shaped:
    def area(self) -> float:
        pass


class Square:
    def __init__(self, side: float):
        self.side = side

    def area(self) -> float:
        return self.side * self.side


def test_named_tuples():
    def f(p: Point, n: int) -> Tuple[Point, int]:
        q = Point(p.x + n, p.y * 2, label="new")
        return Point(q.x, q.y), q[0]

    result, first = weft.jit.script(f)(Point(1, x23()), 5)
    assert type(result) is Point and result.x == first == 6 and result.label == "none"


def test_enums():
    def f(c: Color, x) -> Tuple[Color, int, str]:
        if c == Color.RED:
            return Color.BLUE, c.value, c.name
        return c, sum([each.value for each in Color]), ""

    compiled = weft.jit.script(f)
    assert compiled(Color.RED, x23()) == (Color.BLUE, 1, "RED")
    assert compiled(Color.BLUE, x23()) == (Color.BLUE, 3, "")


def test_users_classes():
    def f(n: int) -> Tuple[int, int, List[int], int]:
        c = Counter(n, step=2)
        for _ in range(3):
            c.add()
        return c.count, c.doubled, c.seen, len(c) + Counter.zero()

    check_script(f, 5)
    assert weft.jit.script(Counter) is Counter

    def g(c: Counter) -> Counter:
        c.add()
        return c

    result = weft.jit.script(g)(Counter(1))
    assert result.count == 2 and result.seen == [2] and result.doubled == 4 and len(result) == 1
    assert result.add().count == 3


def test_interfaces():
    def f(s: Shaped) -> float:
        return s.area() * 2

    def g(side: float) -> float:
        return f(Square(side))

    check_script(g, 3.0)


# ---- errors ----------------------------------------------------------------------------------------------------


def error_of(function, kind=weft.jit.Error):
    with pytest.raises(kind) as caught:
        weft.jit.script(function)
    assert isinstance(caught.value, weft.jit.Error)
    return caught.value


def line_of(function, offset):
    return function.__code__.co_firstlineno + offset


def test_errors_point_at_the_source():
    def f(x):
        y = x + 1
        return y.missing_method(3)

    error = error_of(f, TypeError)
    lines = str(error).split("\n")
    assert lines[0] == "a value of type Tensor has no attribute 'missing_method'"
    assert lines[1] == f"  {__file__}:{line_of(f, 2)}:16"
    assert lines[2].strip() == "return y.missing_method(3)"
    assert lines[3].index("~") == lines[2].index("y.missing")


def test_errors_of_syntax_and_types():
    def uses_lambda(x):
        g = lambda y: y  # noqa: E731
        return g(x)

    def unknown_name(x):
        return missing_name(x)  # noqa: F821

    def unknown_member(x):
        return weft.missing_operator(x)

    def wrong_return(x) -> int:
        return "a"

    def wrong_argument(x):
        return weft.relu(x, 3, 4)

    def merged(n: int):
        if n > 1:
            y = 1
        else:
            y = "a"
        return y

    def variadic(*args):
        return args

    def numpy_call(x):
        return np.abs(x)

    for function, message in (
        (uses_lambda, "lambda"),
        (unknown_name, "undefined name 'missing_name'"),
        (unknown_member, "module 'weft' has no attribute 'missing_operator'"),
        (wrong_return, "declared to return int but returns str"),
        (wrong_argument, "takes 1 positional argument"),
        (merged, "'y'"),
        (variadic, "fixed number of parameters"),
        (numpy_call, "numpy.abs"),
    ):
        text = str(error_of(function))
        assert message in text and f"{__file__}:" in text, text


def test_errors_in_what_is_called():
    def inner(x):
        return x.nothing

    def outer(x):
        return inner(x)

    error = error_of(outer)
    assert "return x.nothing" in str(error)
    # The next attempt compiles it anew.
    assert "return x.nothing" in str(error_of(outer))


def test_what_cannot_be_scripted():
    with pytest.raises(weft.jit.Error, match="give it a name with def"):
        weft.jit.script(lambda x: x)
    with pytest.raises(TypeError, match="script an object of it"):
        weft.jit.script(weft.nn.Linear)
    with pytest.raises(TypeError, match="expected a function, a class or a weft.nn.Module"):
        weft.jit.script(3)
    with pytest.raises(TypeError, match="is a method"):
        weft.jit.script(Counter(1).add)
    namespace = {}
    exec(compile("def made(x):\n    return x", "<made>", "exec"), namespace)
    with pytest.raises(weft.jit.Error, match="source of function 'made' is not there"):
        weft.jit.script(namespace["made"])


def test_runtime_errors_have_the_scripts_stack():
    def fails(x, i: int):
        values = [1, 2]
        return values[i]

    def f(x, i: int):
        if i < 0:
            raise ValueError("negative")
        return fails(x, i)

    compiled = weft.jit.script(f)
    with pytest.raises(IndexError) as caught:
        compiled(x23(), 5)
    assert isinstance(caught.value, weft.jit.Error)
    assert f"line {line_of(fails, 2)}, in fails" in str(caught.value)
    with pytest.raises(weft.jit.Error, match="negative"):
        compiled(x23(), -1)


def test_results_in_the_place_of_operands():
    """The interpreter writes over what nobody else has: views, lists and the caller's tensors keep their elements."""

    @weft.jit.script
    def function(x: weft.Tensor) -> Tuple[weft.Tensor, weft.Tensor, weft.Tensor, weft.Tensor, weft.Tensor]:
        a = x + 1
        view = a.view(-1)
        kept = [a * 3]
        b = a * 2
        above = (b - 1) > 5
        turned = (x + 0.5).t() * 2
        expanded = (x[:, :1] + 1).expand(2, 3) - 1
        return view, kept[0] - 1, above, turned, expanded

    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    given = weft.tensor(x)
    results = [result.numpy() for result in function(given)]
    expected = [
        (x + 1).reshape(-1),
        (x + 1) * 3 - 1,
        (x + 1) * 2 - 1 > 5,
        (x + 0.5).T * 2,
        np.broadcast_to(x[:, :1], (2, 3)),
    ]
    for result, wanted in zip(results, expected):
        assert result.dtype == wanted.dtype
        np.testing.assert_array_equal(result, wanted)
    np.testing.assert_array_equal(given.numpy(), x)
