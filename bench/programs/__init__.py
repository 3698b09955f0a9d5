"""The suite: NumPy programs by field, each with its inputs and, where they differ, what peers run in its place."""

from importlib import import_module

from .registry import PROGRAMS, Program

FIELDS = ("linear_algebra", "stencils", "physics", "signals", "learning", "graphs", "dynamic_programming")

for _field in FIELDS:
    import_module(f"{__name__}.{_field}")


def all_programs() -> list[Program]:
    return list(PROGRAMS.values())


__all__ = ["FIELDS", "PROGRAMS", "Program", "all_programs"]
