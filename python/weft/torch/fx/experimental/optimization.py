"""Modules for inference: batch normalization within the convolution before it, no dropout."""

import copy

from weft import nn
from weft.nn.utils import fusion
from weft.torch import _absent

from .._symbolic_trace import symbolic_trace
from ..graph import Graph
from ..graph_module import GraphModule

__all__ = ["extract_subgraph", "fuse", "matches_module_pattern", "remove_dropout", "replace_node_module"]


def _parent_name(target):
    parent, _, name = target.rpartition(".")
    return parent, name


def matches_module_pattern(pattern, node, modules):
    """Is a node a call of the pattern's last module, and what it is called with a call of the one before, and so on?"""
    if not node.args:
        return False
    nodes = (node.args[0], node)
    for kind, one in zip(pattern, nodes):
        if getattr(one, "op", None) != "call_module" or one.target not in modules:
            return False
        if type(modules[one.target]) is not kind:
            return False
    return True


def replace_node_module(node, modules, new_module):
    """Puts another module where the node's is."""
    parent, name = _parent_name(node.target)
    modules[node.target] = new_module
    setattr(modules[parent], name, new_module)


def fuse(model, inplace=False, no_trace=False):
    """The model traced, with each batch normalization behind a convolution in the convolution's weights. It must be in evaluation
    mode: fusing in training raises NotImplementedError."""
    patterns = [(nn.Conv1d, nn.BatchNorm1d), (nn.Conv2d, nn.BatchNorm2d), (nn.Conv3d, nn.BatchNorm3d)]
    if not inplace:
        model = copy.deepcopy(model)
    traced = model if no_trace and isinstance(model, GraphModule) else symbolic_trace(model)
    modules = dict(traced.named_modules())
    graph = copy.deepcopy(traced.graph)
    for pattern in patterns:
        for node in graph.nodes:
            if not matches_module_pattern(pattern, node, modules):
                continue
            if len(node.args[0].users) > 1:
                continue  # the convolution's result is used elsewhere, too
            convolution, normalization = modules[node.args[0].target], modules[node.target]
            if not normalization.track_running_stats:
                continue
            replace_node_module(node.args[0], modules, fusion.fuse_conv_bn_eval(convolution, normalization))
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)
    return GraphModule(traced, graph)


def remove_dropout(model):
    """The model traced, without its dropout modules."""
    from ..interpreter import Transformer

    class DropoutRemover(Transformer):
        def call_module(self, target, args, kwargs):
            if isinstance(self.submodules[target], nn.Dropout):
                return args[0]
            return super().call_module(target, args, kwargs)

    return DropoutRemover(symbolic_trace(model)).transform()


def extract_subgraph(orig_module, nodes, inputs, outputs):
    """A module of some nodes of a module's graph, with these parameters and results."""
    graph, values = Graph(), {}
    for node in inputs:
        values[node] = graph.placeholder(node.name)
    for node in nodes:
        values[node] = graph.node_copy(node, lambda one: values[one])
    graph.output([values[node] for node in outputs])
    graph.lint()
    return GraphModule(orig_module, graph)


__getattr__ = _absent.names(__name__)
