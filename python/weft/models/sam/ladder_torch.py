"""The original Segment Anything under PyTorch, measured as the steps of `weft bench sam` are. Run by a Python that has torch and
segment_anything; knows nothing of weft.

python ladder_torch.py CHECKPOINT INPUTS.npz --masks FILE [--dtype bfloat16] [--compile]
"""

import argparse
import json
import statistics
import time

import numpy as np
import torch


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("checkpoint")
    parser.add_argument("inputs")
    parser.add_argument("--masks", required=True)
    parser.add_argument("--shape", default="vit_b")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--compile", action="store_true", help="on a GPU in the mode max-autotune")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--points-per-side", type=int, default=0)
    parser.add_argument("--open-wide", action="store_true")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    with torch.inference_mode():
        print(json.dumps(measure(options)))


def read_inputs(path):
    """Images [H, W, 3], and the points [prompts, 1, 2] of each."""
    inputs = np.load(path)
    count = sum(name.startswith("arr_") for name in inputs.files)
    return [inputs[f"arr_{i}"] for i in range(count)], [inputs[f"points_{i}"] for i in range(count)]


def peak_bytes(device):
    """The most memory that the process ever had, or its tensors on a GPU."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated()
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))


def measure(options):
    from segment_anything import SamPredictor, sam_model_registry

    images, points = read_inputs(options.inputs)
    count = len(images)
    sam = sam_model_registry[options.shape](options.checkpoint).eval().to(options.device)
    is_gpu = sam.device.type == "cuda"
    dtype = getattr(torch, options.dtype)
    sam.image_encoder.to(dtype)  # the prompt encoder's arithmetic is float32 whatever its weights are
    encode = sam.image_encoder.forward
    if options.compile:
        encode = torch.compile(encode, mode="max-autotune" if is_gpu else "default")
        sam.mask_decoder.forward = torch.compile(sam.mask_decoder.forward, dynamic=True)
    sam.image_encoder.forward = lambda x: encode(x.to(dtype)).float()
    predictor = SamPredictor(sam)
    encoder, decoder, processor, masks = [], [], [], {}
    for repetition in range(-(-options.repetitions // count) + 1):
        for i, image in enumerate(images):
            start, busy = time.perf_counter(), time.process_time()
            if repetition > 0 or i == 0:
                predictor.set_image(image)
                if is_gpu:
                    torch.cuda.synchronize()
            encoded = time.perf_counter()
            found = masks_of(predictor, points[i], image)
            if repetition > 0:  # the first calls compile
                encoder.append(encoded - start)
                decoder.append(time.perf_counter() - encoded)
                processor.append(time.process_time() - busy)
                masks[i] = found
    np.save(options.masks, np.stack([np.packbits(mask) for i in range(count) for mask in masks[i]]))
    row = {"encoder": statistics.median(encoder), "decoder": statistics.mean(decoder),
           "processor": statistics.median(processor)}  # fmt: skip
    if options.points_per_side:
        row["everything"] = everything(options, sam, images[0])
    row["peak"] = peak_bytes(sam.device)
    return row


def masks_of(predictor, points, image):
    """[prompts, masks, H, W] of points [prompts, 1, 2]."""
    coords = torch.as_tensor(predictor.transform.apply_coords(points, image.shape[:2]), dtype=torch.float32)
    labels = torch.ones(coords.shape[:2], dtype=torch.int64)
    return predictor.predict_torch(coords.to(predictor.device), labels.to(predictor.device))[0].cpu().numpy()


def everything(options, sam, image):
    """Seconds of the parts of everything mode."""
    from segment_anything import SamAutomaticMaskGenerator

    open_wide = {"pred_iou_thresh": -1e9, "stability_score_thresh": 0.0} if options.open_wide else {}
    generator = SamAutomaticMaskGenerator(
        sam, points_per_side=options.points_per_side, output_mode="uncompressed_rle", **open_wide
    )
    seconds = {}

    def timed(owner, method, name):
        function = getattr(owner, method)

        def call(*arguments, **options):
            start = time.perf_counter()
            result = function(*arguments, **options)
            seconds[name] = seconds.get(name, 0.0) + time.perf_counter() - start
            return result

        setattr(owner, method, call)

    timed(generator.predictor, "set_image", "encoder")
    for part in ("prompt_encoder", "mask_decoder"):
        timed(getattr(sam, part), "forward", "decoder")
    start = time.perf_counter()
    records = generator.generate(image)
    seconds["post-processing"] = time.perf_counter() - start - sum(seconds.values())
    return {**seconds, "masks": len(records), "points": options.points_per_side**2}


if __name__ == "__main__":
    main()
