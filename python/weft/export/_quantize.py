"""Linear layers of a program with quantized weights: the program's graph, rewritten."""

import collections
import json
import warnings

from weft import _C, nn

_export = _C._export

# Of addmm and mm the weight is turned before.
_TURNED = {"torch.ops.aten.t.default", "torch.ops.aten.permute.default", "torch.ops.aten.transpose.int"}
_PRODUCTS = {
    "torch.ops.aten.linear.default": ("input", "weight", "bias"),
    "torch.ops.aten.addmm.default": ("mat1", "mat2", "self"),
    "torch.ops.aten.mm.default": ("self", "mat2", None),
}


def quantized_program(program, scheme, wanted):
    """The program (weft._C._export.Program) with the layers' products in the scheme of weft.quantization; one that has none
    of them as it is.

    wanted(layer, name): whether a layer, an nn.Linear over the program's tensors, is among them.
    raises: ValueError for weights that are not finite.
    warns: UserWarning where products stay as they are that are no layers: with factors, or within branches and loops.
    """
    source = json.loads(program.text())
    rewriting = _Rewriting(source["graph_module"], program.weights())
    for node in list(rewriting.graph["nodes"]):
        rewriting.visit(node, scheme, wanted)
    for what, count in rewriting.left.items():
        warnings.warn(f"quantize_: {count} {what} keep their weights as they are", stacklevel=4)
    if not rewriting.layers:
        return program
    rewriting.take_unused_away()
    return _export.make(json.dumps(source), rewriting.weights, program.constants())


class _Rewriting:
    def __init__(self, module, weights):
        self.graph, self.specs = module["graph"], module["signature"]["input_specs"]
        self.weights = dict(weights)
        self.parameters = {
            spec["parameter"]["arg"]["name"]: spec["parameter"]["parameter_name"]
            for spec in self.specs
            if "parameter" in spec
        }
        self.turned = {}  # from a turned weight to its parameter
        self.layers = {}  # by parameter: (the quantized layer, its names in the graph)
        self.left = collections.Counter()  # products that are no layers

    def visit(self, node, scheme, wanted):
        arguments = {each["name"]: each["arg"] for each in node["inputs"]}
        if node["target"] in _TURNED:
            name = _tensor(node["inputs"][0]["arg"])
            if name in self.parameters and self.weights[self.parameters[name]].dim() == 2:
                self.turned[_tensor(node["outputs"][0])] = name
        if within := sum(_products_of(each["arg"]) for each in node["inputs"]):
            self.left["products within branches and loops"] += within
        if node["target"] not in _PRODUCTS:
            return
        x, weight, bias = (arguments.get(name) for name in _PRODUCTS[node["target"]])
        name = _tensor(weight)
        if node["target"] != "torch.ops.aten.linear.default":
            name = self.turned.get(name)
        if name not in self.parameters:
            return
        if set(arguments) - set(_PRODUCTS[node["target"]]):
            self.left["products with factors (alpha, beta)"] += 1
        elif self.layer(name, bias, scheme, wanted) is not None:
            self.replace(node, name, x, bias)

    def layer(self, name, bias, scheme, wanted):
        if name not in self.layers:
            path = self.parameters[name]
            plain = _linear(self.weights[path], self.weights.get(self.parameters.get(_tensor(bias))))
            fits = plain.weight.dim() == 2 and plain.weight.is_floating_point() and scheme.fits(plain)
            if not fits or not wanted(plain, path.removesuffix(".weight")):
                return None
            made = scheme.make(plain)
            self.layers[name] = made, self.add_inputs(name, made)
        return self.layers[name]

    def add_inputs(self, name, layer):
        """Buffers beside the parameter: the names of its numbers and scales in the graph."""
        path, names = self.parameters[name], []
        for kind, tensor in (("quantized", layer.weight), ("scales", layer.scales)):
            own, buffer = f"{name}_{kind}", f"{path.removesuffix('weight')}{kind}"
            names.append(own)
            self.weights[buffer] = tensor
            self.graph["tensor_values"][own] = {
                **self.graph["tensor_values"][name],
                "dtype": _export.dtype_number(tensor.dtype),
                "sizes": [{"as_int": int(size)} for size in tensor.shape],
                "strides": [{"as_int": int(step)} for step in tensor.stride()],
                "storage_offset": {"as_int": 0},
                "requires_grad": False,
            }
            at = next(i for i, each in enumerate(self.graph["inputs"]) if _tensor(each) == name) + len(names)
            self.graph["inputs"].insert(at, {"as_tensor": {"name": own}})
            spec = {"arg": {"name": own}, "buffer_name": buffer, "persistent": True}
            self.specs.insert(at, {"buffer": spec})
        return names

    def replace(self, node, name, x, bias):
        layer, (numbers, scales) = self.layers[name]
        given = [("x", x), ("weight", _named(numbers)), ("scales", _named(scales))]
        dynamic = isinstance(layer, nn.modules.quantized.DynamicInt8Linear)
        added = bias is not None and "as_none" not in bias
        if dynamic and added:
            given.append(("bias", bias))
        if layer.group_size:
            given.append(("group_size", {"as_int": layer.group_size}))
        node["target"] = f"torch.ops.weft.{'linear_dynamic_int8' if dynamic else 'linear_packed'}.default"
        node["inputs"] = [_argument(*each) for each in given]
        if not dynamic and added:  # as the layer itself does, behind the product
            result = _tensor(node["outputs"][0])
            product = f"{result}_product"
            self.graph["tensor_values"][product] = self.graph["tensor_values"][result]
            node["outputs"] = [_named(product)]
            self.graph["nodes"].insert(
                self.graph["nodes"].index(node) + 1,
                {
                    "target": "torch.ops.aten.add.Tensor",
                    "inputs": [_argument("self", _named(product)), _argument("other", bias)],
                    "outputs": [_named(result)],
                    "metadata": node["metadata"],
                },
            )

    def take_unused_away(self):
        """Turned weights, and parameters, that nothing reads any more."""
        uses = collections.Counter()
        for node in self.graph["nodes"]:
            _count([each["arg"] for each in node["inputs"]], uses)
        _count(self.graph["outputs"], uses)
        for node in list(self.graph["nodes"]):
            if node["target"] in _TURNED and uses[_tensor(node["outputs"][0])] == 0:
                self.graph["nodes"].remove(node)
                uses[_tensor(node["inputs"][0]["arg"])] -= 1
        for name in self.layers:
            if uses[name] == 0:
                at = next(i for i, each in enumerate(self.graph["inputs"]) if _tensor(each) == name)
                del self.graph["inputs"][at], self.specs[at], self.graph["tensor_values"][name]
                del self.weights[self.parameters[name]]


def _linear(weight, bias):
    """A Linear over these tensors; one of weights of other shapes is asked for nothing but those."""
    layer = nn.Linear.__new__(nn.Linear)
    nn.Module.__init__(layer)
    if weight.dim() == 2:
        layer.out_features, layer.in_features = (int(size) for size in weight.shape)
    layer.weight = nn.Parameter(weight, requires_grad=False)
    layer.register_parameter("bias", None if bias is None else nn.Parameter(bias, requires_grad=False))
    return layer


def _named(name):
    return {"as_tensor": {"name": name}}


def _argument(name, value):
    return {"name": name, "arg": value, "kind": 1}


def _tensor(argument):
    """The name of a tensor; None of other arguments."""
    return (argument or {}).get("as_tensor", {}).get("name")


def _products_of(argument):
    """How many products a branch's or a loop's graph has; 0 of arguments that are no graphs."""
    nodes = (argument or {}).get("as_graph", {}).get("graph", {}).get("nodes", [])
    return sum(
        (node["target"] in _PRODUCTS) + sum(_products_of(each["arg"]) for each in node["inputs"])
        for node in nodes
    )


def _count(value, uses):
    """Every name in nested arguments, those of branches' and loops' graphs as well."""
    if isinstance(value, dict):
        if isinstance(value.get("name"), str):
            uses[value["name"]] += 1
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            _count(each, uses)
