"""PyTorch's operators that are no functions of torch, under their names in torch.ops.aten."""

import weft
from weft._composed import internal
from weft._composed.internal import max_pool2d_with_indices_backward, native_dropout_backward  # noqa: F401

from ._functions._numeric import HALF
from ._functions.layers import native_batch_norm


def _sparse_addmm(input, mat1, mat2, *, beta=1, alpha=1):
    """beta input + alpha (mat1 mat2), of a sparse mat1."""
    from weft.sparse import _coo

    return _coo.addmm(input, mat1, mat2, beta=beta, alpha=alpha)


def _sparse_mm_reduce_impl(self, other, reduce):
    """Left out: products of compressed rows that reduce by anything but a sum."""
    raise NotImplementedError("torch.ops.aten._sparse_mm_reduce_impl: weft has no compressed sparse rows")


def _pin_memory(self, device=None):
    """See Tensor.pin_memory."""
    return self.pin_memory()


def _to_copy(
    self, *, dtype=None, layout=None, device=None, pin_memory=None, non_blocking=False, memory_format=None
):
    """A copy, of another dtype, device or memory format."""
    options = {"dtype": dtype, "device": device, "memory_format": memory_format}
    return self.to(**{name: value for name, value in options.items() if value is not None}, copy=True)


def lift_fresh(self):
    """The tensor itself."""
    return self


def alias(self):
    """A view of the whole tensor."""
    return weft.Tensor.view(self, self.shape)


def _chunk_cat(tensors, dim, num_chunks, *, out=None):
    """The tensors, each continued by zeros along dim and cut into num_chunks, beside each other."""
    return weft.concatenate([internal.chunk_cat(tensors, dim, num_chunks)], 0, out=out)


def _clamped(input, indices):
    """Indices that are not used may be anything: within the input's bounds."""
    return tuple(
        slice(None) if index is None else index.clamp(-size, size - 1)
        for index, size in zip(indices, input.shape, strict=False)
    )


def _unsafe_masked_index(self, mask, indices, fill):
    """input[indices] where mask holds, else fill."""
    return weft.masked_fill(self[_clamped(self, indices)], ~mask, fill)


def _unsafe_masked_index_put_accumulate(self, mask, indices, values):
    """The input with the values added at the indices where mask holds."""
    result = self.clone()
    return result.index_put_(_clamped(self, indices), weft.masked_fill(values, ~mask, 0), accumulate=True)


def _native_batch_norm_legit(input, weight, bias, *others, out=None):
    """native_batch_norm; without running statistics, their two arguments are left out."""
    return native_batch_norm(
        input, weight, bias, *((None, None) if len(others) == 3 else ()), *others, out=out
    )


def _batch_norm_with_update(input, weight, bias, running_mean, running_var, momentum, eps):
    """native_batch_norm of a training step, and what PyTorch's backends keep for themselves: nothing."""
    results = native_batch_norm(input, weight, bias, running_mean, running_var, True, momentum, eps)
    return *results, weft.empty((0,), dtype=weft.uint8)


def _softmax_backward_data(grad_output, output, dim, input_dtype):
    """The gradient of softmax's input."""
    if output.dtype in HALF:
        grad_output, output = grad_output.float(), output.float()
    product = grad_output * output
    return (product - output * product.sum(dim, keepdim=True)).to(input_dtype)
