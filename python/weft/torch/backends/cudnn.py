"""torch.backends.cudnn's names, without cuDNN."""

from ._settings import Group, flags

enabled, benchmark, deterministic, allow_tf32 = True, False, False, True
benchmark_limit, fp32_precision = 10, "none"
conv, rnn = Group(fp32_precision="tf32"), Group(fp32_precision="tf32")


def is_available():
    return False


def version():
    return None


def is_acceptable(tensor):
    return False


def set_flags(
    _enabled=None,
    _benchmark=None,
    _benchmark_limit=None,
    _deterministic=None,
    _allow_tf32=None,
    _fp32_precision="none",
):
    """Sets the settings that are given; gives what all were."""
    global enabled, benchmark, benchmark_limit, deterministic, allow_tf32
    before = enabled, benchmark, benchmark_limit, deterministic, allow_tf32, fp32_precision
    enabled = enabled if _enabled is None else _enabled
    benchmark = benchmark if _benchmark is None else _benchmark
    benchmark_limit = benchmark_limit if _benchmark_limit is None else _benchmark_limit
    deterministic = deterministic if _deterministic is None else _deterministic
    allow_tf32 = allow_tf32 if _allow_tf32 is None else _allow_tf32
    return before


flags = flags(
    __name__,
    enabled=False,
    benchmark=False,
    benchmark_limit=10,
    deterministic=False,
    allow_tf32=True,
    fp32_precision="none",
)
