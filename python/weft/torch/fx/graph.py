"""Graphs of calls: what symbolic tracing records, passes change, and modules run as the code generated from them."""

import contextlib
import copy

from . import _codegen
from ._codegen import CodeGen, PythonCode, _Namespace, _PyTreeCodeGen, _PyTreeInfo  # noqa: F401
from .node import Node, _format_arg, _get_qualified_name, _target_text, _type_repr, map_arg  # noqa: F401

__all__ = ["CodeGen", "Graph", "PythonCode"]

_snake_case = _codegen.snake_case


class _Insertion:
    """Within, new nodes go to another place."""

    def __init__(self, graph, insert):
        self.graph, self.before = graph, graph._insert
        graph._insert = insert

    def __enter__(self):
        pass

    def __exit__(self, *error):
        self.graph._insert = self.before


class _node_list:
    """The nodes of a graph in order: nodes may come and go while they are walked through."""

    def __init__(self, graph, direction="_next"):
        self.graph, self.direction = graph, direction

    def __len__(self):
        return self.graph._len

    def __iter__(self):
        root = self.graph._root
        node = getattr(root, self.direction)
        while node is not root:
            if not node._erased:
                yield node
            node = getattr(node, self.direction)

    def __reversed__(self):
        return iter(_node_list(self.graph, "_prev" if self.direction == "_next" else "_next"))


class Graph:
    """Nodes in the order of execution: parameters first, one output."""

    def __init__(self, owning_module=None, tracer_cls=None, tracer_extras=None):
        self._root = Node(self, "", "root", "", (), {})
        self._insert = self._root.prepend
        self._len = 0
        self._order = None
        self._graph_namespace = _Namespace()
        self._owning_module, self._owners = owning_module, 0
        self._tracer_cls, self._tracer_extras = tracer_cls, tracer_extras
        self._codegen = CodeGen()

    @property
    def owning_module(self):
        """The module whose graph it is, where one module has it."""
        return self._owning_module

    @owning_module.setter
    def owning_module(self, module):
        if module is not None:
            self._owning_module = module if self._owners == 0 else None
            self._owners += 1

    @property
    def nodes(self):
        """The nodes, in order."""
        return _node_list(self)

    def output_node(self):
        """The node of the result."""
        last = next(iter(reversed(self.nodes)))
        if last.op != "output":
            raise AssertionError(f"Expected output node, got op={last.op}")
        return last

    def find_nodes(self, *, op, target=None, sort=True):
        """The nodes of a kind, and of a target where one is given."""
        if op == "call_function" and target is None:
            raise AssertionError("target must be provided for call_function")
        return [
            node
            for node in self.nodes
            if node.op == op and (target is None or node.target is target or node.target == target)
        ]

    def _nodes_moved(self):
        self._order = None

    def _position(self, node):
        if self._order is None:
            self._order = {each: at for at, each in enumerate(self.nodes)}
        return self._order[node]

    # ---- making nodes ----------------------------------------------------------------------------------------

    def create_node(self, op, target, args=None, kwargs=None, name=None, type_expr=None):
        """A new node at the place of insertion: the end, but within inserting_before and inserting_after."""
        args, kwargs = () if args is None else args, {} if kwargs is None else kwargs
        if not isinstance(args, tuple):
            raise AssertionError(f"args must be a tuple, got {type(args)}")
        if not isinstance(kwargs, dict):
            raise AssertionError(f"kwargs must be a dict, got {type(kwargs)}")
        candidate = name if name is not None else self._target_to_str(target)
        node = Node(
            self, self._graph_namespace.create_name(candidate, None), op, target, args, kwargs, type_expr
        )
        self._graph_namespace.associate(node.name, node)
        if self.owning_module is not None and getattr(self.owning_module, "_create_node_hooks", None):
            for hook in self.owning_module._create_node_hooks:
                hook(node)
        self._insert(node)
        self._len += 1
        return node

    def _target_to_str(self, target):
        if callable(target):
            return _snake_case(_codegen.short_name(target))
        name = target
        if name.startswith("__") and name.endswith("__"):
            name = name[2:-2]
        return _snake_case(name)

    def placeholder(self, name, type_expr=None, default_value=_codegen.EMPTY):
        """A parameter of the graph."""
        args = () if default_value is _codegen.EMPTY else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    def get_attr(self, qualified_name, type_expr=None):
        """An attribute of the module, by its path."""
        if self.owning_module is not None and not _has_attribute(self.owning_module, qualified_name):
            import warnings

            warnings.warn(
                "Attempted to insert a get_attr Node with no underlying reference in the owning GraphModule! Call "
                "GraphModule.add_submodule to add the necessary submodule, GraphModule.add_parameter to add the necessary "
                "Parameter, or nn.Module.register_buffer to add the necessary buffer",
                stacklevel=2,
            )
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(self, module_name, args=None, kwargs=None, type_expr=None):
        """A call of a submodule, by its path."""
        if self.owning_module is not None and not _has_module(self.owning_module, module_name):
            import warnings

            warnings.warn(
                "Attempted to insert a call_module Node with no underlying reference in the owning GraphModule! Call "
                "GraphModule.add_submodule to add the necessary submodule",
                stacklevel=2,
            )
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(self, method_name, args=None, kwargs=None, type_expr=None):
        """A call of a method of args[0]."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(self, the_function, args=None, kwargs=None, type_expr=None, name=None):
        """A call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result, type_expr=None):
        """The result of the graph."""
        return self.create_node(op="output", target="output", args=(result,), type_expr=type_expr)

    def node_copy(self, node, arg_transform=lambda node: node):
        """A copy of a node of any graph; arg_transform(node) is this graph's node for one of that graph's."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        copied = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        copied.meta = copy.copy(node.meta)
        return copied

    def graph_copy(self, g, val_map, return_output_node=False):
        """Copies of the nodes of a graph but the output, which val_map (from its nodes to these) tells of; its result here."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], lambda one: val_map[one])
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, lambda one: val_map[one])
        return None

    def inserting_before(self, n=None):
        """New nodes go before the node from now on, or to the beginning; within, as a context manager."""
        if n is None:
            return self.inserting_after(self._root)
        self._check_own(n)
        return _Insertion(self, n.prepend)

    def inserting_after(self, n=None):
        """New nodes go behind the node, each right behind it, or to the end."""
        if n is None:
            return self.inserting_before(self._root)
        self._check_own(n)
        return _Insertion(self, n.append)

    def _check_own(self, node):
        if node.graph is not self:
            raise AssertionError("Node to insert before is not in graph.")

    # ---- removing nodes --------------------------------------------------------------------------------------

    def erase_node(self, to_erase):
        """Removes a node that nobody uses. raises: RuntimeError where it is used."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: {to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            import warnings

            warnings.warn(f"erase_node({to_erase}) on an already erased node", stacklevel=2)
            return
        if self.owning_module is not None and getattr(self.owning_module, "_erase_node_hooks", None):
            for hook in self.owning_module._erase_node_hooks:
                hook(to_erase)
        to_erase._remove_from_list()
        to_erase._erased = True
        self._len -= 1
        self._nodes_moved()
        to_erase._set_arguments(
            map_arg(to_erase.args, lambda node: None), map_arg(to_erase.kwargs, lambda node: None)
        )

    def eliminate_dead_code(self, is_impure_node=None):
        """Removes the nodes whose results nobody uses, but those that are there for what they do; whether there were any."""
        self.lint()
        is_impure = is_impure_node or Node.is_impure
        changed = False
        for node in reversed(self.nodes):
            if not node.users and not is_impure(node):
                self.erase_node(node)
                changed = True
        return changed

    # ---- copies ----------------------------------------------------------------------------------------------

    def __deepcopy__(self, memo=None):
        memo = {} if memo is None else memo
        copied = Graph(tracer_cls=self._tracer_cls)
        found = copied.graph_copy(self, val_map=memo, return_output_node=True)
        copied._codegen = copy.deepcopy(self._codegen)
        if found is not None:
            result, old = found
            made = copied.output(result, type_expr=getattr(old, "type", None))
            made.meta = copy.copy(old.meta)
        return copied

    def __getstate__(self):
        # Nodes as a list, so that long graphs need no deep recursion.
        state = {
            key: value
            for key, value in vars(self).items()
            if key not in ("_root", "_insert", "_order", "_graph_namespace")
        }
        state["nodes"] = [
            (
                node.name,
                node.op,
                node.target,
                _numbered(node.args),
                _numbered(node.kwargs),
                node.type,
                node.meta,
            )
            for node in self.nodes
        ]
        return state

    def __setstate__(self, state):
        state = dict(state)
        nodes = state.pop("nodes")
        Graph.__init__(self)
        found = {}
        for name, op, target, args, kwargs, kind, meta in nodes:
            node = self.create_node(
                op, target, _renumbered(args, found), _renumbered(kwargs, found), name, kind
            )
            node.meta, found[name] = meta, node
        vars(self).update(state)

    # ---- text ------------------------------------------------------------------------------------------------

    def __str__(self):
        return "graph():" + "".join(f"\n    {node.format_node()}" for node in self.nodes)

    def print_tabular(self):
        """Prints a table of the nodes. It needs the package tabulate."""
        try:
            from tabulate import tabulate
        except ImportError:
            print(
                "`print_tabular` relies on the library `tabulate`, which could not be found on this machine. Run `pip install "
                "tabulate` to install the library."
            )
            raise
        rows = [[node.op, node.name, node.target, node.args, node.kwargs] for node in self.nodes]
        print(tabulate(rows, headers=["opcode", "name", "target", "args", "kwargs"]))

    def python_code(
        self, root_module, *, verbose=False, include_stride=False, include_device=False, colored=False, expanded_def=False,
        record_func=False, additional_meta=None,
    ):  # fmt: skip
        """The graph as the source of a function `forward`, and the globals that it needs; root_module: the name of the module."""
        namespace = _Namespace()

        def name_of(node):
            return namespace.create_name(node.name, node)

        with self._named_by(name_of):
            return self._codegen._gen_python_code(
                self.nodes, root_module, namespace, verbose=verbose, include_stride=include_stride,
                include_device=include_device, colored=colored, expanded_def=expanded_def,
            )  # fmt: skip

    @contextlib.contextmanager
    def _named_by(self, name_of):
        before = {node: node._repr_fn for node in self.nodes}
        for node in self.nodes:
            node._repr_fn = name_of
        try:
            yield
        finally:
            for node, old in before.items():
                node._repr_fn = old

    # ---- checks ----------------------------------------------------------------------------------------------

    def lint(self):
        """raises: RuntimeError or ValueError where nodes are used before they are there, or names or targets are wrong."""
        seen_names, seen = set(), set()
        for node in self.nodes:
            if node.op not in (
                "placeholder",
                "call_method",
                "call_module",
                "call_function",
                "get_attr",
                "output",
            ):
                raise RuntimeError(f"Node {node} had unknown opcode {node.op}!")
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            for argument in node.all_input_nodes:
                if argument.graph is not self:
                    raise RuntimeError(
                        f"Argument '{argument}' of Node '{node}' does not belong to this Graph, but was used as an argument! If you "
                        "are copying nodes from another graph, make sure to use ``arg_transform`` on node_copy() to remap values\n"
                        f"{self}"
                    )
                if argument not in seen:
                    raise RuntimeError(
                        f"Argument '{argument}' of Node '{node}' was used before it has been defined! Please check that Nodes in the "
                        f"graph are topologically ordered\n{self}"
                    )
            seen.add(node)
            if node.name in seen_names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            seen_names.add(node.name)
        if self.owning_module is not None:
            for node in self.nodes:
                if node.op in ("get_attr", "call_module"):
                    _check_target(self.owning_module, node)

    # ---- calls -----------------------------------------------------------------------------------------------

    def process_inputs(self, *args):
        """The arguments as the parameters take them."""
        return self._codegen.process_inputs(*args)

    def process_outputs(self, out):
        """The result as callers get it."""
        return self._codegen.process_outputs(out)

    def on_generate_code(self, make_transformer):
        """make_transformer(the one before) gives a function from the lines of the body to those that are taken; within, as a
        context manager, else from now on."""
        before = getattr(self._codegen, "_body_transformer", None)
        self._codegen._body_transformer = make_transformer(before)

        @contextlib.contextmanager
        def within():
            try:
                yield
            finally:
                self._codegen._body_transformer = before

        return within()

    def set_codegen(self, codegen):
        """Code is generated by another generator from now on."""
        self._codegen = codegen


class _Numbered:
    """A node in a pickled graph, by its name."""

    def __init__(self, name):
        self.name = name


def _numbered(arguments):
    return map_arg(arguments, lambda node: _Numbered(node.name))


def _renumbered(arguments, found):
    from .node import map_aggregate

    return map_aggregate(arguments, lambda one: found[one.name] if isinstance(one, _Numbered) else one)


def _walk(module, path):
    for atom in path.split("."):
        module = getattr(module, atom)
    return module


def _has_attribute(module, path):
    try:
        _walk(module, path)
    except AttributeError:
        return False
    return True


def _has_module(module, path):
    from weft import nn

    return _has_attribute(module, path) and isinstance(_walk(module, path), nn.Module)


def _check_target(owner, node):
    from weft import nn

    module = owner
    atoms = node.target.split(".")
    for at, atom in enumerate(atoms):
        path = ".".join(atoms[:at])
        if not hasattr(module, atom):
            raise RuntimeError(
                f"Node {node} target {node.target} references nonexistent attribute {atom} of {path}"
            )
        module = getattr(module, atom)
    if node.op == "call_module" and not isinstance(module, nn.Module):
        raise RuntimeError(
            f"Node {node} target {node.target} {atoms[-1]} of {'.'.join(atoms[:-1])} does not reference an nn.Module"
        )


magic_methods = _codegen.MAGIC
inplace_methods = _codegen.INPLACE
reflectable_magic_methods = _codegen.REFLECTABLE
