"""Sparse tensors in coordinate format, beside the dense tensors that they stand for."""

import pytest
import weft
import weft.torch as torch

INDICES = [[0, 1, 1, 0], [2, 0, 2, 2]]  # (0, 2) twice
DENSE = torch.tensor([[0.0, 0.0, 9.0], [4.0, 0.0, 5.0]])
OTHER = torch.tensor([[1.0, 2.0], [-3.0, 0.5], [4.0, -1.0]])


def matrix(dtype=torch.float32):
    return torch.sparse_coo_tensor(torch.tensor(INDICES), torch.tensor([3.0, 4, 5, 6], dtype=dtype), (2, 3))


def test_what_a_sparse_tensor_is():
    s = matrix()
    assert s.shape == (2, 3) and s.dtype is torch.float32 and s.layout == torch.sparse_coo and s.is_sparse
    assert s._nnz() == 4 and s.sparse_dim() == 2 and s.dense_dim() == 0 and not s.is_coalesced()
    assert torch.equal(s.to_dense(), DENSE)
    once = s.coalesce()
    assert once.indices().tolist() == [[0, 1, 1], [2, 0, 2]] and once.values().tolist() == [9, 4, 5]
    assert once.coalesce() is once
    with pytest.raises(RuntimeError, match="uncoalesced"):
        s.indices()


@pytest.mark.parametrize(
    "multiply", [torch.spmm, torch.mm, torch.matmul, torch.sparse.mm, lambda a, b: a @ b]
)
def test_products_with_dense_matrices(multiply):
    assert torch.equal(multiply(matrix(), OTHER), DENSE @ OTHER)
    assert torch.equal(multiply(OTHER.t(), matrix().t()), OTHER.t() @ DENSE.t())
    with pytest.raises(RuntimeError, match="does not fit"):
        multiply(matrix(), OTHER.t())
    with pytest.raises(TypeError, match="one dtype"):
        matrix() @ OTHER.double()


def test_products_with_vectors_and_sums():
    assert torch.equal(torch.mv(matrix(), OTHER[:, 0]), DENSE @ OTHER[:, 0])
    ones = torch.ones(2, 2)
    assert torch.equal(torch.sparse.addmm(ones, matrix(), OTHER, beta=2), 2 * ones + DENSE @ OTHER)
    assert torch.sparse.sum(matrix()).item() == 18
    assert torch.sparse.sum(matrix(), 0).to_dense().tolist() == [4, 0, 14]


def test_arithmetic():
    s = matrix()
    for result, dense in (
        (s * 2, DENSE * 2),
        (s / 2, DENSE / 2),
        (-s, -DENSE),
        (s + s, DENSE * 2),
        (s - s * 3, DENSE * -2),
        (s * (DENSE + 1), DENSE * (DENSE + 1)),
        (s.t(), DENSE.t()),
    ):
        assert result.is_sparse and torch.equal(result.to_dense(), dense)
    assert torch.equal(torch.add(torch.ones(2, 3), s), DENSE + 1)
    assert torch.equal(s + torch.ones(2, 3), DENSE + 1)
    with pytest.raises(TypeError, match="to_dense"):
        torch.exp(s)


def test_from_dense_tensors():
    s = DENSE.to_sparse()
    assert s.is_coalesced() and s.indices().tolist() == [[0, 1, 1], [2, 0, 2]]
    rows = DENSE.to_sparse(1)
    assert rows.sparse_dim() == 1 and rows.dense_dim() == 1 and torch.equal(rows.to_dense(), DENSE)
    assert torch.zeros(2, 3).to_sparse()._nnz() == 0
    assert torch.equal(torch.zeros(2, 3).to_sparse() @ OTHER, torch.zeros(2, 2))


def test_sizes():
    assert torch.sparse_coo_tensor(INDICES, [1.0, 2, 3, 4]).shape == (2, 3)
    assert torch.sparse_coo_tensor([[1]], torch.ones(1, 4)).shape == (2, 4)
    assert torch.sparse_coo_tensor([[0]], torch.ones(1, 4), (3, 4)).to_dense()[0].tolist() == [1, 1, 1, 1]
    assert torch.sparse_coo_tensor(size=(2, 3), indices=(2, 3)).to_dense().tolist() == [[0, 0, 0]] * 2
    for size in ((2, 2), (1, 3), (2,), (2, 3, 1)):
        with pytest.raises(RuntimeError, match="size"):
            torch.sparse_coo_tensor(INDICES, [1.0, 2, 3, 4], size)
    with pytest.raises(RuntimeError, match="do not fit"):
        torch.sparse_coo_tensor(INDICES, [1.0, 2, 3])
    with pytest.raises(RuntimeError, match="-1"):
        torch.sparse_coo_tensor([[-1]], [1.0], (2,))


def test_buffers_and_whole_graphs():
    class Convolution(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(OTHER.clone())
            self.register_buffer("adjacency", matrix(), persistent=False)

        def forward(self, x, adjacency):
            return torch.spmm(adjacency, torch.mm(x, self.weight)), self.adjacency @ x

    model = Convolution().eval()
    x = torch.arange(9.0).reshape(3, 3)
    compiled = torch.compile(model, fullgraph=True)
    for again in range(2):
        adjacency = matrix() * (again + 1)
        for result, expected in zip(compiled(x, adjacency), model(x, adjacency), strict=True):
            assert torch.equal(result, expected)
    assert model.double().adjacency.dtype is weft.float64
    with pytest.raises(TypeError, match="expected a tensor"):
        model.register_buffer("other", 3)
