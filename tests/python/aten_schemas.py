"""The schemas of PyTorch 2.15's operators, without those that write to tensors given by `out` and those of training, as
aten_schemas.txt has them: a line each, with what a call can depend on.

    python aten_schemas.py

under a Python that has PyTorch records them anew.
"""

import pathlib
import re

LIST = pathlib.Path(__file__).with_name("aten_schemas.txt")
_NUMBERED = ("ScalarType", "Layout", "MemoryFormat", "QScheme", "Stream")  # TorchScript's ints
_ANY = {"AnyEnumType": "Any", "AnyClassType?": "Any"}


def _split(text):
    """At the commas outside brackets."""
    parts, depth, part = [], 0, ""
    for character in text + ",":
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts += [part.strip()] if part.strip() else []
            part = ""
        else:
            part += character
    return parts


def _type(text):
    """In PyTorch's notation, whichever it is in: without aliases, the lengths of lists, and the names of variables."""
    if text.startswith("Future"):
        return "Future"
    text = re.sub(r"\((\*|[a-z]!?( -> \*|\|[a-z])?)\)", "", text).strip()
    text = _ANY.get(re.sub(r"\[\d+\]", "[]", text), re.sub(r"\[\d+\]", "[]", text))
    if found := re.fullmatch(r"(Optional|List)\[(.*)\]", text):
        return _type(found[2]) + {"Optional": "?", "List": "[]"}[found[1]]
    for suffix in ("?", "[]"):
        if text.endswith(suffix):
            return _type(text.removesuffix(suffix)) + suffix
    if found := re.fullmatch(r"(Dict|Tuple|)[\[(](.*)[\])]", text):
        return f"{found[1] or 'Tuple'}({', '.join(map(_type, _split(found[2])))})"
    if text in _NUMBERED or text == "SymInt":
        return "int"
    return {"Scalar": "number", "t1": "t", "t2": "t", "tVal": "t"}.get(text, text)


def _default(text):
    if not text:
        return ""
    value = {"contiguous_format": "0", "long": "4", "Mean": "1"}.get(text, text.replace("'", '"'))
    value = value.replace(r"\x0c", r"\f").replace(r"\x0b", r"\v")
    if found := re.fullmatch(r"\[(\d+)(, \1)*\]", value):
        value = found[1]  # one number for all dimensions
    try:
        return "=" + repr(float(value))
    except ValueError:
        return "=" + value


def normal(schema):
    """("aten::add.Tensor", "Tensor, Tensor, *, number alpha=1.0"): names only of what is given by name."""
    name, _, rest = schema.partition("(")
    depth, end = 1, 0
    while depth:
        depth += (rest[end] == "(") - (rest[end] == ")")
        end += 1
    arguments, by_name = [], False
    for argument in _split(rest[: end - 1]):
        if argument in ("*", "..."):
            by_name |= argument == "*"
            arguments.append(argument)
            continue
        declared, _, default = argument.partition("=")
        kind, _, own = declared.strip().rpartition(" ")
        arguments.append(_type(kind) + (f" {own}" if by_name else "") + _default(default.strip()))
    if by_name:  # in any order
        star = arguments.index("*")
        arguments[star + 1 :] = sorted(arguments[star + 1 :])
    return name, ", ".join(arguments)


def recorded():
    """{name with overload: arguments}"""
    return dict(line.split("\t") for line in LIST.read_text().splitlines())


if __name__ == "__main__":
    import torch
    import torchvision  # noqa: F401, for its operators

    lines = []
    for schema in map(str, torch._C._jit_get_all_schemas()):
        name, arguments = normal(schema)
        left_out = name.startswith("aten::") and re.search(
            r"_out$|\.out$|\.out_|foreach|backward|_fused_|cudnn|miopen|mkldnn|_sparse|_nested_(get|view|from)",
            name,
        )
        if (
            name.startswith(("aten::", "prim::", "quantized::", "torchvision::"))
            and not left_out
            and "(a!) out)" not in schema
        ):
            lines.append(f"{name}\t{arguments}")
    LIST.write_text("\n".join(sorted(set(lines))) + "\n")
