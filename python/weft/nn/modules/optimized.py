"""What weft.compile makes of a module: a module whose calls are compiled."""

import copy

import weft

from .hooks import call_with_hooks
from .module import Module

# What the wrapper keeps for itself; every other attribute is its module's.
_OWN = frozenset({"_weft_compiled", "_modules", "_parameters", "_buffers", "_non_persistent_buffers_set"})


class OptimizedModule(Module):
    """A module whose calls run compiled code. Everything else is that of the module it is made of, `_orig_mod`:
    parameters, buffers, sub-modules and attributes are read and assigned there, `train` and `eval` reach it, and the
    names of its state begin with `_orig_mod.`, as PyTorch has them.
    """

    def __init__(self, module, compiled):
        """compiled: the callable that stands for calls of `module`."""
        own = self.__dict__
        own["_weft_compiled"] = compiled
        own["_parameters"], own["_buffers"], own["_modules"] = {}, {}, {"_orig_mod": module}
        own["_non_persistent_buffers_set"] = set()

    def __call__(self, *args, **kwargs):
        if self._forward_pre_hooks or self._forward_hooks:
            return call_with_hooks(self, args, kwargs)
        return self._weft_compiled(*args, **kwargs)

    def forward(self, *args, **kwargs):
        return self._weft_compiled(*args, **kwargs)

    @property
    def __wrapped__(self):
        return self._modules["_orig_mod"]

    @property
    def _weft_options(self):
        return self._weft_compiled._options

    @property
    def training(self):
        return self._modules["_orig_mod"].training

    @training.setter
    def training(self, mode):
        self._modules["_orig_mod"].training = mode

    def __getattr__(self, name):
        modules = self.__dict__.get("_modules")
        if modules is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        module = modules["_orig_mod"]
        return module if name == "_orig_mod" else getattr(module, name)

    def __setattr__(self, name, value):
        if name in _OWN or name == "training":
            object.__setattr__(self, name, value)
        elif name == "_orig_mod":
            raise AttributeError(
                "_orig_mod: a compiled module stays that of its module; compile the other one"
            )
        else:
            setattr(self._orig_mod, name, value)

    def __delattr__(self, name):
        delattr(self._orig_mod, name)

    def __dir__(self):
        return sorted({*object.__dir__(self), *dir(self._orig_mod), "_orig_mod"})

    def __len__(self):
        return len(self._orig_mod)

    def __bool__(self):
        return True

    def __iter__(self):
        return iter(self._orig_mod)

    def __getitem__(self, key):
        return self._orig_mod[key]

    def __setitem__(self, key, value):
        self._orig_mod[key] = value

    def __contains__(self, key):
        return key in self._orig_mod

    def __reduce__(self):
        return weft.compiler._compile_again, (self._orig_mod, *self._weft_options)

    def __deepcopy__(self, memo):
        result = weft.compiler._compile_again(copy.deepcopy(self._orig_mod, memo), *self._weft_options)
        memo[id(self)] = result
        return result
