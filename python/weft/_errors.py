"""Classes of weft's errors. Each is what Python and NumPy raise for such a mistake and what PyTorch raises for it."""


class ArgumentError(ValueError, RuntimeError):
    """An argument has a value that a function does not take: a shape, a size, a number."""


class ArgumentTypeError(TypeError, NotImplementedError):
    """An argument is of a type or a dtype that a function does not take."""


class ArgumentIndexError(IndexError, RuntimeError):
    """A position or a dimension is out of range."""


for _class in (ArgumentError, ArgumentTypeError, ArgumentIndexError):
    _class.__module__ = "weft"
