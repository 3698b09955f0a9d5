"""The graph of an exported program as torch.fx's, from the schema's JSON."""

import builtins
import dataclasses
import importlib
import re

import weft
from weft import torch
from weft._C import _export

_DTYPES = (
    "float32 float64 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64 complex128 float8_e4m3fn float8_e5m2 \
float8_e4m3fnuz float8_e5m2fnuz uint16 uint32 uint64"
)
_SHORT = {"bool": "b8", "complex64": "c64", "complex128": "c128", "bfloat16": "bf16"}
_MEMORY_FORMATS = {1: "contiguous_format", 2: "channels_last", 3: "channels_last_3d", 4: "preserve_format"}
_dtypes = {
    _export.dtype_number(getattr(weft, name)): getattr(weft, name)
    for name in _DTYPES.split()
    if hasattr(weft, name)
}


def _short(dtype):
    name = str(dtype).rpartition(".")[2]
    if name in _SHORT:
        return _SHORT[name]
    found = re.fullmatch(r"(float|int|uint)(\d+)(.*)", name)
    return f"{found.group(1)[0]}{found.group(2)}{found.group(3).replace('_', '')}" if found else name


@dataclasses.dataclass(frozen=True)
class SizeValue:
    """A size: its text, "2*s77"."""

    text: str

    def annotation(self):
        return f"Sym({self.text})"

    def __repr__(self):
        return self.text


@dataclasses.dataclass(frozen=True)
class TensorValue:
    """What a tensor of the graph is: shape and stride of numbers and SizeValues."""

    dtype: object
    shape: tuple
    strides: tuple
    requires_grad: bool

    def stride(self):
        return self.strides

    def annotation(self):
        return f"{_short(self.dtype)}[{', '.join(map(str, self.shape))}]"


class OpOverload:
    """torch.ops.aten.add.Tensor: an operator by its overload."""

    def __init__(self, namespace, name, overload):
        self.namespace, self.packet, self._overload = namespace, name, overload
        shown = name if namespace == "higher_order" else f"{name}.{overload}"
        self.__name__, self.__module__ = shown, f"torch._ops.{namespace}"
        self._qualified_op_name = f"{namespace}::{shown}"

    def name(self):
        suffix = "" if self._overload == "default" else f".{self._overload}"
        return f"{self.namespace}::{self.packet}{suffix}"

    def __call__(self, *args, **kwargs):
        return getattr(getattr(torch.ops, self.namespace), self.packet)(*args, **kwargs)

    def __repr__(self):
        return f"<OpOverload(op='{self.namespace}.{self.packet}', overload='{self._overload}')>"


_overloads = {}


def target_of(text):
    """The function that a node's target names."""
    if text.startswith("torch.ops."):
        if text not in _overloads:
            namespace, name, *overload = text.removeprefix("torch.ops.").split(".", 2)
            _overloads[text] = OpOverload(namespace, name, overload[0] if overload else "default")
        return _overloads[text]
    module, _, name = text.rpartition(".")
    if module == "builtins":
        return getattr(builtins, name)
    return getattr(torch if module == "torch" else importlib.import_module(module), name)


def size_text(size):
    """A size of the schema: a number, or a SizeValue."""
    if "as_int" in size:
        return size["as_int"]
    return SizeValue(_export.size_text(size["as_expr"]["expr_str"]))


class _Builder:
    def __init__(self, source, owner):
        self.source, self.owner = source, owner
        self.graph, self.values, self.number = torch.fx.Graph(), {}, 0

    def meta(self, name):
        meta = self.source["tensor_values"].get(name)
        if meta is not None:
            return TensorValue(
                _dtypes.get(meta["dtype"]),
                tuple(size_text(size) for size in meta["sizes"]),
                tuple(size_text(size) for size in meta["strides"]),
                meta["requires_grad"],
            )
        for table in ("sym_int_values", "sym_float_values", "sym_bool_values"):
            size = self.source.get(table, {}).get(name)
            if size is not None and "as_expr" in size:
                return (
                    SizeValue(size["as_expr"]["expr_str"]) if table == "sym_bool_values" else size_text(size)
                )
            if size is not None:
                return next(iter(size.values()))
        return None

    def placeholder(self, name, value=None):
        node = self.graph.create_node("placeholder", name, (), {}, name=name)
        self.values[name] = node
        node.meta["val"] = self.meta(name) if value is None else value
        return node

    def named(self, value):
        return self.values[value["as_name"]] if "as_name" in value else next(iter(value.values()))

    def argument(self, argument):
        (kind, value), *_ = argument.items()
        one = {
            "as_none": lambda: None,
            "as_tensor": lambda: self.values[value["name"]],
            "as_tensors": lambda: [self.values[each["name"]] for each in value],
            "as_optional_tensor": lambda: self.argument(value),
            "as_optional_tensors": lambda: [self.argument(each) for each in value],
            "as_scalar_type": lambda: _dtypes.get(value),
            "as_layout": lambda: torch.strided,
            "as_memory_format": lambda: getattr(torch, _MEMORY_FORMATS[value]),
            "as_device": lambda: weft.device(
                value["type"] if value["index"] is None else f"{value['type']}:{value['index']}"
            ),
            "as_complex": lambda: complex(_float(value["real"]), _float(value["imag"])),
            "as_float": lambda: _float(value),
            "as_floats": lambda: [_float(each) for each in value],
            "as_graph": lambda: self.subgraph(value),
            "as_operator": lambda: target_of(value),
        }.get(kind)
        if one is not None:
            return one()
        if kind in ("as_sym_int", "as_sym_float", "as_sym_bool"):
            return self.named(value)
        if kind in ("as_sym_ints", "as_sym_floats", "as_sym_bools"):
            return [self.named(each) for each in value]
        return value

    def subgraph(self, value):
        name = value["name"]
        module = graph_module(value["graph"], None)
        setattr(self.owner, name, module)
        node = self.graph.create_node("get_attr", name, (), {}, name=name)
        node.meta["val"] = None
        return node

    def node(self, node):
        target = target_of(node["target"])
        args = tuple(self.argument(each["arg"]) for each in node["inputs"] if each.get("kind", 1) != 2)
        kwargs = {
            each["name"]: self.argument(each["arg"]) for each in node["inputs"] if each.get("kind", 1) == 2
        }
        outputs = node["outputs"]
        # An operator with graphs gives a list of one.
        single = len(outputs) == 1 and (
            ("as_tensor" in outputs[0] and node.get("is_hop_single_tensor_return") is not False)
            or next(iter(outputs[0])).startswith("as_sym_")
        )
        is_sizes = len(outputs) == 1 and next(iter(outputs[0])) in ("as_sym_ints", "as_sym_floats")
        name = node.get("name")
        if single and not is_sizes:
            (_, value), *_ = outputs[0].items()
            name = value.get("name", value.get("as_name"))
        made = self.graph.create_node(
            "call_function", target, args, kwargs, name=name or node["target"].split(".")[-2]
        )
        made.meta["is_hop_single_tensor_return"] = node.get("is_hop_single_tensor_return")
        trace = node.get("metadata", {}).get("stack_trace")
        if trace:
            made.meta["stack_trace"] = trace
        if single and not is_sizes:
            self.values[name] = made
            made.meta["val"] = self.meta(name)
            return
        parts = [
            part.get("name", part.get("as_name")) if isinstance(part, dict) else None
            for output in outputs
            for part in (
                next(iter(output.values()))
                if isinstance(next(iter(output.values())), list)
                else [next(iter(output.values()))]
            )
        ]
        for at, part in enumerate(parts):
            if part is None:
                continue
            item = self.graph.create_node(
                "call_function", target_of("_operator.getitem"), (made, at), {}, name=part
            )
            if trace:
                item.meta["stack_trace"] = trace
            item.meta["val"] = self.meta(part)
            self.values[part] = item


def _float(value):
    return float(value.replace("Infinity", "inf")) if isinstance(value, str) else float(value)


def graph_module(source, signature):
    """The schema's graph as a GraphModule, whose parameters are the graph's inputs."""
    owner = torch.nn.Module()
    builder = _Builder(source, owner)
    specs = signature.input_specs if signature is not None else [None] * len(source["inputs"])
    for argument, spec in zip(source["inputs"], specs):
        (kind, value), *_ = argument.items()
        if kind == "as_tensor":
            builder.placeholder(value["name"])
        elif kind.startswith("as_sym_") and "as_name" in value:
            builder.placeholder(value["as_name"])
        elif spec is not None:
            builder.placeholder(spec.arg.name, spec.arg.value)
    for node in source["nodes"]:
        builder.node(node)
    outputs = tuple(builder.argument(each) for each in source["outputs"])
    builder.graph.output(outputs[0] if source.get("is_single_tensor_return") else outputs)
    return torch.fx.GraphModule(owner, builder.graph)
