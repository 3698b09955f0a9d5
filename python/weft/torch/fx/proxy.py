"""What a program is called with while it is traced: each operator, attribute, method and function of it becomes a node."""

import dis
import inspect
import operator
import sys
import types

import weft
from weft.torch import _function_names, _overriding

from ._codegen import MAGIC, REFLECTABLE
from .graph import Graph
from .node import Node, base_types, map_aggregate

__all__ = ["Attribute", "GraphAppendingTracer", "ParameterProxy", "Proxy", "Scope", "ScopeContextManager", "TraceError", "TracerBase"]  # fmt: skip


class TraceError(ValueError):
    """What cannot be traced: the program asks for the value of what it computes."""


class Scope:
    """Where in the module's tree a call is: module_path, module_type."""

    def __init__(self, module_path, module_type):
        self.module_path, self.module_type = module_path, module_type


class ScopeContextManager:
    """Within, the scope is another."""

    def __init__(self, scope, current_scope):
        self._before = Scope(scope.module_path, scope.module_type)
        scope.module_path, scope.module_type = current_scope.module_path, current_scope.module_type
        self._scope = scope

    def __enter__(self):
        return self._scope

    def __exit__(self, *error):
        self._scope.module_path, self._scope.module_type = self._before.module_path, self._before.module_type


class TracerBase:
    """Makes nodes of a graph, and proxies of them."""

    record_stack_traces = False
    check_mutable_operations = False
    trace_asserts = False
    proxy_buffer_attributes = False
    traced_func_name = "forward"

    scope = None
    module_stack = None
    node_name_to_scope = None

    def create_node(self, kind, target, args, kwargs, name=None, type_expr=None):
        """A node of the graph. Subclasses see every one here."""
        node = self.graph.create_node(kind, target, args, kwargs, name, type_expr)
        if self.node_name_to_scope is not None and self.scope is not None:
            self.node_name_to_scope[node.name] = (self.scope.module_path, self.scope.module_type)
        if self.module_stack:
            node.meta["nn_module_stack"] = type(self.module_stack)(self.module_stack)
        return node

    def proxy(self, node):
        """The proxy of a node."""
        return Proxy(node, self)

    def create_proxy(self, kind, target, args, kwargs, name=None, type_expr=None, proxy_factory_fn=None):
        """The proxy of a new node, whose arguments are the program's values."""
        args, kwargs = self.create_arg(args), self.create_arg(kwargs)
        if not isinstance(args, tuple) or not isinstance(kwargs, dict):
            raise AssertionError(
                f"Expected args to be a tuple and kwargs a dict, got {type(args)}, {type(kwargs)}"
            )
        node = self.create_node(kind, target, args, kwargs, name, type_expr)
        proxy = proxy_factory_fn(node) if proxy_factory_fn else self.proxy(node)
        if self.record_stack_traces and not proxy.node.stack_trace:
            proxy.node.stack_trace = _stack_trace()
        return proxy

    def create_arg(self, a):
        """An argument of a node from a value of the program."""
        if isinstance(a, Proxy):
            return a.node
        if not isinstance(a, Proxy) and hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple):
            items = [self.create_arg(one) for one in a]
            if hasattr(a, "_fields"):
                return type(a)(*items)
            return type(a)(items)
        if isinstance(a, list):
            return [self.create_arg(one) for one in a]
        if isinstance(a, dict):
            return {self._key(key): self.create_arg(value) for key, value in a.items()}
        if isinstance(a, slice):
            return slice(self.create_arg(a.start), self.create_arg(a.stop), self.create_arg(a.step))
        if isinstance(a, range):
            return range(*map(self.create_arg, (a.start, a.stop, a.step)))
        if _is_constant(a):
            return a
        if _is_dataclass(a):
            fields = {one: self.create_arg(getattr(a, one)) for one in type(a).__dataclass_fields__}
            return self.create_node("call_function", type(a), (), fields)
        raise NotImplementedError(f"argument of type: {type(a)}")

    def _key(self, key):
        key = self.create_arg(key)

        def refuse(one):
            if isinstance(one, Node):
                raise RuntimeError(
                    f"Keys for dictionaries used as an argument cannot contain a Node. Got key: {key}"
                )
            return one

        map_aggregate(key, refuse)
        return key

    def to_bool(self, obj):
        """What `if` is told of a proxy. raises: TraceError, where no subclass knows better."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj):
        """What iterates over a proxy: as many items as an unpacking asks for. raises: TraceError elsewhere."""
        found = _unpacked(sys._getframe(2))
        if found is not None:
            return (obj[at] for at in range(found))
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or **kwargs "
            "function argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what types of control "
            "flow can be traced, and check out the Proxy docstring for help troubleshooting Proxy iteration errors"
        )

    def keys(self, obj):
        """What `**proxy` and proxy.keys() give."""
        return Attribute(obj, "keys")()


def _unpacked(frame):
    """How many values the program takes from what it iterates over; None where it is no unpacking."""
    code = frame.f_code.co_code
    at = frame.f_lasti
    if dis.opname[code[at]] == "UNPACK_SEQUENCE":
        return code[at + 1]
    for instruction in dis.get_instructions(frame.f_code):
        if instruction.offset == at:
            return instruction.argval if instruction.opname == "UNPACK_SEQUENCE" else None
    return None


_CONSTANTS = (*(one for one in base_types if one is not type(None)), type(None), type(...), types.FunctionType,
              types.BuiltinFunctionType, type)  # fmt: skip


def _is_constant(value):
    from enum import Enum

    if isinstance(value, _CONSTANTS) and not isinstance(value, weft.Tensor):
        return True
    if isinstance(value, (Enum, weft.memory_format if hasattr(weft, "memory_format") else Enum)):
        return True
    kind = type(value)
    return kind.__name__ in ("memory_format", "layout", "Size", "OpOverload", "OpOverloadPacket", "Operator", "OperatorMethod",
                             "GenericAlias", "qscheme")  # fmt: skip


def _is_dataclass(value):
    return hasattr(type(value), "__dataclass_fields__")


def _stack_trace():
    import traceback

    frame = inspect.currentframe()
    here = _HERE
    while frame is not None and frame.f_code.co_filename.startswith(here):
        frame = frame.f_back
    return "".join(traceback.format_list(traceback.extract_stack(frame)[-1:])).strip() if frame else None


_HERE = __file__.rpartition("/")[0].rpartition("/")[0]


class GraphAppendingTracer(TracerBase):
    """Makes nodes of a graph that is there, for proxies outside of a trace."""

    def __init__(self, graph):
        super().__init__()
        _overriding.arm_for_good()  # proxies may be used at any time
        self.graph = graph
        self.scope, self.module_stack, self.node_name_to_scope = Scope("", None), {}, {}


def assert_fn(x):
    if not x:
        raise AssertionError


class Proxy:
    """Stands for the value of a node."""

    def __init__(self, node, tracer=None):
        if tracer is None:
            tracer = GraphAppendingTracer(node.graph)
        self.tracer, self.node = tracer, node

    def __repr__(self):
        return f"Proxy({self.node.name})"

    def __getattr__(self, k):
        # Nothing is recorded until the attribute is used: it may be a method that is called.
        return Attribute(self, k)

    def __getstate__(self):
        return dict(vars(self))

    def __setstate__(self, state):
        vars(self).update(state)

    def __deepcopy__(self, memo):
        import copy

        state = {
            key: copy.deepcopy(value, memo)
            for key, value in vars(self).items()
            if key not in ("node", "tracer")
        }
        made = object.__new__(type(self))
        vars(made).update(state, node=self.node, tracer=self.tracer)
        return made

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self):
        return iter(self.tracer.iter(self))

    def __abs__(self):
        return self.tracer.create_proxy("call_function", operator.abs, (self,), {})

    def __bool__(self):
        return self.tracer.to_bool(self)

    def keys(self):
        return self.tracer.keys(self)

    def __len__(self):
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
            "torch.fx.wrap('len') at module scope"
        )

    @classmethod
    def __torch_function__(cls, orig_method, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        tracers = {}
        map_aggregate(
            (args, kwargs), lambda one: tracers.setdefault(one.tracer) if isinstance(one, Proxy) else one
        )
        if len(tracers) > 1:
            raise RuntimeError(
                f"Found multiple different tracers {list(tracers)} while trying to trace operations {orig_method}"
            )
        tracer = next(iter(tracers))
        name = _method_name(orig_method)
        if name is not None:
            return tracer.create_proxy("call_method", name, args, kwargs)
        return tracer.create_proxy(
            "call_function", orig_method, args, kwargs, name=_name_of(tracer, orig_method)
        )


def _name_of(tracer, function):
    graph = getattr(tracer, "graph", None)
    return graph._target_to_str(function) if isinstance(graph, Graph) else None


def _method_name(function):
    """The name of a method of Tensor's; None of functions."""
    return function.__name__ if _function_names.is_method(function) else None


class MetaProxy(Proxy):
    """A proxy that knows a value like its own."""

    def __init__(self, node, tracer=None, fake_mode=None):
        super().__init__(node, tracer)
        self.fake_mode = fake_mode


class Attribute(Proxy):
    """An attribute of a proxy: a call of it is a call of a method, any other use a node of getattr."""

    def __init__(self, root, attr):
        self.root, self.attr, self.tracer, self._node = root, attr, root.tracer, None

    @property
    def node(self):
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args, **kwargs):
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


class ParameterProxy(Proxy):
    """A parameter of the module: its shape and size are known."""

    def __init__(self, tracer, node, name, param):
        super().__init__(node, tracer)
        if not isinstance(param, weft.Tensor):
            raise AssertionError(f"expected a parameter, got {type(param)}")
        self.param, self.name = param, name

    def __repr__(self):
        return f"ParameterProxy({self.name})"

    @property
    def shape(self):
        return self.param.shape

    def size(self):
        return self.param.size()

    def dim(self):
        return self.param.dim()

    @property
    def ndim(self):
        return self.param.ndim

    def numel(self):
        return self.param.numel()

    def nelement(self):
        return self.param.nelement()


def _operator_method(name):
    target = getattr(operator, name)

    def method(*args, **kwargs):
        tracer = args[0].tracer
        return tracer.create_proxy("call_function", target, args, kwargs)

    method.__name__ = f"__{name.strip('_')}__"
    return method


def _reflected_method(name):
    target = getattr(operator, name)

    def method(self, rhs):
        return self.tracer.create_proxy("call_function", target, (rhs, self), {})

    method.__name__ = f"__r{name.strip('_')}__"
    return method


for _name in MAGIC:
    if hasattr(operator, _name):
        setattr(Proxy, f"__{_name.strip('_')}__", _operator_method(_name))
for _name in REFLECTABLE:
    if hasattr(operator, _name) and _name != "getitem":
        setattr(Proxy, f"__r{_name.strip('_')}__", _reflected_method(_name))
Proxy.__hash__ = object.__hash__
