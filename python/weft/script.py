"""`weft compile script.py`: runs a Python program with its NumPy functions compiled, and reports what that brought.

Every function that the script defines, at its top level or in its classes, and that has no decorator is compiled; it is
with --report performed by Python where no array is among its arguments, unless it loops and takes numbers. The script
itself is not changed.
"""

import argparse
import ast
import dataclasses
import dis
import json
import os
import sys
import time
import types

from . import _C
from .compiler import compile as compile_function
from .compiler import most_rounds

_NAME = "__weft_compile__"


class _Decorate(ast.NodeTransformer):
    """Puts the decorator on functions; what is defined inside of functions stays as it is."""

    def visit_FunctionDef(self, node):
        if (
            not node.decorator_list
            and not (node.name.startswith("__") and node.name.endswith("__"))
            and not _yields(node)
        ):
            name = ast.copy_location(ast.Name(_NAME, ast.Load()), node)
            node.decorator_list.append(name)
        return node

    def visit_AsyncFunctionDef(self, node):
        return node

    def visit_Lambda(self, node):
        return node


def _yields(function):
    inner = [*function.body]
    while inner:
        node = inner.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            inner.extend(ast.iter_child_nodes(node))
    return False


@dataclasses.dataclass
class FunctionReport:
    """What became of one function. Times in milliseconds; None where there was no such call."""

    name: str
    file: str
    line: int
    calls: int
    graphs: int  # and native loops
    breaks: list  # "file:line: why"
    unrolled: list  # "file:line: how many rounds, why": loops that are in graphs round after round
    fallbacks: list  # "file:line: why": from there on it is Python's
    first_ms: float | None  # capturing and compiling included
    compiled_ms: float | None  # median of the calls after the first
    numpy_ms: float | None  # median of the calls that Python performed, for comparison
    saved_ms: float | None  # over all calls, compiling subtracted

    @classmethod
    def of(cls, compiled):
        entries, measured = _C._report(compiled), _C._measured(compiled)
        function = compiled.__wrapped__
        code = getattr(function, "__code__", None)
        saved = None
        if measured["plain_ms"] is not None:
            saved = (
                measured["plain_ms"] * (measured["calls"] - measured["plain_calls"]) - measured["total_ms"]
            )
        breaks = [f"{_place(e)}: {e['reason']}" for e in entries if not e["returns"]]
        return cls(
            name=getattr(function, "__qualname__", repr(function)),
            file=code.co_filename if code else "",
            line=code.co_firstlineno if code else 0,
            calls=measured["calls"],
            graphs=sum(e["has_graph"] or bool(e["kernels"]) for e in entries),
            breaks=list(dict.fromkeys(breaks)),
            unrolled=[
                f"{_place(loop)}: {loop['rounds']} rounds in one graph: {loop['reason']}"
                for loop in most_rounds(loop for e in entries for loop in e["unrolled"])
            ],
            fallbacks=[f"{_place(e)}: {e['reason']}" for e in _C._fallbacks(compiled)],
            first_ms=measured["first_ms"],
            compiled_ms=measured["warm_ms"],
            numpy_ms=measured["plain_ms"],
            saved_ms=saved,
        )

    @property
    def outcome(self):
        if not self.calls:
            return "not called with arrays"
        if not self.graphs:
            return "runs as it is"
        return f"compiled, {len(self.breaks)} breaks" if self.breaks else "compiled"


def _short(path):
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative


def _place(entry):
    return f"{_short(entry['file'])}:{entry['line']}"


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

    def __init__(self):
        self.compiled = []
        self.seconds = 0.0

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
        tree = ast.fix_missing_locations(_Decorate().visit(ast.parse(source, filename=path)))
        module = types.ModuleType("__main__")
        module.__file__ = path
        setattr(module, _NAME, self._compile)
        sys.modules["__main__"] = module
        sys.argv = [path, *arguments]
        sys.path[0] = os.path.dirname(os.path.abspath(path))
        start = time.perf_counter()
        try:
            exec(compile(tree, path, "exec"), module.__dict__)
        finally:
            self.seconds = time.perf_counter() - start

    def reports(self):
        """A FunctionReport for each function, the one that saved most first."""
        found = [FunctionReport.of(compiled) for compiled in self.compiled]
        return sorted(
            found, key=lambda report: (report.saved_ms is None, -(report.saved_ms or 0.0), report.line)
        )

    def text(self):
        """The report, for people."""
        reports = self.reports()
        if not reports:
            return "weft: the script defines no functions that could be compiled"
        called = [report for report in reports if report.calls]
        rows = [["function", "outcome", "calls", "NumPy ms", "compiled ms", "first call ms", "saved ms"]]
        for report in called:
            where = f"{report.name} ({_short(report.file)}:{report.line})"
            rows.append(
                [
                    where,
                    report.outcome,
                    str(report.calls),
                    _number(report.numpy_ms),
                    _number(report.compiled_ms),
                ]
            )
            rows[-1] += [_number(report.first_ms), _number(report.saved_ms, "{:+.1f}")]
        lines = list(_table(rows)) if called else ["weft: no function was called with NumPy arrays"]
        lines += [f"break in {report.name}: {why}" for report in called for why in report.breaks]
        lines += [f"unrolled in {report.name}: {why}" for report in called for why in report.unrolled]
        lines += [
            f"{report.name} falls back to Python at {why}" for report in called for why in report.fallbacks
        ]
        others = [report.name for report in reports if not report.calls]
        if others and called:
            lines.append(
                f"not called with arrays or, to loop, with numbers; performed by Python: {', '.join(others)}"
            )
        saved = sum(report.saved_ms or 0.0 for report in called)
        unknown = sum(report.saved_ms is None for report in called)
        lines.append(
            f"about {saved / 1e3:+.3f} s saved, compiling included; the script took {self.seconds:.3f} s"
        )
        if unknown:
            lines.append(f"{unknown} functions were called fewer than three times: nothing to compare with")
        return "\n".join(lines)


def main(arguments=None):
    """The command line. Returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="weft compile",
        description="Runs a Python script with its NumPy functions compiled.",
        epilog="Other arguments, and all that follow --, are the script's. With --report the third call of each eight of a "
        "function, five at most, is performed by Python for comparison.",
    )
    parser.add_argument("script", help="the Python file to run")
    parser.add_argument(
        "--report",
        action="store_true",
        help="say on stderr which functions compiled, what fell back, time saved",
    )
    parser.add_argument("--json", metavar="FILE", help="write the report as JSON")
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    behind = []
    if "--" in arguments:
        at = arguments.index("--")
        arguments, behind = arguments[:at], arguments[at + 1 :]
    options, others = parser.parse_known_args(arguments)
    if not os.path.isfile(options.script):
        parser.exit(1, f"weft: no such file: {options.script}\n")
    session = Session()
    _C._measure(options.report or options.json is not None)
    try:
        session.run(options.script, others + behind)
    finally:
        _C._measure(False)
        if options.report:
            sys.stdout.flush()
            print(session.text(), file=sys.stderr)
        if options.json:
            with open(options.json, "w") as file:
                json.dump(
                    {
                        "seconds": session.seconds,
                        "functions": [dataclasses.asdict(r) for r in session.reports()],
                    },
                    file,
                    indent=2,
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
