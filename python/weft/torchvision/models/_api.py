"""torchvision.models: the register of model builders, and the published weights.

Weights are read from torch.hub's cache (`weft.torch.hub`); nothing is downloaded.
"""

import fnmatch
import functools
import importlib
import inspect
import sys
import typing

from . import _families, _weights_table
from ._utils import _ovewrite_named_param, handle_legacy_interface
from ._weights import Weights, WeightsEnum

__all__ = [
    "WeightsEnum",
    "Weights",
    "get_model",
    "get_model_builder",
    "get_model_weights",
    "get_weight",
    "list_models",
]

BUILTIN_MODELS = {}  # builders by name; families register theirs when they are imported

_FILES = "https://download.pytorch.org/models/"
_RECIPES = "https://github.com/pytorch/vision/tree/main/references/classification"


@functools.cache
def _rows():
    rows = {}
    for line in _weights_table.ROWS.split("\n"):
        if line:
            name, member, *columns = line.split()
            rows.setdefault(name, {})[member] = columns
    return rows


def _weights_of(columns):
    from ..transforms._presets import ImageClassification, InterpolationMode
    from ._meta import _IMAGENET_CATEGORIES

    file, crop, resize, smallest, parameters, first, five, operations, size, recipe, *others = columns
    others = dict(column.split("=", 1) for column in others)
    arguments = {"crop_size": int(crop), "resize_size": int(resize)}
    for name in ("mean", "std"):
        if name in others:
            arguments[name] = tuple(map(float, others[name].split(",")))
    if "interpolation" in others:
        arguments["interpolation"] = InterpolationMode(others["interpolation"])
    meta = {
        "min_size": (int(smallest), int(smallest)),
        "categories": None if _is_trunk(file) else _IMAGENET_CATEGORIES,
        "num_params": int(parameters),
        "recipe": _RECIPES + recipe if recipe.startswith("#") else "https://github.com/" + recipe,
        "_metrics": {"ImageNet-1K": {"acc@1": float(first), "acc@5": float(five)}},
        "_ops": float(operations),
        "_file_size": float(size),
    }
    if "license" in others:
        meta["license"] = "https://github.com/" + others["license"]
    return Weights(f"{_FILES}{file}.pth", functools.partial(ImageClassification, **arguments), meta)


def _is_trunk(file):
    """Whether weights are those of a trunk, whose classifier was not trained."""
    return "_features-" in file


def published_weights(name, module):
    """The WeightsEnum `name` ("ResNet50_Weights") of `module` (its __name__), of the table of published weights. DEFAULT is
    the member IMAGENET1K_V2 where there is one, and the first one elsewhere."""
    members = {
        member: _weights_of(columns) for member, columns in _rows()[name.removesuffix("_Weights")].items()
    }
    default = members.get("IMAGENET1K_V2") or next(iter(members.values()))
    return WeightsEnum(name, {**members, "DEFAULT": default}, module=module)


def register_model(name=None):
    """A decorator that registers a builder under `name`, or else its own name.

    raises: ValueError where there is a builder of that name.
    """

    def register(fn):
        key = fn.__name__ if name is None else name
        if key in BUILTIN_MODELS:
            raise ValueError(f"register_model: there is a model named {key!r}")
        BUILTIN_MODELS[key] = fn
        return fn

    return register


def model_builder(name, weights, make, *arguments, first="IMAGENET1K_V1", **settings):
    """A registered builder name(*, weights=None, progress=True, **kwargs), which calls make(*arguments, weights=…, progress=…,
    **settings, **kwargs) with weights None or a member of the WeightsEnum `weights`. `first`: the member that pretrained=True
    means (None: that raises). The builder raises ValueError where a setting is given another value."""

    def builder(*, weights=None, progress=True, **kwargs):
        for key, value in settings.items():
            _ovewrite_named_param(kwargs, key, value)
        return make(*arguments, weights=enumeration.verify(weights), progress=progress, **kwargs)

    enumeration = weights
    builder.__name__ = builder.__qualname__ = name
    builder.__module__ = weights.__module__
    builder.__doc__ = (
        f"{name} of {weights.__module__.rpartition('.')[2]}; weights: a member of {weights.__name__}."
    )
    builder.__annotations__ = {"weights": weights | None, "progress": bool}
    legacy = None if first is None else getattr(weights, first)
    return register_model()(handle_legacy_interface(weights=("pretrained", legacy))(builder))


def number_of_classes(kwargs, weights):
    """Sets kwargs["num_classes"] to that of published weights. raises: ValueError where it is another number."""
    if weights is not None and weights.meta["categories"] is not None:
        _ovewrite_named_param(kwargs, "num_classes", len(weights.meta["categories"]))


def load_published(model, weights, progress):
    """Loads a member of a WeightsEnum, or nothing for None, and gives the model."""
    if weights is not None:
        model.load_state_dict(weights.get_state_dict(progress=progress, check_hash=True))
    return model


def _get_enum_from_fn(fn):
    """The WeightsEnum that a builder's parameter `weights` is annotated with."""
    parameter = inspect.signature(fn).parameters.get("weights")
    if parameter is None:
        raise ValueError(f"the builder {fn.__name__} has no parameter 'weights'")
    annotation = parameter.annotation
    for one in (annotation, *typing.get_args(annotation)):
        if isinstance(one, type) and issubclass(one, WeightsEnum):
            return one
    raise ValueError(
        f"the parameter 'weights' of {fn.__name__} is annotated with no WeightsEnum: {annotation}"
    )


def get_model_builder(name):
    """The builder registered under that name; upper case is lower case. Of a model of torchvision that is not here, what raises
    NotImplementedError when it is called.

    raises: ValueError where there is none.
    """
    key = name.lower()
    builder = BUILTIN_MODELS.get(key) or _families.find_builder(key)
    if builder is None:
        raise ValueError(f"Unknown model {name}")
    return builder


def get_model(name, **config):
    """The model of that name, built with `config`."""
    return get_model_builder(name)(**config)


def get_model_weights(name):
    """The WeightsEnum of a builder, or of the builder of that name."""
    return _get_enum_from_fn(get_model_builder(name) if isinstance(name, str) else name)


def get_weight(name):
    """The weights of a name such as "ResNet50_Weights.IMAGENET1K_V2".

    raises: ValueError for what names no weights, KeyError where the class has no such member.
    """
    title, dot, member = name.partition(".")
    if not dot:
        raise ValueError(
            f"Invalid weight name provided: {name!r}: expected the name of a class, a dot and a member"
        )
    models = importlib.import_module(__package__)
    found = getattr(models, title, None)
    if not (isinstance(found, type) and issubclass(found, WeightsEnum)):
        places = [sys.modules.get(builder.__module__) for builder in BUILTIN_MODELS.values()]
        found = next((getattr(place, title) for place in places if hasattr(place, title)), None)
    if not (isinstance(found, type) and issubclass(found, WeightsEnum)):
        raise ValueError(f"There are no weights {title!r}")
    return found[member]


def list_models(module=None, include=None, exclude=None):
    """The sorted names of the models that are here: those of the package `module`, of the patterns `include` (* and ?; one or
    several), without those of `exclude`."""
    _families.import_all()
    names = {
        name
        for name, builder in BUILTIN_MODELS.items()
        if module is None or builder.__module__.rpartition(".")[0] == module.__name__
    }

    def matching(patterns):
        patterns = [patterns] if isinstance(patterns, str) else patterns
        return {name for pattern in patterns for name in fnmatch.filter(names, pattern)}

    if include:
        names = matching(include)
    if exclude:
        names -= matching(exclude)
    return sorted(names)
