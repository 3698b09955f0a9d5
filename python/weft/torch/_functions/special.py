"""Special functions whose arguments differ from those of weft's operators, or that are made of several."""

import weft as _weft
from weft._composed import elements

from ._numeric import HALF, inexact, is_inexact, need_tensor, written


def need_floating(x):
    """That a floating result can be written into the tensor."""
    if not is_inexact(x):
        raise RuntimeError(f"result type Float can't be cast to the desired output type {x.dtype}")


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
    need_floating(self)
    return self.copy_(polygamma(n, self))


def mvlgamma(input, p, *, out=None):
    """log of the multivariate gamma function of dimension p."""
    return written(out, elements.mvlgamma(input, p), own_dtype=False)


def mvlgamma_into(self, p):
    """torch.mvlgamma(self, p), written into the tensor."""
    need_floating(self)
    return self.copy_(mvlgamma(self, p))


def logit(input, eps=None, *, out=None):
    """log(x / (1 - x)), x clamped to [eps, 1 - eps]; 16-bit floats round after each step, as PyTorch's do."""
    need_tensor("logit", input)
    x = input if input.is_floating_point() or eps is None else input.to(_weft.get_default_dtype())
    if eps is not None:
        # The lower bound goes first, also where it is above the upper one.
        x = _weft.where(x < eps, eps, _weft.where(x > 1 - eps, 1 - eps, x)).to(x.dtype)
    return written(out, _weft.log(x / (1 - x)) if x.dtype in HALF else _weft.logit(x), own_dtype=False)


def logit_into(self, eps=None):
    """torch.logit(self, eps), written into the tensor."""
    need_floating(self)
    return self.copy_(logit(self, eps))


def round(input, *, decimals=0, out=None):
    """x rounded to `decimals` places, ties to even."""
    if input.dtype is _weft.bool or (decimals and not input.is_floating_point()):
        raise NotImplementedError(f'"round_cpu" not implemented for {input.dtype}')
    return written(out, _weft.round(need_tensor("round", input), decimals=decimals))


def logsumexp(input, dim, keepdim=False, *, out=None):
    """log of the sum of exp(x) over dimensions, without overflow."""
    x = inexact(need_tensor("logsumexp", input))
    if x.ndim == 0:
        return written(out, x + 0, own_dtype=False)
    dims = [dim] if isinstance(dim, int) else list(dim)
    if any(x.shape[each] == 0 for each in dims):
        return written(out, _weft.log(_weft.sum(x, dims, keepdim)), own_dtype=False)
    return written(out, _weft.logsumexp(x, dims or None, keepdim), own_dtype=False)


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
