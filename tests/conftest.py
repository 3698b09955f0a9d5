"""Which tests a run has, and their order.

long: takes more than five seconds, or starts many processes; left to `make test-long`. every_python: depends on what Python compiles
functions to, and so on its version; such tests run under another Python in continuous integration, too. semantics: values that many
kernels would be compiled for; the quick tier has the reference interpreter run the graphs, the long one compiles them as well.

WEFT_TEST_UNOPTIMIZED: what is marked every_python has kernels that the compiler does not optimize, in half the time. The quick tier has it
so: continuous integration runs these tests under the other Python, too, where kernels are those of users.

Files are dealt to processes in the order of the seconds that tests/durations.json has for them, the longest first, so that none is
left over at the end. Processor seconds, the test's own and those of processes that it has waited for: what else the machine does
changes them little. WEFT_TEST_DURATIONS=FILE writes such a table.
"""

import collections
import json
import os
import pathlib

import pytest

TESTS = pathlib.Path(__file__).parent
# Folders, files and beginnings of their names.
READ_BYTECODE = (
    "capture/",
    *(
        f"python/test_{name}"
        for name in "call_pace cold_threads compile continuation exit imports interpreters kernel loop looked_up_halves object pickling "
        "programs static_variables unused_checks views_across_breaks whole_programs".split()
    ),
    *(
        f"torch/test_{name}"
        for name in "captured changing_numbers class_attributes formatted_tensors guarded_programs programs reduce_overhead rounds".split()
    ),
)


def _name(item):
    """As in tests/durations.json; the whole path of a test that is elsewhere, as NumPy's own are."""
    return (item.path.relative_to(TESTS) if item.path.is_relative_to(TESTS) else item.path).as_posix()


def pytest_configure(config):
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False  # xdist would deal files by how many tests they have
    config.addinivalue_line("markers", "long: left to `make test-long`")
    config.addinivalue_line("markers", "every_python: depends on Python's version")
    config.addinivalue_line(
        "markers", "semantics: by the reference interpreter, and compiled in the long tier"
    )


def pytest_generate_tests(metafunc):
    if metafunc.definition.get_closest_marker("semantics"):
        compiled = pytest.param("compiled", marks=pytest.mark.long)
        metafunc.parametrize("execution", ["interpreted", compiled], indirect=True)


@pytest.fixture(autouse=True)
def execution(request, monkeypatch):
    if getattr(request, "param", None) == "interpreted":
        monkeypatch.setenv("WEFT_INTERPRET", "1")
    if os.environ.get("WEFT_TEST_UNOPTIMIZED") and request.node.get_closest_marker("every_python"):
        monkeypatch.setenv("WEFT_KERNEL_OPTIMIZATION", "0")


def pytest_collection_modifyitems(items):
    table = TESTS / "durations.json"
    seconds = json.loads(table.read_text()) if table.exists() else {}
    for item in items:
        if _name(item).startswith(READ_BYTECODE):
            item.add_marker(pytest.mark.every_python)
    items.sort(key=lambda item: -seconds.get(_name(item), 1))  # stable: the tests of a file keep their order


def processor_seconds():
    """Of this process and of those that it has waited for."""
    return sum(os.times()[:4])


class Stopwatch:
    """Gives each report the processor seconds since the one before."""

    def pytest_runtest_logstart(self):
        self.last = processor_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self):
        report = yield
        now = processor_seconds()
        report.processor_seconds, self.last = now - self.last, now
        return report


class Durations:
    """Processor seconds by file, and by name of tests that take more than one."""

    def __init__(self, path):
        self.path = path
        self.files, self.slow = collections.Counter(), collections.Counter()

    def pytest_runtest_logreport(self, report):
        self.files[report.nodeid.partition("::")[0].removeprefix("tests/")] += report.processor_seconds
        self.slow[report.nodeid] += report.processor_seconds

    def pytest_sessionfinish(self):
        found = json.loads(self.path.read_text()) if self.path.exists() else {}
        found |= {name: round(seconds, 1) for name, seconds in self.files.items()}
        self.path.write_text(json.dumps(dict(sorted(found.items())), indent=0) + "\n")
        slow = [f"{seconds:.1f} {name}\n" for name, seconds in self.slow.most_common() if seconds > 1]
        self.path.with_suffix(".slow").write_text("".join(slow))


def pytest_sessionstart(session):
    path, plugins = os.environ.get("WEFT_TEST_DURATIONS"), session.config.pluginmanager
    if path:
        plugins.register(Stopwatch())
    if path and not hasattr(session.config, "workerinput"):
        plugins.register(Durations(pathlib.Path(path)))
