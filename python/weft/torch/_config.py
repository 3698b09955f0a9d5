"""Modules of settings of PyTorch's compiler: any may be set and asked; none changes what weft does."""

import contextlib
import sys
import types


class Config(types.ModuleType):
    """A module's settings: those of `defaults`, and what a program sets."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"{self.__name__.removeprefix('weft.')}.{name} does not exist")

    def patch(self, *args, **changes):
        """A context manager and decorator: sets settings within. patch("name", value), patch({…}) or patch(name=value)."""
        if args:
            changes = {**(args[0] if isinstance(args[0], dict) else {args[0]: args[1]}), **changes}
        return _patched(self, changes)

    def get_config_copy(self):
        return {name: value for name, value in vars(self).items() if not name.startswith("_")}

    shallow_copy_dict = to_dict = get_config_copy

    def load_config(self, config):
        vars(self).update(config)

    def save_config_portable(self):
        return self.get_config_copy()


@contextlib.contextmanager
def _patched(config, changes):
    before = dict(vars(config))
    for name, value in changes.items():
        target, *rest = name.split(".")
        if rest:
            setattr(getattr(config, target), rest[0], value)
        else:
            setattr(config, target, value)
    try:
        yield
    finally:
        vars(config).clear()
        vars(config).update(before)


def make(module, **defaults):
    """Makes the module one of settings."""
    sys.modules[module].__class__ = Config
    vars(sys.modules[module]).update(defaults)
