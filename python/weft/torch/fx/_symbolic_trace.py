"""Symbolic tracing: a module or function is called with proxies, and what they are used for becomes a graph."""

import builtins
import collections
import contextlib
import copy
import functools
import inspect
import math
import types
import warnings

import weft
from weft import nn
from weft.torch import _overriding

from ._compatibility import compatibility  # noqa: F401
from .graph import Graph, _PyTreeCodeGen, _PyTreeInfo
from .graph_module import GraphModule
from .node import map_aggregate
from .operator_schemas import is_nn_module
from .proxy import ParameterProxy, Proxy, Scope, ScopeContextManager, TracerBase

_is_fx_tracing_flag = False


def is_fx_tracing():
    """Does the process trace symbolically?"""
    return _is_fx_tracing_flag


def is_fx_symbolic_tracing():
    """Does the process trace symbolically, and no compiler runs?"""
    return _is_fx_tracing_flag


def is_fx_tracing_warning():
    pass


# ---- functions that are recorded instead of called ------------------------------------------------------------

_wrapped_fns_to_patch = {}  # (id of globals, name) -> globals
_wrapped_methods_to_patch = []


def wrap(fn_or_name):
    """The function of the module's globals is not traced into: a call of it with proxies is a node. As a decorator, too."""
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    if callable(fn_or_name) and not isinstance(fn_or_name, str):
        name = fn_or_name.__name__
    else:
        name = fn_or_name
    frame = inspect.currentframe().f_back
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped_fns_to_patch[id(frame.f_globals), name] = frame.f_globals
    return fn_or_name


def _find_proxy(*values):
    """The first proxy among the arguments of a call."""
    found = []

    def look(one):
        if isinstance(one, Proxy):
            found.append(one)
        return one

    map_aggregate(values, look)
    return found[0] if found else None


def _recording(function):
    """A function whose calls with proxies are nodes."""

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return function(*args, **kwargs)
        made = proxy.tracer.create_proxy("call_function", function, args, kwargs)
        made.node.meta["is_wrapped"] = True
        return made

    return wrapped


_create_wrapped_func = _recording


def _recording_method(kind, name):
    function = getattr(kind, name)

    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            return function(*args, **kwargs)
        return proxy.tracer.create_proxy("call_method", name, args, kwargs)

    return wrapped


class _Patcher:
    """Within, names mean something else."""

    def __init__(self):
        self.before, self.visited = [], set()

    def patch(self, scope, name, value):
        self.before.append((scope, name, scope[name] if name in scope else _MISSING))
        scope[name] = value

    def patch_method(self, kind, name, value):
        self.before.append((kind, name, kind.__dict__.get(name, _MISSING)))
        setattr(kind, name, value)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for scope, name, value in reversed(self.before):
            if isinstance(scope, type):
                if value is _MISSING:
                    delattr(scope, name)
                else:
                    setattr(scope, name, value)
            elif value is _MISSING:
                scope.pop(name, None)
            else:
                scope[name] = value
        self.before.clear()


_MISSING = object()


def _autowrap_check(patcher, scope, ids):
    """Functions of a module that is looked at the first time, which are among those to record."""
    if id(scope) in patcher.visited:
        return
    patcher.visited.add(id(scope))
    for name, value in list(scope.items()):
        if not name.startswith("_") and callable(value) and id(value) in ids:
            patcher.patch(scope, name, _recording(value))
    for name in scope.get(
        "_WRAPPED_FOR_FX", ()
    ):  # wrap(name), of weft's own modules, which do not import torch.fx
        patcher.patch(scope, name, _recording(scope[name]))


# ---- placeholders for arguments that are known ---------------------------------------------------------------


class PHBase:
    """In concrete_args: what is a parameter of the graph, in a tree of values that are known."""

    def __repr__(self):
        return "PH"


class PHWithMeta(PHBase):
    """The same, with what the parameter's node is to know (ph_key: its name)."""

    def __init__(self, ph_key=None):
        super().__init__()
        self.ph_key = ph_key


PH = PHBase()


# ---- tracing -------------------------------------------------------------------------------------------------


class ProxyableClassMeta(type):
    """Of classes whose constructors may be called with proxies: such a call is a node."""

    def __init__(cls, name, bases, attrs):
        super().__init__(name, bases, attrs)

    def __call__(cls, *args, **kwargs):
        made = cls.__new__(cls)
        if not is_fx_tracing():
            cls.__init__(made, *args, **kwargs)
            return made
        proxy = _find_proxy(args, kwargs)
        if proxy is None:
            cls.__init__(made, *args, **kwargs)
            return made
        return proxy.tracer.create_proxy("call_function", cls, args, kwargs)


def _with_code_of(function, count):
    """A function that takes *args and **kwargs as parameters like others."""
    code = function.__code__
    flags = code.co_flags & ~(inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    changed = code.replace(co_flags=flags, co_argcount=count, co_posonlyargcount=0, co_kwonlyargcount=0)
    made = types.FunctionType(
        changed, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


_HAS_VARIABLE = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


class Tracer(TracerBase):
    """Traces modules and functions. Subclasses say which modules are not traced into, and see each node that is made."""

    def __init__(self, autowrap_modules=(math,), autowrap_functions=(), param_shapes_constant=False):
        super().__init__()
        self._autowrap_function_ids = {
            id(value)
            for module in autowrap_modules
            for name, value in vars(module).items()
            if not name.startswith("_") and callable(value)
        } | {id(function) for function in autowrap_functions}
        self._autowrap_search = list(autowrap_modules)
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths = None
        self.root_module_name = ""
        self.scope = Scope("", None)
        self.module_stack = collections.OrderedDict()
        self.num_calls = {}
        self.node_name_to_scope = {}

    _proxy_count = 0

    def get_fresh_qualname(self, prefix):
        """A name with the prefix that the root has no attribute of."""
        number = 0
        while hasattr(self.root, f"{prefix}{number}"):
            number += 1
        return f"{prefix}{number}"

    def create_arg(self, a):
        """An argument of a node: parameters, buffers and other tensors by their paths in the root module."""
        if isinstance(a, nn.Parameter):
            for name, value in self.root.named_parameters():
                if a is value:
                    return self.create_node("get_attr", name, (), {})
            raise NameError("parameter is not a member of this module")
        if isinstance(a, weft.Tensor):
            for name, value in self.root.named_buffers():
                if a is value:
                    return self.create_node("get_attr", name, (), {})
        elif isinstance(a, nn.Module):
            for name, value in self.root.named_modules():
                if a is value:
                    return self.create_node("get_attr", name, (), {})
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            args = tuple(self.create_arg(one) for one in a)
            return self.create_node("call_function", a.__class__, args, {})
        if isinstance(a, weft.Tensor) or type(a).__name__ == "ScriptObject":
            return self._constant(a)
        if isinstance(type(a), ProxyableClassMeta):
            name = self.get_fresh_qualname(f"_{a.__class__.__name__}_constant_")
            setattr(self.root, name, a)
            return self.create_node("get_attr", name, (), {})
        return super().create_arg(a)

    def _constant(self, value):
        name = self.tensor_attrs.get(value)
        if name is None:
            name = self.get_fresh_qualname(
                "_tensor_constant" if isinstance(value, weft.Tensor) else "_torchbind_obj"
            )
            self.tensor_attrs[value] = name
            setattr(self.root, name, value)
        return self.create_node("get_attr", name, (), {})

    def is_leaf_module(self, m, module_qualified_name):
        """Is a call of the module one node? It is of modules of torch.nn, but Sequential."""
        return is_nn_module(m) and not isinstance(m, nn.Sequential)

    def path_of_module(self, mod):
        """The path of a submodule in the root. raises: NameError where it is none."""
        if self.submodule_paths:
            path = self.submodule_paths.get(mod)
            if path is None:
                raise NameError("module is not installed as a submodule")
            return path
        for name, module in self.root.named_modules():
            if module is mod:
                return name
        raise NameError("module is not installed as a submodule")

    def call_module(self, m, forward, args, kwargs):
        """What a call of a module is: a node for leaves, and for others what their forward does."""
        path = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(path, type(m))) as scope:
            calls = self.num_calls.get(path, 0)
            self.num_calls[path] = calls + 1
            key = f"{scope.module_path}@{calls}" if calls else scope.module_path
            self.module_stack[key] = (path, scope.module_type)
            if self.is_leaf_module(m, path):
                result = self.create_proxy("call_module", path, args, kwargs)
            else:
                result = forward(*args, **kwargs)
            self.module_stack.popitem()
        return result

    def getattr(self, attr, attr_val, parameter_proxy_cache):
        """What an attribute of a module is: proxies for parameters, and for buffers where proxy_buffer_attributes says so."""

        def found_in(pairs):
            for name, value in pairs:
                if attr_val is value:
                    if name not in parameter_proxy_cache:
                        factory = (
                            (lambda node, name=name: ParameterProxy(self, node, name, attr_val))
                            if self.param_shapes_constant
                            else None
                        )
                        parameter_proxy_cache[name] = self.create_proxy(
                            "get_attr", name, (), {}, **({"proxy_factory_fn": factory} if factory else {})
                        )
                    return parameter_proxy_cache[name]
            return None

        if isinstance(attr_val, nn.Parameter):
            proxy = found_in(self.root.named_parameters())
            if proxy is not None:
                return proxy
        if self.proxy_buffer_attributes and isinstance(attr_val, weft.Tensor):
            proxy = found_in(self.root.named_buffers())
            if proxy is not None:
                return proxy
        return attr_val

    def create_args_for_root(self, root_fn, is_module, concrete_args=None):
        """(the function to call, the arguments to call it with): a proxy for each parameter, known values for those given."""
        function = inspect.unwrap(root_fn)
        code = function.__code__
        count = code.co_argcount + code.co_kwonlyargcount
        names = code.co_varnames
        args, skip = [], 0
        if is_module:
            if count == 0:
                raise RuntimeError("``self`` argument cannot be part of *args expansion!")
            skip = 1
            args.append(self.root)
        signature = inspect.signature(function)
        if isinstance(concrete_args, tuple):
            if len(concrete_args) != count - skip:
                raise RuntimeError(
                    f"Tracing expected {count - skip} arguments but got {len(concrete_args)} concrete arguments"
                )
            concrete_args = dict(zip(names[skip:count], concrete_args))

        def parameter(name):
            if concrete_args is not None and name in concrete_args:
                return self._known_parameter(name, concrete_args[name], signature)
            default = () if name[0] == "*" else self._default(signature, name)
            kind = function.__annotations__.get(name.lstrip("*")) if name[0] != "*" else None
            return self.create_proxy("placeholder", name, default, {}, type_expr=kind)

        named = names[skip:count]
        args.extend(parameter(name) for name in named)
        if code.co_kwonlyargcount or code.co_flags & _HAS_VARIABLE:
            at = count
            if code.co_flags & inspect.CO_VARARGS:
                args.append(parameter("*" + names[at]))
                at += 1
            if code.co_flags & inspect.CO_VARKEYWORDS:
                args.append(parameter("**" + names[at]))
            function = _with_code_of(function, len(args))
        return self._of_trees(function, args, concrete_args, code, skip, count)

    def _default(self, signature, name):
        default = signature.parameters[name].default
        return () if default is inspect.Parameter.empty else (default,)

    def _known_parameter(self, name, value, signature):
        """A parameter of which concrete_args tell the value: PH in it are placeholders."""
        from weft.torch.utils import _pytree as pytree

        leaves, spec = pytree.tree_flatten(value)
        made = []
        for at, leaf in enumerate(leaves, 1):
            if isinstance(leaf, PHBase):
                proxy = self.create_proxy("placeholder", f"{name}_{at}", (), {})
                if isinstance(leaf, PHWithMeta):
                    _transfer_attrs(leaf, proxy.node)
                made.append(proxy)
                continue
            proxy = self.create_proxy("placeholder", f"{name}_{at}", self._default(signature, name), {})
            self._assert_known(name, leaf, proxy)
            made.append(leaf)
        return pytree.tree_unflatten(made, spec)

    def _assert_known(self, name, value, proxy):
        from weft import torch

        if isinstance(value, bool) or (isinstance(value, (int, float)) and value is not None):
            message = f"{name} has been specialized to have value {value} but got another value"
            self.create_proxy("call_function", torch._assert, (proxy == value, message), {})
        elif value is None:
            message = f"{name} has been specialized to have value None but got another value"
            self.create_proxy("call_function", _assert_is_none, (proxy, message), {})
        else:
            warnings.warn(
                f"Was not able to add assertion to guarantee correct input {name} to specialized function. It is up to the user to "
                "make sure that your inputs match the inputs you specialized the function with.",
                stacklevel=2,
            )

    def _of_trees(self, function, args, concrete_args, code, skip, count):
        from weft.torch.utils import _pytree as pytree

        if concrete_args is None or not any(
            isinstance(value, (tuple, list, dict)) for value in concrete_args.values()
        ):
            return function, args
        leaves, in_spec = pytree.tree_flatten(tuple(args[skip:]))
        info = _PyTreeInfo(
            list(code.co_varnames[:count]), pytree.TreeSpec(list, None, in_spec.children_specs), None
        )

        def flattened(*flat_args):
            given = pytree.tree_unflatten(list(flat_args[skip:]), in_spec)
            found, info.out_spec = pytree.tree_flatten(function(*flat_args[:skip], *given))
            return found

        flattened.__annotations__.update(function.__annotations__)
        self.graph._codegen = _PyTreeCodeGen(info)
        return flattened, args[:skip] + leaves

    def trace(self, root, concrete_args=None):
        """The graph of a module, or of a function (then self.root is an empty module with its constants)."""
        global _is_fx_tracing_flag
        before, _is_fx_tracing_flag = _is_fx_tracing_flag, True
        try:
            if isinstance(root, nn.Module):
                for module in root.modules():
                    if getattr(module, "_compiled_call_impl", None) is not None:
                        warnings.warn(
                            "symbolic tracing of a compiled module is not supported: its forward is traced",
                            stacklevel=2,
                        )
                self.root = root
                if not hasattr(type(root), self.traced_func_name):
                    raise AssertionError(
                        f"traced_func_name={self.traced_func_name} doesn't exist in {type(root).__name__}"
                    )
                function = getattr(type(root), self.traced_func_name)
                self.root_module_name = (
                    root._get_name() if hasattr(root, "_get_name") else type(root).__name__
                )
                self.submodule_paths = {module: name for name, module in root.named_modules()}
            else:
                self.root, function = nn.Module(), root
            self.graph = Graph(tracer_cls=getattr(self, "__class__", None))
            self.tensor_attrs = _ByIdentity()
            self._collect(self.root, [])
            if not isinstance(function, types.FunctionType):
                raise AssertionError(f"Expected a function, got {type(function)}")
            is_module = isinstance(root, nn.Module)
            annotations = function.__annotations__
            function, args = self.create_args_for_root(function, is_module, concrete_args)
            annotations = getattr(function, "__annotations__", annotations)
            with self._patched(function):
                result = function(*args)
                self.create_node(
                    "output", "output", (self.create_arg(result),), {}, type_expr=annotations.get("return")
                )
            self.submodule_paths = None
        finally:
            _is_fx_tracing_flag = before
        return self.graph

    def _collect(self, module, atoms):
        """Tensors that are attributes of modules, beside parameters and buffers: from each to its path."""
        for name, value in vars(module).items():
            if isinstance(value, weft.Tensor):
                self.tensor_attrs[value] = ".".join([*atoms, name])
        for name, child in module.named_children():
            self._collect(child, [*atoms, name])

    @contextlib.contextmanager
    def _patched(self, function):
        cache = {}
        plain_getattr, plain_call = nn.Module.__getattr__, nn.Module.__call__
        tracer = self

        @functools.wraps(plain_getattr)
        def module_getattr(module, name):
            return tracer.getattr(name, plain_getattr(module, name), cache)

        @functools.wraps(plain_call)
        def module_call(module, *args, **kwargs):
            def forward(*args, **kwargs):
                return plain_call(module, *args, **kwargs)

            _autowrap_check(
                patcher,
                getattr(getattr(module, "forward", module), "__globals__", {}),
                tracer._autowrap_function_ids,
            )
            return tracer.call_module(module, forward, args, kwargs)

        with _overriding.offering(), _Patcher() as patcher:
            patcher.patch_method(nn.Module, "__getattr__", module_getattr)
            patcher.patch_method(nn.Module, "__call__", module_call)
            for (_, name), scope in list(_wrapped_fns_to_patch.items()):
                if name in scope:
                    patcher.patch(scope, name, _recording(scope[name]))
                elif hasattr(builtins, name):
                    patcher.patch(scope, name, _recording(getattr(builtins, name)))
            for kind, name in _wrapped_methods_to_patch:
                patcher.patch_method(kind, name, _recording_method(kind, name))
            _autowrap_check(patcher, getattr(function, "__globals__", {}), self._autowrap_function_ids)
            for module in self._autowrap_search:
                _autowrap_check(patcher, vars(module), self._autowrap_function_ids)
            yield

    def __deepcopy__(self, memo):
        made = object.__new__(type(self))
        vars(made).update(
            {
                key: copy.deepcopy(value, memo)
                for key, value in vars(self).items()
                if key != "_autowrap_search"
            }
        )
        made._autowrap_search = copy.copy(self._autowrap_search)
        return made


class _ByIdentity:
    """Names of tensors, by which tensor it is."""

    def __init__(self):
        self.found = {}

    def get(self, tensor):
        found = self.found.get(id(tensor))
        return found[1] if found else None

    def __setitem__(self, tensor, name):
        self.found[id(tensor)] = (tensor, name)


def _transfer_attrs(source, node):
    for name in dir(source):
        if not name.startswith("__") and name not in vars(node):
            setattr(node, name, getattr(source, name))


def _assert_is_none(value, msg):
    if value is not None:
        raise AssertionError(msg)


def symbolic_trace(root, concrete_args=None):
    """A GraphModule of a module or a function: what it does when it is called with proxies."""
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = root.__class__.__name__ if isinstance(root, nn.Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
