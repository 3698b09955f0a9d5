"""weft.numpy by the rules of the Python array API standard: what is not elementwise. The reference is NumPy's own namespace."""

import numpy
import pytest
import weft
import weft.numpy as xp
from array_api import COMPLEX, DTYPES, INTEGERS, NUMERIC, REAL, SIGNED, UNSIGNED, dtype_name
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

RNG = numpy.random.default_rng(1)


def elements(shape, dtype):
    values = RNG.integers(-4, 5, shape)
    if dtype in UNSIGNED or dtype == "bool":
        values = abs(values)
    return numpy.asarray(values * (1 + 0.5j) if dtype in COMPLEX else values).astype(dtype)


def assert_wanted(got, wanted):
    """Also the dtype, the shape, and that it is an array of this namespace."""
    if isinstance(wanted, tuple | list):
        assert len(got) == len(wanted)
        for one, other in zip(got, wanted):
            assert_wanted(one, other)
        return
    assert type(got) is xp.ndarray
    wanted = numpy.asarray(wanted)
    assert (dtype_name(got), tuple(got.shape)) == (str(wanted.dtype), wanted.shape)
    tolerance = 1e-5 if wanted.dtype.name in ("float32", "complex64") else 1e-13
    numpy.testing.assert_allclose(got.numpy(), wanted, rtol=tolerance, atol=tolerance)


def compare(call, *arrays, **others):
    """call(namespace, *arrays) here and in NumPy: equal, or an error in both."""
    try:
        wanted = call(numpy, *arrays, **others)
    except Exception as error:
        with pytest.raises((ValueError, IndexError, TypeError, numpy.linalg.LinAlgError)):
            call(xp, *(xp.asarray(x) for x in arrays), **others)
        return error
    assert_wanted(call(xp, *(xp.asarray(x) for x in arrays), **others), wanted)
    return None


# ---- statistics, searching, utilities ------------------------------------------------------------------------
SHAPES = [(), (0,), (1,), (4,), (2, 3), (2, 0, 3), (2, 3, 4)]
AXES = [None, 0, 1, -1, 2, -3, (), (0,), (0, 1), (-1, 0), (0, 0), (5,), 7]
REDUCTIONS = {
    **dict.fromkeys(("sum", "prod"), NUMERIC),
    **dict.fromkeys(("max", "min"), INTEGERS + REAL),
    **dict.fromkeys(("mean",), REAL + COMPLEX),
    **dict.fromkeys(("var", "std"), REAL),
    **dict.fromkeys(("all", "any", "count_nonzero"), DTYPES),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name):
    """Every shape, axis and keepdims; axis=() reduces nothing."""
    for dtype in (REDUCTIONS[name][0], REDUCTIONS[name][-1], REDUCTIONS[name][len(REDUCTIONS[name]) // 2]):
        for shape in SHAPES:
            x = elements(shape, dtype)
            for axis in AXES if shape else (None, ()):
                for keepdims in (False, True):
                    compare(
                        lambda np, x, **rest: getattr(np, name)(x, **rest), x, axis=axis, keepdims=keepdims
                    )


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions_of_every_dtype(name):
    for dtype in REDUCTIONS[name]:
        compare(lambda np, x: getattr(np, name)(x, axis=1), elements((2, 3), dtype))


@pytest.mark.parametrize("name", ["sum", "prod", "cumulative_sum", "cumulative_prod", "linalg.trace"])
@pytest.mark.parametrize("dtype", NUMERIC)
def test_the_dtype_of_sums(name, dtype):
    owner, _, last = name.rpartition(".")
    axis = {"axis": 0} if last.startswith("cumulative") else {}

    def call(np, x, wanted=None):
        return getattr(getattr(np, owner) if owner else np, last)(
            x, dtype=wanted and getattr(np, wanted), **axis
        )

    compare(call, elements((3, 3), dtype))
    for wanted in NUMERIC:
        if dtype in COMPLEX and wanted not in COMPLEX:
            continue
        x = elements((3, 3), dtype)
        got = call(xp, xp.asarray(x), wanted)
        assert dtype_name(got) == str(wanted)
        assert_wanted(got, call(numpy, x.astype(wanted), wanted))


def test_sums_wrap_in_their_dtype():
    x = xp.asarray([200, 100], dtype=xp.uint8)
    assert int(xp.sum(x)) == 300 and int(xp.sum(x, dtype=xp.uint8)) == 44
    assert xp.cumulative_sum(x, dtype=xp.int8).tolist() == [-56, 44]


@pytest.mark.parametrize("correction", [0, 1, 0.5])
def test_correction(correction):
    for name in ("var", "std"):
        for axis in (None, 0, (0, 1)):
            x = elements((3, 4), "float64")
            compare(
                lambda np, x, name, **rest: getattr(np, name)(x, **rest),
                x,
                name=name,
                axis=axis,
                correction=correction,
            )


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_positions(name):
    for shape in SHAPES:
        for axis in (None, 0, -1, 1, 7) if shape else (None,):
            for keepdims in (False, True):
                compare(
                    lambda np, x, **rest: getattr(np, name)(x, **rest),
                    elements(shape, "int32"),
                    axis=axis,
                    keepdims=keepdims,
                )
    assert_wanted(getattr(xp, name)(xp.asarray([1.0, numpy.nan, 3.0])), numpy.int64(1))


@pytest.mark.parametrize("dtype", DTYPES)
def test_nonzero_and_where(dtype):
    for shape in SHAPES:
        x = elements(shape, dtype)
        compare(lambda np, x: np.nonzero(x), x)
        compare(lambda np, c, x: np.where(c, x, x), elements(shape, "bool"), x)
        compare(
            lambda np, c, x, y: np.where(c, x, y),
            elements((3, 1), "bool"),
            elements((), dtype),
            elements((4,), dtype),
        )


def test_where_promotes():
    condition = numpy.asarray([True, False])
    for a, b in (("int8", "uint8"), ("float32", "float64"), ("float32", "complex64"), ("uint16", "int16")):
        compare(lambda np, c, x, y: np.where(c, x, y), condition, elements((), a), elements((2,), b))
    for number in (1, True):
        compare(lambda np, c, x, y: np.where(c, x, y), condition, numpy.asarray([1, 2], "int8"), y=number)


@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted(side):
    for dtype in ("int32", "uint8", "float64"):
        x = numpy.sort(elements((7,), dtype))
        for shape in ((), (0,), (5,), (2, 3)):
            compare(lambda np, x, y: np.searchsorted(x, y, side=side), x, elements(shape, dtype))
    compare(
        lambda np, x, y, s: np.searchsorted(x, y, side=side, sorter=s),
        numpy.asarray([3.0, 1.0, 2.0]),
        numpy.asarray([1.0, 2.5]),
        numpy.asarray([1, 2, 0]),
    )


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
def test_cumulative(name):
    for shape in SHAPES:
        for axis in (None, 0, -1, 1, 7):
            for initial in (False, True):
                compare(
                    lambda np, x, **rest: getattr(np, name)(x, **rest),
                    elements(shape, "int16"),
                    axis=axis,
                    include_initial=initial,
                )


def test_diff():
    x = elements((3, 5), "float64")
    for axis in (-1, 0, 1):
        for n in (0, 1, 2):
            compare(lambda np, x, **rest: np.diff(x, **rest), x, axis=axis, n=n)
    compare(lambda np, x, y: np.diff(x, axis=0, prepend=y, append=y), x, elements((1, 5), "float64"))


# ---- sorting, sets -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", INTEGERS + REAL)
@pytest.mark.parametrize("descending", [False, True])
def test_sorting_is_stable(dtype, descending):
    for shape, axis in (((9,), -1), ((5, 6), 0), ((2, 3, 4), 1), ((0, 3), 0)):
        x = elements(shape, dtype)
        # Stable in descending order: equal elements as they were, so the reverse of the reverse's order.
        order = numpy.argsort(x, axis=axis, stable=True)
        if descending:
            size = x.shape[axis]
            order = size - 1 - numpy.flip(numpy.argsort(numpy.flip(x, axis), axis=axis, stable=True), axis)
        got = xp.argsort(xp.asarray(x), axis=axis, descending=descending)
        assert_wanted(got, order)
        assert_wanted(
            xp.sort(xp.asarray(x), axis=axis, descending=descending),
            numpy.take_along_axis(x, order, axis=axis),
        )
    with pytest.raises((ValueError, IndexError)):
        xp.sort(xp.ones((2, 2)), axis=2)


@pytest.mark.parametrize("dtype", DTYPES)
def test_sets(dtype):
    for shape in SHAPES:
        x = elements(shape, dtype)
        for name in ("unique_all", "unique_counts", "unique_inverse", "unique_values"):
            got, wanted = getattr(xp, name)(xp.asarray(x)), getattr(numpy, name)(x)
            if name == "unique_values":
                got, wanted = xp.sort(got), numpy.sort(wanted)
            else:
                assert got._fields == wanted._fields
            assert_wanted(got, wanted)
    assert xp.unique_values(xp.asarray([numpy.nan, numpy.nan])).shape == (2,)


# ---- manipulation --------------------------------------------------------------------------------------------
MANIPULATIONS = """
np.reshape(x, (-1,)); np.reshape(x, (4, 3, 2)); np.reshape(x, (5,)); np.reshape(x, 24); np.reshape(x, (2, -1), copy=True)
np.broadcast_to(x, (2, 2, 3, 4)); np.broadcast_to(x, (2, 3)); np.broadcast_to(s, (2, 0)); np.broadcast_to(s, 3)
np.broadcast_arrays(x, v, s); np.broadcast_arrays(x, w)
np.concat((x, x)); np.concat((x, x), axis=-1); np.concat((x, x, v), axis=None); np.concat((v, i, u)); np.concat((x, v)); np.concat((v, e))
np.stack((x, x)); np.stack((x, x), axis=-1); np.stack((v, i)); np.stack((v, w)); np.stack((s, s)); np.stack((x, x), axis=5)
np.unstack(x); np.unstack(x, axis=-1); np.unstack(v, axis=1)
np.expand_dims(x, axis=0); np.expand_dims(x, axis=-1); np.expand_dims(x, axis=3); np.expand_dims(x, axis=4); np.expand_dims(s, axis=0)
np.expand_dims(x, axis=(0, 2)); np.expand_dims(x, 0); np.expand_dims(v, -1)
np.squeeze(o, axis=0); np.squeeze(o, axis=-1); np.squeeze(o, axis=(0, 2)); np.squeeze(o, axis=1); np.squeeze(o, axis=4); np.squeeze(o, axis=())
np.flip(x); np.flip(x, axis=0); np.flip(x, axis=(0, -1)); np.flip(s); np.flip(x, axis=3); np.flip(x, axis=()); np.flip(e)
np.roll(x, 2); np.roll(x, -1, axis=1); np.roll(x, (1, 2), axis=(0, 2)); np.roll(x, 1, axis=(0, 2)); np.roll(x, (1, 2), axis=(1, 1)); np.roll(e, 1); np.roll(x, 1, axis=3); np.roll(x, (1, 2))
np.tile(v, (2, 2)); np.tile(x, (2,)); np.tile(s, (2, 3)); np.tile(v, 3); np.tile(x, (1, 2, 1, 2)); np.tile(v, (0,))
np.repeat(v, 2); np.repeat(x, 2, axis=1); np.repeat(v, r); np.repeat(x, 2); np.repeat(x, 0, axis=0); np.repeat(s, 2); np.repeat(v, -1); np.repeat(v, one)
np.moveaxis(x, 0, -1); np.moveaxis(x, (0, 1), (-1, 0)); np.moveaxis(x, 0, 3); np.permute_dims(x, (2, 0, 1)); np.permute_dims(x, (0, 0, 1)); np.permute_dims(s, ())
np.matrix_transpose(x); np.matrix_transpose(v); x.mT; x.T if x.ndim == 2 else v.T; v.mT
np.take(v, j); np.take(x, j, axis=1); np.take(x, j, axis=-1); np.take(x, j, axis=3); np.take(v, far); np.take(v, jn); np.take(x, e.astype("int64") if np.__name__ == "numpy" else np.astype(e, np.int64), axis=0)
np.take_along_axis(x, t, axis=1); np.take_along_axis(x, t); np.take_along_axis(x, tb, axis=0); np.take_along_axis(x, j, axis=0); np.take_along_axis(x, tf, axis=1)
np.tril(x); np.triu(x, k=1); np.tril(x, k=-2); np.triu(x, k=-9)
np.meshgrid(v, w); np.meshgrid(v, w, indexing="ij"); np.meshgrid(v); np.meshgrid(v, w, v, indexing="xy"); np.meshgrid(v, indexing="no")
x[...]; x[0]; x[-1, ...]; x[0, 1, 2]; x[..., None]; x[None, 0]; x[1:, ::-1, 1:3]; x[x > 0]; x[:, x[0, :, 0] > 0]; x[2]; x[0, 0, 0, 0]; x[x[..., 0] > 0]
x[no]; x[yes]; x[yes, 0]; v[no]; s[yes]; s[no]; s[()]; s[...]; s[None]; x[True]; x[False]; x[j, 0]; x[:, j]; x[i0]; x[..., i0]; v[yes, j]
""".replace("\n", ";").split(";")
MANIPULATIONS = [call.strip() for call in MANIPULATIONS if call.strip()]
NAMED = {
    "x": elements((2, 3, 4), "float64"),
    "v": elements((4,), "float64"),
    "w": elements((3,), "float64"),
    "i": elements((4,), "int16"),
    "u": elements((4,), "uint8"),
    "e": numpy.zeros((0,)),
    "s": numpy.asarray(2.5),
    "o": elements((1, 3, 1, 2), "int64"),
    "r": numpy.asarray([0, 2, 1, 3]),
    "one": numpy.asarray([2]),
    "j": numpy.asarray([1, 0, 1]),
    "jn": numpy.asarray([-1, -4, 3]),
    "i0": numpy.asarray(1),
    "far": numpy.asarray([4]),
    "t": numpy.asarray([0, 2, 1]).reshape(1, 3, 1) + numpy.zeros((2, 3, 4), "int64"),
    "tb": numpy.zeros((1, 1, 4), "int64"),
    "tf": numpy.full((2, 3, 4), 3),
    "yes": numpy.asarray(True),
    "no": numpy.asarray(False),
}


@pytest.mark.parametrize("call", MANIPULATIONS)
def test_manipulation(call):
    names = [name for name in NAMED if any(part == name for part in _words(call))]
    program = eval(f"lambda np, {', '.join(names)}: {call}")
    compare(program, *(NAMED[name] for name in names))


def _words(text):
    return "".join(c if c.isalnum() or c == "_" else " " for c in text).split()


def test_assignments():
    for key, value in (
        (..., 1.0),
        (0, [5.0, 6.0, 7.0]),
        ((slice(None), 1), 2.0),
        (numpy.asarray([[True, False, True], [False, True, False]]), 9.0),
        (numpy.asarray(True), 3.0),
        (numpy.asarray(False), 3.0),
        (True, 4.0),
    ):
        wanted, got = numpy.zeros((2, 3)), xp.zeros((2, 3))
        wanted[key] = value
        got[xp.asarray(key) if isinstance(key, numpy.ndarray) else key] = xp.asarray(value)
        assert_wanted(got, wanted)


# ---- creation, dtypes, inspection ----------------------------------------------------------------------------
CREATION = """
np.arange(5); np.arange(2, 9, 3); np.arange(1.0, 2, 0.25); np.arange(5, 0, -2); np.arange(0); np.arange(3, dtype=np.float32); np.arange(5, 2)
np.linspace(0, 1, 5); np.linspace(0, 1, 1); np.linspace(0, 1, 0); np.linspace(1, 0, 4, endpoint=False); np.linspace(0, 1, 3, dtype=np.float32); np.linspace(0, 1j, 3)
np.eye(3); np.eye(2, 3); np.eye(3, k=-1); np.eye(0); np.eye(2, dtype=np.int8); np.eye(2, 4, k=9)
np.zeros(()); np.zeros(3); np.zeros((2, 0)); np.ones((2, 3), dtype=np.uint16); np.full((), 7); np.full((2,), True); np.full(2, 1.5); np.full((2,), 1j); np.full((2,), 3, dtype=np.uint64)
np.full((2,), 2**64 - 1, dtype=np.uint64); np.zeros((2,), dtype=np.bool); np.ones(-1)
np.asarray(3); np.asarray(2.5); np.asarray(True); np.asarray(1j); np.asarray([1, 2]); np.asarray([[1.0], [2.0]]); np.asarray([]); np.asarray([1, 2], dtype=np.float32); np.asarray([[1], [2, 3]])
np.asarray([1, 2.5]); np.asarray([True, 2]); np.asarray((1, 2)); np.asarray([1, 2j]); np.asarray(2**63, dtype=np.uint64)
""".replace("\n", ";").split(";")


@pytest.mark.parametrize("call", [call.strip() for call in CREATION if call.strip()])
def test_creation(call):
    compare(lambda np: eval(call, {"np": np}))


@pytest.mark.parametrize("dtype", DTYPES)
def test_creation_like_another(dtype):
    x = elements((2, 3), dtype)
    compare(lambda np, x: (np.zeros_like(x), np.ones_like(x), np.full_like(x, 1)), x)
    assert xp.empty_like(xp.asarray(x)).shape == (2, 3)
    for other in DTYPES:
        if dtype in COMPLEX and other not in COMPLEX:
            continue
        compare(lambda np, x, dtype: np.zeros_like(x, dtype=getattr(np, dtype)), x, dtype=other)
        compare(
            lambda np, x, dtype: np.astype(x, getattr(np, dtype)),
            abs(x) if other in UNSIGNED else x,
            dtype=other,
        )


def test_copies():
    x = xp.ones(3)
    assert xp.asarray(x).data_ptr() == x.data_ptr() == xp.asarray(x, copy=False).data_ptr()
    assert xp.asarray(x, copy=True).data_ptr() != x.data_ptr()
    assert xp.astype(x, xp.float64).data_ptr() != x.data_ptr()
    assert xp.astype(x, xp.float64, copy=False).data_ptr() == x.data_ptr()
    assert xp.reshape(x, (3, 1), copy=False).data_ptr() == x.data_ptr()
    assert xp.reshape(x, (3, 1), copy=True).data_ptr() != x.data_ptr()
    for call in (lambda: xp.asarray([1], copy=False), lambda: xp.asarray(x, dtype=xp.int8, copy=False)):
        with pytest.raises(ValueError, match="copy"):
            call()
    with pytest.raises(ValueError, match="copy"):
        xp.reshape(xp.ones((2, 3)).T, (6,), copy=False)
    for array in (numpy.ones(3), numpy.ones((3, 2)).T):
        assert xp.asarray(array).data_ptr() == array.ctypes.data == xp.asarray(array, copy=False).data_ptr()


def test_devices():
    x = xp.ones(3, device="cpu")
    assert x.device == weft.device("cpu")
    assert type(x.to_device("cpu")) is xp.ndarray
    for call in (xp.zeros, xp.ones, xp.empty, xp.arange, xp.eye):
        with pytest.raises(ValueError, match="device"):
            call(3, device="tpu")


@pytest.mark.parametrize("dtype", DTYPES)
def test_dlpack(dtype):
    x = elements((2, 3), dtype)
    y = xp.asarray(x.copy())
    back = numpy.from_dlpack(y)
    numpy.testing.assert_array_equal(back, x)
    assert back.dtype == x.dtype and back.ctypes.data == y.data_ptr()
    assert_wanted(xp.from_dlpack(x), x)
    assert xp.from_dlpack(y, copy=True).data_ptr() != y.data_ptr()
    assert y.__dlpack_device__() == (1, 0)


@pytest.mark.parametrize("dtype", REAL + COMPLEX)
def test_finfo(dtype):
    for argument in (getattr(xp, dtype), xp.zeros(1, dtype=getattr(xp, dtype))):
        info, wanted = xp.finfo(argument), numpy.finfo(dtype)
        assert info.dtype is getattr(xp, str(wanted.dtype)) and info.bits == wanted.bits
        for name in ("eps", "max", "min", "smallest_normal"):
            assert type(getattr(info, name)) is float and getattr(info, name) == getattr(wanted, name)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_iinfo(dtype):
    for argument in (getattr(xp, dtype), xp.zeros(1, dtype=getattr(xp, dtype))):
        info, wanted = xp.iinfo(argument), numpy.iinfo(dtype)
        assert info.dtype is getattr(xp, dtype)
        assert (info.bits, info.max, info.min) == (wanted.bits, wanted.max, wanted.min)


def test_questions_about_dtypes():
    kinds = {
        "bool": ["bool"],
        "signed integer": SIGNED,
        "unsigned integer": UNSIGNED,
        "integral": INTEGERS,
        "real floating": REAL,
        "complex floating": COMPLEX,
        "numeric": NUMERIC,
    }
    info = xp.__array_namespace_info__()
    for kind, names in kinds.items():
        assert set(info.dtypes(kind=kind)) == set(names)
        for dtype in DTYPES:
            assert xp.isdtype(getattr(xp, dtype), kind) is (dtype in names)
            assert xp.isdtype(getattr(xp, dtype), (kind, xp.bool)) is (dtype in names or dtype == "bool")
    assert set(info.dtypes()) == set(DTYPES)
    assert set(info.dtypes(kind=("bool", "signed integer"))) == {"bool", *SIGNED}
    assert set(info.capabilities()) == {"boolean indexing", "data-dependent shapes", "max dimensions"}
    for a in DTYPES:
        for b in DTYPES:
            assert xp.can_cast(getattr(xp, a), getattr(xp, b)) is numpy.can_cast(a, b)
            wanted = numpy.result_type(numpy.dtype(a), numpy.dtype(b))
            assert xp.result_type(getattr(xp, a), getattr(xp, b)) is getattr(xp, str(wanted))
            assert xp.result_type(xp.zeros((), dtype=getattr(xp, a)), getattr(xp, b)) is getattr(
                xp, str(wanted)
            )
    assert xp.result_type(xp.float32, 1.5, 2) is xp.float32
    assert xp.bool == xp.asarray(True).dtype and xp.int8 != xp.int16
    with pytest.raises((ValueError, TypeError)):
        xp.isdtype(xp.int8, "no kind")


# ---- linear algebra, Fourier transforms ----------------------------------------------------------------------
LINALG = """
np.matmul(a, b); np.matmul(a, c); np.matmul(a, p); np.matmul(p, a); np.matmul(p, p); np.matmul(b, a); np.matmul(m, s); np.matmul(i, u); a @ p; k @ k
np.tensordot(a, a, axes=3); np.tensordot(a, b, axes=1); np.tensordot(a, a, axes=0); np.tensordot(a, a, axes=((0, 1), (0, 1))); np.tensordot(a, a, axes=((-1,), (-1,))); np.tensordot(m, m, axes=((0,), (1,))); np.tensordot(m, b, axes=2)
np.vecdot(a, a); np.vecdot(a, p); np.vecdot(a, a, axis=0); np.vecdot(a, a, axis=-2); np.vecdot(i, u); np.vecdot(z, z); np.vecdot(a, q); np.vecdot(y, y); np.vecdot(i, i); np.vecdot(a, a, axis=3); np.vecdot(s, s)
np.linalg.vecdot(z, z, axis=0); np.linalg.outer(p, q); np.linalg.outer(i, u); np.linalg.outer(m, p); np.linalg.outer(z1, z1)
np.linalg.cross(a, a); np.linalg.cross(a, q); np.linalg.cross(t, t, axis=0); np.linalg.cross(m, m); np.linalg.cross(q, q); np.linalg.cross(a, q[None, None, :]); np.linalg.cross(p, p)
np.linalg.diagonal(a); np.linalg.diagonal(a, offset=1); np.linalg.diagonal(a, offset=-1); np.linalg.diagonal(p); np.linalg.trace(a); np.linalg.trace(i2); np.linalg.trace(a, offset=1); np.linalg.trace(m, dtype=np.complex128)
np.linalg.det(k); np.linalg.inv(k); np.linalg.cholesky(k); np.linalg.cholesky(k, upper=True); np.linalg.eigvalsh(k); np.linalg.eigh(k).eigenvalues; np.linalg.slogdet(k); np.linalg.solve(k, m4); np.linalg.solve(k, p4); np.linalg.inv(zero)
np.linalg.svdvals(m); np.linalg.svd(m, full_matrices=False).S; abs(np.linalg.qr(k).R); abs(np.linalg.qr(m, mode="complete").Q); np.linalg.pinv(m); np.linalg.matrix_rank(m); np.linalg.matrix_rank(zero)
np.linalg.matrix_power(k, 0); np.linalg.matrix_power(k, 3); np.linalg.matrix_power(k, -2); np.linalg.matrix_norm(m); np.linalg.matrix_norm(m, ord=1, keepdims=True); np.linalg.matrix_norm(m, ord="nuc"); np.linalg.matrix_norm(a, ord=-2)
np.linalg.vector_norm(a); np.linalg.vector_norm(a, axis=1); np.linalg.vector_norm(a, axis=(0, 2), keepdims=True); np.linalg.vector_norm(a, ord=1); np.linalg.vector_norm(a, axis=-1, ord=float("inf")); np.linalg.vector_norm(a, axis=()); np.linalg.vector_norm(s); np.linalg.vector_norm(z, axis=0); np.linalg.vector_norm(a, axis=5)
np.linalg.matrix_transpose(z); np.linalg.det(np.zeros((0, 0))); np.linalg.inv(np.zeros((0, 2, 2))); np.linalg.det(m)
np.fft.fft(p); np.fft.fft(a, axis=1, n=5); np.fft.ifft(z, norm="ortho"); np.fft.fftn(a, axes=(0, 2)); np.fft.ifftn(z); np.fft.rfft(a, axis=0); np.fft.irfft(z, n=7); np.fft.rfftn(a); np.fft.irfftn(z); np.fft.hfft(z1); np.fft.ihfft(p, norm="forward")
np.fft.fftfreq(5); np.fft.fftfreq(4, d=0.5); np.fft.rfftfreq(5); np.fft.fftshift(a); np.fft.ifftshift(a, axes=(0, 1)); np.fft.fftshift(p, axes=0); np.fft.fft(f4); np.fft.rfft(f4); np.fft.fft(p, axis=3); np.fft.fft(p, n=0)
""".replace("\n", ";").split(";")
MATRICES = {
    "a": elements((2, 4, 3), "float64"),
    "b": elements((3, 5), "float64"),
    "c": elements((2, 3, 2), "float64"),
    "t": elements((3, 4), "float64"),
    "m": elements((4, 3), "float64"),
    "m4": elements((4, 3), "float64"),
    "p": elements((3,), "float64"),
    "p4": elements((4,), "float64"),
    "q": elements((3,), "float64"),
    "i": elements((2, 3), "int16"),
    "i2": elements((3, 3), "int16"),
    "u": elements((3,), "uint8"),
    "y": elements((2, 3), "bool"),
    "z": elements((2, 4), "complex128"),
    "z1": elements((4,), "complex64"),
    "f4": elements((6,), "float32"),
    "s": numpy.asarray(2.0),
    "k": numpy.eye(4) * 9 + 1,
    "zero": numpy.zeros((3, 3)),
}


@pytest.mark.parametrize("call", [call.strip() for call in LINALG if call.strip()])
def test_linear_algebra_and_transforms(call):
    names = [name for name in MATRICES if name in _words(call)]
    program = eval(f"lambda np, {', '.join(names)}: {call}")
    compare(program, *(MATRICES[name] for name in names))


# ---- in general ----------------------------------------------------------------------------------------------
def test_the_namespace_of_arrays():
    x = xp.ones(3)
    assert x.__array_namespace__() is xp and x.__array_namespace__(api_version="2024.12") is xp
    assert x.size == 3 and x.ndim == 1 and x.shape == (3,) and isinstance(x, weft.Tensor)
    assert [type(row) for row in xp.ones((2, 2))] == [xp.ndarray] * 2


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(data=st.data())
def test_reductions_of_any_shape(data):
    shape = tuple(data.draw(st.lists(st.integers(0, 4), max_size=4)))
    axes = st.integers(-len(shape) - 1, len(shape))
    some = st.none() | axes | st.lists(axes, max_size=3).map(tuple)
    axis = data.draw(some if shape else st.none())
    name = data.draw(st.sampled_from(["sum", "prod", "all", "any", "max", "min", "count_nonzero"]))
    keepdims = data.draw(st.booleans())
    compare(
        lambda np, x, **rest: getattr(np, name)(x, **rest),
        elements(shape, "int32"),
        axis=axis,
        keepdims=keepdims,
    )


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(data=st.data())
def test_indexing_of_any_shape(data):
    shape = tuple(data.draw(st.lists(st.integers(0, 4), max_size=3)))
    item = (
        st.integers(-5, 5)
        | st.none()
        | st.just(...)
        | st.booleans()
        | st.builds(slice, *[st.none() | st.integers(-5, 5)] * 2, st.none() | st.sampled_from([1, 2, -1]))
    )
    key = tuple(data.draw(st.lists(item, max_size=4)))
    compare(lambda np, x: x[key], elements(shape, "int32"))


def test_compiled_functions_keep_arrays_and_tensors_apart():
    def program(x, y):
        return x + y, (x, xp.sum(y, axis=0))

    compiled = weft.compile(program)
    for _ in range(2):
        for make in (xp.asarray, weft.Tensor):
            x, y = make(xp.asarray(2.5)), make(xp.asarray([[1.5, 2.5]], dtype=xp.float32))
            got, (same_x, total) = compiled(x, y)
            assert type(got) is type(x + y) and got.dtype == (x + y).dtype
            assert type(same_x) is type(x) and type(total) is xp.ndarray
            numpy.testing.assert_array_equal(got.numpy(), (x + y).numpy())


def test_traced_functions_promote_as_the_arrays_do():
    def program(x, y):
        return xp.add(x, y)[0] * 2 - xp.sum(y, axis=0) + x.T

    x, y = xp.asarray(numpy.asarray(2.5)), xp.asarray(numpy.asarray([1.5, 2.5], "float32"))
    traced = weft.jit.trace(program, (x, y))
    for a, b in ((x, y), (x + 1, y * 2)):
        assert traced(a, b).dtype == weft.float64
        numpy.testing.assert_allclose(traced(a, b).numpy(), program(a, b).numpy())


def test_arrays_are_pickled_as_arrays():
    import copy
    import pickle

    x = xp.asarray([1, 2], dtype=xp.int16)
    for y in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy(x)):
        assert_wanted(y, numpy.asarray([1, 2], "int16"))
