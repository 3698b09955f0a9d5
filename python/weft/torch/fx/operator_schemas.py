"""Arguments of calls by their names, with the defaults filled in."""

import inspect
from typing import NamedTuple

from weft.torch import _absent, _function_names

__all__ = [
    "ArgsKwargsPair",
    "check_for_mutable_operation",
    "get_signature_for_torch_op",
    "normalize_function",
    "normalize_module",
]


def is_nn_module(module):
    """Is a module one of torch.nn's own?"""
    return module.__module__.startswith(("torch.nn", "torch.ao.nn", "weft.nn", "weft.torch.ao.nn"))


class ArgsKwargsPair(NamedTuple):
    """Arguments of a call, by position and by name."""

    args: tuple
    kwargs: dict


def check_for_mutable_operation(target, args, kwargs):
    """Nothing: calls that write into their arguments are recorded like others."""


def get_signature_for_torch_op(op, return_schemas=False):
    """[the signature] of a function of torch; None where it is not known. Operators of C++ have those of their schemas."""
    signature = _signature(op)
    found = None if signature is None else [signature]
    return (found, None) if return_schemas else found


def _signature(target):
    if type(target).__name__ in ("Operator", "OperatorMethod"):
        return _signature_of_schema(target)
    try:
        return inspect.signature(inspect.unwrap(target))
    except (TypeError, ValueError):
        return None


def _signature_of_schema(operator):
    """A signature from an operator's schema: (x: Tensor, dim: int = 0) -> Tensor."""
    text = getattr(operator, "schema", None)
    if not isinstance(text, str):
        return None
    inside = text[text.index("(") + 1 : text.rindex(")", 0, text.find("->") if "->" in text else len(text))]
    parameters, kind, depth, piece, pieces = [], inspect.Parameter.POSITIONAL_OR_KEYWORD, 0, "", []
    for letter in inside:
        depth += (letter in "[(") - (letter in "])")
        if letter == "," and depth == 0:
            pieces.append(piece)
            piece = ""
        else:
            piece += letter
    for one in filter(None, (one.strip() for one in [*pieces, piece])):
        if one == "*":
            kind = inspect.Parameter.KEYWORD_ONLY
            continue
        name = one.partition(":")[0].partition("=")[0].strip()
        default = _literal(one.rpartition("=")[2].strip()) if "=" in one else inspect.Parameter.empty
        parameters.append(inspect.Parameter(name, kind, default=default))
    try:
        return inspect.Signature(parameters)
    except ValueError:
        return None


def _literal(text):
    import ast

    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return {"true": True, "false": False, "none": None}.get(text.lower(), text)


def _by_names(signature, args, kwargs, only_kwargs):
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    positional, named = [], {}
    for one in signature.parameters.values():
        value = bound.arguments[one.name]
        if one.kind is one.VAR_KEYWORD:
            named.update(value)
        elif one.kind is one.VAR_POSITIONAL:
            if only_kwargs and value:
                return None
            positional += value
        elif only_kwargs or one.kind is one.KEYWORD_ONLY:
            named[one.name] = value
        else:
            positional.append(value)
    return ArgsKwargsPair(tuple(positional), named)


def normalize_function(
    target, args, kwargs=None, arg_types=None, kwarg_types=None, normalize_to_only_use_kwargs=False
):
    """The arguments of a call of a function of torch with all defaults; None where its signature is not known."""
    public = _function_names.public_name(target)
    if public is None and type(target).__name__ not in ("OpOverload", "OpOverloadPacket", "_Packet"):
        return None
    signature = _function_names.signature_of(target) or _signature(target)
    if signature is None:
        return None
    try:
        return _by_names(signature, args, kwargs or {}, normalize_to_only_use_kwargs)
    except TypeError:
        return None


def normalize_module(root, target, args, kwargs=None, normalize_to_only_use_kwargs=False):
    """The arguments of a call of a submodule of torch.nn with all defaults; None of other modules."""
    try:
        module = root.get_submodule(target)
    except AttributeError as error:
        raise RuntimeError(
            f"Tried to normalize arguments for module {target} but root did not have module {target}!"
        ) from error
    if not is_nn_module(module):
        return None
    signature = inspect.signature(type(module).forward)
    signature = signature.replace(parameters=list(signature.parameters.values())[1:])
    return _by_names(signature, args, kwargs or {}, normalize_to_only_use_kwargs)


__getattr__ = _absent.names(__name__)
