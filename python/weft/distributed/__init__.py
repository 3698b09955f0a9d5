"""Processes that compute together, each started by mpirun with a rank of its own.

    mpirun -n 2 python program.py

    weft.distributed.init_process_group("mpi")
    x = weft.ones(3) * weft.distributed.get_rank()
    weft.distributed.all_reduce(x)                      # in place, on every rank
    y = weft.distributed.functional.all_gather(x)       # a new tensor; a node of weft.compile's graphs

Every rank makes the same calls in the same order. Calls that do not belong together, and waiting longer than the group's timeout
for the others, are RuntimeErrors that name the rank. A program that ends with an error ends all ranks. More:
docs/DISTRIBUTED.md; models over ranks: weft.distributed.tensor_parallel.
"""

import atexit as _atexit
import datetime as _datetime
import sys as _sys

from .. import _C
from . import functional

__all__ = [
    "ReduceOp",
    "all_gather",
    "all_gather_into_tensor",
    "all_reduce",
    "barrier",
    "broadcast",
    "broadcast_object",
    "destroy_process_group",
    "functional",
    "get_backend",
    "get_rank",
    "get_world_size",
    "init_process_group",
    "is_available",
    "is_initialized",
    "launched",
    "reduce_scatter_tensor",
    "statistics",
    "tensor_parallel",
]


class ReduceOp:
    """Names of the reductions."""

    SUM, PRODUCT, MIN, MAX = "sum", "product", "min", "max"


def init_process_group(backend="mpi", timeout=300.0, check=True):
    """Joins the ranks that mpirun started; alone, a program is rank 0 of 1.

    backend: "mpi" (CPUs), or "nccl" (tensors on each rank's own GPU, and by MPI those of the host). timeout: seconds, or a timedelta,
    that a call waits for the other ranks. check: ranks compare what they were called with first, one more message per call.
    ValueError for an unknown backend; RuntimeError where its library or devices are missing, and the second time.
    """
    if isinstance(timeout, _datetime.timedelta):
        timeout = timeout.total_seconds()
    if not isinstance(backend, str):
        raise TypeError(f"init_process_group: backend must be 'mpi' or 'nccl', got {type(backend).__name__}")
    _C._init_process_group(backend, timeout, check)
    functional.set_ranks(_C._distributed_rank(), _C._distributed_world_size())
    _atexit.register(_end)


def _end():
    """A program that ends without destroy_process_group: well, or with an error, which ends the others."""
    if not is_initialized():
        return
    if getattr(_sys, "last_value", None) is None:
        return destroy_process_group()
    _sys.stdout.flush()
    print(f"weft.distributed: {_C._distributed_rank_name()} ends with an error, and all ranks with it", file=_sys.stderr, flush=True)  # fmt: skip
    _C._abort_process_group(1)


def destroy_process_group():
    """Waits for all ranks and ends the group; a process makes one group. After a timeout, ends all ranks."""
    _C._destroy_process_group()
    functional.set_ranks(None, None)
    _atexit.unregister(_end)


def is_available():
    """Whether there are process groups; backends are looked for when one is made."""
    return True


def is_initialized():
    return _C._distributed_is_initialized()


def launched():
    """(rank, ranks, rank on this machine, ranks on this machine) as mpirun set them, before any group; None without it."""
    return _C._distributed_launch()


def get_rank():
    """This process' place among the ranks, from 0. RuntimeError without a group."""
    return functional.rank("get_rank")


def get_world_size():
    """How many ranks there are. RuntimeError without a group."""
    return functional.ranks("get_world_size")


def get_backend():
    return _C._distributed_backend()


def all_reduce(tensor, op=ReduceOp.SUM):
    """Replaces `tensor` by the sum (product, min, max) of the ranks' tensors, and returns it.

    All ranks give the same shape and dtype, and get the same bits. float16 and bfloat16 are added up in float32.
    """
    return tensor.copy_(functional.all_reduce(tensor, op))


def all_gather(tensor_list, tensor):
    """Fills the tensors of a list, one per rank, with the ranks' tensors."""
    ranks = functional.ranks("all_gather")
    if len(tensor_list) != ranks:
        raise ValueError(
            f"all_gather: expected a list of {ranks} tensors, one per rank, got {len(tensor_list)}"
        )
    gathered = functional.all_gather(tensor.unsqueeze(0))
    for i in range(ranks):
        tensor_list[i].copy_(gathered[i])


def all_gather_into_tensor(output_tensor, input_tensor):
    """output_tensor[ranks * n, ...], or [ranks, n, ...], gets the ranks' input_tensor[n, ...]."""
    gathered = functional.all_gather(input_tensor)
    if tuple(output_tensor.shape) == (functional.ranks("all_gather"), *input_tensor.shape):
        gathered = gathered.reshape(output_tensor.shape)
    if tuple(output_tensor.shape) != tuple(gathered.shape):
        raise ValueError(f"all_gather_into_tensor: expected an output of {tuple(gathered.shape)}, got {tuple(output_tensor.shape)}")  # fmt: skip
    return output_tensor.copy_(gathered)


def reduce_scatter_tensor(output, input, op=ReduceOp.SUM):
    """output[n, ...] gets this rank's part of the ranks' input[ranks * n, ...], added up (multiplied, least, largest)."""
    scattered = functional.reduce_scatter(input, op)
    if tuple(output.shape) != tuple(scattered.shape):
        raise ValueError(f"reduce_scatter_tensor: expected an output of {tuple(scattered.shape)}, got {tuple(output.shape)}")  # fmt: skip
    return output.copy_(scattered)


def broadcast(tensor, src=0):
    """Replaces `tensor` by that of rank `src`, and returns it."""
    return tensor.copy_(functional.broadcast(tensor, src))


def broadcast_object(value, src=0):
    """Rank `src`'s value, of numbers, texts, lists and dicts as JSON has them, on all ranks."""
    import json

    own = json.dumps(value).encode() if get_rank() == src else b""
    return json.loads(_C._distributed_broadcast_bytes(own, src))


def barrier():
    """Returns when all ranks have come here."""
    _C._distributed_barrier()


def statistics(reset=False):
    """This rank's collectives since the group was made or reset: {"calls", "bytes" of operands, "seconds" with waiting}."""
    found = _C._distributed_statistics()
    if reset:
        _C._distributed_reset_statistics()
    return found


def __getattr__(name):
    if name == "tensor_parallel":
        import importlib

        return importlib.import_module(f"{__name__}.tensor_parallel")
    raise AttributeError(f"module 'weft.distributed' has no attribute {name!r}")
