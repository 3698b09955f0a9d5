"""torchvision's models for segmentation, detection and video beside torchvision 0.29: the .json beside this file has what
it gives.

python tests/torch/test_torchvision_tasks.py > tests/torch/test_torchvision_tasks.json   # by a Python with torchvision
"""

import importlib
from functools import partial

from torchvision_models import Recorder, check_numbers, digest_of_values, numbers, print_facts

RECORDER = Recorder(__name__, __file__)
FAMILIES = [f"detection.{name}" for name in """
anchor_utils backbone_utils faster_rcnn fcos keypoint_rcnn mask_rcnn retinanet rpn ssd ssdlite transform _utils
""".split()] + ["video.s3d"]  # fmt: skip

# Each builder's model is described without its values.
SEGMENTATION = """
fcn_resnet50 fcn_resnet101 deeplabv3_resnet50 deeplabv3_resnet101 deeplabv3_mobilenet_v3_large lraspp_mobilenet_v3_large
""".split()
DETECTION = """
fasterrcnn_resnet50_fpn fasterrcnn_resnet50_fpn_v2 fasterrcnn_mobilenet_v3_large_fpn fasterrcnn_mobilenet_v3_large_320_fpn
maskrcnn_resnet50_fpn maskrcnn_resnet50_fpn_v2 keypointrcnn_resnet50_fpn retinanet_resnet50_fpn retinanet_resnet50_fpn_v2
fcos_resnet50_fpn ssd300_vgg16 ssdlite320_mobilenet_v3_large
""".split()
VIDEO = "r3d_18 mc3_18 r2plus1d_18 s3d".split()
BUILDERS = SEGMENTATION + DETECTION + VIDEO

# Initial values and results. A tensor to a tensor or tensors by name: the model, and the shape of its input.
RUN = {
    "segmentation.fcn_resnet50(weights_backbone=None, num_classes=5, aux_loss=True)": (2, 3, 40, 64),
    "segmentation.deeplabv3_mobilenet_v3_large(weights_backbone=None, num_classes=5, aux_loss=True)": (2, 3, 64, 72),
    "segmentation.lraspp_mobilenet_v3_large(weights_backbone=None, num_classes=5)": (1, 3, 64, 72),
    "video.r3d_18(num_classes=10)": (1, 3, 4, 32, 32),
    "video.mc3_18(num_classes=10)": (1, 3, 4, 32, 32),
    "video.r2plus1d_18(num_classes=10)": (1, 3, 4, 32, 32),
    "video.VideoResNet(video.resnet.Bottleneck, [video.resnet.Conv2Plus1D, video.resnet.Conv3DNoTemporal, "
    "video.resnet.Conv3DSimple, video.resnet.Conv2Plus1D], [1, 1, 1, 1], video.resnet.BasicStem, 10)": (1, 3, 4, 32, 32),
    "s3d.SepInceptionBlock3D(16, 4, 4, 8, 4, 8, 4, BatchNorm3d)": (1, 16, 4, 9, 9),
    "s3d.TemporalSeparableConv(3, 8, 7, 2, 3, BatchNorm3d)": (1, 3, 8, 18, 18),
}  # fmt: skip
COMPILED = ["segmentation.lraspp", "segmentation.deeplab", "video.mc3", "s3d.Sep"]
_PYRAMID = "backbone_utils.resnet_fpn_backbone(backbone_name='resnet18', weights=None)"
_LONG_PYRAMID = (
    "backbone_utils.resnet_fpn_backbone(backbone_name='resnet18', weights=None, returned_layers=[2, 3, 4], "
    "extra_blocks=ops.feature_pyramid_network.LastLevelP6P7(256, 256))"
)
# Detectors: images of several sizes to detections.
DETECT = [
    f"faster_rcnn.FasterRCNN({_PYRAMID}, 4, 96, 128, box_detections_per_img=12)",
    f"mask_rcnn.MaskRCNN({_PYRAMID}, 4, 96, 128, box_detections_per_img=5)",
    f"keypoint_rcnn.KeypointRCNN({_PYRAMID}, 4, (64, 96), 128, box_detections_per_img=3, num_keypoints=4)",
    "detection.fasterrcnn_mobilenet_v3_large_320_fpn(weights_backbone=None, num_classes=4, min_size=64, "
    "box_detections_per_img=12)",
    f"retinanet.RetinaNet({_LONG_PYRAMID}, 4, 96, 128, score_thresh=0.005, detections_per_img=12)",
    f"fcos.FCOS({_LONG_PYRAMID}, 4, 96, 128, score_thresh=0.05, detections_per_img=12)",
    "detection.ssd300_vgg16(weights_backbone=None, num_classes=4, detections_per_img=12)",
    "detection.ssdlite320_mobilenet_v3_large(weights_backbone=None, num_classes=4, detections_per_img=12)",
]
# Initial values alone.
INITIAL = [
    f"detection.{name}(weights_backbone=None, num_classes=4)"
    for name in DETECTION
    if name.endswith("_v2") or name.startswith(("mask", "keypoint", "fcos"))
]


def scope():
    models = RECORDER.models
    ops = importlib.import_module(f"{RECORDER.prefix}torchvision.ops")
    return {
        **RECORDER.families(FAMILIES),
        "segmentation": models.segmentation,
        "detection": models.detection,
        "video": models.video,
        "ops": ops,
        "BatchNorm3d": partial(RECORDER.torch.nn.BatchNorm3d, eps=0.001),
    }


def initial(expression):
    """(a model after manual_seed(0), a digest of its initial values)"""
    RECORDER.torch.manual_seed(0)
    model = eval(expression, scope())
    return model, digest_of_values(model)


def made(expression):
    """initial(), whose statistics then are not 0 and 1, in eval mode."""
    torch = RECORDER.torch
    model, values = initial(expression)
    for key, value in model.named_buffers():
        steps = torch.arange(value.numel(), dtype=torch.float32).reshape(value.shape)
        if key.endswith("running_mean"):
            value.copy_((steps % 7 - 3) / 20)
        elif key.endswith("running_var"):
            value.copy_(1 + (steps % 5) / 10)
    if "ssdlite" in expression:  # its initial weights are so small that all places score alike
        for value in model.parameters():
            if value.ndim == 4:
                value.detach().mul_(3)
    return model.eval(), values


def by_name(result):
    return result if isinstance(result, dict) else {"": result}


def run(expression):
    torch = RECORDER.torch
    model, values = made(expression)
    torch.manual_seed(1)
    with torch.no_grad():
        result = by_name(model(torch.randn(RUN[expression])))
    return [values, {name: numbers(value) for name, value in result.items()}]


def images():
    torch = RECORDER.torch
    torch.manual_seed(1)
    return [torch.rand(3, 70, 100), torch.rand(3, 90, 64)]


def detected(result):
    """For each image: the detections, how many, their labels, numbers of the rest."""
    return [
        [
            list(found["boxes"].shape),
            found["labels"].tolist(),
            {name: numbers(value) for name, value in sorted(found.items()) if name != "labels"},
        ]
        for found in result
    ]


def detect(expression):
    model, values = made(expression)
    with RECORDER.torch.no_grad():
        return [values, detected(model(images()))]


# Parts of detectors, as functions of nothing.
def _anchors():
    torch, names = RECORDER.torch, scope()
    size = (2, 3, 64, 96)
    lists = importlib.import_module(f"{RECORDER.models.__name__}.detection.image_list")
    batch = lists.ImageList(torch.zeros(size), [(64, 90), (60, 96)])
    features = [torch.zeros(2, 4, 8, 12), torch.zeros(2, 4, 4, 6)]
    grid = names["anchor_utils"].AnchorGenerator(((32, 40), (64, 81)), ((0.5, 1.0, 2.0),) * 2)
    steps = names["anchor_utils"].DefaultBoxGenerator([[2], [2, 3]], 0.2, 0.9, steps=[8, 16])
    wide = names["anchor_utils"].DefaultBoxGenerator([[2], [2, 3]], scales=[0.5, 0.9, 1.2], clip=False)
    one = names["anchor_utils"].DefaultBoxGenerator([[2]])
    found = [numbers(each(batch, features)[1]) for each in (grid, steps, wide)]
    return [*found, numbers(one(batch, features[:1])[0]), repr(steps), grid.num_anchors_per_location()]


def _coders():
    torch, names = RECORDER.torch, scope()
    a = torch.tensor([[1.0, 2.0, 11.0, 18.0], [3.0, 5.0, 9.0, 6.0]])
    b = torch.tensor([[0.0, 4.0, 8.0, 24.0], [2.0, 2.0, 12.0, 12.0]])
    coder, linear = names["_utils"].BoxCoder((10.0, 10.0, 5.0, 5.0)), names["_utils"].BoxLinearCoder()
    differences = coder.encode([a], [b])[0]
    return [
        numbers(differences),
        numbers(coder.decode(torch.cat((differences, 50 * differences), 1), [b])),
        numbers(linear.encode(a, b)),
        numbers(linear.decode(linear.encode(a, b) * 2, b)),
        numbers(names["_utils"].BoxLinearCoder(False).decode(a, b)),
    ]


def _transformed():
    torch, names = RECORDER.torch, scope()
    made = names["transform"].GeneralizedRCNNTransform(40, 56, [0.5, 0.4, 0.3], [0.2, 0.3, 0.4], 16).eval()
    batch, _ = made(images())
    boxes = torch.tensor([[2.0, 3.0, 20.0, 30.0], [5.0, 1.0, 8.0, 9.0]])
    found = {
        "boxes": boxes,
        "masks": torch.rand(2, 1, 7, 7),
        "keypoints": torch.rand(2, 3, 3) * 20,
    }
    (back,) = made.postprocess([found], [(30, 40)], [(60, 70)])
    return [
        list(batch.tensors.shape),
        [list(size) for size in batch.image_sizes],
        numbers(batch.tensors),
        *(numbers(back[name]) for name in ("boxes", "masks", "keypoints")),
    ]


PARTS = {"anchors": _anchors, "coders": _coders, "transform": _transformed}

if __name__ == "__main__":
    print_facts(
        {
            "described": {
                name: RECORDER.described(name, **({} if name in VIDEO else {"weights_backbone": None}))
                for name in BUILDERS
            },
            "run": {one: run(one) for one in RUN},
            "detect": {one: detect(one) for one in DETECT},
            "initial": {one: initial(one)[1] for one in INITIAL},
            "parts": {name: part() for name, part in PARTS.items()},
        }
    )
    raise SystemExit


import pytest  # noqa: E402
import weft.torch as torch  # noqa: E402
from support.tiers import long_but  # noqa: E402
from weft.torchvision import models  # noqa: E402

FACTS = RECORDER.facts()


@pytest.mark.parametrize("name", BUILDERS)
def test_state_dict_and_text(name):
    options = {} if name in VIDEO else {"weights_backbone": None}
    assert RECORDER.described(name, **options) == FACTS["described"][name]


def check_facts(found, expected):
    """The same, numbers of tensors within their tolerance."""
    if isinstance(expected, dict):
        assert list(found) == list(expected)
        for name in expected:
            check_facts(found[name], expected[name])
    elif isinstance(expected, list) and expected and isinstance(expected[-1], float):
        check_numbers(found, expected)
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected):
            check_facts(one, other)
    else:
        assert found == expected


@pytest.mark.parametrize("expression", RUN)
def test_initial_values_and_results(expression):
    check_facts(run(expression), FACTS["run"][expression])
    if expression.startswith(tuple(COMPILED)):
        model, _ = made(expression)
        torch.manual_seed(1)
        with torch.no_grad():
            result = by_name(torch.compile(model, fullgraph=True)(torch.randn(RUN[expression])))
        check_facts({name: numbers(value) for name, value in result.items()}, FACTS["run"][expression][1])


@pytest.mark.parametrize("expression", long_but(DETECT, DETECT[0], DETECT[4], DETECT[7]))
def test_detections(expression):
    check_facts(detect(expression), FACTS["detect"][expression])


@pytest.mark.parametrize("expression", long_but(INITIAL, INITIAL[0]))
def test_initial_values(expression):
    assert initial(expression)[1] == FACTS["initial"][expression]


@pytest.mark.parametrize("name", PARTS)
def test_parts_of_detectors(name):
    check_facts(PARTS[name](), FACTS["parts"][name])


# ---- builders and weights ---------------------------------------------------------------------------------------


def test_register():
    assert models.list_models(models.segmentation) == sorted(SEGMENTATION)
    assert models.list_models(models.detection) == sorted(DETECTION)
    assert models.list_models(models.video) == sorted(VIDEO)
    assert models.get_model_builder("fcn_resnet50") is models.segmentation.fcn_resnet50
    with pytest.raises(
        NotImplementedError, match="mvit_v1_b is torchvision's, but not weft's: not written yet"
    ):
        models.get_model("mvit_v1_b")
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        models.video.nothing


def test_facts_of_weights():
    weights = models.segmentation.FCN_ResNet50_Weights.DEFAULT
    assert weights.url == "https://download.pytorch.org/models/fcn_resnet50_coco-1167a1af.pth"
    assert len(weights.meta["categories"]) == 21 and weights.meta["categories"][8] == "cat"
    assert weights.meta["_metrics"] == {"COCO-val2017-VOC-labels": {"miou": 60.5, "pixel_acc": 91.4}}
    image = (torch.arange(3 * 30 * 40) % 256).to(torch.uint8).reshape(3, 30, 40)
    assert weights.transforms()(image).shape == (3, 520, 693) and "resize_size=[520]" in repr(
        weights.transforms()
    )
    boxes = models.get_weight("KeypointRCNN_ResNet50_FPN_Weights.COCO_LEGACY")
    assert boxes.meta["keypoint_names"][0] == "nose" and boxes.meta["categories"] == ["no person", "person"]
    assert str(type(boxes).DEFAULT) == "KeypointRCNN_ResNet50_FPN_Weights.COCO_V1"
    made = boxes.transforms()(image)
    assert made.dtype == torch.float32 and made.max() <= 1 and repr(boxes.transforms()) == "ObjectDetection()"
    video = models.video.R3D_18_Weights.KINETICS400_V1
    frames = (torch.arange(2 * 3 * 130 * 172) % 256).to(torch.uint8).reshape(2, 3, 130, 172)
    assert video.transforms()(frames).shape == (3, 2, 112, 112) and video.meta["num_params"] == 33371472
    assert video.transforms()(frames[None]).shape == (1, 3, 2, 112, 112)
    assert (
        len(video.meta["categories"]) == 400
        and models.video.S3D_Weights.DEFAULT.meta["min_temporal_size"] == 14
    )
    for preset in (weights, boxes, video):
        assert "[0, 1]" in preset.transforms().describe()


def test_weights_of_the_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.hub, "_hub_dir", str(tmp_path))
    (tmp_path / "checkpoints").mkdir()
    with pytest.raises(RuntimeError, match="mobilenet_v3_large-8738ca79"):  # of the trunk
        models.segmentation.lraspp_mobilenet_v3_large()
    weights = models.segmentation.LRASPP_MobileNet_V3_Large_Weights.DEFAULT
    state = models.segmentation.lraspp_mobilenet_v3_large(weights_backbone=None).state_dict()
    torch.save(state, tmp_path / "checkpoints" / weights.url.rpartition("/")[2])
    loaded = models.segmentation.lraspp_mobilenet_v3_large(weights="DEFAULT").state_dict()
    assert all(torch.equal(loaded[key], state[key]) for key in state)
    with pytest.raises(ValueError, match="'num_classes' expected value 21 but got 3"):
        models.segmentation.lraspp_mobilenet_v3_large(weights=weights, num_classes=3)
    with pytest.raises(ValueError, match="'aux_loss' expected value True but got False"):
        models.segmentation.fcn_resnet50(weights="DEFAULT", aux_loss=False)


def test_detectors_of_published_weights(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.hub, "_hub_dir", str(tmp_path))
    (tmp_path / "checkpoints").mkdir()
    detection = models.detection
    weights = detection.FasterRCNN_MobileNet_V3_Large_320_FPN_Weights.DEFAULT
    state = detection.fasterrcnn_mobilenet_v3_large_320_fpn(weights_backbone=None).state_dict()
    state = {key: value for key, value in state.items() if not key.endswith("num_batches_tracked")}
    for kind in ("weight", "bias"):  # as older files have it
        state[f"rpn.head.conv.{kind}"] = state.pop(f"rpn.head.conv.0.0.{kind}")
    torch.save(state, tmp_path / "checkpoints" / weights.url.rpartition("/")[2])
    model = detection.fasterrcnn_mobilenet_v3_large_320_fpn(weights=weights)
    assert isinstance(model.backbone.body["0"][1], models.detection._utils.FrozenBatchNorm2d)
    assert not model.backbone.body["0"][0].weight.requires_grad  # the first stages are not trained
    assert model.backbone.body["16"][0].weight.requires_grad
    first = detection.FasterRCNN_ResNet50_FPN_Weights.COCO_V1  # was trained with eps 0
    assert detection.faster_rcnn.first_published(model, None).backbone.body["0"][1].eps == 1e-5
    detection.faster_rcnn.first_published(model, first)
    assert model.backbone.body["0"][1].eps == 0


def test_former_keys_of_heads():
    for make, renamed in (
        (
            lambda: models.detection.mask_rcnn.MaskRCNNHeads(4, (4, 4), 1),
            lambda i: (f"{i}.0", f"mask_fcn{i + 1}"),
        ),
        (
            lambda: models.detection.retinanet.RetinaNetRegressionHead(4, 1),
            lambda i: (f"conv.{i}.0", f"conv.{2 * i}"),
        ),
    ):
        model, other = make(), make()
        names = dict(renamed(i) for i in range(4))
        former = {}
        for key, value in model.state_dict().items():
            place, _, kind = key.rpartition(".")
            former[f"{names.get(place, place)}.{kind}"] = value
        assert set(former) != set(model.state_dict())
        other.load_state_dict(former)
        assert all(
            torch.equal(a, b) for a, b in zip(other.state_dict().values(), model.state_dict().values())
        )


def small_detector(**kwargs):
    trunk = torch.nn.Conv2d(3, 8, 16, stride=16)
    trunk.out_channels = 8
    anchors = models.detection.rpn.AnchorGenerator(((16, 32),), ((1.0,),))
    pool = importlib.import_module("weft.torchvision.ops").MultiScaleRoIAlign(["0"], 2, 2)
    return models.detection.FasterRCNN(
        trunk, min_size=32, max_size=64, rpn_anchor_generator=anchors, box_roi_pool=pool, **kwargs
    )


def test_a_detector_of_a_programs_trunk():
    torch.manual_seed(0)
    model = small_detector(num_classes=3).eval()
    with torch.no_grad():
        found = model(images())
        compiled = torch.compile(model)(images())
    assert [sorted(one) for one in found] == [["boxes", "labels", "scores"]] * 2 and len(found[0]["boxes"])
    for one, other in zip(found, compiled):
        assert torch.equal(one["labels"], other["labels"])
        torch.testing.assert_close(one["boxes"], other["boxes"], rtol=1e-5, atol=1e-3)
    with torch.no_grad():
        none = small_detector(num_classes=3, box_score_thresh=2.0).eval()(images())
    assert none[0]["boxes"].shape == (0, 4) and none[0]["labels"].dtype == torch.int64


def test_masks_and_key_points_of_nothing():
    masks = importlib.import_module("weft.torchvision.models.detection.roi_heads")
    assert masks.paste_masks_in_image(torch.zeros(0, 1, 4, 4), torch.zeros(0, 4), (5, 6)).shape == (
        0,
        1,
        5,
        6,
    )
    points, scores = masks.heatmaps_to_keypoints(torch.zeros(0, 3, 4, 4), torch.zeros(0, 4))
    assert points.shape == (0, 3, 3) and scores.shape == (0, 3)
    pasted = masks.paste_masks_in_image(
        torch.ones(1, 1, 4, 4), torch.tensor([[-4.0, 2.0, 30.0, 3.0]]), (5, 6)
    )
    assert pasted.shape == (1, 1, 5, 6) and pasted[0, 0, 0].max() == 0  # cut at the image's borders


def test_arguments_that_are_refused():
    detection = models.detection
    with pytest.raises(NotImplementedError, match="FasterRCNN: weft computes no losses of detectors"):
        small_detector(num_classes=3)(images())
    with pytest.raises(NotImplementedError, match="give no targets"):
        small_detector(num_classes=3).eval()(images(), [{}, {}])
    with pytest.raises(ValueError, match="attribute out_channels"):
        detection.FasterRCNN(torch.nn.ReLU(), 3)
    with pytest.raises(ValueError, match="num_classes should not be None"):
        small_detector()
    with pytest.raises(ValueError, match="num_classes should be None"):
        small_detector(num_classes=3, box_predictor=torch.nn.Identity())
    with pytest.raises(TypeError, match="AnchorGenerator or None"):
        detection.RetinaNet(small_detector(num_classes=3).backbone, 3, anchor_generator=torch.nn.Identity())
    with pytest.raises(ValueError, match="3d tensors of shape"):
        small_detector(num_classes=3).eval()([torch.zeros(3, 4)])
    with pytest.raises(TypeError, match="floating type"):
        small_detector(num_classes=3).eval()([torch.zeros(3, 4, 4, dtype=torch.uint8)])
    with pytest.raises(ValueError, match=r"in the range \[0,5\], got 6"):
        detection.backbone_utils.resnet_fpn_backbone(
            backbone_name="resnet18", weights=None, trainable_layers=6
        )
    with pytest.raises(ValueError, match="same length"):
        detection.anchor_utils.DefaultBoxGenerator([[2], [3]], steps=[8])
    with pytest.raises(NotImplementedError, match="does not use auxiliary loss"):
        models.segmentation.lraspp_mobilenet_v3_large(weights_backbone=None, aux_loss=True)
    with pytest.warns(UserWarning, match="no effect where no weights are given"), torch.device("meta"):
        detection.fcos_resnet50_fpn(weights_backbone=None, trainable_backbone_layers=2)


# ---- feature_extraction -----------------------------------------------------------------------------------------


def test_features_of_modules():
    extraction = models.feature_extraction
    model = models.resnet18(num_classes=3).eval()
    nodes = {"layer1.0.relu": "a", "layer1.0.relu_1": "b", "layer2": "c", "layer1.0.bn1": "z"}
    extractor = extraction.create_feature_extractor(model, nodes)
    ran = []
    model.fc.register_forward_hook(lambda *_: ran.append("fc"))
    with torch.no_grad():
        found = extractor(torch.ones(1, 3, 64, 64))
        stem = model.maxpool(model.relu(model.bn1(model.conv1(torch.ones(1, 3, 64, 64)))))
        block = model.layer1[0]
        assert list(found) == ["z", "a", "b", "c"]
        assert torch.equal(found["a"], block.relu(block.bn1(block.conv1(stem))))
        assert torch.equal(found["z"], found["a"])  # relu works in place
        assert torch.equal(found["b"], block(stem)) and torch.equal(
            found["c"], model.layer2(model.layer1(stem))
        )
        compiled = torch.compile(extractor)(torch.ones(1, 3, 64, 64))
        for key, value in found.items():
            torch.testing.assert_close(compiled[key], value, rtol=1e-4, atol=1e-5)
    assert not ran and getattr(extractor.layer1, "0").conv1.weight is block.conv1.weight
    assert list(extractor(torch.ones(1, 3, 64, 64))) == list(found)
    names = extraction.create_feature_extractor(model, ["layer1", "layer4"])(torch.ones(1, 3, 32, 32))
    assert {name: tuple(value.shape) for name, value in names.items()} == {
        "layer1": (1, 64, 8, 8),
        "layer4": (1, 512, 1, 1),
    }


def test_features_of_each_mode():
    create = models.feature_extraction.create_feature_extractor
    model = models.squeezenet1_1().eval()
    extractor = create(
        model, train_return_nodes=["features.0"], eval_return_nodes=["features.1", "features.3"]
    )
    x = torch.ones(1, 3, 32, 32)
    assert list(extractor(x)) == ["features.1", "features.3"] and list(extractor.train()(x)) == ["features.0"]
    assert not model.training
    for wrong in (
        {},
        {"return_nodes": ["features"], "train_return_nodes": []},
        {"eval_return_nodes": ["features"]},
    ):
        with pytest.raises(ValueError, match="should be specified"):
            create(model, **wrong)
    assert create(model, ["flatten"])(x)["flatten"].shape == (1, 1000)
    with pytest.raises(ValueError, match="'nowhere' is not present in model"):
        create(model, ["nowhere"])
