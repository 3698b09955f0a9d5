"""Calling a module with other parameters than its own."""

import contextlib

import weft

__all__ = ["functional_call"]


@contextlib.contextmanager
def _replaced(module, tensors):
    """Within, the module's parameters and buffers of these dotted names are the given tensors."""
    before = []
    try:
        for name, value in tensors.items():
            path, _, own = name.rpartition(".")
            holder = module.get_submodule(path)
            store = next((each for each in (holder._parameters, holder._buffers) if own in each), None)
            if store is None:
                raise AttributeError(f"{type(module).__name__} has no parameter or buffer '{name}'")
            before.append((store, own, store[own]))
            store[own] = value
        yield
    finally:
        for store, own, value in reversed(before):
            store[own] = value


def _with_tied(module, tensors):
    """The tensors, and those of a parameter's other names under these."""
    names = {}
    for members in (module.named_parameters, module.named_buffers):
        for name, value in members(remove_duplicate=False):
            names.setdefault(id(value), []).append(name)
    result = dict(tensors)
    for tied in names.values():
        given = [name for name in tied if name in tensors]
        if given:
            result.update({name: tensors[given[0]] for name in tied if name not in tensors})
    return result


def functional_call(
    module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False
):
    """module(*args, **kwargs) with tensors by dotted name in place of the module's own.

    tie_weights: a tensor replaces all names of the parameter it replaces. strict: there must be one for each name.
    """
    if isinstance(parameters_and_buffers, (tuple, list)):
        merged = {}
        for each in parameters_and_buffers:
            if set(each) & set(merged):
                raise ValueError(f"functional_call: {sorted(set(each) & set(merged))} are given twice")
            merged.update(each)
        parameters_and_buffers = merged
    if not isinstance(parameters_and_buffers, dict):
        raise ValueError(
            f"functional_call: expected a dictionary of tensors, got {type(parameters_and_buffers).__name__}"
        )
    tensors = parameters_and_buffers
    if strict:
        own = {name for name, _ in module.named_parameters()} | {name for name, _ in module.named_buffers()}
        if own != set(tensors):
            raise RuntimeError(
                f"functional_call: missing {sorted(own - set(tensors))}, unexpected {sorted(set(tensors) - own)}"
            )
    if tie_weights:
        tensors = _with_tied(module, tensors)
    args = (
        ()
        if args is None
        else (args,)
        if isinstance(args, weft.Tensor) or not isinstance(args, tuple)
        else args
    )
    with _replaced(module, tensors):
        return module(*args, **(kwargs or {}))
