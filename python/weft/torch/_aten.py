"""PyTorch's operators that are no functions of torch, under their names in torch.ops.aten."""

import weft


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
