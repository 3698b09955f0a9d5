"""float16 and bfloat16 as PyTorch 2.15 computes them on CPUs: norms in float32, positions of grid_sample in their own dtype."""

import itertools

import pytest
import weft.torch as torch

F = torch.nn.functional
HALF = [torch.float16, torch.bfloat16]

# ---- norms: what |x|**p is added up in holds 23.4**6 ---------------------------------------------------------------

ORDERS = [0.5, 1, 2, 3, 4, 6, -1, -3, float("inf"), float("-inf"), 0]
NORMS = {
    torch.float16: [112.25, 37.90625, 26.046875, 24.203125, 23.6875, 23.453125, 0.4052734375, 0.499267578125]
    + [23.40625, 0.5, 4.0],
    torch.bfloat16: [112.0, 38.0, 26.0, 24.125, 23.625, 23.375, 0.40625, 0.5, 23.375, 0.5, 4.0],
}


def vector(dtype):
    return torch.tensor([23.4, -11.0, 3.0, 0.5]).to(dtype)


def zeros(x):
    return torch.zeros(4, dtype=x.dtype)


NORM_FUNCTIONS = {
    "vector_norm": lambda x, p: torch.linalg.vector_norm(x, p),
    "norm": lambda x, p: torch.norm(x, p),
    "Tensor.norm": lambda x, p: x.norm(p),
    "dist": lambda x, p: torch.dist(x, zeros(x), p),
    "masked.norm": lambda x, p: torch.masked.norm(x, p),
    "of rows": lambda x, p: torch.linalg.vector_norm(x[None], p, 1)[0],
    "compiled": lambda x, p: torch.compile(lambda v: torch.linalg.vector_norm(v, p))(x),
}


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("name", NORM_FUNCTIONS)
def test_norms_of_every_order(name, dtype):
    for order, expected in zip(ORDERS, NORMS[dtype]):
        found = NORM_FUNCTIONS[name](vector(dtype), order)
        assert found.dtype == dtype
        # The last place: NumPy's and PyTorch's powers differ in float32's.
        assert found.item() == pytest.approx(
            expected, rel=2**-8 if dtype == torch.bfloat16 else 2**-11
        ), order


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("p", [4, 6])
def test_what_is_made_of_norms(p, dtype):
    x = vector(dtype)[None]
    near = {"rel": 2**-6 if dtype == torch.bfloat16 else 2**-9}
    norm = NORMS[dtype][ORDERS.index(p)]
    assert F.pairwise_distance(x, zeros(x)[None], p).item() == pytest.approx(norm, **near)
    assert F.normalize(x, p=p)[0].tolist() == pytest.approx([each / norm for each in x[0].tolist()], **near)
    assert torch.renorm(x.reshape(2, 2), p, 0, 5.0)[0].tolist()[0] == pytest.approx(4.95, rel=2**-6)
    assert torch.isfinite(F.triplet_margin_loss(x, zeros(x)[None], torch.ones_like(x), p=p))


def test_what_no_float32_holds():
    assert torch.linalg.vector_norm(torch.tensor([23.4e7, 1.0]), 6).item() == float("inf")  # PyTorch's, too
    assert torch.linalg.vector_norm(torch.tensor([6e4, 6e4]).half(), 4).item() == float("inf")
    wide = torch.linalg.vector_norm(vector(torch.float16), 6, dtype=torch.float32)
    assert wide.dtype == torch.float32 and wide.item() == pytest.approx(23.4481, rel=1e-5)


# ---- grid_sample: every operation is rounded ------------------------------------------------------------------------


def unnormalized(position, size, align_corners):
    return (position + 1) / 2 * (size - 1) if align_corners else ((position + 1) * size - 1) / 2


def reflected(position, low, high):
    if low == high:
        return torch.zeros_like(position)
    span = (high - low) / 2
    position = (position - low / 2).abs()
    rest, flips = torch.fmod(position, span), torch.floor(position / span)
    return torch.where(torch.fmod(flips, 2) == 0, rest + low / 2, span - rest + low / 2)


def padded(position, size, mode, align_corners):
    if mode == "reflection":
        low, high = (0, 2 * (size - 1)) if align_corners else (-1, 2 * size - 1)
        position = reflected(position, low, high)
    return position if mode == "zeros" else position.clamp(0, size - 1)


def elements(x, row, column):
    """x[:, row, column], 0 outside."""
    _, height, width = x.shape
    inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
    found = x[:, row.long().clamp(0, height - 1), column.long().clamp(0, width - 1)]
    return torch.where(inside, found, torch.zeros((), dtype=x.dtype))


def cubic_weights(t):
    a = -0.75
    near = lambda x: ((a + 2) * x - (a + 3)) * x * x + 1  # noqa: E731
    far = lambda x: ((a * x - 5 * a) * x + 8 * a) * x - 4 * a  # noqa: E731
    return far(t + 1), near(t), near(1 - t), far(2 - t)


def sampled(x, grid, mode, padding, align_corners):
    """One image, operation by operation: what PyTorch 2.15 gives, bit for bit."""
    _, height, width = x.shape
    column = unnormalized(grid[..., 0], width, align_corners)
    row = unnormalized(grid[..., 1], height, align_corners)
    inside = lambda value, size: padded(value, size, padding, align_corners)  # noqa: E731
    if mode == "bicubic":
        left, top = torch.floor(column), torch.floor(row)
        across, down = cubic_weights(column - left), cubic_weights(row - top)
        lines = [
            [
                elements(x, inside(top + (j - 1), height), inside(left + (i - 1), width)) * across[i]
                for i in range(4)
            ]
            for j in range(4)
        ]
        total = torch.zeros_like(lines[0][0])
        for j, (first, second, third, fourth) in enumerate(lines):
            total = total + (first + second + third + fourth) * down[j]
        return total
    column, row = inside(column, width), inside(row, height)
    if mode == "nearest":
        return elements(x, torch.round(row), torch.round(column))
    left, top = torch.floor(column), torch.floor(row)
    right, bottom = left + 1, top + 1
    return (
        elements(x, top, left) * ((right - column) * (bottom - row))
        + elements(x, top, right) * ((column - left) * (bottom - row))
        + elements(x, bottom, left) * ((right - column) * (row - top))
        + elements(x, bottom, right) * ((column - left) * (row - top))
    )


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize(
    ("mode", "padding", "align_corners"),
    list(
        itertools.product(
            ["bilinear", "nearest", "bicubic"], ["zeros", "border", "reflection"], [True, False]
        )
    ),
)
def test_grid_sample(mode, padding, align_corners, dtype):
    torch.manual_seed(0)
    x = torch.randn(1, 3, 17, 19).to(dtype)
    grid = (torch.rand(1, 5, 7, 2) * 2.4 - 1.2).to(dtype)
    expected = sampled(x[0], grid[0], mode, padding, align_corners)
    found = F.grid_sample(x, grid, mode, padding, align_corners)
    assert found.dtype == dtype and torch.equal(found[0], expected)
    compiled = torch.compile(lambda a, b: F.grid_sample(a, b, mode, padding, align_corners))
    assert torch.equal(compiled(x, grid)[0], expected)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
def test_grid_sample_of_positions_that_are_none(padding):
    """NaN and infinities, also of volumes: nothing outside the memory is read."""
    for rank, dtype in itertools.product((2, 3), HALF):
        x = torch.ones((1, 1) + (4,) * rank, dtype=dtype)
        values = torch.tensor(
            [float("nan"), float("inf"), float("-inf"), 65504.0, -1.0, 0.0, 1.0, 0.25], dtype=dtype
        )
        grid = values.reshape((1, 8) + (1,) * rank).expand((1, 8) + (1,) * (rank - 1) + (rank,))
        assert F.grid_sample(x, grid, "bilinear", padding, True).shape == (1, 1, 8) + (1,) * (rank - 1)
