"""How the pickles of torch.save's files make tensors: PyTorch's functions by their names, and storages."""

import numpy

import weft
from weft import _C

from . import _kinds, _wrapper
from ._functions import quantized
from .storage import TypedStorage, UntypedStorage, storage_name

LAYOUTS = {repr(layout): layout for layout in vars(_kinds).values() if isinstance(layout, _kinds.layout)}


class StorageClass:
    """torch.FloatStorage and the like: the dtype of a storage."""

    def __init__(self, dtype):
        self.dtype = dtype
        self.__name__ = storage_name(dtype)

    def __call__(self, *args):
        raise NotImplementedError(f"torch.{self.__name__}: make tensors by torch.empty or torch.tensor")

    def __repr__(self):
        return f"<class 'torch.{self.__name__}'>"


def storage_of(identity, load_storage):
    """The storage that a persistent id names: ("storage", class, key, location, count[, view]).

    load_storage(key, nbytes, location[, view]) has its bytes.
    """
    words = [part.decode("ascii") if isinstance(part, bytes) else part for part in identity[:4]]
    if (
        len(identity) not in (5, 6)
        or words[0] != "storage"
        or not all(isinstance(words[i], str) for i in (2, 3))
    ):
        raise RuntimeError(f"torch.load: unknown persistent id: {identity!r:.100}")
    kind, key, location, count = *words[1:], identity[4]
    dtype = kind.dtype if isinstance(kind, StorageClass) else weft.uint8
    if type(count) is not int or count < 0:
        raise RuntimeError(f"torch.load: a storage of {count!r:.100} elements")
    view = identity[5] if len(identity) == 6 else None
    if view is not None:
        if (
            not isinstance(view, tuple)
            or len(view) != 3
            or not all(type(part) is int and part >= 0 for part in view[1:])
        ):
            raise RuntimeError(f"torch.load: a storage that is the part {view!r:.100} of another")
        view = view[0], view[1] * dtype.itemsize, view[2] * dtype.itemsize
    storage = load_storage(key, count * dtype.itemsize, location, view)
    return TypedStorage._of(storage, dtype) if isinstance(kind, StorageClass) else storage


def _dtype(dtype):
    if not isinstance(dtype, weft.dtype):
        raise TypeError(f"torch.load: expected a dtype, got {type(dtype).__name__}")
    return dtype


def _integers(*values):
    for value in values:
        if type(value) is not int:
            raise TypeError(f"torch.load: expected int, got {type(value).__name__}")
    return values


def _rebuild(storage, dtype, offset, size, stride, metadata=None):
    untyped = storage._untyped if isinstance(storage, TypedStorage) else storage
    if not isinstance(untyped, UntypedStorage):
        raise TypeError(f"torch.load: expected a storage, got {type(storage).__name__}")
    if untyped.device.type == "meta":
        return weft.empty(_integers(*size), dtype=_dtype(dtype), device="meta")
    data = untyped._bytes
    itemsize = _dtype(dtype).itemsize
    start = data.storage_offset()
    if start % itemsize or data.data_ptr() % itemsize:
        data, start = data.clone(), 0  # elements must lie at multiples of their size
        untyped._bytes = data
    (offset,) = _integers(offset)
    result = _C._storage_view(data, dtype, _integers(*size), _integers(*stride), start // itemsize + offset)
    return _with_flags(result, metadata, untyped)


def _with_flags(tensor, metadata, storage):
    """What PyTorch keeps as flags of a tensor, and weft computes: its elements are conjugated, or negated."""
    for name, value in (metadata or {}).items():
        if not value:
            continue
        if storage.is_unread:
            raise RuntimeError(
                f"torch.load: a tensor with the flag {name!r:.100} in the format before archives: save "
                "tensor.resolve_conj().resolve_neg() instead"
            )
        if name not in ("conj", "neg"):
            raise RuntimeError(f"torch.load: a tensor with the flag {name!r:.100}")
        tensor = tensor.conj() if name == "conj" else -tensor
    return tensor


def attributes_of(state):
    """(name, value) of a state: a dict, or a pair of it and those of slots."""
    for attributes in state if isinstance(state, tuple) else (state,):
        yield from (attributes or {}).items()


def _with_state(tensor, state):
    """The tensor with the attributes that were saved with it."""
    # Wrapping classes may have defaults of their own.
    kind = weft.Tensor if _wrapper.is_wrapper(tensor) else type(tensor)
    for name, value in attributes_of(state):
        if hasattr(kind, name):
            raise RuntimeError(f"torch.load: an attribute {name!r:.100} of a tensor, which its class has")
        setattr(tensor, name, value)
    return tensor


def _rebuild_tensor(storage, storage_offset, size, stride):
    return _rebuild(storage, getattr(storage, "dtype", None), storage_offset, size, stride)


def _rebuild_tensor_v2(storage, storage_offset, size, stride, requires_grad, backward_hooks, metadata=None):
    return _rebuild(storage, getattr(storage, "dtype", None), storage_offset, size, stride, metadata)


def _rebuild_tensor_v3(
    storage, storage_offset, size, stride, requires_grad, backward_hooks, dtype, metadata=None
):
    return _rebuild(storage, dtype, storage_offset, size, stride, metadata)


def _rebuild_parameter(data, requires_grad, backward_hooks):
    return weft.nn.Parameter(data, requires_grad)


def _rebuild_parameter_with_state(data, requires_grad, backward_hooks, state):
    return _with_state(weft.nn.Parameter(data, requires_grad), state)


def _rebuild_meta_tensor_no_storage(dtype, size, stride, requires_grad):
    return weft.empty(_integers(*size), dtype=_dtype(dtype), device="meta")


def _rebuild_wrapper_subclass(cls, dtype, size, stride, storage_offset, layout, device, requires_grad):
    """A tensor that wraps others, without them: they are attributes, which _rebuild_from_type_v2 sets."""
    if not isinstance(cls, type) or not issubclass(cls, weft.Tensor) or "__torch_dispatch__" not in dir(cls):
        raise TypeError(f"torch.load: expected a class that wraps tensors, got {cls!r:.100}")
    if not isinstance(device, weft.device):
        raise TypeError(f"torch.load: expected a device, got {type(device).__name__}")
    return _wrapper.make(cls, _integers(*size), dtype=_dtype(dtype), device=device)


def reduced(tensor):
    """What a pickle says of a tensor that wraps others: that, and its attributes."""
    made = (
        type(tensor),
        tensor.dtype,
        tuple(tensor.shape),
        tuple(tensor.stride()),
        0,
        _kinds.strided,
        tensor.device,
        False,
    )
    state = {name: value for name, value in vars(tensor).items() if name != "_weft_device"}
    return _rebuild_from_type_v2, (_rebuild_wrapper_subclass, type(tensor), made, state)


def _rebuild_device_tensor_from_numpy(data, dtype, device, requires_grad):
    if type(data) is not numpy.ndarray:
        raise TypeError(f"torch.load: expected an array of NumPy's, got {type(data).__name__}")
    return weft.from_numpy(data).to(_dtype(dtype))


def _rebuild_from_type_v2(function, new_type, arguments, state):
    result = function(*arguments)
    if not isinstance(new_type, type) or not issubclass(new_type, weft.Tensor):
        raise TypeError(f"torch.load: expected a class of tensors, got {new_type!r:.100}")
    if new_type is not weft.Tensor and new_type is not type(result):
        result = new_type(result)
    if _wrapper.is_wrapper(result) and hasattr(type(result), "__setstate__"):
        result.__setstate__(state)
        return result
    return _with_state(result, state)


def _get_layout(name):
    try:
        return LAYOUTS[name]
    except (KeyError, TypeError):
        raise RuntimeError(f"torch.load: unknown layout {name!r:.100}") from None


def _rebuild_sparse_tensor(*args):
    raise NotImplementedError("torch.load: sparse and other layouts; weft's tensors are strided")


_INTEGERS = {_kinds.qint8: weft.int8, _kinds.quint8: weft.uint8, _kinds.qint32: weft.int32}


def _rebuild_qtensor(
    storage, storage_offset, size, stride, quantizer_params, requires_grad=False, backward_hooks=None
):
    dtype = getattr(storage, "dtype", None)
    if dtype not in _INTEGERS:
        raise NotImplementedError(
            f"torch.load: a quantized tensor of {dtype}: weft reads those of TorchScript archives only"
        )
    if type(quantizer_params) is not tuple or len(quantizer_params) not in (3, 4):
        raise TypeError("torch.load: expected a scheme, scale and zero point")
    integers = _rebuild(storage, _INTEGERS[dtype], storage_offset, size, stride)
    scheme, scale, zero_point = quantizer_params[:3]
    if scheme is _kinds.per_tensor_affine:
        if type(scale) is not float or type(zero_point) is not int:
            raise TypeError("torch.load: expected a scale and a zero point")
        return quantized._make_per_tensor_quantized_tensor(integers, scale, zero_point)
    if (
        scheme not in (_kinds.per_channel_affine, _kinds.per_channel_affine_float_qparams)
        or len(quantizer_params) != 4
    ):
        raise RuntimeError(f"torch.load: unknown quantization scheme {scheme!r:.100}")
    floats = (
        (weft.float64, weft.int64) if scheme is _kinds.per_channel_affine else (weft.float32, weft.float32)
    )
    scales, zeros = (
        each if isinstance(each, weft.Tensor) else weft.tensor(list(each), dtype=kind)
        for each, kind in zip((scale, zero_point), floats)
    )
    (axis,) = _integers(quantizer_params[3])
    return quantized._make_per_channel_quantized_tensor(integers, scales, zeros, axis)


_rebuild_nested_tensor = _rebuild_sparse_csr_tensor = _rebuild_sparse_tensor

FUNCTIONS = {
    f"torch._utils.{function.__name__}": function
    for function in (
        _rebuild_tensor,
        _rebuild_tensor_v2,
        _rebuild_tensor_v3,
        _rebuild_parameter,
        _rebuild_parameter_with_state,
        _rebuild_meta_tensor_no_storage,
        _rebuild_wrapper_subclass,
        _rebuild_device_tensor_from_numpy,
        _rebuild_qtensor,
        _rebuild_sparse_tensor,
    )
} | {
    "torch._utils._rebuild_sparse_csr_tensor": _rebuild_sparse_tensor,
    "torch._utils._rebuild_nested_tensor": _rebuild_sparse_tensor,
    "torch._tensor._rebuild_from_type_v2": _rebuild_from_type_v2,
    "torch.serialization._get_layout": _get_layout,
}
