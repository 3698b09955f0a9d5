"""Python functions that capture enters in place of functions written in C or behind NumPy's dispatcher.

They cover what graphs can hold; everything else goes through plainly(), where the graph breaks and NumPy's
own function runs, which also raises NumPy's own errors.
"""

from . import (
    arrays,
    calling,
    fft,
    fitting,
    flat,
    grids,
    histograms,
    linalg,
    order,
    padding,
    polynomials,
    reductions,
    rounding,
    selecting,
    sets,
    shapes,
    ufunc_methods,
    ufuncs,
)
from ._core import REPLACEMENTS, folded, in_numpys_order, operator, plainly, require, sized

__all__ = [
    "REPLACEMENTS",
    "arrays",
    "calling",
    "fft",
    "fitting",
    "flat",
    "folded",
    "grids",
    "histograms",
    "in_numpys_order",
    "linalg",
    "operator",
    "order",
    "padding",
    "plainly",
    "polynomials",
    "reductions",
    "require",
    "rounding",
    "selecting",
    "sets",
    "shapes",
    "sized",
    "ufunc_methods",
    "ufuncs",
]
