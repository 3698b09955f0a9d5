"""Attention, against NumPy in float64."""

import os
import subprocess
import sys

import numpy as np
import pytest
import weft
from float64_checks import close, rounded, tensors
from weft.nn import _attention as nn_attention

# ---- attention ------------------------------------------------------------------------------------------------
ATTENTION_TOLERANCE = {np.float32: 2e-6, np.float64: 1e-14, np.float16: 1e-3}


def attention_reference(q, k, v, mask=None, causal=False, scale=None):
    """The formula, in float64; a row that sees nothing gives zeros."""
    group = q.shape[-3] // k.shape[-3] if q.ndim > 2 and k.shape[-3] > 1 else 1
    k, v = (np.repeat(x, group, axis=-3) if group > 1 else x for x in (k, v))
    scores = q @ np.swapaxes(k, -1, -2) * (1 / np.sqrt(q.shape[-1]) if scale is None else scale)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    with np.errstate(invalid="ignore"):
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True, initial=-np.inf))
    weights = np.where(np.isneginf(scores).all(axis=-1, keepdims=True), 0, weights)
    total = weights.sum(axis=-1, keepdims=True)
    return (weights / np.where(total == 0, 1, total)) @ v


def attention_close(actual, expected, dtype):
    actual = actual.numpy()
    assert actual.dtype == dtype and actual.shape == expected.shape
    np.testing.assert_allclose(
        actual.astype(np.float64),
        expected,
        rtol=0,
        atol=ATTENTION_TOLERANCE[dtype] * max(1, np.abs(expected).max(initial=0)),
    )


def qkv(rng, batch, queries, keys, head_dim, value_dim, dtype, kv_batch=None):
    shapes = [
        (*batch, queries, head_dim),
        (*(kv_batch or batch), keys, head_dim),
        (*(kv_batch or batch), keys, value_dim),
    ]
    return rounded([rng.standard_normal(shape) for shape in shapes], dtype)


ATTENTIONS = [  # batch, queries, keys, head_dim, value_dim
    ((2, 3), 5, 7, 8, 8), ((1,), 130, 300, 64, 64), ((2, 2), 49, 129, 16, 20), ((), 1, 1000, 32, 32), ((3, 2), 97, 1, 4, 1),
    ((2, 1, 2), 6, 64, 128, 128), ((1, 1), 12, 13, 80, 96), ((2,), 0, 4, 8, 8), ((2,), 4, 0, 8, 8), ((0, 2), 4, 4, 8, 8),
    ((2,), 3, 5, 0, 4), ((1, 2), 200, 257, 1, 3),
]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16], ids=lambda d: d.__name__)
@pytest.mark.parametrize("case", ATTENTIONS, ids=str)
def test_attention(case, dtype):
    rng = np.random.default_rng(0)
    batch, queries, keys, *_ = case
    q, k, v = qkv(rng, *case, dtype)
    given = tensors([q, k, v], dtype)
    attention = weft.scaled_dot_product_attention
    if q.shape[-1]:
        attention_close(attention(*given), attention_reference(q, k, v), dtype)
        attention_close(attention(*given, is_causal=True), attention_reference(q, k, v, causal=True), dtype)
    attention_close(attention(*given, scale=0.3), attention_reference(q, k, v, scale=0.3), dtype)
    keep = rng.random((queries, keys)) < 0.5
    keep[: queries // 3] = False
    attention_close(
        attention(*given, weft.asarray(keep), scale=0.2), attention_reference(q, k, v, keep, scale=0.2), dtype
    )
    bias = rng.standard_normal((*batch, queries, keys)).astype(np.float32)
    added = attention(*given, weft.asarray(bias.astype(dtype)), scale=0.2)
    attention_close(added, attention_reference(q, k, v, bias.astype(dtype).astype(float), scale=0.2), dtype)


def test_attention_in_bfloat16():
    rng = np.random.default_rng(1)
    q, k, v = (
        weft.asarray(x.astype(np.float32)).to(weft.bfloat16)
        for x in qkv(rng, (2, 2), 33, 65, 16, 16, np.float32)
    )
    out = weft.scaled_dot_product_attention(q, k, v)
    assert out.dtype == weft.bfloat16
    expected = attention_reference(*(x.to(weft.float64).numpy() for x in (q, k, v)))
    np.testing.assert_allclose(out.to(weft.float64).numpy(), expected, rtol=0, atol=2**-8)


MASKS = [(7, 9), (1, 9), (7, 1), (9,), (), (3, 1, 1), (2, 1, 7, 9), (1, 3, 7, 1), (2, 3, 7, 9)]


@pytest.mark.parametrize("boolean", [True, False])
@pytest.mark.parametrize("shape", MASKS, ids=str)
def test_attention_masks_broadcast(shape, boolean):
    rng = np.random.default_rng(2)
    q, k, v = qkv(rng, (2, 3), 7, 9, 8, 8, np.float32)
    mask = (
        rng.random(shape) < 0.7
        if boolean
        else np.where(rng.random(shape) < 0.3, -np.inf, rng.standard_normal(shape))
    )
    mask = np.asarray(mask, bool if boolean else np.float32)
    out = weft.scaled_dot_product_attention(*tensors([q, k, v], np.float32), weft.asarray(mask))
    attention_close(out, attention_reference(q, k, v, mask), np.float32)


@pytest.mark.parametrize("keys", [4, 7, 16, 40])
def test_attention_masks_of_the_lowest_numbers(keys):
    """A row of which every key is masked out by a finite number weighs all the same."""
    rng = np.random.default_rng(3)
    q, k, v = qkv(rng, (2,), keys, keys, 8, 8, np.float32)
    lowest = np.finfo(np.float32).min
    mask = np.zeros((keys, keys), np.float32)
    mask[0], mask[1], mask[2], mask[3, 1:] = lowest, -1e30, -3e38, lowest
    mask[2, 0] = lowest
    for given in (mask, np.asfortranarray(mask)):
        out = weft.scaled_dot_product_attention(*tensors([q, k, v], np.float32), weft.asarray(given))
        attention_close(out, attention_reference(q, k, v, mask), np.float32)
    np.testing.assert_allclose(out.numpy()[:, 0], v.mean(1), atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=lambda d: d.__name__)
@pytest.mark.parametrize("heads", [1, 2, 3, 6])
def test_attention_with_grouped_heads(heads, dtype):
    rng = np.random.default_rng(3)
    q, k, v = qkv(rng, (2, 6), 5, 70, 8, 8, dtype, kv_batch=(2, heads))
    out = weft.scaled_dot_product_attention(*tensors([q, k, v], dtype), is_causal=True, enable_gqa=True)
    attention_close(out, attention_reference(q, k, v, causal=True), dtype)


def test_attention_broadcasts_and_takes_any_layout():
    rng = np.random.default_rng(4)
    q, k, v = (rng.standard_normal((2, 50, 3, 8)).astype(np.float32).transpose(0, 2, 1, 3) for _ in range(3))
    out = weft.scaled_dot_product_attention(*map(weft.asarray, (q, k[:1], v[:, :1])))
    attention_close(
        out,
        attention_reference(
            *(
                x.astype(float)
                for x in (q, *np.broadcast_arrays(k[:1], q)[:1], np.broadcast_to(v[:, :1], v.shape))
            )
        ),
        np.float32,
    )
    turned = [np.asfortranarray(x)[:, :, ::-1] for x in (q, k, v)]
    attention_close(
        weft.scaled_dot_product_attention(*map(weft.asarray, turned)),
        attention_reference(*(x.astype(float) for x in turned)),
        np.float32,
    )


def test_attention_large_scores_and_special_values():
    rng = np.random.default_rng(5)
    q, k, v = qkv(rng, (1, 1), 20, 300, 16, 16, np.float32)
    q *= 40
    out = weft.scaled_dot_product_attention(*tensors([q, k, v], np.float32))
    np.testing.assert_allclose(out.numpy(), attention_reference(*rounded([q, k, v], np.float32)), atol=1e-4)
    q[0, 0, 3, 0] = np.nan
    k[0, 0, 5, 0] = np.inf
    out = weft.scaled_dot_product_attention(*tensors([q, k, v], np.float32)).numpy()
    assert np.isnan(out[0, 0, 3]).all() and np.isnan(out[0, 0, q[0, 0, :, 0] > 0]).all()
    below = q[0, 0, :, 0] < 0
    assert np.isfinite(out[0, 0, below]).all()


def test_attention_does_not_depend_on_threads():
    rng = np.random.default_rng(6)
    given = tensors(qkv(rng, (2, 3), 150, 170, 24, 24, np.float32), np.float32)
    threads, results = weft.get_num_threads(), []
    for count in (1, 2, 3):
        weft.set_num_threads(count)
        results.append(weft.scaled_dot_product_attention(*given, is_causal=True).numpy())
    weft.set_num_threads(threads)
    assert all((result == results[0]).all() for result in results)


# ---- few queries, whose keys and values are read where they lie ------------------------------------------------
# Where an engine takes bfloat16 products, weights are rounded to it, too.
FEW = {"float32": 2e-6, "float16": 1e-3, "bfloat16": 2**-7}


def few_close(given, dtype, mask=None, **options):
    """Against the formula over what the tensors hold."""
    operands = [weft.asarray(x.astype(np.float32)).to(getattr(weft, dtype)) for x in given]
    held = [x.to(weft.float64).numpy() for x in operands]
    mask_given = () if mask is None else (weft.asarray(mask),)
    if mask is not None and mask.dtype != bool:
        mask_given = (weft.asarray(mask).to(getattr(weft, dtype)),)
        mask = mask_given[0].to(weft.float64).numpy()
    out = weft.scaled_dot_product_attention(*operands, *mask_given, **options)
    expected = attention_reference(*held, mask, causal=options.get("is_causal", False))
    atol = FEW[dtype] * max(1, np.abs(expected).max(initial=0))
    np.testing.assert_allclose(out.to(weft.float64).numpy(), expected, rtol=0, atol=atol)


@pytest.mark.parametrize("dtype", FEW)
@pytest.mark.parametrize("queries", [1, 2, 3, 4, 5, 8, 16, 17])
def test_few_queries(queries, dtype):
    rng = np.random.default_rng(queries)
    for keys, head_dim in [(1, 8), (7, 3), (63, 64), (65, 33), (300, 128)]:
        given = qkv(rng, (2, 3), queries, keys, head_dim, head_dim, np.float32)
        few_close(given, dtype)
        few_close(given, dtype, is_causal=True)
        # What a cache holds so far, a window, holes, nothing; for all heads or each its own.
        held = np.zeros((queries, keys), bool)
        for query in range(queries):
            held[query, query % 3 : max(1, keys * (query + 1) // (queries + 1))] = True
        few_close(given, dtype, held)
        holes = rng.random((3, queries, keys)) < 0.6
        holes[1] = False
        few_close(given, dtype, holes)
        few_close(given, dtype, np.where(holes, rng.standard_normal(holes.shape), -np.inf).astype(np.float32))
        few_close(given, dtype, np.where(held, 0, -np.inf).astype(np.float32))
        few_close(given, dtype, holes[:, :1, :1])


@pytest.mark.parametrize("dtype", FEW)
@pytest.mark.parametrize("queries", [1, 2, 3, 6])
@pytest.mark.parametrize("heads", [1, 2, 3])
def test_few_queries_of_grouped_heads(heads, queries, dtype):
    rng = np.random.default_rng(3)
    given = qkv(rng, (2, 6), queries, 70, 8, 8, np.float32, kv_batch=(2, heads))
    few_close(given, dtype, is_causal=True, enable_gqa=True)
    few_close(given, dtype, rng.random((queries, 70)) < 0.5, enable_gqa=True)
    few_close(given, dtype, rng.random((6, queries, 70)) < 0.5, enable_gqa=True)


def test_few_queries_in_any_layout():
    rng = np.random.default_rng(4)
    q, k, v = (rng.standard_normal((2, n, 3, 16)).astype(np.float32).transpose(0, 2, 1, 3) for n in (2, 9, 9))
    for given in ([q, k, v], [q[:, :, ::-1], k[:, :, ::-1], v[:, :, ::2].repeat(2, 2)[:, :, :9]]):
        out = weft.scaled_dot_product_attention(*map(weft.asarray, given))
        attention_close(out, attention_reference(*(x.astype(float) for x in given)), np.float32)


@pytest.mark.parametrize("masked", [np.finfo(np.float32).min, -1e30, -1e4])
def test_few_queries_with_finite_masks(masked):
    """A row of which every key is masked out by a finite number weighs all the same."""
    rng = np.random.default_rng(3)
    q, k, v = qkv(rng, (2,), 3, 40, 8, 8, np.float32)
    mask = np.zeros((3, 40), np.float32)
    mask[0], mask[1, 5:] = masked, masked
    out = weft.scaled_dot_product_attention(*tensors([q, k, v], np.float32), weft.asarray(mask))
    expected = attention_reference(q, k, v, mask)
    np.testing.assert_allclose(out.numpy()[:, 1:], expected[:, 1:], rtol=0, atol=1e-5)
    if masked < -1e29:
        np.testing.assert_allclose(out.numpy()[:, 0], v.mean(1), atol=1e-5)


def test_few_queries_special_values():
    rng = np.random.default_rng(5)
    q, k, v = qkv(rng, (1, 1), 3, 300, 16, 16, np.float32)
    q *= 40
    q[0, 0, 1, 0] = np.nan
    out = weft.scaled_dot_product_attention(*tensors([q, k, v], np.float32)).numpy()
    expected = attention_reference(*rounded([q, k, v], np.float32))
    np.testing.assert_allclose(out, expected, atol=1e-4)
    v[0, 0, 7, 2] = np.inf
    out = weft.scaled_dot_product_attention(*tensors([q[:, :, :1] * 0, k, v], np.float32)).numpy()
    assert out[0, 0, 0, 2] == np.inf and np.isfinite(np.delete(out[0, 0, 0], 2)).all()


@pytest.mark.parametrize("vector_bytes", ["16", "32"])
def test_few_queries_on_other_instruction_sets(vector_bytes):
    if os.environ.get("WEFT_VECTOR_BYTES"):
        pytest.skip("within test_few_queries_on_other_instruction_sets")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        __file__,
        "-k",
        "test_few_queries",
    ]
    done = subprocess.run(
        command, env=os.environ | {"WEFT_VECTOR_BYTES": vector_bytes}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-2000:]


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"enable_gqa": True}])
def test_attention_by_its_formula(options):
    rng = np.random.default_rng(7)
    given = tensors(
        qkv(rng, (2, 4), 9, 11, 8, 8, np.float32, kv_batch=(2, 2 if "enable_gqa" in options else 4)),
        np.float32,
    )
    out, weights = weft.scaled_dot_product_attention_math(*given, **options)
    attention_close(
        weft.scaled_dot_product_attention(*given, **options), out.numpy().astype(float), np.float32
    )
    np.testing.assert_allclose(weights.numpy().sum(axis=-1), 1, rtol=1e-6)


def attention_call(
    q=(2, 3, 4), k=(2, 5, 4), v=(2, 5, 6), mask=None, dtype=weft.float32, mask_dtype=weft.float32, **options
):
    mask = None if mask is None else weft.zeros(mask, dtype=mask_dtype)
    return weft.scaled_dot_product_attention(
        weft.zeros(q), weft.zeros(k, dtype=dtype), weft.zeros(v), mask, **options
    )


@pytest.mark.parametrize(
    "change, error, message",
    [
        ({"k": (2, 5, 3)}, ValueError, "query and key must have one last size: expected 4, got 3"),
        ({"v": (2, 4, 6)}, ValueError, "key and value must have as many rows: expected 5, got 4"),
        ({"q": (4,)}, ValueError, "at least 2 dimensions"),
        ({"q": (3, 3, 4)}, ValueError, "scaled_dot_product_attention: shapes"),
        ({"mask": (4, 5)}, ValueError, r"attn_mask must broadcast to the scores' shape \[2, 3, 5\]"),
        ({"mask": (2, 2, 3, 5)}, ValueError, "attn_mask must broadcast"),
        ({"mask": (3, 5), "is_causal": True}, ValueError, "attn_mask or is_causal, not both"),
        ({"mask": (3, 5), "mask_dtype": weft.int64}, TypeError, "attn_mask must be bool or floating"),
        ({"dtype": weft.float64}, TypeError, "one floating dtype"),
        ({"dropout_p": 0.5}, NotImplementedError, "dropout"),
        ({"dropout_p": 1.5}, ValueError, "between 0 and 1"),
        (
            {"q": (3, 3, 4), "enable_gqa": True},
            ValueError,
            "the heads of key must divide the query's: expected a divisor of 3, got 2",
        ),
        (
            {"q": (3, 4), "k": (5, 4), "v": (5, 6), "enable_gqa": True},
            ValueError,
            "needs a dimension of heads",
        ),
    ],
)
def test_attention_errors(change, error, message):
    with pytest.raises(error, match=message):
        attention_call(**change)


# ---- multi-head attention -------------------------------------------------------------------------------------
def softmax(x):
    weights = np.exp(x - x.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def left_out(mask):
    return 0.0 if mask is None else np.where(mask, -np.inf, 0.0) if mask.dtype == bool else mask


def heads_reference(q, k, v, heads, mask):
    """Projected [N, L, E] operands; `mask` is added to [N, heads, L, S]. Gives ([N, L, E], weights)."""
    split = [x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3) for x in (q, k, v)]
    weights = softmax(split[0] @ split[1].swapaxes(-1, -2) / np.sqrt(split[0].shape[-1]) + mask)
    return (weights @ split[2]).transpose(0, 2, 1, 3).reshape(q.shape), weights


class Projections:
    def __init__(self, rng, size, key_size=None, value_size=None):
        sizes = [size, key_size or size, value_size or size]
        self.weights = [rng.standard_normal((size, n)) * 0.5 for n in sizes]
        self.biases = [rng.standard_normal(size) for _ in range(3)]
        self.out, self.out_bias = rng.standard_normal((size, size)) * 0.5, rng.standard_normal(size)

    def project(self, *operands):
        return [x @ w.T + b for x, w, b in zip(operands, self.weights, self.biases)]

    def finish(self, x):
        return x @ self.out.T + self.out_bias

    def packed(self):
        one_size = len({weight.shape for weight in self.weights}) == 1
        weight = tensors([np.concatenate(self.weights)], float)[0] if one_size else None
        return weight, tensors([np.concatenate(self.biases)], float)[0]

    def last(self):
        return tensors([self.out, self.out_bias], float)


def mha(operands, projections, heads, extra=(None, None), zero=False, **options):
    return nn_attention.multi_head_attention_forward(*operands, 8, heads, *projections.packed(), *extra, zero, 0.0, *projections.last(),
                                                     training=False, **options)  # fmt: skip


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("masks", ["", "bool", "added", "heads", "padding", "both"])
@pytest.mark.parametrize("self_attention", [True, False])
def test_multi_head_attention(self_attention, masks, need_weights):
    rng = np.random.default_rng(0)
    length, keys, batch, heads = 5, 5 if self_attention else 7, 3, 2
    q = rng.standard_normal((length, batch, 8))
    k, v = (q, q) if self_attention else (rng.standard_normal((keys, batch, 8)) for _ in range(2))
    projections, options, mask = Projections(rng, 8), {}, 0.0
    if masks in ("bool", "both"):
        options["attn_mask"] = np.triu(np.ones((length, keys), bool), 1)
    if masks in ("added", "heads"):
        options["attn_mask"] = rng.standard_normal(
            (length, keys) if masks == "added" else (batch * heads, length, keys)
        )
    if masks in ("padding", "both"):
        options["key_padding_mask"] = np.arange(keys) >= np.array([[keys], [3], [1]])
    if "attn_mask" in options:
        mask = left_out(options["attn_mask"])
        mask = mask.reshape(batch, heads, length, keys) if masks == "heads" else mask
    mask = (
        mask + left_out(options["key_padding_mask"])[:, None, None] if "key_padding_mask" in options else mask
    )
    x, weights = heads_reference(*projections.project(*(a.swapaxes(0, 1) for a in (q, k, v))), heads, mask)
    given = [weft.asarray(q)] * 3 if self_attention else tensors([q, k, v], float)
    options = {name: weft.asarray(value) for name, value in options.items()}
    for average in (True, False):
        out, got = mha(
            given, projections, heads, need_weights=need_weights, average_attn_weights=average, **options
        )
        close(out, projections.finish(x).swapaxes(0, 1), np.float64)
        if need_weights:
            close(got, weights.mean(axis=1) if average else weights, np.float64)
        else:
            assert got is None


def test_multi_head_attention_options():
    rng = np.random.default_rng(1)
    q, k, v = rng.standard_normal((4, 2, 8)), rng.standard_normal((6, 2, 3)), rng.standard_normal((6, 2, 5))
    projections = Projections(rng, 8, 3, 5)
    extra_k, extra_v = rng.standard_normal((1, 1, 8)), rng.standard_normal((1, 1, 8))
    projected = projections.project(*(a.swapaxes(0, 1) for a in (q, k, v)))
    for i, extra in ((1, extra_k), (2, extra_v)):
        rows = np.concatenate([np.broadcast_to(extra, (2, 1, 8)), np.zeros((2, 1, 8))], axis=1)
        projected[i] = np.concatenate([projected[i], rows], axis=1)
    padding = np.array([[False] * 6, [False, True, False, True, True, True]])
    mask = np.pad(left_out(padding), ((0, 0), (0, 2)))[:, None, None]
    x, weights = heads_reference(*projected, 4, mask)
    separate = dict(
        zip(("q_proj_weight", "k_proj_weight", "v_proj_weight"), tensors(projections.weights, float))
    )
    out, got = mha(tensors([q, k, v], float), projections, 4, tensors([extra_k, extra_v], float), True, use_separate_proj_weight=True,
                   key_padding_mask=weft.asarray(padding), **separate)  # fmt: skip
    close(out, projections.finish(x).swapaxes(0, 1), np.float64)
    close(got, weights.mean(axis=1), np.float64)


def test_multi_head_attention_without_a_batch_and_with_given_keys():
    rng = np.random.default_rng(2)
    projections, x = Projections(rng, 8), rng.standard_normal((5, 8))
    expected, weights = heads_reference(*projections.project(x[None], x[None], x[None]), 2, 0.0)
    given = weft.asarray(x)
    out, got = mha([given] * 3, projections, 2)
    close(out, projections.finish(expected[0]), np.float64)
    close(got, weights[0].mean(axis=0), np.float64)
    keys, values = rng.standard_normal((2, 3, 4)), rng.standard_normal((2, 3, 4))
    merged = [a.transpose(1, 0, 2).reshape(1, 3, 8) for a in (keys, values)]
    expected, _ = heads_reference(projections.project(x[None])[0], *merged, 2, 0.0)
    static = dict(zip(("static_k", "static_v"), tensors([keys, values], float)))
    close(mha([given] * 3, projections, 2, **static)[0], projections.finish(expected[0]), np.float64)


def layer_norm(x, weight, bias):
    centred = x - x.mean(axis=-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5) * weight + bias


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("mask_type", [None, 0, 1])
def test_encoder_layer(norm_first, mask_type):
    rng = np.random.default_rng(3)
    projections, x = Projections(rng, 8), rng.standard_normal((3, 5, 8))
    mask = {None: None, 0: np.triu(np.ones((5, 5), bool), 1), 1: np.arange(5) >= np.array([[5], [2], [1]])}[
        mask_type
    ]
    added = left_out(mask)[:, None, None] if mask_type == 1 else left_out(mask)
    norms = [rng.standard_normal(8) for _ in range(4)]
    inner, inner_bias, outer, outer_bias = (
        rng.standard_normal(s) * 0.4 for s in ((11, 8), (11,), (8, 11), (8,))
    )

    def attention(x):
        out, weights = heads_reference(*projections.project(x, x, x), 2, added)
        return projections.finish(out), weights

    def feed_forward(x):
        return np.maximum(x @ inner.T + inner_bias, 0) @ outer.T + outer_bias

    if norm_first:
        expected = x + attention(layer_norm(x, *norms[:2]))[0]
        expected = expected + feed_forward(layer_norm(expected, *norms[2:]))
    else:
        expected = layer_norm(x + attention(x)[0], *norms[:2])
        expected = layer_norm(expected + feed_forward(expected), *norms[2:])
    given = None if mask is None else weft.asarray(mask)
    rest = [*projections.packed(), *projections.last()]
    out = weft.transformer_encoder_layer_fwd(weft.asarray(x), 8, 2, *rest, False, norm_first, 1e-5,
                                             *tensors([*norms, inner, inner_bias, outer, outer_bias], float), given, mask_type)  # fmt: skip
    close(out, expected, np.float64)
    x_given = weft.asarray(x)
    out, weights = weft.native_multi_head_attention(
        x_given, x_given, x_given, 8, 2, *rest, given, True, False, mask_type
    )
    close(out, attention(x)[0], np.float64)
    close(weights, attention(x)[1], np.float64)


@pytest.mark.parametrize(
    "shape, options, error, message",
    [
        ((5, 2, 7), {}, ValueError, "expected an embedding of size 8, got 7"),
        ((8,), {}, ValueError, "must all have 3 dimensions"),
        (
            (5, 2, 8),
            {"num_heads": 3},
            ValueError,
            "the number of heads must divide embed_dim: got 3 heads for 8",
        ),
        ((5, 2, 8), {"attn_mask": (5, 6)}, ValueError, r"expected attn_mask of shape \[5, 5\], got \[5, 6\]"),
        ((5, 2, 8), {"key_padding_mask": (5, 2)}, ValueError, r"expected key_padding_mask of shape \[2, 5\]"),
        ((5, 2, 8), {"in_proj_weight": None}, TypeError, "in_proj_weight is missing"),
        ((5, 2, 8), {"is_causal": True}, ValueError, "attn_mask is missing"),
        ((5, 2, 8), {"use_separate_proj_weight": True}, TypeError, "needs q_proj_weight"),
    ],
)
def test_multi_head_attention_errors(shape, options, error, message):
    arguments = {"num_heads": 2, "in_proj_weight": weft.zeros(24, 8), "in_proj_bias": None, "bias_k": None, "bias_v": None,
                 "add_zero_attn": False, "dropout_p": 0.0, "out_proj_weight": weft.zeros(8, 8), "out_proj_bias": None,
                 "training": False} | options  # fmt: skip
    arguments = {
        name: weft.zeros(value) if name in ("attn_mask", "key_padding_mask") else value
        for name, value in arguments.items()
    }
    x = weft.zeros(shape)
    with pytest.raises(error, match="multi_head_attention_forward: .*" + message):
        nn_attention.multi_head_attention_forward(x, x, x, 8, **arguments)
