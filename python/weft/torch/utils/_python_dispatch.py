"""torch.utils._python_dispatch's names. Tensors of weft are no wrappers of others, and no mode sees operators."""

from .. import _absent


def is_traceable_wrapper_subclass(t):
    """False: whether the tensor wraps others."""
    return False


def is_traceable_wrapper_subclass_type(t):
    """False: whether tensors of the class wrap others."""
    return False


def is_in_torch_dispatch_mode(include_infra_modes=True):
    """False: whether a mode sees operators."""
    return False


__getattr__ = _absent.names(__name__)
