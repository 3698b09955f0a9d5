"""Special functions whose arguments differ from those of weft's operators, or that are made of several."""

import math

import weft as _weft

from ._numeric import HALF, inexact, is_inexact, need_tensor, written


def polygamma(n, input, *, out=None):
    """The n-th derivative of digamma."""
    if isinstance(n, _weft.Tensor) or not hasattr(type(n), "__index__"):
        raise TypeError(f"polygamma(): argument 'n' (position 1) must be int, not {type(n).__name__}")
    if n < 0:
        raise RuntimeError(f"polygamma(n, x) does not support negative n: got {n}")
    return written(out, _weft.polygamma(need_tensor("polygamma", input, "input", 2), n))


def polygamma_of(self, n):
    """torch.polygamma(n, self)."""
    return polygamma(n, self)


def polygamma_into(self, n):
    """torch.polygamma(n, self), written into the tensor."""
    return self.copy_(polygamma(n, self))


def mvlgamma(input, p, *, out=None):
    """log of the multivariate gamma function of dimension p."""
    need_tensor("mvlgamma", input)
    if input.dtype is _weft.bool or input.is_complex():
        raise RuntimeError("mvlgamma: expected integers or floating point numbers, got " + str(input.dtype))
    if p < 1:
        raise RuntimeError(f"mvlgamma: p has to be greater than or equal to 1, got {p}")
    x = inexact(input)
    result = p * (p - 1) * math.log(math.pi) / 4
    for j in range(p):
        result = _weft.lgamma(x - j / 2) + result
    return written(out, result)


def mvlgamma_into(self, p):
    """torch.mvlgamma(self, p), written into the tensor."""
    return self.copy_(mvlgamma(self, p))


def logit(input, eps=None, *, out=None):
    """log(x / (1 - x)), x clamped to [eps, 1 - eps]; 16-bit floats round after each step, as PyTorch's do."""
    need_tensor("logit", input)
    if input.dtype not in HALF:
        return written(out, _weft.logit(input, eps))
    x = input if eps is None else _weft.clamp(input, eps, 1 - eps)
    return written(out, _weft.log(x / (1 - x)))


def logit_into(self, eps=None):
    """torch.logit(self, eps), written into the tensor."""
    if not self.is_floating_point():
        raise RuntimeError(f"result type Float can't be cast to the desired output type {self.dtype}")
    return self.copy_(logit(self, eps))


def round(input, *, decimals=0, out=None):
    """x rounded to `decimals` places, ties to even."""
    return written(out, _weft.round(need_tensor("round", input), decimals=decimals))


def logsumexp(input, dim, keepdim=False, *, out=None):
    """log of the sum of exp(x) over dimensions, without overflow."""
    x = inexact(need_tensor("logsumexp", input))
    if x.ndim == 0:
        return written(out, x + 0)
    dims = [dim] if isinstance(dim, int) else list(dim)
    return written(out, _weft.logsumexp(x, dims or None, keepdim))


def _over(name, operator, input, dim, dtype, out):
    need_tensor(name, input)
    x = input if dtype is None else input.to(dtype)
    if not is_inexact(x):
        raise NotImplementedError(f'"{name}_lastdim_kernel_impl" not implemented for {x.dtype}')
    if x.ndim == 0:
        if dim not in (0, -1):
            raise IndexError(f"Dimension out of range (expected to be in range of [-1, 0], but got {dim})")
        return written(out, operator(x.reshape(1), 0).reshape(()))
    return written(out, operator(x, dim))


def softmax(input, dim, *, dtype=None, out=None):
    """exp(x) over its sum along a dimension."""
    return _over("softmax", _weft.softmax, input, dim, dtype, out)


def log_softmax(input, dim, *, dtype=None, out=None):
    """log of softmax."""
    return _over("log_softmax", _weft.log_softmax, input, dim, dtype, out)
