"""torch.accelerator's names, as they answer where there is none."""

import contextlib

from .cuda import NO_GPU


def is_available():
    return False


def device_count():
    return 0


def current_accelerator(check_available=False):
    return None


def empty_cache():
    pass


def _zero(name):
    def function(device_index=None, /):
        return 0

    function.__name__ = name
    return function


for _name in "memory_allocated max_memory_allocated memory_reserved max_memory_reserved".split():
    globals()[_name] = _zero(_name)


def memory_stats(device_index=None, /):
    import collections

    return collections.OrderedDict()


def reset_peak_memory_stats(device_index=None, /):
    pass


def reset_accumulated_memory_stats(device_index=None, /):
    pass


def _refused(name):
    def function(*args, **kwargs):
        raise RuntimeError(f"torch.accelerator.{name}: {NO_GPU}")

    function.__name__ = name
    return function


for _name in """
    current_device_index current_device_idx set_device_index set_device_idx synchronize current_stream set_stream
    get_device_capability get_memory_info
""".split():
    globals()[_name] = _refused(_name)


class device_index(contextlib.nullcontext):
    """A `with` statement that selects no device."""

    def __init__(self, device, /):
        super().__init__()
