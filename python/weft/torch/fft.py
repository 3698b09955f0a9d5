"""torch.fft over weft."""
