"""torchvision.models._utils: parts of models by name, channel counts, and builders' former arguments."""

import functools
import inspect
import warnings
from collections import OrderedDict

from weft import nn

from ._weights import WeightsEnum


class IntermediateLayerGetter(nn.ModuleDict):
    """The children of `model` up to the last of `return_layers` (a dictionary from a child's name to that of a result);
    a call gives an OrderedDict of the results. Only a model that calls its direct children in order, each once.

    raises: ValueError where a name is no child's.
    """

    def __init__(self, model, return_layers):
        missing = set(map(str, return_layers)) - {name for name, _ in model.named_children()}
        if missing:
            raise ValueError(f"return_layers are not present in model: {', '.join(sorted(missing))}")
        wanted = {str(layer): str(result) for layer, result in return_layers.items()}
        layers, left = OrderedDict(), set(wanted)
        for name, module in model.named_children():
            if not left:
                break
            layers[name] = module
            left.discard(name)
        super().__init__(layers)
        self.return_layers = wanted

    def forward(self, x):
        results = OrderedDict()
        for name, module in self.items():
            x = module(x)
            if name in self.return_layers:
                results[self.return_layers[name]] = x
        return results


def _make_divisible(v, divisor, min_value=None):
    """The multiple of `divisor` nearest to v, at least min_value (None: divisor) and at least 9/10 of v."""
    least = divisor if min_value is None else min_value
    nearest = max(least, int(v + divisor / 2) // divisor * divisor)
    return nearest + divisor if nearest < 0.9 * v else nearest


def initialize_rectified(module):
    """Draws a module's weights for rectified units, as VGG's authors do: convolutions by what they give, layers of numbers small,
    biases 0. Of other modules nothing."""
    if isinstance(module, (nn.Conv2d, nn.Conv3d)):
        nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
    elif isinstance(module, (nn.BatchNorm2d, nn.BatchNorm3d)):
        nn.init.ones_(module.weight)
    elif isinstance(module, nn.Linear):
        nn.init.normal_(module.weight, 0, 0.01)
    else:
        return
    if module.bias is not None:
        nn.init.zeros_(module.bias)


def _listed(names):
    """'a', 'b', and 'c'."""
    quoted = [f"'{name}'" for name in names]
    if len(quoted) == 1:
        return quoted[0]
    comma = "," if len(quoted) > 2 else ""
    return f"{', '.join(quoted[:-1])}{comma} and {quoted[-1]}"


def kwonly_to_pos_or_kw(fn):
    """A decorator: keyword-only parameters may be given by position, with a warning."""
    parameters = list(inspect.signature(fn).parameters.values())
    first = next((i for i, one in enumerate(parameters) if one.kind is one.KEYWORD_ONLY), len(parameters))
    names = [one.name for one in parameters[first:] if one.kind is one.KEYWORD_ONLY]

    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        given = args[first:]
        if len(given) > len(names):
            raise TypeError(
                f"{fn.__name__}: at most {first + len(names)} positional arguments, got {len(args)}"
            )
        if given:
            chosen = dict(zip(names, given))
            warnings.warn(
                f"Using {_listed(chosen)} as positional parameter(s) is deprecated since 0.13 and may be removed; "
                "use keyword parameter(s) instead.",
                stacklevel=2,
            )
            kwargs.update(chosen)
        return fn(*args[:first], **kwargs)

    return wrapper


def handle_legacy_interface(**weights):
    """A decorator of builders: name=(former name, default) lets the parameter `name` be given under its former name, and as a
    Boolean, true for `default` (weights, or a function from the keyword arguments to weights), each with a warning.

    raises: ValueError where the default is None and it is asked for.
    """

    def decorate(builder):
        @kwonly_to_pos_or_kw
        @functools.wraps(builder)
        def wrapper(*args, **kwargs):
            for name, (former, default) in weights.items():
                value = kwargs.get(name)
                if isinstance(value, (WeightsEnum, str)) or (value is None and former not in kwargs):
                    continue
                if former in kwargs:
                    warnings.warn(
                        f"The parameter '{former}' is deprecated since 0.13 and may be removed; use '{name}' instead.",
                        stacklevel=3,
                    )
                    value = kwargs.pop(former)
                chosen = None
                if value:
                    chosen = (
                        default(kwargs)
                        if callable(default) and not isinstance(default, WeightsEnum)
                        else default
                    )
                    if chosen is None:
                        raise ValueError(f"{builder.__name__}: no weights are published for this model")
                hint = (
                    "" if chosen is None else f"; {name}={type(chosen).__name__}.DEFAULT are the newest ones"
                )
                warnings.warn(
                    f"Arguments other than a weight enum or `None` for '{name}' are deprecated since 0.13 and may be "
                    f"removed: this one means `{name}={chosen!r}`{hint}.",
                    stacklevel=3,
                )
                kwargs[name] = chosen
            return builder(*args, **kwargs)

        return wrapper

    return decorate


def _ovewrite_named_param(kwargs, param, new_value):
    """Sets kwargs[param]. raises: ValueError where it is given another value."""
    if param in kwargs:
        _ovewrite_value_param(param, kwargs[param], new_value)
    kwargs[param] = new_value


def _ovewrite_value_param(param, actual, expected):
    """`expected`. raises: ValueError where `actual` is given another value."""
    if actual is not None and actual != expected:
        raise ValueError(f"The parameter '{param}' expected value {expected} but got {actual} instead.")
    return expected


class _ModelURLs(dict):
    def __getitem__(self, item):
        warnings.warn(
            "Addresses of weights in a module's dictionary are deprecated since 0.13: take them from the weights' class.",
            stacklevel=2,
        )
        return super().__getitem__(item)
