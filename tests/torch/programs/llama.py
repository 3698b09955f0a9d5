"""A Llama with complex rotary embeddings and a cache of keys and values; decoding and prefill are compiled apart."""

from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F
from common import fill, main
from torch import Tensor


@dataclass
class ModelArgs:
    dim: int = 64
    n_layers: int = 2
    n_heads: int = 4
    n_kv_heads: int = 2
    vocab_size: int = 96
    max_seq_len: int = 64
    norm_eps: float = 1e-5
    rope_theta: float = 10000.0

    @property
    def head_dim(self):
        return self.dim // self.n_heads


class RMSNorm(nn.Module):
    def __init__(self, dim: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def _norm(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return self._norm(x.float()).type_as(x) * self.weight


def precompute_freqs_cis(dim: int, end: int, theta: float = 10000.0):
    freqs = 1.0 / (theta ** (torch.arange(0, dim, 2)[: (dim // 2)].float() / dim))
    freqs = torch.outer(torch.arange(end).float(), freqs)
    return torch.polar(torch.ones_like(freqs), freqs)


def apply_rotary_emb(xq: Tensor, xk: Tensor, freqs_cis: Tensor):
    xq_ = torch.view_as_complex(xq.float().reshape(*xq.shape[:-1], -1, 2))
    xk_ = torch.view_as_complex(xk.float().reshape(*xk.shape[:-1], -1, 2))
    freqs_cis = freqs_cis.view(1, xq_.shape[1], 1, xq_.shape[-1])
    xq_out = torch.view_as_real(xq_ * freqs_cis).flatten(3)
    xk_out = torch.view_as_real(xk_ * freqs_cis).flatten(3)
    return xq_out.type_as(xq), xk_out.type_as(xk)


class Attention(nn.Module):
    def __init__(self, args: ModelArgs):
        super().__init__()
        self.n_heads, self.n_kv_heads, self.head_dim = args.n_heads, args.n_kv_heads, args.head_dim
        self.wq = nn.Linear(args.dim, args.n_heads * args.head_dim, bias=False)
        self.wk = nn.Linear(args.dim, args.n_kv_heads * args.head_dim, bias=False)
        self.wv = nn.Linear(args.dim, args.n_kv_heads * args.head_dim, bias=False)
        self.wo = nn.Linear(args.n_heads * args.head_dim, args.dim, bias=False)
        shape = (1, args.n_kv_heads, args.max_seq_len, args.head_dim)
        self.register_buffer("k_cache", torch.zeros(shape), persistent=False)
        self.register_buffer("v_cache", torch.zeros(shape), persistent=False)

    def forward(self, x, freqs_cis, mask, input_pos):
        bsz, seqlen, _ = x.shape
        xq = self.wq(x).view(bsz, seqlen, self.n_heads, self.head_dim)
        xk = self.wk(x).view(bsz, seqlen, self.n_kv_heads, self.head_dim)
        xv = self.wv(x).view(bsz, seqlen, self.n_kv_heads, self.head_dim)
        xq, xk = apply_rotary_emb(xq, xk, freqs_cis)
        q, k, v = (t.transpose(1, 2) for t in (xq, xk, xv))
        self.k_cache[:, :, input_pos] = k
        self.v_cache[:, :, input_pos] = v
        k = self.k_cache.repeat_interleave(self.n_heads // self.n_kv_heads, dim=1)
        v = self.v_cache.repeat_interleave(self.n_heads // self.n_kv_heads, dim=1)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=0.0)
        return self.wo(y.transpose(1, 2).contiguous().view(bsz, seqlen, -1))


class Block(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.attention = Attention(args)
        self.w1 = nn.Linear(args.dim, 2 * args.dim, bias=False)
        self.w2 = nn.Linear(2 * args.dim, args.dim, bias=False)
        self.w3 = nn.Linear(args.dim, 2 * args.dim, bias=False)
        self.attention_norm, self.ffn_norm = (
            RMSNorm(args.dim, args.norm_eps),
            RMSNorm(args.dim, args.norm_eps),
        )

    def forward(self, x, freqs_cis, mask, input_pos):
        h = x + self.attention(self.attention_norm(x), freqs_cis, mask, input_pos)
        y = self.ffn_norm(h)
        return h + self.w2(F.silu(self.w1(y)) * self.w3(y))


class Transformer(nn.Module):
    def __init__(self, args: ModelArgs):
        super().__init__()
        self.tok_embeddings = nn.Embedding(args.vocab_size, args.dim)
        self.layers = nn.ModuleList([Block(args) for _ in range(args.n_layers)])
        self.norm = RMSNorm(args.dim, args.norm_eps)
        self.output = nn.Linear(args.dim, args.vocab_size, bias=False)
        self.register_buffer(
            "freqs_cis",
            precompute_freqs_cis(args.head_dim, args.max_seq_len, args.rope_theta),
            persistent=False,
        )
        causal = torch.tril(torch.ones(args.max_seq_len, args.max_seq_len, dtype=torch.bool))
        self.register_buffer("causal_mask", causal, persistent=False)

    def forward(self, idx: Tensor, input_pos: Tensor) -> Tensor:
        mask = self.causal_mask[None, None, input_pos]
        freqs_cis = self.freqs_cis[input_pos]
        x = self.tok_embeddings(idx)
        for layer in self.layers:
            x = layer(x, freqs_cis, mask, input_pos)
        return self.output(self.norm(x))


def decode_one_token(model, x, input_pos):
    logits = model(x, input_pos)
    return torch.argmax(logits[:, -1], dim=-1, keepdim=True), logits[:, -1]


def prefill(model, x, input_pos):
    logits = model(x, input_pos)
    return torch.argmax(logits[:, -1], dim=-1, keepdim=True), logits[:, -1]


def build():
    model = fill(Transformer(ModelArgs()))
    model(torch.arange(8).view(1, -1), torch.arange(8))
    return lambda *args: decode_one_token(model, *args), (torch.tensor([[3]]), torch.tensor([8]))


def results(compiled=False):
    model = fill(Transformer(ModelArgs()))
    decode, fill_prompt = decode_one_token, prefill
    if compiled:
        decode = torch.compile(decode_one_token, mode="reduce-overhead", fullgraph=True)
        fill_prompt = torch.compile(prefill, fullgraph=True, dynamic=True)
    tokens, logits = [], []
    with torch.no_grad():
        for length in (5, 9):
            prompt = (torch.arange(length) * 7 % 96).view(1, -1)
            token, last = fill_prompt(model, prompt, torch.arange(length))
            position = torch.tensor([length])
            for _ in range(8):
                tokens.append(token.clone())
                logits.append(last.clone())
                token, last = decode(model, token.view(1, -1), position)
                position += 1
    return {
        "tokens": torch.cat(tokens),
        "logits": torch.stack(logits)[:, 0, ::4],
        "cache": model.layers[1].attention.k_cache[0, :, :12, :4],
    }


if __name__ == "__main__":
    main(results)
