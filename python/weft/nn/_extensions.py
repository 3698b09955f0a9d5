"""Functions and names of torch.nn.functional that programs seldom call."""

import enum
import importlib
import sys

import weft as _weft
from weft import _autocast

from ._types import BroadcastingList1, BroadcastingList2, BroadcastingList3

__all__ = [
    "BroadcastingList1",
    "BroadcastingList2",
    "BroadcastingList3",
    "DType",
    "GRID_SAMPLE_INTERPOLATION_MODES",
    "GRID_SAMPLE_PADDING_MODES",
    "ScalingType",
    "SwizzleType",
    "assert_int_or_pair",
    "boolean_dispatch",
    "grouped_mm",
    "gumbel_softmax",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
    "scaled_grouped_mm",
]

DType = int  # in annotations of scripts
GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}


class ScalingType(enum.IntEnum):
    """How many elements share a scale in products of scaled matrices, which weft has none of."""

    TensorWise = 0
    RowWise = 1
    BlockWise1x16 = 2
    BlockWise1x32 = 3
    BlockWise1x128 = 4
    BlockWise128x128 = 5


class SwizzleType(enum.IntEnum):
    """The order of scales in memory."""

    NO_SWIZZLE = 0
    SWIZZLE_32_4_4 = 1
    SWIZZLE_32_8 = 2


# ---- overriding ----------------------------------------------------------------------------------------------


def _overrides():
    return importlib.import_module("weft.torch.overrides")


def has_torch_function(relevant_args):
    """torch.overrides.has_torch_function: before weft.torch is imported, nothing overrides."""
    return "weft.torch" in sys.modules and _overrides().has_torch_function(relevant_args)


def has_torch_function_unary(value):
    return has_torch_function((value,))


def has_torch_function_variadic(*values):
    return has_torch_function(values)


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """torch.overrides.handle_torch_function: before weft.torch is imported, nothing overrides."""
    if "weft.torch" not in sys.modules:
        raise TypeError(f"no implementation found for {public_api!r}: no argument's type takes calls over")
    return _overrides().handle_torch_function(public_api, relevant_args, *args, **kwargs)


def assert_int_or_pair(arg, arg_name, message):
    """ValueError unless `arg` is an int or two of them."""
    if not isinstance(arg, int) and len(arg) != 2:
        raise ValueError(message.format(arg_name))


def boolean_dispatch(arg_name, arg_index, default, if_true, if_false, module_name, func_name):
    """A function that calls one of two, by the flag `arg_name`, which may be the argument at arg_index too."""

    def function(*args, **kwargs):
        flag = kwargs.get(arg_name, args[arg_index] if arg_index < len(args) else default)
        return (if_true if flag else if_false)(*args, **kwargs)

    function.__module__, function.__name__ = module_name, func_name or if_false.__name__
    function.__doc__ = if_true.__doc__ or if_false.__doc__
    return function


# ---- functions -----------------------------------------------------------------------------------------------


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """softmax((logits + g) / tau) with samples g of the Gumbel distribution; hard: as one-hot vectors.

    source: Jang, Gu, Poole: Categorical Reparameterization with Gumbel-Softmax (2017).
    """
    import weft.torch  # noqa: F401, for the tensors' random methods

    noise = -_weft.empty_like(logits).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.argmax(dim, keepdim=True)
    return _weft.zeros_like(logits).scatter(dim, index, 1.0)


@_autocast.unchanged
def grouped_mm(mat_a, mat_b, *, offs=None, bias=None, out_dtype=None):
    """Products of groups: of mat_a[M, K] with mat_b[G, K, N], rows up to offs[g] being those of group g; of
    mat_a[G, M, K] with mat_b[K, N], whose columns offs splits; of mat_a[M, K] with mat_b[K, N], where it splits K; or
    of [G, M, K] with [G, K, N]."""
    if bias is not None:
        raise RuntimeError("grouped_mm: bias is not supported")
    ranks = (mat_a.dim(), mat_b.dim())
    if ranks == (3, 3):
        result = _weft.matmul(mat_a, mat_b)
    else:
        if offs is None:
            raise RuntimeError("grouped_mm: expected offs where an operand has two dimensions")
        ends = [int(end) for end in offs.tolist()]
        ranges = list(zip([0, *ends[:-1]], ends))
        if ranks == (2, 3):
            parts = [_weft.matmul(mat_a[a:b], mat_b[g]) for g, (a, b) in enumerate(ranges)]
            result = _weft.cat(
                [*parts, _weft.zeros((mat_a.shape[0] - ends[-1], mat_b.shape[-1]), dtype=mat_a.dtype)]
            )
        elif ranks == (3, 2):
            parts = [_weft.matmul(mat_a[g], mat_b[:, a:b]) for g, (a, b) in enumerate(ranges)]
            result = _weft.cat(parts, 1)
        elif ranks == (2, 2):
            result = _weft.stack([_weft.matmul(mat_a[:, a:b], mat_b[a:b]) for a, b in ranges])
        else:
            raise RuntimeError(
                f"grouped_mm: expected operands of 2 or 3 dimensions, got {ranks[0]} and {ranks[1]}"
            )
    return result if out_dtype is None else result.to(out_dtype)


def scaled_grouped_mm(*args, **kwargs):
    """raises: NotImplementedError."""
    raise NotImplementedError(
        "scaled_grouped_mm is PyTorch's, but not weft's: float8 tensors are stored, not multiplied"
    )
