"""What a profile gives: events, their averages, and tables of these."""

import json

from . import _C

_DEVICE_KEYS = {
    prefix + key for prefix in ("", "self_") for key in ("device_time_total", "device_memory_usage")
} | {"device_time"}


def _time_text(us):
    if us >= 1e6:
        return f"{us / 1e6:.3f}s"
    return f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"


def _shapes_of(text):
    return json.loads(text) if text else []


class _OnNoDevice:
    """Times and sizes on other devices than the processor: there are none."""

    device_time = device_time_total = self_device_time_total = 0.0
    cuda_time = cuda_time_total = self_cuda_time_total = 0.0
    device_memory_usage = self_device_memory_usage = 0
    node_id, use_device, is_remote, is_legacy = -1, None, False, False

    @property
    def cpu_time_total_str(self):
        return _time_text(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self):
        return _time_text(self.self_cpu_time_total)

    @property
    def cpu_time_str(self):
        return _time_text(self.cpu_time)


class Interval:
    """Begin and end, in microseconds since the profile began."""

    def __init__(self, start, end):
        self.start, self.end = start, end

    def elapsed_us(self):
        return self.end - self.start

    def __repr__(self):
        return f"Interval({self.start:.3f}, {self.end:.3f})"


class FunctionEvent(_OnNoDevice):
    """What ran once: an operator, a kernel, a graph, a range of record_function.

    name, key; category: "operator", "kernel", "graph", "script", "compile" or "user_annotation"; time_range;
    thread: the system's number; cpu_parent, cpu_children: by nesting; input_shapes, input_dtypes; stack: calls, the
    innermost first; cpu_memory_usage, self_cpu_memory_usage: bytes; bytes, flops: read and written, operations, as
    estimated; percent_of_ceiling; module_hierarchy: the modules around it, of a profile with_modules.
    """

    count = 1
    _MODULE = "nn.Module: "

    def __init__(self, number, row):
        (self.name, self.category, self._shapes, self._dtypes, stack, self.thread, begin, end, self_ns) = row[
            :9
        ]
        (memory, self_memory, self.bytes, self.flops, least_ns, has_work, self.is_async) = row[9:]
        self.id, self.key = number, self.name
        self.time_range = Interval(begin / 1e3, end / 1e3)
        self._total_ns, self._self_ns = end - begin, self_ns
        self.cpu_memory_usage, self.self_cpu_memory_usage = memory, self_memory
        self.stack = stack.split("\n") if stack else []
        self.cpu_parent, self.cpu_children = None, []
        self.percent_of_ceiling = -1.0
        if has_work and least_ns > 0 and end > begin:
            self.percent_of_ceiling = 100 * least_ns / (end - begin)

    @property
    def input_shapes(self):
        return _shapes_of(self._shapes)

    @property
    def input_dtypes(self):
        return _shapes_of(self._dtypes)

    @property
    def cpu_time_total(self):
        return self._total_ns / 1e3

    cpu_time = cpu_time_total

    @property
    def self_cpu_time_total(self):
        return self._self_ns / 1e3

    @property
    def module_hierarchy(self):
        """Names of the classes of the modules that it ran in, and its own where it is one's call: "Outer.Inner"."""
        names, event = [], self
        while event is not None:
            if event.is_user_annotation and event.name.startswith(self._MODULE):
                names.append(event.name.removeprefix(self._MODULE))
            event = event.cpu_parent
        return ".".join(reversed(names))

    @property
    def is_user_annotation(self):
        return self.category == "user_annotation"

    def _average(self):
        average = _C._ProfilerAverage()
        average.name, average.category, average.calls = self.name, self.category, 1
        average.shapes, average.dtypes, average.stack = self._shapes, self._dtypes, "\n".join(self.stack)
        average.total_ns, average.self_ns = self._total_ns, self._self_ns
        average.memory, average.self_memory = self.cpu_memory_usage, self.self_cpu_memory_usage
        average.bytes, average.operations = self.bytes, self.flops
        average.percent_of_ceiling = self.percent_of_ceiling
        return average

    def __repr__(self):
        return (
            f"<FunctionEvent id={self.id} name={self.name} category={self.category} "
            f"cpu_time={self.cpu_time_total_str} thread={self.thread}>"
        )


class FunctionEventAvg(_OnNoDevice):
    """Events of one name: how often they ran, and their times in microseconds, in all and without what they call."""

    is_async = False

    def __init__(self, average):
        self._row = average
        self.key = self.name = average.name
        self.category, self.count = average.category, average.calls
        self.cpu_memory_usage, self.self_cpu_memory_usage = average.memory, average.self_memory
        self.stack = average.stack.split("\n") if average.stack else []
        self.bytes, self.flops = average.bytes, average.operations
        self.percent_of_ceiling = average.percent_of_ceiling

    @property
    def input_shapes(self):
        return _shapes_of(self._row.shapes)

    @property
    def cpu_time_total(self):
        return self._row.total_ns / 1e3

    @property
    def self_cpu_time_total(self):
        return self._row.self_ns / 1e3

    @property
    def cpu_time(self):
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def is_user_annotation(self):
        return self.category == "user_annotation"

    def _average(self):
        return self._row

    def __repr__(self):
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str} count={self.count}>"
        )


def _merged(averages):
    """Rows of several recordings: one per name and further properties."""
    found = {}
    for row in averages:
        key = (row.category, row.name, row.shapes, row.stack)
        into = found.setdefault(key, row)
        if into is row:
            continue
        least = sum(max(0.0, one.percent_of_ceiling) * one.total_ns for one in (into, row))
        for name in ("calls", "total_ns", "self_ns", "memory", "self_memory", "bytes", "operations"):
            setattr(into, name, getattr(into, name) + getattr(row, name))
        if least > 0:
            into.percent_of_ceiling = least / into.total_ns
    return list(found.values())


class EventList(list):
    """Events (profile.events()) or averages (profile.key_averages())."""

    def __init__(self, *args, profile=None, **kwargs):
        super().__init__(*args)
        self._profile = profile
        self._profile_memory = bool(
            kwargs.get("profile_memory", profile is not None and profile.profile_memory)
        )
        self._with_shapes = bool(kwargs.get("with_shapes", False))

    @property
    def self_cpu_time_total(self):
        """Microseconds."""
        return sum(event.self_cpu_time_total for event in self)

    def table(
        self,
        sort_by=None,
        row_limit=100,
        max_src_column_width=75,
        max_name_column_width=55,
        max_shapes_column_width=80,
        header=None,
        top_level_events_only=False,
        time_unit=None,
    ):
        """The rows as text.

        sort_by: self_cpu_time_total, cpu_time_total, cpu_time, count, cpu_memory_usage, self_cpu_memory_usage, bytes,
        operations, percent_of_ceiling or name; ValueError for another.
        """
        rows = self
        if top_level_events_only:
            rows = [event for event in self if getattr(event, "cpu_parent", self) is None]
            if not rows and self:
                raise NotImplementedError("table: top_level_events_only needs events(), not averages")
        if sort_by is not None and not isinstance(sort_by, str):
            raise TypeError(f"table: sort_by: expected a str, got {type(sort_by).__name__}")
        key = (sort_by or "").replace("cuda", "device").replace("xpu", "device")
        return _C._profile_table(
            [event._average() for event in rows],
            {"flops": "operations"}.get(key, "" if key in _DEVICE_KEYS else key),
            row_limit,
            max_name_column_width or 1 << 30,
            max_shapes_column_width or 1 << 30,
            max_src_column_width or 1 << 30,
            time_unit or "",
            self._profile_memory,
            self._with_shapes,
            header or "",
        )

    __str__ = table

    def total_average(self):
        """One row that is the sum of all."""
        total = _C._ProfilerAverage()
        total.name = "Total"
        for event in self:
            row = event._average()
            for name in ("calls", "total_ns", "self_ns", "memory", "self_memory", "bytes", "operations"):
                setattr(total, name, getattr(total, name) + getattr(row, name))
        return FunctionEventAvg(total)

    def key_averages(self, group_by_input_shapes=False, group_by_stack_n=0, group_by_overload_name=False):
        """Averages of the profile that has these events."""
        return self._profile.key_averages(group_by_input_shapes, group_by_stack_n, group_by_overload_name)

    def export_chrome_trace(self, path):
        self._profile.export_chrome_trace(path)

    def export_stacks(self, path, metric="self_cpu_time_total"):
        self._profile.export_stacks(path, metric)


def events_of(profile, recordings):
    """Events of recordings with what is inside what."""
    rows = [row for recording in recordings for row in recording.events()]
    events = EventList((FunctionEvent(i, row) for i, row in enumerate(rows)), profile=profile)
    events._with_shapes = profile.record_shapes
    open_of = {}
    for event in events:
        if event.is_async:
            continue
        around = open_of.setdefault(event.thread, [])
        while around and around[-1].time_range.end <= event.time_range.start:
            around.pop()
        if around:
            event.cpu_parent = around[-1]
            around[-1].cpu_children.append(event)
        around.append(event)
    return events


def averages_of(profile, recordings, by_shapes, by_stack_lines):
    rows = [row for recording in recordings for row in recording.averages(by_shapes, by_stack_lines)]
    averages = EventList((FunctionEventAvg(row) for row in _merged(rows)), profile=profile)
    averages._with_shapes = by_shapes
    return averages


def write_stacks(path, events, metric):
    """A line per stack, as flame graph programs read them: calls from the outermost on, and microseconds."""
    if metric not in ("self_cpu_time_total", "self_cuda_time_total"):
        raise ValueError(f"export_stacks: metric: expected self_cpu_time_total, got {metric!r}")
    times = {}
    for event in events:
        if event.stack:
            line = ";".join(call.replace(" ", "_").replace(";", ",") for call in reversed(event.stack))
            line += ";" + event.name.replace(" ", "_").replace(";", ",")
            times[line] = times.get(line, 0) + getattr(event, metric)
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{line} {int(time)}\n" for line, time in times.items() if int(time) > 0)
