"""torch.special over weft: operators of weft's table, and what `_functions/special.py` makes of them."""

from weft import (  # noqa: F401
    Tensor,
    airy_ai,
    bessel_j0,
    bessel_j1,
    bessel_y0,
    bessel_y1,
    chebyshev_polynomial_t,
    chebyshev_polynomial_u,
    chebyshev_polynomial_v,
    chebyshev_polynomial_w,
    digamma,
    entr,
    erf,
    erfc,
    erfcx,
    erfinv,
    exp2,
    expm1,
    hermite_polynomial_h,
    hermite_polynomial_he,
    i0,
    i0e,
    i1,
    i1e,
    laguerre_polynomial_l,
    legendre_polynomial_p,
    log1p,
    log_ndtr,
    modified_bessel_i0,
    modified_bessel_i1,
    modified_bessel_k0,
    modified_bessel_k1,
    ndtr,
    ndtri,
    scaled_modified_bessel_k0,
    scaled_modified_bessel_k1,
    shifted_chebyshev_polynomial_t,
    shifted_chebyshev_polynomial_u,
    shifted_chebyshev_polynomial_v,
    shifted_chebyshev_polynomial_w,
    sinc,
    spherical_bessel_j0,
    xlog1py,
    xlogy,
    zeta,
)
from weft import digamma as psi  # noqa: F401
from weft import igamma as gammainc  # noqa: F401
from weft import igammac as gammaincc  # noqa: F401
from weft import lgamma as gammaln  # noqa: F401
from weft import sigmoid as expit  # noqa: F401

from ._functions.special import (  # noqa: F401
    log_softmax,
    logit,
    logsumexp,
    polygamma,
    round,
    softmax,
)
from ._functions.special import mvlgamma as multigammaln  # noqa: F401
