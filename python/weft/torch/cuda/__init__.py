"""torch.cuda's names, as they answer on a machine without a GPU."""

import collections
import contextlib

from .. import _absent

NO_GPU = (
    "Found no NVIDIA driver on your system: weft.torch answers as PyTorch does on a machine without a GPU"
)

has_half = has_magma = True
default_generators = ()
is_gds_available = False


def is_available():
    return False


def device_count():
    return 0


def is_initialized():
    return False


def is_bf16_supported(including_emulation=True):
    return False


def is_tf32_supported():
    return False


def _nothing(name, value=None):
    """A function of any arguments that does nothing and gives `value`."""

    def function(*args, **kwargs):
        return value() if isinstance(value, type) else value

    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    return function


def _refused(name):
    """A function that needs a GPU."""

    def function(*args, **kwargs):
        raise RuntimeError(f"torch.cuda.{name}: {NO_GPU}")

    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    return function


for _name in "empty_cache manual_seed manual_seed_all seed seed_all set_rng_state set_rng_state_all".split():
    globals()[_name] = _nothing(_name)
for _name in """
    memory_allocated max_memory_allocated memory_reserved max_memory_reserved memory_cached max_memory_cached
""".split():
    globals()[_name] = _nothing(_name, 0)
for _name in "get_rng_state_all memory_snapshot get_arch_list".split():
    globals()[_name] = _nothing(_name, list)
memory_stats = _nothing("memory_stats", collections.OrderedDict)
memory_stats_as_nested_dict = _nothing("memory_stats_as_nested_dict", dict)
memory_summary = _nothing("memory_summary", "")
get_gencode_flags = _nothing("get_gencode_flags", "")
list_gpu_processes = _nothing("list_gpu_processes", "no GPU")
reset_peak_memory_stats = _nothing("reset_peak_memory_stats")
reset_accumulated_memory_stats = _nothing("reset_accumulated_memory_stats")
reset_max_memory_allocated = _nothing("reset_max_memory_allocated")
reset_max_memory_cached = _nothing("reset_max_memory_cached")
for _name in """
    init synchronize get_device_name current_device get_device_properties get_device_capability mem_get_info set_device
    current_stream default_stream set_stream initial_seed get_rng_state ipc_collect can_device_access_peer
    is_current_stream_capturing set_per_process_memory_fraction current_blas_handle get_sync_debug_mode
    set_sync_debug_mode utilization temperature power_draw clock_rate memory_usage device_memory_used
    caching_allocator_alloc caching_allocator_delete get_allocator_backend change_current_allocator cudart check_error
    make_graphed_callables graph_pool_handle get_per_process_memory_fraction get_stream_from_external host_memory_stats
    get_arch_flags cudaStatus memory_history get_current_stream
""".split():
    globals()[_name] = _refused(_name)


class device(contextlib.nullcontext):
    """A `with` statement that selects no device."""

    def __init__(self, device=None):
        super().__init__()
        self.idx = -1


class device_of(device):
    """As device."""


class StreamContext(contextlib.nullcontext):
    """A `with` statement of no stream."""

    def __init__(self, stream=None):
        super().__init__()


def stream(stream):
    return StreamContext(stream)


class Event:
    """Can be made, and not recorded."""

    def __init__(self, enable_timing=False, blocking=False, interprocess=False, external=False):
        pass

    def query(self):
        return True

    record = _refused("Event.record")
    wait = _refused("Event.wait")
    synchronize = _refused("Event.synchronize")
    elapsed_time = _refused("Event.elapsed_time")

    def __repr__(self):
        return "<torch.cuda.Event uninitialized>"


class Stream:
    """raises: RuntimeError; streams are a GPU's."""

    __init__ = _refused("Stream")


class ExternalStream(Stream):
    """As Stream."""


class CUDAGraph:
    """raises: RuntimeError; graphs are a GPU's."""

    __init__ = _refused("CUDAGraph")


class graph:
    """raises: RuntimeError; graphs are a GPU's."""

    __init__ = _refused("graph")


class MemPool(CUDAGraph):
    """raises: RuntimeError."""


class CudaError(RuntimeError):
    pass


class DeferredCudaCallError(Exception):
    pass


def __getattr__(name):
    from weft import torch

    if name in ("OutOfMemoryError", "AcceleratorError"):
        return getattr(torch, name, MemoryError if name == "OutOfMemoryError" else RuntimeError)
    kind = name.removesuffix("Tensor").removesuffix("Storage")
    if kind in (
        "Float",
        "Double",
        "Half",
        "BFloat16",
        "Long",
        "Int",
        "Short",
        "Char",
        "Byte",
        "Bool",
        "ComplexFloat",
    ):
        return type(name, (), {"__init__": _refused(name), "__module__": "torch.cuda"})
    return _other(name)


_other = _absent.names(__name__)
