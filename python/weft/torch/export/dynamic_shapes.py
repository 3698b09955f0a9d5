"""torch.export.dynamic_shapes: dimensions whose sizes may differ from call to call."""

import dataclasses
import enum
import inspect

import weft
from weft.torch import _absent
from weft.torch._dynamo.exc import UserError
from weft.torch.utils import _pytree as pytree


class _DimHintType(enum.Enum):
    AUTO = enum.auto()
    DYNAMIC = enum.auto()
    STATIC = enum.auto()


@dataclasses.dataclass
class _DimHint:
    """Dim.AUTO, Dim.DYNAMIC, Dim.STATIC; AUTO(min=2, max=8) with bounds."""

    type: _DimHintType
    min: int | None = None
    max: int | None = None
    _factory: bool | None = True

    def __call__(self, min=None, max=None):
        if not self._factory:
            raise TypeError(f"'{type(self)}' object is not callable")
        for name, bound in (("min", min), ("max", max)):
            if bound is not None and bound < 0:
                raise AssertionError(f"{name} must be non-negative, got {bound}")
        if min is not None and max is not None and min > max:
            raise AssertionError(f"min must be <= max, got min={min}, max={max}")
        return _DimHint(self.type, min, max, False)

    def __repr__(self):
        bounds = [
            f"{name}={bound}" for name, bound in (("min", self.min), ("max", self.max)) if bound is not None
        ]
        return f"DimHint({', '.join([self.type.name, *bounds])})"


class Dim:
    """A size by name, with its range. 2 * d, d + 1 and their like are sizes that follow from it.

    Dim.AUTO: dynamic where the program allows it. Dim.DYNAMIC: dynamic, or an error. Dim.STATIC: as in the example.
    """

    AUTO = _DimHint(_DimHintType.AUTO)
    DYNAMIC = _DimHint(_DimHintType.DYNAMIC)
    STATIC = _DimHint(_DimHintType.STATIC)

    def __init__(self, name, *, min=None, max=None):
        least, most = 0 if min is None else min, float("inf") if max is None else max
        if not most > least:
            raise AssertionError(f"Cannot create Dim with inconsistent min={min}, max={max}")
        if not name.isidentifier():
            raise AssertionError(f"Dim name must be a valid identifier, got {name}")
        self.__name__, self.min, self.max = name, least, most
        self.root, self.factor, self.offset = self, 1, 0

    def _derived(self, factor, offset):
        made = object.__new__(_DerivedDim)
        made.root, made.factor, made.offset = self.root, factor, offset
        scaled = self.root.__name__ if factor == 1 else f"{factor}*{self.root.__name__}"
        made.__name__ = scaled if not offset else f"{scaled} {'+' if offset > 0 else '-'} {abs(offset)}"
        return made

    def __add__(self, other):
        if type(other) is not int:
            raise NotImplementedError(_refusal(f"add {other} to {self.__name__}, where an integer"))
        return self._derived(self.factor, self.offset + other)

    __radd__ = __add__

    def __sub__(self, other):
        if type(other) is not int:
            raise NotImplementedError(_refusal(f"subtract {other} from {self.__name__}, where an integer"))
        return self._derived(self.factor, self.offset - other)

    def __rsub__(self, other):
        raise NotImplementedError(
            f"Attempted to negate {self.__name__}. "
            "(Only increasing linear operations with integer coefficients are supported.)"
        )

    def __mul__(self, other):
        if type(other) is not int or other <= 0:
            raise NotImplementedError(
                _refusal(f"multiply {other} with {self.__name__}, where a positive integer")
            )
        return self._derived(self.factor * other, self.offset * other)

    __rmul__ = __mul__

    def __repr__(self):
        bounds = [f", min={self.min}"] if self.min != 2 else []
        if self.max != float("inf"):
            bounds.append(f", max={self.max}")
        return f"Dim('{self.__name__}'{''.join(bounds)})"


class _DerivedDim(Dim):
    """factor * root + offset."""

    @property
    def min(self):
        return self.factor * self.root.min + self.offset

    @property
    def max(self):
        return self.factor * self.root.max + self.offset

    def __repr__(self):
        return self.__name__


def _refusal(what):
    return f"Attempted to {what} was expected. (Only increasing linear operations with integer coefficients are supported.)"


def dims(*names, min=None, max=None):
    """Dims of several names with one range."""
    return tuple(Dim(name, min=min, max=max) for name in names)


def combined_arguments(module, args, kwargs):
    """{parameter: argument} of a call of forward, in the order of the call; *args is a tuple, **kwargs are by their names."""
    if isinstance(module, weft.jit.ScriptModule):
        from ._script import signature_of

        signature = signature_of(module)
    else:
        signature = inspect.signature(module.forward if isinstance(module, weft.nn.Module) else module)
    result = {}
    for name, value in signature.bind(*args, **kwargs).arguments.items():
        if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            result.update(value)
        else:
            result[name] = value
    positional = {key: value for key, value in result.items() if key not in kwargs}
    return {**positional, **{key: result[key] for key in kwargs}}


def sizes_of_leaves(arguments, dynamic_shapes):
    """For each leaf of the arguments, {dimension: Dim, hint or number} of what dynamic_shapes says.

    raises: ValueError where dynamic_shapes nests otherwise than the arguments.
    """
    if dynamic_shapes is None:
        dynamic_shapes = {}
    if isinstance(dynamic_shapes, ShapesCollection):
        return [dynamic_shapes.of(leaf) for leaf in pytree.tree_leaves(list(arguments.values()))]
    if isinstance(dynamic_shapes, (tuple, list)):
        if len(dynamic_shapes) != len(arguments):
            raise ValueError(
                f"dynamic_shapes has {len(dynamic_shapes)} entries, and the program takes {len(arguments)} arguments: {list(arguments)}"
            )
        dynamic_shapes = dict(zip(arguments, dynamic_shapes))
    if not isinstance(dynamic_shapes, dict):
        raise TypeError(
            f"dynamic_shapes: expected a dict, tuple or list, got {type(dynamic_shapes).__name__}"
        )
    unknown = [name for name in dynamic_shapes if name not in arguments]
    if unknown:
        raise ValueError(
            f"When `dynamic_shapes` is specified as a dict, its top-level keys must be the arg names {list(arguments)} of "
            f"`inputs`, but here they are {list(dynamic_shapes)}."
        )
    found = []
    for name, value in arguments.items():
        _add(value, dynamic_shapes.get(name), name, found)
    return found


def _add(value, said, place, found):
    if isinstance(value, weft.Tensor):
        found.append(_of_tensor(value, said, place))
        return
    if pytree.tree_is_leaf(value):
        if said not in (None, Dim.STATIC):
            raise NotImplementedError(
                f"dynamic_shapes: {place} is {type(value).__name__}; only tensors' sizes can be dynamic"
            )
        found.append({})
        return
    children = pytree.SUPPORTED_NODES[pytree._node_type(value)].flatten_fn(value)[0]
    if said is None:
        for child in children:
            _add(child, None, place, found)
        return
    if pytree.is_namedtuple(value) and type(said) is not type(value):
        raise UserError(
            f"Detected mismatch between the structure of `inputs` and `dynamic_shapes`: {place} is a {type(value).__name__}, and "
            f"its entry is a {type(said).__name__}"
        )
    keys = list(value) if isinstance(value, dict) else list(range(len(children)))
    is_fitting = isinstance(said, dict if isinstance(value, dict) else (list, tuple))
    if not is_fitting or len(said) != len(children):
        raise ValueError(
            f"dynamic_shapes: {place} is a {type(value).__name__} of {len(children)}, and its entry is {said}"
        )
    for at, (key, child) in enumerate(zip(keys, children)):
        _add(child, said[key] if isinstance(said, dict) else said[at], f"{place}[{key!r}]", found)


def _of_tensor(tensor, said, place):
    if said is None:
        return {}
    if isinstance(said, (tuple, list)):
        if len(said) != tensor.ndim:
            raise ValueError(
                f"dynamic_shapes: {place} has {tensor.ndim} dimensions, and its entry {len(said)}: {said}"
            )
        said = dict(enumerate(said))
    if not isinstance(said, dict):
        raise TypeError(f"dynamic_shapes: {place} is a tensor: expected a dict, tuple or list, got {said}")
    result = {}
    for dim, each in said.items():
        if type(dim) is not int or not -tensor.ndim <= dim < tensor.ndim:
            raise ValueError(
                f"dynamic_shapes: {place} has {tensor.ndim} dimensions, and its entry says {dim}"
            )
        dim %= tensor.ndim
        if each is None or each == Dim.STATIC:
            continue
        if type(each) is int:
            if each != tensor.shape[dim]:
                raise ValueError(
                    f"dynamic_shapes: {place}.shape[{dim}] is {tensor.shape[dim]}, and its entry says {each}"
                )
            continue
        if not isinstance(each, (Dim, _DimHint)):
            raise TypeError(
                f"dynamic_shapes: {place}.shape[{dim}]: expected a Dim, a hint, a number or None, got {each!r}"
            )
        result[dim] = each
    return result


class ShapesCollection:
    """dynamic_shapes by tensor: collection[x] = {0: Dim("batch")}."""

    def __init__(self):
        self._of = {}

    def __setitem__(self, tensor, shape):
        if id(tensor) in self._of and self._of[id(tensor)][1] != shape:
            raise AssertionError(
                f"Shapes assigned to tensor do not match: expected {self._of[id(tensor)][1]}, got {shape}"
            )
        self._of[id(tensor)] = (tensor, shape)

    def __getitem__(self, tensor):
        return self._of[id(tensor)][1]

    def __len__(self):
        return len(self._of)

    def of(self, leaf):
        return _of_tensor(leaf, self._of[id(leaf)][1], "a tensor") if id(leaf) in self._of else {}

    def dynamic_shapes(self, m, args, kwargs=None):
        """The shapes nested as the arguments are."""
        arguments = combined_arguments(m, args, kwargs or {})
        return pytree.tree_map(lambda leaf: self._of.get(id(leaf), (None, None))[1], arguments)


__all__ = ["Dim", "ShapesCollection", "dims"]
__getattr__ = _absent.names(__name__)
