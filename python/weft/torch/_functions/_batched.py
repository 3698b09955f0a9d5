"""What torch.vmap makes of operators: each is called once, for all samples, by a rule; operators without one sample by sample.

The function that is mapped sees `Sample`s: tensors of one sample's shape and dtype without elements, which know the batch. The
thread's operators are handed to a `Batching` while it runs. What needs a sample's elements raises NeedsElements.
"""

import weft
from weft import _C

_TRACE = _C._trace


class NeedsElements(Exception):
    """The function asks for what only a sample's elements tell: the samples have to be computed one by one."""


def _elements(name):
    def method(self, *args, **kwargs):
        raise NeedsElements(name)

    return method


def _of_batch(name):
    """A method that is made of the batch, dimension by dimension as the sample has them."""

    def method(self, *args, **kwargs):
        return self._map.each(lambda batch: getattr(batch, name)(*args, **kwargs), self)

    return method


class Sample(weft.Tensor):
    """One of the samples, any of them."""

    device = property(lambda self: weft.device("cpu"))
    T = property(lambda self: self.permute(*reversed(range(self.dim()))))
    mT = property(lambda self: self.transpose(-2, -1))
    data = property(lambda self: self)
    real = property(lambda self: weft.real(self) if self.is_complex() else self)
    imag = property(lambda self: weft.imag(self))

    def __getitem__(self, key):
        return self._map.item(self, key)

    def __setitem__(self, key, value):
        self._map.set_item(self, key, value)

    def __iter__(self):
        return iter(weft.unbind(self, 0))

    def copy_(self, source, *args):
        self._map.set_item(self, ..., source)
        return self

    def fill_(self, value):
        self._map.set_item(self, ..., value)
        return self

    def zero_(self):
        return self.fill_(0)

    def contiguous(self, *args, **kwargs):
        return self

    def detach(self):
        return self

    cpu = detach

    def to(self, *args, **kwargs):
        kwargs.pop("device", None)
        args = [arg.dtype if isinstance(arg, weft.Tensor) else arg for arg in args]
        args = [arg for arg in args if not isinstance(arg, (str, weft.device))]
        if not args and not kwargs:
            return self
        return self._map.each(lambda batch: batch.to(*args, **kwargs), self)


for (
    _name
) in "item tolist numpy __array__ __bool__ __int__ __float__ __complex__ __index__ data_ptr storage".split():
    setattr(Sample, _name, _elements(_name))
for _name in "clone half bfloat16 float double short int long bool byte char cfloat cdouble type".split():
    setattr(Sample, _name, _of_batch(_name))


def _tensors(value):
    if isinstance(value, weft.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _tensors(item)


def _replaced(value, replace):
    if isinstance(value, weft.Tensor):
        return replace(value)
    if isinstance(value, (tuple, list)) and any(True for _ in _tensors(value)):
        items = [_replaced(item, replace) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


class Batching:
    """The samples of one call of a mapped function."""

    def __init__(self, size, randomness):
        self.size, self.randomness = size, randomness
        self.outer = None

    # ---- samples and batches ----

    def sample(self, batch):
        """What the function sees of batch[size, …]."""
        found = Sample(weft.empty(tuple(batch.shape[1:]), dtype=batch.dtype, device="meta"))
        found._map, found._batch = self, batch
        return found

    def is_own(self, value):
        return isinstance(value, Sample) and value._map is self

    def batch(self, value):
        """The batch of a sample; of any other tensor itself, for all samples."""
        if self.is_own(value):
            return value._batch
        return weft.broadcast_to(value, (self.size, *value.shape))

    def wrapped(self, result):
        return _replaced(result, self.sample)

    def each(self, function, sample):
        """function(batch), outside of this map; the dimensions stay where they are."""
        with _Handler(self.outer):
            return self.wrapped(function(sample._batch))

    # ---- operators ----

    def __call__(self, operator, in_place, args, kwargs):
        name = _TRACE.operator_name(operator)
        with _Handler(self.outer):
            return self._call(getattr(_C, name), name, in_place, args, kwargs)

    def _call(self, function, name, in_place, args, kwargs):
        tensors = [*_tensors(list(args)), *_tensors(list(kwargs.values()))]
        for tensor in tensors:
            if type(tensor) is not Sample and tensor.device.type == "meta":
                raise NeedsElements(name)
        is_mapped = any(self.is_own(tensor) for tensor in tensors)
        if name.startswith("random_") and "seed" not in name and "state" not in name:
            return self._draw(function, name, args, kwargs, is_mapped)
        if not is_mapped:
            return operator_of(function, in_place)(*args, **kwargs)
        if in_place:
            return self._in_place(function, name, args, kwargs)
        if kwargs.get("out") is not None:
            raise RuntimeError(f"vmap: {name}: out= is not there for what is mapped")
        return self.wrapped(self._result(function, name, args, kwargs))

    def _in_place(self, function, name, args, kwargs):
        target = args[0]
        if not self.is_own(target):
            raise RuntimeError(
                f"vmap: {name}_(self, *extra_args) is not possible because there exists a Tensor `other` in extra_args that has "
                "more elements than `self`. This happened due to `other` being vmapped over but `self` not being vmapped over."
            )
        target._batch.copy_(self._result(function, name, args, kwargs))
        return target

    def _result(self, function, name, args, kwargs):
        rule = RULES.get(name)
        if rule is None and function.definition["kind"] == "pointwise":
            rule = pointwise
        if rule is not None:
            listed, _ = _TRACE.match_call(function, tuple(args), kwargs)
            given = {key: value for key, value, is_default in listed if not is_default or value is not None}
            result = rule(self, function, given)
            if result is not None:
                return result
        return self.one_by_one(function, args, kwargs)

    def one_by_one(self, function, args, kwargs):
        """The operator's results for each sample, stacked."""
        if self.size == 0:
            raise NeedsElements("no sample")
        results = []
        for number in range(self.size):

            def of_sample(tensor, number=number):
                return tensor._batch.select(0, number) if self.is_own(tensor) else tensor

            results.append(
                function(
                    *[_replaced(arg, of_sample) for arg in args],
                    **{key: _replaced(value, of_sample) for key, value in kwargs.items()},
                )
            )
        return stacked(results)

    def _draw(self, function, name, args, kwargs, is_mapped):
        if self.randomness == "error":
            raise RuntimeError(
                "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' "
                "randomness flags on vmap or perform the randomness operation out of vmap"
            )
        listed, _ = _TRACE.match_call(function, tuple(args), kwargs)
        given = {key: value for key, value, is_default in listed if not is_default or value is not None}
        if self.randomness == "same":
            if is_mapped and "like" not in given:
                raise RuntimeError(
                    "vmap: Vmap does not currently support same randomness with a batched tensor input. Please file an issue "
                    "with https://github.com/pytorch/functorch"
                )
            if is_mapped:
                given["like"] = given["like"]._batch.select(0, 0)
            return function(**given)
        if "shape" in given:
            given["shape"] = [self.size, *given["shape"]]
        elif is_mapped or "like" in given:
            given = {
                key: self.batch(value) if isinstance(value, weft.Tensor) and key != "generator" else value
                for key, value in given.items()
            }
        else:
            return self.sample(stacked([function(**given) for _ in range(self.size)]))
        return self.sample(function(**given))

    # ---- indexing ----

    def item(self, sample, key):
        if isinstance(sample, Sample) and not self.is_own(sample):
            return sample._map.item(sample, key)
        with _Handler(self.outer):
            keys = key if isinstance(key, tuple) else (key,)
            arrays = [place for place, each in enumerate(keys) if not _is_plain(each)]
            is_mapped = any(self.is_own(tensor) for tensor in _tensors(list(keys)))
            together = not arrays or arrays[-1] - arrays[0] + 1 == len(arrays)
            if together and not is_mapped:
                return self.sample(sample._batch[(slice(None), *keys)])
            return self.sample(self.one_by_one(lambda x, *keys: x[tuple(keys)], (sample, *keys), {}))

    def set_item(self, sample, key, value):
        with _Handler(self.outer):
            keys = key if isinstance(key, tuple) else (key,)
            if not all(_is_plain(each) for each in keys):
                raise NeedsElements("__setitem__")
            target = sample._batch[(slice(None), *keys)]
            if self.is_own(value):
                value = aligned(value._batch, target.dim() - 1)
            if isinstance(value, Sample) and self.outer is None:
                raise NeedsElements("__setitem__")
            target.copy_(value if isinstance(value, weft.Tensor) else weft.full_like(target, value))


def _is_plain(key):
    return key is None or key is Ellipsis or isinstance(key, (slice, int)) and not isinstance(key, bool)


def stacked(results):
    """The results of the samples as batches."""
    first = results[0]
    if isinstance(first, weft.Tensor):
        return weft.stack(results, 0)
    if isinstance(first, (tuple, list)):
        items = [stacked(list(column)) for column in zip(*results)]
        return type(first)(*items) if hasattr(first, "_fields") else type(first)(items)
    if all(result == first for result in results):
        return first
    raise NeedsElements("a result that is no tensor")


def operator_of(function, in_place):
    if not in_place:
        return function

    def write(target, *args, **kwargs):
        return target.copy_(function(target, *args, **kwargs))

    return write


class _Handler:
    """Operators are handed to another one within, or to nobody."""

    def __init__(self, handler):
        self._handler = handler

    def __enter__(self):
        self._before = _TRACE.set_handler(self._handler)

    def __exit__(self, *error):
        _TRACE.set_handler(self._before)


def run(size, randomness, function):
    """function(batching) while the thread's operators are handed to the batching."""
    batching = Batching(size, randomness)
    batching.outer = _TRACE.handler()
    with _Handler(batching):
        return function(batching)


# ---- rules -----------------------------------------------------------------------------------------------------
# rule(batching, operator, arguments by name): the batch of the results, or None where the operator is to be called sample by
# sample. Batches have the samples in their first dimension.

RULES = {}


def rule(*names):
    def register(function):
        for name in names:
            RULES[name] = function
        return function

    return register


def aligned(batch, rank):
    """The batch with dimensions of size 1 behind the first, so that samples have `rank` of them."""
    missing = rank - (batch.dim() - 1)
    if missing <= 0:
        return batch
    return batch.reshape((batch.shape[0],) + (1,) * missing + tuple(batch.shape[1:]))


def _given_tensors(given):
    return [value for value in given.values() if isinstance(value, weft.Tensor)]


def pointwise(batching, operator, given):
    tensors = _given_tensors(given)
    rank = max(tensor.dim() for tensor in tensors)
    dtypes = {tensor.dtype for tensor in tensors}
    if rank > 0 and len(dtypes) > 1 and any(batching.is_own(t) and t.dim() == 0 for t in tensors):
        # Numbers weigh less than tensors do: they are made what the samples' operator makes them.
        if len(tensors) > 2:
            return None
        wanted = weft.add(*[weft.empty((0,) * min(t.dim(), 1), dtype=t.dtype) for t in tensors]).dtype
        given = {key: value.to(wanted) if batching.is_own(value) else value for key, value in given.items()}
    return operator(
        **{
            key: aligned(value._batch, rank) if batching.is_own(value) else value
            for key, value in given.items()
        }
    )


RULES.update(
    dict.fromkeys("gelu nan_to_num clip div float_power reciprocal sign masked_fill".split(), pointwise)
)


def _only_first(batching, given):
    """Is the first operand mapped, and no other tensor?"""
    first, *others = [*_tensors(list(given.values()))]
    return batching.is_own(first) and not any(batching.is_own(other) for other in others)


def _first_name(given):
    return next(key for key, value in given.items() if isinstance(value, weft.Tensor))


def _shifted(dim, rank):
    if isinstance(dim, (tuple, list)):
        return [_shifted(each, rank) for each in dim]
    if not -max(rank, 1) <= dim < max(rank, 1):
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-max(rank, 1)}, {max(rank, 1) - 1}], but got {dim})"
        )
    return dim % max(rank, 1) + 1


_DIMS = ("dim", "dims", "dim0", "dim1", "dim2", "start_dim", "end_dim", "source", "destination", "axis")


@rule(
    *"""
    sum prod all any amax amin argmax argmin mean var std logsumexp count_nonzero nansum nanmean max min median_dim
    nanmedian_dim softmax log_softmax softmin cumsum cumprod cummax cummin logcumsumexp sort argsort topk kthvalue flip
    squeeze unsqueeze transpose permute movedim select narrow slice unbind chunk split tensor_split split_sections diagonal
    glu diff flatten unflatten repeat_interleave index_select vector_norm roll unfold normalize
""".split()
)
def along_dims(batching, operator, given):
    if not _only_first(batching, given):
        return None
    name = _first_name(given)
    batch = given[name]._batch
    rank = batch.dim() - 1
    if rank == 0:
        return None
    dims = [key for key in _DIMS if given.get(key) is not None]
    given = {**given, name: batch}
    if not dims:
        is_list = "int[]? dim" in operator.schema
        if is_list and operator.schema.startswith("(Tensor x, int[]? dim"):
            given["dim"] = list(range(1, rank + 1))
            if _TRACE.operator_name(operator) == "squeeze":
                given["dim"] = [dim for dim in given["dim"] if batch.shape[dim] == 1]
                return batch if not given["dim"] else operator(**given)
            return operator(**given)
        if "int? dim" in operator.schema and not given.get("keepdim"):
            given[name], given["dim"] = batch.reshape((batch.shape[0], -1)), 1
            return operator(**given)
        return None
    shift = 1 if _TRACE.operator_name(operator) == "unsqueeze" else 0
    for key in dims:
        given[key] = _shifted(given[key], rank + shift)
    if _TRACE.operator_name(operator) == "permute":
        given["dims"] = [0, *given["dims"]]
    return operator(**given)


@rule(
    *"""
    tril triu cholesky cholesky_ex inv det slogdet svd svdvals qr eigh eigvalsh eig eigvals matrix_exp matrix_power cast
    bitcast one_hot trace diag_embed lgamma layer_norm rms_norm
""".split()
)
def at_the_end(batching, operator, given):
    """Operators over the last dimensions, whatever is before them."""
    if not _only_first(batching, given):
        return None
    name = _first_name(given)
    return operator(**{**given, name: given[name]._batch})


for _name in ("det", "slogdet", "trace"):
    RULES.pop(_name)  # of one matrix only


@rule("reshape")
def reshape(batching, operator, given):
    batch = given["x"]._batch
    shape = list(given["shape"])
    if -1 in shape and batch.shape[0] == 0:
        return None
    return operator(batch, [batch.shape[0], *shape])


@rule("expand", "broadcast_to")
def expand(batching, operator, given):
    batch, shape = given["x"]._batch, list(given["shape"])
    return operator(aligned(batch, len(shape)), [batch.shape[0], *shape])


@rule("repeat")
def repeat(batching, operator, given):
    batch, repeats = given["x"]._batch, list(given["repeats"])
    return operator(aligned(batch, len(repeats)), [1, *repeats])


@rule("stack", "concatenate", "join")
def joined(batching, operator, given):
    dim, tensors = given.get("dim", 0), list(given["tensors"])
    if dim is None:
        return None
    rank = max(tensor.dim() for tensor in tensors) + (_TRACE.operator_name(operator) == "stack")
    return operator([batching.batch(tensor) for tensor in tensors], _shifted(dim, rank))


@rule("matmul", "mm", "bmm", "dot")
def matmul(batching, operator, given):
    a, b = _given_tensors(given)
    ranks = a.dim(), b.dim()
    if 0 in ranks or (ranks[0] == 1 and ranks[1] == 1):
        if 0 in ranks:
            return None
        return weft.matmul(_row(batching, a, 1), _column(batching, b, 1)).reshape((batching.size,))
    rank = max(*ranks, 2)
    result = weft.matmul(_row(batching, a, rank - 1), _column(batching, b, rank - 1))
    if ranks[0] == 1:
        result = result.squeeze(-2)
    return result.squeeze(-1) if ranks[1] == 1 else result


def _row(batching, x, rank):
    """A left operand as a batch of samples of rank + 1 dimensions; a tensor that is not mapped as it is."""
    if not batching.is_own(x):
        return x.unsqueeze(0) if x.dim() == 1 else x
    batch = x._batch.unsqueeze(-2) if x.dim() == 1 else x._batch
    return aligned(batch, rank + 1) if rank > 0 else batch


def _column(batching, x, rank):
    if not batching.is_own(x):
        return x.unsqueeze(-1) if x.dim() == 1 else x
    batch = x._batch.unsqueeze(-1) if x.dim() == 1 else x._batch
    return aligned(batch, rank + 1) if rank > 0 else batch


@rule("outer")
def outer(batching, operator, given):
    a, b = _given_tensors(given)
    return weft.mul(batching.batch(a).unsqueeze(-1), batching.batch(b).unsqueeze(-2))


@rule("einsum")
def einsum(batching, operator, given):
    """With one more letter for the samples."""
    terms, arrow, result = given["equation"].replace(" ", "").partition("->")
    unused = [
        letter for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" if letter not in terms
    ]
    if not arrow or "." in terms or not unused:
        return None
    operands = list(given["operands"])
    own = [batching.is_own(each) for each in operands]
    terms = ",".join(unused[0] * is_own + term for term, is_own in zip(terms.split(","), own))
    return operator(
        f"{terms}->{unused[0]}{result}", [x._batch if is_own else x for x, is_own in zip(operands, own)]
    )


@rule("linear")
def linear(batching, operator, given):
    x, weight, bias = given["x"] if "x" in given else given["input"], given["weight"], given.get("bias")
    if not batching.is_own(weight) and not batching.is_own(bias):
        return operator(x._batch, weight, bias)
    if weight.dim() != 2 or x.dim() < 1:
        return None
    result = matmul(batching, weft.matmul, {"x": x, "y": batching_transposed(batching, weight)})
    if result is None or bias is None:
        return result
    return result + (aligned(bias._batch, result.dim() - 1) if batching.is_own(bias) else bias)


def batching_transposed(batching, weight):
    if batching.is_own(weight):
        return batching.sample(weight._batch.transpose(-2, -1))
    return weight.transpose(-2, -1)


@rule("embedding")
def embedding(batching, operator, given):
    weight = next(value for key, value in given.items() if key in ("weight", "table"))
    if batching.is_own(weight):
        return None
    return operator(
        **{key: value._batch if batching.is_own(value) else value for key, value in given.items()}
    )


@rule("scaled_dot_product_attention")
def attention(batching, operator, given):
    rank = max(tensor.dim() for tensor in _given_tensors(given))
    return operator(
        **{
            key: aligned(value._batch, rank) if batching.is_own(value) else value
            for key, value in given.items()
        }
    )


@rule("zeros_like", "ones_like", "full_like", "empty_like")
def filled(batching, operator, given):
    name = _first_name(given)
    return operator(**{**given, name: given[name]._batch})


def _images(rank):
    """Operators over a batch of images of `rank` dimensions each, channels included: all samples' in one batch."""

    def of_images(batching, operator, given):
        if not _only_first(batching, given):
            return None
        name = _first_name(given)
        batch = given[name]._batch
        if batch.dim() == rank + 1:
            return operator(**{**given, name: batch})
        if batch.dim() != rank + 2:
            return None
        sizes = tuple(batch.shape[:2])
        merged = operator(**{**given, name: batch.reshape((sizes[0] * sizes[1], *batch.shape[2:]))})
        return _replaced(merged, lambda result: result.reshape((*sizes, *result.shape[1:])))

    return of_images


for _rank in (1, 2, 3):
    for _name in (
        f"conv{_rank}d conv_transpose{_rank}d max_pool{_rank}d max_pool{_rank}d_with_indices avg_pool{_rank}d "
        f"adaptive_avg_pool{_rank}d adaptive_max_pool{_rank}d adaptive_max_pool{_rank}d_with_indices lp_pool{_rank}d"
    ).split():
        RULES[_name] = _images(_rank + 1)
