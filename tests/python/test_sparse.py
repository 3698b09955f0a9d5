"""weft.sparse: 2:4 pruning, compressed weights and their products, PyTorch's metadata, and what is wrong."""

import copy
import json
import pathlib

import numpy as np
import pytest
import weft
from weft.sparse import SparseSemiStructuredTensor, prune, prune_, sparsify_, to_sparse_semi_structured

RANDOM = np.random.default_rng(2)


def weight_of(rows, columns, dtype=weft.float32):
    return weft.from_numpy(RANDOM.standard_normal((rows, columns)).astype(np.float32)).to(dtype)


def pruned_by_hand(array):
    result = array.copy()
    for block in result.reshape(-1, 4):
        order = sorted(
            range(4), key=lambda place: (np.inf if np.isnan(block[place]) else block[place] ** 2, place)
        )
        block[order[:2]] = 0
    return result


def test_pruning():
    for rows, columns in ((3, 8), (1, 4), (0, 8), (5, 0), (2, 64)):
        array = RANDOM.integers(-3, 4, (rows, columns)).astype(np.float32)
        np.testing.assert_array_equal(prune(weft.from_numpy(array)).numpy(), pruned_by_hand(array))
    ties = weft.tensor(
        [[1.0, -1.0, 1.0, 1.0], [2.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 3.0], [1.0, 5.0, -1.0, 5.0]]
    )
    assert prune(ties).tolist() == [[0, 0, 1, 1], [2, 0, 0, 1], [0, 0, 0, 3], [0, 5, 0, 5]]
    nan = prune(weft.tensor([[float("nan"), 9.0, 1.0, float("nan")], [float("nan"), 2.0, 1.0, float("inf")]]))
    np.testing.assert_array_equal(nan.numpy(), [[np.nan, 0, 0, np.nan], [np.nan, 0, 0, np.inf]])
    tiny = prune(weft.tensor([[1e-30, 2e-30, 3e-30, 4e-30]]))  # squares that float32 does not have
    assert tiny.tolist()[0][:2] == [0, 0] and tiny.tolist()[0][2] > 0
    assert prune(weight_of(2, 8, weft.bfloat16)).dtype == weft.bfloat16
    compiled = weft.compile(prune, fullgraph=True)
    np.testing.assert_array_equal(compiled(ties).numpy(), prune(ties).numpy())


def test_compressed_and_back():
    for dtype in (weft.float32, weft.bfloat16):
        for rows, columns in ((1, 8), (3, 16), (5, 24), (0, 8), (33, 64)):
            dense = prune(weight_of(rows, columns, dtype))
            sparse = to_sparse_semi_structured(dense)
            assert tuple(sparse.shape) == (rows, columns) and sparse.dtype == dtype
            assert tuple(sparse.values.shape) == (rows, columns // 2) and sparse.values.dtype == dtype
            assert tuple(sparse.positions.shape) == (rows, columns // 8)
            assert sparse.to_dense().tolist() == dense.tolist()
    fewer = weft.tensor([[0.0, 0, 0, 0, 0, 0, 5, 0], [1, 0, 0, 0, 0, 2, 0, 0]])
    assert to_sparse_semi_structured(fewer).to_dense().tolist() == fewer.tolist()


@pytest.mark.parametrize("dtype", [weft.float32, weft.bfloat16])
@pytest.mark.parametrize("columns", [8, 16, 24, 128, 1000])
def test_products(dtype, columns):
    dense = prune(weight_of(37, columns, dtype))
    sparse = to_sparse_semi_structured(dense)
    bias = weight_of(1, 37, dtype)[0]
    tolerance = 1e-5 if dtype == weft.float32 else 1e-2
    threads = weft.get_num_threads()
    for rows in (0, 1, 3, 4, 7, 8, 9, 12, 16, 17, 40):  # both sides of what the kernels take at once
        x = weight_of(rows, columns, dtype)
        exact = x.to(weft.float64) @ dense.to(weft.float64).T
        for given in (None, bias):
            wanted = exact if given is None else exact + given.to(weft.float64)
            for count in (1, 2):
                weft.set_num_threads(count)
                found = weft.nn.functional.linear(x, sparse, given)
                assert found.dtype == dtype
                scale = max(1.0, columns**0.5)
                np.testing.assert_allclose(
                    found.to(weft.float64).numpy(), wanted.numpy(), rtol=tolerance, atol=tolerance * scale
                )
    weft.set_num_threads(threads)
    x = weight_of(6, columns, dtype).reshape(2, 3, columns)
    assert tuple(sparse.linear(x).shape) == (2, 3, 37)
    assert sparse.linear(weight_of(columns, 2, dtype).T).tolist() is not None
    kept = to_sparse_semi_structured(dense, keep_dense=True)
    x = weight_of(40, columns, dtype)
    assert kept.linear(x).tolist() == weft.linear(x, dense).tolist()


def test_models_and_their_state():
    def make():
        return weft.nn.Sequential(
            weft.nn.Linear(24, 40), weft.nn.GELU(), weft.nn.Linear(40, 12), weft.nn.Linear(12, 3)
        )

    model = prune_(make())
    with pytest.raises(ValueError, match="sparsify_: 0: .*row .* at most 2 of 4"):
        sparsify_(make())
    x, many = weight_of(2, 24), weight_of(20, 24)
    expected = [model(one).numpy() for one in (x, many)]
    for keep_dense in (True, False):
        sparse = sparsify_(copy.deepcopy(model), keep_dense=keep_dense)
        assert [type(one).__name__ for one in sparse] == ["SparseLinear", "GELU", "SparseLinear", "Linear"]
        compiled = weft.compile(sparse, fullgraph=True)
        for one, wanted in zip((x, many), expected):
            np.testing.assert_allclose(sparse(one).numpy(), wanted, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(compiled(one).numpy(), wanted, rtol=1e-5, atol=1e-6)
        state = sparse.state_dict()
        assert {"0.values", "0.positions", "0.bias"} == {name for name in state if name.startswith("0.")}
        other = sparsify_(prune_(make()), keep_dense=keep_dense)
        other.load_state_dict(state)
        for one, wanted in zip((x, many), expected):
            np.testing.assert_allclose(other(one).numpy(), wanted, rtol=1e-5, atol=1e-6)
    some = sparsify_(copy.deepcopy(model), accepts=lambda name, module: name == "2")
    assert [type(one).__name__ for one in some] == ["Linear", "GELU", "SparseLinear", "Linear"]


@pytest.mark.parametrize("keep_dense", [False, True])
def test_with_dynamic_int8(keep_dense):
    from weft.quantization import int8_dynamic_activation_int8_weight, int8_weight_only, quantize_

    def make():
        return weft.nn.Sequential(
            weft.nn.Linear(24, 40), weft.nn.GELU(), weft.nn.Linear(40, 12), weft.nn.Linear(12, 3)
        )

    model = prune_(make())
    dense = copy.deepcopy(model)
    quantize_(dense, int8_dynamic_activation_int8_weight())
    sparse = sparsify_(copy.deepcopy(model), keep_dense=keep_dense)
    unchanged = copy.deepcopy(sparse)
    quantize_(unchanged, int8_weight_only())
    assert [type(unchanged[i]).__name__ for i in (0, 3)] == ["SparseLinear", "Int8Linear"]
    quantize_(sparse, int8_dynamic_activation_int8_weight())
    names = ["SparseInt8Linear", "GELU", "SparseInt8Linear", "DynamicInt8Linear"]
    assert [type(one).__name__ for one in sparse] == names
    assert {"0.values", "0.positions", "0.scales", "0.bias"} == {
        x for x in sparse.state_dict() if x[:2] == "0."
    }
    assert sparse[0].values.dtype == weft.int8 and tuple(sparse[0].values.shape) == (40, 12)
    other = sparsify_(prune_(make()), keep_dense=keep_dense)
    quantize_(other, int8_dynamic_activation_int8_weight())
    other.load_state_dict(sparse.state_dict())
    for rows in (1, 2, 17):  # the numbers are the dense int8 model's
        x = weight_of(rows, 24)
        for found in (sparse, weft.compile(sparse, fullgraph=True), other):
            np.testing.assert_allclose(found(x).numpy(), dense(x).numpy(), rtol=1e-6, atol=1e-6)
    half, x = copy.deepcopy(sparse).to(weft.bfloat16), weight_of(3, 24, weft.bfloat16)
    assert half[0].scales.dtype == weft.float32 and half(x).dtype == weft.bfloat16
    np.testing.assert_allclose(
        half(x).to(weft.float32).numpy(), dense(x.to(weft.float32)).numpy(), rtol=0.1, atol=0.05
    )


def test_pytorchs_metadata():
    """values and metadata that PyTorch 2.15's sparse_semi_structured_from_dense_cutlass gives."""
    recorded = json.loads((pathlib.Path(__file__).parent / "sparse_cutlass.json").read_text())
    dense = weft.tensor(recorded["dense"]).to(weft.bfloat16)
    sparse = to_sparse_semi_structured(dense)
    values, metadata = sparse.to_cutlass()
    assert values.to(weft.int32).tolist() == recorded["values"]
    assert metadata.dtype == weft.int16 and metadata.tolist() == recorded["meta"]
    back = SparseSemiStructuredTensor.from_cutlass(values, metadata)
    assert back.to_dense().tolist() == dense.tolist()


def test_what_is_wrong():
    sparse = to_sparse_semi_structured(prune(weight_of(32, 64, weft.bfloat16)))
    values, metadata = sparse.to_cutlass()
    ones = weft.ones(4, 8)
    for call, error, message in (
        (lambda: prune(weft.ones(8)), ValueError, r"a weight \[n, k\]"),
        (lambda: prune(weft.ones(2, 6)), ValueError, "multiple of 4"),
        (lambda: prune(weft.ones(2, 8, dtype=weft.int32)), TypeError, "floating"),
        (
            lambda: to_sparse_semi_structured(ones),
            ValueError,
            "row 0 has 4 elements other than zero at 0 to 3",
        ),
        (lambda: to_sparse_semi_structured(weft.zeros(2, 12)), ValueError, "multiple of 8"),
        (
            lambda: to_sparse_semi_structured(weft.zeros(2, 8, dtype=weft.float64)),
            TypeError,
            "float32 or bfloat16",
        ),
        (lambda: sparse.linear(weft.ones(2, 32).to(weft.bfloat16)), ValueError, "expected x"),
        (lambda: sparse.linear(weft.ones(2, 64), weft.ones(3)), ValueError, r"expected bias \[n\]"),
        (lambda: weft.add(sparse, sparse), TypeError, "to_dense"),
        (
            lambda: SparseSemiStructuredTensor(values, weft.zeros(32, 8, dtype=weft.uint8)),
            ValueError,
            r"\[0, 0\] are not two",
        ),
        (
            lambda: SparseSemiStructuredTensor.from_cutlass(values, metadata[:, :2]),
            ValueError,
            "expected metadata int16",
        ),
        (
            lambda: SparseSemiStructuredTensor.from_cutlass(values, metadata * 0),
            ValueError,
            "not two of each four",
        ),
        (
            lambda: to_sparse_semi_structured(weft.zeros(3, 16).to(weft.bfloat16)).to_cutlass(),
            ValueError,
            "multiple of 32",
        ),
        (lambda: to_sparse_semi_structured(weft.zeros(32, 16)).to_cutlass(), TypeError, "1:2 only"),
        (
            lambda: weft.sparse_linear(weft.ones(2, 16), weft.ones(3, 8), weft.ones(3, 2)),
            TypeError,
            "lanes of uint8",
        ),
    ):
        with pytest.raises(error, match=message):
            call()
