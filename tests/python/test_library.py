"""weft.library: operators of a program's own, eagerly, compiled, in scripts, in archives, in profiles, and what is wrong."""

from typing import List, Optional, Sequence, Tuple, Union

import numpy
import pytest
import weft
from support.compare import assert_same
from weft.library import (
    OpCheckError,
    custom_op,
    define,
    infer_schema,
    opcheck,
    register_fake,
    register_kernel,
)


@custom_op("test_library::scaled")
def scaled(x: weft.Tensor, factor: float = 2.0) -> weft.Tensor:
    return weft.from_numpy(numpy.asarray(x.numpy() * numpy.float32(factor)))


@scaled.register_fake
def _(x, factor=2.0):
    return weft.empty_like(x)


@custom_op("test_library::shifted", mutates_args=("out",))
def shifted(x: weft.Tensor, out: weft.Tensor, *, by: int = 1) -> None:
    out.copy_(x + by)


@shifted.register_fake
def _(x, out, *, by=1):
    pass


@custom_op("test_library::halves")
def halves(xs: Sequence[weft.Tensor], at: int, word: str = "a, b)") -> Tuple[weft.Tensor, weft.Tensor]:
    x = weft.cat(list(xs))
    print(end="")  # no part of a graph
    return x[:at] * 1, x[at:] * 1


@halves.register_fake
def _(xs, at, word="a, b)"):
    x = weft.cat(list(xs))
    return weft.empty_like(x[:at]), weft.empty_like(x[at:])


X = weft.arange(5.0)


def test_calls():
    assert_same(scaled(X), X * 2)
    assert_same(scaled(X, factor=3.0), X * 3)
    assert_same(weft.ops.test_library.scaled(X, 0.5), X * 0.5)
    out = weft.zeros(5)
    assert shifted(X, out, by=4) is None
    assert_same(out, X + 4)
    first, second = halves([X, X], 7)
    assert_same(first, weft.cat([X, X])[:7])
    assert_same(second, X[2:])
    assert scaled(weft.empty(0)).numel() == 0


def test_schemas_of_annotations():
    """What PyTorch 2.15's infer_schema gives for the same functions."""
    T = weft.Tensor

    def a(x: T, n: int = 3, *, s: float = 0.5, f: bool = True, w: str = "hi") -> T: ...
    def b(x: Optional[T], xs: List[T], ys: Sequence[int], z: Sequence[Optional[T]]) -> Tuple[T, T]: ...
    def c(
        x: T, d: weft.dtype = None, v: Optional[weft.device] = None, q: Union[int, float, bool] = 1
    ) -> None: ...
    def d(x: T, n: Optional[int] = None, m: Optional[Sequence[float]] = None) -> List[T]: ...
    def e(x: T, y: T) -> int: ...
    def g(x: T, k: list[T], y: Optional[T] = None) -> tuple[T, list[T]]: ...

    for function, written, expected in (
        (a, (), '(Tensor x, SymInt n=3, *, float s=0.5, bool f=True, str w="hi") -> Tensor'),
        (b, (), "(Tensor? x, Tensor[] xs, SymInt[] ys, Tensor?[] z) -> (Tensor, Tensor)"),
        (c, ("x",), "(Tensor(a0!) x, ScalarType d=None, Device? v=None, Scalar q=1) -> ()"),
        (d, (), "(Tensor x, SymInt? n=None, float[]? m=None) -> Tensor[]"),
        (e, ("y",), "(Tensor x, Tensor(a1!) y) -> SymInt"),
        (e, "unknown", "(Tensor(a0!) x, Tensor(a1!) y) -> SymInt"),
        (g, "unknown", "(Tensor(a0!) x, Tensor(a1!)[] k, Tensor(a2!)? y=None) -> (Tensor, Tensor[])"),
        (b, ("x",), "(Tensor(a0!)? x, Tensor[] xs, SymInt[] ys, Tensor?[] z) -> (Tensor, Tensor)"),
    ):
        assert infer_schema(function, mutates_args=written) == expected


def test_annotations_that_give_no_schema():
    def no_type(x) -> weft.Tensor: ...
    def no_result(x: weft.Tensor): ...
    def many(*x: weft.Tensor) -> weft.Tensor: ...
    def other(x: dict) -> weft.Tensor: ...
    def returns(x: weft.Tensor) -> dict: ...

    for function, written, message in (
        (no_type, (), "parameter x needs a type annotation"),
        (no_result, (), "the result needs"),
        (many, (), r"\*args"),
        (other, (), "parameter x: .* no type"),
        (returns, (), "the result .* no type"),
        (no_result, ("y",), "no parameter 'y'"),
        (no_result, "x", "sequence of names"),
    ):
        with pytest.raises(ValueError, match=message):
            infer_schema(function, mutates_args=written)


@pytest.mark.parametrize(
    "schema, column, what",
    [
        ("(Tensor x -> Tensor", 28, "expected ','"),
        ("(tensor x) -> Tensor", 19, "'tensor' is no type"),
        ("Tensor x", 9, r"expected '\('"),
        ("(Tensor x, int n=q) -> Tensor", 36, "expected a value, got 'q'"),
        ("(Tensor x) -> Tensor named trailing", 45, "expected the end"),
        ("(Tensor x) -> (Tensor, ", 41, "expected a name"),
        ("(", 19, "expected a name"),
        ("(Tensor ..", 26, "expected a name"),
        ("(int[99999999999999999999] x) -> Tensor", 43, "expected a length"),
        ("(Tensor x, Tensor x) -> Tensor", 36, "two parameters are named 'x'"),
        ("other(Tensor x) -> Tensor", 1, "got 'other'"),
    ],
)
def test_schemas_that_cannot_be_read(schema, column, what):
    with pytest.raises(ValueError, match=f"column {column}: .*{what}"):
        define("test_library::bad", schema)


@pytest.mark.parametrize("name", ["", "scaled", "::f", "a::", "a b::c", 3])
def test_names_that_are_none(name):
    with pytest.raises(ValueError, match="namespace::name"):
        custom_op(name)


def test_wrong_calls():
    for call, message in (
        (lambda: scaled(3), "argument 'x': expected Tensor, got int"),
        (lambda: scaled(), "'x' is missing"),
        (lambda: scaled(X, 1.0, 2.0), "takes 2 arguments by position, 3"),
        (lambda: scaled(X, x=X), "given twice"),
        (lambda: scaled(X, other=1), "no argument 'other'"),
        (lambda: scaled(X, "a"), "argument 'factor': expected float, got str"),
        (lambda: shifted(X, X, 1), "takes 2 arguments by position"),
        (lambda: halves(X, 1), r"argument 'xs': expected Tensor\[\], got"),
    ):
        with pytest.raises(TypeError, match=message):
            call()


def test_kernels_by_device():
    define("test_library::kernels", "(Tensor x, int n=2) -> Tensor")
    operator = weft.ops.test_library.kernels
    with pytest.raises(NotImplementedError, match="no kernel for the device 'cpu'"):
        operator(X)
    register_kernel("test_library::kernels", "cpu", lambda x, n: x * n)
    assert_same(operator(X), X * 2)
    with pytest.raises(NotImplementedError, match="no fake function"):
        operator(X.to("meta"))
    register_fake("test_library::kernels", lambda x, n: weft.empty_like(x))
    assert list(operator(X.to("meta")).shape) == [5]
    assert define("test_library::kernels", "(Tensor x, int n=2) -> Tensor") is operator
    with pytest.raises(ValueError, match="another schema"):
        define("test_library::kernels", "(Tensor x) -> Tensor")
    with pytest.raises(ValueError, match="no operator"):
        register_kernel("test_library::nothing", "cpu", lambda x: x)
    with pytest.raises(AttributeError, match="test_library::nothing"):
        weft.ops.test_library.nothing
    with pytest.raises(AttributeError, match="no namespace"):
        weft.ops.no_such_namespace


@pytest.mark.parametrize("dynamic", [None, True, False])
def test_compiled(dynamic):
    def function(x, xs):
        out = weft.zeros(5)
        shifted(x * 2, out, by=3)
        first, second = halves([out, x], 4)
        return scaled(first + 1) * 2, second, out

    compiled = weft.compile(function, fullgraph=True, dynamic=dynamic)
    for scale in (1.0, 2.0, 3.0):
        for found, expected in zip(compiled(X * scale, [X]), function(X * scale, [X])):
            assert_same(found, expected)


def test_kernels_that_are_entered_fuse():
    @custom_op("test_library::fused")
    def fused(x: weft.Tensor) -> weft.Tensor:
        return weft.exp(x) + 1

    report = weft.compiler.explain(lambda x: fused(x * 2) * 3)(X)
    assert not report.breaks and len(report.kernels) == 1


def test_scripts_and_archives(tmp_path):
    @weft.jit.script
    def scripted(x: weft.Tensor):
        return scaled(x + 1) * 2 + weft.ops.test_library.scaled(x, 3.0)

    assert "ops.test_library.scaled(" in scripted.code
    for _ in range(3):
        assert_same(scripted(X), (X + 1) * 4 + X * 3)
    traced = weft.jit.trace(lambda x: scaled(x + 1, 4.0) * 2, (X,))
    assert "ops.test_library.scaled(" in traced.code
    assert_same(traced(X * 2), (X * 2 + 1) * 8)
    path = str(tmp_path / "traced.pt")
    traced.save(path)
    assert_same(weft.jit.load(path)(X), (X + 1) * 8)


def test_scripts_see_what_is_written_and_several_results():
    @weft.jit.script
    def scripted(x: weft.Tensor):
        out = weft.zeros_like(x)
        shifted(x, out, by=2)
        first, second = halves([out, x], 3)
        return first, second

    first, second = scripted(X)
    assert_same(first, (X + 2)[:3])
    assert_same(second, weft.cat([(X + 2)[3:], X]))


def test_profiles():
    with weft.profiler.profile() as profile:
        scaled(X)
    assert "test_library::scaled" in [event.name for event in profile.events()]


def test_opcheck():
    passed = dict.fromkeys(
        "test_schema test_autograd_registration test_faketensor test_aot_dispatch_static "
        "test_aot_dispatch_dynamic test_script".split(),
        "SUCCESS",
    )
    assert opcheck(scaled, (X,), {"factor": 3.0}) == passed
    assert opcheck("test_library::shifted", (X, weft.zeros(5))) == passed
    assert opcheck(halves, ([X, X * 2], 3)) == passed
    assert opcheck(scaled, (weft.empty(0),)) == passed
    with pytest.raises(ValueError, match="no test 'test_nothing'"):
        opcheck(scaled, (X,), test_utils="test_nothing")


def make(name, function, schema="(Tensor x) -> Tensor", fake=None):
    operator = custom_op(f"test_library::{name}", function, schema=schema)
    if fake:
        operator.register_fake(fake)
    return operator


def test_operators_that_are_not_what_they_say():
    def writes(x):
        x.add_(1)
        return x * 1

    for operator, error, message in (
        (make("writes", writes), OpCheckError, "writes to argument 'x'"),
        (make("view", lambda x: x[1:]), OpCheckError, "shares memory with argument 'x'"),
        (make("itself", lambda x: x), ValueError, "a result is one of the arguments"),
        (make("two", lambda x: (x, x)), TypeError, "the result is Tensor, the kernel returned tuple"),
        (make("one", lambda x: [x + 1], "(Tensor x) -> (Tensor, Tensor)"), TypeError, "2 results.*1 of them"),
        (
            make("none", lambda x: x + 1, "(Tensor x) -> ()"),
            TypeError,
            "no result, the kernel returned Tensor",
        ),
        (
            make("third", lambda x: (x + 1, 3), "(Tensor x) -> (Tensor, Tensor)"),
            TypeError,
            "result 1 is Tensor.* int",
        ),
        (make("unfaked", lambda x: x + 1), NotImplementedError, "no fake function"),
        (
            make("shape", lambda x: x[:2] + 1, fake=weft.empty_like),
            OpCheckError,
            r"float32\[5\], .*float32\[2\]",
        ),
        (make("dtype", lambda x: (x + 1).to(weft.float64), fake=weft.empty_like), OpCheckError, "float64"),
        (
            make("count", lambda x: [x + 1], "(Tensor x) -> Tensor[]", fake=lambda x: [x + 1, x + 1]),
            OpCheckError,
            "gives 2 tensors, the kernel 1",
        ),
    ):
        with pytest.raises(error, match=message):
            opcheck(operator, (X,))
        outcomes = opcheck(operator, (X,), raise_exception=False)
        assert any(isinstance(outcome, error) for outcome in outcomes.values())


def test_errors_of_kernels_are_the_programs_own():
    def fails(x):
        raise KeyError("mine")

    operator = make("fails", fails)
    compiled = weft.compile(lambda x: operator(x + 1), fullgraph=True)
    scripted = weft.jit.trace(lambda x: scaled(x), (X,))
    assert scripted is not None
    for call in (operator, compiled):
        with pytest.raises(KeyError, match="mine"):
            call(X)


def test_an_operator_is_replaced():
    first = make("again", lambda x: x + 1)
    traced = weft.jit.trace(lambda x: first(x), (X,))
    make("again", lambda x: x + 2)
    assert_same(traced(X), X + 2)
    assert_same(weft.ops.test_library.again(X), X + 2)
    with pytest.raises(ValueError, match="another schema"):
        make("again", lambda x, y: x, "(Tensor x, Tensor y) -> Tensor")
