"""Calls that the class of an argument, or a mode, takes over: __torch_function__.

Nothing is asked until a class of a program may override (`on_class`), a mode is on, or torch.fx traces: calls are what they were.
From then on operators of C++ ask before they run (python/bindings/overriding.cc), and a function of Python by other code that is
put in its place (`__code__`), so that it stays the object that programs hold. Methods of Tensor's are replaced while a mode is on
or torch.fx traces; classes of programs have a base with methods that ask.
"""

import functools
import threading
import types

import weft
from weft._generated import calling_code, copied

from . import _function_names, _ops, _table
from ._function_names import (
    OPERATOR_METHOD,
    lock,
    note,
    note_all,
    plain_methods,
    public_name,
    tensor_method,
)

_state = threading.local()
_may_override = weft._C._may_override


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
    return _as_class(result, cls)


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
    if getattr(found, "__func__", None) is default_torch_function and not _is_of_program(kind):
        return None
    return found


def _is_of_program(kind):
    """Is it a class of tensors that a program made, whose results are of the class?"""
    return getattr(kind, "_weft_offers", False) and not getattr(kind, "_weft_wraps", False)


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
    if type(function) is OPERATOR_METHOD:
        function = tensor_method(function.__name__)
    elif type(function) is weft._C.Operator and getattr(weft.torch, function.__name__, None) is not function:
        # An operator that a function of Python calls.
        function = _function_of(function.__name__) or function
    return handle(function, found, args, kwargs)


def _function_of(name):
    """torch's function for an operator of weft's."""
    return getattr(weft.nn.functional, name, None) or getattr(weft.torch, name, None)


class _Offered:
    """What stands in the code of a function: offers calls first, and calls the function as it was else."""

    def __init__(self, function, arranged):
        self.function, self.arranged = function, arranged
        self.plain = copied(function)

    def __call__(self, *args, **kwargs):
        if not _may_override(*args, *kwargs.values()):
            return self.plain(*args, **kwargs)
        found = overriding((*args, *kwargs.values()))
        if not found and _current_mode() is None:
            return self.plain(*args, **kwargs)
        function = self.function
        if self.arranged is not None:
            args, kwargs = self.arranged(args, kwargs)
            if kwargs.get("return_indices"):
                function = getattr(weft.nn.functional, f"{function.__name__}_with_indices", function)
        return handle(function, found, args, kwargs)


def _arranged(text):
    """A function that orders arguments as PyTorch hands them on, by the signature in the table."""
    signature = _function_names.signature_from(text)
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

_OF_SETTINGS = ("weft.torch._functions.settings", "weft.torch._functions.checks")
_offered = {}  # from a function's id to what its calls are offered by
_armed = 0


def _is_offered(function):
    module = function.__module__
    if module in _OF_SETTINGS and function.__name__ not in ("_assert", "_assert_async"):
        return False
    return module.startswith(("weft.torch._functions.", "weft._composed.", "weft.nn.", "weft._drawing", "weft.torch.linalg",
                              "weft.torch.special", "weft.torch.fft"))  # fmt: skip


def _on_noted(function, namespace, name):
    """Offers the calls of a function that is known from now on, while that is wanted."""
    if not _is_offered(function) or id(function) in _offered:
        return
    text = _function_names.signatures(namespace).get(name)
    arranged = None if text is None else _arranged_einsum if name == "einsum" else _late_arranged(text)
    _offered[id(function)] = _Offered(function, arranged)
    if _armed:
        _put(function)


def _arranged_einsum(args, kwargs):
    """Operands in a list are given one by one."""
    if len(args) == 2 and isinstance(args[1], (list, tuple)):
        args = (args[0], *args[1])
    return args, kwargs


@functools.cache
def _note_methods():
    """Offers the calls of Tensor's methods that are functions of Python."""
    for name, own in vars(weft.Tensor).items():
        if isinstance(own, types.FunctionType) and name not in _NOT_OFFERED:
            _function_names.functions[id(own)] = own
            _offered[id(own)] = _Offered(own, None)


def _late_arranged(text):
    find = functools.cache(_arranged)

    def arranged(args, kwargs):
        return find(text)(args, kwargs)

    return arranged


def _put(function):
    offered = _offered[id(function)]
    function.__code__ = calling_code(offered.plain.__code__, offered)
    function.__wrapped__ = offered.plain
    if not hasattr(function, "_when_entered"):
        function._when_entered = offered.plain  # of captured functions


def _note_found(name, value):
    """A name of torch that the program looks up the first time: a function, or a module with some."""
    if isinstance(value, types.ModuleType):
        with lock:
            note_all()
    else:
        note("torch", name, value)


# ---- on and off ----------------------------------------------------------------------------------------------


# Methods that Python itself calls of every object, and what is no computation.
_NOT_OFFERED = frozenset(
    """__init__ __new__ __repr__ __format__ __hash__ __iter__ __reduce__ __array__ __dlpack__ __dlpack_device__ __class__
    __array_namespace__ __copy__ __deepcopy__ __array_wrap__ __torch_function__ _make_wrapper_subclass _make_subclass as_subclass
    _become_ _overwrite_ _sizes""".split()
)
_methods_offered = 0


def _offering_method(name, own):
    @functools.wraps(own)
    def method(*args, **kwargs):
        if not _may_override(*args, *kwargs.values()):
            return own(*args, **kwargs)
        found = overriding((*args, *kwargs.values()))
        if not found and _current_mode() is None:
            return own(*args, **kwargs)
        return handle(own, found, args, kwargs)

    return method


class offering:
    """Within, calls are offered, those of Tensor's methods too: torch.fx traces, or a mode is on."""

    def __enter__(self):
        global _methods_offered
        arm()
        with lock:
            _methods_offered += 1
            if _methods_offered > 1:
                return
            for name in dir(weft.Tensor):
                own = getattr(weft.Tensor, name)
                if type(own).__name__ == "nb_method" and name not in _NOT_OFFERED:
                    plain_methods[name] = own
            for name, own in plain_methods.items():
                setattr(weft.Tensor, name, _offering_method(name, own))

    def __exit__(self, *error):
        global _methods_offered
        with lock:
            _methods_offered -= 1
            if not _methods_offered:
                for name, own in plain_methods.items():
                    setattr(weft.Tensor, name, own)
                plain_methods.clear()
        disarm()


def arm():
    """Calls are offered from now on, until as many calls of disarm."""
    global _armed
    with lock:
        _armed += 1
        if _armed > 1:
            return
        note_all()
        _note_methods()
        for key in _offered:
            _put(_function_names.functions[key])
        _table.on_found = _note_found
        _ops._Packet.offer = offer
        weft._C._set_override_handler(offer)


@functools.cache
def arm_for_good():
    """Calls are offered from now on."""
    arm()


def disarm():
    global _armed
    with lock:
        _armed -= 1
        if _armed:
            return
        _table.on_found = None
        _ops._Packet.offer = None
        weft._C._set_override_handler(None)
        for key, offered in _offered.items():
            function = _function_names.functions[key]
            function.__code__ = offered.plain.__code__
            del function.__wrapped__
            if function._when_entered is offered.plain:
                del function._when_entered


# ---- classes of programs -------------------------------------------------------------------------------------


def _made(cls, *args, **kwargs):
    made = weft.Tensor.__new__(cls)
    weft.Tensor.__init__(made, *args, **kwargs)
    return made


def _nothing(self, *args, **kwargs):
    """Tensor.__init__ of a program's class: __new__ has made the tensor, and takes the arguments."""


@functools.cache
def _offering_base():
    """What stands between Tensor and a program's classes of tensors: Tensor's methods, which are offered."""
    members = {"_weft_offers": True, "__weft_operator__": staticmethod(_offer_by_name)}
    members.update(__new__=_made, __init__=_nothing)
    for name in dir(weft.Tensor):
        own = plain_methods.get(name) or getattr(weft.Tensor, name)
        if name not in _NOT_OFFERED and (
            isinstance(own, types.FunctionType)
            or type(own) is OPERATOR_METHOD
            or type(own).__name__ == "nb_method"
        ):
            members[name] = _offering_method(name, tensor_method(name))
    for name in ("__iter__",):
        members.pop(name, None)
    return type(weft.Tensor)("Tensor", (weft.Tensor,), members)


def _offer_by_name(name, *args, **kwargs):
    """An operator of weft's that a captured function leaves to the class of an argument."""
    function = _function_of(name) or getattr(weft, name)
    found = overriding((*args, *kwargs.values()))
    return handle(function, found, args, kwargs) if found else function(*args, **kwargs)


def on_class(cls):
    """A class statement of a program made a class of tensors, or one with a __torch_function__: calls are offered from now on."""
    if getattr(cls, "_weft_wraps", False):
        return
    if issubclass(cls, weft.Tensor):
        if issubclass(cls, (weft.nn.Parameter, weft.nn.parameter.PackedWeight)) or getattr(
            cls, "_weft_offers", False
        ):
            return
        if weft.Tensor in cls.__bases__:
            cls.__bases__ = tuple(_offering_base() if one is weft.Tensor else one for one in cls.__bases__)
    arm_for_good()


weft.Tensor.__torch_function__ = classmethod(default_torch_function)
weft.nn.Parameter.__torch_function__ = disabled_torch_function_impl
_function_names.on_noted = _on_noted
