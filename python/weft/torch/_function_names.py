"""Functions of torch and methods of Tensor by the names that PyTorch has for them."""

import functools
import inspect
import sys
import threading
import types

import weft

from . import _names, _override_table

OPERATOR_METHOD = type(weft.Tensor.exp)

# ---- methods -------------------------------------------------------------------------------------------------

plain_methods = {}  # while methods are offered (`_overriding`), Tensor's own by name

# What PyTorch names the methods that Python's operators call.
_OPERATORS = {
    "__add__": "add", "__radd__": "add", "__sub__": "sub", "__mul__": "mul", "__rmul__": "mul", "__truediv__": "div",
    "__pow__": "pow", "__mod__": "remainder", "__matmul__": "matmul", "__lt__": "lt", "__le__": "le", "__gt__": "gt",
    "__ge__": "ge", "__eq__": "eq", "__ne__": "ne", "__neg__": "neg", "__abs__": "abs", "__invert__": "bitwise_not",
    "__iadd__": "add_", "__isub__": "sub_", "__imul__": "mul_", "__itruediv__": "div_",
}  # fmt: skip


def tensor_method(name):
    """Tensor's method of a name, as a __torch_function__ is given it."""
    name = _OPERATORS.get(name, name)
    return plain_methods.get(name) or getattr(weft.Tensor, name)


def is_method(function):
    """Is it a method of Tensor's?"""
    name = getattr(function, "__name__", None)
    if not isinstance(name, str):
        return False
    own = plain_methods.get(name) or getattr(weft.Tensor, name, None)
    return own is function or type(function) is OPERATOR_METHOD


# ---- functions -----------------------------------------------------------------------------------------------

_NAMESPACES = {
    "torch": "weft.torch", "torch.nn.functional": "weft.nn.functional", "torch.linalg": "weft.torch.linalg",
    "torch.special": "weft.torch.special", "torch.fft": "weft.torch.fft",
}  # fmt: skip
_LATE = ("torch.linalg", "torch.special", "torch.fft")  # looked at once a program has imported them
IGNORED = frozenset(
    """arange as_strided as_tensor asarray bartlett_window blackman_window broadcast_shapes can_cast compile cond empty
    empty_permuted empty_strided eye fill fork from_file from_numpy frombuffer full get_default_dtype hamming_window
    hann_window is_grad_enabled is_storage is_tensor kaiser_window linspace load logspace manual_seed normal ones promote_types
    rand rand_like randint randint_like randn randn_like randperm range result_type save scalar_tensor set_default_dtype
    sparse_coo_tensor tensor tril_indices triu_indices typename vander vmap wait zeros""".split()
)
lock = threading.RLock()
on_noted = None  # called with each function, the namespace and its name, once it is known
functions = {}  # from a function's id to the function
_public = {}  # from a function's id to its dotted name under PyTorch
_called = {}  # from a function's id to the name that programs call it by
_seen = set()  # (namespace, name)
_sizes = {}  # how many names a namespace had when it was looked at


@functools.cache
def _places(namespace):
    found = {}
    for place, names in _override_table.PLACES.get(namespace, {}).items():
        for entry in names.split():
            name, _, other = entry.partition("=")
            found[name] = f"{place}.{other or name}"
    return found


@functools.cache
def signatures(namespace):
    text = {"torch": _override_table.OF_TORCH, "torch.nn.functional": _override_table.OF_FUNCTIONAL}.get(
        namespace, ""
    )
    found = {}
    for line in text.split("\n"):
        name, _, rest = line.strip().partition("(")
        if name:
            found[name] = rest[:-1]
    return found


def _dotted(namespace, name):
    if namespace in _override_table.PREFIXED:
        module, prefix = _override_table.PREFIXED[namespace]
        return f"{module}.{prefix}{name}"
    return _places(namespace).get(name, f"{namespace}.{name}")


def note(namespace, name, function):
    """Knows a function by its name from now on."""
    if (namespace, name) in _seen or name.startswith("__"):
        return
    _seen.add((namespace, name))
    is_function = isinstance(function, types.FunctionType)
    if not is_function and type(function).__name__ not in ("Operator", "nb_func"):
        return
    if is_function and namespace == "torch.nn.functional" and (
        not function.__module__.startswith(("weft.nn", "weft._composed")) or name in _override_table.PLAIN
    ):  # fmt: skip
        return
    if id(function) not in _public or getattr(function, "__name__", None) == name:
        _public[id(function)] = _dotted(namespace, name)
        place = _places(namespace).get(name, "")
        _called[id(function)] = place if place.startswith("torch.functional.") else f"{namespace}.{name}"
        functions[id(function)] = function
    if is_function and on_noted is not None:
        on_noted(function, namespace, name)


def note_all():
    """Knows all functions that were looked up until now."""
    for namespace in ("torch.nn.functional", "torch", *_LATE):  # what has two names is known by the first
        module = sys.modules.get(_NAMESPACES[namespace])
        if module is None or _sizes.get(namespace) == len(vars(module)):
            continue
        _sizes[namespace] = len(vars(module))
        names = _names.FUNCTIONS.own if namespace == "torch" else ()
        for name, value in list(vars(module).items()):
            if not name.startswith("_") or name in names:
                note(namespace, name, value)


def public_name(function):
    """The dotted name of a function of PyTorch's, and of Tensor's methods; None of others."""
    with lock:
        note_all()
        found = _public.get(id(function))
    if found is None and is_method(function):
        return f"torch.Tensor.{function.__name__}"
    if (
        found is None
        and type(function).__name__ == "Operator"
        and function.__name__ in _names.FUNCTIONS.public
    ):
        return f"torch.{function.__name__}"
    return found


def called_name(function):
    """The dotted name under which programs call a function, as torch.overrides.resolve_name says it."""
    name = public_name(function)
    for namespace, (module, prefix) in _override_table.PREFIXED.items():
        if name is not None and name.startswith(f"{module}.{prefix}"):
            return f"{namespace}.{name.removeprefix(f'{module}.{prefix}')}"
    return _called.get(id(function), name)


@functools.cache
def signature_from(text):
    scope = {}
    exec(f"def f({text}): pass", scope)
    return inspect.signature(scope["f"])


def signature_of(function):
    """The signature that PyTorch's function has, where it is one written in Python; else None."""
    name = public_name(function)
    namespace, _, short = (name or "").rpartition(".")
    namespace = "torch" if namespace in ("torch.functional", "torch._lowrank", "torch._lobpcg") else namespace
    text = signatures(namespace).get(short)
    return None if text is None else signature_from(text)
