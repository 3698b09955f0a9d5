"""torch.distributed's names over one rank, and over two that mpirun starts."""

import pathlib
import sys

import pytest
import weft.torch as torch

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "python"))
from test_distributed import mpirun, needs_mpi

dist = torch.distributed


@pytest.fixture
def alone():
    dist.init_process_group("gloo", rank=0, world_size=1)
    yield
    if dist.is_initialized():
        dist.destroy_process_group()


def test_from_torchruns_variables(monkeypatch):
    monkeypatch.setenv("RANK", "0")
    with pytest.raises(ValueError, match="environment variable WORLD_SIZE expected, but not set"):
        dist.init_process_group("nccl")
    monkeypatch.setenv("WORLD_SIZE", "1")
    dist.init_process_group("nccl")
    assert dist.get_backend() == "nccl" and dist.group.WORLD is dist.GroupMember.WORLD is not None
    with pytest.raises(ValueError, match="twice"):
        dist.init_process_group("nccl")
    dist.destroy_process_group()
    assert not dist.is_initialized() and dist.group.WORLD is None
    with pytest.raises(AssertionError, match="Process group cannot be None"):
        dist.destroy_process_group()
    with pytest.raises(ValueError, match="Invalid backend: 'gloos'"):
        dist.init_process_group("gloos")
    with pytest.raises(ValueError, match="expected a rank from 0 to 1, got 2"):
        dist.init_process_group("gloo", rank=2, world_size=2)
    with pytest.raises(RuntimeError, match="run mpirun -n 2 in torchrun's place"):
        dist.init_process_group("gloo", rank=1, world_size=2)
    with pytest.raises(ValueError, match="rank and world_size are needed"):
        dist.init_process_group("gloo", init_method="tcp://127.0.0.1:5000")
    assert not dist.is_initialized()


def test_collectives_of_one_rank(alone):
    x = torch.arange(4.0)
    for op in (dist.ReduceOp.SUM, dist.ReduceOp.AVG, dist.ReduceOp.MAX, "product"):
        assert dist.all_reduce(x, op) is None
    assert dist.all_reduce(x, async_op=True).wait() and x.tolist() == [0, 1, 2, 3]
    y = [torch.zeros(4)]
    for call in (
        lambda: dist.all_gather(y, x),
        lambda: dist.all_gather_into_tensor(y[0], x),
        lambda: dist.gather(x, y),
        lambda: dist.reduce_scatter(y[0], [x]),
        lambda: dist.reduce_scatter_tensor(y[0], x),
        lambda: dist.scatter(y[0], [x]),
        lambda: dist.all_to_all(y, [x]),
        lambda: dist.all_to_all_single(y[0], x),
    ):
        y[0].zero_()
        call()
        assert torch.equal(y[0], x)
    dist.broadcast(x, 0)
    dist.reduce(x, 0)
    dist.barrier()
    values = [None]
    dist.all_gather_object(values, {"a": x})
    assert torch.equal(values[0]["a"], x)
    dist.broadcast_object_list(values, 0)
    dist.gather_object(3, values)
    dist.scatter_object_list(values, [(values[0], 4)])
    assert values == [(3, 4)]


def test_groups(alone):
    group = dist.new_group([0])
    assert (dist.get_rank(group), dist.get_world_size(group), dist.get_process_group_ranks(group)) == (
        0,
        1,
        [0],
    )
    assert dist.get_global_rank(group, 0) == dist.get_group_rank(group, 0) == group.rank() == 0
    assert isinstance(group, dist.ProcessGroup) and dist.get_rank(dist.GroupMember.NON_GROUP_MEMBER) == -1
    with pytest.raises(RuntimeError, match="within the world_size"):
        dist.new_group([0, 1])
    with pytest.raises(ValueError, match="expected 1 tensors, one per rank, got 2"):
        dist.all_gather([torch.ones(1)] * 2, torch.ones(1))
    with pytest.raises(NotImplementedError, match="no RedOpType.BXOR"):
        dist.all_reduce(torch.ones(1), dist.ReduceOp.BXOR)
    with pytest.raises(NotImplementedError, match="send is PyTorch's, but not weft's"):
        dist.send(torch.ones(1), 0)
    with pytest.raises(ValueError, match="rank 1 is none of"):
        dist.broadcast(torch.ones(1), 1)


def test_functional_collectives_in_compiled_functions(alone):
    from weft.torch.distributed import _functional_collectives as funcol

    def function(x):
        y = funcol.all_gather_tensor(x, 1, [0]) + funcol.wait_tensor(funcol.all_reduce(x, "sum", [0]))
        return funcol.reduce_scatter_tensor(y, "sum", 0, dist.group.WORLD) + funcol.broadcast(x, 0, [0])

    x = torch.arange(6.0).reshape(2, 3)
    assert torch.equal(function(x), x * 3)
    assert torch.equal(torch.compile(function, fullgraph=True)(x), x * 3)


PROGRAM = """
import torch
import torch.distributed as dist
from torch.distributed import _functional_collectives as funcol

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
assert size == 2
x = torch.arange(4.0) + 10 * rank
total = x.clone(); dist.all_reduce(total); assert total.tolist() == [10, 12, 14, 16]
mean = x.clone(); dist.all_reduce(mean, dist.ReduceOp.AVG); assert mean.tolist() == [5, 6, 7, 8]
most = x.clone(); dist.all_reduce(most, dist.ReduceOp.MAX); assert most.tolist() == [10, 11, 12, 13]
one = x.clone(); dist.reduce(one, 1); assert torch.equal(one, total if rank == 1 else x)
both = [torch.zeros(4), torch.zeros(4)]
dist.all_gather(both, x); assert both[1].tolist() == [10, 11, 12, 13]
flat = torch.zeros(8); dist.all_gather_into_tensor(flat, x); assert flat.tolist() == both[0].tolist() + both[1].tolist()
dist.gather(x, both if rank == 0 else None)
part = torch.zeros(2); dist.reduce_scatter_tensor(part, x); assert part.tolist() == total[2 * rank : 2 * rank + 2].tolist()
dist.reduce_scatter(part, [x[:2], x[2:]]); assert part.tolist() == total[2 * rank : 2 * rank + 2].tolist()
own = torch.zeros(4); dist.scatter(own, [x, x + 1] if rank == 1 else None, src=1); assert own.tolist() == [10 + rank + i for i in range(4)]
a, b = torch.zeros(2), torch.zeros(2)
dist.all_to_all([a, b], [x[:2], x[2:]]); assert a.tolist() == [2 * rank, 2 * rank + 1] and b.tolist() == [10 + 2 * rank, 11 + 2 * rank]
dist.all_to_all_single(own, x); assert own.tolist() == a.tolist() + b.tolist()
y = x.clone(); dist.broadcast(y, 1); assert y.tolist() == [10, 11, 12, 13]
values = [None, None]
dist.all_gather_object(values, {"rank": rank}); assert values == [{"rank": 0}, {"rank": 1}]
values = ["a", rank]; dist.broadcast_object_list(values, 1); assert values == ["a", 1]
got = [None]; dist.scatter_object_list(got, ["x", "y"] if rank == 0 else None, 0); assert got == ["xy"[rank]]
alone = [dist.new_group([k]) for k in range(2)]
assert dist.get_rank(alone[rank]) == 0 and alone[1 - rank] == dist.GroupMember.NON_GROUP_MEMBER
z = x.clone(); dist.all_reduce(z, group=alone[rank]); assert torch.equal(z, x)
compiled = torch.compile(lambda x: funcol.all_reduce(x * 2, "sum", [0, 1]) + 1, fullgraph=True)
assert compiled(x).tolist() == [21, 25, 29, 33]
assert funcol.all_gather_tensor(x[None], 1, [0, 1]).tolist() == [flat.tolist()]
assert funcol.reduce_scatter_tensor(x[None], "sum", 1, [0, 1]).tolist() == [part.tolist()]
dist.barrier()
dist.destroy_process_group()
print(f"rank {rank} is done\\n", end="", flush=True)
"""


@needs_mpi
@pytest.mark.parametrize("backend", ["gloo", "cpu:gloo,cuda:nccl"])
def test_two_ranks(tmp_path, backend):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM.replace("gloo", backend))
    done = mpirun(2, "-m", "weft.torch", str(path))
    assert all(f"rank {rank} is done" in done.stdout for rank in range(2))
