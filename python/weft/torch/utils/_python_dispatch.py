"""torch.utils._python_dispatch's names. Classes of programs may wrap tensors (_wrapper.py); no mode sees operators."""

from .. import _absent


def is_traceable_wrapper_subclass(t):
    """Whether the tensor wraps others."""
    return is_traceable_wrapper_subclass_type(type(t))


def is_traceable_wrapper_subclass_type(t):
    """Whether tensors of the class wrap others, and say which."""
    from .. import _wrapper

    return _wrapper.is_prepared(t) and hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")


def return_and_correct_aliasing(func, args, kwargs, out):
    """The result: weft keeps no account of which tensors share memory beside the memory."""
    return out


def is_in_torch_dispatch_mode(include_infra_modes=True):
    """False: whether a mode sees operators."""
    return False


__getattr__ = _absent.names(__name__)
