"""torch.distributed's collectives, over weft.distributed's for more than one rank."""

import pickle

import weft
from weft.distributed import functional

from . import _group
from ._names import RedOpType


def _done(async_op):
    return _group.Work() if async_op else None


def total(name, tensor, op, group):
    """The ranks' reduced tensor; the tensor itself of one rank."""
    many = _group.members(name, group).size()
    word, is_mean = _group.reduced(op, name)
    if many == 1:
        return tensor
    result = functional.all_reduce(tensor, word)
    return result / many if is_mean else result


def gathered(name, tensor, group):
    """[ranks, ...] of the ranks' tensors."""
    tensor = tensor.unsqueeze(0)
    return tensor if _group.members(name, group).size() == 1 else functional.all_gather(tensor.contiguous())


def scattered(name, tensor, op, group):
    """This rank's part of the ranks' reduced [ranks * n, ...]."""
    many = _group.members(name, group).size()
    word, is_mean = _group.reduced(op, name)
    if many == 1:
        return tensor
    result = functional.reduce_scatter(tensor.contiguous(), word)
    return result / many if is_mean else result


def sent(name, tensor, src, group):
    """The tensor of rank src."""
    own = _group.members(name, group)
    if src not in own.ranks:
        raise ValueError(f"torch.distributed.{name}: rank {src} is none of {own.ranks}")
    return tensor if own.size() == 1 else functional.broadcast(tensor.contiguous(), src)


def _listed(name, tensors, group):
    many = _group.members(name, group).size()
    if len(tensors) != many:
        raise ValueError(
            f"torch.distributed.{name}: expected {many} tensors, one per rank, got {len(tensors)}"
        )
    return tensors


def _root(name, number, in_group, group):
    own = _group.members(name, group)
    return own.ranks[in_group] if in_group is not None else 0 if number is None else number


def all_reduce(tensor, op=RedOpType.SUM, group=None, async_op=False):
    tensor.copy_(total("all_reduce", tensor, op, group))
    return _done(async_op)


def reduce(tensor, dst=None, op=RedOpType.SUM, group=None, async_op=False, group_dst=None):
    result = total("reduce", tensor, op, group)
    if _group.world("reduce")._rank == _root("reduce", dst, group_dst, group):
        tensor.copy_(result)
    return _done(async_op)


def broadcast(tensor, src=None, group=None, async_op=False, group_src=None):
    tensor.copy_(sent("broadcast", tensor, _root("broadcast", src, group_src, group), group))
    return _done(async_op)


def all_gather(tensor_list, tensor, group=None, async_op=False):
    _listed("all_gather", tensor_list, group)
    for own, one in zip(tensor_list, gathered("all_gather", tensor, group)):
        own.copy_(one)
    return _done(async_op)


def all_gather_into_tensor(output_tensor, input_tensor, group=None, async_op=False):
    result = gathered("all_gather_into_tensor", input_tensor, group)
    if output_tensor.numel() != result.numel():
        raise ValueError(
            "output tensor size must be equal to world_size times input tensor size: expected "
            f"{result.numel()} elements, got {tuple(output_tensor.shape)}"
        )
    output_tensor.copy_(result.reshape(output_tensor.shape))
    return _done(async_op)


def gather(tensor, gather_list=None, dst=None, group=None, async_op=False, group_dst=None):
    result = gathered("gather", tensor, group)
    if _group.world("gather")._rank == _root("gather", dst, group_dst, group):
        for own, one in zip(_listed("gather", gather_list or [], group), result):
            own.copy_(one)
    return _done(async_op)


def reduce_scatter(output, input_list, op=RedOpType.SUM, group=None, async_op=False):
    _listed("reduce_scatter", input_list, group)
    output.copy_(scattered("reduce_scatter", weft.stack(list(input_list)), op, group).reshape(output.shape))
    return _done(async_op)


def reduce_scatter_tensor(output, input, op=RedOpType.SUM, group=None, async_op=False):
    output.copy_(scattered("reduce_scatter_tensor", input, op, group).reshape(output.shape))
    return _done(async_op)


def scatter(tensor, scatter_list=None, src=None, group=None, async_op=False, group_src=None):
    own, root = _group.members("scatter", group), _root("scatter", src, group_src, group)
    if own._rank == root:
        parts = weft.stack(list(_listed("scatter", scatter_list or [], group)))
    else:
        parts = weft.zeros([own.size(), *tensor.shape], dtype=tensor.dtype)
    tensor.copy_(sent("scatter", parts, root, group)[own.rank()])
    return _done(async_op)


def all_to_all(output_tensor_list, input_tensor_list, group=None, async_op=False):
    own = _group.members("all_to_all", group)
    _listed("all_to_all", input_tensor_list, group)
    found = gathered("all_to_all", weft.stack(list(input_tensor_list)), group)
    for number, output in enumerate(_listed("all_to_all", output_tensor_list, group)):
        output.copy_(found[number, own.rank()])
    return _done(async_op)


def all_to_all_single(
    output, input, output_split_sizes=None, input_split_sizes=None, group=None, async_op=False
):
    own = _group.members("all_to_all_single", group)
    if own.size() > 1 and (output_split_sizes or input_split_sizes):
        raise NotImplementedError(
            "torch.distributed.all_to_all_single: weft sends parts of one size to each rank"
        )
    parts = input.reshape([own.size(), input.shape[0] // own.size(), *input.shape[1:]])
    output.copy_(gathered("all_to_all_single", parts, group)[:, own.rank()].reshape(output.shape))
    return _done(async_op)


def barrier(group=None, async_op=False, device_ids=None):
    if _group.members("barrier", group).size() > 1:
        weft.distributed.barrier()
    return _done(async_op)


def monitored_barrier(group=None, timeout=None, wait_all_ranks=False):
    barrier(group)


# ---- objects -----------------------------------------------------------------------------------------------------
def _all_objects(name, value, group):
    """The ranks' values, as pickles have them."""
    if _group.members(name, group).size() == 1:
        return [value]
    own = weft.tensor(list(pickle.dumps(value)), dtype=weft.uint8)
    lengths = gathered(name, weft.tensor([own.shape[0]]), group).reshape([-1]).tolist()
    padded = weft.zeros([max(lengths)], dtype=weft.uint8)
    padded[: own.shape[0]] = own
    rows = gathered(name, padded, group)
    return [pickle.loads(bytes(rows[number, :size].tolist())) for number, size in enumerate(lengths)]


def all_gather_object(object_list, obj, group=None):
    object_list[:] = _all_objects("all_gather_object", obj, group)


def gather_object(obj, object_gather_list=None, dst=None, group=None, group_dst=None):
    found = _all_objects("gather_object", obj, group)
    if _group.world("gather_object")._rank == _root("gather_object", dst, group_dst, group):
        object_gather_list[:] = found


def broadcast_object_list(object_list, src=None, group=None, device=None, group_src=None, weights_only=None):
    root = _root("broadcast_object_list", src, group_src, group)
    object_list[:] = _all_objects("broadcast_object_list", list(object_list), group)[root]


def scatter_object_list(
    scatter_object_output_list, scatter_object_input_list=None, src=None, group=None, group_src=None
):
    own, root = (
        _group.members("scatter_object_list", group),
        _root("scatter_object_list", src, group_src, group),
    )
    found = _all_objects("scatter_object_list", scatter_object_input_list, group)[
        root if own.size() > 1 else 0
    ]
    scatter_object_output_list[0] = found[own.rank()]


FUNCTIONS = {
    function.__name__: function
    for function in (
        all_reduce, reduce, broadcast, all_gather, all_gather_into_tensor, gather, reduce_scatter, reduce_scatter_tensor,
        scatter, all_to_all, all_to_all_single, barrier, monitored_barrier, all_gather_object, gather_object,
        broadcast_object_list, scatter_object_list)
}  # fmt: skip
FUNCTIONS["_all_gather_base"], FUNCTIONS["_reduce_scatter_base"] = (
    all_gather_into_tensor,
    reduce_scatter_tensor,
)


def _one_by_one(name):
    def function(*args, **kwargs):
        _group.world(name)
        raise NotImplementedError(
            f"torch.distributed.{name} is PyTorch's, but not weft's: ranks compute together, by collectives"
        )

    function.__name__ = function.__qualname__ = name
    return function


for _name in """
    send recv isend irecv batch_isend_irecv send_object_list recv_object_list new_subgroups new_subgroups_by_enumeration
    split_group all_gather_coalesced
""".split():
    FUNCTIONS[_name] = _one_by_one(_name)
