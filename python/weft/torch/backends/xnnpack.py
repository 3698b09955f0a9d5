"""torch.backends.xnnpack's names, without it."""

enabled = False
