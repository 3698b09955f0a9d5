"""What sources that are scripts too say to the compiler.

An int given for an argument of type BroadcastingListN[int] stands for N of them.
"""

import sys
from typing import List as BroadcastingList1
from typing import List as BroadcastingList2
from typing import List as BroadcastingList3

__all__ = ["BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "is_scripting", "takes_fast_path"]


def is_scripting():
    """False; True in scripts, where the compiler leaves out what a condition on it excludes."""
    return False


def takes_fast_path():
    """May several operators be replaced by one? Not in scripts and not while the thread traces: their operators are
    those that every version of PyTorch has."""
    tracer = sys.modules.get("weft.jit._tracer")
    return tracer is None or not tracer.is_tracing()


takes_fast_path._when_captured = True
