"""torch.backends.quantized's names. Every engine computes here what FBGEMM does; the name says which default qconfig programs take."""

engine = "x86"
supported_engines = ["qnnpack", "onednn", "x86", "fbgemm"]
