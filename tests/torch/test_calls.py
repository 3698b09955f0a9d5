"""Calls that PyTorch 2.15 was asked for its answer: results, dtypes, names of results and the classes of errors."""

import numpy as np
import pytest
import weft.torch as torch

F = torch.nn.functional


def near(value, expected, tolerance=1e-5):
    expected = torch.tensor(expected, dtype=value.dtype)
    assert value.shape == expected.shape
    assert torch.allclose(torch.view_as_real(value) if value.is_complex() else value,
                          torch.view_as_real(expected) if expected.is_complex() else expected, tolerance, 1e-6)  # fmt: skip


def x():
    return torch.arange(20.0).reshape(4, 5)


C = torch.tensor([[1 + 2j, 3 - 1j], [0.5j, -1 + 0j]])


# ---- which of equal elements comes -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "k", "options", "expected"),
    [
        ([3, 1, 3, 2, 3], 2, {}, [2, 4]),
        ([1, 1, 1, 1], 3, {}, [2, 3, 0]),
        ([2, 2, 1, 1, 2, 1], 4, {}, [0, 4, 1, 5]),
        ([2, 2, 1, 1, 2, 1], 4, {"largest": False}, [3, 5, 2, 4]),
        ([1.0, float("nan"), 2.0, float("nan")], 3, {}, [1, 3, 2]),
    ],
)
def test_topk_of_equal_elements(values, k, options, expected):
    given = torch.tensor(values)
    found = torch.topk(given, k, **options)
    assert found.indices.tolist() == expected
    assert torch.compile(lambda v: torch.topk(v, k, **options))(given).indices.tolist() == expected


def test_topk_of_few_among_many():
    given = torch.arange(400) % 7
    assert torch.topk(given, 3).indices.tolist() == [20, 13, 6]
    assert torch.topk(given, 6).values.tolist() == [6] * 6 and torch.topk(given, 7).values.tolist() == [6] * 7
    assert torch.topk(given, 0).values.shape == (0,) and torch.topk(torch.tensor(3), 1).indices.tolist() == 0


def test_kthvalue_of_equal_elements():
    given = torch.tensor([[2, 1, 2, 1, 1], [0, 0, 0, 0, 0], [3, 2, 1, 2, 3]])
    for k, expected in enumerate([[4, 3, 2], [3, 2, 3], [1, 0, 1], [0, 1, 0], [2, 4, 4]], 1):
        assert torch.kthvalue(given, k).indices.tolist() == expected
        assert (
            torch.compile(lambda v, k=k: torch.kthvalue(v, k, 1, True))(given).indices.flatten().tolist()
            == expected
        )
    assert torch.kthvalue(given, 2, 0).values.tolist() == [2, 1, 1, 1, 1]
    assert torch.kthvalue(torch.tensor(7), 1).indices.tolist() == 0
    assert torch.kthvalue(torch.tensor([1.0, float("nan"), 0.0]), 3).indices.tolist() == 1


# ---- indexing ----------------------------------------------------------------------------------------------------


def test_lists_that_hold_sequences_are_tuples():
    assert x()[[[0, 1], [1, 0]]].tolist() == [1.0, 5.0]
    assert x()[[slice(0, 2), 1]].tolist() == [1.0, 6.0]
    assert x()[[torch.tensor(1), torch.tensor(2)]].tolist() == 7.0
    assert x()[[0, None]].shape == (1, 5) and x()[[0, ...]].shape == (5,)
    assert x()[[0, 2]].shape == (2, 5) and x()[[]].shape == (0, 5)
    assert x()[..., ...].shape == (4, 5) and x()[..., 0, ...].shape == (4,)


@pytest.mark.parametrize("index", [slice(None, None, -1), (slice(None), slice(None, None, -2))])
def test_slices_backwards_are_refused(index):
    with pytest.raises(ValueError, match="step"):
        x()[index]
    with pytest.raises(ValueError, match="step"):
        torch.compile(lambda v: v[index])(x())
    given = x()
    with pytest.raises(ValueError, match="step"):
        given[index] = 0


@pytest.mark.parametrize("index", [0, (0, 1), slice(1, 3), [0, 1], ..., None, False])
@pytest.mark.parametrize(
    "value", [[1.0], (1.0,), range(5), "a", None, np.float32(1), np.bool_(True), np.ones(5)]
)
def test_what_is_no_number_and_no_tensor_is_not_assigned(index, value):
    given = x()
    with pytest.raises(TypeError, match="cannot be assigned"):
        given[index] = value
    assert given.equal(x())


def test_what_is_assigned():
    given = x()
    given[0], given[1], given[2, 0] = np.int8(3), np.float64(0.5), True
    given[False] = torch.zeros(7)
    given[3] = torch.full((5,), 2 + 3j)
    assert given[:, 0].tolist() == [3.0, 0.5, 1.0, 2.0]
    for index in ([0, 1], torch.tensor([0, 1]), x() > 3):
        with pytest.raises(RuntimeError, match="dtype"):
            given[index] = torch.tensor([1, 2, 3, 4, 5])
    given[x() > 3] = torch.tensor(7)
    given[True] = torch.zeros(1, dtype=torch.int64) + given.long()
    given[[], [0]] = torch.tensor([1, 2])[:1]
    given[[False, True, False, False]] = torch.tensor(7)
    assert given[1].tolist() == [7.0] * 5
    with pytest.raises(RuntimeError, match="number"):
        given.fill_(torch.ones(2))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("value", [0, 1, 2, 9])
def test_a_uint8_of_no_dimensions_is_a_mask(value, compiled):
    def read(x, at):
        return x[at]

    def write(x, at):
        x[at] = -1.0
        return x

    if compiled:
        read, write = torch.compile(read), torch.compile(write)
    at, whole = torch.tensor(value, dtype=torch.uint8), torch.arange(6.0).reshape(3, 2)
    assert read(whole, at).shape == (int(value > 0), 3, 2)
    assert torch.equal(write(whole.clone(), at), torch.full((3, 2), -1.0) if value else whole)
    assert read(np.arange(12.0), np.array(value, np.uint8)) == value  # NumPy's are indices


def test_masks_of_uint8():
    mask = torch.tensor([0, 1, 0, 1], dtype=torch.uint8)

    def rows(v, mask):
        v[mask] = 0
        return v

    assert x()[mask].tolist() == [[5.0, 6, 7, 8, 9], [15, 16, 17, 18, 19]]
    assert torch.compile(rows)(x(), mask).sum().item() == rows(x(), mask).sum().item() == 70


def test_matmul_in_place_makes_another_tensor():
    given = other = torch.ones(2, 2)
    given @= torch.ones(2, 3)
    assert given.shape == (2, 3) and other.shape == (2, 2) and other.sum().item() == 4
    with pytest.raises(TypeError):
        other @= 2

    def function(a, b):
        c = a
        c @= b
        return c, a

    assert [r.shape for r in torch.compile(function)(torch.ones(2, 2), torch.ones(2, 3))] == [(2, 3), (2, 2)]


# ---- complex numbers ---------------------------------------------------------------------------------------------


def test_logarithms_of_sums_of_complex_numbers():
    real = torch.tensor([[1.0, 2], [3, 4]])
    near(
        torch.logaddexp(C, real),
        [[1.077521 + 1j, 3.21357 - 0.747289j], [3.043026 + 0.022866j, 4.006715 + 0j]],
        1e-4,
    )
    near(torch.logsumexp(C, 1), [2.856395 - 0.97795j, 0.288594 + 0.367455j], 1e-4)
    near(torch.logcumsumexp(C, 0), [[1 + 2j, 3 - 1j], [1.085875 + 1.656526j, 3.009964 - 0.98474j]], 1e-4)
    infinite = torch.tensor([complex(-float("inf"), 1), complex(-float("inf"), 0)])
    assert torch.logaddexp(infinite[0], infinite[1]).real.item() == -float("inf")


def test_complex_numbers_in_place():
    given = torch.tensor([1 + 2j, 3 - 1j])
    assert given.ldexp_(torch.tensor([1.0, 2.0])).tolist() == [2 + 4j, 12 - 4j]
    assert torch.tensor([2j]).lerp_(torch.tensor([4 + 0j]), 0.25).tolist() == [1 + 1.5j]


# ---- arguments in other forms ------------------------------------------------------------------------------------


def test_other_forms_of_arguments():
    assert x().count_nonzero(0, True).item() == 19 and torch.count_nonzero(x(), dim=0).tolist() == [
        3,
        4,
        4,
        4,
        4,
    ]
    assert torch.zeros(1, 1, 3).squeeze_(0, 1).shape == (3,)
    assert torch.tensordot(torch.ones(1, 1, 1), torch.ones(2, 1, 2), ([0, 1], [2, 0])).tolist() == [[4.0]]
    whole = torch.ones(2, 2, dtype=torch.int64)
    assert torch.addmv(whole[0], whole, whole[0], beta=0.2, alpha=1.6).tolist() == [2, 2]
    assert F.dropout(whole, 1).tolist() == [[0, 0], [0, 0]]
    assert (
        torch.rand(2, requires_grad=True).requires_grad
        and torch.randn_like(x(), requires_grad=True).requires_grad
    )
    assert (torch.tensor([True, False]).heaviside_(torch.tensor([False, True]))).tolist() == [True, True]
    near(
        torch.ones(1, dtype=torch.float16).nextafter_(torch.full((1,), 2.0, dtype=torch.float16)),
        [1.0009765625],
    )
    assert (
        x().index([2, 3], 7).item() == 7
        and x().index([1, 2], 1).item() == 5
        and x().index(5, 4).tolist() == [4.0, 9, 14, 19]
    )


def test_losses_at_their_edges():
    zero = torch.tensor(0.0)
    assert F.kl_div(zero, zero + 1, reduction="batchmean").item() == 0
    assert F.gaussian_nll_loss(torch.ones(4, 3), torch.zeros(4, 3), torch.ones(1, 3)).item() == 0.5
    small = torch.tensor([5, 250], dtype=torch.uint8)
    assert torch.hinge_embedding_loss(small, torch.tensor([0, 1])).tolist() == [1, 250]
    assert torch.normal(torch.zeros(2), torch.tensor([0, 0])).tolist() == [0, 0]


def test_copies_of_views_are_contiguous():
    assert torch.t_copy(x()).stride() == (4, 1) and torch.transpose_copy(x(), 0, 1).is_contiguous()
    assert torch.permute_copy(torch.zeros(2, 3, 4), (2, 0, 1)).stride() == (6, 3, 1)


def test_results_written_into_tensors_have_names_of_their_own():
    out = torch.zeros(4), torch.zeros(4, dtype=torch.int64)
    found = torch.max(x(), 1, out=out)
    assert type(found).__name__ == "max_out" and found.values is out[0]
    assert (
        type(torch.sort(x(), out=(torch.zeros(0), torch.zeros(0, dtype=torch.int64)))).__name__ == "sort_out"
    )
    assert (
        type(torch.linalg.qr(torch.eye(2), out=(torch.zeros(2, 2), torch.zeros(2, 2)))).__name__
        == "linalg_qr_out"
    )
    assert repr(found).startswith("torch.return_types.max_out(\nvalues=")


def test_names_of_types():
    assert torch.typename(torch.float32) == "torch.dtype"
    assert torch.typename(torch.nn.Linear(1, 1)) == "torch.nn.modules.linear.Linear"


# ---- wrong calls -------------------------------------------------------------------------------------------------

INT, TRUE = torch.ones(2, 2, dtype=torch.int64), torch.ones(2, 2, dtype=torch.bool)


@pytest.mark.parametrize(
    "call",
    [
        *[
            lambda f=f: f(INT)
            for f in (F.celu, F.elu, F.selu, F.silu, F.gelu, F.mish, F.hardswish, F.hardsigmoid)
        ],
        *[lambda f=f: f(INT) for f in (F.leaky_relu, F.softplus, F.logsigmoid, F.hardshrink, F.softshrink)],
        *[lambda f=f: f(INT, INT) for f in (torch.hypot, torch.logaddexp, torch.logaddexp2, torch.igamma)],
        *[lambda f=f: f(TRUE) for f in (abs, torch.ceil, torch.floor, torch.trunc, torch.round, torch.trace)],
        lambda: INT.frac(),
        lambda: TRUE.argmax(),
        lambda: C.argmin(),
        lambda: TRUE.topk(1),
        lambda: torch.amax(C),
        lambda: torch.compile(lambda v: F.gelu(v))(INT),
    ],
)
def test_dtypes_that_are_not_implemented(call):
    with pytest.raises(NotImplementedError):
        call()


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: torch.arange(5, 1), RuntimeError),
        (lambda: torch.arange(0, -3, 2), RuntimeError),
        (lambda: torch.arange(0.0, 3.0, -0.5), RuntimeError),
        (lambda: torch.compile(lambda v: torch.arange(v.shape[0], 1))(x()), RuntimeError),
        (lambda: torch.range(3), TypeError),
        (lambda: torch.zeros(2, 3, 4).t(), RuntimeError),
        (lambda: torch.scalar_tensor([1, 2]), TypeError),
        (lambda: torch.vdot(x(), x()), RuntimeError),
        (lambda: torch.inner(x(), x().long()), RuntimeError),
        (lambda: torch.tensordot(x(), x().long()), RuntimeError),
        (lambda: x().float_power_(2), RuntimeError),
        (lambda: torch.fft.fft(x(), 2, True), TypeError),
        (lambda: F.kl_div(x(), INT), RuntimeError),
        (lambda: F.batch_norm(x(), None, None, training=True, eps=-1.0), ValueError),
        (lambda: F.cross_entropy(x(), x(), ignore_index=1), RuntimeError),
        (lambda: F.gaussian_nll_loss(torch.ones(4, 3), torch.zeros(4, 3), torch.ones(2, 3)), ValueError),
    ],
)
def test_wrong_calls(call, error):
    with pytest.raises(error):
        call()


# ---- captured ----------------------------------------------------------------------------------------------------


def test_captured_calls_that_ask_about_memory():
    given, other = x(), x()
    same = torch.compile(lambda a, b: a.is_set_to(b))
    for _ in range(3):
        assert same(given, given) is True and same(given, other) is False

    def grown(v):
        return v.resize_(5, 5).shape

    assert torch.compile(grown)(torch.ones(3)) == (5, 5)


def test_captured_truth_values_are_pythons():
    for function in (lambda a, b: torch.equal(a, b), lambda a, b: a.equal(b)):
        compiled = torch.compile(function)
        assert compiled(x(), x()) is True and compiled(x(), x() + 1) is False


# ---- windows of a tensor of no dimension, sums of products into what broadcasts ---------------------------------


@pytest.mark.parametrize("dim", [0, -1])
@pytest.mark.parametrize("is_compiled", [False, True])
def test_unfold_without_dimensions(dim, is_compiled):
    def unfold(x, size, step):
        return x.unfold(dim, size, step)

    given = torch.tensor(3.0)
    call = torch.compile(unfold) if is_compiled else unfold
    for step in (1, 2):
        assert call(given, 1, step).tolist() == [3.0] and call(given, 0, step).tolist() == []
    assert (torch.compile(lambda x: x.unfold(dim, 1, 1) * 2)(given)).tolist() == [6.0]
    assert given.unfold(dim, 1, 1).data_ptr() == given.data_ptr()
    for wrong, words in (
        ((dim, 2, 1), "maximum size"),
        ((dim, 1, 0), "step is 0"),
        ((dim, -1, 1), "size is -1"),
    ):
        with pytest.raises(RuntimeError, match=words):
            given.unfold(*wrong)
    for wrong in (1, -2):
        with pytest.raises(IndexError):
            given.unfold(wrong, 1, 1)


@pytest.mark.parametrize("shape", [(3, 5), (1, 5), (3, 1), (5,), (1,), ()])
@pytest.mark.parametrize("beta", [1, 0])
def test_addbmm_in_place_takes_the_results_shape(shape, beta):
    a, b = torch.ones(2, 3, 4), torch.ones(2, 4, 5)
    given = torch.ones(shape)
    found = given.addbmm_(a, b, beta=beta)
    assert found is given and given.tolist() == [[8.0 + beta] * 5] * 3
    assert torch.ones(shape).addbmm(a, b, beta=beta).tolist() == given.tolist()


@pytest.mark.parametrize("shape", [(1, 3, 5), (2, 3, 5), (4, 5), (2,)])
def test_addbmm_of_what_does_not_broadcast(shape):
    for name in ("addbmm", "addbmm_"):
        with pytest.raises(RuntimeError):
            getattr(torch.ones(shape), name)(torch.ones(2, 3, 4), torch.ones(2, 4, 5))


@pytest.mark.parametrize("name", ["addmm_", "addmv_", "addr_", "baddbmm_"])
@pytest.mark.parametrize("shape", [(1, 5), (5,), ()])
def test_other_products_in_place_keep_their_shape(name, shape):
    a, b = torch.ones(3, 4), torch.ones(4, 5)
    operands = {
        "addmm_": (a, b),
        "addmv_": (a, b[:, 0]),
        "addr_": (a[:, 0], b[0]),
        "baddbmm_": (a[None], b[None]),
    }
    with pytest.raises(RuntimeError):
        getattr(torch.ones(shape), name)(*operands[name])


def test_clamp_of_integers_between_what_they_do_not_hold():
    given = torch.tensor([5, 200], dtype=torch.uint8)
    assert given.clamp(min=-1).tolist() == given.clamp(min=-300, max=300).tolist() == [5, 200]
    assert given.clamp(-1, 100).tolist() == [5, 100] and given.clamp(min=-1).dtype == torch.uint8
    for bounds in ({"max": -1}, {"min": 256}):
        with pytest.raises(RuntimeError, match="outside the representable range"):
            given.clamp(**bounds)
    assert torch.tensor([-128, 127], dtype=torch.int8).clamp(-129, 128).tolist() == [-128, 127]


def test_isin_of_a_number_compares_in_the_tensors_dtype():
    halves = torch.tensor([0.1, 0.5], dtype=torch.float16)
    assert torch.isin(halves, 0.1).tolist() == [True, False] and bool(torch.isin(0.1, halves))
    assert torch.isin(halves, 0.1, invert=True).tolist() == [False, True]
    assert torch.isin(torch.tensor([1, 2]), 1.0).tolist() == [True, False]
