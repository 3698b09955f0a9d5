"""torch.fx's names. weft traces programs by weft.compile and weft.jit.trace, and has no graphs of torch.fx."""

from weft import nn

from . import _absent

__path__ = []  # torch.fx.proxy and others are made by the table


def wrap(fn_or_name):
    """The function as it is."""
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    return fn_or_name


def compatibility(is_backward_compatible):
    """A decorator that changes nothing."""
    return lambda function: function


def symbolic_trace(root, concrete_args=None):
    """raises: NotImplementedError."""
    raise NotImplementedError(
        "torch.fx.symbolic_trace: weft makes no torch.fx graphs; compile the module by torch.compile, or trace it with an "
        "example by torch.jit.trace, whose .graph can be read"
    )


class GraphModule(nn.Module):
    """A class to name, derive from and ask about. Its constructor raises NotImplementedError: there are no such graphs."""

    def __init__(self, root, graph, class_name="GraphModule"):
        raise NotImplementedError(
            "torch.fx.GraphModule: weft makes no torch.fx graphs; see torch.compile and torch.jit.trace"
        )


__getattr__ = _absent.names(__name__)
