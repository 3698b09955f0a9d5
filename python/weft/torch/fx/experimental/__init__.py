"""torch.fx.experimental's modules that are here."""
