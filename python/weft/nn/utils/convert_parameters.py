"""torch.nn.utils.convert_parameters."""

from .parameters import parameters_to_vector, vector_to_parameters

__all__ = ["parameters_to_vector", "vector_to_parameters"]
