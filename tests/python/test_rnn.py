"""Recurrent networks, against NumPy in float64."""

import itertools

import numpy as np
import pytest
import weft
from float64_checks import close, rounded, tensors

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


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
    expected, h_n, c_n = reference(
        kind, list(x.transpose(1, 0, 2)), h0, c0, weights, 2 + 2 * biases, layers, directions
    )
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
    expected, h_n, c_n = reference(
        "lstm", list(x.transpose(1, 0, 2)), h0, c0, weights, 3 + 2 * biases, 2, directions
    )
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
    data, sizes = weft.pack_padded_sequence(
        *tensors([padded], float), weft.from_numpy(np.array(lengths)), True
    )
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


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=lambda d: d.__name__)
@pytest.mark.parametrize("biases", [True, False])
@pytest.mark.parametrize("kind", GATES)
def test_cells(kind, biases, dtype):
    rng = np.random.default_rng(2)
    weights, h0, c0 = make_network(rng, kind, 3, 21, 4, 1, 1, biases)
    x = rng.standard_normal((4, 3))
    weights, (x, h0, c0) = rounded(weights, dtype), rounded([x, h0, c0], dtype)
    h, c = cell_step(kind, x, h0[0], c0[0], *weights)
    hidden = tensors([h0[0], c0[0]], dtype) if kind == "lstm" else tensors([h0[0]], dtype)[0]
    out = getattr(weft, kind + "_cell")(*tensors([x], dtype), hidden, *tensors(weights, dtype))
    close(out[0] if kind == "lstm" else out, h, dtype)
    if kind == "lstm":
        close(out[1], c, dtype)


@pytest.mark.parametrize("kind", GATES)
def test_gates_far_out(kind):
    """Saturated gates, tiny ones, infinities and NaN in float32, every lane of a vector and its rest."""
    hidden = 37
    values = np.resize(
        [0.0, 1e-30, -1e-6, 0.3, -4.5, 30.0, -90.0, 3e4, np.inf, -np.inf, np.nan], GATES[kind] * hidden
    )
    weights = [np.zeros((GATES[kind] * hidden, 1)), np.zeros((GATES[kind] * hidden, hidden))]
    h0 = c0 = np.linspace(-2, 2, hidden).reshape(1, 1, hidden)
    biases = rounded([values, np.zeros(GATES[kind] * hidden)], np.float32)
    with np.errstate(all="ignore"):
        expected, _, c_n = reference(kind, [np.zeros((1, 1))], h0, c0, weights + biases, 4, 1, 1)
    out = getattr(weft, kind)(weft.zeros(1, 1, 1), states(kind, h0, c0, np.float32), tensors(weights + biases, np.float32), True, 1,
                              0.0, False, False, False)  # fmt: skip
    np.testing.assert_allclose(out[0].numpy()[:, 0], expected[0], rtol=1e-6, atol=1e-7)
    if kind == "lstm":
        np.testing.assert_allclose(out[2].numpy(), c_n, rtol=1e-6, atol=1e-7)


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


def lstm_call(
    x=(5, 2, 3),
    h=(1, 2, 4),
    c=(1, 2, 4),
    weights=((16, 3), (16, 4), (16,), (16,)),
    dtype=weft.float32,
    **options,
):
    options = {
        "num_layers": 1,
        "dropout": 0.0,
        "train": False,
        "bidirectional": False,
        "batch_first": False,
        **options,
    }
    hx = [weft.zeros(h), weft.zeros(c)] if c else [weft.zeros(h)]
    return weft.lstm(weft.zeros(x, dtype=dtype), hx, [weft.zeros(w) for w in weights], True, **options)


@pytest.mark.parametrize(
    "change, error, message",
    [
        (
            {"x": (5, 3)},
            ValueError,
            r"lstm: expected an input of shape \[steps, batch, input_size\], got \[5, 3\]",
        ),
        ({"h": (2, 2, 4)}, ValueError, r"expected a hidden state of shape \[1, 2, 4\], got \[2, 2, 4\]"),
        ({"c": (1, 3, 4)}, ValueError, r"expected a cell state of shape \[1, 2, 4\]"),
        ({"h": (2, 4)}, ValueError, "the hidden state must have 3 dimensions"),
        ({"c": None}, TypeError, "argument 'hx' must have 2 tensors, got 1"),
        (
            {"weights": ((16, 3), (16, 4))},
            ValueError,
            r"expected 4 weights \(4 for each of 1 layers x 1 directions\), got 2",
        ),
        (
            {"weights": ((16, 3), (12, 4), (16,), (16,))},
            ValueError,
            r"w_hh \(layer 0\) of shape \[16, 4\], got \[12, 4\]",
        ),
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
