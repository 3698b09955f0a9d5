"""A state dict of Segment Anything with seeded weights, and what the original package gives for it.

python sam_weights.py CHECKPOINT IMAGE.npy RESULTS.npz             # under a Python with torch and segment_anything
python sam_weights.py --mobile CHECKPOINT PIXELS.npy RESULTS.npz   # with torch and mobile_sam
"""

import math
import sys


def state_dict(config, seed=0):
    """Weights by name, drawn by weft's generator, that keep a signal's scale."""
    import weft
    from weft.models import Sam
    from weft.random import Generator

    with weft.device("meta"):
        shapes = {name: tuple(x.shape) for name, x in Sam(config).state_dict().items()}
    generator = Generator().manual_seed(seed)._handle
    weights = {}
    for name, shape in shapes.items():
        if name.endswith("num_batches_tracked"):
            weights[name] = weft.zeros((), dtype=weft.int64)
            continue
        draw = weft.random_normal(generator, shape, dtype=weft.float32)
        if len(shape) == 1:
            weights[name] = 0.1 * draw + (1.0 if name.endswith(("weight", "running_var")) else 0.0)
        elif "gaussian_matrix" in name or "rel_pos" in name or "embed" in name or "token" in name:
            weights[name] = draw * (1.0 if "gaussian_matrix" in name else 0.3)
        else:
            weights[name] = draw / math.sqrt(math.prod(shape[1:]))
    return weights


def main(checkpoint, image, results):
    import numpy as np
    import torch
    from segment_anything import SamAutomaticMaskGenerator, SamPredictor, sam_model_registry

    sam = sam_model_registry["vit_b"](checkpoint)
    image = np.load(image)
    predictor = SamPredictor(sam)
    predictor.set_image(image)
    found = {"embedding": predictor.get_image_embedding().numpy()}
    for tag, prompt in prompts(image).items():
        found[f"{tag}.masks"], found[f"{tag}.iou"], found[f"{tag}.logits"] = predictor.predict(**prompt)
    options = everything_options()
    sam.image_encoder.forward = lambda x: torch.from_numpy(found["embedding"])  # it is the same image
    records = SamAutomaticMaskGenerator(sam, **options).generate(image)
    for key in ("area", "bbox", "predicted_iou", "point_coords", "stability_score", "crop_box"):
        found[f"records.{key}"] = np.array([record[key] for record in records])
    found["records.segmentation"] = np.array([record["segmentation"] for record in records])
    np.savez(results, **found)


MOBILE_SIZES = {"embed_dims": [8, 16, 24, 320], "depths": [1, 2, 2, 1], "num_heads": [1, 2, 3, 10],
                "window_sizes": [7, 7, 3, 5]}  # fmt: skip


def mobile_config():
    """A small MobileSAM of those sizes; its last stage keeps the grid, as those 320 wide do."""
    import dataclasses

    from weft.models import SamConfig
    from weft.models.sam.config import TinyViTConfig

    tiny = TinyViTConfig((8, 16, 24, 320), (1, 2, 2, 1), (0, 2, 3, 10), (0, 7, 3, 5), classes=4)
    return dataclasses.replace(SamConfig.mobile(), tiny=tiny, image_size=128, decoder_depth=1)


def mobile(checkpoint, pixels, results):
    """The original MobileSAM's embedding of pixels [1, 3, S, S], every eighth channel, and what one point gives."""
    import numpy as np
    import torch
    from mobile_sam.modeling import MaskDecoder, PromptEncoder, Sam, TinyViT, TwoWayTransformer

    x = torch.from_numpy(np.load(pixels))
    size = x.shape[-1]
    whole = {"embed_dims": [64, 128, 160, 320], "depths": [2, 2, 6, 2], "num_heads": [2, 4, 5, 10],
             "window_sizes": [7, 7, 14, 7]}  # fmt: skip
    encoder = TinyViT(
        img_size=size, num_classes=1000 if size == 1024 else 4, **(whole if size == 1024 else MOBILE_SIZES)
    )
    transformer = TwoWayTransformer(2 if size == 1024 else 1, 256, 8, 2048)
    grid = (size // 16, size // 16)
    sam = Sam(
        encoder,
        PromptEncoder(256, grid, (size, size), 16),
        MaskDecoder(transformer_dim=256, transformer=transformer),
    )
    sam.load_state_dict(torch.load(checkpoint))
    sam.eval()
    with torch.inference_mode():
        hidden = encoder.patch_embed(x)
        for layer in encoder.layers:
            hidden = layer(hidden)
        hidden = hidden.reshape(1, *grid, -1).permute(
            0, 3, 1, 2
        )  # forward() takes a grid of 64 by 64 for granted
        embedding = encoder.neck(hidden)
        point = torch.tensor([[[size / 3, size / 2]]]), torch.ones(1, 1, dtype=torch.int64)
        sparse, dense = sam.prompt_encoder(point, None, None)
        logits, iou = sam.mask_decoder(embedding, sam.prompt_encoder.get_dense_pe(), sparse, dense, True)
    np.savez_compressed(
        results, embedding=embedding[:, ::8].numpy(), logits=logits[:, :, ::2, ::2].numpy(), iou=iou.numpy()
    )


def prompts(image):
    height, width = image.shape[:2]
    return {
        "point": _arrays(point_coords=[[width / 2, height / 3]], point_labels=[1]),
        "box": {**_arrays(box=[10, 20, width - 30, height - 5]), "multimask_output": False},
    }


def _arrays(**values):
    import numpy as np

    return {name: np.array(value) for name, value in values.items()}


def everything_options():
    return {
        "points_per_side": 4,
        "pred_iou_thresh": -10.0,
        "stability_score_thresh": 0.3,
        "stability_score_offset": 0.02,
    }


if __name__ == "__main__":
    if sys.argv[1] == "--mobile":
        mobile(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
