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
        real = self.spec.name if self.spec else module.__name__
        for name in [name for name in sys.modules if name.startswith(real + ".")]:
            sys.modules.setdefault(self.alias + name[len(real) :], sys.modules[name])

    def get_code(self, fullname):  # of `python -m`
        loader = self.spec.loader
        return loader.get_code(self.spec.name) if hasattr(loader, "get_code") else None


class _Finder:
    """On sys.meta_path: names below an alias are modules below what it stands for."""

    def __init__(self):
        self.packages = {}  # alias -> package; the longest alias that fits is taken
        self.versions = {}  # distribution -> version, for importlib.metadata
        self.on_load = None  # called with each module of a package that has an alias, once it is loaded

    def _real(self, fullname):
        alias = fullname
        while alias not in self.packages:
            alias, dot, _ = alias.rpartition(".")
            if not dot:
                return None
        return self.packages[alias] + fullname[len(alias) :]

    def find_spec(self, fullname, path=None, target=None):
        name = self._real(fullname)
        if name is None:
            return self._watched(fullname, path) if self.on_load is not None else None
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                raise
            if "." in fullname:
                return None  # importlib looks beside the package, and says that there is none
            raise ModuleNotFoundError(
                f"No module named {fullname!r}: weft stands in for it, and has none", name=fullname
            ) from None
        return importlib.machinery.ModuleSpec(
            fullname, _Loader(fullname, module), is_package=hasattr(module, "__path__")
        )

    def _watched(self, fullname, path):
        if not any(fullname.startswith(package + ".") for package in self.packages.values()):
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module):
                load(module)
                self.on_load(module)

            spec.loader.exec_module = exec_module
        return spec

    def find_distributions(self, context):
        """importlib.metadata.version("torch") is the version that weft.torch follows."""
        if context.name not in self.versions:
            return []
        import importlib.metadata

        text = f"Metadata-Version: 2.1\nName: {context.name}\nVersion: {self.versions[context.name]}\n"

        class Distribution(importlib.metadata.Distribution):
            def read_text(self, filename):
                return text if filename == "METADATA" else None

            def locate_file(self, path):
                raise NotImplementedError(f"{context.name} is weft's, and has no files")

        return [Distribution()]


_FINDER = _Finder()
_LAST = _Finder()  # for what is not installed


def add(alias, real, version=None):
    """`import alias` and `import alias.x` find `real` and `real.x`; version: what importlib.metadata tells."""
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)
    _FINDER.packages[alias] = real
    if version is not None:
        _FINDER.versions[alias] = version


def add_missing(alias, real):
    """`import alias` finds `real` where there is no other package of the name."""
    if _LAST not in sys.meta_path:
        sys.meta_path.append(_LAST)
    _LAST.packages[alias] = real


def watch(on_load):
    """on_load(module) is called of each module of the packages that have aliases, now or when it is loaded."""
    for name, module in list(sys.modules.items()):
        if module is not None and any(
            f"{name}.".startswith(package + ".") for package in _FINDER.packages.values()
        ):
            on_load(module)
    _FINDER.on_load = on_load
