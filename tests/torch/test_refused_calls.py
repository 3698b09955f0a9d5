"""Calls that PyTorch's OpInfo database says are wrong: each is refused with PyTorch's class and words, and what lies beside it is
not. Dtypes of out= are at the end."""

import pytest
import weft.torch as torch

F = torch.nn.functional


def x(*shape, dtype=torch.float32):
    return torch.ones(shape, dtype=dtype)


def deep(dims):
    return torch.ones((1,) * dims)


# (refused, exception, words, taken)
CALLS = {
    "amax of 65 dims": (lambda: torch.amax(deep(65), 0), RuntimeError, "up to 64 dims", lambda: torch.amax(deep(64), 0)),
    "amin of 65 dims": (lambda: torch.amin(deep(65), [0]), RuntimeError, "up to 64 dims", lambda: torch.amin(deep(64), [0])),
    "sum of 65 dims": (lambda: deep(65).sum(-1), RuntimeError, "up to 64 dims", lambda: deep(64).sum(-1)),
    "mean of 65 dims": (lambda: deep(65).mean(0), RuntimeError, "up to 64 dims", lambda: deep(64).mean(0)),
    "aminmax of 65 dims": (lambda: torch.aminmax(deep(65), dim=0), RuntimeError, "64", lambda: torch.aminmax(deep(64))),
    "mean in integers": (
        lambda: x(3).mean(dtype=torch.int64),
        NotImplementedError,
        "Optional dtype must be either a floating point or complex",
        lambda: x(3, dtype=torch.int64).mean(dtype=torch.float32),
    ),
    "fweights below zero": (
        lambda: torch.cov(x(2, 3), fweights=torch.tensor([1, -1, 1])),
        RuntimeError,
        "fweights cannot be negative",
        lambda: torch.cov(x(2, 3), fweights=torch.tensor([1, 0, 1])),
    ),
    "aweights below zero": (
        lambda: torch.cov(x(2, 3), aweights=torch.tensor([1.0, -1.0, 1.0])),
        RuntimeError,
        "aweights cannot be negative",
        lambda: torch.cov(x(2, 3), aweights=torch.tensor([1.0, 0.0, 1.0])),
    ),
    "empty_permuted outside": (
        lambda: torch.empty_permuted((2,), (3,)),
        RuntimeError,
        "expected to be between 0 and 0, but got 3 at index 0",
        lambda: torch.empty_permuted((2, 3), (1, 0)),
    ),
    "empty_permuted from behind": (
        lambda: torch.empty_permuted((2, 3), (0, -1)),
        RuntimeError,
        "but got -1 at index 1",
        lambda: torch.empty_permuted((2, 3), (0, 1)),
    ),
    "roll by nothing": (lambda: torch.roll(x(3), ()), RuntimeError, "`shifts` required", lambda: torch.roll(x(3), 1)),
    "multinomial into doubles": (
        lambda: torch.multinomial(x(3), 2, out=torch.empty(2, dtype=torch.float64)),
        RuntimeError,
        "expects Long tensor out",
        lambda: torch.multinomial(x(3), 2, out=torch.empty(2, dtype=torch.int64)),
    ),
    "nonzero as a tuple into out": (
        lambda: torch.nonzero(x(3), as_tuple=True, out=torch.empty(0, dtype=torch.int64)),
        RuntimeError,
        "nonzero does not support the out kwarg when as_tuple is True",
        lambda: torch.nonzero(x(3), out=torch.empty(0, dtype=torch.int64)),
    ),
    "group_norm of no channels": (
        lambda: F.group_norm(x(2, 0, 3), 1), RuntimeError, "number of channels to be greater than 0",
        lambda: F.group_norm(x(2, 1, 3), 1),
    ),
    "group_norm of no pixels": (
        lambda: F.group_norm(x(2, 4, 0), 1), RuntimeError, "HxW to be greater than 0", lambda: F.group_norm(x(0, 4, 3), 1),
    ),
    "rrelu between no bounds": (
        lambda: F.rrelu(x(3), lower=0.3, upper=0.1), RuntimeError, "Lower bound should be less than",
        lambda: F.rrelu(x(3), lower=0.1, upper=0.1),
    ),
    "softshrink below zero": (
        lambda: F.softshrink(x(3), -0.5), RuntimeError, "lambda must be", lambda: F.softshrink(x(3), 0.0)
    ),
    "a loss reduced by no rule": (
        lambda: F.multi_margin_loss(x(3, 4), x(3), reduction="abc"), ValueError, "abc is not a valid value for reduction",
        lambda: F.multi_margin_loss(x(3, 4), x(3, dtype=torch.int64), reduction="sum"),
    ),
    "multi_margin_loss's weight": (
        lambda: F.multi_margin_loss(x(3, 4), x(3), weight=x(4, 1)), ValueError, "weight must be one-dimensional",
        lambda: F.multi_margin_loss(x(3, 4), x(3, dtype=torch.int64), weight=x(4)),
    ),
    "multilabel_margin_loss of nothing": (
        lambda: F.multilabel_margin_loss(x(0), x(0, dtype=torch.int64)), RuntimeError, "Expected non-empty vector or matrix",
        lambda: F.multilabel_margin_loss(x(2), x(2, dtype=torch.int64)),
    ),
    "linear_cross_entropy of a vector": (
        lambda: F.linear_cross_entropy(x(2, 3), x(3), x(2, dtype=torch.int64)), RuntimeError, "at least 2, got 1",
        lambda: F.linear_cross_entropy(x(2, 3), x(4, 3), x(2, dtype=torch.int64)),
    ),
    "a strided convolution of the same size": (
        lambda: F.conv3d(x(1, 1, 4, 4, 4), x(1, 1, 2, 2, 2), stride=2, padding="same"), RuntimeError,
        "padding='same' is not supported for strided convolutions",
        lambda: F.conv3d(x(1, 1, 4, 4, 4), x(1, 1, 2, 2, 2), stride=1, padding="same"),
    ),
    "abs_ of complex numbers": (
        lambda: x(2, dtype=torch.complex64).abs_(), RuntimeError, "In-place abs is not supported for complex tensors",
        lambda: x(2).abs_(),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_wrong_calls(name):
    refused, exception, words, taken = CALLS[name]
    with pytest.raises(exception, match=words):
        refused()
    taken()


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_biases_of_integer_convolutions(dims):
    convolve = getattr(F, f"conv{dims}d")
    given, weight = x(1, 1, *(4,) * dims, dtype=torch.int64), x(1, 1, *(2,) * dims, dtype=torch.int64)
    assert convolve(given, weight, torch.tensor([1])).dtype == torch.int64
    with pytest.raises(RuntimeError, match=r"Input type .* and bias type .* should be the same"):
        convolve(given, weight, torch.tensor([1.0]))
    with pytest.raises((RuntimeError, TypeError)):
        convolve(given.float(), weight.float(), torch.tensor([1]))


@pytest.mark.parametrize("name", "cat concat concatenate stack".split())
def test_one_tensor_is_no_sequence_of_tensors(name):
    join = getattr(torch, name)
    assert join([x(2, 3), x(2, 3)]).numel() == join(list(x(2, 3))).numel() * 2
    with pytest.raises(TypeError, match="must be tuple of Tensors, not Tensor"):
        join(x(2, 3))


# ---- out= ------------------------------------------------------------------------------------------------------


def test_out_that_overlaps():
    expanded, index = torch.empty(1).expand(3), torch.tensor([2, 1, 0])
    for call in (
        lambda out: torch.gather(x(6), 0, index, out=out),
        lambda out: torch.take(x(6), index, out=out),
        lambda out: torch.index_select(x(6), 0, index, out=out),
        lambda out: torch.index_select(x(6, 2), 0, index, out=out),
    ):
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            call(expanded)
        call(torch.empty(3))
    # Of the result's shape it lies in the memory of the index.
    with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to"):
        torch.gather(index.clone(), 0, index[1:], out=index[:1])
    for at in (0, 1):
        given = [x(2, 3), x(4, 3)]
        with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to"):
            torch.cat(given, out=given[at])
    given = [x(2, 3), x(4, 3)]
    with pytest.raises(RuntimeError, match="some elements of the input tensor and the written-to"):
        torch.cat(given, out=given[1][:2])
    assert torch.cat([x(2, 3), x(4, 3)], out=x(2, 3)).shape == (6, 3)
    both = torch.empty(2)
    with pytest.raises(ValueError, match="must not overlap"):
        torch.aminmax(x(2), out=(both[0], both[0]))
    least, greatest = torch.aminmax(x(2), out=(both[0], both[1]))
    assert both.tolist() == [1, 1] and least.item() == greatest.item() == 1


OWN = {
    "argmax": lambda out: torch.argmax(x(3), 0, out=out),
    "argmin": lambda out: torch.argmin(x(3), 0, out=out),
    "round": lambda out: torch.round(x(3), out=out),
    "frac": lambda out: torch.frac(x(3), out=out),
    "bitwise_not": lambda out: torch.bitwise_not(torch.tensor([1]), out=out),
    "signbit": lambda out: torch.signbit(x(3), out=out),
    "isposinf": lambda out: torch.isposinf(x(3), out=out),
    "isneginf": lambda out: torch.isneginf(x(3), out=out),
    "isin": lambda out: torch.isin(x(3), x(3), out=out),
    "addmm": lambda out: torch.addmm(x(2, 2), x(2, 2), x(2, 2), out=out),
    "addmv": lambda out: torch.addmv(x(2), x(2, 2), x(2), out=out),
    "addbmm": lambda out: torch.addbmm(x(2, 2), x(1, 2, 2), x(1, 2, 2), out=out),
    "baddbmm": lambda out: torch.baddbmm(x(1, 2, 2), x(1, 2, 2), x(1, 2, 2), out=out),
    "bucketize": lambda out: torch.bucketize(x(3), torch.tensor([1.0, 2.0]), out=out),
    "searchsorted": lambda out: torch.searchsorted(torch.tensor([1.0, 2.0]), x(3), out=out),
    "diag": lambda out: torch.diag(x(3), out=out),
    "dot": lambda out: torch.dot(x(3), x(3), out=out),
    "vdot": lambda out: torch.vdot(x(3), x(3), out=out),
    "heaviside": lambda out: torch.heaviside(x(3), x(3), out=out),
    "index_add": lambda out: torch.index_add(x(3), 0, torch.tensor([0]), x(1), out=out),
    "index_copy": lambda out: torch.index_copy(x(3), 0, torch.tensor([0]), x(1), out=out),
    "scatter": lambda out: torch.scatter(x(3), 0, torch.tensor([0]), x(1), out=out),
    "scatter_reduce": lambda out: torch.scatter_reduce(x(3), 0, torch.tensor([0]), x(1), "sum", out=out),
    "log_softmax": lambda out: torch.log_softmax(x(3), 0, out=out),
    "logcumsumexp": lambda out: torch.logcumsumexp(x(3), 0, out=out),
    "msort": lambda out: torch.msort(x(3), out=out),
    "quantile": lambda out: torch.quantile(x(3), 0.5, out=out),
    "nanquantile": lambda out: torch.nanquantile(x(3), 0.5, out=out),
    "renorm": lambda out: torch.renorm(x(2, 2), 2, 0, 1.0, out=out),
    "sgn": lambda out: torch.sgn(x(3), out=out),
    "conj_physical": lambda out: torch.conj_physical(x(3), out=out),
    "tensordot": lambda out: torch.tensordot(x(2, 2), x(2, 2), 1, out=out),
    "linalg.inv": lambda out: torch.linalg.inv(torch.eye(2), out=out),
    "linalg.det": lambda out: torch.linalg.det(torch.eye(2), out=out),
    "linalg.solve": lambda out: torch.linalg.solve(torch.eye(2), x(2), out=out),
    "linalg.norm": lambda out: torch.linalg.norm(x(3), out=out),
    "linalg.vector_norm": lambda out: torch.linalg.vector_norm(x(3), out=out),
    "linalg.matrix_norm": lambda out: torch.linalg.matrix_norm(x(2, 2), out=out),
    "linalg.svdvals": lambda out: torch.linalg.svdvals(torch.eye(2), out=out),
    "linalg.cholesky": lambda out: torch.linalg.cholesky(torch.eye(2), out=out),
    "linalg.vecdot": lambda out: torch.linalg.vecdot(x(3), x(3), out=out),
    "slice_scatter": lambda out: torch.slice_scatter(x(3), x(1), 0, 0, 1, out=out),
    "histc": lambda out: torch.histc(x(3), 4, out=out),
    "view_copy": lambda out: torch.view_copy(x(4), (2, 2), out=out),
}


@pytest.mark.parametrize("name", OWN)
def test_out_of_the_results_own_dtype(name):
    call = OWN[name]
    dtype = call(None).dtype
    assert call(torch.empty(0, dtype=dtype)).tolist() == call(None).tolist()
    for other in {torch.complex128, torch.float64, torch.int32, torch.float16} - {dtype}:
        with pytest.raises(RuntimeError):
            call(torch.empty(0, dtype=other))


WIDER = {
    "add": lambda out: torch.add(x(3), x(3), alpha=2, out=out),
    "sub": lambda out: torch.sub(x(3), x(3), out=out),
    "addcmul": lambda out: torch.addcmul(x(3), x(3), x(3), out=out),
    "addr": lambda out: torch.addr(x(3, 2), x(3), x(2), out=out),
    "max": lambda out: torch.max(x(3), out=out),
    "max of two": lambda out: torch.max(x(3), x(3), out=out),
    "clamp between tensors": lambda out: torch.clamp(x(3), x(3), x(3), out=out),
    "diff": lambda out: torch.diff(x(3), out=out),
    "ldexp": lambda out: torch.ldexp(x(3), x(3), out=out),
    "logsumexp": lambda out: torch.logsumexp(x(3), 0, out=out),
    "square": lambda out: torch.square(x(3), out=out),
    "outer": lambda out: torch.outer(x(3), x(2), out=out),
    "linalg.pinv": lambda out: torch.linalg.pinv(torch.eye(2), out=out),
    "linalg.matrix_rank": lambda out: torch.linalg.matrix_rank(torch.eye(2), out=out),
    "fft.fft": lambda out: torch.fft.fft(x(3), out=out),
    "fft.rfft": lambda out: torch.fft.rfft(x(3), out=out),
}


@pytest.mark.parametrize("name", WIDER)
def test_out_of_a_wider_dtype(name):
    out = torch.empty(0, dtype=torch.complex128)
    assert WIDER[name](out) is out
    assert torch.allclose(out, WIDER[name](None).to(torch.complex128))


MADE = {
    "full": lambda **given: torch.full((2,), 1.0, **given),
    "zeros": lambda **given: torch.zeros(2, **given),
    "ones": lambda **given: torch.ones(2, **given),
    "empty": lambda **given: torch.empty(2, **given),
    "eye": lambda **given: torch.eye(2, **given),
    "arange": lambda **given: torch.arange(2, **given),
    "linspace": lambda **given: torch.linspace(0, 1, 2, **given),
    "logspace": lambda **given: torch.logspace(0, 1, 2, **given),
}


@pytest.mark.parametrize("name", MADE)
def test_out_of_what_makes_tensors(name):
    make = MADE[name]
    assert make(out=torch.empty(0, dtype=torch.float64)).dtype == torch.float64
    assert make(out=torch.empty(0), dtype=torch.float32).dtype == torch.float32
    with pytest.raises(RuntimeError, match="does not match dtype of out parameter"):
        make(out=torch.empty(0, dtype=torch.float64), dtype=torch.float32)
