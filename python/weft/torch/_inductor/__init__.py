"""torch._inductor: PyTorch's own compiler. Its settings can be made; weft.compile has its own."""

from .. import _absent


def list_mode_options(mode=None, dynamic=None):
    return {"default": {}, "reduce-overhead": {}, "max-autotune": {}} if mode is None else {}


def list_options():
    from . import config

    return sorted(config.get_config_copy())


__getattr__ = _absent.names(__name__)
