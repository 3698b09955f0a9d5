"""Masks over parameters, by the size of their elements: torch.nn.utils.prune.

A pruned parameter NAME is kept as NAME_orig, its mask as the buffer NAME_mask; NAME is their product, computed before each forward().

source: PyTorch 2.15's documentation and behaviour.
"""

import abc
import numbers
from collections.abc import Iterable

import weft
from weft import _drawing


def _count(amount, size):
    """How many of `size`: a share of them, or a number."""
    if isinstance(amount, numbers.Integral):
        if amount > size:
            raise ValueError(
                f"amount={amount} should be smaller than the number of parameters to prune={size}"
            )
        return int(amount)
    return round(amount * size)


def _check_amount(amount):
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if amount < 0 or (not isinstance(amount, numbers.Integral) and amount > 1):
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer"
        )


def _check_channels(t, dim):
    if t.dim() <= 1:
        raise ValueError(
            "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
            f"{t.shape} with {t.dim()} dims"
        )
    if not -t.dim() <= dim < t.dim():
        raise IndexError(f"Invalid index {dim} for tensor of size {t.shape}")


class BasePruningMethod(abc.ABC):
    """A way to prune: compute_mask(t, default_mask) in a subclass, PRUNING_TYPE "unstructured", "structured" or "global"."""

    def __call__(self, module, inputs):
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abc.abstractmethod
    def compute_mask(self, t, default_mask):
        pass

    def apply_mask(self, module):
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        mask = getattr(module, f"{self._tensor_name}_mask")
        original = getattr(module, f"{self._tensor_name}_orig")
        return mask.to(dtype=original.dtype) * original.detach()

    @classmethod
    def apply(cls, module, name, *args, importance_scores=None, **kwargs):
        """Prunes a parameter of the module, on top of what it is pruned by already. Returns the hook."""
        found = [(key, hook) for key, hook in module._forward_pre_hooks.items()
                 if isinstance(hook, BasePruningMethod) and hook._tensor_name == name]  # fmt: skip
        method = cls(*args, **kwargs)
        method._tensor_name = name
        original = getattr(module, name)
        scores = original if importance_scores is None else importance_scores
        if scores.shape != original.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}"
            )
        if found:
            key, before = found[0]
            del module._forward_pre_hooks[key]
            container = before if isinstance(before, PruningContainer) else PruningContainer(before)
            container.add_pruning_method(method)
            method, default = container, getattr(module, f"{name}_mask").detach().clone()
        else:
            module.register_parameter(f"{name}_orig", original)
            del module._parameters[name]
            default = weft.ones_like(original.detach())
        mask = method.compute_mask(scores.detach(), default)
        module.register_buffer(f"{name}_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t, default_mask=None, importance_scores=None):
        """The pruned tensor, without a module."""
        scores = t if importance_scores is None else importance_scores
        default = weft.ones_like(t.detach()) if default_mask is None else default_mask
        return t.detach() * self.compute_mask(scores.detach(), default)

    def remove(self, module):
        """The pruned parameter stays in place of the parameter, its mask and the hook."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(f"{name}_orig")
        original.data = weight.data
        del module._buffers[f"{name}_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Ways to prune one parameter, one after another."""

    def __init__(self, *args):
        self._pruning_methods = ()
        many = args[0] if len(args) == 1 and isinstance(args[0], Iterable) else args
        if many:
            self._tensor_name = next(iter(many))._tensor_name
        for one in many:
            self.add_pruning_method(one)

    def add_pruning_method(self, method):
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self):
        return len(self._pruning_methods)

    def __iter__(self):
        return iter(self._pruning_methods)

    def __getitem__(self, idx):
        return self._pruning_methods[idx]

    def compute_mask(self, t, default_mask):
        """The mask of the last way, over what the others leave."""
        method, mask = self._pruning_methods[-1], default_mask.to(dtype=t.dtype).clone()
        if method.PRUNING_TYPE == "unstructured":
            chosen = mask == 1
            mask[chosen] = method.compute_mask(t[chosen], mask[chosen])
        elif method.PRUNING_TYPE == "structured":
            dim = method.dim % t.dim()
            others = [axis for axis in range(t.dim()) if axis != dim]
            kept = weft.nonzero(weft.sum(mask, others) != 0)[:, 0]
            chosen = (slice(None),) * dim + (kept,)
            mask[chosen] = method.compute_mask(t[chosen], mask[chosen])
        elif method.PRUNING_TYPE == "global":
            mask = method.compute_mask(t, mask)
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        return mask


class Identity(BasePruningMethod):
    """Prunes nothing; the parameter gets a mask of ones."""

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        return default_mask


class _ByAmount(BasePruningMethod):
    PRUNING_TYPE = "unstructured"

    def __init__(self, amount):
        _check_amount(amount)
        self.amount = amount

    def compute_mask(self, t, default_mask):
        count = _count(self.amount, t.numel())
        mask = default_mask.clone()
        if count:
            flat = mask.reshape([-1])
            flat[self._least(t, count)] = 0
            mask = flat.reshape(mask.shape)
        return mask


class RandomUnstructured(_ByAmount):
    """Prunes elements at random."""

    def _least(self, t, count):
        return weft.topk(_drawing.rand_like(t).reshape([-1]), count).indices


class L1Unstructured(_ByAmount):
    """Prunes the elements of the smallest magnitudes."""

    def _least(self, t, count):
        return weft.topk(weft.abs(t).reshape([-1]), count, largest=False).indices


class _OfChannels(BasePruningMethod):
    PRUNING_TYPE = "structured"

    def compute_mask(self, t, default_mask):
        _check_channels(t, self.dim)
        size = t.shape[self.dim]
        count = _count(self.amount, size)
        if not count:
            return default_mask
        shape = [1] * t.dim()
        shape[self.dim] = size
        return default_mask * self._kept(t, count).to(default_mask.dtype).reshape(shape)


class RandomStructured(_OfChannels):
    """Prunes channels along a dimension at random."""

    def __init__(self, amount, dim=-1):
        _check_amount(amount)
        self.amount, self.dim = amount, dim

    def _kept(self, t, count):
        chances = _drawing.rand(t.shape[self.dim])
        return chances > weft.sort(chances).values[count - 1]


class LnStructured(_OfChannels):
    """Prunes the channels along a dimension that have the smallest norms."""

    def __init__(self, amount, n, dim=-1):
        _check_amount(amount)
        self.amount, self.n, self.dim = amount, n, dim

    def _kept(self, t, count):
        size = t.shape[self.dim]
        rows = weft.reshape(weft.movedim(t, self.dim, 0), [size, -1])
        norms = weft.vector_norm(rows, 2 if self.n == "fro" else self.n, [1])
        kept = weft.zeros([size], dtype=weft.bool)
        if size > count:
            kept[weft.topk(norms, size - count).indices] = True
        return kept


class CustomFromMask(BasePruningMethod):
    """Prunes by a mask."""

    PRUNING_TYPE = "global"

    def __init__(self, mask):
        self.mask = mask

    def compute_mask(self, t, default_mask):
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def identity(module, name):
    Identity.apply(module, name)
    return module


def random_unstructured(module, name, amount):
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module, name, amount, importance_scores=None):
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module, name, amount, dim):
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module, name, amount, n, dim, importance_scores=None):
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module, name, mask):
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters, pruning_method, importance_scores=None, **kwargs):
    """Prunes elements of several parameters, (module, name) each, as if they were one tensor."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    parameters, given = list(parameters), importance_scores or {}
    if not isinstance(given, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    scores = weft.cat([given.get(one, getattr(*one)).detach().reshape([-1]) for one in parameters])
    masks = [
        getattr(module, f"{name}_mask", weft.ones_like(getattr(module, name).detach()))
        for module, name in parameters
    ]
    default = weft.cat([mask.reshape([-1]) for mask in masks])
    container = PruningContainer()
    container._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    container.add_pruning_method(method)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {pruning_method} of type '
            f"{method.PRUNING_TYPE}"
        )
    final, start = container.compute_mask(scores, default), 0
    for (module, name), mask in zip(parameters, masks):
        custom_from_mask(module, name, mask=final[start : start + mask.numel()].reshape(mask.shape))
        start += mask.numel()


def remove(module, name):
    """Leaves the pruned parameter in place of parameter, mask and hook. ValueError where it is not pruned."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module):
    """Has the module, or one in it, a pruned parameter?"""
    return any(
        isinstance(hook, BasePruningMethod)
        for _, one in module.named_modules()
        for hook in one._forward_pre_hooks.values()
    )
