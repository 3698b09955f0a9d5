"""torch.export.graph_signature: what the inputs and outputs of an exported graph are."""

import dataclasses
import enum


@dataclasses.dataclass
class TensorArgument:
    name: str


@dataclasses.dataclass
class SymIntArgument:
    name: str


@dataclasses.dataclass
class SymFloatArgument:
    name: str


@dataclasses.dataclass
class SymBoolArgument:
    name: str


@dataclasses.dataclass
class TokenArgument:
    name: str


@dataclasses.dataclass
class ConstantArgument:
    name: str
    value: object


class InputKind(enum.Enum):
    USER_INPUT = enum.auto()
    PARAMETER = enum.auto()
    BUFFER = enum.auto()
    CONSTANT_TENSOR = enum.auto()
    CUSTOM_OBJ = enum.auto()
    TOKEN = enum.auto()


class OutputKind(enum.Enum):
    USER_OUTPUT = enum.auto()
    LOSS_OUTPUT = enum.auto()
    BUFFER_MUTATION = enum.auto()
    PARAMETER_MUTATION = enum.auto()
    GRADIENT_TO_PARAMETER = enum.auto()
    GRADIENT_TO_USER_INPUT = enum.auto()
    USER_INPUT_MUTATION = enum.auto()
    TOKEN = enum.auto()


@dataclasses.dataclass
class InputSpec:
    kind: InputKind
    arg: object
    target: str | None
    persistent: bool | None = None

    def __str__(self):
        target = "" if self.target is None else f" target='{self.target}'"
        persistent = "" if self.persistent is None else f" persistent={self.persistent}"
        return f"{self.arg.name}: {self.kind.name}{target}{persistent}"


@dataclasses.dataclass
class OutputSpec:
    kind: OutputKind
    arg: object
    target: str | None

    def __str__(self):
        target = "" if self.target is None else f" target='{self.target}'"
        return f"{self.arg.name}: {self.kind.name}{target}"


def _name_of(argument):
    return argument.value if isinstance(argument, ConstantArgument) else argument.name


@dataclasses.dataclass
class ExportGraphSignature:
    """input_specs and output_specs, in the graph's order; the rest follows from them."""

    input_specs: list
    output_specs: list

    def _targets(self, kind):
        return tuple(spec.target for spec in self.input_specs if spec.kind is kind)

    def _by_name(self, kind):
        return {spec.arg.name: spec.target for spec in self.input_specs if spec.kind is kind}

    def _changed(self, kind):
        return {spec.arg.name: spec.target for spec in self.output_specs if spec.kind is kind}

    parameters = property(lambda self: self._targets(InputKind.PARAMETER))
    buffers = property(lambda self: self._targets(InputKind.BUFFER))
    lifted_tensor_constants = property(lambda self: self._targets(InputKind.CONSTANT_TENSOR))
    lifted_custom_objs = property(lambda self: self._targets(InputKind.CUSTOM_OBJ))
    inputs_to_parameters = property(lambda self: self._by_name(InputKind.PARAMETER))
    inputs_to_buffers = property(lambda self: self._by_name(InputKind.BUFFER))
    inputs_to_lifted_tensor_constants = property(lambda self: self._by_name(InputKind.CONSTANT_TENSOR))
    inputs_to_lifted_custom_objs = property(lambda self: self._by_name(InputKind.CUSTOM_OBJ))
    buffers_to_mutate = property(lambda self: self._changed(OutputKind.BUFFER_MUTATION))
    parameters_to_mutate = property(lambda self: self._changed(OutputKind.PARAMETER_MUTATION))
    user_inputs_to_mutate = property(lambda self: self._changed(OutputKind.USER_INPUT_MUTATION))

    @property
    def non_persistent_buffers(self):
        return {
            spec.target for spec in self.input_specs if spec.kind is InputKind.BUFFER and not spec.persistent
        }

    @property
    def user_inputs(self):
        return tuple(_name_of(spec.arg) for spec in self.input_specs if spec.kind is InputKind.USER_INPUT)

    @property
    def user_outputs(self):
        return tuple(_name_of(spec.arg) for spec in self.output_specs if spec.kind is OutputKind.USER_OUTPUT)

    def __str__(self):
        inputs = "\n".join(map(str, self.input_specs))
        outputs = "\n".join(map(str, self.output_specs))
        return f"\n# inputs\n{inputs}\n\n# outputs\n{outputs}\n"


_INPUTS = {  # from the schema's words: the kind, and where its target is
    "parameter": (InputKind.PARAMETER, "parameter_name"),
    "buffer": (InputKind.BUFFER, "buffer_name"),
    "tensor_constant": (InputKind.CONSTANT_TENSOR, "tensor_constant_name"),
    "custom_obj": (InputKind.CUSTOM_OBJ, "custom_obj_name"),
    "token": (InputKind.TOKEN, None),
}
_OUTPUTS = {
    "loss_output": (OutputKind.LOSS_OUTPUT, None),
    "buffer_mutation": (OutputKind.BUFFER_MUTATION, "buffer_name"),
    "parameter_mutation": (OutputKind.PARAMETER_MUTATION, "parameter_name"),
    "gradient_to_parameter": (OutputKind.GRADIENT_TO_PARAMETER, "parameter_name"),
    "gradient_to_user_input": (OutputKind.GRADIENT_TO_USER_INPUT, "user_input_name"),
    "user_input_mutation": (OutputKind.USER_INPUT_MUTATION, "user_input_name"),
    "token": (OutputKind.TOKEN, None),
}
_SYMBOLIC = {"as_sym_int": SymIntArgument, "as_sym_float": SymFloatArgument, "as_sym_bool": SymBoolArgument}


def _argument(argument):
    (kind, value), *_ = argument.items()
    if kind == "as_tensor":
        return TensorArgument(value["name"])
    if kind in _SYMBOLIC and "as_name" in value:
        return _SYMBOLIC[kind](value["as_name"])
    return ConstantArgument("", None if kind == "as_none" else value)


def signature_of(signature):
    """Of the schema's signature."""
    inputs, outputs = [], []
    for each in signature["input_specs"]:
        (word, spec), *_ = each.items()
        if word == "user_input":
            inputs.append(InputSpec(InputKind.USER_INPUT, _argument(spec["arg"]), None))
        elif word == "constant_input":
            value = _argument(spec["value"]).value
            inputs.append(InputSpec(InputKind.USER_INPUT, ConstantArgument(spec["name"], value), None))
        else:
            kind, key = _INPUTS[word]
            target = None if key is None else spec[key]
            inputs.append(
                InputSpec(kind, TensorArgument(spec["arg"]["name"]), target, spec.get("persistent"))
            )
    for each in signature["output_specs"]:
        (word, spec), *_ = each.items()
        if word == "user_output":
            outputs.append(OutputSpec(OutputKind.USER_OUTPUT, _argument(spec["arg"]), None))
        else:
            kind, key = _OUTPUTS[word]
            outputs.append(
                OutputSpec(kind, TensorArgument(spec["arg"]["name"]), None if key is None else spec[key])
            )
    return ExportGraphSignature(inputs, outputs)


__all__ = [
    "ConstantArgument", "ExportGraphSignature", "InputKind", "InputSpec", "OutputKind", "OutputSpec", "SymBoolArgument",
    "SymFloatArgument", "SymIntArgument", "TensorArgument", "TokenArgument",
]  # fmt: skip
