"""torch.func: what of it needs no gradients."""

from weft.nn.utils.stateless import functional_call

from . import _absent

__all__ = ["functional_call", "stack_module_state"]


def stack_module_state(models):
    """(parameters, buffers) of models of one architecture, each stacked along a new first dimension."""
    import weft

    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not all(type(model) is type(models[0]) for model in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    members = [(dict(model.named_parameters()), dict(model.named_buffers())) for model in models]
    return tuple(
        {name: weft.stack([each[kind][name] for each in members]) for name in members[0][kind]}
        for kind in (0, 1)
    )


_LEFT_OUT = "functionalize grad grad_and_value hessian jacfwd jacrev jvp linearize vjp"


def __getattr__(name):
    if name in _LEFT_OUT.split():  # which programs import beside what they use
        value = _absent.absent(f"torch.func.{name}", "weft runs models and does not train them", __name__)
        globals()[name] = value
        return value
    if name == "vmap":
        import importlib

        return importlib.import_module("weft.torch._functions.vmap").vmap
    raise AttributeError(f"module 'torch.func' has no attribute '{name}'")
