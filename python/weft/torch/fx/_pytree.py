"""Trees of arguments, flattened in the order of a form that is known."""

__all__ = ["register_pytree_flatten_spec", "tree_flatten_spec"]

SUPPORTED_NODES, SUPPORTED_NODES_EXACT_MATCH = {}, {}


def register_pytree_flatten_spec(cls, flatten_fn_spec, flatten_fn_exact_match_spec=None):
    """How trees of a class are flattened by a form: flatten_fn_spec(tree, form) gives the children."""
    SUPPORTED_NODES[cls] = flatten_fn_spec
    SUPPORTED_NODES_EXACT_MATCH[cls] = flatten_fn_exact_match_spec


def tree_flatten_spec(pytree, spec):
    """The leaves of a tree of the form."""
    if spec.is_leaf():
        return [pytree]
    if spec.type not in SUPPORTED_NODES:
        raise RuntimeError(
            f"{type(pytree)} does not have a flatten_fn_spec associated with it. Please register one with "
            "torch.fx._pytree.register_pytree_flatten_spec.  If you have serialized your model, make sure that any custom pytrees have "
            "been registered before loading it."
        )
    children = SUPPORTED_NODES[spec.type](pytree, spec)
    return [
        leaf for child, form in zip(children, spec.children_specs) for leaf in tree_flatten_spec(child, form)
    ]


def _of_dict(tree, spec):
    return [tree[key] for key in spec.context]


def _of_sequence(tree, spec):
    return [tree[at] for at in range(spec.num_children)]


register_pytree_flatten_spec(dict, _of_dict)
for _kind in (list, tuple):
    register_pytree_flatten_spec(_kind, _of_sequence)
