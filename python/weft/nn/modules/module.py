"""Module: parameters, buffers and sub-modules under names, with a state that can be saved and loaded."""

import collections
import copy
import itertools

import weft


class Parameter(weft.Tensor):
    """A tensor that a Module lists among its parameters when it is assigned as an attribute.

    data: the tensor whose memory it shares. requires_grad is accepted; weft computes no gradients.
    """

    def __init__(self, data=None, requires_grad=True):
        if data is None:
            data = weft.empty((0,))
        if not isinstance(data, weft.Tensor):
            raise TypeError(f"Parameter: expected a tensor, got {type(data).__name__}")
        super().__init__(data)

    def __repr__(self):
        return "Parameter containing:\n" + super().__repr__()

    def __deepcopy__(self, memo):
        return type(self)(self.clone())


class IncompatibleKeys(collections.namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What load_state_dict did not find, and what it had no place for."""

    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()


class RemovableHandle:
    """Takes a hook away again: `handle.remove()`, or by a `with` statement."""

    _ids = itertools.count()

    def __init__(self, hooks):
        self._hooks = hooks
        self.id = next(self._ids)

    def remove(self):
        self._hooks.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()


def _indent(text, spaces=2):
    first, *rest = text.split("\n")
    return "\n".join([first, *(" " * spaces + line for line in rest)])


class Module:
    """Base of all layers and models. Derived classes assign parameters, buffers and sub-modules in `__init__` and
    define `forward`; calling the module calls `forward` between its hooks."""

    training: bool

    def __init__(self):
        super().__setattr__("training", True)
        for store in ("_parameters", "_buffers", "_modules", "_forward_hooks", "_forward_pre_hooks"):
            super().__setattr__(store, collections.OrderedDict())
        super().__setattr__("_non_persistent_buffers_set", set())

    def forward(self, *args, **kwargs):
        raise NotImplementedError(f"{type(self).__name__} has no forward()")

    def __call__(self, *args, **kwargs):
        for hook in tuple(self._forward_pre_hooks.values()):
            result = hook(self, args)
            if result is not None:
                args = result if isinstance(result, tuple) else (result,)
        output = self.forward(*args, **kwargs)
        for hook in tuple(self._forward_hooks.values()):
            result = hook(self, args, output)
            if result is not None:
                output = result
        return output

    # ---- attributes --------------------------------------------------------------------------------------
    def __setattr__(self, name, value):
        stores = self.__dict__
        if "_parameters" not in stores:
            if isinstance(value, (Parameter, Module)):
                raise AttributeError(f"{type(self).__name__}.{name} is assigned before Module.__init__() was called")
            super().__setattr__(name, value)
            return
        if isinstance(value, Parameter):
            self._forget(name)
            self._parameters[name] = value
        elif isinstance(value, Module):
            self._forget(name)
            self._modules[name] = value
        elif name in self._parameters and (value is None or isinstance(value, weft.Tensor)):
            if value is not None:
                raise TypeError(f"'{name}' is a parameter of {type(self).__name__}: expected weft.nn.Parameter or None, "
                                f"got {type(value).__name__}")
            self._parameters[name] = None
        elif name in self._modules and value is None:
            self._modules[name] = None
        elif name in self._buffers and (value is None or isinstance(value, weft.Tensor)):
            self._buffers[name] = value
        else:
            self._forget(name)
            super().__setattr__(name, value)

    def _forget(self, name):
        self.__dict__.pop(name, None)
        for store in (self._parameters, self._buffers, self._modules):
            store.pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def __getattr__(self, name):
        for store in ("_parameters", "_buffers", "_modules"):
            values = self.__dict__.get(store)
            if values is not None and name in values:
                return values[name]
        raise AttributeError(f"'{type(self).__name__}' has no attribute '{name}'")

    def __delattr__(self, name):
        for store in (self._parameters, self._buffers, self._modules):
            if name in store:
                del store[name]
                self._non_persistent_buffers_set.discard(name)
                return
        super().__delattr__(name)

    def __dir__(self):
        return sorted({*super().__dir__(), *self._parameters, *self._buffers, *self._modules})

    def _check_name(self, kind, name):
        if not isinstance(name, str):
            raise TypeError(f"{kind}: the name must be a str, got {type(name).__name__}")
        if "." in name:
            raise KeyError(f"{kind}: the name '{name}' contains a dot")
        if not name:
            raise KeyError(f"{kind}: the name is empty")
        if hasattr(self, name) and name not in {**self._parameters, **self._buffers, **self._modules}:
            raise KeyError(f"{kind}: attribute '{name}' exists already")

    def register_parameter(self, name, param):
        self._check_name("register_parameter", name)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(f"register_parameter: expected weft.nn.Parameter or None, got {type(param).__name__}")
        self._parameters[name] = param

    def register_buffer(self, name, tensor, persistent=True):
        """A tensor that is part of the state but no parameter. persistent: it is in state_dict()."""
        self._check_name("register_buffer", name)
        if tensor is not None and not isinstance(tensor, weft.Tensor):
            raise TypeError(f"register_buffer: expected a tensor or None, got {type(tensor).__name__}")
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name, module):
        self._check_name("add_module", name)
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"add_module: expected a Module or None, got {type(module).__name__}")
        self._modules[name] = module

    register_module = add_module

    # ---- what there is -----------------------------------------------------------------------------------
    def named_children(self):
        seen = set()
        for name, module in self._modules.items():
            if module is not None and id(module) not in seen:
                seen.add(id(module))
                yield name, module

    def children(self):
        for _, module in self.named_children():
            yield module

    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        memo = set() if memo is None else memo
        if id(self) in memo:
            return
        if remove_duplicate:
            memo.add(id(self))
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self):
        for _, module in self.named_modules():
            yield module

    def _named_members(self, store, prefix, recurse, remove_duplicate):
        seen = set()
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        for path, module in modules:
            for name, value in getattr(module, store).items():
                if value is None or (remove_duplicate and id(value) in seen):
                    continue
                seen.add(id(value))
                yield (f"{path}.{name}" if path else name), value

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        yield from self._named_members("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse=True):
        for _, value in self.named_parameters(recurse=recurse):
            yield value

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        yield from self._named_members("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        for _, value in self.named_buffers(recurse=recurse):
            yield value

    def get_submodule(self, target):
        module = self
        for name in target.split(".") if target else ():
            child = module._modules.get(name)
            if child is None:
                raise AttributeError(f"'{type(module).__name__}' has no sub-module '{name}'")
            module = child
        return module

    def _get_member(self, target, store, kind):
        path, _, name = target.rpartition(".")
        values = getattr(self.get_submodule(path), store)
        if name not in values:
            raise AttributeError(f"'{type(self).__name__}' has no {kind} '{target}'")
        return values[name]

    def get_parameter(self, target):
        return self._get_member(target, "_parameters", "parameter")

    def get_buffer(self, target):
        return self._get_member(target, "_buffers", "buffer")

    # ---- state -------------------------------------------------------------------------------------------
    def state_dict(self, *, destination=None, prefix="", keep_vars=False):
        """Parameters and persistent buffers by dotted name. The tensors share memory with the module's."""
        state = collections.OrderedDict() if destination is None else destination
        for name, value in self._parameters.items():
            if value is not None:
                state[prefix + name] = value if keep_vars else value.detach()
        for name, value in self._buffers.items():
            if value is not None and name not in self._non_persistent_buffers_set:
                state[prefix + name] = value
        if type(self).get_extra_state is not Module.get_extra_state:
            state[prefix + "_extra_state"] = self.get_extra_state()
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=state, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        return state

    def get_extra_state(self):
        raise NotImplementedError(f"{type(self).__name__} has no get_extra_state()")

    def set_extra_state(self, state):
        raise NotImplementedError(f"{type(self).__name__} has no set_extra_state()")

    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Copies (assign: puts) the tensors of `state_dict` into the module.

        strict: every key must match. Nothing is changed when an error is raised.
        Returns: IncompatibleKeys(missing_keys, unexpected_keys).
        Raises: RuntimeError naming every missing and unexpected key and every shape that differs.
        """
        if not hasattr(state_dict, "items"):
            raise TypeError(f"load_state_dict: expected a dictionary, got {type(state_dict).__name__}")
        targets = {}
        extra = {}
        for path, module in self.named_modules(remove_duplicate=False):
            prefix = f"{path}." if path else ""
            for name, value in module._parameters.items():
                if value is not None:
                    targets[prefix + name] = (module._parameters, name)
            for name, value in module._buffers.items():
                if value is not None and name not in module._non_persistent_buffers_set:
                    targets[prefix + name] = (module._buffers, name)
            if type(module).set_extra_state is not Module.set_extra_state:
                extra[prefix + "_extra_state"] = module
        missing = [key for key in (*targets, *extra) if key not in state_dict]
        unexpected = [key for key in state_dict if key not in targets and key not in extra]
        errors = []
        for key, (store, name) in targets.items():
            value = state_dict.get(key)
            if value is None:
                continue
            if not isinstance(value, weft.Tensor):
                errors.append(f"{key}: expected a tensor, got {type(value).__name__}")
            elif tuple(value.shape) != tuple(store[name].shape):
                errors.append(f"{key}: expected shape {list(store[name].shape)}, got {list(value.shape)}")
        if strict and missing:
            errors.append("missing keys: " + ", ".join(missing))
        if strict and unexpected:
            errors.append("unexpected keys: " + ", ".join(unexpected))
        if errors:
            raise RuntimeError(f"load_state_dict of {type(self).__name__}:\n  " + "\n  ".join(errors))
        for key, (store, name) in targets.items():
            if key not in state_dict:
                continue
            if assign:
                store[name] = Parameter(state_dict[key]) if isinstance(store[name], Parameter) else state_dict[key]
            else:
                store[name].copy_(state_dict[key])
        for key, module in extra.items():
            if key in state_dict:
                module.set_extra_state(state_dict[key])
        return IncompatibleKeys(missing, unexpected)

    # ---- changes -----------------------------------------------------------------------------------------
    def _apply(self, function):
        for module in self.modules():
            for name, value in module._parameters.items():
                if value is not None:
                    module._parameters[name] = Parameter(function(value))
            for name, value in module._buffers.items():
                if value is not None:
                    module._buffers[name] = function(value)
        return self

    def apply(self, function):
        """Calls function(module) for every sub-module, then for itself."""
        for module in self.children():
            module.apply(function)
        function(self)
        return self

    def to(self, *args, **kwargs):
        """to(dtype), to(device), to(tensor): floating-point parameters and buffers get the dtype."""
        kwargs.pop("non_blocking", None)
        dtype, device = kwargs.pop("dtype", None), kwargs.pop("device", None)
        if kwargs:
            raise TypeError(f"to: unexpected arguments {sorted(kwargs)}")
        for value in args:
            if isinstance(value, weft.dtype):
                dtype = value
            elif isinstance(value, weft.Tensor):
                dtype, device = value.dtype, value.device
            else:
                device = value
        if dtype is not None and not weft.empty((0,), dtype=dtype).is_floating_point():
            raise TypeError(f"to: expected a floating-point dtype, got {dtype}")
        if device is not None and str(device) != "cpu":
            weft.empty((0,), device=device)  # says why it cannot be used

        def convert(value):
            if device is not None:
                value = value.to(device)
            return value.to(dtype) if dtype is not None and value.is_floating_point() else value

        return self._apply(convert)

    def float(self):
        return self.to(weft.float32)

    def double(self):
        return self.to(weft.float64)

    def half(self):
        return self.to(weft.float16)

    def bfloat16(self):
        return self.to(weft.bfloat16)

    def cpu(self):
        return self

    def train(self, mode=True):
        if not isinstance(mode, bool):
            raise TypeError(f"train: expected a bool, got {type(mode).__name__}")
        for module in self.modules():
            module.training = mode
        return self

    def eval(self):
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        """Accepted for PyTorch's sake: weft computes no gradients."""
        return self

    def zero_grad(self, set_to_none=True):
        """Accepted for PyTorch's sake: weft computes no gradients."""

    def share_memory(self):
        return self

    # ---- hooks -------------------------------------------------------------------------------------------
    def register_forward_pre_hook(self, hook):
        """hook(module, args) is called before forward; what it returns, unless None, replaces the arguments."""
        handle = RemovableHandle(self._forward_pre_hooks)
        self._forward_pre_hooks[handle.id] = hook
        return handle

    def register_forward_hook(self, hook):
        """hook(module, args, output) is called after forward; what it returns, unless None, replaces the output."""
        handle = RemovableHandle(self._forward_hooks)
        self._forward_hooks[handle.id] = hook
        return handle

    # ---- as text -----------------------------------------------------------------------------------------
    def extra_repr(self):
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
        for name, value in self.__dict__.items():
            result.__dict__[name] = copy.deepcopy(value, memo)
        return result


def clones(module, count):
    """`count` independent copies of a module, as a list."""
    return [copy.deepcopy(module) for _ in range(count)]
