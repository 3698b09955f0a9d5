"""What a program does: operators, compiled graphs and their kernels, compilation, threads, memory.

    with weft.profiler.profile(record_shapes=True, profile_memory=True, with_stack=True) as profile:
        model(x)
    print(profile.key_averages().table(sort_by="self_cpu_time_total"))
    profile.export_chrome_trace("trace.json")             # https://ui.perfetto.dev opens it
    profile.export_memory_timeline("memory.html")         # a page for any browser

docs/PROFILER.md shows how these are read. WEFT_TRACE=trace.json records a whole program.
"""

import contextlib
import enum
import functools
import gc
import gzip
import json
import os
import tempfile
import threading
import time
import warnings

from . import _C
from ._profiler_events import (  # noqa: F401
    EventList,
    FunctionEvent,
    FunctionEventAvg,
    averages_of,
    events_of,
    write_stacks,
)

__all__ = """DeviceType EventList FunctionEvent FunctionEventAvg ProfilerAction ProfilerActivity is_recording profile
    record record_function schedule start stop supported_activities tensorboard_trace_handler""".split()

_C._set_profiler_folder(os.path.dirname(os.path.abspath(__file__)) + os.sep)


class ProfilerActivity(enum.Enum):
    """Where things run. Here all do on the processor."""

    CPU, XPU, MTIA, CUDA, HPU, PrivateUse1 = 0, 1, 2, 3, 4, 5


class ProfilerAction(enum.Enum):
    """What is done in a step."""

    NONE, WARMUP, RECORD, RECORD_AND_SAVE = range(4)


class DeviceType(enum.Enum):
    CPU, CUDA = 0, 1


def supported_activities():
    """{ProfilerActivity.CPU}."""
    return {ProfilerActivity.CPU}


def schedule(*, wait, warmup, active, repeat=0, skip_first=0, skip_first_wait=0):
    """From the number of a step to what is done in it: for profile(schedule=).

    After skip_first steps, cycles of `wait` steps without recording, `warmup` and `active` ones with; `repeat`
    cycles, 0 for as many as there are. skip_first_wait: the first cycle does not wait.
    """
    numbers = {
        "wait": wait,
        "warmup": warmup,
        "active": active,
        "repeat": repeat,
        "skip_first": skip_first,
        "skip_first_wait": skip_first_wait,
    }
    for name, value in numbers.items():
        if not isinstance(value, int):
            raise TypeError(f"schedule: {name}: expected an int, got {type(value).__name__}")
        if value < (name == "active"):
            raise ValueError(f"schedule: {name}: expected at least {int(name == 'active')}, got {value}")
    period = wait + warmup + active

    def action(step):
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        if repeat > 0 and step // period >= repeat:
            return ProfilerAction.NONE
        within = step % period
        if within < wait:
            return ProfilerAction.NONE
        if within < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if within < period - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(dir_name, worker_name=None, use_gzip=False, use_python_export=False):
    """For profile(on_trace_ready=): writes each trace into the folder, which is made at once.

    raises: RuntimeError when it cannot be written to.
    """
    folder = os.fspath(dir_name)
    try:
        os.makedirs(folder, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise RuntimeError(
            f"tensorboard_trace_handler: cannot write to '{folder}': {error.strerror}"
        ) from error

    def write(profile):
        name = f"{worker_name or os.getpid()}.{time.time_ns()}.pt.trace.json"
        profile.export_chrome_trace(os.path.join(folder, name + (".gz" if use_gzip else "")))

    return write


class record_function:
    """Names a range of a profile: a context manager and a decorator.

    args: text that the name is shown with.
    """

    def __init__(self, name, args=None):
        if not isinstance(name, str):
            raise TypeError(f"record_function: name: expected a str, got {type(name).__name__}")
        self.name, self.args = name, args
        self._range = None

    def __enter__(self):
        if _C._is_recording():
            self._range = _C._open_range(self.name if self.args is None else f"{self.name} {self.args}")
        return self

    def __exit__(self, *error):
        if self._range is not None:
            self._range.end()
            self._range = None

    def __call__(self, function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return call


def is_recording():
    """True while a profile, start() or WEFT_TRACE records."""
    return _C._is_recording()


def _parameters():
    """Parameters and buffers of the modules there are, with a name."""
    from .jit import ScriptModule
    from .nn import Module

    for module in gc.get_objects():
        kind = type(module)
        if issubclass(kind, Module):
            tables = [module.__dict__.get(table) or {} for table in ("_parameters", "_buffers")]
            tensors = [item for table in tables for item in table.items()]
        elif issubclass(kind, ScriptModule):
            try:
                tensors = [*module.named_parameters(), *module.named_buffers()]
            except RuntimeError:  # it is being made
                continue
        else:
            continue
        for name, tensor in tensors:
            if isinstance(tensor, _C.Tensor):
                yield f"{kind.__name__}.{name}", tensor


def _note_parameters():
    for name, tensor in _parameters():
        _C._note_parameter(tensor, f"{name} {str(tensor.dtype).rpartition('.')[2]}{list(tensor.shape)}")


_MODULE = "nn.Module: "  # what ranges of module calls begin with


class _ModuleRanges:
    """While profiles want it, every call of a module is a range of its own. Captured code calls no modules: what runs
    in a graph belongs to the module that is compiled."""

    def __init__(self):
        self._lock, self._users = threading.Lock(), 0

    def install(self):
        from .nn import Module

        with self._lock:
            self._users += 1
            if self._users == 1:
                self._original, self._hook = Module.__call__, _with_range(Module.__call__)
                Module.__call__ = self._hook

    def remove(self):
        from .nn import Module

        with self._lock:
            self._users -= 1
            if self._users == 0 and Module.__call__ is self._hook:
                Module.__call__ = self._original


def _with_range(call):
    from .compiler import is_compiling

    @functools.wraps(call)
    def __call__(self, *args, **kwargs):
        if is_compiling() or not _C._is_recording():
            return call(self, *args, **kwargs)
        opened = _C._open_range(_MODULE + type(self).__name__)
        try:
            return call(self, *args, **kwargs)
        finally:
            opened.end()

    return __call__


_module_ranges = _ModuleRanges()


class profile:
    """Records what runs in a `with` statement, or between start() and stop().

    activities: taken as PyTorch's; all that weft does is on the processor.
    schedule: which steps are recorded, where step() ends each; without one, everything.
    on_trace_ready: called with the profile when a recording, or a cycle of the schedule, has ended.
    record_shapes: the operands' shapes and dtypes.
    profile_memory: every allocation of more than 64 bytes.
    with_stack: the calls that led to each event and allocation; those of weft's own package are left out.
    with_flops: taken; operations are always estimated.
    with_modules: calls of modules are events, "nn.Module: Linear", and events know the modules that they are in
    (module_hierarchy: "Sequential.Linear"). A compiled module is one; it is captured once more meanwhile. TorchScript's
    methods are events without it, too.
    acc_events: events of all cycles of a schedule, not the last one's.
    trace_path: a trace that is written while the program runs. One that cannot be written is a RuntimeError before
    anything has run.
    """

    def __init__(
        self,
        *,
        activities=None,
        schedule=None,
        on_trace_ready=None,
        record_shapes=False,
        profile_memory=False,
        with_stack=False,
        with_flops=False,
        with_modules=False,
        experimental_config=None,
        execution_trace_observer=None,
        acc_events=False,
        custom_trace_id_callback=None,
        post_processing_timeout_s=None,
        trace_path=None,
    ):
        for name, value in (("schedule", schedule), ("on_trace_ready", on_trace_ready)):
            if value is not None and not callable(value):
                raise TypeError(f"profile: {name}: expected a function, got {type(value).__name__}")
        self.activities = set(activities or supported_activities())
        self.schedule, self.on_trace_ready = schedule, on_trace_ready
        self.record_shapes, self.profile_memory = bool(record_shapes), bool(profile_memory)
        self.with_stack, self.with_flops = bool(with_stack), bool(with_flops)
        self.with_modules, self.acc_events = bool(with_modules), bool(acc_events)
        self.experimental_config = experimental_config
        self.trace_path = None if trace_path is None else os.fspath(trace_path)
        self.step_num, self.current_action = 0, ProfilerAction.NONE
        self._recordings, self._records, self._step, self._metadata = [], False, None, {}
        self._trace_id = custom_trace_id_callback

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *error):
        self.stop()

    def _action(self):
        return self.schedule(self.step_num) if self.schedule else ProfilerAction.RECORD_AND_SAVE

    def _is_wanted(self):
        return self.current_action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)

    def start(self):
        """Begins, with the first step. raises: RuntimeError while something else records, or for trace_path."""
        if self._records:
            raise RuntimeError("profile.start: this profile records already; call stop() first")
        self.current_action = self._action()
        if self.trace_path is not None:  # steps that are not recorded come first
            try:
                open(self.trace_path, "a").close()
            except OSError as error:
                raise RuntimeError(f"profile: cannot write '{self.trace_path}': {error.strerror}") from error
        if self._is_wanted():
            self._begin()

    def stop(self):
        """Ends, and calls on_trace_ready where something was being recorded."""
        if self._records:
            self._end()
        self.current_action = ProfilerAction.NONE

    def step(self):
        """The next step begins."""
        if self._step is not None:
            self._step.end()
            self._step = None
        before = self.current_action
        self.step_num += 1
        self.current_action = self._action()
        if self._records and (
            before is ProfilerAction.RECORD_AND_SAVE and self.schedule or not self._is_wanted()
        ):
            self._end()
        if self._is_wanted():
            if not self._records:
                self._begin()
            else:
                self._begin_step()

    def _begin(self):
        path = self.trace_path or ""
        if path and self._recordings and self.schedule:
            stem, suffix = os.path.splitext(path)
            path = f"{stem}.{self.step_num}{suffix}"
        _C._start_profiler(self.record_shapes, self.profile_memory, self.with_stack, path, True)
        self._records = True
        if self.with_modules:
            _module_ranges.install()
        if self.profile_memory:
            _note_parameters()
        if self.schedule:
            self._begin_step()

    def _begin_step(self):
        self._step = _C._open_range(f"ProfilerStep#{self.step_num}")

    def _end(self):
        if self._step is not None:
            self._step.end()
            self._step = None
        if self.profile_memory:
            _note_parameters()
        self._records = False
        if self.with_modules:
            _module_ranges.remove()
        recording = _C._stop_profiler()
        self._recordings = [*self._recordings, recording] if self.acc_events else [recording]
        if self.on_trace_ready:
            self.on_trace_ready(self)

    def _ended(self, what):
        if self._records:
            raise RuntimeError(
                f"profile.{what}: the profile still records; leave its `with` statement, or call stop()"
            )
        if not self._recordings:
            raise RuntimeError(f"profile.{what}: nothing has been recorded")
        return self._recordings

    def events(self):
        """Everything that ran, by begin; threads' shares of parallel loops are in the trace only."""
        return events_of(self, self._ended("events"))

    def key_averages(
        self,
        group_by_input_shape=False,
        group_by_stack_n=0,
        group_by_overload_name=False,
        include_python_functions=False,
    ):
        """Averages by name, by the operands' shapes, and by the innermost group_by_stack_n calls."""
        if group_by_input_shape and not self.record_shapes:
            warnings.warn("key_averages: the profile has no shapes; give it record_shapes=True", stacklevel=2)
        if group_by_stack_n and not self.with_stack:
            warnings.warn("key_averages: the profile has no stacks; give it with_stack=True", stacklevel=2)
        recordings = self._ended("key_averages")
        return averages_of(self, recordings, bool(group_by_input_shape), int(group_by_stack_n))

    def export_chrome_trace(self, path, *_, **__):
        """Writes the last recording for Perfetto; gzipped where the path ends with ".gz"."""
        recording = self._ended("export_chrome_trace")[-1]
        members = "".join(f", {json.dumps(key)}: {value}" for key, value in self._metadata.items())
        path = os.fspath(path)
        if not path.endswith(".gz"):
            recording.export_chrome_trace(path, members)
            return
        try:
            packed = gzip.open(path, "wb")
        except OSError as error:
            raise RuntimeError(f"export_chrome_trace: cannot write '{path}': {error.strerror}") from error
        with packed, tempfile.NamedTemporaryFile(suffix=".json") as plain:
            recording.export_chrome_trace(plain.name, members)
            for line in plain:
                packed.write(line)

    def export_stacks(self, path, metric="self_cpu_time_total"):
        """Writes stacks with times for flame graphs. raises: ValueError without with_stack."""
        if not self.with_stack:
            raise ValueError("export_stacks: the profile has no stacks; give it with_stack=True")
        write_stacks(path, self.events(), metric)

    def export_memory_timeline(self, path, device=None):
        """Writes memory over time, by category, and each allocation with its stack.

        path: a page for a browser where it ends with ".html"; ".json" has the same as numbers.
        raises: ValueError without profile_memory, and for other endings.
        """
        if device is not None and str(device).partition(":")[0] != "cpu":
            raise ValueError(
                f"export_memory_timeline: device: only the processor's is recorded, got {device}"
            )
        self._ended("export_memory_timeline")[-1].export_memory_timeline(os.fspath(path))

    def allocations(self):
        """Blocks of memory by begin: dicts of begin_ns, end_ns, bytes, category, type, operator, stack, device."""
        return self._ended("allocations")[-1].allocations()

    def add_metadata(self, key, value):
        """A text in the exported trace."""
        self._metadata[str(key)] = json.dumps(str(value))

    def add_metadata_json(self, key, value):
        """A value in the exported trace, as JSON text."""
        json.loads(value)
        self._metadata[str(key)] = value

    preset_metadata_json = add_metadata_json

    def toggle_collection_dynamic(self, enable, activities):
        """Not there: raises NotImplementedError. A schedule, or start() and stop(), choose what is recorded."""
        raise NotImplementedError(
            "profile.toggle_collection_dynamic is PyTorch's, but not weft's; use a schedule, or start() and stop()"
        )

    def get_trace_id(self):
        """What custom_trace_id_callback gives, or None."""
        return self._trace_id() if self._trace_id else None

    def prepare_trace(self):
        """Nothing is to be prepared."""

    start_trace, stop_trace = start, stop


def start(path):
    """Records from now on, for the file `path`, which is written meanwhile.

    raises: RuntimeError while recording, or when it cannot be written.
    """
    _C._start_profiler(False, False, False, os.fspath(path), False)


def stop():
    """Ends it. raises: RuntimeError when not recording, or when the file could not be written."""
    _C._stop_profiler()


@contextlib.contextmanager
def record(path):
    """Records the body of a `with` statement."""
    start(path)
    try:
        yield
    finally:
        stop()
