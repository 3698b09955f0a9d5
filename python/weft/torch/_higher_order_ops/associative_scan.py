"""torch._higher_order_ops.associative_scan.

source: Blelloch: Prefix Sums and Their Applications (1990).
"""

import weft

from ..utils import _pytree


def _interleaved(even, odd, dim):
    """The slices of even and odd along dim by turns, even's first."""
    pairs = weft.stack([even.narrow(dim, 0, odd.shape[dim]), odd], dim + 1).flatten(dim, dim + 1)
    return (
        pairs
        if even.shape[dim] == odd.shape[dim]
        else weft.cat([pairs, even.narrow(dim, odd.shape[dim], 1)], dim)
    )


def _scan(combine, leaves, dim):
    count = leaves[0].shape[dim]
    if count < 2:
        return leaves

    def every_second(tensors, begin, end):
        index = (slice(None),) * dim + (slice(begin, end, 2),)
        return [tensor[index] for tensor in tensors]

    pairs = combine(every_second(leaves, 0, count - 1), every_second(leaves, 1, count))
    odd = _scan(combine, pairs, dim)
    before = odd if count % 2 else [tensor.narrow(dim, 0, tensor.shape[dim] - 1) for tensor in odd]
    first = [tensor.narrow(dim, 0, 1) for tensor in leaves]
    if count > 2:
        later = combine(before, every_second(leaves, 2, count))
        first = [weft.cat([a, b], dim) for a, b in zip(first, later)]
    return [_interleaved(a, b, dim) for a, b in zip(first, odd)]


def associative_scan(combine_fn, xs, dim, reverse=False, combine_mode="pointwise"):
    """At each place along dim what combine_fn, which is associative, makes of all tensors up to there; of trees of tensors too.

    raises: ValueError for a combine_fn that is not callable, or no tensors.
    """
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    if not isinstance(dim, int):
        raise ValueError(f"Dim must be an int, but got {type(dim)}")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}")
    leaves, spec = _pytree.tree_flatten(xs)
    if not leaves:
        raise ValueError("Expected at least 1 xs leaf")
    if not all(isinstance(leaf, weft.Tensor) for leaf in leaves):
        raise ValueError("xs leaves must be a Tensor")
    dim = dim % leaves[0].dim()
    if reverse:
        leaves = [weft.flip(leaf, [dim]) for leaf in leaves]

    def combine(left, right):
        made = combine_fn(_pytree.tree_unflatten(left, spec), _pytree.tree_unflatten(right, spec))
        return _pytree.tree_leaves(made)

    leaves = _scan(combine, leaves, dim)
    if reverse:
        leaves = [weft.flip(leaf, [dim]) for leaf in leaves]
    return _pytree.tree_unflatten(leaves, spec)
