"""torch.cuda's names: of the GPUs that weft finds (docs/GPU.md), and as PyTorch answers on a machine without one.

"cuda" is cuda:0, whatever is current: other devices are named by their number.
"""

import collections

import weft
from weft import _C, random

from .. import _absent
from ._streams import (  # noqa: F401
    NO_GPU,
    Event,
    ExternalStream,
    Stream,
    StreamContext,
    device_count,
    index_of,
    require,
)

has_half = has_magma = True
default_generators = ()
is_gds_available = False


def is_available():
    """Whether there is a GPU that weft can use."""
    return device_count() > 0


is_initialized = is_available


def init():
    """Nothing: the device is opened when it is first used. raises: RuntimeError without one."""
    require("init")


def _lazy_call(callable, **kwargs):
    """Calls the function once there is a GPU to use: now, or never."""
    if is_available():
        callable()


def is_bf16_supported(including_emulation=True):
    """Whether products of bfloat16 have instructions (from sm_80 on); with including_emulation, whether they are computed."""
    return is_available() and (including_emulation or get_device_capability()[0] >= 8)


def is_tf32_supported():
    return is_available() and get_device_capability()[0] >= 8


def current_device():
    """0."""
    require("current_device")
    return 0


def set_device(device):
    """Of the device 0, or a negative one, which is none: nothing. raises: NotImplementedError of others."""
    index = device if isinstance(device, int) else index_of(device)
    if index >= 0:
        require("set_device", index)
    if index > 0:
        raise NotImplementedError(
            f"torch.cuda.set_device: weft's 'cuda' is always cuda:0; name the device as 'cuda:{index}'"
        )


class device:
    """A `with` statement of the device 0, which is the current one before, inside and after; of other devices as set_device."""

    def __init__(self, device=None):
        self.idx = -1 if device is None else device if isinstance(device, int) else index_of(device)

    def __enter__(self):
        if is_available():
            set_device(self.idx)

    def __exit__(self, *error):
        return False


class device_of(device):
    """As device, of a tensor's."""

    def __init__(self, obj):
        super().__init__(obj.device.index if obj.is_cuda else -1)


# What PyTorch tells of a device and weft asks the driver for.
_Properties = collections.namedtuple(
    "_CudaDeviceProperties", "name major minor total_memory multi_processor_count warp_size"
)


def get_device_properties(device=None):
    """Name, capability, bytes of memory and multiprocessors of a GPU."""
    index = index_of(device)
    require("get_device_properties", index)
    facts = _C._gpu.facts(index)
    return _Properties(
        facts["name"], *facts["capability"], facts["memory"], facts["multiprocessors"], warp_size=32
    )


def get_device_name(device=None):
    require("get_device_name", index_of(device))
    return get_device_properties(device).name


def get_device_capability(device=None):
    """The compute capability: (9, 0) is sm_90."""
    require("get_device_capability", index_of(device))
    properties = get_device_properties(device)
    return properties.major, properties.minor


def can_device_access_peer(device, peer_device):
    """False: copies between devices go through the process's memory."""
    for each in (device, peer_device):
        require("can_device_access_peer", index_of(each))
    return False


def get_arch_list():
    """The GPUs that kernels are compiled for."""
    return ["sm_70", "sm_75", "sm_80", "sm_86", "sm_89", "sm_90"] if is_available() else []


def synchronize(device=None):
    """Waits until all work of the device is done. raises: what a kernel found wrong."""
    require("synchronize", index_of(device))
    _C._gpu.synchronize(index_of(device))


# ---- memory ----


def _memory(name, value):
    """A function of a device that gives one of its figures; 0 without a device."""

    def function(device=None):
        index = index_of(device)
        return value(_C._gpu.memory(index)) if is_available() else 0

    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    return function


memory_allocated = _memory("memory_allocated", lambda m: m["used"])
memory_reserved = _memory("memory_reserved", lambda m: m["used"] + m["cached"])
max_memory_allocated = _memory("max_memory_allocated", lambda m: m["most_used"])
max_memory_reserved = _memory("max_memory_reserved", lambda m: m["most_reserved"])
memory_cached, max_memory_cached = memory_reserved, max_memory_reserved


def reset_peak_memory_stats(device=None):
    """What is in use now is the most from here on."""
    if is_available():
        _C._gpu.reset_peak(index_of(device))


reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def memory_stats(device=None):
    """PyTorch's names for the figures that weft counts; empty without a device."""
    if not is_available():
        return collections.OrderedDict()
    m = _C._gpu.memory(index_of(device))
    return collections.OrderedDict(
        {
            "allocated_bytes.all.current": m["used"],
            "allocated_bytes.all.peak": m["most_used"],
            "num_device_alloc": m["allocations"],
            "reserved_bytes.all.current": m["used"] + m["cached"],
            "reserved_bytes.all.peak": m["most_reserved"],
        }
    )


def memory_summary(device=None, abbreviated=False):
    """The figures of memory_stats as lines of text."""
    return "".join(f"{name:30} {value}\n" for name, value in memory_stats(device).items())


def empty_cache():
    """Gives memory that no tensor has back to the driver."""
    for index in range(device_count()):
        _C._gpu.empty_cache(index)


def mem_get_info(device=None):
    """Free and all bytes of the device."""
    index = index_of(device)
    require("mem_get_info", index)
    return _C._gpu.free_memory(index), _C._gpu.facts(index)["memory"]


# ---- random numbers: the process's generator draws those of devices too ----


def _seeds(name, of_host):
    """A function of the host's generator; without a device it does nothing."""

    def function(*arguments):
        if is_available():
            of_host(*arguments)

    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    return function


manual_seed = _seeds("manual_seed", random.manual_seed)
manual_seed_all = _seeds("manual_seed_all", random.manual_seed)
seed = _seeds("seed", random.seed)
seed_all = _seeds("seed_all", random.seed)
set_rng_state = _seeds("set_rng_state", lambda new_state, device=None: random.set_rng_state(new_state))
set_rng_state_all = _seeds("set_rng_state_all", lambda new_states: random.set_rng_state(new_states[0]))


def initial_seed():
    require("initial_seed")
    return random.initial_seed()


def get_rng_state(device=None):
    require("get_rng_state")
    return random.get_rng_state()


def get_rng_state_all():
    return [random.get_rng_state() for _ in range(device_count())]


# ---- streams ----


def current_stream(device=None):
    """The one stream of the device."""
    index = index_of(device)
    require("current_stream", index)
    return Stream(weft.device("cuda", index))


default_stream = current_stream


def set_stream(stream):
    """Nothing: the stream is the current one."""
    require("set_stream")


def stream(stream):
    """A `with` statement that changes nothing: there is one stream."""
    return StreamContext(stream)


def is_current_stream_capturing():
    """False: what is recorded is recorded while a compiled function runs."""
    return False


def ipc_collect():
    """Nothing: no memory is shared with other processes. raises: RuntimeError without a device."""
    require("ipc_collect")


def _refused(name):
    """A function that weft has nothing for."""

    def function(*args, **kwargs):
        require(name)
        raise NotImplementedError(f"torch.cuda.{name}: weft has no such thing on its GPUs")

    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    return function


def _nothing(name, value=None):
    """A function of any arguments that does nothing and gives `value`."""

    def function(*args, **kwargs):
        return value() if isinstance(value, type) else value

    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    return function


memory_snapshot = _nothing("memory_snapshot", list)
memory_stats_as_nested_dict = _nothing("memory_stats_as_nested_dict", dict)
get_gencode_flags = _nothing("get_gencode_flags", "")
list_gpu_processes = _nothing("list_gpu_processes", "no GPU")
reset_accumulated_memory_stats = _nothing("reset_accumulated_memory_stats")
for _name in """
    set_per_process_memory_fraction current_blas_handle get_sync_debug_mode
    set_sync_debug_mode utilization temperature power_draw clock_rate memory_usage device_memory_used
    caching_allocator_alloc caching_allocator_delete get_allocator_backend change_current_allocator cudart check_error
    make_graphed_callables graph_pool_handle get_per_process_memory_fraction get_stream_from_external host_memory_stats
    get_arch_flags cudaStatus memory_history get_current_stream
""".split():
    globals()[_name] = _refused(_name)


class CUDAGraph:
    """raises: graphs are recorded by weft.compile(mode="reduce-overhead")."""

    __init__ = _refused("CUDAGraph")


class graph:
    """raises: graphs are recorded by weft.compile(mode="reduce-overhead")."""

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
