"""Nodes of a graph: one call, parameter or result each, in a ring that the graph's root closes."""

import builtins
import types
import typing
import warnings

import weft
from weft.torch import _function_names

from .immutable_collections import immutable_dict, immutable_list

__all__ = ["Node", "has_side_effect", "map_aggregate", "map_arg"]

Target = typing.Callable[..., typing.Any] | str
BaseArgumentTypes = str | int | float | bool | complex | weft.dtype | weft.Tensor | weft.device | None
Argument = typing.Any  # nodes and base types, in tuples, lists, dicts and slices
base_types = BaseArgumentTypes.__args__

_OPS = ("call_function", "call_method", "call_module", "get_attr", "output", "placeholder", "root")
_legal_ops = frozenset(_OPS[:-1])
# Functions that are called for what they do: no dead code, though nobody uses their results.
_side_effectful_functions = set()


def has_side_effect(fn):
    """The function is none that eliminate_dead_code removes from now on; the function itself."""
    _side_effectful_functions.add(fn)
    return fn


def _effects():
    """The functions that count as called for what they do."""
    from weft import torch

    return _side_effectful_functions | {torch._assert, torch._assert_async}


# ---- names ---------------------------------------------------------------------------------------------------


def _get_qualified_name(func):
    """The dotted name under which generated code finds a function."""
    name = getattr(func, "__name__", None)
    if name is not None and getattr(builtins, name, None) is func:
        return name
    own = _function_names.public_name(func)
    if own is not None:
        return own
    if isinstance(func, (types.MethodDescriptorType, types.WrapperDescriptorType)):
        return f"{_module_name(func.__objclass__.__module__)}.{func.__objclass__.__name__}.{func.__name__}"
    packet = getattr(func, "_qualified_op_name", None) or getattr(func, "_qualname", None)
    if packet is not None and "::" in str(packet):
        return "torch.ops." + str(packet).replace("::", ".")
    module = _module_name(_module_of(func))
    if name == "<lambda>":
        raise RuntimeError(f"Unable to find a function name of a lambda: {func}, defined at {module}")
    return f"{module}.{name or type(func).__name__}"


def _module_name(name):
    """PyTorch's name for a module of weft's."""
    for own, public in (
        ("weft.torchvision", "torchvision"),
        ("weft.torch", "torch"),
        ("weft.nn", "torch.nn"),
    ):
        if name == own or name.startswith(own + "."):
            return (public + name[len(own) :]).replace("torch._ops", "torch.ops")
    return "torch" if name == "weft" else name.replace("torch._ops", "torch.ops")


def _module_of(func):
    module = getattr(func, "__module__", None)
    if module is None:
        raise RuntimeError(f"cannot find module for {func}")
    return module


def _type_repr(obj):
    """A type as generated code and printed graphs say it."""
    if isinstance(obj, type) and not isinstance(obj, types.GenericAlias):
        if obj.__module__ == "builtins":
            return obj.__qualname__
        if obj is weft.Tensor:
            return "torch.Tensor"
        from weft.torch import _places

        return f"{_places.place_of(obj) or _module_name(obj.__module__)}.{obj.__qualname__}"
    if obj is ...:
        return "..."
    if isinstance(obj, types.FunctionType):
        return obj.__name__
    return _printed(obj) if typing.get_origin(obj) is not None else repr(obj)


def _printed(alias):
    return repr(alias).replace("weft.Tensor", "torch.Tensor").replace("weft.nn.", "torch.nn.")


def _target_text(target):
    """A target in printed graphs: the name of an operator begins with operator there."""
    if isinstance(target, str):
        return target
    if target.__class__.__name__ in ("OpOverload", "OpOverloadPacket") or not hasattr(target, "__name__"):
        return _get_qualified_name(target)
    if target.__module__ == "_operator":
        return f"operator.{target.__name__}"
    if getattr(builtins, target.__name__, None) is target:
        return f"builtins.{target.__name__}"
    return _get_qualified_name(target)


def _format_arg(arg, max_list_len=float("inf")):
    """An argument in a printed graph."""
    if isinstance(arg, (list, tuple)):
        items = [_format_arg(one) for at, one in enumerate(arg) if at < max_list_len]
        if len(arg) > max_list_len:
            items.append(f"...[total_len={len(arg)}]")
        text = ", ".join(items)
        if isinstance(arg, list):
            return f"[{text}]"
        return f"({text},)" if len(arg) == 1 else f"({text})"
    if isinstance(arg, dict):
        return "{" + ", ".join(f"{key}: {_format_arg(value)}" for key, value in arg.items()) + "}"
    return f"%{arg}" if isinstance(arg, Node) else str(arg)


# ---- arguments -----------------------------------------------------------------------------------------------


def map_aggregate(a, fn):
    """fn of each leaf of an argument; lists and dicts of the result are immutable."""
    if isinstance(a, tuple):
        items = [map_aggregate(one, fn) for one in a]
        return type(a)(*items) if hasattr(a, "_fields") else tuple(items)
    if isinstance(a, list):
        return immutable_list([map_aggregate(one, fn) for one in a])
    if isinstance(a, dict):
        return immutable_dict({key: map_aggregate(value, fn) for key, value in a.items()})
    if isinstance(a, slice):
        return slice(map_aggregate(a.start, fn), map_aggregate(a.stop, fn), map_aggregate(a.step, fn))
    return fn(a)


def map_arg(a, fn):
    """fn of each node of an argument."""
    if not callable(fn):
        raise AssertionError("torch.fx.map_arg(a, fn): fn must be a callable")
    return map_aggregate(a, lambda one: fn(one) if isinstance(one, Node) else one)


def _nodes_of(*arguments):
    found = {}
    map_arg(arguments, lambda node: found.setdefault(node))
    return found


# ---- nodes ---------------------------------------------------------------------------------------------------


class Node:
    """One step of a graph.

    op: "placeholder" (a parameter: target is its name, args its default), "get_attr" (target: a dotted path in the module),
    "call_function" (target: the function), "call_module" (target: the submodule's path), "call_method" (target: the method's name,
    args[0] the object), "output" (args[0]: the result). users: the nodes that have it as an argument, in order.
    """

    def __init__(self, graph, name, op, target, args, kwargs, return_type=None):
        if op not in _OPS:
            raise AssertionError(f"op '{op}' is not in _legal_ops")
        if op == "call_function":
            if not callable(target):
                raise ValueError(
                    f"Node [graph = {graph}, name = '{name}'] target {target} has type {_type_repr(type(target))} but a Callable is expected"
                )
        elif not isinstance(target, str):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type {_type_repr(type(target))} but a str is expected"
            )
        self.graph, self.name, self.op, self.target, self.type = graph, name, op, target, return_type
        self._args, self._kwargs, self._input_nodes, self.users, self.meta = (), {}, {}, {}, {}
        self._prev = self._next = self
        self._erased, self._repr_fn, self._position = False, None, 0.0
        self._set_arguments(map_aggregate(args, lambda one: one), map_aggregate(kwargs, lambda one: one))

    def __repr__(self):
        return self._repr_fn(self) if self._repr_fn else self.name

    def __getstate__(self):
        state = dict(vars(self))
        del state["_repr_fn"]
        return state

    def __setstate__(self, state):
        vars(self).update(state, _repr_fn=None)

    # ---- places ----------------------------------------------------------------------------------------------

    @property
    def next(self):
        """The node after this one."""
        return self._next

    @property
    def prev(self):
        """The node before this one."""
        return self._prev

    def prepend(self, x):
        """Puts a node of the graph before this one."""
        if self.graph != x.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if self is x:
            warnings.warn(
                "Trying to prepend a node to itself. This behavior has no effect on the graph.", stacklevel=2
            )
            return
        x._remove_from_list()
        before = self._prev
        before._next, x._prev, x._next, self._prev = x, before, self, x
        self.graph._nodes_moved()

    def append(self, x):
        """Puts a node of the graph after this one."""
        if self is x:
            warnings.warn(
                "Trying to append a node to itself. This behavior has no effect on the graph.", stacklevel=2
            )
            return
        self._next.prepend(x)

    def _remove_from_list(self):
        self._prev._next, self._next._prev = self._next, self._prev

    def __lt__(self, other):
        return self.graph._position(self) < self.graph._position(other)

    def __gt__(self, other):
        return other < self

    def __le__(self, other):
        return self is other or self < other

    def __ge__(self, other):
        return self is other or other < self

    # ---- arguments -------------------------------------------------------------------------------------------

    @property
    def args(self):
        """The positional arguments: nodes and constants, in tuples, immutable lists and dicts."""
        return self._args

    @args.setter
    def args(self, value):
        self._set_arguments(map_aggregate(value, lambda one: one), self._kwargs)

    @property
    def kwargs(self):
        """The arguments by name."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, value):
        self._set_arguments(self._args, map_aggregate(value, lambda one: one))

    def _set_arguments(self, args, kwargs):
        for old in self._input_nodes:
            old.users.pop(self, None)
        self._args, self._kwargs = args, kwargs
        self._input_nodes = _nodes_of(args, kwargs)
        for node in self._input_nodes:
            node.users.setdefault(self)

    @property
    def all_input_nodes(self):
        """The nodes among the arguments, each once."""
        return list(self._input_nodes)

    def update_arg(self, idx, arg):
        """Another positional argument."""
        args = list(self._args)
        args[idx] = arg
        self.args = tuple(args)

    def insert_arg(self, idx, arg):
        """One more positional argument before the one at `idx`."""
        if not 0 <= idx <= len(self._args):
            raise AssertionError("insert_args index must be between 0 and len(self.args)")
        self.args = (*self._args[:idx], arg, *self._args[idx:])

    def update_kwarg(self, key, arg):
        """Another argument of the name."""
        self.kwargs = {**self._kwargs, key: arg}

    def replace_all_uses_with(self, replace_with, delete_user_cb=lambda user: True, *, propagate_meta=False):
        """Each user (of which the callback says so) has the other node instead; the users changed."""
        if propagate_meta:
            if replace_with.meta:
                raise AssertionError(
                    "Called node.replace_all_uses_with(replace_with, propagate_meta=True), but replace_with already has .meta keys"
                )
            replace_with.meta.update(self.meta)
        changed = []
        for user in list(self.users):
            if delete_user_cb(user):
                changed.append(user)
                user._replace(self, replace_with)
        return changed

    def replace_input_with(self, old_input, new_input):
        """The other node in each place of the arguments where one is."""
        self._replace(old_input, new_input)

    def _replace(self, old, new):
        hooks = getattr(self.graph.owning_module, "_replace_hooks", None) or ()
        for hook in hooks:
            hook(old=old, new=new.name, user=self)

        def of(node):
            return new if node is old else node

        self._set_arguments(map_arg(self._args, of), map_arg(self._kwargs, of))

    def _rename(self, candidate):
        if candidate != self.name:
            self.name = self.graph._graph_namespace.create_name(candidate, None)

    @property
    def stack_trace(self):
        """Where the program made the call, where the tracer kept it."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace):
        self.meta["stack_trace"] = trace

    # ---- questions -------------------------------------------------------------------------------------------

    def is_impure(self, impure_random=True):
        """Is it there for what it does, and not for its result only?"""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            return self.target in _effects() if _is_hashable(self.target) else False
        if self.op == "call_method":
            return self.target.endswith("_") and not self.target.endswith("__")
        if self.op == "call_module":
            if self.graph.owning_module is None:
                raise AssertionError("self.graph.owning_module not set for purity check")
            module = self.graph.owning_module.get_submodule(self.target)
            return getattr(module, "_is_impure", False)
        return False

    def normalized_arguments(
        self, root, arg_types=None, kwarg_types=None, normalize_to_only_use_kwargs=False
    ):
        """(args, kwargs) of the call with the defaults filled in; None where the target's signature is not known."""
        from . import operator_schemas

        if self.op == "call_function":
            return operator_schemas.normalize_function(
                self.target, self._args, self._kwargs, arg_types, kwarg_types, normalize_to_only_use_kwargs
            )
        if self.op == "call_module":
            return operator_schemas.normalize_module(
                root, self.target, self._args, self._kwargs, normalize_to_only_use_kwargs
            )
        return None

    def format_node(
        self, placeholder_names=None, maybe_return_typename=None, *, include_tensor_metadata=False
    ):
        """The node's line in the printed graph; None for what the lists are given in its place."""
        kind = "" if self.type is None else f"{_type_repr(self.type)} "
        count = f"[num_users={len(self.users)}]"
        if self.op == "placeholder":
            if not isinstance(self.target, str):
                raise AssertionError("placeholder target must be a string")
            default = f"(default={self.args[0]})" if self.args else ""
            if placeholder_names:
                placeholder_names.append(
                    self.target + default + (f": {_type_repr(self.type)}" if self.type else "")
                )
                return None
            return f"%{self.name} : {kind}{count} = {self.op}[target={self.target}]{default}"
        if self.op == "get_attr":
            return f"%{self.name} : {kind}{count} = {self.op}[target={self.target}]"
        if self.op == "output":
            if self.type and maybe_return_typename:
                maybe_return_typename[0] = f" -> {_type_repr(self.type)}"
            return f"return {self.args[0]}"
        return (
            f"%{self.name} : {kind}{count} = {self.op}[target={_target_text(self.target)}]"
            f"(args = {_format_arg(self.args)}, kwargs = {_format_arg(self.kwargs)})"
        )


def _is_hashable(value):
    try:
        hash(value)
    except TypeError:
        return False
    return True
