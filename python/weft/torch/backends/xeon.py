"""torch.backends.xeon: PyTorch's launcher, which weft does not have."""
