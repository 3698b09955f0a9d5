"""What to(), half() and the like make of a module's tensors."""

import weft
from weft.nn.parameter import Parameter, is_lazy


class Once:
    """A function of tensors that is called once for each, though several modules share some."""

    def __init__(self, fn):
        self._fn = fn
        self._done = {}  # by the tensor's id: the result, what takes the tensor's place, and the tensor itself

    def __call__(self, value):
        return self._results_of(value)[0]

    def in_place_of(self, value):
        """The result as a module holds it: that of a parameter is one."""
        return self._results_of(value)[1]

    def _results_of(self, value):
        known = self._done.get(id(value))
        if known is None:
            result = value if is_lazy(value) else self._fn(value)
            becomes_parameter = (
                result is not value and isinstance(value, Parameter) and not isinstance(result, Parameter)
            )
            held = Parameter(result, value.requires_grad) if becomes_parameter else result
            known = self._done[id(value)] = (result, held, value)
        return known


def parse_to(*args, **kwargs):
    """(device, dtype) of the arguments of Module.to, None for what is not given."""
    kwargs.pop("non_blocking", None)
    memory_format = kwargs.pop("memory_format", None)
    if memory_format is not None and not any(args) and not kwargs:
        return None, None  # the order of elements in memory: weft chooses its own
    device, dtype = kwargs.pop("device", None), kwargs.pop("dtype", None)
    if kwargs:
        raise TypeError(f"to: unexpected arguments {sorted(kwargs)}")
    for value in args:
        if isinstance(value, weft.Tensor):
            device, dtype = value.device, value.dtype
        elif isinstance(value, weft.dtype):
            dtype = value
        elif isinstance(value, (str, weft.device)):
            device = value
        elif value is not None and not isinstance(value, bool):
            raise TypeError(f"to: expected a device, a dtype or a tensor, got {type(value).__name__}")
    if dtype is not None:
        sample = weft.empty((0,), dtype=dtype)
        if not (sample.is_floating_point() or sample.is_complex()):
            raise TypeError(f"to: expected a floating-point dtype, got {dtype}")
    if device is not None and str(device) != "cpu":
        weft.empty((0,), device=device)  # says why it cannot be used
    return device, dtype


def dtype_of(kind):
    """The dtype that Module.type is given: a dtype, or a class of tensors by its name ("torch.HalfTensor")."""
    if isinstance(kind, weft.dtype):
        return kind
    name = (kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))).rpartition(".")[2]
    named = {
        "FloatTensor": weft.float32,
        "DoubleTensor": weft.float64,
        "HalfTensor": weft.float16,
        "BFloat16Tensor": weft.bfloat16,
        "LongTensor": weft.int64,
        "IntTensor": weft.int32,
    }
    if name not in named:
        raise ValueError(f"type: expected a dtype, got {kind!r}")
    return named[name]
