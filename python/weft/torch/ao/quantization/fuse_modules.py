"""Convolutions, linear layers, batch norms and ReLUs in a row as one module."""

import copy

from weft import nn
from weft.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

from ..nn.intrinsic import _fused

_KINDS = {
    **{
        (getattr(nn, f"Conv{d}d"), getattr(nn, f"BatchNorm{d}d")): (
            True,
            getattr(_fused, f"ConvBn{d}d"),
            None,
        )
        for d in (1, 2, 3)
    },
    **{
        (getattr(nn, f"Conv{d}d"), getattr(nn, f"BatchNorm{d}d"), nn.ReLU): (
            True,
            getattr(_fused, f"ConvBnReLU{d}d"),
            getattr(_fused, f"ConvReLU{d}d"),
        )
        for d in (1, 2, 3)
    },
    **{
        (getattr(nn, f"Conv{d}d"), nn.ReLU): (
            False,
            getattr(_fused, f"ConvReLU{d}d"),
            getattr(_fused, f"ConvReLU{d}d"),
        )
        for d in (1, 2, 3)
    },
    **{
        (getattr(nn, f"BatchNorm{d}d"), nn.ReLU): (
            False,
            getattr(_fused, f"BNReLU{d}d"),
            getattr(_fused, f"BNReLU{d}d"),
        )
        for d in (2, 3)
    },
    **{
        (getattr(nn, f"ConvTranspose{d}d"), getattr(nn, f"BatchNorm{d}d")): (True, None, None)
        for d in (1, 2, 3)
    },
    (nn.Linear, nn.ReLU): (False, _fused.LinearReLU, _fused.LinearReLU),
    (nn.Linear, nn.BatchNorm1d): (True, _fused.LinearBn1d, None),
}


def _folded(layer, norm):
    """The layer with the batch norm in its weights."""
    if isinstance(layer, nn.Linear):
        return fuse_linear_bn_eval(layer, norm)
    return fuse_conv_bn_eval(
        layer, norm, isinstance(layer, (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d))
    )


def fuse_known_modules(mod_list, is_qat=False, additional_fuser_method_mapping=None):
    """The fused module, and identities for the rest."""
    kinds = tuple(type(module) for module in mod_list)
    own = (additional_fuser_method_mapping or {}).get(kinds)
    if own is None and kinds not in _KINDS:
        raise NotImplementedError(f"Cannot fuse modules: {kinds}")
    if own is not None:
        fused = own(is_qat, *mod_list)
    else:
        if len({module.training for module in mod_list}) != 1:
            raise AssertionError("modules to be fused must all be in the same mode (train or eval).")
        has_norm, trained, evaluated = _KINDS[kinds]
        if is_qat:
            if trained is None:
                raise NotImplementedError(f"Cannot fuse train modules: {kinds}")
            fused = trained(*mod_list)
        else:
            first = _folded(*mod_list[:2]) if has_norm else mod_list[0]
            rest = mod_list[2 if has_norm else 1 :]
            fused = evaluated(first, *rest) if rest else first
    for hook in mod_list[0]._forward_pre_hooks.values():
        fused.register_forward_pre_hook(hook)
    mod_list[0]._forward_pre_hooks.clear()
    for hook in mod_list[-1]._forward_hooks.values():
        fused.register_forward_hook(hook)
    mod_list[-1]._forward_hooks.clear()
    result = [fused]
    for _ in mod_list[1:]:
        identity = nn.Identity()
        identity.training = mod_list[0].training
        result.append(identity)
    return result


def _place(model, name):
    *path, last = name.split(".")
    for part in path:
        model = getattr(model, part)
    return model, last


def _fuse_modules(model, modules_to_fuse, is_qat, inplace, fuser_func=fuse_known_modules, custom=None):
    model = model if inplace else copy.deepcopy(model)
    groups = (
        modules_to_fuse
        if all(isinstance(each, (list, tuple)) for each in modules_to_fuse)
        else [modules_to_fuse]
    )
    more = (custom or {}).get("additional_fuser_method_mapping")
    for names in groups:
        places = [_place(model, name) for name in names]
        fused = fuser_func([getattr(owner, name) for owner, name in places], is_qat, more)
        for (owner, name), module in zip(places, fused):
            setattr(owner, name, module)
    return model


def fuse_modules(
    model, modules_to_fuse, inplace=False, fuser_func=fuse_known_modules, fuse_custom_config_dict=None
):
    """The model with modules that are named, in lists, as one each: batch norms are folded into the weights."""
    return _fuse_modules(model, modules_to_fuse, False, inplace, fuser_func, fuse_custom_config_dict)


def fuse_modules_qat(
    model, modules_to_fuse, inplace=False, fuser_func=fuse_known_modules, fuse_custom_config_dict=None
):
    """The same for a model that is to be trained: batch norms stay."""
    return _fuse_modules(model, modules_to_fuse, True, inplace, fuser_func, fuse_custom_config_dict)
