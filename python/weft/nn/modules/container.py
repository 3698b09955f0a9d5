"""Modules that hold modules or parameters."""

import collections
import operator

from .module import Module, Parameter


def _position(index, length, what):
    index = operator.index(index)
    if not -length <= index < length:
        raise IndexError(f"{what}: index {index} is out of range for {length} items")
    return index % length if length else index


class Sequential(Module):
    """Calls its modules one after the other.

    Sequential(conv, relu), or Sequential(OrderedDict([("conv", conv), ("relu", relu)])).
    """

    def __init__(self, *args):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], collections.OrderedDict):
            items = args[0].items()
        else:
            items = ((str(i), module) for i, module in enumerate(args))
        for name, module in items:
            self.add_module(name, module)

    def forward(self, input):
        for module in self:
            input = module(input)
        return input

    def __getitem__(self, index):
        modules = list(self._modules.items())
        if isinstance(index, slice):
            return type(self)(collections.OrderedDict(modules[index]))
        return modules[_position(index, len(modules), "Sequential")][1]

    def __setitem__(self, index, module):
        name = list(self._modules)[_position(index, len(self), "Sequential")]
        self.add_module(name, module)

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def append(self, module):
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules):
        for module in modules:
            self.append(module)
        return self


class ModuleList(Module):
    """A list of modules whose parameters are the list's."""

    def __init__(self, modules=None):
        super().__init__()
        self.extend(modules or ())

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(list(self._modules.values())[index])
        return self._modules[str(_position(index, len(self), "ModuleList"))]

    def __setitem__(self, index, module):
        self.add_module(str(_position(index, len(self), "ModuleList")), module)

    def __delitem__(self, index):
        left = list(self._modules.values())
        del left[index]
        self._modules.clear()
        self.extend(left)

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __add__(self, other):
        return ModuleList([*self, *other])

    def __iadd__(self, other):
        return self.extend(other)

    def insert(self, index, module):
        left = list(self._modules.values())
        left.insert(index, module)
        self._modules.clear()
        self.extend(left)

    def append(self, module):
        self.add_module(str(len(self)), module)
        return self

    def extend(self, modules):
        for module in modules:
            self.append(module)
        return self


class ModuleDict(Module):
    """A dictionary of modules whose parameters are the dictionary's."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def keys(self):
        return self._modules.keys()

    def values(self):
        return self._modules.values()

    def items(self):
        return self._modules.items()

    def clear(self):
        self._modules.clear()

    def pop(self, key):
        return self._modules.pop(key)

    def update(self, modules):
        for key, module in modules.items() if hasattr(modules, "items") else modules:
            self[key] = module


class ParameterList(Module):
    """A list of parameters."""

    def __init__(self, values=None):
        super().__init__()
        self.extend(values or ())

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(list(self._parameters.values())[index])
        return self._parameters[str(_position(index, len(self), "ParameterList"))]

    def __setitem__(self, index, value):
        self._parameters[str(_position(index, len(self), "ParameterList"))] = _as_parameter(value)

    def __len__(self):
        return len(self._parameters)

    def __iter__(self):
        return iter(self._parameters.values())

    def append(self, value):
        self._parameters[str(len(self))] = _as_parameter(value)
        return self

    def extend(self, values):
        for value in values:
            self.append(value)
        return self


class ParameterDict(Module):
    """A dictionary of parameters."""

    def __init__(self, parameters=None):
        super().__init__()
        for key, value in dict(parameters or {}).items():
            self[key] = value

    def __getitem__(self, key):
        return self._parameters[key]

    def __setitem__(self, key, value):
        self._parameters[key] = _as_parameter(value)

    def __len__(self):
        return len(self._parameters)

    def __iter__(self):
        return iter(self._parameters)

    def __contains__(self, key):
        return key in self._parameters

    def keys(self):
        return self._parameters.keys()

    def values(self):
        return self._parameters.values()

    def items(self):
        return self._parameters.items()


def _as_parameter(value):
    return value if isinstance(value, Parameter) else Parameter(value)
