"""Small whole programs, one construct of Python or of its standard library each, for test_whole_programs.py."""

from . import (
    classes,
    containers,
    copies,
    enums,
    errors,
    exceptions,
    functions,
    generators,
    library,
    programs,
    special_methods,
    syntax,
)
from .program import PROGRAMS

__all__ = [
    "PROGRAMS",
    "classes",
    "containers",
    "copies",
    "enums",
    "errors",
    "exceptions",
    "functions",
    "generators",
    "library",
    "programs",
    "special_methods",
    "syntax",
]
