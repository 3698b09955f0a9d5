"""Sparse tensors in coordinate format (sparse_coo_tensor: _coo.py), with compressed rows or columns (_csr.py), and 2:4 sparsity: of every four neighbours in a row of a weight, two are kept.

    weft.sparse.prune_(model)                                # the two smallest of each four become zero
    weft.sparse.sparsify_(model)                             # Linear layers hold values and positions
    model(x)

A product of few rows can read half the bytes of a dense one's weight. With more, arithmetic is the limit, and processors have no
sparse arithmetic. With keep_dense=True (sparsify_'s default) the dense weight is held beside and used where it measured faster:
everywhere but for few rows. With keep_dense=False the weight takes 9/16 of the memory, and is expanded for
products of more than 16 rows. docs/SPARSITY.md has the measurements.
"""

import weft
from weft import _C
from weft._errors import ArgumentError, ArgumentTypeError
from weft.nn.modules.quantized import DynamicInt8Linear
from weft.nn.parameter import PackedWeight

from . import _cutlass
from ._coo import SparseTensor, sparse_coo_tensor  # noqa: F401
from ._csr import (  # noqa: F401
    CompressedTensor,
    sparse_compressed_tensor,
    sparse_csc_tensor,
    sparse_csr_tensor,
)

__all__ = """
    CompressedTensor SparseInt8Linear SparseSemiStructuredTensor SparseTensor prune prune_ sparse_compressed_tensor
    sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor sparsify_ to_sparse_semi_structured""".split()

_DTYPES = (weft.float32, weft.bfloat16)
# Rows of inputs for which the sparse weight measured faster than the dense one (docs/SPARSITY.md), of float32 and bfloat16,
# by the bytes of the processor's vectors.
_MOST_ROWS, _MOST_HALF_ROWS = {32: (4, 16), 64: (2, 0)}.get(_C._host_vector_bytes(), (0, 0))


def _gains(x, columns):
    """Is a product with the sparse weight faster than one with the dense weight?"""
    return x.numel() <= (_MOST_ROWS if x.dtype == weft.float32 else _MOST_HALF_ROWS) * columns


def _check_weight(name, weight):
    if not isinstance(weight, weft.Tensor) or len(weight.shape) != 2:
        raise ArgumentError(f"{name}: expected a weight [n, k]")
    if weight.shape[1] % 4:
        raise ArgumentError(
            f"{name}: expected k to be a multiple of 4, got a weight of {tuple(weight.shape)}"
        )


def _kept(weight):
    """Which elements stay: of each four the two of the largest squares; of equal ones the one behind."""
    blocks = weft.reshape(weight.to(weft.float64), [weight.shape[0], weight.shape[1] // 4, 4])
    squares = blocks * blocks
    places = []
    for one in range(4):
        smaller = None
        for other in range(4):
            if other == one:
                continue
            a, b = squares[:, :, other], squares[:, :, one]
            before = (a <= b) if other < one else (a < b)
            # NaN is the largest: it stays.
            is_last = weft.isnan(b) & ((~weft.isnan(a)) | (other < one))
            before = (before & ~weft.isnan(a)) | is_last
            smaller = before.to(weft.int64) if smaller is None else smaller + before.to(weft.int64)
        places.append(smaller >= 2)
    return weft.reshape(weft.stack(places, 2), list(weight.shape))


def prune(weight):
    """The weight [n, k] with the two elements of the smallest squares of each four in a row set to zero; of equal squares the
    lower index goes. k is a multiple of 4; any floating dtype. ValueError for other shapes."""
    _check_weight("prune", weight)
    if not weight.is_floating_point():
        raise ArgumentTypeError(f"prune: expected a floating weight, got {weight.dtype}")
    return weft.where(_kept(weight), weight, weft.full([], 0, dtype=weight.dtype))


def _linears(model, accepts):
    for name, module in model.named_modules():
        if type(module) is weft.nn.Linear and (accepts is None or accepts(name, module)):
            yield name, module


def prune_(model, accepts=None):
    """Prunes the weights of a model's Linear layers in place, of those for which accepts(name, module) is true. Those whose inputs are
    no multiple of 8 stay. Returns the model."""
    for _, module in _linears(model, accepts):
        if module.in_features % 8 == 0:
            module.weight.copy_(prune(module.weight))
    return model


class SparseSemiStructuredTensor(PackedWeight):
    """A 2:4 sparse weight [n, k]: to_sparse_semi_structured makes it of a dense one. It may be a module's parameter.

    values [n, k / 2]: what is kept of each row. positions [n, k / 8] of uint8: for each four elements four bits, two bits for the
    place of the first and two for that of the second, the first four in the low half. linear(x, bias) is the product.
    """

    def __init__(self, values, positions, dense=None):
        self.values, self.positions, self._dense = values, positions, dense
        self._lanes = _cutlass.lanes_of(positions)

    @property
    def shape(self):
        return weft.Size([self.values.shape[0], self.values.shape[1] * 2])

    @property
    def dtype(self):
        return self.values.dtype

    @property
    def device(self):
        return self.values.device

    def to(self, *args, **kwargs):
        """Of another floating dtype or on another device. TypeError for dtypes that such weights do not have."""
        values = self.values.to(*args, **kwargs)
        if values.dtype not in _DTYPES:
            raise ArgumentTypeError(f"a 2:4 sparse weight is float32 or bfloat16, not {values.dtype}")
        if values is self.values:
            return self
        dense = None if self._dense is None else self._dense.to(*args, **kwargs)
        return SparseSemiStructuredTensor(values, self.positions.to(values.device), dense)

    def clone(self):
        dense = None if self._dense is None else self._dense.clone()
        return SparseSemiStructuredTensor(self.values.clone(), self.positions.clone(), dense)

    def to_dense(self):
        """The weight [n, k] with its zeros."""
        return weft.sparse_dense(self.values, self._lanes)

    def linear(self, x, bias=None):
        """x [..., k] times the transpose, plus bias [n]: [..., n]. float32 or bfloat16."""
        if self._dense is not None and not _gains(x, self.shape[1]):
            return weft.linear(x, self._dense, bias)
        return weft.sparse_linear(x, self.values, self._lanes, bias)

    def __weft_operator__(name, *args, **kwargs):
        if name == "linear":
            x, weight, *bias = args
            if isinstance(weight, SparseSemiStructuredTensor):
                return weight.linear(x, *bias, **kwargs)
        raise ArgumentTypeError(
            f"{name}: not for 2:4 sparse tensors, but as the weight of linear; to_dense() first"
        )

    def to_cutlass(self):
        """(values, metadata) in the format of PyTorch's CUTLASS kernels: [n, k / 2], and int16 [n, k / 16] reordered.
        ValueError where n is no multiple of 32 or k of 16; TypeError for float32, of which that format has 1:2 only."""
        return _cutlass.write(self.values, self.positions)

    @classmethod
    def from_cutlass(cls, values, metadata):
        """The weight of PyTorch's values and metadata (sparse_semi_structured_from_dense_cutlass) of bfloat16. ValueError for shapes
        that do not fit and for positions that are not two of four."""
        return cls(values, _cutlass.read(values, metadata))

    def __repr__(self):
        return f"SparseSemiStructuredTensor(shape={tuple(self.shape)}, dtype={self.dtype})"


def to_sparse_semi_structured(dense, *, keep_dense=False):
    """The 2:4 sparse weight of a dense one [n, k] that has at most two elements other than zero in each four, k a multiple of 8,
    float32 or bfloat16. keep_dense: holds the dense weight for the products in which it is faster. ValueError names the row and the block that has more than two.
    """
    name = "to_sparse_semi_structured"
    _check_weight(name, dense)
    if dense.dtype not in _DTYPES:
        raise ArgumentTypeError(f"{name}: expected float32 or bfloat16, got {dense.dtype}")
    if dense.shape[1] % 8:
        raise ArgumentError(f"{name}: expected k to be a multiple of 8, got {tuple(dense.shape)}")
    values, positions = _cutlass.compress(name, dense)
    return SparseSemiStructuredTensor(values, positions, dense if keep_dense else None)


def _follow_loaded(module, local_metadata):
    pending = local_metadata.get("pending")
    module._weft_follow() if pending is None else pending.append(module._weft_follow)


class SparseLinear(weft.nn.Module):
    """A Linear layer with a 2:4 sparse weight: what sparsify_ makes of one. Its state: values, positions and bias."""

    def __init__(self, linear, keep_dense=True):
        super().__init__()
        self.in_features, self.out_features = linear.in_features, linear.out_features
        weight = to_sparse_semi_structured(linear.weight.detach())
        self.register_buffer("values", weight.values)
        self.register_buffer("positions", weight.positions)
        self.register_buffer("lanes", weight._lanes, persistent=False)
        self.register_buffer("dense", weight.to_dense() if keep_dense else None, persistent=False)
        self.bias = linear.bias

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *others):
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *others)
        _follow_loaded(self, local_metadata)

    def _weft_follow(self):
        """What is made of positions and values, anew."""
        self.lanes = _cutlass.lanes_of(self.positions)
        if self.dense is not None:
            self.dense = weft.sparse_dense(self.values, self.lanes)

    def forward(self, x):
        if self.dense is not None and not _gains(x, self.in_features):
            return weft.linear(x, self.dense, self.bias)
        return weft.sparse_linear(x, self.values, self.lanes, self.bias)

    def extra_repr(self):
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"
        )


class SparseInt8Linear(DynamicInt8Linear):
    """A SparseLinear with dynamic int8: what weft.quantization.quantize_ makes of one. Its numbers are those of the expanded weight;
    values [n, k / 2] are int8, and a product is that of the int8 weight, which is held beside as the SparseLinear held its own, or
    expanded for each product: 5/8 of its memory, and never faster. Its state: values, positions, scales and bias."""

    def __init__(self, sparse):
        super().__init__(weft.sparse_dense(sparse.values, sparse.lanes), sparse.bias)
        values, positions = _cutlass.compress("quantize_", self.weight)
        self.register_buffer("values", values)
        self.register_buffer("positions", positions)
        self.register_buffer("lanes", _cutlass.lanes_of(positions), persistent=False)
        dense = None if sparse.dense is None else self.weight
        self.register_buffer("weight", dense, persistent=False)

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *others):
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *others)
        _follow_loaded(self, local_metadata)

    def _weft_follow(self):
        self.lanes = _cutlass.lanes_of(self.positions)
        if self.weight is not None:
            self.weight = weft.sparse_dense(self.values, self.lanes)

    def forward(self, x):
        weight = self.weight
        if weight is None:
            weight = weft.sparse_dense(self.values, self.lanes)
        return weft.nn.functional._linear_dynamic_int8(x, weight, self.scales, self.bias)


def sparsify_(model, accepts=None, keep_dense=True):
    """Replaces the Linear layers of a model whose weights are 2:4 sparse (prune_) by SparseLinear, of those for which
    accepts(name, module) is true. Layers whose inputs are no multiple of 8 stay. Returns the model. ValueError for a weight that is not
    2:4 sparse."""
    for name, module in list(_linears(model, accepts)):
        if module.in_features % 8 or module.weight.dtype not in _DTYPES:
            continue
        try:
            sparse = SparseLinear(module, keep_dense)
        except ValueError as error:
            raise ArgumentError(f"sparsify_: {name}: {error}") from None
        owner, _, own = name.rpartition(".")
        setattr(model.get_submodule(owner) if owner else model, own, sparse)
    return model
