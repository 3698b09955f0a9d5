"""Transformers (Vaswani et al., Attention Is All You Need, 2017)."""

from typing import Optional

import weft
from weft import Tensor
from weft.nn import _types, init
from weft.nn import functional as F

from .activation import GELU, ReLU
from .attention import MultiheadAttention, _is_single_mask
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module, clones
from .normalization import LayerNorm

# Masks are bool, true leaving out, or added to the scores: mask[L, S] or [N * heads, L, S] between positions,
# key_padding_mask[N, S] of keys. is_causal says of a mask that it is the causal one; the mask itself still counts.


def _get_activation_fn(activation):
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return F.relu if activation == "relu" else F.gelu


def _kind_of(activation):
    """1 for relu, 2 for gelu, 0 for any other."""
    if activation is F.relu or isinstance(activation, ReLU):
        return 1
    if activation is F.gelu or (isinstance(activation, GELU) and activation.approximate == "none"):
        return 2
    return 0


def _causal_mask(size, dtype=None):
    """float[size, size]: minus infinity above the diagonal, zero elsewhere."""
    return weft.triu(weft.full((size, size), float("-inf"), dtype=dtype or weft.float32), 1)


class TransformerEncoderLayer(Module):
    """Self-attention and a feed-forward network, each added to its input and normalized (norm_first: normalized before).

    src[S, N, d_model] (batch_first: [N, S, d_model]) or [S, d_model]. In eval mode, with batch_first and at most one
    mask, the whole layer is one operator.
    """

    __constants__ = ["norm_first"]

    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation=F.relu, layer_norm_eps=1e-5,
                 batch_first=False, norm_first=False, bias=True, device=None, dtype=None):  # fmt: skip
        super().__init__()
        place = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **place
        )
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **place)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **place)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **place)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **place)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.activation = _get_activation_fn(activation)
        self.activation_relu_or_gelu = _kind_of(self.activation)

    def forward(self, src: Tensor, src_mask: Optional[Tensor] = None, src_key_padding_mask: Optional[Tensor] = None,
                is_causal: bool = False) -> Tensor:  # fmt: skip
        if not _types.is_scripting() and _is_one_operator(self, src, src_mask, src_key_padding_mask):
            return _as_one_operator(self, src, src_mask, src_key_padding_mask)
        x = src
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), src_mask, src_key_padding_mask)
            x = x + self._ff_block(self.norm2(x))
        else:
            x = self.norm1(x + self._sa_block(x, src_mask, src_key_padding_mask))
            x = self.norm2(x + self._ff_block(x))
        return x

    def _sa_block(self, x: Tensor, attn_mask: Optional[Tensor], key_padding_mask: Optional[Tensor]) -> Tensor:
        x = self.self_attn(
            x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=False
        )[0]
        return self.dropout1(x)

    def _ff_block(self, x: Tensor) -> Tensor:
        x = self.linear2(self.dropout(self.activation(self.linear1(x))))
        return self.dropout2(x)


def _is_one_operator(layer, src, src_mask, src_key_padding_mask):
    attention = layer.self_attn
    return (_types.takes_fast_path() and not layer.training and src.ndim == 3 and attention.batch_first and attention._qkv_same_embed_dim
            and attention.in_proj_bias is not None and layer.activation_relu_or_gelu and layer.norm1.bias is not None
            and layer.norm1.eps == layer.norm2.eps and _is_single_mask(src_key_padding_mask, src_mask)
            and not _has_hooks(layer))  # fmt: skip


def _has_hooks(layer):
    return any(module._forward_hooks or module._forward_pre_hooks for module in layer.modules())


def _as_one_operator(layer, src, src_mask, src_key_padding_mask):
    attention = layer.self_attn
    mask, mask_type = (src_mask, 0) if src_mask is not None else (src_key_padding_mask, 1)
    return weft.transformer_encoder_layer_fwd(
        src, attention.embed_dim, attention.num_heads, attention.in_proj_weight, attention.in_proj_bias,
        attention.out_proj.weight, attention.out_proj.bias, layer.activation_relu_or_gelu == 2, layer.norm_first,
        layer.norm1.eps, layer.norm1.weight, layer.norm1.bias, layer.norm2.weight, layer.norm2.bias, layer.linear1.weight,
        layer.linear1.bias, layer.linear2.weight, layer.linear2.bias, mask, mask_type if mask is not None else None)  # fmt: skip


class TransformerDecoderLayer(Module):
    """Self-attention, attention to the encoder's output `memory` and a feed-forward network, each added to its input and
    normalized (norm_first: normalized before). tgt[T, N, d_model], memory[S, N, d_model]; batch_first: N comes first."""

    __constants__ = ["norm_first"]

    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation=F.relu, layer_norm_eps=1e-5,
                 batch_first=False, norm_first=False, bias=True, device=None, dtype=None):  # fmt: skip
        super().__init__()
        place = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **place
        )
        self.multihead_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **place
        )
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **place)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **place)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **place)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **place)
        self.norm3 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **place)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.dropout3 = Dropout(dropout)
        self.activation = _get_activation_fn(activation)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Optional[Tensor] = None,
        memory_mask: Optional[Tensor] = None,
        tgt_key_padding_mask: Optional[Tensor] = None,
        memory_key_padding_mask: Optional[Tensor] = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        x = tgt
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), tgt_mask, tgt_key_padding_mask)
            x = x + self._mha_block(self.norm2(x), memory, memory_mask, memory_key_padding_mask)
            x = x + self._ff_block(self.norm3(x))
        else:
            x = self.norm1(x + self._sa_block(x, tgt_mask, tgt_key_padding_mask))
            x = self.norm2(x + self._mha_block(x, memory, memory_mask, memory_key_padding_mask))
            x = self.norm3(x + self._ff_block(x))
        return x

    def _sa_block(self, x: Tensor, attn_mask: Optional[Tensor], key_padding_mask: Optional[Tensor]) -> Tensor:
        x = self.self_attn(
            x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=False
        )[0]
        return self.dropout1(x)

    def _mha_block(
        self, x: Tensor, memory: Tensor, attn_mask: Optional[Tensor], key_padding_mask: Optional[Tensor]
    ) -> Tensor:
        x = self.multihead_attn(
            x, memory, memory, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=False
        )[0]
        return self.dropout2(x)

    def _ff_block(self, x: Tensor) -> Tensor:
        x = self.linear2(self.dropout(self.activation(self.linear1(x))))
        return self.dropout3(x)


def _takes_nested(layer):
    """May PyTorch give such layers sequences without their padding?"""
    return (isinstance(layer, TransformerEncoderLayer) and not layer.norm_first and layer.self_attn.batch_first
            and layer.self_attn._qkv_same_embed_dim and layer.self_attn.in_proj_bias is not None
            and bool(layer.activation_relu_or_gelu) and layer.norm1.eps == layer.norm2.eps
            and layer.self_attn.num_heads % 2 == 0)  # fmt: skip


class TransformerEncoder(Module):
    """num_layers copies of an encoder layer, one after the other, and `norm` at the end, where given.

    enable_nested_tensor: without gradients and in eval(), layers that PyTorch computes as one operator each are given the
    positions that are no padding alone, so that those of padding are 0 before `norm`. mask_check: only where the padding
    of every sequence lies at its end.
    """

    __constants__ = ["norm"]

    def __init__(self, encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True):
        super().__init__()
        self.layers = ModuleList(clones(encoder_layer, num_layers))
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.use_nested_tensor = enable_nested_tensor and _takes_nested(encoder_layer)
        self.mask_check = mask_check

    def forward(self, src: Tensor, mask: Optional[Tensor] = None, src_key_padding_mask: Optional[Tensor] = None,
                is_causal: Optional[bool] = None) -> Tensor:  # fmt: skip
        output = src
        for layer in self.layers:
            output = layer(output, src_mask=mask, src_key_padding_mask=src_key_padding_mask)
        if not _types.is_scripting() and _leaves_padding_out(self, src, mask, src_key_padding_mask):
            output = _without_padding(self, output, src_key_padding_mask)
        if self.norm is not None:
            output = self.norm(output)
        return output


def _leaves_padding_out(encoder, src, mask, padding):
    return (encoder.use_nested_tensor and _types.takes_fast_path() and not encoder.layers[0].training and src.ndim == 3
            and padding is not None and mask is None
            and not (weft._C._grad_mode()[0] and any(p.requires_grad for p in [src, *encoder.layers[0].parameters()])))  # fmt: skip


def _without_padding(encoder, output, padding):
    kept = padding == 0
    left_out = ~kept
    if encoder.mask_check:
        left_out = left_out & (kept[:, 1:] <= kept[:, :-1]).all()
    return output.masked_fill(left_out.unsqueeze(-1), 0.0)


class TransformerDecoder(Module):
    """num_layers copies of a decoder layer, one after the other, and `norm` at the end, where given."""

    __constants__ = ["norm"]

    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__()
        self.layers = ModuleList(clones(decoder_layer, num_layers))
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Optional[Tensor] = None,
        memory_mask: Optional[Tensor] = None,
        tgt_key_padding_mask: Optional[Tensor] = None,
        memory_key_padding_mask: Optional[Tensor] = None,
        tgt_is_causal: Optional[bool] = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        output = tgt
        for layer in self.layers:
            output = layer(output, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                           memory_key_padding_mask=memory_key_padding_mask)  # fmt: skip
        if self.norm is not None:
            output = self.norm(output)
        return output


class Transformer(Module):
    """Encoder of src[S, N, d_model] and decoder of tgt[T, N, d_model]: [T, N, d_model]; batch_first: N comes first."""

    def __init__(self, d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6, dim_feedforward=2048, dropout=0.1,
                 activation=F.relu, custom_encoder=None, custom_decoder=None, layer_norm_eps=1e-5, batch_first=False,
                 norm_first=False, bias=True, device=None, dtype=None):  # fmt: skip
        super().__init__()
        layer = (
            d_model,
            nhead,
            dim_feedforward,
            dropout,
            activation,
            layer_norm_eps,
            batch_first,
            norm_first,
            bias,
            device,
            dtype,
        )
        norm = {"eps": layer_norm_eps, "bias": bias, "device": device, "dtype": dtype}
        if custom_encoder is None:
            custom_encoder = TransformerEncoder(
                TransformerEncoderLayer(*layer), num_encoder_layers, LayerNorm(d_model, **norm)
            )
        if custom_decoder is None:
            custom_decoder = TransformerDecoder(
                TransformerDecoderLayer(*layer), num_decoder_layers, LayerNorm(d_model, **norm)
            )
        self.encoder = custom_encoder
        self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self):
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Optional[Tensor] = None,
        tgt_mask: Optional[Tensor] = None,
        memory_mask: Optional[Tensor] = None,
        src_key_padding_mask: Optional[Tensor] = None,
        tgt_key_padding_mask: Optional[Tensor] = None,
        memory_key_padding_mask: Optional[Tensor] = None,
        src_is_causal: Optional[bool] = None,
        tgt_is_causal: Optional[bool] = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        if src.dim() == 3 and tgt.dim() == 3:
            axis = 0 if self.batch_first else 1
            if src.size(axis) != tgt.size(axis):
                raise RuntimeError(
                    f"src and tgt must have one batch size, got {src.size(axis)} and {tgt.size(axis)}"
                )
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError(
                f"src and tgt must have d_model={self.d_model} features, got {src.size(-1)} and {tgt.size(-1)}"
            )
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask)
        return self.decoder(tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                            memory_key_padding_mask=memory_key_padding_mask)  # fmt: skip

    @staticmethod
    def generate_square_subsequent_mask(sz, device=None, dtype=None):
        """float[sz, sz]: minus infinity where a position would see a later one, zero elsewhere."""
        return _causal_mask(sz, dtype)
