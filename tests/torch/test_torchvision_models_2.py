"""torchvision.models' mobile networks and transformers beside torchvision 0.29: the .json beside this file has what it gives.

python tests/torch/test_torchvision_models_2.py > tests/torch/test_torchvision_models_2.json   # by a Python with torchvision
"""

import importlib
from collections import OrderedDict

from torchvision_models import Recorder, check_numbers, digest_of_values, numbers, print_facts

RECORDER = Recorder(__name__, __file__)
FAMILIES = (
    "convnext efficientnet maxvit mnasnet mobilenetv2 mobilenetv3 regnet shufflenetv2 swin_transformer "
    "vision_transformer"
).split()

# Each builder's model is described without its values.
BUILDERS = """
convnext_tiny convnext_small convnext_base convnext_large efficientnet_b0 efficientnet_b1 efficientnet_b2 efficientnet_b3
efficientnet_b4 efficientnet_b5 efficientnet_b6 efficientnet_b7 efficientnet_v2_s efficientnet_v2_m efficientnet_v2_l maxvit_t
mnasnet0_5 mnasnet0_75 mnasnet1_0 mnasnet1_3 mobilenet_v2 mobilenet_v3_large mobilenet_v3_small regnet_x_400mf regnet_x_800mf
regnet_x_1_6gf regnet_x_3_2gf regnet_x_8gf regnet_x_16gf regnet_x_32gf regnet_y_400mf regnet_y_800mf regnet_y_1_6gf
regnet_y_3_2gf regnet_y_8gf regnet_y_16gf regnet_y_32gf regnet_y_128gf shufflenet_v2_x0_5 shufflenet_v2_x1_0
shufflenet_v2_x1_5 shufflenet_v2_x2_0 swin_t swin_s swin_b swin_v2_t swin_v2_s swin_v2_b vit_b_16 vit_b_32 vit_l_16 vit_l_32
vit_h_14
""".split()

# Initial values and results: the model, and the side of its images.
RUN = {
    "mobilenetv2.MobileNetV2(10, 0.25)": 40,
    "mobilenetv3.mobilenet_v3_small(num_classes=10, width_mult=0.5)": 64,
    "mobilenetv3.mobilenet_v3_small(num_classes=10, width_mult=0.25, reduced_tail=True, dilated=True)": 64,
    "mobilenetv3.mobilenet_v3_large(num_classes=10, width_mult=0.25, reduced_tail=True, dilated=True)": 64,
    "efficientnet.EfficientNet([efficientnet.FusedMBConvConfig(1, 3, 1, 8, 8, 2), "
    "efficientnet.FusedMBConvConfig(4, 3, 2, 8, 16, 2), efficientnet.MBConvConfig(4, 5, 2, 16, 24, 2)], 0.2, "
    "num_classes=10)": 32,
    "efficientnet.EfficientNet([efficientnet.MBConvConfig(1, 3, 1, 8, 8, 1, 2.0, 1.5)], 0.2, last_channel=24)": 16,
    "convnext.ConvNeXt([convnext.CNBlockConfig(8, 16, 1), convnext.CNBlockConfig(16, None, 2)], 0.1, 0.5, 10)": 32,
    "vision_transformer.VisionTransformer(32, 8, 2, 2, 16, 32, num_classes=10, representation_size=8)": 32,
    "vision_transformer.VisionTransformer(16, 8, 1, 2, 16, 32, num_classes=10, "
    "conv_stem_configs=[vision_transformer.ConvStemConfig(8, 3, 2)] * 3)": 16,
    "swin_transformer.SwinTransformer([4, 4], 16, [2, 2], [2, 4], [4, 4], num_classes=10)": 36,
    "swin_transformer.SwinTransformer([4, 4], 16, [2, 2], [2, 4], [4, 4], num_classes=10, "
    "block=swin_transformer.SwinTransformerBlockV2, downsample_layer=swin_transformer.PatchMergingV2)": 36,
    "shufflenetv2.ShuffleNetV2([2, 1, 1], [8, 16, 32, 64, 128], 10)": 40,
    "mnasnet.MNASNet(0.25, 10)": 40,
    "regnet.RegNet(regnet.BlockParams.from_init_params(6, 16, 8.0, 2.0, 8, se_ratio=0.25), 10, 8)": 40,
    "regnet.RegNet(regnet.BlockParams.from_init_params(6, 16, 8.0, 2.0, 24), 10, 8)": 40,
    "maxvit.MaxVit((32, 32), 16, 2, [16, 32], [1, 2], 8, 0.2, num_classes=10)": 32,
}
COMPILED = [
    one
    for one in RUN
    if one.startswith(("shufflenetv2", "convnext", "vision_transformer.VisionTransformer(32"))
    or "SwinTransformerBlockV2" in one
]


def made(expression):
    """(the model after manual_seed(0), a digest of its initial values; the model then gets others; images)"""
    torch = RECORDER.torch
    torch.manual_seed(0)
    model = eval(expression, RECORDER.families(FAMILIES))
    values, state = digest_of_values(model), model.state_dict()
    torch.manual_seed(1)
    for key, value in state.items():
        if value.dtype == torch.float32 and not key.endswith("coords_table"):
            steps = torch.arange(value.numel(), dtype=torch.float32).reshape(value.shape)
            lower = 0 if key.endswith("running_var") else 3
            value.add_((steps % 7 - lower) / 20)
    return model.eval(), values, torch.randn(2, 3, RUN[expression], RUN[expression])


def run(expression):
    model, values, x = made(expression)
    with RECORDER.torch.no_grad():
        return [values, numbers(model(x))]


def resized(image_size, mode):
    """A position embedding of 2×2 patches for an image of patches of 4."""
    torch = RECORDER.torch
    state = OrderedDict(
        {"encoder.pos_embedding": torch.arange(15.0).reshape(1, 5, 3), "heads.a": torch.ones(1)}
    )
    vision_transformer = RECORDER.families(["vision_transformer"])["vision_transformer"]
    state = vision_transformer.interpolate_embeddings(image_size, 4, state, mode, reset_heads=True)
    return [*state, list(state["encoder.pos_embedding"].shape), numbers(state["encoder.pos_embedding"])]


RESIZED = {"8 bicubic": (8, "bicubic"), "16 bicubic": (16, "bicubic"), "12 bilinear": (12, "bilinear")}

if __name__ == "__main__":
    import torch
    import torchvision

    stages = torchvision.models.regnet.BlockParams.from_init_params

    def of_the_cpu(**kwargs):
        with torch.device("cpu"):
            return stages(**kwargs)

    torchvision.models.regnet.BlockParams.from_init_params = of_the_cpu
    facts = {"described": {name: RECORDER.described(name) for name in BUILDERS}}
    torchvision.models.regnet.BlockParams.from_init_params = stages
    facts["run"] = {one: run(one) for one in RUN}
    facts["resized"] = {name: resized(*arguments) for name, arguments in RESIZED.items()}
    print_facts(facts)
    raise SystemExit


import pytest  # noqa: E402
import weft.torch as torch  # noqa: E402
from weft.torchvision import models  # noqa: E402

FACTS = RECORDER.facts()


@pytest.mark.parametrize("name", BUILDERS)
def test_state_dict_and_text(name):
    assert RECORDER.described(name) == FACTS["described"][name]
    assert FACTS["described"][name][0] in {
        one.meta["num_params"] for one in models.get_model_weights(name)
    } or name.startswith("vit_h")


@pytest.mark.parametrize("expression", RUN)
def test_initial_values_and_results(expression):
    values, expected = FACTS["run"][expression]
    model, found, x = made(expression)
    assert found == values
    with torch.no_grad():
        check_numbers(numbers(model(x)), expected)
        if expression in COMPILED:
            check_numbers(numbers(torch.compile(model, fullgraph=True)(x)), expected)


@pytest.mark.parametrize("name", RESIZED)
def test_resized_positions(name):
    *found, values = resized(*RESIZED[name])
    *expected, expected_values = FACTS["resized"][name]
    assert found == expected
    check_numbers(values, expected_values)


def test_positions_that_are_refused():
    resize = models.vision_transformer.interpolate_embeddings
    with pytest.raises(ValueError, match="Unexpected position embedding shape"):
        resize(8, 4, {"encoder.pos_embedding": torch.ones(2, 5, 3)})
    with pytest.raises(ValueError, match="not a perfect square"):
        resize(8, 4, {"encoder.pos_embedding": torch.ones(1, 4, 3)})


def test_former_keys_of_mlp_blocks():
    block = models.vision_transformer.MLPBlock(2, 3, 0.0)
    state = {
        key.replace("0.", "linear_1.").replace("3.", "linear_2."): one
        for key, one in block.state_dict().items()
    }
    assert set(state) == {f"linear_{i}.{kind}" for i in (1, 2) for kind in ("weight", "bias")}
    other = models.vision_transformer.MLPBlock(2, 3, 0.0)
    other.load_state_dict(state)
    assert all(torch.equal(a, b) for a, b in zip(other.state_dict().values(), block.state_dict().values()))


def test_names_of_mobilenet():
    module = importlib.import_module("weft.torchvision.models.mobilenet")
    assert module.mobilenet_v2 is models.mobilenet_v2 and "MobileNetV3" in module.__all__


def test_arguments_that_are_refused():
    with pytest.raises(ValueError, match="4-element list"):
        models.MobileNetV2(inverted_residual_setting=[[1, 2]])
    with pytest.raises(ValueError, match="should not be empty"):
        models.MobileNetV3([], 8)
    with pytest.raises(TypeError, match="InvertedResidualConfig"):
        models.MobileNetV3([1], 8)
    with pytest.raises(TypeError, match="MBConvConfig"):
        models.EfficientNet([1], 0.2)
    with pytest.raises(TypeError, match="CNBlockConfig"):
        models.ConvNeXt([1])
    with pytest.raises(ValueError, match="indivisible"):
        models.VisionTransformer(30, 8, 1, 1, 8, 8)
    with pytest.raises(AssertionError, match="Wrong image height! Expected 8 but got 16"):
        models.VisionTransformer(8, 8, 1, 1, 8, 8)(torch.ones(1, 3, 16, 8))
    with pytest.raises(ValueError, match="alpha should be greater"):
        models.MNASNet(0.0)
    with pytest.raises(ValueError, match="5 positive ints"):
        models.ShuffleNetV2([1, 1, 1], [1])
    with pytest.raises(ValueError, match="Invalid RegNet settings"):
        models.regnet.BlockParams.from_init_params(2, 9, 1.0, 2.0, 8)
    with pytest.raises(ValueError, match="not divisible by partition size"):
        models.MaxVit((20, 20), 8, 4, [8], [1], 8, 0.0)
    with pytest.raises(ValueError, match="no weights are published"), pytest.warns(UserWarning):
        models.vit_h_14(pretrained=True)
