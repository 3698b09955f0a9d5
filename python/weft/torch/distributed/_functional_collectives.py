"""torch.distributed._functional_collectives: collectives that give new tensors, also in compiled functions."""

from .. import _absent
from . import _collectives


def all_reduce(self, reduceOp, group, tag=""):
    """The ranks' reduced tensor."""
    return _collectives.total("all_reduce", self, reduceOp, group).clone()


def all_gather_tensor(self, gather_dim, group, tag=""):
    """The ranks' tensors, one behind another along a dimension."""
    found = _collectives.gathered("all_gather_tensor", self, group)
    moved = found.movedim(0, gather_dim)
    shape = list(self.shape)
    shape[gather_dim] *= found.shape[0]
    return moved.reshape(shape)


def reduce_scatter_tensor(self, reduceOp, scatter_dim, group, tag=""):
    """This rank's part along a dimension of the ranks' reduced tensor."""
    found = _collectives.scattered("reduce_scatter_tensor", self.movedim(scatter_dim, 0), reduceOp, group)
    return found.movedim(0, scatter_dim).contiguous()


def broadcast(self, src, group, tag=""):
    """The tensor of rank src."""
    return _collectives.sent("broadcast", self, src, group).clone()


def wait_tensor(tensor):
    """The tensor: collectives are done when they return."""
    return tensor


__getattr__ = _absent.names(__name__)
