"""The steps of `weft bench sam`: what each adds, and one of them measured in this process."""

import dataclasses
import json
import statistics
import time

import numpy as np

import weft

from .config import SamConfig
from .generator import SamAutomaticMaskGenerator
from .image_encoder import Attention
from .model import Sam
from .pictures import read_image
from .predictor import SamPredictor

PROMPTS = (1, 9, 4, 2)  # points of an image; of the fifth as of the first


@dataclasses.dataclass(frozen=True)
class Step:
    name: str
    adds: str
    dtype: str = "bfloat16"
    compiled: bool = True
    fused: bool = True  # attention by the operator, not by its formula
    batched: bool = True
    nested: bool = True
    int8: bool = False
    sparse: bool = False


_ALONE = {"batched": False, "nested": False}
STEPS = [
    Step("eager", "float32, one image, attention by its formula", "float32", False, False, **_ALONE),
    Step("attention", "relative positions within the online softmax", "float32", False, **_ALONE),
    Step("compile", "one graph, epilogues in products", "float32", **_ALONE),
    Step("bfloat16", "the encoder's weights and arithmetic in bfloat16", **_ALONE),
    Step("batch", "several images in a call of the encoder", nested=False),
    Step("nested", "prompts of several images in a call of the decoder"),
    Step("int8", "the encoder's linear layers in dynamic int8", int8=True),
    Step("2:4", "instead of that, their weights pruned to two of four", sparse=True),
]
BEST = next(i for i, step in enumerate(STEPS) if step.name == "nested")  # without a loss of accuracy


def formula(q, k, v, rel_h, rel_w):
    """relative_position_attention with all scores in memory."""
    scores = (q * q.shape[-1] ** -0.5) @ k.transpose(-2, -1)
    sums = (rel_h[..., None] + rel_w[..., None, :]).reshape(scores.shape)
    return (scores + sums).softmax(dim=-1) @ v


def seeded_model(options):
    weft.random.manual_seed(options.seed)
    return Sam(getattr(SamConfig, options.shape)())


def model_of(options, step):
    dtype = getattr(weft, step.dtype)
    sam = Sam.from_checkpoint(options.checkpoint) if options.checkpoint else seeded_model(options)
    if step.int8:
        weft.quantization.quantize_(
            sam.image_encoder, weft.quantization.int8_dynamic_activation_int8_weight()
        )
    sam.image_encoder.to(
        dtype
    )  # masks of a decoder in bfloat16 are further from float32's, and it takes little time
    if step.sparse:
        weft.sparse.sparsify_(weft.sparse.prune_(sam.image_encoder))
    return sam.to(options.device)


def pictures(options):
    """options.batch images: one and its reflections, in turn."""
    if options.image:
        image = read_image(options.image)
    else:
        y, x = np.mgrid[:768, :1024] / 97
        waves = [np.sin(x * (1 + c) + y) + np.sin(y * (2 - c) - x / 2) for c in (0.2, 0.5, 0.9)]
        image = ((np.stack(waves, -1) + 2) * 63).astype(np.uint8)
    ways = (np.s_[:, :], np.s_[:, ::-1], np.s_[::-1], np.s_[::-1, ::-1])
    return [np.ascontiguousarray(image[ways[i % 4]]) for i in range(options.batch)]


def points_of(images):
    """Of each image [prompts, 1, 2] and labels [prompts, 1]: points of the object each."""
    points = []
    for i, image in enumerate(images):
        at = (np.arange(PROMPTS[i % len(PROMPTS)]) + 0.5) / PROMPTS[i % len(PROMPTS)]
        points.append(np.stack([at * image.shape[1], (1 - at) ** 2 * image.shape[0]], -1)[:, None])
    return points, [np.ones((len(x), 1), np.int64) for x in points]


def _masks(predictor, points, labels, step):
    """Of the images that are set, [prompts, masks, H, W] of each."""
    if step.nested:
        return [found[0] for found in predictor.predict_images(points, labels)]
    return [predictor.predict_batch(*prompts, image=i)[0] for i, prompts in enumerate(zip(points, labels))]


def run_step(options, index):
    """One step, in this process: a line of JSON."""
    step = STEPS[index]
    if options.threads:
        weft.set_num_threads(options.threads)
    if not step.fused:
        Attention.attend = staticmethod(formula)
    sam = model_of(options, step)
    predictor = SamPredictor(sam, compile=step.compiled)
    images = pictures(options)
    points, labels = points_of(images)
    at_once = len(images) if step.batched else 1
    groups = [slice(first, first + at_once) for first in range(0, len(images), at_once)]
    repetitions = options.repetitions if step.batched else -(-options.repetitions // len(images))
    encoder, decoder, processor, masks = [], [], [], {}
    for repetition in range(repetitions + 1):
        # What compiles is not timed: the encoder's first call, and the decoder's for each number of prompts.
        for number, group in enumerate(groups if repetition > 0 else groups[:1]):
            start, busy = time.perf_counter(), time.process_time()
            predictor.set_images(images[group])
            wait(options.device)
            encoded = time.perf_counter()
            if repetition == 0 and not step.batched:
                for one, label in zip(points, labels):
                    predictor.predict_batch(one, label)
                continue
            found = _masks(predictor, points[group], labels[group], step)
            end = time.perf_counter()
            if repetition > 0:
                encoder.append((encoded - start) / at_once)
                decoder.append((end - encoded) / at_once)
                processor.append((time.process_time() - busy) / at_once)
                masks[number] = found
    row = {"step": step.name, "encoder": statistics.median(encoder), "decoder": statistics.mean(decoder),
           "processor": statistics.median(processor)}  # fmt: skip
    if options.masks:
        every = [mask for number in sorted(masks) for found in masks[number] for mask in found]
        np.save(options.masks, np.stack([np.packbits(mask) for mask in every]))
    row["peak"] = peak_bytes(
        options.device
    )  # everything mode has more masks at once, and is no part of the step
    if options.everything_of == step.name:
        row["everything"] = everything(options, sam, images[0])
    print(json.dumps(row))
    return 0


def everything(options, sam, image):
    """Seconds of the parts of everything mode, its second call. Without a checkpoint all masks pass, whatever the model
    thinks of them: as many as there can be."""
    open_wide = {} if options.checkpoint else {"pred_iou_thresh": -1e9, "stability_score_thresh": 0.0}
    generator = SamAutomaticMaskGenerator(
        sam, points_per_side=options.points_per_side, output_mode="coco_rle", **open_wide
    )
    grids = generator.point_grids
    generator.point_grids = [grid[: generator.points_per_batch] for grid in grids]
    generator.generate(image)
    generator.point_grids = grids
    records = generator.generate(image)
    return {**generator.seconds, "masks": len(records), "points": options.points_per_side**2}


def wait(device):
    """Until the device has done what it was given."""
    if device.type == "cuda":
        weft._C._gpu.synchronize(device.index or 0)


def peak_bytes(device):
    """The most memory that the process ever had, or its tensors on a GPU."""
    if device.type == "cuda":
        return weft._C._gpu.memory(device.index or 0)["most_used"]
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))
