"""What expressions of a kernel stand for while it is translated: numbers, tiles and arrays."""

import dataclasses

LANES = {"f32": 4, "f64": 8}  # bytes
NUMPY = {"f32": "float32", "f64": "float64", "i64": "int64", "i32": "int32", "u8": "uint8", "b8": "bool"}
NAMES = {
    "float32": "f32",
    "float64": "f64",
    "int64": "i64",
    "int32": "i32",
    "uint8": "u8",
    "bool": "b8",
}
C_TYPES = {"f32": "f32", "f64": "f64", "i64": "i64", "i32": "i32", "u8": "u8", "b8": "bool"}


class KernelError(ValueError):
    """What a kernel's language does not have, with its line."""


@dataclasses.dataclass
class Number:
    """One number. weak: one of Python's, which takes the dtype of what it meets. affine: {name: factor} over what does
    not change, "" for the constant; None where it is not known."""

    text: str
    dtype: str
    weak: bool = False
    affine: dict = None

    @property
    def is_float(self):
        return self.dtype in LANES


@dataclasses.dataclass
class Tile:
    """Elements of which the number is known: shape of one or two sizes. at(row, column): the C++ text of a vector of
    them, from `column` on; row and column are texts. buffer: where they lie, (first element, elements of a row)."""

    shape: tuple
    dtype: str  # "mask" for what a comparison gives
    at: object
    buffer: tuple = None
    name: str = None
    transposed: object = None

    @property
    def rows(self):
        return 1 if len(self.shape) == 1 else self.shape[0]

    @property
    def columns(self):
        return self.shape[-1]


@dataclasses.dataclass
class Array:
    """An argument that is an array. name: in C++, where the program's own has another prefix."""

    name: str
    dtype: str
    dims: int

    @property
    def own_name(self):
        return self.name[2:]


@dataclasses.dataclass
class Slice:
    """A part of an argument: an index or (start, number of elements) for each axis."""

    array: Array
    parts: list

    @property
    def shape(self):
        return tuple(part[1] for part in self.parts if isinstance(part, tuple))


@dataclasses.dataclass
class Thing:
    """Anything else that has a name: a module, a function, a dtype, a tuple."""

    value: object


def number_of(value):
    """A number of Python's that is known."""
    if isinstance(value, bool):
        return Number("true" if value else "false", "b8", True)
    if isinstance(value, int):
        return Number(f"{value}L", "i64", True, {"": value})
    return Number(float_text(value), "f64", True)


def float_text(value):
    if value != value:
        return '__builtin_nan("")'
    if value in (float("inf"), float("-inf")):
        return "__builtin_inf()" if value > 0 else "(-__builtin_inf())"
    return f"({float(value)!r})"


def added(a, b, factor=1):
    """a + factor * b, of affine forms; None where one is not known."""
    if a is None or b is None:
        return None
    result = dict(a)
    for name, value in b.items():
        result[name] = result.get(name, 0) + factor * value
    return {name: value for name, value in result.items() if value or name == ""}


def scaled(a, factor):
    return (
        None
        if a is None
        else {name: value * factor for name, value in a.items() if value * factor or name == ""}
    )


def known(affine):
    """The number that an affine form is; None where it depends on something."""
    if affine is None or any(name for name in affine):
        return None
    return affine.get("", 0)
