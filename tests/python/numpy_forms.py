"""Calls of NumPy's functions with every keyword, in the notation of numpy_samples.py; test_numpy_forms.py runs them.

`~` before a sample: NumPy runs it, with a graph break. Samples that NumPy refuses raise the same from compiled code.
"""

import numpy as np
import numpy_surface as surface
import weft

surface.ARRAYS.update(
    {
        "e0": np.zeros((0, 3)),
        "e1": np.zeros(0),
        "one": np.array([2.5]),
        "zd": np.array(2.5),
        "zi": np.array(3),
        "C3": np.asfortranarray(np.arange(24.0).reshape(2, 3, 4) - 3.5),
        "i8": np.array([3, -100, 127, -128, 0], dtype=np.int8),
        "i32": np.array([[5, 2], [7, -1]], dtype=np.int32),
        "c64": np.array([1 + 2j, -0.5j, 3], dtype=np.complex64),
        "nv": np.array([np.nan, 1.0, -np.inf, 2.0, np.inf, -0.0]),
        "zz": np.array(
            [complex(np.inf, 1), complex(1, -np.inf), complex(-np.inf, np.inf), complex(np.nan, 1), 0j, 1e-20 + 1e-20j]
        ),
        "u64": np.array([1, 2**63, 2**64 - 1], dtype=np.uint64),
        "t": np.array([[1, 1, 2], [1, 1, 2], [0, 1, 2]]),
    }
)

FORMS_TEXT = """
partition: ~np.partition(v, 2) || ~np.partition(f, 1, axis=0) || ~np.partition(f, (1, 2)) || ~np.partition(f, 1, axis=None) || ~np.partition(i, -2, axis=1) || ~np.partition(v, 2)[:2].sum() || ~v.partition(2); v || ~f.partition(1, axis=0); f || np.partition(v, 9) || ~np.partition(b, 1) || ~np.partition(n, 1) || ~np.partition(e1, 0)
argpartition: ~v[np.argpartition(v, 2)] || ~f[0][np.argpartition(f[0], 1)[:2]] || ~np.argpartition(v, 2) || ~v.argpartition(2) || ~np.argpartition(f, 1, axis=0) || ~np.argpartition(f, -1, axis=None)[-1]
ldexp: np.ldexp(f, i) || np.ldexp(f, 3) || np.ldexp(s, 2) || np.ldexp(2.5, 3) || np.ldexp(half, 2) || np.ldexp(i, 2) || np.ldexp(f, i, out=f)
frexp: np.NAME(f) || np.NAME(s) || np.NAME(nv) || np.NAME(2.5) || np.NAME(i) || np.NAME(half) || np.NAME(f[0, 0]) || np.NAME(F) || ~np.NAME(f, out=(f, np.empty_like(f)))
modf: np.NAME(f) || np.NAME(s) || np.NAME(nv) || np.NAME(2.5) || np.NAME(i) || np.NAME(half) || np.NAME(f[0, 0]) || np.NAME(F) || np.NAME(f, out=(f, np.empty_like(f)))
divmod: np.divmod(f, g) || np.divmod(i, j) || np.divmod(i, 3) || np.divmod(u, 7) || np.divmod(7.5, 2.0) || np.divmod(i8, 3) || np.divmod(f, g, out=(f, g)) || divmod(f[0, 0], 0.7)
round: np.NAME(i, -1) || np.NAME(z, 1) || np.NAME(half) || np.NAME(f, 1) || np.NAME(f, -1) || np.NAME(half, 1) || np.NAME(f, 1, f) || np.NAME(f, decimals=2, out=np.empty((3, 4))) || np.NAME(2.567, 1) || np.NAME(3) || np.NAME(b) || np.NAME(u, -1) || np.NAME(i, 2) || np.NAME(c64) || np.NAME(F, 1) || ~round(v[0], 1) || ~round(f[0, 0]) || np.NAME(f[0, 0], 1) || np.NAME(e0, 1) || np.NAME(i8, -1) || np.NAME(i8, -2) || np.NAME(zd) || np.NAME([1.26, 2.5], 1) || f.round() || f.round(1, out=f) || i.round(-1) || z.round(1) || s.round(decimals=1) || v[0].round(1) || half.round()
around: np.NAME(i, -1) || np.NAME(z, 1) || np.NAME(half) || np.NAME(f, 1) || np.NAME(f, -1) || np.NAME(half, 1) || np.NAME(f, 1, f) || np.NAME(f, decimals=2, out=np.empty((3, 4))) || np.NAME(2.567, 1) || np.NAME(3) || np.NAME(b) || np.NAME(u, -1) || np.NAME(i, 2) || np.NAME(c64) || np.NAME(F, 1) || ~round(v[0], 1) || ~round(f[0, 0]) || np.NAME(f[0, 0], 1) || np.NAME(e0, 1) || np.NAME(i8, -1) || np.NAME(i8, -2) || np.NAME(zd) || np.NAME([1.26, 2.5], 1)
copyto: ~np.copyto(f, i); f || np.copyto(f, 3); f || np.copyto(f, 3, where=b); f || ~np.copyto(i, f, casting='unsafe'); i || np.copyto(f, g, where=b); f || np.copyto(i, f); i || ~np.copyto(f, [1, 2, 3, 4]); f || np.copyto(f, v[:4], where=[[True], [False], [True]]); f || np.copyto(s, f[:2, :3]); s || np.copyto(u, i); u || ~np.copyto(z, f); z || np.copyto(f, f[::-1]); f || ~np.copyto(f, z, casting='unsafe'); f || np.copyto(f, True); f || np.copyto(b, 1); b || np.copyto(f, np.ones((2, 2))); f
exp2 expm1 log1p log2: np.NAME(p + 0.5j) || np.NAME(z) || np.NAME(zz) || np.NAME(c64)
sign: np.sign(zz) || np.sign(c64) || np.sign(nv) || np.sign(u) || np.sign(u64) || np.sign(2.5) || np.sign(F) || np.sign(f, out=f) || np.sign(half)
sqrt exp square: np.NAME(z) || np.NAME(c64) || np.NAME(z[0, 0]) || np.NAME(F) || np.NAME(half) || np.NAME(e0) || np.NAME(zd) || np.NAME(one) || np.NAME(v[::-2]) || np.NAME(f.T) || np.NAME(f, dtype=np.float32) || np.NAME(s, dtype=float) || np.NAME(g, out=f) || np.NAME(g, where=b, out=f) || np.NAME(g, out=(f,)) || np.NAME(i8) || np.NAME([0.5, 1.0]) || np.NAME(cube.transpose(1, 0, 2)) || np.NAME(C3) || np.NAME(g, casting='safe') || np.NAME(g, order='F') || np.NAME(g, order='C') || np.NAME(F, order='C') || np.NAME(i, dtype=np.complex64) || np.NAME(f, out=s) || np.NAME.at(g, [0, 1]); g || np.NAME.at(w, [4]); w
log sin cos tan sinh cosh tanh arcsin arccos arctan arcsinh arccosh arctanh log10 abs conj: np.NAME(z) || np.NAME(c64) || np.NAME(z[0, 0]) || np.NAME(F) || np.NAME(half) || np.NAME(e0) || np.NAME(zd) || np.NAME(one) || np.NAME(v[::-2]) || np.NAME(f.T) || np.NAME(f, dtype=np.float32) || np.NAME(s, dtype=float) || np.NAME(g, out=f) || np.NAME(g, where=b, out=f) || np.NAME(g, out=(f,)) || np.NAME(i8) || np.NAME([0.5, 1.0]) || np.NAME(cube.transpose(1, 0, 2)) || np.NAME(C3) || np.NAME(g, casting='safe') || np.NAME(g, order='F') || np.NAME(g, order='C') || np.NAME(F, order='C') || np.NAME(i, dtype=np.complex64) || np.NAME(f, out=s)
reciprocal: np.NAME(z) || np.NAME(c64) || np.NAME(z[0, 0]) || np.NAME(F) || np.NAME(half) || np.NAME(e0) || np.NAME(zd) || np.NAME(one) || np.NAME(v[::-2]) || np.NAME(f.T) || np.NAME(f, dtype=np.float32) || np.NAME(s, dtype=float) || np.NAME(g, out=f) || np.NAME(g, where=b, out=f) || np.NAME(g, out=(f,)) || np.NAME(i8) || np.NAME([0.5, 1.0]) || np.NAME(cube.transpose(1, 0, 2)) || np.NAME(C3) || np.NAME(g, casting='safe') || np.NAME(g, order='F') || np.NAME(g, order='C') || np.NAME(F, order='C') || ~np.NAME(i, dtype=np.complex64)
negative: np.NAME(z) || np.NAME(c64) || np.NAME(z[0, 0]) || np.NAME(F) || np.NAME(half) || np.NAME(e0) || np.NAME(zd) || np.NAME(one) || np.NAME(v[::-2]) || np.NAME(f.T) || np.NAME(f, dtype=np.float32) || np.NAME(s, dtype=float) || np.NAME(g, out=f) || np.NAME(g, where=b, out=f) || np.NAME(g, out=(f,)) || np.NAME(i8) || np.NAME([0.5, 1.0]) || np.NAME(cube.transpose(1, 0, 2)) || np.NAME(C3) || np.NAME(g, casting='safe') || np.NAME(g, order='F') || np.NAME(g, order='C') || np.NAME(F, order='C') || np.NAME(i, dtype=np.complex64) || np.NAME(f, out=s) || ~np.negative.at(v, [0, 1, 0]); v || ~np.negative.at(v, k); v
add: np.add.at(v, [0, 2, 0], 1.5); v || np.add.at(f, ([0, 0], [1, 1]), 2); f || np.add.at(i, (slice(None), [0, 0]), 1); i || np.add.at(v, k, w); v || np.add.at(v, 2, 1.0); v || np.add.at(f, 1, 2.0); f || np.add.at(i, [1, 1], 1); i || ~np.add.at(v, k > 1, 1); v || np.add.at(f, [0, 0], v[:4]); f || np.add.at(v, [99], 1) || np.NAME.reduce(f) || np.NAME.reduce(f, axis=(0, 1)) || np.NAME.reduce(f, None) || np.NAME.reduce(f, axis=-1, keepdims=True) || np.NAME.reduce(f, where=b, initial=3) || np.NAME.reduce(f, dtype=np.float32) || np.NAME.reduce(f, 0, None, np.empty(4)) || ~np.NAME.reduce(i, axis=1, out=np.empty(3)) || np.NAME.reduce(u) || np.NAME.reduce([1, 2, 3]) || np.NAME.reduce(e0) || np.NAME.reduce(b) || np.NAME.reduce(cube, axis=(0, 2)) || np.NAME.reduce(f, 5) || ~np.NAME.reduce(3.0) || np.NAME.reduce(e0, axis=1) || np.NAME.reduce(cube, axis=(1, -1), keepdims=True) || np.NAME.reduce(z, axis=0) || np.NAME.accumulate(b) || np.NAME.accumulate(i) || np.NAME.accumulate(i, axis=1) || np.NAME.accumulate(i, -1) || np.NAME.accumulate(i, axis=0, out=np.empty((3, 4), int)) || np.NAME.accumulate([1, 2, 3]) || np.NAME.accumulate(np.arange(100)) || np.NAME.accumulate(i8) || np.NAME.accumulate(f, dtype=np.float32) || np.NAME.accumulate(e1) || np.NAME.accumulate(f, axis=0, out=f) || np.NAME.reduceat(k, [0, 2, 4]) || np.NAME.reduceat(i, [0, 2], axis=1) || np.NAME.reduceat(k, [3, 1, 2]) || np.NAME.reduceat(i, [0, 1, 0]) || np.NAME.reduceat(k, [9]) || np.NAME.reduceat(k, np.array([0, 3])) || np.NAME.reduceat(k, r[:2]) || np.NAME.reduceat(k, [0, 3], out=np.empty(2, int)) || np.NAME.outer(v, w) || np.NAME.outer(f, v) || np.NAME.outer(v, 2.0) || np.NAME.outer([1.0, 2.0], [3.0, 4.0]) || np.NAME.outer(2.0, 3.0) || np.NAME.outer(F, v) || np.NAME.outer(v, w, out=np.empty((6, 6))) || np.NAME.outer(k, k, dtype=float)
subtract: np.NAME.at(v, [0, 2, 0], 1.5); v || np.NAME.at(v, k, w); v || np.NAME.at(f, ([0, 0], [1, 1]), 2.0); f || np.NAME.reduce(g, axis=(0, 1)) || np.NAME.reduce(e0) || np.NAME.reduce(g) || np.NAME.reduce(g, axis=1) || np.NAME.reduce(g, axis=-1, keepdims=True) || np.NAME.reduce(g, axis=1, initial=2.0) || np.NAME.reduce(g, axis=1, out=np.empty(3)) || np.NAME.accumulate(b) || np.NAME.accumulate(i) || np.NAME.accumulate(i, axis=1) || np.NAME.accumulate(i, -1) || np.NAME.accumulate(i, axis=0, out=np.empty((3, 4), int)) || np.NAME.accumulate([1, 2, 3]) || np.NAME.accumulate(np.arange(100)) || np.NAME.accumulate(i8) || np.NAME.reduceat(k, [0, 2, 4]) || np.NAME.reduceat(i, [0, 2], axis=1) || np.NAME.reduceat(k, [3, 1, 2]) || np.NAME.reduceat(i, [0, 1, 0]) || np.NAME.reduceat(k, [9]) || ~np.NAME.reduceat(k, np.array([0, 3])) || ~np.NAME.reduceat(k, r[:2]) || np.NAME.reduceat(k, [0, 3], out=np.empty(2, int)) || np.NAME.outer(v, w) || np.NAME.outer(f, v) || np.NAME.outer(v, 2.0) || np.NAME.outer([1.0, 2.0], [3.0, 4.0]) || np.NAME.outer(2.0, 3.0) || np.NAME.outer(F, v) || np.NAME.outer(v, w, out=np.empty((6, 6))) || np.NAME.outer(k, k, dtype=float)
multiply: np.NAME.at(v, [0, 2, 0], 1.5); v || np.NAME.at(v, k, w); v || ~np.NAME.at(f, ([0, 0], [1, 1]), 2.0); f || np.NAME.reduce(f) || np.NAME.reduce(f, axis=(0, 1)) || np.NAME.reduce(f, None) || np.NAME.reduce(f, axis=-1, keepdims=True) || np.NAME.reduce(f, where=b, initial=3) || np.NAME.reduce(f, dtype=np.float32) || np.NAME.reduce(f, 0, None, np.empty(4)) || ~np.NAME.reduce(i, axis=1, out=np.empty(3)) || np.NAME.reduce(u) || np.NAME.reduce([1, 2, 3]) || np.NAME.reduce(e0) || np.NAME.reduce(b) || np.NAME.reduce(cube, axis=(0, 2)) || np.NAME.reduce(f, 5) || ~np.NAME.reduce(3.0) || np.NAME.reduce(e0, axis=1) || np.NAME.reduce(cube, axis=(1, -1), keepdims=True) || np.NAME.reduce(z, axis=0) || np.NAME.accumulate(b) || np.NAME.accumulate(i) || np.NAME.accumulate(i, axis=1) || np.NAME.accumulate(i, -1) || np.NAME.accumulate(i, axis=0, out=np.empty((3, 4), int)) || np.NAME.accumulate([1, 2, 3]) || np.NAME.accumulate(np.arange(100)) || np.NAME.accumulate(i8) || np.NAME.accumulate(f, dtype=np.float32) || np.NAME.accumulate(e1) || np.NAME.accumulate(f, axis=0, out=f) || np.NAME.reduceat(k, [0, 2, 4]) || np.NAME.reduceat(i, [0, 2], axis=1) || np.NAME.reduceat(k, [3, 1, 2]) || np.NAME.reduceat(i, [0, 1, 0]) || np.NAME.reduceat(k, [9]) || ~np.NAME.reduceat(k, np.array([0, 3])) || ~np.NAME.reduceat(k, r[:2]) || np.NAME.reduceat(k, [0, 3], out=np.empty(2, int)) || np.NAME.outer(v, w) || np.NAME.outer(f, v) || np.NAME.outer(v, 2.0) || np.NAME.outer([1.0, 2.0], [3.0, 4.0]) || np.NAME.outer(2.0, 3.0) || np.NAME.outer(F, v) || np.NAME.outer(v, w, out=np.empty((6, 6))) || np.NAME.outer(k, k, dtype=float)
divide: np.NAME.at(v, [0, 2, 0], 1.5); v || np.NAME.at(v, k, w); v || ~np.NAME.at(f, ([0, 0], [1, 1]), 2.0); f || np.NAME.reduce(g, axis=(0, 1)) || np.NAME.reduce(e0) || np.NAME.reduce(g) || np.NAME.reduce(g, axis=1) || np.NAME.reduce(g, axis=-1, keepdims=True) || np.NAME.reduce(g, axis=1, initial=2.0) || np.NAME.reduce(g, axis=1, out=np.empty(3)) || np.NAME.outer(v, w) || np.NAME.outer(f, v) || np.NAME.outer(v, 2.0) || np.NAME.outer([1.0, 2.0], [3.0, 4.0]) || np.NAME.outer(2.0, 3.0) || np.NAME.outer(F, v) || np.NAME.outer(v, w, out=np.empty((6, 6))) || np.NAME.outer(k, k, dtype=float)
maximum: np.NAME.at(v, [0, 2, 0], 1.5); v || np.NAME.at(v, k, w); v || np.NAME.at(f, ([0, 0], [1, 1]), 2.0); f || np.NAME.reduce(f) || np.NAME.reduce(f, axis=None) || np.NAME.reduce(f, axis=(0, 1)) || np.NAME.reduce(f, axis=1, initial=1.0, where=b) || np.NAME.reduce(f, initial=0.0) || np.NAME.reduce(n, axis=1) || np.NAME.reduce(e0) || ~np.NAME.reduce(e0, axis=0, initial=-1.0) || np.NAME.reduce(i, axis=1, keepdims=True) || np.NAME.reduce(f, axis=1, where=b) || np.NAME.reduce(cube, axis=(0, 2)) || np.NAME.accumulate(b) || np.NAME.accumulate(i) || np.NAME.accumulate(i, axis=1) || np.NAME.accumulate(i, -1) || np.NAME.accumulate(i, axis=0, out=np.empty((3, 4), int)) || np.NAME.accumulate([1, 2, 3]) || np.NAME.accumulate(np.arange(100)) || np.NAME.accumulate(i8) || np.NAME.reduceat(k, [0, 2, 4]) || np.NAME.reduceat(i, [0, 2], axis=1) || np.NAME.reduceat(k, [3, 1, 2]) || np.NAME.reduceat(i, [0, 1, 0]) || np.NAME.reduceat(k, [9]) || np.NAME.reduceat(k, np.array([0, 3])) || np.NAME.reduceat(k, r[:2]) || np.NAME.reduceat(k, [0, 3], out=np.empty(2, int)) || np.NAME.outer(v, w) || np.NAME.outer(f, v) || np.NAME.outer(v, 2.0) || np.NAME.outer([1.0, 2.0], [3.0, 4.0]) || np.NAME.outer(2.0, 3.0) || np.NAME.outer(F, v)
minimum: np.NAME.at(v, [0, 2, 0], 1.5); v || np.NAME.at(v, k, w); v || np.NAME.at(f, ([0, 0], [1, 1]), 2.0); f || np.NAME.reduce(f) || np.NAME.reduce(f, axis=None) || np.NAME.reduce(f, axis=(0, 1)) || np.NAME.reduce(f, axis=1, initial=1.0, where=b) || np.NAME.reduce(f, initial=0.0) || np.NAME.reduce(n, axis=1) || np.NAME.reduce(e0) || ~np.NAME.reduce(e0, axis=0, initial=-1.0) || np.NAME.reduce(i, axis=1, keepdims=True) || np.NAME.reduce(f, axis=1, where=b) || np.NAME.reduce(cube, axis=(0, 2)) || np.NAME.accumulate(b) || np.NAME.accumulate(i) || np.NAME.accumulate(i, axis=1) || np.NAME.accumulate(i, -1) || np.NAME.accumulate(i, axis=0, out=np.empty((3, 4), int)) || np.NAME.accumulate([1, 2, 3]) || np.NAME.accumulate(np.arange(100)) || np.NAME.accumulate(i8) || np.NAME.reduceat(k, [0, 2, 4]) || np.NAME.reduceat(i, [0, 2], axis=1) || np.NAME.reduceat(k, [3, 1, 2]) || np.NAME.reduceat(i, [0, 1, 0]) || np.NAME.reduceat(k, [9]) || np.NAME.reduceat(k, np.array([0, 3])) || np.NAME.reduceat(k, r[:2]) || np.NAME.reduceat(k, [0, 3], out=np.empty(2, int))
fmax: np.NAME.at(v, [0, 2, 0], 1.5); v || np.NAME.at(v, k, w); v || ~np.NAME.at(f, ([0, 0], [1, 1]), 2.0); f || np.NAME.reduce(f) || np.NAME.reduce(f, axis=None) || np.NAME.reduce(f, axis=(0, 1)) || np.NAME.reduce(f, axis=1, initial=1.0, where=b) || np.NAME.reduce(f, initial=0.0) || np.NAME.reduce(n, axis=1) || np.NAME.reduce(e0) || ~np.NAME.reduce(e0, axis=0, initial=-1.0) || np.NAME.reduce(i, axis=1, keepdims=True) || np.NAME.reduce(f, axis=1, where=b) || ~np.NAME.reduce(cube, axis=(0, 2)) || np.NAME.accumulate(b) || np.NAME.accumulate(i) || np.NAME.accumulate(i, axis=1) || np.NAME.accumulate(i, -1) || np.NAME.accumulate(i, axis=0, out=np.empty((3, 4), int)) || np.NAME.accumulate([1, 2, 3]) || ~np.NAME.accumulate(np.arange(100)) || np.NAME.accumulate(i8)
fmin: np.NAME.at(v, [0, 2, 0], 1.5); v || np.NAME.at(v, k, w); v || ~np.NAME.at(f, ([0, 0], [1, 1]), 2.0); f || np.NAME.reduce(f) || np.NAME.reduce(f, axis=None) || np.NAME.reduce(f, axis=(0, 1)) || np.NAME.reduce(f, axis=1, initial=1.0, where=b) || np.NAME.reduce(f, initial=0.0) || np.NAME.reduce(n, axis=1) || np.NAME.reduce(e0) || ~np.NAME.reduce(e0, axis=0, initial=-1.0) || np.NAME.reduce(i, axis=1, keepdims=True) || np.NAME.reduce(f, axis=1, where=b) || ~np.NAME.reduce(cube, axis=(0, 2))
power: np.NAME.at(v, [0, 2, 0], 1.5); v || np.NAME.at(v, k, w); v || ~np.NAME.at(f, ([0, 0], [1, 1]), 2.0); f || np.NAME.reduce(g, axis=(0, 1)) || np.NAME.reduce(e0) || ~np.NAME.reduce(g) || ~np.NAME.reduce(g, axis=1) || ~np.NAME.reduce(g, axis=-1, keepdims=True) || ~np.NAME.reduce(g, axis=1, initial=2.0) || ~np.NAME.reduce(g, axis=1, out=np.empty(3)) || np.NAME.outer(v, w) || np.NAME.outer(f, v) || np.NAME.outer(v, 2.0) || np.NAME.outer([1.0, 2.0], [3.0, 4.0]) || np.NAME.outer(2.0, 3.0) || np.NAME.outer(F, v)
logical_xor: ~np.NAME.at(i, [0, 0], 3); i || np.NAME.reduce(b) || np.NAME.reduce(b, axis=1) || np.NAME.reduce(b, axis=None) || np.NAME.reduce(f, axis=1) || np.NAME.reduce(b, axis=(0, 1), keepdims=True) || np.NAME.reduce(b, axis=1, where=b) || np.NAME.reduce(e0)
bitwise_xor bitwise_and: np.NAME.at(i, [0, 0], 3); i || np.NAME.reduce(i) || np.NAME.reduce(i, axis=None) || np.NAME.reduce(b, axis=1) || np.NAME.reduce(u) || np.NAME.reduce(i, axis=1, keepdims=True) || np.NAME.reduce(i, axis=1, initial=7) || np.NAME.reduce(f) || ~np.NAME.reduce(np.zeros(0, int)) || np.NAME.reduce(np.arange(200)) || np.NAME.reduce(i, axis=(0,1))
bitwise_or: np.NAME.at(i, [0, 0], 3); i || np.NAME.reduce(i) || np.NAME.reduce(i, axis=None) || np.NAME.reduce(b, axis=1) || np.NAME.reduce(u) || np.NAME.reduce(i, axis=1, keepdims=True) || np.NAME.reduce(i, axis=1, initial=7) || np.NAME.reduce(f) || ~np.NAME.reduce(np.zeros(0, int)) || np.NAME.reduce(np.arange(200)) || np.NAME.reduce(i, axis=(0,1)) || np.NAME.accumulate(b) || np.NAME.accumulate(i) || np.NAME.accumulate(i, axis=1) || np.NAME.accumulate(i, -1) || np.NAME.accumulate(i, axis=0, out=np.empty((3, 4), int)) || np.NAME.accumulate([1, 2, 3]) || np.NAME.accumulate(np.arange(100)) || np.NAME.accumulate(i8) || np.NAME.reduceat(k, [0, 2, 4]) || np.NAME.reduceat(i, [0, 2], axis=1) || np.NAME.reduceat(k, [3, 1, 2]) || np.NAME.reduceat(i, [0, 1, 0]) || np.NAME.reduceat(k, [9]) || ~np.NAME.reduceat(k, np.array([0, 3])) || ~np.NAME.reduceat(k, r[:2]) || np.NAME.reduceat(k, [0, 3], out=np.empty(2, int))
floor_divide: np.NAME.reduce(g, axis=(0, 1)) || np.NAME.reduce(e0) || np.NAME.reduce(g) || np.NAME.reduce(g, axis=1) || np.NAME.reduce(g, axis=-1, keepdims=True) || np.NAME.reduce(g, axis=1, initial=2.0) || np.NAME.reduce(g, axis=1, out=np.empty(3))
logical_and: np.NAME.reduce(b) || np.NAME.reduce(b, axis=1) || np.NAME.reduce(b, axis=None) || np.NAME.reduce(f, axis=1) || np.NAME.reduce(b, axis=(0, 1), keepdims=True) || np.NAME.reduce(b, axis=1, where=b) || np.NAME.reduce(e0) || np.NAME.accumulate(b) || ~np.NAME.accumulate(i) || ~np.NAME.accumulate(i, axis=1) || ~np.NAME.accumulate(i, -1) || ~np.NAME.accumulate(i, axis=0, out=np.empty((3, 4), int)) || ~np.NAME.accumulate([1, 2, 3]) || ~np.NAME.accumulate(np.arange(100)) || ~np.NAME.accumulate(i8) || np.NAME.reduceat(k, [0, 2, 4]) || np.NAME.reduceat(i, [0, 2], axis=1) || np.NAME.reduceat(k, [3, 1, 2]) || np.NAME.reduceat(i, [0, 1, 0]) || np.NAME.reduceat(k, [9]) || ~np.NAME.reduceat(k, np.array([0, 3])) || ~np.NAME.reduceat(k, r[:2]) || ~np.NAME.reduceat(k, [0, 3], out=np.empty(2, int))
logical_or: np.NAME.reduce(b) || np.NAME.reduce(b, axis=1) || np.NAME.reduce(b, axis=None) || np.NAME.reduce(f, axis=1) || np.NAME.reduce(b, axis=(0, 1), keepdims=True) || np.NAME.reduce(b, axis=1, where=b) || np.NAME.reduce(e0) || np.NAME.accumulate(b) || ~np.NAME.accumulate(i) || ~np.NAME.accumulate(i, axis=1) || ~np.NAME.accumulate(i, -1) || ~np.NAME.accumulate(i, axis=0, out=np.empty((3, 4), int)) || ~np.NAME.accumulate([1, 2, 3]) || ~np.NAME.accumulate(np.arange(100)) || ~np.NAME.accumulate(i8)
gcd lcm logaddexp: np.NAME.reduce(j, axis=None) || np.NAME.reduce(j, axis=1) || np.NAME.reduce(j)
hypot: np.NAME.reduce(j, axis=None) || np.NAME.reduce(j, axis=1) || np.NAME.reduce(j) || np.NAME.outer(v, w) || np.NAME.outer(f, v) || np.NAME.outer(v, 2.0) || np.NAME.outer([1.0, 2.0], [3.0, 4.0]) || np.NAME.outer(2.0, 3.0) || np.NAME.outer(F, v)
arctan2: np.NAME.reduce(j, axis=None) || ~np.NAME.reduce(j, axis=1) || ~np.NAME.reduce(j) || np.NAME.outer(v, w) || np.NAME.outer(f, v) || np.NAME.outer(v, 2.0) || np.NAME.outer([1.0, 2.0], [3.0, 4.0]) || np.NAME.outer(2.0, 3.0) || np.NAME.outer(F, v)
equal less: np.NAME.outer(v, w) || np.NAME.outer(f, v) || np.NAME.outer(v, 2.0) || np.NAME.outer([1.0, 2.0], [3.0, 4.0]) || np.NAME.outer(2.0, 3.0) || np.NAME.outer(F, v)
ufuncattrs: np.add.identity || np.add.nin || np.add.nargs || np.add.ntypes || np.add.__name__ || np.divmod.nout || np.matmul.signature || ~np.add.types[0]
"""


def error_of(function, names):
    try:
        surface.run(function, names)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "no error"


def refused(sample):
    """What is wrong with the exception that compiled code raises; empty where it is NumPy's."""
    function, names = surface.program(sample)
    expected = error_of(function, names)
    compiled = weft.compile(function)
    for _ in range(2):
        actual = error_of(compiled, names)
        if actual != expected:
            return f"{actual}, NumPy raises {expected}"
    return ""


def plain(sample):
    """What is wrong with the result where graphs may break."""
    function, names = surface.program(sample)
    expected, expected_args = surface.run(function, names)
    compiled = weft.compile(function)
    for _ in range(2):
        actual, actual_args = surface.run(compiled, names)
        problem = surface.difference(actual, expected, 1e-13) or surface.difference(actual_args, expected_args, 1e-13)
        if problem:
            return problem
    return ""


def measure(sample):
    breaks, sample = sample.startswith("~"), sample.removeprefix("~")
    outcome = surface.measure(sample)
    if outcome.status == "NUMPY RAISES":
        outcome.detail = refused(sample)
        outcome.status = "other error" if outcome.detail else "as expected"
    elif outcome.status == ("breaks" if breaks else "compiled"):
        problem = plain(sample) if breaks else ""
        outcome.status, outcome.detail = "differs" if problem else "as expected", problem
    return outcome


def survey():
    return [measure(sample) for samples in surface.parse(FORMS_TEXT).values() for sample in samples]
