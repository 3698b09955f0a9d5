"""torch.utils._pytree's names: nested tuples, lists, dicts and registered classes as flat lists of leaves."""

import collections
import dataclasses
import warnings
from collections.abc import Callable
from typing import Any

from weft.export import _tree

Context, PyTree = Any, Any


@dataclasses.dataclass(frozen=True)
class MappingKey:
    key: Any

    def __str__(self):
        return f"[{self.key!r}]"

    def get(self, mapping):
        return mapping[self.key]


@dataclasses.dataclass(frozen=True)
class SequenceKey:
    idx: int

    def __str__(self):
        return f"[{self.idx!r}]"

    def get(self, sequence):
        return sequence[self.idx]


@dataclasses.dataclass(frozen=True)
class GetAttrKey:
    name: str

    def __str__(self):
        return f".{self.name}"

    def get(self, obj):
        return getattr(obj, self.name)


@dataclasses.dataclass
class NodeDef:
    type: type
    flatten_fn: Callable
    unflatten_fn: Callable
    flatten_with_keys_fn: Callable | None = None


SUPPORTED_NODES = {}


@dataclasses.dataclass
class TreeSpec:
    """The structure of a tree without its leaves; type None of a leaf."""

    type: Any
    context: Any
    children_specs: list

    def __post_init__(self):
        self.num_nodes = 1 + sum(spec.num_nodes for spec in self.children_specs)
        self.num_leaves = 1 if self.is_leaf() else sum(spec.num_leaves for spec in self.children_specs)
        self.num_children = len(self.children_specs)

    def is_leaf(self):
        return self.type is None

    def children(self):
        return list(self.children_specs)

    def child(self, index):
        return self.children_specs[index]

    def unflatten(self, leaves):
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(leaves)} but the spec refers to a pytree that holds "
                f"{self.num_leaves} items ({self})."
            )
        return self._unflatten(iter(leaves))

    def _unflatten(self, leaves):
        if self.is_leaf():
            return next(leaves)
        children = [spec._unflatten(leaves) for spec in self.children_specs]
        return SUPPORTED_NODES[self.type].unflatten_fn(children, self.context)

    def flatten_up_to(self, tree):
        if self.is_leaf():
            return [tree]
        children, context = SUPPORTED_NODES[self.type].flatten_fn(tree)
        if _node_type(tree) is not self.type or context != self.context or len(children) != self.num_children:
            raise ValueError(f"Type or structure mismatch: expected {self}, got {type(tree)}")
        return [
            leaf
            for child, spec in zip(children, self.children_specs, strict=True)
            for leaf in spec.flatten_up_to(child)
        ]

    def __repr__(self):
        if self.is_leaf():
            return "*"
        children = ", ".join(repr(spec) for spec in self.children_specs)
        return f"TreeSpec({self.type.__name__}, {self.context}, [{children}])"

    def __hash__(self):
        return hash((self.type, str(self.context), tuple(self.children_specs)))


class LeafSpec(TreeSpec):
    def __init__(self):
        super().__init__(None, None, [])

    __hash__ = TreeSpec.__hash__


_LEAF = LeafSpec()


def register_pytree_node(
    cls,
    flatten_fn,
    unflatten_fn,
    *,
    serialized_type_name=None,
    to_dumpable_context=None,
    from_dumpable_context=None,
    flatten_with_keys_fn=None,
    **_,
):
    """Instances of cls are nodes: flatten_fn gives children and a context, of which unflatten_fn makes the instance.

    serialized_type_name: what files of exported programs call the class; its context is JSON there, or what
    to_dumpable_context makes of it and from_dumpable_context takes.
    """
    if (to_dumpable_context is None) != (from_dumpable_context is None):
        raise ValueError(
            f"Both to_dumpable_context and from_dumpable_context for {cls} must be None or registered."
        )
    if cls in SUPPORTED_NODES:
        warnings.warn(
            f"{cls} is already registered as pytree node. Overwriting the previous registration.",
            stacklevel=2,
        )
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    if serialized_type_name is not None:
        node = _tree.Node(cls, flatten_fn, unflatten_fn, to_dumpable_context, from_dumpable_context)
        _tree.register_node(serialized_type_name, node)


_register_pytree_node = register_pytree_node


def register_dataclass(cls, *, field_names=None, drop_field_names=None, serialized_type_name=None):
    """Objects of the class nest what their fields hold; those that are None are no leaves."""
    dropped = drop_field_names or []
    if not dataclasses.is_dataclass(cls):
        if field_names is None:
            raise ValueError(
                f"field_names must be specified with a list of all fields used to initialize {cls}, as it is not a dataclass."
            )
    elif field_names is None:
        field_names = _tree.dataclass_fields(cls)
    else:
        present = set(_tree.dataclass_fields(cls)) - set(dropped)
        if present != set(field_names):
            raise ValueError(
                f"field_names does not include all dataclass fields.\nMissing: {sorted(present - set(field_names))}, "
                f"unexpected: {sorted(set(field_names) - present)}"
            )

    def flatten(value):
        values = {name: getattr(value, name) for name in field_names}
        given = {name: each for name, each in values.items() if each is not None}
        return list(given.values()), [list(given), [name for name in values if name not in given]]

    def unflatten(children, context):
        given, absent = context
        return cls(**dict(zip(given, children, strict=True)), **dict.fromkeys(absent))

    def flatten_with_keys(value):
        children, (given, _) = flatten(value)
        return [(GetAttrKey(name), child) for name, child in zip(given, children, strict=True)], given

    register_pytree_node(cls, flatten, unflatten, flatten_with_keys_fn=flatten_with_keys)
    _tree.register_class(cls, serialized_type_name, field_names)


def _register_namedtuple(cls, *, serialized_type_name):
    """Named tuples are nodes as they are; files call this class by the name."""
    _tree.register_namedtuple(cls, serialized_type_name=serialized_type_name)


def register_constant(cls):
    register_pytree_node(cls, lambda value: ([], value), lambda children, context: context)


def register_enum(cls):
    """Enumerations are leaves as they are."""


def _register(cls, flatten, unflatten, keys):
    SUPPORTED_NODES[cls] = NodeDef(
        cls,
        flatten,
        unflatten,
        lambda value: (list(keys(value)), flatten(value)[1]),
    )


def _sequence_keys(value):
    return [(SequenceKey(index), child) for index, child in enumerate(value)]


def _mapping_keys(value):
    return [(MappingKey(key), child) for key, child in value.items()]


_register(tuple, lambda v: (list(v), None), lambda children, _: tuple(children), _sequence_keys)
_register(list, lambda v: (v, None), lambda children, _: list(children), _sequence_keys)
_register(
    dict,
    lambda v: (list(v.values()), list(v.keys())),
    lambda children, keys: dict(zip(keys, children, strict=True)),
    _mapping_keys,
)
_register(
    collections.OrderedDict,
    lambda v: (list(v.values()), list(v.keys())),
    lambda children, keys: collections.OrderedDict(zip(keys, children, strict=True)),
    _mapping_keys,
)
_register(
    collections.defaultdict,
    lambda v: (list(v.values()), [v.default_factory, list(v.keys())]),
    lambda children, context: collections.defaultdict(context[0], zip(context[1], children, strict=True)),
    _mapping_keys,
)
_register(
    collections.deque,
    lambda v: (list(v), v.maxlen),
    lambda children, maxlen: collections.deque(children, maxlen=maxlen),
    _sequence_keys,
)


_tuple_flatten, _tuple_unflatten = SUPPORTED_NODES[tuple].flatten_fn, SUPPORTED_NODES[tuple].unflatten_fn
_list_flatten, _list_unflatten = SUPPORTED_NODES[list].flatten_fn, SUPPORTED_NODES[list].unflatten_fn
_dict_flatten, _dict_unflatten = SUPPORTED_NODES[dict].flatten_fn, SUPPORTED_NODES[dict].unflatten_fn
_tuple_flatten_with_keys = SUPPORTED_NODES[tuple].flatten_with_keys_fn
_list_flatten_with_keys = SUPPORTED_NODES[list].flatten_with_keys_fn
_dict_flatten_with_keys = SUPPORTED_NODES[dict].flatten_with_keys_fn


def is_namedtuple(obj):
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_namedtuple_class(cls):
    return issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple)


is_namedtuple_instance = is_namedtuple


def is_structseq(obj):
    return False


_register(
    collections.namedtuple,
    lambda v: (list(v), type(v)),
    lambda children, cls: cls(*children),
    lambda v: [(GetAttrKey(name), child) for name, child in zip(v._fields, v, strict=True)],
)


def _node_type(tree):
    if is_namedtuple(tree):  # of a class that is registered, too
        return collections.namedtuple
    return type(tree)


_get_node_type = _node_type


def _is_leaf(tree, is_leaf=None):
    return (is_leaf is not None and is_leaf(tree)) or _node_type(tree) not in SUPPORTED_NODES


def tree_is_leaf(tree, is_leaf=None):
    return _is_leaf(tree, is_leaf)


def _flatten(tree, leaves, is_leaf):
    if _is_leaf(tree, is_leaf):
        leaves.append(tree)
        return _LEAF
    node_type = _node_type(tree)
    children, context = SUPPORTED_NODES[node_type].flatten_fn(tree)
    return TreeSpec(node_type, context, [_flatten(child, leaves, is_leaf) for child in children])


def tree_flatten(tree, is_leaf=None):
    """(leaves, TreeSpec)."""
    leaves = []
    return leaves, _flatten(tree, leaves, is_leaf)


def tree_unflatten(leaves, treespec):
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"tree_unflatten(leaves, treespec): Expected `treespec` to be instance of TreeSpec but got item of type "
            f"{type(treespec)}."
        )
    return treespec.unflatten(leaves)


def tree_iter(tree, is_leaf=None):
    yield from tree_leaves(tree, is_leaf)


def tree_leaves(tree, is_leaf=None):
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree, is_leaf=None):
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func, tree, *rests, is_leaf=None):
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    return spec.unflatten([func(*values) for values in zip(leaves, *others, strict=True)])


def tree_map_(func, tree, *rests, is_leaf=None):
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def map_only(type_or_types):
    def wrap(func):
        if isinstance(type_or_types, (type, tuple)):
            return lambda value: func(value) if isinstance(value, type_or_types) else value
        return lambda value: func(value) if type_or_types(value) else value

    return wrap


def tree_map_only(type_or_types, func, tree, is_leaf=None):
    return tree_map(map_only(type_or_types)(func), tree, is_leaf=is_leaf)


def tree_map_only_(type_or_types, func, tree, is_leaf=None):
    return tree_map_(map_only(type_or_types)(func), tree, is_leaf=is_leaf)


def tree_all(pred, tree, is_leaf=None):
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred, tree, is_leaf=None):
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(type_or_types, pred, tree, is_leaf=None):
    return all(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, type_or_types))


def tree_any_only(type_or_types, pred, tree, is_leaf=None):
    return any(pred(leaf) for leaf in tree_iter(tree, is_leaf) if isinstance(leaf, type_or_types))


def _with_paths(path, tree, is_leaf, found):
    if _is_leaf(tree, is_leaf):
        found.append((path, tree))
        return
    for key, child in children_with_keys(tree):
        _with_paths((*path, key), child, is_leaf, found)


def children_with_keys(tree):
    """(key, child) of a node, in order."""
    node = SUPPORTED_NODES[_node_type(tree)]
    if node.flatten_with_keys_fn is None:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {type(tree)}. Please pass a flatten_with_keys_fn."
        )
    return node.flatten_with_keys_fn(tree)[0]


def tree_leaves_with_path(tree, is_leaf=None):
    found = []
    _with_paths((), tree, is_leaf, found)
    return found


def tree_flatten_with_path(tree, is_leaf=None):
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(func, tree, *rests, is_leaf=None):
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    others = [spec.flatten_up_to(rest) for rest in rests]
    paths, leaves = [path for path, _ in pairs], [leaf for _, leaf in pairs]
    return spec.unflatten([func(*values) for values in zip(paths, leaves, *others, strict=True)])


def keystr(kp):
    return "".join(str(key) for key in kp)


def key_get(obj, kp):
    for key in kp:
        obj = key.get(obj)
    return obj


def arg_tree_leaves(*args, **kwargs):
    return [*tree_leaves(args), *tree_leaves(kwargs)]


def _broadcast_to_and_flatten(tree, treespec, is_leaf=None):
    if _is_leaf(tree, is_leaf):
        return [tree] * treespec.num_leaves
    if treespec.is_leaf() or _node_type(tree) is not treespec.type:
        return None
    children, context = SUPPORTED_NODES[_node_type(tree)].flatten_fn(tree)
    if len(children) != treespec.num_children or context != treespec.context:
        return None
    result = []
    for child, spec in zip(children, treespec.children_specs, strict=True):
        flat = _broadcast_to_and_flatten(child, spec, is_leaf)
        if flat is None:
            return None
        result += flat
    return result


def treespec_pprint(treespec):
    return repr(treespec)


def treespec_leaf():
    return _LEAF
