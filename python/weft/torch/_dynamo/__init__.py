"""torch._dynamo's names over weft.compiler."""

import functools

from weft.compiler import disable, explain, is_compiling, mark_dynamic, mark_static, reset  # noqa: F401
from weft.nn.modules.optimized import OptimizedModule  # noqa: F401

from .. import _absent
from ..compiler import (  # noqa: F401
    allow_in_graph,
    assume_constant_result,
    list_backends,
    nested_compile_region,
    set_stance,
    substitute_in_graph,
)


def graph_break(msg=""):
    """Does nothing where it runs; weft.compile may go on beyond it."""


def optimize(
    backend="inductor",
    *,
    nopython=False,
    guard_export_fn=None,
    guard_fail_fn=None,
    disable=False,
    dynamic=None,
    **_,
):
    """A decorator: weft.compile."""
    from ..compiler import compile

    return functools.partial(compile, fullgraph=nopython, dynamic=dynamic, disable=disable)


def optimize_assert(backend, *, dynamic=None, **_):
    return optimize(backend, nopython=True, dynamic=dynamic)


def run(fn=None):
    return fn if fn is not None else run


def disallow_in_graph(fn):
    return disable(fn)


def forbid_in_graph(fn):
    return fn


def maybe_mark_dynamic(t, index):
    """A hint, which is not needed: sizes that change become symbolic."""


def mark_static_address(t, guard=False):
    """Does nothing: addresses are not part of compiled code."""


def reset_code_caches():
    reset()


def error_on_graph_break(error=True):
    import contextlib

    return contextlib.nullcontext()


def patch_dynamo_config(**changes):
    from . import config

    return config.patch(**changes)


def __getattr__(name):
    import importlib

    if name == "config":
        return importlib.import_module(f"{__name__}.config")
    return _other(name)


_other = _absent.names(__name__)
