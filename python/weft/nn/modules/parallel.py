"""Modules that PyTorch spreads over several devices; here there is one."""

from .module import Module


class DataParallel(Module):
    """Calls its module. The names of its state begin with `module.`, as those of PyTorch's."""

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        self.module = module
        self.dim = dim
        self.device_ids = device_ids or []
        self.output_device = output_device

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)
