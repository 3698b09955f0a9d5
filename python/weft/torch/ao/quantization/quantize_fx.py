"""Quantization of traced graphs: prepare_fx puts observers on the values that quantized parts take and give, convert_fx quantized
parts in place of what they saw."""

import copy
import operator

import weft
import weft.torch as torch
from weft import nn
from weft.nn import functional as F
from weft.torch import fx

from ... import _absent
from ..nn.intrinsic import _fused
from ..nn.quantized import FloatFunctional, FXFloatFunctional
from .fuse_modules import fuse_known_modules
from .observer import _is_activation_post_process
from .qconfig_mapping import QConfigMapping
from .quantize import _STATIC, _is_memoryless, get_default_dynamic_quant_module_mappings, swap_module

__all__ = ["convert_fx", "fuse_fx", "prepare_fx"]

_RELUS = (nn.ReLU, F.relu, torch.relu, "relu", "relu_")
# What is fused: kinds of nodes that follow each other and nothing else reads.
_CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)
_TRANSPOSED = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
_FUSED = (
    [(*pair, nn.ReLU) for pair in zip(_CONVOLUTIONS, _NORMS)]
    + list(zip(_CONVOLUTIONS + _TRANSPOSED, _NORMS * 2))
    + [(conv, nn.ReLU) for conv in _CONVOLUTIONS]
    + [(norm, nn.ReLU) for norm in _NORMS[1:]]
    + [(nn.Linear, nn.BatchNorm1d), (nn.Linear, nn.ReLU)]
)

# Modules with a quantized one; sums and products; what keeps the scale; what has a scale of its own.
_BINARY = {
    **dict.fromkeys((operator.add, torch.add, operator.iadd, "add", "add_"), "add"),
    **dict.fromkeys((operator.mul, torch.mul, operator.imul, "mul", "mul_"), "mul"),
}
_JOINED = {torch.cat, torch.concat, torch.concatenate, weft.concatenate}
_KEPT_MODULES = (
    nn.ReLU, nn.ReLU6, nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d, nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d, nn.AdaptiveAvgPool1d,
    nn.AdaptiveAvgPool2d, nn.AdaptiveAvgPool3d, nn.Identity, nn.Hardtanh, nn.PixelShuffle, nn.PixelUnshuffle,
)  # fmt: skip
_DROPOUTS = (nn.Dropout, F.dropout)  # keep the scale, too, and their results have an observer of their own
_KEPT = {
    F.relu, F.relu6, F.max_pool1d, F.max_pool2d, F.max_pool3d, torch.avg_pool1d, F.avg_pool2d, F.avg_pool3d,
    F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d, F.hardtanh, F.interpolate, F.pixel_shuffle,
    F.pixel_unshuffle, torch.clamp, torch.flatten, torch.mean, torch.narrow, torch.repeat_interleave, torch.transpose,
    torch.squeeze, torch.unsqueeze, *"""clamp contiguous detach detach_ mean permute repeat repeat_interleave relu relu_ reshape
    squeeze squeeze_ transpose unsqueeze unsqueeze_ view""".split(),
}  # fmt: skip
_FIXED = {torch.sigmoid, torch.tanh, F.sigmoid, F.tanh, F.hardsigmoid, "sigmoid", "tanh"}
_FIXED_MODULES = (nn.Sigmoid, nn.Tanh, nn.Hardsigmoid)
_SHAPES = ("size", "dim", "shape")


def _refuse(**given):
    for name, value in given.items():
        if value is not None:
            raise NotImplementedError(
                f"quantize_fx: {name}: weft has the settings of PyTorch's default backend only"
            )


def _kind(node, modules):
    """A module's class, a function, or a method's name."""
    return type(modules[node.target]) if node.op == "call_module" else node.target


def _is_computed(node):
    return node.op in ("call_module", "call_function", "call_method")


# ---- fusing ----------------------------------------------------------------------------------------------------------


def _chain(node, kinds, modules):
    """The nodes of these kinds from `node` on, each read by the next alone; None where they are others."""
    found = []
    for at, kind in enumerate(kinds):
        own = _kind(node, modules) if _is_computed(node) else None
        if own is not kind and not (kind is nn.ReLU and own in _RELUS):
            return None
        found.append(node)
        if at + 1 < len(kinds):
            if len(node.users) != 1:
                return None
            node = next(iter(node.users))
    return found


def _set_module(root, path, module):
    before, _, name = path.rpartition(".")
    root.get_submodule(before)._modules[name] = module


def _fuse(model):
    modules = dict(model.named_modules(remove_duplicate=False))
    for node in list(model.graph.nodes):
        if node.op != "call_module":
            continue
        for kinds in _FUSED:
            nodes = _chain(node, kinds, modules)
            if nodes is None:
                continue
            parts = [modules[each.target] if each.op == "call_module" else nn.ReLU().eval() for each in nodes]
            fused = fuse_known_modules(parts)[0]
            _set_module(model, node.target, fused)
            modules[node.target] = fused
            nodes[-1].replace_all_uses_with(node)
            for each in reversed(nodes[1:]):
                model.graph.erase_node(each)
            break
    model.delete_all_unused_submodules()
    model.graph.lint()
    model.recompile()
    return model


def _traced(model):
    if model.training:
        raise AssertionError("prepare_fx and fuse_fx: expected a model in eval() mode: weft does not train")
    model = copy.deepcopy(model)
    if isinstance(model, fx.GraphModule):
        return model
    for path, module in list(model.named_modules()):
        if type(module) is FloatFunctional:  # its observer is the graph's
            _set_module(model, path, FXFloatFunctional())
    return fx.symbolic_trace(model)


def fuse_fx(model, fuse_custom_config=None, backend_config=None):
    """The traced model with convolutions, norms and ReLUs in a row as one module."""
    _refuse(fuse_custom_config=fuse_custom_config, backend_config=backend_config)
    return _fuse(_traced(model))


# ---- observers -------------------------------------------------------------------------------------------------------


class _Preparation:
    """Puts observers into a fused graph."""

    def __init__(self, model, mapping):
        self.model, self.mapping = model, mapping
        self.modules = dict(model.named_modules(remove_duplicate=False))
        self.observers = {}  # from a value's node to the node of its observer
        self.integers = set()  # nodes whose values are quantized
        self.modes = {}  # from a node to how convert_fx replaces it

    def qconfig(self, node):
        if node.op != "call_module":
            return self.mapping._of("", node.target)
        module = self.modules[node.target]
        kind, kinds = type(module), self.mapping.object_type_qconfigs
        if isinstance(module, _fused._FusedModule):
            first, *rest = (type(each) for each in module.children())
            for other in rest:
                if kinds.get(other) != kinds.get(first):
                    raise LookupError(
                        "During fusion, we need to specify the same qconfigs for all module types in "
                        f"{kind} offending type: {other}"
                    )
            kind = first if kinds.get(first) else kind
        return self.mapping._of(node.target, kind)

    def mode(self, node):
        """How a node is quantized; None: not at all."""
        if not _is_computed(node):
            return None
        kind, qconfig = _kind(node, self.modules), self.qconfig(node)
        if qconfig is None or qconfig.activation is None:
            return None
        operands = [each for each in node.args if isinstance(each, fx.Node)]
        if node.op == "call_module" and _is_memoryless(qconfig):
            return "dynamic" if kind in get_default_dynamic_quant_module_mappings() else None
        if node.op == "call_module" and kind in _STATIC and kind not in (*_KEPT_MODULES, *_DROPOUTS):
            return "module"
        if kind in _BINARY and len(operands) == 2:
            return "binary"
        if operands and self.is_followed(operands[0]):
            return "relu"
        if kind in _JOINED:
            return "joined"
        is_quantized = bool(operands) and operands[0] in self.integers
        if is_quantized and kind in _BINARY and isinstance(node.args[1], (int, float)):
            return "number"
        if is_quantized and kind in _DROPOUTS:
            return "dropout"
        if is_quantized and (kind in _KEPT or kind in _KEPT_MODULES):
            return "kept"
        return "fixed" if is_quantized and (kind in _FIXED or kind in _FIXED_MODULES) else None

    def is_followed(self, node):
        """Is it a sum or product that a ReLU alone reads?"""
        following = next(iter(node.users), None)
        is_relu = (
            following is not None and _is_computed(following) and _kind(following, self.modules) in _RELUS
        )
        return self.modes.get(node) == "binary" and len(node.users) == 1 and is_relu

    def observe(self, value, observer):
        """An observer after a value, which all that follows reads."""
        name = f"activation_post_process_{len(self.observers)}"
        self.model.add_module(name, observer)
        users = list(value.users)
        with self.model.graph.inserting_after(value):
            node = self.model.graph.call_module(name, (value,))
        self.observers[value] = node
        self.integers.add(node)
        return node, users

    def observed(self, value, qconfig):
        """The observer's node of a value that a quantized part takes."""
        if value in self.integers:
            return value
        if value not in self.observers:
            self.observe(value, qconfig.activation())
        return self.observers[value]

    def run(self):
        for node in list(self.model.graph.nodes):
            mode = self.mode(node)
            if mode is None or not self._takes_tensors(node, mode):
                continue
            self.modes[node] = mode
            if mode != "dynamic":
                self.insert(node, mode, self.qconfig(node))
            elif node.op == "call_module":
                self.modules[node.target].qconfig = self.qconfig(node)
        self.model.graph.lint()
        self.model.recompile()
        self.model._weft_modes = {node.name: mode for node, mode in self.modes.items()}
        return self.model

    @staticmethod
    def _takes_tensors(node, mode):
        first = node.args[0] if node.args else None
        if mode == "joined":
            return isinstance(first, (list, tuple)) and all(isinstance(each, fx.Node) for each in first)
        return isinstance(first, fx.Node)

    def insert(self, node, mode, qconfig):
        if mode != "relu":
            values = (
                node.args[0]
                if mode == "joined"
                else [each for each in node.args if isinstance(each, fx.Node)]
            )
            for value in values[: None if mode in ("binary", "joined") else 1]:
                node.replace_input_with(value, self.observed(value, qconfig))
        if node.op == "call_module":
            self.modules[node.target].qconfig = qconfig
        if not self.is_followed(node):
            self.observe_result(node, mode, qconfig)

    def observe_result(self, node, mode, qconfig):
        if mode == "fixed":
            self.integers.add(node)
            return
        observer = qconfig.activation()
        if mode in ("kept", "joined"):
            first, *rest = node.args[0] if mode == "joined" else node.args[:1]
            observer = self.model._modules[first.target] if first in self.observers.values() else observer
            for each in rest:
                self.share(self.model._modules[each.target], observer)
        result, users = self.observe(node, observer)
        for user in users:
            user.replace_input_with(node, result)

    def share(self, observer, other):
        """Whatever an observer saw, another one sees in its place."""
        for name, module in self.model._modules.items():
            if module is observer:
                self.model._modules[name] = other


def prepare_fx(
    model,
    qconfig_mapping,
    example_inputs,
    prepare_custom_config=None,
    _equalization_config=None,
    backend_config=None,
):
    """The traced model, fused, with observers; then call it with typical inputs. NotImplementedError for custom configs."""
    _refuse(
        prepare_custom_config=prepare_custom_config,
        _equalization_config=_equalization_config,
        backend_config=backend_config,
    )
    if isinstance(qconfig_mapping, dict):
        qconfig_mapping = QConfigMapping.from_dict(qconfig_mapping)
    return _Preparation(_fuse(_traced(model)), qconfig_mapping).run()


# ---- quantized parts -------------------------------------------------------------------------------------------------


class _Conversion:
    """The observed graph's nodes as quantized ones."""

    def __init__(self, model):
        self.model, self.modes = model, model._weft_modes
        self.modules = dict(model.named_modules(remove_duplicate=False))
        self.graph = fx.Graph()
        self.values, self.quantized = {}, {}  # from old nodes to new ones: of numbers, and of integers

    def is_observer(self, node):
        return node.op == "call_module" and _is_activation_post_process(self.modules[node.target])

    def number(self, node):
        """The new node of numbers."""
        if node not in self.values:
            self.values[node] = self.graph.call_method("dequantize", (self.quantized[node],))
        return self.values[node]

    def scale_of(self, observer_node):
        observer = self.modules[observer_node.target]
        scale, zero_point = observer.calculate_qparams()
        return float(scale), int(zero_point), observer.dtype

    def run(self):
        for node in self.model.graph.nodes:
            if node.op == "output":
                self.graph.output(fx.map_arg(node.args[0], self.number))
            elif self.is_observer(node):
                self.put_observed(node)
            else:
                mode = self.modes.get(node.name, "kept" if self.is_between(node) else None)
                if mode in (None, "dynamic"):
                    self.put_plain(node, mode)
                else:
                    self.put_quantized(node, mode)
        return self.graph

    def is_between(self, node):
        """Does it stand between quantized values alone, and take integers as well? Then it does, whatever its qconfig."""
        if not _is_computed(node) or not node.args or node.args[0] not in self.quantized:
            return False
        kind = _kind(node, self.modules)
        takes_integers = kind in _KEPT or kind in _FIXED or kind in (*_KEPT_MODULES, *_FIXED_MODULES)
        return takes_integers and bool(node.users) and all(self.is_observer(user) for user in node.users)

    def put_observed(self, node):
        value = node.args[0]
        if value in self.quantized:
            self.quantized[node] = self.quantized[value]
        else:
            arguments = (self.number(value), *self.scale_of(node))
            self.quantized[node] = self.graph.call_function(torch.quantize_per_tensor, arguments)

    def put_plain(self, node, mode):
        if mode == "dynamic":
            made = swap_module(self.modules[node.target], get_default_dynamic_quant_module_mappings(), {})
            _set_module(self.model, node.target, made)
        # What is asked of a shape is asked of the integers as well.
        asks_shape = node.target in _SHAPES or (node.target is getattr and node.args[1:2] == ("shape",))
        read = self.either if asks_shape else self.number
        self.values[node] = self.graph.node_copy(node, read)

    def either(self, node):
        return self.quantized[node] if node in self.quantized else self.number(node)

    def result_of(self, node):
        return next(user for user in node.users if self.is_observer(user))

    def put_quantized(self, node, mode):
        if mode == "module":
            module = self.modules[node.target]
            module.activation_post_process = self.modules[self.result_of(node).target]
            _set_module(self.model, node.target, swap_module(module, _STATIC, {}))
            made = self.graph.call_module(node.target, (self.quantized[node.args[0]],))
        elif mode in ("binary", "relu", "number"):
            if not any(self.is_observer(user) for user in node.users):
                return  # a ReLU follows, and stands for both
            made = self.put_sum(node, mode)
        else:
            made = self.graph.node_copy(node, self.either)
        self.quantized[node] = made

    def put_sum(self, node, mode):
        total = node.args[0] if mode == "relu" else node
        name = _BINARY[_kind(total, self.modules)] + ("_relu" if mode == "relu" else "")
        operands = fx.map_arg(tuple(total.args[:2]), self.quantized.__getitem__)
        if mode != "number":
            operands += self.scale_of(self.result_of(node))[:2]
        return self.graph.call_function(getattr(torch.ops.quantized, name), operands)


def convert_fx(
    graph_module,
    convert_custom_config=None,
    _remove_qconfig=True,
    qconfig_mapping=None,
    backend_config=None,
    keep_original_weights=False,
):
    """The prepared model with quantized parts in place of those that were observed."""
    _refuse(convert_custom_config=convert_custom_config, backend_config=backend_config)
    if not hasattr(graph_module, "_weft_modes"):
        raise ValueError("convert_fx: expected a model that prepare_fx has prepared")
    model = copy.deepcopy(graph_module)
    graph = _Conversion(model).run()
    made = fx.GraphModule(model, graph)
    made.delete_all_unused_submodules()
    for module in made.modules():
        if _remove_qconfig and hasattr(module, "qconfig"):
            del module.qconfig
    return made


__getattr__ = _absent.names(__name__)
