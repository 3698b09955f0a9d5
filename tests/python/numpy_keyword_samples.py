"""What numpy_keywords.py calls NumPy's functions with, over the arrays of numpy_surface.py and numpy_forms.py.

A line is `names: arguments || arguments | keyword=value || value | keyword=value`. Every keyword is added to every group of
arguments, one value at a time; a value may bring further keywords along. Keywords that a function has and its line does not
name get the values of USUAL. Keywords that stand for an argument are given in the group itself: `a, q=30`.
"""

# By keyword. OUT: an array as NumPy's result; see numpy_keywords.py for the others.
USUAL = {
    "axis": "0 || -1 || None || 5",
    "axes": "(0, 1)",
    "keepdims": "True || False",
    "out": "OUT || STRIDED || NARROW || OTHER",
    "where": "b",
    "initial": "2",
    "dtype": "np.float32 || complex || np.int16",
    "order": "'C' || 'F' || 'A' || 'K' || 'X'",
    "subok": "True || False",
    "copy": "True || None || False",
    "device": "'cpu' || 'gpu'",
    "like": "None || f",
    "casting": "'no' || 'equiv' || 'safe' || 'same_kind' || 'unsafe' || 'some'",
    "mode": "'raise' || 'wrap' || 'clip' || 'none'",
    "ddof": "1 || 0.5 || 9",
    "correction": "1 || 0.5",
    "mean": "np.full((1, 1), 0.5)",
    "shape": "(2, 2) || 5",
    "equal_nan": "True || False",
    "rtol": "0.5 || g",
    "atol": "0.5 || g",
    "k": "1 || -1 || 9",
    "offset": "1 || -2",
    "axis1": "1, axis2=0 || -1, axis2=0",
    "axis2": "0, axis1=1",
    "kind": "None || 'quicksort' || 'stable' || 'heapsort' || 'bogo'",
    "stable": "True || False || None",
    "assume_unique": "True || False",
    "overwrite_input": "True || False",
    "method": """'linear' || 'lower' || 'higher' || 'nearest' || 'midpoint' || 'hazen' || 'weibull' || 'inverted_cdf' ||
        'averaged_inverted_cdf' || 'closest_observation' || 'interpolated_inverted_cdf' || 'median_unbiased' ||
        'normal_unbiased' || 'other'""",
    "num": "6 || 1 || 0 || -1",
    "endpoint": "True || False",
    "retstep": "True || False",
    "density": "True || False || None",
    "range": "(-3, 3) || (0, 0) || (3, -3)",
    "rowvar": "True || False",
    "decimals": "1 || -1 || 0",
    "norm": "None || 'ortho' || 'forward' || 'backward' || 'other'",
    "n": "4 || 7 || 1 || 0",
    "s": "(2, 5) || (4, 4) || (2,)",
    "UPLO": "'L' || 'U' || 'X'",
    "hermitian": "True || False",
    "rcond": "0.1 || None",
    "weights": "w || -w",
    "dx": "0.5",
    "bitorder": "'big' || 'little' || 'none'",
}

KEYWORDS_TEXT = """
all any: b | out=OUT || STRIDED || np.zeros(3) || OTHER
allclose isclose: f, g || n, f
amax amin max min: f || i | dtype=
angle: z || f | deg=True || False || 1
append: f, g | axis=0 || 1 || None || 2
apply_along_axis: np.sum, 0, f || lambda x: x[:2] * 2, 1, f || lambda x, y: x.sum() + y, 0, f, 3.0 || lambda x: np.outer(x, x), 1, f || sorted, 0, f
apply_over_axes: np.sum, f, [0, 1] || np.sum, cube, 1 || lambda x, axis: x.max(axis), cube, (0, 2)
arange: 5 || 1, 6 || 1.5, 6, 0.5 || 5.0 | step=2 || 0.5, stop=7 || -1, stop=-3 | stop=8 || 0.5 | dtype=np.float32 || np.int16 || bool || complex
argmax argmin: f || b | out=np.empty((), np.intp) || np.empty(4, np.intp), axis=0 || np.empty(4, np.int32), axis=0 || np.empty(4), axis=0 || np.empty(3, np.intp), axis=0
argpartition partition: v, 2 || f, 1 || f, (0, 2) || f, kth=1 | kind='introselect' || 'other' | axis=0 || None || 5
argsort sort: f || d || n || z || f.T | order='x' || None | stable=True || False || None || True, kind='stable'
argwhere flatnonzero nonzero: f || b || i || n
around round: f || i || z | out=OUT || STRIDED || NARROW || OTHER
array: f || [1, 2] || [f, g] || f.T || 3 || [[1, 2.5], [3, True]] || [f[0, 0], 1j] | ndmin=3 || 0 | ndmax=1 || 2 | copy=True || None || False
asanyarray asarray: f || [1, 2] || f.T || F || i
asarray_chkfinite: f || n || F || [1, 2]
ascontiguousarray asfortranarray: f || F || [1, 2] || f[0, 0] || cube.T
astype: f, np.float32 || f, float || n, complex || z, np.complex64
atleast_1d atleast_2d atleast_3d: f || 3.0 || v, 2 || v
average: f || i || z | weights=g || [1, 2, 3] || [1, 2, 3], axis=0 || np.zeros(3), axis=0 || v[:4], axis=1 || [[1, 2]] || f - f | returned=True || True, weights=g || True, axis=0
bartlett blackman hamming hanning: 6 || 1 || 0 || 5.5
bincount: k || k[:0] || -k || d | weights=w || k || [1, 2] || z[0] | minlength=8 || 0 || -1
block: [f, g] || [[f], [g]] || [f, 1] || [[v, 1], [w, 2]] || 3 || []
broadcast_arrays: f, f[0] || 3, f || f, v | subok=False
broadcast_shapes: (3, 1), (4,) || (2,), (3,)
broadcast_to: v, (2, 6) || v, 6 || v, shape=(3, 2, 6) || v, (3, 2) || 2.5, (2, 2)
can_cast: f.dtype, np.float32 || np.int8, float
choose: k % 2, [v, w] || k, [v, w] || [0, 1], (2, 3) || c, [f, i]
clip: f, 0, 2 || a=f, a_min=0, a_max=1 || i, 0, 2 || f, g - 2, g || f, -1, None || f, min=0 || f, max=1 || f, min=0, max=1 || f, 0, 1, min=0 || f, 0, 2, dtype=np.float32, casting='same_kind' || f.T, 0, 2, order='C' || f, 0, 2, where=True
column_stack: [v, w] || [f, g] || [v, f] || [1, 2]
common_type: f || s, f || i || z || c
compress: c[:3], f || [True, False, True], f || v > 0, v || c, f | out=OUT || NARROW
concat concatenate: [f, g] || (f, i) || (v, w) || [F, F] || [] | axis=0 || 1 || None || 5 || -1 | dtype=np.float32 || np.int16 || np.int16, casting='unsafe'
convolve correlate: v, w[:3] || k, d || z[0], z[1] || f, v || v, e1 | mode='full' || 'same' || 'valid' || 'other' || 0 || 1 || 2
copy: f || F || f.T || cube.transpose(1, 0, 2) || 3 || [1, 2]
copyto: f, g || f, i || i, f || f, 2 || f, g[:2] || s, f | where=b[:, :1] || False || True
corrcoef: f || f, g || f, y=g || v, w || z || i | dtype=np.float32
count_nonzero: f || b || n
cov: f || f, g || f, y=g || v, w || z || i || v | bias=True || 0 | ddof=0 || 1 || 5 || 0.5 | fweights=[1, 2, 1, 1] || [1.5, 2, 1, 1] || [1, 2] || [-1, 2, 1, 1] | aweights=[1, 2, 1, 1] || [0.5, 2, 1, 1.5] || -f[0] | dtype=np.float32
cross: f[:, :3], g[:, :3] || f[0, :3], g[1, :3] || f, g || i[:, :3], j[:, :3] | axisa=0, axisb=1 || 1 | axisb=1 | axisc=0 | axis=1 || -1 || 0
cumprod cumsum nancumprod nancumsum: f || i || n || b || z[0] || half | dtype=np.float32 || complex || np.int16 || bool
cumulative_prod cumulative_sum: v || i[0] || f, axis=0 || f | include_initial=True || False
delete: v, 2 || f, 1, 0 || f, [0, 1], 1 || v, v > 0 || v, 9 || v, slice(0, 3) || v, -k[:2] || v, 1.5 | axis=0 || None || -1 || 3
diag diagflat: v || f || i || [1, 2] || 3 || F
diag_indices: 3 || 2, 3 | ndim=1 || 3
diag_indices_from: m || f || cube[:, :2, :2]
diagonal: f || cube || v
diff: v || f || b || z || i || u | n=1 || 2 || 0 || -1 || 9 | prepend=0 || [[1.0], [2.0], [3.0]] || f[:, :2] | append=0 || f[:, :2] || v[:2]
digitize: v, w || f, w[::-1] || 2.5, w || v, v || k, k[:0] || z, w | right=True || False
dot: v, w || f, g.T || f, v[:4] || z, z.T || 3, f || b, b.T || F, F || f, g
dsplit: cube, 2 || cube, [1, 3] || f, 2 || cube, 3
dstack: [v, w] || [f, g] || [v, f] || f
ediff1d: v || f || k || u | to_end=9.0 || [8, 9] || w || 9 | to_begin=9.0 || [8, 9] || 300
einsum: 'ij,jk->ik', f, g.T || 'ii', m || 'ij->j', i || 'ij,ij->i', f, g || '...i->...', cube || f, [0, 1], [1] || 'i,j,k->ijk', v, w, v || 'ij,kl', f | optimize=True || False || 'greedy' || 'optimal' || ['einsum_path', (0,)] || 'other' | dtype=complex || np.float32, casting='unsafe' || np.float32 | order='C' || 'F' || 'A' || 'K' | casting='safe' || 'unsafe'
einsum_path: 'ij,jk,kl', m, h, m || 'ij,jk', f, g.T | optimize=True || 'greedy' || 'optimal' || False || ('greedy', 100) | einsum_call=
expand_dims: f, 0 || f, (0, -1) || f, axis=1 || f, 5 || 3, 0 || f, (0, 0)
extract: f > 0, f || b, i || c, v || [1, 0, 1], v
eye: 3 || 2, 4 || 3, 2, 1 | M=5 || 2, k=-1 | dtype=np.int8 || complex || bool
fill_diagonal: m, 2.5 || f, [1, 2] || cube, 1 || v, 1 || i, 1.5 || m[:, :2], 7 | wrap=True || False
fix: f || i || s || z
flip: f || v || cube | axis=0 || (0, 1) || None || -1 || 5 || (0, 0)
fliplr flipud rot90: f || v || cube
frombuffer: -
from_dlpack: f || i || F || s | device=None || 'cpu' | copy=True || False || None
fromfunction: lambda x, y: x + y, (3, 4) || lambda x: 1, (3,) || lambda x, y, a: x * a + y, (2, 2), a=3 | dtype=int || np.float32
full: (2, 3), 2.5 || 4, 1 || (2,), [1, 2] || (3,), f[0, 0] || (2,), 1j || (2,), True || (2, 2), [1, 2, 3]
full_like: f, 2 || i, 2.5 || F, 3 || cube.T, 1 || b, 2 || f, 1j | dtype=np.float32 || complex || np.int16
zeros ones: (2, 3) || 4 || () || (2, -1) || f.shape
empty: (2, 3) || 4 || (0, 2)
zeros_like ones_like: f || i || F || cube.T || 3 || b || [1, 2]
empty_like: f[:0] || cube[:0].T
geomspace logspace: 1, 100 || 1, 1000 || 1.0, 8.0, 4 || [1, 2], [3, 4], 3 || 1, 1000j, 5 || v[:2] + 2, 3, num=4 | axis=0 || -1 || 1 | base=2 || 3.5 || [2, 3] | dtype=np.float32 || int || complex
linspace: 0, 5 || 1.5, 8.0, 4 || [1, 2], [3, 4], 3 || v[:2], 3, num=4 || 0, 1j, 3 | axis=0 || -1 || 1 | dtype=np.float32 || int || complex
gradient: v || f || i[0] || v, w || f, 2.0 || f, 2.0, 0.5 || z || f, v[:3], w[:4] || f, 1, 2, 3 || u[None] | axis=0 || -1 || (0, 1) || None || 5 | edge_order=1 || 2 || 3
histogram: v || f || i || k || n || b | bins=5 || [0, 1, 2, 8] || w || 'auto' || 'fd' || 'sturges' || 'doane' || 'scott' || 'stone' || 'rice' || 'sqrt' || 'other' || 0 || [3, 1] || 2.5 | weights=w || f || i || z || k
histogram2d: v, w || v, v || k, d[:6] || v, d | bins=3 || [3, 4] || [w, w] || w || [3, w] || 0 | weights=w || -v | range=[[-3, 3], [0, 4]] || [None, (0, 4)] || (0, 4)
histogram_bin_edges: v || f || k || n | bins=5 || [0, 1, 2, 8] || w || 'auto' || 'fd' || 'sturges' || 'doane' || 'scott' || 'stone' || 'rice' || 'sqrt' || 'other' || 0 | weights=w || f
histogramdd: f[:, :2] || [v, w] || v || [v, w, v] | bins=3 || [3, 4] || [w, w] || (2, 3, 4) || 0 | weights=w || -v || [1, 2, 3] | range=[(-3, 3), (0, 4)] || [None, (0, 4)] || (0, 4)
hsplit: f, 2 || v, 3 || f, [1, 3] || v, 4 || f, indices_or_sections=2
vsplit: f, 3 || v, 3 || f, [1, 2] || f, 2
hstack row_stack vstack: [v, w] || [f, g] || [f, i] || [v, f] || (1, 2) | dtype=np.float32 || np.int16 || np.int16, casting='unsafe'
stack: [v, w] || [f, g] || [f, i] || [v, f] || (1, 2) || [] | axis=0 || -1 || 1 || 5 | dtype=np.float32 || np.int16 || np.int16, casting='unsafe'
i0: v || f || k || z || 2.5
identity: 3 || 0 || -1 | dtype=np.int8 || complex
imag real: f || z || 3 || 1j || [1j, 2] || i
indices: (2, 3) || 3 || (2, 0) || () | dtype=float || np.int32 | sparse=True || False
inner outer: v, w || f, g || v, 2 || z[0], z[1] || b[0], b[1] || i, k[:4]
insert: v, 2, 7.5 || f, 1, 9.0 || f, 1, v[:3], 1 || v, [1, 3], [5.0, 6.0] || i, 0, 2.5, 0 || v, 9, 1 || v, slice(1, 3), 2 || v, k, w || v, v > 0, 1 || v, [0, 0], 1 | axis=0 || 1 || None || 5
interp: v, w, w * 2 || 2.5, w, v || f, w, v || v, w, w * 1j || k, k, w || v, w, v[:3] || n, w, v | left=-9 || None || 1j | right=9 || None | period=3.0 || -2 || 0 || None
intersect1d: k, i || f, v || n, n || [1, 2], [2, 3] || z, z[0] | return_indices=True || False
iscomplex iscomplexobj isreal isrealobj isfortran isscalar iterable ndim shape: f || z || 3 || 1j || F || [1, 2.5] || f[0, 0]
isdtype: f.dtype, 'real floating' || i.dtype, ('integral', 'bool') || np.int8, np.int8 || f.dtype, 'other'
isin: i, k || f, w || k, [1, 2] || k, 2 || z, z[0] || b, [True] || u, [300, 3] | invert=True || False | kind='sort' || 'table' || None || 'other'
isneginf isposinf: f || nv || 1.0 || k || z
issubdtype: f.dtype, np.floating || np.int8, int
ix_: [0, 2], [1, 3] || r, r[:2] || np.array([True, False, True]), [0, 1] || f || [], [1]
kaiser: 6, 8.6 || 1, 2 || 0, 2
kron: m, h || v, w || f, v || z, f || 2, v || i, j || cube, v
lexsort: (v, k) || i || [d] || (v, w, k) || (n[0], v[:4]) || f
mask_indices: 3, np.triu || 4, np.tril || 3, lambda a, k: a | k=1 || -1
matrix_transpose permute_dims transpose: f || cube || v | axes=(1, 0) || None || (2, 0, 1) || (0, 0)
may_share_memory shares_memory: f, f[0] || f, g || f, f.T | max_work=1
mean sum prod nanmean nansum nanprod: f || i || n || z || s || half || b || u | dtype=np.float32 || complex || np.int16 || np.float16
std var nanstd nanvar: f || i || n || z || s || half || b | dtype=np.float32 || complex || np.int16 | mean=f.mean(keepdims=True) || 0.5 || f.mean(axis=0, keepdims=True), axis=0 | correction=1 || 0.5 || 1, ddof=1
median nanmedian: f || i || n || s || half || b || z || nv | out=OUT || STRIDED || NARROW || OTHER
meshgrid: v, w || v || 3, w || v, w, d || f, v | copy=True || False | sparse=True || False | indexing='ij' || 'xy' || 'other'
min_scalar_type: 300 || 2.5 || f || -3
mintypecode: 'fd' || ['f', 'd', 'F'] | typeset='fd' | default='f'
moveaxis: cube, 0, -1 || cube, [0, 1], [2, 0] || f, 0, 5 || cube, source=0, destination=2 || cube, [0, 0], [1, 2] || cube, [0, 1], 0
nan_to_num: n || nv || z || zz || i || 3.0 || half | copy=True || False | nan=1.5 || 7 | posinf=9.0 || None | neginf=-9.0
nanargmax nanargmin: n || f || i || np.full((2, 2), np.nan) | out=np.empty((), np.intp) || np.empty(4, np.intp), axis=0
nanmax nanmin: n || f || i || z || np.full((2, 2), np.nan) || s | where=b || b, initial=1 || b[:, :1], initial=1.5, axis=0
ones_like: f
packbits: b || i || u || b[0] || f || cube > 0
unpackbits: u || u[:, None] || u[:0] || i | axis=0 || -1 || None || 5 | count=5 || -2 || 20 || None
pad: v, 2 || f, 1 || f, ((1, 2), (0, 3)) || f, (2, 1) || i, 3 || cube, 1 || b, 1 || v, 0 || v, -1 || f, {0: 1, -1: (2, 3)} || v, 1.5 || v, (1, 2, 3) || f[:, :1], 2 | mode='constant' || 'edge' || 'linear_ramp' || 'maximum' || 'mean' || 'median' || 'minimum' || 'reflect' || 'symmetric' || 'wrap' || 'other' || 'edge', stat_length=2 || lambda vector, widths, axis, options: vector.__setitem__(slice(0, 1), 7) || 'reflect', reflect_type='odd' || 'symmetric', reflect_type='odd' || 'maximum', stat_length=2 || 'mean', stat_length=((1, 2),) || 'minimum', stat_length=0 || 'constant', constant_values=3 || 'constant', constant_values=(1.5, 2) || 'constant', constant_values=((1, 2), (3, 4)) || 'linear_ramp', end_values=5 || 'linear_ramp', end_values=(1, 2.5)
percentile quantile nanpercentile nanquantile: f, 0.5 || n, 0.3 || i, [0.25, 0.75] || s, 1 || v, 1.5 || half, 0.5 || b, 0.5 || f, q=[[0.1], [0.9]] || z, 0.5 || nv, [0, 0.4] || f, -0.5 || e1, 0.5 | weights=g, method='inverted_cdf' || [1, 2, 3], axis=0, method='inverted_cdf' || g || [0, 0, 0], axis=0, method='inverted_cdf' || -g, method='inverted_cdf'
piecewise: v, [v < 0, v >= 0], [lambda x: -x, lambda x: x * 2] || v, [v < 0], [1.5, 2] || v, v > 0, [2] || i, [i > 2], [7.5] || v, [v < 0], [1, 2, 3] || v, [v < 0], [lambda x, a: x + a], 3 || v, [v > 0], [lambda x, a=1: x * a], a=2 || f[0, 0], [f[0, 0] > 0], [lambda x: x]
place: f, b, [1.0, 2.0] || f, f > 0, v || i, b, [1.5] || f, b, [] || f, c, [1] || f, f > 99, []
put: f, [0, 5], [9.0, 8.0] || v, k, 3.0 || v, -1, 2.5 || v, 9, 1 || i, [0, 1], v || F, [1, 2], [7, 8] || v, [], []
putmask: f, f > 2, 0.0 || f, b, g || v, v > 0, [1.0, 2.0] || i, b, 1.5 || f, c, 1 || v, v > 0, []
poly: v || m || [1, 2] || z[0] || f
polyadd polysub polymul: v, w[:3] || k, [1, 2] || z[0], v || 2, v || f, v
polydiv: w, v[:3] || k, [1, 2] || z[0], [1, 2j] || [1, 2], w
polyder: v || k || z[0] || f || [1, 2, 3] | m=2 || 0 || -1 || 9
polyint: v || k || z[0] || [1, 2, 3] | m=2 || 0 || -1 || 3 | k=1 || [1, 2], m=2 || [1, 2] || 3, m=2
polyfit: w, v, 2 || w, v, deg=1 || w, np.stack([v, w], 1), 1 || k, w, 1 || w, v, -1 || w, v[:3], 1 || w, z.ravel()[:6], 1 || w[:2], v[:2], 3 | rcond=0.1 | full=True || False | w=np.abs(v) || v || [1, 2] | cov=True || 'unscaled' || False
polyval: v, f || [1, 2, 3], f || v, 2.0 || v, i || z[0], v || [], v || v, [1, 2]
promote_types: np.int8, np.uint8 || 'f4', 'i8'
result_type: f, s || np.int8, 3 || f, 1j
ptp: f || i || n || b || z || u
ravel: f || F || f.T || cube.transpose(1, 0, 2) || v[::2] || 3 || [[1, 2], [3, 4]]
ravel_multi_index: (k % 3, k), (3, 4) || (k, k), (2, 2) || ([1, 2], [0, 1]), dims=(3, 3) || ([1.5], [0]), (3, 3) | mode='raise' || 'wrap' || 'clip' || ('wrap', 'clip') || 'none' | order='C' || 'F' || 'X'
real_if_close: z || f || f + 0j || f + 1e-15j || z[0] | tol=1e3 || 0.5 || 1e-10
repeat: v, 2 || f, 2 || v, k || f, [1, 2, 0] || v, -1 || 3, 2 || v, [1, 2] || v, repeats=3 || f, 1.5 || b, c
require: f || F || i || [1, 2] | requirements='C' || ['F', 'A'] || 'W' || ['O', 'ENSUREARRAY'] || 'X' | dtype=np.float32 || int
reshape: f, (4, 3) || f, -1 || F, (9,) || cube.T, (6, 4) || f, (5, 5) || f, (-1, -1) || f, shape=(2, 6) || f[::2], (4, 2)
resize: f, (2, 2) || v, 9 || v, (2, 5) || f, (4, 4) || v, new_shape=3 || v, -1
roll: v, 2 || f, 1 || f, (1, 2) || v, -7 || v, shift=1 || f, 0 || v, 1.5 | axis=0 || (0, 1) || None || 5 || -1 || (0, 0)
rollaxis: cube, 2 || cube, 0 || f, 5 | start=1 || 3 || -1 || 9
roots: v || [1, -3, 2] || [0, 1, 2, 0] || f || [0, 0] || z[0]
searchsorted: w, v || w, 2.5 || k, v || w, i || w, [1, 2] || z[0], z || f, v || w, n | side='left' || 'right' || 'l' || 'middle' | sorter=np.argsort(w) || k % 6 || [0, 1] || np.argsort(w)[::-1]
select: [f > 2, f < 0], [f, -f] || [v > 0], [w] || [f > 2], [i] || [], [] || [f > 2], [f, g] || [i], [f] || [f > 0, f < 2], [1, 2] || [True, False], [1, 2.5] | default=9 || 1.5 || f[:1] || 1j
setdiff1d setxor1d: k, i || f, v || n, n || [1, 2], [2, 3] || z, z[0] || b, b
union1d: k, i || f, v || n, n || [1, 2], [2, 3] || z, z[0]
sinc: f || z || 0.5 || k || s
size: f || 3 || [1, 2] || cube | axis=0 || -1 || None || 5 || (0, 1)
sort_complex: z[0] || v || k || f || s || u
array_split: f, 2 || v, 4 || v, [1, 3] || f, 0 || v, [5, 2, 9] || f, -1
split: f, 3 || v, [1, 3] || v, 4 || f, indices_or_sections=1 || f, 0
squeeze: f[:, :1] || f[None] || f || one | axis=0 || 1 || (0,) || None || 5 || -1
swapaxes: cube, 0, 2 || cube, axis1=0, axis2=-1 || f, 0, 5
take: f, r || v, [0, 9] || f, 2 || v, -7 || f, k % 3 || f, [[0, 1], [2, 1]] || v, b[0] || v, 1.5 || f, [] || v, indices=k | axis=0 || 1 || None || -1 || 5
take_along_axis: f, np.argsort(f) || f, np.argmax(f, axis=0)[None] || v, k % 6 || f, k || f, b || f, r[:, None] * 1.5 | axis=1 || None || 0 || 5
put_along_axis: f, np.argmax(f, axis=1)[:, None], 99.0, 1 || v, k % 6, w, 0 || f, k, 1.0, 0 || f, np.argsort(f, 0), g, axis=0 || f, k, 7, None
tensordot: f, g.T || cube, cube || f, g || v, w | axes=0 || 1 || 2 || ([0, 1], [0, 1]) || (1, 1) || (0, 0) || [[0], [0]] || 9
tile: v, 2 || f, (2, 1) || 3, 2 || v, (2, 2) || f, [1, 2, 3] || f, 0 || v, reps=3
trace: f || cube || i || z || u[:, None] * u || b || v
trapezoid: v || f || f.T || i || z || b || [1, 2, 3] | x=np.arange(4.0) || v || f[:, :4] || [1, 2] | dx=2 || 0.5 || 1j
tri: 3 || 3, 4 || 3, 4, 1 | M=2 || 5 | dtype=np.int8 || bool
tril triu: f || cube || v || b || [[1, 2], [3, 4]] || F
tril_indices triu_indices: 3 || 4, 1 | m=2 || 5
tril_indices_from triu_indices_from: m || f || v
trim_zeros: np.array([0, 0, 1.5, 0, 2, 0]) || v || [0, 1, 0] || np.zeros(3) || i || np.pad(f, 1) | trim='f' || 'b' || 'FB' || 'x' | axis=0 || (0, 1) || None
typename: 'd' || 'S'
unique: d || f || n || i || z || b || t || [3, 1, 3] || zz | return_index=True | return_inverse=True || True, axis=0 | return_counts=True || True, return_index=True, return_inverse=True | axis=0 || 1 || None || -1 | sorted=True || False
unique_all unique_counts unique_inverse: d || t || n || z || nv || [3, 1, 3]
unique_values: d || n || z || nv || [3, 1, 3]
unravel_index: k, (2, 3) || 5, (2, 3) || [1, 2], shape=(3, 3) || 99, (2, 3) || r, (2, 3) || [], (2, 2) || 1.5, (3, 3) | order='C' || 'F' || 'X'
unstack: f || cube || v || 3
unwrap: w * 2 || f || i || s || z | discont=1.0 || 4 | period=2.0 || 4 || 3 | axis=0 || -1 || 5
vander: v || k || z[0] || f || [1, 2, 3] | N=3 || 0 || 1 | increasing=True || False
vdot: v, w || f, g || z, z || b, b || v, 2 || f, v
where: f > 0, f, g || b || f > 0, 1, 2.5 || c, f, i || f, s[0, 0], 3 || b, f || f > 0, z, 1
array_equal array_equiv: f, f || f, g || f, v || n, n || f, 3 || [1, 2], [1, 2]
vectorize: lambda x, y: x + y
linalg.cholesky: m || f || -m || np.stack([m, m]) || hz[:2, :2] | upper=True || False
linalg.cond: m || h || hz || f | p=None || 1 || -1 || 2 || -2 || 'fro' || 'nuc' || np.inf || -np.inf || 'other'
linalg.cross: f[:, :3], g[:, :3] || v[:3], w[:3] || v, w | axis=-1 || 0 || 1
linalg.det linalg.slogdet linalg.inv: m || h || hz || f || np.stack([m, h]) || i[:, :3] || np.zeros((2, 2)) || s[:, :2] || cube
linalg.diagonal: m || cube || v
linalg.eigvals linalg.eig: h || m || np.zeros((2, 2)) || f || hz
linalg.eigvalsh linalg.eigh: m || np.stack([m, m]) || f || hz
linalg.lstsq: f, v[:3] || f.T, w[:4] || m, h || f, v | rcond=0.1 || None || -1
linalg.matmul: m, h || f, g.T || f, g || v, w
linalg.matrix_norm: m || cube || f || v || z | ord='fro' || 'nuc' || 1 || -1 || 2 || -2 || np.inf || -np.inf || 'other'
linalg.matrix_power: m, 3 || m, -2 || m, 0 || f, 2 || i[:, :3], 2 || hz, 5 || m, 1.5
linalg.matrix_rank: m || f || v || cube || np.zeros((3, 3)) | tol=0.5 || 3 || None | rtol=0.5 || None
linalg.matrix_transpose: m || cube || v
linalg.multi_dot: [m, h, m] || [v[:4], m, h, v[:4]] || [f, g.T] || [f, g] || [m]
linalg.norm: v || f || z || cube || i || s || n | ord=None || 1 || -1 || 2 || -2 || 0 || 3 || 'fro' || 'nuc' || np.inf || -np.inf || 'other' || 1.5 | axis=0 || -1 || (0, 1) || (1, 0) || None || 5 || (0, 1, 2)
linalg.outer: v, w || k, v || f, v || z[0], v
linalg.pinv: f || m || hz || cube | rcond=0.1 || [0.1] | rtol=0.1 || None
linalg.qr: m || f || f.T || hz || cube || v | mode='reduced' || 'complete' || 'r' || 'raw' || 'economic' || 'other'
linalg.solve: m, h || m, v[:4] || np.stack([m, h]), h || hz, hz || f, v || np.zeros((2, 2)), v[:2] || m, v || m, np.stack([h, m])
linalg.svd: f || m || cube || hz || v | full_matrices=True || False | compute_uv=False || True
linalg.svdvals: f || cube || hz || v
linalg.tensordot: f, g.T || cube, cube | axes=1 || 2 || ([0], [0]) || 0
linalg.tensorinv: m.reshape(4, 2, 2), ind=1 || m.reshape(2, 2, 2, 2) || f | ind=2 || 1 || 0
linalg.tensorsolve: m.reshape(2, 2, 4), h[0].reshape(2, 2) || m, v[:4] || m, v | axes=(0,) || None
linalg.trace: m || cube || i || v
linalg.vecdot: f, g || v, w || z, z || f, v | axis=-1 || 0 || 1
linalg.vector_norm: v || f || z || cube || i | axis=0 || -1 || (0, 1) || None || 5 | ord=1 || 2 || 0 || 3 || np.inf || -np.inf || -1 || 1.5
fft.fft fft.ifft fft.rfft fft.hfft fft.ihfft fft.irfft: v || f || i || s || e1 || 3.0
fft.fft2 fft.ifft2 fft.rfft2 fft.irfft2 fft.fftn fft.ifftn fft.rfftn fft.irfftn: f || cube || i || s || v | axes=(0, 1) || (1, 0) || (-1,) || (0, 0) || (0, 5) || None
fft.fftfreq fft.rfftfreq: 6 || 5, 0.5 || 0 || 2.5 | d=0.5 || 2 || np.float32(0.5)
fft.fftshift fft.ifftshift: v || f || cube || 3 | axes=0 || (0, 1) || None || 5 || -1
.byteswap: i || f | inplace=True || False
.conj .conjugate: z || f || i || b
.fill: f, 2 || i, 1.5 || b, 3 || f, [1] || f, [1, 2] || z, 1j || i, 'x'
.flatten: f || F || f.T || v[::2]
.item: f, 2 || f, 1, 2 || f, (0, 1) || f, 99 || v[:1] || v || zd
.setflags: v | write=False || True | align=True | uic=False
.to_device: f, 'cpu' || f, 'gpu' | stream=None || 1
.tobytes: f || F | order='C' || 'F' || 'A'
.swapaxes: cube, 0, 2 || f, 0, 5
.tolist: f || i || zd || z
.view: f || f, np.int64 || z, float || f, 'f4' || f[:, ::2], np.int32 || v, np.ndarray || f, dtype=np.uint8 || f, type=np.ndarray
.copy: f || F || f.T || v[::2]
.astype: f, np.float32 || n, int || f, 'i2' || F, complex || z, np.complex64 || z, float || i, bool || f, np.float64 | copy=True || False | casting='no' || 'safe' || 'same_kind' || 'unsafe' || 'some'
.clip: f, 0, 2 || i, 0, 2 || f, None, 1 || f | order='C' || 'F' | casting='same_kind' || 'safe' || 'no' | dtype=np.float32, casting='same_kind' | where=b, out=OUT
.reshape: f, (4, 3) || f, 4, 3 || f, -1 || F, 9 || cube.T, 6, 4 || f, 5, 5
.transpose: cube || cube, 1, 0, 2 || cube, (1, 0, 2) || cube, None || f, 0, 0
.max .min: f || f, 1 || i, 0, None, True || n || z || e1 | keepdims=True | where=b, initial=1 | initial=2
"""
