"""What functions of several results give: named tuples, with PyTorch's names for them."""

from collections import namedtuple


class LinAlgError(RuntimeError):
    """A matrix is singular, not positive definite, or its decomposition does not converge."""


def _named(name, fields):
    """A named tuple that prints as PyTorch's do."""
    made = namedtuple(name, fields, module=__name__)
    made.__repr__ = _text
    return made


def _text(self):
    items = ",\n".join(f"{field}={value!r}" for field, value in zip(self._fields, self))
    return f"torch.return_types.{type(self).__name__}(\n{items})"


max = _named("max", "values indices")
min = _named("min", "values indices")
aminmax = _named("aminmax", "min max")
sort = _named("sort", "values indices")
topk = _named("topk", "values indices")
kthvalue = _named("kthvalue", "values indices")
median = _named("median", "values indices")
nanmedian = _named("nanmedian", "values indices")
mode = _named("mode", "values indices")
cummax = _named("cummax", "values indices")
cummin = _named("cummin", "values indices")
frexp = _named("frexp", "mantissa exponent")
histogram = _named("histogram", "hist bin_edges")
histogramdd = _named("histogramdd", "hist bin_edges")
slogdet = _named("slogdet", "sign logabsdet")
svd = _named("svd", "U S Vh")
qr = _named("qr", "Q R")
eigh = _named("eigh", "eigenvalues eigenvectors")
geqrf = _named("geqrf", "a tau")

# By the operator's name.
TYPES = {
    "sort": sort,
    "topk": topk,
    "kthvalue": kthvalue,
    "median_dim": median,
    "nanmedian_dim": nanmedian,
    "cummax": cummax,
    "cummin": cummin,
    "slogdet": slogdet,
    "svd": svd,
    "qr": qr,
    "eigh": eigh,
    "geqrf": geqrf,
}
