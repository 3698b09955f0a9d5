"""Which of a module's methods PyTorch itself calls: those that a subclass may override, and expects to be called.

    python method_calls.py > method_calls.json      (by a Python that has PyTorch)

The classes and their calls are those of tests/python/nn_cases.py. Each class gets a subclass whose methods note that they
were called; it is made, called, converted, saved, loaded, copied, and its tensors are assigned anew.
"""

import copy
import inspect
import json
import sys
import warnings
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "python"))
import nn_cases


def methods_of(module_class):
    """The names of the methods that a class and its bases define, without those that Python calls itself, and those that
    say by being there that a module has more state."""
    return sorted(
        {
            name
            for base in module_class.__mro__[:-1]
            for name, value in vars(base).items()
            if inspect.isfunction(value)
            and not (name.startswith("__") and name.endswith("__"))
            and name not in ("get_extra_state", "set_extra_state")
        }
    )


def noting(module_class, names, called):
    """A subclass whose methods of these names add them to `called`."""

    def note(name):
        def method(self, *args, **kwargs):
            called.add(name)
            return getattr(super(subclass, self), name)(*args, **kwargs)

        return method

    subclass = type(module_class.__name__, (module_class,), {name: note(name) for name in names})
    return subclass


class Namespace:
    """torch.nn, but for one class."""

    def __init__(self, nn, name, module_class):
        self._nn, self._name, self._class = nn, name, module_class

    def __getattr__(self, name):
        return self._class if name == self._name else getattr(self._nn, name)


def assign_anew(torch, module):
    for name, value in list(module._parameters.items()):
        if value is not None:
            setattr(module, name, torch.nn.Parameter(value.detach().clone()))
            setattr(module, name, getattr(module, name))
    for name, value in list(module._buffers.items()):
        if value is not None:
            setattr(module, name, value.clone())


def use(torch, module, case, convert):
    """What programs do with a module that stands in another."""
    inputs, options = case.arrays()
    inputs = [nn_cases.to_tensors(convert, each) for each in inputs]
    options = {key: nn_cases.to_tensors(convert, value) for key, value in options.items()}
    parent = torch.nn.Sequential(module)
    parent.double()
    parent.to(torch.float32)
    for mode in (True, False):
        parent.train(mode)
        module(*inputs, **options)
    parent.load_state_dict(parent.state_dict())
    repr(parent)
    parent.apply(lambda each: each)
    parent.requires_grad_(False)
    parent.zero_grad()
    assign_anew(torch, module)
    copy.deepcopy(parent)
    list(parent.named_parameters()), list(parent.named_buffers()), list(parent.named_modules())


def called_methods(torch, case, names, convert):
    """Those of the names that are called while a module of the case's class is made and used."""
    nn, called = torch.nn, set()
    own = getattr(nn, case.name)
    subclass = noting(own, [name for name in names if hasattr(own, name)], called)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        use(torch, case.build(Namespace(nn, case.name, subclass)), case, convert)
    return sorted(called)


def private_names(module_class, module=None):
    """Names with one underscore of the class, its bases, and a module's own attributes."""
    names = {name for base in module_class.__mro__ for name in vars(base)} | set(
        vars(module) if module is not None else ()
    )
    return {name for name in names if name.startswith("_") and not name.startswith("__")}


def main():
    import torch

    called, private = {}, set()
    for value in vars(torch.nn).values():
        if inspect.isclass(value) and issubclass(value, torch.nn.Module):
            private |= private_names(value)
    for case in nn_cases.CASES:
        own = getattr(torch.nn, case.name)
        private |= private_names(own, case.build(torch.nn))
        names = called_methods(torch, case, methods_of(own), lambda array: torch.from_numpy(array.copy()))
        called[case.name] = called.get(case.name, set()) | set(names)
    always = set.intersection(*called.values())
    lines = [f'"private": {json.dumps(sorted(private))}', f'"always called": {json.dumps(sorted(always))}']
    lines += [
        f"{json.dumps(name)}: {json.dumps(sorted(names - always))}" for name, names in sorted(called.items())
    ]
    print("{\n" + ",\n".join(lines) + "\n}")


if __name__ == "__main__":
    main()
