"""Reading and writing by an index."""

import weft

from .._trace_registry import is_number, operator_rule
from .._tracer import TracedInt, aten, paused


def index_tensor(item):
    if isinstance(item, weft.Tensor):
        return item
    with paused():
        index = weft.tensor(item) if isinstance(item, list) else weft.as_tensor(item)
        return index.to(weft.int64) if index.numel() == 0 and isinstance(item, list) else index


def _is_scalar_index(item):
    if isinstance(item, weft.Tensor):
        return item.ndim == 0 and not item.is_floating_point() and item.dtype != weft.bool
    return not isinstance(item, bool) and hasattr(item, "__index__") and not hasattr(item, "__len__")


def _select(tensor, index):
    """The view that the numbers, slices, None and ... of an index select, and its tensors by dimension of the view."""
    items = [
        item
        if item is None or item is Ellipsis or isinstance(item, slice) or _is_scalar_index(item)
        else index_tensor(item)
        for item in (index if isinstance(index, tuple) else (index,))
    ]
    taken = sum(
        item.ndim
        if isinstance(item, weft.Tensor) and item.dtype == weft.bool
        else item is not None and item is not Ellipsis
        for item in items
    )
    rank, view, dim, arrays = tensor.ndim, tensor, 0, []
    for item in items:
        if item is Ellipsis:
            dim += rank - taken
        elif item is None:
            view = aten.unsqueeze(view, dim)
            dim += 1
        elif isinstance(item, slice):
            if any(bound is not None for bound in (item.start, item.stop, item.step)):
                view = aten.slice(view, dim, item.start, item.stop, 1 if item.step is None else item.step)
            dim += 1
        elif _is_scalar_index(item):
            if isinstance(item, weft.Tensor):
                item = aten.Int(item)
            elif type(item) is not int and not isinstance(item, TracedInt):
                item = item.__index__()
            view = aten.select(view, dim, item)
        else:
            arrays += [None] * (dim - len(arrays)) + [item]
            dim += item.ndim if item.dtype == weft.bool else 1
    return view, arrays


def _check_index(original, tensor, index):
    """The error that the index gives, if it does."""
    with paused():
        original(tensor, index)


def getitem(original, self, index):
    _check_index(original, self, index)
    view, arrays = _select(self, index)
    if arrays:
        return aten.index(view, arrays)
    return aten.alias(self) if view is self else view


def setitem(original, self, index, value):
    _check_index(type(self).__getitem__, self, index)
    view, arrays = _select(self, index)
    if arrays:
        if not isinstance(value, weft.Tensor):
            with paused():
                value = weft.as_tensor(value).to(self.dtype)
        elif value.dtype != self.dtype:
            value = aten["to.dtype"](value, self.dtype, False, False)
        aten.index_put_(view, arrays, value)
    elif is_number(value):
        aten.fill_(view, value)
    else:
        aten.copy_(view, value if isinstance(value, weft.Tensor) else index_tensor(value))


@operator_rule()
def scatter_combine(x, dim, index, src, reduce):
    return aten.scatter_reduce(x, dim, index, src, reduce, include_self=True)
