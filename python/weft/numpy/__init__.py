"""NumPy's functions on weft's memory, with NumPy's dtypes: `import weft.numpy as np`.

A namespace of the Python array API standard, 2024.12 (`__array_api_version__`), over weft's operators; the functions of
the standard are usable inside weft.compile. Any other public function of NumPy is reached by its name too: it runs in
NumPy on the arrays' memory and gives arrays back.

Arrays are `ndarray`, a weft.Tensor whose operators follow NumPy's promotion, where those of a Tensor follow PyTorch's:
0-d arrays take part like others, Python's numbers adapt, NumPy's scalars do not. Any operator of weft that is given an
array computes by NumPy's rules and gives arrays. Functions take tensors, too; `asarray(tensor)` and
`weft.Tensor(array)` lead from one to the other, on the same memory. Functions give 0-d arrays where NumPy gives
scalars. Methods beyond the standard's are those of weft.Tensor.
"""

# ruff: noqa: F401

import numpy as _numpy

from . import fft, linalg
from ._convert import from_array, ndarray, through_numpy, to_array
from ._creation import (
    arange,
    asarray,
    empty,
    empty_like,
    eye,
    from_dlpack,
    full,
    full_like,
    linspace,
    meshgrid,
    ones,
    ones_like,
    tril,
    triu,
    zeros,
    zeros_like,
)
from ._dtypes import (
    __array_namespace_info__,
    astype,
    bool,
    can_cast,
    complex64,
    complex128,
    finfo,
    float16,
    float32,
    float64,
    iinfo,
    int8,
    int16,
    int32,
    int64,
    isdtype,
    result_type,
    uint8,
    uint16,
    uint32,
    uint64,
)
from ._elementwise import *  # noqa: F403
from ._reductions import (
    all,
    any,
    argmax,
    argmin,
    count_nonzero,
    cumulative_prod,
    cumulative_sum,
    diff,
    max,
    mean,
    min,
    prod,
    std,
    sum,
    var,
)
from ._shapes import (
    argsort,
    broadcast_arrays,
    broadcast_to,
    concat,
    concatenate,
    expand_dims,
    flip,
    moveaxis,
    nonzero,
    permute_dims,
    repeat,
    reshape,
    roll,
    searchsorted,
    sort,
    squeeze,
    stack,
    take,
    take_along_axis,
    tile,
    transpose,
    unique_all,
    unique_counts,
    unique_inverse,
    unique_values,
    unstack,
    where,
)
from .linalg import matmul, matrix_transpose, tensordot, vecdot

__array_api_version__ = "2024.12"

e, pi, inf, nan, newaxis = _numpy.e, _numpy.pi, _numpy.inf, _numpy.nan, None
array = asarray


def __getattr__(name):
    """NumPy's function of that name, on arrays."""
    function = getattr(_numpy, name, None) if not name.startswith("_") and name in _numpy.__all__ else None
    if function is None:
        raise AttributeError(f"module 'weft.numpy' has no attribute '{name}'")
    if not callable(function) or isinstance(function, type):
        return function
    function = through_numpy(function)
    globals()[name] = function
    return function


def __dir__():
    return sorted({*globals(), *_numpy.__all__})
