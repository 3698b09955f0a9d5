"""Functions that make tensors, and what is asked of dtypes."""

import builtins
import numbers
import types

import weft as _weft


def empty_strided(
    size, stride, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False
):
    """A tensor of this shape and these strides that is not initialized."""
    size, stride = tuple(size), tuple(stride)
    if len(size) != len(stride):
        raise RuntimeError(
            f"empty_strided: expected as many strides as sizes, got {list(size)} and {list(stride)}"
        )
    if any(step < 0 for step in stride):
        raise RuntimeError(f"empty_strided: strides must not be negative, got {list(stride)}")
    reach = 0 if 0 in size else 1 + sum((n - 1) * step for n, step in zip(size, stride))
    memory = _weft.empty((reach,), dtype=dtype, device=device)
    return _flagged(memory.as_strided(size, stride), requires_grad)


def empty_permuted(
    size, physical_layout, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False
):
    """A tensor of this shape that is not initialized; physical_layout: its dimensions as they lie in memory."""
    size, order = tuple(size), tuple(physical_layout)
    for at, d in enumerate(order):
        if not 0 <= d < len(size):
            raise RuntimeError(
                f"Dimension out of range (expected to be between 0 and {len(size) - 1}, but got {d} at index {at})"
            )
    if sorted(order) != [*builtins.range(len(size))]:
        raise RuntimeError(
            f"empty_permuted: expected the dimensions of {list(size)} in some order, got {list(order)}"
        )
    made = _weft.empty(tuple(size[d] for d in order), dtype=dtype, device=device)
    return _flagged(made.permute([order.index(d) for d in builtins.range(len(size))]), requires_grad)


def _flagged(tensor, requires_grad):
    if requires_grad:
        tensor.requires_grad = True
    return tensor


def scalar_tensor(s, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """A number as a 0-d tensor, in the default dtype unless told otherwise."""
    if not isinstance(s, (int, float, complex)) and getattr(s, "ndim", 1) != 0:
        raise TypeError(f"scalar_tensor(): argument 's' (position 1) must be Number, not {type(s).__name__}")
    dtype = (_weft.get_default_dtype() if not isinstance(s, complex) else None) if dtype is None else dtype
    return _weft.tensor(s, dtype=dtype, device=device, requires_grad=requires_grad)


def range(start=0, end=None, step=1, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """start, start + step, … up to and including end, in the default dtype. arange() is without the end."""
    if end is None:
        raise TypeError('range() missing 1 required positional arguments: "end"')
    if step == 0:
        raise RuntimeError("range: step must not be zero")
    if (end - start) * step < 0:
        raise RuntimeError(f"range: from {start} to {end} the step {step} leads away")
    count = int((end - start) / step) + 1
    dtype = (_weft.get_default_dtype() if out is None else out.dtype) if dtype is None else dtype
    made = (_weft.arange(count, dtype=_weft.float64) * step + start).to(dtype)
    if device is not None:
        made = made.to(device)
    return _flagged(made if out is None else out.resize_(count).copy_(made), requires_grad)


def frombuffer(buffer, *, dtype, count=-1, offset=0, requires_grad=False):
    """A 1-d tensor over the memory of an object that exports a buffer: no copy.

    count: elements (-1: as many as there are); offset: bytes that are skipped. raises: ValueError where they do not fit.
    """
    view = memoryview(buffer).cast("B")
    size = dtype.itemsize
    if len(view) == 0:
        raise ValueError("frombuffer: the buffer is empty")
    if not 0 <= offset < len(view):
        raise ValueError(f"frombuffer: expected an offset in [0, {len(view)}), got {offset}")
    available = len(view) - offset
    if count == 0 or count < -1:
        raise ValueError(f"frombuffer: expected a count of at least 1, or -1, got {count}")
    if count == -1:
        if available % size:
            raise ValueError(f"frombuffer: {available} bytes are no whole number of elements of {size}")
        count = available // size
    if count * size > available:
        raise ValueError(f"frombuffer: {count} elements of {size} bytes do not fit {available} bytes")
    part = view[offset : offset + count * size]
    import numpy

    return _flagged(_weft.from_numpy(numpy.frombuffer(part, numpy.uint8)).view(dtype), requires_grad)


# ---- dtypes ---------------------------------------------------------------------------------------------------------


def from_file(filename, shared=None, size=0, *, dtype=None, layout=None, device=None, pin_memory=False,
              requires_grad=False):  # fmt: skip
    """The first `size` elements of a file, mapped into memory; shared: what is written to the tensor is written to the file,
    which is made, or made longer, where it has less."""
    import numpy

    dtype = dtype or _weft.get_default_dtype()
    nbytes = size * dtype.itemsize
    if shared:
        with open(filename, "ab") as file:
            file.truncate(max(file.tell(), nbytes))
    if nbytes == 0:
        return _flagged(_weft.empty((0,), dtype=dtype), requires_grad)
    data = numpy.memmap(filename, numpy.uint8, "r+" if shared else "c", shape=(nbytes,))
    return _flagged(_weft.from_numpy(data).view(dtype), requires_grad)


def _rank(dtype):
    return 3 if dtype.is_complex else 2 if dtype.is_floating_point else 0 if dtype == _weft.bool else 1


def can_cast(from_, to):
    """May a result of one dtype be written into a tensor of another: not from a higher kind (complex, floating,
    integer, bool) into a lower one?"""
    return _rank(from_) <= _rank(to)


def result_type(tensor1, tensor2):
    """The dtype of arithmetic on two tensors or numbers."""
    kinds = [_operand(each) for each in (tensor1, tensor2)]
    found = None
    for priority in (0, 1, 2):
        dtypes = [dtype for level, dtype in kinds if level == priority]
        if not dtypes:
            continue
        group = dtypes[0] if len(dtypes) == 1 else _weft.promote_types(*dtypes)
        found = group if found is None else _beside(found, group)
    return found


def _operand(value):
    """How much it counts (0: a tensor with dimensions, 1: one without, 2: a number) and its dtype."""
    if isinstance(value, _weft.Tensor):
        return (0 if value.ndim else 1), value.dtype
    if isinstance(value, bool):
        return 2, _weft.bool
    if isinstance(value, numbers.Integral):
        return 2, _weft.int64
    if isinstance(value, numbers.Real):
        return 2, _weft.get_default_dtype()
    if isinstance(value, numbers.Complex):
        return 2, _weft.get_default_dtype().to_complex()
    raise TypeError(f"result_type: expected tensors or numbers, got {type(value).__name__}")


def _beside(higher, lower):
    """What counts less changes the dtype only where it is of a higher kind."""
    if _rank(lower) <= _rank(higher):
        return higher
    if lower.is_complex and higher.is_floating_point:
        return higher.to_complex() if higher.itemsize >= 4 else _weft.complex64
    return _weft.promote_types(higher, lower)


def set_default_tensor_type(t):
    """The default dtype as the dtype of such tensors: torch.DoubleTensor, or its name."""
    if isinstance(t, str):
        from weft import torch

        t = getattr(torch, t.rpartition(".")[2])
    _weft.set_default_dtype(t.dtype)


def set_default_device(device):
    """Where tensors are made unless told otherwise; None: on the CPU. For this thread."""
    _weft._C._set_default_device(device)


print_options = types.SimpleNamespace(precision=4, threshold=1000, edgeitems=3, linewidth=80, sci_mode=None)
_PROFILES = {"default": (4, 1000, 3, 80), "short": (2, 1000, 2, 80), "full": (4, 2**62, 3, 80)}


def set_printoptions(
    precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None
):
    """How tensors are printed: digits behind the point, elements from which on only edges are shown and how many
    of them, columns, and whether numbers are written with exponents (None: where they ask for it).

    profile: "default", "short" or "full", for all of them; another changes nothing, as in PyTorch.
    """
    options = [precision, threshold, edgeitems, linewidth]
    if profile in _PROFILES:
        options = [given if given is not None else usual for given, usual in zip(options, _PROFILES[profile])]
    options = [None if given is None else int(min(given, 2**62)) for given in options]
    _weft._C._set_print_options(*options, sci_mode)
    names = ("precision", "threshold", "edgeitems", "linewidth")
    vars(print_options).update({name: given for name, given in zip(names, options) if given is not None})
    print_options.sci_mode = sci_mode
