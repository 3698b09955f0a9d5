"""Pixels and masks of Segment Anything: against Pillow, and against plain NumPy."""

import numpy as np
import pytest
import weft
from weft import _models
from weft.models import sam
from weft.models.sam.generator import crop_boxes, point_grid, suppress, touches_cut

DRAW = np.random.default_rng(3)


@pytest.mark.parametrize("size", [(1, 1), (1, 40), (40, 1), (7, 5), (64, 48), (33, 100)])
@pytest.mark.parametrize("to", [(1, 1), (16, 16), (64, 48), (33, 101), (200, 3)])
def test_resize_as_pillow(size, to):
    PIL = pytest.importorskip("PIL.Image")
    image = DRAW.integers(0, 256, (*size, 3), dtype=np.uint8)
    # Columns first: newer versions of Pillow begin with rows where that is less work.
    wide = PIL.fromarray(image).resize((to[1], size[0]), PIL.Resampling.BILINEAR)
    expected = np.array(wide.resize(to[::-1], PIL.Resampling.BILINEAR))
    np.testing.assert_array_equal(sam.resize_pixels(image, to), expected)


def test_resize_refuses():
    with pytest.raises(ValueError, match="no size may be 0"):
        sam.resize_pixels(np.zeros((2, 2, 3), np.uint8), (0, 4))


def masks():
    yield np.zeros((3, 5), bool)
    yield np.ones((3, 5), bool)
    yield np.zeros((0, 4), bool)
    yield np.zeros((4, 0), bool)
    yield np.eye(9, dtype=bool)
    yield np.eye(20, 8, dtype=bool)[::-1]
    for shape in ((1, 1), (1, 30), (30, 1), (17, 23), (8, 8), (5, 16), (40, 64)):
        for share in (0.1, 0.5, 0.9):
            yield DRAW.random(shape) < share


@pytest.mark.parametrize("mask", list(masks()))
def test_run_lengths(mask):
    plain = sam.mask_to_rle(mask, compressed=False)
    flat = mask.T.reshape(-1)
    edges = np.flatnonzero(np.diff(flat.astype(np.int8), prepend=0)) if flat.size else np.zeros(0, int)
    assert plain == {"size": list(mask.shape), "counts": np.diff(edges, prepend=0, append=flat.size).tolist()}
    text = sam.mask_to_rle(mask)
    assert isinstance(text["counts"], str)
    for rle in (plain, text, {**text, "counts": text["counts"].encode()}):
        np.testing.assert_array_equal(sam.rle_to_mask(rle), mask)
        assert sam.area_of(rle) == mask.sum()


def test_coco_text():
    # Written by COCO's own tools.
    mask = np.zeros((4, 4), bool)
    mask[1:3, 1:3] = True
    assert sam.mask_to_rle(mask) == {"size": [4, 4], "counts": "52203"}


@pytest.mark.parametrize(
    "counts, message",
    [([3, 2], "1 are left"), ([3, 9], "a run of 9"), ([-1, 7], "a run of -1"), ("~", "no such character"),
     ("o", "within a number"), ("PPPPPPPPPPPPPPPPPPPPPPP", "1 are left|fill|number")],
)  # fmt: skip
def test_wrong_run_lengths(counts, message):
    with pytest.raises(ValueError, match=message):
        sam.rle_to_mask({"size": [2, 3], "counts": counts})


def test_wrong_masks():
    for wrong in (np.zeros((2, 2)), np.zeros(4, bool), np.zeros((2, 2, 2), bool)):
        with pytest.raises(ValueError, match=r"bool \[height, width\]"):
            sam.mask_to_rle(wrong)


def regions_of(mask):
    """Labels from 1 on; pixels that touch at a corner are connected."""
    labels, count = np.zeros(mask.shape, int), 0
    for start in zip(*np.nonzero(mask)):
        if labels[start]:
            continue
        count += 1
        labels[start], stack = count, [start]
        while stack:
            y, x = stack.pop()
            for ny in range(max(0, y - 1), min(mask.shape[0], y + 2)):
                for nx in range(max(0, x - 1), min(mask.shape[1], x + 2)):
                    if mask[ny, nx] and not labels[ny, nx]:
                        labels[ny, nx] = count
                        stack.append((ny, nx))
    return labels, count


@pytest.mark.parametrize("mode", ["holes", "islands"])
@pytest.mark.parametrize("mask", list(masks()))
def test_small_regions(mask, mode):
    for area in (0, 1, 4, 30):
        labels, count = regions_of(mask != (mode == "holes"))
        sizes = np.bincount(labels.reshape(-1), minlength=count + 1)
        small = [i for i in range(1, count + 1) if sizes[i] < area]
        expected = mask.copy()
        if mode == "holes":
            expected[np.isin(labels, small)] = True
        elif len(small) == count and count:
            expected = labels == 1 + sizes[1:].argmax()
        else:
            expected[np.isin(labels, small)] = False
        actual, changed = sam.remove_small_regions(mask, area, mode)
        np.testing.assert_array_equal(actual, expected)
        assert changed == bool(small)
    with pytest.raises(ValueError, match="'holes' or 'islands'"):
        sam.remove_small_regions(mask, 3, "edges")


def filled(polygons, shape):
    """Pixels whose centers lie within an odd number of the polygons' edges to the right."""
    y, x = np.mgrid[: shape[0], : shape[1]] + 0.5
    inside = np.zeros(shape, bool)
    for polygon in polygons:
        points = np.reshape(polygon, (-1, 2))
        for (x0, y0), (x1, y1) in zip(points, np.roll(points, -1, 0)):
            if x0 == x1:
                inside ^= (x < x0) & (y > min(y0, y1)) & (y < max(y0, y1))
    return inside


@pytest.mark.parametrize("mask", list(masks()))
def test_polygons(mask):
    polygons = sam.mask_to_polygons(mask)
    labels, count = regions_of(mask)
    assert len(polygons) == count
    expected = np.zeros_like(mask)
    for i in range(1, count + 1):  # every region without its holes
        outside = np.pad(labels != i, 1, constant_values=True)
        reached, stack = np.zeros_like(outside), [(0, 0)]
        reached[0, 0] = True
        while stack:
            y, x = stack.pop()
            for ny, nx in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)):
                if (
                    0 <= ny < outside.shape[0]
                    and 0 <= nx < outside.shape[1]
                    and outside[ny, nx]
                    and not reached[ny, nx]
                ):
                    reached[ny, nx] = True
                    stack.append((ny, nx))
        expected ^= ~reached[1:-1, 1:-1]
    np.testing.assert_array_equal(filled(polygons, mask.shape), expected)


def test_summaries_are_those_of_whole_masks():
    low = weft.from_numpy(DRAW.standard_normal((5, 16, 16)).astype(np.float32))
    low[3] = -9.0
    input, original, whole = (40, 64), (90, 144), (100, 150)
    full = _models.upscale_masks(low, 64, input, original).numpy()
    summaries = _models.summarize_masks(low, 64, input, original, (4, 7), whole, 0.0, 0.25)
    for logits, (area, stability, box, runs) in zip(full, summaries):
        mask = np.zeros(whole, bool)
        mask[7:97, 4:148] = logits > 0
        np.testing.assert_array_equal(runs.mask().numpy(), mask)
        counts = sam.mask_to_rle(mask, compressed=False)["counts"]
        assert list(runs) == counts and len(runs) == len(counts)
        assert runs.coco_string() == sam.mask_to_rle(mask)["counts"]
        np.testing.assert_array_equal(sam.rle_to_mask({"size": whole, "counts": runs}), mask)
        assert area == mask.sum()
        if area:
            np.testing.assert_allclose(stability, (logits > 0.25).sum() / (logits > -0.25).sum(), rtol=1e-6)
            rows, columns = np.flatnonzero((logits > 0).any(1)), np.flatnonzero((logits > 0).any(0))
            assert box == (columns[0], rows[0], columns[-1], rows[-1])
        else:
            assert np.isnan(stability) and box == (0, 0, 0, 0)


@pytest.mark.parametrize("height, width", [(1, 1), (1, 70), (70, 1), (33, 65)])
def test_run_lengths_are_those_of_columns(height, width):
    for mask in (
        np.zeros((height, width), bool),
        np.ones((height, width), bool),
        DRAW.random((height, width)) < 0.5,
        np.indices((height, width)).sum(0) % 2 == 0,
    ):
        flat = np.concatenate([[False], mask.T.ravel()])
        changes = np.flatnonzero(flat[1:] != flat[:-1])
        expected = np.diff(np.concatenate([[0], changes, [mask.size]])).tolist()
        rle = sam.mask_to_rle(mask, compressed=False)
        assert rle == {"size": [height, width], "counts": expected}
        np.testing.assert_array_equal(sam.rle_to_mask(rle), mask)


def test_upscaling_is_two_interpolations():
    low = weft.from_numpy(DRAW.standard_normal((2, 16, 16)).astype(np.float32))
    resize = weft.nn.functional.interpolate
    for input, original in (
        ((64, 64), (64, 64)),
        ((40, 64), (90, 144)),
        ((64, 1), (500, 3)),
        ((1, 64), (1, 7)),
    ):
        square = resize(low[:, None], size=(64, 64), mode="bilinear", align_corners=False)
        expected = resize(
            square[..., : input[0], : input[1]], size=original, mode="bilinear", align_corners=False
        )
        actual = _models.upscale_masks(low, 64, input, original)
        np.testing.assert_allclose(actual.numpy(), expected[:, 0].numpy(), atol=2e-6)


def test_grids_and_crops():
    np.testing.assert_allclose(point_grid(2), [[0.25, 0.25], [0.75, 0.25], [0.25, 0.75], [0.75, 0.75]])
    assert crop_boxes((100, 200), 0, 0.5) == [(0, 0, 200, 100, 0)]
    boxes = crop_boxes((100, 200), 2, 512 / 1500)
    assert len(boxes) == 1 + 4 + 16 and boxes[1] == (0, 0, 117, 67, 1) and boxes[4] == (83, 33, 200, 100, 1)
    assert all(0 <= left < right <= 200 and 0 <= top < bottom <= 100 for left, top, right, bottom, _ in boxes)
    assert not touches_cut((0, 0, 99, 50), (0, 0, 200, 100), (100, 200))
    assert touches_cut((50, 30, 117, 60), (0, 0, 117, 67), (100, 200))
    assert not touches_cut((22, 30, 90, 46), (0, 0, 117, 67), (100, 200))


def test_suppression():
    boxes = [(0, 0, 10, 10), (0, 0, 10, 9), (20, 20, 30, 30)]
    assert suppress(boxes, [0.5, 0.9, 0.7], 0.7).tolist() == [1, 2]
    assert suppress(boxes, [0.5, 0.9, 0.7], 0.95).tolist() == [1, 2, 0]
    assert suppress([], [], 0.7).tolist() == []
