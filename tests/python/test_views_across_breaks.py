"""Views that the graph computes as arrays of their own (parts of complex numbers, other dtypes, repeated elements) look at
one memory with their arrays outside of it, too: updates of either reach the other, also across a graph break."""

import numpy as np
import pytest
import weft


def pause():
    print(end="")


def parts(z):
    v, w = z.real[1:], z.imag
    pause()
    v[0] = 9
    z[1] = 5 - 3j
    w[:1] += v[-1]
    return v, w, z


def parts_of_what_is_made(z):
    y = z * 2
    v, w = y.real[1:], y.imag[::2]
    y += 1
    pause()
    v[:] = 4
    y[0] = 3j
    return v, w, y


def parts_updated_inside(z):
    y = z + 1
    v = y.real
    v[1:] *= 2
    y.imag[::-1][0] = 7
    y.T.real[1] -= 3
    return v, y.imag, y


def parts_assigned(z):
    z.real += 1
    z.imag = z.real[::-1]
    pause()
    z.real = 0.5
    return z


def only_a_part(z):
    y = z * 2
    v = y.real.T
    y += 1
    return v


def bits(z):
    v = z.real.copy()
    b = v.view(np.int64)[1:]
    f = z.view(np.float64)
    pause()
    b[0] = 0
    f[..., :1] = 8
    return v, b, f, z


def repeated(z):
    y = z.real + 1
    v = np.broadcast_to(y, (2, *y.shape))
    w, _ = np.broadcast_arrays(z, np.ones((3, *z.shape)))
    pause()
    y[0] = 9
    z[1] = 4
    return v, v.copy(), w, y, z


def read_only(z):
    try:
        np.broadcast_to(z, (2, *z.shape))[0] = 1
    except ValueError as error:
        return str(error)


def imaginary_of_real(z):
    try:
        z.real.copy().imag[1:] = 1
    except ValueError as error:
        return str(error)


def diagonal_of(z):
    try:
        np.diag(z[..., None] * z)[0] = 1
    except ValueError as error:
        return str(error)


def updated_slice(z):
    y = np.where(z.real > 1, z, 2)
    v = y[1]
    y.T[:1] += 1
    return v


Z = (np.arange(4) + 2) * (1 - 2j)
ARGUMENTS = {
    "1-d": Z,
    "2-d": np.arange(6).reshape(2, 3) * (1 + 3j),
    "Fortran": np.asfortranarray(np.arange(6).reshape(3, 2) * 2j),
}


def layout(results):
    arrays = [r for r in results if isinstance(r, np.ndarray)]
    return [[np.shares_memory(a, b) for a in arrays] for b in arrays], [
        (a.strides, a.flags.writeable) for a in arrays
    ]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # the flags of what broadcast_arrays gives
@pytest.mark.parametrize("argument", ARGUMENTS)
@pytest.mark.parametrize(
    "function",
    [
        parts,
        parts_of_what_is_made,
        parts_updated_inside,
        parts_assigned,
        only_a_part,
        bits,
        repeated,
        read_only,
        imaginary_of_real,
        diagonal_of,
        updated_slice,
    ],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("interpreted", [True, False], ids=["interpreted", "compiled"])
def test_updates_reach_the_memory(function, argument, interpreted, monkeypatch):
    if argument == "Fortran" and function is bits:
        pytest.skip("NumPy takes no elements of another size of it")
    monkeypatch.setenv("WEFT_INTERPRET", "1" if interpreted else "0")
    compiled = weft.compile(function)
    for _ in range(2):
        outcomes = []
        for run in (function, compiled):
            given = ARGUMENTS[argument].copy(order="K")
            result = run(given)
            result = result if isinstance(result, tuple) else (result,)
            outcomes.append((given, result, layout([*result, given])))
        (given, expected, places), (weft_given, results, weft_places) = outcomes
        np.testing.assert_array_equal(weft_given, given)
        for one, other in zip(results, expected):
            np.testing.assert_array_equal(one, other)
        assert weft_places == places


def test_parts_stay_in_the_graph():
    for function in (parts_updated_inside, only_a_part):
        assert not weft.compiler.explain(function)(Z.copy()).breaks


def test_parts_on_meta():
    with weft.device("meta"):
        for function, dtype in (
            (lambda z: (z * 2).imag, weft.float64),
            (lambda z: z.view(np.int64), weft.int64),
        ):
            value = weft.compile(function)(Z)
            assert (value.device.type, value.shape, value.dtype) == (
                "meta",
                (8,) if dtype == weft.int64 else (4,),
                dtype,
            )


@pytest.mark.parametrize("copied", ["np.where(a, a, a)", "np.maximum(a, a)", "a.copy()", "a + 0", "a * 1"])
def test_copies_of_what_is_updated_share_memory_with_their_views(copied):
    names = {"np": np}
    source = f"""
def program(a):
    a += a
    b = {copied}
    c = b.T
    print(end="")
    c[:1] = 7
    return a, b, c
"""
    exec(source, names)
    program = names["program"]
    compiled = weft.compile(program)
    for _ in range(4):
        for shape in ((2, 3), (1, 1, 3), (5,)):
            a, b = np.ones(shape, np.int32), np.ones(shape, np.int32)
            for actual, expected in zip(compiled(a), program(b), strict=True):
                np.testing.assert_array_equal(actual, expected)
            np.testing.assert_array_equal(a, b)
