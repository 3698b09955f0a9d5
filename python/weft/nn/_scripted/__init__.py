"""What weft.jit.script compiles in place of functions of weft.nn.functional.

Most of those compile as they stand. The rest call operators of weft that TorchScript has no operator for, or take what
a script cannot; here are their sources over operators that every PyTorch since 1.13 has, so that it can load what
weft saves. They run outside scripts too, which is how they are tested.
"""

from weft.nn import functional
from weft.nn.utils import rnn

from . import attention, images, layers, losses, pooling

# Functions that are one builtin with the same parameters.
_BUILTINS = {
    "adaptive_avg_pool1d": "aten::adaptive_avg_pool1d",
    "adaptive_avg_pool2d": "aten::adaptive_avg_pool2d",
    "adaptive_avg_pool3d": "aten::adaptive_avg_pool3d",
    "adaptive_max_pool1d_with_indices": "aten::adaptive_max_pool1d",
    "adaptive_max_pool2d_with_indices": "aten::adaptive_max_pool2d",
    "adaptive_max_pool3d_with_indices": "aten::adaptive_max_pool3d",
    "bilinear": "aten::bilinear",
    "channel_shuffle": "aten::channel_shuffle",
    "conv1d": "aten::conv1d",
    "conv2d": "aten::conv2d",
    "conv3d": "aten::conv3d",
    "conv_transpose1d": "aten::conv_transpose1d",
    "conv_transpose2d": "aten::conv_transpose2d",
    "conv_transpose3d": "aten::conv_transpose3d",
    "cosine_similarity": "aten::cosine_similarity",
    "gelu": "aten::gelu",
    "hardshrink": "aten::hardshrink",
    "linear": "aten::linear",
    "logsigmoid": "aten::log_sigmoid",
    "one_hot": "aten::one_hot",
    "pairwise_distance": "aten::pairwise_distance",
    "pixel_shuffle": "aten::pixel_shuffle",
    "pixel_unshuffle": "aten::pixel_unshuffle",
    "scaled_dot_product_attention": "aten::scaled_dot_product_attention",
    "softplus": "aten::softplus",
    "softshrink": "aten::softshrink",
}


def _table():
    table = {getattr(functional, name): builtin for name, builtin in _BUILTINS.items()}
    table[rnn.pad_sequence] = "aten::pad_sequence"
    for source in (attention, images, layers, losses, pooling):
        for name, value in vars(source).items():
            own = getattr(functional, name, None)
            if own is not None and getattr(value, "__module__", None) == source.__name__:
                table[own] = getattr(source, "_OVERLOADS", {}).get(name, value)
    return table


_replacements = _table()


def replacement(function):
    """The name of a builtin ("aten::linear"), a function, or a list of overloads that scripts call in place of a
    function of weft.nn.functional; None for one that is compiled as it stands."""
    return _replacements.get(function)
