"""torch.accelerator's names: of the GPUs that torch.cuda has, and as they answer where there is none."""

import weft

from . import cuda
from .cuda import NO_GPU

is_available, device_count = cuda.is_available, cuda.device_count
memory_allocated, max_memory_allocated = cuda.memory_allocated, cuda.max_memory_allocated
memory_reserved, max_memory_reserved = cuda.memory_reserved, cuda.max_memory_reserved
empty_cache, memory_stats = cuda.empty_cache, cuda.memory_stats
reset_peak_memory_stats = cuda.reset_peak_memory_stats
reset_accumulated_memory_stats = cuda.reset_accumulated_memory_stats


def current_accelerator(check_available=False):
    """The kind of device that there is; None without one."""
    return weft.device("cuda") if is_available() else None


def _of_cuda(name, of_cuda=None):
    """torch.cuda's function. raises: RuntimeError without a device."""
    function_of_cuda = getattr(cuda, of_cuda or name)

    def function(*args, **kwargs):
        if not is_available():
            raise RuntimeError(f"torch.accelerator.{name}: {NO_GPU}")
        return function_of_cuda(*args, **kwargs)

    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    return function


current_device_index = _of_cuda("current_device_index", "current_device")
current_device_idx = _of_cuda("current_device_idx", "current_device")
set_device_index = _of_cuda("set_device_index", "set_device")
set_device_idx = _of_cuda("set_device_idx", "set_device")
synchronize = _of_cuda("synchronize")
current_stream = _of_cuda("current_stream")
set_stream = _of_cuda("set_stream")
get_device_capability = _of_cuda("get_device_capability")
get_memory_info = _of_cuda("get_memory_info", "mem_get_info")


class device_index(cuda.device):
    """As torch.cuda.device."""

    def __init__(self, device, /):
        super().__init__(device)
