"""A graph cut into submodules."""

from weft import nn

from ..graph import Graph
from ..graph_module import GraphModule
from ..node import map_arg

__all__ = ["split_module"]


class _Partition:
    """The nodes of one submodule: what it takes from others, what others take from it."""

    def __init__(self, name):
        self.name, self.submodule = name, f"submod_{name}"
        self.nodes, self.inputs, self.outputs, self.after = [], {}, {}, {}
        self.graph, self.values, self.targets = Graph(), {}, {}


def split_module(m, root_m, split_callback, qualname_map=None, keep_original_order=False, keep_original_node_name=False,
                 keep_original_input_name=True, *, partition_affix=None, tuple_return=False):  # fmt: skip
    """A module of submodules: those nodes of a graph's module go together for which split_callback(node) gives the same number.

    qualname_map: is told for each submodule's path where root_m has it.
    """
    partitions, of_node, original = {}, {}, {}

    def uses(definer, user):
        own = of_node.get(definer)
        other = of_node.get(user) if user is not None else None
        if own is not None and own != other:
            partitions[own].outputs.setdefault(definer)
            if other is not None:
                partitions[other].after.setdefault(own)
        if other is not None and own != other:
            partitions[other].inputs.setdefault(definer)

    for node in m.graph.nodes:
        original[node.name] = node
        if node.op in ("placeholder", "get_attr", "output"):
            continue
        name = str(split_callback(node))
        if partition_affix is not None:
            name = f"{partition_affix}_{name}"
        partition = partitions.setdefault(name, _Partition(name))
        partition.nodes.append(node)
        of_node[node] = name
    for node in m.graph.nodes:
        if node.op == "output":
            map_arg(node.args[0], lambda one: uses(one, None))
        elif node in of_node:
            for argument in node.all_input_nodes:
                if argument.op != "get_attr":
                    uses(argument, node)
    order = list(partitions) if keep_original_order else _ordered(partitions)
    base_attributes = _fill(m, partitions, of_node, order, qualname_map, keep_original_node_name)
    return _put_together(m, partitions, of_node, order, base_attributes, original, tuple_return)


def _ordered(partitions):
    """The names of the partitions, each behind those that it takes from. raises: RuntimeError where they go in a circle."""
    waiting = {name: set(one.after) for name, one in partitions.items()}
    found, ready = [], [name for name, after in waiting.items() if not after]
    while ready:
        name = ready.pop(0)
        found.append(name)
        for other, after in waiting.items():
            if name in after:
                after.remove(name)
                if not after:
                    ready.append(other)
    if len(found) != len(partitions):
        raise RuntimeError("cycle exists between partitions!")
    return found


def _value(module, path):
    for atom in path.split("."):
        if not hasattr(module, atom):
            raise AttributeError(f"Node target {path} not found!")
        module = getattr(module, atom)
    return module


def _fill(m, partitions, of_node, order, qualname_map, keep_names):
    """The nodes of each partition in its own graph."""
    attributes = {}
    for name in order:
        partition = partitions[name]
        for node in partition.inputs:
            made = partition.graph.placeholder(node.name, type_expr=node.type)
            made.meta = node.meta.copy()
            partition.values[node] = made
    for node in m.graph.nodes:
        if node not in of_node:
            continue
        partition = partitions[of_node[node]]

        def here(argument, partition=partition):
            if argument.op == "get_attr" and argument not in partition.values:
                path = argument.target.replace(".", "_")
                partition.targets[path] = _value(m, argument.target)
                if qualname_map is not None:
                    qualname_map[f"{partition.submodule}.{path}"] = argument.target
                partition.values[argument] = partition.graph.get_attr(path)
            return partition.values[argument]

        args, kwargs = map_arg(node.args, here), map_arg(node.kwargs, here)
        target = node.target
        if node.op == "call_module":
            target = node.target.replace(".", "_")
            partition.targets[target] = _value(m, node.target)
            if qualname_map is not None:
                qualname_map[f"{partition.submodule}.{target}"] = node.target
        made = partition.graph.create_node(
            node.op, target, args, kwargs, type_expr=node.type, name=node.name if keep_names else None
        )
        made.meta = node.meta.copy()
        partition.values[node] = made
    return attributes


def _put_together(m, partitions, of_node, order, attributes, original, tuple_return):
    graph, values, targets = Graph(), {}, {}
    for node in m.graph.nodes:
        if node.op == "placeholder":
            default = {"default_value": node.args[0]} if node.args else {}
            values[node] = graph.placeholder(node.target, type_expr=node.type, **default)
            values[node].meta = node.meta.copy()
    for name in order:
        partition = partitions[name]
        results = [partition.values[node] for node in partition.outputs]
        if results:
            partition.graph.output(tuple(results) if len(results) > 1 or tuple_return else results[0])
        else:
            partition.graph.output(() if tuple_return else None)
        root = nn.Module()
        module = (
            GraphModule(partition.targets, partition.graph)
            if partition.targets
            else GraphModule(root, partition.graph)
        )
        targets[partition.submodule] = module
        call = graph.call_module(partition.submodule, tuple(values[node] for node in partition.inputs))
        if len(results) > 1 or (tuple_return and results):
            from ..proxy import Proxy

            proxy = Proxy(call)
            for at, node in enumerate(partition.outputs):
                values[node] = proxy[at].node
        elif results:
            values[next(iter(partition.outputs))] = call
    for node in m.graph.nodes:
        if node.op == "output":

            def outside(one):
                if one.op == "get_attr" and one not in values:
                    targets[one.target] = _value(m, one.target)
                    values[one] = graph.get_attr(one.target)
                return values[one]

            graph.output(map_arg(node.args[0], outside), type_expr=node.type)
    made = GraphModule(targets, graph)
    made.meta = dict(getattr(m, "meta", {}))
    return made
