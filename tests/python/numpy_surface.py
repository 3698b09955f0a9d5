"""Every public name of numpy, ndarray, numpy.linalg and numpy.fft, with sample calls or the reason why there is none.

`python tests/python/numpy_surface.py` prints what compiles; scripts/docs writes the same as docs/WHAT_COMPILES.md, and
test_numpy_surface.py holds it to what it says.
"""

import dataclasses
import itertools
import sys
import types
import warnings

import numpy as np
import weft
from numpy_samples import SAMPLES_TEXT

ARRAYS = {
    "f": np.array([[1.5, -2.25, 0.5, 3.0], [4.0, 0.125, -1.0, 2.5], [0.0, 7.5, -3.5, 1.0]]),
    "g": np.array([[2.0, 1.25, 0.5, 3.5], [1.0, 4.0, 2.0, 0.75], [6.0, 1.5, 2.5, 1.0]]),
    "p": np.array([[0.5, -0.25, 0.75, 0.125], [-0.5, 0.0, 0.25, -0.75]]),
    "v": np.array([0.5, -1.5, 2.5, 3.5, -4.5, 1.0]),
    "w": np.array([-2.0, -0.5, 1.0, 1.5, 4.0, 8.0]),
    "d": np.array([3.0, 1.0, 2.0, 1.0, 3.0, 1.0, 2.0]),
    "s": np.array([[1.5, -2.25, 0.5], [4.0, 0.125, -1.0]], dtype=np.float32),
    "half": np.array([1.5, -2.25, 0.5, 4.0], dtype=np.float16),
    "i": np.array([[5, 2, -7, 1], [0, 3, 8, -2], [4, 4, 1, 6]]),
    "j": np.array([[1, 2, 3, 4], [2, 1, 3, 5], [1, 1, 2, 2]]),
    "k": np.array([2, 0, 3, 1, 2, 2]),
    "u": np.array([3, 200, 17, 4], dtype=np.uint8),
    "b": np.array([[True, False, True, True], [False, False, True, False], [True, True, False, False]]),
    "c": np.array([True, False, True, False]),
    "z": np.array(
        [[1.5 + 1j, -2.25j, 0.5, 3.0 - 2j], [4.0, 0.125 + 2j, -1.0, 2.5 - 1j], [1j, 7.5, -3.5, 1.0 + 1j]]
    ),
    "n": np.array([[1.5, np.nan, 0.5, 3.0], [np.nan, 0.125, -1.0, 2.5], [0.0, 7.5, np.nan, 1.0]]),
    "m": np.array([[4.0, 1.0, 0.5, 0.0], [1.0, 3.0, 0.25, 0.5], [0.5, 0.25, 5.0, 1.0], [0.0, 0.5, 1.0, 2.0]]),
    "h": np.array(
        [[2.0, 1.0, -0.5, 0.0], [1.5, 3.0, 0.25, 0.5], [0.0, -0.25, 4.0, 1.0], [0.5, 0.75, 1.0, 1.5]]
    ),
    "hz": np.array([[2.0 + 1j, 1.0, -0.5], [1.5, 3.0 - 2j, 0.25j], [0.0, -0.25, 4.0]]),
    "cube": np.arange(24.0).reshape(2, 3, 4) - 7.5,
    "r": np.array([2, 0, -1]),
    "F": np.asfortranarray(np.array([[1.5, -2.25, 0.5], [4.0, 0.125, -1.0], [2.0, 6.0, 8.0]])),
}

METHODS_TEXT = """
T mT: f.NAME + 0 || z.NAME + 0 || F.NAME + 0
real: f.NAME + 0 || z.NAME + 0 || F.NAME + 0 || z.real = f; z
imag: f.NAME + 0 || z.NAME + 0 || F.NAME + 0 || z.imag = 2; z
size ndim shape dtype itemsize nbytes: f.NAME || cube.T.NAME
strides: f.strides || f.T.strides || (f + 1).strides
flags: f.flags.c_contiguous || f.T.flags['F_CONTIGUOUS'] || (f + 1).flags.writeable
base: f.base is None || x = f + 1; x.base is None || f[1:].base is f || x = f + 1; y = x[1:]; y.base is x
flat: [x for x in f.flat][0] + 1 || np.sum(F.flat) || f.flat[3] || f.flat[2:5] || F.flat[k] || F.flat[1:5] = [1, 2]; F || f.flat[::2] = 0; f || f.flat = v; f || F.flat[F.ravel() > 1] = 7; F
device: f.device
all any: b.NAME() || b.NAME(axis=1)
argmax argmin: f.NAME() || f.NAME(axis=1)
argpartition: np.sort(v[v.argpartition(2)[:2]])
argsort: v.argsort() || d.argsort(kind='stable')
astype: f.astype(np.float32) || f.astype(int) || f.astype('f4', copy=False) || z.astype(np.complex64) || f.astype(bool) || F.astype(np.float32, order='C') || f.astype(np.float32, casting='same_kind')
byteswap: i.byteswap() || z.byteswap() || f.byteswap(inplace=True); f
choose: (k % 2).choose([v, w])
clip: f.clip(-1, 2) || f.clip(max=1.0)
compress: f.compress([True, False, True], axis=0)
conj conjugate: z.NAME() || f.NAME()
copy: f.copy() || F.copy() || F.copy(order='K') || f.copy('F')
cumprod cumsum: f.NAME() || f.NAME(axis=1)
diagonal: m.diagonal() + 0
dot: m.dot(h) || v.dot(w)
fill: f.fill(2.5); f
flatten: f.flatten() || f.flatten('F') || F.flatten()
getfield setfield: -
item: f.item(2) || f[0, 0].item() || v.sum().item() || f.item(1, 2)
max min mean sum prod std var: f.NAME() || f.NAME(axis=0) || f.NAME(1, keepdims=True) || i.NAME(axis=-1)
nonzero: b.nonzero()
partition: v.partition(2); v[2]
put: f.put([0, 5], [9.0, 8.0]); f
ravel: f.ravel() || f.ravel('F') || f.T.ravel()
repeat: f.repeat(2) || f.repeat(2, axis=0)
reshape: f.reshape(4, 3) || f.reshape(-1) || f.reshape((2, 6)) || f.reshape(4, -1, order='F')
resize: -
round: f.round() || (f / 7).round(2)
searchsorted: w.searchsorted(v) || w.searchsorted(v, 'right')
sort: f.sort(); f || f.sort(axis=0); f || v.sort(kind='stable'); v
squeeze: f[None].squeeze()
swapaxes: cube.swapaxes(0, 1)
take: f.take(r) || f.take(r, axis=0)
to_device: f.to_device('cpu') + 0
tolist: v.tolist() || f.tolist() || i.tolist()
tobytes: v.tobytes()
setflags: v.setflags(write=False); v.flags.writeable
trace: m.trace()
transpose: f.transpose() || cube.transpose(1, 0, 2) || cube.transpose((2, 0, 1))
view: f.view(np.int64) || f.view() + 1 || z.view(np.float64) * 2 || f.view(np.complex128) || s.view(np.uint8) || F.view(np.int64) || (f * 2).view(np.uint64) >> np.uint64(52) || f[0, 0].view(np.int64) || f.view(np.ndarray) + 1
__abs__: abs(f)
__add__ __radd__ __iadd__: f + g || 2 + f || f + i || z + f || s + 1.5 || f += g; f || f[1:] += 1; f
__sub__ __rsub__ __isub__: f - g || 2 - f || f -= g; f
__mul__ __rmul__ __imul__: f * g || 2 * f || f *= g; f || u * 2
__truediv__ __rtruediv__ __itruediv__: f / g || 2 / g || f /= g; f || i / j
__floordiv__ __rfloordiv__ __ifloordiv__: f // g || i // j || 7 // j || i //= j; i
__mod__ __rmod__ __imod__: f % g || i % j || 7 % j || i %= j; i
__divmod__ __rdivmod__: divmod(i, j) || divmod(f, g) || divmod(7, j)
__pow__ __rpow__ __ipow__: g ** f || f ** 2 || f ** 3 || g ** -1 || g ** 0.5 || 2 ** f || i ** 2 || f **= 2; f || s ** 2.5
__and__ __rand__ __iand__ __or__ __ror__ __ior__ __xor__ __rxor__ __ixor__: i & j || i | j ^ 3 || b & b[::-1] || 3 & i || i &= j; i
__lshift__ __rlshift__ __ilshift__ __rshift__ __rrshift__ __irshift__: i << j || j >> 1 || 1 << j || i <<= j; i
__invert__: ~i || ~b
__neg__ __pos__: -f || +f || -i
__matmul__ __rmatmul__ __imatmul__: f @ g.T || cube @ m || m @= h; m || v @ w
__eq__ __ne__ __lt__ __le__ __gt__ __ge__: f == g || f != 1 || f < g || i <= 2 || f > 0 || 2 >= g
__bool__ __float__ __int__ __complex__ __index__: float(v[0]) || int(k[0]) || bool(v[0] > 0) || complex(z[0, 0]) || float(v.sum()) * 2 || int(v[2])
__contains__: 3.0 in f
__iter__: [row.sum() for row in f] || sum(x for x in v)
__len__: len(f) || len(cube[0])
__getitem__: f[0] || f[1, 2] || f[1:, ::2] || f[::-1] + 0 || f[..., 1] || f[None] || f[r] || f[:, k] || f[r, r] || f[[0, 2]] || f[:, [True, False, True, False]] || f[b] || f[f > 1].sum() || cube[k[:2] % 2, :, k[:2]] || f[b[:, 0]] || cube[0, ..., [1, 2]] || f[1][2] || f[(0, 1)] || f[-1] || cube[:, f[:, 0] > 0]
__setitem__: f[0] = 1.0; f || f[1:, 0] = g[1:, 0]; f || f[r] = 2.5; f || f[f < 0] = 0; f || f[b] = 7; f || f[:] = g; f || f[r, r] = v[:3]; f || f[f > 2] = [1.0, 2.0, 3.0, 4.0]; f || f[:, ::-1] = f; f || f[1:] = f[:-1]; f || f[b] = g[b]; f || f[b] += 1; f || f[...] = 3; f
__copy__ __deepcopy__: copy.copy(f) || copy.deepcopy(f)
"""

LINALG_TEXT = """
matrix_power: np.linalg.matrix_power(m, 3) || np.linalg.matrix_power(m, -2) || np.linalg.matrix_power(m, 0)
solve: np.linalg.solve(m, h) || np.linalg.solve(m, m[0]) || np.linalg.solve(np.stack([m, h]), np.stack([h, m])) || np.linalg.solve(hz, hz)
tensorsolve: np.linalg.tensorsolve(m.reshape(2, 2, 4), h[0].reshape(2, 2))
tensorinv: np.linalg.tensorinv(m.reshape(4, 2, 2), ind=1)
inv: np.linalg.inv(m) || np.linalg.inv(np.stack([m, h])) || np.linalg.inv(hz)
cholesky: np.linalg.cholesky(m) || np.linalg.cholesky(m, upper=True)
eigvals: np.sort_complex(np.linalg.eigvals(h)) || np.sort(np.linalg.eigvals(m))
eigvalsh: np.linalg.eigvalsh(m) || np.linalg.eigvalsh(np.stack([m, m + np.eye(4)]))
pinv: np.linalg.pinv(f) || np.linalg.pinv(m)
slogdet: np.linalg.slogdet(m) || np.linalg.slogdet(np.stack([m, h])).logabsdet
det: np.linalg.det(m) || np.linalg.det(np.stack([m, h])) || np.linalg.det(hz)
svd: np.linalg.svd(f)[1] || np.linalg.svd(f, compute_uv=False) || np.linalg.svd(f, full_matrices=False).S
svdvals: np.linalg.svdvals(f)
eig: np.linalg.eig(h).eigenvalues
eigh: np.linalg.eigh(m).eigenvalues || np.abs(np.linalg.eigh(m)[1])
lstsq: np.linalg.lstsq(f, v[:3])[0] || np.linalg.lstsq(f.T, w[:4])
norm: np.linalg.norm(v) || np.linalg.norm(f) || np.linalg.norm(f, axis=1) || np.linalg.norm(f, 'fro') || np.linalg.norm(f, 1) || np.linalg.norm(f, np.inf) || np.linalg.norm(f, 2) || np.linalg.norm(f, 'nuc') || np.linalg.norm(v, 1) || np.linalg.norm(v, -np.inf) || np.linalg.norm(v, 3) || np.linalg.norm(z, axis=0) || np.linalg.norm(cube, axis=(1, 2)) || np.linalg.norm(s)
qr: np.abs(np.linalg.qr(m)[1]) || np.abs(np.linalg.qr(f.T).Q) || np.abs(np.linalg.qr(f, mode='r'))
cond: np.linalg.cond(m) || np.linalg.cond(m, 1)
matrix_rank: np.linalg.matrix_rank(m)
multi_dot: np.linalg.multi_dot([m, h, m])
trace: np.linalg.trace(m) || np.linalg.trace(cube, offset=1)
diagonal: np.linalg.diagonal(cube) + 0
cross: np.linalg.cross(f[:, :3], g[:, :3])
outer: np.linalg.outer(v, w)
tensordot: np.linalg.tensordot(f, g, axes=2)
matmul: np.linalg.matmul(m, h)
matrix_transpose: np.linalg.matrix_transpose(cube)
matrix_norm: np.linalg.matrix_norm(cube) || np.linalg.matrix_norm(m, ord=1) || np.linalg.matrix_norm(m, ord=2)
vector_norm: np.linalg.vector_norm(f) || np.linalg.vector_norm(f, axis=1) || np.linalg.vector_norm(f, ord=1, axis=0, keepdims=True)
vecdot: np.linalg.vecdot(f, g)
"""

FFT_TEXT = """
fft ifft: np.fft.NAME(v) || np.fft.NAME(z, axis=0) || np.fft.NAME(v, 8) || np.fft.NAME(f, norm='ortho') || np.fft.NAME(s)
rfft: np.fft.rfft(v) || np.fft.rfft(f, axis=0) || np.fft.rfft(v, 5)
irfft: np.fft.irfft(z[0]) || np.fft.irfft(z, 5)
hfft: np.fft.hfft(z[0])
ihfft: np.fft.ihfft(v)
rfftn rfft2: np.fft.NAME(f) || np.fft.NAME(cube)
irfftn irfft2: np.fft.NAME(z)
fftn fft2 ifftn ifft2: np.fft.NAME(f) || np.fft.NAME(z) || np.fft.NAME(f, s=(4, 4))
fftshift ifftshift: np.fft.NAME(v) || np.fft.NAME(f) || np.fft.NAME(f, axes=0)
fftfreq rfftfreq: np.fft.NAME(6, 0.5)
"""

# Names without samples, by reason.
NOT_ARRAYS = {
    "a type, a class or a constant": """
        ScalarType __version__ little_endian sctypeDict typecodes
        bool bool_ byte bytes_ cdouble character clongdouble complex128 complex256 complex64 complexfloating csingle
        datetime64 double dtype finfo flexible float128 float16 float32 float64 floating generic half iinfo inexact int16
        int32 int64 int8 int_ intc integer intp long longdouble longlong ndarray number object_ short signedinteger single
        str_ timedelta64 ubyte ufunc uint uint16 uint32 uint64 uint8 uintc uintp ulong ulonglong unsignedinteger ushort
        void poly1d""",
    "a module": "char core ctypeslib dtypes emath exceptions f2py fft lib linalg ma polynomial random rec strings testing typing",
}
RUN_IN_NUMPY = {
    "files, text and raw memory": """
        array2string array_repr array_str base_repr binary_repr format_float_positional format_float_scientific
        frombuffer fromfile fromiter fromregex fromstring genfromtxt load loadtxt save savetxt savez savez_compressed
        memmap""",
    "settings of the process": """
        get_include get_printoptions getbufsize info printoptions set_printoptions setbufsize
        show_config show_runtime test __array_namespace_info__""",
    "objects, dates, records, matrices and other subclasses": """
        asmatrix bmat busday_count busday_offset busdaycalendar datetime_as_string datetime_data is_busday isnat matrix
        recarray record""",
    "iterators that are objects": "broadcast flatiter frompyfunc ndenumerate nditer nested_iters",
}
METHODS_RUN_IN_NUMPY = {
    "files, text and raw memory": "ctypes data dump dumps tofile getfield setfield",
    "changes the array's own shape": "resize",
    "protocols": """
        __array__ __array_finalize__ __array_function__ __array_interface__ __array_namespace__ __array_priority__
        __array_struct__ __array_ufunc__ __array_wrap__ __class__ __class_getitem__ __delattr__ __delitem__ __dir__
        __dlpack__ __dlpack_device__ __doc__ __format__ __getattribute__ __getstate__ __hash__ __init__
        __init_subclass__ __new__ __reduce__ __reduce_ex__ __repr__ __setattr__ __setstate__ __sizeof__ __str__
        __subclasshook__""",
}


@dataclasses.dataclass
class Outcome:
    """What one sample did: status is compiled, breaks (with its reason), differs or raises."""

    sample: str
    status: str
    detail: str = ""


def parse(text):
    """Samples by name; NAME stands for the name."""
    table = {}
    for line in filter(None, text.strip().split("\n")):
        names, _, samples = line.partition(": ")
        for name in names.split():
            table[name] = [s.strip().replace("NAME", name) for s in samples.split(" || ") if s.strip() != "-"]
    return table


def words(groups):
    return {word: reason for reason, text in groups.items() for word in text.split()}


def tables():
    """(title, prefix, all public names, samples, names that have none with their reasons) for each part."""
    main = {**words(NOT_ARRAYS), **words(RUN_IN_NUMPY)}
    return [
        ("numpy", "np.", sorted(np.__all__), parse(SAMPLES_TEXT), main),
        # __buffer__: every object with a buffer has it, from Python 3.12 on.
        (
            "numpy.ndarray",
            ".",
            sorted(set(dir(np.ndarray)) - {"__buffer__"}),
            parse(METHODS_TEXT),
            words(METHODS_RUN_IN_NUMPY),
        ),
        (
            "numpy.linalg",
            "np.linalg.",
            sorted(np.linalg.__all__),
            parse(LINALG_TEXT),
            {"LinAlgError": "a type, a class or a constant"},
        ),
        ("numpy.fft", "np.fft.", sorted(np.fft.__all__), parse(FFT_TEXT), {}),
    ]


def program(sample):
    """The sample as a function, and the arrays it takes."""
    *statements, result = (part.strip() for part in sample.split(";"))
    body = "".join(f"    {statement}\n" for statement in statements) + f"    return {result}\n"
    code = compile("\n".join([*statements, result]), "<sample>", "exec")
    names = [name for name in ARRAYS if name in names_in(code)]
    scope = {"np": np, "copy": __import__("copy")}
    exec(f"def sample({', '.join(names)}):\n{body}", scope)
    return scope["sample"], names


def names_in(code):
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= names_in(constant) - set(constant.co_varnames[: constant.co_argcount])
    return found


def arguments(names):
    return [ARRAYS[name].copy(order="K") for name in names]


def difference(actual, expected, rtol):
    """What differs, as text; empty where nothing does."""
    if type(actual) is not type(expected):
        return f"type {type(actual).__name__}, NumPy gives {type(expected).__name__}"
    if isinstance(expected, tuple | list):
        if len(actual) != len(expected):
            return f"{len(actual)} items, NumPy gives {len(expected)}"
        return next(filter(None, (difference(a, e, rtol) for a, e in zip(actual, expected))), "")
    if not isinstance(expected, np.ndarray | np.generic):
        return "" if actual == expected else f"{actual!r}, NumPy gives {expected!r}"
    if actual.dtype != expected.dtype or actual.shape != expected.shape:
        return f"{actual.dtype}{list(actual.shape)}, NumPy gives {expected.dtype}{list(expected.shape)}"
    if isinstance(expected, np.ndarray) and expected.size > 1:
        ours, theirs = ((a.flags.c_contiguous, a.flags.f_contiguous) for a in (actual, expected))
        if any(theirs) and ours != theirs:
            return f"memory order (C, F) {ours}, NumPy gives {theirs}"
    if expected.dtype.kind in "fc":
        scale = rtol * max(np.finfo(expected.dtype).eps / np.finfo(np.float64).eps, 1)
        equal = np.isclose(actual, expected, rtol=scale, atol=scale, equal_nan=True)
    else:
        equal = np.asarray(actual == expected)
    return "" if np.all(equal) else f"{actual!r}, NumPy gives {expected!r}"


def run(function, names):
    args = arguments(names)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return function(*args), args


def measure(sample, rtol=1e-13):
    try:
        function, names = program(sample)
        expected, expected_args = run(function, names)
    except Exception as error:
        return Outcome(sample, "NUMPY RAISES", repr(error))
    try:
        compiled = weft.compile(function, fullgraph=True)
        for _ in range(2):
            actual, actual_args = run(compiled, names)
            problem = difference(actual, expected, rtol) or difference(actual_args, expected_args, rtol)
            if problem:
                return Outcome(sample, "differs", problem)
    except RuntimeError as error:
        return Outcome(sample, "breaks", reason_of(error))
    except Exception as error:
        return Outcome(sample, "raises", f"{type(error).__name__}: {error}")
    return Outcome(sample, "compiled")


def reason_of(error):
    return str(error).split("\n")[0].removeprefix("weft.compile(fullgraph=True): ")


def survey(title_wanted=None, only=()):
    """(title, name, status, outcomes): status is compiled, partly, breaks, missing, or why there is nothing to compile."""
    for title, _, names, samples, reasons in tables():
        for name in names:
            if (title_wanted and title != title_wanted) or (only and name not in only):
                continue
            if name in reasons:
                yield title, name, reasons[name], []
                continue
            outcomes = [measure(sample) for sample in samples.get(name, [])]
            kinds = {outcome.status for outcome in outcomes}
            if not outcomes:
                status = "missing"
            elif kinds == {"compiled"}:
                status = "compiled"
            else:
                status = "partly" if "compiled" in kinds else "breaks"
            yield title, name, status, outcomes


def stale():
    """Names in the tables that this NumPy does not have."""
    for title, _, names, samples, reasons in tables():
        yield from (f"{title}.{name}" for name in [*samples, *reasons] if name not in names)


PAGE = """# What compiles

Generated by `make docs` from the sample calls in `tests/python/numpy_surface.py`, NumPy {version}; do not edit.

Each public name of NumPy that works on arrays of numbers and truth values is called under
`weft.compile(fullgraph=True)` in the usual ways, and the result is compared with NumPy's: values, dtype, shape, scalar
or array, memory order. *Compiled* means that no sample leaves the graph. What does leave it (a graph break) is run by
NumPy itself at that place, with the same result, and compiled code goes on behind it.
`weft.compiler.explain(f)(*arguments)` shows the breaks of a function of yours. A loop that runs round by round, by Python or a
segment each, is named on stderr with its line and the reason, once, after 2000 rounds. So is a loop that is no native code and of
which one graph holds more than 16 rounds (as many as the taps of a stencil or the layers of a model are unrolled without a word), and
a function that is Python's from some line on, or altogether because that has been faster. `explain` and `weft compile --report` list them, each with what to do about it.

What selects by value (`a[mask]`, `nonzero`, `unique`, `bincount`, ...) gives a result whose size depends on the elements.
There a segment ends, weft's operator runs, and the next segment goes on with that size as a symbol: it is compiled for
no element, one, and any larger number, whatever the numbers are. That is no graph break. NumPy itself runs between two
segments in this way for `partition` and `argpartition` (the order within the parts is NumPy's own), `unique` of complex numbers,
`unique_values` of floats, the number of bins that a name asks for (`bins="auto"`) and quantiles with weights. `unique_values` of
integers gives sorted elements, where NumPy's may come in any order. What tells of memory only (flags, strides and base of what is made inside,
`shares_memory`, `tobytes`, `setflags`, assignments to `shape`) and the assertions of `numpy.testing` are performed by Python between
two segments, too. Assignments through a `view` of another dtype, or beside one, are run by NumPy. So are functions that are given
an array of a class of its own (`np.ma`, `np.matrix`, a subclass, an object with `__array__` or `__array_function__`), arrays whose
dtype names parts of its numbers or carries metadata, and all of a call from `x.resize(...)` on, which counts references.

Results are NumPy's bit for bit, except where NumPy itself promises no order: sums of floating-point numbers and what is
made of them (`sum`, `mean`, `var`, `dot`, `matmul`, `cumsum`, linear algebra) differ by the rounding of another order, a
relative error of at most n times the machine epsilon for n terms, and elementary functions (`exp`, `sin`, ...) stay
within the error that docs/operators.md states for each. Eigenvectors, singular vectors and the like are unique up to
their sign only. Products of complex numbers differ by the last place: NumPy fuses their multiplications and additions
where the processor can. Where a partial sum may overflow, one order may reach an infinity that another does not. Which of
0.0 and -0.0 an extreme, a sort, a quantile or a set operation gives, and the sign of a sum of zeros, follow NumPy's vector
instructions; which parts of a sum of products of infinite complex numbers are NaN follows the order. What
NumPy gives read-only (`broadcast_to`, the imaginary part of real numbers) may be an array of its own. Arrays of three and more dimensions that are computed from permuted ones come in C order.

RuntimeWarnings at a division by zero, an overflow or an invalid operation are NumPy's: where the processor's flags tell
that something may have happened, NumPy runs that part of the function too, from the state it began with, and warns, or
does not, with its own text and the line of the program; the results are those of compiled code. With filters that show a
warning once per line (the default), NumPy is asked again after twice as many runs with raised flags each time it had
nothing new to show, until `warnings.filters` change; with "error" and "always" every time
(`weft.compiler.stats()["warning_runs"]` counts). A part that updates its arguments in place warns at its first run, and
later in the run that follows the error. Where a warning is raised as an exception, arrays and objects are as NumPy would have left them.
Not noticed are: what is computed while a function is captured, or never used (under a state that asks for more than warnings, both are); overflow of integer scalars, and of floating ones in
native loops; `where=` of a ufunc counts like a computation of all elements.
`numpy.errstate` (as a context manager or a decorator), `seterr` and `geterr` end a segment, without a graph break; compiled code
runs under the state that then is. Where the state asks for more than a warning ("raise", "call", "print", "log") and a flag is
raised (for "under", too), NumPy performs that part instead, and all that follows in this call; such loops do not run natively,
no constant is computed beforehand, and what nobody reads is computed as well. An
`arctanh` beyond 1 raises no flag.

| | names | compiled | compiled but for some calls | run by NumPy | nothing to compile |
|---|---|---|---|---|---|
"""


def page(rows=None, keywords=""):
    """docs/WHAT_COMPILES.md, from survey()'s rows (outcomes as objects or dicts) and what numpy_keywords.py says."""
    rows = [
        (title, name, status, [Outcome(**o) if isinstance(o, dict) else o for o in outcomes])
        for title, name, status, outcomes in (rows or survey())
    ]
    text = PAGE.format(version=".".join(np.__version__.split(".")[:2]))
    titles = list(dict.fromkeys(row[0] for row in rows))
    for title in titles:
        statuses = [status for t, _, status, _ in rows if t == title]
        counts = [statuses.count(status) for status in ("compiled", "partly", "breaks")]
        text += f"| `{title}` | {len(statuses)} | {' | '.join(map(str, counts))} | {len(statuses) - sum(counts)} |\n"
    for title in titles:
        text += f"\n## {title}\n"
        part = [(name, status, outcomes) for t, name, status, outcomes in rows if t == title]
        compiled = [f"`{name}`" for name, status, _ in part if status == "compiled"]
        text += f"\nCompiled: {', '.join(compiled)}.\n" if compiled else ""
        broken = [
            (name, status, outcome)
            for name, status, outcomes in part
            for outcome in outcomes
            if status in ("partly", "breaks") and outcome.status != "compiled"
        ]
        if broken:
            text += "\n| name | run by NumPy | why |\n|---|---|---|\n"
            for name, group in itertools.groupby(broken, key=lambda row: row[0]):
                for _, status, outcome in group:
                    call = "always" if status == "breaks" else f"`{outcome.sample}`".replace("|", "\\|")
                    text += f"| `{name}` | {call} | {outcome.detail.replace('|', chr(92) + '|')} |\n"
                    if status == "breaks":
                        break
        others = {}
        for name, status, outcomes in part:
            if not outcomes:
                others.setdefault(status, []).append(f"`{name}`")
        for reason, names in others.items():
            text += f"\n{reason[0].upper()}{reason[1:]}: {', '.join(names)}.\n"
    return text + keywords


def main():
    counts = {}
    for title, name, status, outcomes in survey(only=sys.argv[1:]):
        for outcome in outcomes:
            if outcome.status != "compiled":
                print(f"{title}.{name}: {outcome.status}: {outcome.sample}: {outcome.detail}")
        if status == "missing":
            print(f"{title}.{name}: has neither samples nor a reason")
        by_status = counts.setdefault(title, {})
        by_status[status] = by_status.get(status, 0) + 1
    for title, by_status in counts.items():
        print(title, by_status)


if __name__ == "__main__":
    main()
