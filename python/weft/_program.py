"""The modules of a program that `weft compile` runs: which they are, and how their functions are compiled.

The program is its script and what is imported from beside it: modules of the script's folder and packages below that;
not the standard library, not what is installed.
"""

import ast
import dataclasses
import importlib.abc
import importlib.machinery
import os
import sys
import sysconfig
import time

from . import _C

COMPILE, AT = "__weft_compile__", "__weft_at__"


def _yields(function):
    inner = [*function.body]
    while inner:
        node = inner.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            inner.extend(ast.iter_child_nodes(node))
    return False


class _Decorate(ast.NodeTransformer):
    """Puts the decorator on functions; what is defined inside of functions stays as it is."""

    def visit_FunctionDef(self, node):
        if (
            not node.decorator_list
            and not (node.name.startswith("__") and node.name.endswith("__"))
            and not _yields(node)
        ):
            name = ast.copy_location(ast.Name(COMPILE, ast.Load()), node)
            node.decorator_list.append(name)
        return node

    def visit_AsyncFunctionDef(self, node):
        return node

    def visit_Lambda(self, node):
        return node


_WORK = (ast.Expr, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For, ast.While, ast.Assert, ast.Delete)


def _timed(statements, first=True):
    """The statements with a call of AT before each that may compute, and one after the last of a run of these."""
    result, running = [], False
    for i, node in enumerate(statements):
        is_docstring = (
            first and i == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        )
        is_work = isinstance(node, _WORK) and not is_docstring
        if is_work or running:
            result.append(_mark(node, node.lineno if is_work else 0, node.end_lineno if is_work else 0))
        running = is_work
        if isinstance(node, ast.If | ast.With | ast.Try):
            for field in ("body", "orelse", "finalbody"):
                if getattr(node, field, None):
                    setattr(node, field, _timed(getattr(node, field), False))
        result.append(node)
    if running:
        result.append(_mark(statements[-1], 0, 0))
    return result


def _mark(node, line, end):
    call = ast.Call(ast.Name(AT, ast.Load()), [ast.Constant(line), ast.Constant(end)], [])
    mark = ast.Expr(call)
    for part in ast.walk(mark):
        ast.copy_location(part, node)
    return mark


@dataclasses.dataclass
class TopLevel:
    """Statements at the top level of a file that took time, calls of the program's functions not counted."""

    file: str
    line: int
    end_line: int
    seconds: float


class _Clock:
    """Called before statements at the top level of one file: how long the one before took."""

    def __init__(self, path):
        self.path = path
        self.seconds = {}  # (line, last line): seconds
        self.running = None

    def __call__(self, line, end):
        now, inside = time.perf_counter(), _C._measured_seconds()
        if self.running:
            place, start, before = self.running
            spent = (now - start) - (inside - before)
            self.seconds[place] = self.seconds.get(place, 0.0) + max(0.0, spent)
        self.running = ((line, end), now, inside) if line else None


class Program(importlib.abc.MetaPathFinder):
    """Finds the modules beside the script, and compiles their functions by `compile_function`."""

    def __init__(self, script, compile_function, is_timed):
        self.script = script
        self.folder = os.path.dirname(os.path.realpath(script))
        self.compile_function = compile_function
        self.is_timed = is_timed
        self.clocks = []
        paths = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
        self.others = {os.path.realpath(path) for path in [*paths, os.path.dirname(__file__)]}

    def compile(self, source, path):
        """Code of a module of the program. raises: SyntaxError."""
        tree = _Decorate().visit(ast.parse(source, filename=path))
        if self.is_timed:
            tree.body = _timed(tree.body)
        return compile(ast.fix_missing_locations(tree), path, "exec", dont_inherit=True)

    def prepare(self, module, path):
        """Puts into a module what its code calls."""
        setattr(module, COMPILE, self.compile_function)
        self.clocks.append(_Clock(path))
        setattr(module, AT, self.clocks[-1])

    def is_beside(self, path):
        path = os.path.realpath(path)
        if not path.startswith(self.folder.rstrip(os.sep) + os.sep):
            return False
        folders = []
        while path != self.folder and path != os.path.dirname(path):
            path = os.path.dirname(path)
            folders.append(path)
        names = {os.path.basename(folder) for folder in folders[:-1]}
        return not names & {"site-packages", "dist-packages"} and not self.others & set(folders[:-1])

    def find_spec(self, name, path=None, target=None):
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        is_source = spec is not None and type(spec.loader) is importlib.machinery.SourceFileLoader
        if not is_source or not self.is_beside(spec.origin):
            return None
        spec.loader = _Loader(self, spec.loader.name, spec.loader.path)
        spec.cached = None
        return spec

    def top_level(self):
        """TopLevel statements, those that took most first."""
        found = []
        for clock in self.clocks:
            clock(0, 0)
            found += [TopLevel(clock.path, *place, seconds) for place, seconds in clock.seconds.items()]
        return sorted(found, key=lambda one: -one.seconds)


class _Loader(importlib.machinery.SourceFileLoader):
    """Loads a module of the program; compiled files (.pyc) are neither read nor written."""

    def __init__(self, program, name, path):
        super().__init__(name, path)
        self.program = program

    def get_code(self, fullname):
        path = self.get_filename(fullname)
        return self.program.compile(self.get_data(path), path)

    def exec_module(self, module):
        self.program.prepare(module, self.path)
        super().exec_module(module)


def install(program):
    sys.meta_path.insert(0, program)
