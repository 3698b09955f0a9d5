"""A state dict of Segment Anything with seeded weights, and what the original package gives for it.

python sam_weights.py CHECKPOINT IMAGE.npy RESULTS.npz    # under a Python with torch and segment_anything
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
        draw = weft.random_normal(generator, shape, dtype=weft.float32)
        if len(shape) == 1:
            weights[name] = 0.1 * draw + (1.0 if name.endswith("weight") else 0.0)
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
    main(*sys.argv[1:])
