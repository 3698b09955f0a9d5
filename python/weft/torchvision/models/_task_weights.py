"""torchvision.models: published weights and builders of models for segmentation, detection and video."""

import functools
import inspect

from . import _task_weights_table
from ._api import _FILES, load_published, register_model
from ._utils import _ovewrite_value_param, handle_legacy_interface
from ._weights import Weights, WeightsEnum

_REFERENCES = "pytorch/vision/tree/main/references/"
_DATA = {"COCO_WITH_VOC": "COCO-val2017-VOC-labels", "KINETICS400": "Kinetics-400", "COCO": "COCO-val2017"}
_MEASURES = ("miou", "pixel_acc", "box_map", "mask_map", "kp_map", "acc@1", "acc@5")


def _categories(name, data):
    from . import _task_meta

    if data == "Kinetics-400":
        return {"categories": _task_meta._KINETICS400_CATEGORIES}
    if data == "COCO-val2017-VOC-labels":
        return {"categories": _task_meta._VOC_CATEGORIES}
    if name.startswith("KeypointRCNN"):
        return {
            "categories": _task_meta._COCO_PERSON_CATEGORIES,
            "keypoint_names": _task_meta._COCO_PERSON_KEYPOINT_NAMES,
        }
    return {"categories": _task_meta._COCO_CATEGORIES}


def _transforms(data, others):
    from ..transforms import _presets

    if data == "COCO-val2017":
        return _presets.ObjectDetection
    if data == "COCO-val2017-VOC-labels":
        return functools.partial(_presets.SemanticSegmentation, resize_size=520)
    sizes = {f"{key}_size": tuple(map(int, others[key].split(","))) for key in ("crop", "resize")}
    moments = {key: tuple(map(float, others[key].split(","))) for key in ("mean", "std") if key in others}
    return functools.partial(_presets.VideoClassification, **sizes, **moments)


def _weights_of(name, member, columns):
    file, parameters, operations, size, recipe, *others = columns
    others = dict(column.split("=", 1) for column in others)
    data = next(title for start, title in _DATA.items() if member.startswith(start))
    side = int(others.get("side", 1))
    meta = {
        **_categories(name, data),
        "min_size": (side, side),
        "num_params": int(parameters),
        "recipe": "https://github.com/"
        + (_REFERENCES if recipe.startswith(("segmentation", "detection", "video")) else "")
        + recipe,
        "_metrics": {data: {key: float(others[key]) for key in _MEASURES if key in others}},
        "_ops": float(operations),
        "_file_size": float(size),
    }
    if "frames" in others:
        meta["min_temporal_size"] = int(others["frames"])
    return Weights(f"{_FILES}{file}.pth", _transforms(data, others), meta)


def published_task_weights(name, module):
    """The WeightsEnum `name` ("FCN_ResNet50_Weights") of `module` (its __name__). DEFAULT is COCO_V1 where there is one,
    and the first member elsewhere."""
    rows = [line.split() for line in _task_weights_table.ROWS.split("\n") if line]
    short = name.removesuffix("_Weights")
    members = {row[1]: _weights_of(short, row[1], row[2:]) for row in rows if row[0] == short}
    default = members.get("COCO_V1") or next(iter(members.values()))
    return WeightsEnum(name, {**members, "DEFAULT": default}, module=module)


def task_builder(name, weights, backbone, make, *arguments, classes, parameters=(), backbone_default="IMAGENET1K_V1",
                 backbone_legacy="IMAGENET1K_V1", legacy=None):  # fmt: skip
    """A registered builder name(*, weights=None, progress=True, num_classes=None, weights_backbone=…, **kwargs), which calls
    make(*arguments, num_classes, weights=…, weights_backbone=…, progress=…, **kwargs) and loads what weights there are.

    backbone: the WeightsEnum of its trunk, of which backbone_default is the member that the builder takes by default (None:
    none) and backbone_legacy what pretrained_backbone=True means; parameters: the names of further parameters, None by
    default, in their order among "num_classes" and "weights_backbone"; legacy: the member that pretrained=True means (None:
    the first)."""
    enumeration, default = weights, None if backbone_default is None else backbone[backbone_default]

    def builder(*, weights=None, progress=True, num_classes=None, weights_backbone=default, **kwargs):
        weights, weights_backbone = enumeration.verify(weights), backbone.verify(weights_backbone)
        if weights is not None:
            weights_backbone = None
            num_classes = _ovewrite_value_param("num_classes", num_classes, len(weights.meta["categories"]))
        elif num_classes is None:
            num_classes = classes
        model = make(*arguments, num_classes, weights=weights, weights_backbone=weights_backbone,
                     progress=progress, **kwargs)  # fmt: skip
        return load_published(model, weights, progress)

    builder.__name__ = builder.__qualname__ = name
    builder.__module__ = weights.__module__
    builder.__doc__ = (
        f"{name}; weights: a member of {weights.__name__}; weights_backbone: of {backbone.__name__}."
    )
    builder.__signature__ = _signature(weights, backbone, default, parameters)
    former = weights[legacy] if legacy else next(iter(weights))
    interface = handle_legacy_interface(
        weights=("pretrained", former), weights_backbone=("pretrained_backbone", backbone[backbone_legacy])
    )
    return register_model()(interface(builder))


def _signature(weights, backbone, default, parameters):
    known = {
        "weights": (None, weights | None),
        "progress": (True, bool),
        "num_classes": (None, int | None),
        "weights_backbone": (default, backbone | None),
    }
    names = ("weights", "progress", *(parameters or ("num_classes", "weights_backbone")))
    made = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value, annotation=annotation)
        for name in names
        for value, annotation in [known.get(name, (None, inspect.Parameter.empty))]
    ]
    return inspect.Signature([*made, inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD)])
