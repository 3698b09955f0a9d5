"""weft.profiler: what a profile holds, its tables and files, schedules, and what is refused."""

import gzip
import json
import os
import subprocess
import sys
import threading

import numpy as np
import pytest
import weft
import weft.torch
from weft.profiler import ProfilerAction, profile, record_function, schedule

ROOT = os.path.dirname(os.path.abspath(__file__))


def small_model():
    return weft.nn.Sequential(weft.nn.Linear(64, 128), weft.nn.ReLU(), weft.nn.Linear(128, 32)).eval()


def names_of(events):
    return {event.name for event in events}


def one(averages, name):
    (found,) = (row for row in averages if row.key == name)
    return found


def test_operators_ranges_and_nesting():
    x = weft.torch.randn(16, 64)
    with profile(record_shapes=True) as profiled:
        with record_function("mine"):
            weft.softmax(x @ x.T, 1)
        weft.matmul(x, x.T)
    events = profiled.events()
    (mine,) = (event for event in events if event.name == "mine")
    assert mine.is_user_annotation and mine.cpu_parent is None
    assert "matmul" in names_of(mine.cpu_children) and "softmax" in names_of(mine.cpu_children)
    assert all(child.cpu_parent is mine for child in mine.cpu_children)
    assert mine.self_cpu_time_total <= mine.cpu_time_total
    averages = profiled.key_averages()
    product = one(averages, "matmul")
    assert product.count == 2 and product.flops == 2 * 2 * 16 * 16 * 64 and product.cpu_time_total > 0
    by_shape = [row for row in profiled.key_averages(group_by_input_shape=True) if row.key == "matmul"]
    assert [row.input_shapes for row in by_shape] == [[[16, 64], [64, 16]]]


def test_compiled_graphs_kernels_and_stages():
    def standardize(x):
        return (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)

    x = np.random.default_rng(0).standard_normal((64, 1000))
    compiled = weft.compile(standardize)
    with profile(record_shapes=True) as first:
        compiled(x)
    stages = {
        name.split(".")[-1] if name.startswith("capture") else name for name in names_of(first.events())
    }
    for stage in ("standardize", "canonicalize", "fuse", "lower", "print_cpp", "plan"):
        assert stage in stages, stage
    assert any(name.startswith(("toolchain ", "disk cache ", "load ")) for name in stages)
    with profile() as second:
        result = compiled(x)
    np.testing.assert_allclose(result, standardize(x), rtol=1e-12, atol=1e-14)
    events = second.events()
    (graph,) = (event for event in events if event.category == "graph")
    kernels = [event for event in events if event.category == "kernel"]
    assert kernels and all(kernel.cpu_parent is graph for kernel in kernels)
    # Read once, written once; each element is at least subtracted, squared and divided.
    assert sum(kernel.bytes for kernel in kernels) >= 2 * x.nbytes
    assert sum(kernel.flops for kernel in kernels) >= 3 * x.size
    assert all(
        kernel.percent_of_ceiling > 0 for kernel in second.key_averages() if kernel.category == "kernel"
    )
    assert not any(event.category == "compile" for event in events)


def test_symbolic_sizes_give_each_run_its_work():
    double = weft.compile(lambda x: x * 2 + 1)
    for size in (100, 200, 300):
        double(np.ones(size))
    with profile() as profiled:
        double(np.ones(500))
        double(np.ones(1000))
    sizes = [event.bytes for event in profiled.events() if event.category == "kernel"]
    assert sizes == [500 * 8 * 2, 1000 * 8 * 2]


def test_the_work_of_a_slice_is_that_of_the_slice():
    part = weft.compile(lambda x: x[10:20] + 1)
    x = np.ones(100_000)
    part(x)
    with profile() as profiled:
        part(x)
    (kernel,) = (event for event in profiled.events() if event.category == "kernel")
    assert kernel.bytes == 2 * 10 * 8 and kernel.flops == 10


def test_scripts_and_forks():
    module = weft.jit.script(small_model())
    x = weft.torch.randn(4, 64)
    module(x)
    module(x)
    with profile() as profiled:
        weft.jit.wait(weft.jit.fork(module, x))
    assert any(event.category == "script" for event in profiled.events())


def test_tables_and_their_order():
    x = weft.torch.randn(50, 50)
    with profile(profile_memory=True) as profiled:
        weft.exp(x)
        weft.exp(x)
        weft.matmul(x, x)
    averages = profiled.key_averages()
    text = averages.table(sort_by="count", row_limit=1)
    assert "exp" in text and "matmul" not in text and "CPU Mem" in text and "% of ceiling" in text
    for key in (
        "self_cpu_time_total",
        "cpu_time",
        "self_cpu_memory_usage",
        "percent_of_ceiling",
        "flops",
        "name",
    ):
        assert averages.table(sort_by=key)
    assert averages.table(sort_by="cuda_time_total") and averages.table(sort_by="self_device_time_total")
    assert "us" not in averages.table(time_unit="ms").partition("Self CPU time")[0].replace("usage", "")
    for wrong in ("colour", "cpu time"):
        with pytest.raises(ValueError, match="cannot sort by.*self_cpu_time_total"):
            averages.table(sort_by=wrong)
    with pytest.raises(TypeError, match="sort_by"):
        averages.table(sort_by=3)
    assert averages.self_cpu_time_total <= averages.total_average().cpu_time_total * (1 + 1e-9)
    assert "exp" in profiled.events().table(top_level_events_only=True)


def test_stacks_are_those_of_the_program(tmp_path):
    def inner(x):
        return weft.exp(x)

    def outer(x):
        return inner(x)

    large = weft.torch.randn(200, 200)  # the interpreter's lock is given up
    with profile(with_stack=True, profile_memory=True) as profiled:
        outer(large)
        outer(weft.torch.randn(20, 20))
    for event in (event for event in profiled.events() if event.name == "exp"):
        assert event.stack[0].startswith(__file__) and event.stack[0].endswith("inner")
        assert event.stack[1].endswith("outer")
    made = [block for block in profiled.allocations() if block["operator"] == "exp"]
    assert len(made) == 2 and all("inner" in block["stack"].split("\n")[0] for block in made)
    rows = [row for row in profiled.key_averages(group_by_stack_n=2) if row.key == "exp"]
    assert len(rows) == 1 and rows[0].count == 2 and len(rows[0].stack) == 2
    path = tmp_path / "stacks.txt"
    profiled.export_stacks(path)
    assert any(";exp " in line and "outer;" in line for line in path.read_text().splitlines())
    with pytest.raises(ValueError, match="metric"):
        profiled.export_stacks(path, "colour")
    with profile() as without:
        weft.exp(large)
    with pytest.raises(ValueError, match="with_stack"):
        without.export_stacks(path)


def test_memory_by_category(tmp_path):
    model = small_model()
    x = weft.torch.randn(100, 64)
    compiled = weft.compile(model)
    compiled(x)
    with profile(profile_memory=True) as profiled:
        compiled(x)
        kept = model(x)
        del kept
        last = model(x)
    by_category = {}
    for block in profiled.allocations():
        by_category.setdefault(block["category"], []).append(block)
    assert any("Linear.weight" in block["type"] for block in by_category["parameter"])
    assert sum(block["bytes"] for block in by_category["parameter"]) >= 4 * (64 * 128 + 128 * 32)
    assert any(block["bytes"] == x.numel() * 4 for block in by_category["input"])
    assert any(block["type"] == "f32[100, 32]" for block in by_category["output"])
    assert any(block["type"] == "f32[100, 128]" for block in by_category["activation"])
    assert last.shape == (100, 32)
    page = tmp_path / "memory.html"
    profiled.export_memory_timeline(page)
    text = page.read_text()
    assert (
        "<svg" in text and "f32[100, 128]" in text and "http://" not in text.replace("http://www.w3.org", "")
    )
    profiled.export_memory_timeline(str(tmp_path / "memory.json"))
    numbers = json.loads((tmp_path / "memory.json").read_text())
    assert numbers["categories"][0] == "parameter" and len(numbers["times"]) == len(numbers["bytes"])
    assert max(map(sum, numbers["bytes"])) >= sum(block["bytes"] for block in by_category["parameter"])
    with pytest.raises(ValueError, match=".html or .json"):
        profiled.export_memory_timeline("memory.png")
    with pytest.raises(ValueError, match="device"):
        profiled.export_memory_timeline(page, "cuda:0")


def test_the_largest_allocation_is_found():
    """The bias of an attention that is made at full size, as in Segment Anything's."""

    def attention(q, rel_h, rel_w):
        scores = (q @ q.transpose(-2, -1)).reshape(2, 32, 32, 32, 32)
        return (scores + rel_h[..., None] + rel_w[..., None, :]).reshape(2, 1024, 1024)

    q, rel = weft.torch.randn(2, 1024, 8), weft.torch.randn(2, 32, 32, 32)
    with profile(profile_memory=True, with_stack=True) as profiled:
        attention(q, rel, rel)
    # Parameters of modules that other tests still hold are there, too.
    made = [block for block in profiled.allocations() if block["category"] != "parameter"]
    largest = max(made, key=lambda block: block["bytes"])
    assert largest["type"].startswith("f32[2, ") and largest["bytes"] >= 2 * 1024 * 1024 * 4
    assert largest["stack"].split("\n")[0].endswith("attention")


def events_in(path):
    opened = gzip.open if str(path).endswith(".gz") else open
    with opened(path, "rt") as file:
        return json.load(file)


def test_traces(tmp_path):
    x = weft.torch.randn(300, 300)
    with profile(record_shapes=True, with_stack=True) as profiled, record_function('quoted "name" \\ \n é'):
        weft.exp(x)
    profiled.add_metadata("key", "value")
    profiled.add_metadata_json("list", "[1, 2]")
    for name in ("trace.json", "trace.json.gz"):
        profiled.export_chrome_trace(tmp_path / name)
        trace = events_in(tmp_path / name)
        assert trace["key"] == "value" and trace["list"] == [1, 2]
        spans = {event["name"]: event for event in trace["traceEvents"] if event["ph"] == "X"}
        outer, inner = spans['quoted "name" \\ \n é'], spans["exp"]
        assert outer["ts"] <= inner["ts"] and inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"] + 0.002
        assert inner["args"]["Input Dims"] == [[300, 300]] and "test_profiler.py" in inner["args"]["stack"]
        assert inner["args"]["% of ceiling"] > 0 and any(name.startswith("parallel_for") for name in spans)
    for name in ("none/trace.json", "none/trace.json.gz"):
        with pytest.raises(RuntimeError, match="No such file"):
            profiled.export_chrome_trace(tmp_path / name)
    with pytest.raises(ValueError):
        profiled.add_metadata_json("list", "[1")


def test_a_trace_is_written_while_it_runs(tmp_path):
    path = tmp_path / "trace.json"
    with profile(trace_path=path) as profiled:
        weft.exp(weft.torch.randn(10))
        done = threading.Event()
        for _ in range(500):
            if "exp" in path.read_text() or done.wait(0.01):
                break
        assert "exp" in path.read_text()
    assert "exp" in {event["name"] for event in events_in(path)["traceEvents"]}
    assert "exp" in names_of(profiled.events())


def test_a_program_that_dies_leaves_a_trace(tmp_path):
    path = tmp_path / "trace.json"
    code = f"""
import os, time, weft, weft.torch
weft.profiler.start({str(path)!r})
weft.exp(weft.torch.randn(10))
for _ in range(1000):
    time.sleep(0.01)
    if "exp" in open({str(path)!r}).read(): break
os._exit(0)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
    assert "exp" in {event["name"] for event in events_in(path)["traceEvents"]}


def test_schedules():
    decide = schedule(skip_first=1, wait=1, warmup=1, active=2, repeat=1)
    none, warmup, record, save = ProfilerAction
    assert [decide(step) for step in range(7)] == [none, none, warmup, record, save, none, none]
    early = schedule(wait=2, warmup=0, active=1, skip_first_wait=1)
    assert [early(step) for step in range(4)] == [save, none, none, save]
    ready = []
    with profile(schedule=decide, on_trace_ready=ready.append) as profiled:
        for step in range(7):
            weft.exp(weft.torch.randn(4)) if step in (3, 4) else weft.log(weft.torch.randn(4))
            profiled.step()
    assert ready == [profiled] and profiled.step_num == 7
    names = [event.name for event in profiled.events()]
    assert names.count("exp") == 2 and "log" not in names
    assert [name for name in names if name.startswith("ProfilerStep#")] == [
        "ProfilerStep#3",
        "ProfilerStep#4",
    ]
    ready.clear()
    twice = schedule(wait=0, warmup=0, active=1)
    with profile(
        schedule=twice, on_trace_ready=lambda p: ready.append(len(p.events())), acc_events=True
    ) as all_of:
        for _ in range(3):
            weft.exp(weft.torch.randn(4))
            all_of.step()
    assert len(ready) == 4 and one(all_of.key_averages(), "exp").count == 3
    for wrong in (dict(wait=-1, warmup=0, active=1), dict(wait=0, warmup=0, active=0)):
        with pytest.raises(ValueError, match="schedule: "):
            schedule(**wrong)


def test_what_is_refused_comes_before_the_work(tmp_path):
    with pytest.raises(RuntimeError, match="No such file"):
        with profile(trace_path=tmp_path / "none" / "trace.json"):
            raise AssertionError("the work has begun")
    waiting = schedule(wait=1, warmup=0, active=1)
    with pytest.raises(RuntimeError, match="No such file"):
        profile(trace_path=tmp_path / "none" / "trace.json", schedule=waiting).start()
    (tmp_path / "file").write_text("")
    with pytest.raises(RuntimeError, match="tensorboard_trace_handler: cannot write"):
        weft.profiler.tensorboard_trace_handler(tmp_path / "file")
    with profile() as outer:
        with pytest.raises(RuntimeError, match="do not nest"):
            with profile():
                pass
        with pytest.raises(RuntimeError, match="still records"):
            outer.key_averages()
        with pytest.raises(RuntimeError, match="records already"):
            outer.start()
        assert weft.profiler.is_recording()
    assert not weft.profiler.is_recording()
    with pytest.raises(RuntimeError, match="nothing has been recorded"):
        profile().export_chrome_trace(tmp_path / "trace.json")
    with pytest.raises(TypeError, match="schedule"):
        profile(schedule=3)
    with pytest.raises(TypeError, match="name"):
        record_function(3)
    with profile() as quiet:
        pass
    with pytest.raises(ValueError, match="profile_memory"):
        quiet.allocations()
    assert quiet.key_averages().table(sort_by="count")
    with pytest.warns(UserWarning, match="record_shapes"):
        quiet.key_averages(group_by_input_shape=True)


def test_ranges_in_threads_and_as_decorators():
    @record_function("decorated")
    def work(x):
        return weft.exp(x)

    with profile() as profiled:
        threads = [threading.Thread(target=work, args=(weft.ones(4),)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        work(weft.ones(4))
        with pytest.raises(ZeroDivisionError), record_function("fails"):
            raise ZeroDivisionError
    found = [event for event in profiled.events() if event.name == "decorated"]
    assert len(found) == 4 and all(names_of(event.cpu_children) == {"exp"} for event in found)
    assert "fails" in names_of(profiled.events())


def test_ranges_in_compiled_functions_do_not_break_graphs():
    def f(x):
        with record_function("inside"):
            y = np.exp(x) + 1
        return y * 2

    compiled = weft.compile(f, fullgraph=True)
    x = np.linspace(0, 1, 100)
    np.testing.assert_array_equal(compiled(x), weft.compile(lambda x: (np.exp(x) + 1) * 2)(x))
    with profile() as profiled:
        compiled(x)
    assert sum(event.category == "graph" for event in profiled.events()) == 1


def test_errors_inside_leave_nothing_open():
    with pytest.raises(ZeroDivisionError), profile():
        with record_function("range"):
            raise ZeroDivisionError
    assert not weft.profiler.is_recording()
    with profile() as profiled:
        weft.exp(weft.ones(2))
        with pytest.raises((ValueError, RuntimeError)):
            weft.matmul(weft.ones(2, 3), weft.ones(2, 3))
    assert "exp" in names_of(profiled.events())


def test_modules_around_events():
    model, x = small_model(), weft.torch.randn(4, 64)
    compiled = weft.compile(model)
    expected = compiled(x)
    call = weft.nn.Module.__call__
    with profile(with_modules=True) as profiled:
        model(x)
        assert bool((compiled(x) == expected).all())
        with pytest.raises(TypeError):
            model[0]()
    assert weft.nn.Module.__call__ is call
    events = profiled.events()
    inner = [event.module_hierarchy for event in events if event.name == "nn.Module: Linear"]
    assert inner[:2] == ["Sequential.Linear", "Sequential.Linear"]
    assert any(
        event.module_hierarchy == "Sequential.ReLU" for event in events if event.category == "operator"
    )
    with profile() as plain:
        model(x)
    assert not any(event.name.startswith("nn.Module") for event in plain.events())
    assert {event.module_hierarchy for event in plain.events()} == {""}


def test_modules_of_a_schedule():
    model, x = small_model(), weft.torch.randn(4, 64)
    call = weft.nn.Module.__call__
    with profile(with_modules=True, schedule=schedule(wait=1, warmup=0, active=1)) as profiled:
        for _ in range(4):
            model(x)
            profiled.step()
    assert weft.nn.Module.__call__ is call
    assert sum(event.name == "nn.Module: Sequential" for event in profiled.events()) == 1
