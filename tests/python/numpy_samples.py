"""Sample calls of NumPy's main namespace, for numpy_surface.py."""

# Expressions, or statements and an expression after `;`, several samples apart by `||`. Functions of several names
# share a line. A name alone in a line of UFUNCS gets its samples from the number of operands.
SAMPLES_TEXT = """
all: np.all(b) || np.all(b, axis=1) || np.all(f, axis=0, keepdims=True) || np.all(b, where=f > 0)
allclose: np.allclose(f, f + 1e-12) || np.allclose(n, n, equal_nan=True) || np.allclose(f, g, rtol=0.5, atol=1)
amax amin max min: np.NAME(f) || np.NAME(f, axis=0) || np.NAME(i, axis=1, keepdims=True) || np.NAME(f, initial=2.0, where=b) || np.NAME(cube, axis=(0, 2)) || np.NAME(z)
angle: np.angle(z) || np.angle(f) || np.angle(z, deg=True)
any: np.any(b) || np.any(b, axis=1) || np.any(f, axis=0, keepdims=True)
append: np.append(f, g) || np.append(f, g, axis=0) || np.append(v, 3)
apply_along_axis: np.apply_along_axis(np.sum, 0, f) || np.apply_along_axis(np.sort, 1, f) || np.apply_along_axis(lambda x: x - x.mean(), 1, cube)
apply_over_axes: np.apply_over_axes(np.sum, cube, [0, 2])
arange: np.arange(7) * 2 + v[0] || np.arange(2, 9, 3) + k[0] || np.arange(0, 1, 0.25, dtype=np.float32) + s[0, 0] || np.arange(len(v)) * v
argmax argmin: np.NAME(f) || np.NAME(f, axis=1) || np.NAME(i, axis=0, keepdims=True) || np.NAME(n) || np.NAME(b, axis=1) || np.NAME(z)
argpartition: np.sort(np.take(v, np.argpartition(v, 2)[:2]))
argsort: np.argsort(f) || np.argsort(v) || np.argsort(d, kind='stable') || np.argsort(f, axis=0) || np.argsort(f, axis=None) || np.argsort(i, kind='stable', axis=1)
argwhere: np.argwhere(b) || np.argwhere(v > 0)
around round: np.NAME(f) || np.NAME(f / 7, 2) || np.NAME(i) || np.NAME(i, -1) || np.NAME(z, 1) || np.NAME(half)
array: np.array(f) || np.array([f, g]) || np.array([1.0, 2.0, f[0, 0]]) || np.array(f, dtype=np.float32) || np.array(f, copy=True) || np.array(f, ndmin=3) || np.array([[f[0, 0], 1], [2, 3]]) || np.array(f, order='F')
array_equal: np.array_equal(f, f.copy()) || np.array_equal(f, v) || np.array_equal(n, n, equal_nan=True)
array_equiv: np.array_equiv(f, f[:1]) || np.array_equiv(f, f + 0)
array_split: [q + 1 for q in np.array_split(v, 4)] || [q + 1 for q in np.array_split(f, 3, axis=1)]
asanyarray asarray: np.NAME(f) + 0 || np.NAME([f[0], g[0]]) || np.NAME(f, dtype=np.float32) || np.NAME(3.5) + f || np.NAME(f, order='F') + 0
asarray_chkfinite: np.asarray_chkfinite(f) + 0
ascontiguousarray: np.ascontiguousarray(f.T) || np.ascontiguousarray(F) || np.ascontiguousarray(f[:, ::2])
asfortranarray: np.asfortranarray(f) || np.asfortranarray(f) * 2
astype: np.astype(f, np.float32) || np.astype(i, np.float64)
atleast_1d: np.atleast_1d(f) || np.atleast_1d(f[0, 0]) || np.atleast_1d(v, f)
atleast_2d: np.atleast_2d(v) || np.atleast_2d(v, f)
atleast_3d: np.atleast_3d(v) || np.atleast_3d(f) || np.atleast_3d(f[0, 0])
average: np.average(f) || np.average(f, axis=0) || np.average(f, weights=g) || np.average(f, axis=1, weights=g[0]) || np.average(f, axis=0, weights=g, returned=True)
bartlett blackman hamming hanning: np.NAME(6) * v
kaiser: np.kaiser(6, 8.6) * v
bincount: np.bincount(k) || np.bincount(k, minlength=6) || np.bincount(k, weights=v)
block: np.block([f, g]) || np.block([[m, h], [h, m]])
broadcast_arrays: [q + 1 for q in np.broadcast_arrays(f, f[0])]
broadcast_shapes: np.broadcast_shapes(f.shape, f[0].shape)
broadcast_to: np.broadcast_to(f[0], (3, 4)) + 1 || np.broadcast_to(f[0, 0], 5) * 2
can_cast: np.can_cast(f.dtype, np.float32)
choose: np.choose(k % 2, [v, w]) || np.choose(k, (v, w), mode='clip') || np.choose(k, (v, w), mode='wrap')
clip: np.clip(f, -1, 2) || np.clip(f, None, 2.0) || np.clip(i, 0, 3) || np.clip(f, g - 2, g) || np.clip(f, min=0) || f.clip(0, 2, out=f)
column_stack: np.column_stack([v, w]) || np.column_stack((f, g))
common_type: np.zeros(3, np.common_type(f, s))
compress: np.compress([True, False, True], f, axis=0) || np.compress(c, f, axis=1) || np.compress(v > 0, v)
concatenate concat: np.NAME([f, g]) || np.NAME((f, g), axis=1) || np.NAME((f, i)) || np.NAME((f, g), axis=None) || np.NAME((f, s[:, :1].repeat(4, 1)), dtype=np.float32) || np.NAME((F, F)) || np.NAME((f, g), out=np.empty((6, 4)))
convolve: np.convolve(v, w) || np.convolve(v, w[:3], 'same') || np.convolve(v, w[:3], 'valid') || np.convolve(k, k) || np.convolve(v[:2], w, 'same')
correlate: np.correlate(v, w) || np.correlate(v, w[:3], 'same') || np.correlate(v, w[:2], 'same') || np.correlate(v[:4], w[:4], 'same') || np.correlate(v, w, 'full') || np.correlate(z[0], z[1], 'full') || np.correlate(v.astype(np.uint8), v[:1] > 0)
copy: np.copy(f) || np.copy(F) || np.copy(f, order='F') || np.copy(F, order='C')
copyto: np.copyto(f, g); f || np.copyto(f, 2.5, where=b); f || np.copyto(f, i); f
corrcoef: np.corrcoef(f) || np.corrcoef(v, w) || np.corrcoef(f, rowvar=False)
cov: np.cov(f) || np.cov(v, w) || np.cov(f, rowvar=False, ddof=0) || np.cov(f, bias=True) || np.cov(v)
count_nonzero: np.count_nonzero(b) || np.count_nonzero(f, axis=1) || np.count_nonzero(f, axis=0, keepdims=True)
cross: np.cross(f[:, :3], g[:, :3]) || np.cross(v[:3], w[:3]) || np.cross(f[:, :3], v[:3]) || np.cross(f, g, axisa=0, axisb=0) || np.cross(f, g, axis=0)
cumprod cumsum: np.NAME(f) || np.NAME(f, axis=0) || np.NAME(f, axis=1) || np.NAME(u) || np.NAME(i, axis=1, dtype=np.float64) || np.NAME(f, axis=1, out=g) || np.NAME(b)
cumulative_prod cumulative_sum: np.NAME(v) || np.NAME(f, axis=1) || np.NAME(f, axis=0, include_initial=True)
delete: np.delete(v, 2) || np.delete(v, v > 0) || np.delete(f, c, axis=1) || np.delete(f, 1, axis=1) || np.delete(v, [0, 2]) || np.delete(v, slice(1, 4)) || np.delete(v, -1)
diag: np.diag(f) || np.diag(v) || np.diag(v, 1) || np.diag(f, -1)
diag_indices: f[:, :3][np.diag_indices(3)]
diag_indices_from: m[np.diag_indices_from(m)]
diagflat: np.diagflat(v) || np.diagflat(f[:2, :2], 1)
diagonal: np.diagonal(f) || np.diagonal(f, 1) || np.diagonal(cube, 0, 1, 2)
diff: np.diff(v) || np.diff(f, axis=0) || np.diff(f, 2) || np.diff(b) || np.diff(v, prepend=0.0) || np.diff(v, append=w[:2]) || np.diff(u)
digitize: np.digitize(v, w) || np.digitize(v, w, right=True) || np.digitize(f, w[::-1])
dot: np.dot(v, w) || np.dot(f, g.T) || np.dot(f, g[0]) || np.dot(cube, cube[0].T) || np.dot(v, 2.0) || np.dot(cube, np.ones((2, 4, 3))) || np.dot(m, h, out=np.empty((4, 4)))
dsplit: [q + 1 for q in np.dsplit(cube, 2)]
dstack: np.dstack((v, w)) || np.dstack((f, g))
ediff1d: np.ediff1d(v) || np.ediff1d(f, to_begin=0.0, to_end=[1.0, 2.0])
einsum: np.einsum('ij,kj->ik', f, g) || np.einsum('ii->i', m) + 0 || np.einsum('ij->j', f) || np.einsum('ij,ij', f, g) || np.einsum(f, [0, 1], g, [0, 1]) || np.einsum('ijk,kl->ijl', cube, m, optimize=True) || np.einsum('...j,j', cube, f[0])
einsum_path: np.einsum_path('ij,jk', m, h)[0] || np.einsum_path('ij,jk,kl->il', m, h, m, optimize='greedy')[1]
empty: np.empty((2, 3)).shape || np.empty(3, np.int32).dtype
empty_like: np.empty_like(f).shape || np.empty_like(f, dtype=int, shape=(2,)).dtype
expand_dims: np.expand_dims(f, 0) || np.expand_dims(f, (0, -1)) || np.expand_dims(v[0], 0)
extract: np.extract(f > 1, f)
eye: np.eye(4) + m || np.eye(3, 4, k=1) * f || np.eye(3, dtype=np.int32) + F
fill_diagonal: np.fill_diagonal(m, 2.5); m || np.fill_diagonal(f, 0); f
fix: np.fix(f)
flatnonzero: np.flatnonzero(v > 0)
flip: np.flip(f) || np.flip(f, 0) || np.flip(v)
fliplr flipud: np.NAME(f)
from_dlpack: np.from_dlpack(f) + 1
fromfunction: np.fromfunction(lambda y, x: y + x, (3, 4)) * f
full: np.full((2, 3), 2.5) + s || np.full(4, f[0, 0]) || np.full((2, 4), f[0]) || np.full(3, 1, dtype=np.int8)
full_like: np.full_like(f, 2) || np.full_like(i, 2.5) || np.full_like(f, 3, dtype=np.float32) || np.full_like(F, 1)
geomspace linspace logspace: np.NAME(1.0, 4.0, 6) * v || np.NAME(1, 3, 6, endpoint=False) * v
gradient: np.gradient(v) || np.gradient(f) || np.gradient(f, axis=0) || np.gradient(v, 0.5) || np.gradient(v, w) || np.gradient(f, 2.0, 0.5) || np.gradient(v, edge_order=2)
histogram: np.histogram(v, bins=5) || np.histogram(v, bins=w) || np.histogram(v, bins=4, range=(-5, 5), density=True) || np.histogram(v, weights=w)
histogram2d: np.histogram2d(v, w, bins=3) || np.histogram2d(v, w, bins=[3, 4], density=True) || np.histogram2d(v, w, bins=[w, w])
histogramdd: np.histogramdd(f, bins=2) || np.histogramdd([v, w], bins=[[0.0, 1.0, 4.0], 3], weights=w)
histogram_bin_edges: np.histogram_bin_edges(v, 4)
hsplit: [q + 1 for q in np.hsplit(f, 2)]
hstack: np.hstack((v, w)) || np.hstack((f, g)) || np.hstack([v, 3.0])
i0: np.i0(v)
identity: np.identity(4) + m
imag: np.imag(z) || np.imag(f)
indices: np.indices((3, 4)) * f || np.indices((3, 4), sparse=True)[0] * f
inner: np.inner(v, w) || np.inner(f, g) || np.inner(f, 2.0)
insert: np.insert(v, 2, 7.5) || np.insert(f, 1, 9.0, axis=1) || np.insert(v, [1, 3], [5.0, 6.0]) || np.insert(f, 0, g[0], axis=0)
interp: np.interp(v, w, w * 2) || np.interp(f, w, v) || np.interp(2.5, w, v) || np.interp(v, w, v, left=-1, right=9) || np.interp(v, w, v, period=3.0) || np.interp(v, w, w * 1j)
intersect1d: np.intersect1d(k, i) || np.intersect1d(f, v) || np.intersect1d(k, i[0], return_indices=True) || np.intersect1d([1, 2], k[1:3], assume_unique=True)
isclose: np.isclose(f, f + 1e-9) || np.isclose(n, n, equal_nan=True) || np.isclose(f, g, rtol=0.1, atol=0.5)
iscomplex: np.iscomplex(z) || np.iscomplex(f)
iscomplexobj isrealobj: np.NAME(z) || np.NAME(f)
isdtype: np.isdtype(f.dtype, 'real floating')
isfortran: np.isfortran(F)
isin: np.isin(k, [1, 2]) || np.isin(i, k) || np.isin(f, w, invert=True) || np.isin(k, 2)
isneginf isposinf: np.NAME(f) || np.NAME(np.log(np.abs(f)))
isreal: np.isreal(z) || np.isreal(f)
isscalar: np.isscalar(f[0, 0]) || np.isscalar(f) || np.isscalar(2.5)
issubdtype: np.issubdtype(f.dtype, np.floating)
iterable: np.iterable(f) || np.iterable(2)
ix_: f[np.ix_([0, 2], [1, 3])] || f[np.ix_(r, r)] || f[np.ix_(np.array([True, False, True]), [0, 1])]
kron: np.kron(m, h) || np.kron(v, w) || np.kron(f, v)
lexsort: np.lexsort((v, k)) || np.lexsort(i)
mask_indices: np.mask_indices(3, np.triu)
matrix_transpose: np.matrix_transpose(cube)
mean: np.mean(f) || np.mean(f, axis=0) || np.mean(i, axis=1, keepdims=True) || np.mean(s) || np.mean(half) || np.mean(f, where=b) || np.mean(f, dtype=np.float32) || np.mean(z, axis=1) || np.mean(b)
median nanmedian: np.NAME(f) || np.NAME(f, axis=0) || np.NAME(v) || np.NAME(i, axis=1, keepdims=True) || np.NAME(n, axis=0) || np.NAME(n) || np.NAME(s)
meshgrid: np.meshgrid(v, w) || np.meshgrid(v, w, indexing='ij') || np.meshgrid(v, w, sparse=True) || np.meshgrid(v)
min_scalar_type: np.min_scalar_type(300)
mintypecode: np.mintypecode('fd')
moveaxis: np.moveaxis(cube, 0, -1) || np.moveaxis(cube, [0, 1], [2, 0])
nan_to_num: np.nan_to_num(n) || np.nan_to_num(n, nan=1.5) || np.nan_to_num(z) || np.nan_to_num(n, copy=False)
nanargmax nanargmin: np.NAME(n) || np.NAME(n, axis=1)
nancumprod nancumsum: np.NAME(n) || np.NAME(n, axis=1)
nanmax nanmin: np.NAME(n) || np.NAME(n, axis=1) || np.NAME(i, axis=0, keepdims=True)
nanmean: np.nanmean(n) || np.nanmean(n, axis=1) || np.nanmean(n, axis=0, keepdims=True)
percentile nanpercentile: np.NAME(f, 30) || np.NAME(n, [25, 75], axis=1) || np.NAME(f, 50, axis=0, keepdims=True) || np.NAME(v, 40, method='lower') || np.NAME(v, [10, 90], method='nearest') || np.NAME(s, 20.0)
quantile nanquantile: np.NAME(f, 0.3) || np.NAME(n, [0.25, 0.75], axis=1) || np.NAME(v, 0.4, method='higher') || np.NAME(v, 0.4, method='midpoint') || np.NAME(v, 0.4, method='hazen')
nanprod nansum: np.NAME(n) || np.NAME(n, axis=1) || np.NAME(i, axis=0)
nanstd nanvar: np.NAME(n) || np.NAME(n, axis=1) || np.NAME(n, axis=0, ddof=1)
ndim: np.ndim(f) || np.ndim(3)
nonzero: np.nonzero(b) || np.nonzero(f)
ones zeros: np.NAME((2, 3)) + s || np.NAME(3, dtype=np.int32) || np.NAME((2, 3), order='F') || np.NAME(f.shape, f.dtype) + f
ones_like zeros_like: np.NAME(f) || np.NAME(i, dtype=np.float32) || np.NAME(F) || np.NAME(f, shape=(2, 2)) || np.NAME(f, order='F') || np.NAME(cube.transpose(1, 0, 2))
outer: np.outer(v, w) || np.outer(f, v)
packbits: np.packbits(b) || np.packbits(b, axis=1)
pad: np.pad(v, 2) || np.pad(f, ((1, 0), (2, 1)), constant_values=3.0) || np.pad(f, 1, mode='edge') || np.pad(v, 3, 'reflect') || np.pad(v, 2, 'symmetric') || np.pad(f, 1, 'wrap') || np.pad(v, 2, 'mean') || np.pad(v, 2, 'maximum') || np.pad(v, 2, 'linear_ramp', end_values=0)
partition: np.partition(v, 2)[2] || np.partition(f, 1, axis=0)[1]
permute_dims: np.permute_dims(cube, (1, 0, 2))
piecewise: np.piecewise(v, [v < 0, v >= 0], [lambda x: -x, lambda x: x * 2])
place: np.place(f, b, [1.0, 2.0]); f || np.place(f, b, [1, 2]); f
poly: np.poly(v) || np.poly(m) || np.poly([1, 2]) || np.poly(z[0, :2])
polyadd polysub polymul: np.NAME(v, w[:3])
polyder: np.polyder(v) || np.polyder(v, 2)
polyint: np.polyint(v) || np.polyint(v, 2) || np.polyint(v, 2, [1, 2])
polydiv: np.polydiv(w, v[:3]) || np.polydiv(w, [1, 2])
polyfit: np.polyfit(w, v, 2) || np.polyfit(w, v, 1) || np.polyfit(w, v, 2, w=np.abs(v)) || np.polyfit(w, v, 1, full=True)[0] || np.polyfit(w, v, 1, cov=True)[1] || np.polyfit(w, v, 1, cov='unscaled')[1]
polyval: np.polyval(v, f) || np.polyval([1, 2, 3], f) || np.polyval(v, 2.0) || np.polyval(v, i)
prod sum: np.NAME(f) || np.NAME(f, axis=0) || np.NAME(i, axis=1, keepdims=True) || np.NAME(u) || np.NAME(f, where=b) || np.NAME(cube, axis=(0, 2)) || np.NAME(f, dtype=np.float32) || np.NAME(f, axis=1, initial=2.0) || np.NAME(z) || np.NAME(b) || np.NAME(f, axis=0, out=np.empty(4)) || np.NAME(s, axis=1)
promote_types: np.zeros(3, np.promote_types(np.int8, np.uint8))
ptp: np.ptp(f) || np.ptp(f, axis=0) || np.ptp(i, axis=1, keepdims=True)
put: np.put(f, [0, 5], [9.0, 8.0]); f || np.put(v, k, 3.0); v || np.put(v, [1, -1], 2.5); v || np.put(f, [0, 5], [9, 8]); f || np.put(i, [0, 5], v); i
put_along_axis: np.put_along_axis(f, np.argmax(f, axis=1, keepdims=True), 99.0, axis=1); f
putmask: np.putmask(f, f > 2, 0.0); f || np.putmask(f, b, g); f || np.putmask(v, v > 0, [1.0, 2.0]); v
ravel: np.ravel(f) || np.ravel(f, order='F') || np.ravel(F) || np.ravel(F, 'K')
ravel_multi_index: np.ravel_multi_index((k % 3, k), (3, 4)) || np.ravel_multi_index((k, k), (2, 2), mode='clip')
real: np.real(z) || np.real(f)
real_if_close: np.real_if_close(f) || np.real_if_close(z) || np.real_if_close(f + 0j)
repeat: np.repeat(v, 2) || np.repeat(f, 3, axis=1) || np.repeat(v, [1, 2, 0, 1, 1, 3]) || np.repeat(f, [1, 2, 0], axis=0)
require: np.require(f, dtype=np.float32, requirements='C')
reshape: np.reshape(f, (4, 3)) || np.reshape(f, -1) || np.reshape(f, (2, -1), order='F') || np.reshape(cube, (6, -1))
resize: np.resize(v, (2, 4)) || np.resize(v, 4)
result_type: np.zeros(3, np.result_type(np.int8, np.float32))
roll: np.roll(v, 2) || np.roll(f, 1, axis=0) || np.roll(f, (1, -1), axis=(0, 1)) || np.roll(f, 5) || np.roll(f, 2, axis=(0, 1))
rollaxis: np.rollaxis(cube, 2) || np.rollaxis(cube, 1, 3)
roots: np.sort(np.abs(np.roots(v))) || np.sort(np.abs(np.roots([0, 1, -3, 2, 0])))
rot90: np.rot90(f) || np.rot90(f, 2) || np.rot90(f, -1) || np.rot90(cube, 1, (1, 2))
row_stack vstack: np.NAME((v, w)) || np.NAME([f, g])
searchsorted: np.searchsorted(w, v) || np.searchsorted(w, v, side='right') || np.searchsorted(w, 1.25) || np.searchsorted(v, w, sorter=np.argsort(v, kind='stable')) || np.searchsorted(k, v)
select: np.select([f > 2, f < 0], [f, -f], 0.5) || np.select([f > 2, f < 0], [f, i]) || np.select([f > 2], [1.0], default=f) || np.select([True, False], [1, 2])
setdiff1d setxor1d union1d: np.NAME(k, i)
shape: np.shape(f) || np.shape(3)
sinc: np.sinc(f) || np.sinc(v)
size: np.size(f) || np.size(f, 0)
sort: np.sort(f) || np.sort(f, axis=0) || np.sort(f, axis=None) || np.sort(v)[::-1] || np.sort(i, kind='stable') || np.sort(n) || np.sort(z, axis=1)
sort_complex: np.sort_complex(z[0])
split: [q + 1 for q in np.split(v, 3)] || [q + 1 for q in np.split(v, [1, 4])] || [q + 1 for q in np.split(f, 2, axis=1)]
squeeze: np.squeeze(f[:, :1]) || np.squeeze(f[None], axis=0)
stack: np.stack((f, g)) || np.stack([f, g], axis=-1) || np.stack((v, w), 1) || np.stack((f, g), dtype=np.float32) || np.stack((f, i))
std var: np.NAME(f) || np.NAME(f, axis=0) || np.NAME(i, axis=1, ddof=1) || np.NAME(f, axis=0, keepdims=True) || np.NAME(s) || np.NAME(z) || np.NAME(f, where=b) || np.NAME(half) || np.NAME(f, axis=1, correction=1) || np.NAME(f, axis=0, mean=f.mean(axis=0, keepdims=True))
swapaxes: np.swapaxes(cube, 0, 2)
take: np.take(f, r) || np.take(f, r, axis=0) || np.take(f, 2) || np.take(f, k, axis=1) || np.take(v, [7, -9], mode='wrap') || np.take(v, [7, -9], mode='clip') || np.take(f, r, axis=0, out=np.empty((3, 4)))
take_along_axis: np.take_along_axis(f, np.argsort(f, axis=1), axis=1) || np.take_along_axis(f, np.argmax(f, axis=0, keepdims=True), axis=0)
tensordot: np.tensordot(f, g, 2) || np.tensordot(cube, f, axes=([1, 2], [0, 1])) || np.tensordot(m, h, axes=1)
tile: np.tile(v, 2) || np.tile(f, (2, 1)) || np.tile(v, (2, 2))
trace: np.trace(m) || np.trace(f, 1) || np.trace(cube, axis1=1, axis2=2) || np.trace(u[:, None] * u, dtype=np.int64)
transpose: np.transpose(f) || np.transpose(cube, (1, 0, 2)) || np.transpose(cube)
trapezoid: np.trapezoid(v) || np.trapezoid(v, w) || np.trapezoid(f, dx=0.5, axis=0)
tri: np.tri(3, 4) * f || np.tri(4, k=-1) * m
tril triu: np.NAME(m) || np.NAME(f, 1) || np.NAME(cube, -1) || np.NAME(v)
tril_indices triu_indices: m[np.NAME(4)] || m[np.NAME(4, 1)]
tril_indices_from triu_indices_from: m[np.NAME(m)]
trim_zeros: np.trim_zeros(v) || np.trim_zeros(np.concatenate([np.zeros(2), v, np.zeros(1)]), 'b')
typename: np.typename('d')
union1d: np.union1d(k, i)
unique: np.unique(k) || np.unique(n) || np.unique(s) || np.unique(d, return_counts=True) || np.unique(i, return_index=True, return_inverse=True) || np.unique(i % 3, axis=0, return_index=True, return_inverse=True, return_counts=True) || np.unique(b, axis=1) || np.unique(n, equal_nan=False, return_counts=True)
unique_all unique_counts unique_inverse: np.NAME(k)
unique_values: np.sort(np.unique_values(k))
unpackbits: np.unpackbits(u) || np.unpackbits(u[:, None], axis=1)
unravel_index: np.unravel_index(k, (2, 3)) || np.unravel_index(np.argmax(f), f.shape)
unstack: [q + 1 for q in np.unstack(f)] || np.unstack(f, axis=1)[0] + 1
unwrap: np.unwrap(w * 2) || np.unwrap(f, axis=0)
vander: np.vander(v) || np.vander(v, 3) || np.vander(v, 4, increasing=True) || np.vander(k, 3)
vdot: np.vdot(v, w) || np.vdot(f, g) || np.vdot(z, z)
vsplit: [q + 1 for q in np.vsplit(f, 3)]
where: np.where(b) || np.where(b, f, g) || np.where(f > 0, f, 0.0) || np.where(f > 0, 1, i) || np.where(c, f, -1) || np.where(f > 0, 1, 0) || np.where(b, s[0, 0], f)
c_: np.c_[v, w] || np.c_[f, f[0, 0] * f] || np.c_[1:4, k[:3]]
r_: np.r_[v, w] || np.r_[v, 0, 1.5] || np.r_[0:5] + k[:5] || np.r_[f, g] || np.r_['0,2', v, w] || np.r_['1,2,0', v, w]
s_: f[np.s_[1:, ::2]] + 0
index_exp: f[np.index_exp[1:, ::2]] + 0
mgrid: np.mgrid[0:3, 0:4] * f
ogrid: np.ogrid[0:3, 0:4][0] * f
newaxis: f[np.newaxis] + 0
e pi euler_gamma inf nan: f * np.NAME
True_ False_: np.logical_and(b, np.NAME)
matmul: np.matmul(f, g.T) || np.matmul(cube, m) || np.matmul(v, w) || np.matmul(f, g[0]) || np.matmul(i, j.T) || np.matmul(m, h, out=np.empty((4, 4))) || np.matmul(b, b.T)
matvec: np.matvec(f, g[0]) || np.matvec(cube, m[0])
vecmat: np.vecmat(v[:3], f)
vecdot: np.vecdot(f, g) || np.vecdot(z, z) || np.vecdot(f, g, axis=0)
bitwise_and bitwise_or bitwise_xor: np.NAME(i, j) || np.NAME(b, b[::-1]) || np.NAME(u, 7) || np.NAME(i, j, out=i) || np.NAME.reduce(i, axis=1)
bitwise_left_shift left_shift bitwise_right_shift right_shift: np.NAME(i, j) || np.NAME(u, 2)
bitwise_not bitwise_invert invert: np.NAME(i) || np.NAME(b) || np.NAME(u)
bitwise_count: np.bitwise_count(i) || np.bitwise_count(u)
gcd lcm: np.NAME(i, j) || np.NAME(k, 6) || np.NAME.reduce(j, axis=1)
isnat: -
ldexp: np.ldexp(f, i) || np.ldexp(f, 3)
frexp modf: np.NAME(f) || np.NAME(v)
divmod: np.divmod(f, g) || np.divmod(i, j) || np.divmod(i, 3)
arccosh acosh: np.NAME(g + 1) || np.NAME(np.abs(i) + 1)
arccos arcsin arctanh acos asin atanh: np.NAME(p) || np.NAME(p.astype(np.float32)) || np.NAME(p + 0.5j)
sqrt log log2 log10 log1p: np.NAME(g) || np.NAME(j) || np.NAME(g.astype(np.float32)) || np.NAME(g + 1j) || np.NAME(2.5) || np.NAME(g, where=b, out=np.zeros((3, 4)))
sin cos tan sinh cosh tanh arctan arcsinh asinh atan exp exp2 expm1: np.NAME(f) || np.NAME(j) || np.NAME(s) || np.NAME(p + 0.5j) || np.NAME(f[0, 0]) || np.NAME(f, out=f)
cbrt: np.cbrt(f) || np.cbrt(i) || np.cbrt(s)
square: np.NAME(f) || np.NAME(i) || np.NAME(z) || np.NAME(f, out=f) || np.NAME(f, dtype=np.float32, casting='same_kind')
reciprocal: np.NAME(g) || np.NAME(j) || np.NAME(z[:2, :1])
negative positive: np.NAME(f) || np.NAME(i) || np.NAME(z) || np.NAME(u)
abs absolute: np.NAME(f) || np.NAME(i) || np.NAME(z) || np.NAME(u) || np.NAME(f, out=f)
conj conjugate: np.NAME(z) || np.NAME(f)
fabs floor ceil trunc rint: np.NAME(f) || np.NAME(i) || np.NAME(s)
sign: np.NAME(f) || np.NAME(i) || np.NAME(z) || np.NAME(n)
signbit spacing: np.NAME(f) || np.NAME(s)
isfinite isinf isnan: np.NAME(n) || np.NAME(i) || np.NAME(z)
deg2rad rad2deg degrees radians: np.NAME(f) || np.NAME(s)
logical_not: np.logical_not(f) || np.logical_not(b)
logical_and logical_or logical_xor: np.NAME(f, g) || np.NAME(b, f) || np.NAME.reduce(b, axis=0) || np.NAME.accumulate(b, axis=1)
add subtract multiply: np.NAME(f, g) || np.NAME(i, j) || np.NAME(f, 2) || np.NAME(f, i) || np.NAME(z, f) || np.NAME(f, g, out=f) || np.NAME(f, g, where=b, out=g) || np.NAME(f, g, dtype=np.float32) || np.NAME.reduce(f) || np.NAME.reduce(i, axis=1) || np.NAME.reduce(f, axis=1, keepdims=True, initial=2.0) || np.NAME.accumulate(f, axis=1) || np.NAME.outer(v, w) || np.NAME.at(v, [0, 2, 0], 1.5); v || np.NAME.reduceat(v, [0, 2, 4]) || np.NAME.reduceat(f, [0, 2], axis=1) || np.NAME(2, 3)
divide true_divide: np.NAME(f, g) || np.NAME(i, j) || np.NAME(f, 2) || np.NAME(z, g) || np.NAME.reduce(g) || np.NAME.accumulate(g) || np.NAME.outer(v, w) || np.NAME(f, g, where=b, out=f)
maximum minimum fmax fmin: np.NAME(f, g) || np.NAME(i, 2) || np.NAME(n, f) || np.NAME.reduce(f) || np.NAME.accumulate(f, axis=1) || np.NAME.outer(v, w) || np.NAME.at(v, [0, 2, 0], 1.5); v || np.NAME.reduceat(v, [0, 2, 4]) || np.NAME.reduce(f, axis=1, initial=1.0, where=b)
power: np.power(g, f) || np.power(j, 2) || np.power(f, 3) || np.power(2.0, f) || np.power(z, 2)
pow: np.pow(g, 2.5) || np.pow(j, j)
float_power: np.float_power(g, f) || np.float_power(j, 2)
floor_divide remainder mod fmod: np.NAME(f, g) || np.NAME(i, j) || np.NAME(f, 0.75) || np.NAME(u, 7)
arctan2 atan2 hypot copysign nextafter logaddexp logaddexp2: np.NAME(f, g) || np.NAME(s, s[::-1]) || np.NAME(f, 2.0) || np.NAME(i, j)
heaviside: np.heaviside(f, 0.5) || np.heaviside(v, w)
equal not_equal less less_equal greater greater_equal: np.NAME(f, g) || np.NAME(i, 2) || np.NAME(z, z[::-1]) || np.NAME(f, g, out=b) || np.NAME.outer(v, w)
may_share_memory shares_memory: np.NAME(f, f[0]) || np.NAME(f, f + 1)
vectorize: np.vectorize(lambda x, y: x + y)(f, 1.0) || np.vectorize(lambda x: x * 0.5, otypes=[float])(f)
ndindex: [f[i] for i in np.ndindex(2, 2)] || [i for i in np.ndindex((2, 1))]
errstate: with np.errstate(all='ignore'): y = 1 / f; y
seterr: old = np.seterr(all='ignore'); y = 1 / f; np.seterr(**old); y
geterr: str(np.geterr())
geterrcall: np.geterrcall() is None
seterrcall: np.seterrcall(None) is None
"""
