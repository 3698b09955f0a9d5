"""The process group of torch.distributed's names: one rank by itself, or the ranks of weft.distributed, which mpirun starts.

Backends (gloo, nccl, mpi) are names: what carries the data is weft.distributed's. Collectives work among all ranks, and in groups
of one rank.
"""

import datetime
import os

import weft.distributed

from .. import cuda
from ._names import NOT_INITIALIZED, RedOpType

BACKENDS = ("gloo", "nccl", "mpi", "ucc", "xccl")
_own = None  # the group of all ranks


class ProcessGroup:
    """Ranks that compute together: all, or this one alone."""

    def __init__(self, ranks, rank, backend):
        self.ranks, self._rank, self._backend = list(ranks), rank, backend
        self.group_name = self.group_desc = "default_pg" if _own is None else f"ranks {self.ranks}"

    def rank(self):
        """This process' place in the group."""
        return self.ranks.index(self._rank)

    def size(self):
        return len(self.ranks)

    def name(self):
        return self._backend


class Work:
    """A collective that is done."""

    def wait(self, timeout=None):
        return True

    def is_completed(self):
        return True

    is_success = is_completed

    def result(self):
        return []

    def get_future(self):
        raise NotImplementedError(
            "torch.distributed: weft's collectives are done when they return, and have no futures"
        )


def initialized():
    return _own is not None


def world(name):
    if _own is None:
        raise ValueError(f"torch.distributed.{name}: {NOT_INITIALIZED}")
    return _own


def members(name, group):
    """The group, or that of all ranks. NotImplementedError for lists of other ranks."""
    own = world(name)
    if group is None or group is own or isinstance(group, (str, int)):
        return own
    if isinstance(group, ProcessGroup):
        return group
    if isinstance(group, (list, tuple)) and sorted(group) == own.ranks:
        return own
    raise NotImplementedError(
        f"torch.distributed.{name}: weft's collectives are among all ranks, got the group {group!r}"
    )


def _setting(value, name, given):
    if given != -1:
        return int(given)
    if value is not None:
        return value
    if name not in os.environ:
        raise ValueError(
            f"Error initializing torch.distributed using env:// rendezvous: environment variable {name} expected, but not set"
        )
    return int(os.environ[name])


def init(backend, init_method, timeout, world_size, rank):
    """Makes the group of all ranks: of one, without anything; of more, those that mpirun has started."""
    global _own
    if _own is not None:
        raise ValueError("trying to initialize the default process group twice!")
    names = [part.rpartition(":")[2] for part in str(backend or "gloo").lower().split(",")]
    unknown = [name for name in names if name not in BACKENDS]
    if unknown:
        raise ValueError(f"Invalid backend: '{unknown[0]}'; they are {', '.join(BACKENDS)}")
    if init_method is not None and init_method != "env://" and (rank == -1 or world_size == -1):
        raise ValueError(f"init_process_group: {init_method}: rank and world_size are needed")
    launched = weft.distributed.launched()
    started = launched or (None, None)
    rank, count = _setting(started[0], "RANK", rank), _setting(started[1], "WORLD_SIZE", world_size)
    if not 0 <= rank < count:
        raise ValueError(f"init_process_group: expected a rank from 0 to {count - 1}, got {rank}")
    if count > 1:
        _join(names, timeout, rank, count, launched)
    _own = ProcessGroup(range(count), rank, names[0] if len(names) == 1 else str(backend))


def _join(names, timeout, rank, count, launched):
    if launched is None or launched[:2] != (rank, count):
        found = (
            "mpirun has started none"
            if launched is None
            else f"mpirun says rank {launched[0]} of {launched[1]}"
        )
        raise RuntimeError(
            f"torch.distributed.init_process_group: rank {rank} of {count}: weft's ranks are those that mpirun starts, and {found}; "
            f"run mpirun -n {count} in torchrun's place"
        )
    seconds = timeout if timeout is not None else datetime.timedelta(seconds=1800)
    on_gpus = "nccl" in names and cuda.is_available()
    weft.distributed.init_process_group("nccl" if on_gpus else "mpi", seconds)


def destroy(group):
    global _own
    if _own is None:
        raise AssertionError("Process group cannot be None")
    if group is not None and group is not _own:
        return
    if _own.size() > 1:
        weft.distributed.destroy_process_group()
    _own = None


def new_group(ranks=None, timeout=None, backend=None, pg_options=None, use_local_synchronization=False,
              group_desc=None, device_id=None):  # fmt: skip
    """A group of all ranks, or of one. For a process that is not in it: GroupMember.NON_GROUP_MEMBER."""
    own = world("new_group")
    ranks = own.ranks if ranks is None else sorted(ranks)
    if any(one not in own.ranks for one in ranks):
        raise RuntimeError("The new group's rank should be within the world_size set by init_process_group")
    if len(ranks) > 1 and ranks != own.ranks:
        raise NotImplementedError(
            f"torch.distributed.new_group: weft has groups of all ranks and of one, got {ranks} of {own.size()}"
        )
    return ProcessGroup(ranks, own._rank, backend or own._backend) if own._rank in ranks else -100


def reduced(op, name):
    """weft's word of a reduction."""
    if isinstance(op, str):
        op = RedOpType[op.upper()]
    words = {RedOpType.SUM: "sum", RedOpType.AVG: "sum", RedOpType.PRODUCT: "product"}
    words.update({RedOpType.MIN: "min", RedOpType.MAX: "max"})
    if op not in words:
        raise NotImplementedError(f"torch.distributed.{name}: weft's collectives have no {op}")
    return words[op], op is RedOpType.AVG
