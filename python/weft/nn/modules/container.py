"""Modules that hold modules or parameters."""

import collections
import operator

import weft
from weft.nn.parameter import Parameter

from .module import Module, _indent


def _position(index, length, what):
    index = operator.index(index)
    if not -length <= index < length:
        raise IndexError(f"{what}: index {index} is out of range for {length} items")
    return index % length if length else index


def _pairs(given, what):
    if hasattr(given, "items"):
        return list(given.items())
    pairs = [tuple(pair) for pair in given]
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"{what}: expected pairs of a key and a value")
    return pairs


def _renumber(container, modules):
    container._modules.clear()
    for i, module in enumerate(modules):
        container.add_module(str(i), module)


class _Numbered(Module):
    """Modules under the names "0", "1", …"""

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def append(self, module):
        """Adds a module at the end. Returns: itself."""
        self.add_module(str(len(self)), module)
        return self

    def insert(self, index, module):
        """Adds a module before the one at `index`. Returns: itself."""
        modules = list(self)
        if not -len(modules) <= index <= len(modules):
            raise IndexError(f"{type(self).__name__}: index {index} is out of range for {len(modules)} items")
        if not isinstance(module, Module):
            raise TypeError(f"{type(self).__name__}.insert: expected a Module, got {type(module).__name__}")
        modules.insert(index, module)
        _renumber(self, modules)
        return self

    def extend(self, modules):
        """Adds modules at the end. Returns: itself."""
        for module in modules:
            self.append(module)
        return self

    def pop(self, key=-1):
        """Takes a module out and returns it."""
        module = self[key]
        del self[key]
        return module


class Sequential(_Numbered):
    """Calls its modules one after the other.

    Sequential(conv, relu), or Sequential(OrderedDict([("conv", conv), ("relu", relu)])).
    """

    def __init__(self, *args):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], collections.OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            _renumber(self, args)

    def forward(self, input):
        for module in self:
            input = module(input)
        return input

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(collections.OrderedDict(list(self._modules.items())[index]))
        return self._get_item_by_idx(self._modules.values(), index)

    def __setitem__(self, index, module):
        setattr(self, self._get_item_by_idx(self._modules.keys(), index), module)

    def _get_item_by_idx(self, iterator, idx):
        return list(iterator)[_position(idx, len(self), "Sequential")]

    def __delitem__(self, index):
        names = list(self._modules)
        chosen = (
            names[index] if isinstance(index, slice) else [names[_position(index, len(names), "Sequential")]]
        )
        for name in chosen:
            del self._modules[name]
        _renumber(self, list(self))

    def __add__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(f"Sequential: only a Sequential can be added, got {type(other).__name__}")
        return Sequential(*self, *other)

    def __iadd__(self, other):
        if not isinstance(other, Sequential):
            raise ValueError(f"Sequential: only a Sequential can be added, got {type(other).__name__}")
        return self.extend(list(other))

    def __imul__(self, count):
        if not isinstance(count, int) or count <= 0:
            raise ValueError(f"Sequential: expected a positive int to repeat by, got {count!r}")
        return self.extend(list(self) * (count - 1))

    def __mul__(self, count):
        if not isinstance(count, int) or count <= 0:
            raise ValueError(f"Sequential: expected a positive int to repeat by, got {count!r}")
        return Sequential(*(list(self) * count))

    __rmul__ = __mul__


class ModuleList(_Numbered):
    """A list of modules whose parameters are the list's. It has no forward."""

    def __init__(self, modules=None):
        super().__init__()
        self.extend(modules or ())

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return self._modules[self._get_abs_string_index(index)]

    def __setitem__(self, index, module):
        setattr(self, self._get_abs_string_index(index), module)

    def _get_abs_string_index(self, idx):
        return str(_position(idx, len(self), "ModuleList"))

    def __delitem__(self, index):
        left = list(self)
        del left[index]
        _renumber(self, left)

    def __add__(self, other):
        return ModuleList([*self, *other])

    def __repr__(self):
        """Equal neighbours share a line."""
        runs = []
        for i, text in enumerate(map(repr, self)):
            if runs and runs[-1][2] == text:
                runs[-1][1] = i
            else:
                runs.append([i, i, text])
        if not runs:
            return f"{self._get_name()}()"
        lines = [
            f"({first}): {_indent(text)}"
            if first == last
            else f"({first}-{last}): {last - first + 1} x {_indent(text)}"
            for first, last, text in runs
        ]
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"

    def __iadd__(self, other):
        return self.extend(other)


class ModuleDict(Module):
    """A dictionary of modules whose parameters are the dictionary's. It has no forward."""

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
        """Takes a module out and returns it."""
        return self._modules.pop(key)

    def update(self, modules):
        """Adds the modules of a dictionary or of pairs (name, module)."""
        for key, module in _pairs(modules, "ModuleDict.update"):
            self[key] = module


# ---- parameters -------------------------------------------------------------------------------------------------
def _as_parameter(value):
    return Parameter(value) if isinstance(value, weft.Tensor) and not isinstance(value, Parameter) else value


# Names of classes of tensors, as ParameterDict's text has them.
_KINDS = {"float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16", "int64": "Long", "int32": "Int",
          "int16": "Short", "int8": "Char", "uint8": "Byte", "bool": "Bool"}  # fmt: skip


def _describe(value, by_class=False):
    if isinstance(value, weft.Tensor):
        kind = "Parameter" if isinstance(value, Parameter) else "Tensor"
        name = str(value.dtype).rpartition(".")[2]
        dtype = f"torch.{_KINDS.get(name, name)}Tensor" if by_class else str(value.dtype)
        return f"{kind} containing: [{dtype} of size {'x'.join(map(str, value.shape))}]"
    return f"Object of type: {type(value).__name__}"


class ParameterList(Module):
    """A list of parameters; tensors become parameters, other objects are kept as they are."""

    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        self.extend(values or ())

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return getattr(self, self._get_abs_string_index(index))

    def __setitem__(self, index, value):
        setattr(self, self._get_abs_string_index(index), _as_parameter(value))

    def _get_abs_string_index(self, idx):
        return str(_position(idx, len(self), "ParameterList"))

    def __len__(self):
        return self._size

    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __iadd__(self, values):
        return self.extend(values)

    def append(self, value):
        """Adds a value at the end. Returns: itself."""
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values):
        """Adds values at the end. Returns: itself."""
        if isinstance(values, weft.Tensor) or not hasattr(values, "__iter__"):
            raise TypeError(f"ParameterList.extend: expected a list of tensors, got {type(values).__name__}")
        for value in values:
            self.append(value)
        return self

    def extra_repr(self):
        return "\n".join(f"  ({i}): {_describe(value)}" for i, value in enumerate(self))


class _NoSuchKey(KeyError, AttributeError):
    """PyTorch's ParameterDict raises AttributeError."""


class ParameterDict(Module):
    """A dictionary of parameters; tensors become parameters, other objects are kept as they are."""

    def __init__(self, parameters=None):
        super().__init__()
        self._keys = {}
        self.update(parameters or {})

    def _key_to_attr(self, key):
        if not isinstance(key, str):
            raise TypeError(f"ParameterDict: a key must be a str, got {type(key).__name__}")
        if "." in key:
            raise KeyError(f"ParameterDict: the key '{key}' contains a dot")
        return key

    def __getitem__(self, key):
        if key not in self._keys:
            raise _NoSuchKey(key)
        return getattr(self, self._key_to_attr(key))

    def __setitem__(self, key, value):
        attribute = self._key_to_attr(key)
        self._keys[key] = None
        setattr(self, attribute, _as_parameter(value))

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, self._key_to_attr(key))

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(self._keys)

    def __reversed__(self):
        return reversed(list(self._keys))

    def __contains__(self, key):
        return key in self._keys

    def keys(self):
        return self._keys.keys()

    def values(self):
        return (self[key] for key in self._keys)

    def items(self):
        return ((key, self[key]) for key in self._keys)

    def get(self, key, default=None):
        return self[key] if key in self else default

    def setdefault(self, key, default=None):
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key):
        """Takes a value out and returns it."""
        value = self[key]
        del self[key]
        return value

    def popitem(self):
        """Takes out what came last. Returns: (key, value)."""
        key = next(reversed(self))
        return key, self.pop(key)

    def clear(self):
        for key in list(self._keys):
            del self[key]

    def copy(self):
        return ParameterDict(dict(self.items()))

    def fromkeys(self, keys, default=None):
        return ParameterDict({key: default for key in keys})

    def update(self, parameters):
        """Adds the values of a dictionary or of pairs (key, value)."""
        for key, value in _pairs(parameters, "ParameterDict.update"):
            self[key] = value

    def __or__(self, other):
        return ParameterDict({**dict(self.items()), **dict(other.items())})

    def __ror__(self, other):
        return ParameterDict({**dict(other.items()), **dict(self.items())})

    def __ior__(self, other):
        self.update(other)
        return self

    def extra_repr(self):
        return "\n".join(f"  ({key}): {_describe(value, True)}" for key, value in self.items())


class Container(Module):
    """A Module whose sub-modules are given by name; Module itself does the same."""

    def __init__(self, **kwargs):
        super().__init__()
        for name, module in kwargs.items():
            self.add_module(name, module)
