"""torch.vmap: a function of samples as a function of batches.

The function is called once, and operators compute all samples (`_batched`). A function that asks for a sample's elements is
called for each sample, and the results are stacked; so it is in captured functions.
"""

import weft as _weft
from weft import Tensor as _Tensor

from . import _batched
from ._support import is_integer


def _is_named(value):
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _like(value, items):
    """A container of value's kind with other items."""
    if _is_named(value):
        return type(value)(*items)
    return type(value)(items) if isinstance(value, (tuple, list)) else dict(zip(value, items))


def _items(value):
    """The items of a container that vmap looks into; None of anything else."""
    if isinstance(value, (tuple, list)):
        return list(value)
    return list(value.values()) if type(value) is dict else None


def _spread(dims, value, what):
    """`dims` in the structure of value: one number or None stands for all below it."""
    items = _items(value)
    if dims is None or is_integer(dims) or isinstance(dims, bool):
        return dims if items is None else [_spread(dims, item, what) for item in items]
    if items is None or _items(dims) is None or len(_items(dims)) != len(items):
        raise ValueError(f"vmap: {what} is not compatible with the structure of what it is for: {dims!r}")
    return [_spread(dim, item, what) for dim, item in zip(_items(dims), items)]


def _sizes(value, dims):
    """The sizes of the mapped dimensions."""
    items = _items(value)
    if items is not None:
        return [size for item, dim in zip(items, dims) for size in _sizes(item, dim)]
    if dims is None:
        return []
    if not isinstance(value, _Tensor):
        raise ValueError(
            f"vmap: Got in_dim={dims} for an input but the input is of type {type(value).__name__}. We cannot vmap over "
            "non-Tensor arguments, please use None as the respective in_dim"
        )
    if not -value.dim() <= dims < value.dim():
        raise ValueError(
            f"vmap: Got in_dim={dims} for some input, but that input is a Tensor of dimensionality {value.dim()} so "
            f"expected in_dim to satisfy -{value.dim()} <= in_dim < {value.dim()}."
        )
    return [value.shape[dims]]


def _sample(value, dims, number):
    items = _items(value)
    if items is not None:
        return _like(value, [_sample(item, dim, number) for item, dim in zip(items, dims)])
    return value if dims is None else _weft.select(value, dims, number)


def _stacked(results, dims):
    first = results[0]
    items = _items(first)
    if items is not None:
        columns = zip(*[_items(result) for result in results])
        return _like(first, [_stacked(list(column), dim) for column, dim in zip(columns, dims)])
    if not isinstance(first, _Tensor):
        raise ValueError(f"vmap: the function must only return Tensors, got type {type(first)} as a return.")
    if dims is None:
        raise ValueError("vmap: out_dims: None is for what does not depend on the mapped inputs")
    return _weft.stack(results, dims)


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """A function that calls `func` with the slices of its tensors along in_dims, and stacks the results along out_dims.

    None in in_dims: the argument is given whole. Keyword arguments are given whole.
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}"
        )
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
    if not is_integer(in_dims) and not isinstance(in_dims, (tuple, list)):
        raise ValueError(
            f"vmap: expected `in_dims` to be int or a (potentially nested) tuple, got: {type(in_dims)}."
        )

    def mapped(*args, **kwargs):
        if not args:
            raise ValueError(
                "vmap: got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over none."
            )
        dims = _spread(in_dims if is_integer(in_dims) else tuple(in_dims), args, "in_dims")
        sizes = _sizes(args, dims)
        if not sizes:
            raise ValueError("vmap: at least one of in_dims must be an int")
        if any(size != sizes[0] for size in sizes):
            raise ValueError(
                f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the "
                "mapped dimension"
            )
        step = max(sizes[0] if chunk_size is None else min(chunk_size, sizes[0]), 1)
        parts = [
            _part(func, args, kwargs, dims, out_dims, randomness, start, min(start + step, sizes[0]))
            for start in range(0, max(sizes[0], 1), step)
        ]
        return parts[0] if len(parts) == 1 else _joined(parts, _spread(out_dims, parts[0], "out_dims"))

    return mapped


def _joined(parts, dims):
    first = parts[0]
    items = _items(first)
    if items is None:
        return first if dims is None else _weft.cat(parts, dims)
    columns = zip(*[_items(part) for part in parts])
    return _like(first, [_joined(list(column), dim) for column, dim in zip(columns, dims)])


def _part(func, args, kwargs, dims, out_dims, randomness, start, stop):
    """The results of the samples from start on, before stop."""
    if not _weft.compiler.is_compiling():
        state = _weft.random.get_rng_state() if randomness != "error" else None
        try:
            return _batched.run(
                stop - start,
                randomness,
                lambda batching: _at_once(batching, func, args, kwargs, dims, out_dims, start, stop),
            )
        except _batched.NeedsElements:
            if state is not None:
                _weft.random.set_rng_state(state)
    if start == stop:
        raise ValueError("vmap: the mapped dimension is empty, and the results' shapes are not known")
    results = [func(*_sample(args, dims, number), **kwargs) for number in range(start, stop)]
    return _stacked(results, _spread(out_dims, results[0], "out_dims"))


def _at_once(batching, func, args, kwargs, dims, out_dims, start, stop):
    with _batched._Handler(batching.outer):
        samples = _samples(batching, args, dims, start, stop)
    result = func(*samples, **kwargs)
    with _batched._Handler(batching.outer):
        return _batches(batching, result, _spread(out_dims, result, "out_dims"))


def _samples(batching, value, dims, start, stop):
    items = _items(value)
    if items is not None:
        return _like(value, [_samples(batching, item, dim, start, stop) for item, dim in zip(items, dims)])
    if dims is None:
        return value
    batch = _weft.movedim(value, dims, 0)
    if stop - start != batch.shape[0]:
        batch = batch.narrow(0, start, stop - start)
    return batching.sample(batch)


def _batches(batching, value, dims):
    items = _items(value)
    if items is not None:
        return _like(value, [_batches(batching, item, dim) for item, dim in zip(items, dims)])
    if not isinstance(value, _Tensor):
        raise ValueError(f"vmap: the function must only return Tensors, got type {type(value)} as a return.")
    if dims is None:
        if batching.is_own(value):
            raise ValueError("vmap: out_dims: None is for what does not depend on the mapped inputs")
        return value
    if type(value) is not _batched.Sample and value.device.type == "meta":
        raise _batched.NeedsElements("a result")
    rank = value.dim() + 1
    if not -rank <= dims < rank:
        raise IndexError(f"vmap: out_dims: expected one in [{-rank}, {rank - 1}], got {dims}")
    return _weft.movedim(batching.batch(value), 0, dims)
