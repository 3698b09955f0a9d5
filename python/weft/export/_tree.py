"""Nested arguments and results: to their leaves in order, and back."""

import collections
import dataclasses
import sys

_registered = {}  # from a name in files to the class


def register_dataclass(cls, *, serialized_type_name=None):
    """Results that a file calls by this name (module and name of the class, unless given) are objects of the dataclass."""
    if not dataclasses.is_dataclass(cls) or not isinstance(cls, type):
        raise TypeError(f"register_dataclass: expected a dataclass, got {cls!r}")
    _registered[serialized_type_name or f"{cls.__module__}.{cls.__qualname__}"] = cls


def registered_name(cls):
    """What files call the dataclass."""
    return next(
        (name for name, each in _registered.items() if each is cls), f"{cls.__module__}.{cls.__qualname__}"
    )


def _class_of(name):
    """The class of that name, where the program has registered or imported it: a file imports nothing."""
    if name in _registered:
        return _registered[name]
    module, _, qualified = name.rpartition(".")
    return getattr(sys.modules.get(module), qualified, None)


def _fields(value):
    if hasattr(value, "_fields"):
        return dict(zip(value._fields, value))
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
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
            else _fields(value)
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
    if isinstance(cls, type) and hasattr(cls, "_fields") and len(cls._fields) == len(values):
        return cls(*values)
    if isinstance(cls, type) and dataclasses.is_dataclass(cls):
        return cls(**dict(zip(keys, values)))
    return collections.namedtuple(name.rpartition(".")[2] or "Result", keys, rename=True)(*values)
