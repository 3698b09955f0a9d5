"""StridedNestedTensor: tensors of any sizes as one, each with its own elements; PyTorch's nested tensors of the strided layout."""

import weft
from weft._errors import ArgumentError, ArgumentIndexError, ArgumentTypeError

from ._operators import _ELEMENTWISE, _NAMES
from ._tensor import Parted


class StridedNestedTensor(Parted):
    """A batch of tensors that have the same number of dimensions and any sizes; nested_tensor(…, layout=weft.strided) makes them.

    Operators compute of each part what they compute of a tensor: pointwise ones, among each other and with numbers; linear,
    matmul, softmax, layer_norm, scaled_dot_product_attention and others. NotImplementedError names those that do not. Where jagged
    ones fit, they are faster: their operators run once for all parts.
    """

    def __init__(self, parts, dtype=None):
        self._given = list(parts)
        self._dtype = self._given[0].dtype if self._given else dtype or weft.float32

    # ---- what it is ------------------------------------------------------------------------------------------
    @property
    def ndim(self):
        return len(self._given[0].shape) + 1 if self._given else 1

    def dim(self):
        return self.ndim

    def _dimension(self, dim):
        count = self.ndim
        if not -count <= dim < count:
            raise ArgumentIndexError(
                f"Dimension out of range (expected to be in range of [{-count}, {count - 1}], but got {dim})"
            )
        return dim % count

    def size(self, dim=None):
        if dim is None:
            return self.shape
        dim = self._dimension(dim)
        if dim == 0:
            return len(self._given)
        sizes = {part.shape[dim - 1] for part in self._given}
        if len(sizes) != 1:
            raise ArgumentError(f"Given dimension {dim} is irregular and does not have a size.")
        return sizes.pop()

    @property
    def shape(self):
        raise ArgumentError(
            "a nested tensor of the strided layout has no shape: its parts differ; size(dim), or unbind()"
        )

    @property
    def dtype(self):
        return self._dtype

    @property
    def device(self):
        return self._given[0].device if self._given else weft.device("cpu")

    @property
    def layout(self):
        return weft.nested.strided

    def numel(self):
        return sum(part.numel() for part in self._given)

    def element_size(self):
        return weft.empty([], dtype=self.dtype).element_size()

    def is_floating_point(self):
        return self.dtype.is_floating_point

    def is_complex(self):
        return self.dtype.is_complex

    def is_contiguous(self, memory_format=None):
        return all(part.is_contiguous() for part in self._given)

    def __len__(self):
        return len(self._given)

    def __repr__(self):
        parts = ",\n".join("  " + str(part).replace("\n", "\n  ") for part in self._given)
        return f"nested_tensor([\n{parts}\n])" if self._given else "nested_tensor([\n\n])"

    # ---- parts -----------------------------------------------------------------------------------------------
    def unbind(self, dim=0):
        """The tensors, as a tuple; they share its memory."""
        if self._dimension(dim) != 0:
            raise ArgumentError(f"unbind: a nested tensor has parts along dimension 0, not {dim}")
        return tuple(self._given)

    def __iter__(self):
        return iter(self._given)

    def tolist(self):
        return [part.tolist() for part in self._given]

    def values(self):
        """The elements of all, one dimension."""
        return weft.cat([weft.reshape(part, [-1]) for part in self._given])

    def __getitem__(self, index):
        index = index if isinstance(index, tuple) else (index,)
        first, others = index[0], index[1:]
        if isinstance(first, int):
            if not -len(self) <= first < len(self):
                raise ArgumentIndexError(
                    f"index {first} is out of bounds for dimension 0 with size {len(self)}"
                )
            return self._given[first][others] if others else self._given[first]
        if first is Ellipsis:
            return self._each(lambda part: part[index])
        if not isinstance(first, slice):
            raise ArgumentTypeError(
                f"a nested tensor's first index is an int, a slice or ..., got {type(first).__name__}"
            )
        chosen = StridedNestedTensor(self._given[first], self.dtype)
        return chosen._each(lambda part: part[others]) if others else chosen

    def to_padded_tensor(self, padding, output_size=None):
        """[batch, largest sizes …], filled up with `padding`; output_size: a larger shape than that. ValueError for a smaller one."""
        if not self._given:
            raise ArgumentError(
                "to_padded_tensor: at least one constituent tensor should have non-zero numel"
            )
        sizes = [len(self), *map(max, zip(*(part.shape for part in self._given)))]
        wanted = sizes if output_size is None else list(output_size)
        if len(wanted) != len(sizes) or any(one < other for one, other in zip(wanted, sizes)):
            raise ArgumentError(f"to_padded_tensor: output_size: expected at least {sizes}, got {wanted}")
        result = weft.full(wanted, padding, dtype=self.dtype)
        for number, part in enumerate(self._given):
            result[(number, *(slice(0, size) for size in part.shape))] = part
        return result

    # ---- operators -------------------------------------------------------------------------------------------
    def _each(self, function, *others):
        """Of what function gives for each part (and those of other nested tensors beside it)."""
        return StridedNestedTensor(list(map(function, self._given, *others)), self.dtype)

    def __weft_operator__(name, *args, **kwargs):
        return call(name, *args, **kwargs)

    def __getattr__(self, name):
        if name.startswith("_") or not is_known(name):
            raise AttributeError(f"'StridedNestedTensor' object has no attribute '{name}'")
        return lambda *args, **kwargs: call(name, self, *args, **kwargs)

    def to(self, *args, **kwargs):
        return self._each(lambda part: part.to(*args, **kwargs))


def is_known(name):
    name = _NAMES.get(name, name)
    return name in _TABLE or (name in _ELEMENTWISE and hasattr(weft, name))


def call(name, *args, **kwargs):
    """The operator of a name with such tensors among its arguments. NotImplementedError where there is none."""
    name = _NAMES.get(name, name)
    if name in _TABLE:
        return _TABLE[name](*args, **kwargs)
    if not _ELEMENTWISE.get(name):
        raise ArgumentTypeError(
            f"{name}: not for nested tensors of the strided layout; unbind() gives their parts"
        )
    return _pointwise(name, args, kwargs)


def _beside(name, args, kwargs):
    """The first nested tensor. ValueError for others that do not fit to it."""
    given = [*args, *kwargs.values()]
    first = next(one for one in given if isinstance(one, StridedNestedTensor))
    for one in given:
        if isinstance(one, StridedNestedTensor):
            if len(one) != len(first):
                raise ArgumentError(f"{name}: nested tensors of {len(first)} and {len(one)} parts")
        elif getattr(one, "is_nested", False):
            raise ArgumentTypeError(f"{name}: nested tensors of the strided and of the jagged layout")
    return first


def _of_each(name, function, args, kwargs):
    """function of each part, in place of nested tensors among the arguments."""
    first = _beside(name, args, kwargs)

    def of(value, number):
        return value._given[number] if isinstance(value, StridedNestedTensor) else value

    parts = [
        function(*(of(one, number) for one in args), **{key: of(one, number) for key, one in kwargs.items()})
        for number in range(len(first))
    ]
    return StridedNestedTensor(parts, first.dtype)


def _pointwise(name, args, kwargs):
    first = _beside(name, args, kwargs)
    for one in (*args, *kwargs.values()):
        if isinstance(one, weft.Tensor) and len(one.shape):
            raise ArgumentError(
                "Expected both self and other to be nested, but got a nested self and non-nested other"
            )
        if isinstance(one, StridedNestedTensor) and any(
            tuple(a.shape) != tuple(b.shape) for a, b in zip(one._given, first._given)
        ):
            raise ArgumentError(f"{name} does not support broadcasting when given a NestedTensor")
    return _of_each(name, getattr(weft, name), args, kwargs)


_TABLE = {}


def _partwise(name, function=None):
    def apply(*args, **kwargs):
        return _of_each(name, function or getattr(weft, name), args, kwargs)

    _TABLE[name] = apply


for _name in "linear embedding layer_norm rms_norm zeros_like ones_like empty_like full_like".split():
    _partwise(_name)
for _name in "clone contiguous".split():
    _partwise(_name, getattr(weft.Tensor, _name))


def _both_nested(name):
    def apply(x, y):
        if not (isinstance(x, StridedNestedTensor) and isinstance(y, StridedNestedTensor)):
            raise ArgumentError(
                f"{name}: Expected both to be nested, but got a nested self and non-nested other"
            )
        return _of_each(name, weft.matmul, (x, y), {})

    return apply


_TABLE["matmul"], _TABLE["bmm"] = _both_nested("matmul"), _both_nested("bmm")


def _along(name, count=1):
    """An operator whose `count` arguments behind the tensor are dimensions; those of parts are one less."""

    def apply(x, *args, **kwargs):
        dims = []
        for number, dim in enumerate(args[:count]):
            dims.append(x._dimension(dim) - 1)
            if dims[number] < 0:
                raise ArgumentError(f"{name}: along dimension 0, the batch of a nested tensor")
        return _of_each(name, getattr(weft, name), (x, *dims, *args[count:]), kwargs)

    _TABLE[name] = apply


_along("softmax")
_along("log_softmax")
_along("transpose", 2)


def _reduction(name):
    def reduce(x, dim=None, keepdim=False, **kwargs):
        if dim is None:
            return getattr(weft, name)(x.values(), **kwargs)
        dims = [x._dimension(one) - 1 for one in ([dim] if isinstance(dim, int) else dim)]
        if min(dims) < 0:
            raise ArgumentError(f"{name}: along dimension 0, the batch of a nested tensor")
        return x._each(lambda part: getattr(weft, name)(part, dims, keepdim, **kwargs))

    return reduce


for _name in "sum mean amax amin any all".split():
    _TABLE[_name] = _reduction(_name)


def _unsqueeze(x, dim):
    dim = dim[0] if isinstance(dim, (list, tuple)) else dim
    dim = dim + x.ndim + 1 if dim < 0 else dim
    if not 0 < dim <= x.ndim:
        raise ArgumentError("unsqueeze: the batch of a nested tensor stays first")
    return x._each(lambda part: weft.unsqueeze(part, [dim - 1]))


def _squeeze(x, dim):
    dims = [x._dimension(one) - 1 for one in ([dim] if isinstance(dim, int) else dim)]
    if min(dims) < 0:
        raise ArgumentError("squeeze: the batch of a nested tensor stays")
    return x._each(lambda part: weft.squeeze(part, [one for one in dims if part.shape[one] == 1]))


def _select(x, dim, index):
    dim = x._dimension(dim)
    return x[index] if dim == 0 else x._each(lambda part: weft.select(part, dim - 1, index))


def _reshape(x, *shape):
    shape = list(shape[0] if len(shape) == 1 and isinstance(shape[0], (list, tuple)) else shape)
    if not shape or shape[0] != len(x):
        raise ArgumentError(f"reshape: {shape}: the batch of {len(x)} parts stays first")
    # -1 keeps a size that parts had there, as far as there is one.
    shape = shape[1:]

    def of(part):
        kept = [
            part.shape[at] if size == -1 and at < len(part.shape) else size for at, size in enumerate(shape)
        ]
        return weft.reshape(part, kept)

    return x._each(of)


def _chunk(x, chunks, dim=0):
    if x._dimension(dim) != x.ndim - 1:
        raise ArgumentError("Chunk for nested tensors is currently only supported for the last dimension.")
    cut = [weft.chunk(part, chunks, -1) for part in x._given]
    return tuple(StridedNestedTensor(parts, x.dtype) for parts in zip(*cut))


def _cat(tensors, dim=0):
    tensors = list(tensors)
    first = _beside("cat", tensors, {})
    if not all(isinstance(one, StridedNestedTensor) for one in tensors):
        raise ArgumentTypeError("cat: nested tensors and others; make nested ones of all")
    dim = first._dimension(dim)
    if dim == 0:
        return StridedNestedTensor([part for one in tensors for part in one._given], first.dtype)
    return first._each(lambda *parts: weft.cat(list(parts), dim - 1), *(one._given for one in tensors[1:]))


def _attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False
):
    """Of [batch, heads, tokens, channels], each part by itself."""
    name = "scaled_dot_product_attention"
    if attn_mask is not None or is_causal or dropout_p:
        raise ArgumentError(f"{name}: of nested tensors of the strided layout without mask and dropout")

    def of(q, k, v):
        return weft.scaled_dot_product_attention(
            q[None], k[None], v[None], scale=scale, enable_gqa=enable_gqa
        )[0]

    return _of_each(name, of, (query, key, value), {})


_TABLE.update(
    unsqueeze=_unsqueeze,
    squeeze=_squeeze,
    select=_select,
    reshape=_reshape,
    view=_reshape,
    chunk=_chunk,
    cat=_cat,
    scaled_dot_product_attention=_attention,
)
