"""What torch.load reads of a file that nobody vouches for: the names that its pickle may say, and what each makes.

The stack machine is C++ (python/bindings/unpickle.cc). It makes containers, numbers and text, and asks here for the rest; a name is
an argument of such a call and never part of a result. Nothing here looks up an attribute or imports a module by a text of the file,
and no class is changed. A name belongs into `allowed()` only where no arguments make its function return anything but what the table
says, or do anything besides: tests/torch/test_weights_only.py holds that list, and calls each with whatever a file can make.
"""

import collections
import functools
import pickle

import weft
from weft import _C

from . import _kinds, _places, _rebuild
from .storage import DTYPES, TypedStorage, UntypedStorage, storage_name


class Name:
    """A name in a file: what calls of it make ("tensor", "set", …), and for arguments what it stands for."""

    def __init__(self, name, makes, function, stands_for=None):
        self.name, self.makes, self.function, self.stands_for = name, makes, function, stands_for

    def __repr__(self):
        return self.name


# ---- functions whose arguments are a file's --------------------------------------------------------------------------


def _expect(name, value, *kinds):
    if type(value) not in kinds:
        raise TypeError(
            f"{name}: expected {' or '.join(kind.__name__ for kind in kinds)}, got {type(value).__name__}"
        )
    return value


def _not_called(*args):
    raise TypeError("it is named, and cannot be called")


def _ordered_dict(pairs=()):
    pairs = [_expect("OrderedDict", pair, tuple, list) for pair in _expect("OrderedDict", pairs, tuple, list)]
    return collections.OrderedDict(pairs)


def _counter(counts=None):
    return collections.Counter(_expect("Counter", {} if counts is None else counts, dict))


def _set(values=()):
    return set(_expect("set", values, list, tuple))


def _complex(real, imaginary):
    return complex(_expect("complex", real, float), _expect("complex", imaginary, float))


def _latin1(name, text, encoding):
    if encoding not in ("latin1", "latin-1"):
        raise ValueError(f"{name}: expected bytes as text of latin1, got the encoding {encoding!r:.100}")
    return _expect(name, text, str).encode("latin1")


def _encode(text, encoding):
    return _latin1("_codecs.encode", text, encoding)


def _bytearray(text=b"", encoding="latin1"):
    return bytearray(text if type(text) is bytes else _latin1("bytearray", text, encoding))


def _size(sizes=()):
    return weft.Size(
        tuple(_expect("torch.Size", size, int) for size in _expect("torch.Size", sizes, tuple, list))
    )


def _device(kind, index=None):
    _expect("torch.device", kind, str)
    return weft.device(kind) if index is None else weft.device(kind, _expect("torch.device", index, int))


def _parameter(data, requires_grad=True):
    return weft.nn.Parameter(data, requires_grad)


def _uninitialized(requires_grad=True, device=None, dtype=None):
    return weft.nn.UninitializedParameter(requires_grad, device, dtype)


def _of_type(function, new_type, arguments, state):
    """torch._tensor._rebuild_from_type_v2, over names: a function that makes tensors, and a class of them."""
    if not isinstance(function, Name) or function.makes not in ("tensor", "parameter"):
        raise TypeError(f"_rebuild_from_type_v2: {function!r:.100} makes no tensors")
    new_type = new_type.stands_for if isinstance(new_type, Name) else new_type
    return _rebuild._rebuild_from_type_v2(
        function.function, new_type, _expect(function.name, arguments, tuple), state
    )


# ---- the names -------------------------------------------------------------------------------------------------------


@functools.cache
def allowed():
    """What a file may say: "module.name" to a Name, or to the value that it is."""
    found = {f"torch.{name}": dtype for name, dtype in DTYPES.items()}
    named = [("torch._tensor._rebuild_from_type_v2", "tensor", _of_type)]
    for name, function in _rebuild.FUNCTIONS.items():
        if function is not _rebuild._rebuild_from_type_v2:
            makes = "layout" if "layout" in name else "parameter" if "parameter" in name else "tensor"
            named.append((name, makes, function))
    found.update(
        (repr(scheme), scheme) for scheme in vars(_kinds).values() if isinstance(scheme, _kinds.qscheme)
    )
    for name in ("torch.Tensor", "torch.storage.TypedStorage"):
        named.append((name, "nothing", _not_called, weft.Tensor if name == "torch.Tensor" else TypedStorage))
    for name in ("torch.storage.UntypedStorage", "torch.storage._UntypedStorage", "torch.UntypedStorage"):
        named.append((name, "nothing", _not_called, UntypedStorage))
    for dtype in DTYPES.values():
        if storage_name(dtype):
            named.append(
                (f"torch.{storage_name(dtype)}", "nothing", _not_called, _rebuild.StorageClass(dtype))
            )
    for name in ("torch.nn.parameter.Parameter", "torch.nn.Parameter"):
        named.append((name, "parameter", _parameter, weft.nn.Parameter))
    named += [
        (
            "torch.nn.parameter.UninitializedParameter",
            "parameter",
            _uninitialized,
            weft.nn.UninitializedParameter,
        ),
        ("torch.device", "device", _device),
        ("torch.Size", "size", _size),
        ("collections.OrderedDict", "ordered dict", _ordered_dict),
        ("collections.Counter", "counter", _counter),
        ("_codecs.encode", "bytes", _encode),
    ]
    for module in ("builtins", "__builtin__"):
        named += [
            (f"{module}.bytearray", "bytearray", _bytearray),
            (f"{module}.set", "set", _set),
            (f"{module}.complex", "complex", _complex),
        ]
    found.update((entry[0], Name(*entry)) for entry in named)
    return found


_safe = {}  # "module.name" -> what the program has allowed besides
_NEVER = "sys", "os", "posix", "nt"  # modules of which a program can allow nothing


def _full_names(obj):
    """What files call it: a class of weft's by PyTorch's name, a layer also as it is imported."""
    modules = {obj.__module__, _places.place_of(obj) if isinstance(obj, type) else None} - {None}
    if any(module.startswith("torch.nn.modules.") for module in modules):
        modules.add("torch.nn")
    return [f"{module}.{getattr(obj, '__qualname__', obj.__name__)}" for module in modules]


def add_safe_globals(safe_globals):
    """Functions and classes that load() may find with weights_only; (object, "module.name") for one of another name."""
    for entry in safe_globals:
        if isinstance(entry, tuple):
            _safe[entry[1]] = entry[0]
        else:
            _safe.update(dict.fromkeys(_full_names(entry), entry))


def get_safe_globals():
    return list({id(each): each for each in _safe.values()}.values())


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


# ---- what the machine asks -------------------------------------------------------------------------------------------


def _is_safe(obj):
    return any(obj is safe for safe in _safe.values())


class _Rules:
    name_type = Name

    def __init__(self, load_storage):
        self._load_storage = load_storage

    def find(self, module, name):
        full = f"{module}.{name}"
        if module in _NEVER:
            raise pickle.UnpicklingError(
                f"Weights only load failed: trying to load unsupported GLOBAL {full} whose module {module} is blocked"
            )
        if full in _safe:
            return _safe[full]
        if full in allowed():
            return allowed()[full]
        raise pickle.UnpicklingError(
            f"Weights only load failed: unsupported global: GLOBAL {full} is not allowed by default. If the file is "
            f"trusted, allow it by torch.serialization.add_safe_globals([{name}]) or with "
            f"torch.serialization.safe_globals([{name}]), or load all that the file says with weights_only=False, which can "
            "run code of the file"
        )

    def call(self, function, arguments):
        if type(function) is Name:
            return function.function(*arguments)
        if _is_safe(function):
            return function(*arguments)
        raise pickle.UnpicklingError(f"Weights only load failed: {function!r:.100} is not to be called")

    def new(self, cls, arguments):
        if _is_safe(cls) and isinstance(cls, type):
            return cls.__new__(cls, *arguments)
        return self.call(cls, arguments)

    def build(self, target, state):
        if type(target) is collections.OrderedDict:
            for name in _expect("OrderedDict's attributes", state, dict):
                if not isinstance(name, str) or hasattr(collections.OrderedDict, name):
                    raise pickle.UnpicklingError(
                        f"Weights only load failed: the attribute {name!r:.100} of an OrderedDict is not to be set"
                    )
            vars(target).update(state)
        elif not _is_safe(type(target)):
            raise pickle.UnpicklingError(
                f"Weights only load failed: the state of a {type(target).__name__} is not to be set"
            )
        elif hasattr(target, "__setstate__"):
            target.__setstate__(state)
        else:
            attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
            if attributes:
                vars(target).update(attributes)
            for name, value in (slots or {}).items():
                setattr(target, name, value)

    def check_filled(self, target, kind):
        """A subclass of list or dict of the program's own may be filled."""
        if not isinstance(target, {"list": list, "dict": dict}[kind]) or not _is_safe(type(target)):
            raise pickle.UnpicklingError(
                f"Weights only load failed: expected a {kind}, got {type(target).__name__}"
            )

    def storage(self, identity):
        if len(identity) < 2 or type(identity[1]) is not Name:
            raise pickle.UnpicklingError(
                f"Weights only load failed: unknown persistent id: {identity!r:.100}"
            )
        return _rebuild.storage_of((identity[0], identity[1].stands_for, *identity[2:]), self._load_storage)


class _Anything:
    """What stands for whatever a call in the file would make, where only names are looked for."""

    def append(self, value):
        pass

    def __setitem__(self, key, value):
        pass


class _Listing:
    """Rules that note each name and make nothing."""

    name_type = Name

    def __init__(self):
        self.names = {}

    def find(self, module, name):
        self.names[f"{module}.{name}"] = None
        return _Anything()

    def call(self, function, arguments):
        return _Anything()

    new = call

    def build(self, target, state):
        pass

    check_filled = build

    def storage(self, identity):
        return _Anything()


def _run(data, start, rules, encoding):
    try:
        return _C._unpickle(data, start, rules, encoding)
    except (pickle.UnpicklingError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, RuntimeError) and not isinstance(error, weft.ArgumentError):
            raise
        raise pickle.UnpicklingError(f"Weights only load failed: {error}") from error


def unpickle(data, load_storage, *, start=0, encoding="utf-8"):
    """The value of the pickle that begins at data[start], and where it ends.

    load_storage(key, nbytes, location, view) gives the storages that it names. raises: pickle.UnpicklingError naming what is
    refused or damaged.
    """
    return _run(data, start, _Rules(load_storage), encoding)


def unsafe_names(data):
    """Names in the pickle that unpickle() would refuse."""
    rules = _Listing()
    _run(data, 0, rules, "latin1")
    return [name for name in rules.names if name not in allowed() and name not in _safe]
