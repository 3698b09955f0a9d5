"""`weft compile script.py`: runs a Python program with its NumPy functions compiled, and reports what that brought.

Every function that the program defines, at the top level of a module or in its classes, and that has no decorator is
compiled; with --report it is performed by Python where no array is among its arguments, unless it loops and takes
numbers. The program is the script and what it imports from beside it (weft._program). Files are not changed.
"""

import dataclasses
import difflib
import dis
import json
import os
import sys
import time
import types

from . import _C, _program
from .compiler import compile as compile_function
from .compiler import most_rounds


@dataclasses.dataclass
class FunctionReport:
    """What became of one function. Times in milliseconds; None where there was no such call."""

    name: str
    file: str
    line: int
    calls: int  # with arrays among the arguments, from outside of other compiled functions
    inside: list  # names of the functions that its code became a part of
    inner_calls: int  # from within other compiled functions
    other_calls: int  # without arrays: Python performed these
    other_ms: float  # of these, without the functions that they called
    graphs: int  # and native loops
    breaks: list  # "file:line: why: what to do"
    unrolled: (
        list  # "file:line: how many rounds, why: what to do": loops that are in graphs round after round
    )
    fallbacks: list  # "file:line: why: what to do": from there on it is Python's
    first_ms: float | None  # capturing and compiling included
    compiled_ms: float | None  # median of the calls after the first
    numpy_ms: float | None  # median of the calls that Python performed, for comparison
    saved_ms: float | None  # over all calls, compiling subtracted

    @classmethod
    def of(cls, compiled, entered):
        entries, measured = _C._report(compiled), _C._measured(compiled)
        function = compiled.__wrapped__
        code = getattr(function, "__code__", None)
        saved = None
        if measured["plain_ms"] is not None:
            saved = (
                measured["plain_ms"] * (measured["calls"] - measured["plain_calls"]) - measured["total_ms"]
            )
        breaks = [_reason(e) for e in entries if not e["returns"]]
        return cls(
            name=getattr(function, "__qualname__", repr(function)),
            file=code.co_filename if code else "",
            line=code.co_firstlineno if code else 0,
            calls=measured["calls"],
            inside=sorted(set(entered.get(code, ()))),
            inner_calls=measured["inner_calls"],
            other_calls=measured["other_calls"],
            other_ms=measured["other_ms"],
            graphs=sum(e["has_graph"] or bool(e["kernels"]) for e in entries),
            breaks=list(dict.fromkeys(breaks)),
            unrolled=[
                _reason(loop, f"{loop['rounds']} rounds in one graph: ")
                for loop in most_rounds(loop for e in entries for loop in e["unrolled"])
            ],
            fallbacks=[_reason(e) for e in _C._fallbacks(compiled)],
            first_ms=measured["first_ms"],
            compiled_ms=measured["warm_ms"],
            numpy_ms=measured["plain_ms"],
            saved_ms=saved,
        )

    @property
    def outcome(self):
        if self.calls:
            if not self.graphs:
                return "runs as it is"
            return f"compiled, {len(self.breaks)} breaks" if self.breaks else "compiled"
        if self.inside:
            return f"compiled as a part of {', '.join(self.inside)}"
        if self.inner_calls:
            return "called from compiled functions"
        return "called without arrays" if self.other_calls else "not called"


def _short(path):
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative


def _place(entry):
    return f"{_short(entry['file'])}:{entry['line']}"


def _reason(entry, before=""):
    return f"{_place(entry)}: {before}{entry['reason']}: {entry['advice']}"


def _times(count):
    return "once" if count == 1 else f"{count} times"


def _number(value, form="{:.3f}"):
    return "" if value is None else form.format(value)


def _table(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [row[0].ljust(widths[0]), row[1].ljust(widths[1])]
        cells += [cell.rjust(width) for cell, width in zip(row[2:], widths[2:])]
        yield "  ".join(cells).rstrip()


class Session:
    """Runs one script and remembers what was compiled in it."""

    def __init__(self, is_timed=False):
        self.compiled = []
        self.seconds = 0.0
        self.is_timed = is_timed
        self.program = None

    def _compile(self, function):
        if not isinstance(function, types.FunctionType):
            return function
        compiled = compile_function(function)
        if any(step.opname.startswith("JUMP_BACKWARD") for step in dis.get_instructions(function)):
            _C._measure_loops(compiled)
        self.compiled.append(compiled)
        return compiled

    def run(self, path, arguments):
        """Runs the script as __main__. raises: OSError, SyntaxError, and what the script raises."""
        with open(path, "rb") as file:
            source = file.read()
        self.program = _program.Program(path, self._compile, self.is_timed)
        code = self.program.compile(source, path)
        module = types.ModuleType("__main__")
        module.__file__ = path
        self.program.prepare(module, path)
        sys.modules["__main__"] = module
        sys.argv = [path, *arguments]
        sys.path[0] = os.path.dirname(os.path.abspath(path))
        _program.install(self.program)
        start = time.perf_counter()
        try:
            exec(code, module.__dict__)
        finally:
            self.seconds = time.perf_counter() - start

    def reports(self):
        """A FunctionReport for each function, the one that saved most first."""
        entered = _C._entered()
        found = [FunctionReport.of(compiled, entered) for compiled in self.compiled]
        return sorted(
            found,
            key=lambda report: (report.saved_ms is None, -(report.saved_ms or 0.0), report.file, report.line),
        )

    def top_level(self):
        """The program's work outside of functions: _program.TopLevel of at least a millisecond."""
        return [one for one in self.program.top_level() if one.seconds >= 1e-3] if self.program else []

    def text(self):
        """The report, for people."""
        reports = self.reports()
        called = [report for report in reports if report.calls]
        rows = [["function", "outcome", "calls", "NumPy ms", "compiled ms", "first call ms", "saved ms"]]
        for report in called:
            rows.append([_where(report), report.outcome, str(report.calls)])
            rows[-1] += [_number(report.numpy_ms), _number(report.compiled_ms)]
            rows[-1] += [_number(report.first_ms), _number(report.saved_ms, "{:+.1f}")]
        if not reports:
            lines = ["weft: the program defines no functions, and only functions are compiled"]
        else:
            lines = list(_table(rows)) if called else ["weft: no function was called with NumPy arrays"]
        lines += [f"break in {report.name}: {why}" for report in called for why in report.breaks]
        lines += [f"unrolled in {report.name}: {why}" for report in called for why in report.unrolled]
        lines += [
            f"{report.name} falls back to Python at {why}" for report in called for why in report.fallbacks
        ]
        lines += _others([report for report in reports if not report.calls])
        lines += _outside(self.top_level(), self.seconds)
        saved = sum(report.saved_ms or 0.0 for report in called)
        unknown = sum(report.saved_ms is None for report in called)
        lines.append(
            f"about {saved / 1e3:+.3f} s saved, compiling included; the script took {self.seconds:.3f} s"
        )
        if unknown:
            lines.append(f"{unknown} functions were called fewer than three times: nothing to compare with")
        return "\n".join(lines)


def _where(report):
    return f"{report.name} ({_short(report.file)}:{report.line})"


def _others(reports):
    """What became of functions that no call with arrays reached directly."""
    lines = [f"{_where(one)}: {one.outcome}" for one in reports if one.inside or one.inner_calls]
    for one in reports:
        if one.inside or one.inner_calls or one.other_ms < _MUCH_MS:
            continue
        lines.append(
            f"{_where(one)}: called {_times(one.other_calls)} without arrays among its arguments, and Python's for this "
            f"report, {one.other_ms / 1e3:.3f} s without the functions that it calls: put its loops and its work on arrays "
            "into a function that takes the arrays"
        )
    rest = [one for one in reports if not one.inside and not one.inner_calls and one.other_ms < _MUCH_MS]
    for outcome in ("called without arrays", "not called"):
        names = [one.name for one in rest if one.outcome == outcome]
        if names:
            lines.append(f"{outcome}: {', '.join(names)}")
    return lines


_MUCH_MS = 50.0


def _outside(statements, seconds):
    """What to do about work at the top level of files, where it is a good part of the time."""
    total = sum(one.seconds for one in statements)
    if total * 1e3 < _MUCH_MS or total < 0.1 * seconds:
        return []
    lines = [
        f"{total:.3f} s of {seconds:.3f} s were spent in statements outside of functions, which Python performs: put them "
        "into a function, and call it with the arrays that it works on"
    ]
    for one in statements[:5]:
        place = f"{_short(one.file)}:{one.line}" + (f"-{one.end_line}" if one.end_line > one.line else "")
        lines.append(f"  {place}: {one.seconds:.3f} s")
    return lines


# ---- the command line --------------------------------------------------------------------------------------

_HELP = """usage: weft compile [--report] [--json FILE] SCRIPT [ARGUMENTS ...]

Runs a Python script with its NumPy functions, and those of modules beside it, compiled.

  --report     say on stderr which functions compiled, what fell back, what to do, time saved
  --json FILE  write the report as JSON
  --help       this text

Options before the script, and --report and --json behind it, are weft's; all else behind it, and all that follows --, is
the script's. With a report the third call of each eight of a function, five at most, is performed by Python for
comparison."""


def _mistake(message):
    print(f"weft: compile: {message} (weft compile --help)", file=sys.stderr)
    raise SystemExit(2)


def _parse(arguments):
    """(script or None for --help, its arguments, report?, JSON file)."""
    script, behind, report, target = None, [], False, None
    rest = list(arguments)
    while rest:
        argument = rest.pop(0)
        name, is_joined, value = argument.partition("=")
        if argument == "--":
            behind += rest
            break
        if argument == "--report":
            report = True
        elif name == "--json":
            if not is_joined and not rest:
                _mistake("--json: expected a file")
            target = value if is_joined else rest.pop(0)
            if not target:
                _mistake("--json: expected a file, got ''")
        elif script is not None:
            behind.append(argument)
        elif argument in ("--help", "-h"):
            return None, [], False, None
        elif argument.startswith("-"):
            near = difflib.get_close_matches(name, ["--report", "--json", "--help"], 1)
            _mistake(f"unknown option '{name}'" + (f"; did you mean '{near[0]}'?" if near else ""))
        else:
            script = argument
    if script is None:
        _mistake("the script is missing")
    return script, behind, report, target


def _check_files(script, target):
    if not os.path.isfile(script):
        what = "is a folder, not a script" if os.path.isdir(script) else "no such file"
        print(f"weft: compile: '{script}': {what}", file=sys.stderr)
        raise SystemExit(1)
    folder = os.path.dirname(os.path.abspath(target)) if target else ""
    if target and (os.path.isdir(target) or not os.path.isdir(folder) or not os.access(folder, os.W_OK)):
        print(f"weft: compile: '{target}': cannot be written", file=sys.stderr)
        raise SystemExit(1)


def _show(error):
    """Prints an exception of the script as Python does: without the frames of weft and of the import system."""
    own, kept, trace = os.path.dirname(__file__), [], error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if os.path.dirname(file) != own and not file.startswith("<frozen importlib"):
            kept.append(trace)
        trace = trace.tb_next
    trace = None
    for one in reversed(kept):
        trace = types.TracebackType(trace, one.tb_frame, one.tb_lasti, one.tb_lineno)
    sys.stdout.flush()
    sys.excepthook(type(error), error.with_traceback(trace), trace)


def main(arguments=None):
    """The command line. Returns the exit status."""
    script, behind, report, target = _parse(sys.argv[1:] if arguments is None else arguments)
    if script is None:
        print(_HELP)
        return 0
    _check_files(script, target)
    session = Session(report or target is not None)
    _C._measure(session.is_timed)
    status = 0
    try:
        session.run(script, behind)
    except Exception as error:
        _show(error)
        status = 1
    finally:
        _C._measure(False)
        if report:
            sys.stdout.flush()
            print(session.text(), file=sys.stderr)
        if target:
            with open(target, "w") as file:
                json.dump(
                    {
                        "seconds": session.seconds,
                        "functions": [dataclasses.asdict(r) for r in session.reports()],
                        "top_level": [dataclasses.asdict(one) for one in session.top_level()],
                    },
                    file,
                    indent=2,
                )
    return status


if __name__ == "__main__":
    sys.exit(main())
