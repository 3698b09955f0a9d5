"""Where a graph has the form of a pattern."""

import copy
from dataclasses import dataclass, field

import weft

from ...node import Node

__all__ = ["InternalMatch", "SubgraphMatcher"]


@dataclass
class InternalMatch:
    """anchors: the nodes of the graph that match what the pattern returns; nodes_map: from the pattern's nodes to the graph's;
    placeholder_nodes, returning_nodes: the graph's for the pattern's parameters and results, in order."""

    anchors: list
    nodes_map: dict = field(default_factory=dict)
    placeholder_nodes: list = field(default_factory=list)
    returning_nodes: list = field(default_factory=list)
    name_node_map: dict = field(default_factory=dict)

    def __copy__(self):
        return InternalMatch(
            self.anchors, self.nodes_map.copy(), self.placeholder_nodes.copy(), self.returning_nodes.copy(),
            self.name_node_map.copy(),
        )  # fmt: skip


def _attribute(module, path):
    for atom in path.split("."):
        module = getattr(module, atom)
    return module


class SubgraphMatcher:
    """Looks for a pattern.

    match_output, match_placeholder: these must match as other nodes do; ignore_literals: constants of the pattern match any.
    """

    def __init__(self, pattern, match_output=False, match_placeholder=False, remove_overlapping_matches=True,
                 ignore_literals=False):  # fmt: skip
        self.pattern = pattern
        self.match_output, self.match_placeholder = match_output, match_placeholder
        self.remove_overlapping_matches, self.ignore_literals = remove_overlapping_matches, ignore_literals
        if len(pattern.nodes) == 0:
            raise ValueError("SubgraphMatcher cannot be initialized with an empty pattern")
        for node in pattern.nodes:
            if node.op != "output" and not node.users:
                raise AssertionError("SubgraphMatcher cannot be initialized with an pattern with dead code")
        self.pattern_placeholder_nodes = [node for node in pattern.nodes if node.op == "placeholder"]
        output = pattern.output_node()
        self.pattern_returning_nodes = output.all_input_nodes
        if match_output:
            self.pattern_anchors = [output]
        else:
            self.pattern_anchors = [node for node in output.all_input_nodes if len(node.users) == 1]

    def _nodes_are_equal(self, pattern, node, node_name_match=""):
        if node_name_match and node_name_match in node.name:
            return True
        if not self.match_placeholder and pattern.op == "placeholder":
            return True
        if pattern.op != node.op:
            return False
        if pattern.op in ("placeholder", "output"):
            return True
        if pattern.op == "get_attr":
            mine = _attribute(pattern.graph.owning_module, pattern.target)
            other = _attribute(node.graph.owning_module, node.target)
            if type(mine) is not type(other):
                return False
            if isinstance(mine, weft.Tensor):
                return weft.torch.equal(mine, other) if mine.shape == other.shape else False
            raise RuntimeError(f"Unsupported type {type(mine)} when matching attributes")
        if pattern.op == "call_module":
            mine = pattern.graph.owning_module.get_submodule(pattern.target)
            return type(mine) is type(node.graph.owning_module.get_submodule(node.target))
        return pattern.target == node.target

    def _is_contained(self, nodes_map):
        """Is what is within the match used within it only?"""
        lookup = {node: pattern for pattern, node in nodes_map.items() if pattern.op != "placeholder"}
        return all(
            user in lookup
            for node, pattern in lookup.items()
            if pattern not in self.pattern_returning_nodes
            for user in node.users
        )

    def _remove_overlapping_matches(self, matches):
        kept, taken = [], set()
        for match in matches:
            inside = [
                node
                for pattern, node in match.nodes_map.items()
                if pattern.op not in ("placeholder", "output")
            ]
            if taken.isdisjoint(inside):
                kept.append(match)
                taken.update(inside)
        return kept

    def _match_literals(self, pattern, node, match):
        if isinstance(pattern, Node) and isinstance(node, Node):
            raise AssertionError("pattern and node cannot both be nodes")
        if isinstance(pattern, Node):
            if pattern in match.nodes_map:
                return match.nodes_map[pattern] == node
            if pattern.op != "placeholder":
                return False
            match.nodes_map[pattern] = node
            return True
        return not isinstance(node, Node) and (
            self.ignore_literals or type(pattern) is type(node) and pattern == node
        )

    def _match_nodes(self, pattern, node, match, node_name_match=""):
        if pattern in match.nodes_map:
            return match.nodes_map[pattern] == node
        if node in match.nodes_map.values():
            return False
        if not self._nodes_are_equal(pattern, node, node_name_match):
            return False
        saved = copy.copy(match)
        match.nodes_map[pattern] = node
        if pattern.op == "placeholder":
            return True
        if not self._match_arguments(pattern, node, match):
            match.nodes_map = saved.nodes_map
            return False
        return True

    def _match_arguments(self, pattern, node, match):
        def match_each(mine, others):
            if len(mine) != len(others):
                return False
            return all(match_one(one, other) for one, other in zip(mine, others))

        def match_one(one, other):
            if isinstance(one, Node) and isinstance(other, Node):
                return self._match_nodes(one, other, match)
            if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
                return match_each(one, other)
            if isinstance(one, dict) and isinstance(other, dict):
                return one.keys() == other.keys() and match_each(
                    list(one.values()), [other[key] for key in one]
                )
            return self._match_literals(one, other, match)

        mine, others = _all_by_position(pattern, node)
        return mine is not None and match_each(mine, others)

    def match(self, graph, node_name_match=""):
        """The matches in a graph, in the order of their last nodes."""
        candidates = {
            anchor: [node for node in graph.nodes if self._nodes_are_equal(anchor, node, node_name_match)]
            for anchor in self.pattern_anchors
        }
        found = []

        def search(at, match):
            if at >= len(candidates):
                match.placeholder_nodes = [match.nodes_map[one] for one in self.pattern_placeholder_nodes]
                match.returning_nodes = [match.nodes_map[one] for one in self.pattern_returning_nodes]
                found.append(match)
                return
            anchor = self.pattern_anchors[at]
            saved = copy.copy(match)
            for node in candidates[anchor]:
                if self._match_nodes(anchor, node, match, node_name_match):
                    search(at + 1, match)
                match = copy.copy(saved)

        search(0, InternalMatch(anchors=self.pattern_anchors))
        found = [match for match in found if self._is_contained(match.nodes_map) and self._is_whole(match)]
        return self._remove_overlapping_matches(found) if self.remove_overlapping_matches else found

    def _is_whole(self, match):
        return all(one in match.nodes_map for one in self.pattern_placeholder_nodes) and len(
            {
                match.nodes_map[one]
                for one in self.pattern.nodes
                if one in match.nodes_map and one.op != "placeholder"
            }
        ) == len([one for one in match.nodes_map if one.op != "placeholder"])


def _all_by_position(pattern, node):
    """The arguments of both in one order; (None, None) where they are not given alike."""
    if pattern.kwargs.keys() == node.kwargs.keys() and len(pattern.args) == len(node.args):
        names = list(pattern.kwargs)
        return (
            [*pattern.args, *(pattern.kwargs[name] for name in names)],
            [*node.args, *(node.kwargs[name] for name in names)],
        )
    if pattern.op == "call_function":
        mine, other = (
            each.normalized_arguments(each.graph.owning_module, normalize_to_only_use_kwargs=True)
            for each in (pattern, node)
        )
        if mine is not None and other is not None and mine.kwargs.keys() == other.kwargs.keys():
            names = list(mine.kwargs)
            return [mine.kwargs[name] for name in names], [other.kwargs[name] for name in names]
    return None, None
