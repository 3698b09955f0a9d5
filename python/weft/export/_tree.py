"""Nested arguments and results: to their leaves in order, and back."""

import collections
import dataclasses
import sys

_classes = {}  # from a name in files to the class
_unnamed = {}  # from the own names of classes that files have no name for
_fields = {}  # of a class: the names of what it is made of


def own_name(cls):
    return f"{cls.__module__}.{cls.__qualname__}"


def register_class(cls, name, fields):
    """Files call the class by this name; it is made of its fields by their names. name: None where files have none."""
    _fields[cls] = tuple(fields)
    if name is None:
        _unnamed[own_name(cls)] = cls
    else:
        _classes[name] = cls


def register_dataclass(cls, *, serialized_type_name=None):
    """Results that a file calls by this name (module and name of the class, unless given) are objects of the dataclass."""
    if not dataclasses.is_dataclass(cls) or not isinstance(cls, type):
        raise TypeError(f"register_dataclass: expected a dataclass, got {cls!r}")
    register_class(cls, serialized_type_name or own_name(cls), dataclass_fields(cls))


def register_namedtuple(cls, *, serialized_type_name=None):
    """Results that a file calls by this name (module and name of the class, unless given) are such named tuples."""
    if not isinstance(cls, type) or not issubclass(cls, tuple) or not hasattr(cls, "_fields"):
        raise TypeError(f"register_namedtuple: expected a class of named tuples, got {cls!r}")
    register_class(cls, serialized_type_name or own_name(cls), cls._fields)


def registered_name(cls):
    """What files call the class: the name that it was registered by last, or its own."""
    names = [name for name, each in _classes.items() if each is cls]
    return names[-1] if names else own_name(cls)


def is_registered(cls):
    return cls in _fields


def unnamed_classes(tree):
    """The classes in a tree that files have no name for."""
    kind, name, _, children = tree
    if kind == "named" and name in _unnamed and name not in _classes:
        yield _unnamed[name]
    for child in children:
        yield from unnamed_classes(child)


def dataclass_fields(cls):
    """The names that objects of the dataclass are made of."""
    return [field.name for field in dataclasses.fields(cls) if field.init]


def _class_of(name):
    """The class of that name, where the program has registered or imported it: a file imports nothing."""
    for known in (_classes, _unnamed):
        if name in known:
            return known[name]
    module, _, qualified = name.rpartition(".")
    module = "weft.return_types" if module == "torch.return_types" else module
    return getattr(sys.modules.get(module), qualified, None)


def _names_of(cls):
    """What objects of the class are made of, in order; None of a class that nests nothing."""
    if cls in _fields:
        return _fields[cls]
    if issubclass(cls, tuple):
        return getattr(cls, "_fields", None)
    return dataclass_fields(cls) if dataclasses.is_dataclass(cls) else None


def _values_of(value):
    names = _names_of(type(value))
    if names is not None:
        return {name: getattr(value, name) for name in names}
    if isinstance(value, dict):
        return value
    return None


def flatten(tree, value, place, leaves):
    """Appends the value's leaves. raises: TypeError naming the place where the value nests otherwise than the tree."""
    kind, name, keys, children = tree
    if kind == "leaf":
        leaves.append(value)
        return
    if kind in ("dict", "named"):
        found = (
            value
            if kind == "dict" and isinstance(value, dict)
            else _values_of(value)
            if kind == "named"
            else None
        )
        if found is None:
            raise TypeError(f"{place}: the program takes {name or 'a dict'}, got {type(value).__name__}")
        present = {
            str(key): each
            for key, each in found.items()
            if kind == "dict" or each is not None or str(key) in keys
        }
        if set(present) != set(keys):
            raise TypeError(f"{place}: the program takes the keys {list(keys)}, got {list(present)}")
        for key, child in zip(keys, children):
            flatten(child, present[key], f"{place}[{key!r}]" if kind == "dict" else f"{place}.{key}", leaves)
        return
    expected = list if kind == "list" else tuple
    if not isinstance(value, (expected, collections.deque) if kind == "list" else expected) or len(
        value
    ) != len(children):
        shown = (
            f"{type(value).__name__} of {len(value)}" if hasattr(value, "__len__") else type(value).__name__
        )
        raise TypeError(f"{place}: the program takes a {kind} of {len(children)}, got {shown}")
    for at, (child, each) in enumerate(zip(children, value)):
        flatten(child, each, f"{place}[{at}]", leaves)


def unflatten(tree, leaves):
    """The value whose leaves an iterator gives."""
    kind, name, keys, children = tree
    if kind == "leaf":
        return next(leaves)
    values = [unflatten(child, leaves) for child in children]
    if kind == "tuple":
        return tuple(values)
    if kind == "list":
        return values
    if kind == "dict":
        return dict(zip(keys, values))
    cls = _class_of(name)
    names = _names_of(cls) if isinstance(cls, type) else None
    if names is not None and issubclass(cls, tuple):
        if len(names) == len(values):
            return cls(*values)
    elif names is not None:
        # Files leave out what is None.
        return cls(**{**dict.fromkeys(names), **dict(zip(keys, values))})
    return collections.namedtuple(name.rpartition(".")[2] or "Result", keys, rename=True)(*values)
