"""Segment Anything, stage by stage, against what the original gives on a small checkpoint."""

import os
import pathlib

import numpy as np
import pytest
import weft
from weft.models import Sam, SamConfig, SamPredictor

SHARED = pathlib.Path(
    os.environ.get("WEFT_SHARED_DATA", pathlib.Path(__file__).parents[2] / ".." / "shared" / "data")
)
CHECKPOINT = SHARED / "sam_tiny" / "sam_tiny.pth"
PROMPTS = ("point", "points", "box", "box_point", "mask")
needs_data = pytest.mark.skipif(not CHECKPOINT.exists(), reason="no shared data (WEFT_SHARED_DATA)")


@pytest.fixture(scope="module")
def expected():
    return np.load(SHARED / "sam_tiny" / "sam_tiny.npz")


@pytest.fixture(scope="module")
def image():
    PIL = pytest.importorskip("PIL.Image")
    return np.array(PIL.open(SHARED / "images" / "dog.jpg").convert("RGB"))


@pytest.fixture(scope="module")
def sam():
    return Sam.from_checkpoint(CHECKPOINT)


@pytest.fixture(scope="module", params=[False, True], ids=["eager", "compiled"])
def predictor(request, sam, image):
    predictor = SamPredictor(sam, compile=request.param)
    predictor.set_image(image)
    return predictor


def close(actual, expected, tolerance=1e-4):
    actual = actual.numpy() if isinstance(actual, weft.Tensor) else actual
    assert actual.shape == expected.shape and actual.dtype == expected.dtype
    assert np.abs(actual - expected).max() <= tolerance * np.abs(expected).max()


def prompt_of(expected, tag):
    return {key.split(".in.")[1]: expected[key] for key in expected.files if key.startswith(f"{tag}.in.")}


@needs_data
def test_config(sam):
    assert sam.config == SamConfig(48, 4, 4, 192, (1, 3), 6, 16, 256, 32, 8, 2, 4, 64, 16, 4, 3, 32)


@needs_data
def test_image_stages(expected, image, sam, predictor):
    resized = weft.models.sam.resize_pixels(image, (171, 256))
    np.testing.assert_array_equal(resized, expected["resized_rgb"])
    x = sam.preprocess(weft.from_numpy(resized).permute(2, 0, 1))[None]
    close(x, expected["preprocessed"])
    close(predictor.get_image_embedding(), expected["image_embedding"])
    close(sam.prompt_encoder.dense_pe(), expected["dense_pe"])


@needs_data
@pytest.mark.parametrize("tag", PROMPTS)
def test_prompts(expected, predictor, tag):
    logits, iou = expected[f"{tag}.low_res_logits"], expected[f"{tag}.iou"]
    options = {**prompt_of(expected, tag), "multimask_output": len(logits) == 3}
    masks, own_iou, own_logits = predictor.predict(**options)
    close(own_logits, logits)
    close(own_iou, iou)
    full = predictor.predict(**options, return_logits=True)[0]
    np.testing.assert_array_equal(full > 0, masks)
    np.testing.assert_allclose(full.sum((1, 2)), expected[f"{tag}.mask_logits_sum"], rtol=1e-4, atol=0.1)
    shape = expected[f"{tag}.mask_shape"]
    bits = np.unpackbits(expected[f"{tag}.mask_bits"])[: shape.prod()].reshape(shape).astype(bool)
    # Equal, but where the logit is 0 to the last digit of its sums.
    assert (
        np.abs(full[bits != masks]).max(initial=0) <= 1e-6 * np.abs(full).max() and (bits != masks).sum() <= 2
    )


@needs_data
def test_batches_of_prompts_and_images(expected, image, sam, predictor):
    points = np.array([[[400.0, 300.0]], [[100.0, 50.0]], [[0.0, 534.0]]])
    labels = np.array([[1], [0], [1]])
    masks, iou, logits = predictor.predict_batch(points, labels)
    assert masks.shape == (3, 3, 534, 800) and masks.dtype == bool
    for i in range(3):
        one = predictor.predict(points[i], labels[i])
        close(iou[i], one[1])
        close(logits[i], one[2])
    boxes = np.array([[10.0, 20.0, 300.0, 400.0], [0.0, 0.0, 800.0, 534.0]])
    batch = predictor.predict_batch(boxes=boxes, multimask_output=False)
    close(batch[2][1], predictor.predict(box=boxes[1], multimask_output=False)[2])
    # Prompts of different numbers of points: -1 fills up.
    several = predictor.predict_batch(
        np.array([[[400.0, 300.0], [-9.0, 1e6]], [[100.0, 50.0], [40.0, 60.0]]]), np.array([[1, -1], [1, 0]])
    )
    assert several[0].shape == (2, 3, 534, 800)

    both = SamPredictor(sam, compile=False)
    both.set_images([image, image[100:400, ::2]])
    alone = SamPredictor(sam, compile=False)
    alone.set_image(image[100:400, ::2])
    close(both.get_image_embedding()[1:], alone.get_image_embedding().numpy())
    second = both.predict_batch(points[:1, :, ::-1].copy() / 3, labels[:1], image=1)
    close(second[2][0], alone.predict(points[0, :, ::-1].copy() / 3, labels[0])[2])
    with pytest.raises(IndexError, match="image 2 of 2"):
        both.predict_batch(points, labels, image=2)


@needs_data
@pytest.mark.parametrize("compile", [False, True])
def test_images_with_different_numbers_of_prompts(image, sam, compile):
    predictor = SamPredictor(sam, compile=compile)
    images = [image, image[:300], image[100:400, :200]]
    draw = np.random.default_rng(8)
    for count in (1, 3):  # as many images
        predictor.set_images(images[:count])
        sizes = [(x.shape[1], x.shape[0]) for x in images[:count]]
        for numbers in ((2, 0, 3), (1, 1, 1), (5, 2, 1)):
            points = [draw.random((n, 2, 2)) * size for n, size in zip(numbers, sizes)]
            labels = [draw.integers(0, 2, (n, 2)) for n in numbers[:count]]
            boxes = [
                np.sort(draw.random((n, 2, 2)) * size, 1).reshape(n, 4) for n, size in zip(numbers, sizes)
            ]
            masks = [draw.standard_normal((n, 1, 64, 64)) for n in numbers[:count]]
            forms = [
                {"point_coords": points, "point_labels": labels},
                {"boxes": boxes, "multimask_output": False},
                {"point_coords": points, "point_labels": labels, "boxes": boxes, "mask_input": masks},
            ]
            for form in forms:
                found = predictor.predict_images(**form)
                assert len(found) == count
                for i in range(count):
                    assert found[i][0].shape[:2] == (numbers[i], 1 if "multimask_output" in form else 3)
                    if numbers[i] == 0:
                        assert found[i][0].shape[2:] == images[i].shape[:2]
                        continue
                    one = {name: x[i] if isinstance(x, list) else x for name, x in form.items()}
                    alone = predictor.predict_batch(**one, image=i)
                    np.testing.assert_array_equal(found[i][0].shape, alone[0].shape)
                    assert (found[i][0] != alone[0]).mean() < 1e-5
                    close(found[i][1], alone[1], 1e-5)
                    close(found[i][2], alone[2], 1e-5)


@needs_data
def test_wrong_prompts_of_several_images(image, sam):
    predictor = SamPredictor(sam, compile=False)
    with pytest.raises(RuntimeError, match="call set_image first"):
        predictor.predict_images(boxes=[])
    predictor.set_images([image, image[:99]])
    box = [[0, 0, 5, 5]]
    for prompts, error, message in (
        ({}, ValueError, "expected points, boxes or masks"),
        ({"boxes": [box]}, ValueError, "boxes: expected 2 entries, one for each image, got 1"),
        ({"boxes": [np.zeros((0, 4))] * 2}, ValueError, "at least one prompt"),
        ({"boxes": [box, [[0, 0, 5, 100]]]}, ValueError, "99 high"),
        ({"point_coords": [[[[1, 1]]], [[[1, 1], [2, 2]]]], "point_labels": [[[1]], [[1, 1]]]}, ValueError,
         "points: as many for each prompt"),
        ({"point_coords": [[[[1, 1]]], [[[1, 1]]]]}, ValueError, "point_labels must be given"),
        ({"boxes": [box, box], "mask_input": [np.zeros((2, 1, 64, 64)), np.zeros((1, 1, 64, 64))]}, ValueError,
         "as many prompts of each kind"),
    ):  # fmt: skip
        with pytest.raises(error, match=message):
            predictor.predict_images(**prompts)
    boxes = weft.nested.nested_tensor([weft.zeros(2, 4), weft.zeros(1, 4)])
    labels = weft.nested.nested_tensor([weft.zeros(2, 1), weft.zeros(1, 1)])
    embeddings = predictor.get_image_embedding()
    with pytest.raises(TypeError, match="all of them or none"):
        sam.decode(embeddings, weft.zeros(3, 1, 2), labels)
    with pytest.raises(ValueError, match="their offsets have to be the same"):
        sam.decode(
            embeddings, boxes=boxes, masks=weft.nested.nested_tensor([weft.zeros(2, 1), weft.zeros(1, 1)])
        )


@needs_data
def test_images_of_any_form(image, sam):
    predictor = SamPredictor(sam, compile=False)
    predictor.set_image(image)
    rgb = predictor.get_image_embedding().numpy()
    for other, format in (
        (image[:, :, ::-1], "BGR"),
        (weft.from_numpy(image), "RGB"),
        (np.asfortranarray(image), "RGB"),
    ):
        predictor.set_image(other, format)
        np.testing.assert_array_equal(predictor.get_image_embedding().numpy(), rgb)
    predictor.set_image(np.dstack([image, image[:, :, 0]]))
    np.testing.assert_array_equal(predictor.get_image_embedding().numpy(), rgb)
    for small in (image[:1], image[:, :1], image[:1, :1], image[:, :, 0]):  # 1 x N, N x 1, one pixel, grey
        predictor.set_image(small)
        masks = predictor.predict(point_coords=[[0, 0]], point_labels=[1])[0]
        assert masks.shape == (3, *small.shape[:2])
    for wrong, error, message in (
        (image[:0], ValueError, "must have a pixel"),
        (image[:, :, :2], ValueError, r"uint8 \[height, width, 3\]"),
        (image[0, 0], ValueError, r"uint8 \[height, width, 3\]"),
        (image.astype(np.float32), TypeError, "got float32"),
        (image.astype(np.uint16), TypeError, "got uint16"),
    ):
        with pytest.raises(error, match=message):
            predictor.set_image(wrong)
    with pytest.raises(ValueError, match="'RGB' or 'BGR'"):
        predictor.set_image(image, "HSV")
    with pytest.raises(ValueError, match="at least one image"):
        predictor.set_images([])


@needs_data
@pytest.mark.parametrize(
    "prompt, error, message",
    [
        ({"point_coords": [[801, 2]], "point_labels": [1]}, ValueError, "outside of the image, which is 800 wide"),
        ({"point_coords": [[4, -1]], "point_labels": [1]}, ValueError, "outside of the image"),
        ({"point_coords": [[4, np.nan]], "point_labels": [1]}, ValueError, "finite"),
        ({"point_coords": [[4, 2]]}, ValueError, "point_labels must be given"),
        ({"point_labels": [1]}, ValueError, "point_coords must be given"),
        ({"point_coords": [4, 2], "point_labels": [1]}, ValueError, r"must be \[points, 2\]"),
        ({"point_coords": [[4, 2]], "point_labels": [1, 1]}, ValueError, "a label for each point"),
        ({"point_coords": [[4, 2]], "point_labels": [2]}, ValueError, "1 .foreground."),
        ({"point_coords": [["a", 2]], "point_labels": [2]}, ValueError, "point_coords"),
        ({"box": [0, 0, 900, 4]}, ValueError, "the corner of a box"),
        ({"box": [9, 0, 4, 4]}, ValueError, "left, top, right, bottom"),
        ({"box": [9, 0, 4]}, ValueError, "left, top, right, bottom"),
        ({"box": [[0, 0, 4, 4], [0, 0, 5, 5]], "point_coords": [[4, 2]], "point_labels": [1]}, ValueError, "one box"),
        ({"mask_input": np.zeros((1, 32, 64))}, ValueError, r"\[1, 64, 64\]"),
        ({"mask_input": np.full((1, 64, 64), np.inf)}, ValueError, "finite"),
    ],
)  # fmt: skip
def test_wrong_prompts(predictor, prompt, error, message):
    with pytest.raises(error, match=message):
        predictor.predict(**prompt)


@needs_data
def test_no_image(sam):
    with pytest.raises(RuntimeError, match="call set_image first"):
        SamPredictor(sam).predict(box=[0, 0, 1, 1])


@needs_data
def test_half_precision(image, sam):
    half = Sam.from_checkpoint(CHECKPOINT, dtype=weft.bfloat16)
    assert half.dtype == weft.bfloat16
    predictors = [SamPredictor(model) for model in (sam, half)]
    results = []
    for predictor in predictors:
        predictor.set_image(image)
        results.append(predictor.predict([[400, 300]], [1]))
    close(results[1][2], results[0][2], 0.05)


@needs_data
def test_half_precision_of_the_encoder_alone(image, sam):
    mixed = Sam.from_checkpoint(CHECKPOINT)
    mixed.image_encoder.to(weft.bfloat16)
    assert mixed.dtype == weft.float32
    results = []
    for model, compiled in ((sam, True), (mixed, True), (mixed, False)):
        predictor = SamPredictor(model, compile=compiled)
        predictor.set_image(image)
        results.append(predictor.predict([[400, 300]], [1])[2])
    close(results[1], results[0], 0.05)
    close(results[2], results[0], 0.05)


# ---- checkpoints -----------------------------------------------------------------------------------------------
@pytest.fixture
def weights():
    return dict(weft.load(CHECKPOINT))


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError, match="none.pth"):
        Sam.from_checkpoint(tmp_path / "none.pth")


def test_no_archive(tmp_path):
    (tmp_path / "text.pth").write_text("no archive")
    with pytest.raises(RuntimeError, match="text.pth"):
        Sam.from_checkpoint(tmp_path / "text.pth")


@needs_data
def test_other_models(tmp_path, weights):
    path = tmp_path / "other.pth"

    def refuses(value, message):
        weft.save(value, path)
        with pytest.raises(ValueError, match=message):
            Sam.from_checkpoint(path, decoder_heads=4)

    refuses([1, 2], "expected a state dict, got list")
    refuses({}, "expected a state dict")
    refuses(
        {"layer1.0.conv.weight": weft.zeros(3)}, "another model: .* there is no 'image_encoder.pos_embed'"
    )
    refuses(
        {"image_encoder.patch_embed.seq.0.c.weight": weft.zeros(3)},
        "an image encoder of 0 stages: no MobileSAM",
    )
    name = "image_encoder.blocks.2.attn.qkv.bias"
    refuses({key: x for key, x in weights.items() if key != name}, f"misses 1 weights: '{name}'")
    refuses({**weights, "head.weight": weft.zeros(3)}, "no use for 1 weights: 'head.weight'")
    refuses({**weights, name: weft.zeros(7)}, rf"'{name}' has shape \[7\], expected \[144\]")
    refuses({**weights, "image_encoder.pos_embed": weft.zeros(3)}, "must have 4 dimensions")
    refuses({**weights, "image_encoder.neck.0.weight": weft.zeros(32, 0, 1, 1)}, "no size 0")
    broken = weights[name].clone()
    for value in (float("nan"), float("inf")):
        broken[5] = value
        refuses({**weights, name: broken}, f"'{name}' holds what is no number")
    refuses({**weights, name: weft.zeros(144, dtype=weft.int64)}, "int64")
    weft.save(weights, path)
    with pytest.raises(ValueError, match="decoder_heads must divide 16"):
        Sam.from_checkpoint(path, decoder_heads=3)
    assert Sam.from_checkpoint(path, decoder_heads=4).config.decoder_heads == 4


@needs_data
def test_truncated(tmp_path):
    (tmp_path / "cut.pth").write_bytes(CHECKPOINT.read_bytes()[:-1000])
    with pytest.raises((RuntimeError, ValueError), match="cut.pth"):
        Sam.from_checkpoint(tmp_path / "cut.pth")
