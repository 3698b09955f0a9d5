"""torch.jit's names over weft.jit."""

import contextlib

import weft.jit as _jit
from weft.jit import *  # noqa: F403
from weft.jit import _overload, _overload_method  # noqa: F401

from . import _absent

__path__ = []


def _no_setting(*args, **kwargs):
    """Accepted: weft's compiler chooses itself."""


_script_if_tracing = _jit.script_if_tracing
enable_onednn_fusion = set_fusion_strategy = _no_setting


def onednn_fusion_enabled():
    return False


@contextlib.contextmanager
def fuser(name):
    """Accepted: weft's compiler chooses itself."""
    yield


class strict_fusion(contextlib.nullcontext):
    """Accepted: weft's compiler chooses itself."""


def run_frozen_optimizations(mod, optimize_numerics=True, preserved_methods=None):
    """Does nothing: weft.jit.freeze optimizes."""


def last_executed_optimized_graph():
    raise NotImplementedError(
        "torch.jit.last_executed_optimized_graph: weft keeps no executed graphs; see weft.compiler.explain"
    )


def export_opnames(m):
    import re

    return sorted(set(re.findall(r"aten::\w+", str(m.graph))))


def __getattr__(name):
    if name in ("RecursiveScriptModule", "TopLevelTracedModule", "TracedModule"):
        return _jit.ScriptModule
    if name == "ScriptWarning":
        return Warning
    if hasattr(_jit, name) and not name.startswith("__"):
        return getattr(_jit, name)
    return _other(name)


_other = _absent.names(__name__)
