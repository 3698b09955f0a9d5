"""Schemas of operators: what their text says, and what a function's annotations make of them."""

import collections.abc
import dataclasses
import functools
import inspect
import re
import types
import typing

import weft
from weft._C import _jit
from weft._errors import ArgumentError, ArgumentTypeError


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A parameter of a schema. `type` is TorchScript's name of it, `word` what the schema's text says."""

    name: str
    type: str
    word: str
    is_keyword_only: bool
    is_written: bool
    has_default: bool
    default: object


class Schema:
    """A schema, read: "namespace::name(Tensor x, int n=2, *, float scale=1.0) -> (Tensor, Tensor)".

    text: as it was given. ValueError with the column of what is not understood.
    """

    def __init__(self, text):
        if not isinstance(text, str):
            raise TypeError(f"schema: expected a str, got {type(text).__name__}")
        if len(text) > 1 << 16:
            raise ArgumentError(f"schema: expected at most 65536 characters, got {len(text)}")
        self.text = text
        self.name, self.overload, parameters, self.returns = _jit.describe_schema(numbered(text))
        words = _words(text, len(parameters))
        self.parameters = [
            Parameter(*found[:2], word, *found[2:-1], _default_of(word, found[-1]))
            for found, word in zip(parameters, words)
        ]
        self.num_positional = sum(not parameter.is_keyword_only for parameter in self.parameters)
        self.has_keywords = self.num_positional < len(self.parameters)

    @property
    def mutates(self):
        """Names of the parameters that the operator writes to."""
        return tuple(parameter.name for parameter in self.parameters if parameter.is_written)

    def __str__(self):
        return self.text


_NAMED_DTYPE = re.compile(r"(ScalarType\??\s+\w+\s*=\s*)([a-z]\w*)")


@functools.cache
def _dtype_numbers():
    """TorchScript's number of each dtype, by its name."""
    numbers = {}
    for number in range(64):
        try:
            numbers[str(_jit.dtype_of_number(number)).rpartition(".")[2]] = number
        except (ValueError, RuntimeError, TypeError):
            continue
    return numbers


def numbered(text):
    """The schema with numbers as the defaults that are dtypes."""
    return _NAMED_DTYPE.sub(lambda found: f"{found[1]}{_dtype_numbers().get(found[2], found[2])}", text)


def _default_of(word, value):
    is_dtype = word.startswith("ScalarType") and isinstance(value, int)
    return _jit.dtype_of_number(value) if is_dtype else value


def _words(text, count):
    """The types of parameters as they are written, without what they alias."""
    start = text.index("(") + 1
    parts, depth, part, quote = [], 0, "", ""
    for character in text[start:]:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "([":
            depth += 1
        elif character in ")]":
            depth -= 1
        if depth < 0 or (character == "," and depth == 0 and not quote):
            parts.append(part.strip())
            part = ""
            if depth < 0:
                break
            continue
        part += character
    words = [part.rpartition("=")[0] or part for part in parts if part and part != "*"]
    return [word.split("(")[0].split(" ")[0] for word in words][:count]


# ---- from annotations --------------------------------------------------------------------------------------------
_WORDS = {
    weft.Tensor: "Tensor",
    int: "SymInt",
    float: "float",
    bool: "bool",
    str: "str",
    weft.dtype: "ScalarType",
    weft.device: "Device",
}
_NUMBER = frozenset({int, float, bool})
_LISTED = ("Tensor", "SymInt", "float", "bool", "Scalar")
_RETURNED = ("Tensor", "SymInt", "float", "bool", "Scalar")


def _word(annotation):
    """The schema's word of an annotation; None where there is none."""
    if isinstance(annotation, typing.Hashable) and annotation in _WORDS:
        return _WORDS[annotation]
    origin, inside = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        if frozenset(inside) == _NUMBER:
            return "Scalar"
        rest = [one for one in inside if one is not type(None)]
        if len(rest) == len(inside):
            return None
        word = "Scalar" if frozenset(rest) == _NUMBER else _word(rest[0]) if len(rest) == 1 else None
        return f"{word}?" if word and not word.endswith("?") else None
    if origin in (list, collections.abc.Sequence) and len(inside) == 1:
        word = _word(inside[0])
        return f"{word}[]" if word and word.rstrip("?") in _LISTED else None
    return None


def _returned(annotation, name):
    def word_of(one):
        word = _word(one)
        if word is None or word.removesuffix("[]") not in _RETURNED or word in ("SymInt[]", "float[]"):
            raise ArgumentError(
                f"infer_schema({name}): the result {one!r} is of no type that an operator may return; these are Tensor, "
                "list[Tensor], int, float, bool, and tuples of them"
            )
        return word

    if annotation is None or annotation is type(None):
        return "()"
    if typing.get_origin(annotation) is tuple:
        inside = typing.get_args(annotation)
        if Ellipsis in inside:
            raise ArgumentError(f"infer_schema({name}): a tuple that is returned needs a number of elements")
        return f"({', '.join(word_of(one) for one in inside)})"
    return word_of(annotation)


def _default(value, name, parameter):
    if value is None or isinstance(value, (bool, int, float)):
        return str(value)
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, (weft.dtype, weft.device)):
        return str(value).removeprefix("weft.").removeprefix("torch.")
    raise ArgumentError(
        f"infer_schema({name}): parameter {parameter}: a default is None, a number or a str, got {type(value).__name__}"
    )


def infer_schema(prototype_function, /, *, mutates_args, op_name=None):
    """The schema of a function by its annotations, as text: "(Tensor x, SymInt n=2) -> Tensor".

    mutates_args: names of the tensors that it writes to, or "unknown": it may write to each. op_name: stands before.
    ValueError for parameters without annotations, of types that operators do not take (Tensor, int, float, bool, str,
    weft.dtype, weft.device, numbers, lists of them, and Optional), *args, **kwargs, and names in mutates_args that are no
    parameters.
    """
    name = getattr(prototype_function, "__name__", "a function")
    signature = inspect.signature(prototype_function)
    try:
        hints = typing.get_type_hints(prototype_function)
    except (NameError, TypeError) as error:
        raise ArgumentError(f"infer_schema({name}): its annotations cannot be evaluated: {error}") from None
    unknown = mutates_args == "unknown"
    if isinstance(mutates_args, str) and not unknown:
        raise ArgumentError(
            f"infer_schema({name}): mutates_args is a sequence of names or 'unknown', got {mutates_args!r}"
        )
    written = () if unknown else tuple(mutates_args)
    for one in written:
        if one not in signature.parameters:
            raise ArgumentError(f"infer_schema({name}): mutates_args: there is no parameter {one!r}")
    parts, keyword_only, number = [], False, 0
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise ArgumentError(f"infer_schema({name}): *args and **kwargs have no place in a schema")
        if parameter.name not in hints:
            raise ArgumentError(f"infer_schema({name}): parameter {parameter.name} needs a type annotation")
        word = _word(hints[parameter.name])
        if word is None:
            raise ArgumentError(
                f"infer_schema({name}): parameter {parameter.name}: {hints[parameter.name]!r} is no type that an operator "
                "takes; these are Tensor, int, float, bool, str, dtype, device, int | float | bool, lists of them, and Optional"
            )
        if parameter.name in written or (unknown and word.startswith("Tensor")):
            if not word.startswith("Tensor"):
                raise ArgumentError(
                    f"infer_schema({name}): parameter {parameter.name} is in mutates_args, and no Tensor"
                )
            word = f"Tensor(a{number}!){word[6:]}"
        number += 1
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            parts.append("*")
        text = f"{word} {parameter.name}"
        if parameter.default is not parameter.empty:
            text += f"={_default(parameter.default, name, parameter.name)}"
        parts.append(text)
    if "return" not in hints:
        raise ArgumentError(f"infer_schema({name}): the result needs a type annotation, or None")
    return f"{op_name or ''}({', '.join(parts)}) -> {_returned(hints['return'], name)}"


def check_argument(name, parameter, value):
    """TypeError where a value is none of the parameter's type."""
    if not parameter.word.startswith(("Layout", "MemoryFormat")) and not _is_of(parameter.type, value):
        raise ArgumentTypeError(
            f"{name}: argument '{parameter.name}': expected {parameter.word}, got {type(value).__name__}"
        )


_CLASSES = {
    "Tensor": weft.Tensor,
    "int": (int, weft.dtype),
    "float": (int, float),
    "bool": bool,
    "str": str,
    "number": (int, float, complex),
    "Scalar": (int, float, complex),
    "Device": (weft.device, str),
}


def _is_of(kind, value):
    if kind.startswith("Optional["):
        return value is None or _is_of(kind[9:-1], value)
    if kind.startswith("List["):
        return isinstance(value, (list, tuple)) and all(_is_of(kind[5:-1], one) for one in value)
    found = _CLASSES.get(kind)
    return found is None or isinstance(value, found)


def check_results(schema, results):
    """The results of a kernel, as the schema has them. TypeError where they are of other types or another number."""
    kinds = schema.returns
    if len(kinds) == 1:
        if not _is_of(kinds[0], results):
            raise ArgumentTypeError(
                f"{schema.name}: the schema says that the result is {kinds[0]}, the kernel returned {type(results).__name__}"
            )
        return results
    if not kinds:
        if results is not None:
            raise ArgumentTypeError(
                f"{schema.name}: the schema has no result, the kernel returned {type(results).__name__}"
            )
        return None
    if not isinstance(results, (tuple, list)) or len(results) != len(kinds):
        count = f"{len(results)} of them" if isinstance(results, (tuple, list)) else type(results).__name__
        raise ArgumentTypeError(
            f"{schema.name}: the schema has {len(kinds)} results, the kernel returned {count}"
        )
    for number, (kind, result) in enumerate(zip(kinds, results)):
        if not _is_of(kind, result):
            raise ArgumentTypeError(
                f"{schema.name}: the schema says that result {number} is {kind}, the kernel returned {type(result).__name__}"
            )
    return tuple(results)
