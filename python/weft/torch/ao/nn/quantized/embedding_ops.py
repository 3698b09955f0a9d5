"""Embeddings whose rows are bytes, or numbers of four bits."""

import weft
import weft.torch as torch
from weft import nn
from weft.ops import quantized as _ops

from ._weights import quantize_weight, without_packed


class EmbeddingPackedParams(nn.Module):
    """The rows, packed."""

    _version = 1

    def __init__(self, num_embeddings, embedding_dim, dtype=torch.quint8):
        super().__init__()
        if dtype not in (torch.quint8, torch.quint4x2):
            raise NotImplementedError(
                f"Unsupported dtype on quantized embedding! Supports quint8 and quint4x2. Got dtype: {dtype}"
            )
        self.dtype = dtype
        self.set_weight(_zeros(num_embeddings, embedding_dim, dtype))

    def set_weight(self, weight):
        self._packed_weight = _ops.embedding_bag_prepack(weight)

    def _weight(self):
        return _ops.embedding_bag_unpack(self._packed_weight)

    def forward(self, x):
        return x

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "dtype"] = self.dtype
        destination[prefix + "_packed_weight"] = self._weight()

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, *args):
        self.dtype = state_dict.pop(prefix + "dtype")
        self.set_weight(state_dict.pop(prefix + "_packed_weight"))
        super()._load_from_state_dict(state_dict, prefix, local_metadata, False, *args)

    def __repr__(self):
        return repr(self._weight())


def _zeros(rows, width, dtype):
    return torch.quantize_per_channel(
        weft.zeros([rows, width]), weft.ones([rows]), weft.zeros([rows]), 0, dtype
    )


class Embedding(nn.Module):
    """Rows by their numbers."""

    _version = 1
    _FLOAT_MODULE = nn.Embedding

    def __init__(
        self,
        num_embeddings,
        embedding_dim,
        padding_idx=None,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        sparse=False,
        _weight=None,
        dtype=torch.quint8,
    ):
        super().__init__()
        self.num_embeddings, self.embedding_dim, self.dtype = num_embeddings, embedding_dim, dtype
        self._packed_params = EmbeddingPackedParams(num_embeddings, embedding_dim, dtype)
        if _weight is not None:
            if list(_weight.shape) != [num_embeddings, embedding_dim]:
                raise AssertionError(
                    f"Shape of weight does not match num_embeddings and embedding_dim: expected "
                    f"{[num_embeddings, embedding_dim]}, got {list(_weight.shape)}"
                )
            self.set_weight(_weight)

    def forward(self, indices):
        lookup = _ops.embedding_4bit if self.dtype == torch.quint4x2 else _ops.embedding_byte
        return lookup(self._packed_params._packed_weight, indices)

    def _get_name(self):
        return "QuantizedEmbedding"

    def __repr__(self):
        return without_packed(self, EmbeddingPackedParams)

    def extra_repr(self):
        return (
            f"num_embeddings={self.num_embeddings}, embedding_dim={self.embedding_dim}, "
            f"dtype={self._packed_params.dtype}, qscheme={self.weight().qscheme()}"
        )

    def set_weight(self, w):
        self._packed_params.set_weight(w)

    def weight(self):
        return self._packed_params._weight()

    @classmethod
    def _quantized(cls, mod):
        if type(mod) is not cls._FLOAT_MODULE:
            raise AssertionError(f"nnq.{cls.__name__}.from_float only works for {cls._FLOAT_MODULE.__name__}")
        if not hasattr(mod, "qconfig"):
            raise AssertionError("Embedding input float module must have qconfig defined")
        from weft.torch.ao.quantization.qconfig import float_qparams_weight_only_qconfig

        qconfig = mod.qconfig
        observer = (
            qconfig
            if qconfig is not None and qconfig.weight is not None
            else float_qparams_weight_only_qconfig
        ).weight()
        if observer.qscheme != torch.per_channel_affine_float_qparams:
            raise AssertionError(
                "Embedding quantization is only supported with float_qparams_weight_only_qconfig."
            )
        observer(mod.weight)
        return quantize_weight(mod.weight.to(weft.float32), observer), observer.dtype

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """Of a float module with a qconfig."""
        weight, _ = cls._quantized(mod)
        made = cls(mod.num_embeddings, mod.embedding_dim)
        made.set_weight(weight)
        return made


class EmbeddingBag(Embedding):
    """Sums of rows."""

    _FLOAT_MODULE = nn.EmbeddingBag

    def __init__(
        self,
        num_embeddings,
        embedding_dim,
        max_norm=None,
        norm_type=2.0,
        scale_grad_by_freq=False,
        mode="sum",
        sparse=False,
        _weight=None,
        include_last_offset=False,
        dtype=torch.quint8,
    ):
        super().__init__(num_embeddings, embedding_dim, _weight=_weight, dtype=dtype)
        self.mode, self.pruned_weights, self.include_last_offset = mode, False, include_last_offset

    def forward(self, indices, offsets=None, per_sample_weights=None, compressed_indices_mapping=None):
        bag = _ops.embedding_bag_4bit if self.dtype == torch.quint4x2 else _ops.embedding_bag_byte
        return bag(
            self._packed_params._packed_weight,
            indices,
            offsets,
            False,
            0,
            self.pruned_weights,
            per_sample_weights,
            compressed_indices_mapping,
            self.include_last_offset,
        )

    def _get_name(self):
        return "QuantizedEmbeddingBag"

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        weight, dtype = cls._quantized(mod)
        made = cls(
            mod.num_embeddings,
            mod.embedding_dim,
            max_norm=mod.max_norm,
            norm_type=mod.norm_type,
            mode=mod.mode,
            include_last_offset=mod.include_last_offset,
            dtype=dtype,
        )
        made.set_weight(weight)
        return made
