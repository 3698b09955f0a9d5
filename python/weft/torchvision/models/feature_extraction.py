"""torchvision.models.feature_extraction: what nodes inside of a model's graph give. The graph is torch.fx's, in which modules of
torch.nn are nodes, and it is pruned to what the features need."""

import copy
import inspect
import math
import re
import warnings
from collections import OrderedDict

from weft import nn
from weft.torch import fx

__all__ = ["create_feature_extractor", "get_graph_node_names"]


class LeafModuleAwareTracer(fx.Tracer):
    """A tracer that does not trace into modules of the classes given; by default none beside those of torch.nn."""

    def __init__(self, *args, **kwargs):
        self.leaf_modules = tuple(kwargs.pop("leaf_modules", ()))
        super().__init__(*args, **kwargs)

    def is_leaf_module(self, m, module_qualname):
        return isinstance(m, self.leaf_modules) or super().is_leaf_module(m, module_qualname)


class NodePathTracer(LeafModuleAwareTracer):
    """Knows a name for each node, in node_to_qualname: the module's path where it is a module's call ("layer1.0.relu"), else
    the path of the module that makes the call and the node's name ("layer1.0.add"). From the second of a name on they have
    numbers ("layer1.0.relu_1")."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.current_module_qualname = ""
        self.node_to_qualname = OrderedDict()

    def call_module(self, m, forward, args, kwargs):
        before, self.current_module_qualname = self.current_module_qualname, self.path_of_module(m)
        try:
            if not self.is_leaf_module(m, self.current_module_qualname):
                return forward(*args, **kwargs)
            return self.create_proxy("call_module", self.current_module_qualname, args, kwargs)
        finally:
            self.current_module_qualname = before

    def create_proxy(self, kind, target, args, kwargs, name=None, type_expr=None, *_):
        proxy = super().create_proxy(kind, target, args, kwargs, name, type_expr)
        self.node_to_qualname[proxy.node] = self._get_node_qualname(self.current_module_qualname, proxy.node)
        return proxy

    def _get_node_qualname(self, module_qualname, node):
        name = module_qualname
        if node.op != "call_module":
            name = f"{name}.{node}" if name else str(node)
        # The node's own number counts nodes of the whole graph: names are counted by module here.
        numbered = re.fullmatch(r"(.+)_[0-9]+", name)
        name = numbered[1] if numbered else name
        for other in reversed(self.node_to_qualname.values()):
            same = re.fullmatch(rf"{re.escape(name)}(?:_([0-9]+))?", other)
            if same:
                return f"{name}_{int(same[1] or 0) + 1}"
        return name


def _default_tracer_kwargs():
    """Functions of the operators' module are nodes, and not traced into."""
    from weft.torchvision import ops

    return {"autowrap_modules": (math, ops), "leaf_modules": _modules_of(ops)}


def _modules_of(package):
    found = []
    for name in dir(package):
        value = getattr(package, name)
        if inspect.isclass(value) and issubclass(value, nn.Module):
            found.append(value)
    return found


def _traced(model, tracer_kwargs, concrete_args):
    """The tracer and graph of a copy of the model in the mode that it is in."""
    tracer = NodePathTracer(**tracer_kwargs)
    return tracer, tracer.trace(model, concrete_args=concrete_args)


def _warn_graph_differences(train_names, eval_names):
    if train_names == eval_names:
        return
    text = "NOTE: The nodes obtained by tracing the model in eval mode "
    if set(train_names) == set(eval_names):
        text += "are a subset of those obtained in train mode, or in another order. "
    elif set(eval_names) < set(train_names):
        text += "are a subset of those obtained in train mode. "
    elif set(train_names) < set(eval_names):
        text += "are a superset of those obtained in train mode. "
    else:
        text += "are different from those obtained in train mode. "
    text += "When choosing nodes for feature extraction, you may need to specify output nodes for train and eval mode separately."
    warnings.warn(text, stacklevel=3)


def get_graph_node_names(model, tracer_kwargs=None, suppress_diff_warning=False, concrete_args=None):
    """(names in training, names in evaluation) of the nodes of a model's graph, in the order of execution.

    tracer_kwargs: of NodePathTracer; concrete_args: arguments of the model that are known (torch.fx.symbolic_trace). A warning
    says where the modes differ.
    """
    tracer_kwargs = _default_tracer_kwargs() if tracer_kwargs is None else tracer_kwargs
    was_training, names = model.training, []
    try:
        for mode in (True, False):
            tracer, _ = _traced(model.train(mode), tracer_kwargs, concrete_args)
            names.append(list(tracer.node_to_qualname.values()))
    finally:
        model.train(was_training)
    if not suppress_diff_warning:
        _warn_graph_differences(*names)
    return names[0], names[1]


class DualGraphModule(fx.GraphModule):
    """A module with two graphs: one is run in training, the other in evaluation."""

    def __init__(self, root, train_graph, eval_graph, class_name="GraphModule"):
        nn.Module.__init__(self)
        self.__class__.__name__ = class_name
        self.train_graph, self.eval_graph = train_graph, eval_graph
        for node in (*train_graph.nodes, *eval_graph.nodes):
            if node.op in ("get_attr", "call_module"):
                fx.graph_module._copy_attr(root, self, node.target)
        self._replace_hooks, self._create_node_hooks, self._erase_node_hooks = [], [], []
        self.meta, self._tracer_cls, self._tracer_extras = {}, None, {}
        self.training = True
        self.graph = train_graph
        self.train(root.training)

    def train(self, mode=True):
        """Changes the graph where the mode changes."""
        if mode != self.training or self.graph is not (self.train_graph if mode else self.eval_graph):
            self.graph = self.train_graph if mode else self.eval_graph
        return super().train(mode)

    def __deepcopy__(self, memo):
        root = nn.Module.__new__(nn.Module)
        vars(root).update(
            copy.deepcopy(
                {key: vars(self)[key] for key in ("_parameters", "_buffers", "_modules", "training")}, memo
            )
        )
        for key, value in vars(self).items():
            if (
                key.startswith("_")
                and key not in vars(root)
                and key not in ("_graph", "_code", "_lineno_map")
            ):
                vars(root)[key] = value
        made = DualGraphModule(
            root, copy.deepcopy(self.train_graph), copy.deepcopy(self.eval_graph), type(self).__name__
        )
        memo[id(self)] = made
        return made


def _by_name(nodes):
    if isinstance(nodes, (list, tuple)):
        return {str(name): str(name) for name in nodes}
    return {str(name): str(key) for name, key in nodes.items()}


def _pruned(graph, names, wanted):
    """The graph gives {key: the value of the node named so}, in the order of execution, and computes nothing else."""
    for name in wanted:
        if not any(re.match(rf"^{name}(\.|$)", other) is not None for other in names.values()):
            raise ValueError(
                f"node: '{name}' is not present in model. Hint: use `get_graph_node_names` to make sure the "
                f"`return_nodes` you specified are present. It may even be that you need to specify `train_return_nodes` and "
                f"`eval_return_nodes` separately."
            )
    graph.erase_node(graph.output_node())
    left, found = dict(wanted), []
    # Of a name that many nodes have ("layer1") the last one is meant.
    for node in reversed(graph.nodes):
        name = names.get(node)
        if name is None:
            continue
        for prefix in list(left):
            if name == prefix or name.startswith(f"{prefix}."):
                found.append((left.pop(prefix), node))
                break
    with graph.inserting_after(next(iter(reversed(graph.nodes)))):
        graph.output(dict(reversed(found)))
    for node in reversed(graph.nodes):
        if not node.users and node.op not in ("output", "placeholder"):
            graph.erase_node(node)


def create_feature_extractor(model, return_nodes=None, train_return_nodes=None, eval_return_nodes=None, tracer_kwargs=None,
                             suppress_diff_warning=False, concrete_args=None):  # fmt: skip
    """A module that gives {key: value} of nodes inside of `model`: return_nodes is a list of their names, or a dictionary from
    them to keys, as get_graph_node_names tells them ("layer1.0.relu_1"); a module's path alone means its last node.
    train_return_nodes and eval_return_nodes: those of each mode. The parameters are the model's.

    raises: ValueError for a name that is not there, and unless either return_nodes or both others are given.
    """
    if (train_return_nodes is None) != (eval_return_nodes is None):
        raise ValueError(
            "If any of `train_return_nodes` and `eval_return_nodes` are specified, then both should be specified"
        )
    if (return_nodes is None) == (train_return_nodes is None):
        raise ValueError(
            "Either `return_nodes` or `train_return_nodes` and `eval_return_nodes` together, should be specified"
        )
    tracer_kwargs = _default_tracer_kwargs() if tracer_kwargs is None else tracer_kwargs
    was_training, graphs, names = model.training, {}, {}
    try:
        for mode, given in ((True, train_return_nodes), (False, eval_return_nodes)):
            wanted = _by_name(return_nodes if given is None else given)
            tracer, graphs[mode] = _traced(model.train(mode), tracer_kwargs, concrete_args)
            names[mode] = list(tracer.node_to_qualname.values())
            _pruned(graphs[mode], tracer.node_to_qualname, wanted)
    finally:
        model.train(was_training)
    if not suppress_diff_warning and train_return_nodes is None:
        _warn_graph_differences(names[True], names[False])
    return DualGraphModule(model, graphs[True], graphs[False], type(model).__name__)
