"""Calls that the class of an argument, or a mode, takes over: __torch_function__.

Operators of C++ ask for overriding arguments where their own call failed, and before it while `weft._C` is told to (`_hook`). A
function of Python is asked by other code that is put in its place (`__code__`) once something can override: when the first class
or mode with a __torch_function__ is there, or while torch.fx traces. Until then calls are what they were.
"""

import functools
import inspect
import sys
import threading
import types

import weft

from . import _names, _ops, _override_table, _table

_state = threading.local()
_OPERATOR_METHOD = type(weft.Tensor.exp)


# ---- who overrides -------------------------------------------------------------------------------------------


def disabled_torch_function_impl(func, types, args=(), kwargs=None):
    """The __torch_function__ of classes that want none: the function, called."""
    return func(*args, **(kwargs or {}))


def default_torch_function(cls, func, types, args=(), kwargs=None):
    """Tensor.__torch_function__: the function of the tensors as they are; tensors of the result are of the class."""
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
    return result if func in _plain_results() else _as_class(result, cls)


@functools.cache
def _plain_results():
    return frozenset()


def _as_class(result, cls):
    if cls is weft.Tensor:
        return result
    if isinstance(result, weft.Tensor) and not isinstance(result, cls):
        return result.as_subclass(cls)
    if isinstance(result, (tuple, list)):
        items = [_as_class(one, cls) for one in result]
        return type(result)(*items) if hasattr(result, "_fields") else type(result)(items)
    return result


def override_of(kind):
    """The __torch_function__ of a class that overrides functions; None of any other."""
    found = getattr(kind, "__torch_function__", None)
    if found is None or found is disabled_torch_function_impl:
        return None
    return None if getattr(found, "__func__", found) is _DEFAULT else found


_DEFAULT = default_torch_function


def overriding(values):
    """The arguments that override, an argument of each class: subclasses before their bases, others in order."""
    found = []
    is_disabled = getattr(_state, "disabled", 0)
    for value in values:
        for one in value if isinstance(value, (list, tuple)) else (value,):
            kind = type(one)
            if kind in _PLAIN or override_of(kind) is None:
                continue
            if is_disabled and issubclass(kind, weft.Tensor):
                continue
            if any(type(other) is kind for other in found):
                continue
            at = next((at for at, other in enumerate(found) if issubclass(kind, type(other))), len(found))
            found.insert(at, one)
    return found


def has_torch_function(relevant_args):
    """Does a mode, or the class of one of the arguments, take functions over?"""
    return _current_mode() is not None or bool(overriding(relevant_args))


def has_torch_function_unary(relevant_arg):
    return has_torch_function((relevant_arg,))


def has_torch_function_variadic(*relevant_args):
    return has_torch_function(relevant_args)


_PLAIN = frozenset(
    (weft.Tensor, int, float, bool, str, type(None), complex, weft.dtype, weft.device, slice, list, tuple)
)


def is_disabled():
    return bool(getattr(_state, "disabled", 0))


class DisableTorchFunctionSubclass:
    """Meanwhile the classes of tensors take no functions over."""

    def __enter__(self):
        _state.disabled = getattr(_state, "disabled", 0) + 1

    def __exit__(self, *error):
        _state.disabled -= 1

    def __call__(self, function):
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with type(self)():
                return function(*args, **kwargs)

        return wrapped


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """Meanwhile neither classes of tensors nor modes take functions over."""

    def __enter__(self):
        super().__enter__()
        _state.without_modes = getattr(_state, "without_modes", 0) + 1
        _count_modes()

    def __exit__(self, *error):
        super().__exit__(*error)
        _state.without_modes -= 1
        _count_modes()


# ---- modes ---------------------------------------------------------------------------------------------------


def modes():
    """The modes of the thread that are on, the innermost last."""
    if not hasattr(_state, "modes"):
        _state.modes = []
    return _state.modes


def _current_mode():
    return None if getattr(_state, "without_modes", 0) else next(reversed(modes()), None)


class without_innermost:
    """While the innermost mode handles a call, it is not on."""

    def __enter__(self):
        self.mode = modes().pop()
        _count_modes()
        return self.mode

    def __exit__(self, *error):
        modes().append(self.mode)
        _count_modes()


def _count_modes():
    weft._C._set_override_modes(0 if getattr(_state, "without_modes", 0) else len(modes()))


def push_mode(mode):
    """The mode is on, the innermost."""
    offering().__enter__()
    modes().append(mode)
    _count_modes()


def pop_mode():
    """The innermost mode is off."""
    modes().pop()
    _count_modes()
    offering().__exit__()


# ---- calls ---------------------------------------------------------------------------------------------------


def handle(function, found, args, kwargs):
    """What the innermost mode, or else the first class that has an answer, makes of a call."""
    kinds = tuple(type(one) for one in found)
    mode = _current_mode()
    if mode is not None:
        with without_innermost():
            result = mode.__torch_function__(function, kinds, args, kwargs)
        if result is not NotImplemented:
            return result
    for one in found:
        result = one.__torch_function__(function, kinds, args, kwargs)
        if result is not NotImplemented:
            return result
    name = public_name(function) or getattr(function, "__name__", function)
    text = f"no implementation found for '{name}' on types that implement __torch_function__: {list(kinds)}"
    raise TypeError(text + (f" nor in mode {mode}" if mode is not None else ""))


def offer(function, args, kwargs):
    """For operators of C++: what is made of a call in their place, or NotImplemented where nothing overrides it."""
    found = overriding((*args, *kwargs.values()))
    if not found and _current_mode() is None:
        return NotImplemented
    if type(function) is _OPERATOR_METHOD:
        function = tensor_method(function.__name__)
    return handle(function, found, args, kwargs)


def offer_failed(function, *args, **kwargs):
    """For operators of C++ whose call failed, with arguments of no tensor's class that override: what is made of it."""
    found = overriding((*args, *kwargs.values()))
    if not found:
        raise TypeError(f"{function.__name__}: arguments that are no tensors: {[type(one) for one in args]}")
    if type(function) is _OPERATOR_METHOD:
        function = tensor_method(function.__name__)
    return handle(function, found, args, kwargs)


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
    return _plain_methods.get(name) or getattr(weft.Tensor, name)


class _Offered:
    """What stands in the code of a function: offers calls first, and calls the function as it was else."""

    def __init__(self, function, public, arranged):
        self.function, self.arranged = public, arranged
        self.plain = types.FunctionType(
            function.__code__,
            function.__globals__,
            function.__name__,
            function.__defaults__,
            function.__closure__,
        )
        self.plain.__kwdefaults__, self.plain.__module__ = function.__kwdefaults__, function.__module__

    def __call__(self, *args, **kwargs):
        found = overriding((*args, *kwargs.values()))
        if not found and (not getattr(_state, "modes", None) or _current_mode() is None):
            return self.plain(*args, **kwargs)
        function = self.function
        if self.arranged is not None:
            args, kwargs = self.arranged(args, kwargs)
            if kwargs.get("return_indices"):
                function = getattr(weft.nn.functional, f"{function.__name__}_with_indices", function)
        return handle(function, found, args, kwargs)


_STAND_IN = 7205759403792793  # in the code below, until a function's _Offered is in its place


@functools.cache
def _template(count):
    """Code that calls the stand-in with its arguments, and has so many free variables."""
    free = ", ".join(f"v{at}" for at in range(count))
    scope = {}
    exec(
        f"def make({free}):\n def f(*args, **kwargs):\n  if 0: return {free or None}\n"
        f"  offered = {_STAND_IN}\n  return offered(*args, **kwargs)\n return f",
        scope,
    )
    return scope["make"](*range(count)).__code__


def _offering_code(offered):
    code = offered.plain.__code__
    template = _template(len(code.co_freevars))
    consts = tuple(offered if one == _STAND_IN else one for one in template.co_consts)
    return template.replace(
        co_consts=consts,
        co_name=code.co_name,
        co_filename=code.co_filename,
        co_firstlineno=code.co_firstlineno,
    )


@functools.cache
def _signature(text):
    scope = {}
    exec(f"def f({text}): pass", scope)
    return inspect.signature(scope["f"])


def signature_of(function):
    """The signature that PyTorch's function has, where it is one written in Python; else None."""
    name = public_name(function)
    namespace, _, short = (name or "").rpartition(".")
    namespace = "torch" if namespace in ("torch.functional", "torch._lowrank", "torch._lobpcg") else namespace
    text = _signatures(namespace).get(short)
    return None if text is None else _signature(text)


def _arranged(text):
    """A function that orders arguments as PyTorch hands them on, by the signature in the table."""
    signature = _signature(text)
    parameters = signature.parameters.values()

    def arranged(args, kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        positional, named = [], {}
        for one in parameters:
            if one.kind is one.VAR_POSITIONAL:
                positional += bound.arguments[one.name]
            elif one.default is one.empty:
                positional.append(bound.arguments[one.name])
            else:
                named[one.name] = bound.arguments[one.name]
        return tuple(positional), named

    return arranged


# ---- functions and their names -------------------------------------------------------------------------------

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
_OF_SETTINGS = ("weft.torch._functions.settings", "weft.torch._functions.checks")
_lock = threading.RLock()
_public = {}  # from a function's id to its dotted name under PyTorch
_kept = []  # the functions of these ids
_offered = {}  # from a function's id to what its calls are offered by
_seen = set()  # (namespace, name)
_armed = 0


@functools.cache
def _places(namespace):
    found = {}
    for place, names in _override_table.PLACES.get(namespace, {}).items():
        for entry in names.split():
            name, _, other = entry.partition("=")
            found[name] = f"{place}.{other or name}"
    return found


@functools.cache
def _signatures(namespace):
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


def _is_offered(function):
    module = function.__module__
    if module in _OF_SETTINGS and function.__name__ not in ("_assert", "_assert_async"):
        return False
    return module.startswith(("weft.torch._functions.", "weft.nn.", "weft._drawing", "weft.torch.linalg",
                              "weft.torch.special", "weft.torch.fft"))  # fmt: skip


def _note(namespace, name, function):
    """Knows a function by its name from now on, and offers its calls while that is wanted."""
    if (namespace, name) in _seen or name.startswith("__"):
        return
    _seen.add((namespace, name))
    is_function = isinstance(function, types.FunctionType)
    if not is_function and type(function).__name__ not in ("Operator", "nb_func"):
        return
    if is_function and namespace == "torch.nn.functional" and (
        not function.__module__.startswith("weft.nn") or name in _override_table.PLAIN
    ):  # fmt: skip
        return
    if id(function) not in _public or getattr(function, "__name__", None) == name:
        _public[id(function)] = _dotted(namespace, name)
        _kept.append(function)
    if is_function and _is_offered(function) and id(function) not in _offered:
        text = _signatures(namespace).get(name)
        _offered[id(function)] = _Offered(function, function, None if text is None else _late_arranged(text))
        if _armed:
            _put(function)


def _late_arranged(text):
    find = functools.cache(_arranged)

    def arranged(args, kwargs):
        return find(text)(args, kwargs)

    return arranged


def _put(function):
    offered = _offered[id(function)]
    function.__code__ = _offering_code(offered)
    function.__wrapped__ = offered.plain


def _note_all():
    for namespace in ("torch.nn.functional", "torch", *_LATE):  # what has two names is known by the first
        module = sys.modules.get(_NAMESPACES[namespace])
        if module is None:
            continue
        names = _names.FUNCTIONS.own if namespace == "torch" else ()
        for name, value in list(vars(module).items()):
            if not name.startswith("_") or name in names:
                _note(namespace, name, value)


def _note_found(name, value):
    """A name of torch that the program looks up the first time: a function, or a module with some."""
    if isinstance(value, types.ModuleType):
        with _lock:
            _note_all()
    else:
        _note("torch", name, value)


def public_name(function):
    """The dotted name of a function of PyTorch's, and of Tensor's methods; None of others."""
    with _lock:
        _note_all()
        found = _public.get(id(function))
    if found is None and is_method(function):
        return f"torch.Tensor.{function.__name__}"
    return found


def is_method(function):
    """Is it a method of Tensor's?"""
    name = getattr(function, "__name__", None)
    if not isinstance(name, str):
        return False
    own = _plain_methods.get(name) or getattr(weft.Tensor, name, None)
    return own is function or type(function) is _OPERATOR_METHOD


# ---- on and off ----------------------------------------------------------------------------------------------


# Methods that Python itself calls of every object, and what is no computation.
_NOT_OFFERED = frozenset(
    """__init__ __new__ __repr__ __format__ __hash__ __iter__ __reduce__ __array__ __dlpack__ __dlpack_device__ __class__
    __array_namespace__ __copy__ __deepcopy__ __array_wrap__ __torch_function__ _make_wrapper_subclass _make_subclass as_subclass
    _become_ _overwrite_ _sizes""".split()
)
_plain_methods = {}  # while methods are offered, Tensor's own by name
_methods_offered = 0


def _offering_method(name, own):
    @functools.wraps(own)
    def method(*args, **kwargs):
        found = overriding((*args, *kwargs.values()))
        if not found and (not getattr(_state, "modes", None) or _current_mode() is None):
            return own(*args, **kwargs)
        return handle(own, found, args, kwargs)

    return method


class offering:
    """Within, calls are offered, those of Tensor's methods too: torch.fx traces, or a mode is on."""

    def __enter__(self):
        global _methods_offered
        arm()
        with _lock:
            _methods_offered += 1
            if _methods_offered > 1:
                return
            for name in dir(weft.Tensor):
                own = getattr(weft.Tensor, name)
                is_own = isinstance(own, types.FunctionType) or type(own).__name__ == "nb_method"
                if (
                    is_own
                    and name not in _NOT_OFFERED
                    and not isinstance(vars(weft.Tensor).get(name), staticmethod)
                ):
                    _plain_methods[name] = own
            for name, own in _plain_methods.items():
                setattr(weft.Tensor, name, _offering_method(name, own))

    def __exit__(self, *error):
        global _methods_offered
        with _lock:
            _methods_offered -= 1
            if not _methods_offered:
                for name, own in _plain_methods.items():
                    setattr(weft.Tensor, name, own)
                _plain_methods.clear()
        disarm()


def arm():
    """Calls are offered from now on, until as many calls of disarm."""
    global _armed
    with _lock:
        _armed += 1
        if _armed > 1:
            return
        _note_all()
        kept = {id(one): one for one in _kept}
        for key in _offered:
            _put(kept[key])
        _table.on_found = _note_found
        _ops._Packet.offer = offer
        weft._C._set_override_handler(offer)


def disarm():
    global _armed
    with _lock:
        _armed -= 1
        if _armed:
            return
        _table.on_found = None
        _ops._Packet.offer = None
        weft._C._set_override_handler(None)
        kept = {id(one): one for one in _kept}
        for key, offered in _offered.items():
            kept[key].__code__ = offered.plain.__code__
            del kept[key].__wrapped__
