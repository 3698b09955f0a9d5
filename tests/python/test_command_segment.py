"""`weft segment`: what it writes, and its answers to wrong images, prompts and checkpoints."""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import weft
from weft.models import sam
from weft.models.sam import command, ladder
from weft.models.sam.pictures import overlay, read_image

Image = pytest.importorskip("PIL.Image")
COMMAND = pathlib.Path(weft.__file__).parent / "bin" / "weft"
SHARED = pathlib.Path(
    os.environ.get("WEFT_SHARED_DATA", pathlib.Path(__file__).parents[2] / ".." / "shared" / "data")
)
CHECKPOINT, DOG = SHARED / "sam_tiny" / "sam_tiny.pth", SHARED / "images" / "dog.jpg"
needs_data = pytest.mark.skipif(not CHECKPOINT.exists(), reason="no shared data (WEFT_SHARED_DATA)")


@pytest.fixture
def segment(tmp_path, capsys):
    def run(*arguments, image=DOG, checkpoint=CHECKPOINT):
        try:
            status = command.main(
                [str(image), "--checkpoint", str(checkpoint), "--output", str(tmp_path / "out"), *arguments]
            )
        except SystemExit as end:
            status = end.code
        out, error = capsys.readouterr()
        assert out == ""
        return status, error

    return run


@needs_data
def test_whole_command(tmp_path):
    arguments = [
        COMMAND,
        "segment",
        DOG,
        "--checkpoint",
        CHECKPOINT,
        "--point",
        "400,300",
        "--output",
        tmp_path / "a" / "b",
    ]
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    done = subprocess.run(arguments, capture_output=True, text=True, env=os.environ | {"PATH": path})
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")  # quiet in a pipe
    written = sorted(path.name for path in (tmp_path / "a" / "b").iterdir())
    assert written == ["dog.json", "dog.mask-0.png", "dog.overlay.png"]


@needs_data
@pytest.mark.parametrize("form", ["coco_rle", "uncompressed_rle", "polygons"])
def test_prompts(segment, tmp_path, form):
    given = ["--box", "100,50,700,500", "--box", "0,0,800,534", "--segmentation", form, "--multimask"]
    assert segment(*given) == (0, "")
    content = json.loads((tmp_path / "out" / "dog.json").read_text())
    assert (content["height"], content["width"]) == (534, 800) and len(content["masks"]) == 6
    for i, record in enumerate(content["masks"]):
        mask = np.array(Image.open(tmp_path / "out" / f"dog.mask-{i}.png")) == 255
        assert mask.shape == (534, 800) and mask.sum() == record["area"]
        if form != "polygons":
            np.testing.assert_array_equal(sam.rle_to_mask(record["segmentation"]), mask)
    assert Image.open(tmp_path / "out" / "dog.overlay.png").size == (800, 534)


@needs_data
def test_everything(segment, tmp_path):
    given = [
        "--everything",
        "--points-per-side",
        "3",
        "--iou-threshold",
        "-9",
        "--stability-threshold",
        "0",
        "--crop-layers",
        "1",
    ]
    assert segment(*given, "--min-area", "20") == (0, "")
    masks = json.loads((tmp_path / "out" / "dog.json").read_text())["masks"]
    assert masks and all(
        sorted(record)
        == ["area", "bbox", "crop_box", "point_coords", "predicted_iou", "segmentation", "stability_score"]
        for record in masks
    )


@pytest.mark.parametrize(
    "arguments, message",
    [
        ([], "give --point X,Y, --box LEFT,TOP,RIGHT,BOTTOM or --everything"),
        (["--everything", "--point", "1,2"], "not both"),
        (["--point", "1"], "expected X,Y or X,Y,0 in pixels, got '1'"),
        (["--point", "1,x"], "got '1,x'"),
        (["--point", "1,nan"], "got '1,nan'"),
        (["--point", "1,2,3"], "must be 1 (of the object) or 0"),
        (["--box", "1,2,3"], "expected LEFT,TOP,RIGHT,BOTTOM"),
        (["--box", "1,2,3,4", "--box", "1,2,3,4", "--point", "1,1"], "points go with one box"),
        (["--everything", "--points-per-side", "0"], "expected an integer between 1 and 1000, got '0'"),
        (["--everything", "--threads", "two"], "got 'two'"),
        (["--everything", "--iou-threshold", "nan"], "expected a number"),
        (["--everything", "--dtype", "float64"], "float64"),
        (["--everythin"], "--everythin"),
        (["--point", "1,2", "elsewhere/dog.png"], "two images are called 'dog'"),
    ],
)
def test_usage(segment, arguments, message):
    status, error = segment(*arguments)
    assert status == 2 and error.startswith("weft: segment: ") and message in error and error.count("\n") == 1


@needs_data
@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--point", "801,3"], "outside of the image, which is 800 wide and 534 high"),
        (["--box", "5,5,3,9"], "left, top, right, bottom"),
        (["--box", "5,5,900,9"], "the corner of a box"),
    ],
)
def test_prompts_outside(segment, arguments, message):
    status, error = segment(*arguments)
    assert status == 1 and error.startswith("weft: segment: ") and message in error


@needs_data
def test_wrong_files(segment, tmp_path):
    def answer(image=DOG, checkpoint=CHECKPOINT):
        status, error = segment("--point", "0,0", image=image, checkpoint=checkpoint)
        assert status == 1 and error.startswith("weft: segment: ") and error.count("\n") == 1
        return error

    (tmp_path / "text.jpg").write_text("no image")
    (tmp_path / "empty.png").write_bytes(b"")
    (tmp_path / "cut.jpg").write_bytes(DOG.read_bytes()[:20000])
    assert "none.jpg" in answer(tmp_path / "none.jpg")
    assert "text.jpg': no image that can be read" in answer(tmp_path / "text.jpg")
    assert "empty.png': no image that can be read" in answer(tmp_path / "empty.png")
    assert "cut.jpg': the image is damaged" in answer(tmp_path / "cut.jpg")
    assert "none.pth" in answer(checkpoint=tmp_path / "none.pth")
    weft.save({"fc.weight": weft.zeros(2)}, tmp_path / "fc.pth")
    assert "the checkpoint of another model" in answer(checkpoint=tmp_path / "fc.pth")


def test_forms_of_images(tmp_path):
    draw = np.random.default_rng(0)
    rgb = draw.integers(0, 256, (6, 9, 3), dtype=np.uint8)
    grey, words = rgb[:, :, 0], draw.integers(0, 65536, (6, 9)).astype(np.uint16)
    path = tmp_path / "image.png"

    def read(image, name="image.png", **options):
        image.save(tmp_path / name, **options)
        result = read_image(tmp_path / name)
        assert result.dtype == np.uint8 and result.shape == (6, 9, 3)
        return result

    np.testing.assert_array_equal(read(Image.fromarray(rgb)), rgb)
    np.testing.assert_array_equal(read(Image.fromarray(grey)), np.dstack([grey] * 3))
    np.testing.assert_array_equal(
        read(Image.fromarray(grey > 99)), np.dstack([(grey > 99) * np.uint8(255)] * 3)
    )
    np.testing.assert_array_equal(
        read(Image.fromarray(words)), np.dstack([(words >> 8).astype(np.uint8)] * 3)
    )
    np.testing.assert_array_equal(read(Image.fromarray(np.dstack([rgb, grey]))), rgb)  # alpha
    np.testing.assert_array_equal(read(Image.fromarray(np.dstack([grey, grey]), "LA")), np.dstack([grey] * 3))
    palette = Image.fromarray(rgb).quantize(8)
    np.testing.assert_array_equal(read(palette, transparency=1), np.asarray(palette.convert("RGB")))
    cmyk = Image.fromarray(rgb).convert("CMYK")
    cmyk.save(tmp_path / "cmyk.jpg")
    np.testing.assert_array_equal(
        read_image(tmp_path / "cmyk.jpg"), np.asarray(Image.open(tmp_path / "cmyk.jpg").convert("RGB"))
    )
    exif = Image.Exif()
    exif[0x0112] = 3  # turned upside down
    Image.fromarray(rgb).save(path, exif=exif)
    np.testing.assert_array_equal(read_image(path), rgb[::-1, ::-1])
    Image.fromarray(draw.random((6, 9)).astype(np.float32)).save(tmp_path / "float.tiff")
    with pytest.raises(ValueError, match="floating-point numbers cannot be read"):
        read_image(tmp_path / "float.tiff")


def test_overlay_of_any_size():
    for shape in ((1, 1), (1, 40), (40, 1), (30, 30)):
        image = np.full((*shape, 3), 100, np.uint8)
        result = overlay(image, [np.ones(shape, bool)] * 20, [(0, 0)], [1], [(0, 0, shape[1], shape[0])])
        assert result.shape == image.shape and result.dtype == np.uint8
    np.testing.assert_array_equal(overlay(image, []), image)


# ---- weft bench sam ---------------------------------------------------------------------------------------------
@needs_data
def test_ladder(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("WEFT_VERIFY", "")
    given = ["--ladder", "--checkpoint", str(CHECKPOINT), "--image", str(DOG), "--batch", "2", "--repetitions", "1",
             "--points-per-side", "2", "--torch", "", "--json"]  # fmt: skip
    assert ladder.main(given) == 0
    steps = json.loads(capsys.readouterr().out)["steps"]
    names = ["eager", "attention", "compile", "bfloat16", "batch", "nested", "int8", "2:4"]
    assert [step["step"] for step in steps] == names
    assert all(step["iou"] > 0.999 for step in steps[:3]) and all(step["iou"] > 0.8 for step in steps[:-1])
    assert all(step["seconds"] > 0 and step["peak"] > 0 and step["processor"] > 0 for step in steps)
    parts = steps[5]["everything"]
    assert parts["points"] == 4 and set(parts) >= {"encoder", "decoder", "post-processing", "masks"}
    # One step alone, and what is said of everything mode; a Python without PyTorch is told of.
    assert ladder.main([*given[1:-3], "--torch", str(tmp_path / "python")]) == 0
    out, error = capsys.readouterr()
    assert out.count("\n| ") == 1 and "post-processing" in out and "4 points" in out and error == ""


def test_ladder_beside_what_has_no_pytorch(capsys, tmp_path):
    options = ladder.parser().parse_args(["--ladder", "--torch", str(tmp_path / "none")])
    ladder.Ladder(options, [], tmp_path).torch_steps()
    assert "none has no torch, torchvision and segment-anything" in capsys.readouterr().err


def test_ladder_of_the_package(monkeypatch, tmp_path):
    """Its own steps, on weft and on PyTorch, whose masks are compared with weft's."""
    options = ladder.parser().parse_args(
        ["--ladder", "--checkpoint", str(CHECKPOINT), "--batch", "1", "--fast", "FOLDER", "--torch", "PYTHON"]
    )
    asked = []

    def measure(self, name, what, command, environment=None, beside=None):
        asked.append((name, command[0], beside))
        assert environment["PYTHONPATH"].split(":")[0] == "FOLDER"
        assert environment["SEGMENT_ANYTHING_FAST_USE_FLASH_4"] == "0"
        return None if name == "fast int8, weft" else {"step": name}

    monkeypatch.setattr(ladder.Ladder, "measure", measure)
    ladder.Ladder(options, [], tmp_path).fast_steps()
    steps = ["fp32", "bf16", "compile", "nested", "int8", "sparse"]
    assert [name for name, *_ in asked] == [
        f"fast {step}, {on}" for step in steps for on in ("weft", "torch")
    ]
    assert [python for _, python, _ in asked[:2]] == [sys.executable, "PYTHON"]
    assert asked[1][2] == {"step": "fast fp32, weft"} and asked[9][2] is None


def test_overlap_of_masks():
    bits = np.packbits([[1, 1, 0, 0], [0, 0, 0, 0], [1, 0, 0, 0]], axis=1)
    assert ladder.iou_of(bits, bits) == 1
    assert ladder.iou_of(bits, np.packbits([[1, 0, 0, 0], [0, 0, 0, 0], [0, 1, 0, 0]], axis=1)) == 0.5


def test_ladder_usage(capsys):
    with pytest.raises(SystemExit) as end:
        ladder.main(["--batch", "0"])
    assert end.value.code == 2
    assert capsys.readouterr().err.startswith("weft: bench sam: argument --batch: expected an integer")
