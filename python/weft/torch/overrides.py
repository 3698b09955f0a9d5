"""torch.overrides' names. Tensors have no __torch_function__: functions are what they are."""

import contextlib
import functools


def has_torch_function(relevant_args):
    return False


def has_torch_function_unary(relevant_arg):
    return False


def has_torch_function_variadic(*relevant_args):
    return False


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """What the first argument that has a __torch_function__ makes of the call. raises: TypeError where none has."""
    for argument in relevant_args:
        override = getattr(type(argument), "__torch_function__", None)
        if override is not None:
            result = argument.__torch_function__(public_api, (type(argument),), args, kwargs)
            if result is not NotImplemented:
                return result
    raise TypeError(
        f"no implementation found for '{getattr(public_api, '__name__', public_api)}' on types that implement __torch_function__: "
        f"{[type(argument) for argument in relevant_args]}"
    )


def wrap_torch_function(dispatcher):
    return lambda function: function


def is_tensor_like(inp):
    from weft import Tensor

    return isinstance(inp, Tensor) or hasattr(inp, "__torch_function__")


def is_tensor_method_or_property(func):
    from weft import Tensor

    return getattr(Tensor, getattr(func, "__name__", ""), None) is func


@functools.cache
def get_ignored_functions():
    return set()


def get_overridable_functions():
    return {}


def get_testing_overrides():
    return {}


def resolve_name(f):
    return getattr(f, "__qualname__", None)


def enable_reentrant_dispatch():
    return contextlib.nullcontext()


class TorchFunctionMode:
    """raises: NotImplementedError when it is entered: weft's functions are not overridden."""

    def __init__(self):
        pass

    def __enter__(self):
        raise NotImplementedError(
            "torch.overrides.TorchFunctionMode is PyTorch's, but not weft's: functions are not overridden"
        )

    def __exit__(self, *error):
        pass


class BaseTorchFunctionMode(TorchFunctionMode):
    pass
