"""Full ViT-B with seeded weights, against the original package under PyTorch. Needs WEFT_TORCH_PYTHON, a Python that has torch,
torchvision and segment_anything."""

import os
import pathlib
import subprocess

import numpy as np
import pytest
import sam_weights
import weft
from weft.models import Sam, SamAutomaticMaskGenerator, SamConfig, SamPredictor

PYTHON = os.environ.get("WEFT_TORCH_PYTHON")


def has_original():
    command = [PYTHON, "-c", "import torch, torchvision, segment_anything"]
    return PYTHON and subprocess.run(command, capture_output=True).returncode == 0


def close(actual, expected, tolerance=1e-4):
    assert actual.shape == expected.shape
    assert np.abs(actual - expected).max() <= tolerance * np.abs(expected).max()


def distance(results, exact):
    """The largest difference, relative to the largest number of a result."""
    return max(np.abs(x - y).max() / np.abs(y).max() for x, y in zip(results, exact, strict=True))


def test_vit_b(tmp_path):
    if not has_original():
        pytest.skip("WEFT_TORCH_PYTHON names no Python with torch, torchvision and segment_anything")
    draw = np.random.default_rng(5)
    coarse = draw.integers(0, 256, (12, 9, 3), dtype=np.uint8)
    image = np.kron(coarse, np.ones((60, 50, 1), np.uint8))
    weft.save(sam_weights.state_dict(SamConfig.vit_b(), seed=1), tmp_path / "sam_vit_b.pth")
    np.save(tmp_path / "image.npy", image)
    script = pathlib.Path(sam_weights.__file__)
    files = [str(tmp_path / name) for name in ("sam_vit_b.pth", "image.npy", "results.npz")]
    done = subprocess.run([PYTHON, str(script), *files], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    expected = np.load(files[2])

    sam = Sam.from_checkpoint(files[0])
    assert sam.config == SamConfig.vit_b()
    predictor = SamPredictor(sam)
    exact = SamPredictor(Sam.from_checkpoint(files[0], dtype=weft.float64), compile=False)
    for each in (predictor, exact):
        each.set_image(image)
    close(predictor.get_image_embedding().numpy(), expected["embedding"])
    for tag, prompt in sam_weights.prompts(image).items():
        # Drawn weights make hundreds of the embedding's last digit: PyTorch's float32 is as far from float64 as this is.
        names, (_, *of_float64) = ("iou", "logits"), exact.predict(**prompt)
        masks, *own = predictor.predict(**prompt)
        own_distance = distance(own, of_float64)
        original_distance = distance([expected[f"{tag}.{name}"] for name in names], of_float64)
        assert own_distance <= 4 * original_distance <= 4e-3, (tag, own_distance, original_distance)
        full = predictor.predict(**prompt, return_logits=True)[0]
        differ = masks != expected[f"{tag}.masks"]
        assert np.abs(full[differ]).max(initial=0) <= 4 * original_distance * np.abs(full).max()

    generator = SamAutomaticMaskGenerator(sam, **sam_weights.everything_options(), compile=False)
    generator.predictor._encode = lambda x: weft.from_numpy(expected["embedding"])
    records = generator.generate(image)
    assert len(records) == len(expected["records.area"]) > 0
    for i, record in enumerate(records):
        for key in ("bbox", "crop_box", "point_coords"):
            np.testing.assert_allclose(record[key], expected[f"records.{key}"][i], atol=1)
        for key in ("area", "predicted_iou", "stability_score"):
            np.testing.assert_allclose(record[key], expected[f"records.{key}"][i], rtol=1e-3, atol=2)
        assert (record["segmentation"] != expected["records.segmentation"][i]).mean() < 1e-4
