"""torch.backends' names: settings that programs make and ask about. They change nothing: weft has one way to compute."""

import contextlib
import importlib

fp32_precision = "none"

_MODULES = "cpu cuda cudnn cusparselt kleidiai mha mkl mkldnn mps nnpack openmp opt_einsum quantized xeon xnnpack".split()


def flags_frozen():
    return False


def disable_global_flags():
    pass


@contextlib.contextmanager
def __allow_nonbracketed_mutation():
    yield


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'torch.backends' has no attribute {name!r}")
