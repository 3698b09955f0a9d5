"""Attention over several heads."""

from typing import Optional, Tuple

import weft
from weft import Tensor
from weft.nn import _types, init
from weft.nn import functional as F

from ._shared import empty
from .linear import NonDynamicallyQuantizableLinear
from .module import Module


class MultiheadAttention(Module):
    """softmax(q k^T / sqrt(head_dim) + masks) v for each of num_heads slices of embed_dim, q, k and v being projections.

    forward(query[L, N, embed_dim], key[S, N, kdim], value[S, N, vdim]): (output[L, N, embed_dim], weights), weights being
    the heads' mean [N, L, S] (average_attn_weights=False: [N, num_heads, L, S]), or None without need_weights.
    batch_first: N comes first; tensors of two dimensions are one sequence.
    key_padding_mask[N, S], attn_mask[L, S] or [N * num_heads, L, S]: bool, true leaves out, or added to the scores.
    add_bias_kv: a learned key and value follow the given ones; add_zero_attn: zeros do.
    source: Vaswani et al., Attention Is All You Need (2017).
    """

    __constants__ = ["batch_first"]
    bias_k: Optional[Tensor]
    bias_v: Optional[Tensor]

    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False, add_zero_attn=False, kdim=None,
                 vdim=None, batch_first=False, device=None, dtype=None):  # fmt: skip
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0 or embed_dim % num_heads:
            raise ValueError(
                f"MultiheadAttention: embed_dim must be a positive multiple of num_heads, got {embed_dim} and {num_heads}"
            )
        self.embed_dim = embed_dim
        self.kdim = kdim if kdim is not None else embed_dim
        self.vdim = vdim if vdim is not None else embed_dim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = float(dropout)
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        self.add_zero_attn = add_zero_attn
        place = {"device": device, "dtype": dtype}
        if self._qkv_same_embed_dim:
            self.in_proj_weight = empty(3 * embed_dim, embed_dim, **place)
            for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
                self.register_parameter(name, None)
        else:
            self.q_proj_weight = empty(embed_dim, embed_dim, **place)
            self.k_proj_weight = empty(embed_dim, self.kdim, **place)
            self.v_proj_weight = empty(embed_dim, self.vdim, **place)
            self.register_parameter("in_proj_weight", None)
        self.register_parameter("in_proj_bias", empty(3 * embed_dim, **place) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **place)
        self.register_parameter("bias_k", empty(1, 1, embed_dim, **place) if add_bias_kv else None)
        self.register_parameter("bias_v", empty(1, 1, embed_dim, **place) if add_bias_kv else None)
        self._reset_parameters()

    def _reset_parameters(self):
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            if getattr(self, name) is not None:
                init.xavier_uniform_(getattr(self, name))
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        if self.bias_k is not None:
            init.xavier_normal_(self.bias_k)
            init.xavier_normal_(self.bias_v)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Optional[Tensor] = None,
        need_weights: bool = True,
        attn_mask: Optional[Tensor] = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> Tuple[Tensor, Optional[Tensor]]:
        if (
            not _types.is_scripting()
            and _is_self_attention(self, query, key, value)
            and _is_single_mask(key_padding_mask, attn_mask)
        ):
            return _attend_to_itself(
                self, query, key_padding_mask, need_weights, attn_mask, average_attn_weights
            )
        batch_first = self.batch_first and query.dim() == 3
        if batch_first:
            query, key, value = query.transpose(0, 1), key.transpose(0, 1), value.transpose(0, 1)
        output, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        if batch_first:
            output = output.transpose(0, 1)
        return output, weights


def _is_self_attention(module, query, key, value):
    """Is one operator enough: query, key and value are one batch, projected by one matrix?"""
    return (_types.takes_fast_path() and query is key and key is value and module.batch_first and query.ndim == 3
            and module.in_proj_weight is not None and module.in_proj_bias is not None and module.bias_k is None
            and not module.add_zero_attn and not (module.training and module.dropout))  # fmt: skip


def _attend_to_itself(module, x, key_padding_mask, need_weights, attn_mask, average_attn_weights):
    mask, mask_type = (attn_mask, 0) if attn_mask is not None else (key_padding_mask, 1)
    output, weights = weft.native_multi_head_attention(
        x, x, x, module.embed_dim, module.num_heads, module.in_proj_weight, module.in_proj_bias, module.out_proj.weight,
        module.out_proj.bias, mask, need_weights, average_attn_weights, mask_type if mask is not None else None)  # fmt: skip
    return output, weights if need_weights else None


def _is_single_mask(key_padding_mask, attn_mask):
    """Is there at most one mask, of the kinds that native_multi_head_attention takes?"""
    if attn_mask is not None:
        return key_padding_mask is None and attn_mask.ndim == 2 and attn_mask.dtype == weft.bool
    return key_padding_mask is None or key_padding_mask.dtype == weft.bool
