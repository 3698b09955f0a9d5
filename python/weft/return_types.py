"""What functions of several results give: named tuples, with PyTorch's names for them."""

from collections import namedtuple


class LinAlgError(RuntimeError):
    """A matrix is singular, not positive definite, or its decomposition does not converge."""


def named(name, fields, module=__name__):
    """A named tuple that prints as PyTorch's do. `of_out` is what the call with out= gives, of another name."""
    made, made.of_out = (namedtuple(each, fields, module=module) for each in (name, f"{name}_out"))
    made.__repr__ = made.of_out.__repr__ = _text  # a subclass's constructor would end a compiled graph
    return made


def _text(self):
    items = ",\n".join(f"{field}={value!r}" for field, value in zip(self._fields, self))
    return f"torch.return_types.{type(self).__name__}(\n{items})"


max = named("max", "values indices")
min = named("min", "values indices")
aminmax = named("aminmax", "min max")
sort = named("sort", "values indices")
topk = named("topk", "values indices")
kthvalue = named("kthvalue", "values indices")
median = named("median", "values indices")
nanmedian = named("nanmedian", "values indices")
mode = named("mode", "values indices")
cummax = named("cummax", "values indices")
cummin = named("cummin", "values indices")
frexp = named("frexp", "mantissa exponent")
histogram = named("histogram", "hist bin_edges")
histogramdd = named("histogramdd", "hist bin_edges")
slogdet = named("slogdet", "sign logabsdet")
svd = named("svd", "U S Vh")
qr = named("qr", "Q R")
eigh = named("eigh", "eigenvalues eigenvectors")
geqrf = named("geqrf", "a tau")

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
