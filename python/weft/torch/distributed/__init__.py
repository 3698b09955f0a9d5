"""torch.distributed's names, as they answer where no process group has been made: weft computes in one process."""

import datetime
import enum
import os

from .. import _absent

NOT_INITIALIZED = (
    "Default process group has not been initialized, please make sure to call init_process_group."
)


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


class RedOpType(enum.Enum):
    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR, PREMUL_SUM = range(9)


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


class ProcessGroup:
    """Cannot be made: weft computes in one process."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(
            "torch.distributed.ProcessGroup is PyTorch's, but not weft's: it is about processes"
        )


class Work:
    """What an asynchronous collective would give."""


class Backend(str):
    UNDEFINED, GLOO, NCCL, UCC, MPI, XCCL = "undefined", "gloo", "nccl", "ucc", "mpi", "xccl"
    backend_list = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI]


def is_available():
    return True


def is_initialized():
    return False


def is_backend_available(backend):
    return False


def is_mpi_available():
    return False


is_nccl_available = is_gloo_available = is_ucc_available = is_xccl_available = is_mpi_available


def is_torchelastic_launched():
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def get_node_local_rank(fallback_rank=None):
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError("LOCAL_RANK is not in the environment. Consider passing fallback_rank")


def init_process_group(*args, **kwargs):
    """raises: NotImplementedError; weft computes in one process."""
    raise NotImplementedError(
        "torch.distributed.init_process_group: weft computes in one process, with threads; run the program without processes "
        "of its own"
    )


def _uninitialized(name):
    def function(*args, **kwargs):
        raise ValueError(f"torch.distributed.{name}: {NOT_INITIALIZED}")

    function.__name__ = function.__qualname__ = name
    return function


for _name in """
    get_rank get_world_size get_backend barrier monitored_barrier all_reduce all_gather all_gather_into_tensor
    all_gather_object all_gather_coalesced all_to_all all_to_all_single broadcast broadcast_object_list gather
    gather_object reduce reduce_scatter reduce_scatter_tensor scatter scatter_object_list send recv isend irecv new_group
    new_subgroups new_subgroups_by_enumeration batch_isend_irecv get_process_group_ranks get_group_rank get_global_rank
    get_backend_config get_default_backend_for_device send_object_list recv_object_list split_group
""".split():
    globals()[_name] = _uninitialized(_name)


def destroy_process_group(group=None):
    raise AssertionError("Process group cannot be None")


class P2POp:
    """raises: ValueError."""

    def __init__(self, op, tensor, peer=None, group=None, tag=0, group_peer=None):
        raise ValueError(f"torch.distributed.P2POp: {NOT_INITIALIZED}")


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
