"""What sources that are scripts too say to the compiler.

An int given for an argument of type BroadcastingListN[int] stands for N of them.
"""

from typing import List as BroadcastingList1
from typing import List as BroadcastingList2
from typing import List as BroadcastingList3

__all__ = ["BroadcastingList1", "BroadcastingList2", "BroadcastingList3", "is_scripting"]


def is_scripting():
    """False; True in scripts, where the compiler leaves out what a condition on it excludes."""
    return False
