"""torchvision.models.feature_extraction: what modules inside of a model give.

Features are results of modules: weft makes no graphs of torch.fx, and results of functions inside of a module's forward
(`layer1.0.add`, `flatten`) have no names here.
"""

import copy
import re

from weft import nn
from weft.compiler import is_compiling

__all__ = ["create_feature_extractor"]


class _AllFound(Exception):
    pass


def _by_name(nodes):
    return {name: name for name in nodes} if isinstance(nodes, (list, tuple)) else dict(nodes)


def _place(model, name):
    """(the module's name, which call of it) of a node: "relu_1" is the second call of "relu". None for what is no module."""
    names = {path for path, _ in model.named_modules() if path}
    if name in names:
        return name, 0
    later = re.fullmatch(r"(.*)_(\d+)", name)
    return (later[1], int(later[2])) if later and later[1] in names else None


class _Extractor(nn.Module):
    """A call gives {key: result} in the order in which the modules run, which stops after the last. The parameters are the model's."""

    def __init__(self, model, nodes):
        super().__init__()
        shared = {id(one): one for part in (model.parameters(), model.buffers()) for one in part}
        twin = copy.deepcopy(model, shared)
        for name, child in twin.named_children():
            self.add_module(name, child)
        for tensors in ("_parameters", "_buffers"):
            vars(self)[tensors].update(vars(twin)[tensors])
        object.__setattr__(self, "_whole", twin)
        self.training = model.training
        self._weft_keys = nodes  # of both modes: {(module, call): key}
        self._weft_found, self._weft_calls = {}, {}
        for name in dict.fromkeys(name for wanted in nodes.values() for name, _ in wanted):
            twin.get_submodule(name).register_forward_hook(self._weft_hook(name))

    def _weft_hook(self, name):
        def keep(module, args, result):
            call = self._weft_calls.get(name, 0)
            self._weft_calls[name] = call + 1
            key = self._weft_keys[self.training].get((name, call))
            if key is not None:
                self._weft_found[key] = result
                if len(self._weft_found) == len(self._weft_keys[self.training]) and not is_compiling():
                    raise _AllFound

        return keep

    def train(self, mode=True):
        self._whole.train(mode)
        return super().train(mode)

    def forward(self, *args, **kwargs):
        self._weft_found, self._weft_calls = {}, {}
        try:
            self._whole(*args, **kwargs)
        except _AllFound:
            pass
        found, self._weft_found = self._weft_found, {}
        return found


def create_feature_extractor(model, return_nodes=None, train_return_nodes=None, eval_return_nodes=None, tracer_kwargs=None,
                             suppress_diff_warning=False, concrete_args=None):  # fmt: skip
    """A module that gives the results of modules inside of `model`: return_nodes is a list of their names ("layer1", "relu_1" for
    the second call of "relu"), or a dictionary from them to keys; train_return_nodes and eval_return_nodes: those of each mode.
    tracer_kwargs, suppress_diff_warning and concrete_args are without effect.

    raises: ValueError for a name that is no module's, and unless either return_nodes or both others are given.
    """
    if (train_return_nodes is None) != (eval_return_nodes is None):
        raise ValueError(
            "If any of `train_return_nodes` and `eval_return_nodes` are specified, then both should be specified"
        )
    if (return_nodes is None) == (train_return_nodes is None):
        raise ValueError(
            "Either `return_nodes` or `train_return_nodes` and `eval_return_nodes` together, should be specified"
        )
    nodes = {}
    for mode, given in ((True, train_return_nodes), (False, eval_return_nodes)):
        wanted = _by_name(return_nodes if given is None else given)
        nodes[mode] = {}
        for name, key in wanted.items():
            place = _place(model, str(name))
            if place is None:
                raise ValueError(
                    f"node: '{name}' is not present in model, or is no module's result: weft finds modules by their names"
                )
            nodes[mode][place] = str(key)
    return _Extractor(model, nodes)


def get_graph_node_names(model, tracer_kwargs=None, suppress_diff_warning=False, concrete_args=None):
    """Left out: names of a model's operations need torch.fx."""
    raise NotImplementedError(
        "get_graph_node_names: weft makes no graphs of torch.fx; create_feature_extractor takes the names of modules"
    )
