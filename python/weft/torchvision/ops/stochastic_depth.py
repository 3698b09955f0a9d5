"""torchvision.ops.stochastic_depth: layers that training leaves out at random."""

from weft.nn import Module

__all__ = ["StochasticDepth", "stochastic_depth"]


def stochastic_depth(input, p, mode, training=True):
    """In training mode zeros with probability p, for the whole "batch" or each "row", else input / (1 - p).

    source: Huang et al., Deep Networks with Stochastic Depth (2016).
    """
    if p < 0.0 or p > 1.0:
        raise ValueError(f"drop probability has to be between 0 and 1, but got {p}")
    if mode not in ("batch", "row"):
        raise ValueError(f"mode has to be either 'batch' or 'row', but got {mode}")
    if not training or p == 0.0:
        return input
    import weft.torch as torch

    rows = input.shape[0] if mode == "row" else 1
    noise = torch.empty((rows, *([1] * (input.dim() - 1))), dtype=input.dtype).bernoulli_(1.0 - p)
    if p < 1.0:
        noise = noise / (1.0 - p)
    return input * noise


class StochasticDepth(Module):
    """See stochastic_depth."""

    def __init__(self, p, mode):
        super().__init__()
        self.p = p
        self.mode = mode

    def forward(self, input):
        return stochastic_depth(input, self.p, self.mode, self.training)

    def __repr__(self):
        return f"{type(self).__name__}(p={self.p}, mode={self.mode})"
