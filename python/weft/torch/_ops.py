"""torch.ops: operators by namespace and name, those of weft and those that programs define."""

import importlib
import os
import types

import weft

from . import _names


class _Packet:
    """An operator with its overloads, which are called alike."""

    def __init__(self, namespace, name, function):
        self._namespace, self.__name__ = namespace, name
        self._qualified_op_name = f"{namespace}::{name}"
        self._function, self._schema = function, None

    @property
    def default(self):
        return self

    @property
    def op(self):
        return self

    def name(self):
        return self._qualified_op_name

    def overloads(self):
        return ["default"]

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    offer = (
        None  # what calls are offered to before they run, while anything may take them over (`_overriding`)
    )

    def __call__(self, *args, **kwargs):
        if self.offer is not None:
            result = type(self).offer(self, args, kwargs)
            if result is not NotImplemented:
                return result
        return self._function(*args, **kwargs)

    def __repr__(self):
        return f"<OpOverloadPacket(op='{self._namespace}.{self.__name__}')>"


def _functions(namespace):
    """Where operators of PyTorch's own namespaces are found here."""
    if namespace in ("torchvision", "image"):
        return ["weft.torch._vision_operators"]
    if namespace == "_torchaudio":
        return ["weft.torch._audio_operators"]
    if namespace == "profiler":
        return ["weft.torch.profiler"]
    if namespace in ("_c10d_functional", "c10d_functional"):
        return ["weft.torch.distributed._c10d_functional"]
    if namespace in ("aten", "prims", "prim"):
        return ["weft.torch._int4", "weft.torch._aten", "weft.torch", "weft.nn.functional"]
    return []


def _builtin(namespace, name):
    from weft import ops

    space = getattr(ops, namespace, None)
    return getattr(space, name, None) if space is not None else None


def _refused(namespace, name):
    def function(*args, **kwargs):
        raise NotImplementedError(
            f"torch.ops.{namespace}.{name}: weft's collectives are torch.distributed's functions"
        )

    return function


def _find(namespace, name):
    """The function of PyTorch's operator; None where there is none."""
    for module in _functions(namespace):
        try:
            function = getattr(importlib.import_module(module), name, None)
        except ImportError:
            continue
        if callable(function):
            return function
    if name.startswith("_") and callable(getattr(weft, name, None)):
        return getattr(weft, name)
    method = getattr(weft.Tensor, name, None) if namespace == "aten" else None
    if callable(method) and (name in _names.METHODS.public or name.endswith("_")):
        return method
    try:
        found = _builtin(namespace, name)
    except AttributeError:
        found = method if callable(method) else None
    return _refused(namespace, name) if found is None and "c10d" in namespace else found


def _lazy_module(name, find):
    """A module whose names find(name) gives when they are first used; AttributeError where it gives None. (A plain module:
    weft.compile reads those.)"""
    module = types.ModuleType(name)

    def __getattr__(attribute):
        value = None if attribute.startswith("__") else find(attribute)
        if value is None:
            raise AttributeError(f"'{name}' object has no attribute '{attribute}'")
        setattr(module, attribute, value)
        return value

    module.__getattr__ = __getattr__
    module._weft_looks_up = True  # capture may look for names at any time
    return module


def _namespace(namespace):
    def find(name):
        found = weft.library.find(namespace, name)
        if found is not None:
            return found
        function = _find(namespace, name)
        return None if function is None else _Packet(namespace, name, function)

    module = _lazy_module(f"torch.ops.{namespace}", find)
    module.name = namespace
    return module


def _no_class(name):
    raise RuntimeError(f"torch.classes.{name}: weft loads no classes of C++")


def _load_library(path):
    """Libraries of torchvision and torchaudio hold operators that weft has. raises: OSError for others, after which programs go on
    without them."""
    path = os.fspath(path)
    folder, name = os.path.split(path)
    there = next((names for place, names in _THERE.items() if f"/{folder}".endswith(f"/{place}")), ())
    if name.partition(".")[0] in there:
        ops.loaded_libraries.add(path)
        return
    raise OSError(f"Could not load this library: {path}: it is one of PyTorch's, which weft cannot load")


_THERE = {
    "torchvision": ("_C", "_C_stable", "image", "image_stable"),
    "torchaudio/lib": ("_torchaudio", "libtorchaudio"),
}
OpOverload = OpOverloadPacket = _Packet
ops, classes = _lazy_module("torch.ops", _namespace), _lazy_module("torch.classes", _no_class)
ops.load_library = classes.load_library = _load_library
ops.loaded_libraries, classes.loaded_libraries = set(), set()
ops.import_module = importlib.import_module
