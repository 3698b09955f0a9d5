"""What test_gpu_torch.py runs in processes of their own, in which the device cuda is emulated: gpu_torch_checks.py NAME."""

import io
import sys

import numpy as np
import weft
import weft.torch as torch

cuda = torch.cuda


def refused(kind, text, call):
    try:
        call()
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"expected {kind.__name__}: {text}")


def devices():
    assert cuda.is_available() and cuda.device_count() == 2 and cuda.current_device() == 0
    assert cuda.get_device_name() == cuda.get_device_name("cuda:1") == "emulated"
    properties = cuda.get_device_properties(torch.device("cuda", 1))
    assert (properties.name, properties.major, properties.minor) == ("emulated", 9, 0)
    assert properties.total_memory == 4 << 30 and properties.multi_processor_count == 4
    assert cuda.get_device_capability(0) == (9, 0) and "sm_90" in cuda.get_arch_list()
    assert cuda.is_bf16_supported() and cuda.is_tf32_supported() and cuda.is_initialized()
    refused(RuntimeError, "invalid device ordinal: expected 0 to 1, got 2", lambda: cuda.get_device_name(2))
    refused(ValueError, "Expected a cuda device, but got: cpu", lambda: cuda.synchronize("cpu"))
    for device in (0, -1, "cuda", None, torch.device("cuda:0")):
        with cuda.device(device):
            assert cuda.current_device() == 0
    cuda.set_device(0)
    refused(NotImplementedError, "name the device as 'cuda:1'", lambda: cuda.set_device(1))
    refused(NotImplementedError, "name the device as 'cuda:1'", lambda: cuda.device(1).__enter__())
    for call in (cuda.make_graphed_callables, cuda.CUDAGraph):
        refused(NotImplementedError, "weft has no such thing on its GPUs", call)
    there = torch.accelerator
    assert there.is_available() and there.device_count() == 2 and str(there.current_accelerator()) == "cuda:0"
    there.synchronize(), there.empty_cache()
    assert there.current_device_index() == 0


def tensors():
    x = torch.arange(6.0)
    here = torch.zeros(2, 3, device="cuda")
    assert here.is_cuda and here.device == torch.device("cuda", 0) and here.get_device() == 0
    assert torch.get_device(x) == -1 and torch.get_device(x.cuda(1)) == 1
    for there in (x.cuda(), x.cuda(0), x.cuda("cuda:0"), x.to(0), x.to(torch.device("cuda")), x.to(here)):
        assert str(there.device) == "cuda:0" and there.cpu().tolist() == x.tolist()
    assert x.cuda(1).device.index == 1 and not x.is_cuda and x.cuda().type() == "torch.cuda.FloatTensor"
    with torch.device("cuda"):
        assert torch.ones(2).is_cuda and torch.rand(3).is_cuda
    model = torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.BatchNorm1d(4)).eval()
    want = model(x[None])
    assert model.cuda() is model and all(p.is_cuda for p in model.parameters())
    assert all(b.is_cuda for b in model.buffers())
    np.testing.assert_allclose(model(x[None].cuda()).cpu().numpy(), want.numpy(), atol=1e-6)
    assert next(model.cuda(1).parameters()).device.index == 1
    file = io.BytesIO()
    torch.save({"x": x}, file)
    for place in ("cuda", torch.device("cuda:1"), {"cpu": "cuda:0"}):
        file.seek(0)
        loaded = torch.load(file, map_location=place)["x"]
        assert loaded.is_cuda and loaded.cpu().tolist() == x.tolist()
    file = io.BytesIO()
    torch.save({"x": x.cuda(1), "part": x.cuda()[2:4]}, file)  # as tensors of the CPU
    file.seek(0)
    loaded = torch.load(file)
    assert not loaded["x"].is_cuda and loaded["part"].tolist() == [2, 3]


def memory():
    cuda.empty_cache()
    cuda.reset_peak_memory_stats()
    assert cuda.memory_allocated() == cuda.memory_reserved() == cuda.max_memory_allocated() == 0
    x = torch.zeros(1 << 18, device="cuda")
    first = cuda.memory_allocated()
    assert first >= 1 << 20 and cuda.memory_reserved() == first and cuda.memory_allocated(1) == 0
    y = x.clone()
    free, total = cuda.mem_get_info()
    assert total == 4 << 30 and free == total - cuda.memory_reserved()
    del y
    assert cuda.memory_allocated() == first and cuda.max_memory_allocated() == 2 * first
    assert cuda.memory_reserved() == cuda.max_memory_reserved() == 2 * first
    assert cuda.memory_stats()["allocated_bytes.all.peak"] == 2 * first
    cuda.empty_cache()
    assert cuda.memory_reserved() == first and cuda.max_memory_reserved() == 2 * first
    cuda.reset_peak_memory_stats()
    assert cuda.max_memory_allocated() == cuda.max_memory_reserved() == first
    assert str(first) in cuda.memory_summary()
    weft._C._gpu.set_emulated_memory(1 << 20)
    refused(MemoryError, "out of memory", lambda: torch.zeros(1 << 20, device="cuda"))
    weft._C._gpu.set_emulated_memory(0)


def streams():
    start, end = cuda.Event(enable_timing=True), cuda.Event(enable_timing=True)
    refused(
        ValueError,
        "Both events must be created with argument 'enable_timing=True'",
        lambda: cuda.Event().elapsed_time(end),
    )
    refused(
        ValueError,
        "Both events must be recorded before calculating elapsed time",
        lambda: start.elapsed_time(end),
    )
    assert start.query() and repr(start) == "<torch.cuda.Event uninitialized>"
    x = torch.ones(1000).pin_memory()
    start.record()
    y = x.to("cuda", non_blocking=True) + 1
    x.to("cuda", non_blocking=True)
    stream = cuda.current_stream()
    end.record(stream)
    end.synchronize()
    assert start.query() and end.query() and start.elapsed_time(end) >= 0
    assert stream == cuda.default_stream(0) == cuda.Stream() and stream != cuda.Stream("cuda:1")
    assert str(stream.device) == "cuda:0" and stream.cuda_stream != 0 and stream.priority == 0
    side = cuda.Stream()
    side.wait_stream(cuda.current_stream())
    with cuda.stream(side):
        z = y * 2
        event = side.record_event()
    cuda.current_stream().wait_event(event)
    event.wait()
    side.synchronize()
    assert side.query() and (z == 4).all() and str(event.device) == "cuda:0"
    with cuda.stream(None):
        cuda.synchronize(), cuda.synchronize(1)
    refused(NotImplementedError, "one stream of its own", lambda: cuda.ExternalStream(0))
    torch.ones(3, device="cuda")[torch.tensor([5], device="cuda")]
    refused(IndexError, "an index names no element", cuda.synchronize)
    cuda.synchronize()


def random_numbers():
    cuda.manual_seed(7)
    assert cuda.initial_seed() == 7
    state = cuda.get_rng_state()
    first = torch.randn(5, device="cuda").cpu().tolist()
    cuda.set_rng_state(state)
    assert torch.randn(5, device="cuda").cpu().tolist() == first
    cuda.manual_seed_all(7)
    assert torch.randn(5).tolist() == first and len(cuda.get_rng_state_all()) == 2
    assert cuda.seed() is None and torch.randn(5, device="cuda").cpu().tolist() != first


def rounded_to_tf32(x):
    bits = x.astype(np.float32).view(np.uint32)
    finite = (bits & 0x7F800000) != 0x7F800000
    return np.where(finite, (bits + 0x1000) & 0xFFFFE000, bits).astype(np.uint32).view(np.float32)


def tf32():
    """Products of float32 are exact unless the program says that they may be rounded to TF32."""
    matmul, random = torch.backends.cuda.matmul, np.random.default_rng(3)
    for batch, rows, columns, depth in (
        ((), 17, 40, 33),
        ((), 64, 64, 16),
        ((), 130, 260, 72),
        ((3,), 65, 33, 47),
        ((), 16, 64, 64),
    ):
        a = random.standard_normal((*batch, rows, depth)).astype("f4")
        b = random.standard_normal((*batch, depth, columns)).astype("f4")
        if rows == 64:
            a[0, 0], a[1, 1], b[2, 3] = np.inf, np.nan, 2.0**-140
        x, y = torch.from_numpy(a).cuda(), torch.from_numpy(b).cuda()
        turned = torch.from_numpy(b.swapaxes(-1, -2).copy()).cuda().mT
        calls = [(torch.matmul, x, y), (torch.matmul, x, turned), (torch.compile(lambda p, q: p @ q), x, y)]
        exact = [call(*given).cpu().numpy() for call, *given in calls]
        matmul.allow_tf32 = True
        assert torch.get_float32_matmul_precision() == "high"
        with np.errstate(invalid="ignore"):
            want = rounded_to_tf32(a).astype("f8") @ rounded_to_tf32(b).astype("f8")
        for (call, *given), before in zip(calls, exact):
            got = call(*given).cpu().numpy()
            if rows <= 16:
                np.testing.assert_array_equal(got, before)
                continue
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
            assert np.abs(got - before)[np.isfinite(before)].max() > 1e-4
        torch.set_float32_matmul_precision("highest")
        assert not matmul.allow_tf32
        for (call, *given), before in zip(calls, exact):
            np.testing.assert_array_equal(call(*given).cpu().numpy(), before)
    matmul.fp32_precision = "tf32"
    assert matmul.allow_tf32 and torch.get_float32_matmul_precision() == "high"
    matmul.fp32_precision = "ieee"
    assert not matmul.allow_tf32


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
