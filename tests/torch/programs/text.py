"""Two classifiers of text: convolutions over embeddings, and nn.TransformerEncoder."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from common import fill, main


class TextCNN(nn.Module):
    def __init__(self, vocabulary=40, dim=16, kernels=(2, 3, 4), filters=6, classes=4):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, dim)
        self.convs = nn.ModuleList([nn.Conv1d(dim, filters, k) for k in kernels])
        self.dropout, self.fc = nn.Dropout(0.5), nn.Linear(len(kernels) * filters, classes)

    def forward(self, text):
        embedded = self.embedding(text).permute(0, 2, 1)
        pooled = [
            F.max_pool1d(c, c.shape[2]).squeeze(2) for c in (F.relu(conv(embedded)) for conv in self.convs)
        ]
        return self.fc(self.dropout(torch.cat(pooled, dim=1)))


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=50):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[: x.size(0)]


class TextTransformer(nn.Module):
    def __init__(self, vocabulary=40, dim=16, heads=4, layers=2, classes=4):
        super().__init__()
        self.dim = dim
        self.embedding, self.positions = nn.Embedding(vocabulary, dim), PositionalEncoding(dim)
        layer = nn.TransformerEncoderLayer(dim, heads, 32, dropout=0.1, activation="gelu")
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.decoder = nn.Linear(dim, classes)

    def forward(self, text, padding):
        x = self.positions(self.embedding(text).transpose(0, 1) * math.sqrt(self.dim))
        mask = nn.Transformer.generate_square_subsequent_mask(x.size(0))
        x = self.encoder(
            x, mask=mask, src_key_padding_mask=padding.float().masked_fill(padding, float("-inf"))
        )
        return self.decoder(x.mean(dim=0))


def build():
    text = torch.arange(3 * 12).reshape(3, 12) * 11 % 40
    padding = torch.arange(12)[None, :] >= torch.tensor([12, 7, 9])[:, None]
    return fill(TextTransformer()), (text, padding)


def results(compiled=False):
    transformer, inputs = build()
    cnn = fill(TextCNN())
    if compiled:
        transformer, cnn = torch.compile(transformer), torch.compile(cnn, fullgraph=True)
    with torch.no_grad():
        return {"cnn": cnn(inputs[0]), "transformer": transformer(*inputs)}


if __name__ == "__main__":
    main(results)
