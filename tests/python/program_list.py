"""What the tables of programs for test_compile_frames.py are made of."""

import inspect


def programs_of(namespace):
    """The functions of (x, events) that the module with these globals defines, in order."""
    return [
        one
        for one in namespace.values()
        if inspect.isfunction(one)
        and one.__module__ == namespace["__name__"]
        and one.__code__.co_varnames[:2] == ("x", "events")
    ]
