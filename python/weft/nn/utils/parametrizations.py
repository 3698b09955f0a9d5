"""Parametrizations of weights: weight norm and spectral norm, whose states have PyTorch's names."""

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
        return weight.permute([self.dim, *rest]).reshape((weight.shape[self.dim], -1))

    def _weft_unit(self, x):
        return x / weft.clamp(weft.vector_norm(x), min=self.eps)

    def _weft_iterate(self, matrix, count):
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


def orthogonal(module, name="weight", orthogonal_map=None, *, use_trivialization=True):
    """Left out: it is for training."""
    raise NotImplementedError(
        "torch.nn.utils.parametrizations.orthogonal: weft runs models and does not train them"
    )
