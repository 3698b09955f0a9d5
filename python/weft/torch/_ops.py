"""torch.ops: operators by namespace and name, those of weft and those that programs define."""

import importlib
import types

_own = {}  # (namespace, name) -> _Packet


class _Packet:
    """An operator with its overloads, which are called alike."""

    def __init__(self, namespace, name, function=None, schema=None):
        self._namespace, self.__name__ = namespace, name
        self._qualified_op_name = f"{namespace}::{name}"
        self._function, self._schema = function, schema

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

    def __call__(self, *args, **kwargs):
        if self._function is None:
            raise NotImplementedError(f"torch.ops.{self._namespace}.{self.__name__} has no kernel")
        return self._function(*args, **kwargs)

    def __repr__(self):
        return f"<OpOverloadPacket(op='{self._namespace}.{self.__name__}')>"


def define(namespace, name, function, schema):
    """Makes or changes an operator; what it has and is not given stays."""
    packet = _own.get((namespace, name))
    if packet is None:
        packet = _own[namespace, name] = _Packet(namespace, name)
    packet._function, packet._schema = function or packet._function, schema or packet._schema
    return packet


def _functions(namespace):
    """Where operators of PyTorch's own namespaces are found here."""
    if namespace == "torchvision":
        return ["weft.torchvision.ops", "weft.torchvision"]
    if namespace in ("aten", "prims", "prim"):
        return ["weft.torch", "weft.nn.functional"]
    return []


def _builtin(namespace, name):
    from weft import ops

    space = getattr(ops, namespace, None)
    return getattr(space, name, None) if space is not None else None


class _Namespace(types.ModuleType):
    def __init__(self, name):
        super().__init__(f"torch.ops.{name}")
        self.name = name

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        found = _own.get((self.name, name))
        if found is None:
            function = self._find(name)
            if function is None:
                raise AttributeError(f"'_OpNamespace' '{self.name}' object has no attribute '{name}'")
            found = _Packet(self.name, name, function)
            setattr(self, name, found)
        return found

    def _find(self, name):
        for module in _functions(self.name):
            try:
                function = getattr(importlib.import_module(module), name, None)
            except ImportError:
                continue
            if callable(function):
                return function
        if name.startswith("_"):
            import weft

            if callable(getattr(weft, name, None)):
                return getattr(weft, name)
        try:
            return _builtin(self.name, name)
        except AttributeError:
            return None


class _Ops(types.ModuleType):
    """torch.ops."""

    loaded_libraries = set()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        space = _Namespace(name)
        setattr(self, name, space)
        return space

    def load_library(self, path):
        raise NotImplementedError(f"torch.ops.load_library: {path} is a library of PyTorch's, which weft cannot load")

    def import_module(self, module):
        importlib.import_module(module)


class _Classes(types.ModuleType):
    """torch.classes."""

    loaded_libraries = set()

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise RuntimeError(f"torch.classes.{name}: weft loads no classes of C++")

    def load_library(self, path):
        raise NotImplementedError(f"torch.classes.load_library: {path} is a library of PyTorch's, which weft cannot load")


OpOverload = OpOverloadPacket = _Packet
ops, classes = _Ops("torch.ops"), _Classes("torch.classes")
