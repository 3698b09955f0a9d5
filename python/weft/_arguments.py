"""What is wrong with the arguments of a call that a function of weft's extension modules does not take, in words.

The functions say what they take in `__nb_signature__`: "def open(folder: str, count: int = \\0) -> weft.Tensor".
"""

import ast
import numbers
import re

_PLAIN = {
    "str": (str, "a str"),
    "bytes": (bytes, "bytes"),
    "bool": (bool, "True or False"),
    "float": (numbers.Real, "a number"),
    "dict": (dict, "a dict"),
    "list": (list, "a list"),
    "tuple": (tuple, "a tuple"),
}
_SEQUENCES = {"list", "tuple", "Sequence", "Iterable"}
_MAPPINGS = {"dict", "Mapping"}
_LONGEST = 60  # of a value in a message


def explain(function, args, kwargs):
    """The message for a call that none of the function's signatures takes."""
    name = function.__qualname__.removesuffix(".__init__")
    found = []
    for text, *_ in function.__nb_signature__:
        source = re.sub(r"\\=?\d+", "...", text.strip().splitlines()[-1])
        parameters = ast.parse(source + ": ...").body[0].args
        is_method = bool(args) and parameters.args[:1] and parameters.args[0].annotation is None
        found.append(_problem(parameters, args, kwargs, 1 if is_method else 0))
    return f"{name}: {found[0]}" if len(set(found)) == 1 else f"{name}: {'; or '.join(dict.fromkeys(found))}"


def _problem(parameters, args, kwargs, skipped):
    positional = [*parameters.posonlyargs, *parameters.args]
    names = [_name(p, i - skipped) for i, p in enumerate(positional)]
    required = len(positional) - len(parameters.defaults)
    if len(args) > len(positional) and not parameters.vararg:
        most = len(positional) - skipped
        return f"expected {'at most ' if parameters.defaults else ''}{most} argument{'s' * (most != 1)}, got {len(args) - skipped}"
    by_name = {p.arg: p for p in [*parameters.args, *parameters.kwonlyargs]}
    for key in kwargs:
        if key not in by_name and not parameters.kwarg:
            known = ", ".join(list(by_name)[skipped:]) or "none"
            return f"unknown argument '{key}'; the arguments are: {known}"
    for i, parameter in enumerate(positional):
        if i < len(args) and parameter.arg in kwargs:
            return f"argument {names[i]} is given twice"
        if i >= len(args) and i < required and parameter.arg not in kwargs:
            return f"argument {names[i]} is missing: expected {_words(parameter.annotation)}"
    given = [(names[i], p, args[i]) for i, p in enumerate(positional) if skipped <= i < len(args)]
    given += [(f"'{key}'", by_name[key], value) for key, value in kwargs.items() if key in by_name]
    for shown, parameter, value in given:
        if not _fits(parameter.annotation, value):
            return f"expected {_words(parameter.annotation)} for argument {shown}, got {_shown(value)}"
    for shown, _, value in given:
        if _is_integer(value) and not -(2**63) <= int(value) < 2**63:
            return f"expected an int of at most 64 bits for argument {shown}, got {_shown(value)}"
        if _is_integer(value) and int(value) < 0:
            return f"expected an int of at least 0 for argument {shown}, got {_shown(value)}"
    return "got " + (", ".join(f"{shown}: {_shown(value)}" for shown, _, value in given) or "no arguments")


def _name(parameter, position):
    return f"{position + 1}" if re.fullmatch(r"arg\d*", parameter.arg) else f"'{parameter.arg}'"


def _shown(value):
    text = repr(value) if isinstance(value, (str, int, float, bytes)) else ""
    if len(text) > _LONGEST:
        text = text[:_LONGEST] + "…"
    kind = type(value).__name__
    return "None" if value is None else f"{kind} {text}" if text else kind


def _is_integer(value):
    return hasattr(type(value), "__index__") and not isinstance(value, bool)


def _parts(annotation):
    """A union's members, or the annotation."""
    if isinstance(annotation, ast.BinOp):
        return _parts(annotation.left) + _parts(annotation.right)
    return [annotation]


def _last(annotation):
    """The last name of "collections.abc.Sequence"; None's is 'None'."""
    if annotation is None or isinstance(annotation, ast.Constant):
        return "None"
    return annotation.attr if isinstance(annotation, ast.Attribute) else getattr(annotation, "id", "object")


def _fits(annotation, value):
    if annotation is None:
        return True
    return any(_fits_one(part, value) for part in _parts(annotation))


def _fits_one(annotation, value):
    if isinstance(annotation, ast.Subscript):
        outer, inner = _last(annotation.value), annotation.slice
        elements = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        if outer in _MAPPINGS:
            return isinstance(value, dict) and all(
                _fits(elements[0], key) and _fits(elements[-1], item) for key, item in value.items()
            )
        if outer in _SEQUENCES:
            if isinstance(value, (str, bytes)) or not hasattr(value, "__getitem__"):
                return False
            return all(_fits(elements[0], item) for item in value)
        return True
    name = _last(annotation)
    if name in ("object", "Any", "args", "kwargs"):
        return value is not None
    if name == "None":
        return value is None
    if name == "int":
        return _is_integer(value) or isinstance(value, bool)
    if name in _PLAIN:
        return isinstance(value, _PLAIN[name][0])
    return any(base.__name__ == name for base in type(value).__mro__)


def _words(annotation):
    parts = [_one_word(part) for part in _parts(annotation)] if annotation is not None else ["a value"]
    return " or ".join(dict.fromkeys(parts))


def _one_word(annotation):
    if isinstance(annotation, ast.Subscript):
        outer, inner = _last(annotation.value), annotation.slice
        elements = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        words = [_plural(element) for element in elements]
        if outer in _MAPPINGS:
            return f"a dict of {words[0]} to {words[-1]}"
        if outer in _SEQUENCES:
            return f"a sequence of {words[0]}"
        return _last(annotation.value)
    name = _last(annotation)
    if name == "object":
        return "a value"
    if name == "int":
        return "an int"
    return _PLAIN[name][1] if name in _PLAIN else name if name == "None" else f"a weft {name}"


def _plural(annotation):
    if isinstance(annotation, ast.Subscript) or len(_parts(annotation)) > 1:
        return f"items that are {_words(annotation)}"
    name = _last(annotation)
    return {"str": "str", "int": "ints", "float": "numbers", "object": "values"}.get(name, f"{name} objects")
