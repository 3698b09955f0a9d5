"""torch.distributed.tensor: how tensors would lie on several processes. Placements are described; no tensor is distributed."""

import dataclasses

from .. import _absent

__path__ = []  # the modules below are made by the table


class Placement:
    """Where the parts of a tensor lie along a dimension of a mesh."""

    def is_shard(self, dim=None):
        return False

    def is_replicate(self):
        return False

    def is_partial(self, reduce_op=None):
        return False


@dataclasses.dataclass(frozen=True)
class Shard(Placement):
    """A part of dimension dim each."""

    dim: int

    def is_shard(self, dim=None):
        return dim is None or dim == self.dim

    def __str__(self):
        return f"S({self.dim})"

    def __repr__(self):
        return f"Shard(dim={self.dim})"


@dataclasses.dataclass(frozen=True)
class _StridedShard(Shard):
    """A part of dimension dim each, of every of split_factor groups."""

    split_factor: int = dataclasses.field(kw_only=True)

    def __str__(self):
        return f"_S({self.dim}, {self.split_factor})"

    def __repr__(self):
        return f"_StridedShard(dim={self.dim}, sf={self.split_factor})"


@dataclasses.dataclass(frozen=True)
class Replicate(Placement):
    """The whole tensor each."""

    def is_replicate(self):
        return True

    def __str__(self):
        return "R"

    def __repr__(self):
        return "Replicate()"


@dataclasses.dataclass(frozen=True)
class Partial(Placement):
    """A term each of a reduction that has yet to be made."""

    reduce_op: str = "sum"

    def is_partial(self, reduce_op=None):
        return reduce_op is None or reduce_op == self.reduce_op

    def __str__(self):
        return f"P({self.reduce_op})"

    def __repr__(self):
        return f"Partial({self.reduce_op})"


__getattr__ = _absent.names(__name__)
