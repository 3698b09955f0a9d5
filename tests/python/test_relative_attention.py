"""Attention with decomposed relative positions, against the formula in float64."""

import os
import subprocess
import sys

import numpy as np
import pytest
import weft


def tensor(array):
    return weft.from_numpy(np.ascontiguousarray(array))


def operands(batch, queries, height, width, channels, values=None, dtype=weft.float32, seed=0):
    draw = np.random.default_rng(seed)
    values = channels if values is None else values
    shapes = [
        (queries, channels),
        (height * width, channels),
        (height * width, values),
        (queries, height),
        (queries, width),
    ]
    return [tensor(draw.standard_normal((*batch, *shape)).astype(np.float32)).to(dtype) for shape in shapes]


def formula(query, key, value, rel_h, rel_w, scale=None):
    query, key, value, rel_h, rel_w = (
        x.to(weft.float32).numpy().astype(np.float64) if x.dtype != weft.float64 else x.numpy()
        for x in (query, key, value, rel_h, rel_w)
    )
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    scores = scale * query @ np.swapaxes(key, -1, -2)
    sums = rel_h[..., :, None] + rel_w[..., None, :]
    scores = scores + sums.reshape(*sums.shape[:-2], key.shape[-2])
    if scores.shape[-1] == 0:
        return np.zeros((*scores.shape[:-1], value.shape[-1]))
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ value


TOLERANCE = {weft.float64: 1e-13, weft.float32: 4e-6, weft.bfloat16: 2e-2, weft.float16: 2e-3}


def check_attention(given, **options):
    actual = weft.relative_position_attention(*given, **options)
    expected = formula(*given, **options)
    assert actual.dtype == given[0].dtype and tuple(actual.shape) == expected.shape
    error = np.abs(actual.to(weft.float64).numpy() - expected).max(initial=0)
    assert error <= TOLERANCE[actual.dtype] * max(1, np.abs(expected).max(initial=0)), error


# Keys: below, at and past a vector, a panel (64, 32) and the keys taken at a time (192); rows of the grid that are and are not
# vectors. Queries: below, at and past a block (48) and a tile (6).
GRIDS = [
    (1, 1),
    (1, 17),
    (17, 1),
    (3, 5),
    (4, 16),
    (5, 16),
    (12, 16),
    (13, 16),
    (14, 14),
    (3, 64),
    (4, 64),
    (7, 33),
    (2, 200),
]


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("grid", GRIDS)
def test_grids(dtype, grid):
    check_attention(operands((2,), 50, *grid, 8, dtype=dtype))


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("queries", [1, 5, 6, 7, 47, 48, 49, 97])
def test_queries(dtype, queries):
    check_attention(operands((), queries, 4, 6, 12, 5, dtype=dtype))


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_heads_channels_and_scale(dtype):
    check_attention(operands((2, 3), 196, 14, 14, 64, 80, dtype=dtype), scale=0.3)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("sizes", [(0, 2, 2), (3, 0, 2), (3, 2, 0), (0, 0, 0)])
def test_nothing(dtype, sizes):
    check_attention(operands((2,), *sizes, 4, dtype=dtype))


def test_leading_dimensions_broadcast():
    q, k, v, h, w = operands((2, 3), 10, 3, 4, 8)
    check_attention([q, k[:, :1], v[:1], h[1], w[:, 2:]])
    check_attention([q[0, 0], k, v, h, w])


def test_rows_of_any_stride():
    q, k, v, h, w = operands((2, 3), 20, 4, 5, 8)
    swapped = [x.transpose(0, 1).contiguous().transpose(0, 1) for x in (q, k, v, h, w)]
    check_attention(swapped)
    columns = [x.transpose(-1, -2).contiguous().transpose(-1, -2) for x in (q, k, v, h, w)]
    check_attention(columns)
    check_attention([weft.flip(x, [-2]) for x in (q, k, v, h, w)])


def test_large_scores_and_infinities():
    q, k, v, h, w = operands((1,), 9, 4, 4, 8)
    check_attention([q, k, v, h * 1e3, w * 1e3])
    h = h.clone()
    h[:, :, 1] = -float("inf")
    expected = formula(q, k, v, h, w)
    np.testing.assert_allclose(weft.relative_position_attention(q, k, v, h, w).numpy(), expected, atol=4e-6)
    h[:, 3] = float("nan")
    actual = weft.relative_position_attention(q, k, v, h, w).numpy()
    assert np.isnan(actual[:, 3]).all() and not np.isnan(np.delete(actual, 3, 1)).any()


def test_threads_change_nothing():
    given, threads = operands((2, 4), 196, 14, 14, 16), weft.get_num_threads()
    try:
        results = []
        for count in (1, 2):
            weft.set_num_threads(count)
            results.append(weft.relative_position_attention(*given).numpy())
        np.testing.assert_array_equal(*results)
    finally:
        weft.set_num_threads(threads)


def test_compiled():
    def function(q, k, v, h, w):
        return weft.relative_position_attention(q * 2, k, v, h, w) + 1

    compiled = weft.compile(function, fullgraph=True)
    for grid in ((14, 14), (14, 14), (4, 16), (5, 3)):
        given = operands((2,), 20, *grid, 8)
        np.testing.assert_allclose(compiled(*given).numpy(), function(*given).numpy(), rtol=1e-6, atol=1e-6)


def test_wrong_operands():
    q, k, v, h, w = operands((2,), 6, 3, 4, 8)
    with pytest.raises(ValueError, match="expected 9 keys, got 12"):
        weft.relative_position_attention(q, k, v, h, h)
    with pytest.raises(ValueError, match="a row for each query"):
        weft.relative_position_attention(q, k, v, h[:, :5], w)
    with pytest.raises(ValueError, match="one last size"):
        weft.relative_position_attention(q[..., :4], k, v, h, w)
    with pytest.raises(TypeError, match="dtype of query"):
        weft.relative_position_attention(q, k, v, h.to(weft.float64), w)
    with pytest.raises(TypeError, match="one floating dtype"):
        weft.relative_position_attention(q, k.to(weft.float64), v, h, w)
    with pytest.raises(TypeError, match="floating"):
        weft.relative_position_attention(*(x.to(weft.int64) for x in (q, k, v, h, w)))


@pytest.mark.parametrize("vector_bytes", ["16", "32", "64"])
def test_instruction_sets(vector_bytes):
    if os.environ.get("WEFT_VECTOR_BYTES"):
        pytest.skip("within test_instruction_sets")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    command += ["-k", "test_grids or test_queries or test_heads or test_large"]
    done = subprocess.run(
        command, env=os.environ | {"WEFT_VECTOR_BYTES": vector_bytes}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-2000:]


# ---- recognized in captured graphs ------------------------------------------------------------------------------
def original_form(q, k, v, table_h, table_w, size):
    """As image encoders write it: tables [size, size, channels], scores of all queries and keys."""
    attn = (q * q.shape[-1] ** -0.5) @ k.transpose(-2, -1)
    r_q = q.reshape(q.shape[0], size, size, q.shape[-1])
    rel_h = weft.einsum("bhwc,hkc->bhwk", r_q, table_h)
    rel_w = weft.einsum("bhwc,wkc->bhwk", r_q, table_w)
    attn = (
        attn.view(q.shape[0], size, size, size, size) + rel_h[:, :, :, :, None] + rel_w[:, :, :, None, :]
    ).view(q.shape[0], size * size, size * size)
    return attn.softmax(dim=-1) @ v


def mask_form(q, k, v, table_h, table_w, size):
    r_q = q.reshape(q.shape[0], size, size, q.shape[-1])
    rel_h = weft.einsum("bhwc,hkc->bhwk", r_q, table_h)
    rel_w = weft.einsum("bhwc,wkc->bhwk", r_q, table_w)
    mask = (rel_h[..., None] + rel_w[..., None, :]).reshape(q.shape[0], size * size, size * size)
    return weft.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)


@pytest.mark.parametrize("dtype", [weft.float32, weft.bfloat16])
@pytest.mark.parametrize("form", [original_form, mask_form])
@pytest.mark.parametrize("size", [2, 5, 14])
def test_recognized(form, size, dtype, monkeypatch, tmp_path):
    draw = np.random.default_rng(size)
    shapes = [(3, size * size, 8)] * 3 + [(size, size, 8)] * 2
    given = [tensor(draw.standard_normal(shape).astype(np.float32)).to(dtype) for shape in shapes]
    report = weft.compiler.explain(lambda *arguments: form(*arguments, size))(*given)
    assert not report.breaks
    expected = form(*(x.to(weft.float64) for x in given), size).numpy()
    error = np.abs(report.result.to(weft.float64).numpy() - expected).max()
    assert report.result.dtype == dtype and error < (2e-6 if dtype == weft.float32 else 0.05)


@pytest.mark.parametrize("form", ["original_form", "mask_form"])
def test_recognized_where_it_runs(form):
    """The compiled program calls the operator: no sums of all queries and keys."""
    program = f"""
import numpy as np, weft
import test_relative_attention as tests
size = 14
shapes = [(3, size * size, 8)] * 3 + [(size, size, 8)] * 2
given = [weft.from_numpy(np.ones(shape, np.float32)) for shape in shapes]
weft.compile(lambda *x: tests.{form}(*x, size), fullgraph=True)(*given)
"""
    folders = [os.path.dirname(__file__), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"WEFT_LOGS": "passes", "PYTHONPATH": os.pathsep.join(folders)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    fused = done.stderr.split("[weft passes] <lambda> fuse:")[1].split("[weft passes]")[0]
    assert "call relative_position_attention" in fused
    last = done.stderr.split("[weft passes] <lambda> dead_code:")[1]
    assert "relative_position_attention" in last and "196, 196]" not in last and "14, 14, 14, 14]" not in last
