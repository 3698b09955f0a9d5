"""Operators of a program's own, that work like weft's: eagerly, in compiled functions, in TorchScript, in profiles.

    @weft.library.custom_op("mine::scaled", mutates_args=())
    def scaled(x: weft.Tensor, factor: float = 2.0) -> weft.Tensor:
        return weft.from_numpy(x.numpy() * factor)

    @scaled.register_fake
    def _(x, factor=2.0):
        return weft.empty_like(x)

    weft.library.opcheck(scaled, (weft.arange(3.0),))

An operator is called by its function or as weft.ops.mine.scaled. weft.compile enters its kernel where it can, so that it fuses
with its neighbours, and otherwise calls it between two graphs, under fullgraph=True, too; scripts and traces hold
"mine::scaled" by name, and archives with it load wherever it is defined. There are no gradients.
"""

from ._check import OpCheckError, opcheck
from ._operators import CustomOp, Operator, add, find, get, names_in, namespaces, read_schema, split_name
from ._schema import Schema, infer_schema

__all__ = [
    "CustomOp",
    "Namespace",
    "OpCheckError",
    "Operator",
    "Schema",
    "custom_op",
    "define",
    "find",
    "get",
    "impl",
    "infer_schema",
    "opcheck",
    "register_fake",
    "register_kernel",
]


def custom_op(name, fn=None, /, *, mutates_args=(), device_types=None, schema=None, tags=None):
    """Makes an operator "namespace::name" of a function; a decorator without fn.

    mutates_args: names of the tensors that it writes to, or "unknown". device_types: the devices that the function is for, one
    or several; None: all. schema: "(Tensor x, int n=2) -> Tensor", where the annotations of the function do not say it.
    Results must not be the arguments, nor views of them.

    ValueError for names and schemas that cannot be read, with the column; and for functions whose annotations give no schema.
    """
    split_name(name)

    def make(function):
        text = schema if schema is not None else infer_schema(function, mutates_args=mutates_args)
        read = read_schema(name, text)
        if schema is not None and mutates_args != "unknown" and set(mutates_args) - set(read.mutates):
            missing = sorted(set(mutates_args) - set(read.mutates))
            raise ValueError(
                f"custom_op {name}: mutates_args names {', '.join(missing)}, which the schema does not mark: 'Tensor(a!) "
                f"{missing[0]}'"
            )
        operator = CustomOp(read, function)
        operator._tags = tuple(tags) if isinstance(tags, (list, tuple)) else (() if tags is None else (tags,))
        operator.register_kernel(device_types, function)
        return add(operator)

    return make if fn is None else make(fn)


def define(name, schema, *, tags=()):
    """Makes an operator without kernels, which impl() and register_kernel() give: define("mine::f", "(Tensor x) -> Tensor").
    One that is there already stays, if its schema is the same; ValueError otherwise."""
    read = read_schema(name, schema)
    found = find(*split_name(name))
    if found is not None and found._schema.overload == read.overload:
        if found._schema.text != read.text:
            raise ValueError(
                f"operator {name} is defined already with another schema:\n  {found._schema.text}\n  {read.text}"
            )
        return found
    operator = Operator(read)
    operator._tags = tuple(tags) if isinstance(tags, (list, tuple)) else (tags,)
    return add(operator)


def register_kernel(op, device_types, func=None, /):
    """A kernel of an operator (or of the one of a name) for devices; None: for all. A decorator without func."""
    return get(op).register_kernel(device_types, *(() if func is None else (func,)))


impl = register_kernel


def register_fake(op, func=None, /):
    """The function that says the shapes and dtypes of an operator's results (Operator.register_fake). A decorator without func."""
    operator = get(op)
    return operator.register_fake if func is None else operator.register_fake(func)


class Namespace:
    """The program's operators of one namespace as attributes: weft.ops.mine."""

    def __init__(self, name):
        self.__name__ = name

    def __getattr__(self, name):
        found = None if name.startswith("__") else find(self.__name__, name)
        if found is None:
            raise AttributeError(f"weft.ops: there is no operator {self.__name__}::{name}")
        return found

    def __dir__(self):
        return names_in(self.__name__)


def namespace(name):
    """What weft.ops.NAME is; None where the program has no operators there."""
    return Namespace(name) if name in namespaces() else None
