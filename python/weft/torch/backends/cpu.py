"""torch.backends.cpu's names."""

from weft._C import _torch_cpu_capability as get_cpu_capability

__all__ = ["get_cpu_capability"]
