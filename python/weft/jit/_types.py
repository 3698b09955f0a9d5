"""TorchScript's types of Python's annotations and values."""

import enum
import inspect
import numbers
import types
import typing

import weft
from weft._C import _jit

from ._values import Error, Future

Type = _jit.Type

_PLAIN = {
    int: Type.int(),
    float: Type.float(),
    bool: Type.bool(),
    str: Type.str(),
    complex: Type.complex(),
    None: Type.none(),
    type(None): Type.none(),
    weft.Tensor: Type.tensor(),
    weft.dtype: Type.int(),  # TorchScript counts them
    weft.device: Type.device(),
    typing.Any: Type.any(),
    numbers.Number: Type.number(),
}


def is_named_tuple(cls):
    return isinstance(cls, type) and issubclass(cls, tuple) and hasattr(cls, "_fields")


def of_annotation(annotation, type_of_class, scope=None):
    """The type that an annotation object or text means; None where it means none. type_of_class: gives that of a class
    of the program; scope: for names in text."""
    if isinstance(annotation, str):
        return _jit.parse_type(annotation, scope)
    if isinstance(annotation, typing.ForwardRef):
        return _jit.parse_type(annotation.__forward_arg__, scope)
    try:
        if annotation in _PLAIN:
            return _PLAIN[annotation]
    except TypeError:  # unhashable
        return None
    if isinstance(annotation, _jit.Type):
        return annotation
    origin = typing.get_origin(annotation)
    if origin is not None:
        return _of_generic(annotation, origin, type_of_class, scope)
    if isinstance(annotation, type):
        if issubclass(annotation, weft.Tensor):
            return Type.tensor()
        return type_of_class(annotation)
    return None


def _of_generic(annotation, origin, type_of_class, scope):
    arguments = typing.get_args(annotation)
    if origin is typing.Annotated:
        return of_annotation(arguments[0], type_of_class, scope)
    if origin is tuple and arguments in ((), ((),)):
        return Type.tuple([])
    inner = [of_annotation(argument, type_of_class, scope) for argument in arguments]
    if any(one is None for one in inner):
        return None
    if origin in (typing.Union, types.UnionType):
        return Type.union(inner)
    make = {list: Type.list, dict: Type.dict, Future: Type.future, typing.Final: lambda one: one}.get(origin)
    if origin is tuple:
        return Type.tuple(inner)
    return make(*inner) if make else None


class NoType(Exception):
    """Why a value has no TorchScript type."""


def of_value(value, type_of_class):
    """The type of a value of Python. type_of_class: as of_annotation takes it. Raises NoType with the reason where there
    is none."""
    if isinstance(value, weft.Tensor):
        return Type.tensor()
    if isinstance(value, enum.Enum) or is_named_tuple(type(value)):
        return of_annotation(type(value), type_of_class)
    if type(value) in _PLAIN:
        return _PLAIN[type(value)]
    if isinstance(value, (list, tuple, dict)):
        return _of_container(value, type_of_class)
    c = getattr(value, "_c", None)
    if isinstance(c, _jit.Module):
        return c.type
    if inspect.isclass(type(value)) and type(value).__module__ != "builtins":
        try:
            found = of_annotation(type(value), type_of_class)
        except Error as error:
            raise NoType(f"its class {type(value).__name__} cannot be compiled: {error}") from error
        if found is not None:
            return found
    raise NoType(f"a value of type {type(value).__name__} has no TorchScript type")


def _of_container(value, type_of_class):
    def types_of(items):
        return [of_value(item, type_of_class) for item in items]

    if isinstance(value, tuple):
        return Type.tuple(types_of(value))
    kind = type(value).__name__
    if not value:
        raise NoType(
            f"the element type of an empty {kind} is not known: annotate the attribute in the class, or use "
            "weft.jit.Attribute(value, type)"
        )
    if isinstance(value, list):
        return Type.list(_common(types_of(value), "elements of a list"))
    keys = _common(types_of(value), "keys of a dict")
    return Type.dict(keys, _common(types_of(value.values()), "values of a dict"))


def _common(found, what):
    common = Type.common(found)
    if str(common) == "Any" and any(str(one) != "Any" for one in found):
        raise NoType(f"the {what} have no common type: {', '.join(sorted({str(one) for one in found}))}")
    return common


# ---- isinstance ------------------------------------------------------------------------------------------------


def isinstance_(obj, target_type):
    """isinstance() that looks into containers: `weft.jit.isinstance(x, List[int])`, `(x, (str, Dict[str, Tensor]))`.

    An empty container is of every element type. In a script it narrows the type of x, as isinstance() does.
    """
    if isinstance(target_type, tuple):
        return any(isinstance_(obj, one) for one in target_type)
    origin, arguments = typing.get_origin(target_type), typing.get_args(target_type)
    if origin is None:
        return isinstance(obj, target_type)
    if origin in (typing.Union, types.UnionType):
        return any(isinstance_(obj, one) for one in arguments)
    if not isinstance(obj, origin):
        return False
    if origin is dict:
        return all(
            isinstance_(key, arguments[0]) and isinstance_(value, arguments[1]) for key, value in obj.items()
        )
    if origin is tuple:
        return len(obj) == len(arguments) and all(map(isinstance_, obj, arguments))
    return all(isinstance_(item, arguments[0]) for item in obj) if origin is list else True
