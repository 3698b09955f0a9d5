"""A graph network: attention over edges, by scatter and index_add."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from common import fill, main, wave


def segment_softmax(scores, index, count):
    shape = (count, scores.size(1))
    expanded = index.unsqueeze(-1).expand_as(scores)
    peak = torch.full(shape, float("-inf")).scatter_reduce(
        0, expanded, scores, reduce="amax", include_self=True
    )
    exps = (scores - peak[index]).exp()
    total = torch.zeros(shape).scatter_add_(0, expanded, exps)
    return exps / (total[index] + 1e-16)


class GATLayer(nn.Module):
    def __init__(self, inp, out, heads):
        super().__init__()
        self.heads, self.out = heads, out
        self.lin = nn.Linear(inp, heads * out, bias=False)
        self.att_src = nn.Parameter(torch.empty(1, heads, out))
        self.att_dst = nn.Parameter(torch.empty(1, heads, out))
        self.bias = nn.Parameter(torch.zeros(heads * out))

    def forward(self, x, edge_index):
        src, dst = edge_index
        n = x.size(0)
        h = self.lin(x).view(n, self.heads, self.out)
        alpha = (h * self.att_src).sum(-1)[src] + (h * self.att_dst).sum(-1)[dst]
        alpha = segment_softmax(F.leaky_relu(alpha, 0.2), dst, n)
        messages = h[src] * alpha.unsqueeze(-1)
        out = torch.zeros(n, self.heads, self.out).index_add_(0, dst, messages)
        return out.reshape(n, -1) + self.bias


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = GATLayer(8, 6, 2), GATLayer(12, 5, 1)
        self.norm = nn.BatchNorm1d(12)

    def forward(self, x, edge_index, batch):
        x = F.elu(self.norm(self.conv1(x, edge_index)))
        x = self.conv2(x, edge_index)
        graphs = int(batch.max()) + 1
        size = torch.bincount(batch, minlength=graphs).clamp(min=1).unsqueeze(-1)
        pooled = torch.zeros(graphs, x.size(1)).scatter_add_(0, batch[:, None].expand_as(x), x) / size
        return x, F.log_softmax(pooled, dim=-1)


def build():
    nodes, edges = 20, 60
    source = torch.arange(edges) * 7 % nodes
    target = (torch.arange(edges) * 11 + torch.arange(edges) // 20) % nodes
    return fill(Net()), (wave(nodes, 8), torch.stack([source, target]), torch.arange(nodes) // 7)


def results(compiled=False):
    model, inputs = build()
    if compiled:
        model = torch.compile(model)
    with torch.no_grad():
        nodes, graphs = model(*inputs)
    degree = torch.zeros(20, dtype=torch.long).index_add_(0, inputs[1][1], torch.ones(60, dtype=torch.long))
    return {"nodes": nodes, "graphs": graphs, "degree": degree}


if __name__ == "__main__":
    main(results)
