"""`weft segment`: masks of what is in photographs, as pictures and JSON."""

import argparse
import json
import math
import os
import pathlib
import sys
import time

import numpy as np

import weft

from .generator import SamAutomaticMaskGenerator
from .masks import mask_to_polygons, mask_to_rle, rle_to_mask
from .model import Sam
from .pictures import overlay, read_image, write_png
from .predictor import SamPredictor

EXAMPLES = """examples:
  weft segment dog.jpg --checkpoint sam_vit_b_01ec64.pth --point 400,300 --output masks
  weft segment dog.jpg --checkpoint sam_vit_b_01ec64.pth --box 90,60,700,520 --point 20,500,0 --output masks
  weft segment *.jpg --checkpoint sam_vit_b_01ec64.pth --everything --dtype bfloat16 --output masks

It writes NAME.overlay.png, NAME.mask-0.png, ... and NAME.json into the folder."""


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        raise SystemExit(fail(f"segment: {message}", 2))


def fail(message, status):
    text = "".join(c if c.isprintable() else "?" for c in str(message))
    print(f"weft: {text}", file=sys.stderr)
    return status


def numbers(least, most, names):
    def parse(text):
        parts = text.split(",")
        try:
            values = [float(part) for part in parts]
        except ValueError:
            values = [math.nan]
        if not least <= len(values) <= most or not all(map(math.isfinite, values)):
            raise argparse.ArgumentTypeError(f"expected {names}, got '{text}'")
        return values

    return parse


def bounded(kind, least, most):
    def parse(text):
        try:
            value = kind(text)
        except ValueError:
            value = math.nan
        if not least <= value <= most:
            what = "an integer" if kind is int else "a number"
            raise argparse.ArgumentTypeError(f"expected {what} between {least} and {most}, got '{text}'")
        return value

    return parse


def device(text):
    result = weft.device(text) if text in ("cpu", "cuda") or text.startswith("cuda:") else None
    if result is None:
        raise argparse.ArgumentTypeError(f"expected cpu, cuda or cuda:1, got '{text}'")
    return result


def parser():
    result = _Parser(
        prog="weft segment",
        description="Masks of what is in photographs (Segment Anything), as pictures and JSON.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = result.add_argument
    add("images", nargs="+", metavar="IMAGE", help="PNG or JPEG")
    add(
        "--checkpoint",
        required=True,
        metavar="FILE",
        help="sam_vit_b_01ec64.pth, sam_vit_l_0b3195.pth, sam_vit_h_4b8939.pth or mobile_sam.pt",
    )
    add("--output", required=True, metavar="DIR", help="the folder to write into; made where it is missing")
    add("--point", action="append", default=[], type=numbers(2, 3, "X,Y or X,Y,0 in pixels"), metavar="X,Y[,0]",
        help="a point of the object, or, with 0, of what does not belong to it")  # fmt: skip
    add("--box", action="append", default=[], type=numbers(4, 4, "LEFT,TOP,RIGHT,BOTTOM in pixels"),
        metavar="L,T,R,B", help="a box around an object; several: a mask for each")  # fmt: skip
    add("--everything", action="store_true", help="masks of all that is in the image, from a grid of points")
    add("--multimask", action="store_true", help="all three masks of a prompt, not the best one")
    add("--segmentation", default="coco_rle", choices=["coco_rle", "uncompressed_rle", "polygons"],
        help="how the JSON holds masks (default: coco_rle)")  # fmt: skip
    add("--dtype", default="float32", choices=["float32", "bfloat16"], help="of the model (default: float32)")
    add("--device", default="cpu", type=device, help="where to compute: cpu (default), cuda or cuda:1")
    add("--decoder-heads", type=bounded(int, 1, 1024), help=argparse.SUPPRESS)
    add("--points-per-side", type=bounded(int, 1, 1000), default=32, help="of the grid (default: 32)")
    add("--points-per-batch", type=bounded(int, 1, 100000), default=64, help="(default: 64)")
    add("--iou-threshold", type=bounded(float, -1e9, 1e9), default=0.88,
        help="--everything: the least predicted IoU (default: 0.88)")  # fmt: skip
    add("--stability-threshold", type=bounded(float, 0, 1), default=0.95,
        help="--everything: the least stability (default: 0.95)")  # fmt: skip
    add(
        "--crop-layers",
        type=bounded(int, 0, 4),
        default=0,
        help="--everything: crops in layer i: 4**i (default: 0)",
    )
    add("--min-area", type=bounded(int, 0, 10**9), default=0,
        help="--everything: smaller holes and islands are removed (default: 0)")  # fmt: skip
    add("--threads", type=bounded(int, 1, 1024), help="(default: the machine's)")
    return result


class Progress:
    """A line on a terminal; nothing anywhere else."""

    def __init__(self, images):
        self.images, self.at, self.name = images, 0, ""
        self.shown = sys.stderr.isatty()
        self.start = time.perf_counter()

    def begin(self, name):
        self.at, self.name = self.at + 1, name
        self.say("reading")

    def say(self, what):
        if self.shown:
            print(f"\r\033[K{self.at}/{self.images} {self.name}: {what}", end="", file=sys.stderr, flush=True)

    def points(self, done, total):
        self.say(f"{done}/{total} points")

    def done(self, masks, seconds, file):
        if self.shown:
            print(f"\r\033[K{self.name}: {masks} masks in {seconds:.2f} s: {file}", file=sys.stderr)

    def end(self):
        if self.shown:
            seconds = time.perf_counter() - self.start
            print(f"{self.images} images, {self.images / seconds:.3g} img/s", file=sys.stderr)


def record_of(mask, iou, options):
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    box = [0, 0, 0, 0]
    if len(rows):
        box = [int(columns[0]), int(rows[0]), int(columns[-1] - columns[0]), int(rows[-1] - rows[0])]
    segmentation = (
        mask_to_polygons(mask)
        if options.segmentation == "polygons"
        else mask_to_rle(mask, options.segmentation == "coco_rle")
    )
    return {"segmentation": segmentation, "area": int(mask.sum()), "bbox": box, "predicted_iou": float(iou)}


def prompted(predictor, image, options):
    """(records, masks) of the points and boxes."""
    predictor.set_image(image)
    given = {}
    if options.point:
        given["point_coords"] = np.array([point[:2] for point in options.point])
        given["point_labels"] = np.array([int(point[2]) if len(point) > 2 else 1 for point in options.point])
    ambiguous = options.multimask or (len(options.point) == 1 and not options.box)
    found = []
    for box in options.box or [None]:
        masks, iou, _ = predictor.predict(**given, box=box, multimask_output=ambiguous)
        chosen = range(len(masks)) if options.multimask else [int(iou.argmax())]
        found += [(masks[i], iou[i]) for i in chosen]
    return [record_of(mask, iou, options) for mask, iou in found], [mask for mask, _ in found]


def everything(generator, image, options):
    records, masks = generator.generate(image), []
    for record in records:
        mask = rle_to_mask(record["segmentation"])
        masks.append(mask)
        if options.segmentation != "coco_rle":
            record["segmentation"] = (
                mask_to_polygons(mask) if options.segmentation == "polygons" else mask_to_rle(mask, False)
            )
    return records, masks


def write(folder, path, image, records, masks, options):
    stem = pathlib.Path(path).stem
    for i, mask in enumerate(masks):
        write_png(folder / f"{stem}.mask-{i}.png", mask.astype(np.uint8) * 255)
    points = [] if options.everything else options.point
    boxes = [] if options.everything else options.box
    labels = [point[2] if len(point) > 2 else 1 for point in points]
    file = folder / f"{stem}.overlay.png"
    write_png(file, overlay(image, masks, [point[:2] for point in points], labels, boxes))
    height, width = image.shape[:2]
    content = {"image": str(path), "height": height, "width": width, "masks": records}
    (folder / f"{stem}.json").write_text(json.dumps(content, indent=1) + "\n")
    return file


def check(options):
    if options.everything and (options.point or options.box):
        return "give prompts (--point, --box) or --everything, not both"
    if not options.everything and not options.point and not options.box:
        return "give --point X,Y, --box LEFT,TOP,RIGHT,BOTTOM or --everything"
    if len(options.box) > 1 and options.point:
        return "points go with one box: give --box once"
    if any(len(point) > 2 and point[2] not in (0, 1) for point in options.point):
        return "--point: the third number must be 1 (of the object) or 0 (not of it)"
    stems = [pathlib.Path(path).stem for path in options.images]
    if twice := [stem for stem in stems if stems.count(stem) > 1]:
        return f"two images are called '{twice[0]}': their results would have one name"
    return None


def own_images(images):
    """Those of this rank, where mpirun started several: each image is one rank's, and they exchange nothing."""
    launched = weft.distributed.launched()
    return images if launched is None else images[launched[0] :: launched[1]]


def segment(options):
    if options.threads:
        weft.set_num_threads(options.threads)
    images = own_images(options.images)
    if not images:
        return
    weft.empty(0, device=options.device)  # where there is no such device, before the checkpoint is read
    progress = Progress(len(images))
    sam = Sam.from_checkpoint(
        options.checkpoint, dtype=getattr(weft, options.dtype), decoder_heads=options.decoder_heads
    ).to(options.device)
    if options.everything:
        worker = SamAutomaticMaskGenerator(
            sam,
            points_per_side=options.points_per_side,
            points_per_batch=min(options.points_per_batch, options.points_per_side**2),
            pred_iou_thresh=options.iou_threshold,
            stability_score_thresh=options.stability_threshold,
            crop_n_layers=options.crop_layers,
            min_mask_region_area=options.min_area,
            output_mode="coco_rle",
            progress=progress.points,
        )
    else:
        worker = SamPredictor(sam)
    folder = pathlib.Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    for path in images:
        progress.begin(os.path.basename(path))
        image, start = read_image(path), time.perf_counter()
        progress.say("computing")
        records, masks = (everything if options.everything else prompted)(worker, image, options)
        seconds = time.perf_counter() - start
        progress.done(len(masks), seconds, write(folder, path, image, records, masks, options))
    progress.end()


def main(arguments=None):
    options = parser().parse_intermixed_args(arguments)
    if problem := check(options):
        return fail(f"segment: {problem}", 2)
    try:
        segment(options)
    except (OSError, ValueError, RuntimeError, ImportError, MemoryError) as error:
        return fail(f"segment: {error or type(error).__name__}", 1)
    except KeyboardInterrupt:
        return fail("segment: interrupted", 130)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
