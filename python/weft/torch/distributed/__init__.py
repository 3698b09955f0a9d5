"""torch.distributed's names: a group of one rank, or of the ranks of weft.distributed (_group.py)."""

import datetime
import os

from .. import _absent
from . import _collectives, _group
from ._group import ProcessGroup, Work, new_group  # noqa: F401
from ._names import RedOpType


class DistError(RuntimeError):
    pass


class DistBackendError(DistError):
    pass


class DistNetworkError(DistError):
    pass


class DistStoreError(DistError):
    pass


class QueueEmptyError(DistError):
    pass


class ReduceOp:
    """The names of reductions."""

    RedOpType = RedOpType
    SUM, AVG, PRODUCT, MIN, MAX = (
        RedOpType.SUM,
        RedOpType.AVG,
        RedOpType.PRODUCT,
        RedOpType.MIN,
        RedOpType.MAX,
    )
    BAND, BOR, BXOR, PREMUL_SUM = RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR, RedOpType.PREMUL_SUM


reduce_op = ReduceOp


class group:
    WORLD = None


class GroupMember:
    WORLD = None
    NON_GROUP_MEMBER = -100


class Backend(str):
    UNDEFINED, GLOO, NCCL, UCC, MPI, XCCL = "undefined", "gloo", "nccl", "ucc", "mpi", "xccl"
    backend_list = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI]


def is_available():
    return True


def is_initialized():
    return _group.initialized()


def is_backend_available(backend):
    """Are there groups under the backend's name?"""
    return backend.lower() in ("gloo", "nccl")


def is_gloo_available():
    return True


is_nccl_available = is_gloo_available


def is_mpi_available():
    return False


is_ucc_available = is_xccl_available = is_mpi_available


def is_torchelastic_launched():
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def get_node_local_rank(fallback_rank=None):
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError("LOCAL_RANK is not in the environment. Consider passing fallback_rank")


def init_process_group(backend=None, init_method=None, timeout=None, world_size=-1, rank=-1, store=None, group_name="",
                       pg_options=None, device_id=None, _ranks=None):  # fmt: skip
    """Makes the group of all ranks. rank and world_size: given, or those of mpirun or of torchrun's RANK and WORLD_SIZE. One rank
    needs nothing else; more are started by mpirun."""
    _group.init(backend, init_method, timeout, world_size, rank)
    group.WORLD = GroupMember.WORLD = _group.world("init_process_group")


def destroy_process_group(group=None):
    """Ends the group of all ranks, for which None stands."""
    _group.destroy(group)
    if not is_initialized():
        globals()["group"].WORLD = GroupMember.WORLD = None


def get_rank(group=None):
    """This process' place among the ranks; -1 where it is not in the group."""
    return -1 if group == GroupMember.NON_GROUP_MEMBER else _group.members("get_rank", group).rank()


def get_world_size(group=None):
    return -1 if group == GroupMember.NON_GROUP_MEMBER else _group.members("get_world_size", group).size()


def get_backend(group=None):
    return _group.members("get_backend", group)._backend


get_backend_config = get_backend


def get_process_group_ranks(group=None):
    return list(_group.members("get_process_group_ranks", group).ranks)


def get_group_rank(group, global_rank):
    return _group.members("get_group_rank", group).ranks.index(global_rank)


def get_global_rank(group, group_rank):
    return _group.members("get_global_rank", group).ranks[group_rank]


_get_global_rank, _get_group_rank = get_global_rank, get_group_rank


def _get_default_group():
    return _group.world("_get_default_group")


def get_default_backend_for_device(device):
    return "nccl" if str(device).startswith("cuda") else "gloo"


globals().update(_collectives.FUNCTIONS)


class P2POp:
    """raises: ValueError without a group; NotImplementedError."""

    def __init__(self, op, tensor, peer=None, group=None, tag=0, group_peer=None):
        _collectives._one_by_one("P2POp")()


def supports_complex(reduceOp):
    return reduceOp not in (
        ReduceOp.MAX,
        ReduceOp.MIN,
        ReduceOp.PRODUCT,
        ReduceOp.BAND,
        ReduceOp.BOR,
        ReduceOp.BXOR,
    )


default_pg_timeout = datetime.timedelta(seconds=1800)


def __getattr__(name):
    if name in (
        "DeviceMesh",
        "init_device_mesh",
        "Store",
        "TCPStore",
        "FileStore",
        "HashStore",
        "PrefixStore",
    ):
        return _absent.absent(f"torch.distributed.{name}", "it is about processes", __name__)
    return _other(name)


_other = _absent.names(__name__)
