"""What torch.autograd.forward_ad answers: no tensor has a tangent."""

import collections

UnpackedDualTensor = collections.namedtuple("UnpackedDualTensor", "primal tangent")


def unpack_dual(tensor, *, level=None):
    """(primal, tangent): the tensor itself and None."""
    return UnpackedDualTensor(tensor, None)
