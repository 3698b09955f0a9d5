"""Methods and properties of Tensor, and the functions that make tensors of data."""

import operator

import weft

from .._tracer import TracedInt, aten, current, paused, warn, warn_value
from .indexing import getitem, index_tensor, setitem


def _in_format(memory_format):
    return {} if memory_format is None else {"memory_format": operator.index(memory_format)}


def _to(original, self, *args, dtype=None, device=None, non_blocking=False, copy=False, memory_format=None):
    with paused():
        target = original(self, *args, dtype=dtype, device=device, memory_format=memory_format)
    flags = [each for each in args if isinstance(each, bool)]
    copy = copy or flags[1:] == [True]
    order = _in_format(memory_format)
    for other in args:
        if isinstance(other, weft.Tensor):
            return aten["to.other"](self, other, non_blocking, copy, **order)
    if target.device != self.device:
        raise NotImplementedError(f"weft.jit.trace: to: a move to {target.device} cannot be recorded")
    if (
        target.dtype == self.dtype
        and dtype is None
        and not any(isinstance(each, weft.dtype) for each in args)
        and not order
    ):
        return aten.clone(self) if copy else self
    return aten["to.dtype"](self, target.dtype, non_blocking, copy, **order)


def _converting(original, self, *args, memory_format=None, **kwargs):
    with paused():
        dtype = original(self, *args, **kwargs).dtype
    return aten["to.dtype"](self, dtype, False, False, **_in_format(memory_format))


def _same(original, self):
    return self


def _builtin(name):
    return lambda original, self: aten[name](self)


def _ordered(name):
    return lambda original, self, memory_format=None: aten[name](self, **_in_format(memory_format))


def _copy(original, self, source):
    aten.copy_(self, source if isinstance(source, weft.Tensor) else index_tensor(source))
    return self


def _fill(original, self, value):
    aten.fill_(self, value)
    return self


def _zero(original, self):
    aten.zero_(self)
    return self


def _shape(original, self):
    sizes = original(self)
    if not current().recorder.is_computed(self):
        return sizes
    return tuple(aten["size.int"](self, dim) for dim in range(len(sizes)))


def _size(original, self, dim=None):
    if dim is None:
        return self.shape
    plain = original(self, dim)
    return aten["size.int"](self, dim) if current().recorder.is_computed(self) else plain


def _numel(original, self):
    return aten.numel(self) if current().recorder.is_computed(self) else original(self)


def _len(original, self):
    length = original(self)
    if current().recorder.is_computed(self):
        warn(
            "Using len of a tensor records its length as a constant, so the trace might not hold for other inputs; use x.shape[0]"
        )
    return length


def _iter(original, self):
    if self.ndim == 0:
        return original(self)
    if current().recorder.is_computed(self):
        warn(
            "Iterating over a tensor might cause the trace to be incorrect: the number of iterations is recorded as a constant, "
            "so the trace might not hold for other inputs."
        )
    return iter(aten.unbind(self, 0))


def _value(what):
    def rule(original, self, *args, **kwargs):
        warn_value(self, what)
        return original(self, *args, **kwargs)

    return rule


METHODS = {
    "__getitem__": getitem,
    "__setitem__": setitem,
    "__len__": _len,
    "__iter__": _iter,
    "__bool__": _value("boolean"),
    "__int__": _value("integer"),
    "__float__": _value("float"),
    "__complex__": _value("complex number"),
    "__index__": _value("index"),
    "item": _value("number"),
    "tolist": _value("list"),
    "numpy": _value("array"),
    "__array__": _value("array"),
    "__copy__": _builtin("alias"),
    "__deepcopy__": lambda original, self, memo: aten.clone(self),
    "to": _to,
    "type": _converting,
    "astype": _converting,
    "cpu": _same,
    "contiguous": _ordered("contiguous"),
    "clone": _ordered("clone"),
    "detach": _builtin("detach"),
    "copy_": _copy,
    "_overwrite_": _copy,
    "fill_": _fill,
    "zero_": _zero,
    "_sizes": _size,
    "numel": _numel,
    "nelement": _numel,
    **dict.fromkeys(
        "half bfloat16 float double byte char short int long bool cfloat cdouble".split(),
        _converting,
    ),
}

PROPERTIES = {
    "shape": _shape,
    "T": lambda original, self: aten.permute(self, list(reversed(range(self.ndim)))),
    "mT": lambda original, self: aten.transpose(self, -2, -1),
}


def _of_data(original, data, **options):
    """weft.tensor and its relatives."""
    if isinstance(data, weft.Tensor):
        if original.__name__ == "tensor":
            data = aten.clone(data)
        return data if options.get("dtype") is None else data.to(options["dtype"])
    if _holds_traced(data):
        warn(
            "A tensor is made of values of traced tensors: it is recorded as a constant, so the trace might not hold for other inputs.",
            of_values=not _holds_sizes_only(data),
        )
    with paused():
        return original(data, **options)


def _holds_traced(data):
    if isinstance(data, (list, tuple)):
        return any(_holds_traced(item) for item in data)
    return isinstance(data, TracedInt) or (
        isinstance(data, weft.Tensor) and current().recorder.is_computed(data)
    )


def _holds_sizes_only(data):
    if isinstance(data, (list, tuple)):
        return all(_holds_sizes_only(item) for item in data)
    return not (isinstance(data, weft.Tensor) and current().recorder.is_computed(data))


FUNCTIONS = dict.fromkeys(("tensor", "as_tensor", "asarray"), _of_data)
