"""What operators of several results give: named tuples, with PyTorch's names for them."""

from collections import namedtuple


class LinAlgError(RuntimeError):
    """A matrix is singular, not positive definite, or its decomposition does not converge."""


sort = namedtuple("sort", "values indices")
topk = namedtuple("topk", "values indices")
kthvalue = namedtuple("kthvalue", "values indices")
median = namedtuple("median", "values indices")
nanmedian = namedtuple("nanmedian", "values indices")
cummax = namedtuple("cummax", "values indices")
cummin = namedtuple("cummin", "values indices")
slogdet = namedtuple("slogdet", "sign logabsdet")
svd = namedtuple("svd", "U S Vh")
qr = namedtuple("qr", "Q R")
eigh = namedtuple("eigh", "eigenvalues eigenvectors")

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
}
