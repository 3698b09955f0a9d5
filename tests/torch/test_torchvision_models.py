"""torchvision.models beside torchvision 0.29: test_torchvision_models.json has what it gives.

python tests/torch/test_torchvision_models.py > tests/torch/test_torchvision_models.json   # by a Python that has torchvision
"""

import functools
import importlib

from torchvision_models import Recorder, check_numbers, digest_of_values, numbers, print_facts

RECORDER = Recorder(__name__, __file__)

# By family: what each builder gives is described without its values.
BUILDERS = """
alexnet vgg11 vgg11_bn vgg13 vgg13_bn vgg16 vgg16_bn vgg19 vgg19_bn resnet18 resnet34 resnet50 resnet101 resnet152
resnext50_32x4d resnext101_32x8d resnext101_64x4d wide_resnet50_2 wide_resnet101_2 squeezenet1_0 squeezenet1_1 densenet121
densenet161 densenet169 densenet201 googlenet inception_v3
""".split()

# Initial values and results: the model, and the side of its images.
RUN = {
    "resnet18(num_classes=10)": 64,
    "resnet.ResNet(resnet.BasicBlock, [1, 1, 1, 1], 10, norm_layer=groups_of_four, zero_init_residual=True)": 64,
    "resnet.ResNet(resnet.Bottleneck, [1, 1, 1, 2], 10, True, 2, 16, [False, True, True])": 64,
    "squeezenet1_0(num_classes=10)": 64,
    "squeezenet1_1(num_classes=10)": 64,
    "densenet.DenseNet(8, (2, 3, 1), 16, num_classes=10)": 32,
    "vgg.make_layers(vgg.cfgs['A'][:5], True)": 16,
    "googlenet.Inception(16, 4, 4, 8, 4, 8, 4)": 8,
    "inception.InceptionA(16, 8)": 9,
    "inception.InceptionB(16)": 9,
    "inception.InceptionC(16, 8)": 9,
    "inception.InceptionD(16)": 9,
    "inception.InceptionE(16)": 9,
    "googlenet.InceptionAux(16, 10)": 9,
    "googlenet.GoogLeNet(10, transform_input=True, init_weights=True)": 96,
}
COMPILED = [one for one in RUN if one.startswith(("resnet.ResNet(resnet.Bot", "squeezenet1_1", "densenet", "googlenet.Inception(",
                                                  "inception.InceptionE"))]  # fmt: skip
TRAINED = ["googlenet.GoogLeNet(10, transform_input=True, init_weights=True)"]


def names():
    """What expressions may name."""
    families = RECORDER.families(("vgg", "resnet", "densenet", "googlenet", "inception", "squeezenet"))
    builders = {name: getattr(RECORDER.models, name) for name in BUILDERS if name not in families}
    return {**families, **builders, "groups_of_four": functools.partial(RECORDER.torch.nn.GroupNorm, 4)}


def made(expression):
    """(the model after manual_seed(0), a digest of its initial values, with statistics that are not 0 and 1; images)"""
    torch = RECORDER.torch
    torch.manual_seed(0)
    model = eval(expression, names())
    values = digest_of_values(model)
    for key, value in model.named_buffers():
        steps = torch.arange(value.numel(), dtype=torch.float32).reshape(value.shape)
        if key.endswith("running_mean"):
            value.copy_((steps % 7 - 3) / 20)
        elif key.endswith("running_var"):
            value.copy_(1 + (steps % 5) / 10)
    channels = next(iter(model.parameters())).shape[1]
    torch.manual_seed(1)
    return model, values, torch.randn(2, channels, RUN[expression], RUN[expression])


def run(expression):
    torch = RECORDER.torch
    model, values, x = made(expression)
    with torch.no_grad():
        return [values, list(model.eval()(x).shape), numbers(model(x))]


def trained(expression):
    torch = RECORDER.torch
    model, _, x = made(expression)
    torch.manual_seed(2)
    with torch.no_grad():
        result = model.train()(x)
    return [type(result).__name__, *result._fields, *map(numbers, result)]


if __name__ == "__main__":
    print_facts(
        {
            "described": {name: RECORDER.described(name) for name in BUILDERS},
            "run": {one: run(one) for one in RUN},
            "trained": {one: trained(one) for one in TRAINED},
        }
    )
    raise SystemExit


import pytest  # noqa: E402
import weft.torch as torch  # noqa: E402
import weft.torchvision as torchvision  # noqa: E402
from weft.torchvision import models  # noqa: E402
from weft.torchvision.models import _api, _utils  # noqa: E402

FACTS = RECORDER.facts()


@pytest.mark.parametrize("name", BUILDERS)
def test_state_dict_and_text(name):
    assert RECORDER.described(name) == FACTS["described"][name]


@pytest.mark.parametrize("expression", RUN)
def test_initial_values_and_results(expression):
    values, shape, expected = FACTS["run"][expression]
    model, found, x = made(expression)
    assert found == values
    with torch.no_grad():
        result = model.eval()(x)
        assert list(result.shape) == shape
        check_numbers(numbers(result), expected)
        if expression in COMPILED:
            check_numbers(numbers(torch.compile(model, fullgraph=True)(x)), expected)


@pytest.mark.parametrize("expression", TRAINED)
def test_results_of_training_mode(expression):
    found, expected = trained(expression), FACTS["trained"][expression]
    for a, b in zip(found, expected, strict=True):
        if isinstance(b, str):
            assert a == b
        else:
            check_numbers(a, b)


def small_resnet(**kwargs):
    return models.ResNet(models.resnet.BasicBlock, [1, 1, 1, 1], num_classes=10, **kwargs)


def test_inception_in_both_modes():
    with torch.device("meta"):
        model = models.inception_v3(init_weights=True, num_classes=10)
        x = torch.empty(2, 3, 299, 299)
        result = model(x)
        assert isinstance(result, models.InceptionOutputs) and models.inception._InceptionOutputs is type(
            result
        )
        assert result.logits.shape == result.aux_logits.shape == (2, 10)
        assert model.eval()(torch.empty(2, 3, 75, 75)).shape == (2, 10)
        assert models.inception_v3(init_weights=True, aux_logits=False).AuxLogits is None


def test_arguments_that_are_refused():
    with pytest.raises(ValueError, match="3 elements"):
        small_resnet(replace_stride_with_dilation=[True])
    with pytest.raises(ValueError, match="groups=1 and base_width=64"):
        small_resnet(groups=2)
    with pytest.raises(NotImplementedError, match="dilation=1"):
        small_resnet(replace_stride_with_dilation=[True, True, True])
    with pytest.raises(ValueError, match="'groups' expected value 32 but got 2"):
        models.resnext50_32x4d(groups=2)
    with pytest.raises(ValueError, match="version 2"):
        models.SqueezeNet("2")
    with pytest.raises(ValueError, match="3 blocks"):
        models.GoogLeNet(blocks=[])
    with pytest.raises(ValueError, match="7 inception_blocks"):
        models.Inception3(inception_blocks=[None])
    with pytest.warns(FutureWarning, match="init_weights=True"), torch.device("meta"):
        models.googlenet()


# ---- the register ----------------------------------------------------------------------------------------------


def test_names_of_functions_and_of_modules():
    for name in ("alexnet", "googlenet"):
        importlib.import_module(f"weft.torchvision.models.{name}")
    assert callable(models.alexnet) and callable(models.googlenet)
    assert models.resnet.resnet18 is models.resnet18 and torchvision.models is models
    assert {"resnet18", "ResNet18_Weights", "get_model"} <= set(dir(models)) and "vgg16" in models.__all__
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        models.nothing


def test_register():
    assert models.get_model_builder("ResNet18") is models.resnet18
    assert isinstance(models.get_model("squeezenet1_1", num_classes=3), models.SqueezeNet)
    with pytest.raises(ValueError, match="Unknown model nothing"):
        models.get_model("nothing")
    with pytest.raises(NotImplementedError, match="torchvision's, but not weft's: not written yet"):
        models.get_model("raft_large")
    with pytest.raises(ValueError, match="there is a model named 'resnet18'"):
        _api.register_model()(models.resnet18)
    assert models.list_models(include="res*", exclude=["resnext*", "*1?", "*101"]) == [
        "resnet152", "resnet34", "resnet50",
    ]  # fmt: skip
    assert models.list_models(include=["resnet18", "alex*", "nothing"]) == ["alexnet", "resnet18"]
    assert set(BUILDERS) <= set(models.list_models(models)) < set(models.list_models())
    assert models.list_models(models.resnet) == []


def test_names_of_weights():
    weights = models.get_model_weights("resnet50")
    assert weights is models.ResNet50_Weights is models.get_model_weights(models.resnet50)
    assert repr(weights.DEFAULT) == str(weights.DEFAULT) == "ResNet50_Weights.IMAGENET1K_V2"
    assert list(weights) == [weights.IMAGENET1K_V1, weights.IMAGENET1K_V2]
    assert models.get_weight("ResNet50_Weights.IMAGENET1K_V1") is weights.IMAGENET1K_V1
    assert weights.verify("DEFAULT") is weights.IMAGENET1K_V2 and weights.verify(None) is None
    assert models.VGG16_Weights.IMAGENET1K_FEATURES.meta["categories"] is None
    with pytest.raises(ValueError, match="a dot and a member"):
        models.get_weight("nothing")
    with pytest.raises(ValueError, match="no weights 'Nothing_Weights'"):
        models.get_weight("Nothing_Weights.V1")
    with pytest.raises(KeyError, match="V3"):
        models.get_weight("ResNet50_Weights.V3")
    with pytest.raises(TypeError, match="expected ResNet18_Weights but received ResNet50_Weights"):
        models.resnet18(weights=weights.DEFAULT)


def test_facts_of_weights():
    weights = models.ResNet50_Weights.IMAGENET1K_V2
    assert weights.url == "https://download.pytorch.org/models/resnet50-11ad3fa6.pth"
    meta = weights.meta
    assert len(meta["categories"]) == 1000 and meta["categories"][1] == "goldfish"
    assert meta["min_size"] == (1, 1) and meta["num_params"] == 25557032
    assert meta["_metrics"] == {"ImageNet-1K": {"acc@1": 80.858, "acc@5": 95.434}}
    made_input = weights.transforms()
    assert "resize_size=[232]" in repr(made_input) and "crop_size=[224]" in repr(made_input)
    image = (torch.arange(3 * 240 * 250) % 256).to(torch.uint8).reshape(3, 240, 250)
    assert made_input(image).shape == (3, 224, 224) and made_input(image).dtype == torch.float32
    for name in BUILDERS:
        assert models.get_model_weights(name).DEFAULT.meta["num_params"] > 0


def test_weights_of_the_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.hub, "_hub_dir", str(tmp_path))
    weights = models.SqueezeNet1_1_Weights.IMAGENET1K_V1
    file = tmp_path / "checkpoints" / weights.url.rpartition("/")[2]
    with pytest.raises(RuntimeError, match="downloads nothing") as error:
        models.squeezenet1_1(weights="DEFAULT")
    assert weights.url in str(error.value) and str(file) in str(error.value)
    state = models.squeezenet1_1().state_dict()
    file.parent.mkdir()
    torch.save(state, file)
    for given in (
        {"weights": weights},
        {"weights": "DEFAULT"},
        {"weights": "IMAGENET1K_V1", "num_classes": 1000},
    ):
        loaded = models.squeezenet1_1(**given).state_dict()
        assert all(torch.equal(loaded[key], state[key]) for key in state)
    with pytest.warns(UserWarning) as warned:
        models.squeezenet1_1(pretrained=True)
    assert "'pretrained' is deprecated" in str(warned[0].message)
    assert "weights=SqueezeNet1_1_Weights.IMAGENET1K_V1" in str(warned[1].message)
    with pytest.raises(ValueError, match="'num_classes' expected value 1000 but got 10"):
        models.squeezenet1_1(weights=weights, num_classes=10)


def test_former_keys_of_densenet(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.hub, "_hub_dir", str(tmp_path))
    (tmp_path / "checkpoints").mkdir()
    state = models.densenet121().state_dict()
    former = {}
    for key, value in state.items():
        for part in ("norm1", "norm2", "conv1", "conv2"):
            key = key.replace(f".{part}.", f".{part[:-1]}.{part[-1]}.") if "denselayer" in key else key
        former[key] = value
    assert "features.denseblock1.denselayer1.norm.1.weight" in former
    torch.save(former, tmp_path / "checkpoints" / models.DenseNet121_Weights.DEFAULT.url.rpartition("/")[2])
    loaded = models.densenet121(weights="DEFAULT").state_dict()
    assert all(torch.equal(loaded[key], state[key]) for key in state)


def test_published_googlenet_has_no_auxiliary_classifiers(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.hub, "_hub_dir", str(tmp_path))
    (tmp_path / "checkpoints").mkdir()
    state = models.googlenet(init_weights=False).state_dict()
    torch.save(state, tmp_path / "checkpoints" / models.GoogLeNet_Weights.DEFAULT.url.rpartition("/")[2])
    model = models.googlenet(weights="DEFAULT")
    assert model.aux1 is None and not model.aux_logits and model.transform_input
    with pytest.warns(UserWarning, match="not trained"):
        assert models.googlenet(weights="DEFAULT", aux_logits=True).aux1 is not None


def test_former_arguments_of_builders():
    with pytest.warns(UserWarning, match="Using 'weights' as positional"):
        assert isinstance(models.squeezenet1_1(None), models.SqueezeNet)
    with pytest.warns(UserWarning, match="Using 'weights' and 'progress' as positional"):
        models.squeezenet1_1(None, False)
    with pytest.raises(TypeError, match="at most 2 positional"):
        models.squeezenet1_1(None, False, 10)
    with pytest.warns(UserWarning) as warned:
        models.squeezenet1_1(pretrained=False)
    assert "'pretrained' is deprecated" in str(warned[0].message) and "means `weights=None`" in str(
        warned[1].message
    )


# ---- _utils -----------------------------------------------------------------------------------------------------


def test_parts_of_a_model():
    model = small_resnet().eval()
    part = _utils.IntermediateLayerGetter(model, {"layer1": "low", "layer3": 2})
    assert list(part) == ["conv1", "bn1", "relu", "maxpool", "layer1", "layer2", "layer3"]
    with torch.no_grad():
        x = torch.randn(1, 3, 32, 32)
        results, compiled = part(x), torch.compile(part, fullgraph=True)(x)
    assert [(name, tuple(value.shape)) for name, value in results.items()] == [
        ("low", (1, 64, 8, 8)), ("2", (1, 256, 2, 2)),
    ]  # fmt: skip
    assert list(compiled) == list(results) and torch.allclose(compiled["low"], results["low"], atol=1e-5)
    with pytest.raises(ValueError, match="not present in model: nothing"):
        _utils.IntermediateLayerGetter(model, {"nothing": "0"})


@pytest.mark.parametrize(("value", "divisor", "least", "expected"), [
    (32, 8, None, 32), (33, 8, None, 32), (36, 8, None, 40), (11, 8, None, 16), (3, 8, None, 8), (3, 8, 16, 16), (9.6, 4, 2, 12),
])  # fmt: skip
def test_make_divisible(value, divisor, least, expected):
    assert _utils._make_divisible(value, divisor, least) == expected


def test_weights_of_a_program(tmp_path):
    value = _api.Weights("https://example.org/a-0123.pth", functools.partial(dict, a=1), {"categories": None})
    Own_Weights = models.WeightsEnum("Own_Weights", {"V1": value, "DEFAULT": value}, module=__name__)
    assert value == _api.Weights(value.url, functools.partial(dict, a=1), dict(value.meta))
    assert value != _api.Weights(value.url, functools.partial(dict, a=2), dict(value.meta))

    def own_model(*, weights: Own_Weights | None = None, progress: bool = True, **kwargs):
        return small_resnet(**kwargs)

    try:
        _api.register_model("own")(_utils.handle_legacy_interface(weights=("pretrained", None))(own_model))
        assert (
            isinstance(models.get_model("own"), models.ResNet)
            and models.get_model_weights("own") is Own_Weights
        )
        with pytest.raises(ValueError, match="no weights are published"), pytest.warns(UserWarning):
            models.get_model("own", pretrained=True)
    finally:
        _api.BUILTIN_MODELS.pop("own", None)
