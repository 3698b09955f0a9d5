"""Modules of torch.backends with settings: attributes that programs set and ask, and that change nothing here."""

import contextlib
import sys


def flags(module, **names):
    """The context manager `flags` of a module: from its arguments' names and defaults to the settings that they set."""

    @contextlib.contextmanager
    def set_within(*args, **kwargs):
        given = {**names, **dict(zip(names, args, strict=False)), **kwargs}
        before = {name: getattr(sys.modules[module], name, None) for name in given}
        for name, value in given.items():
            setattr(sys.modules[module], name, value)
        try:
            yield
        finally:
            for name, value in before.items():
                setattr(sys.modules[module], name, value)

    set_within.__name__ = "flags"
    return set_within


class Group:
    """Settings below a module: torch.backends.cuda.matmul."""

    def __init__(self, **settings):
        object.__setattr__(self, "_settings", settings)

    def __getattr__(self, name):
        settings = object.__getattribute__(self, "_settings")
        if name not in settings:
            raise AttributeError(f"Unknown attribute {name}")
        return settings[name]

    def __setattr__(self, name, value):
        if name not in self._settings:
            raise AttributeError(f"Unknown attribute {name}")
        self._settings[name] = value
