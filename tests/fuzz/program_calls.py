"""The calls that fuzzed programs make; x and y are arrays, k a small number, T a new name."""


def entries(text):
    """Statements of several lines."""
    return [entry.replace("\\n", "\n") for entry in lines(text)]


def lines(text):
    return [call.strip() for line in text.strip().split("\n") for call in line.split(" | ")]


# The same to the last bit.
EXACT = lines("""
np.diff(x) | np.diff(x, axis=0, prepend=x[:1]) | np.append(x, y) | np.delete(x, k, axis=0) | np.insert(x, k, 1, axis=0)
np.insert(x, [0, 1], 2) | np.pad(x, k) | np.pad(x, 1, "edge") | np.pad(x, 1, "reflect") | np.pad(x, 2, "wrap")
np.pad(x, 1, "symmetric") | np.median(x) | np.median(x, axis=0) | np.nanmedian(x, axis=0) | np.percentile(x, 30)
np.quantile(x, 0.25, axis=0) | np.quantile(x, [0.1, 0.9]) | np.nanquantile(x, 0.5, axis=0) | np.quantile(x, 0.4, method="lower")
np.sort(x, axis=0) | np.sort(x) | np.sort(x, axis=None) | np.argsort(x, axis=0, kind="stable") | np.searchsorted(np.sort(x.ravel()), y)
np.searchsorted(np.sort(x.ravel()), y, side="right") | np.digitize(y, [-2, 0, 3]) | np.isin(x, y) | np.isin(x, [1, 2], invert=True)
np.select([x > 0, x < -1], [x, x], 2) | np.rot90(x, k) | np.roll(x, k) | np.roll(x, -k, axis=0) | np.tile(x, 2) | np.repeat(x, 2, axis=0)
np.repeat(x, [2, 0, 1], axis=0) | np.take(x, [0, -1], axis=0) | np.take(x, k, mode="wrap") | np.take(x, [k, -9], mode="clip")
np.ravel(x, order="F") | np.reshape(x, -1, order="F") | x.flatten("F") | np.clip(x, -1, 3) | np.nan_to_num(x)
np.interp(x, [-3.0, 0.0, 2.0], [1.0, -1.0, 5.0]) | np.histogram(x, [-5, -1, 0, 2, 9])[0] | np.histogram(x, 4, range=(-6, 6))[0]
np.unravel_index(np.argmax(x), x.shape)[0] | np.maximum.accumulate(x) | np.bitwise_or.reduce(x) | np.subtract.reduce(x[:2])
np.logical_xor.accumulate(x) | np.minimum.reduceat(x, [0, 1]) | np.ptp(x) | np.count_nonzero(x, axis=0) | np.packbits(x > 0)
np.nanmax(x, axis=0) | np.nanmin(x) | np.nanargmax(x, axis=0) | np.stack([x, x], axis=-1) | np.hstack([x, y]) | np.vstack([x, x]) | np.dstack([x, x])
np.block([[x, x]]) | np.triu(x) | np.tril(x, -1) | np.diag(x) | np.diagonal(x) | np.meshgrid(x, y)[0] | np.unique(x) | np.flatnonzero(x)
np.moveaxis(x, 0, -1) | np.expand_dims(x, (0, -1)) | np.atleast_3d(x) | np.broadcast_arrays(x, x[:1])[1] + 0 | np.isclose(x, x)
np.ix_(np.arange(k), [0])[0] | x[np.ix_([0], [0, -1])] | np.r_[x.ravel(), 1, 2] | np.c_[x.ravel(), x.ravel()] | np.array(x, ndmin=3)
np.ascontiguousarray(x.T) | np.copy(x) | np.zeros_like(x) | np.full_like(x, k) | np.compress([True, False, True], x)
np.choose(np.abs(k), [x, y]) | np.ediff1d(x) | np.split(x, [1, 2])[1] | np.array_split(x, 3)[0] | np.cumulative_sum(x > 0, axis=0)
np.bitwise_count(x) | np.lexsort((x, x)) | np.apply_along_axis(np.max, 0, x) | np.unstack(x)[0] | np.resize(x, (2, 3)) | np.fix(x) | np.signbit(x)
np.where(x)[0] | np.array(x.tolist()) | np.asarray(x.item(0)) | np.asarray(np.array_equal(x, y)) | np.nextafter(x, 0) | np.spacing(x) | np.isposinf(x)
np.maximum(x, y, where=x > 0, out=np.zeros_like(x)) | np.add(x, k, dtype=np.float64) | x.astype(np.float64, order="F") | np.logical_and.reduce(x)
np.outer(x.real, y.real) | np.kron(x.real, y.real) | np.max(x, axis=0, initial=k) | np.min(x, axis=-1, initial=k, where=x > 0) | np.any(x, axis=0, where=x > 1)
np.add(x, y, where=x > 0, out=x.copy()) | np.add(x, k, casting="unsafe", dtype=np.float32) | np.multiply.outer(x.real, y.real) | np.bitwise_and.reduce(x, axis=0)
np.einsum("ij->ji", x) | np.einsum("ii->i", x) | np.einsum("i...->...i", x) | np.unique(x, return_index=True)[1] | np.unique(x, return_inverse=True)[1]
np.unique(x, return_counts=True) | np.union1d(x, y) | np.intersect1d(x, y) | np.setdiff1d(x, y) | np.nonzero(x) | np.argwhere(x > 0) | np.extract(x > 0, x)
x.real | x.imag | np.conj(x) | np.isreal(x) | x.view(x.dtype) | x.squeeze() | np.squeeze(x[None]) | np.broadcast_to(x, (2, *x.shape)) + 0 | x.ravel("K") | x.copy("K")
np.left_shift(x, k) | np.floor_divide(x, k) | np.remainder(x, -3) | np.fmod(x, 3) | divmod(x, 3) | np.gcd(x, k) | np.lcm(x, k) | np.heaviside(x, 0.5) | np.copysign(x, -1)
np.modf(x) | np.frexp(x) | np.ldexp(x, k) | np.logical_not(x) | np.invert(x) | np.partition(x, 0)[:1] | np.sort(x)[::-1] | np.bincount(np.abs(x) % 9) | np.round(x) | np.around(x, 1)
np.swapaxes(x, 0, -1) | np.flip(x) | np.fliplr(x) | np.array([x, x]) | np.array_equiv(x, x) | np.trim_zeros(x) | np.indices((2, k))[1] | np.tri(k) | np.eye(k, dtype=np.int8)
np.arange(k, dtype=x.dtype) | np.linspace(0, 4, 5) | np.ones(k, np.float32) | np.empty_like(x).shape | len(x) | x.shape | x.ndim | x.size | x.nbytes | x.dtype.itemsize | x.T.shape
""")

# Another order of a sum, or an elementary function: call || what n * eps times bounds the distance, n being the number
# of elements of the arguments.
BOUNDED = [
    tuple(entry.split(" || "))
    for entry in lines("""
np.trapezoid(x) || 2 * np.sum(A(x)) | np.gradient(x, axis=0) || 4 * M(x) | np.gradient(x, 0.5, axis=0, edge_order=2) || 16 * M(x)
np.cov(x) || 4 * M(x) ** 2 | np.convolve(x.ravel(), y.ravel()) || np.convolve(A(x).ravel(), A(y).ravel())
np.convolve(x.ravel(), y.ravel(), "same") || np.convolve(A(x).ravel(), A(y).ravel())
np.correlate(x.ravel(), y.ravel(), "full") || np.correlate(A(x).ravel(), A(y).ravel(), "full")
np.var(x, axis=0) || 4 * M(x) ** 2 | np.var(x, where=y > 0) || 4 * M(x) ** 2 | np.nanvar(x, axis=0) || 4 * M(x) ** 2
np.sum(x) || np.sum(A(x)) | np.sum(x, axis=0, keepdims=True) || np.sum(A(x)) | np.sum(x, axis=-1, dtype=np.float64) || np.sum(A(x))
np.mean(x, axis=-1) || 2 * M(x) | np.mean(x, axis=0, where=x > 0) || 2 * M(x) | np.nanmean(x) || 2 * M(x) | np.nansum(x, axis=0) || np.sum(A(x))
np.nancumsum(x) || np.sum(A(x)) | np.cumsum(x, axis=0) || np.sum(A(x)) | np.cumsum(x, dtype=np.float32) || np.sum(A(x)) | np.add.accumulate(x) || np.sum(A(x))
np.average(x, weights=np.abs(x) + 1) || 8 * M(x) | np.linalg.norm(x, 1) || 4 * np.sum(A(x)) | np.linalg.norm(x) || 4 * np.sum(A(x))
np.dot(x, y) || M(x) * np.sum(A(y)) + M(y) * np.sum(A(x)) | x @ y || M(x) * np.sum(A(y)) + M(y) * np.sum(A(x)) | np.vecdot(x, x) || M(x) * np.sum(A(x))
np.inner(x, y) || M(x) * np.sum(A(y)) | np.tensordot(x, x, 1) || M(x) * np.sum(A(x)) | np.matmul(x.T, x) || M(x) * np.sum(A(x))
np.einsum("i...->...", x) || np.sum(A(x)) | np.einsum("ij,kj->ik", x, x) || M(x) * np.sum(A(x)) | np.einsum("ij,ij->", x, x) || M(x) * np.sum(A(x))
np.einsum("i,j->ij", x, y) || M(x) * M(y) | np.einsum("ij->j", x) || np.sum(A(x)) | np.trace(x) || np.sum(A(x)) | np.add.reduceat(x, [0, 1]) || np.sum(A(x))
np.sum(x, axis=0, initial=k) || np.sum(A(x)) + k | np.sum(x, where=x > 0) || np.sum(A(x)) | np.add.reduce(x, axis=0) || np.sum(A(x))
np.exp(np.clip(x, -9, 9)) || 8104 | np.sin(np.clip(x, -99, 99)) || 1 | np.cos(np.clip(x, -99, 99)) || 1 | np.tanh(x) || 1 | np.arctan(x) || 2 | np.log1p(np.abs(x)) || 8 + M(x)
np.sqrt(x) || 1 + M(x) | np.cbrt(x) || 1 + M(x) | np.hypot(x, y) || M(x) + M(y) | np.arctan2(x, y) || 4 | np.abs(x) || M(x) | np.exp2(np.clip(x, -9, 9)) || 512
np.sinc(np.clip(x, -99, 99)) || 400 | np.log(np.abs(x) + 1) || 8 + M(x) | np.expm1(np.clip(x, -9, 9)) || 8104 | np.logaddexp(x, y) || 8 + M(x) + M(y) | np.angle(x) || 4
np.polyval([1.0, -2.0, 3.0], np.clip(x, -9, 9)) || 200 | np.power(np.abs(x), 1.5) || 4 + M(x) ** 1.5 | np.square(x) || 2 * M(x) ** 2 | x * y || 2 * M(x) * M(y)
np.multiply.reduce(np.clip(x.ravel()[:5], -5, 5)) || 3200 | np.prod(np.clip(x.ravel()[:4], -9, 9)) || 6600 | np.cumprod(np.clip(x.ravel()[:4], -9, 9)) || 6600 | np.degrees(x) || 60 * M(x)
np.interp(x, [-3.0, 0.0, 2.0], [1.0, -1.0, 5.0], left=0.0) || 8 | np.linspace(0, k, 7) || 8 | np.std(x, axis=0) || 4 * M(x) / np.sqrt(E(x)) | np.reciprocal(x + 0.5) || 4 / max(np.min(A(x + 0.5)), 1e-9)
""")
]

# Statements that change x.
UPDATES = lines("""
np.putmask(x, x > 1, 0) | np.copyto(x, k, where=x > 0) | np.put(x, [0, -1], k) | x.sort(axis=0) | np.fill_diagonal(x, k) | np.add.at(x, [0, 0], 1)
np.place(x, x > 0, [1, 2]) | np.maximum(x, k, out=x) | np.clip(x, -1, 2, out=x) | x.put([0], k) | np.put_along_axis(x, np.argmax(x, axis=0)[None], k, axis=0)
x[x > 1] = 0 | x[[0, -1]] = k | x[..., None][:] = k | x.T[:] += 1 | x.ravel()[:1] = k | x.reshape(-1)[::2] = k | x[1:] = x[:-1] | x[:-1] = x[1:] | x[::-1] += x
x[x > 0] += k | x[[0, 0]] += 1 | x[np.array([True] * len(x))] = k | x[:, [0, -1]] = 0 | x[[0], ..., [-1]] = k | x.fill(k) | x[...] = x[::-1] | np.subtract(x, 1, out=x)
np.add(x, x, out=x[::-1]) | np.negative(x, out=x) | x.real[:] = k | np.minimum.at(x, 0, -1) | np.subtract.at(x, [0, -1], 2) | x[x > 1] = x[x > 1] * 2 | x[0], x[-1] = k, 1
x += x[::-1] | x[1:] += x[:-1] | x[[1, 0]] = x[[0, 1]] | np.copyto(x, x[::-1]) | np.logical_not(x, out=x) | x[x < 0] = -x[x < 0] | x[np.argsort(x, kind="stable")] = x | x.T[0] = k
x[..., 0] = x[..., -1] | np.multiply(x, 2, out=x, where=x > 0) | x[np.nonzero(x)] = k | x.partition(0) | x[k] = x[0] | x.resize(x.shape) | x[x == x] -= 1
""")

# Reads by arrays of positions and masks.
SELECTIONS = lines("""
x[[0, -1]] | x[[0, 0, -1], ::-1] | x[..., [0, -1]] | x[x > 0] | x[x != x] | x[~(x > 1)] | x[np.array([0, -1])[:, None], [0, -1]] | x[[True] * len(x)] | x[np.array([], dtype=int)]
x[:, x[0] > 0] | x[np.abs(x).astype(int) % len(x)] | x[None, [0], ..., 0] | x[[0], :, [0]] | x[np.argsort(x, axis=None, kind="stable")] | np.take_along_axis(x, np.argsort(x, kind="stable"), -1)
x[np.newaxis, ..., ::-1] | x[..., :1, None] | x[True] | x[np.int64(0)] | x[(0,) * x.ndim] | x[[[0, -1], [-1, 0]]] | x[-1:, ...] | x[x.argmax() % len(x)] | x[y > 0] | x[slice(None, None, -1)]
x[k] | x[-k] | x[[k, 0]] | x[k:, None] | x[x > 0].sum() > 0 | x[(x > 0) & (x < 3)] | x[np.where(x > 0)] | x.take([[0, -1]]) | x.flat[0] | x.item(-1) | x[k:][::-2] | x[::2, ...][..., ::-1]
""")

# Python around arrays.
PYTHON = entries(r"""
if np.any(x > k):\n    T = x + y\nelse:\n    T = x - k | if x.size > 3 and x.ndim:\n    T = x[0]\nelif k:\n    T = y\nelse:\n    T = k | T = [row * 2 for row in x][k]
try:\n    T = x[k + 2]\nexcept IndexError:\n    T = y | T = {"p": x, "q": y}["q"] + {"p": x, "q": y}["p"] | T = (lambda p: p[::-1])(x) | T, *Tb = x | T, Tb = x[0], x[1:]
def inner(p, q=2):\n    return p - q\nT = inner(x) + inner(y, q=k) | T = sum(len(row) for row in x) | T = [bool(row.any()) for row in x] | T = max(x.tolist()[0]) | T = list(zip(x, y))[k]
T = y\nfor p, q in zip(x, y):\n    T = p - q | T = 0\nfor j, row in enumerate(x):\n    if j == k:\n        continue\n    T = T + row | T = helper(x.ndim) | T = helper(k) * x
T = x\nwhile T.ndim > 1:\n    T = T[0] | T = x\nfor axis in range(x.ndim):\n    T = np.max(T, axis=axis, keepdims=True) | T = x if x.shape == y.shape else y | T = tuple(reversed(x.shape))
T = []\nfor row in x:\n    if len(T) > k:\n        break\n    T.append(row.max())\nelse:\n    T.append(k) | T = x.copy()\nT[0], T[-1] = T[-1].copy(), T[0].copy() | T = f"{x.shape}-{x.dtype}"
with np.errstate(all="ignore"):\n    T = x // k | T = (x > k).any() or (y > k).all() | T = not np.any(x) | T = float(np.max(x)) if x.size else k | T = [int(v) for v in (x > 0).ravel()] | T = x[0] is x[0]
try:\n    T = k // (k - 1)\nexcept ZeroDivisionError as error:\n    T = str(error)\nfinally:\n    Tb = k | assert x.ndim < 9\nT = x is y | T = isinstance(x, np.ndarray) and x.dtype.kind in "iu"
total = 0\nfor value in x.ravel()[:4]:\n    total = total + value\nT = total - x | T = 1 < len(x) <= 5 | T = np.array([p[0] for p in x]) | T = x\nT += 1 | T = x\nT = T + 1 | T = Tb = x.copy()\nTb[:1] = k
""")
