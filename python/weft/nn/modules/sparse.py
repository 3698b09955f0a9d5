"""Tables of embeddings."""

from typing import Optional

from weft import Tensor
from weft.nn import functional as F
from weft.nn import init
from weft.nn.parameter import Parameter

from ._shared import empty
from .module import Module


def _row(padding_idx, num_embeddings, owner):
    """padding_idx counted from the front."""
    if padding_idx is None:
        return None
    if not -num_embeddings <= padding_idx < num_embeddings:
        raise ValueError(f"{owner}: padding_idx must be within num_embeddings: expected one in "
                         f"[{-num_embeddings}, {num_embeddings}), got {padding_idx}")  # fmt: skip
    return padding_idx % num_embeddings


def _table(given, num_embeddings, embedding_dim, owner, device, dtype):
    if given is None:
        return empty(num_embeddings, embedding_dim, dtype=dtype, device=device)
    if list(given.shape) != [num_embeddings, embedding_dim]:
        raise ValueError(
            f"{owner}: expected weights of shape [{num_embeddings}, {embedding_dim}], got {list(given.shape)}"
        )
    return given if isinstance(given, Parameter) else Parameter(given)


class Embedding(Module):
    """weight[num_embeddings, embedding_dim] at input[*] of integers: [*, embedding_dim].

    padding_idx: this row starts as zeros. max_norm: rows that are looked up are first shortened to it, in weight itself.
    """

    __constants__ = [
        "num_embeddings",
        "embedding_dim",
        "padding_idx",
        "max_norm",
        "norm_type",
        "scale_grad_by_freq",
        "sparse",
    ]
    num_embeddings: int
    embedding_dim: int
    padding_idx: Optional[int]
    max_norm: Optional[float]
    norm_type: float
    scale_grad_by_freq: bool
    weight: Tensor
    sparse: bool

    def __init__(self, num_embeddings, embedding_dim, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False,
                 sparse=False, _weight=None, _freeze=False, device=None, dtype=None):  # fmt: skip
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = _row(padding_idx, num_embeddings, "Embedding")
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        self.weight = _table(_weight, num_embeddings, embedding_dim, "Embedding", device, dtype)
        if _freeze:
            self.weight.requires_grad_(False)
        if _weight is None:
            self.reset_parameters()

    def reset_parameters(self):
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def _fill_padding_idx_with_zero(self):
        if self.padding_idx is not None:
            self.weight[self.padding_idx] = 0.0

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False,
                        sparse=False):  # fmt: skip
        """A table of embeddings[num_embeddings, embedding_dim], whose memory it shares."""
        if embeddings.ndim != 2:
            raise ValueError(
                f"Embedding.from_pretrained: expected a matrix, got shape {list(embeddings.shape)}"
            )
        rows, columns = embeddings.shape
        return cls(
            rows,
            columns,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight=embeddings,
            _freeze=freeze,
        )

    def forward(self, input: Tensor) -> Tensor:
        return F.embedding(
            input,
            self.weight,
            self.padding_idx,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.sparse,
        )

    def extra_repr(self):
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        text += f", padding_idx={self.padding_idx}" if self.padding_idx is not None else ""
        text += f", max_norm={self.max_norm}" if self.max_norm is not None else ""
        text += f", norm_type={self.norm_type}" if self.norm_type != 2 else ""
        text += f", scale_grad_by_freq={self.scale_grad_by_freq}" if self.scale_grad_by_freq else ""
        return text + (", sparse=True" if self.sparse else "")


class EmbeddingBag(Module):
    """Sums, means or maxima of rows of weight[num_embeddings, embedding_dim], one per bag of input.

    input: int[bags, size], or int[count] with offsets int[bags] where the bags begin. mode: "sum", "mean", "max".
    include_last_offset: offsets has one element more, the end of the last bag.
    """

    __constants__ = ["num_embeddings", "embedding_dim", "max_norm", "norm_type", "scale_grad_by_freq", "mode", "sparse",
                     "include_last_offset", "padding_idx"]  # fmt: skip
    num_embeddings: int
    embedding_dim: int
    max_norm: Optional[float]
    norm_type: float
    scale_grad_by_freq: bool
    weight: Tensor
    mode: str
    sparse: bool
    include_last_offset: bool
    padding_idx: Optional[int]

    def __init__(self, num_embeddings, embedding_dim, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode="mean",
                 sparse=False, _weight=None, include_last_offset=False, padding_idx=None, device=None, dtype=None):  # fmt: skip
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset
        self.padding_idx = _row(padding_idx, num_embeddings, "EmbeddingBag")
        self.weight = _table(_weight, num_embeddings, embedding_dim, "EmbeddingBag", device, dtype)
        if _weight is None:
            self.reset_parameters()

    def reset_parameters(self):
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    def _fill_padding_idx_with_zero(self):
        if self.padding_idx is not None:
            self.weight[self.padding_idx] = 0.0

    @classmethod
    def from_pretrained(cls, embeddings, freeze=True, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, mode="mean",
                        sparse=False, include_last_offset=False, padding_idx=None):  # fmt: skip
        """A table of embeddings[num_embeddings, embedding_dim], whose memory it shares."""
        if embeddings.ndim != 2:
            raise ValueError(
                f"EmbeddingBag.from_pretrained: expected a matrix, got shape {list(embeddings.shape)}"
            )
        rows, columns = embeddings.shape
        result = cls(
            rows,
            columns,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            mode,
            sparse,
            embeddings,
            include_last_offset,
            padding_idx,
        )
        result.weight.requires_grad_(not freeze)
        return result

    def forward(
        self, input: Tensor, offsets: Optional[Tensor] = None, per_sample_weights: Optional[Tensor] = None
    ) -> Tensor:
        return F.embedding_bag(input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode,
                               self.sparse, per_sample_weights, self.include_last_offset, self.padding_idx)  # fmt: skip

    def extra_repr(self):
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        text += f", max_norm={self.max_norm}" if self.max_norm is not None else ""
        text += f", norm_type={self.norm_type}" if self.norm_type != 2 else ""
        text += f", scale_grad_by_freq={self.scale_grad_by_freq}" if self.scale_grad_by_freq else ""
        text += f", mode={self.mode!r}"
        return text + (f", padding_idx={self.padding_idx}" if self.padding_idx is not None else "")
