"""Module: parameters, buffers and sub-modules under names; what every layer and model derives from."""

import collections
import copy
import functools

import weft
from weft.nn.parameter import Buffer, Parameter, is_lazy

from .hooks import Hooks, RemovableHandle
from .state import IncompatibleKeys, State

__all__ = ["Buffer", "IncompatibleKeys", "Module", "Parameter", "RemovableHandle"]


def _indent(text, spaces=2):
    first, *rest = text.split("\n")
    return "\n".join([first, *(" " * spaces + line for line in rest)])


# What calls modules while a thread traces. A name and not a method in the class's place: Python 3.13 knows a class that has
# changed a thousand times from no other, and compiled functions ask it.
_while_traced = None


class Module(State, Hooks):
    """Base of all layers and models. Derived classes assign parameters, buffers and sub-modules in `__init__` and
    define `forward`; calling the module calls `forward` between its hooks.

    training: train() and eval() set it, here and in all sub-modules. Dropout draws random numbers in training mode.
    """

    training: bool
    _compiled_call_impl = None  # of an instance whose compile() was called
    call_super_init = False  # may a class derived from others as well pass arguments on to them?
    dump_patches = False
    T_destination = dict

    def __init__(self, *args, **kwargs):
        if (args or kwargs) and not self.call_super_init:
            raise TypeError(
                f"{type(self).__name__}.__init__() takes no arguments of Module: got {len(args) + len(kwargs)}"
            )
        put = super().__setattr__
        put("training", True)
        for store in ("_parameters", "_buffers", "_modules"):
            put(store, {})
        put("_non_persistent_buffers_set", set())
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def forward(self, *args, **kwargs):
        raise NotImplementedError(f"{type(self).__name__} has no forward()")

    def __call__(self, *args, **kwargs):
        if _while_traced is not None:
            return _while_traced(self, args, kwargs)
        if self._compiled_call_impl is not None:
            return self._compiled_call_impl(*args, **kwargs)
        if self._forward_pre_hooks or self._forward_hooks:
            return self._call_with_hooks(args, kwargs)
        return self.forward(*args, **kwargs)

    def _wrapped_call_impl(self, *args, **kwargs):
        return self(*args, **kwargs)

    def _call_impl(self, *args, **kwargs):
        if self._forward_pre_hooks or self._forward_hooks:
            return self._call_with_hooks(args, kwargs)
        return self.forward(*args, **kwargs)

    def compile(self, **options):
        """Compiles the calls of this module in place; the options are those of weft.compile."""
        self.__dict__["_compiled_call_impl"] = weft.compile(self._call_impl, **options)

    # ---- attributes --------------------------------------------------------------------------------------
    def __setattr__(self, name, value):
        stores = self.__dict__
        if "_parameters" not in stores:
            if isinstance(value, (Parameter, Buffer, Module)):
                raise AttributeError(
                    f"{type(self).__name__}.{name} is assigned before Module.__init__() was called"
                )
            super().__setattr__(name, value)
        elif isinstance(value, Parameter):
            self._take(self._parameters, name, value)
        elif isinstance(value, Module):
            self._take(self._modules, name, value)
        elif isinstance(value, Buffer):
            self._take(self._buffers, name, value)
            if not value.persistent:
                self._non_persistent_buffers_set.add(name)
        elif name in self._parameters:
            self._assign(self._parameters, name, value, "parameter", "weft.nn.Parameter", ())
        elif name in self._modules:
            self._assign(self._modules, name, value, "child module", "weft.nn.Module", ())
        elif name in self._buffers:
            self._assign(self._buffers, name, value, "buffer", "weft.Tensor", weft.Tensor)
        else:
            super().__setattr__(name, value)

    def _assign(self, store, name, value, kind, expected, classes):
        if value is not None and not isinstance(value, classes):
            raise TypeError(
                f"'{name}' is a {kind} of {type(self).__name__}: expected {expected} or None, got {type(value).__name__}"
            )
        store[name] = value

    def _take(self, store, name, value):
        """Puts the value into a store, whatever had the name before."""
        self.__dict__.pop(name, None)
        for other in (self._parameters, self._buffers, self._modules):
            if other is not store:
                other.pop(name, None)
        self._non_persistent_buffers_set.discard(name)
        store[name] = value

    def __getattr__(self, name):
        stores = self.__dict__
        if "_modules" in stores:  # as soon as Module.__init__() was called
            values = stores["_parameters"]
            if name in values:
                return values[name]
            values = stores["_modules"]
            if name in values:
                return values[name]
            values = stores["_buffers"]
            if name in values:
                return values[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __delattr__(self, name):
        for store in (self._parameters, self._buffers, self._modules):
            if name in store:
                del store[name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self):
        names = {*super().__dir__(), *self._parameters, *self._buffers, *self._modules}
        return sorted(name for name in names if name.isidentifier())

    def _check_name(self, kind, name, store):
        if store not in self.__dict__:
            raise AttributeError(f"{kind}: Module.__init__() was not called")
        if not isinstance(name, str):
            raise TypeError(f"{kind}: the name must be a str, got {type(name).__name__}")
        if "." in name:
            raise KeyError(f"{kind}: the name '{name}' contains a dot")
        if not name:
            raise KeyError(f"{kind}: the name is empty")
        if hasattr(self, name) and name not in getattr(self, store):
            raise KeyError(f"{kind}: {type(self).__name__} has an attribute '{name}' already")

    def register_parameter(self, name, param):
        """A parameter of this name; None keeps the name for one that is not there."""
        self._check_name("register_parameter", name, "_parameters")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"register_parameter: expected weft.nn.Parameter or None for '{name}', got {type(param).__name__}"
            )
        self._parameters[name] = param

    def register_buffer(self, name, tensor, persistent=True):
        """A tensor that is part of the state but no parameter. persistent: it is in state_dict()."""
        self._check_name("register_buffer", name, "_buffers")
        is_tensor = isinstance(tensor, weft.Tensor) or hasattr(type(tensor), "__weft_operator__")
        if tensor is not None and not is_tensor:
            raise TypeError(
                f"register_buffer: expected a tensor or None for '{name}', got {type(tensor).__name__}"
            )
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name, module):
        """A sub-module of this name; None keeps the name for one that is not there."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(
                f"add_module: expected a Module or None for '{name}', got {type(module).__name__}"
            )
        self._check_name("add_module", name, "_modules")
        self._modules[name] = module

    def register_module(self, name, module):
        """add_module under another name."""
        self.add_module(name, module)

    # ---- what there is -----------------------------------------------------------------------------------
    def named_children(self):
        """(name, module) of the modules directly in this one; one that has two names comes once."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self):
        for _, module in self.named_children():
            yield module

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        """(dotted name, module) of this module and all in it. remove_duplicate: one with two names comes once."""
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                path = f"{prefix}.{name}" if prefix else name
                # A loop is captured by every Python, `yield from` is not.
                for found in module.named_modules(memo, path, remove_duplicate):  # noqa: UP028
                    yield found

    def modules(self):
        for _, module in self.named_modules():
            yield module

    def _named_members(self, get_members_fn, prefix="", recurse=True, remove_duplicate=True):
        seen = set()
        modules = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else [(prefix, self)]
        )
        for path, module in modules:
            for name, value in get_members_fn(module):
                if value is None or value in seen:
                    continue
                if remove_duplicate:
                    seen.add(value)
                yield (f"{path}.{name}" if path else name), value

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        """(dotted name, parameter). recurse: of the modules in this one too."""
        return self._named_members(
            lambda module: module._parameters.items(), prefix, recurse, remove_duplicate
        )

    def parameters(self, recurse=True):
        for _, value in self.named_parameters(recurse=recurse):
            yield value

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        """(dotted name, buffer). recurse: of the modules in this one too."""
        return self._named_members(lambda module: module._buffers.items(), prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        for _, value in self.named_buffers(recurse=recurse):
            yield value

    def get_submodule(self, target):
        """The module of a dotted name; "" is this one. AttributeError where there is none."""
        module = self
        for name in target.split(".") if target else ():
            if not hasattr(module, name):
                raise AttributeError(f"'{target}': {module._get_name()} has no sub-module '{name}'")
            module = getattr(module, name)
            if not isinstance(module, Module):
                raise AttributeError(f"'{target}': '{name}' is not a module but {type(module).__name__}")
        return module

    def set_submodule(self, target, module):
        """Puts a module in the place of the one of this dotted name."""
        if not target:
            raise ValueError("set_submodule: expected a name, got an empty one")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        parent.get_submodule(name)
        setattr(parent, name, module)

    def _get_member(self, target, store, kind):
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        if name not in getattr(module, store):
            raise AttributeError(f"'{target}': {module._get_name()} has no {kind} '{name}'")
        return getattr(module, store)[name]

    def get_parameter(self, target):
        """The parameter of a dotted name. AttributeError where there is none."""
        return self._get_member(target, "_parameters", "parameter")

    def get_buffer(self, target):
        """The buffer of a dotted name. AttributeError where there is none."""
        return self._get_member(target, "_buffers", "buffer")

    # ---- changes -----------------------------------------------------------------------------------------
    def _apply(self, fn, recurse=True):
        """Replaces every parameter and buffer by fn(it); what is shared stays shared."""
        done = {}

        def replaced(value):
            if id(value) not in done:
                new = value if is_lazy(value) else fn(value)
                if new is not value and isinstance(value, Parameter) and not isinstance(new, Parameter):
                    new = Parameter(new, value.requires_grad)
                done[id(value)] = (new, value)
            return done[id(value)][0]

        for module in self.modules() if recurse else [self]:
            for store in (module._parameters, module._buffers):
                for name, value in store.items():
                    if value is not None:
                        store[name] = replaced(value)
            module._tensors_replaced()
        return self

    def _tensors_replaced(self):
        """For modules that keep their parameters in another place too."""

    def apply(self, fn):
        """Calls fn(module) for every sub-module, then for itself."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def to(self, *args, **kwargs):
        """to(dtype), to(device), to(device, dtype), to(tensor): floating-point parameters and buffers get the dtype.

        Raises: TypeError for a dtype that is not floating-point; what Tensor.to raises for a device that is not there.
        """
        device, dtype = _parse_to(*args, **kwargs)

        def convert(value):
            if device is not None and str(value.device) != str(device):
                value = value.to(device)
            if dtype is None or value.dtype == dtype or not (value.is_floating_point() or value.is_complex()):
                return value
            return value.to(dtype)

        return self._apply(convert)

    def type(self, dst_type):
        """Every parameter and buffer, integers too, gets the dtype."""
        dtype = _dtype_of(dst_type)
        return self._apply(lambda value: value.to(dtype))

    def to_empty(self, *, device=None, recurse=True):
        """Every parameter and buffer gets new memory, not initialized."""
        return self._apply(
            lambda value: weft.empty(
                tuple(value.shape), dtype=value.dtype, device=value.device if device is None else device
            ),
            recurse,
        )

    def _to_floating(self, dtype):
        return self._apply(
            lambda value: value.to(dtype) if value.is_floating_point() and value.dtype != dtype else value
        )

    def float(self):
        return self._to_floating(weft.float32)

    def double(self):
        return self._to_floating(weft.float64)

    def half(self):
        return self._to_floating(weft.float16)

    def bfloat16(self):
        return self._to_floating(weft.bfloat16)

    def cpu(self):
        return self.to("cpu")

    def cuda(self, device=None):
        return self.to(
            "cuda" if device is None else weft.device("cuda", device) if isinstance(device, int) else device
        )

    def xpu(self, device=None):
        return self.to("xpu" if device is None or isinstance(device, int) else device)

    def mtia(self, device=None):
        return self.to("mtia" if device is None or isinstance(device, int) else device)

    def ipu(self, device=None):
        return self.to("ipu" if device is None or isinstance(device, int) else device)

    def train(self, mode=True):
        """Sets `training` here and in all modules in this one."""
        if not isinstance(mode, bool):
            raise ValueError(f"train: expected a bool, got {type(mode).__name__}")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        """Sets the flag of every parameter; weft computes no gradients."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        """There are no gradients to forget."""

    def share_memory(self):
        return self

    # ---- as text, copies ---------------------------------------------------------------------------------
    def extra_repr(self):
        """What the module's text says of it beside its sub-modules."""
        return ""

    def _get_name(self):
        return type(self).__name__

    def __repr__(self):
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {_indent(repr(module))}" for name, module in self._modules.items()]
        if not children and len(lines) <= 1:
            return f"{self._get_name()}({extra})"
        return f"{self._get_name()}(\n  " + "\n  ".join([*lines, *children]) + "\n)"

    def __deepcopy__(self, memo):
        result = type(self).__new__(type(self))
        memo[id(self)] = result
        for name, value in self.__getstate__().items():
            result.__dict__[name] = copy.deepcopy(value, memo)
        return result

    def __getstate__(self):
        """Copies and pickles are not compiled."""
        return {name: value for name, value in self.__dict__.items() if name != "_compiled_call_impl"}


def _parse_to(*args, **kwargs):
    """(device, dtype) of the arguments of Module.to, None for what is not given."""
    kwargs.pop("non_blocking", None)
    memory_format = kwargs.pop("memory_format", None)
    if memory_format is not None and not any(args) and not kwargs:
        return None, None  # the order of elements in memory: weft chooses its own
    device, dtype = kwargs.pop("device", None), kwargs.pop("dtype", None)
    if kwargs:
        raise TypeError(f"to: unexpected arguments {sorted(kwargs)}")
    for value in args:
        if isinstance(value, weft.Tensor):
            device, dtype = value.device, value.dtype
        elif isinstance(value, weft.dtype):
            dtype = value
        elif isinstance(value, (str, weft.device)):
            device = value
        elif value is not None and not isinstance(value, bool):
            raise TypeError(f"to: expected a device, a dtype or a tensor, got {type(value).__name__}")
    if dtype is not None:
        sample = weft.empty((0,), dtype=dtype)
        if not (sample.is_floating_point() or sample.is_complex()):
            raise TypeError(f"to: expected a floating-point dtype, got {dtype}")
    if device is not None and str(device) != "cpu":
        weft.empty((0,), device=device)  # says why it cannot be used
    return device, dtype


def _dtype_of(kind):
    """The dtype that Module.type is given: a dtype, or a class of tensors by its name ("torch.HalfTensor")."""
    if isinstance(kind, weft.dtype):
        return kind
    name = (kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))).rpartition(".")[2]
    named = {
        "FloatTensor": weft.float32,
        "DoubleTensor": weft.float64,
        "HalfTensor": weft.float16,
        "BFloat16Tensor": weft.bfloat16,
        "LongTensor": weft.int64,
        "IntTensor": weft.int32,
    }
    if name not in named:
        raise ValueError(f"type: expected a dtype, got {kind!r}")
    return named[name]


# ---- hooks of all modules ----------------------------------------------------------------------------------------
_global_forward_pre_hooks = collections.OrderedDict()
_global_forward_hooks = collections.OrderedDict()
_plain_call = Module.__call__


def _call_with_global_hooks(self, *args, **kwargs):
    """Module.__call__ while there are hooks of all modules: they run before the module's own."""
    for hook in tuple(_global_forward_pre_hooks.values()):
        result = hook(self, args)
        if result is not None:
            args = result if isinstance(result, tuple) else (result,)
    output = _plain_call(self, *args, **kwargs)
    for hook in tuple(_global_forward_hooks.values()):
        result = hook(self, args, output)
        output = output if result is None else result
    return output


class _GlobalHandle(RemovableHandle):
    def remove(self):
        super().remove()
        if not _global_forward_hooks and not _global_forward_pre_hooks:
            Module.__call__ = _plain_call


def _register(hooks, hook):
    handle = _GlobalHandle(hooks)
    hooks[handle.id] = hook
    Module.__call__ = _call_with_global_hooks
    return handle


def register_module_forward_pre_hook(hook):
    """hook(module, args) before every module's forward; see Module.register_forward_pre_hook."""
    return _register(_global_forward_pre_hooks, hook)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """hook(module, args, output) after every module's forward; see Module.register_forward_hook."""
    return _register(_global_forward_hooks, hook)


def _never_called(hook):
    return RemovableHandle({})


# Accepted, but never called: weft computes no gradients.
register_module_backward_hook = _never_called
register_module_full_backward_hook = _never_called
register_module_full_backward_pre_hook = _never_called

_global_registration_hooks = {kind: collections.OrderedDict() for kind in ("buffer", "module", "parameter")}


def _register_registration(kind, hook):
    if not _global_registration_hooks["buffer"] and not hasattr(Module, "_plain_registrations"):
        _watch_registrations()
    hooks = _global_registration_hooks[kind]
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


def _watch_registrations():
    """Module's methods call the hooks from now on."""
    Module._plain_registrations = True
    for kind, method in (
        ("buffer", "register_buffer"),
        ("module", "add_module"),
        ("parameter", "register_parameter"),
    ):
        setattr(Module, method, _watched(kind, getattr(Module, method)))


def _watched(kind, plain):
    @functools.wraps(plain)
    def register(self, name, value, *args, **kwargs):
        for hook in tuple(_global_registration_hooks[kind].values()):
            result = hook(self, name, value)
            value = value if result is None else result
        return plain(self, name, value, *args, **kwargs)

    return register


def register_module_buffer_registration_hook(hook):
    """hook(module, name, buffer) when a buffer is registered; what it returns, unless None, takes its place."""
    return _register_registration("buffer", hook)


def register_module_module_registration_hook(hook):
    """The same for sub-modules that add_module registers."""
    return _register_registration("module", hook)


def register_module_parameter_registration_hook(hook):
    """The same for parameters that register_parameter registers."""
    return _register_registration("parameter", hook)


# Under the names that programs import.
_IncompatibleKeys = IncompatibleKeys
_EXTRA_STATE_KEY_SUFFIX = "_extra_state"


def _addindent(s_, numSpaces):
    return _indent(s_, numSpaces)


def clones(module, count):
    """`count` independent copies of a module, as a list."""
    return [copy.deepcopy(module) for _ in range(count)]
