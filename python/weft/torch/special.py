"""torch.special over weft."""
