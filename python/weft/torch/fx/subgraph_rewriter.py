"""Replaces what has the form of a pattern in a graph."""

import copy
from dataclasses import dataclass
from typing import NamedTuple

from weft import nn

from ._symbolic_trace import symbolic_trace
from .graph import Graph
from .graph_module import GraphModule, _assign_attr
from .node import Node
from .passes.utils.matcher_utils import SubgraphMatcher

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(NamedTuple):
    """anchor: the last node of the pattern; nodes_map: from the pattern's nodes to the graph's."""

    anchor: Node
    nodes_map: dict


@dataclass
class ReplacedPatterns:
    """A Match, and the nodes that are there in its place."""

    anchor: Node
    nodes_map: dict
    replacements: list


def replace_pattern(gm, pattern, replacement):
    """Replaces each place of the module's graph that has the form of `pattern` (a function, a module or its graph) by what
    `replacement` does, its parameters being those of the pattern; the matches. Matches do not overlap: the first is taken."""
    return [Match(one.anchor, one.nodes_map) for one in _replace(gm, pattern, replacement)]


def replace_pattern_with_filters(gm, pattern, replacement=None, match_filters=None, ignore_literals=False,
                                 replacement_callback=None, node_name_match=""):  # fmt: skip
    """replace_pattern, of the matches for which each filter(match, graph, pattern's graph) says so."""
    return _replace(
        gm, pattern, replacement, match_filters, ignore_literals, replacement_callback, node_name_match
    )


def _graph_of(given):
    if isinstance(given, GraphModule):
        return given.graph
    return given if isinstance(given, Graph) else symbolic_trace(given).graph


def _replace(
    gm, pattern, replacement, match_filters=None, ignore_literals=False, callback=None, node_name_match=""
):
    filters = match_filters or []
    graph, pattern_graph = gm.graph, _graph_of(pattern)
    matcher = SubgraphMatcher(pattern_graph, match_output=False, match_placeholder=False, remove_overlapping_matches=True,
                              ignore_literals=ignore_literals)  # fmt: skip
    matches = [
        match
        for match in matcher.match(graph, node_name_match)
        if all(accepts(match, graph, pattern_graph) for accepts in filters)
    ]
    common = None if callback is not None else _graph_of(replacement)
    replaced, changed = [], {}
    for match in matches:
        with_graph = callback(match, graph, pattern_graph) if callback is not None else common
        replaced.append(_replace_match(graph, pattern_graph, with_graph, match, changed))
    gm.recompile()
    if isinstance(replacement, nn.Module):
        _take_attributes(gm, replacement)
    return replaced


def _replace_match(graph, pattern_graph, with_graph, match, changed):
    parameters = [node for node in with_graph.nodes if node.op == "placeholder"]
    if len(match.placeholder_nodes) != len(parameters):
        raise AssertionError("the replacement takes other parameters than the pattern")
    values = {}
    for parameter, node in zip(parameters, match.placeholder_nodes):
        while isinstance(node, Node) and node in changed:
            node = changed[node]
        values[parameter] = node
    users = {user for node in match.returning_nodes for user in node.users}
    if not users:
        raise AssertionError("The returning_nodes should have at least one user node")
    if len(users) == 1:
        place = next(iter(users))
    else:
        place = next((node for node in graph.nodes if node in users), None)
    before = set(graph.nodes)
    with graph.inserting_before(place):
        results = graph.graph_copy(with_graph, values)
    if isinstance(results, Node):
        results = (results,)
    made = [node for node in graph.nodes if node not in before]
    if len(match.returning_nodes) != len(results):
        raise AssertionError("the replacement returns another number of results than the pattern")
    for node, result in zip(match.returning_nodes, results):
        node.replace_all_uses_with(result)
        changed[node] = result
    for node in reversed(pattern_graph.nodes):
        if node.op not in ("placeholder", "output"):
            graph.erase_node(match.nodes_map[node])
    return ReplacedPatterns(match.anchors[0], match.nodes_map, made)


def _take_attributes(gm, replacement):
    """What the replacement's nodes name, where the module lacks it; modules that are used no more go."""
    gm.delete_all_unused_submodules()
    if isinstance(replacement, GraphModule):
        replacement.graph.lint()

    def find(module, path):
        for atom in path.split("."):
            module = getattr(module, atom, None)
            if module is None:
                return None
        return module

    for node in gm.graph.nodes:
        if node.op not in ("call_module", "get_attr") or find(gm, node.target) is not None:
            continue
        value = find(replacement, node.target)
        if value is None:
            raise RuntimeError(
                'Attempted to create a "', node.op, '" node during subgraph rewriting with target ', node.target,
                ", but the referenced attribute does not exist in the replacement GraphModule",
            )  # fmt: skip
        if node.op == "call_module":
            gm.add_submodule(node.target, copy.deepcopy(value))
        else:
            _assign_attr(copy.deepcopy(value), gm, node.target)
    gm.graph.lint()
