"""Names of PyTorch's private modules that published packages import."""

import math

import pytest
import weft.torch as torch
from weft.torch import _utils
from weft.torch.distributions import utils


def test_tensors_as_one():
    parts = [torch.arange(6.0).reshape(2, 3), torch.ones(1), torch.arange(4.0).reshape(2, 2).t()]
    flat = _utils._flatten_dense_tensors(parts)
    assert flat.tolist() == [0, 1, 2, 3, 4, 5, 1, 0, 2, 1, 3]
    again = _utils._unflatten_dense_tensors(flat, parts)
    assert all(torch.equal(a, b) for a, b in zip(again, parts, strict=True))
    flat.zero_()
    assert again[0].sum() == 0
    assert _utils._element_size(torch.float64) == 8 and _utils._get_device_index(3) == 3
    assert _utils._get_device_index("cuda:1") == 1 and _utils._get_device_index("cpu", allow_cpu=True) == -1
    with pytest.raises(ValueError, match="non cpu"):
        _utils._get_device_index("cpu")


def test_of_distributions():
    p = torch.tensor([0.0, 0.25, 1.0])
    assert utils.clamp_probs(p)[1] == 0.25 and 0 < utils.clamp_probs(p)[0] < 1e-6
    logit = utils.probs_to_logits(torch.tensor([0.25]), is_binary=True)
    assert (
        logit.item() == pytest.approx(math.log(1 / 3)) and utils.logits_to_probs(logit, True).item() == 0.25
    )
    assert utils._sum_rightmost(torch.ones(2, 3, 4), 2).tolist() == [12, 12]
    assert utils._sum_rightmost(p, 0) is p
    lower = utils.vec_to_tril_matrix(torch.arange(1.0, 7))
    assert lower.tolist() == [[1, 0, 0], [2, 3, 0], [4, 5, 6]]
    assert utils.tril_matrix_to_vec(lower).tolist() == [1, 2, 3, 4, 5, 6]
    below = utils.vec_to_tril_matrix(torch.arange(1.0, 4), -1)
    assert below.tolist() == [[0, 0, 0], [1, 0, 0], [2, 3, 0]]
    with pytest.raises(ValueError, match="outside"):
        utils.tril_matrix_to_vec(lower, 3)


def test_lazy_properties():
    class Cached:
        calls = 0

        @utils.lazy_property
        def value(self):
            "What it is."
            self.calls += 1
            return 7

    cached = Cached()
    assert cached.value == cached.value == 7 and cached.calls == 1
    assert isinstance(Cached.value, property)


def test_parts_of_complex_tensors_whose_last_dimension_is_one_element():
    x = torch.complex(torch.arange(6.0), -torch.arange(6.0)).reshape(2, 3).t()[:, 1:2]
    parts = torch.view_as_real(x)
    assert parts.shape == (3, 1, 2) and parts[2, 0].tolist() == [5, -5]
    compiled = torch.compile(lambda x: torch.view_as_real(x) + 1, fullgraph=True)
    assert torch.equal(compiled(x), parts + 1)
    parts.zero_()
    assert x.abs().sum() == 0


def test_modules_that_only_have_to_be_imported():
    from weft.torch._C import _is_tracing, _TensorMeta
    from weft.torch._dynamo import OptimizedModule
    from weft.torch.optim.lr_scheduler import _LRScheduler
    from weft.torch.sparse._triton_ops_meta import get_meta
    from weft.torch.utils.data._utils.collate import collate_tensor_fn, np_str_obj_array_pattern
    from weft.torch.utils.data.dataloader import DataLoader, _BaseDataLoaderIter

    assert issubclass(type("Warmup", (_LRScheduler,), {}), _LRScheduler)
    assert not _is_tracing() and torch.profiler.kineto_available() and isinstance(torch.Tensor, _TensorMeta)
    assert isinstance(torch.compile(torch.nn.Identity()), OptimizedModule)
    assert DataLoader is torch.utils.data.DataLoader and isinstance(_BaseDataLoaderIter, type)
    assert np_str_obj_array_pattern.search("<U3") and not np_str_obj_array_pattern.search("<f4")
    assert collate_tensor_fn([torch.ones(2)] * 3).shape == (3, 2)
    with pytest.raises(NotImplementedError, match="sparse"):
        get_meta()


def test_operators_that_are_no_functions():
    aten = torch.ops.aten
    x = torch.arange(6.0).reshape(2, 3)
    assert aten._to_copy.default(x, dtype=torch.float64).dtype == torch.float64
    copy = aten._to_copy(x)
    copy.zero_()
    assert x.sum() == 15
    with pytest.raises(RuntimeError, match="accelerator"):
        aten._pin_memory(x)
    view = aten.alias.default(x)
    view[0, 0] = 1
    assert x[0, 0] == 1 and aten.lift_fresh(x) is x
    assert aten.add_.Tensor(x, 1) is x and aten.slice(x, 1, 0, 2).shape == (2, 2)
    sparse = torch.eye(2).to_sparse()
    assert torch.equal(aten._sparse_addmm(x, sparse, x, beta=2, alpha=3), 5 * x)
    with pytest.raises(NotImplementedError, match="compressed sparse rows"):
        aten._sparse_mm_reduce_impl.default(sparse, x, "sum")


def test_text_of_the_numbers():
    from weft.torch._tensor_str import PRINT_OPTS, _str, _tensor_str

    x = torch.arange(6.0).reshape(2, 3)
    assert _tensor_str(x, 0) == "[[0., 1., 2.],\n [3., 4., 5.]]"
    assert _tensor_str(x, 2) == "[[0., 1., 2.],\n   [3., 4., 5.]]"
    assert (
        _tensor_str(torch.tensor(3), 0) == "3" and _tensor_str(torch.zeros(0, dtype=torch.int64), 0) == "[]"
    )
    assert _str(x) == repr(x) and _str(x, tensor_contents="…") == "tensor(…)"
    assert (PRINT_OPTS.precision, PRINT_OPTS.threshold) == (4, 1000)
    try:
        torch.set_printoptions(threshold=5, sci_mode=False)
        assert (PRINT_OPTS.precision, PRINT_OPTS.threshold, PRINT_OPTS.sci_mode) == (4, 5, False)
    finally:
        torch.set_printoptions(profile="default")
    assert PRINT_OPTS.threshold == 1000


def test_modules_found_as_attributes():
    import weft.torch.onnx  # noqa: F401

    assert not torch.onnx.is_in_onnx_export()
    assert torch.utils.data.sampler.Sampler is torch.utils.data.Sampler
    assert torch.utils.data.dataset.Dataset is torch.utils.data.Dataset
    with pytest.raises(NotImplementedError, match="use weft.compile"):
        torch.onnx.export(None)


def test_symbolic_functions_of_onnx_are_not_registered():
    with pytest.warns(UserWarning, match="mine::op is not registered: weft exports no ONNX"):
        assert torch.onnx.register_custom_op_symbolic("mine::op", print, 11) is None
