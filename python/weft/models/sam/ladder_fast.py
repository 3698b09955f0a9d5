"""The steps of pytorch-labs/segment-anything-fast's own ladder, as its experiments/eval_combo.py performs them, measured as those of
`weft bench sam`. A program for PyTorch, which `weft torch` runs as well; the package is found by PYTHONPATH.

python ladder_fast.py CHECKPOINT INPUTS.npz --step nested --masks FILE
"""

import argparse
import json
import statistics
import time

import numpy as np
import torch
from ladder_torch import peak_bytes, read_inputs
from segment_anything_fast import SamPredictor, sam_model_registry, tools

# Of each: the dtype, how the encoder is compiled, what makes its weights smaller, whether prompts are nested.
STEPS = {
    "fp32": (None, None, None, False),
    "bf16": (torch.bfloat16, None, None, False),
    "compile": (torch.bfloat16, "max-autotune", None, False),
    "nested": (torch.bfloat16, "max-autotune", None, True),
    "int8": (torch.bfloat16, "max-autotune", "dynamic_quant", True),
    "sparse": (torch.bfloat16, "max-autotune", "sparse", True),
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("checkpoint")
    parser.add_argument("inputs")
    parser.add_argument("--step", required=True, choices=STEPS)
    parser.add_argument("--masks", required=True)
    parser.add_argument("--shape", default="vit_b")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--threads", type=int)
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    with torch.no_grad():
        print(json.dumps(measure(options)))


def prepared(options):
    """The predictor of a step, and the step's dtype."""
    dtype, mode, compress, nested = STEPS[options.step]
    predictor = SamPredictor(sam_model_registry[options.shape](options.checkpoint))
    tools.apply_eval_dtype_predictor(predictor, dtype)
    encoder = predictor.model.image_encoder
    if compress == "dynamic_quant":
        from torch._inductor import config
        from torchao.quantization import apply_dynamic_quant

        apply_dynamic_quant(encoder)
        config.force_fuse_int_mm_with_mul = True
    elif compress == "sparse":
        from segment_anything_fast.sparse import apply_sparse

        apply_sparse(encoder)
    if mode:
        predictor.model.image_encoder = torch.compile(encoder, mode=mode)
    return predictor, dtype, masks_of_nested if nested else masks_one_by_one


def measure(options):
    images, points = read_inputs(options.inputs)
    predictor, dtype, decode = prepared(options)
    shapes = [image.shape[:2] for image in images]
    coords = [
        torch.as_tensor(predictor.transform.apply_coords(each[:, 0], shape), dtype=dtype or torch.float32)
        for each, shape in zip(points, shapes)
    ]
    encoder, decoder, processor = [], [], []
    for repetition in range(options.repetitions + 1):
        start, busy = time.perf_counter(), time.process_time()
        features, sizes = encode(predictor, images, dtype)
        encoded = time.perf_counter()
        masks = decode(predictor, features, sizes, shapes, coords)
        if repetition > 0:  # the first call compiles
            encoder.append((encoded - start) / len(images))
            decoder.append((time.perf_counter() - encoded) / len(images))
            processor.append((time.process_time() - busy) / len(images))
    np.save(options.masks, np.stack([np.packbits(mask) for found in masks for mask in found.numpy()]))
    return {"encoder": statistics.median(encoder), "decoder": statistics.mean(decoder),
            "processor": statistics.median(processor), "peak": peak_bytes(predictor.device)}  # fmt: skip


def encode(predictor, images, dtype):
    """Features of all images, and the sizes that these have in the model's input."""
    batch, sizes = [], []
    for image in images:
        pixels = torch.as_tensor(predictor.transform.apply_image(image)).permute(2, 0, 1).contiguous()[None]
        sizes.append(pixels.shape[-2:])
        batch.append(predictor.model.preprocess(pixels))
    return predictor.model.image_encoder(torch.cat(batch).to(dtype or torch.float32)), sizes


def masks_one_by_one(predictor, features, sizes, shapes, coords):
    masks = []
    for i, points in enumerate(coords):
        predictor.reset_image()
        predictor.original_size, predictor.input_size = shapes[i], sizes[i]
        predictor.features, predictor.is_image_set = features.narrow(0, i, 1), True
        labels = torch.ones((points.size(0), 1), dtype=torch.int)
        masks.append(predictor.predict_torch(points.unsqueeze(1), labels, multimask_output=True)[0])
    return masks


def masks_of_nested(predictor, features, sizes, shapes, coords):
    points = torch.nested.nested_tensor(coords, dtype=coords[0].dtype, layout=torch.jagged)
    labels = torch.ones_like(points, dtype=torch.int).prod(dim=-1, keepdim=True)
    predictor.reset_image()
    predictor.original_sizes, predictor.input_sizes = shapes, sizes
    predictor.features, predictor.is_image_set = features, True
    masks = predictor.predict_torch(points.unsqueeze(2), labels, multimask_output=True)[0]
    return [found[:, 1:] for found in masks.unbind()]  # this way the package leaves the first of the four in


if __name__ == "__main__":
    main()
