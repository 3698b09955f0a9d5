"""Nested arguments and results: to their leaves in order, and back."""

import collections
import dataclasses
import json
import sys

_classes = {}  # from a name in files to the class
_unnamed = {}  # from the own names of classes that files have no name for
_fields = {}  # of a class: the names of what it is made of
_nodes = {}  # from a name in files to the Node that the program registered by it

Node = collections.namedtuple("Node", "cls flatten unflatten to_context from_context")


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


def register_node(name, node):
    """Files call the class by this name; its functions take it apart and make it again."""
    _nodes[name] = node


def node_name(cls):
    """What files call a class that was registered with functions of its own; None of others."""
    return next((name for name, node in _nodes.items() if node.cls is cls), None)


def context_text(cls, context):
    """A registered class's context, as files have it."""
    node = _nodes[node_name(cls)]
    return json.dumps(context) if node.to_context is None else node.to_context(context)


def _decoded(context):
    """Contexts are JSON in JSON."""
    value = json.loads(context)
    return json.loads(value) if isinstance(value, str) else value


def _context_of(node, context):
    return _decoded(context) if node.from_context is None else node.from_context(json.loads(context))


def unnamed_classes(tree):
    """The classes in a tree that files have no name for."""
    kind, name, _, children, _ = tree
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


# What defaultdicts may make by themselves: a file imports nothing.
_FACTORIES = (bool, bytes, complex, dict, float, int, list, set, str, tuple, collections.OrderedDict)


def factory_name(factory):
    """(module, name) of what a defaultdict makes by itself. raises: NotImplementedError of what files cannot have."""
    if factory not in _FACTORIES:
        raise NotImplementedError(
            f"torch.export: a defaultdict's factory is one of {', '.join(each.__name__ for each in _FACTORIES)} in an exported "
            f"program, got {factory!r}"
        )
    return factory.__module__, factory.__qualname__


def _defaultdict(context, items):
    context = _decoded(context)
    named = context.get("default_factory_module"), context.get("default_factory_name")
    for factory in _FACTORIES:
        if named == factory_name(factory):
            return collections.defaultdict(factory, items)
    raise NotImplementedError(
        f"the program gives a defaultdict that makes {named[0]}.{named[1]}, which weft does not call"
    )


_MAPPINGS = {
    "": lambda context, items: dict(items),
    "collections.OrderedDict": lambda context, items: collections.OrderedDict(items),
    "collections.defaultdict": _defaultdict,
}


def flatten(tree, value, place, leaves):
    """Appends the value's leaves. raises: TypeError naming the place where the value nests otherwise than the tree."""
    kind, name, keys, children, context = tree
    if kind == "leaf":
        leaves.append(value)
        return
    if kind == "named" and name in _nodes:
        node = _nodes[name]
        if type(value) is not node.cls:
            raise TypeError(f"{place}: the program takes {name}, got {type(value).__name__}")
        parts, own = node.flatten(value)
        if len(parts) != len(children) or own != _context_of(node, context):
            raise TypeError(
                f"{place}: the program takes {name} of {len(children)} parts and {context}, got {len(parts)} and {own!r}"
            )
        for at, (child, part) in enumerate(zip(children, parts)):
            flatten(child, part, f"{place}[{at}]", leaves)
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
            key: each for key, each in found.items() if kind == "dict" or each is not None or key in keys
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
    kind, name, keys, children, context = tree
    if kind == "leaf":
        return next(leaves)
    values = [unflatten(child, leaves) for child in children]
    if kind == "tuple":
        return tuple(values)
    if kind == "list":
        return collections.deque(values, _decoded(context)) if name == "collections.deque" else values
    if kind == "dict":
        return _MAPPINGS[name](context, zip(keys, values))
    if name in _nodes:
        node = _nodes[name]
        return node.unflatten(values, _context_of(node, context))
    cls = _class_of(name)
    names = _names_of(cls) if isinstance(cls, type) else None
    if names is not None and issubclass(cls, tuple):
        if len(names) == len(values):
            return cls(*values)
    elif names is not None:
        # Files leave out what is None.
        return cls(**{**dict.fromkeys(names), **dict(zip(keys, values))})
    return collections.namedtuple(name.rpartition(".")[2] or "Result", keys, rename=True)(*values)
