"""torch.nn.utils.spectral_norm."""

from .reparametrization import SpectralNorm, remove_spectral_norm, spectral_norm

__all__ = ["SpectralNorm", "remove_spectral_norm", "spectral_norm"]
