"""Shapes and dtypes of a graph's values, by running it."""

import traceback
from typing import Any, NamedTuple

import weft

from ..interpreter import Interpreter
from ..node import map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What is known of a tensor beside its elements."""

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple
    memory_format: Any
    is_quantized: bool
    qparams: dict


def _extract_tensor_metadata(result, include_contiguity=True):
    memory_format = None
    if include_contiguity:
        from weft import torch

        for one in (torch.contiguous_format, torch.channels_last, torch.channels_last_3d):
            needed = {torch.channels_last: 4, torch.channels_last_3d: 5}.get(one)
            if needed in (None, result.dim()) and result.is_contiguous(memory_format=one):
                memory_format = one
                break
    return TensorMetadata(
        result.shape,
        result.dtype,
        result.requires_grad,
        result.stride(),
        memory_format,
        result.is_quantized,
        {},
    )


class ShapeProp(Interpreter):
    """Runs a graph's module; each node's meta has "type" and, of tensors, "tensor_meta" afterwards."""

    def __init__(self, gm, fake_mode=None):
        super().__init__(gm)
        if fake_mode is not None:
            raise NotImplementedError("ShapeProp: weft has no fake tensors; it runs the graph")

    def run_node(self, n):
        try:
            result = super().run_node(n)
        except Exception as error:
            traceback.print_exc()
            raise RuntimeError(f"ShapeProp error for: node={n.format_node()} with meta={n.meta}") from error
        found = False

        def of(one):
            nonlocal found
            if isinstance(one, weft.Tensor):
                found = True
                return _extract_tensor_metadata(one)
            return one

        meta = map_aggregate(result, of)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args):
        """Runs the graph; its result."""
        return super().run(*args)
