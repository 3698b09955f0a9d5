"""weft.jit.trace of single operators and functionals: the recorded TorchScript gives what the operator gives, and PyTorch
runs it too where WEFT_TORCH_PYTHON names a Python that has it."""

import io
import json
import os
import pathlib
import subprocess

import numpy as np
import pytest
import test_goldens
import test_ops_reference
import weft
import weft.nn.functional as F
from weft.jit._trace_rules import OPERATORS

# Newer than PyTorch 1.13.
NEWER = {"attention", "rms_norm"}

random = np.random.default_rng(11)


def randn(*shape):
    return weft.tensor(random.standard_normal(shape).astype(np.float32))


def arrays_of(value):
    if isinstance(value, weft.Tensor):
        return [value.numpy()]
    return [array for item in value for array in arrays_of(item)]


def traced_archive(function, inputs):
    """The trace of `function`, checked by trace() itself and once more after it was saved."""
    expected = function(*[each.clone() for each in inputs])
    traced = weft.jit.trace(function, tuple(inputs), strict=False)
    archive = traced.save_to_buffer()
    actual = weft.jit.load(io.BytesIO(archive))(*[each.clone() for each in inputs])
    for one, other in zip(arrays_of(actual), arrays_of(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5)
    return archive, arrays_of(expected)


def test_every_functional_has_an_entry():
    operators = {
        each.definition["name"]: each for each in vars(weft._C).values() if isinstance(each, weft.Operator)
    }
    builtins = {
        schema.split("(")[0].split(".")[0].removeprefix("aten::") for schema in weft._C._builtin_schemas()
    }
    assert {
        name for name in vars(F) if name in operators and name not in OPERATORS and name not in builtins
    } == set()


# ---- pointwise operators -------------------------------------------------------------------------------------
POINTWISE = [
    (name, operator)
    for name, operator in test_ops_reference.POINTWISE
    if name != "cast" and name not in test_ops_reference.NOT_SCRIPTED
]


@pytest.mark.parametrize("name, operator", POINTWISE, ids=[name for name, _ in POINTWISE])
def test_pointwise(name, operator):
    required = test_ops_reference.REQUIRED.get(name, {})
    is_float = "float32" in operator.definition["dtypes"]
    samples = [
        weft.tensor(each[:12])
        for each in test_ops_reference.sample(operator, np.float32 if is_float else np.int64)
    ]
    traced_archive(lambda *inputs: operator(*inputs, **required), samples)
    if len(samples) == 2:
        number = 1.5 if is_float else 2
        calls = [lambda x: operator(x, number), lambda x: operator(number, x)]
        integers = weft.tensor([1, 2, 3])
        for call, operand in [
            *((each, samples[0]) for each in calls),
            (lambda x: operator(x, 2), integers),
            (lambda x: operator(2, x), integers),
        ]:
            try:
                call(operand)
            except (TypeError, ValueError):
                continue
            traced_archive(call, [operand])
    method = getattr(weft.Tensor, name + "_", None)
    if method is None:
        return

    def update(x, *others):
        x = x.clone()
        method(x, *others, **required)
        return x

    try:
        update(*samples)
    except (TypeError, ValueError):
        return
    traced_archive(update, samples)


# ---- PyTorch's recorded cases --------------------------------------------------------------------------------
class Flat:
    """A call as a function of the tensors among its arguments."""

    def __init__(self, function, args, kwargs):
        self.tensors = []
        self.function = function
        self.args = [self._take(each) for each in args]
        self.kwargs = {name: self._take(each) for name, each in kwargs.items()}

    def _take(self, value):
        if isinstance(value, list):
            return [self._take(item) for item in value]
        if not isinstance(value, weft.Tensor):
            return lambda tensors: value
        position = len(self.tensors)
        self.tensors.append(value)
        return lambda tensors: tensors[position]

    def __call__(self, *tensors):
        def fill(item):
            return [fill(each) for each in item] if isinstance(item, list) else item(tensors)

        return self.function(
            *map(fill, self.args), **{name: fill(each) for name, each in self.kwargs.items()}
        )


def goldens():
    return [
        (f"{case['op']}-{number}", case)
        for number, case in enumerate(test_goldens.CASES)
        if test_goldens.find(case["op"])
    ]


def golden_call(case, arrays):
    args = [test_goldens.decode(argument, arrays) for argument in case["args"]]
    kwargs = {name: test_goldens.decode(value, arrays) for name, value in case["kwargs"].items()}
    return Flat(test_goldens.find(case["op"]), args, kwargs)


@pytest.fixture(scope="module")
def golden_arrays():
    with np.load(test_goldens.FOLDER / "cases.npz") as archive:
        return dict(archive)


@pytest.mark.skipif(not test_goldens.CASES, reason="torch_goldens/cases.json is not there")
@pytest.mark.parametrize("case", [case for _, case in goldens()], ids=[name for name, _ in goldens()])
def test_golden(case, golden_arrays):
    call = golden_call(case, golden_arrays)
    traced_archive(call, call.tensors)


# ---- the others ----------------------------------------------------------------------------------------------
x34 = randn(3, 4)
three = weft.tensor([2, 0, 1])
two_by_two = weft.tensor([[0, 1], [2, 0]])
image = randn(2, 4, 6, 6)
symmetric = x34 @ x34.T + 3 * weft.eye(3)
sequence, hidden = randn(5, 2, 3), randn(1, 2, 3)
weights = [randn(12, 3), randn(12, 3), randn(12), randn(12)]

# fmt: off
# By group: functions of a float32[3, 4].
OF_MATRIX = {
    "all": [
        lambda x: weft.all(x>0),
        lambda x: weft.all(x>0, 1),
        lambda x: weft.all(x>0, (0, 1), True),
    ],
    "any": [
        lambda x: weft.any(x>0, (0, 1)),
        lambda x: (x>0).any(0, True),
    ],
    "amax": [
        lambda x: x.amax(1),
        lambda x: x.amax((0, 1), True),
        lambda x: x.amax(),
    ],
    "sum": [
        lambda x: x.sum(),
        lambda x: x.sum(0, True),
        lambda x: x.sum((0, 1)),
        lambda x: x.sum(dtype=weft.float64),
    ],
    "prod": [
        lambda x: x.prod(),
        lambda x: x.prod(1),
        lambda x: x.prod((0, 1), True),
    ],
    "mean": [
        lambda x: x.mean(),
        lambda x: x.mean((0, 1), keepdim=True),
    ],
    "deviation": [
        lambda x: x.std(),
        lambda x: x.std(1),
        lambda x: x.std(1, correction=0),
        lambda x: x.var((0, 1), True, correction=2),
    ],
    "argmax": [
        lambda x: x.argmax(),
        lambda x: x.argmax(1, True),
        lambda x: x.argmin(0),
    ],
    "median": [
        lambda x: x.median(),
        lambda x: x.median(1),
        lambda x: x.median(1, True),
    ],
    "norm": [
        lambda x: x.norm(),
        lambda x: weft.vector_norm(x, 1.0, [1], True),
        lambda x: weft.vector_norm(x, float("inf")),
    ],
    "logsumexp": [
        lambda x: weft.logsumexp(x, 1),
        lambda x: weft.logsumexp(x),
    ],
    "count_nonzero": [
        lambda x: weft.count_nonzero(x),
        lambda x: weft.count_nonzero(x, 1),
        lambda x: weft.count_nonzero(x, 1, True),
        lambda x: weft.count_nonzero(x, (0, 1), True),
    ],
    "ptp": [
        lambda x: weft.ptp(x, 1),
        lambda x: weft.ptp(x),
    ],
    "quantile": [
        lambda x: weft.quantile(x, 0.3),
        lambda x: weft.quantile(x, 0.3, 1, True),
        lambda x: weft.percentile(x, 30.0, 1),
    ],
    "nan": [
        lambda x: weft.nansum(x, 1),
        lambda x: weft.nanmean(x, 1),
        lambda x: weft.nan_to_num(x),
    ],
    "order": [
        lambda x: x.sort(),
        lambda x: x.sort(0, True),
        lambda x: x.argsort(1, True),
        lambda x: weft.sort_values(x, 1),
        lambda x: x.topk(2),
        lambda x: x.kthvalue(2),
        lambda x: weft.unique(x),
        lambda x: weft.unique(x, True, True),
    ],
    "cumulative": [
        lambda x: x.cumsum(1),
        lambda x: x.cumprod(0),
        lambda x: x.cummax(1),
        lambda x: x.cummin(1),
        lambda x: weft.diff(x),
    ],
    "extremes": [
        lambda x: x.max(),
        lambda x: x.min(),
        lambda x: weft.maximum(x, 0),
        lambda x: weft.minimum(x, x.T.reshape(3, 4)),
        lambda x: x.clamp(0, 1),
        lambda x: x.clamp(min=0),
        lambda x: weft.clip(x, max=0.5),
        lambda x: x.clamp(min=x*0),
    ],
    "shape": [
        lambda x: x.flatten(),
        lambda x: x.ravel(),
        lambda x: x.permute(1, 0),
        lambda x: x.transpose(0, 1),
        lambda x: weft.swapaxes(x, 0, 1),
        lambda x: x.t(),
        lambda x: x.T,
        lambda x: x.mT,
        lambda x: x.unsqueeze(0),
        lambda x: weft.expand_dims(x, (0, 2)),
        lambda x: x.unsqueeze(0).squeeze(0),
        lambda x: x.unsqueeze(0).squeeze(),
        lambda x: weft.squeeze(x.reshape(1, 3, 1, 4), (0, 2)),
        lambda x: x.reshape(4, 3),
        lambda x: x.reshape((2, -1)),
        lambda x: x.unflatten(1, (2, 2)),
        lambda x: weft.movedim(x, 0, 1),
        lambda x: weft.movedim(x, (0, 1), (1, 0)),
        lambda x: x.expand(2, 3, 4),
        lambda x: weft.broadcast_to(x, (2, 3, 4)),
        lambda x: x.repeat(2, 1),
        lambda x: x.tile((2, )),
        lambda x: weft.tile(x, (2, 1)),
        lambda x: weft.repeat_interleave(x, 2),
        lambda x: weft.repeat_interleave(x, 2, 1),
        lambda x: weft.flip(x),
        lambda x: weft.flip(x, (1, )),
        lambda x: weft.fliplr(x),
        lambda x: weft.flipud(x),
        lambda x: weft.roll(x, 1),
        lambda x: weft.roll(x, (1, 2), (0, 1)),
        lambda x: weft.rot90(x),
        lambda x: weft.atleast_3d(x),
        lambda x: weft.diagonal(x),
        lambda x: weft.diag(x),
        lambda x: weft.tril(x),
        lambda x: weft.triu(x, 1),
        lambda x: weft.trace(x),
        lambda x: x.unfold(1, 2, 1),
        lambda x: x.narrow(1, 0, 2),
        lambda x: x.select(1, 0),
        lambda x: weft.as_strided(x, (2, 2), (1, 2)),
        lambda x: x.chunk(2, 1),
        lambda x: x.split(2, 1),
        lambda x: x.split([1, 3], 1),
        lambda x: weft.array_split(x, 3, 1),
        lambda x: weft.tensor_split(x, (1, 2), 1),
        lambda x: weft.hsplit(x, 2),
        lambda x: weft.vsplit(x, 3),
        lambda x: weft.split_sections(x, 2, 1),
        lambda x: weft.slice(x, 1, 0, 2),
    ],
    "join": [
        lambda x: weft.cat([x, x], 1),
        lambda x: weft.concatenate([x, x]),
        lambda x: weft.concatenate([x, x], None),
        lambda x: weft.stack([x, x], 2),
        lambda x: weft.hstack([x, x]),
        lambda x: weft.vstack([x, x]),
        lambda x: weft.dstack([x, x]),
        lambda x: weft.column_stack([x, x]),
        lambda x: weft.row_stack([x, x]),
        lambda x: weft.meshgrid([x[0], x[1]]),
        lambda x: weft.meshgrid(x[0], x[1], indexing="ij"),
    ],
    "products": [
        lambda x: x@x.T,
        lambda x: weft.mm(x, x.T),
        lambda x: weft.matmul(x, x.T),
        lambda x: weft.bmm(x[None], x.T[None]),
        lambda x: weft.dot(x[0], x[1]),
        lambda x: weft.vdot(x[0], x[1]),
        lambda x: weft.inner(x, x),
        lambda x: weft.outer(x[0], x[1]),
        lambda x: weft.kron(x, x),
        lambda x: weft.cross(x[:, :3], x[:, :3]),
        lambda x: weft.tensordot(x, x.T, 1),
        lambda x: weft.tensordot(x, x, dims_x=[1], dims_y=[1]),
        lambda x: weft.einsum("ij, kj->ik", x, x),
        lambda x: weft.addmm(x@x.T, x, x.T),
        lambda x: weft.cdist(x, x),
        lambda x: weft.matrix_power(x@x.T, 2),
    ],
    "creation": [
        lambda x: x+weft.zeros(3, 4),
        lambda x: x+weft.ones((3, 4), dtype=weft.float64),
        lambda x: x*weft.full((3, 4), 2),
        lambda x: x*weft.full((4, ), 2.5),
        lambda x: x+weft.arange(4),
        lambda x: x+weft.arange(0, 8, 2),
        lambda x: x+weft.arange(1, 5),
        lambda x: x+weft.arange(0., 2., .5),
        lambda x: x+weft.linspace(0, 1, 4),
        lambda x: x+weft.linspace(0, 1, 4, endpoint=False),
        lambda x: x+weft.logspace(0, 1, 4),
        lambda x: x@weft.eye(4),
        lambda x: x@weft.eye(4, 5),
        lambda x: x@weft.eye(4, 4, 1),
        lambda x: x*weft.tri(3, 4),
        lambda x: weft.zeros_like(x)+x,
        lambda x: weft.full_like(x, 3),
        lambda x: weft.ones_like(x, dtype=weft.int64)*2,
        lambda x: weft.zeros_like(weft.empty_like(x))+x,
    ],
    "others": [
        lambda x: weft.where(x>0, x, 0),
        lambda x: weft.where(x>0, 1.0, x),
        lambda x: weft.where(x>0, x, x*2),
        lambda x: x.masked_fill(x>0, 2),
        lambda x: x.masked_select(x>0),
        lambda x: weft.nonzero(x>0),
        lambda x: weft.isclose(x, x),
        lambda x: weft.lerp(x, x*2, 0.5),
        lambda x: weft.addcmul(x, x, x, value=2),
        lambda x: weft.addcdiv(x, x, x+9),
        lambda x: weft.histc(x, 4, -1, 1),
        lambda x: weft.bucketize(x, weft.tensor([0., 1.])),
        lambda x: weft.searchsorted(weft.tensor([0., 1.]), x),
        lambda x: weft.div(x, 2, rounding_mode="floor"),
        lambda x: x//0.7,
        lambda x: 3//(x+9),
        lambda x: x%0.7,
        lambda x: 5%(x+9),
        lambda x: 2**x,
        lambda x: x**2.5,
        lambda x: -x,
        lambda x: +x,
        lambda x: abs(x),
        lambda x: ~(x>0),
        lambda x: (x>0)&(x<1),
        lambda x: (x>0)|True,
        lambda x: (x>0)^(x<1),
        lambda x: weft.modf(x),
        lambda x: weft.divmod(x, 0.7),
        lambda x: weft.round(x, decimals=1),
        lambda x: weft.float_power(x+9, 2),
        lambda x: weft.one_hot((x>0).long(), 2),
        lambda x: weft.pairwise_distance(x, x*2),
        lambda x: weft.cosine_similarity(x, x*2),
        lambda x: weft.add(x, x, alpha=2),
        lambda x: weft.sub(3, x, alpha=2),
        lambda x: weft.vander(x[0]),
        lambda x: weft.nanprod(x),
        lambda x: weft.real(x),
        lambda x: weft.bincount((x>0).long().flatten()),
    ],
}

# A function and its inputs.
CASES = {
    "gather": (lambda x, i: weft.gather(x, 1, i.reshape(2, 2)), randn(3, 4), two_by_two),
    "take_along": (lambda x, i: weft.take_along_dim(x, i, 1), randn(2, 4), two_by_two),
    "take": (lambda x, i: weft.take(x, i), randn(3, 4), three),
    "take_dim": (lambda x, i: weft.take(x, i, 1), randn(3, 4), three),
    "scatter": (lambda x, i, s: weft.scatter(x, 1, i, s), randn(3, 4), two_by_two, randn(2, 2)),
    "scatter_add": (lambda x, i, s: weft.scatter_add(x, 1, i, s), randn(3, 4), two_by_two, randn(2, 2)),
    "index_select": (lambda x, i: weft.index_select(x, 1, i), randn(3, 4), three),
    "index_add": (lambda x, i, s: weft.index_add(x, 0, i, s), randn(3, 4), three, randn(3, 4)),
    "index_copy": (lambda x, i, s: weft.index_copy(x, 0, i, s), randn(3, 4), three, randn(3, 4)),
    "index_fill": (lambda x, i: weft.index_fill(x, 0, i, 2.0), randn(3, 4), three),
    "index_put": (lambda x, i, s: weft.index_put(x, s, [i]), randn(3, 4), three, randn(3, 4)),
    "index": (lambda x, i: weft.index(x, [i]), randn(3, 4), three),
    "embedding": (lambda w, i: weft.embedding(i, w), randn(4, 3), three),
    "bag": (lambda w, i: weft.embedding_bag(i, w), randn(4, 3), two_by_two),
    "bag2": (lambda w, i: weft.embedding_bag(i, w, weft.tensor([0, 2]), mode="sum"), randn(4, 3), three),
    "inv": (weft.inv, symmetric),
    "solve": (weft.solve, symmetric, randn(3, 2)),
    "det": (weft.det, symmetric),
    "eigvalsh": (weft.eigvalsh, symmetric),
    "svdvals": (weft.svdvals, randn(3, 3)),
    "cholesky": (weft.cholesky, symmetric),
    "lstm": (lambda x, h, c, *p: weft.lstm(x, [h, c], list(p), True, 1, 0.0, False, False, False), sequence, hidden, hidden, *weights),
    "gru": (lambda x, h, *p: weft.gru(x, h, list(p), True, 1, 0.0, False, False, False), sequence, hidden, randn(9, 3), randn(9, 3), randn(9), randn(9)),
    "rnn": (lambda x, h, *p: weft.rnn_tanh(x, h, list(p), True, 1, 0.0, False, False, False), sequence, hidden, randn(3, 3), randn(3, 3), randn(3), randn(3)),
    "lstm_cell": (lambda x, h, c, *p: weft.lstm_cell(x, [h, c], *p), randn(2, 3), randn(2, 3), randn(2, 3), *weights),
    "gru_cell": (lambda x, h, *p: weft.gru_cell(x, h, *p), randn(2, 3), randn(2, 3), randn(9, 3), randn(9, 3), randn(9), randn(9)),
    "pack": (lambda x, lengths: weft.pack_padded_sequence(x, lengths, False), sequence, weft.tensor([5, 3])),
    "attention": (lambda q, k, v: weft.scaled_dot_product_attention(q, k, v, is_causal=True), randn(2, 3, 4), randn(2, 3, 4), randn(2, 3, 4)),
    "unpool": (lambda x: weft.max_unpool2d(*weft.max_pool2d_with_indices(x, 2), 2), image),
    "unpool1": (lambda x: weft.max_unpool1d(*weft.max_pool1d_with_indices(x, 2), 2), randn(2, 3, 6)),
    "unpool3": (lambda x: weft.max_unpool3d(*weft.max_pool3d_with_indices(x, 2), 2), randn(1, 2, 4, 4, 4)),
    "im2col": (lambda x: weft.col2im(weft.im2col(x, 2, stride=2), (6, 6), 2, stride=2), image),
    "lrn": (lambda x: weft.local_response_norm(x, 3), image),
    "lrn3": (lambda x: weft.local_response_norm(x, 2), randn(2, 4, 5)),
    "lp": (lambda x: weft.lp_pool2d(x, 2.0, 2), image),
    "lp1": (lambda x: weft.lp_pool1d(x, 2.0, 2, 1), randn(2, 3, 6)),
    "lp3": (lambda x: weft.lp_pool3d(x, 2.0, 2), randn(1, 2, 4, 4, 4)),
    "normalize": (lambda x: weft.normalize(x), image),
    "softmin": (lambda x: weft.softmin(x), image),
    "adap": (lambda x: weft.adaptive_max_pool2d(x, 3), image),
    "adapi": (lambda x: weft.adaptive_max_pool2d_with_indices(x, (3, 2)), image),
    "adap1": (lambda x: weft.adaptive_max_pool1d(x, 3), randn(2, 3, 6)),
    "up1": (lambda x: weft.interpolate(x, scale_factor=2.0), image),
    "up2": (lambda x: weft.interpolate(x, [9, 9], mode="bilinear", align_corners=True), image),
    "up3": (lambda x: weft.interpolate(x, scale_factor=1.5, mode="bicubic"), image),
    "up4": (lambda x: weft.interpolate(x, scale_factor=0.5, mode="area"), image),
    "up5": (lambda x: weft.interpolate(x, scale_factor=1.7, mode="bilinear", recompute_scale_factor=True), image),
    "up6": (lambda x: weft.interpolate(x, [3, 3], mode="bilinear", antialias=True), image),
    "up7": (lambda x: weft.interpolate(x, scale_factor=2.0, mode="nearest-exact"), image),
    "up8": (lambda x: weft.interpolate(x, scale_factor=2.0, mode="linear"), randn(1, 2, 4)),
    "up9": (lambda x: weft.interpolate(x, scale_factor=2.0, mode="trilinear"), randn(1, 2, 3, 3, 3)),
    "nll": (lambda x, t: weft.nll_loss(x, t), randn(3, 4), three),
    "ce": (lambda x, t: weft.cross_entropy(x, t, label_smoothing=.1), randn(3, 4), three),
    "bce": (lambda x, t: weft.binary_cross_entropy(x.sigmoid(), t.sigmoid(), reduction="sum"), randn(3), randn(3)),
    "mse": (lambda x, t: weft.mse_loss(x, t, reduction="none"), randn(3), randn(3)),
    "huber": (lambda x, t: weft.huber_loss(x, t, delta=.5), randn(3), randn(3)),
    "sl1": (lambda x, t: weft.smooth_l1_loss(x, t, beta=.5), randn(3), randn(3)),
    "kl": (lambda x, t: weft.kl_div(x, t.exp()), randn(3), randn(3)),
    "bn": (lambda x, m, v: weft.batch_norm(x, m, v), image, randn(4), weft.ones(4)),
    "in": (lambda x: weft.instance_norm(x), image),
    "gn": (lambda x: weft.group_norm(x, 2), image),
    "ln": (lambda x: weft.layer_norm(x, (6, )), image),
    "rms_norm": (lambda x: weft.rms_norm(x, (6, )), image),
    "pixel": (lambda x: weft.pixel_unshuffle(weft.pixel_shuffle(x, 2), 2), image),
    "cs": (lambda x: weft.channel_shuffle(x, 2), image),
    "prelu": (lambda x, w: weft.prelu(x, w), image, randn(4)),
    "glu": (lambda x: weft.glu(x, 1), image),
    "pad": (lambda x: weft.pad(x, (1, 2)), image),
    "pad2": (lambda x: weft.pad(x, (1, 2, 1, 1), "reflect"), image),
    "bil": (lambda a, b, w: weft.bilinear(a, b, w), randn(2, 3), randn(2, 4), randn(5, 3, 4)),
    "gs": (lambda x, g: weft.grid_sample(x, g.tanh(), align_corners=False), image, randn(2, 3, 3, 2)),
    "ag": (lambda t: weft.affine_grid(t, (2, 3, 4, 4)), randn(2, 2, 3)),
    "convt": (lambda x, w: weft.conv_transpose2d(x, w, stride=2), image, randn(4, 3, 2, 2)),
    "roll2": (lambda x: weft.roll(x, 1), randn(3, 4)),
    "convs": (lambda x, w: weft.conv2d(x, w, padding="same"), image, randn(3, 4, 3, 3)),
    "conv": (lambda x, w: weft.convolution(x, w, stride=(2, 2), padding=(1, 1)), image, randn(3, 4, 3, 3)),
    "mha": (lambda q, iw, ib, ow, ob: weft.multi_head_attention_forward(q, q, q, 4, 2, iw, ib, None, None, True, 0.0, ow, ob, False, attn_mask=weft.zeros(3, 3)), randn(3, 2, 4), randn(12, 4), randn(12), randn(4, 4), randn(4)),
    "mha2": (lambda q, iw, ib, ow, ob, bk: weft.multi_head_attention_forward(q, q, q, 4, 2, iw, ib, bk, bk, False, 0.0, ow, ob, False, average_attn_weights=False), randn(3, 2, 4), randn(12, 4), randn(12), randn(4, 4), randn(4), randn(1, 1, 4)),
    "mha3": (lambda q, iw, ib, ow, ob: weft.multi_head_attention_forward(q, q, q, 4, 2, iw, ib, None, None, False, 0.0, ow, ob, False), randn(3, 4), randn(12, 4), randn(12), randn(4, 4), randn(4)),
}
# fmt: on


@pytest.mark.parametrize("group", OF_MATRIX)
def test_of_a_matrix(group):
    for function in OF_MATRIX[group]:
        traced_archive(function, [x34])


@pytest.mark.parametrize("name", CASES)
def test_case(name):
    function, *inputs = CASES[name]
    traced_archive(function, inputs)


def test_training_updates_what_is_running():
    def f(x, mean, var):
        mean, var = mean.clone(), var.clone()
        return F.batch_norm(x, mean, var, training=True), mean, var

    def g(x, mean, var):
        mean, var = mean.clone(), var.clone()
        return F.instance_norm(x, mean, var), mean, var

    for function in (f, g):
        traced_archive(function, [image, randn(4), weft.ones(4)])


# ---- PyTorch -------------------------------------------------------------------------------------------------
PROGRAM = """
import json, sys, numpy, torch
for name, count in json.load(open(sys.argv[1] + "/names.json")):
    arrays = numpy.load(f"{sys.argv[1]}/{name}.npz")
    result = torch.jit.load(f"{sys.argv[1]}/{name}.pt")(*[torch.tensor(arrays[f"i{i}"]) for i in range(count)])
    flat = []
    def collect(value):
        flat.append(value.detach().numpy()) if isinstance(value, torch.Tensor) else [collect(item) for item in value]
    collect(result)
    for i, array in enumerate(flat):
        numpy.testing.assert_allclose(array, arrays[f"o{i}"], rtol=1e-4, atol=1e-4, err_msg=name)
"""


def test_pytorch_runs_all_of_it(tmp_path):
    python = os.environ.get("WEFT_TORCH_PYTHON")
    if not python:
        pytest.skip("no PyTorch (WEFT_TORCH_PYTHON)")
    calls = [(function, [x34]) for functions in OF_MATRIX.values() for function in functions]
    calls += [(function, inputs) for name, (function, *inputs) in CASES.items() if name not in NEWER]
    if test_goldens.CASES:
        with np.load(test_goldens.FOLDER / "cases.npz") as archive:
            arrays = dict(archive)
        for _, case in goldens():
            call = golden_call(case, arrays)
            calls.append((call, call.tensors))
    names = []
    for number, (function, inputs) in enumerate(calls):
        archive, expected = traced_archive(function, inputs)
        pathlib.Path(tmp_path / f"c{number}.pt").write_bytes(archive)
        given = {f"i{i}": each.numpy() for i, each in enumerate(inputs)}
        np.savez(tmp_path / f"c{number}.npz", **given, **{f"o{i}": each for i, each in enumerate(expected)})
        names.append((f"c{number}", len(inputs)))
    (tmp_path / "names.json").write_text(json.dumps(names))
    subprocess.run([python, "-W", "ignore", "-c", PROGRAM, str(tmp_path)], check=True, timeout=600)
