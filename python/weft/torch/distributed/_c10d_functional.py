"""torch.ops._c10d_functional: what functional collectives end in."""

from . import _functional_collectives as _named
from ._functional_collectives import wait_tensor  # noqa: F401


def all_reduce(input, reduce_op, group_name):
    return _named.all_reduce(input, reduce_op, group_name)


def all_gather_into_tensor(input, group_size, group_name):
    return _named.all_gather_tensor(input, 0, group_name)


def reduce_scatter_tensor(input, reduce_op, group_size, group_name):
    return _named.reduce_scatter_tensor(input, reduce_op, 0, group_name)


def broadcast(input, src, group_name):
    return _named.broadcast(input, src, group_name)
