"""What test_gpu.py runs in processes of their own, in which the device cuda is emulated: gpu_checks.py NAME."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import weft

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

rng = np.random.default_rng(7)


def close(got, want, rtol=1e-9):
    """The same structure, dtypes and shapes; numbers up to the order of additions."""
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for a, b in zip(got, want):
            close(a, b, rtol)
        return
    assert type(got) is type(want) and np.asarray(got).dtype == np.asarray(want).dtype
    single = np.asarray(want).dtype == np.float32
    np.testing.assert_allclose(got, want, rtol=1e-4 if single else rtol, atol=1e-5 if single else 1e-9)


def on_gpu(function, *arguments):
    """Compiled, twice, on copies of the arguments, which must be left as NumPy leaves them."""
    plain = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    want = function(*plain)
    compiled = weft.compile(function)
    for _ in range(2):
        copies = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
        with weft.device("cuda"):
            got = compiled(*copies)
        close(got, want)
        for a, b in zip(copies, plain):
            if isinstance(a, np.ndarray):
                close(a, b)
    return compiled


def nearest(x, means):
    return np.argmin(np.linalg.norm(x - means[:, None], axis=2), axis=0)


def kmeans_step(x, means):
    labels = np.argmin(np.linalg.norm(x - means[:, None], axis=2), axis=0)
    return np.array([x[labels == k].mean(axis=0) for k in range(len(means))])


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def standardized(x):
    return (x - x.mean()) / x.std()


def columns(x):
    return x - x.mean(axis=0), x.std(axis=0), x.argmax(axis=0), x.min(axis=0)


def rows(x):
    return x.argmin(axis=1), x.max(axis=1), (x > 0).any(axis=1), x.sum(axis=1)


def updated(x):
    x += 1
    x[0] = 3
    return x[1:], x.sum()


def functions():
    """k-means, rows and columns, of the sizes on each side of where kernels are split, and updates of arguments."""
    for dtype in ("f8", "f4"):
        points, means = (
            rng.standard_normal((5000, 2)).astype(dtype),
            rng.standard_normal((3, 2)).astype(dtype),
        )
        on_gpu(nearest, points, means)
        on_gpu(kmeans_step, points, means)
    for shape in ((50, 1000), (600, 1100), (3, 20000)):
        on_gpu(softmax, rng.standard_normal(shape))
        on_gpu(rows, rng.standard_normal(shape))
    for shape in ((3000, 40), (200, 40), (5, 2000)):
        on_gpu(columns, rng.standard_normal(shape))
    on_gpu(columns, rng.integers(0, 9, (3000, 40)))
    on_gpu(standardized, rng.standard_normal((300, 400)))
    on_gpu(updated, rng.standard_normal((30, 40)))


def sizes():
    """One graph for all sizes: launches and parts follow them."""
    compiled = weft.compile(standardized)
    for rows_, columns_ in ((3, 5), (40, 50), (41, 77), (300, 301), (17, 4000)):
        x = rng.standard_normal((rows_, columns_))
        with weft.device("cuda"):
            close(compiled(x.copy()), standardized(x))


def programs():
    """The suite of NumPy programs at its small sizes."""
    from programs import all_programs
    from programs.registry import copied, same

    failed = []
    for program in all_programs():
        arguments = program.arguments(program.small)
        plain = copied(arguments)
        expected = program.function(*plain)
        try:
            compiled = weft.compile(program.function)
            for _ in range(2):
                written = copied(arguments)
                with weft.device("cuda"):
                    got = compiled(*written)
                for problem in (
                    same(got, expected, max(program.rtol, 1e-9)),
                    same(written, plain, max(program.rtol, 1e-9)),
                ):
                    if problem:
                        failed.append(f"{program.name}: {problem}")
        except Exception as error:
            failed.append(f"{program.name}: {type(error).__name__}: {str(error)[:300]}")
        weft.compiler.reset()
    assert not failed, "\n".join(failed)


def tensors():
    """Tensors stay on the device; other devices are refused in PyTorch's words."""
    x = rng.standard_normal((100, 7))
    there = weft.tensor(x).to("cuda")
    assert there.is_cuda and str(there.device) == "cuda:0" and there.cpu().device == weft.device("cpu")
    np.testing.assert_array_equal((there * 2 + there).cpu().numpy(), x * 2 + x)
    np.testing.assert_allclose(there.sum(0).cpu().numpy(), x.sum(0))
    assert there[3, 4].item() == x[3, 4] and there.T[4].cpu().tolist() == x[:, 4].tolist()
    if weft._C._gpu.device_count() > 1:
        assert repr(weft.tensor([1.0, 2.0], device="cuda:1")) == "tensor([1., 2.], device='cuda:1')"

    @weft.compile
    def scaled(a, b):
        return weft.exp(a) * b + weft.sum(a)

    with weft.device("cuda"):
        result = scaled(there, there)
        assert result.is_cuda
        np.testing.assert_allclose(result.cpu().numpy(), np.exp(x) * x + x.sum())
        for call in (lambda: scaled(there, there.cpu()), lambda: there + there.cpu()):
            try:
                call()
            except RuntimeError as error:
                assert "Expected all tensors to be on the same device, but found at least two devices" in str(
                    error
                )
            else:
                raise AssertionError("two devices in one operation")


def errors():
    """Memory that ends, devices that are not there; the process goes on, and arguments are what they were."""
    gpu = weft._C._gpu
    x = np.ones(1 << 18)
    gpu.set_emulated_memory(1 << 20)

    @weft.compile
    def twice(a):
        return a * 2

    for call in (lambda: weft.tensor(x).to("cuda"), lambda: twice(x)):
        try:
            with weft.device("cuda"):
                call()
        except MemoryError as error:
            assert "cuda:0: out of memory: asked for 2.0 MiB; weft's tensors hold" in str(error), error
        else:
            raise AssertionError("2 MiB in 1 MiB")
    assert (x == 1).all()
    gpu.set_emulated_memory(0)
    with weft.device("cuda"):
        assert (twice(x) == 2).all()
    try:
        weft.ones(2, device="cuda:2")
    except RuntimeError as error:
        assert "there are 2 GPUs, cuda:0 to cuda:1, and no number 2" in str(error)
    else:
        raise AssertionError("a third GPU")
    memory = gpu.memory()
    assert memory["used"] < 4096 and memory["cached"] > 0, memory
    gpu.empty_cache()
    assert gpu.memory()["cached"] == 0


def pinned():
    """Copies through the two pinned buffers, of sizes on each side of one and of both; memory that is pinned; copies that are
    not waited for, which the emulation does as late as it can."""
    gpu = weft._C._gpu
    x = weft.tensor(np.arange(6.0))
    assert not x.is_pinned() and not x.to("cuda").is_pinned()
    unit = (4 << 20) // 8
    for _ in range(2):
        for size in (1, 3, unit - 32, unit - 1, unit, unit + 1, 2 * unit, 2 * unit + 7, 5 * unit - 3):
            values = rng.integers(0, 1 << 60, size)
            there = [weft.tensor(values).to("cuda"), weft.tensor(values[::-1].copy()).to("cuda")]
            np.testing.assert_array_equal(there[0].cpu().numpy(), values)
            np.testing.assert_array_equal((there[0] - there[1]).cpu().numpy(), values - values[::-1])
        # The second time no memory can be pinned, and copies go on without: the buffers were taken already.
        gpu.set_emulated_pinned_memory(1)
    gpu.set_emulated_pinned_memory(0)
    assert gpu.pinned_memory()["used"] >= 8 << 20

    values = rng.standard_normal((300, 5))
    here = weft.tensor(values).T.pin_memory()
    assert here.is_pinned() and here.pin_memory() is here and here.T.is_pinned() and here[2:].is_pinned()
    there = here.to("cuda", non_blocking=True)
    here.zero_()  # before it was waited for: the device reads what is there now
    assert (there.cpu() == 0).all() and (here.cuda(non_blocking=True) + 1).sum().item() == 1500
    there = (
        weft.tensor(values).pin_memory().to("cuda", non_blocking=True)
    )  # whose memory is free, and not reused
    others = [weft.tensor(values * 0).pin_memory() for _ in range(3)]
    np.testing.assert_array_equal(there.cpu().numpy(), values)
    back = (there * 2).to("cpu", non_blocking=True)
    assert back.is_pinned() and not np.array_equal(back.numpy(), values * 2)
    gpu.synchronize()
    np.testing.assert_array_equal(back.numpy(), values * 2)
    assert not weft.tensor(values).to("cuda", non_blocking=True).cpu().is_pinned()
    assert (others[0].to("cuda", weft.float32, True).cpu() == 0).all()

    kept = gpu.pinned_memory()["cached"]
    del here, back, others
    assert gpu.pinned_memory()["cached"] > kept
    gpu.synchronize()
    gpu.empty_cache()
    assert gpu.pinned_memory() == {"used": 8 << 20, "cached": 0}
    gpu.set_emulated_pinned_memory((8 << 20) + 1)
    try:
        weft.tensor(values).pin_memory()
    except MemoryError as error:
        assert "no memory left that can be pinned: asked for 12000 bytes, 8388608 are pinned" in str(error)
    else:
        raise AssertionError("memory that is not there")
    gpu.set_emulated_pinned_memory(0)


def unpinned():
    """Without any memory that can be pinned everything is copied as it lies."""
    weft._C._gpu.set_emulated_pinned_memory(1)
    values = rng.standard_normal(3 << 20)
    np.testing.assert_array_equal((weft.tensor(values).to("cuda") * 2).cpu().numpy(), values * 2)
    assert weft._C._gpu.pinned_memory() == {"used": 0, "cached": 0}


DATA = Path(os.environ.get("WEFT_SHARED_DATA", Path(__file__).resolve().parents[3] / "shared/data"))


def without_the_host(function):
    """What runs in a process of its own with WEFT_LOGS=syncs must name no operator that the host computed."""
    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import gpu_checks; gpu_checks.{function}()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "WEFT_LOGS": "syncs"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-6000:]
    on_host = {
        line for line in done.stderr.splitlines() if "runs on the host" in line or "on the host" in line
    }
    assert not on_host, "\n".join(sorted(on_host)[:40])


def generate():
    """The small Llama: the same greedy tokens as on the CPU, with weights of each kind."""
    folder = DATA / "stories260k"
    expected = json.loads((folder / "expected.json").read_text())
    prompt, most = [1], 24
    for options in ({}, {"dtype": "bfloat16"}, {"quantize": "int8"}, {"quantize": "int4-g32"}):
        tokens = {}
        for device in ("cpu", "cuda"):
            model = weft.models.Llama.from_pretrained(
                folder, device=device, activations="float32", cache_dtype="float32", **options
            )
            cache = model.make_cache(128)
            given, step = list(prompt), list(prompt)
            for _ in range(most):
                logits = model.forward(step, cache)
                step = [int(logits.numpy()[0].argmax())]
                given += step
            tokens[device] = given
            cache = model.make_cache(128)
            tokens[device + " at once"] = model.forward(given, cache, all_logits=True).numpy()
        assert tokens["cuda"] == tokens["cpu"], options
        want = tokens["cpu at once"]
        assert abs(tokens["cuda at once"] - want).max() <= 1e-3 * abs(want).max(), options
        if not options:
            assert tokens["cuda"] == expected["greedy_ids"][: len(tokens["cuda"])]


def segment():
    """The small Segment Anything: masks of each form of prompts, beside what the original gives."""
    rng_image = np.random.default_rng(3).integers(0, 255, (90, 128, 3), dtype=np.uint8)
    Sam, SamPredictor = weft.models.Sam, weft.models.SamPredictor
    for compile in (False, True):
        results = []
        for device in ("cpu", "cuda"):
            sam = Sam.from_checkpoint(DATA / "sam_tiny" / "sam_tiny.pth").to(device)
            predictor = SamPredictor(sam, compile=compile)
            predictor.set_image(rng_image)
            given = [predictor.get_image_embedding().cpu().numpy()]
            point = {"point_coords": np.array([[50.0, 40.0]]), "point_labels": np.array([1])}
            given += predictor.predict(**point)[1:]
            given += predictor.predict(box=np.array([10.0, 10.0, 80.0, 70.0]), multimask_output=False)[1:]
            given += predictor.predict(**point, mask_input=given[2][:1], multimask_output=False)[1:]
            predictor.set_images([rng_image, rng_image[::-1]])
            points = [np.array([[[50.0, 40.0]], [[9.0, 60.0]]]), np.array([[[70.0, 30.0]]])]
            for found in predictor.predict_images(points, [np.ones((2, 1), int), np.ones((1, 1), int)]):
                given += found[1:]
            results.append(given)
        for want, got in zip(*results):
            assert want.shape == got.shape and abs(want - got).max() <= 1e-4 * abs(want).max()


def step(x, w, cache, position):
    y = weft.exp(-x @ w) + 1
    cache[position] = y[0, :8]
    return y, cache.sum()


def recorded():
    """mode="reduce-overhead": from the third call on what was recorded is repeated, with other arguments; arguments that are
    written to change; what cannot be recorded runs as it did."""
    random = np.random.default_rng(0)

    def numbers(*shape):
        return weft.tensor(random.standard_normal(shape).astype("f4") * 0.1, device="cpu")

    w, cache = numbers(32, 32), weft.zeros(4, 8, device="cpu")
    there = w.to("cuda"), weft.zeros(4, 8).to("cuda")
    compiled = weft.compile(step, mode="reduce-overhead")
    sorting = weft.compile(lambda x: weft.sort(x * 2, 1)[0] + 1, mode="reduce-overhead")
    inverted = weft.compile(lambda x: weft.inv(x * 2) + 1, mode="reduce-overhead")
    results = []
    with weft.device("cuda"):
        for k in range(7):
            x, position = numbers(2 + k // 6, 32), weft.tensor([k % 4], device="cpu")
            results.append(compiled(x.to("cuda"), there[0], there[1], position.to("cuda")))
            want = step(x, w, cache, position)
            for a, b in zip(results[-1], want):
                np.testing.assert_allclose(a.cpu().numpy(), b.numpy(), rtol=1e-4)
            np.testing.assert_allclose(there[1].cpu().numpy(), cache.numpy(), rtol=1e-4)
            np.testing.assert_array_equal(
                sorting(x.to("cuda")).cpu().numpy(), np.sort(x.numpy() * 2, 1) + np.float32(1)
            )
            inverted(weft.eye(3).to("cuda"))
    # Results are the caller's.
    first = results[3][0].cpu().numpy().copy()
    with weft.device("cuda"):
        compiled(numbers(2, 32).to("cuda"), *there, weft.tensor([0]).to("cuda"))
    np.testing.assert_array_equal(results[3][0].cpu().numpy(), first)


def sharing():
    """DLPack both ways and __cuda_array_interface__."""
    a = weft.tensor(rng.standard_normal((3, 4)).astype("f4")).to("cuda")
    b = weft.from_dlpack(a)
    assert b.is_cuda and b.data_ptr() == a.data_ptr() and a.__dlpack_device__() == (2, 0)
    b += 1
    assert (a.cpu().numpy() == b.cpu().numpy()).all()
    turned = weft.from_dlpack(a.T)
    assert turned.shape == (4, 3) and (turned.cpu().numpy() == a.cpu().numpy().T).all()
    interface = a.T.__cuda_array_interface__
    assert interface["shape"] == (4, 3) and interface["strides"] == (4, 16) and interface["typestr"] == "<f4"
    assert (
        interface["data"] == (a.data_ptr(), False) and interface["version"] == 3 and interface["stream"] != 0
    )
    assert not hasattr(a.cpu(), "__cuda_array_interface__") and a.cpu().__dlpack_device__() == (1, 0)
    try:
        a.__dlpack__(dl_device=(1, 0))
    except BufferError as error:
        assert "can be exported to device (2" in str(error)
    else:
        raise AssertionError("a tensor on a GPU as one of the CPU")


def indices():
    """Arrays and masks as indices of tensors on the device, and what names no element."""
    x = rng.standard_normal((5, 6))
    there = weft.tensor(x).to("cuda")
    at, mask = np.array([3, 0, -1, 3]), x > 0.3
    for index in (at, weft.tensor(at).to("cuda"), (slice(1, 4), at), (at[:, None] % 5, at)):
        plain = index.cpu().numpy() if isinstance(index, weft.Tensor) else index
        given = (
            tuple(weft.tensor(i) if isinstance(i, np.ndarray) else i for i in index)
            if isinstance(index, tuple)
            else index
        )
        np.testing.assert_array_equal(there[given].cpu().numpy(), x[plain])
    np.testing.assert_array_equal(there[weft.tensor(mask).to("cuda")].cpu().numpy(), x[mask])
    np.testing.assert_array_equal(there[weft.tensor(mask[:, 0]).to("cuda")].cpu().numpy(), x[mask[:, 0]])
    values = rng.standard_normal((4, 6))
    there[weft.tensor(at)] = weft.tensor(values).to("cuda")
    x[at] = values
    there[:, weft.tensor([1, 2]).to("cuda")] = 7.0
    x[:, [1, 2]] = 7
    there[weft.tensor(mask).to("cuda")] = 0.5
    x[mask] = 0.5
    np.testing.assert_array_equal(there.cpu().numpy(), x)
    taken = there[weft.tensor([5]).to("cuda")]
    for call in (taken.cpu, lambda: weft.tensor(x)[weft.tensor([0]).to("cuda")]):
        try:
            call()
        except (IndexError, RuntimeError) as error:
            assert "an index names no element" in str(error) or "same device as the indexed tensor" in str(
                error
            )
        else:
            raise AssertionError("an index that names no element, or on another device")


def archives():
    """TorchScript archives moved to the device give what PyTorch gave on the CPU, of arguments there."""
    for name in (
        "cnn_scripted",
        "cnn_traced",
        "encoder_layer",
        "fork_wait",
        "mobilenet_v3_small",
        "squeezenet1_1",
    ):
        module = weft.jit.load(str(DATA / "torchscript" / f"{name}.pt")).to("cuda")
        data = np.load(DATA / "torchscript" / f"{name}.npz")
        count = sum(key.startswith("in.") for key in data.files)
        result = module(*[weft.tensor(data[f"in.{k}"]).to("cuda") for k in range(count)])
        assert result.is_cuda
        want = data["out"]
        assert abs(result.cpu().numpy() - want).max() <= 1e-4 * max(1, abs(want).max()), name


def llama():
    without_the_host("generate")


def sam():
    without_the_host("segment")


def written():
    """Each kind of kernel that is written by hand; see test_every_written_kernel_becomes_machine_code."""
    random = np.random.default_rng(5)

    def on_device(shape, dtype=weft.float32):
        return weft.tensor(random.standard_normal(shape).astype("f4")).to(dtype).to("cuda")

    for dtype in (weft.float32, weft.float64, weft.bfloat16, weft.float16):
        a, wide = on_device((256, 64), dtype), on_device((300, 64), dtype)
        for rows in (1, 2, 4, 8, 16, 60, 256):
            a[:rows] @ wide.T
        a @ on_device((64, 300), dtype)
        weft.nn.functional.conv2d(on_device((1, 4, 16, 16), dtype), on_device((8, 4, 4, 4), dtype), stride=4)
        weft.nn.functional.conv_transpose2d(
            on_device((1, 4, 8, 8), dtype), on_device((4, 8, 2, 2), dtype), stride=2
        )
        weft.nn.functional.interpolate(on_device((1, 2, 8, 8), dtype), size=(16, 16), mode="bilinear")
        if dtype == weft.float32:
            weft._C._gpu.allow_tf32(True)
            for rows in (60, 256):
                a[:rows] @ wide.T, a[:rows] @ wide.T.contiguous()
            weft._C._gpu.allow_tf32(False)
        if dtype == weft.float64:
            continue
        weight = on_device((300, 64)).cpu()
        int8, int4 = weft.quantize_int8(weight), weft.quantize_int4(weight, 32)
        for rows in (1, 8, 256):
            weft.linear_packed(a[:rows], int8[0].to("cuda"), int8[1].to("cuda"), activation="silu")
            weft.linear_packed(a[:rows], int4[0].to("cuda"), int4[1].to("cuda"), group_size=32)
        for size in (64, 80, 128):
            q = on_device((1, 2, 150, size), dtype)
            weft.scaled_dot_product_attention(q, q, q, is_causal=True)
            weft.scaled_dot_product_attention(q[:, :, :1], q, q)
            rel = on_device((1, 2, 150, 15), dtype), on_device((1, 2, 150, 10), dtype)
            weft.relative_position_attention(q, q, q, *rel)
        cache = on_device((2, 300, 64), dtype), on_device((2, 300, 64), dtype)
        position, rope = weft.tensor(5).to("cuda"), on_device((300, 32, 2))
        for tokens in (1, 40):
            weft.attention_with_kv_cache(on_device((tokens, 8 * 64)), *cache, position, rope)
    bytes_ = weft.tensor(random.integers(-9, 9, (256, 64)).astype("i1")).to("cuda")
    weft._int_mm(bytes_, bytes_.T)
    weft._int_mm(bytes_, bytes_.T.contiguous())
    numbers = weft.tensor([1, 2, 0, 1]).to("cuda")
    x = on_device((5, 6, 7))
    x[:, numbers], x[numbers], x.transpose(0, 2).contiguous()
    x[:, numbers] = 1.0
    weft.nn.functional.embedding(numbers, on_device((5, 6)))
    for dtype in (weft.float32, weft.float64, weft.bfloat16, weft.int64, weft.bool):
        x = (on_device((3, 5000)) > 0 if dtype == weft.bool else on_device((3, 5000)) * 9).to(dtype)
        for scan in (weft.cumsum, weft.cumprod, weft.cummax, weft.cummin):
            scan(x, 0), scan(x, 1)
        if dtype in (weft.float32, weft.float64):
            weft.logcumsumexp(x, 0), weft.logcumsumexp(x, 1)
        weft.sort(x, 1), weft.sort(x, 0, descending=True)
        if dtype != weft.bool:
            weft.topk(x, 3, 1)
        weft.nonzero(x), weft.masked_select(x, x > 0), weft.unique(x, return_inverse=True)
        at = weft.tensor(random.integers(0, 3, (3, 5000))).to("cuda")
        weft.scatter(x, 0, at, x), weft.scatter_add(x, 0, at, x)
        weft.searchsorted(weft.sort(x[0])[0], x[1])
    weft.bincount(at[0])
    os.environ["WEFT_CUDA_PRODUCTS"] = "wgmma"
    for dtype in (weft.bfloat16, weft.float16):
        for rows, columns in ((64, 256), (128, 128), (128, 1024)):
            of_rows = on_device((rows, 96), dtype), on_device((96, rows), dtype).T
            of_columns = on_device((96, columns), dtype), on_device((columns, 96), dtype).T
            for a in of_rows:
                for b in of_columns:
                    a @ b
            weft.linear_packed(of_rows[0], of_columns[1].T, activation="gelu_tanh")
    for rows, columns in ((64, 256), (128, 128), (128, 1024)):
        a, b = (on_device((size, 96)).to(weft.int8) for size in (rows, columns))
        weft._int_mm(a, b.T)
    weft._C._gpu.synchronize()


def sampled():
    """Kernels of windows, resampling, recurrent layers and special functions, by the sample calls of their operators."""
    import gpu_operators

    names = "pool pad upsample grid_sample roi_ im2col col2im convolution lstm gru rnn_tanh rnn_relu embedding_bag".split()
    names += "bessel erfinv erfcx ndtri i0 i1 zeta gamma polynomial airy floor_divide remainder nextafter gcd".split()
    gpu_operators.sweep_all(lambda name: any(part in name for part in names), ("floats",))
    weft._C._gpu.synchronize()


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
