"""torch.profiler's names: programs written for PyTorch 2.15's profiler."""

import inspect
import json

import pytest
import weft
import weft.torch as torch
from weft.torch.profiler import ProfilerActivity, profile, record_function, schedule


def test_names_are_those_of_the_real_profiler():
    assert profile is weft.profiler.profile and record_function is weft.profiler.record_function
    assert torch.profiler.supported_activities() == {ProfilerActivity.CPU}
    # PyTorch 2.15's parameters, by inspect.signature there.
    assert (
        list(inspect.signature(profile.__init__).parameters)[:14]
        == (
            "self activities schedule on_trace_ready record_shapes profile_memory with_stack with_flops with_modules "
            "experimental_config execution_trace_observer acc_events custom_trace_id_callback post_processing_timeout_s"
        ).split()
    )
    assert list(inspect.signature(profile.key_averages).parameters) == (
        "self group_by_input_shape group_by_stack_n group_by_overload_name include_python_functions".split()
    )
    assert list(inspect.signature(torch.profiler.EventList.table).parameters) == (
        "self sort_by row_limit max_src_column_width max_name_column_width max_shapes_column_width header "
        "top_level_events_only time_unit".split()
    )
    assert list(inspect.signature(profile.export_memory_timeline).parameters) == ["self", "path", "device"]
    assert list(inspect.signature(schedule).parameters) == (
        "wait warmup active repeat skip_first skip_first_wait".split()
    )


def test_the_program_of_pytorchs_tutorial(tmp_path):
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten()
    ).eval()
    inputs = torch.randn(2, 3, 16, 16)
    with profile(
        activities=[ProfilerActivity.CPU], profile_memory=True, record_shapes=True, with_stack=True
    ) as prof:
        with record_function("model_inference"), torch.no_grad():
            model(inputs)
    averages = prof.key_averages()
    assert "model_inference" in averages.table(sort_by="cpu_time_total", row_limit=10)
    assert prof.key_averages(group_by_input_shape=True).table(sort_by="self_cpu_memory_usage")
    (convolution,) = (event for event in prof.events() if event.name == "convolution")
    assert convolution.input_shapes[:2] == [[2, 3, 16, 16], [8, 3, 3, 3]]
    assert convolution.flops == 2 * 2 * 8 * 16 * 16 * 3 * 9
    assert convolution.device_time_total == convolution.cuda_time_total == 0
    prof.export_chrome_trace(str(tmp_path / "trace.json"))
    prof.export_memory_timeline(str(tmp_path / "memory.html"), device="cpu")
    prof.export_stacks(str(tmp_path / "stacks.txt"), "self_cpu_time_total")
    trace = json.loads((tmp_path / "trace.json").read_text())
    assert {"model_inference", "convolution"} <= {event["name"] for event in trace["traceEvents"]}


def test_the_handler_of_tensorboard(tmp_path):
    handler = torch.profiler.tensorboard_trace_handler(
        str(tmp_path / "log"), worker_name="worker", use_gzip=True
    )
    with profile(schedule=schedule(wait=1, warmup=1, active=1, repeat=2), on_trace_ready=handler) as prof:
        for _ in range(6):
            torch.exp(torch.ones(3))
            prof.step()
    files = sorted((tmp_path / "log").iterdir())
    assert len(files) == 2 and all(file.name.startswith("worker.") for file in files)
    assert all(file.name.endswith(".pt.trace.json.gz") for file in files)


def test_autograds_profiler():
    x = torch.randn(10, 10)
    with torch.autograd.profiler.profile(record_shapes=True) as prof:
        with torch.autograd.profiler.record_function("mine"):
            torch.mm(x, x)
    assert "mine" in {event.key for event in prof.key_averages()} and "mine" in prof.table()
    assert prof.function_events and prof.total_average().count == len(prof.function_events)
    with torch.autograd.profiler.profile(enabled=False) as nothing:
        torch.mm(x, x)
    with pytest.raises(RuntimeError, match="nothing has been recorded"):
        nothing.key_averages()


def test_what_pytorch_names_too():
    with pytest.raises(NotImplementedError, match="ExecutionTraceObserver"):
        torch.profiler.ExecutionTraceObserver()
    with pytest.raises(NotImplementedError, match="toggle_collection_dynamic"):
        profile().toggle_collection_dynamic(True, [ProfilerActivity.CPU])
    assert profile().get_trace_id() is None
    assert profile(custom_trace_id_callback=lambda: "seven").get_trace_id() == "seven"


def test_before_cuda_graphs():
    assert torch.profiler._utils._init_for_cuda_graphs() is None


def test_ranges_by_operators():
    enter, leave = torch.ops.profiler._record_function_enter, torch.ops.profiler._record_function_exit
    with profile(activities=[ProfilerActivity.CPU]) as recorded:
        opened = enter("outer")
        torch.ones(3) + 1
        leave(opened)
        leave(torch.ops.profiler._record_function_enter_new("with args", "x"))
    names = {event.key for event in recorded.key_averages()}
    assert {"outer", "with args x"} <= names
