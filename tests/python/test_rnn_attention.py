"""Recurrent networks and attention, against NumPy in float64."""

import itertools

import numpy as np
import pytest

import weft

TOLERANCE = {np.float32: 2e-5, np.float64: 1e-12, np.float16: 2e-3}
GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def close(actual, expected, dtype):
    actual = actual.numpy()
    assert actual.dtype == dtype and actual.shape == expected.shape
    np.testing.assert_allclose(actual.astype(np.float64), expected, rtol=0, atol=TOLERANCE[dtype] * max(1, np.abs(expected).max(initial=0)))


# ---- recurrent networks ---------------------------------------------------------------------------------------
def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def cell_step(kind, x, h, c, w_ih, w_hh, b_ih=0.0, b_hh=0.0, w_hr=None):
    """The next (h, c)."""
    from_x, from_h = x @ w_ih.T + b_ih, h @ w_hh.T + b_hh
    if kind.startswith("rnn"):
        total = from_x + from_h
        return (np.tanh(total) if kind == "rnn_tanh" else np.maximum(total, 0)), c
    if kind == "gru":
        (xr, xz, xn), (hr, hz, hn) = np.split(from_x, 3, axis=1), np.split(from_h, 3, axis=1)
        update = sigmoid(xz + hz)
        return (1 - update) * np.tanh(xn + sigmoid(xr + hr) * hn) + update * h, c
    i, f, g, o = np.split(from_x + from_h, 4, axis=1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    h = sigmoid(o) * np.tanh(c)
    return (h if w_hr is None else h @ w_hr.T), c


def reference(kind, sequences, h0, c0, weights, per, layers, directions):
    """`sequences`: a list of [length, size]. Gives the outputs' list, h_n, c_n."""
    h_n, c_n = h0.copy(), c0.copy()
    for layer in range(layers):
        outputs = []
        for n, x in enumerate(sequences):
            parts = []
            for direction in range(directions):
                at = layer * directions + direction
                h, c = h0[at, n : n + 1], c0[at, n : n + 1]
                own = weights[at * per : (at + 1) * per]
                named = own[:2] + ([0.0, 0.0] + own[2:] if per in (2, 3) else own[2:])
                rows = {}
                for t in range(len(x)) if direction == 0 else reversed(range(len(x))):
                    h, c = cell_step(kind, x[t : t + 1], h, c, *named)
                    rows[t] = h[0]
                parts.append(np.stack([rows[t] for t in range(len(x))]))
                h_n[at, n], c_n[at, n] = h[0], c[0]
            outputs.append(np.concatenate(parts, axis=1))
        sequences = outputs
    return sequences, h_n, c_n


def make_network(rng, kind, size, hidden, batch, layers, directions, biases, projection=0):
    rows, state = GATES[kind] * hidden, projection or hidden
    weights, scale = [], 0.8 / np.sqrt(hidden)
    for layer, _ in itertools.product(range(layers), range(directions)):
        weights.append(rng.standard_normal((rows, size if layer == 0 else state * directions)) * scale)
        weights.append(rng.standard_normal((rows, state)) * scale)
        weights.extend(rng.standard_normal(rows) * scale for _ in range(2 * biases))
        if projection:
            weights.append(rng.standard_normal((projection, hidden)) * scale)
    h0 = rng.standard_normal((layers * directions, batch, state))
    return weights, h0, rng.standard_normal((layers * directions, batch, hidden))


def tensors(arrays, dtype):
    return [weft.from_numpy(np.ascontiguousarray(a.astype(dtype))) for a in arrays]


def rounded(arrays, dtype):
    return [a.astype(dtype).astype(np.float64) for a in arrays]


def states(kind, h0, c0, dtype):
    return tensors([h0, c0], dtype) if kind == "lstm" else tensors([h0], dtype)[0]


NETWORKS = [  # steps, batch, size, hidden, layers, bidirectional, biases, batch_first
    (5, 3, 4, 6, 1, False, True, False), (7, 1, 3, 17, 2, True, True, True), (1, 4, 5, 8, 3, False, False, True),
    (4, 9, 1, 33, 1, True, False, False), (3, 2, 20, 1, 2, False, True, True), (40, 5, 8, 16, 2, True, True, False),
    (3, 70, 6, 40, 1, False, True, True),
]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16], ids=lambda d: d.__name__)
@pytest.mark.parametrize("case", NETWORKS, ids=str)
@pytest.mark.parametrize("kind", GATES)
def test_recurrent(kind, case, dtype):
    steps, batch, size, hidden, layers, bidirectional, biases, batch_first = case
    rng = np.random.default_rng(steps)
    directions = 2 if bidirectional else 1
    weights, h0, c0 = make_network(rng, kind, size, hidden, batch, layers, directions, biases)
    x = rng.standard_normal((steps, batch, size))
    weights, (x, h0, c0) = rounded(weights, dtype), rounded([x, h0, c0], dtype)
    expected, h_n, c_n = reference(kind, list(x.transpose(1, 0, 2)), h0, c0, weights, 2 + 2 * biases, layers, directions)
    given = x.transpose(1, 0, 2) if batch_first else x
    out = getattr(weft, kind)(tensors([given], dtype)[0], states(kind, h0, c0, dtype), tensors(weights, dtype),
                              biases, layers, 0.0, False, bidirectional, batch_first)  # fmt: skip
    close(out[0], np.stack(expected, axis=0 if batch_first else 1), dtype)
    close(out[1], h_n, dtype)
    if kind == "lstm":
        close(out[2], c_n, dtype)


@pytest.mark.parametrize("biases", [True, False])
@pytest.mark.parametrize("directions", [1, 2])
def test_lstm_projection(biases, directions):
    rng = np.random.default_rng(0)
    weights, h0, c0 = make_network(rng, "lstm", 5, 12, 3, 2, directions, biases, projection=4)
    x = rng.standard_normal((6, 3, 5))
    expected, h_n, c_n = reference("lstm", list(x.transpose(1, 0, 2)), h0, c0, weights, 3 + 2 * biases, 2, directions)
    out = weft.lstm(*tensors([x], float), tensors([h0, c0], float), tensors(weights, float), biases, 2, 0.0, False,
                    directions == 2, False)  # fmt: skip
    for got, want in zip(out, [np.stack(expected, axis=1), h_n, c_n]):
        close(got, want, np.float64)


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("kind", GATES)
def test_packed_sequences(kind, bidirectional):
    rng = np.random.default_rng(1)
    lengths, directions = [6, 4, 4, 1], 1 + bidirectional
    weights, h0, c0 = make_network(rng, kind, 3, 10, 4, 2, directions, True)
    padded = rng.standard_normal((4, 6, 3))
    data, sizes = weft.pack_padded_sequence(*tensors([padded], float), weft.from_numpy(np.array(lengths)), True)
    assert sizes.numpy().tolist() == [4, 3, 3, 3, 1, 1]
    sequences = [padded[n, :length] for n, length in enumerate(lengths)]
    expected, h_n, c_n = reference(kind, sequences, h0, c0, weights, 4, 2, directions)
    out = getattr(weft, kind + "_packed")(data, sizes, states(kind, h0, c0, float), tensors(weights, float), True, 2, 0.0,
                                          False, bidirectional)  # fmt: skip
    close(out[1], h_n, np.float64)
    if kind == "lstm":
        close(out[2], c_n, np.float64)
    result, counts = weft.pad_packed_sequence(out[0], sizes, True, -7.0, 8)
    assert counts.numpy().tolist() == lengths and result.shape == (4, 8, 10 * directions)
    for n, length in enumerate(lengths):
        np.testing.assert_allclose(result.numpy()[n, :length], expected[n], atol=1e-12)
        assert (result.numpy()[n, length:] == -7).all()


@pytest.mark.parametrize("biases", [True, False])
@pytest.mark.parametrize("kind", GATES)
def test_cells(kind, biases):
    rng = np.random.default_rng(2)
    weights, h0, c0 = make_network(rng, kind, 3, 5, 4, 1, 1, biases)
    x = rng.standard_normal((4, 3))
    h, c = cell_step(kind, x, h0[0], c0[0], *weights)
    hidden = tensors([h0[0], c0[0]], float) if kind == "lstm" else tensors([h0[0]], float)[0]
    out = getattr(weft, kind + "_cell")(*tensors([x], float), hidden, *tensors(weights, float))
    close(out[0] if kind == "lstm" else out, h, np.float64)
    if kind == "lstm":
        close(out[1], c, np.float64)


def test_recurrent_of_nothing():
    rng = np.random.default_rng(3)
    weights, h0, c0 = make_network(rng, "lstm", 3, 5, 2, 1, 1, True)
    out = weft.lstm(weft.zeros(0, 2, 3, dtype=weft.float64), tensors([h0, c0], float), tensors(weights, float), True, 1, 0.0,
                    False, False, False)  # fmt: skip
    assert out[0].shape == (0, 2, 5)
    close(out[1], h0, np.float64)
    none = [a[:, :0] for a in (h0, c0)]
    out = weft.lstm(weft.zeros(4, 0, 3, dtype=weft.float64), tensors(none, float), tensors(weights, float), True, 1, 0.0,
                    False, False, False)  # fmt: skip
    assert out[0].shape == (4, 0, 5)


def lstm_call(x=(5, 2, 3), h=(1, 2, 4), c=(1, 2, 4), weights=((16, 3), (16, 4), (16,), (16,)), dtype=weft.float32, **options):
    options = {"num_layers": 1, "dropout": 0.0, "train": False, "bidirectional": False, "batch_first": False, **options}
    hx = [weft.zeros(h), weft.zeros(c)] if c else [weft.zeros(h)]
    return weft.lstm(weft.zeros(x, dtype=dtype), hx, [weft.zeros(w) for w in weights], True, **options)


@pytest.mark.parametrize(
    "change, error, message",
    [
        ({"x": (5, 3)}, ValueError, r"lstm: expected an input of shape \[steps, batch, input_size\], got \[5, 3\]"),
        ({"h": (2, 2, 4)}, ValueError, r"expected a hidden state of shape \[1, 2, 4\], got \[2, 2, 4\]"),
        ({"c": (1, 3, 4)}, ValueError, r"expected a cell state of shape \[1, 2, 4\]"),
        ({"h": (2, 4)}, ValueError, "the hidden state must have 3 dimensions"),
        ({"c": None}, TypeError, "argument 'hx' must have 2 tensors, got 1"),
        ({"weights": ((16, 3), (16, 4))}, ValueError, r"expected 4 weights \(4 for each of 1 layers x 1 directions\), got 2"),
        ({"weights": ((16, 3), (12, 4), (16,), (16,))}, ValueError, r"w_hh \(layer 0\) of shape \[16, 4\], got \[12, 4\]"),
        ({"dtype": weft.float64}, TypeError, "operands must have one dtype"),
        ({"dtype": weft.int64}, TypeError, "expected a floating dtype, got int64"),
        ({"num_layers": 0}, ValueError, "num_layers must be positive"),
        ({"num_layers": 2, "train": True, "dropout": 0.5}, NotImplementedError, "dropout between layers"),
    ],
)
def test_recurrent_errors(change, error, message):
    with pytest.raises(error, match=message):
        lstm_call(**change)


@pytest.mark.parametrize("sizes", [[3, 3], [1, 2, 2], [2, 2, 1], [2, 2, 0, 1]])
def test_packed_errors(sizes):
    with pytest.raises(ValueError, match="gru_packed: batch_sizes must"):
        weft.gru_packed(weft.zeros(5, 3), weft.asarray(np.array(sizes)), weft.zeros(1, 3, 4),
                        [weft.zeros(s) for s in ((12, 3), (12, 4))], False, 1, 0.0, False, False)  # fmt: skip


@pytest.mark.parametrize("lengths, message", [([2, 3], "sorted in decreasing"), ([3, 0], "positive"), ([3], "one length for each of 2"),
                                              ([9, 1], "at most 4")])  # fmt: skip
def test_packing_errors(lengths, message):
    with pytest.raises(ValueError, match=message):
        weft.pack_padded_sequence(weft.zeros(4, 2, 3), weft.asarray(np.array(lengths)), False)


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
    np.testing.assert_allclose(actual.astype(np.float64), expected, rtol=0, atol=ATTENTION_TOLERANCE[dtype] * max(1, np.abs(expected).max(initial=0)))


def qkv(rng, batch, queries, keys, head_dim, value_dim, dtype, kv_batch=None):
    shapes = [(*batch, queries, head_dim), (*(kv_batch or batch), keys, head_dim), (*(kv_batch or batch), keys, value_dim)]
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
    attention_close(attention(*given, weft.asarray(keep), scale=0.2), attention_reference(q, k, v, keep, scale=0.2), dtype)
    bias = rng.standard_normal((*batch, queries, keys)).astype(np.float32)
    added = attention(*given, weft.asarray(bias.astype(dtype)), scale=0.2)
    attention_close(added, attention_reference(q, k, v, bias.astype(dtype).astype(float), scale=0.2), dtype)


def test_attention_in_bfloat16():
    rng = np.random.default_rng(1)
    q, k, v = (weft.asarray(x.astype(np.float32)).to(weft.bfloat16) for x in qkv(rng, (2, 2), 33, 65, 16, 16, np.float32))
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
    mask = rng.random(shape) < 0.7 if boolean else np.where(rng.random(shape) < 0.3, -np.inf, rng.standard_normal(shape))
    mask = np.asarray(mask, bool if boolean else np.float32)
    out = weft.scaled_dot_product_attention(*tensors([q, k, v], np.float32), weft.asarray(mask))
    attention_close(out, attention_reference(q, k, v, mask), np.float32)


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
    attention_close(out, attention_reference(*(x.astype(float) for x in (q, *np.broadcast_arrays(k[:1], q)[:1], np.broadcast_to(v[:, :1], v.shape)))), np.float32)
    turned = [np.asfortranarray(x)[:, :, ::-1] for x in (q, k, v)]
    attention_close(weft.scaled_dot_product_attention(*map(weft.asarray, turned)), attention_reference(*(x.astype(float) for x in turned)), np.float32)


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


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"enable_gqa": True}])
def test_attention_by_its_formula(options):
    rng = np.random.default_rng(7)
    given = tensors(qkv(rng, (2, 4), 9, 11, 8, 8, np.float32, kv_batch=(2, 2 if "enable_gqa" in options else 4)), np.float32)
    out, weights = weft.scaled_dot_product_attention_math(*given, **options)
    attention_close(weft.scaled_dot_product_attention(*given, **options), out.numpy().astype(float), np.float32)
    np.testing.assert_allclose(weights.numpy().sum(axis=-1), 1, rtol=1e-6)


def attention_call(q=(2, 3, 4), k=(2, 5, 4), v=(2, 5, 6), mask=None, dtype=weft.float32, mask_dtype=weft.float32, **options):
    mask = None if mask is None else weft.zeros(mask, dtype=mask_dtype)
    return weft.scaled_dot_product_attention(weft.zeros(q), weft.zeros(k, dtype=dtype), weft.zeros(v), mask, **options)


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
        ({"q": (3, 3, 4), "enable_gqa": True}, ValueError, "the heads of key must divide the query's: expected a divisor of 3, got 2"),
        ({"q": (3, 4), "k": (5, 4), "v": (5, 6), "enable_gqa": True}, ValueError, "needs a dimension of heads"),
    ],
)
def test_attention_errors(change, error, message):
    with pytest.raises(error, match=message):
        attention_call(**change)
