"""The pickles within torch.save's files: tensors as storages and how to rebuild tensors of them, under PyTorch's names."""

import codecs
import collections
import importlib
import pickle

import weft
from weft import _C

from .storage import DTYPES, TypedStorage, UntypedStorage, storage_name

# Written with an untyped storage and their name.
LATER_DTYPES = {dtype for dtype in DTYPES.values() if storage_name(dtype) is None}


# ---- tensors of storages ---------------------------------------------------------------------------------------------


def _rebuild(storage, dtype, offset, size, stride):
    untyped = storage._untyped if isinstance(storage, TypedStorage) else storage
    if untyped.device.type == "meta":
        return weft.empty(tuple(size), dtype=dtype, device="meta")
    data = untyped._bytes
    itemsize = dtype.itemsize
    start = data.storage_offset()
    if start % itemsize or data.data_ptr() % itemsize:
        data, start = data.clone(), 0  # elements must lie at multiples of their size
        untyped._bytes = data
    return _C._storage_view(data, dtype, tuple(size), tuple(stride), start // itemsize + offset)


def _rebuild_tensor(storage, storage_offset, size, stride):
    return _rebuild(storage, storage.dtype, storage_offset, size, stride)


def _rebuild_tensor_v2(storage, storage_offset, size, stride, requires_grad, backward_hooks, metadata=None):
    return _rebuild(storage, storage.dtype, storage_offset, size, stride)


def _rebuild_tensor_v3(
    storage, storage_offset, size, stride, requires_grad, backward_hooks, dtype, metadata=None
):
    return _rebuild(storage, dtype, storage_offset, size, stride)


def _rebuild_parameter(data, requires_grad, backward_hooks):
    return weft.nn.Parameter(data, requires_grad)


def _rebuild_parameter_with_state(data, requires_grad, backward_hooks, state):
    parameter = weft.nn.Parameter(data, requires_grad)
    vars(parameter).update(state[0] if isinstance(state, tuple) else state or {})
    return parameter


def _rebuild_meta_tensor_no_storage(dtype, size, stride, requires_grad):
    return weft.empty(tuple(size), dtype=dtype, device="meta")


def _rebuild_device_tensor_from_numpy(data, dtype, device, requires_grad):
    return weft.from_numpy(data).to(dtype)


def _rebuild_from_type_v2(function, new_type, arguments, state):
    result = function(*arguments)
    if (
        new_type not in (weft.Tensor, type(result))
        and isinstance(new_type, type)
        and issubclass(new_type, weft.Tensor)
    ):
        result = new_type(result)
    return result


def _get_layout(name):
    from weft import torch

    return getattr(torch, name.removeprefix("torch."))


def _rebuild_sparse_tensor(*args):
    raise NotImplementedError("torch.load: sparse and other layouts; weft's tensors are strided")


def _rebuild_qtensor(*args):
    raise NotImplementedError("torch.load: quantized dtypes; use weft's weight-only quantization")


_rebuild_nested_tensor = _rebuild_sparse_tensor

_FUNCTIONS = {
    f"torch._utils.{function.__name__}": function
    for function in (
        _rebuild_tensor,
        _rebuild_tensor_v2,
        _rebuild_tensor_v3,
        _rebuild_parameter,
        _rebuild_parameter_with_state,
        _rebuild_meta_tensor_no_storage,
        _rebuild_device_tensor_from_numpy,
    )
} | {
    "torch._utils._rebuild_sparse_tensor": _rebuild_sparse_tensor,
    "torch._utils._rebuild_sparse_csr_tensor": _rebuild_sparse_tensor,
    "torch._utils._rebuild_nested_tensor": _rebuild_sparse_tensor,
    "torch._utils._rebuild_qtensor": _rebuild_qtensor,
    "torch._tensor._rebuild_from_type_v2": _rebuild_from_type_v2,
    "torch.serialization._get_layout": _get_layout,
}


# ---- names -----------------------------------------------------------------------------------------------------------


def _plain_names():
    """What weights_only allows: PyTorch's names, and Python's containers and numbers."""
    names = dict(_FUNCTIONS)
    names.update({f"torch.{name}": dtype for name, dtype in DTYPES.items()})
    names.update(
        {
            f"torch.{storage_name(dtype)}": StorageClass(dtype)
            for dtype in DTYPES.values()
            if storage_name(dtype)
        }
    )
    names.update(
        {
            "torch.storage.UntypedStorage": UntypedStorage,
            "torch.UntypedStorage": UntypedStorage,
            "torch.storage.TypedStorage": TypedStorage,
            "torch.Tensor": weft.Tensor,
            "torch.device": weft.device,
            "torch.Size": getattr(weft, "Size", tuple),
            "torch.nn.parameter.Parameter": weft.nn.Parameter,
            "torch.nn.Parameter": weft.nn.Parameter,
            "torch.nn.parameter.UninitializedParameter": weft.nn.UninitializedParameter,
            "collections.OrderedDict": collections.OrderedDict,
            "collections.Counter": collections.Counter,
            "_codecs.encode": codecs.encode,
            "builtins.bytearray": bytearray,
            "builtins.set": set,
            "builtins.complex": complex,
            "__builtin__.set": set,
            "__builtin__.bytearray": bytearray,
            "__builtin__.complex": complex,
        }
    )
    return names


class StorageClass:
    """torch.FloatStorage and the like: the dtype of a storage."""

    def __init__(self, dtype):
        self.dtype = dtype
        self.__name__ = storage_name(dtype)

    def __call__(self, *args):
        raise NotImplementedError(f"torch.{self.__name__}: make tensors by torch.empty or torch.tensor")

    def __repr__(self):
        return f"<class 'torch.{self.__name__}'>"


_plain = {}
_safe = {}  # what the program has allowed


def plain():
    if not _plain:
        _plain.update(_plain_names())
    return _plain


def _full_name(obj):
    return f"{obj.__module__}.{getattr(obj, '__qualname__', obj.__name__)}"


def add_safe_globals(safe_globals):
    """Functions and classes that load() may find with weights_only; (object, "module.name") for one of another name."""
    for entry in safe_globals:
        if isinstance(entry, tuple):
            _safe[entry[1]] = entry[0]
        else:
            _safe[_full_name(entry)] = entry


def get_safe_globals():
    return list(_safe.values())


def clear_safe_globals():
    _safe.clear()


class safe_globals:
    """add_safe_globals within a `with` statement."""

    def __init__(self, safe_globals):
        self.safe_globals = safe_globals

    def __enter__(self):
        self._before = dict(_safe)
        add_safe_globals(self.safe_globals)

    def __exit__(self, *error):
        _safe.clear()
        _safe.update(self._before)


def is_allowed(module, name):
    return f"{module}.{name}" in plain() or f"{module}.{name}" in _safe


def _found_in_torch(module, name):
    """torch's name as weft.torch has it."""
    if module.startswith("torch.nn.modules") and hasattr(weft.nn, name):
        return getattr(weft.nn, name)
    found = importlib.import_module(f"weft.{module}")
    for part in name.split("."):
        found = getattr(found, part)
    return found


# ---- reading ---------------------------------------------------------------------------------------------------------


class _Unpickler(pickle.Unpickler):
    def __init__(self, file, load_storage, weights_only, encoding):
        super().__init__(file, encoding=encoding)
        self.load_storage, self.weights_only = load_storage, weights_only

    def find_class(self, module, name):
        full = f"{module}.{name}"
        if full in _safe:
            return _safe[full]
        if full in plain():
            return plain()[full]
        if self.weights_only:
            raise pickle.UnpicklingError(
                f"Weights only load failed: unsupported global: GLOBAL {full} is not allowed by default. If the file is "
                f"trusted, allow it by torch.serialization.add_safe_globals([{name}]) or with "
                f"torch.serialization.safe_globals([{name}]), or load all that the file says with weights_only=False, which can "
                "run code of the file"
            )
        if module.split(".")[0] in ("torch", "torchvision"):
            return _found_in_torch(module, name)
        return super().find_class(module, name)

    def persistent_load(self, saved):
        if not isinstance(saved, tuple) or len(saved) < 5 or saved[0] != "storage":
            raise pickle.UnpicklingError(f"torch.load: unknown persistent id: {saved!r:.100}")
        kind, key, location, count = saved[1:5]
        dtype = kind.dtype if isinstance(kind, StorageClass) else weft.uint8
        itemsize = dtype.itemsize
        if not isinstance(count, int) or count < 0:
            raise pickle.UnpicklingError(f"torch.load: a storage of {count!r:.100} elements")
        view = saved[5] if len(saved) > 5 else None
        if view is not None:
            view = view[0], view[1] * itemsize, view[2] * itemsize
            storage = self.load_storage(key, count * itemsize, location, view)
        else:
            storage = self.load_storage(key, count * itemsize, location)
        return TypedStorage._of(storage, dtype) if isinstance(kind, StorageClass) else storage


def unpickle(file, load_storage, weights_only, encoding="utf-8"):
    """The next pickle of the file. load_storage(key, nbytes, location[, view]) gives the storages that it names."""
    unpickler = _Unpickler(file, load_storage, weights_only, encoding)
    try:
        return unpickler.load()
    except pickle.UnpicklingError:
        raise
    except (
        AttributeError,
        ImportError,
        TypeError,
        ValueError,
        IndexError,
        KeyError,
        OverflowError,
        UnicodeDecodeError,
    ) as error:
        if weights_only:
            raise pickle.UnpicklingError(f"Weights only load failed: {error}") from error
        raise


_HOOKS = """
    _backward_pre_hooks _backward_hooks _forward_hooks _forward_hooks_with_kwargs _forward_hooks_always_called
    _forward_pre_hooks _forward_pre_hooks_with_kwargs _state_dict_hooks _state_dict_pre_hooks _load_state_dict_pre_hooks
    _load_state_dict_post_hooks
""".split()


# ---- writing ---------------------------------------------------------------------------------------------------------


def _torch_name(module):
    """The module of PyTorch that weft's stands for."""
    if module == "weft.torch" or module.startswith("weft.torch."):
        return module.removeprefix("weft.")
    if module == "weft.nn" or module.startswith("weft.nn.modules."):
        return "torch.nn"  # where PyTorch finds a layer whatever file it is in
    if module.startswith("weft.nn."):
        return "torch" + module.removeprefix("weft")
    return {"weft": "torch", "weft._C": "torch", "weft.torchvision": "torchvision"}.get(module, module)


class Pickler(pickle._Pickler):
    """Writes tensors as PyTorch does; `storages` are the bytes that belong to the pickle, by key."""

    def __init__(self, file, protocol, location_of):
        super().__init__(file, protocol=protocol)
        self.location_of = location_of
        self.storages = {}  # key -> bytes
        self._keys = {}  # address and size -> (key, dtype)
        self._alive = []

    def save_global(self, obj, name=None):
        special = _WRITTEN.get(id(obj))
        if special:
            module, name = special
        else:
            module = getattr(obj, "__module__", None)
            if not isinstance(module, str) or not module.startswith("weft"):
                return super().save_global(obj, name)
            module, name = _torch_name(module), name or getattr(obj, "__qualname__", obj.__name__)
        self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
        self.memoize(obj)

    dispatch = pickle._Pickler.dispatch.copy()

    def _save_function(self, obj):
        self.save_global(obj)

    dispatch[type(add_safe_globals)] = _save_function

    def _save_type(self, obj):
        if obj in (type(None), type(NotImplemented), type(...)):
            return pickle._Pickler.save_type(self, obj)
        return self.save_global(obj)

    dispatch[type] = _save_type

    def reducer_override(self, obj):
        if isinstance(obj, weft.device):
            return weft.device, (obj.type,) if obj.index is None else (obj.type, obj.index)
        if isinstance(obj, weft.Tensor):
            return self._reduce_tensor(obj)
        if isinstance(obj, weft.nn.Module):
            return self._reduce_module(obj)
        if type(obj).__name__ == "Size" and isinstance(obj, tuple):
            return type(obj), (tuple(obj),)
        return NotImplemented

    def save(self, obj, save_persistent_id=True):
        if isinstance(obj, weft.dtype):
            return self.write(pickle.GLOBAL + b"torch\n" + str(obj).rpartition(".")[2].encode() + b"\n")
        if isinstance(obj, StorageClass):
            return self.write(pickle.GLOBAL + f"torch\n{obj.__name__}\n".encode())
        return super().save(obj, save_persistent_id)

    def persistent_id(self, obj):
        if isinstance(obj, TypedStorage):
            return self._storage(obj.untyped(), obj.dtype)
        if isinstance(obj, UntypedStorage):
            return self._storage(obj, None)
        return None

    def _storage(self, storage, dtype):
        place = storage.data_ptr(), storage.nbytes()
        if place not in self._keys or place[1] == 0:
            key = str(len(self.storages))
            self._keys[place] = key, dtype
            self._alive.append(storage)
            self.storages[key] = memoryview(storage._bytes)
        key, first = self._keys[place]
        if first is not None and dtype is not None and first is not dtype:
            raise RuntimeError(
                "Cannot save multiple tensors or storages that view the same data as different types: "
                f"{first} and {dtype}; save a clone of one"
            )
        if dtype is None:
            return "storage", UntypedStorage, key, self.location_of(storage), storage.nbytes()
        return (
            "storage",
            _storage_class(dtype),
            key,
            self.location_of(storage),
            storage.nbytes() // dtype.itemsize,
        )

    def _reduce_module(self, module):
        """As the class pickles itself, with the attributes that PyTorch expects of every module."""
        reduced = module.__reduce_ex__(self.proto)
        if not isinstance(reduced, tuple) or len(reduced) < 3 or not isinstance(reduced[2], dict):
            return reduced
        state = dict(reduced[2])
        for name in _HOOKS:
            state.setdefault(name, collections.OrderedDict())
        state.setdefault("_is_full_backward_hook", None)
        return reduced[0], reduced[1], state, *reduced[3:]

    def _reduce_tensor(self, tensor):
        hooks = collections.OrderedDict()
        if isinstance(tensor, weft.nn.Parameter) or type(tensor).__name__ == "Buffer":
            data = tensor.detach()
            plain = data if type(data) is weft.Tensor else weft.Tensor(data)
            if isinstance(tensor, weft.nn.Parameter):
                return _rebuild_parameter, (plain, bool(tensor.requires_grad), hooks)
            tensor = plain
        if tensor.device.type == "meta":
            return _rebuild_meta_tensor_no_storage, (
                tensor.dtype,
                tuple(tensor.shape),
                tuple(tensor.stride()),
                False,
            )
        if tensor.device.type != "cpu":
            tensor = tensor.cpu()
        if any(stride < 0 for stride in tensor.stride()):
            tensor = tensor.contiguous()
        storage = UntypedStorage._of(_C._storage_bytes(tensor))
        place = tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride())
        if tensor.dtype in LATER_DTYPES:
            return _rebuild_tensor_v3, (storage, *place, False, hooks, tensor.dtype)
        return _rebuild_tensor_v2, (TypedStorage._of(storage, tensor.dtype), *place, False, hooks)


def _storage_class(dtype):
    return plain()[f"torch.{storage_name(dtype)}"]


class _Written(dict):
    """From what is pickled by name to the name."""

    def get(self, key):
        if not self:
            self.update(
                {
                    id(value): name.rpartition(".")[::2]
                    for name, value in plain().items()
                    if name.startswith("torch")
                }
            )
            self[id(weft.nn.Parameter)] = "torch.nn.parameter", "Parameter"
            self[id(UntypedStorage)] = "torch.storage", "UntypedStorage"
            self[id(tuple)] = "builtins", "tuple"
        return super().get(key)


_WRITTEN = _Written()
