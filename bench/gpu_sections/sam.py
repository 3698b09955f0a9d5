"""Segment Anything ViT-B: the image encoder in bfloat16, and the steps of `weft bench sam`.

PyTorch's side is the package segment_anything, where it is installed.
"""

import json
import tempfile
from pathlib import Path

LEAST_IOU = 0.99


def encoder_flops(c):
    """Of one image: products, with the rows that fill up the windows, as the model is defined. c: a SamConfig."""
    patches = c.grid**2
    flops = 2 * patches * 3 * c.patch**2 * c.width
    for block in range(c.depth):
        size = c.grid if block in c.global_blocks else c.window
        windows = (-(-c.grid // size)) ** 2
        rows = windows * size**2
        flops += 2 * rows * 4 * c.width**2 + 4 * rows * size**2 * c.width + 4 * rows * size * c.width
        flops += 4 * patches * c.width * c.hidden
    return flops + 2 * patches * c.out_channels * (c.width + 9 * c.out_channels)


def tiny_config():
    from weft.models import SamConfig

    return SamConfig(width=32, depth=2, heads=2, hidden=64, global_blocks=(1,), window=3, patch=16,
                     image_size=64, out_channels=32, mask_channels=4, decoder_heads=4, decoder_hidden=32,
                     cross_width=16, iou_hidden=32)  # fmt: skip


def figures(side, encode, size, flops):
    batch = side.size(8, 2)
    images = side.uniform((batch, 3, size, size))
    seconds = side.seconds(lambda: encode(images), budget=1.0)
    return {"seconds": seconds, "flops": batch * flops, "images": batch}


def encoder(side):
    from weft.models import Sam, SamConfig

    config = tiny_config() if side.tiny else SamConfig.vit_b()
    model = Sam(config).image_encoder.to(side.torch.bfloat16).to(side.device)
    encode = side.compile(lambda images: model(images), fullgraph=True)
    return {**figures(side, encode, config.image_size, encoder_flops(config)), "share_of": "bfloat16 rate",
            "least_share": 0.45, "least_ratio": {"torch_compile": 1}}  # fmt: skip


def original_encoder(side, compiled):
    from segment_anything import sam_model_registry
    from segment_anything.modeling import ImageEncoderViT

    if side.tiny:
        model, size = ImageEncoderViT(img_size=64, embed_dim=32, depth=2, num_heads=2, window_size=3,
                                      use_rel_pos=True, global_attn_indexes=(1,)), 64  # fmt: skip
    else:
        model, size = sam_model_registry["vit_b"]().image_encoder, 1024
    model = model.to(side.torch.bfloat16).to(side.device).eval()
    return figures(side, side.compile(model, mode="max-autotune") if compiled else model, size, 0)


class Steps:
    """The steps of `weft bench sam --ladder --device cuda`, each in a process of its own."""

    def __init__(self, side):
        from weft.models.sam import ladder

        self.steps, self.folder = ladder.STEPS, tempfile.TemporaryDirectory()
        arguments = ["--ladder", "--json", "--device", side.device, "--torch", "", "--points-per-side", "0",
                     "--batch", str(side.size(8, 2)), "--repetitions", str(side.size(3, 1))]  # fmt: skip
        if side.tiny:
            arguments += ["--checkpoint", str(tiny_checkpoint(Path(self.folder.name)))]
        self.ladder = ladder.Ladder(ladder.parser().parse_args(arguments), arguments, self.folder.name)

    def measure(self, index):
        row = self.ladder.step(index)
        if row is None:
            raise RuntimeError("the step failed; the log says why")
        return self.figures(row)

    def figures(self, row):
        first = self.ladder.rows[0]
        if first["step"] != self.steps[0].name:
            raise RuntimeError(f"there is no step '{self.steps[0].name}' to compare with")
        return {"seconds": row["seconds"], "times": first["seconds"] / row["seconds"], "iou": row["iou"]}

    def fastest(self):
        """Of the steps whose masks are the first one's."""
        rows = [row for row in self.ladder.rows if row["iou"] >= LEAST_IOU]
        return {**self.figures(min(rows, key=lambda row: row["seconds"])), "least_times": 8.6}


def tiny_checkpoint(folder):
    import weft

    config = tiny_config()
    (folder / "config.json").write_text(json.dumps({"decoder_heads": config.decoder_heads}))
    weft.save(weft.models.Sam(config).to("cpu").state_dict(), str(folder / "sam.pth"))
    return folder / "sam.pth"


def cases(side):
    case = f"image encoder, batch {side.size(8, 2)}"
    if not side.is_weft:
        for way, compiled in side.ways():
            yield case, way, lambda compiled=compiled: original_encoder(side, compiled)
        return
    yield case, "weft", lambda: encoder(side)
    steps = Steps(side)
    for index, step in enumerate(steps.steps):
        yield f"step '{step.name}', an image", "weft", lambda index=index: steps.measure(index)
    yield f"fastest step of mask IoU >= {LEAST_IOU}", "weft", steps.fastest
