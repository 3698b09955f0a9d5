"""torch.nn.parallel, for one device and one process."""

from weft.nn.modules.parallel import DataParallel

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]


class DistributedDataParallel(DataParallel):
    """DataParallel for one process; options about processes are accepted."""

    def __init__(self, module, device_ids=None, output_device=None, dim=0, **options):
        super().__init__(module, device_ids, output_device, dim)


def data_parallel(module, inputs, device_ids=None, output_device=None, dim=0, module_kwargs=None):
    """Calls the module."""
    inputs = inputs if isinstance(inputs, tuple) else (inputs,)
    return module(*inputs, **(module_kwargs or {}))
