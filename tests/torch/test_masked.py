"""torch.masked: what reductions and normalizations leave out."""

import math

import numpy as np
import pytest
import weft.torch as torch
import weft.torch.masked as masked

X = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
MASK = torch.tensor([[True, False, True], [False, False, False]])


@pytest.mark.parametrize(
    "function, expected",
    [
        (lambda: masked.sum(X, 1, mask=MASK), [4, 0]),
        (lambda: masked.prod(X, 1, mask=MASK), [3, 1]),
        (lambda: masked.amax(X, 1, mask=MASK), [3, -math.inf]),
        (lambda: masked.amin(X, 1, mask=MASK), [1, math.inf]),
        (lambda: masked.mean(X, 1, mask=MASK), [2, math.nan]),
        (lambda: masked.median(X, 1, mask=MASK), [1, math.nan]),
        (lambda: masked.var(X, 1, mask=MASK, unbiased=False), [1, math.nan]),
        (lambda: masked.std(X, 1, mask=MASK, unbiased=False), [1, math.nan]),
        (lambda: masked.norm(X, 2, 1, mask=MASK), [math.sqrt(10), 0]),
        (lambda: masked.argmax(X, 1, mask=MASK), [2, 0]),
        (lambda: masked.argmin(X, 1, mask=MASK), [0, 0]),
        (lambda: masked.logsumexp(X, 1, mask=MASK), [math.log(math.exp(1) + math.exp(3)), -math.inf]),
        (lambda: masked.cumsum(X, 1, mask=MASK), [[1, 1, 4], [0, 0, 0]]),
        (lambda: masked.cumprod(X, 1, mask=MASK), [[1, 1, 3], [1, 1, 1]]),
        (lambda: masked.softmax(X[:1], 1, mask=MASK[:1]), [[1 / (1 + math.exp(2)), 0, 1 / (1 + math.exp(-2))]]),
        (lambda: masked.softmin(X[:1], 1, mask=MASK[:1]), [[1 / (1 + math.exp(-2)), 0, 1 / (1 + math.exp(2))]]),
        (lambda: masked.normalize(X, 1, 1, mask=MASK), [[0.25, 0, 0.75], [0, 0, 0]]),
        (lambda: masked.sum(X, mask=MASK), 4),
        (lambda: masked.sum(X, (), keepdim=True), [[21]]),
        (lambda: masked.logaddexp(X[0], X[0], other_mask=MASK[0]), [1 + math.log(2), 2, 3 + math.log(2)]),
    ],
)  # fmt: skip
def test_elements_that_a_mask_leaves_out(function, expected):
    for run in (function, torch.compile(function)):
        np.testing.assert_allclose(run().numpy(), expected, rtol=1e-6)


def test_masks_broadcast_and_integers_keep_their_kind():
    x = torch.tensor([[1, 2], [3, 4]], dtype=torch.int32)
    mask = torch.tensor([True, False])
    assert masked.sum(x, 1, mask=mask).dtype == torch.int64 and masked.sum(x, 1, mask=mask).tolist() == [1, 3]
    assert masked.amax(x, 0, mask=mask).tolist() == [3, -(2**31)]
    assert masked.median(x, 1, mask=mask).tolist() == [1, 3]


def test_refusals():
    with pytest.raises(ValueError, match="Could not infer output dtype"):
        masked.mean(X.long(), 1)
    with pytest.raises(ValueError, match="fully masked out rows"):
        masked.median(X.long(), 1, mask=MASK)
    with pytest.raises(IndexError, match="broadcastable mask"):
        masked.sum(X, mask=MASK[None])
    with pytest.raises(RuntimeError, match="appears multiple times"):
        masked.sum(X, (0, 0))
    with pytest.raises(NotImplementedError, match="masked_tensor"):
        masked.masked_tensor(X, MASK)
