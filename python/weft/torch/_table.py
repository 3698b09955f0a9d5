"""How the table of names (`_names`) is written and read."""

import functools
import importlib

TORCH_VERSION = "2.15.0"

NOT_YET = "not written yet"

on_found = None  # called with each name of torch, and what it is, once it is looked up (`_overriding`)


def find(where, name):
    """The object called `name` of the module `where`; "module:other" calls it `other` there."""
    module, _, other = where.partition(":")
    value = importlib.import_module(module)
    for part in (other or name).split("."):
        value = getattr(value, part)
    return value


class Namespace:
    """PyTorch's public names of one namespace.

    public: all names. found: from the module where names are found here to the names. left_out: from the reason why names
    are not here to the names. `own` is what found says of each name; a name in neither is looked for in `same`, "module" or "module:class" of weft's own, and is
    not written yet where that has none. notes: from a name to how it differs from PyTorch's, or how to say it here.
    functions: of methods, the namespace of the functions that found says "function" of.
    """

    def __init__(self, title, public, found, left_out, same=None, notes=None, functions=None):
        self.title = title
        self.public = frozenset(public.split())
        self.own = {}
        for where, names in found.items():
            for name in names.split():
                self.own.setdefault(name, where)
        self._left_out = {name: reason for reason, names in left_out.items() for name in names.split()}
        self.same = same
        self.notes = notes or {}
        self.functions = functions

    def where(self, name):
        """Where the name is found ("weft.torch._functions.sets", "function", …); None where it is not."""
        if name in self.own:
            return self.own[name] if self._is_there(name, self.own[name]) else None
        if name in self._left_out or name not in self.public or not self.same:
            return None
        try:
            find(self.same + ("." if ":" in self.same else ":") + name, name)
        except AttributeError:
            return None
        return self.same

    def _is_there(self, name, where):
        """Is there the function of torch that a method is made of?"""
        if where == "function":
            return self.functions.where(name) is not None
        plain = name[:-1]
        return where != "in place" or self.where(plain) is not None or self.functions.where(plain) is not None

    @functools.cached_property
    def found(self):
        """From each name that is here to where it is found."""
        places = {name: self.where(name) for name in sorted({*self.public, *self.own})}
        return {name: where for name, where in places.items() if where}

    @functools.cached_property
    def left_out(self):
        """From each public name that is not here to the reason."""
        found = self.found
        return {name: self._left_out.get(name, NOT_YET) for name in sorted(self.public) if name not in found}

    def is_absent_class(self, name):
        """Is it a class that is not here? Programs import those for annotations, and to ask for instances."""
        return name in self._left_out and name[0].isupper() and not name.isupper()

    def why_missing(self, name):
        """The message of the AttributeError for a name that is not here."""
        if name not in self.public:
            return f"module '{self.title}' has no attribute '{name}'"
        note = f"; {self.notes[name]}" if name in self.notes else ""
        return f"{self.title}.{name} is PyTorch's, but not weft's: {self.left_out[name]}{note}"
