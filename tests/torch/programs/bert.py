"""A BERT-like encoder with masks of padded sentences."""

import math

import torch
from common import fill, main
from torch import nn


class SelfAttention(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.num_attention_heads, self.attention_head_size = heads, hidden // heads
        self.query, self.key, self.value = (nn.Linear(hidden, hidden) for _ in range(3))
        self.dropout = nn.Dropout(0.1)

    def transpose_for_scores(self, x):
        return x.view(x.size()[:-1] + (self.num_attention_heads, self.attention_head_size)).permute(
            0, 2, 1, 3
        )

    def forward(self, hidden_states, attention_mask=None):
        query, key, value = (
            self.transpose_for_scores(f(hidden_states)) for f in (self.query, self.key, self.value)
        )
        scores = torch.matmul(query, key.transpose(-1, -2)) / math.sqrt(self.attention_head_size)
        if attention_mask is not None:
            scores = scores + attention_mask
        probs = self.dropout(nn.functional.softmax(scores, dim=-1))
        context = torch.matmul(probs, value).permute(0, 2, 1, 3).contiguous()
        return context.view(context.size()[:-2] + (-1,))


class Layer(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        self.attention, self.dense = SelfAttention(hidden, heads), nn.Linear(hidden, hidden)
        self.norm1, self.norm2 = nn.LayerNorm(hidden, eps=1e-12), nn.LayerNorm(hidden, eps=1e-12)
        self.intermediate, self.output = nn.Linear(hidden, 4 * hidden), nn.Linear(4 * hidden, hidden)

    def forward(self, x, mask):
        x = self.norm1(x + self.dense(self.attention(x, mask)))
        return self.norm2(x + self.output(nn.functional.gelu(self.intermediate(x))))


class Bert(nn.Module):
    def __init__(self, vocabulary=60, hidden=32, heads=4, layers=2):
        super().__init__()
        self.word, self.position = nn.Embedding(vocabulary, hidden, padding_idx=0), nn.Embedding(64, hidden)
        self.kind = nn.Embedding(2, hidden)
        self.norm = nn.LayerNorm(hidden, eps=1e-12)
        self.layer = nn.ModuleList([Layer(hidden, heads) for _ in range(layers)])
        self.pooler = nn.Linear(hidden, hidden)
        self.register_buffer("position_ids", torch.arange(64).expand((1, -1)), persistent=False)

    def get_extended_attention_mask(self, attention_mask, dtype):
        extended = attention_mask[:, None, None, :].to(dtype=dtype)
        return (1.0 - extended) * torch.finfo(dtype).min

    def forward(self, input_ids, attention_mask=None, token_type_ids=None):
        batch, length = input_ids.size()
        if attention_mask is None:
            attention_mask = torch.ones((batch, length), device=input_ids.device)
        if token_type_ids is None:
            token_type_ids = torch.zeros_like(input_ids)
        x = self.word(input_ids) + self.kind(token_type_ids) + self.position(self.position_ids[:, :length])
        x = self.norm(x)
        mask = self.get_extended_attention_mask(attention_mask, x.dtype)
        for layer in self.layer:
            x = layer(x, mask)
        return x, torch.tanh(self.pooler(x[:, 0]))


def build():
    ids = torch.arange(3 * 11).reshape(3, 11) * 13 % 59 + 1
    mask = (torch.arange(11)[None, :] < torch.tensor([11, 6, 8])[:, None]).long()
    return fill(Bert()), (ids * mask, mask)


def results(compiled=False):
    model, inputs = build()
    if compiled:
        model = torch.compile(model, fullgraph=True)
    with torch.no_grad():
        hidden, pooled = model(*inputs)
        short, _ = model(inputs[0][:, :5], inputs[1][:, :5])
    weights = inputs[1].unsqueeze(-1).float()
    return {
        "hidden": hidden[:, ::3, ::4],
        "pooled": pooled[:, ::2],
        "mean": (hidden * weights).sum(1) / weights.sum(1),
        "short": short[:, :, ::8],
    }


if __name__ == "__main__":
    main(results)
