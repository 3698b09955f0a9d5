"""Functions of PyTorch that are composed of others, each written once: weft.torch and weft.nn call them, and libweft has their
text and makes TorchScript's builtins of it (src/script/run/composed.cc).

So they are written in the part of Python that TorchScript has, over `_weft` and methods of tensors, and take all of their
builtin's arguments in its schema's order. What only Python has is in the functions around them: arguments of other types and
names, out=, named tuples of results.
"""

number = float  # what a schema calls Scalar: any number
Device = object


def aten(schema):
    """Marks the function that a builtin of this schema is."""

    def mark(function):
        function.schemas = (schema, *getattr(function, "schemas", ()))
        return function

    return mark


aten_ = aten  # with the in-place builtin beside it
