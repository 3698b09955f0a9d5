"""torch.linalg over weft."""
