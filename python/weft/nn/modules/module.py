"""Module: parameters, buffers and sub-modules under names; what every layer and model derives from."""

import collections
import copy
import inspect

import weft
from weft.nn.parameter import Buffer, PackedWeight, Parameter

from .conversion import Once, dtype_of, parse_to
from .hooks import Hooks, RemovableHandle, call_with_hooks
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
    _weft_own_call_impl = False  # has a class, or an instance, another _call_impl than this one?
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

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls._weft_own_call_impl = cls._call_impl is not Module._call_impl

    def forward(self, *args, **kwargs):
        raise NotImplementedError(f"{type(self).__name__} has no forward()")

    def __call__(self, *args, **kwargs):
        if _while_traced is not None:
            return _while_traced(self, args, kwargs)
        if self._compiled_call_impl is not None:
            return self._compiled_call_impl(*args, **kwargs)
        if self._weft_own_call_impl:
            return self._call_impl(*args, **kwargs)
        if self._forward_pre_hooks or self._forward_hooks:
            return call_with_hooks(self, args, kwargs)
        return self.forward(*args, **kwargs)

    def _wrapped_call_impl(self, *args, **kwargs):
        return self(*args, **kwargs)

    def _call_impl(self, *args, **kwargs):
        if self._forward_pre_hooks or self._forward_hooks:
            return call_with_hooks(self, args, kwargs)
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
            _forget(self, name, self._parameters)
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            _forget(self, name, self._modules)
            self._modules[name] = _registered("module", self, name, value)
        elif isinstance(value, Buffer):
            _forget(self, name, self._buffers)
            self.register_buffer(name, value, value.persistent)
        elif name in self._parameters:
            _check_kind(self, name, value, "parameter", "weft.nn.Parameter", PackedWeight)
            self.register_parameter(name, value)
        elif name in self._modules:
            _check_kind(self, name, value, "child module", "weft.nn.Module", ())
            self._modules[name] = _registered("module", self, name, value)
        elif name in self._buffers:
            _check_kind(self, name, value, "buffer", "weft.Tensor", weft.Tensor)
            _set_buffer(self, name, value)
        else:
            super().__setattr__(name, value)
            if name == "_call_impl":
                stores["_weft_own_call_impl"] = True

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

    def register_parameter(self, name, param):
        """A parameter of this name; None keeps the name for one that is not there."""
        _check_name(self, "register_parameter", name, "_parameters")
        if param is not None and not isinstance(param, (Parameter, PackedWeight)):
            raise TypeError(
                f"register_parameter: expected weft.nn.Parameter or None for '{name}', got {type(param).__name__}"
            )
        self._parameters[name] = _registered("parameter", self, name, param)

    def register_buffer(self, name, tensor, persistent=True):
        """A tensor that is part of the state but no parameter. persistent: it is in state_dict()."""
        _check_name(self, "register_buffer", name, "_buffers")
        is_tensor = isinstance(tensor, weft.Tensor) or hasattr(type(tensor), "__weft_operator__")
        if tensor is not None and not is_tensor:
            raise TypeError(
                f"register_buffer: expected a tensor or None for '{name}', got {type(tensor).__name__}"
            )
        self._buffers[name] = _registered("buffer", self, name, tensor)
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
        _check_name(self, "add_module", name, "_modules")
        self._modules[name] = _registered("module", self, name, module)

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

    def get_parameter(self, target):
        """The parameter of a dotted name. AttributeError where there is none."""
        return _member(self, target, "_parameters", "parameter")

    def get_buffer(self, target):
        """The buffer of a dotted name. AttributeError where there is none."""
        return _member(self, target, "_buffers", "buffer")

    # ---- changes -----------------------------------------------------------------------------------------
    def _apply(self, fn, recurse=True):
        """Replaces every parameter and buffer by fn(it); what is shared stays shared. The modules in this one do that
        themselves."""
        fn = fn if isinstance(fn, Once) else Once(fn)
        if recurse:
            for module in self.children():
                module._apply(fn)
        for store in (self._parameters, self._buffers):
            for name, value in store.items():
                if value is not None:
                    store[name] = fn.in_place_of(value)
        return self

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
        device, dtype = parse_to(*args, **kwargs)

        def convert(value):
            if device is not None and str(value.device) != str(device):
                value = value.to(device)
            if dtype is None or value.dtype == dtype or not (value.is_floating_point() or value.is_complex()):
                return value
            return value.to(dtype)

        return self._apply(convert)

    def type(self, dst_type):
        """Every parameter and buffer, integers too, gets the dtype."""
        dtype = dtype_of(dst_type)
        return self._apply(lambda value: value.to(dtype))

    def to_empty(self, *, device=None, recurse=True):
        """Every parameter and buffer gets new memory, not initialized."""
        return self._apply(
            lambda value: weft.empty(
                tuple(value.shape), dtype=value.dtype, device=value.device if device is None else device
            ),
            recurse,
        )

    def float(self):
        return _to_floating(self, weft.float32)

    def double(self):
        return _to_floating(self, weft.float64)

    def half(self):
        return _to_floating(self, weft.float16)

    def bfloat16(self):
        return _to_floating(self, weft.bfloat16)

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

    def __getstate__(self):
        """Copies and pickles are not compiled."""
        return {name: value for name, value in self.__dict__.items() if name != "_compiled_call_impl"}

    def __setstate__(self, state):
        self.__dict__.update(state)


# What helps the methods: functions, which no attribute of a module hides.
def _forget(module, name, kept):
    """Whatever has the name elsewhere than in the store `kept` gives it up."""
    module.__dict__.pop(name, None)
    for store in (module._parameters, module._buffers, module._modules):
        if store is not kept:
            store.pop(name, None)
    module._non_persistent_buffers_set.discard(name)


def _check_kind(module, name, value, kind, expected, classes):
    if value is not None and not isinstance(value, classes):
        raise TypeError(
            f"'{name}' is a {kind} of {type(module).__name__}: expected {expected} or None, got {type(value).__name__}"
        )


def _check_name(module, kind, name, store):
    if store not in module.__dict__:
        raise AttributeError(f"{kind}: Module.__init__() was not called")
    if not isinstance(name, str):
        raise TypeError(f"{kind}: the name must be a str, got {type(name).__name__}")
    if "." in name:
        raise KeyError(f"{kind}: the name '{name}' contains a dot")
    if not name:
        raise KeyError(f"{kind}: the name is empty")
    if hasattr(module, name) and name not in getattr(module, store):
        raise KeyError(f"{kind}: {type(module).__name__} has an attribute '{name}' already")


def _set_buffer(module, name, value):
    """Another tensor for a buffer: by register_buffer() where a class or a hook wants to know."""
    if type(module).register_buffer is _register_buffer and not _registration_hooks["buffer"]:
        module._buffers[name] = value
        return
    persistent = name not in module._non_persistent_buffers_set
    if "persistent" in inspect.signature(module.register_buffer).parameters:
        module.register_buffer(name, value, persistent)
    elif persistent:
        module.register_buffer(name, value)
    else:
        raise RuntimeError(
            f"'{name}' is no persistent buffer of {type(module).__name__}, whose register_buffer() has no `persistent`"
        )


def _member(module, target, store, kind):
    path, _, name = target.rpartition(".")
    owner = module.get_submodule(path)
    if name not in getattr(owner, store):
        raise AttributeError(f"'{target}': {owner._get_name()} has no {kind} '{name}'")
    return getattr(owner, store)[name]


def _to_floating(module, dtype):
    return module._apply(
        lambda value: value.to(dtype) if value.is_floating_point() and value.dtype != dtype else value
    )


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

_registration_hooks = {kind: collections.OrderedDict() for kind in ("buffer", "module", "parameter")}
_register_buffer = Module.register_buffer


def _registered(kind, module, name, value):
    """What the hooks of all modules make of what is registered."""
    hooks = _registration_hooks[kind]
    if hooks:
        for hook in tuple(hooks.values()):
            result = hook(module, name, value)
            value = value if result is None else result
    return value


def _register_registration(kind, hook):
    hooks = _registration_hooks[kind]
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


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
