"""Learning: layers, losses, nearest neighbours, clustering, regression, recurrent cells."""

import numpy as np

from .registry import peer, prange, program


def batch_inputs(rng, n, m):
    return (rng.standard_normal((n, m)).astype(np.float32),)


@program(batch_inputs, size={"n": 2048, "m": 1024}, small={"n": 5, "m": 9}, rtol=1e-6)
def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


@peer("numba", softmax)
def softmax_numba(x):
    result = np.empty_like(x)
    for i in prange(x.shape[0]):
        highest = x[i, 0]
        for j in range(x.shape[1]):
            highest = max(highest, x[i, j])
        total = np.float32(0)
        for j in range(x.shape[1]):
            result[i, j] = np.exp(x[i, j] - highest)
            total += result[i, j]
        for j in range(x.shape[1]):
            result[i, j] /= total
    return result


@program(batch_inputs, size={"n": 2048, "m": 1024}, small={"n": 5, "m": 9}, rtol=1e-5)
def layer_norm(x):
    mean = x.mean(axis=-1, keepdims=True)
    variance = x.var(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5)


@program(batch_inputs, size={"n": 2048, "m": 1024}, small={"n": 5, "m": 9}, rtol=1e-5)
def gelu(x):
    return 0.5 * x * (1.0 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


@peer("numexpr", gelu)
def gelu_numexpr(x):
    import numexpr

    return numexpr.evaluate("0.5 * x * (1.0 + tanh(0.7978845608 * (x + 0.044715 * x * x * x)))")


def perceptron_inputs(rng, n, width):
    shapes = (n, width), (width, width), (width,), (width, width), (width,), (width, 10), (10,)
    return tuple(rng.standard_normal(s).astype(np.float32) / 8 for s in shapes)


@program(perceptron_inputs, size={"n": 256, "width": 512}, small={"n": 4, "width": 8}, rtol=1e-4)
def perceptron(x, w1, b1, w2, b2, w3, b3):
    x = np.maximum(x @ w1 + b1, 0)
    x = np.maximum(x @ w2 + b2, 0)
    x = x @ w3 + b3
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def image_inputs(rng, n, size, channels, kernel, filters):
    return (
        rng.random((n, size, size, channels), dtype=np.float32),
        rng.random((kernel, kernel, channels, filters), dtype=np.float32),
        rng.random(filters, dtype=np.float32),
    )


@program(
    image_inputs,
    size={"n": 4, "size": 32, "channels": 3, "kernel": 5, "filters": 16},
    small={"n": 2, "size": 7, "channels": 2, "kernel": 3, "filters": 3},
    rtol=1e-5,
    loops=True,
)
def convolution_bias(image, weights, bias):
    k = weights.shape[0]
    n, height, width, _ = image.shape
    result = np.empty((n, height - k + 1, width - k + 1, weights.shape[3]), dtype=np.float32)
    for i in range(height - k + 1):
        for j in range(width - k + 1):
            patch = image[:, i : i + k, j : j + k, :, None]
            result[:, i, j, :] = np.sum(patch * weights[None], axis=(1, 2, 3))
    return result + bias


@peer("numba", convolution_bias)
def convolution_bias_numba(image, weights, bias):
    k, _, channels, filters = weights.shape
    n, height, width, _ = image.shape
    result = np.empty((n, height - k + 1, width - k + 1, filters), dtype=np.float32)
    for row in prange(n * (height - k + 1)):
        b = row // (height - k + 1)
        i = row % (height - k + 1)
        for j in range(width - k + 1):
            for f in range(filters):
                result[b, i, j, f] = bias[f]
            for di in range(k):
                for dj in range(k):
                    for c in range(channels):
                        value = image[b, i + di, j + dj, c]
                        for f in range(filters):
                            result[b, i, j, f] += value * weights[di, dj, c, f]
    return result


@program(
    lambda rng, n, size, channels: (rng.random((n, size, size, channels), dtype=np.float32),),
    size={"n": 8, "size": 64, "channels": 32},
    small={"n": 2, "size": 6, "channels": 3},
)
def max_pool(x):
    n, height, width, channels = x.shape
    return x.reshape(n, height // 2, 2, width // 2, 2, channels).max(axis=(2, 4))


@program(
    lambda rng, n, size, channels: (rng.random((n, size, size, channels), dtype=np.float32),),
    size={"n": 8, "size": 64, "channels": 32},
    small={"n": 2, "size": 6, "channels": 3},
    rtol=1e-5,
)
def batch_norm_relu(x):
    mean = np.mean(x, axis=0, keepdims=True)
    deviation = np.std(x, axis=0, keepdims=True)
    return np.maximum((x - mean) / np.sqrt(deviation + 1e-5), 0)


def attention_inputs(rng, heads, n, width):
    return tuple(rng.standard_normal((heads, n, width)).astype(np.float32) for _ in range(3))


@program(
    attention_inputs,
    size={"heads": 8, "n": 256, "width": 64},
    small={"heads": 2, "n": 5, "width": 4},
    rtol=1e-5,
)
def attention(q, k, v):
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(np.float32(q.shape[-1]))
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True) @ v


def points_inputs(rng, n, k, width):
    return rng.standard_normal((n, width)), rng.standard_normal((k, width))


@program(points_inputs, size={"n": 50_000, "k": 16, "width": 3}, small={"n": 30, "k": 3, "width": 2})
def kmeans_assignment(points, means):
    return np.argmin(np.linalg.norm(points - means[:, None], axis=2), axis=0)


@peer("numba", kmeans_assignment)
def kmeans_assignment_numba(points, means):
    labels = np.empty(points.shape[0], np.int64)
    for i in prange(points.shape[0]):
        best, label = np.inf, 0
        for k in range(means.shape[0]):
            distance = 0.0
            for d in range(points.shape[1]):
                distance += (points[i, d] - means[k, d]) ** 2
            distance = np.sqrt(distance)
            if distance < best:
                best, label = distance, k
        labels[i] = label
    return labels


@program(
    points_inputs, size={"n": 3000, "k": 300, "width": 16}, small={"n": 20, "k": 4, "width": 3}, rtol=1e-12
)
def pairwise_distances(points, others):
    squared = (points**2).sum(axis=1)[:, None] + (others**2).sum(axis=1)[None, :] - 2 * points @ others.T
    return np.sqrt(np.maximum(squared, 0))


@program(
    points_inputs, size={"n": 2000, "k": 200, "width": 16}, small={"n": 20, "k": 4, "width": 3}, rtol=1e-12
)
def cosine_nearest(points, others):
    a = points / np.linalg.norm(points, axis=1, keepdims=True)
    b = others / np.linalg.norm(others, axis=1, keepdims=True)
    similarity = b @ a.T
    return similarity.argmax(axis=1), similarity.max(axis=1)


def regression_inputs(rng, n, m, steps):
    X = rng.standard_normal((n, m))
    return X, (X @ rng.standard_normal(m) > 0).astype(np.float64), np.zeros(m), 0.1, steps


@program(
    regression_inputs,
    size={"n": 5000, "m": 50, "steps": 30},
    small={"n": 20, "m": 3, "steps": 3},
    rtol=1e-12,
    loops=True,
)
def logistic_regression(X, y, w, rate, steps):
    for _ in range(steps):
        probability = 1.0 / (1.0 + np.exp(-(X @ w)))
        w = w - rate * (X.T @ (probability - y)) / y.size
    return w


def cell_inputs(rng, n, width, steps):
    x = rng.standard_normal((steps, n, width))
    state = rng.standard_normal((n, width))
    weights = rng.standard_normal((2, width, 4 * width)) / width
    return x, state, state * 0.5, weights[0], weights[1], rng.standard_normal(4 * width)


@program(
    cell_inputs,
    size={"n": 64, "width": 128, "steps": 10},
    small={"n": 3, "width": 4, "steps": 2},
    rtol=1e-11,
    loops=True,
)
def lstm(x, h, c, wx, wh, bias):
    width = h.shape[1]
    for t in range(x.shape[0]):
        gates = x[t] @ wx + h @ wh + bias
        i = 1.0 / (1.0 + np.exp(-gates[:, :width]))
        f = 1.0 / (1.0 + np.exp(-gates[:, width : 2 * width]))
        g = np.tanh(gates[:, 2 * width : 3 * width])
        o = 1.0 / (1.0 + np.exp(-gates[:, 3 * width :]))
        c = f * c + i * g
        h = o * np.tanh(c)
    return h, c


def labels_inputs(rng, n, m):
    return rng.standard_normal((n, m)), rng.integers(0, m, n)


@program(labels_inputs, size={"n": 20_000, "m": 50}, small={"n": 9, "m": 4}, rtol=1e-12)
def cross_entropy(logits, labels):
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_total = np.log(np.exp(shifted).sum(axis=1))
    return np.mean(log_total - shifted[np.arange(labels.size), labels])
