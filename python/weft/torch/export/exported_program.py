"""torch.export.exported_program: programs with PyTorch's graph, signature and text."""

import dataclasses
import functools
import io
import json

import weft
from weft.torch.utils import _pytree as pytree

from . import _graph, graph_signature
from ._schema import tensor_meta


@dataclasses.dataclass(frozen=True)
class ValueRange:
    """lower, upper: of a size; upper is infinite where it is not bounded."""

    lower: object
    upper: object

    def __repr__(self):
        lower, upper = ("int_oo" if bound == float("inf") else bound for bound in (self.lower, self.upper))
        return f"VR[{lower}, {upper}]"


class ExportedProgram(weft.export.ExportedProgram):
    """A program that was loaded, or exported here."""

    def __init__(self, program, example_inputs=None):
        super().__init__(program)
        self._example_inputs = example_inputs

    @functools.cached_property
    def _json(self):
        return json.loads(self._program.text())

    @functools.cached_property
    def graph_signature(self):
        return graph_signature.signature_of(self._json["graph_module"]["signature"])

    @functools.cached_property
    def graph_module(self):
        """A torch.fx.GraphModule over all inputs of the graph, parameters in front."""
        return _graph.graph_module(self._json["graph_module"]["graph"], self.graph_signature)

    @property
    def graph(self):
        return self.graph_module.graph

    @property
    def example_inputs(self):
        """(args, kwargs) that the module was exported with here; None of a program that was loaded."""
        return self._example_inputs

    @property
    def range_constraints(self):
        """From each size that is no constant to the range that it is in."""
        return {
            _graph.SizeValue(name): ValueRange(
                each["min_val"], float("inf") if each["max_val"] is None else each["max_val"]
            )
            for name, each in self._json["range_constraints"].items()
        }

    @property
    def constants(self):
        """Buffers that are not persistent, and constants, by name."""
        return self._program.constants()

    tensor_constants = constants

    @property
    def state_dict(self):
        return self._program.weights()

    def run_decompositions(self, decomp_table=None, decompose_custom_triton_ops=False):
        """The program in PyTorch's core operators, without writes: what it changes is in its signature.

        decomp_table: from operators to functions of their arguments (default: `torch.export.default_decompositions()`);
        an empty one takes away writes only.
        raises: NotImplementedError naming an operator whose decomposition weft does not know.
        """
        from ._decompose import decomposed

        given = None
        if self._example_inputs is not None:
            given = pytree.tree_leaves(self._example_inputs)
        return ExportedProgram(decomposed(self, self._json, given, decomp_table), self._example_inputs)

    @property
    def dialect(self):
        return self._json["verifiers"][0]

    def __str__(self):
        code = self.graph_module.print_readable(print_output=False).replace("\n", "\n    ")
        signature = str(self.graph_signature).replace("\n", "\n    ")
        return f"ExportedProgram:\n    {code}\nGraph signature:{signature}\nRange constraints: {self.range_constraints}\n"

    __repr__ = __str__


def entries_of(program):
    """The entries of a program's file: bytes, and tensors whose storages are written."""
    entries = {}
    parameters = set(program.graph_signature.parameters)
    for folder, prefix, config, tensors in (
        ("weights", "weight", "model_weights_config", program._program.weights()),
        ("constants", "tensor", "model_constants_config", program._program.constants()),
    ):
        paths, table = {}, {}
        for name, tensor in tensors.items():
            storage = tensor.untyped_storage()
            # Tensors without bytes have no place that would tell them from others.
            key = storage.data_ptr() if storage.nbytes() else name
            if key not in paths:
                paths[key] = f"{prefix}_{len(paths)}"
                entries[f"data/{folder}/{paths[key]}"] = tensor
            table[name] = {
                "path_name": paths[key],
                "is_param": name in parameters,
                "use_pickle": False,
                "tensor_meta": tensor_meta(tensor, requires_grad=name in parameters),
            }
        entries[f"data/{folder}/{config}.json"] = json.dumps({"config": table}).encode()
    return entries


def sample_inputs(program):
    """(args, kwargs) as torch.save writes them; nothing where there are none."""
    if program.example_inputs is None:
        return b""
    file = io.BytesIO()
    weft.torch.save(program.example_inputs, file)
    return file.getvalue()


def default_decompositions():
    """See _decompose.default_decompositions."""
    from ._decompose import default_decompositions

    return default_decompositions()


__all__ = ["ExportedProgram", "default_decompositions"]
