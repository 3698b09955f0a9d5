"""Corners of functions that PyTorch 2.15 was asked for."""

import numpy as np
import pytest
import weft.torch as torch
import weft.torch.nn.functional as F


def test_ends_of_integer_ranges_are_integers():
    assert torch.linspace(4.3, -3, 5, dtype=torch.int64).tolist() == [4, 2, 0, -1, -3]
    assert torch.linspace(4.3, -3, 5).tolist()[0] == pytest.approx(4.3)
    assert torch.logspace(2, 1.2, 2, dtype=torch.int64).tolist() == [100, 10]


def test_histc_rounds_as_float32_does():
    x = torch.tensor([0.0, 5e-6, 1e-5, 1.2e-5])
    for run in (torch.histc, torch.compile(torch.histc)):
        assert run(x, 1000, 0.0, 1e-5).nonzero().flatten().tolist() == [0, 500, 999]


def test_softmax_of_no_elements():
    for function in (F.softmax, F.log_softmax, F.softmin):
        for run in (function, torch.compile(function)):
            assert run(torch.zeros(5, 0, 0), -1).shape == (5, 0, 0)


def test_distinct_slices_lie_as_the_dimension_does():
    x = torch.tensor([[2, 1, 2], [3, 0, 3]])
    found = torch.unique(x, dim=1)
    assert found.tolist() == [[1, 2], [0, 3]] and found.stride() == (1, 2)
    assert torch.unique_consecutive(x[:, [0, 0, 1]], dim=1).stride() == (1, 2)


def test_unraveled_indices_are_views_of_one_tensor():
    rows, columns = torch.unravel_index(torch.tensor([5, 7]), (3, 4))
    assert rows.tolist() == [1, 1] and columns.tolist() == [1, 3] and rows.stride() == (2,)


def test_operands_without_dimensions():
    one = torch.tensor(2.0)
    assert torch.linalg.vander(one, N=3).tolist() == [[1, 2, 4]]
    z = torch.tensor(3 + 4j)
    assert torch.logsumexp(z, 0).item() == pytest.approx(3 + (4 - 2 * np.pi) * 1j, rel=1e-5)
    assert F.multi_margin_loss(one, torch.tensor(0)).item() == 0
    assert F.multilabel_margin_loss(one, torch.tensor(0)).item() == 0


def test_arguments_that_are_none_or_fractions():
    x = torch.tensor([1.0, 4.0, 9.0])
    assert torch.gradient(x, spacing=None)[0].tolist() == [3, 4, 5]
    ones = torch.ones(2, 2, 2, dtype=torch.int64)
    assert torch.addbmm(ones[0], ones, ones, beta=0.6, alpha=1.2).tolist() == [[4, 4], [4, 4]]
    assert torch.signal.windows.cosine(1, sym=False).tolist() == [1]


def test_encoders_leave_padding_at_the_end_out_where_pytorch_does():
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    encoder = torch.nn.TransformerEncoder(layer, 2).eval()
    x = torch.randn(2, 3, 4)
    at_the_end = torch.tensor([[False, False, True], [False, True, True]])
    between = torch.tensor([[False, True, False], [False, True, True]])
    with torch.no_grad():
        for run in (encoder, torch.compile(encoder)):
            assert (run(x, src_key_padding_mask=at_the_end)[at_the_end] == 0).all()
            assert (run(x, src_key_padding_mask=at_the_end)[~at_the_end] != 0).all()
            assert (run(x, src_key_padding_mask=between) != 0).all()
            assert (run(x) != 0).all()
    assert (encoder(x, src_key_padding_mask=at_the_end) != 0).all()  # parameters may need gradients
    with torch.no_grad():
        assert (encoder.train()(x, src_key_padding_mask=at_the_end) != 0).all()
        kept = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
        assert (kept(x, src_key_padding_mask=at_the_end) != 0).all()


def test_repeats_are_copies_for_changing_sizes_too():
    for repeats in ((2, 2, 2, 1), (3, 1)):
        compiled = torch.compile(lambda x, repeats=repeats: x.repeat(*repeats), dynamic=True)
        for x in (torch.arange(2.0), torch.arange(2.0), torch.arange(5.0)):
            assert compiled(x).stride() == x.repeat(*repeats).stride()
            assert compiled(x).tolist() == x.repeat(*repeats).tolist()


def test_samples_of_an_input_without_a_batch():
    samples = torch.full((2, 4, 3), 0.5)
    x = torch.arange(4.0 * 5 * 5 * 5).reshape(4, 5, 5, 5)
    pool = torch.nn.FractionalMaxPool3d(2, output_ratio=0.5, _random_samples=samples)
    assert pool(x).tolist() == pool(x[None])[0].tolist()


@pytest.mark.parametrize("numbers", [[1, 2], (1.5, 2.5), [[1, 2], [3, 4]], []], ids=str)
@pytest.mark.parametrize("kind", [torch.Tensor, torch.FloatTensor, torch.LongTensor, torch.DoubleTensor])
def test_tensors_of_numbers_are_part_of_graphs(kind, numbers):
    compiled = torch.compile(lambda x: kind(numbers) * x, fullgraph=True)
    one = torch.tensor(1.0)
    expected = kind(numbers) * one
    for _ in range(2):
        assert compiled(one).dtype == expected.dtype and compiled(one).tolist() == expected.tolist()


def test_tensors_of_sizes_and_of_the_default_dtype():
    sized = torch.compile(lambda x: torch.Tensor(x.shape))
    assert sized(torch.ones(2, 3)).shape == (2, 3)
    compiled = torch.compile(lambda: torch.Tensor([1, 2]))
    assert compiled().dtype == torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert compiled().dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    with pytest.raises(TypeError, match="got str"):
        torch.compile(lambda: torch.Tensor(["a"]))()
