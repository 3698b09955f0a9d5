"""Clipping of gradients. weft computes none, so their norm is 0 and nothing changes."""

import weft

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The norm of all elements of the tensors; 0 of none."""
    tensors = [tensors] if isinstance(tensors, weft.Tensor) else list(tensors)
    if not tensors:
        return weft.zeros(())
    norms = weft.stack([weft.vector_norm(tensor, float(norm_type)) for tensor in tensors])
    return weft.vector_norm(norms, float(norm_type))


def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Nothing: there are no gradients."""


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The norm of the parameters' gradients: 0, as there are none."""
    return weft.zeros(())


def clip_grad_norm(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    return clip_grad_norm_(parameters, max_norm, norm_type)


def clip_grad_value_(parameters, clip_value, foreach=None):
    """Nothing: there are no gradients."""
