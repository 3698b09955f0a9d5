"""Random whole programs: classes, containers and generators of arrays, closures, exceptions, graph breaks, linear
algebra and Fourier transforms, between the statements of program_arrays.py.

x and y are arrays, k is a small number, T a new name, as in program_calls.py. Helpers: program_helpers.py.
"""

import numpy as np
import program_arrays
from program_calls import entries, lines

CLASSES = entries(r"""
box = Account(x)\nbox.add(y)\nbox.add(k)\nT = box.total | box = Account(x.copy())\nbox.change(k)\nT = box.total | box = Account(x)\nbox.change(y)\nT = box.total
T = Account(x, k).add(y).add(1).total | box = Account(x)\nbox[0] = k\nT = box[:1] | box = Scaled(x)\nT = box.add(y) | box = Account.of(x)\nT = box(y) | T = Account.twice(x)
box = Account(x)\nT = box.first\nbox.total = box.total + 1\nTb = box.first | box = Account(x)\nfor i in range(k):\n    box.add(i)\nT = (box.total, len(box), box.count)
box = Pair(x, y)\nbox.swap()\nT = box.first\nTb = box.second | T = Pair(x).sum() | T = Pair(x, y) == Pair(x, y) if x.ndim == 0 else Pair(x, y).first | box = Pair(x)\nbox.second += x\nT = box.second
box = Account(x)\nother = box\nother.total = y\nT = box.total | box = Account(x)\nadd = box.add\nadd(y)\nT = box.total | box = Account(x)\nbox.extra = y\nT = getattr(box, "extra") - getattr(box, "none", k)
box = Account(x)\nT = box.nothing | box = Scaled(x)\nT = (box.kind, isinstance(box, Account), box.kinds[0]) | box = Account(x)\nwhile len(box) < k:\n    box.change(1)\nT = box.total
boxes = [Account(x), Account(y)]\nfor one in boxes:\n    one.add(k)\nT = boxes[0].total\nTb = boxes[1].total | box = Account(x)\ntry:\n    box.change(np.zeros((2, 3, 5)))\nexcept ValueError:\n    T = box.count
""")

GENERATORS = entries(r"""
T = list(rows(x)) | T = [row * 2 for row in rows(x, 2)] | T = sum(row.size for row in rows(x)) | T = list(running(x)) | T = [row.shape for row in both(x, y)] | T = next(rows(x))
T = 0\nfor row in rows(x):\n    T = T + row | T = k\nfor i, row in enumerate(running(x)):\n    if i == k:\n        break\n    T = row | T = next(rows(x[:0]), y) | it = rows(x)\nnext(it)\nT = list(it)
T = (lambda g: [next(g), next(g)])(rows(x)) | T = list(zip(rows(x), range(k))) | T = any(row.any() for row in rows(x)) | T = dict(enumerate(rows(x))).get(k) | T = [*rows(x), y]
it = running(x)\nT = [v for v, _ in zip(it, range(2))] | first, *rest = rows(x)\nT = first\nTb = len(rest) | T = max(rows(x), key=lambda row: row.max()) | T = sorted(float(v) for v in x.ravel()[:4])
T = next(rows(x[:0])) | T = np.array([row.sum() > 0 for row in rows(x)]) | T = np.stack([row + 1 for row in rows(x)]) | T = list(map(lambda row: row - 1, rows(x))) | T = list(filter(np.any, rows(x)))
""")

CONTAINERS = entries(r"""
state = {"a": x, "b": y}\nstate["a"] = state["a"] + 1\nT = state["a"] - state.pop("b")\nTb = list(state) | state = {}\nfor i in range(k):\n    state[i] = x + i\nT = list(state.values())
state = [x, y]\nstate[0] = state[0] * 2\nstate.append(k)\nstate.reverse()\nT = state[2]\nTb = len(state) | state = {"a": [x]}\nstate["a"].append(y)\nT = state["a"][k] | T = [x] * 2\nT[0] = y
state = {"a": x}\nstate["a"] += 1\nT = state["a"] | state = [x.copy()]\nstate[0][:1] = k\nT = state[0] | state = [x]\nstate[0][0] = k\nT = state | T = {"a": x, **{"b": y}}["b"] | T = (x, y)[k]
state = [x, y]\nfor value in state:\n    value[...] = k\nT = state[0] | T = {i: row for i, row in enumerate(x)}[k] | T, *Tb = [x, y, k] | T = [[x, y], [y, x]][1][0] | T = [(v, v.size) for v in (x, y)][1]
state = {}\nstate.setdefault("a", []).append(x)\nT = state["a"][0] - 1 | state = {"n": 0}\nfor row in x:\n    state["n"] += row.size\nT = state["n"] | T = {"a": x}["b"] | T = [x, y].pop(k)
state = (x, k)\nT = state + (y,) | T = [x for _ in range(k)] | T = list(reversed([x, y]))[0] | T = {1: x}.get(k, y) | a, (b, c) = x, (y, k)\nT = b - c | T = [v for v in [x, y] if v.ndim > 1]
stack = [x]\nwhile stack:\n    T = stack.pop()\n    if T.ndim > 1:\n        stack.append(T[0]) | T = dict(zip("ab", (x, y)))["a"] | queue = [x, y]\ndel queue[0]\nT = queue | T = [1, 2, *[x]][-1]
""")

FUNCTIONS = entries(r"""
T = countdown(k, x) | add = adder(k)\nT = add(x)\nTb = add(y) | T = decorated(x) | T = decorated(x, factor=k) | T = (lambda *p, **q: p[0] - q["z"])(x, z=y) | f = lambda p, q=k: p - q\nT = f(x)
amount = k\nf = lambda p: p + amount\namount = 3\nT = f(x) | fs = [lambda p, i=i: p + i for i in range(3)]\nT = fs[1](x) | fs = [lambda p: p + i for i in range(3)]\nT = fs[0](x) | T = helper(k, *[1]) + x
def local(p):\n    p[...] = k\n    return p\nT = local(x) | def local(p, *q):\n    return len(q)\nT = local(x, y, k) | def local(n):\n    return x if n < 1 else local(n - 1) + 1\nT = local(k)
count = 0\ndef local(p):\n    nonlocal_count = count + 1\n    return p * nonlocal_count\nT = local(x) | T = (lambda p: (lambda q: p - q))(x)(y) | T = max([x, y], key=lambda v: v.size) | T = [f(x) for f in (np.negative, np.sort, np.positive)]
""")

EXCEPTIONS = entries(r"""
try:\n    T = checked(x)\nexcept ValueError as error:\n    T = str(error) | T = checked(x) | try:\n    x[...] = np.zeros(4711)\nexcept ValueError as error:\n    T = str(error)\nelse:\n    T = y
try:\n    T = np.concatenate([x, x[None]])\nexcept ValueError:\n    T = y - 1\nfinally:\n    Tb = k | try:\n    T = {"a": x}[k]\nexcept KeyError as error:\n    T = error.args[0] | try:\n    raise TypeError("no")\nexcept (ValueError, TypeError):\n    T = x
T = None\nfor i in range(4):\n    try:\n        T = x[i]\n    except IndexError:\n        T = i\n        break | try:\n    x[0] = 1\n    x[99] = 2\nexcept IndexError:\n    T = x.copy() | try:\n    T = x.reshape(7, 11)\nexcept ValueError as error:\n    T = type(error).__name__
try:\n    try:\n        T = x[k, k, k, k, k]\n    except IndexError as error:\n        raise ValueError("outer") from error\nexcept ValueError as error:\n    T = str(error) | box = {"value": x}\nwith doubled(box) as b:\n    T = b["value"] + 1
assert x.ndim != 2, x.shape\nT = x | x[99] | x.reshape(7, 11) | np.concatenate([x, x[None]]) | x[..., 0, 0, 0, 0] | np.take(x, 4711) | x + np.zeros((4711, 1, 1))[1:4711] if k > 4 else x | T = x @ np.zeros(4711) | np.stack([x, y])
box = {"value": x}\ntry:\n    with doubled(box):\n        T = x[99]\nexcept IndexError:\n    T = box["left"] | T = x.astype(int)[k] // (k - k) | T = int(x.ravel()[0] > 0) / k | np.linalg.inv(np.ones((2, 3))) | T = x.item() | bool(x) | len(x[0, 0])
""")

BREAKS = entries(r"""
T = x + 1\npause()\nT = T - y | T = x[::-1]\npause()\nT[...] = k | T = x * 2\nTb = T[:1]\npause()\nTb[...] = k | T = pause(x) | T = pause(x + 1) - 1 | print(end="")\nT = x - 1 | for i in range(k):\n    pause()\n    x[...] = i\nT = x
T = np.partition(x.ravel(), 0)[:1] | T = np.asarray(x, dtype=object).size | T = np.array([x, None], dtype=object)[0] if x.ndim == 0 else x | T = x + 1\nif pause(T).any():\n    T = T * 2 | T = [pause(row) for row in x]
T = x.copy()\nfor i in range(3):\n    T[:1] += i\n    pause(T)\nT = T - 1 | T = 0\nfor row in x:\n    pause()\n    T = T + row | state = {"a": x * 2}\npause(state)\nstate["a"][...] = k\nT = state["a"] | box = Account(x)\nbox.add(k)\npause(box)\nbox.add(y)\nT = box.total
T = list(rows(x))\npause()\nT.append(y) | T = x.T\npause()\nT = T.reshape(-1)\nT[:1] = k | try:\n    T = pause(x)[99]\nexcept IndexError:\n    T = x - 1 | T = str(x.dtype) + repr(k) | T = sorted(x.ravel()[:3].tolist(), key=str) | T = x.tobytes() == x.tobytes()
f = lambda p: pause(p) - 1\nT = f(x) | T = np.vectorize(lambda p: p > 0, otypes=[bool])(x) | T = np.ascontiguousarray(x).view(np.int8).size | T = np.shares_memory(x, y)
""")

# The same to the last bit.
LINEAR_EXACT = lines("""
np.linalg.matrix_transpose(x) | np.linalg.diagonal(x) | np.linalg.norm(x, 0) | np.linalg.matrix_rank(square(x)) | np.linalg.inv(x[0, ..., 0]) | np.linalg.det(x[0, ..., 0]) | np.linalg.solve(square(x), np.ones(2))
np.linalg.inv(square(x, 3)[:2]) | np.linalg.cholesky(square(x, 2, -99)) | np.linalg.inv(np.zeros((k, k))) | np.linalg.solve(np.zeros((2, 2)), np.ones(2)) | np.linalg.qr(x[0, ..., 0]) | np.linalg.matrix_power(square(x), -1).shape
np.fft.fftfreq(k + 1) | np.fft.rfftfreq(k + 2, 0.5) | np.fft.fftshift(x) | np.fft.ifftshift(x, axes=0) | np.fft.fft(x[:0]) | np.fft.rfft(x, 0) | np.fft.fft(x, axis=5) | np.fft.rfft2(x[0, ..., 0]) | np.linalg.norm(x[None, None], axis=None, ord=2)
""")

# call || what n * eps times bounds the distance; R is the magnitude of the result. square() gives matrices whose condition is
# below 4 and whose elements are below 108: backward stability (Higham, 9.4, 19.4) gives n * eps * |A| * condition.
LINEAR = [
    tuple(entry.split(" || "))
    for entry in lines("""
np.linalg.solve(square(x), square(y)) || 50 * R + 1 | np.linalg.solve(square(x, 2), np.arange(2.0)) || 50 * R | np.linalg.inv(square(x, 4)) || 50 * R | np.linalg.det(square(x)) || 50 * R | np.linalg.slogdet(square(x))[1] || 50 * R + 50
np.linalg.norm(square(x)) || 20 * R | np.linalg.norm(square(x), 1, axis=0) || 20 * R | np.linalg.norm(square(x), np.inf) || 20 * R | np.linalg.norm(square(x), 2) || 50 * R | np.linalg.norm(square(x), "nuc") || 50 * R
np.linalg.norm(square(x), axis=-1, keepdims=True) || 20 * R | np.matmul(*np.linalg.qr(square(x))) || 5000 | np.abs(np.linalg.qr(square(x), mode="r")) || 5000 | np.linalg.svd(square(x), compute_uv=False) || 5000
(lambda u, s, vh: u @ np.diag(s).astype(u.dtype) @ vh)(*np.linalg.svd(square(x))) || 20000 | np.linalg.eigvalsh(square(x) + square(x).conj().T) || 10000 | (lambda w, v: (v * w) @ v.conj().T)(*np.linalg.eigh(square(x) + square(x).conj().T)) || 40000
np.linalg.cholesky(square(x, 2) @ square(x, 2).conj().T) || 10000 | np.linalg.pinv(square(x)) || 200 * R | np.linalg.lstsq(square(x), square(y), rcond=None)[0] || 200 * R + 1 | np.linalg.cond(square(x)) || 200 | np.linalg.matrix_power(square(x), 2) || 2e5
np.linalg.multi_dot([square(x), square(y), square(x)]) || 2e7 | np.linalg.matrix_power(square(x), -1) || 50 * R | np.linalg.outer(square(x)[0], square(y)[0]) || 2e4 | np.linalg.trace(square(x)) || 500 | np.linalg.tensordot(square(x), square(y), axes=1) || 1e5
np.vecdot(square(x), square(y)) || 1e5 | np.vdot(square(x), square(y)) || 2e5 | np.linalg.vector_norm(square(x), axis=0) || 20 * R | np.linalg.matrix_norm(square(x), keepdims=True) || 20 * R | square(x) @ square(y)[0] || 1e5 | np.dot(square(x), square(y).T) || 1e5
np.linalg.inv(np.stack([square(x), square(y)])) || 50 * R | np.linalg.solve(np.stack([square(x), square(y)]), square(x)) || 50 * R + 1 | np.linalg.det(np.stack([square(x), square(y)])) || 50 * R | np.matvec(square(x), square(y)[0]) || 1e5 | np.kron(square(x, 2), square(y, 2)) || 5e4
np.linalg.tensorsolve(square(x, 4).reshape(2, 2, 4), np.ones((2, 2))) || 50 * R | np.linalg.tensorinv(square(x, 4).reshape(2, 2, 4)) || 50 * R | np.cross(square(x), square(y)) || 3e4 | np.sort(np.abs(np.linalg.eigvals(square(x) + square(x).conj().T))) || 2e4
""")
]

# A transform adds at most n products with roots of one: n * eps times the sum of magnitudes is what the definition itself gives.
FOURIER = [
    tuple(entry.split(" || "))
    for entry in lines("""
np.fft.fft(x) || np.sum(A(x)) | np.fft.fft(x, 5, axis=0) || np.sum(A(x)) | np.fft.ifft(x) || np.sum(A(x)) | np.fft.rfft(x.real) || np.sum(A(x)) | np.fft.rfft(x.real, axis=0, norm="ortho") || np.sum(A(x)) | np.fft.irfft(x) || 2 * np.sum(A(x))
np.fft.fft2(x) || np.sum(A(x)) | np.fft.fftn(x) || np.sum(A(x)) | np.fft.ifftn(x) || np.sum(A(x)) | np.fft.rfftn(x.real) || np.sum(A(x)) | np.fft.hfft(x) || 2 * np.sum(A(x)) | np.fft.ihfft(x.real) || np.sum(A(x)) | np.fft.irfft(x, 7, norm="forward") if x.shape[-1:] > (0,) else 0 || 2 * np.sum(A(x))
np.abs(np.fft.fft(x)) || np.sum(A(x)) | np.fft.ifft(np.fft.fft(x)) || 4 * np.sum(A(x)) | np.fft.irfft(np.fft.rfft(x.real), x.shape[-1]) || 4 * np.sum(A(x)) | np.fft.rfft(x, 16) || np.sum(A(x)) | np.fft.fftn(x, axes=(0,)) || np.sum(A(x)) | np.fft.fft(x.T).T || np.sum(A(x))
""")
]

PYTHON = [(3, CLASSES), (2, GENERATORS), (2, CONTAINERS), (2, FUNCTIONS), (2, EXCEPTIONS), (3, BREAKS)]


class WholeGenerator(program_arrays.Generator):
    def python(self):
        weights = np.array([weight for weight, _ in PYTHON], float)
        chosen = PYTHON[int(self.rng.choice(len(PYTHON), p=weights / weights.sum()))][1]
        text, names = self.fill(self.pick(chosen))
        # Any of them may change its arguments: which have no bound, nor has what they hold afterwards.
        return program_arrays.Step(text)

    def linear_algebra(self):
        if self.chance(0.25):
            return program_arrays.Step(f"{self.target()} = {self.fill(self.pick(LINEAR_EXACT))[0]}")
        return self.bounded(*self.pick(LINEAR))

    def fourier(self):
        return self.bounded(*self.pick(FOURIER), finite=True)

    KINDS = [
        *((weight * 0.4, kind) for weight, kind in program_arrays.Generator.KINDS),
        (60, python),
        (10, linear_algebra),
        (6, fourier),
    ]


def generate(seed):
    generator = WholeGenerator(seed)
    return generator.grow(int(np.random.default_rng(seed).integers(2, 9)))
