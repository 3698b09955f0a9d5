"""Weights computed from other parameters, in the form that states of such models have: weight_g and weight_v, weight_orig.

The weight is computed once, when the parameters are set, and again before each call, as a state may have been loaded.
"""

import weft
from weft.nn.parameter import Parameter


class _Computed:
    """A forward pre-hook that sets the attribute `name` from other parameters."""

    def __init__(self, name):
        self.name = name

    def __call__(self, module, args):
        setattr(module, self.name, self.compute(module))


def _hook_of(module, kind, name, function):
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, kind) and hook.name == name:
            return key, hook
    raise ValueError(f"{function}: {type(module).__name__} has no such '{name}'")


def _parameter_of(module, name, function):
    weight = module._parameters.get(name)
    if weight is None:
        raise ValueError(f"{function}: {type(module).__name__} has no parameter '{name}'")
    return weight


def _attach(module, hook):
    if any(
        isinstance(other, type(hook)) and other.name == hook.name
        for other in module._forward_pre_hooks.values()
    ):
        raise RuntimeError(f"'{hook.name}' of {type(module).__name__} has this already")
    module.register_forward_pre_hook(hook)


# ---- weight norm ------------------------------------------------------------------------------------------------
class WeightNorm(_Computed):
    """weight = g * v / |v|, the norm being over all dimensions but `dim`."""

    def __init__(self, name, dim):
        super().__init__(name)
        self.dim = -1 if dim is None else dim

    def norm(self, v):
        axes = [d for d in range(v.ndim) if d != self.dim % v.ndim or self.dim == -1]
        return weft.sqrt((v * v).sum(axes, keepdim=True)) if self.dim != -1 else weft.sqrt((v * v).sum())

    def compute(self, module):
        g, v = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return (v * (g / self.norm(v))).detach()


def weight_norm(module, name="weight", dim=0):
    """The parameter `name` becomes two: name_g, its norms over all dimensions but dim (None: over all), and name_v.

    source: Salimans and Kingma, Weight Normalization (2016).
    """
    weight = _parameter_of(module, name, "weight_norm")
    hook = WeightNorm(name, dim)
    _attach(module, hook)
    del module._parameters[name]
    module.register_parameter(name + "_g", Parameter(hook.norm(weight)))
    module.register_parameter(name + "_v", Parameter(weight.detach()))
    setattr(module, name, hook.compute(module))
    return module


def remove_weight_norm(module, name="weight"):
    """Makes name_g and name_v one parameter again."""
    key, hook = _hook_of(module, WeightNorm, name, "remove_weight_norm")
    weight = hook.compute(module)
    del module._forward_pre_hooks[key]
    for each in (name + "_g", name + "_v", name):
        delattr(module, each)
    module.register_parameter(name, Parameter(weight))
    return module


# ---- spectral norm ----------------------------------------------------------------------------------------------
class SpectralNorm(_Computed):
    """weight = weight_orig / (u^T W v), W being weight_orig as a matrix with `dim` first."""

    def __init__(self, name, dim, eps, iterations):
        super().__init__(name)
        self.dim = dim
        self.eps = eps
        self.iterations = iterations

    def matrix(self, weight):
        rest = [d for d in range(weight.ndim) if d != self.dim]
        return weight.permute([self.dim, *rest]).reshape((weight.shape[self.dim], -1))

    def _unit(self, x):
        return x / weft.clamp(weft.sqrt((x * x).sum()), min=self.eps)

    def compute(self, module):
        weight = getattr(module, self.name + "_orig")
        u, v = getattr(module, self.name + "_u"), getattr(module, self.name + "_v")
        matrix = self.matrix(weight)
        if module.training:
            for _ in range(self.iterations):
                v.copy_(self._unit(weft.matmul(u, matrix)))
                u.copy_(self._unit(weft.matmul(matrix, v)))
        return (weight / weft.dot(u, weft.matmul(matrix, v))).detach()


def spectral_norm(module, name="weight", n_power_iterations=1, eps=1e-12, dim=None):
    """The parameter `name` is divided by its largest singular value, which name_u and name_v approximate: in training
    mode each call improves them by n_power_iterations. name_orig is the parameter.

    source: Miyato et al., Spectral Normalization for Generative Adversarial Networks (2018).
    """
    weight = _parameter_of(module, name, "spectral_norm")
    transposed = type(module).__name__.startswith("ConvTranspose")
    hook = SpectralNorm(name, (1 if transposed else 0) if dim is None else dim, eps, n_power_iterations)
    if n_power_iterations <= 0:
        raise ValueError(f"spectral_norm: n_power_iterations must be positive, got {n_power_iterations}")
    _attach(module, hook)
    rows, columns = hook.matrix(weight).shape
    del module._parameters[name]
    module.register_parameter(name + "_orig", weight)
    for suffix, size in (("_u", rows), ("_v", columns)):
        start = weft.nn.init.normal_(weft.empty((size,), dtype=weight.dtype))
        module.register_buffer(name + suffix, hook._unit(start))
    setattr(module, name, weight.detach().clone())
    return module


def remove_spectral_norm(module, name="weight"):
    """Makes the divided weight the parameter again."""
    key, hook = _hook_of(module, SpectralNorm, name, "remove_spectral_norm")
    training, module.training = module.training, False
    weight = hook.compute(module)
    module.training = training
    del module._forward_pre_hooks[key]
    for each in (name + "_orig", name + "_u", name + "_v", name):
        delattr(module, each)
    module.register_parameter(name, Parameter(weight))
    return module
