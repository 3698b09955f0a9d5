"""Packages under a second name: `weft.torch.nn` is `weft.nn`, and in a program that `python -m weft.torch` runs, `torch` is
`weft.torch`. Each module stays one module, whatever it is imported as.
"""

import importlib
import importlib.machinery
import sys


class _Loader:
    def __init__(self, alias, module):
        self.alias, self.module, self.spec = alias, module, module.__spec__

    def create_module(self, spec):
        return self.module

    def exec_module(self, module):
        module.__spec__ = self.spec  # importlib has set the alias's
        # Modules below that are loaded already are not set as attributes again: a function may have the name.
        for name in [name for name in sys.modules if name.startswith(module.__name__ + ".")]:
            sys.modules.setdefault(self.alias + name[len(module.__name__) :], sys.modules[name])


class _Finder:
    """On sys.meta_path: names below an alias are modules below what it stands for."""

    def __init__(self):
        self.packages = {}

    def find_spec(self, fullname, path=None, target=None):
        for alias, real in self.packages.items():
            if fullname != alias and not fullname.startswith(alias + "."):
                continue
            name = real + fullname[len(alias) :]
            try:
                module = importlib.import_module(name)
            except ModuleNotFoundError as error:
                if error.name != name:
                    raise
                return None
            spec = importlib.machinery.ModuleSpec(
                fullname, _Loader(fullname, module), is_package=hasattr(module, "__path__")
            )
            return spec
        return None


_FINDER = _Finder()


def add(alias, real):
    """`import alias` and `import alias.x` find `real` and `real.x`."""
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)
    _FINDER.packages[alias] = real
