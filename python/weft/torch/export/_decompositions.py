"""What operators are made of: functions of PyTorch's core operators, by the names that exported graphs have.

A function takes an operator's arguments and records others (`aten`). NotImplemented: it knows none for these arguments.
"""

import math

import weft
from weft.jit._tracer import current

TABLE = {}
# By TorchScript's numbers, which operators are given.
MEMORY_FORMATS = {
    0: weft.torch.contiguous_format, 1: weft.torch.preserve_format, 2: weft.torch.channels_last, 3: weft.torch.channels_last_3d,
}  # fmt: skip


# Views; and operators whose results lie in order whatever their operands do.
_VIEWS = {
    "permute", "expand", "slice", "select", "unsqueeze", "squeeze", "view", "split_with_sizes", "diagonal", "alias", "transpose",
    "detach", "t", "unfold", "as_strided",
}  # fmt: skip
_IN_ORDER = {"mm", "addmm", "bmm", "full", "arange", "native_layer_norm", "embedding", "scalar_tensor"}


def note(name, args, kwargs, result):
    """Notes results whose strides are those that PyTorch gives them: of others it may keep the operands' order."""
    agreed = current().agreed
    packet = name.partition(".")[0]
    operands = [
        each for each in weft.torch.utils._pytree.tree_leaves((args, kwargs)) if isinstance(each, weft.Tensor)
    ]
    are_agreed = all(id(each) in agreed for each in operands)
    is_agreed = (
        packet in _IN_ORDER
        or (packet == "clone" and kwargs.get("memory_format") == 0)
        or (are_agreed and (packet in _VIEWS or all(each.is_contiguous() for each in operands)))
    )
    if is_agreed:
        for each in result if isinstance(result, (tuple, list)) else (result,):
            agreed[id(each)] = each  # which keeps it
    return result


class _Aten:
    """aten.relu(x): the core operator of that name, recorded and carried out. aten["sum.dim_IntList"]: one overload."""

    def __getattr__(self, name):
        return self[name]

    def __getitem__(self, name):
        return lambda *args, **kwargs: note(name, args, kwargs, current().record(name, *args, **kwargs))


aten = _Aten()


def rule(*names):
    def add(function):
        TABLE.update(dict.fromkeys(names, function))
        return function

    return add


# ---- sizes -----------------------------------------------------------------------------------------------------
def _is_one(size):
    return int.__index__(size) == 1


def _dim(x, dim):
    return dim % max(x.dim(), 1)


def can_view(x, sizes):
    """Whether the memory of x can be seen in these sizes: as PyTorch asks, by strides."""
    old = [(int(size), stride) for size, stride in zip(x.shape, x.stride()) if int(size) != 1]
    count = math.prod(size for size, _ in old)
    sizes = [int(size) for size in sizes]
    if -1 in sizes:
        rest = math.prod(size for size in sizes if size != -1)
        sizes[sizes.index(-1)] = count // max(rest, 1)
    if count == 0 or x.is_contiguous():
        return True
    wanted = [size for size in sizes if size != 1]
    while old and wanted:
        group, stride = old.pop()
        while old and old[-1][1] == group * stride:
            group *= old.pop()[0]
        inner = 1
        while wanted and inner < group:
            inner *= wanted.pop()
        if inner != group:
            return False
    return not old and not wanted


def view(x, sizes):
    """x in these sizes, a copy where its memory is in another order."""
    if id(x) not in current().agreed or not can_view(x, sizes):
        x = aten.clone(x, memory_format=0)
    return aten.view(x, list(sizes))


def _permute(x, order):
    return aten.permute(x, list(order))


def _swap(x, one, other):
    order = list(range(x.dim()))
    one, other = one % len(order), other % len(order)
    order[one], order[other] = order[other], order[one]
    return _permute(x, order)


def _broadcast(*shapes):
    """Sizes that all of these are expanded to."""
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    return [next((size for size in sizes if not _is_one(size)), sizes[0]) for sizes in zip(*padded)]


def _slice(x, dim, start, end):
    return aten["slice.Tensor"](x, dim, start, end)


def _cast(x, dtype):
    return x if dtype is None or x.dtype == dtype else aten._to_copy(x, dtype=dtype)


def _number(one, other, kind):
    """one kind other, where either may be a number: "add", "sub", "mul", "div"."""
    if not isinstance(one, weft.Tensor):
        if kind == "sub":
            return aten["add.Scalar"](aten.neg(other), one)
        if kind == "div":
            return aten["mul.Scalar"](aten.reciprocal(other), one)
        one, other = other, one
    return aten[f"{kind}.{'Tensor' if isinstance(other, weft.Tensor) else 'Scalar'}"](one, other)


def _add(one, other):
    return _number(one, other, "add")


def _sub(one, other):
    return _number(one, other, "sub")


def _mul(one, other):
    return _number(one, other, "mul")


def _div(one, other):
    return _number(one, other, "div")


def _full_like(x, value, dtype=None):
    return aten.full_like(x, value, dtype=dtype) if dtype is not None else aten.full_like(x, value)


def _where(condition, one, other):
    like = one if isinstance(one, weft.Tensor) else other
    values = [
        value if isinstance(value, weft.Tensor) else aten.scalar_tensor(value, dtype=like.dtype)
        for value in (one, other)
    ]
    return aten["where.self"](condition, *values)


def _sum(x, dims, keepdim=False, dtype=None):
    return aten["sum.dim_IntList"](x, dims, keepdim, **({} if dtype is None else {"dtype": dtype}))


def _mean(x, dims, keepdim=False):
    return aten["mean.dim"](x, dims, keepdim)


def _each(value, count):
    value = [value] if isinstance(value, int) else list(value)
    return value * count if len(value) == 1 else value


def _wide(function):
    """float16 and bfloat16 are computed in float32."""

    def apply(x, *args, **kwargs):
        wide = _cast(x, weft.float32) if x.dtype in (weft.float16, weft.bfloat16) else x
        return _cast(function(wide, *args, **kwargs), x.dtype)

    return apply


def _arange(end, dtype=weft.int64):
    return aten["arange.start_step"](0, end, 1, dtype=dtype)


# ---- products --------------------------------------------------------------------------------------------------
def _bmm(a, b):
    """Of tensors with the same leading sizes, any number of them."""
    if a.dim() == 3:
        return aten.bmm(a, b)
    batch = list(a.shape[:-2])
    result = aten.bmm(view(a, [-1, *a.shape[-2:]]), view(b, [-1, *b.shape[-2:]]))
    return aten.view(result, [*batch, a.shape[-2], b.shape[-1]])


@rule("matmul", "linalg_matmul")
def matmul(a, b):
    if a.dim() == 1 and b.dim() == 1:
        return _sum(_mul(a, b), [0])
    if a.dim() == 1:
        return aten["squeeze.dims"](matmul(aten.unsqueeze(a, 0), b), [-2])
    if b.dim() == 1:
        return aten["squeeze.dims"](matmul(a, aten.unsqueeze(b, 1)), [-1])
    if a.dim() == 2 and b.dim() == 2:
        return aten.mm(a, b)
    if b.dim() == 2:
        sizes = [*a.shape[:-1], b.shape[-1]]
        return aten.view(aten.mm(view(a, [-1, a.shape[-1]]), b), sizes)
    batch = _broadcast(a.shape[:-2], b.shape[:-2])
    return _bmm(aten.expand(a, [*batch, *a.shape[-2:]]), aten.expand(b, [*batch, *b.shape[-2:]]))


@rule("linear")
def linear(x, weight, bias=None):
    if weight.dim() == 1:
        result = matmul(x, weight)
        return result if bias is None else _add(result, bias)
    turned = _permute(weight, [1, 0])
    if x.dim() == 2:
        return aten.mm(x, turned) if bias is None else aten.addmm(bias, x, turned)
    if x.dim() == 1:
        return aten["squeeze.dims"](linear(aten.unsqueeze(x, 0), weight, bias), [0])
    sizes = [*x.shape[:-1], weight.shape[0]]
    rows = view(x, [-1, x.shape[-1]])
    return aten.view(aten.mm(rows, turned) if bias is None else aten.addmm(bias, rows, turned), sizes)


@rule("dot", "vdot", "inner")
def dot(a, b):
    if a.is_complex() or a.dim() != 1 or b.dim() != 1:
        return NotImplemented
    return _sum(_mul(a, b), [0])


@rule("mv")
def mv(a, b):
    return matmul(a, b)


@rule("outer", "ger")
def outer(a, b):
    return _mul(aten.unsqueeze(a, 1), b)


def _scaled(product, x, beta, alpha):
    product = product if alpha == 1 else _mul(product, alpha)
    return product if beta == 0 else _add(product, x if beta == 1 else _mul(x, beta))


@rule("baddbmm")
def baddbmm(x, a, b, *, beta=1, alpha=1):
    return _scaled(aten.bmm(a, b), x, beta, alpha)


@rule("addbmm")
def addbmm(x, a, b, *, beta=1, alpha=1):
    return _scaled(_sum(aten.bmm(a, b), [0]), x, beta, alpha)


@rule("addmv")
def addmv(x, a, b, *, beta=1, alpha=1):
    return _scaled(matmul(a, b), x, beta, alpha)


@rule("addr")
def addr(x, a, b, *, beta=1, alpha=1):
    return _scaled(outer(a, b), x, beta, alpha)


@rule("einsum")
def einsum(equation, operands, *, path=None):
    inputs, _, output = equation.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if "." in equation or any(len(set(term)) != len(term) for term in terms):
        return NotImplemented
    if "->" not in equation:
        output = "".join(sorted(letter for letter in set(inputs) - {","} if inputs.count(letter) == 1))
    term, value = terms[0], operands[0]
    for at in range(1, len(terms)):
        later = set(output).union(*terms[at + 1 :])
        term, value = _contract(term, value, terms[at], operands[at], later)
    return _reorder(term, value, output)


def _drop(term, value, kept):
    """Sums over the letters that nobody needs."""
    gone = [at for at, letter in enumerate(term) if letter not in kept]
    return "".join(letter for letter in term if letter in kept), _sum(value, gone) if gone else value


def _reorder(term, value, output):
    term, value = _drop(term, value, set(output))
    order = [term.index(letter) for letter in output]
    return value if order == list(range(len(order))) else _permute(value, order)


def _contract(one, a, other, b, later):
    one, a = _drop(one, a, set(other) | later)
    other, b = _drop(other, b, set(one) | later)
    batch = [letter for letter in one if letter in other and letter in later]
    inner = [letter for letter in one if letter in other and letter not in later]
    left = [letter for letter in one if letter not in other]
    right = [letter for letter in other if letter not in one]
    sizes = {letter: size for term, x in ((one, a), (other, b)) for letter, size in zip(term, x.shape)}

    def grouped(term, x, *groups):
        x = _permute(x, [term.index(letter) for group in groups for letter in group])
        if [len(group) for group in groups] == [1] * len(groups):
            return x
        return view(x, [math.prod(sizes[letter] for letter in group) for group in groups])

    product = aten.bmm(grouped(one, a, batch, left, inner), grouped(other, b, batch, inner, right))
    letters = [*batch, *left, *right]
    return "".join(letters), view(product, [sizes[letter] for letter in letters])
