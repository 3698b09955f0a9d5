"""torch.ao.quantization.fx._decomposed: the library that programs add operators of quantized numbers to. PyTorch's own are not here."""

from ..library import Library

quantized_decomposed_lib = Library("quantized_decomposed", "DEF")
