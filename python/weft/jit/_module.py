"""Modules and objects of TorchScript in Python."""

import collections.abc
import inspect
import types
import weakref

from weft._C import _jit
from weft.nn import Module, Parameter

from ._saving import write, written
from ._values import Future, ScriptFunction


class _Store(collections.abc.MutableMapping):
    """The parameters, buffers or sub-modules of a script module, as the dictionaries of weft.nn.Module."""

    def __init__(self, c, kind):
        self._c = c
        self._kind = kind

    def __iter__(self):
        return iter(self._c.names(self._kind))

    def __len__(self):
        return len(self._c.names(self._kind))

    def __contains__(self, name):
        return isinstance(name, str) and self._c.has_kind(name, self._kind)

    def __getitem__(self, name):
        if name not in self:
            raise KeyError(name)
        return self._c.attribute(name)

    def __setitem__(self, name, value):
        if name not in self:
            raise KeyError(
                f"{self._c.type_name} has no {self._kind} '{name}', and a script module cannot get one"
            )
        self._c.set_attribute(name, value)

    def __delitem__(self, name):
        raise TypeError(f"the {self._kind} '{name}' of a script module cannot be deleted")

    def __repr__(self):
        return repr(dict(self))


class _ModuleStore(_Store):
    """Gives the same object for the same sub-module as long as the module lives."""

    def __init__(self, c):
        super().__init__(c, "module")
        self._known = {}

    def __getitem__(self, name):
        module = self._known[name] = super().__getitem__(name)
        return module


class _TensorStore(_Store):
    """Gives the same object for the same tensor as long as the module lives."""

    def __init__(self, c, kind):
        super().__init__(c, kind)
        self._known = {}

    def __getitem__(self, name):
        if name not in self:
            raise KeyError(name)
        key = self._c.tensor_key(name)
        known = self._known.get(name)
        if known is None or known[0] != key:
            self._known[name] = known = (key, self._make(self._c.attribute(name), key))
        return known[1]

    def _make(self, tensor, key):
        if tensor is None:
            return None
        shared = _tensors.get(key)
        if shared is None or isinstance(shared, Parameter) != (self._kind == "parameter"):
            shared = _tensors[key] = Parameter(tensor) if self._kind == "parameter" else tensor
        return shared


# Tensors that Python holds, by the address of what they refer to; modules by that of their object.
_tensors = weakref.WeakValueDictionary()
_wrappers = weakref.WeakValueDictionary()


def wrap(c):
    """The Python object of a TorchScript object; there is one at a time."""
    known = _wrappers.get(c.address)
    if known is None:
        known = _wrappers[c.address] = RecursiveScriptModule._weft_of(c) if c.is_module else ScriptObject(c)
    return known


# What the extension makes of values (python/bindings/jit_values.cc).
wrap_object = wrap
wrap_function = ScriptFunction
wrap_future = Future._of


class ScriptMethod:
    """A method of a script module, bound to it."""

    def __init__(self, c, name):
        self._module = c
        self.name = name

    def __call__(self, *args, **kwargs):
        if self.name == "forward":
            return self._module(*args, **kwargs)
        return self._module.call_method(self.name, *args, **kwargs)

    def _weft_fork(self, args, kwargs):
        return _jit.fork_method(self._module, self.name, *args, **kwargs)

    @property
    def _function(self):
        return ScriptFunction(self._module.method(self.name))

    @property
    def schema(self):
        return self._function.schema

    @property
    def code(self):
        """TorchScript source of the method, as an archive holds it."""
        return self._function.code

    @property
    def graph(self):
        """The graph that the compiler made, as text."""
        return self._function.graph

    @property
    def inlined_graph(self):
        return self._function.inlined_graph

    def __repr__(self):
        return f"<weft.jit.ScriptMethod {self.schema}>"


def _is_packed(c):
    """Is it of one of PyTorch's classes of C++, whose attributes nobody sees?"""
    return c.type_name.startswith("__torch__.torch.classes.")


def _shows(c, name):
    return not _is_packed(c) and c.has_attribute(name)


class ScriptObject:
    """An object of a class that is not a module. Attributes and methods by name."""

    def __init__(self, c):
        object.__setattr__(self, "_c", c)

    def __getattr__(self, name):
        if name == "_c":
            raise AttributeError(name)
        if self._c.has_method(name):
            return ScriptMethod(self._c, name)
        if _shows(self._c, name):
            return self._c.attribute(name)
        if self._c.has_method(f"__get_{name}"):
            return self._c.call_method(f"__get_{name}")
        raise AttributeError(f"'{self._c.type_name}' has no attribute '{name}'")

    def __setattr__(self, name, value):
        if self._c.has_method(f"__set_{name}"):
            self._c.call_method(f"__set_{name}", value)
            return
        if not _shows(self._c, name):
            raise AttributeError(f"'{self._c.type_name}' has no attribute '{name}'")
        self._c.set_attribute(name, value)

    def __dir__(self):
        attributes = [] if _is_packed(self._c) else self._c.names("attribute")
        return sorted({*super().__dir__(), *self._c.method_names(), *attributes})

    def __deepcopy__(self, memo):
        if _is_packed(self._c):
            return self  # packed weights, which do not change
        raise TypeError(f"deepcopy: an object of {self._c.type_name} belongs to its program")

    def __getstate__(self):
        if not _is_packed(self._c):
            raise TypeError(f"pickle: an object of {self._c.type_name} belongs to its program")
        return self._c.packed_state(), self._c.type_name  # as PyTorch pickles it

    def __setstate__(self, state):
        object.__setattr__(self, "_c", _jit.packed_object(state[1], state[0])._c)

    def __repr__(self):
        return f"<weft.jit.ScriptObject of {self._c.type_name}>"


def _delegate(name):
    def method(self, *args):
        if not self._c.has_method(name):
            raise TypeError(f"'{self._c.type_name}' has no method '{name}'")
        return self._c.call_method(name, *args)

    method.__name__ = name
    return method


# Methods that Python looks up on the class.
for _name in (
    "len",
    "getitem",
    "setitem",
    "delitem",
    "contains",
    "call",
    "int",
    "float",
    "lt",
    "le",
    "gt",
    "ge",
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "neg",
    "and",
    "or",
    "xor",
    "matmul",
):
    setattr(ScriptObject, f"__{_name}__", _delegate(f"__{_name}__"))


class _ScriptMeta(type):
    """Compiles an object of a class derived from ScriptModule when its __init__ is done."""

    def __call__(cls, *args, **kwargs):
        module = super().__call__(*args, **kwargs)
        if "_c" not in module.__dict__:
            module._weft_compile()
        return module


class ScriptModule(Module, metaclass=_ScriptMeta):
    """A compiled module: `module(x)` runs its forward(), without Python's interpreter lock. Parameters, buffers,
    sub-modules and methods are found by name and listed as those of a weft.nn.Module are; the set of attributes and
    their types are fixed.

    As a base class: `__init__` sets attributes as a weft.nn.Module's does, and the methods that @weft.jit.script_method
    marks are compiled when it is done.
    """

    _weft_compiler = None  # weft.jit._recursive sets it to script_module, which makes such modules

    def _weft_compile(self):
        compiled = type(self)._weft_compiler(self)
        children = dict(compiled._modules._known)
        self._weft_bind(compiled._c)
        self._modules._known.update(children)
        for name in compiled._c.method_names():
            if name in type(self).__dict__:
                self.__dict__[name] = ScriptMethod(compiled._c, name)

    @classmethod
    def _weft_of(cls, c):
        module = cls.__new__(cls)
        module._weft_bind(c)
        return module

    def _weft_bind(self, c):
        own = self.__dict__
        for store in ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set", "training"):
            own.pop(store, None)
        own["_c"] = c
        own["_parameters"] = _TensorStore(c, "parameter")
        own["_buffers"] = _TensorStore(c, "buffer")
        own["_modules"] = _ModuleStore(c)
        own["_non_persistent_buffers_set"] = {name for name in own["_buffers"] if not c.is_persistent(name)}
        own["_forward_hooks"] = {}
        own["_forward_pre_hooks"] = {}
        _wrappers[c.address] = self

    def _weft_adopt(self, module, children):
        """What Python still needs of the module that was compiled: what @weft.jit.ignore may look at."""
        self.__dict__["_python"] = module
        self._modules._known.update(children)

    def __call__(self, *args, **kwargs):
        if self._forward_hooks or self._forward_pre_hooks:
            return super().__call__(*args, **kwargs)
        return self._c(*args, **kwargs)

    @property
    def forward(self):
        """The method that a call of the module runs."""
        return ScriptMethod(self._c, "forward")

    def _weft_fork(self, args, kwargs):
        return _jit.fork_method(self._c, "forward", *args, **kwargs)

    # ---- attributes --------------------------------------------------------------------------------------
    def __getattr__(self, name):
        c = self.__dict__.get("_c")
        if c is None:
            return super().__getattr__(name)
        for store in (self._parameters, self._buffers):
            if name in store:
                return store[name]
        if c.has_attribute(name):
            return c.attribute(name)
        if c.has_method(name):
            return ScriptMethod(c, name)
        if c.has_method(f"__get_{name}"):
            return c.call_method(f"__get_{name}")
        if "_python" in self.__dict__:
            return self._weft_python_attribute(name)
        raise AttributeError(f"script module '{c.type_name}' has no attribute '{name}'")

    def _weft_python_attribute(self, name):
        """An attribute of the compiled module's class or object that is no part of the script."""
        value = getattr(self._python, name)
        if inspect.ismethod(value) and value.__self__ is self._python:
            return types.MethodType(value.__func__, self)
        return value

    def __setattr__(self, name, value):
        c = self.__dict__.get("_c")
        if c is None:
            super().__setattr__(name, value)
        elif c.has_method(f"__set_{name}"):
            c.call_method(f"__set_{name}", value)
        elif name in self.__dict__ or not (c.has_attribute(name) or isinstance(value, (Parameter, Module))):
            object.__setattr__(self, name, value)
        elif isinstance(value, Module) and not isinstance(value, ScriptModule):
            raise TypeError(f"'{name}': a script module holds script modules, got {type(value).__name__}")
        else:
            c.set_attribute(name, value)

    def __delattr__(self, name):
        if name not in self.__dict__:
            raise TypeError(f"attribute '{name}' of a script module cannot be deleted")
        object.__delattr__(self, name)

    def __dir__(self):
        c = self._c
        return sorted(
            {
                *object.__dir__(self),
                *self._parameters,
                *self._buffers,
                *self._modules,
                *c.names("attribute"),
                *c.method_names(),
            }
        )

    def _weft_check_not_compiled(self, what):
        if "_c" in self.__dict__:
            raise TypeError(f"{what} of a script module are fixed")

    def register_parameter(self, name, param):
        self._weft_check_not_compiled("the parameters")
        super().register_parameter(name, param)

    def register_buffer(self, name, tensor, persistent=True):
        self._weft_check_not_compiled("the buffers")
        super().register_buffer(name, tensor, persistent)

    def add_module(self, name, module):
        self._weft_check_not_compiled("the sub-modules")
        super().add_module(name, module)

    register_module = add_module

    def train(self, mode=True):
        if not isinstance(mode, bool):
            raise TypeError(f"train: expected a bool, got {type(mode).__name__}")
        for module in self.modules():
            if module._c.has_attribute("training"):
                module._c.set_attribute("training", mode)
        return self

    def _apply(self, function):
        converted = {}  # what is shared stays shared
        for module in self.modules():
            for store in (module._parameters, module._buffers):
                for name, value in store.items():
                    if value is None:
                        continue
                    key = module._c.tensor_key(name)
                    if key not in converted:
                        converted[key] = (function(value), value)
                    if converted[key][0] is not value:
                        store[name] = converted[key][0]
        return self

    # ---- the program -------------------------------------------------------------------------------------
    @property
    def code(self):
        """TorchScript source of forward(), as an archive holds it."""
        return self.forward.code

    @property
    def graph(self):
        """The graph of forward() as the compiler made it, as text."""
        return self.forward.graph

    @property
    def inlined_graph(self):
        """The graph of forward() with everything it calls in its place, as text."""
        return self.forward.inlined_graph

    @property
    def original_name(self):
        """The name of the class that was compiled."""
        return self._c.type_name.rpartition(".")[2]

    def save(self, f, _extra_files=None):
        """See weft.jit.save."""
        write(self._c, f, _extra_files)

    def save_to_buffer(self, _extra_files=None):
        """The archive as bytes."""
        return written(self._c, _extra_files)

    def __len__(self):
        return self._weft_call_operator("__len__", lambda: len(self._modules))

    def __iter__(self):
        if self._weft_is_container("ModuleDict"):
            return iter(self._modules)
        if self._weft_is_container("ModuleList", "Sequential"):
            return iter(self._modules.values())
        raise TypeError(f"script module '{self._c.type_name}' is not iterable")

    def __getitem__(self, index):
        if self._c.has_method("__getitem__"):
            return self._c.call_method("__getitem__", index)
        if isinstance(index, str):
            return self._modules[index]
        return list(self._modules.values())[index]

    def __contains__(self, key):
        return self._weft_call_operator("__contains__", lambda: key in self._modules, key)

    def _weft_is_container(self, *names):
        return self.original_name in names

    def _weft_call_operator(self, name, otherwise, *args):
        return self._c.call_method(name, *args) if self._c.has_method(name) else otherwise()

    def __bool__(self):
        return True

    def __copy__(self):
        return type(self)._weft_of(self._c)

    def __deepcopy__(self, memo):
        return type(self)._weft_of(self._c.clone())

    def __reduce__(self):
        raise TypeError("script modules are not pickled; weft.jit.save writes them")

    def _get_name(self):
        return type(self).__name__

    def extra_repr(self):
        return f"original_name={self.original_name}"


class RecursiveScriptModule(ScriptModule):
    """A module that weft.jit.load or weft.jit.script made."""


for _class in (ScriptMethod, ScriptObject, ScriptModule, RecursiveScriptModule):
    _class.__module__ = "weft.jit"
