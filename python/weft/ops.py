"""TorchScript's builtin operators by name, as in archives: weft.ops.aten.add(x, y, alpha=2).

They take and give what their schemas say; in scripts they are the operators themselves. The functions of `weft` and
`weft.nn.functional` check more and tell errors better. Operators that the program has made (weft.library) are found in their own
namespaces: weft.ops.mine.f.
"""

from weft import _C, library

__all__ = ["Builtin", "aten", "prim", "quantized", "torchaudio", "torchvision"]


class Builtin:
    """A builtin operator with all its overloads; the arguments choose one."""

    def __init__(self, name):
        self.name = name

    def __call__(self, *args, **kwargs):
        return _C._call_builtin(self.name, *args, **kwargs)

    def __repr__(self):
        return f"<weft.ops {self.name}>"


class Namespace:
    """The operators of one namespace as attributes."""

    def __init__(self, name):
        self.__name__ = name

    def __getattr__(self, name):
        full = f"{self.__name__}::{name}"
        if full not in _names():
            raise AttributeError(f"weft.ops: there is no operator {full}")
        self.__dict__[name] = builtin = Builtin(full)
        return builtin

    def __dir__(self):
        return sorted(name.split("::")[1] for name in _names() if name.startswith(self.__name__ + "::"))

    def __repr__(self):
        return f"<weft.ops.{self.__name__}>"


_known = set()


def _names():
    if not _known:
        _known.update(schema.partition("(")[0].partition(".")[0] for schema in _C._builtin_schemas())
    return _known


aten = Namespace("aten")
prim = Namespace("prim")
quantized = Namespace("quantized")
torchaudio = Namespace("torchaudio")
torchvision = Namespace("torchvision")


def __getattr__(name):
    found = None if name.startswith("__") else library.namespace(name)
    if found is None:
        raise AttributeError(f"weft.ops: there is no namespace '{name}'")
    return found
