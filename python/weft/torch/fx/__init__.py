"""torch.fx: programs as graphs that can be read, changed and run. Symbolic tracing calls a module with proxies, and records what
they are used for; a GraphModule runs the code that is generated from a graph.

source: PyTorch 2.15's documentation and behaviour.
"""

from weft.torch import _absent

from ._compatibility import compatibility
from ._symbolic_trace import PH, ProxyableClassMeta, Tracer, symbolic_trace, wrap
from .graph import CodeGen, Graph
from .graph_module import GraphModule
from .interpreter import Interpreter, Transformer
from .node import Node, has_side_effect, map_arg
from .proxy import Proxy
from .subgraph_rewriter import replace_pattern

__all__ = [
    "PH", "CodeGen", "Graph", "GraphModule", "Interpreter", "Node", "Proxy", "ProxyableClassMeta", "Tracer", "Transformer",
    "compatibility", "has_side_effect", "map_arg", "replace_pattern", "symbolic_trace", "wrap",
]  # fmt: skip

__getattr__ = _absent.names(__name__)
