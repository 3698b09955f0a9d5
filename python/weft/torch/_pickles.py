"""Pickles of torch.save's files: writing them under PyTorch's names, and reading those of files that are trusted."""

import collections
import importlib
import pickle

import weft
from weft import _C

from . import _kinds, _places, _rebuild, _wrapper
from .storage import DTYPES, TypedStorage, UntypedStorage, storage_name

# Written with an untyped storage and their name.
LATER_DTYPES = {dtype for dtype in DTYPES.values() if storage_name(dtype) is None}

_STORAGE_CLASSES = {dtype: _rebuild.StorageClass(dtype) for dtype in DTYPES.values() if storage_name(dtype)}
# What is written by PyTorch's name, and read by it.
_NAMED = (
    _rebuild.FUNCTIONS
    | {
        "torch.storage.TypedStorage": TypedStorage,
        "torch.storage.UntypedStorage": UntypedStorage,
        "torch.Tensor": weft.Tensor,
        "torch.device": weft.device,
        "torch.Size": weft.Size,
        "torch.nn.parameter.Parameter": weft.nn.Parameter,
        "torch.nn.parameter.UninitializedParameter": weft.nn.UninitializedParameter,
        "torch.ScriptObject": weft.jit.ScriptObject,
    }
    | {repr(scheme): scheme for scheme in vars(_kinds).values() if isinstance(scheme, _kinds.qscheme)}
)
_WRITTEN = {id(value): name.rpartition(".")[::2] for name, value in _NAMED.items()}
_READ = (
    _NAMED
    | {f"torch.{name}": dtype for name, dtype in DTYPES.items()}
    | {f"torch.{kind.__name__}": kind for kind in _STORAGE_CLASSES.values()}
    | {"torch.UntypedStorage": UntypedStorage, "torch.nn.Parameter": weft.nn.Parameter}
)


# ---- reading what is trusted -----------------------------------------------------------------------------------------


def _found_in_torch(module, name):
    """torch's name as weft.torch has it."""
    if module.startswith("torch.nn.modules") and hasattr(weft.nn, name):
        return getattr(weft.nn, name)
    found = importlib.import_module(_places.own_module(module))
    for part in name.split("."):
        found = getattr(found, part)
    return found


class Unpickler(pickle.Unpickler):
    """Python's own, which runs what the file says."""

    def __init__(self, file, load_storage, encoding):
        super().__init__(file, encoding=encoding)
        self._load_storage = load_storage

    def find_class(self, module, name):
        full = f"{module}.{name}"
        if full in _READ:
            return _READ[full]
        if module.split(".")[0] in ("torch", "torchvision"):
            return _found_in_torch(module, name)
        return super().find_class(module, name)

    def persistent_load(self, identity):
        if not isinstance(identity, tuple):
            raise pickle.UnpicklingError(f"torch.load: unknown persistent id: {identity!r:.100}")
        return _rebuild.storage_of(identity, self._load_storage)


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
    if module == "weft.nn" or module.startswith("weft.nn."):
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
            place = _places.place_of(obj) if isinstance(obj, type) else None
            module, name = place or _torch_name(module), name or getattr(obj, "__qualname__", obj.__name__)
        self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
        self.memoize(obj)

    dispatch = pickle._Pickler.dispatch.copy()

    def _save_function(self, obj):
        self.save_global(obj)

    dispatch[type(_found_in_torch)] = _save_function

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
        if isinstance(obj, _kinds.layout):
            return _rebuild._get_layout, (repr(obj),)
        if type(obj).__name__ == "Size" and isinstance(obj, tuple):
            return type(obj), (tuple(obj),)
        return NotImplemented

    def save(self, obj, save_persistent_id=True):
        if isinstance(obj, weft.dtype):
            return self.write(pickle.GLOBAL + b"torch\n" + str(obj).rpartition(".")[2].encode() + b"\n")
        if isinstance(obj, _rebuild.StorageClass):
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
            _STORAGE_CLASSES[dtype],
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

    def _reduce_quantized(self, tensor, hooks):
        if tensor.dtype == _kinds.quint4x2:
            raise NotImplementedError(
                "torch.save: a tensor of quint4x2: weft writes those in TorchScript archives only"
            )
        scheme = tensor.qscheme()
        if scheme is _kinds.per_tensor_affine:
            how = scheme, tensor.q_scale(), tensor.q_zero_point()
        else:
            how = (
                scheme,
                tensor.q_per_channel_scales(),
                tensor.q_per_channel_zero_points(),
                tensor.q_per_channel_axis(),
            )
        integers = tensor.int_repr()
        storage = TypedStorage._of(UntypedStorage._of(_C._storage_bytes(integers)), tensor.dtype)
        return _rebuild._rebuild_qtensor, (
            storage,
            0,
            tuple(integers.shape),
            tuple(integers.stride()),
            how,
            False,
            hooks,
        )

    def _reduce_tensor(self, tensor):
        if _wrapper.is_wrapper(tensor):
            return tensor.__reduce_ex__(self.proto)
        hooks = collections.OrderedDict()
        if isinstance(tensor, weft.nn.Parameter) or type(tensor).__name__ == "Buffer":
            data = tensor.detach()
            plain = data if type(data) is weft.Tensor else weft.Tensor(data)
            if isinstance(tensor, weft.nn.Parameter):
                return _rebuild._rebuild_parameter, (plain, bool(tensor.requires_grad), hooks)
            tensor = plain
        if tensor.device.type == "meta":
            return _rebuild._rebuild_meta_tensor_no_storage, (
                tensor.dtype,
                tuple(tensor.shape),
                tuple(tensor.stride()),
                False,
            )
        if tensor.device.type != "cpu":
            tensor = tensor.cpu()
        if any(stride < 0 for stride in tensor.stride()):
            tensor = tensor.contiguous()
        if tensor.is_quantized:
            return self._reduce_quantized(tensor, hooks)
        storage = UntypedStorage._of(_C._storage_bytes(tensor))
        place = tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride())
        if tensor.dtype in LATER_DTYPES:
            return _rebuild._rebuild_tensor_v3, (storage, *place, False, hooks, tensor.dtype)
        return _rebuild._rebuild_tensor_v2, (TypedStorage._of(storage, tensor.dtype), *place, False, hooks)
