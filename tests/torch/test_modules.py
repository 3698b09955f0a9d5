"""The modules of torch that programs import, and what they answer on a machine without a GPU."""

import concurrent.futures
import importlib
import io
import pickle
import threading

import numpy as np
import pytest
import weft
import weft.torch as torch
from weft.torch import _absent, _absent_names

MODULES = """
    accelerator amp amp.autocast_mode amp.grad_scaler ao ao.quantization autograd autograd.function autograd.functional
    autograd.grad_mode autograd.graph autograd.profiler backends backends.cpu backends.cuda backends.cudnn backends.mha
    backends.mkl backends.mkldnn backends.mps backends.nnpack backends.openmp backends.opt_einsum backends.quantized
    classes compiler cpu cpu.amp cuda cuda.amp cuda.graphs cuda.memory cuda.nvtx cuda.random cuda.streams distributed
    distributed.checkpoint distributed.device_mesh distributed.distributed_c10d distributed.fsdp distributed.fsdp.wrap
    distributed.tensor distributed.tensor.parallel distributions export fft functional fx fx.experimental
    fx.experimental.symbolic_shapes fx.proxy hub jit jit.annotations library linalg masked mps mtia multiprocessing nested nn
    nn.functional nn.init nn.modules nn.modules.batchnorm nn.modules.utils nn.parameter nn.quantized nn.utils nn.utils.rnn
    onnx ops optim optim.lr_scheduler overrides package profiler quantization serialization sparse special storage testing
    torch_version types typing utils utils.benchmark utils.checkpoint utils.collect_env utils.cpp_extension utils.data
    utils.data.dataloader utils.data.dataset utils.data.distributed utils.data.sampler utils.dlpack utils.hooks
    utils.model_zoo utils.tensorboard utils._pytree version xpu _dynamo _dynamo.config _functorch.config _inductor
    _inductor.config _ops _tensor _higher_order_ops _subclasses _C _C._nn _dynamo._trace_wrapped_higher_order_op
    _higher_order_ops.associative_scan distributed.tensor._utils distributed.tensor.placement_types
    distributed.checkpoint.default_planner distributions.constraints distributions.multivariate_normal return_types
    utils._python_dispatch
""".split()


@pytest.mark.parametrize("name", MODULES)
def test_modules_are_imported(name):
    importlib.import_module(f"weft.torch.{name}")


def test_names_that_are_not_there_say_why():
    for reason, modules in _absent_names.MODULES.items():
        for name, names in modules.items():
            module = importlib.import_module(f"weft.torch.{name}")
            for public in names.split()[:3]:
                value = getattr(module, public)
                if type(value) is _absent._Absent:
                    with pytest.raises(NotImplementedError, match=f"not weft's: {reason[:20]}"):
                        value(1)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        getattr(importlib.import_module("weft.torch.optim"), "nothing")  # noqa: B009
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("weft.torch.nothing")


def test_cuda_answers_as_without_a_gpu():
    cuda = torch.cuda
    assert not cuda.is_available() and cuda.device_count() == 0 and not cuda.is_initialized()
    assert cuda.memory_allocated() == 0 and cuda.empty_cache() is None and cuda.manual_seed_all(1) is None
    for name in ("get_device_name", "current_device", "synchronize", "get_device_properties", "mem_get_info"):
        with pytest.raises(RuntimeError, match="NVIDIA"):
            getattr(cuda, name)()
    with pytest.raises(RuntimeError):
        cuda.Stream()
    with pytest.raises(RuntimeError):
        cuda.Event(enable_timing=True).record()
    with cuda.device(0), cuda.stream(None):
        pass
    assert issubclass(cuda.OutOfMemoryError, RuntimeError)
    with pytest.warns(UserWarning, match="CUDA is not available"):
        assert not torch.amp.GradScaler("cuda").is_enabled()


def test_other_devices():
    assert (
        not torch.backends.mps.is_available()
        and not torch.xpu.is_available()
        and not torch.mtia.is_available()
    )
    assert not torch.accelerator.is_available() and torch.accelerator.current_accelerator() is None
    with pytest.raises(RuntimeError):
        torch.mps.synchronize()
    with pytest.raises(AssertionError):
        torch.xpu.synchronize()
    assert torch.cpu.is_available() and torch.cpu.device_count() == 1 and torch.cpu.current_device() == "cpu"
    assert torch.backends.cpu.get_cpu_capability() in ("AVX2", "AVX512", "DEFAULT")


def test_settings_are_kept():
    cudnn, matmul = torch.backends.cudnn, torch.backends.cuda.matmul
    with cudnn.flags(enabled=False, benchmark=True):
        assert not cudnn.enabled and cudnn.benchmark
    assert cudnn.enabled and not cudnn.benchmark
    matmul.allow_tf32 = True
    assert matmul.allow_tf32
    matmul.allow_tf32 = False
    with pytest.raises(AttributeError, match="nothing"):
        matmul.nothing
    from weft.torch._dynamo import config

    with config.patch(cache_size_limit=64):
        assert config.cache_size_limit == 64
    assert config.cache_size_limit == 8
    with pytest.raises(AttributeError, match="torch._dynamo.config.nothing"):
        config.nothing


def test_versions_compare():
    version = torch.__version__
    assert (
        version == "2.15.0"
        and version >= "2.9"
        and version > (2, 2)
        and not version < "2.15.0"
        and version != "2.14"
    )
    assert isinstance(version, str) and version.split(".")[0] == "2"
    assert torch.version.cuda is None


def test_grad_modes():
    assert torch.is_grad_enabled()
    with torch.no_grad():
        assert not torch.is_grad_enabled()
        with torch.enable_grad():
            assert torch.is_grad_enabled()
    for decorator in (torch.no_grad, torch.no_grad(), torch.inference_mode, torch.inference_mode()):
        assert decorator(torch.is_grad_enabled)() is False
    assert torch.inference_mode()(torch.is_inference_mode_enabled)() and not torch.is_inference_mode_enabled()
    torch.set_grad_enabled(False)
    assert not torch.is_grad_enabled()
    with torch.set_grad_enabled(True):
        assert torch.is_grad_enabled()
    torch.set_grad_enabled(True)
    with pytest.raises(ValueError), torch.no_grad():
        raise ValueError
    assert torch.is_grad_enabled()
    with pytest.raises(RuntimeError, match="does not require grad"):
        torch.autograd.grad(torch.ones(1), torch.ones(1))


def _in_another_thread(function):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()


def test_names_of_the_build_and_of_torch_function():
    from weft.torch import __config__

    assert torch.__config__ is __config__ and "compiler" in torch.__config__.show().lower()
    function = torch._C._disabled_torch_function_impl
    assert function(torch.add, (), (torch.ones(1), 2), {"alpha": 3}).tolist() == [7]


def test_settings_of_the_thread():
    """PyTorch keeps these for each thread, and the rest (the default dtype, determinism) for the process."""

    def seen():
        modes = torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.is_autocast_enabled("cpu")
        return (
            *modes,
            torch.get_autocast_dtype("cpu"),
            torch.get_default_device().type,
            torch.get_default_dtype(),
        )

    usual = True, False, False, torch.bfloat16, "cpu", torch.float64
    torch.set_default_dtype(torch.float64)
    try:
        with torch.no_grad():
            assert seen()[:2] == (False, False) and _in_another_thread(seen) == usual
        with torch.inference_mode(), torch.autocast("cpu", dtype=torch.float16), torch.device("meta"):
            assert seen() == (False, True, True, torch.float16, "meta", torch.float64)
            assert _in_another_thread(seen) == usual
            _in_another_thread(lambda: torch.set_grad_enabled(True))
            assert not torch.is_grad_enabled()
            with torch.inference_mode(False):
                assert torch.is_grad_enabled() and not torch.is_inference_mode_enabled()
    finally:
        torch.set_default_dtype(torch.float32)


def test_grad_modes_of_threads_within_graphs():
    barrier = threading.Barrier(2)

    @torch.compile(fullgraph=True)
    def step(x, mode):
        before = torch.is_grad_enabled()
        torch.set_grad_enabled(mode)
        with torch.no_grad():
            y = x + torch.is_grad_enabled()
        return y, before, torch.is_grad_enabled()

    def walk(mode):
        seen = []
        for k in range(6):
            barrier.wait()
            seen.append(step(torch.zeros(1), mode if k % 2 else True)[1:])
        return seen, torch.is_grad_enabled()

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        kept, cleared = (run.result() for run in [pool.submit(walk, True), pool.submit(walk, False)])
    assert kept == ([(True, True)] * 6, True)
    assert cleared == ([(True, True)] + [(True, False), (False, True)] * 2 + [(True, False)], False)
    assert torch.is_grad_enabled()


def test_functions_of_autograd():
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, power):
            ctx.save_for_backward(x)
            ctx.power = power
            return x**power

    assert Square.apply(torch.tensor([3.0]), 2).tolist() == [9]

    class Later(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x + 1

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

    assert Later.apply(torch.ones(1)).tolist() == [2]
    with pytest.raises(RuntimeError, match="apply"):
        Square()


def test_grad_modes_and_others_within_graphs():
    def compute(x):
        with torch.no_grad():
            y = x * 2
        with torch.autocast("cpu", enabled=False):
            y = y + 1
        return y if torch.compiler.is_compiling() else y

    compute(torch.ones(1))
    compiled = torch.compile(compute, fullgraph=True)
    assert compiled(torch.ones(3)).tolist() == [3, 3, 3]
    assert torch.compile(torch.no_grad()(lambda x: x + 1), fullgraph=True)(torch.ones(2)).tolist() == [2, 2]


def test_autocast():
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.is_autocast_enabled("cpu") and torch.get_autocast_dtype("cpu") is torch.bfloat16
        assert not torch.is_autocast_enabled("cuda")
    assert not torch.is_autocast_enabled("cpu")
    with pytest.warns(UserWarning):
        torch.autocast("cuda")
    with pytest.raises(RuntimeError, match="nowhere"):
        torch.autocast("nowhere")


def test_distributed_without_a_group():
    distributed = importlib.import_module("weft.torch.distributed")
    assert distributed.is_available() and not distributed.is_initialized()
    for name in ("get_rank", "get_world_size", "barrier", "send"):
        with pytest.raises(ValueError, match="init_process_group"):
            getattr(distributed, name)()
    with pytest.raises(ValueError, match="RANK expected, but not set"):
        distributed.init_process_group("gloo")


def test_own_operators():
    library = importlib.import_module("weft.torch.library")

    @library.custom_op("tests::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    @twice.register_fake
    def _(x):
        return torch.empty_like(x)

    assert twice(torch.ones(1)).tolist() == torch.ops.tests.twice(torch.ones(1)).tolist() == [2]
    assert torch.ops.tests.twice.default(torch.ones(1)).tolist() == [2]
    lib = library.Library("tests", "FRAGMENT")
    lib.define("thrice(Tensor x) -> Tensor")
    with pytest.raises(NotImplementedError, match="thrice"):
        torch.ops.tests.thrice(torch.ones(1))
    lib.impl("thrice", lambda x: x * 3, "CPU")
    assert torch.ops.tests.thrice(torch.ones(1)).tolist() == [3]
    assert torch.ops.aten.sin.default(torch.zeros(1)).tolist() == [0]
    with pytest.raises(AttributeError, match="nothing"):
        torch.ops.aten.nothing
    with pytest.raises(ValueError, match="namespace::name"):
        library.custom_op("twice", mutates_args=())


def int4_pack(q, block, is_halved):
    """As PyTorch packs, byte by byte."""
    packed = []
    for first in range(0, len(q), block):
        rows = q[first : first + block]
        half = len(rows) // 2
        pairs = (rows[:half], rows[half:]) if is_halved and len(rows) == block else (rows[0::2], rows[1::2])
        packed.append((pairs[0] | pairs[1] << 4).T.reshape(len(rows), -1))
    return np.concatenate(packed)


@pytest.mark.parametrize("capability, block", [("avx512", 64), ("avx2", 32), ("default", 32)])
@pytest.mark.parametrize("rows", [16, 32, 48, 64, 112])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float16])
def test_int4_as_pytorch_packs(rows, dtype, capability, block, monkeypatch):
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", capability)
    assert torch.backends.cpu.get_cpu_capability() == capability.upper()
    q = np.arange(rows * 64).reshape(rows, 64) * 7 % 16
    packed = torch.ops.aten._convert_weight_to_int4pack_for_cpu(
        torch.tensor(q.tolist(), dtype=torch.int32), 1
    )
    assert packed.dtype is torch.uint8 and tuple(packed.shape) == (rows, 32)
    assert weft.unpack_int4_for_cpu(packed).tolist() == (q[:, 0::2] << 4 | q[:, 1::2]).tolist()
    np.testing.assert_array_equal(packed.numpy(), int4_pack(q, block, capability != "default"))
    x = torch.sin(torch.arange(3 * 64).reshape(3, 64) * 0.37).to(dtype)
    scales = torch.cos(torch.arange(2 * rows * 2).reshape(2, rows, 2) * 0.11).to(dtype)
    result = torch.ops.aten._weight_int4pack_mm_for_cpu(x, packed, 32, scales)
    s = scales.to(torch.float32).numpy()
    weight = (q.reshape(rows, 2, 32) - 8) * s[..., 0].T[:, :, None] + s[..., 1].T[:, :, None]
    expected = x.to(torch.float32).numpy() @ weight.reshape(rows, 64).T
    assert result.dtype is dtype
    np.testing.assert_allclose(
        result.to(torch.float32).numpy(),
        expected,
        rtol={torch.bfloat16: 1e-2, torch.float16: 2e-3, torch.float32: 1e-5}[dtype],
        atol=1e-3,
    )
    product = torch.compile(
        lambda x: torch.ops.aten._weight_int4pack_mm_for_cpu(x, packed, 32, scales), fullgraph=True
    )
    assert torch.equal(product(x), result)


@pytest.mark.parametrize("tiles", [2, 4, 8])
def test_int4_as_pytorch_packs_for_gpus(tiles):
    """The layout of matrix_to_m16n8k16_Bint4_layout, which checkpoints of int4 have."""
    rows, columns = 16, 256
    q = np.arange(rows * columns).reshape(rows, columns) * 7 % 16
    words = np.zeros((rows // 8, columns // (16 * tiles), 32, tiles // 2), np.int64)
    for block, outer, thread, pair in np.ndindex(*words.shape):
        base = outer * tiles * 16 + pair * 32 + thread % 4 * 2
        v = [int(q[block * 8 + thread // 4, base + step]) for step in (0, 1, 8, 9, 16, 17, 24, 25)]
        order = (7, 5, 3, 1, 6, 4, 2, 0)
        words[block, outer, thread, pair] = sum(v[i] << 28 - 4 * place for place, i in enumerate(order))
    expected = words.astype(np.uint32).view(np.int32)
    aten = torch.ops.aten
    packed = aten._convert_weight_to_int4pack(torch.tensor(q.tolist(), dtype=torch.int32), tiles)
    assert packed.dtype is torch.int32 and packed.tolist() == expected.tolist()
    two = torch.tensor((q[:, 0::2] << 4 | q[:, 1::2]).tolist(), dtype=torch.uint8)
    assert torch.equal(aten._convert_weight_to_int4pack(two, tiles), packed)
    x = torch.sin(torch.arange(3 * columns).reshape(3, columns) * 0.37).bfloat16()
    scales = torch.cos(torch.arange(columns // 32 * rows * 2).reshape(-1, rows, 2) * 0.11).bfloat16()

    def product(x):
        return aten._weight_int4pack_mm(x, packed, 32, scales)

    assert torch.equal(product(x), aten._weight_int4pack_mm(x, two, 32, scales))
    assert torch.equal(torch.compile(product, fullgraph=True)(x), product(x))
    first = product(x)
    packed.zero_()
    assert not torch.equal(product(x), first)


def test_int4_of_wrong_shapes():
    for shape, tiles, message in (
        ((12, 64), 2, "rows by 8"),
        ((16, 48), 2, "columns by 32"),
        ((16, 64), 3, "not 3"),
    ):
        with pytest.raises(RuntimeError, match=message):
            torch.ops.aten._convert_weight_to_int4pack(torch.zeros(shape, dtype=torch.int32), tiles)
    with pytest.raises(RuntimeError, match="int32 matrix"):
        torch.ops.aten._convert_weight_to_int4pack(torch.zeros((16, 64)), 8)
    with pytest.raises(RuntimeError, match="dividable by 16"):
        torch.ops.aten._convert_weight_to_int4pack_for_cpu(torch.zeros((20, 64), dtype=torch.int32), 1)
    with pytest.raises(RuntimeError, match="int32"):
        torch.ops.aten._convert_weight_to_int4pack_for_cpu(torch.zeros((16, 64)), 1)
    packed, scales = torch.zeros((16, 32), dtype=torch.uint8), torch.zeros((2, 16, 2))
    with pytest.raises(ValueError, match="one dtype"):
        torch.ops.aten._weight_int4pack_mm_for_cpu(torch.zeros((1, 64)).bfloat16(), packed, 32, scales)
    with pytest.raises(ValueError, match="16 divides"):
        torch.ops.aten._weight_int4pack_mm_for_cpu(torch.zeros((1, 64)), packed[:8], 32, scales)


def test_data_loaders():
    data = importlib.import_module("weft.torch.utils.data")
    pairs = data.TensorDataset(torch.arange(5), torch.arange(5) * 2)
    batches = list(data.DataLoader(pairs, batch_size=2, num_workers=2))
    assert [[part.tolist() for part in batch] for batch in batches] == [
        [[0, 1], [0, 2]],
        [[2, 3], [4, 6]],
        [[4], [8]],
    ]
    assert len(data.DataLoader(pairs, batch_size=2, drop_last=True)) == 2
    both = pairs + data.Subset(pairs, [3, 1])
    assert len(both) == 7 and both[5][0].item() == 3 and both[-1][0].item() == 1
    made = data.default_collate([{"a": 1, "b": (1.5, "x")}, {"a": 2, "b": (2.5, "y")}])
    assert made["a"].tolist() == [1, 2] and made["b"][0].dtype is torch.float64 and made["b"][1] == ("x", "y")
    assert list(data.BatchSampler(data.SequentialSampler(range(3)), 2, False)) == [[0, 1], [2]]
    with pytest.raises(ValueError, match="batch_size"):
        data.DataLoader(pairs, batch_size=0)
    with pytest.raises(TypeError, match="default_collate"):
        data.default_collate([object()])


def test_trees():
    pytree = importlib.import_module("weft.torch.utils._pytree")
    tree = {"a": [1, (2, 3)], "b": None, "c": {"d": 4}}
    leaves, spec = pytree.tree_flatten(tree)
    assert (
        leaves == [1, 2, 3, None, 4] and pytree.tree_unflatten(leaves, spec) == tree and spec.num_leaves == 5
    )
    assert pytree.tree_map(lambda x, y: x + y, [1, (2,)], [10, (20,)]) == [11, (22,)]
    assert pytree.tree_map_only(int, lambda x: x + 1, [1, "a"]) == [2, "a"]
    assert [pytree.keystr(path) for path, _ in pytree.tree_leaves_with_path(tree)][1] == "['a'][1][0]"
    with pytest.raises(ValueError, match="length 1"):
        pytree.tree_unflatten([1], spec)


def test_assert_close_tells_the_differences():
    close = torch.testing.assert_close
    close(torch.ones(2), torch.ones(2) + 1e-7)
    close({"a": [torch.ones(2), 1.0]}, {"a": [torch.ones(2), 1.0]})
    with pytest.raises(
        AssertionError,
        match=r"Mismatched elements: 1 / 2 \(50.0%\)\nGreatest absolute difference: 1.0 at index \(1,\)",
    ):
        close(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 1.0]))
    with pytest.raises(AssertionError, match="'shape' do not match"):
        close(torch.ones(2), torch.ones(3))
    with pytest.raises(AssertionError, match="'dtype' do not match: torch.float32 != torch.float64"):
        close(torch.ones(2), torch.ones(2).to(torch.float64))
    with pytest.raises(AssertionError, match=r"item \['a'\]"):
        close({"a": torch.ones(2)}, {"a": torch.zeros(2)})
    with pytest.raises(TypeError, match="No comparison pair"):
        close(torch.ones(2), [1.0, 1.0])
    with pytest.raises(
        AssertionError, match="Scalars are not equal!\n\nExpected 2 but got 1.\nAbsolute difference: 1"
    ):
        close(1, 2)
    with pytest.raises(ValueError, match="rtol"):
        close(1.0, 1.0, atol=1.0)


def test_hub_downloads_nothing(tmp_path):
    file = io.BytesIO()
    torch.save({"w": torch.ones(2)}, file)
    address = "https://example.org/models/weights.pth"
    with pytest.raises(RuntimeError, match="weights.pth"):
        torch.hub.load_state_dict_from_url(address, model_dir=tmp_path)
    (tmp_path / "weights.pth").write_bytes(file.getvalue())
    assert torch.hub.load_state_dict_from_url(address, model_dir=tmp_path)["w"].tolist() == [1, 1]
    assert torch.hub.HASH_REGEX.search("net-0f3a.pth").group(1) == "0f3a"
    assert torch.hub.get_dir() == f"{torch.hub._get_torch_home()}/hub"


def test_what_compilers_and_profilers_have():
    assert torch.compiler.list_backends() == ["weft"] and not torch.compiler.is_exporting()
    with torch.compiler.set_stance("force_eager"):
        pass
    with pytest.raises(RuntimeError, match="stance"):
        torch.compiler.set_stance("nothing")
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        with torch.profiler.record_function("mine"):
            torch.ones(2) + 1
    assert "mine" in {row.key for row in profile.key_averages()}
    assert "mine" in profile.key_averages().table(sort_by="cpu_time_total")
    benchmark = importlib.import_module("weft.torch.utils.benchmark")
    assert benchmark.Timer("x + 1", globals={"x": 1}).timeit(10).median > 0
    checkpoint = importlib.import_module("weft.torch.utils.checkpoint")
    assert checkpoint.checkpoint(lambda x, y=1: x + y, 1, use_reentrant=False, y=3) == 4


def test_distributions():
    distributions = importlib.import_module("weft.torch.distributions")
    loc, scale, value = torch.tensor([0.3, 1.2]), torch.tensor([0.5, 2.0]), torch.tensor([0.25, 0.7])
    for name, log_prob in (
        ("Laplace", [-0.1, -1.6363]),
        ("Cauchy", [-0.4615, -1.8985]),
        ("LogNormal", [-4.5267, -1.5583]),
        ("Normal", [-0.2308, -1.6433]),
    ):
        if name != "Normal" and not hasattr(torch, "broadcast_shapes"):
            pytest.skip("torch.broadcast_shapes is not there")
        found = getattr(distributions, name)(loc, scale).log_prob(value)
        np.testing.assert_allclose(found.numpy(), log_prob, atol=1e-4)
    with pytest.raises(ValueError, match="parameter scale"):
        distributions.Normal(loc, -scale)
    shares = torch.tensor([[0.2, 0.3, 0.5], [0.1, 0.6, 0.3]])
    categorical = distributions.Categorical(shares)
    np.testing.assert_allclose(
        categorical.log_prob(torch.tensor([1, 2])).numpy(), np.log([0.3, 0.3]), rtol=1e-6
    )
    np.testing.assert_allclose(categorical.entropy().numpy(), [1.0297, 0.8979], atol=1e-4)
    with pytest.raises(NotImplementedError, match="not weft's"):
        distributions.Wishart(1.0)


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda c: c.boolean, [False, True, False, True, False]),
        (lambda c: c.positive_integer, [False, False, False, True, True]),
        (lambda c: c.unit_interval, [False, True, True, True, False]),
        (lambda c: c.integer_interval(0, 1), [False, True, False, True, False]),
        (lambda c: c.cat([c.positive, c.real], 0, [2, 3]), [False, False, True, True, True]),
        (lambda c: c.real_vector, True),
        (lambda c: c.simplex, False),
    ],
)
def test_constraints(make, expected):
    constraints = importlib.import_module("weft.torch.distributions.constraints")
    assert make(constraints).check(torch.tensor([-1.0, 0.0, 0.5, 1.0, 2.0])).tolist() == expected


def test_constraints_of_matrices():
    constraints = importlib.import_module("weft.torch.distributions.constraints")
    matrix = torch.tensor([[[2.0, 1.0], [1.0, 2.0]], [[1.0, 2.0], [2.0, 1.0]]])
    assert constraints.positive_definite.check(matrix).tolist() == [True, False]
    assert constraints.symmetric.check(matrix[0]).item() and not constraints.lower_triangular.check(matrix[0])
    assert repr(constraints.greater_than(1.0)) == "GreaterThan(lower_bound=1.0)"
    with pytest.raises(ValueError, match="dependent"):
        constraints.dependent.check(matrix)


def test_checks():
    torch._check(True)
    with pytest.raises(RuntimeError, match="at least 3, got 2"):
        torch._check(2 >= 3, lambda: f"at least 3, got {2}")
    with pytest.raises(ValueError, match="True"):
        torch._check_value(False)
    with pytest.raises(IndexError, match="all of them"):
        torch._check_tensor_all_with(IndexError, torch.tensor([True, False]), "all of them")
    with pytest.raises(TypeError, match="Tensor"):
        torch._check(torch.tensor(True))
    assert not isinstance(3, torch.SymInt)


@pytest.mark.parametrize("size", [0, 1, 2, 5, 8])
@pytest.mark.parametrize("reverse", [False, True])
def test_associative_scan(size, reverse):
    scan = importlib.import_module("weft.torch._higher_order_ops").associative_scan
    x = torch.arange(2.0 * size).reshape(2, size) + 1
    found = scan(lambda a, b: {"x": a["x"] + b["x"]}, {"x": x}, 1, reverse=reverse)["x"]
    expected = x.flip(1).cumsum(1).flip(1) if reverse else x.cumsum(1)
    assert torch.equal(found, expected)


def test_placements_are_described():
    tensor = importlib.import_module("weft.torch.distributed.tensor")
    assert tensor.Shard(1) == tensor.Shard(dim=1) != tensor.Shard(0)
    assert [str(p) for p in (tensor.Shard(1), tensor.Replicate(), tensor.Partial())] == [
        "S(1)",
        "R",
        "P(sum)",
    ]
    with pytest.raises(NotImplementedError, match="processes"):
        tensor.distribute_tensor(torch.ones(2))


def test_storages():
    tensor = torch.arange(6.0)[2:]
    storage = tensor.untyped_storage()
    assert storage.nbytes() == 24 and storage.data_ptr() == tensor.data_ptr() - 8 and len(storage) == 24
    assert tensor.storage().tolist() == [0, 1, 2, 3, 4, 5] and tensor.storage().dtype is torch.float32
    assert pickle.loads(pickle.dumps(tensor)).tolist() == [2, 3, 4, 5]
