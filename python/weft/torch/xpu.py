"""torch.xpu's names, as they answer where there is none."""

import contextlib

__path__ = []  # modules below are made by the table


def is_available():
    return False


def device_count():
    return 0


def is_initialized():
    return False


def is_bf16_supported(including_emulation=True):
    return False


def _nothing(name, value=None):
    def function(*args, **kwargs):
        return value

    function.__name__ = name
    return function


def _refused(name):
    def function(*args, **kwargs):
        raise AssertionError(f"torch.xpu.{name}: Torch not compiled with XPU enabled")

    function.__name__ = name
    return function


for _name in "empty_cache manual_seed manual_seed_all seed seed_all reset_peak_memory_stats".split():
    globals()[_name] = _nothing(_name)
for _name in "memory_allocated max_memory_allocated memory_reserved max_memory_reserved".split():
    globals()[_name] = _nothing(_name, 0)
for _name in """
    init synchronize get_device_name current_device get_device_properties get_device_capability set_device current_stream
    set_stream initial_seed get_rng_state set_rng_state mem_get_info memory_stats
""".split():
    globals()[_name] = _refused(_name)


class device(contextlib.nullcontext):
    """A `with` statement that selects no device."""

    def __init__(self, device=None):
        super().__init__()


class Stream:
    """raises: RuntimeError; streams are a GPU's."""

    def __init__(self, *args, **kwargs):
        raise RuntimeError("Tried to instantiate dummy base class Stream")


class Event:
    """raises: RuntimeError; events are a GPU's."""

    def __init__(self, *args, **kwargs):
        raise RuntimeError("Tried to instantiate dummy base class Event")
