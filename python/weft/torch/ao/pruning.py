"""torch.ao.pruning: masks over weights, by the norms of blocks. Schedules that change them during training are not weft's."""

import abc
import collections
import copy
import math

import weft
from weft import nn
from weft.nn.utils import parametrize

from .. import _absent

_OWN = ("module", "module_fqn", "tensor_name")  # what a group has that its state has not


def module_to_fqn(model, module, prefix=""):
    """The dotted name of a module in a model; None where it is not there."""
    if model is module:
        return ""
    return next((prefix + name for name, one in model.named_modules() if one is module), None)


def fqn_to_module(model, path):
    """What is found under a dotted name, a module or a tensor; None where there is none."""
    for name in path.split(".") if path else ():
        model = getattr(model, name, None)
    return model


def get_arg_info_from_tensor_fqn(model, tensor_fqn):
    """The module and the name of the tensor that a dotted name means."""
    module_fqn, _, tensor_name = tensor_fqn.rpartition(".")
    return {
        "module_fqn": module_fqn,
        "module": fqn_to_module(model, module_fqn),
        "tensor_name": tensor_name,
        "tensor_fqn": tensor_fqn,
    }


class FakeSparsity(nn.Module):
    """A parametrization: the weight times a mask."""

    def __init__(self, mask):
        super().__init__()
        self.register_buffer("mask", mask)

    def forward(self, x):
        if self.mask.shape != x.shape:
            raise AssertionError(f"mask shape ({self.mask.shape}) must match x shape ({x.shape})")
        return self.mask * x

    def state_dict(self, *args, **kwargs):
        """Nothing: the sparsifier has the masks."""
        return {}


class BaseSparsifier(abc.ABC):
    """Puts a mask over weights of a model: prepare() with a list of {"tensor_fqn": name, …}, whose further entries replace
    `defaults`; step() computes the masks by update_mask(); squash_mask() leaves the masked weights behind."""

    def __init__(self, defaults=None):
        self.defaults = defaults or {}
        self.state = collections.defaultdict(dict)
        self.groups = []
        self.enable_mask_update = True

    def __getstate__(self):
        return {"defaults": self.defaults, "state": self.state, "groups": self.groups}

    def __setstate__(self, state):
        self.__dict__.update(state)

    def __repr__(self):
        lines = [f"{type(self).__name__} ("]
        for number, group in enumerate(self.groups):
            lines += [""] * bool(number) + [f"\tGroup {number}", f"\t    module: {group['module']}"]
            lines += [f"\t    {key}: {group[key]}" for key in sorted(group) if key != "module"]
        return "\n".join(lines) + ("\n)" if self.groups else ")")

    def state_dict(self):
        groups = [{key: value for key, value in one.items() if key not in _OWN} for one in self.groups]
        return {"state": self.state, "groups": groups}

    def load_state_dict(self, state_dict, strict=True):
        """The masks and groups of another sparsifier, for the model that this one has prepared."""
        groups, state = copy.deepcopy(state_dict["groups"]), state_dict["state"]
        for tensor_fqn, own in state.items():
            found = get_arg_info_from_tensor_fqn(self.model, tensor_fqn)
            module, name = found["module"], found["tensor_name"]
            if module is None:
                if strict:
                    raise RuntimeError(f"Error loading {tensor_fqn} into the model")
                continue
            masked = None
            if parametrize.is_parametrized(module, name):
                masked = next(
                    (one for one in module.parametrizations[name] if isinstance(one, FakeSparsity)), None
                )
            if masked is None:
                masked = FakeSparsity(weft.ones(getattr(module, name).shape))
                parametrize.register_parametrization(module, name, masked)
            if own.get("mask") is not None:
                masked.mask = own["mask"]
            for group in groups:
                if group["tensor_fqn"] == tensor_fqn:
                    group.update(found)
        self.state, self.groups = state, groups

    def make_config_from_model(self, model, SUPPORTED_MODULES=frozenset({nn.Linear})):
        """The weights of all modules of these classes."""
        self.config = [
            {"tensor_fqn": f"{name}.weight"}
            for name, module in model.named_modules()
            if type(module) in SUPPORTED_MODULES
        ]

    def prepare(self, model, config):
        """Puts masks of ones over the weights that config names; None: those of all Linear layers."""
        self.model, self.config = model, config
        if config is None:
            self.make_config_from_model(model)
        for one in self.config:
            if not isinstance(one, dict):
                raise AssertionError("config elements should be dicts: [{'tensor_fqn': 'foo.bar.weight'}, …]")
            group = {**copy.deepcopy(self.defaults), **one}
            if group.get("tensor_fqn") is None:
                raise AssertionError("tensor_fqn is a required argument in the sparsity config")
            for key, value in get_arg_info_from_tensor_fqn(model, group["tensor_fqn"]).items():
                if key in group and group[key] != value:
                    raise AssertionError(
                        f"Given both `{key}` and `tensor_fqn` in the config, it is expected them to agree!"
                    )
                group[key] = value
            self.groups.append(group)
        self._prepare()

    def _prepare(self, *args, **kwargs):
        for group in self.groups:
            module, name = group["module"], group["tensor_name"]
            mask = group.get("mask")
            mask = weft.ones_like(getattr(module, name).detach()) if mask is None else mask
            self.state[group["tensor_fqn"]]["mask"] = mask
            parametrize.register_parametrization(
                module, name, group.get("parametrization", FakeSparsity)(mask)
            )

    def squash_mask(self, params_to_keep=None, params_to_keep_per_layer=None, *args, **kwargs):
        """Leaves the masked weights in place of weights and masks. Entries of groups that are named (for all, or by the module's
        name) are kept as the module's `sparse_params`."""
        for group in self.groups:
            module = group["module"]
            parametrize.remove_parametrizations(module, group["tensor_name"], leave_parametrized=True)
            kept = [
                *(params_to_keep or ()),
                *((params_to_keep_per_layer or {}).get(group["module_fqn"]) or ()),
            ]
            if kept:
                module.sparse_params = {name: group[name] for name in kept}

    def convert(self, module, mapping=None, inplace=False, parameterization=FakeSparsity):
        """The module with those of its modules that have a mask replaced: by mapping[class].from_dense(module)."""
        if mapping is None:
            raise NotImplementedError("Need to auto generate mapping ")
        module = module if inplace else copy.deepcopy(module)
        for name, child in list(module.named_children()):
            kind = parametrize.type_before_parametrizations(child)
            masked = parametrize.is_parametrized(child) and any(
                isinstance(one, parameterization) for many in child.parametrizations.values() for one in many
            )
            if masked and kind in mapping:
                module._modules[name] = mapping[kind].from_dense(child)
            else:
                self.convert(child, mapping, True, parameterization)
        return module

    def step(self, use_path=True):
        """Computes the masks anew."""
        if self.enable_mask_update:
            for group in self.groups:
                self.update_mask(**group)

    @abc.abstractmethod
    def update_mask(self, module, tensor_name, **kwargs):
        pass


def _in_blocks(values, block, filled):
    """The values [h, w] as [blocks, elements of a block]; what is beyond the edge is `filled`."""
    (h, w), (block_h, block_w) = values.shape, block
    rows, columns = -(-h // block_h), -(-w // block_w)
    padded = weft.full([rows * block_h, columns * block_w], filled, dtype=values.dtype)
    padded[:h, :w] = values
    split = weft.permute(weft.reshape(padded, [rows, block_h, columns, block_w]), [0, 2, 1, 3])
    return weft.reshape(split, [rows * columns, block_h * block_w])


def _of_blocks(blocks, block, shape):
    (h, w), (block_h, block_w) = shape, block
    rows, columns = -(-h // block_h), -(-w // block_w)
    joined = weft.permute(weft.reshape(blocks, [rows, columns, block_h, block_w]), [0, 2, 1, 3])
    return weft.reshape(joined, [rows * block_h, columns * block_w])[:h, :w].contiguous()


class WeightNormSparsifier(BaseSparsifier):
    """Of the blocks of a weight, those of the smallest norms become zero, a share of sparsity_level; with zeros_per_block, so many of
    the smallest elements of each such block. norm: 1, 2 or a function of the weight."""

    def __init__(self, sparsity_level=0.5, sparse_block_shape=(1, 4), zeros_per_block=None, norm=None):
        if zeros_per_block is None:
            zeros_per_block = math.prod(sparse_block_shape)
        norms = {None: lambda x: x * x, 2: lambda x: x * x, 1: weft.abs}
        if not callable(norm) and norm not in norms:
            raise NotImplementedError(f"L-{norm} is not yet implemented.")
        self.norm_fn = norm if callable(norm) else norms[norm]
        super().__init__(
            {
                "sparsity_level": sparsity_level,
                "sparse_block_shape": sparse_block_shape,
                "zeros_per_block": zeros_per_block,
            }
        )

    def update_mask(self, module, tensor_name, sparsity_level, sparse_block_shape, zeros_per_block, **kwargs):
        block = tuple(sparse_block_shape)
        count = math.prod(block)
        if zeros_per_block > count:
            raise ValueError(
                "Number of zeros per block cannot be more than the total number of elements in that block."
            )
        if zeros_per_block < 0:
            raise ValueError("Number of zeros per block should be positive.")
        mask = getattr(module.parametrizations, tensor_name)[0].mask
        if sparsity_level <= 0 or zeros_per_block == 0:
            mask.data = weft.ones_like(mask)
        elif sparsity_level >= 1 and zeros_per_block == count:
            mask.data = weft.zeros_like(mask)
        else:
            norms = self.norm_fn(getattr(module, tensor_name).detach())
            kept = _kept_blocks(norms, block, sparsity_level)
            if zeros_per_block != count:
                blocks = _in_blocks(norms, block, math.nan)
                _, least = weft.topk(blocks, zeros_per_block, dim=1, largest=False)
                kept = kept | (
                    weft.scatter(weft.ones(blocks.shape, dtype=weft.int64), 1, least, weft.zeros_like(least))
                    != 0
                )
                mask.data = _of_blocks(kept, block, norms.shape)
            else:
                mask.data = _of_blocks(kept.to(weft.float32), block, norms.shape)


def _kept_blocks(norms, block, level):
    """Of each element [blocks, elements of a block], is its block none of those with the smallest mean norms?"""
    blocks = _in_blocks(norms, block, 0)
    if level >= 1:
        return weft.zeros(blocks.shape, dtype=weft.bool)
    inside = _in_blocks(weft.ones_like(norms), block, 0)
    means = weft.sum(blocks, [1]) / weft.sum(inside, [1])
    number = max(0, min(len(means) - 1, round(level * len(means))))
    _, least = weft.topk(means, number, dim=0, largest=False)
    kept = weft.scatter(weft.ones([len(means)], dtype=weft.int64), 0, least, weft.zeros_like(least)) != 0
    return weft.expand(weft.unsqueeze(kept, [1]), list(blocks.shape))


def get_dynamic_sparse_quantized_mapping():
    raise NotImplementedError(
        "torch.ao.pruning: modules with sparse quantized weights are not weft's; see weft.sparse"
    )


get_static_sparse_quantized_mapping = get_dynamic_sparse_quantized_mapping
__getattr__ = _absent.names(__name__)
