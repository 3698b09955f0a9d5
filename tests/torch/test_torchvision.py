"""weft.torchvision: boxes, regions, layers, transforms and files."""

import importlib
import io

import numpy as np
import pytest
import weft
import weft.torch as torch
import weft.torchvision as torchvision
from weft.torchvision import ops, transforms
from weft.torchvision.transforms import functional as F

nn = torch.nn
BOXES = weft.asarray(
    [[0.0, 0.0, 10.0, 10.0], [1.0, 1.0, 11.0, 11.0], [20.0, 20.0, 30.0, 30.0], [0.0, 0.0, 5.0, 5.0]]
)
SCORES = weft.asarray([0.5, 0.9, 0.3, 0.8])


def random(*shape, seed=0):
    return weft.from_numpy(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def pixels(*shape, seed=0):
    return weft.from_numpy(np.random.default_rng(seed).integers(0, 256, shape).astype(np.uint8))


# ---- suppression ---------------------------------------------------------------------------------------------


def kept_by_definition(boxes, scores, threshold):
    boxes, kept = np.asarray(boxes, np.float64), []
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    for i in np.argsort(-np.asarray(scores), kind="stable"):
        sides = [
            np.clip(np.minimum(boxes[i, 2:], boxes[j, 2:]) - np.maximum(boxes[i, :2], boxes[j, :2]), 0, None)
            for j in kept
        ]
        if all(w * h / (area[i] + area[j] - w * h) <= threshold for (w, h), j in zip(sides, kept)):
            kept.append(i)
    return [int(i) for i in kept]


@pytest.mark.parametrize("dtype", [weft.float32, weft.float64, weft.float16])
def test_nms(dtype):
    result = ops.nms(BOXES.to(dtype), SCORES.to(dtype), 0.5)
    assert result.dtype == weft.int64 and result.tolist() == [1, 3, 2]


@pytest.mark.parametrize("threshold", [0.1, 0.5, 0.9])
def test_nms_of_many_boxes(threshold):
    rng = np.random.default_rng(1)
    corner = rng.uniform(0, 60, (300, 2))
    boxes = weft.from_numpy(
        np.concatenate([corner, corner + rng.uniform(1, 30, (300, 2))], 1).astype(np.float32)
    )
    scores = weft.from_numpy(rng.uniform(size=300).astype(np.float32))
    assert ops.nms(boxes, scores, threshold).tolist() == kept_by_definition(boxes, scores, threshold)


def test_nms_corner_cases_and_errors():
    assert ops.nms(BOXES[:0], SCORES[:0], 0.5).tolist() == []
    assert ops.nms(BOXES[::2], SCORES[::2], 0.5).tolist() == [0, 1]
    assert ops.nms(weft.asarray([[0.0, 0.0, 0.0, 0.0]] * 2), SCORES[:2], 0.5).tolist() == [
        1,
        0,
    ]  # 0 / 0 is no overlap
    for boxes, scores in ((BOXES[:, :3], SCORES), (BOXES, SCORES[:2]), (BOXES.reshape((-1,)), SCORES)):
        with pytest.raises(ValueError, match="nms: expected"):
            ops.nms(boxes, scores, 0.5)
    with pytest.raises(TypeError, match="one floating dtype"):
        ops.nms(BOXES, SCORES.double(), 0.5)


def test_nms_by_class():
    classes = weft.asarray([0, 1, 0, 0])
    assert ops.batched_nms(BOXES, SCORES, classes, 0.2).tolist() == [1, 3, 2]
    many, scores = BOXES.repeat(400, 1), weft.arange(1600).to(weft.float32)
    by_class = ops.batched_nms(many, scores, weft.arange(1600) % 2, 0.2)
    assert sorted(by_class.tolist(), reverse=True) == by_class.tolist() and len(by_class) > 2
    assert ops.batched_nms(BOXES[:0], SCORES[:0], classes[:0], 0.5).shape == (0,)


# ---- boxes ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["xyxy", "xywh", "cxcywh"])
def test_boxes_in_other_forms(form):
    there = ops.box_convert(BOXES, "xyxy", form)
    np.testing.assert_allclose(np.asarray(ops.box_convert(there, form, "xyxy")), np.asarray(BOXES))
    assert ops.box_area(there, form).tolist() == [100.0, 100.0, 100.0, 25.0]
    with pytest.raises(ValueError, match="box_convert"):
        ops.box_convert(BOXES, "xyxy", "yx")


def test_overlaps():
    iou = ops.box_iou(BOXES, BOXES)
    np.testing.assert_allclose(np.asarray(iou)[0], [1, 81 / 119, 0, 0.25], rtol=1e-6)
    assert (ops.generalized_box_iou(BOXES, BOXES) <= iou).all()
    assert (ops.complete_box_iou(BOXES, BOXES) <= ops.distance_box_iou(BOXES, BOXES) + 1e-6).all()
    np.testing.assert_allclose(np.asarray(ops.generalized_box_iou_loss(BOXES, BOXES)), 0, atol=1e-6)
    assert ops.box_iou(BOXES.to(weft.int64), BOXES[:0].to(weft.int64)).shape == (4, 0)


def test_boxes_and_images():
    assert ops.clip_boxes_to_image(BOXES, (8, 25))[2].tolist() == [20.0, 8.0, 25.0, 8.0]
    assert ops.remove_small_boxes(BOXES, 6.0).tolist() == [0, 1, 2]
    masks = weft.zeros((2, 5, 6))
    masks[0, 1:3, 2:5] = 1
    masks[1, 4, 0] = 1
    assert ops.masks_to_boxes(masks).tolist() == [[2.0, 1.0, 4.0, 2.0], [0.0, 4.0, 0.0, 4.0]]


# ---- regions -------------------------------------------------------------------------------------------------


def bilinear(plane, y, x):
    height, width = plane.shape
    if y < -1 or y > height or x < -1 or x > width:
        return 0.0
    y, x = max(y, 0.0), max(x, 0.0)
    top, left = min(int(y), height - 1), min(int(x), width - 1)
    y, x = min(y, height - 1), min(x, width - 1)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    dy, dx = y - top, x - left
    upper = plane[top, left] * (1 - dx) + plane[top, right] * dx
    lower = plane[bottom, left] * (1 - dx) + plane[bottom, right] * dx
    return upper * (1 - dy) + lower * dy


def aligned_by_definition(image, roi, size, scale, ratio, aligned):
    left, top, right, bottom = (float(v) * scale - 0.5 * aligned for v in roi)
    width, height = right - left, bottom - top
    if not aligned:
        width, height = max(width, 1.0), max(height, 1.0)
    result = np.zeros(size)
    for i in range(size[0]):
        for j in range(size[1]):
            ny, nx = (
                ratio if ratio > 0 else int(np.ceil(each)) for each in (height / size[0], width / size[1])
            )
            samples = [
                bilinear(
                    image,
                    top + (i + (a + 0.5) / ny) * height / size[0],
                    left + (j + (b + 0.5) / nx) * width / size[1],
                )
                for a in range(ny)
                for b in range(nx)
            ]
            result[i, j] = sum(samples) / max(len(samples), 1)
    return result


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("ratio", [-1, 2])
def test_roi_align(aligned, ratio):
    image = random(2, 3, 9, 11)
    rois = weft.asarray(
        [
            [0, 1.0, 2.0, 7.5, 8.0],
            [1, -3.0, -2.0, 14.0, 12.0],
            [1, 4.0, 4.0, 4.2, 4.1],
            [0, 8.0, 7.0, 2.0, 3.0],
        ]
    )
    result = ops.roi_align(image, rois, (3, 2), 0.8, ratio, aligned)
    for k, (number, *roi) in enumerate(rois.tolist()):
        for c in range(3):
            plane = np.asarray(image)[int(number), c].astype(np.float64)
            expected = aligned_by_definition(plane, roi, (3, 2), 0.8, ratio, aligned)
            np.testing.assert_allclose(np.asarray(result)[k, c], expected, rtol=1e-4, atol=1e-5)


def test_roi_align_forms_and_errors():
    image = random(2, 3, 9, 11)
    listed = ops.roi_align(image, [BOXES[:2], BOXES[2:3]], 4, 0.3)
    numbered = weft.cat([weft.asarray([[0.0], [0.0], [1.0]]), BOXES[:3]], 1)
    assert listed.shape == (3, 3, 4, 4) and (listed == ops.roi_align(image, numbered, (4, 4), 0.3)).all()
    assert ops.roi_align(image, numbered[:0], 2).shape == (0, 3, 2, 2)
    assert ops.roi_align(image.to(weft.float16), numbered.to(weft.float16), 2).dtype == weft.float16
    assert ops.RoIAlign(4, 0.3, -1)(image, numbered).tolist() == listed.tolist()
    with pytest.raises(IndexError, match="expected an image from 0 to 1, got 2"):
        ops.roi_align(image, numbered + weft.asarray([[2.0, 0, 0, 0, 0]]), 2)
    with pytest.raises(AssertionError):
        ops.roi_align(image, BOXES, 2)
    with pytest.raises(TypeError, match="one dtype"):
        ops.roi_align(image, numbered.double(), 2)


def test_roi_pool_and_position_sensitive_align():
    image = weft.arange(36).to(weft.float32).reshape((1, 1, 6, 6))
    whole = weft.asarray([[0.0, 0.0, 0.0, 5.0, 5.0]])
    assert ops.roi_pool(image, whole, 2).tolist() == [[[[14.0, 17.0], [32.0, 35.0]]]]
    outside = weft.asarray([[0.0, 40.0, 40.0, 45.0, 45.0]])
    assert ops.roi_pool(image, outside, 2).tolist() == [[[[0.0, 0.0], [0.0, 0.0]]]]
    channels = image.repeat(1, 4, 1, 1)
    plain = ops.roi_align(image, whole, 2, aligned=True)
    assert ops.ps_roi_align(channels, whole, 2).tolist() == plain.tolist()


def test_regions_compile():
    image, rois = random(1, 2, 8, 8), weft.asarray([[0.0, 1.0, 1.0, 6.0, 6.0]])
    function = lambda x, r: ops.roi_align(x * 2, r, 3, 1.0, 2, True) + 1  # noqa: E731
    np.testing.assert_allclose(
        np.asarray(weft.compile(function)(image, rois)), np.asarray(function(image, rois)), rtol=1e-5
    )


def found_by_script(boxes: weft.Tensor, scores: weft.Tensor, image: weft.Tensor, rois: weft.Tensor):
    kept = weft.ops.torchvision.nms(boxes, scores, 0.5)
    return kept, weft.ops.torchvision.roi_align(image, rois, 1.0, 2, 2, -1, False)


def test_operators_of_scripts():
    image, rois = random(1, 2, 8, 8), weft.asarray([[0.0, 1.0, 1.0, 6.0, 6.0]])
    for function in (found_by_script, weft.jit.script(found_by_script)):
        kept, regions = function(BOXES, SCORES, image, rois)
        assert kept.tolist() == [1, 3, 2]
        assert regions.tolist() == ops.roi_align(image, rois, 2).tolist()


# ---- layers --------------------------------------------------------------------------------------------------


def test_layers():
    x = random(2, 3, 8, 8)
    assert ops.Conv2dNormActivation(3, 4)(x).shape == (2, 4, 8, 8)
    assert ops.SqueezeExcitation(3, 2)(x).shape == x.shape
    assert ops.MLP(8, [4, 2]).eval()(x).shape == (2, 3, 8, 2)
    assert ops.Permute([0, 2, 3, 1])(x).shape == (2, 8, 8, 3)
    frozen = ops.FrozenBatchNorm2d(3)
    frozen.load_state_dict({**nn.BatchNorm2d(3).state_dict()})
    np.testing.assert_allclose(
        np.asarray(frozen(x)), np.asarray(nn.BatchNorm2d(3).eval()(x)), rtol=1e-5, atol=1e-6
    )
    assert ops.StochasticDepth(0.5, "row").eval()(x) is x
    assert ops.DropBlock2d(0.5, 3).eval()(x) is x
    with pytest.raises(ValueError, match="mode"):
        ops.stochastic_depth(x, 0.5, "column")


def test_deformable_convolution_without_offsets_is_one():
    x, weight = random(2, 4, 7, 7), random(6, 2, 3, 3, seed=1)
    offset = weft.zeros((2, 18, 4, 4))
    plain = nn.functional.conv2d(x, weight, stride=2, padding=1, groups=2)
    result = ops.deform_conv2d(x, offset, weight, stride=2, padding=1)
    np.testing.assert_allclose(np.asarray(result), np.asarray(plain), rtol=1e-4, atol=1e-5)


def test_pyramids():
    network = ops.FeaturePyramidNetwork(
        [3, 4], 5, extra_blocks=ops.feature_pyramid_network.LastLevelMaxPool()
    )
    result = network({"a": random(1, 3, 8, 8), "b": random(1, 4, 4, 4)})
    assert [(name, tuple(value.shape)) for name, value in result.items()] == [
        ("a", (1, 5, 8, 8)),
        ("b", (1, 5, 4, 4)),
        ("pool", (1, 5, 2, 2)),
    ]
    pooler = ops.MultiScaleRoIAlign(["a", "b"], 3, 2)
    assert pooler(result, [BOXES], [(64, 64)]).shape == (4, 5, 3, 3)


# ---- transforms ----------------------------------------------------------------------------------------------


def test_crops_flips_and_borders():
    x = pixels(3, 6, 8)
    array = np.asarray(x)
    assert (np.asarray(F.crop(x, 1, 2, 3, 4)) == array[:, 1:4, 2:6]).all()
    assert F.crop(x, -1, 0, 9, 9).shape == (3, 9, 9) and F.crop(x, -1, 0, 9, 9)[0, 0].tolist() == [0] * 9
    assert (np.asarray(F.hflip(x)) == array[:, :, ::-1]).all() and (
        np.asarray(F.vflip(x)) == array[:, ::-1]
    ).all()
    for mode, other in (("reflect", "reflect"), ("edge", "edge"), ("symmetric", "symmetric")):
        expected = np.pad(array, ((0, 0), (2, 4), (1, 3)), other)
        assert (np.asarray(F.pad(x, [1, 2, 3, 4], padding_mode=mode)) == expected).all()
    assert F.center_crop(x, 10).shape == (3, 10, 10)
    assert [each.shape for each in F.five_crop(x, 4)] == [(3, 4, 4)] * 5
    with pytest.raises(ValueError, match="Padding mode"):
        F.pad(x, 1, padding_mode="none")
    with pytest.raises(TypeError, match="PIL Image or Tensor"):
        F.hflip([1])


@pytest.mark.parametrize("size, expected", [(12, (12, 16)), ((5, 7), (5, 7)), ([3], (3, 4))])
def test_sizes(size, expected):
    x = pixels(3, 6, 8)
    assert F.resize(x, size).shape == (3, *expected) and F.resize(x, size).dtype == weft.uint8
    assert F.resize(x.float(), size, F.InterpolationMode.BICUBIC).shape == (3, *expected)


def test_sizes_have_bounds():
    assert F.resize(pixels(3, 6, 12), 6, max_size=10).shape == (3, 5, 10)
    assert F.resize(pixels(3, 6, 8), 6) is not None
    with pytest.raises(ValueError, match="max_size"):
        F.resize(pixels(3, 6, 8), 6, max_size=4)
    with pytest.raises(TypeError, match="interpolation"):
        F.resize(pixels(3, 6, 8), 5, "bilinear")


def test_colours_and_dtypes():
    x = pixels(3, 4, 5)
    assert (F.adjust_brightness(x, 1.0) == x).all() and not F.adjust_brightness(x, 0.0).any()
    assert (F.adjust_contrast(x, 1.0) == x).all() and (F.adjust_saturation(x, 1.0) == x).all()
    assert F.rgb_to_grayscale(x).shape == (1, 4, 5) and F.rgb_to_grayscale(x, 3).shape == (3, 4, 5)
    assert (F.invert(F.invert(x)) == x).all()
    assert np.abs(np.asarray(F.adjust_hue(x, 0.0)).astype(int) - np.asarray(x)).max() <= 1
    assert (F.convert_image_dtype(F.convert_image_dtype(x, weft.float32), weft.uint8) == x).all()
    assert F.convert_image_dtype(x, weft.int32).dtype == weft.int32
    normal = F.normalize(x.float(), [1.0, 2.0, 3.0], [2.0, 2.0, 2.0])
    np.testing.assert_allclose(np.asarray(normal)[1], (np.asarray(x)[1] - 2.0) / 2, rtol=1e-6)
    with pytest.raises(TypeError, match="float tensor"):
        F.normalize(x, [0.0], [1.0])
    with pytest.raises(ValueError, match="zero"):
        F.normalize(x.float(), [0.0], [0.0])
    with pytest.raises(ValueError, match="hue_factor"):
        F.adjust_hue(x, 0.7)


def test_turning():
    x = pixels(3, 6, 6)
    assert (np.asarray(F.rotate(x, 90.0)) == np.rot90(np.asarray(x), 1, (1, 2))).all()
    assert (F.affine(x, 0.0, [0, 0], 1.0, [0.0, 0.0]) == x).all()
    moved = F.affine(x, 0.0, [2, 0], 1.0, [0.0, 0.0], fill=[7.0])
    assert (moved[:, :, :2] == 7).all() and (moved[:, :, 2:] == x[:, :, :4]).all()
    assert F.rotate(pixels(3, 4, 8), 90.0, expand=True).shape == (3, 8, 4)
    corners = [[0, 0], [5, 0], [5, 5], [0, 5]]
    assert (F.perspective(x, corners, corners) == x).all()


def test_pictures():
    image = pytest.importorskip("PIL.Image")
    picture = image.fromarray(np.asarray(pixels(7, 9, 3)))
    x = F.pil_to_tensor(picture)
    assert (
        x.shape == (3, 7, 9)
        and (np.asarray(F.to_tensor(picture)) == np.asarray(x).astype(np.float32) / 255).all()
    )
    assert np.array_equal(np.asarray(F.to_pil_image(x)), np.asarray(picture))
    pipeline = transforms.Compose([transforms.Resize(6), transforms.CenterCrop(5), transforms.ToTensor()])
    assert pipeline(picture).shape == (3, 5, 5)
    assert repr(transforms.CenterCrop(5)) == "CenterCrop(size=(5, 5))"
    assert transforms.v2.ToImage()(picture).tolist() == x.tolist()
    with pytest.raises(TypeError, match="PIL Image"):
        F.pil_to_tensor(x)


def test_files(tmp_path):
    pytest.importorskip("PIL.Image")
    from weft.torchvision.io import (
        ImageReadMode,
        decode_image,
        decode_jpeg,
        encode_jpeg,
        encode_png,
        read_image,
        write_png,
    )

    x = pixels(3, 7, 9)
    write_png(x, tmp_path / "x.png")
    assert (read_image(str(tmp_path / "x.png")) == x).all()
    assert read_image(str(tmp_path / "x.png"), ImageReadMode.GRAY).shape == (1, 7, 9)
    assert decode_image(encode_png(x[:1])).shape == (1, 7, 9)
    assert (
        decode_jpeg(encode_jpeg(weft.full((3, 8, 8), 100, dtype=weft.uint8), 100)).float().mean().item()
        == 100
    )
    with pytest.raises(RuntimeError, match="decode_image"):
        decode_image(weft.arange(9).to(weft.uint8))
    with pytest.raises(RuntimeError, match="expected uint8"):
        encode_png(x.float())


def test_grids_of_images():
    x = random(5, 3, 4, 6)
    grid = torchvision.utils.make_grid(x, nrow=2, padding=1)
    assert grid.shape == (3, 16, 15) and (grid[:, 1:5, 1:7] == x[0]).all() and not grid[:, 0].any()
    assert torchvision.utils.make_grid(x[:1, :1]).shape == (3, 4, 6)
    scaled = torchvision.utils.make_grid(x, normalize=True, padding=0)
    assert scaled.min().item() == 0 and scaled.max().item() == 1
    pytest.importorskip("PIL.Image")
    file = io.BytesIO()
    torchvision.utils.save_image(x, file, format="PNG")
    assert file.getvalue()[1:4] == b"PNG"


def test_names_that_are_left_out():
    from weft.torchvision import _absent_names

    for reason, modules in _absent_names.MODULES.items():
        for name, names in modules.items():
            module = importlib.import_module(f"weft.torchvision.{name}")
            with pytest.raises(NotImplementedError, match=f"torchvision's, but not weft's: {reason}"):
                getattr(module, names.split()[0])()
    assert torchvision.models is importlib.import_module("weft.torchvision.models")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("weft.torchvision.models.nothing")
    with pytest.raises(AttributeError, match="no attribute"):
        torchvision.__getattr__("nothing")


# ---- what torchvision's own package asks of torch ------------------------------------------------------------------------


def test_operators_by_their_schemas():
    image = torch.arange(32.0).reshape(1, 2, 4, 4)
    rois = torch.tensor([[0.0, 0, 0, 3, 3], [0, 1, 1, 2, 3]])
    aligned = torch.ops.torchvision.roi_align(image, rois, 1.0, 2, 2, -1, False)
    assert torch.equal(aligned, torchvision.ops.roi_align(image, rois, (2, 2)))
    pooled, _ = torch.ops.torchvision.roi_pool(image, rois, 1.0, 2, 2)
    assert torch.equal(pooled, torchvision.ops.roi_pool(image, rois, (2, 2)))
    boxes, scores = torch.tensor([[0, 0, 4, 4], [0, 0, 4, 3], [5, 5, 9, 9]]), torch.tensor([200, 100, 50])
    assert torch.ops.torchvision.qnms(boxes, scores, 0.5).tolist() == [0, 2]
    assert torch.ops.torchvision._cuda_version() == -1
    with pytest.raises(NotImplementedError, match="does not train"):
        torch.ops.torchvision._roi_align_backward(image)
    with pytest.raises(NotImplementedError, match="floating-point"):
        torch.ops.torchvision.qroi_align(image)


def test_operators_of_images(tmp_path):
    image = torch.arange(48, dtype=torch.uint8).reshape(3, 4, 4)
    encoded = torch.ops.image.encode_png(image, 6)
    torch.ops.image.write_file(str(tmp_path / "x.png"), encoded)
    read = torch.ops.image.read_file(str(tmp_path / "x.png"))
    assert torch.equal(torch.ops.image.decode_png(read, 0, False), image)
    assert torch.ops.image.decode_image(read, 1, False).shape == (1, 4, 4)
    jpeg = torch.ops.image.encode_jpeg(image, 90)
    assert torch.ops.image.decode_jpeg(jpeg, 3, False).shape == (3, 4, 4)


@pytest.mark.parametrize("name", ["_C.so", "_C_stable.so", "image.cpython-311-x86_64-linux-gnu.so"])
def test_its_libraries_are_there(name):
    torch.ops.load_library(f"/somewhere/torchvision/{name}")
    for path in (f"/somewhere/other/{name}", "/somewhere/torchvision/other.so"):
        with pytest.raises(OSError, match="cannot load"):
            torch.ops.load_library(path)


def test_its_kernels_for_other_devices_and_modes():
    def kernel(*args):
        raise AssertionError("weft's own is called")

    library = torch.library.Library("torchvision", "IMPL", "Meta")
    library.impl(torch.ops.torchvision.roi_align.default, kernel)
    library.impl("nms", kernel, "AutocastCPU")
    assert torch.library.register_fake("torchvision::nms", kernel) is kernel
    torch.library.register_autograd("torchvision::nms", kernel)
    boxes = torch.tensor([[0.0, 0, 4, 4], [0, 0, 4, 3]])
    assert torch.ops.torchvision.nms(boxes, torch.tensor([0.5, 0.9]), 0.5).tolist() == [1]
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)
    assert (keys | torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastXPU)).has("AutocastXPU")


def test_names_that_it_imports():
    from weft.torch.jit.annotations import BroadcastingList2
    from weft.torch.onnx import symbolic_opset11
    from weft.torch.onnx.symbolic_helper import parse_args

    assert BroadcastingList2[int] is not None and parse_args("v")(print) is print
    assert torch.onnx.register_custom_op_symbolic("torchvision::nms", print, 11) is None
    assert torch.jit._script_if_tracing is torch.jit.script_if_tracing
    with pytest.raises(AttributeError):
        symbolic_opset11.unsqueeze
    with pytest.raises(AttributeError):
        torch.hub.nothing
