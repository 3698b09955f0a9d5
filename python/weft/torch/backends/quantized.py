"""torch.backends.quantized's names: weft has no quantized dtypes."""

engine = "none"
supported_engines = ["none"]
