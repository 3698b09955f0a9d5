"""torch.library: operators of a program's own under PyTorch's names."""

import numpy
import pytest
import weft.torch as torch

library = torch.library


@library.custom_op("torch_library::add_scaled", mutates_args=())
def add_scaled(x: torch.Tensor, y: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
    return torch.from_numpy(x.numpy() + numpy.float32(scale) * y.numpy())


@add_scaled.register_fake
def _(x, y, scale=1.0):
    return torch.empty_like(x)


@library.custom_op("torch_library::count_up", mutates_args={"x"})
def count_up(x: torch.Tensor, by: int) -> None:
    x.add_(by)


@count_up.register_fake
def _(x, by):
    return None


X = torch.arange(4.0)


def test_calls_and_names():
    assert torch.equal(add_scaled(X, X, 2.0), X * 3)
    for call in (
        torch.ops.torch_library.add_scaled,
        torch.ops.torch_library.add_scaled.default,
        add_scaled._opoverload,
    ):
        assert torch.equal(call(X, X, scale=3.0), X * 4)
    assert torch.ops.torch_library.add_scaled.default.name() == "torch_library::add_scaled"
    assert (
        str(add_scaled._schema) == "torch_library::add_scaled(Tensor x, Tensor y, float scale=1.0) -> Tensor"
    )
    y = X.clone()
    count_up(y, 3)
    assert torch.equal(y, X + 3)


def test_opcheck():
    tests = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
    assert library.opcheck(add_scaled, (X, X)) == dict.fromkeys(tests, "SUCCESS")
    assert library.opcheck(torch.ops.torch_library.count_up.default, (X, 3)) == dict.fromkeys(
        tests, "SUCCESS"
    )

    @library.custom_op("torch_library::wrong", mutates_args=())
    def wrong(x: torch.Tensor) -> torch.Tensor:
        x.zero_()
        return x + 1

    with pytest.raises(library.OpCheckError, match="writes to argument 'x'"):
        library.opcheck(wrong, (X.clone(),))
    with pytest.raises(NotImplementedError, match="no fake function"):
        library.opcheck(wrong, (X.clone(),), test_utils="test_faketensor")


@pytest.mark.parametrize("dynamic", [None, True])
def test_compiled_and_scripted(dynamic):
    def function(x):
        y = x + 1
        count_up(y, 2)
        return add_scaled(y, x, 0.5) * 2

    compiled = torch.compile(function, fullgraph=True, dynamic=dynamic)
    for size in (4, 6, 0):
        x = torch.arange(float(size))
        assert torch.equal(compiled(x), function(x))
    assert torch.equal(torch.jit.trace(function, (X,))(X * 2), function(X * 2))

    @torch.jit.script
    def scripted(x: torch.Tensor):
        return torch.ops.torch_library.add_scaled(x, x, 2.0)

    assert torch.equal(scripted(X), X * 3)


def test_define_and_overloads():
    lib = library.Library("torch_library", "FRAGMENT")
    lib.define("thrice(Tensor x, int times=3) -> Tensor")
    lib.define("thrice.float(Tensor x, float times) -> Tensor")
    lib.impl("thrice", lambda x, times: x * times, "CompositeExplicitAutograd")
    lib.impl("thrice.float", lambda x, times: x * times + 1, "CPU")
    lib.impl("thrice", lambda x, times: None, "CUDA")
    assert torch.equal(torch.ops.torch_library.thrice(X), X * 3)
    assert torch.equal(torch.ops.torch_library.thrice.float(X, 2.0), X * 2 + 1)
    assert torch.ops.torch_library.thrice.overloads() == ["default", "float"]
    library.define("torch_library::plain", "(Tensor x) -> Tensor")
    with pytest.raises(NotImplementedError, match="no kernel"):
        torch.ops.torch_library.plain(X)

    @library.impl("torch_library::plain", "cpu")
    def _(x):
        return x + 1

    @library.register_fake("torch_library::plain")
    def _(x):
        return torch.empty_like(x)

    assert torch.equal(torch.ops.torch_library.plain(X), X + 1)
    assert torch.ops.torch_library.plain(torch.empty(3, device="meta")).shape == (3,)
    with pytest.raises(NotImplementedError, match="meta"):
        library.get_ctx().new_dynamic_size()


def test_older_forms():
    lib = library.Library("torch_library_old", "DEF")
    assert repr(lib) == "Library(kind=DEF, ns=torch_library_old, dispatch_key=)>"
    early = library.Library("torch_library_old", "IMPL", "CPU")
    early.impl("twice", lambda x: x * 2)
    assert lib.define("twice(Tensor x) -> Tensor") == "twice"
    assert lib.define("twice.other(Tensor x, Tensor y) -> Tensor") == "twice"
    early.impl(torch.ops.torch_library_old.twice.other, lambda x, y: x * 2 + y)

    @library.impl(lib, "twice", "Meta")
    def _(x):
        return torch.empty_like(x)

    @library.impl(lib, "twice", "CUDA")
    def _(x):
        raise AssertionError

    twice = torch.ops.torch_library_old.twice
    assert torch.equal(twice(X), X * 2) and torch.equal(twice.other(X, X), X * 3)
    assert twice(torch.empty(3, device="meta")).shape == (3,)

    @library.define(lib, "added(Tensor x, Tensor y) -> Tensor")
    def added(x, y):
        return x + y

    assert torch.equal(torch.ops.torch_library_old.added(X, X), X * 2)
    early._destroy()
    with pytest.raises(NotImplementedError, match="no kernel for the device 'cpu', only for 'meta', 'cuda'"):
        twice(X)
    with pytest.raises(AssertionError, match="destroyed"):
        early.impl("twice", lambda x: x)
    lib._destroy()
    with pytest.raises(AttributeError):
        torch.ops.torch_library_old.twice
    with library._scoped_library("torch_library_old", "DEF") as lib:
        lib.define("twice(Tensor x) -> Tensor")


def test_which_kernel_is_called():
    lib = library.Library("torch_library_keys", "FRAGMENT")
    lib.define("which(Tensor x) -> Tensor")
    which = torch.ops.torch_library_keys.which

    def give(number, key):
        lib.impl("which", lambda x: x * 0 + number, key)
        return which(X)[0].item()

    assert [give(number, key) for number, key in enumerate(("AutogradCPU", "Autograd"))] == [0, 1]
    explicit, implicit = "CompositeExplicitAutograd", "CompositeImplicitAutograd"
    assert [give(2, explicit), give(3, implicit), give(4, explicit)] == [2, 3, 3]
    assert [give(5, "CPU"), give(6, "CUDA"), give(7, "AutocastCUDA"), give(8, "")] == [5, 5, 5, 5]
    lib.impl("which", library.fallthrough_kernel, "CPU")
    assert which(X)[0] == 8
    lib.impl("which", library.fallthrough_kernel, "CompositeImplicitAutograd")
    assert which(X)[0] == 4


@pytest.mark.parametrize(
    "code, kind, message",
    [
        ('lib.impl("f", abs, "Bogus")', RuntimeError, "could not parse dispatch key: Bogus"),
        ('lib.impl("f", 3, "CPU")', TypeError, "required to be a callable but found type <class 'int'>"),
        ('lib.impl("f", abs, "CPU", with_keyset=True)', NotImplementedError, "with_keyset"),
        ('lib.impl("f", abs, "CPU", allow_override=False)', RuntimeError, "overriding f's behavior for CPU"),
        ('lib.impl("g", abs, "Meta")', RuntimeError, "should not register a meta kernel"),
        ('lib.define("f(Tensor x) -> Tensor")', RuntimeError, "multiple times"),
        ('lib.define("h(Tensor x) -> Tensor", "PURE")', RuntimeError, "Invalid alias_analysis type PURE"),
        ('lib.fallback(abs, "CPU")', RuntimeError, 'global namespace "_" but it is torch_library_wrong'),
        ('library.Library("_", "IMPL").fallback(abs, "CPU")', NotImplementedError, "no dispatcher"),
        (
            'library.Library("aten", "IMPL").impl("erf", abs, "CPU")',
            NotImplementedError,
            "weft's own operators",
        ),
        ('library.Library("prim", "DEF")', ValueError, "prim is a reserved namespace"),
        ('library.Library("torch_library_wrong", "NEW")', ValueError, "Unsupported kind: NEW"),
        ('library.Library("torch_library_wrong", "DEF")', RuntimeError, "Only a single TORCH_LIBRARY"),
        (
            'library.define("torch_library_wrong::k", "k(Tensor x) -> Tensor")',
            ValueError,
            "expected schema to look",
        ),
    ],
)
def test_older_forms_refuse(code, kind, message):
    with library._scoped_library("torch_library_wrong", "DEF") as lib:
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", abs, "CPU")
        lib.define("g(Tensor x) -> Tensor")
        lib.impl("g", abs, "CompositeImplicitAutograd")
        with pytest.raises(kind, match=message):
            eval(code, {"lib": lib, "library": library, "abs": abs})


def test_a_kernel_that_is_switched_off():
    @library.custom_op("torch_library::switched", mutates_args=())
    def switched(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    switched.register_kernel("cpu", lambda x: x + 2)
    assert torch.equal(switched(X), X + 2)
    with switched.set_kernel_enabled("cpu", False):
        assert torch.equal(switched(X), X + 1)
    assert torch.equal(switched(X), X + 2)


def test_autocast_and_dtypes():
    @library.custom_op("torch_library::cast", mutates_args=())
    def cast(x: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
        return x.to(dtype) + 0

    assert cast(X, torch.float64).dtype == torch.float64

    @torch.jit.script
    def scripted(x: torch.Tensor):
        return torch.ops.torch_library.cast(x, torch.bfloat16)

    assert scripted(X).dtype == torch.bfloat16


def test_libraries_of_pytorch_are_not_loaded():
    for load in (torch.ops.load_library, torch.classes.load_library):
        with pytest.raises(OSError, match="Could not load this library: /nowhere/lib.so"):
            load("/nowhere/lib.so")
