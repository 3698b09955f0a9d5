"""Tensors of a module that are computed from other tensors by modules, their parametrizations.

The state has the tensors they are computed from: `parametrizations.weight.original`.
"""

import contextlib
import copy
import functools

import weft
from weft._generated import function_of
from weft.nn._types import is_scripting
from weft.nn.modules.container import ModuleDict, ModuleList
from weft.nn.modules.module import Module
from weft.nn.parameter import Parameter

__all__ = ["ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
           "transfer_parametrizations_and_params", "type_before_parametrizations"]  # fmt: skip

_cache = None  # from (module, name) to a tensor, within cached()


@contextlib.contextmanager
def cached():
    """Within, each parametrized tensor is computed once."""
    global _cache
    before, _cache = _cache, {} if _cache is None else _cache
    try:
        yield
    finally:
        _cache = before


def _check_kept(what, before, after):
    """ValueError where a parametrization gives another dtype or shape."""
    if not isinstance(after, weft.Tensor):
        raise ValueError(f"{what} must return a tensor. Got {type(after).__name__}.")
    for name in ("dtype", "shape"):
        if getattr(before, name) != getattr(after, name):
            raise ValueError(
                f"Registering a parametrization may not change the {name} of the tensor, unless `unsafe` flag is enabled.\n"
                f"unparametrized {name}: {getattr(before, name)}\nparametrized {name}: {getattr(after, name)}"
            )


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, in the order they are applied in, and what they are applied to."""

    def __init__(self, modules, original, unsafe=False):
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        value = original
        for module in reversed(list(self)):
            if hasattr(module, "right_inverse"):
                with contextlib.suppress(NotImplementedError):
                    value = module.right_inverse(value)
        self.is_tensor = isinstance(value, weft.Tensor)
        if not self.is_tensor and not isinstance(value, (list, tuple)):
            raise ValueError(
                f"'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got {type(value).__name__}"
            )
        self.ntensors = 1 if self.is_tensor else len(value)
        if self.is_tensor and value.dtype != original.dtype:
            raise ValueError(
                "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                f"original.dtype: {original.dtype}\nright_inverse(original).dtype: {value.dtype}"
            )
        for name, each in zip(self._weft_names(), [value] if self.is_tensor else value):
            if isinstance(original, Parameter):
                self.register_parameter(name, each if isinstance(each, Parameter) else Parameter(each))
            else:
                self.register_buffer(name, each)
        if not unsafe:
            _check_kept("A parametrization", original, self())

    def _weft_names(self):
        return ["original"] if self.is_tensor else [f"original{i}" for i in range(self.ntensors)]

    def _weft_originals(self):
        return [getattr(self, name) for name in self._weft_names()]

    def right_inverse(self, value):
        """Sets what the parametrizations are applied to so that they give `value`."""
        for module in reversed(list(self)):
            if not hasattr(module, "right_inverse"):
                raise RuntimeError(
                    f"parametrization {type(module).__name__} does not implement right_inverse."
                )
            value = module.right_inverse(value)
        if self.is_tensor and not isinstance(value, weft.Tensor):
            raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
        if not self.is_tensor and (not isinstance(value, (list, tuple)) or len(value) != self.ntensors):
            raise ValueError(
                f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. Got {value!r:.200}"
            )
        for name, own, each in zip(
            self._weft_names(), self._weft_originals(), [value] if self.is_tensor else value
        ):
            if each.dtype != own.dtype:
                raise ValueError(
                    f"The tensor returned by `right_inverse` has dtype {each.dtype} while `{name}` has dtype {own.dtype}"
                )
            own.set_(each)

    def _weft_scripted_forward(self):
        return _scripted_forward(tuple(self._weft_names()), len(self))

    def forward(self):
        first, *rest = list(self)
        value = first(*self._weft_originals())
        for module in rest:
            value = module(value)
        return value


@functools.cache
def _scripted_forward(originals, count):
    """The forward() that scripts have of a list of so many parametrizations, over tensors of these names."""
    calls = [
        f"self[0]({', '.join(f'self.{name}' for name in originals)})",
        *(f"self[{i}](value)" for i in range(1, count)),
    ]
    lines = ["def forward(self):", *(f"    value = {call}" for call in calls), "    return value"]
    return function_of("\n".join(lines) + "\n", {})


def _computed(module, name):
    if _cache is None:
        return module.parametrizations[name]()
    key = (id(module), name)
    if key not in _cache:
        _cache[key] = module.parametrizations[name]()
    return _cache[key]


_GET = """\
def get(self):
    if is_scripting():
        return self.parametrizations[{name!r}]()
    return computed(self, {name!r})
"""
_PUT = """\
def put(self, value):
    if is_scripting():
        raise RuntimeError("parametrized tensors cannot be assigned in a script")
    self.parametrizations[{name!r}].right_inverse(value)
"""


def _property(name):
    """What computes the tensor; in scripts at every use."""
    scope = {"is_scripting": is_scripting, "computed": _computed}
    return property(
        *(
            function_of(source.format(name=name), scope, kind)
            for kind, source in (("get", _GET), ("put", _PUT))
        )
    )


def _parametrized_class(module):
    """A class of the module's own, whose properties compute."""
    own = type(module)

    def __deepcopy__(self, memo):
        result = own.__new__(own)
        memo[id(self)] = result
        for name, value in self.__dict__.items():
            result.__dict__[name] = copy.deepcopy(value, memo)
        result.__class__ = type(self)
        return result

    def __getstate__(self):
        raise RuntimeError("Serialization of parametrized modules is only supported through state_dict().")

    body = {"__deepcopy__": __deepcopy__, "__getstate__": __getstate__, "__module__": own.__module__}
    return type(f"Parametrized{own.__name__}", (own,), body)


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    """The parameter or buffer becomes what `parametrization` makes of it. Returns: the module."""
    if is_parametrized(module, tensor_name):
        own = module.parametrizations[tensor_name]
        if unsafe:
            own.unsafe = True
        else:
            before = getattr(module, tensor_name)
            _check_kept("A parametrization", before, parametrization(before))
        own.append(parametrization)
        return module
    store = next((each for each in (module._parameters, module._buffers) if tensor_name in each), None)
    if store is None:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'"
        )
    made = ParametrizationList([parametrization], store[tensor_name], unsafe)
    del store[tensor_name]
    if not is_parametrized(module):
        module.__class__ = _parametrized_class(module)
        module.parametrizations = ModuleDict()
    setattr(type(module), tensor_name, _property(tensor_name))
    module.parametrizations[tensor_name] = made
    return module


def is_parametrized(module, tensor_name=None):
    """Has the module parametrized tensors; this one?"""
    found = module.__dict__.get("_modules", {}).get("parametrizations")
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    """The tensor is a plain one again: what the parametrizations gave, or what they were applied to."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    made = module.parametrizations[tensor_name]
    if not leave_parametrized and not made.is_tensor:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a sequence of "
            "tensors."
        )
    is_parameter = isinstance(made._weft_originals()[0], Parameter)
    value = made().detach().clone() if leave_parametrized else made.original
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if is_parameter:
        module.register_parameter(tensor_name, value if isinstance(value, Parameter) else Parameter(value))
    else:
        module.register_buffer(tensor_name, value)
    if not is_parametrized(module):
        del module._modules["parametrizations"]
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module):
    """The module's class, without parametrizations."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module, to_module, tensor_name=None):
    """Gives to_module the parametrizations of from_module, and what they are applied to."""
    if not is_parametrized(from_module):
        return to_module
    names = list(from_module.parametrizations) if tensor_name is None else [tensor_name]
    for name in names:
        made = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(made().detach().clone()))
        for each in made:
            register_parametrization(to_module, name, each)
        for original in made._weft_names():
            setattr(to_module.parametrizations[name], original, getattr(made, original))
    return to_module


_Module = Module  # what annotations name
