"""What PyTorch's rules refuse or read otherwise than NumPy's: eagerly, in place, compiled, traced, as TorchScript builtins."""

import operator
import warnings

import numpy as np
import pytest
import weft
import weft.numpy as xp
from weft.ops import aten

INTEGERS = ["uint8", "int8", "int16", "int32", "int64"]
WIDE = INTEGERS + ["uint16", "uint32", "uint64"]


def tensor(values, dtype):
    return weft.from_numpy(np.asarray(values)).to(getattr(weft, dtype))


# ---- integers divided by zero --------------------------------------------------------------------------------
DIVISIONS = {
    "//": operator.floordiv,
    "%": operator.mod,
    "floor_divide": weft.floor_divide,
    "remainder": weft.remainder,
    "fmod": weft.fmod,
    "div floor": lambda x, y: weft.div(x, y, rounding_mode="floor"),
    "div trunc": lambda x, y: weft.div(x, y, rounding_mode="trunc"),
    "method": lambda x, y: x.floor_divide(y),
    "in place": lambda x, y: x.clone().floor_divide_(y),
    "in place operator": lambda x, y: operator.imod(x.clone(), y),
    "builtin floor_divide": aten.floor_divide,
    "builtin remainder": aten.remainder,
    "builtin fmod": aten.fmod,
    "builtin div": lambda x, y: aten.div(x, y, rounding_mode="trunc"),
}
# By what the zero is: of every size around the small calls' limit, in every layout, a number, a 0-d tensor.
ZEROS = {
    "small": lambda d: tensor([3, 0, 1], d),
    "one": lambda d: tensor(0, d),
    "last of many": lambda d: tensor([1] * 4999 + [0], d),
    "strided": lambda d: tensor([1, 5, 1, 5, 0, 5], d)[::2],
    "broadcast": lambda d: tensor([[0]], d).expand(2, 3),
    "number": lambda d: 0,
}


@pytest.mark.parametrize("name", DIVISIONS)
@pytest.mark.parametrize("zero", ZEROS)
def test_integers_divided_by_zero(name, zero):
    for dtype in WIDE if "div" not in name else INTEGERS:
        divisor = ZEROS[zero](dtype)
        shape = [3] if isinstance(divisor, int) or divisor.ndim == 0 else list(divisor.shape)
        x = weft.full(shape, 7, dtype=getattr(weft, dtype))
        before = x.tolist()
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            DIVISIONS[name](x, divisor)
        assert x.tolist() == before


@pytest.mark.parametrize("name", DIVISIONS)
def test_division_of_others_goes_on(name):
    call = DIVISIONS[name]
    floats, whole = tensor([1.0, -1.0], "float32"), tensor([7, -7], "int32")
    zeros = tensor([0.0, 0.0], "float32")
    assert not np.isfinite(call(floats, zeros).numpy()).any()
    if "place" not in name:
        assert not np.isfinite(call(whole, zeros).numpy()).any()
    assert np.isfinite(call(whole, tensor([2, 3], "int32")).numpy()).all()
    assert call(whole[:0], tensor([], "int32")).shape == (0,)


@pytest.mark.parametrize(
    "name", [name for name in DIVISIONS if "place" not in name and "builtin" not in name]
)
def test_compiled_integers_divided_by_zero(name):
    call = DIVISIONS[name]
    compiled = weft.compile(lambda x, y: call(x + 1, y) * 2)
    x, y = tensor(list(range(40)), "int32"), tensor([3] * 40, "int32")
    for _ in range(2):
        np.testing.assert_array_equal(compiled(x, y).numpy(), (call(x + 1, y) * 2).numpy())
    y[17] = 0
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        compiled(x, y)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        weft.compile(lambda x: call(x, 0))(x)
    y[17] = 5
    np.testing.assert_array_equal(compiled(x, y).numpy(), (call(x + 1, y) * 2).numpy())


def test_compiled_division_whose_result_nobody_takes():
    def program(x, y):
        x // y
        return x + 1

    compiled = weft.compile(program)
    x = tensor([1, 2, 3], "int64")
    compiled(x, x)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        compiled(x, x - 2)


def test_scripts_divide_integers_by_zero():
    @weft.jit.script
    def f(x, y):
        return (x + 1) // y

    x = tensor([1, 2, 3], "int64")
    for _ in range(3):
        assert f(x, x).tolist() == [2, 1, 1]
    with pytest.raises(Exception, match="ZeroDivisionError"):
        f(x, x - 2)


def test_numpys_integer_division_is_numpys():
    """Compiled NumPy functions share the operators: 0 and a RuntimeWarning, a ValueError for negative powers."""

    def divide(a, b):
        return a // b, a % b

    compiled = weft.compile(divide)
    a, b = np.arange(40), np.arange(40) % 5
    for _ in range(3):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            got = compiled(a, b)
        assert [w.category for w in caught if "divide by zero" in str(w.message)]
        with np.errstate(all="ignore"):
            for one, other in zip(got, divide(a, b)):
                np.testing.assert_array_equal(one, other)
    power = weft.compile(lambda a, b: a**b)
    for _ in range(2):
        np.testing.assert_array_equal(power(a, b), a**b)
        with pytest.raises(ValueError, match="negative integer powers"):
            power(a, b - 1)


# ---- powers --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_to_a_negative_number(dtype):
    x = tensor([1, 2, 4], dtype)
    for call in (
        lambda: x**-1,
        lambda: weft.pow(x, -2),
        lambda: x.pow(-1),
        lambda: x.clone().pow_(-1),
        lambda: aten.pow(x, -1),
        lambda: tensor([1] * 5000, dtype) ** -1,
        lambda: weft.compile(lambda x: x**-1)(x),
    ):
        with pytest.raises(RuntimeError, match="Integers to negative integer powers are not allowed"):
            call()
    assert (x**2).tolist() == [1, 4, 16]
    assert (x.to(weft.float32) ** -1).tolist() == [1, 0.5, 0.25]
    assert weft.pow(x, -1.0).tolist() == [1, 0.5, 0.25]


def test_a_negative_tensor_as_exponent():
    """PyTorch refuses numbers only; 1 and -1 have such powers, others become 0."""
    x, y = tensor([1, -1, 2, -3], "int64"), tensor([-1, -3, -1, -2], "int64")
    assert (x**y).tolist() == [1, -1, 0, 0]


# ---- arguments -----------------------------------------------------------------------------------------------
SPREADS = {
    "(0, False)": ((0, False), {}, {"axis": 0, "ddof": 0}),
    "(0, True)": ((0, True), {}, {"axis": 0, "ddof": 1}),
    "(0, False, True)": ((0, False, True), {}, {"axis": 0, "ddof": 0, "keepdims": True}),
    "([0, 1], True, True)": (([0, 1], True, True), {}, {"axis": (0, 1), "ddof": 1, "keepdims": True}),
    "(False)": ((False,), {}, {"ddof": 0}),
    "(True)": ((True,), {}, {"ddof": 1}),
    "()": ((), {}, {"ddof": 1}),
    "(1)": ((1,), {}, {"axis": 1, "ddof": 1}),
    "unbiased": ((), {"unbiased": False}, {"ddof": 0}),
    "keywords": (
        (),
        {"dim": 0, "unbiased": False, "keepdim": True},
        {"axis": 0, "ddof": 0, "keepdims": True},
    ),
    "correction": ((1,), {"correction": 2, "keepdim": True}, {"axis": 1, "ddof": 2, "keepdims": True}),
    "correction 0": ((), {"correction": 0}, {"ddof": 0}),
}


@pytest.mark.parametrize("case", SPREADS)
@pytest.mark.parametrize("name", ["std", "var"])
def test_spreads_read_their_arguments_as_pytorch_does(name, case):
    args, kwargs, wanted = SPREADS[case]
    array = np.random.default_rng(0).normal(size=(3, 4))
    x, expected = weft.from_numpy(array), getattr(np, name)(array, **wanted)
    calls = [
        lambda x: getattr(weft, name)(x, *args, **kwargs),
        lambda x: getattr(x, name)(*args, **kwargs),
        lambda x: getattr(aten, name)(x, *args, **kwargs),
    ]
    for call in [*calls, weft.compile(calls[0]), weft.jit.trace(calls[1], (x,))]:
        got = call(x)
        assert tuple(got.shape) == expected.shape
        np.testing.assert_allclose(got.numpy(), expected, rtol=1e-12)
    if not kwargs and not args:
        np.testing.assert_allclose(getattr(xp.asarray(x), name)().numpy(), getattr(array, name)(), rtol=1e-12)


def test_truth_values_are_no_dimensions():
    x = weft.zeros(2, 3)
    for call in (
        lambda: x.sum(True),
        lambda: weft.amax(x, True),
        lambda: x.cumsum(True),
        lambda: x.argmax(True),
        lambda: weft.softmax(x, True),
        lambda: x.transpose(True, False),
    ):
        with pytest.raises(TypeError):
            call()


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8", "bfloat16"])
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_median_along_a_dimension(dtype, keepdim, dim):
    array = np.random.default_rng(0).permutation(24).reshape(4, 6)
    x = tensor(array, dtype)
    order = np.argsort(array, axis=dim, kind="stable")
    positions = np.take(order, [(array.shape[dim] - 1) // 2], axis=dim)
    values = np.take_along_axis(array, positions, dim)
    if not keepdim:
        positions, values = positions.squeeze(dim), values.squeeze(dim)
    calls = [lambda x: weft.median(x, dim, keepdim), lambda x: x.median(dim=dim, keepdim=keepdim)]
    for call in [*calls, weft.compile(calls[0])]:
        got = call(x)
        assert got._fields == ("values", "indices") and got.values.dtype == x.dtype
        np.testing.assert_array_equal(got.values.to(weft.int64).numpy(), values)
        np.testing.assert_array_equal(got.indices.numpy(), positions)
    for one, other in zip(aten.median(x, dim, keepdim), calls[0](x)):
        np.testing.assert_array_equal(one.to(weft.float32).numpy(), other.to(weft.float32).numpy())
    assert float(x.median()) == 11 and x.median().shape == ()


def test_median_of_nan_and_of_nothing():
    x = tensor([[1.0, np.nan, 0.0], [3.0, 1.0, 2.0]], "float32")
    got = x.median(1)
    assert np.isnan(got.values[0].item()) and got.values[1].item() == 2 and got.indices.tolist() == [1, 2]
    assert weft.median(tensor(5.0, "float32"), 0).indices.item() == 0
    with pytest.raises(IndexError, match="at least one element"):
        weft.zeros(2, 0).median(1)


@pytest.mark.parametrize("name", ["all", "any"])
def test_truth_of_uint8_is_uint8(name):
    for dtype, wanted in (
        ("uint8", weft.uint8),
        ("int8", weft.bool),
        ("bool", weft.bool),
        ("float32", weft.bool),
    ):
        x = tensor([[1, 0], [1, 1]], dtype)
        calls = [
            lambda x: getattr(weft, name)(x),
            lambda x: getattr(x, name)(1),
            lambda x: getattr(x, name)(0, True),
        ]
        for call in calls:
            for run in (call, weft.compile(call), weft.jit.trace(call, (x,))):
                assert run(x).dtype == wanted
                np.testing.assert_array_equal(run(x).numpy(), call(x.to(weft.bool)).numpy())
        assert getattr(aten, name)(x).dtype == wanted
        assert getattr(xp, name)(x).dtype == getattr(xp.asarray(x), name)().dtype == weft.bool


def test_equal_is_one_bool():
    x = tensor([1.0, 2.0], "float32")
    for call in (weft.equal, lambda a, b: a.equal(b), aten.equal):
        assert call(x, x.clone()) is True
        assert call(x, x + 1) is False and call(x, x[:1]) is False
        assert call(tensor([np.nan], "float32"), tensor([np.nan], "float32")) is False
        assert call(x[:0], x[:0]) is True
    assert weft.eq(x, x).tolist() == (x == x).tolist() == xp.equal(x, x).tolist() == [True, True]
    assert bool(weft.compile(lambda a, b: weft.equal(a, b))(x, x)) is True


# ---- dtypes --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["outer", "kron", "cross"])
def test_products_promote_as_pytorch_does(name):
    call = getattr(weft, name)
    table = {
        ("int64", "float32"): "float32",
        ("float16", "int32"): "float16",
        ("float32", "float64"): "float64",
    }
    for (a, b), wanted in table.items():
        x, y = tensor([1, 2, 3], a), tensor([4, 5, 6], b)
        for one, other in ((x, y), (y, x)):
            for run in (call, weft.compile(lambda x, y: call(x, y))):
                assert run(one, other).dtype == getattr(weft, wanted)
    assert (
        getattr(weft, name)(xp.asarray(tensor([1, 2, 3], "int64")), tensor([4, 5, 6], "float32")).dtype
        == weft.float64
    )


def test_heaviside_of_integers():
    x = tensor([-2, 0, 3], "int64")
    for call in (weft.heaviside, lambda x, y: x.heaviside(y), lambda x, y: x.clone().heaviside_(y)):
        assert (
            call(x, tensor(5, "int64")).tolist() == [0, 5, 1]
            and call(x, tensor(5, "int64")).dtype == weft.int64
        )


@pytest.mark.parametrize("name", ["lt", "le", "gt", "ge", "maximum", "minimum", "fmax", "fmin"])
def test_complex_numbers_have_no_order(name):
    for size in (3, 5000):
        c = weft.full([size], 1, dtype=weft.complex64)
        for call in (getattr(weft, name), weft.compile(getattr(weft, name))):
            with pytest.raises(TypeError, match="complex"):
                call(c, c)
    z = np.asarray([1j, 2, 1 + 1j])
    numpys = {"lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}.get(name, name)
    got = weft.compile(lambda a, b: getattr(np, numpys)(a, b))(z, z[::-1].copy())
    np.testing.assert_array_equal(got, getattr(np, numpys)(z, z[::-1]))


def test_masks_and_softmax_refuse_integers():
    x, i = weft.ones(2, 3), weft.ones([2, 3], dtype=weft.int64)
    # RuntimeError, as PyTorch has it, where weft.torch has set its method.
    with pytest.raises((TypeError, RuntimeError), match="mask"):
        x.masked_fill(i, 0)
    for call in (weft.softmax, weft.log_softmax, weft.nn.functional.softmax, weft.nn.functional.log_softmax):
        with pytest.raises((TypeError, NotImplementedError), match="int64"):
            call(i, -1)


# ---- forms ---------------------------------------------------------------------------------------------------
def test_forms_of_calls():
    v, w = tensor([1, 2], "int64"), tensor([3, 4, 5], "int64")
    for grids in (
        weft.meshgrid(v, w),
        weft.meshgrid([v, w]),
        weft.jit.trace(lambda v, w: weft.meshgrid(v, w), (v, w))(v, w),
    ):
        assert [tuple(grid.shape) for grid in grids] == [(2, 3)] * 2
    assert weft.meshgrid(v, w, indexing="xy")[0].shape == xp.meshgrid(v, w)[0].shape == (3, 2)
    x = tensor([3, 1, 3, 2], "int64")
    assert weft.unique(x).tolist() == x.unique().tolist() == [1, 2, 3]
    values, inverse = weft.unique(x, True, True)
    assert inverse.tolist() == [2, 0, 2, 1] and values.tolist() == [1, 2, 3]
    values, counts = x.unique(return_counts=True)
    assert counts.tolist() == [1, 1, 2]
    condition = tensor([True, False, True, False], "bool")
    for call in (lambda x, c: x.where(c, 0), lambda x, c: x.where(c, tensor(0, "int64"))):
        assert call(x, condition).tolist() == weft.compile(call)(x, condition).tolist() == [3, 0, 3, 0]
    c = tensor([1 + 2j, 3 - 4j], "complex64")
    assert c.real.tolist() == [1, 3] and c.imag.tolist() == [2, -4] and xp.asarray(c).real.tolist() == [1, 3]
    assert weft.compile(lambda c: c.real + c.imag)(c).tolist() == [3, -1]
    for name, fields in (
        ("sort", "values indices"),
        ("topk", "values indices"),
        ("cummax", "values indices"),
    ):
        assert getattr(weft, name)(x, *([2] if name == "topk" else [0]))._fields == tuple(fields.split())


@pytest.mark.parametrize("mask", [True, False])
def test_a_truth_value_as_index(mask):
    """It selects along one more dimension, of size 1 or 0: Python's, a 0-d tensor, NumPy's."""
    array = np.arange(6.0).reshape(2, 3)
    x = weft.from_numpy(array.copy())
    for index in (mask, weft.tensor(mask), np.bool_(mask), xp.asarray(mask)):
        for wrap in (
            lambda i: i,
            lambda i: (i, 0),
            lambda i: (slice(None), i),
            lambda i: (..., i),
            lambda i: (i, [1, 0] if mask else [1]),
        ):
            plain = wrap(mask)
            assert x[wrap(index)].shape == array[plain].shape
            np.testing.assert_array_equal(x[wrap(index)].numpy(), array[plain])
        y, wanted = x.clone(), array.copy()
        y[index] = 7.0
        wanted[mask] = 7.0
        np.testing.assert_array_equal(y.numpy(), wanted)


# ---- positions of arguments ----------------------------------------------------------------------------------
# Operators that are those of torch.nn.functional, whose arguments stand otherwise than those of the same name in torch.
OF_FUNCTIONAL = {"batch_norm", "instance_norm", "embedding_bag", "max_unpool2d", "max_unpool3d"}
# Builtins of the name that take no tensors, or are another function.
OTHERS = {
    "degrees",
    "radians",
    "divmod",
    "fabs",
    "modf",
    "join",
    "index_put",
    "arange",
    "polygamma",
    "qr",
    "svd",
}
KINDS = {
    "Optional[Tensor]": "Tensor",
    "List[Tensor]": "Tensor[]",
    "Tensor[2]": "Tensor[]",
    "number": "number",
    "Scalar": "number",
    "float": "number",
}
MEANINGS = {
    **dict.fromkeys(("dims", "dimension", "axis0", "axis1", "dim0", "dim1"), "dim"),
    **dict.fromkeys(("sections", "indices"), "indices_or_sections"),
    **{"size": "shape", "fill_value": "value", "end": "stop", "p": "ord", "dims_self": "dim"},
}


def positional(schema):
    """[(kind, meaning)] of the positional parameters; tensors are told by their places."""
    inner = schema[schema.index("(") + 1 : schema.index(") ->")]
    found = []
    for part in inner.replace("Optional[List[int]]", "int").replace("Optional[int]", "int").split(", "):
        if part == "*":
            break
        if " " not in part:
            continue
        kind, name = part.split("=")[0].rsplit(" ", 1)
        kind = kind.removesuffix("?").replace("(a!)", "").replace("(a)", "")
        kind = "number" if kind in ("Optional[number]", "Optional[float]") else KINDS.get(kind, kind)
        kind = "int" if "int" in kind else kind
        found.append((kind, "" if kind.startswith("Tensor") else MEANINGS.get(name, name)))
    return found


def builtin_schemas():
    found = {}
    for schema in weft._C._builtin_schemas():
        name = schema.split("(")[0].split(".")[0].removeprefix("aten::")
        if schema.startswith("aten::") and not name.startswith("_"):
            found.setdefault(name, []).append(schema)
    return found


BUILTINS = builtin_schemas()
SHARED = [
    name
    for name, operator_ in sorted(vars(weft._C).items())
    if isinstance(operator_, weft.Operator) and name in BUILTINS and name not in OF_FUNCTIONAL | OTHERS
]


@pytest.mark.parametrize("name", SHARED)
def test_positional_arguments_stand_where_pytorch_has_them(name):
    """By the schema of a builtin of the name: the same kinds and meanings in the same places."""
    mine = positional(getattr(weft._C, name).schema)
    agree = [all(a == b for a, b in zip(mine, positional(schema))) for schema in BUILTINS[name]]
    assert any(agree), (mine, [positional(schema) for schema in BUILTINS[name]])


def test_the_dimension_of_vector_products():
    x, y = (weft.from_numpy(np.random.default_rng(i).normal(size=(3, 3))) for i in range(2))
    first = np.cross(x.numpy(), y.numpy(), axis=0)
    for call in (weft.cross, weft.compile(lambda x, y: weft.cross(x, y)), aten.cross):
        np.testing.assert_allclose(call(x, y).numpy(), first)
    np.testing.assert_allclose(weft.cross(x, y, -1).numpy(), np.cross(x.numpy(), y.numpy()))
    np.testing.assert_allclose(xp.linalg.cross(x, y).numpy(), np.cross(x.numpy(), y.numpy()))
