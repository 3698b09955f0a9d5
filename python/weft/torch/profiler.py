"""torch.profiler's names. What ran is measured by weft.profiler, whose file Perfetto opens; here are times of ranges."""

import collections
import enum
import functools
import os
import tempfile
import time

from weft import profiler as _weft_profiler

__path__ = []


class ProfilerActivity(enum.Enum):
    CPU, XPU, MTIA, CUDA, HPU, PrivateUse1 = 0, 1, 2, 3, 4, 5


class ProfilerAction(enum.Enum):
    NONE, WARMUP, RECORD, RECORD_AND_SAVE = range(4)


class DeviceType(enum.Enum):
    CPU, CUDA = 0, 1


def supported_activities():
    return {ProfilerActivity.CPU}


def schedule(*, wait, warmup, active, repeat=0, skip_first=0, skip_first_wait=0):
    """From the number of a step to what is done in it."""

    def action(step):
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        period = wait + warmup + active
        if repeat > 0 and step // period >= repeat:
            return ProfilerAction.NONE
        within = step % period
        if within < wait:
            return ProfilerAction.NONE
        if within < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if within < period - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(dir_name, worker_name=None, use_gzip=False):
    """What writes each timeline into the folder."""

    def write(profile):
        os.makedirs(dir_name, exist_ok=True)
        profile.export_chrome_trace(
            os.path.join(dir_name, f"{worker_name or os.getpid()}.{time.time_ns()}.pt.trace.json")
        )

    return write


_running = []  # profiles that record


class _Event:
    """A range: its name, how often it ran, and its time in microseconds."""

    def __init__(self, key):
        self.key, self.count, self.cpu_time_total = key, 0, 0.0

    @property
    def self_cpu_time_total(self):
        return self.cpu_time_total

    @property
    def cpu_time(self):
        return self.cpu_time_total / self.count if self.count else 0.0

    cuda_time = cuda_time_total = device_time = device_time_total = 0.0


class EventList(list):
    """What key_averages() gives."""

    def table(
        self, sort_by=None, row_limit=100, max_src_column_width=75, header=None, top_level_events_only=False
    ):
        rows = sorted(self, key=lambda event: -event.cpu_time_total)[:row_limit]
        lines = [f"{'Name':<40} {'CPU total':>14} {'CPU time avg':>14} {'# of Calls':>12}"]
        lines += [
            f"{event.key[:40]:<40} {event.cpu_time_total:>12.3f}us {event.cpu_time:>12.3f}us {event.count:>12}"
            for event in rows
        ]
        return "\n".join(lines)

    @property
    def self_cpu_time_total(self):
        return sum(event.cpu_time_total for event in self)


class record_function:
    """Names a range of a profile: a context manager and decorator."""

    def __init__(self, name, args=None):
        self.name, self.args = name, args

    def __enter__(self):
        self._start = time.perf_counter() if _running else None
        return self

    def __exit__(self, *error):
        for profile in _running if self._start is not None else ():
            event = profile._events.setdefault(self.name, _Event(self.name))
            event.count += 1
            event.cpu_time_total += (time.perf_counter() - self._start) * 1e6

    def __call__(self, function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            with record_function(self.name):
                return function(*args, **kwargs)

        return call


class profile:
    """Records ranges of record_function, and a timeline of weft's threads for export_chrome_trace()."""

    def __init__(
        self,
        enabled=True,
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
        use_cuda=None,
        use_kineto=True,
        use_cpu=True,
        **_,
    ):
        self.enabled, self.schedule, self.on_trace_ready = enabled, schedule, on_trace_ready
        self.step_num, self._events, self._trace, self._records = 0, collections.OrderedDict(), None, False

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *error):
        self.stop()

    def _action(self):
        return self.schedule(self.step_num) if self.schedule else ProfilerAction.RECORD_AND_SAVE

    def start(self):
        if not self.enabled:
            return
        if self._action() in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            self._begin()

    def _begin(self):
        if self._records:
            return
        self._records = True
        _running.append(self)
        handle, path = tempfile.mkstemp(suffix=".json")
        os.close(handle)
        try:
            _weft_profiler.start(path)
            self._trace = path
        except RuntimeError:  # another one records
            os.unlink(path)

    def _end(self):
        if not self._records:
            return
        self._records = False
        _running.remove(self)
        if self._trace:
            _weft_profiler.stop()
        if self.on_trace_ready:
            self.on_trace_ready(self)

    def stop(self):
        self._end()

    def step(self):
        before = self._action()
        self.step_num += 1
        if before is ProfilerAction.RECORD_AND_SAVE and self.schedule:
            self._end()
        if self.schedule and self._action() in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE):
            self._begin()

    def key_averages(self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False):
        return EventList(self._events.values())

    def events(self):
        return self.key_averages()

    def export_chrome_trace(self, path):
        import shutil

        if self._trace is None:
            raise RuntimeError("profile: no timeline has been recorded")
        shutil.copyfile(self._trace, path)

    def export_stacks(self, path, metric="self_cpu_time_total"):
        open(path, "w").close()

    def add_metadata(self, key, value):
        pass

    add_metadata_json = add_metadata

    def toggle_collection_dynamic(self, enable, activities):
        pass

    def __del__(self):
        if getattr(self, "_trace", None) and os.path.exists(self._trace):
            os.unlink(self._trace)


_KinetoProfile = profile


class ExecutionTraceObserver:
    """raises: NotImplementedError."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(
            "torch.profiler.ExecutionTraceObserver is PyTorch's, but not weft's; use torch.profiler.profile"
        )


def register_optimizer_step_post_hook(hook):
    """Does nothing: there are no optimizers."""


def is_available():
    return False
