"""An LSTM tagger of sentences of different lengths, and a GRU that reads them backwards."""

import torch
import torch.nn as nn
from common import fill, main
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence


class Tagger(nn.Module):
    def __init__(self, vocabulary=50, tags=7, dim=12, hidden=10):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, dim, padding_idx=0)
        self.lstm = nn.LSTM(dim, hidden, num_layers=2, bidirectional=True, batch_first=True, dropout=0.2)
        self.gru = nn.GRU(2 * hidden, hidden, batch_first=True)
        self.classifier = nn.Linear(hidden, tags)

    def forward(self, tokens, lengths):
        packed = pack_padded_sequence(self.embedding(tokens), lengths, batch_first=True, enforce_sorted=False)
        output, (h, c) = self.lstm(packed)
        output, sizes = pad_packed_sequence(output, batch_first=True)
        output, last = self.gru(output)
        return self.classifier(output), h, c, last


def build():
    sentences = [torch.arange(1, 1 + n) * 3 % 49 + 1 for n in (5, 9, 7, 2)]
    lengths = torch.tensor([len(s) for s in sentences])
    return fill(Tagger()), (pad_sequence(sentences, batch_first=True), lengths)


def results(compiled=False):
    model, inputs = build()
    if compiled:
        model = torch.compile(model)
    with torch.no_grad():
        logits, h, c, last = model(*inputs)
    mask = torch.arange(logits.shape[1])[None, :] < inputs[1][:, None]
    return {
        "logits": logits[mask],
        "h": h,
        "c": c,
        "last": last,
        "tags": logits.argmax(-1).masked_fill(~mask, -1),
    }


if __name__ == "__main__":
    main(results)
