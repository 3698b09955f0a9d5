"""torch.backends.cuda's names. sdp_kernel and the like choose between kernels that give the same."""

import contextlib

from .._functions.settings import get_float32_matmul_precision, set_float32_matmul_precision
from ._settings import Group


class _Products(Group):
    """allow_tf32 is what torch.set_float32_matmul_precision says, and says it."""

    def __getattr__(self, name):
        if name == "allow_tf32":
            return get_float32_matmul_precision() != "highest"
        return super().__getattr__(name)

    def __setattr__(self, name, value):
        super().__setattr__(name, value)
        if name == "allow_tf32":
            set_float32_matmul_precision("high" if value else "highest")
        if name == "fp32_precision" and value in ("tf32", "ieee"):
            set_float32_matmul_precision("high" if value == "tf32" else "highest")


matmul = _Products(
    allow_tf32=False,
    allow_fp16_reduced_precision_reduction=True,
    allow_bf16_reduced_precision_reduction=True,
    allow_fp16_accumulation=False,
    fp32_precision="none",
)
cufft_plan_cache = Group(size=0, max_size=0)
fp32_precision = "none"

_enabled = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}
_math_reduction = False


class SDPAParams:
    """The arguments of an attention, for can_use_flash_attention and the like."""

    def __init__(self, *args, **kwargs):
        pass


def is_built():
    return False


def preferred_linalg_library(backend=None):
    return "default"


def preferred_blas_library(backend=None):
    return "default"


def preferred_rocm_fa_library(backend=None):
    return "default"


def flash_sdp_enabled():
    return _enabled["flash"]


def enable_flash_sdp(enabled):
    _enabled["flash"] = enabled


def mem_efficient_sdp_enabled():
    return _enabled["mem_efficient"]


def enable_mem_efficient_sdp(enabled):
    _enabled["mem_efficient"] = enabled


def math_sdp_enabled():
    return _enabled["math"]


def enable_math_sdp(enabled):
    _enabled["math"] = enabled


def cudnn_sdp_enabled():
    return _enabled["cudnn"]


def enable_cudnn_sdp(enabled):
    _enabled["cudnn"] = enabled


def fp16_bf16_reduction_math_sdp_allowed():
    return _math_reduction


def allow_fp16_bf16_reduction_math_sdp(enabled):
    global _math_reduction
    _math_reduction = enabled


def is_flash_attention_available():
    return False


def can_use_flash_attention(params, debug=False):
    return False


def can_use_efficient_attention(params, debug=False):
    return False


def can_use_cudnn_attention(params, debug=False):
    return False


@contextlib.contextmanager
def sdp_kernel(enable_flash=True, enable_math=True, enable_mem_efficient=True, enable_cudnn=True):
    before = dict(_enabled)
    _enabled.update(
        flash=enable_flash, math=enable_math, mem_efficient=enable_mem_efficient, cudnn=enable_cudnn
    )
    try:
        yield {}
    finally:
        _enabled.update(before)
