"""`weft serve --checkpoint`: Segment Anything's masks over HTTP."""

import base64
import http.client
import io
import json
import os
import pathlib

import numpy as np
import pytest
import serving
from weft.models import Sam, SamPredictor
from weft.models.sam import mask_to_polygons, mask_to_rle, rle_to_mask

SHARED = pathlib.Path(
    os.environ.get("WEFT_SHARED_DATA", pathlib.Path(__file__).parents[2] / ".." / "shared" / "data")
)
CHECKPOINT = str(SHARED / "sam_tiny" / "sam_tiny.pth")
pytestmark = pytest.mark.skipif(
    not pathlib.Path(CHECKPOINT).is_file(), reason="no shared data (WEFT_SHARED_DATA)"
)
SEGMENT = "/v1/segment"
PROMPTS = [
    {"points": [[30, 20]]},
    {"box": [5, 4, 60, 50]},
    {"points": [[30, 20, 1], [5, 40, 0]], "box": [5.5, 4, 60, 50]},
]


@pytest.fixture(scope="module")
def server():
    with serving.serving("--checkpoint", CHECKPOINT, "--decoder-heads", "4", "--name", "tiny") as server:
        yield server


@pytest.fixture(scope="module")
def predictor():
    return SamPredictor(Sam.from_checkpoint(CHECKPOINT, decoder_heads=4))


def picture(seed=0, height=64, width=90):
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 255, (height, width, 3), np.uint8)
    pixels[10:40, 20:50] = (200, 40, 60)
    return pixels


def as_array(pixels):
    bytes_ = base64.b64encode(np.ascontiguousarray(pixels).tobytes()).decode()
    return {"dtype": "uint8", "shape": list(pixels.shape), "base64": bytes_}


def ask(server, image, prompts=PROMPTS, **more):
    status, _, answer = server.ask("POST", SEGMENT, {"image": image, "prompts": prompts, **more})
    assert status == 200, answer
    return answer


def refused(server, **body):
    status, _, answer = server.ask("POST", SEGMENT, body)
    assert status == 400, answer
    return answer["error"]["message"]


def test_masks_of_prompts(server, predictor):
    pixels = picture()
    answer = ask(server, as_array(pixels))
    assert (answer["model"], answer["height"], answer["width"]) == ("tiny", 64, 90)
    predictor.set_image(pixels)
    for prompt, result in zip(PROMPTS, answer["results"], strict=True):
        points = np.array(prompt.get("points", []), float)
        given = {"box": np.array(prompt["box"])} if "box" in prompt else {}
        if len(points):
            labels = points[:, 2].astype(int) if points.shape[1] > 2 else np.ones(len(points), int)
            given |= {"point_coords": points[:, :2], "point_labels": labels}
        masks, iou, _ = predictor.predict(**given, multimask_output=len(points) == 1 and "box" not in prompt)
        [found] = result["masks"]
        expected, mask = masks[iou.argmax()], rle_to_mask(found["segmentation"])
        assert (mask != expected).mean() < 1e-3  # but for pixels on the edge
        assert found["area"] == mask.sum() and found["predicted_iou"] == pytest.approx(iou.max(), abs=1e-4)
        rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
        box = [columns[0], rows[0], columns[-1] - columns[0], rows[-1] - rows[0]] if mask.any() else [0] * 4
        assert found["bbox"] == box


def test_forms_of_masks(server):
    image = as_array(picture())
    for found, uncompressed, polygons in zip(
        *(
            ask(server, image, segmentation=kind)["results"]
            for kind in ("coco_rle", "uncompressed_rle", "polygons")
        ),
        strict=True,
    ):
        mask = rle_to_mask(found["masks"][0]["segmentation"])
        assert uncompressed["masks"][0]["segmentation"] == mask_to_rle(mask, False)
        assert polygons["masks"][0]["segmentation"] == mask_to_polygons(mask)
    several = ask(server, image, multimask=True)["results"]
    assert [len(result["masks"]) for result in several] == [3, 3, 3]


def files():
    """Names and bytes of images of all kinds, and their pixels as Pillow has them."""
    from PIL import Image, ImageOps

    picture_, random = Image.fromarray(picture()), np.random.default_rng(1)

    def file(image, format, **options):
        held = io.BytesIO()
        image.save(held, format, **options)
        bytes_ = held.getvalue()
        opened = ImageOps.exif_transpose(Image.open(io.BytesIO(bytes_)))
        return bytes_, np.asarray(opened.convert("RGB"))

    alpha = Image.fromarray(random.integers(0, 255, (64, 90, 4), np.uint8), "RGBA")
    yield "png", file(picture_, "PNG")
    yield "grey png", file(picture_.convert("L"), "PNG")
    yield "bits png", file(picture_.convert("1"), "PNG")
    yield "palette png", file(picture_.convert("P"), "PNG")
    yield "alpha png", file(alpha, "PNG")
    yield "grey alpha png", file(alpha.convert("LA"), "PNG")
    wide = random.integers(0, 65535, (64, 90), np.uint16)
    bytes_, _ = file(Image.fromarray(wide), "PNG")
    yield "16-bit png", (bytes_, np.repeat((wide >> 8).astype(np.uint8)[..., None], 3, 2))
    yield "jpeg", file(picture_, "JPEG", quality=90)
    yield "grey jpeg", file(picture_.convert("L"), "JPEG")
    yield "progressive jpeg", file(picture_, "JPEG", progressive=True, subsampling=0)
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x112] = orientation
        yield f"turned jpeg {orientation}", file(picture_, "JPEG", exif=exif)


def test_files(server):
    pytest.importorskip("PIL")
    kinds_read = 0
    for name, (bytes_, pixels) in files():
        body = {"image": base64.b64encode(bytes_).decode(), "prompts": PROMPTS}
        status, _, found = server.ask("POST", SEGMENT, body)
        if status == 400 and "this build does not read" in found["error"]["message"]:
            continue
        kinds_read += 1
        assert status == 200, (name, found)
        assert found == ask(server, as_array(pixels)), name
    assert kinds_read in (0, 7, 11, 18)


def test_damaged_files(server):
    pytest.importorskip("PIL")
    by_name = dict(files())
    rng = np.random.default_rng(0)
    for name in ("png", "jpeg", "turned jpeg 6"):
        good = by_name[name][0]
        for length in rng.integers(0, len(good), 10):
            assert refused(server, image=base64.b64encode(good[:length]).decode(), prompts=PROMPTS[:1])
        for _ in range(30):
            damaged = bytearray(good)
            damaged[rng.integers(len(good))] = rng.integers(256)
            body = {"image": base64.b64encode(damaged).decode(), "prompts": PROMPTS[:1]}
            assert server.ask("POST", SEGMENT, body)[0] in (200, 400)
    # A small file that says it is a large picture.
    large = bytearray(by_name["png"][0])
    large[16:24] = (60000).to_bytes(4, "big") * 2
    assert refused(server, image=base64.b64encode(large).decode(), prompts=PROMPTS)
    assert refused(server, image="R0lGODlhAQABAAAAACw=", prompts=PROMPTS) == "the image is no PNG or JPEG"


def test_npz(server):
    pixels = picture()
    file = io.BytesIO()
    np.savez(file, image=pixels, request=json.dumps({"prompts": PROMPTS}))
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("POST", SEGMENT, file.getvalue(), {"Content-Type": "application/x-npz"})
    answer = json.loads(connection.getresponse().read())
    connection.close()
    assert answer == ask(server, as_array(pixels))


def test_an_image_is_encoded_once(server):
    image = as_array(picture(seed=5))
    before = server.figures()
    first, second = ask(server, image, PROMPTS[:1]), ask(server, image, PROMPTS[1:])
    after = server.figures()
    assert after["weft_images_total"] == before["weft_images_total"] + 1
    assert after["weft_reused_images_total"] == before["weft_reused_images_total"] + 1
    for seed in range(6, 11):  # more than are kept
        ask(server, as_array(picture(seed=seed)), PROMPTS[:1])
    assert first["results"] + second["results"] == ask(server, image)["results"]


def test_wrong_requests(server):
    image = as_array(picture())
    for body, message in (
        ({"prompts": PROMPTS}, "'image' is missing"),
        ({"image": image}, "'prompts' is missing"),
        ({"image": image, "prompts": []}, "between 1 and 256"),
        ({"image": image, "prompts": [{}]}, "'prompts[0]' needs points, a box, or both"),
        ({"image": image, "prompts": [{"point": [1, 2]}]}, "has 'point'"),
        ({"image": image, "prompts": [{"points": [[1]]}]}, "2 or 3 numbers"),
        ({"image": image, "prompts": [{"points": [[1, 2, 5]]}]}, "neither 1"),
        ({"image": image, "prompts": [{"points": [[1000, 2]]}]}, "1000"),
        ({"image": image, "prompts": [{"box": [1, 2, 3]}]}, "4 numbers"),
        ({"image": image, "prompts": [{"box": [9, 2, 3, 4]}]}, "left, top, right, bottom"),
        ({"image": image, "prompts": PROMPTS, "segmentation": "png"}, "must be coco_rle"),
        ({"image": image, "prompts": PROMPTS, "multimask": 1}, "true or false"),
        ({"image": "?", "prompts": PROMPTS}, "no base64"),
        ({"image": 5, "prompts": PROMPTS}, "must be base64"),
        ({"image": as_array(picture()[..., :2]), "prompts": PROMPTS}, "must be uint8 [height, width, 3]"),
        ({"image": {"dtype": "float32", "shape": [1], "data": [1]}, "prompts": PROMPTS}, "must be uint8"),
    ):
        assert message in refused(server, **body)
    assert server.ask("POST", SEGMENT, {"image": image, "prompts": PROMPTS, "model": "x"})[0] == 404
    assert server.ask("POST", SEGMENT, "{}", Content_Type="text/plain")[0] == 415
    assert server.ask("GET", "/v1/models")[2]["data"][0]["id"] == "tiny"
    done = serving.run("--checkpoint", CHECKPOINT, "--archive", CHECKPOINT)
    assert done.returncode == 2
    assert serving.run("--checkpoint", str(SHARED / "README.md")).returncode == 1
