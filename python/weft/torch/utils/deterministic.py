"""torch.utils.deterministic's settings."""

fill_uninitialized_memory = True
