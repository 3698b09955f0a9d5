"""Models of torchvision, timm and transformers, small ones with random weights, traced or scripted by PyTorch and run here: as
loaded, compiled, for another batch, frozen by PyTorch, and optimized for inference. Needs WEFT_TORCH_PYTHON, a Python that has
PyTorch; families whose package it lacks are skipped."""

import os
import subprocess

import numpy as np
import pytest
import weft

PYTHON = os.environ.get("WEFT_TORCH_PYTHON")
pytestmark = pytest.mark.skipif(not PYTHON, reason="WEFT_TORCH_PYTHON names no Python with PyTorch")

PROGRAM = """
import sys, numpy, torch
torch.manual_seed(0)
folder, name = sys.argv[1:]
R, ids = torch.randn, lambda n: torch.randint(1, 90, (n, 7))
def first(o): return tuple(v for v in (o.to_tuple() if hasattr(o, "to_tuple") else o) if isinstance(v, torch.Tensor))
class Called(torch.nn.Module):
    def __init__(self, module, how):
        super().__init__()
        self.module, self.how = module, how
    def forward(self, *given):
        return self.how(self.module, *given)
{make}
def write(module, inputs, script=False):
    module = module.eval()
    with torch.no_grad():
        made = torch.jit.script(module) if script else torch.jit.trace(module, inputs[0], check_trace=False)
        torch.jit.save(made, folder + "/plain.pt")
        torch.jit.save(torch.jit.freeze(made), folder + "/frozen.pt")
        for i, given in enumerate(inputs):
            result = made(*given)
            result = [result] if isinstance(result, torch.Tensor) else list(result)
            arrays = {{f"in{{j}}": x.numpy() for j, x in enumerate(given)}}
            arrays.update({{f"out{{j}}": x.numpy() for j, x in enumerate(result)}})
            numpy.savez(folder + f"/{{i}}.npz", **arrays)
write(*families[name]())
"""

VISION = """
import torchvision.models as M
def image(make, size=64, script=False):
    return lambda: (make(), [(R(n, 3, size, size),) for n in (1, 2)], script)
def clip(make):
    return lambda: (make(), [(R(n, 3, 8, 32, 32),) for n in (1, 2)])
families = {
    "mobilenet": image(lambda: M.mobilenet_v3_small(weights=None), script=True),
    "resnet": image(lambda: M.resnet18(weights=None)),
    "shufflenet": image(lambda: M.shufflenet_v2_x0_5(weights=None), script=True),
    "vit": image(lambda: M.VisionTransformer(image_size=32, patch_size=8, num_layers=2, num_heads=2, hidden_dim=32, mlp_dim=64), 32),
    "swin": image(lambda: M.SwinTransformer([4, 4], 8, [2, 2], [2, 2], [4, 4], num_classes=5), 32),
    "segmentation": lambda: (Called(M.segmentation.lraspp_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=3),
                                    lambda m, x: tuple(m(x).values())), [(R(n, 3, 64, 64),) for n in (1, 2)]),
    "video": clip(lambda: M.video.SwinTransformer3d([2, 4, 4], 8, [2, 2], [2, 2], [4, 4, 4], num_classes=5)),
}
"""

TIMM = """
import timm
families = {n: lambda n=n: (timm.create_model(n, pretrained=False, num_classes=5), [(R(b, 3, 160, 160),) for b in (1, 2)])
            for n in NAMES}
"""

TRANSFORMERS = """
import transformers as T
small = dict(vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=37)
picture = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=37, image_size=32, patch_size=8)
def family(make, how, *inputs):
    return lambda: (Called(make(), how), list(inputs))
def images(n): return (R(n, 3, 32, 32),)
def sam():
    vision = T.SamVisionConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, image_size=64, patch_size=8,
                               output_channels=16, window_size=4, global_attn_indexes=[1], mlp_dim=37, num_pos_feats=8)
    prompt = T.SamPromptEncoderConfig(hidden_size=16, image_size=64, patch_size=8, mask_input_channels=4)
    decoder = T.SamMaskDecoderConfig(hidden_size=16, mlp_dim=32, num_attention_heads=2, iou_head_hidden_dim=16)
    parts = dict(vision_config=vision, prompt_encoder_config=prompt, mask_decoder_config=decoder)
    return T.SamModel(T.SamConfig(**{name: part.to_dict() for name, part in parts.items()}))
def points(n): return (R(1, 3, 64, 64), 60 * torch.rand(1, 1, n, 2), torch.ones(1, 1, n, dtype=torch.long))
text = lambda m, i: first(m(input_ids=i, use_cache=False))
families = {
    "bert": family(lambda: T.BertModel(T.BertConfig(**small)), lambda m, i: first(m(input_ids=i)), (ids(1),), (ids(2),)),
    "gpt2": family(lambda: T.GPT2LMHeadModel(T.GPT2Config(vocab_size=99, n_embd=32, n_layer=2, n_head=4)), text, (ids(1),)),
    "llama": family(lambda: T.LlamaForCausalLM(T.LlamaConfig(**small, num_key_value_heads=2)), text, (ids(1),)),
    "t5": family(lambda: T.T5ForConditionalGeneration(T.T5Config(vocab_size=99, d_model=32, d_kv=8, d_ff=37, num_layers=2, num_heads=4)),
                 lambda m, i, d: first(m(input_ids=i, decoder_input_ids=d, use_cache=False))[:1], (ids(1), ids(1)), (ids(2), ids(2))),
    "whisper": family(lambda: T.WhisperForConditionalGeneration(T.WhisperConfig(
                          vocab_size=99, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
                          decoder_attention_heads=4, encoder_ffn_dim=37, decoder_ffn_dim=37, max_source_positions=20,
                          num_mel_bins=8, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1)),
                      lambda m, x, d: first(m(input_features=x, decoder_input_ids=d, use_cache=False))[:1],
                      (R(1, 8, 40), ids(1)), (R(2, 8, 40), ids(2))),
    "clip": family(lambda: T.CLIPModel(T.CLIPConfig(text_config=dict(**small, bos_token_id=1, eos_token_id=98, pad_token_id=0),
                                                    vision_config=picture, projection_dim=16)),
                   lambda m, i, x: (lambda o: (o.logits_per_image, o.text_embeds))(m(input_ids=i, pixel_values=x)),
                   (ids(1), *images(1)), (ids(2), *images(2))),
    "siglip": family(lambda: T.SiglipVisionModel(T.SiglipVisionConfig(**picture)), lambda m, x: first(m(x)), images(1), images(2)),
    "dinov2": family(lambda: T.Dinov2Model(T.Dinov2Config(**picture)), lambda m, x: first(m(x)), images(1), images(2)),
    "segformer": family(lambda: T.SegformerForSemanticSegmentation(T.SegformerConfig(
                            num_encoder_blocks=2, depths=[1, 1], sr_ratios=[2, 1], hidden_sizes=[8, 16], patch_sizes=[7, 3],
                            strides=[4, 2], num_attention_heads=[1, 2], mlp_ratios=[2, 2], decoder_hidden_size=16)),
                        lambda m, x: first(m(x)), (R(1, 3, 64, 64),), (R(2, 3, 64, 64),)),
    "fnet": family(lambda: T.FNetModel(T.FNetConfig(vocab_size=99, hidden_size=32, num_hidden_layers=2, intermediate_size=37)),
                   lambda m, i: first(m(input_ids=i)), (ids(1),), (ids(2),)),
    "sam": family(sam, lambda m, x, p, l: (lambda o: (o.pred_masks, o.iou_scores))(m(pixel_values=x, input_points=p, input_labels=l)),
                  points(2), points(1)),
}
"""

TIMM_NAMES = ["test_resnet", "test_efficientnet", "test_vit", "test_convnext", "test_byobnet", "test_mambaout", "test_nfnet"]  # fmt: skip
FAMILIES = {
    "torchvision": (VISION, ["mobilenet", "resnet", "shufflenet", "vit", "swin", "segmentation", "video"]),
    "timm": (TIMM.replace("NAMES", repr(TIMM_NAMES)), TIMM_NAMES),
    "transformers": (
        TRANSFORMERS,
        ["bert", "gpt2", "llama", "t5", "whisper", "clip", "siglip", "dinov2", "segformer", "fnet", "sam"],
    ),
}
CASES = [(package, name) for package, (_, names) in FAMILIES.items() for name in names]


@pytest.fixture(scope="module")
def packages():
    test = "import importlib.util as u, sys; sys.exit(not u.find_spec(sys.argv[1]))"
    return {
        package
        for package in FAMILIES
        if subprocess.run([PYTHON, "-c", test, package], check=False).returncode == 0
    }


def compare(module, path):
    arrays = np.load(path)
    given = [weft.from_numpy(arrays[f"in{i}"]) for i in range(sum(name.startswith("in") for name in arrays))]
    result = module(*given)
    results = [result] if isinstance(result, weft.Tensor) else list(result)
    for i, each in enumerate(results):
        expected = arrays[f"out{i}"]
        largest = float(np.abs(expected).max()) if expected.size else 0.0
        np.testing.assert_allclose(np.asarray(each), expected, rtol=1e-4, atol=1e-4 * max(largest, 1e-3))


@pytest.mark.parametrize("package,name", CASES, ids=[f"{package}-{name}" for package, name in CASES])
def test_families_run_as_in_pytorch(package, name, packages, tmp_path):
    if package not in packages:
        pytest.skip(f"{PYTHON} has no {package}")
    program = tmp_path / "program.py"  # PyTorch compiles from files only
    program.write_text(PROGRAM.format(make=FAMILIES[package][0]))
    done = subprocess.run([PYTHON, program, tmp_path, name], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    inputs = sorted(tmp_path.glob("*.npz"))
    for archive in ("plain.pt", "frozen.pt"):
        module = weft.jit.load(tmp_path / archive)
        for path in (inputs[0], inputs[0], inputs[0], *inputs, *inputs):
            compare(module, path)
    fast = weft.jit.optimize_for_inference(weft.jit.load(tmp_path / "plain.pt").eval())
    for path in (*inputs, *inputs):
        compare(fast, path)
