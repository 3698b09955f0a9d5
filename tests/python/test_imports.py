"""Modules of the package import each other in one direction, imports inside of functions included."""

import ast
import pathlib

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "python" / "weft"


def name_of(path):
    parts = ["weft", *path.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in PACKAGE.rglob("*.py")}


def imported(name, path):
    """Names of the modules that a module imports. The package itself is no such module: its attributes are used when
    all of it is there; and so it is with the package that a module lies in, for `from . import name` of a module."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                inner = f"{module}.{alias.name}"
                yield inner if inner in MODULES else module


def graph():
    return {
        name: {other for other in imported(name, path) if other in MODULES and other not in ("weft", name)}
        for name, path in MODULES.items()
    }


def circles(edges):
    """Sets of several modules of which each reaches each other one (Tarjan's strongly connected components)."""
    numbers, low, stack, found = {}, {}, [], []

    def visit(node):
        numbers[node] = low[node] = len(numbers)
        stack.append(node)
        for other in sorted(edges[node]):
            if other not in numbers:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], numbers[other])
        if low[node] == numbers[node]:
            at = stack.index(node)
            members = frozenset(stack[at:])
            del stack[at:]
            if len(members) > 1:
                found.append(members)

    for node in sorted(edges):
        if node not in numbers:
            visit(node)
    return set(found)


def test_circles_are_found():
    edges = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set(), "e": {"a"}}
    assert circles(edges) == {frozenset({"b", "c"})}


def test_modules_import_in_one_direction():
    found = "\n".join(", ".join(sorted(circle)) for circle in circles(graph()))
    assert not found, f"these import each other:\n{found}"
