"""Dtypes of results of integers and truth values, as PyTorch 2.15 has them: which sums are of int64, and which are not."""

import pytest
import weft.torch as torch

INTEGERS = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64]


def ones(dtype, *shape):
    return torch.ones(shape, dtype=dtype)


# ---- masked cumulative sums have the input's dtype ---------------------------------------------------------------


@pytest.mark.parametrize("dtype", [*INTEGERS, torch.float16, torch.bfloat16, torch.float32, torch.complex64])
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_masked_cumulative(name, dtype):
    function = getattr(torch.masked, name)
    given = torch.tensor([[1, 2], [3, 4], [5, 6]]).to(dtype)
    mask = torch.tensor([[True, False], [True, True], [False, True]])
    found = function(given, 0)
    assert found.dtype == dtype
    assert found.real.tolist() == (
        [[1, 2], [4, 6], [9, 12]] if name == "cumsum" else [[1, 2], [3, 8], [15, 48]]
    )
    masked = function(given, 0, mask=mask).real.tolist()
    assert masked == ([[1, 0], [4, 4], [4, 10]] if name == "cumsum" else [[1, 1], [3, 4], [3, 24]])
    assert function(given, 0, dtype=torch.complex128).dtype == torch.complex128


def test_masked_cumulative_in_so_few_bits():
    assert torch.masked.cumsum(torch.tensor([100, 100], dtype=torch.int8), 0).tolist() == [100, -56]
    assert torch.masked.cumsum(torch.tensor([True, True]), 0, dtype=torch.int64).tolist() == [1, 2]
    with pytest.raises(NotImplementedError, match="not implemented for 'Bool'"):
        torch.masked.cumsum(torch.tensor([True, True]), 0)


# ---- einsum ------------------------------------------------------------------------------------------------------

# (equation, shapes, whether sums of small integers are of int64)
EINSUMS = [
    ("ij->ij", [(2, 3)], False),
    ("ij->ji", [(2, 3)], False),
    ("ij->i", [(2, 3)], True),
    ("ij->i", [(2, 1)], True),
    ("ii", [(3, 3)], True),
    ("ii->i", [(3, 3)], False),
    ("...j->...", [(2, 3)], True),
    ("ij,ij->i", [(2, 3), (2, 3)], False),
    ("ij,jk->ik", [(2, 3), (3, 4)], False),
    ("ij,i->i", [(2, 3), (2,)], True),
    ("ij,ik->i", [(2, 3), (2, 4)], True),
    ("ij,j->i", [(2, 3), (1,)], True),
    ("i,j->ij", [(2,), (3,)], False),
    ("...j,j->...", [(2, 3), (3,)], False),
    ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)], False),
]


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize(("equation", "shapes", "is_wide"), EINSUMS)
def test_einsum(equation, shapes, is_wide, dtype):
    given = [ones(dtype, *shape) for shape in shapes]
    found = torch.einsum(equation, *given)
    assert found.dtype == (torch.int64 if is_wide else dtype)
    assert found.tolist() == torch.einsum(equation, *(each.double() for each in given)).tolist()


def test_einsum_of_sums_beside_products():
    """What is summed in int64 is multiplied as matrices with int64 only."""
    for equation, shapes in (("ij,kj->k", [(2, 3), (2, 3)]), ("ij,jk,kl->i", [(2, 3), (3, 4), (4, 5)])):
        given = [ones(torch.int64, *shape) for shape in shapes]
        assert torch.einsum(equation, *given).dtype == torch.int64
        with pytest.raises(RuntimeError, match="expected scalar type"):
            torch.einsum(equation, *(each.to(torch.int8) for each in given))


def test_einsum_of_truth_values_and_kinds():
    assert torch.einsum("i,j->ij", ones(torch.bool, 2), ones(torch.bool, 3)).dtype == torch.bool
    assert torch.einsum("i->", ones(torch.bool, 2)).dtype == torch.int64
    with pytest.raises(NotImplementedError, match="Bool"):
        torch.einsum("i,i->", ones(torch.bool, 2), ones(torch.bool, 2))
    assert torch.einsum("i,j->", ones(torch.int8, 2), ones(torch.float32, 3)).dtype == torch.float32
    with pytest.raises(RuntimeError, match="expected scalar type"):
        torch.einsum("i,i->", ones(torch.int8, 2), ones(torch.float32, 2))
    assert (
        torch.einsum("ij,jk->ik", ones(torch.int8, 2, 200), ones(torch.int8, 200, 2)).tolist()
        == [[-56] * 2] * 2
    )


# ---- tensordot, sum_to_size --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [*INTEGERS, torch.float16, torch.float32])
def test_tensordot(dtype):
    a = ones(dtype, 2, 3)
    assert torch.tensordot(a, a.t(), 1).dtype == torch.tensordot(a, a, 2).dtype == dtype
    assert torch.tensordot(a, a, 0).dtype == torch.tensordot(a, a, ([0, 1], [0, 1])).dtype == dtype
    beside_one = torch.tensordot(a, ones(dtype, 1, 3), ([0], [0]))
    assert beside_one.dtype == dtype and beside_one.tolist() == [[2] * 3] * 3
    assert torch.tensordot(ones(dtype, 1, 3), a, ([0], [0])).dtype == dtype


@pytest.mark.parametrize("dtype", [torch.bool, *INTEGERS])
def test_sum_to_size(dtype):
    a = ones(dtype, 2, 3)
    assert a.sum_to_size(2, 3).dtype == dtype and ones(dtype, 1, 3).sum_to_size(1, 3).dtype == dtype
    for size in ((1, 3), (2, 1), (3,), (1,), ()):
        assert a.sum_to_size(size).dtype == torch.int64
    assert torch.tensor(1, dtype=dtype).sum_to_size(()).dtype == torch.int64
    assert ones(dtype, 1, 1).sum_to_size(1).dtype == torch.int64
    assert torch.tensor(1.5).sum_to_size(()).item() == 1.5
