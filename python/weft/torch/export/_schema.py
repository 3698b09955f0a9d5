"""A captured module in the schema of exported programs: the JSON of its file, and its tensors."""

import collections
import json
import math
import operator
import re

import weft
from weft._C import _export
from weft.export._tree import (
    context_text,
    factory_name,
    is_registered,
    node_name,
    register_class,
    registered_name,
)
from weft.torch._table import TORCH_VERSION
from weft.torch.fx._codegen import _Namespace

from ._sizes import Size
from ._tracing import Place

_MEMORY_FORMATS = {0: 1, 1: 4, 2: 2, 3: 3}  # from TorchScript's numbers
_STRIDED = 7
# Python's numbers are tensors to these operators, as PyTorch records them.
_TAKE_NUMBERS = {f"aten::{name}{place}" for name in ("add", "sub", "mul", "div") for place in ("", "_")}
# Functions of Python and PyTorch on sizes, by what they are among the builtins.
_PYTHON = {}
for _function, _builtin in _export.python_functions().items():
    _PYTHON.setdefault(_builtin, _function)
_OPERATOR_ARGUMENTS = ("a", "b")


def number(value):
    """As the schema writes floats."""
    if math.isnan(value):
        return "NaN"
    return value if math.isfinite(value) else "Infinity" if value > 0 else "-Infinity"


def tensor_meta(tensor, sizes=None, strides=None, requires_grad=False):
    return {
        "dtype": _export.dtype_number(tensor.dtype),
        "sizes": sizes or [{"as_int": int(size)} for size in tensor.shape],
        "requires_grad": requires_grad,
        "device": {"type": "cpu", "index": None},
        "strides": strides or [{"as_int": int(stride)} for stride in tensor.stride()],
        "storage_offset": {"as_int": int(tensor.storage_offset())},
        "layout": _STRIDED,
    }


def tree_text(spec):
    """A tree as the schema writes it: JSON of its protocol and its nodes."""
    return json.dumps([1, _tree(spec)])


def _tree(spec):
    if spec.is_leaf():
        return {"type": None, "context": None, "children_spec": []}
    children = [_tree(child) for child in spec.children_specs]
    if spec.type in _CONTAINERS:
        context = list(spec.context) if spec.type in (dict, collections.OrderedDict) else spec.context
        return {"type": _CONTAINERS[spec.type], "context": json.dumps(context), "children_spec": children}
    if spec.type is collections.defaultdict:
        module, name = factory_name(spec.context[0])
        context = {
            "default_factory_module": module,
            "default_factory_name": name,
            "dict_context": list(spec.context[1]),
        }
        return {"type": "collections.defaultdict", "context": context, "children_spec": children}
    name, context = _class_of(spec)
    # Named tuples' names stand as they are, other contexts as JSON.
    context = context if isinstance(context, str) else json.dumps(context)
    return {"type": name, "context": context, "children_spec": children}


_CONTAINERS = {
    tuple: "builtins.tuple", list: "builtins.list", dict: "builtins.dict", collections.OrderedDict: "collections.OrderedDict",
    collections.deque: "collections.deque",
}  # fmt: skip


def _named_tuples(spec, found):
    if spec.type is collections.namedtuple and not isinstance(_class_of(spec)[1], type(None)):
        found[_class_of(spec)[1]] = {"field_names": list(spec.context._fields)}
    for child in spec.children_specs:
        _named_tuples(child, found)
    return found


def _class_of(spec):
    """(name, context) of a registered class."""
    if spec.type is collections.namedtuple:
        cls = spec.context
        if cls.__module__ == "weft._C" or cls.__module__.startswith("weft."):
            return f"torch.return_types.{cls.__name__.lower()}", None
        if not is_registered(cls):
            register_class(cls, None, cls._fields)
        return "collections.namedtuple", registered_name(cls)
    if is_registered(spec.type):
        return registered_name(spec.type), spec.context
    if node_name(spec.type) is not None:
        return node_name(spec.type), context_text(spec.type, spec.context)
    raise NotImplementedError(
        f"torch.export.export: files have no name for {spec.type}: give `serialized_type_name` to `register_pytree_node`"
    )


class Writer:
    """The nodes, values and signature of a Captured."""

    dialect = "TRAINING"

    def __init__(self, module, captured):
        self.module, self.captured, self.graph = module, captured, captured.run.graph
        self.hints = {name: symbol.hint for name, symbol in captured.symbols.items()}
        self.namespace, self.names = _Namespace(), {}  # from value numbers to names
        self.nodes, self.tensor_values, self.int_values = [], {}, {}
        self.inputs, self.input_specs = [], []
        self.weights, self.constants, self.parameters = {}, {}, set()
        self.lists, self.list_outputs, self.lifted = {}, {}, {}
        self._find_lists()
        self._add_attributes()
        self._add_arguments()
        self._add_sizes_of_inputs()
        for node in self.graph["nodes"]:
            self._add_node(node)

    # ---- values ----------------------------------------------------------------------------------------------
    def _find_lists(self):
        """Lists that nodes put together, and what lists are taken apart to."""
        for kind, _, arguments, results, _, _ in self.graph["nodes"]:
            operands = [operand for _, _, _, operand in arguments]
            if kind in ("prim::ListConstruct", "prim::TupleConstruct"):
                self.lists[results[0]] = operands
            elif kind in ("prim::ListUnpack", "prim::TupleUnpack"):
                self.list_outputs[operands[0]] = results

    def size(self, size):
        """A size in the schema."""
        if size.constant is not None:
            return {"as_int": size.constant}
        known = not size.symbols & self.captured.unbacked
        hint = {"as_int": size.evaluate(self.hints)} if known else None
        return {"as_expr": {"expr_str": size.sympy(), "hint": hint}}

    def _meta(self, value, requires_grad=False):
        dtype, shape, _, offset = self.graph["forms"][value]
        sizes = self.captured.value_sizes
        return {
            "dtype": _export.dtype_number(dtype),
            "sizes": [self.size(sizes[value, "size", dim]) for dim in range(len(shape))],
            "requires_grad": requires_grad,
            "device": {"type": "cpu", "index": None},
            "strides": [self.size(sizes[value, "stride", dim]) for dim in range(len(shape))],
            "storage_offset": {"as_int": offset},
            "layout": _STRIDED,
        }

    def _name(self, candidate, value):
        name = self.namespace.create_name(candidate, None)
        self.names[value] = name
        return name

    def _tensor(self, candidate, value):
        name = self._name(candidate, value)
        self.tensor_values[name] = self._meta(value)
        return name

    # ---- inputs ----------------------------------------------------------------------------------------------
    def _add_attributes(self):
        module, places = self.module, {}
        for value, found in self.graph["attributes"].items():
            for number_, name in found:
                prefix = self.captured.run.modules[number_]
                places.setdefault(f"{prefix}.{name}" if prefix else name, value)
        by_tensor = {}
        named = [
            *(
                ("parameter", name, tensor)
                for name, tensor in module.named_parameters(remove_duplicate=False)
            ),
            *(("buffer", name, tensor) for name, tensor in module.named_buffers(remove_duplicate=False)),
        ]
        for name, tensor in [(name, tensor) for _, name, tensor in named]:
            by_tensor.setdefault(id(tensor), places.get(name))
        for kind, path, tensor in named:
            name = self.namespace.create_name(f"{kind[0]}_{path.replace('.', '_')}", None)
            value = places.get(path)
            if value is not None:
                self.names.setdefault(value, name)
            is_parameter = kind == "parameter"
            is_persistent = is_parameter or _is_persistent(module, path)
            (self.weights if is_persistent else self.constants)[path] = tensor
            self.parameters |= {path} if is_parameter else set()
            self.tensor_values[name] = tensor_meta(tensor, requires_grad=is_parameter)
            spec = {"arg": {"name": name}, f"{kind}_name": path}
            if kind == "buffer":
                spec["persistent"] = is_persistent
            self._add_input({"as_tensor": {"name": name}}, {kind: spec})
        self._add_constants()

    def _add_constants(self):
        """Tensors that are neither arguments nor registered in a module: its plain attributes, and those made on the way."""
        attributes = {}
        for prefix, owner in self.module.named_modules():
            for name, value in vars(owner).items():
                if isinstance(value, weft.Tensor):
                    attributes.setdefault(id(value), f"{prefix}.{name}" if prefix else name)
        for value, constant in self.graph["constants"].items():
            if not isinstance(constant, weft.Tensor):
                continue
            path = next(
                (path for path in attributes.values() if _attribute(self.module, path).data_ptr() == constant.data_ptr()
                 and constant.numel() and _attribute(self.module, path).shape == constant.shape),
                None,
            )  # fmt: skip
            is_attribute = path is not None and path not in self.constants
            if not is_attribute:
                path = f"lifted_tensor_{len(self.lifted)}"
            name = self.namespace.create_name(f"c_{path.replace('.', '_')}", None)
            self.names[value] = name
            self.constants[path] = constant
            self.tensor_values[name] = tensor_meta(constant)
            self._add_input(
                {"as_tensor": {"name": name}},
                {"tensor_constant": {"arg": {"name": name}, "tensor_constant_name": path}},
            )
            if not is_attribute:
                self.lifted[value] = name

    def _add_input(self, argument, spec):
        self.inputs.append(argument)
        self.input_specs.append(spec)

    def _add_arguments(self):
        values = iter(self.graph["inputs"])
        for name, leaf, sizes in zip(self.captured.names, self.captured.leaves, self.captured.sizes):
            if sizes is None:
                name = self.namespace.create_name(name, None)
                constant = self._constant(leaf)
                self._add_input(constant, {"constant_input": {"name": name, "value": constant}})
                continue
            value = next(values)
            name = self._tensor(name, value)
            self.tensor_values[name]["sizes"] = [self.size(size) for size in sizes]
            self._add_input(
                {"as_tensor": {"name": name}}, {"user_input": {"arg": {"as_tensor": {"name": name}}}}
            )
        for value, name in self.lifted.items():
            # The program's own tensor is not what is changed where the constant is.
            self._add("torch.ops.aten.lift_fresh_copy.default", [("self", {"as_tensor": {"name": name}}, 1)],
                      [{"as_tensor": {"name": self._tensor("lift_fresh_copy", value)}}], None)  # fmt: skip

    def _add_sizes_of_inputs(self):
        """One node for each symbol that is the size of an argument, in front of all others."""
        self.symbol_values = {}
        used = {
            size.alone
            for value, size in self.captured.value_sizes.items()
            if isinstance(value, int) and self._is_used(value)
        }
        places = {}
        for value, sizes in zip(
            self.graph["inputs"], [sizes for sizes in self.captured.sizes if sizes is not None]
        ):
            for dim, size in enumerate(sizes):
                if size.alone is not None:
                    places.setdefault(size.alone, (self.names[value], dim))
        for symbol, (owner, dim) in places.items():
            if symbol not in used:
                continue
            name = self.namespace.create_name("sym_size_int_1", None)
            self.int_values[name] = self.size(Size.symbol(symbol))
            self.symbol_values[symbol] = name
            self._add(
                "torch.ops.aten.sym_size.int",
                [("self", {"as_tensor": {"name": owner}}, 1), ("dim", {"as_int": dim}, 1)],
                [{"as_sym_int": {"as_name": name}}],
                None,
            )

    def _is_used(self, value):
        return (
            any(value == operand for node in self.graph["nodes"] for _, _, _, operand in node[2])
            or ("value", value) in self.captured.run.outputs
        )

    # ---- arguments of nodes ----------------------------------------------------------------------------------
    def _constant(self, value, name=""):
        """A constant in the schema. name: of the parameter, which tells layouts and memory formats from numbers."""
        if value is None:
            return {"as_none": True}
        if isinstance(value, bool):
            return {"as_bool": value}
        if isinstance(value, int):
            if name == "memory_format":
                return {"as_memory_format": _MEMORY_FORMATS[int(value)]}
            return {"as_layout": _STRIDED} if name == "layout" else {"as_int": operator.index(value)}
        if isinstance(value, float):
            return {"as_float": number(value)}
        if isinstance(value, complex):
            return {"as_complex": {"real": number(value.real), "imag": number(value.imag)}}
        if isinstance(value, str):
            return {"as_string": value}
        if isinstance(value, weft.dtype):
            return {"as_scalar_type": _export.dtype_number(value)}
        if isinstance(value, weft.device):
            return {"as_device": {"type": value.type, "index": value.index}}
        if isinstance(value, (list, tuple)):
            for kind, key in (
                (bool, "as_bools"),
                (int, "as_ints"),
                (float, "as_floats"),
                (str, "as_strings"),
            ):
                if all(isinstance(each, kind) for each in value):
                    return {
                        key if value else "as_ints": [
                            number(each) if kind is float else each for each in value
                        ]
                    }
        raise NotImplementedError(f"torch.export.export: a program cannot hold the constant {value!r}")

    def _int(self, value):
        """An integer of the graph: {"as_int": 3} or {"as_name": "mul"}."""
        constants = self.graph["constants"]
        if value in constants:
            return {"as_int": operator.index(constants[value])}
        size = self.captured.value_sizes.get(value)
        if size is not None and size.constant is not None:
            return {"as_int": size.constant}
        if size is not None and size.alone in self.symbol_values and value not in self.names:
            return {"as_name": self.symbol_values[size.alone]}
        return {"as_name": self.names[value]}

    def _argument(self, operand, name=""):
        if not isinstance(operand, int):
            return self._constant(operand, name)
        constants, types = self.graph["constants"], self.graph["types"]
        if operand in constants and not isinstance(constants[operand], weft.Tensor):
            return self._constant(constants[operand], name)
        if operand in self.lists:
            return self._list(self.lists[operand], types[operand])
        if types.get(operand) == "int":
            number_ = self._int(operand)
            return number_ if "as_int" in number_ else {"as_sym_int": number_}
        return {"as_tensor": {"name": self.names[operand]}}

    def _list(self, operands, kind):
        constants, types = self.graph["constants"], self.graph["types"]
        if kind == "List[int]":
            numbers = [self._int(each) for each in operands]
            if all("as_int" in each for each in numbers):
                return {"as_ints": [each["as_int"] for each in numbers]}
            return {"as_sym_ints": numbers}
        is_none = [each in constants and constants[each] is None for each in operands]
        if any(is_none):
            return {
                "as_optional_tensors": [
                    {"as_none": True} if none else {"as_tensor": {"name": self.names[each]}}
                    for each, none in zip(operands, is_none)
                ]
            }
        if all("Tensor" in types[each] for each in operands):
            return {"as_tensors": [{"name": self.names[each]} for each in operands]}
        return self._constant([constants[each] for each in operands])

    # ---- nodes -----------------------------------------------------------------------------------------------
    def _add(self, target, inputs, outputs, place, name=None):
        metadata = {} if place is None else {"stack_trace": str(place)}
        self.nodes.append(
            {
                "target": target,
                "inputs": [{"name": each, "arg": argument, "kind": kind} for each, argument, kind in inputs],
                "outputs": outputs,
                "metadata": metadata,
                "is_hop_single_tensor_return": None,
                **({} if name is None else {"name": name}),
            }
        )

    def _place(self, node):
        return Place(node[4], node[5], self.captured.run.functions.get((node[4], node[5]), "forward"))

    def _add_node(self, node):
        kind, overload, arguments, results, _, _ = node
        types = self.graph["types"]
        if kind.startswith("prim::"):
            if kind.split("::")[1] in (
                "ListConstruct",
                "TupleConstruct",
                "ListUnpack",
                "TupleUnpack",
                "UncheckedCast",
            ):
                if kind == "prim::UncheckedCast":
                    self.names[results[0]] = self.names[arguments[0][3]]
                return
            raise NotImplementedError(
                f"torch.export.export: {kind} has no operator in exported programs\n  {self._place(node)}"
            )
        if len(results) == 1 and types[results[0]] == "int":
            self._add_int(node)
            return
        if any(types[each] not in ("Tensor", "List[Tensor]") for each in results):
            raise NotImplementedError(
                f"torch.export.export: {kind} gives {', '.join(types[each] for each in results)}\n  {self._place(node)}"
            )
        if kind in _TAKE_NUMBERS and overload == "Scalar":
            overload = "Tensor"
        # TorchScript has overloads of their own for lists without None.
        overload = {"Tensor_hacked_twin": "Tensor", "hacked_twin": ""}.get(overload, overload)
        # Positional arguments up to the last that is no default; of those by keyword, those that are none.
        positional = [each for each in arguments if not each[1]]
        while positional and positional[-1][2]:
            positional.pop()
        inputs = [(name, self._argument(operand, name), 1) for name, _, _, operand in positional]
        inputs += [
            (name, self._argument(operand, name), 2)
            for name, by_keyword, is_default, operand in arguments
            if by_keyword and not is_default
        ]
        space, name = kind.split("::")
        outputs, own = self._outputs(name, results)
        self._add(
            f"torch.ops.{space}.{name}.{overload or 'default'}", inputs, outputs, self._place(node), own
        )

    def _outputs(self, name, results):
        """(outputs of the schema, the node's name)."""
        if (
            len(results) == 1
            and results[0] not in self.list_outputs
            and self.graph["types"][results[0]] == "Tensor"
        ):
            made = self._tensor(name, results[0])
            return [{"as_tensor": {"name": made}}], made
        own = self.namespace.create_name(name, None)
        if len(results) == 1 and self.graph["types"][results[0]] == "List[Tensor]":
            parts = [self._tensor("getitem", each) for each in self.list_outputs.get(results[0], [])]
            return [{"as_tensors": [{"name": part} for part in parts]}], own
        return [{"as_tensor": {"name": self._tensor("getitem", each)}} for each in results], own

    def _add_int(self, node):
        kind, overload, arguments, results, _, _ = node
        value, size = results[0], self.captured.value_sizes.get(results[0])
        if size is not None and (size.constant is not None or size.alone in self.symbol_values):
            return
        name = kind.split("::")[1]
        if name in ("size", "numel", "Int", "item"):
            target = {"size": "sym_size.int", "numel": "sym_numel.default"}.get(name, "item.default")
            inputs = [(argument, self._argument(operand), 1) for argument, _, _, operand in arguments]
            if target == "item.default":
                inputs = [("self", inputs[0][1], 1)]
            made = self._name(target.replace(".", "_").removesuffix("_default"), value)
            target = f"torch.ops.aten.{target}"
        elif kind in _PYTHON:
            target = _PYTHON[kind]
            made = self._name(target.partition(".")[2], value)
            inputs = [
                (argument, self._argument(operand), 1)
                for argument, (_, _, _, operand) in zip(_OPERATOR_ARGUMENTS, arguments)
            ]
        else:
            raise NotImplementedError(
                f"torch.export.export: {kind} of sizes has no function in exported programs\n  {self._place(node)}"
            )
        self.int_values[made] = self.size(
            size if size is not None else Size.symbol(f"u{len(self.captured.unbacked)}")
        )
        self._add(target, inputs, [{"as_sym_int": {"as_name": made}}], self._place(node), made)

    # ---- the whole -------------------------------------------------------------------------------------------
    def outputs(self):
        """The results, as arguments of the schema."""
        write = {"value": self._argument, "constant": self._constant}
        return [write[kind](leaf) for kind, leaf in self.captured.run.outputs]

    def graph_json(self, outputs):
        """The schema's graph."""
        return {
            "inputs": self.inputs,
            "outputs": outputs,
            "nodes": self.nodes,
            "tensor_values": self.tensor_values,
            "sym_int_values": self.int_values,
            "is_single_tensor_return": False,
            **{f"{kind}_values": {} for kind in ("sym_bool", "custom_obj", "sym_float")},
        }

    def program(self):
        """The schema's ExportedProgram, as dictionaries and lists."""
        outputs = self.outputs()
        return {
            "graph_module": {
                "graph": self.graph_json(outputs),
                "signature": {"input_specs": self.input_specs, "output_specs": self._output_specs(outputs)},
                "metadata": {},
                **self._calls(),
            },
            "opset_version": {"aten": 10},
            "range_constraints": self._ranges(),
            "schema_version": {"major": 8, "minor": 20},
            "verifiers": [self.dialect],
            "torch_version": TORCH_VERSION,
            "guards_code": self._guards(),
        }

    def _output_specs(self, outputs):
        return [{"user_output": {"arg": each}} for each in outputs]

    def _calls(self):
        """How arguments and results nest, and the names of modules."""
        captured = self.captured
        call = {
            "inputs": [],
            "outputs": [],
            "in_spec": tree_text(captured.in_spec),
            "out_spec": tree_text(captured.run.out_spec),
            "forward_arg_names": self._argument_names(),
        }
        calls = [{"fqn": "", "signature": call}]
        calls += [{"fqn": name, "signature": None} for name, _ in self.module.named_modules() if name]
        fields = _named_tuples(captured.run.out_spec, _named_tuples(captured.in_spec, {}))
        return {"module_call_graph": calls, "treespec_namedtuple_fields": fields}

    def _argument_names(self):
        """One name for each argument: of *rest rest_0, rest_1, as PyTorch has them."""
        names = list(self.captured.arguments)
        positional, keywords = (spec.num_children for spec in self.captured.in_spec.children_specs)
        last = len(names) - keywords - 1
        more = positional - last
        if more > 1:
            names[last : last + 1] = [f"{names[last]}_{at}" for at in range(more)]
        return names

    def made(self):
        """The program as weft runs it, over the module's own tensors."""
        return _export.make(json.dumps(self.program()), self.weights, self.constants)

    def _ranges(self):
        result = {
            name: {"min_val": symbol.min, "max_val": symbol.max}
            for name, symbol in self.captured.symbols.items()
        }
        result |= {name: {"min_val": 0, "max_val": None} for name in sorted(self.captured.unbacked)}
        for sizes in self.captured.sizes:
            for size in sizes or ():
                if size.constant is None and size.alone is None:
                    least, most = (
                        {name: getattr(symbol, bound) for name, symbol in self.captured.symbols.items()}
                        for bound in ("min", "max")
                    )
                    is_open = any(most[name] is None for name in size.symbols)
                    result[str(size)] = {
                        "min_val": size.evaluate(least),
                        "max_val": None if is_open else size.evaluate(most),
                    }
        return result

    def _guards(self):
        """What PyTorch checks of sizes that follow from others."""
        sources, guards = {}, []
        leaves = [
            (source, sizes)
            for source, sizes in zip(self.captured.sources, self.captured.sizes)
            if sizes is not None
        ]
        for source, sizes in leaves:
            for dim, size in enumerate(sizes):
                if size.alone is not None and size.alone not in sources:
                    sources[size.alone] = f"{source}.size()[{dim}]"
        for source, sizes in leaves:
            for dim, size in enumerate(sizes):
                place = f"{source}.size()[{dim}]"
                if (
                    size.constant is not None
                    or sources.get(size.alone) == place
                    or not size.symbols <= set(sources)
                ):
                    continue
                text = re.sub(r"s\d+", lambda found: sources[found.group()], str(size))
                guards.append(f"{place} == ({text})")
        return guards


def _attribute(module, path):
    for name in path.split("."):
        module = getattr(module, name)
    return module


def _is_persistent(module, path):
    owner, _, name = path.rpartition(".")
    return name not in (_attribute(module, owner) if owner else module)._non_persistent_buffers_set
