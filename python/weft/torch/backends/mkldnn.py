"""torch.backends.mkldnn's names, without oneDNN."""

import contextlib

from ._settings import Group, flags

VERBOSE_OFF, VERBOSE_ON, VERBOSE_ON_CREATION = 0, 1, 2
enabled, deterministic, allow_tf32, fp32_precision = True, False, None, "none"
conv, matmul, rnn = Group(fp32_precision="none"), Group(fp32_precision="none"), Group(fp32_precision="none")


def is_available():
    return False


def is_acl_available():
    return False


def set_flags(_enabled=None, _deterministic=None, _allow_tf32=None, _fp32_precision="none"):
    global enabled, deterministic, allow_tf32
    before = enabled, deterministic, allow_tf32, fp32_precision
    enabled = enabled if _enabled is None else _enabled
    deterministic = deterministic if _deterministic is None else _deterministic
    allow_tf32 = allow_tf32 if _allow_tf32 is None else _allow_tf32
    return before


flags = flags(__name__, enabled=False, deterministic=False, allow_tf32=True, fp32_precision="none")


class verbose(contextlib.nullcontext):
    def __init__(self, level):
        super().__init__()
        self.level = level
