"""Shapes, and tensors made of nothing."""

import weft

from .._trace_registry import OPERATORS, operator_rule
from .._tracer import aten, paused


# ---- shapes --------------------------------------------------------------------------------------------------
@operator_rule()
def unsqueeze(x, dim):
    rank = x.ndim + len(dim)
    for one in sorted(d % rank for d in dim):
        x = aten.unsqueeze(x, one)
    return x


@operator_rule()
def squeeze(x, dim):
    if dim is None:
        return aten.squeeze(x)
    for one in sorted((d % max(x.ndim, 1) for d in dim), reverse=True):
        x = aten.squeeze(x, one)
    return x


@operator_rule()
def flip(x, dims):
    return aten.flip(x, list(range(x.ndim)) if dims is None else dims)


@operator_rule()
def meshgrid(tensors, indexing):
    return tuple(aten.meshgrid(tensors, indexing=indexing or "ij"))


@operator_rule("array_split", "split_sections")
def array_split(x, indices_or_sections, dim):
    return aten.tensor_split(x, indices_or_sections, dim)


@operator_rule()
def take(x, index, dim):
    return aten.take(x, index) if dim is None else aten.index_select(x, dim, index)


@operator_rule("slice")
def slice_(x, dim, start, stop, step):
    return aten.slice(x, dim, start, stop, step)


# ---- tensors made of nothing ---------------------------------------------------------------------------------
def _of_shape(name):
    original = getattr(weft, name)

    def rule(shape, dtype, device):
        with paused():
            dtype = original([0], dtype=dtype).dtype
        return aten[name](list(shape), dtype=dtype, device=device or weft.device("cpu"))

    OPERATORS[name] = rule


for _name in ("zeros", "ones", "empty"):
    _of_shape(_name)


@operator_rule()
def full(shape, value, dtype, device):
    with paused():
        dtype = weft.full([0], value, dtype=dtype).dtype
    return aten.full(list(shape), value, dtype=dtype, device=device or weft.device("cpu"))


@operator_rule()
def arange(start, stop, step, dtype, device):
    with paused():
        dtype = weft.arange(start, stop, step, dtype=dtype).dtype
    place = {"dtype": dtype, "device": device or weft.device("cpu")}
    if stop is None:
        return aten.arange(start, **place) if step == 1 else aten.arange(0, start, step, **place)
    return aten.arange(start, stop, **place) if step == 1 else aten.arange(start, stop, step, **place)


@operator_rule()
def linspace(start, end, steps, endpoint, dtype, device):
    if not endpoint:
        end = start + (end - start) * (steps - 1) / steps
    with paused():
        dtype = weft.linspace(start, end, 1, dtype=dtype).dtype
    return aten.linspace(start, end, steps, dtype=dtype, device=device or weft.device("cpu"))


@operator_rule()
def logspace(start, end, steps, base, dtype, device):
    with paused():
        dtype = weft.logspace(start, end, 1, base, dtype=dtype).dtype
    return aten.logspace(start, end, steps, base, dtype=dtype, device=device or weft.device("cpu"))


@operator_rule()
def eye(n, m, k, dtype, device):
    with paused():
        dtype = weft.eye(1, dtype=dtype).dtype
    place = {"dtype": dtype, "device": device or weft.device("cpu")}
    columns = n if m is None else m
    if k == 0:
        return aten.eye(n, columns, **place)
    return aten.tril(aten.triu(aten.ones([n, columns], **place), k), k)


@operator_rule()
def tri(n, m, k, dtype, device):
    with paused():
        dtype = weft.tri(1, dtype=dtype).dtype
    return aten.tril(
        aten.ones([n, n if m is None else m], dtype=dtype, device=device or weft.device("cpu")), k
    )


@operator_rule()
def vander(x, N, increasing):
    count = x.shape[0] if N is None else N
    powers = aten.pow(aten.unsqueeze(x, -1), weft.arange(count))
    return powers if increasing else aten.flip(powers, [-1])
