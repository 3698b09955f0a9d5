"""torch.utils' names."""

from .. import _absent


def set_module(obj, mod):
    if not isinstance(mod, str):
        raise TypeError("The mod argument should be a string")
    obj.__module__ = mod


def rename_privateuse1_backend(backend_name):
    raise NotImplementedError(
        "torch.utils.rename_privateuse1_backend is PyTorch's, but not weft's: weft has no other devices"
    )


def generate_methods_for_privateuse1_backend(*args, **kwargs):
    rename_privateuse1_backend("")


def swap_tensors(t1, t2):
    """raises: NotImplementedError."""
    raise NotImplementedError("torch.utils.swap_tensors is PyTorch's, but not weft's; use t1.copy_(t2)")


_other = _absent.names(__name__)


def __getattr__(name):
    if name == "ThroughputBenchmark":
        return _absent.absent("torch.utils.ThroughputBenchmark", "use torch.utils.benchmark.Timer", __name__)
    return _other(name)
