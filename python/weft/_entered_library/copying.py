"""copy.copy and copy.deepcopy of arrays, containers and instances of the program's classes."""

import copy as _copy
import types

import numpy as np

from .._entered import plainly

_UNCHANGED = (
    type(None),
    type(...),
    bool,
    int,
    float,
    complex,
    str,
    bytes,
    np.generic,
    np.dtype,
    type,
    types.FunctionType,
    types.BuiltinFunctionType,
)


def has_plain_state(instance):
    """Is its state its attributes? Lowered by capture."""
    return False


def attributes_of(instance):
    """The attributes that an instance has of its own. Lowered by capture."""
    return dict(vars(instance))


def _is_known(value, levels):
    """Is this, down to its last element, of what _deep copies?"""
    if isinstance(value, _UNCHANGED) or type(value) is np.ndarray:
        return True
    if levels == 0:
        return False
    if type(value) is dict:
        return all(isinstance(key, _UNCHANGED) for key in value) and _is_known(list(value.values()), levels)
    if type(value) is list or type(value) is tuple:
        return all(_is_known(element, levels - 1) for element in value)
    return has_plain_state(value) and _is_known(attributes_of(value), levels)


def _with_attributes(instance, attributes):
    for name, value in attributes.items():
        object.__setattr__(instance, name, value)
    return instance


def copy(value):
    if isinstance(value, _UNCHANGED) or type(value) is tuple:
        return value
    if isinstance(value, np.ndarray):
        return value.__copy__()
    if type(value) is list or type(value) is dict or type(value) is set:
        return value.copy()
    if has_plain_state(value):
        return _with_attributes(object.__new__(type(value)), attributes_of(value))
    return plainly(_copy.copy, value)


def deepcopy(value, memo=None):
    if memo is None and _is_known(value, 12):
        return _deep(value, [])
    return plainly(_copy.deepcopy, value, memo)


def _deep(value, copied):
    """`copied` has the pairs of objects and their copies: what is reached in two ways is copied once."""
    if isinstance(value, _UNCHANGED):
        return value
    for original, made in copied:
        if original is value:
            return made
    if type(value) is tuple:
        elements = [_deep(element, copied) for element in value]
        is_same = all(one is other for one, other in zip(elements, value))
        made = value if is_same else tuple(elements)
        copied.append((value, made))
        return made
    if type(value) is np.ndarray:
        made = value.__copy__()
        copied.append((value, made))
        return made
    made = [] if type(value) is list else {} if type(value) is dict else object.__new__(type(value))
    copied.append((value, made))
    if type(value) is list:
        for element in value:
            made.append(_deep(element, copied))
    elif type(value) is dict:
        for key, element in value.items():
            made[key] = _deep(element, copied)
    else:
        _with_attributes(
            made, {name: _deep(element, copied) for name, element in attributes_of(value).items()}
        )
    return made
