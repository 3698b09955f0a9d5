"""Collectives that give new tensors. In functions that weft.compile compiles they are nodes of the graph, and keep their order."""

from .. import _C

__all__ = ["all_gather", "all_reduce", "broadcast", "reduce_scatter"]

_rank = None
_ranks = None


def set_ranks(rank, count):
    """What the group says of this process; None without one."""
    global _rank, _ranks
    _rank, _ranks = rank, count


def rank(what):
    if _rank is None:
        raise RuntimeError(f"{what}: there is no process group; call init_process_group first")
    return _rank


def ranks(what):
    if _ranks is None:
        raise RuntimeError(f"{what}: there is no process group; call init_process_group first")
    return _ranks


def all_reduce(x, op="sum"):
    """The sum, 'product', 'min' or 'max' of the ranks' x[*S]; the same bits on every rank.

    Numbers; bool for min and max, complex numbers for the sum. float16 and bfloat16 are added up in float32 and rounded once.
    """
    return _C._all_reduce(x, op)


def all_gather(x):
    """[ranks * n, ...] of the ranks' x[n, ...], in their order."""
    return _C._all_gather(x, ranks("all_gather"))


def reduce_scatter(x, op="sum"):
    """This rank's [n, ...] of the ranks' reduced x[ranks * n, ...]. ValueError where the first dimension does not divide."""
    return _C._reduce_scatter(x, ranks("reduce_scatter"), op)


def broadcast(x, src=0):
    """The x of rank `src`, on all ranks."""
    return _C._broadcast(x, src)
