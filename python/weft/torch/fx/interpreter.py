"""Runs a graph node by node, so that subclasses may see and change each step."""

from contextlib import contextmanager

from weft import nn
from weft.torch import _overriding

from ._symbolic_trace import Tracer
from .graph import Graph
from .graph_module import GraphModule
from .node import map_arg
from .proxy import Proxy

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs a graph's module (or the graph given, over the module's attributes) step by step; each kind of node has a method.

    garbage_collect_values: values are let go after their last use.
    """

    def __init__(self, module, garbage_collect_values=True, graph=None):
        self.module = module
        self.submodules = dict(module.named_modules())
        self.graph = graph if graph is not None else module.graph
        self.env = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        if garbage_collect_values:
            self.user_to_last_uses = {}
            seen = set()
            for node in reversed(self.graph.nodes):
                for used in node.all_input_nodes:
                    if used not in seen:
                        seen.add(used)
                        self.user_to_last_uses.setdefault(node, []).append(used)

    def run(self, *args, initial_env=None, enable_io_processing=True):
        """The graph's result for arguments; initial_env: values of nodes that are known, which do not run."""
        self.env = initial_env if initial_env is not None else {}
        if enable_io_processing:
            args = self.graph.process_inputs(*args)
        self.args_iter = iter(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as error:
                if self.extra_traceback:
                    _say_where(error, node)
                raise
            if self.garbage_collect_values:
                for used in self.user_to_last_uses.get(node, ()):
                    del self.env[used]
            if node.op == "output":
                result = self.env[node]
                return self.graph.process_outputs(result) if enable_io_processing else result
        return None

    def boxed_run(self, args_list):
        """run(*args_list), which is emptied."""
        args = tuple(args_list)
        args_list.clear()
        return self.run(*args)

    @contextmanager
    def _set_current_node(self, node):
        yield

    def run_node(self, n):
        """What a node gives: the method of its kind, called with its target and values."""
        with self._set_current_node(n):
            args, kwargs = self.fetch_args_kwargs_from_env(n)
            return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target, args, kwargs):
        """A parameter: the next argument of run, or its default. raises: RuntimeError where there is neither."""
        if target.startswith("*"):
            return list(self.args_iter)
        for value in self.args_iter:
            return value
        if args:
            return args[0]
        raise RuntimeError(f"Expected positional argument for parameter {target}, but one was not passed in!")

    def get_attr(self, target, args, kwargs):
        """An attribute of the module."""
        return self.fetch_attr(target)

    def call_function(self, target, args, kwargs):
        """A call of a function."""
        return target(*args, **kwargs)

    def call_method(self, target, args, kwargs):
        """A call of a method of the first argument."""
        owner, *rest = args
        return getattr(owner, target)(*rest, **kwargs)

    def call_module(self, target, args, kwargs):
        """A call of a submodule."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target, args, kwargs):
        """The result."""
        return args[0]

    def fetch_attr(self, target):
        """The attribute of the module at a path. raises: RuntimeError where there is none."""
        found = self.module
        atoms = target.split(".")
        for at, atom in enumerate(atoms):
            if not hasattr(found, atom):
                raise RuntimeError(f"Node referenced nonexistent target {'.'.join(atoms[: at + 1])}")
            found = getattr(found, atom)
        return found

    def fetch_args_kwargs_from_env(self, n):
        """(args, kwargs) of a node, as values."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args, n):
        """An argument with the values of its nodes."""

        def value_of(node):
            if node not in self.env:
                raise RuntimeError(
                    f"Node {n} referenced nonexistent value {node}! Run Graph.lint() to diagnose such issues"
                )
            return self.env[node]

        return map_arg(args, value_of)


def _say_where(error, node):
    text = f"While executing {node.format_node()}"
    text = f"{error.args[0]}\n\n{text}" if error.args else str(text)
    error.args = (text, *error.args[1:])


class Transformer(Interpreter):
    """Runs a graph's module with proxies, and so makes another: what its methods return is what the new graph does."""

    def __init__(self, module):
        super().__init__(module)
        self.new_graph = Graph()
        self.new_graph.set_codegen(module.graph._codegen)

        class TransformerTracer(Tracer):
            def __init__(self, graph):
                super().__init__()
                self.graph, self.tensor_attrs, self.root = graph, {}, nn.Module()

            def is_leaf_module(self, _, __):
                return True

        self.tracer = TransformerTracer(self.new_graph)
        self.tracer.root = module

    def placeholder(self, target, args, kwargs):
        """A parameter of the new graph."""
        default = {"default_value": next(iter(args))} if args else {}
        return Proxy(self.new_graph.placeholder(target, **default), self.tracer)

    def get_attr(self, target, args, kwargs):
        """A proxy of the attribute."""
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target, args, kwargs):
        """A call of the submodule, which is not traced into."""
        if not isinstance(target, str):
            raise AssertionError(f"expected a path, got {type(target)}")
        return self.tracer.call_module(self.fetch_attr(target), lambda *a, **k: None, args, kwargs)

    def call_function(self, target, args, kwargs):
        """A call of the function."""
        if not callable(target):
            raise AssertionError(f"expected a function, got {type(target)}")
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self):
        """The module of the new graph."""
        with _overriding.offering():
            result = super().run(enable_io_processing=False)
        if result is not None:

            def node_of(one):
                return one.node if isinstance(one, Proxy) else one

            from .node import map_aggregate

            old = self.module.graph.output_node()
            made = self.new_graph.output(map_aggregate(result, node_of))
            for key, value in old.meta.items():
                made.meta.setdefault(key, value)
        return GraphModule(self.module, self.new_graph)
