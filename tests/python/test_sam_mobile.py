"""MobileSAM with seeded weights: a small one against what the original gave (sam_mobile.npz), the whole one against the original
where WEFT_TORCH_PYTHON has it.

python test_sam_mobile.py PYTHON    # writes sam_mobile.npz anew by a Python that has torch and mobile_sam
"""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import sam_weights
import weft
from weft.models import Sam, SamConfig, SamPredictor
from weft.models.sam.config import TinyViTConfig

RECORDED = pathlib.Path(__file__).with_name("sam_mobile.npz")
PYTHON = os.environ.get("WEFT_TORCH_PYTHON")


def write_model(folder, config):
    """A checkpoint and pixels [1, 3, S, S]: their paths."""
    weft.save(sam_weights.state_dict(config, seed=3), str(folder / "mobile_sam.pt"))
    (folder / "config.json").write_text(json.dumps({"image_size": config.image_size}))
    np.save(folder / "pixels.npy", pixels_of(config))
    return str(folder / "mobile_sam.pt"), str(folder / "pixels.npy")


def pixels_of(config):
    return np.random.default_rng(4).standard_normal((1, 3, config.image_size, config.image_size), np.float32)


def run_original(python, folder, config):
    files = write_model(folder, config)
    script = pathlib.Path(sam_weights.__file__)
    return subprocess.run([python, str(script), "--mobile", *files, str(folder / "results.npz")],
                          capture_output=True, text=True)  # fmt: skip


def close(actual, expected, tolerance=1e-4):
    assert actual.shape == expected.shape
    assert np.abs(actual - expected).max() <= tolerance * np.abs(expected).max()


def run(sam, compile):
    """As sam_weights.mobile."""
    encode, decode = (weft.compile(f, fullgraph=True) if compile else f for f in (sam.encode, sam.decode))
    embedding = encode(weft.from_numpy(pixels_of(sam.config)))
    size = float(sam.config.image_size)
    logits, iou = decode(embedding, weft.tensor([[[size / 3, size / 2]]]), weft.tensor([[1]]))
    found = {"embedding": embedding[:, ::8], "logits": logits[:, :, ::2, ::2], "iou": iou}
    return {name: x.to(weft.float32).numpy() for name, x in found.items()}


@pytest.mark.parametrize("compile", [False, True])
def test_small_one(tmp_path, compile):
    config = sam_weights.mobile_config()
    sam = Sam.from_checkpoint(write_model(tmp_path, config)[0])
    assert sam.config == config
    expected = np.load(RECORDED)
    for name, found in run(sam, compile).items():
        close(found, expected[name])


def test_whole_one(tmp_path):
    command = [PYTHON, "-c", "import torch, mobile_sam"]
    if not PYTHON or subprocess.run(command, capture_output=True).returncode != 0:
        pytest.skip("WEFT_TORCH_PYTHON names no Python with torch and mobile_sam")
    done = run_original(PYTHON, tmp_path, SamConfig.mobile())
    assert done.returncode == 0, done.stderr[-2000:]
    sam = Sam.from_checkpoint(tmp_path / "mobile_sam.pt")
    assert sam.config == SamConfig.mobile()
    expected, own = np.load(tmp_path / "results.npz"), run(sam, compile=True)
    close(own["embedding"], expected["embedding"])
    # Drawn weights make hundreds of the embedding's last digit: PyTorch's float32 is as far from float64 as this is.
    exact = run(Sam.from_checkpoint(tmp_path / "mobile_sam.pt", dtype=weft.float64), compile=False)
    own_distance, original_distance = (
        max(np.abs(x[name] - exact[name]).max() / np.abs(exact[name]).max() for name in ("logits", "iou"))
        for x in (own, expected)
    )
    assert own_distance <= 4 * original_distance <= 1e-3, (own_distance, original_distance)


def test_masks_in_half_precision_and_batches(tmp_path):
    path, _ = write_model(tmp_path, sam_weights.mobile_config())
    image = np.random.default_rng(1).integers(0, 256, (50, 90, 3), dtype=np.uint8)
    embeddings = []
    for dtype in (weft.float32, weft.bfloat16):
        predictor = SamPredictor(Sam.from_checkpoint(path, dtype=dtype))
        predictor.set_images([image, image[:, ::-1]])
        found = predictor.predict_images([[[[9, 9]]], [[[9, 9]], [[80, 40]]]], [[[1]], [[1], [1]]])
        assert [masks.shape for masks, _, _ in found] == [(1, 3, 50, 90), (2, 3, 50, 90)]
        embeddings.append(predictor.get_image_embedding().to(weft.float32).numpy())
    close(embeddings[1], embeddings[0], 0.05)
    assert predictor.model.dtype == weft.bfloat16


def test_weights_of_another_form(tmp_path):
    config = sam_weights.mobile_config()
    path, _ = write_model(tmp_path, config)
    weights = dict(weft.load(path))

    def refuses(value, message, **options):
        weft.save(value, path)
        with pytest.raises(ValueError, match=message):
            Sam.from_checkpoint(path, **options)

    biases = "image_encoder.layers.1.blocks.0.attn.attention_biases"
    refuses({**weights, biases: weft.zeros(2, 48)}, "2 heads in 16 channels, 48 distances")
    refuses(
        {name: x for name, x in weights.items() if ".layers.2." not in name}, "no 'image_encoder.layers.2"
    )
    refuses({name: x for name, x in weights.items() if name != biases}, f"no '{biases}'")
    norm = "image_encoder.layers.0.blocks.0.conv2.bn.running_var"
    refuses({name: x for name, x in weights.items() if name != norm}, f"misses 1 weights: '{norm}'")
    refuses({**weights, norm: weights[norm] * float("nan")}, f"'{norm}' holds what is no number")
    refuses(weights, "image_size must be a multiple of 16, got 100", image_size=100)
    # Without the classifier, which nothing needs.
    some = {name: x for name, x in weights.items() if "head." not in name or "decoder" in name}
    weft.save(some, path)
    assert Sam.from_checkpoint(path).config.tiny.classes == 0


# ---- what tests/models/sam_mobile_test.cc reads ---------------------------------------------------------------------
def least_config():
    tiny = TinyViTConfig(
        (4, 6, 8, 8), (1, 1, 2, 1), (0, 2, 1, 4), (0, 3, 4, 5), expansion=2, ratio=2, classes=0
    )
    return SamConfig(tiny=tiny, image_size=64, width=0, depth=0, heads=0, hidden=0, global_blocks=(), window=0,
                     out_channels=16, mask_channels=8, decoder_depth=1, decoder_heads=2, decoder_hidden=8, cross_width=8,
                     iou_hidden=8)  # fmt: skip


def results_of(path):
    """In float64: the image's embedding, and what a point gives."""
    sam = Sam.from_checkpoint(path, dtype=weft.float64, decoder_heads=2, image_size=64)
    predictor = SamPredictor(sam, compile=False)
    image = (np.arange(40 * 64 * 3).reshape(40, 64, 3) * 7 % 256).astype(np.uint8)
    predictor.set_image(image)
    _, iou, logits = predictor.predict([[20, 10]], [1])
    embedding = predictor.get_image_embedding().to(weft.float32).numpy()
    return {"image": image, "embedding": embedding, "iou": iou, "logits": logits}


def test_in_cpp(tmp_path):
    program = pathlib.Path(weft.__file__).parents[2] / "bin" / "test_models"
    if not program.exists():
        pytest.skip("this build has no C++ tests")
    path = tmp_path / "sam_mobile.pt"
    weft.save(sam_weights.state_dict(least_config(), seed=6), str(path))
    assert Sam.from_checkpoint(path, decoder_heads=2, image_size=64).config == least_config()
    np.savez(tmp_path / "sam_mobile.npz", **results_of(path))
    done = subprocess.run(
        [program, "--gtest_filter=MobileSam.*"],
        env=os.environ | {"WEFT_TEST_MOBILE_SAM": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 and "[  PASSED  ] 2 tests" in done.stdout, done.stdout[-3000:] + done.stderr


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as name:
        done = run_original(sys.argv[1], pathlib.Path(name), sam_weights.mobile_config())
        sys.stderr.write(done.stderr)
        RECORDED.write_bytes((pathlib.Path(name) / "results.npz").read_bytes())
