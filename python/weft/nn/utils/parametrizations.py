"""Parametrizations of weights: weight norm, spectral norm and orthogonal matrices, whose states have PyTorch's names."""

import weft
from weft.nn import init
from weft.nn.modules.module import Module

from .parametrize import register_parametrization

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


class _WeightNorm(Module):
    """weight = g * v / |v|; original0 is g, original1 is v."""

    def __init__(self, dim=0):
        super().__init__()
        self.dim = -1 if dim is None else dim

    def _weft_norm(self, v):
        if self.dim == -1:
            return weft.vector_norm(v)
        return weft.vector_norm(v, 2.0, [d for d in range(v.ndim) if d != self.dim % v.ndim], True)

    def forward(self, weight_g, weight_v):
        return weight_v * (weight_g / self._weft_norm(weight_v))

    def right_inverse(self, weight):
        return self._weft_norm(weight), weight


def weight_norm(module, name="weight", dim=0):
    """The parameter becomes g * v / |v|, the norm being over all dimensions but dim (None: over all).

    source: Salimans and Kingma, Weight Normalization (2016).
    """
    if not isinstance(getattr(module, name, None), weft.Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def load_older(state_dict, prefix, *others):
        for old, new in (("g", 0), ("v", 1)):
            key = f"{prefix}{name}_{old}"
            if key in state_dict:
                state_dict[f"{prefix}parametrizations.{name}.original{new}"] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(load_older)
    return module


class _SpectralNorm(Module):
    """weight / (u^T W v), W being the weight as a matrix with `dim` first."""

    def __init__(self, weight, n_power_iterations=1, dim=0, eps=1e-12):
        super().__init__()
        self.dim = dim % weight.ndim
        self.eps = eps
        self.n_power_iterations = n_power_iterations
        if weight.ndim > 1:
            matrix = self._weft_matrix(weight)
            for key, size in zip(("_u", "_v"), matrix.shape):
                self.register_buffer(
                    key, self._weft_unit(init.normal_(weft.empty((size,), dtype=weight.dtype)))
                )
            self._weft_iterate(matrix, 15)

    def _weft_matrix(self, weight):
        rest = [d for d in range(weight.ndim) if d != self.dim]
        return weight.permute([self.dim] + rest).reshape((weight.shape[self.dim], -1))

    def _weft_unit(self, x):
        return x / weft.clamp(weft.vector_norm(x), min=self.eps)

    def _weft_iterate(self, matrix, count: int):
        for _ in range(count):
            self._u.copy_(self._weft_unit(weft.matmul(matrix, self._v)))
            self._v.copy_(self._weft_unit(weft.matmul(matrix.transpose(0, 1), self._u)))

    def forward(self, weight):
        if weight.ndim == 1:
            return self._weft_unit(weight)
        matrix = self._weft_matrix(weight)
        if self.training:
            self._weft_iterate(matrix, self.n_power_iterations)
        return weight / weft.dot(self._u, weft.matmul(matrix, self._v))

    def right_inverse(self, value):
        return value


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """The parameter is divided by its largest singular value, as power iteration approximates it.

    source: Miyato et al., Spectral Normalization for Generative Adversarial Networks (2018).
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, weft.Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = 1 if type(module).__name__.startswith("ConvTranspose") else 0
    return register_parametrization(module, name, _SpectralNorm(weight, n_power_iterations, dim, eps))


def _orthogonalized(matrix):
    """The orthogonal factor of a matrix, whose triangular one has no negative diagonal."""
    factors, tau = weft.torch.geqrf(matrix)
    return weft.torch.linalg.householder_product(factors, tau) * weft.torch.sgn(
        factors.diagonal(dim1=-2, dim2=-1)
    ).unsqueeze(-2)


def _is_orthogonal(matrix):
    n, k = matrix.shape[-2:]
    error = 10.0 * n * weft.torch.finfo(matrix.dtype).eps
    return weft.torch.allclose(matrix.mH @ matrix, weft.torch.eye(k, dtype=matrix.dtype), atol=error)


class _Orthogonal(Module):
    """An orthogonal matrix of the lower triangle, times `base` where it is trivialized."""

    def __init__(self, weight, orthogonal_map, *, use_trivialization=True):
        super().__init__()
        if orthogonal_map == "householder" and weight.is_complex():
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape, self.orthogonal_map = weight.shape, orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x):
        is_wide = x.shape[-2] < x.shape[-1]
        x = x.mT if is_wide else x
        n, k = x.shape[-2:]
        if self.orthogonal_map == "householder":
            lower = x.tril(-1)
            tau = 2.0 / (1.0 + (lower * lower).sum(-2))
            result = weft.torch.linalg.householder_product(lower, tau)
            result = result * x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)
        else:
            x = x.tril()
            if n != k:
                x = weft.cat([x, weft.zeros([*x.shape[:-2], n, n - k], dtype=x.dtype)], -1)
            skew = x - x.mH
            if self.orthogonal_map == "matrix_exp":
                result = weft.torch.matrix_exp(skew)
            else:
                one = weft.torch.eye(n, dtype=skew.dtype)
                result = weft.torch.linalg.solve(one - skew * 0.5, one + skew * 0.5)
            result = result[..., :k]
        if getattr(self, "base", None) is not None:
            result = self.base @ result
        return result.mT if is_wide else result

    def right_inverse(self, value):
        if value.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {value.shape}."
            )
        is_wide = value.shape[-2] < value.shape[-1]
        matrix = value.mT if is_wide else value
        n, k = matrix.shape[-2:]
        if "base" not in self._buffers:
            if self.orthogonal_map != "householder":
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley parametrizations when "
                    "use_trivialization=False."
                )
            factors, tau = weft.torch.geqrf(matrix)
            diagonal = factors.diagonal(dim1=-2, dim2=-1)
            diagonal.copy_(weft.torch.where(tau == 0, -diagonal.sign(), diagonal.sign()))
            return factors.mT if is_wide else factors
        if n == k:
            self.base = matrix.clone() if _is_orthogonal(matrix) else _orthogonalized(matrix)
        else:
            rest = weft.torch.randn([*matrix.shape[:-2], n, n - k], dtype=matrix.dtype)
            self.base = _orthogonalized(weft.cat([matrix, rest], -1))
        start = weft.zeros_like(value)
        start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return start


def orthogonal(module, name="weight", orthogonal_map=None, *, use_trivialization=True):
    """The parameter becomes an orthogonal matrix, or a part of one: by "matrix_exp", "cayley" or "householder".

    source: Lezcano-Casado, Trivializations for Gradient-Based Optimization on Manifolds (2019).
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, weft.Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        is_square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if is_square or weight.is_complex() else "householder"
    if orthogonal_map not in ("matrix_exp", "cayley", "householder"):
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    made = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    return register_parametrization(module, name, made, unsafe=True)
