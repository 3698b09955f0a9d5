"""torch.linalg over weft: decompositions, norms and systems of equations of batches of matrices."""

from weft.return_types import LinAlgError  # noqa: F401

from ._functions.factors import (  # noqa: F401
    cholesky,
    cholesky_ex,
    householder_product,
    inv,
    inv_ex,
    ldl_factor,
    ldl_factor_ex,
    ldl_solve,
    lu,
    lu_factor,
    lu_factor_ex,
    lu_solve,
    qr,
    solve,
    solve_ex,
    solve_triangular,
)
from ._functions.norms import (  # noqa: F401
    cond,
    matrix_norm,
    matrix_rank,
    matrix_sqrth,
    norm,
    pinv,
    polar,
    vector_norm,
)
from ._functions.products import (  # noqa: F401
    cross,
    diagonal,
    matmul,
    matrix_exp,
    matrix_power,
    multi_dot,
    tensorinv,
    tensorsolve,
    vander,
    vecdot,
)
from ._functions.spectra import (  # noqa: F401
    det,
    eig,
    eigh,
    eigvals,
    eigvalsh,
    lstsq,
    slogdet,
    svd,
    svdvals,
)
