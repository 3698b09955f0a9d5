"""What the ranks of test_distributed.py run: distributed_programs.py FUNCTION ARGUMENT..."""

import importlib.util
import json
import os
import pathlib
import signal
import sys
import time

import numpy as np
import weft
import weft.distributed as dist
from weft.distributed import functional

ROOT = pathlib.Path(__file__).resolve().parents[2]


def raised(error, function, *arguments):
    try:
        function(*arguments)
    except error as found:
        return str(found)
    raise AssertionError(f"no {error.__name__}")


def collectives():
    """Every collective beside NumPy's answer for all ranks' operands."""
    rank, ranks = dist.get_rank(), dist.get_world_size()
    reductions = {"sum": np.sum, "product": np.prod, "min": np.min, "max": np.max}

    def operand(of, dtype, shape):
        generator = np.random.default_rng([of, *shape])
        return (generator.integers(1, 5, shape)).astype(dtype)

    for dtype in ("int8", "uint8", "int16", "int32", "int64", "float16", "float32", "float64"):
        for shape in ((), (1,), (3,), (2, 5), (0, 4), (4 * ranks, 3), (70_001,)):
            all_operands = np.stack([operand(of, dtype, shape) for of in range(ranks)])
            x = weft.tensor(all_operands[rank])
            for op, reduce in reductions.items():
                expected = reduce(all_operands, 0).astype(dtype)
                np.testing.assert_array_equal(functional.all_reduce(x, op).numpy(), expected)
                if shape and shape[0] % ranks == 0:
                    size = shape[0] // ranks
                    part = expected[rank * size : (rank + 1) * size]
                    np.testing.assert_array_equal(functional.reduce_scatter(x, op).numpy(), part)
            np.testing.assert_array_equal(x.numpy(), all_operands[rank])  # functional: the operand stays
            if shape:
                np.testing.assert_array_equal(functional.all_gather(x).numpy(), np.concatenate(all_operands))
            for src in range(ranks):
                np.testing.assert_array_equal(functional.broadcast(x, src).numpy(), all_operands[src])
    # Layouts, other dtypes.
    x = weft.tensor(np.arange(12.0).reshape(3, 4) * (rank + 1)).T
    total = ranks * (ranks + 1) // 2
    np.testing.assert_array_equal(functional.all_reduce(x).numpy(), np.arange(12.0).reshape(3, 4).T * total)
    flags = weft.tensor([rank == 0, True, False])
    assert functional.all_reduce(flags, "max").tolist() == [True, True, False]
    assert functional.all_reduce(flags, "min").tolist() == [ranks == 1, True, False]
    assert functional.all_reduce(weft.tensor([1 + 2j])).tolist() == [ranks * (1 + 2j)]
    assert functional.all_reduce(weft.tensor([1.5]).to(weft.bfloat16)).tolist() == [1.5 * ranks]
    assert "cannot be reduced so" in raised(TypeError, functional.all_reduce, flags)
    assert "did you mean 'sum'" in raised(ValueError, functional.all_reduce, x, "sun")
    if ranks > 1:
        assert f"multiple of {ranks} ranks" in raised(
            ValueError, functional.reduce_scatter, weft.ones(ranks + 1)
        )
    assert "at least one dimension" in raised(ValueError, functional.all_gather, weft.tensor(1.0))
    assert f"between 0 and {ranks - 1}" in raised(ValueError, functional.broadcast, x, ranks)
    # PyTorch's forms.
    y = weft.ones(2) * (rank + 1)
    assert dist.all_reduce(y) is y and y.tolist() == [total, total]
    assert dist.broadcast(weft.tensor([rank]), ranks - 1).tolist() == [ranks - 1]
    parts = [weft.zeros(2) for _ in range(ranks)]
    dist.all_gather(parts, weft.ones(2) * rank)
    assert [part.tolist() for part in parts] == [[of, of] for of in range(ranks)]
    output = weft.zeros(1)
    dist.reduce_scatter_tensor(output, weft.arange(float(ranks)))
    assert output.tolist() == [rank * ranks]
    assert dist.all_gather_into_tensor(weft.zeros(ranks, 1), weft.ones(1) * rank).tolist() == [[of] for of in range(ranks)]  # fmt: skip
    assert dist.broadcast_object({"a": [1, "b"]} if rank == 0 else None) == {"a": [1, "b"]}
    dist.barrier()
    found = dist.statistics(reset=True)
    assert found["calls"] > 100 and found["bytes"] > 0 and found["seconds"] > 0
    assert dist.statistics()["calls"] == 0
    assert dist.get_backend() == "mpi" and dist.launched()[:2] == (rank, ranks)
    assert "there is a process group already" in raised(RuntimeError, dist.init_process_group)
    assert weft.get_num_threads() >= 1


def gpus():
    """Collectives of tensors on the ranks' GPUs, by NCCL; those of the host go by MPI."""
    rank, ranks = dist.get_rank(), dist.get_world_size()
    local = (dist.launched() or (0, 1, 0, 1))[2]
    here = f"cuda:{local}"
    reductions = {"sum": np.sum, "product": np.prod, "min": np.min, "max": np.max}

    def checked(found, expected):
        assert str(found.device) == here
        np.testing.assert_array_equal(found.cpu().numpy(), expected)

    for dtype in ("int8", "uint8", "int16", "int32", "int64", "float16", "float32", "float64"):
        for shape in ((), (3,), (4 * ranks, 3), (600_001,)):
            generator = np.random.default_rng(len(shape))
            operands = generator.integers(1, 5, (ranks, *shape)).astype(dtype)
            x = weft.tensor(operands[rank]).to(here)
            for op, reduce in reductions.items():
                expected = reduce(operands, 0).astype(dtype)
                checked(functional.all_reduce(x, op), expected)
                if shape and shape[0] % ranks == 0:
                    checked(functional.reduce_scatter(x, op), np.split(expected, ranks)[rank])
            checked(x, operands[rank])  # the operand stays
            if shape:
                checked(functional.all_gather(x), np.concatenate(operands))
            for src in range(ranks):
                checked(functional.broadcast(x, src), operands[src])
    checked(
        functional.all_reduce(weft.arange(6.0).reshape(2, 3).to(here).T),
        np.arange(6.0).reshape(2, 3).T * ranks,
    )
    flags = weft.tensor([rank == 0, True, False]).to(here)
    checked(functional.all_reduce(flags, "max"), [True, True, False])
    assert functional.all_reduce(weft.tensor([1.5]).to(weft.bfloat16).to(here)).tolist() == [1.5 * ranks]
    y = weft.ones(2).to(here)
    assert dist.all_reduce(y) is y and y.tolist() == [ranks, ranks]
    assert functional.all_reduce(weft.ones(2)).tolist() == [ranks, ranks]  # on the host
    dist.barrier()
    assert dist.get_backend() == "nccl"
    if ranks > 1:
        message = raised(RuntimeError, functional.all_reduce, weft.ones(3 + rank).to(here))
        assert "rank 0 calls all_reduce(f32[3] cuda, sum)" in message
        message = raised(RuntimeError, functional.all_reduce, weft.ones(1).to(f"cuda:{1 - local}"))
        assert f"the tensor is on cuda:{1 - local}, and this rank's GPU is {here}" in message


def nccl_fails():
    message = raised(RuntimeError, functional.all_reduce, weft.ones(1).to("cuda:0"))
    assert "all_reduce: NCCL: internal error" in message


def mismatches():
    """Calls that do not belong together are errors on all ranks, and the group goes on."""
    rank = dist.get_rank()
    message = raised(RuntimeError, functional.all_reduce, weft.ones(3 + rank))
    assert f"rank {rank} of" in message and "rank 0 calls all_reduce(f32[3] cpu, sum)" in message
    assert "rank 1 calls all_reduce(f32[4] cpu, sum)" in message
    message = raised(
        RuntimeError, lambda: dist.barrier() if rank == 0 else functional.all_gather(weft.ones(2))
    )
    assert "rank 0 calls barrier(), rank 1 calls all_gather(f32[2] cpu)" in message
    assert "sum" in raised(RuntimeError, functional.all_reduce, weft.ones(2), "sum" if rank else "max")
    assert functional.all_reduce(weft.ones(1)).tolist() == [dist.get_world_size()]


def waits():
    """Rank 1 comes to no collective: the others say so, and so does what follows."""
    if dist.get_rank() == 1:
        time.sleep(1000)
    message = raised(RuntimeError, functional.all_reduce, weft.ones(3))
    assert f"rank {dist.get_rank()} of" in message and "all_reduce: waited 1 s for the other ranks" in message
    assert raised(RuntimeError, dist.barrier) == message
    print("told", flush=True)
    dist.destroy_process_group()


def dies():
    dist.barrier()
    if dist.get_rank() == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    while True:
        functional.all_reduce(weft.ones(3))


def lingers():
    """Goes on after the group's end."""
    dist.destroy_process_group()
    print(f"(pid {os.getpid()})", flush=True)
    time.sleep(1000)


def computes():
    print(f"(pid {os.getpid()})", flush=True)
    while True:
        pass


def fails():
    dist.barrier()
    if dist.get_rank() == 1:
        raise ValueError("rank 1 has had enough")
    while True:
        functional.all_reduce(weft.ones(3))


def compiled():
    """Collectives are nodes of one graph, in the order of the calls."""
    rank, ranks = dist.get_rank(), dist.get_world_size()

    def layer(x, w):
        dropped = functional.all_reduce(x * 3)  # no one takes it; the other ranks wait for it all the same
        a = functional.all_reduce(weft.relu(x @ w)) + x
        b = functional.all_reduce(weft.relu(x @ w)) * 2  # the same once more: not merged
        gathered = functional.all_gather(a)
        part = functional.reduce_scatter(gathered + functional.broadcast(b.sum(), 1))
        del dropped
        return a, part, functional.all_reduce(b, "max")

    fast = weft.compile(layer, fullgraph=True)
    for size in (4, 8, 8):
        x, w = weft.ones(size, 4) * (rank + 1), weft.ones(4, 4)
        before = dist.statistics()["calls"]
        expected = layer(x, w)
        calls = dist.statistics()["calls"] - before
        found = fast(x, w)
        assert dist.statistics()["calls"] - before == 2 * calls == 14
        for one, other in zip(expected, found):
            np.testing.assert_array_equal(one.numpy(), other.numpy())

    def in_place(x):
        dist.all_reduce(x)
        return x + 1

    x = weft.ones(3)
    assert weft.compile(in_place, fullgraph=True)(x).tolist() == [ranks + 1] * 3
    assert x.tolist() == [ranks] * 3


def _random_layers(seed, ranks):
    """A function of collectives and what lies between them, which may need them or not."""

    generator = np.random.default_rng(seed)
    choices = [tuple(map(int, generator.integers((i + 2, 2, 8)))) for i in range(16)]

    def function(x, y):
        values = [x, y]
        for first, second, kind in choices:
            a, b = values[first], values[-1 - second]
            if kind == 0:
                values.append(functional.all_reduce(b) * (1 / ranks))
            elif kind == 1:
                values.append(functional.all_reduce(b, "max") - a)
            elif kind == 2:
                values.append(functional.all_gather(b)[: b.shape[0]])
            elif kind == 3:
                values.append(weft.cat([functional.reduce_scatter(b) * 0.25] * ranks))
            elif kind == 4:
                values.append(functional.broadcast(b, 1) + 1)
            elif kind == 5:
                values.append(weft.tanh(a @ b))
            elif kind == 6:
                values.append(a + weft.sin(b))
            else:
                values.append(a - weft.mean(b, -1, keepdim=True))
        return tuple(values[-4:])

    return function


def overlaps(programs):
    """Collectives that are under way beside other work give what they give alone; small and long messages."""
    rank, ranks = dist.get_rank(), dist.get_world_size()
    for seed in range(int(programs)):
        size = (8, 64, 256)[seed % 3]
        generator = np.random.default_rng([seed, rank])
        x, y = (weft.tensor(generator.normal(0, 0.2, (size, size)).astype("float32")) for _ in range(2))
        function = _random_layers(seed, ranks)
        expected = function(x, y)
        fast = weft.compile(function, fullgraph=True, mode="reduce-overhead")
        for _ in range(3):
            for one, other in zip(expected, fast(x, y), strict=True):
                np.testing.assert_allclose(other.numpy(), one.numpy(), rtol=1e-4, atol=1e-4)


def norm_behind_a_sum():
    """A row-parallel product, the sum over the ranks, residual and norm, beside a product that needs none of them."""

    def layer(x, w, residual, scale, other):
        h = residual + functional.all_reduce(x @ w)
        normed = h * weft.rsqrt((h * h).mean(-1, keepdim=True) + 1e-5) * scale
        return normed, other @ other

    arguments = weft.ones(4, 64), weft.ones(64, 64), weft.ones(4, 64), weft.ones(64), weft.ones(64, 64)
    weft.compile(layer, fullgraph=True)(*arguments)


def _under_way(timed_out):
    """Rank 1 does not come to a wait, or not even to the call: the others say so."""

    def layer(x, w):
        total = functional.all_reduce(x)
        return total @ (w @ w)

    fast = weft.compile(layer, fullgraph=True)
    x = weft.ones(700, 700)
    fast(x, x)
    dist.barrier()
    if dist.get_rank() == 1:
        time.sleep(1000) if timed_out else os.kill(os.getpid(), signal.SIGKILL)
    while True:
        fast(x, x)


def dies_under_way():
    _under_way(False)


def waits_under_way():
    message = raised(RuntimeError, _under_way, True)
    assert f"rank {dist.get_rank()} of" in message and "all_reduce: waited 1 s for the other ranks" in message
    assert raised(RuntimeError, dist.barrier) == message.split("\n")[0]
    print("told", flush=True)
    dist.destroy_process_group()


MODELS = {
    "float32": {"dtype": "float32"},
    "bfloat16": {"dtype": "bfloat16"},
    "int8": {"quantize": "int8"},
    "int4-g32": {"quantize": "int4-g32"},
}


def models(folder, names=",".join(MODELS)):
    """Texts of a model over the ranks, and those of the same model alone."""
    for options in map(MODELS.get, names.split(",")):
        alone = weft.models.Llama.from_pretrained(folder, **options)
        expected = alone.generate("Once", max_new_tokens=60)
        for execution in ("compiled", "static", "eager"):
            model = weft.models.Llama.from_pretrained(
                folder, **options, execution=execution, tensor_parallel=True
            )
            assert model.bytes_per_token < alone.bytes_per_token
            assert model.generate("Once", max_new_tokens=60) == expected, (options, execution)
        cache = model.make_cache()
        logits = model.forward([1, 2, 3], cache, all_logits=True)
        one = alone.forward([1, 2, 3], alone.make_cache(), all_logits=True)
        np.testing.assert_allclose(logits.numpy(), one.numpy(), atol=2e-3)
        text = model.generate("Once", max_new_tokens=60, draft="prompt-lookup")
        assert text == expected
        sampled = [m.generate("Once", max_new_tokens=30, temperature=0.5, seed=3) for m in (model, alone)]
        assert sampled[0] == sampled[1]
        assert dist.tensor_parallel.apply(alone) is alone
        assert alone.bytes_per_token == model.bytes_per_token
        assert alone.generate("Once", max_new_tokens=60) == expected


def families(root, *names):
    """Logits of small random checkpoints in the folder, over the ranks and alone."""
    tokens = [(7 + 29 * i) % 300 for i in range(40)]
    for name in names:
        for cache_dtype, execution in (("float32", "compiled"), ("float32", "eager"), ("int8", "compiled")):
            shared, alone = (
                weft.models.CausalModel.from_pretrained(
                    f"{root}/{name}", cache_dtype=cache_dtype, execution=execution, tensor_parallel=divided
                )
                for divided in (True, False)
            )
            caches = shared.make_cache(), alone.make_cache()
            for part in (tokens[:9], tokens[9:10], tokens[10:]):
                got = shared(part, caches[0], all_logits=True).numpy()
                expected = alone(part, caches[1], all_logits=True).numpy()
                # A sum in another order may round a key to the next of 255 numbers.
                atol = (1e-3 if cache_dtype == "float32" else 0.05) * expected.std()
                np.testing.assert_allclose(got, expected, rtol=0, atol=atol, err_msg=f"{name} {cache_dtype}")


def modules(folder, scheme):
    """examples/gpt.py over the ranks."""
    spec = importlib.util.spec_from_file_location("gpt", ROOT / "examples/gpt.py")
    gpt = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(gpt)

    def load():
        model = gpt.load(folder)
        return model if scheme == "none" else gpt.quantize(model, scheme)

    expected = list(gpt.generate(load(), [1], 60))
    model = dist.tensor_parallel.apply(load())
    assert list(gpt.generate(model, [1], 60)) == expected
    fast = weft.compile(gpt.decode_one_token, mode="reduce-overhead", fullgraph=True)
    model = dist.tensor_parallel.apply(load())
    assert list(gpt.generate(model, [1], 60, decode_one_token=fast)) == expected
    if scheme == "none":
        ids = json.loads((pathlib.Path(folder) / "expected.json").read_text())["greedy_ids"]
        assert [1, *expected] == ids[: 1 + len(expected)]


def main():
    function, *arguments = sys.argv[1:]
    backend = "nccl" if function in ("gpus", "nccl_fails") else "mpi"
    waits = function in ("waits", "waits_under_way")
    # Without the ranks' comparing their calls they do not wait for each other when one begins.
    dist.init_process_group(backend, timeout=1 if waits else 60, check="under_way" not in function)
    globals()[function](*arguments)
    if dist.is_initialized():
        print(f"rank {dist.get_rank()} is done", flush=True)


if __name__ == "__main__":
    main()
