"""Where the names that a function's or class's source sees are looked up."""

import builtins
import types

MISSING = object()


class Names:
    """The names that a function's source sees: of its closure, its module, and of the call of weft.jit.script."""

    def __init__(self, names, outer=None):
        self._names = names  # mappings, innermost first
        self._outer = outer or {}

    @classmethod
    def of_function(cls, function, outer=None):
        closure = {}
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            try:
                closure[name] = cell.cell_contents
            except ValueError:  # not assigned yet
                pass
        return cls([closure, function.__globals__], outer)

    @classmethod
    def of_class(cls, python_class, outer=None):
        """The names that the methods of a class see together."""
        names = []
        for value in vars(python_class).values():
            function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
            if isinstance(function, types.FunctionType):
                names += cls.of_function(function)._names
        return cls([*names, {python_class.__name__: python_class}], outer)

    def find(self, name):
        for names in (*self._names, self._outer):
            if name in names:
                return names[name]
        return getattr(builtins, name, MISSING)

    def find_dotted(self, name):
        first, *rest = name.split(".")
        found = self.find(first)
        for part in rest:
            found = getattr(found, part, MISSING)
        return found
