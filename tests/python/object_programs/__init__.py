"""Programs about Python's object semantics, each run plain and compiled on state of its own (test_object_semantics.py).

A file is a module of programs: functions of an array `x` whose names have no underscore in front, and lines of EXPRESSIONS,
each of which becomes two programs, one that lets an exception go and one that catches it. What hooks append to LOG is
compared, call by call.
"""

import importlib.util
import pathlib
import types
import warnings

_FOLDER = pathlib.Path(__file__).parent
FILES = sorted(path.stem for path in _FOLDER.glob("[a-z]*.py"))

_TEMPLATE = """
def let_go(x):
    y = x + 1
    result = {expression}
    return y * 2, result

def caught(x):
    y = x + 1
    try:
        result = {expression}
    except Exception as error:
        result = type(error).__name__, str(error), error.args
    return y * 2, result
"""


def expressions_of(file):
    lines = getattr(_loaded(file), "EXPRESSIONS", "").splitlines()
    return [line.strip() for line in lines if line.strip()]


def _loaded(file):
    specification = importlib.util.spec_from_file_location(f"object_programs.{file}", _FOLDER / f"{file}.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def fresh(file, name, expression=None):
    """A new copy of the module, with the program of the expression, if it is one."""
    module = _loaded(file)
    if expression is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # wrong programs are what some of them are
            exec(_TEMPLATE.format(name=name, expression=expression), vars(module))
    return module


def programs(file):
    """What pytest calls a file's programs, and the arguments of fresh() for each."""
    module = _loaded(file)
    for name, value in vars(module).items():
        if name.startswith("_") or not isinstance(value, types.FunctionType):
            continue
        if value.__code__.co_argcount > 0 and value.__code__.co_varnames[0] == "x":
            yield f"{file}-{name}", (file, name)
    for expression in dict.fromkeys(expressions_of(file)):
        for name in ("let_go", "caught"):
            yield f"{file}-{name}-{expression}", (file, name, expression)
