"""torch.export: modules as programs that PyTorch and weft run, and their files."""

import os

import weft
from weft._C import _export
from weft.export._tree import unnamed_classes
from weft.jit._saving import path_of

from .. import _absent
from . import exported_program
from .dynamic_shapes import Dim, ShapesCollection, dims  # noqa: F401
from .exported_program import ExportedProgram, default_decompositions  # noqa: F401
from .graph_signature import ExportGraphSignature  # noqa: F401


def export(mod, args, kwargs=None, *, dynamic_shapes=None, strict=False, preserve_module_call_signature=(), prefer_deferred_runtime_asserts_over_guards=False):  # fmt: skip
    """The module as a program: its forward, recorded for these arguments.

    dynamic_shapes: which sizes of the arguments may differ from call to call: {"x": {0: Dim("batch", min=1, max=64)}}, by
    arguments' names or in their order, nested as they are. Other sizes, and arguments that are no tensors, are constants.
    strict: changes nothing. PyTorch's True compiles the Python code, and refuses what its compiler does not understand;
    programs are recorded here either way, so that what Python does beside tensors happens at each recorded run and is no
    part of the program.
    Returns: ExportedProgram.
    raises: UserError where the module does something else for other sizes of the range, naming the line that asked;
    GuardOnDataDependentSymNode where it goes on by what a tensor holds.
    """
    if not isinstance(mod, weft.nn.Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    if not isinstance(strict, bool):
        raise TypeError(f"torch.export.export: strict is True or False, got {strict!r}")
    if not isinstance(args, tuple):
        raise weft.torch._dynamo.exc.UserError(
            f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}"
        )
    for name, value, default in (
        ("preserve_module_call_signature", tuple(preserve_module_call_signature), ()),
        ("prefer_deferred_runtime_asserts_over_guards", prefer_deferred_runtime_asserts_over_guards, False),
    ):
        if value != default:
            raise NotImplementedError(f"torch.export.export: {name}={value!r} is not supported")
    from ._capture import capture
    from ._regions import ExportWriter

    kwargs = dict(kwargs or {})
    writer = ExportWriter(mod, capture(mod, args, kwargs, dynamic_shapes))
    return ExportedProgram(writer.made(), (args, kwargs))


def save(ep, f, *, extra_files=None, opset_version=None, pickle_protocol=2):
    """Writes a program's .pt2 file, for PyTorch's torch.export.load and for weft.

    f: a path, or a file object opened in binary mode. extra_files: {name: text}.
    """
    if not isinstance(ep, ExportedProgram):
        raise TypeError(
            f"The 'ep' parameter must be an instance of 'ExportedProgram', got '{type(ep).__name__}' instead."
        )
    if opset_version is not None:
        raise NotImplementedError(
            "torch.export.save: operators have the version that weft has; opset_version cannot be chosen"
        )
    if pickle_protocol != 2:
        raise NotImplementedError(
            f"torch.export.save: pickle_protocol={pickle_protocol!r}: example inputs are pickled by protocol 2"
        )
    for tree in (ep._program.arguments(), ep._program.results()):
        for cls in unnamed_classes(tree):
            how = "_register_namedtuple" if issubclass(cls, tuple) else "torch.export.register_dataclass"
            raise NotImplementedError(
                f"torch.export.save: files have no name for {cls}: give `serialized_type_name` to `{how}`"
            )
    path = path_of(f)
    top = "archive" if path is None else os.path.basename(path).removesuffix(".pt2") or "archive"
    entries = exported_program.entries_of(ep)
    entries["models/model.json"] = ep._program.text().encode()
    entries["data/sample_inputs/model.pt"] = exported_program.sample_inputs(ep)
    for name, text in (extra_files or {}).items():
        entries[f"extra/{name}"] = text.encode() if isinstance(text, str) else bytes(text)
    entries |= {
        "archive_format": b"pt2",
        "archive_version": b"0",
        ".data/version": b"6\n",
        "byteorder": b"little",
    }
    if path is not None:
        _export.write(path, top, entries)
    else:
        f.write(_export.written(top, entries))


def load(f, *, extra_files=None, expected_opset_version=None):
    """See weft.export.load. Returns: ExportedProgram."""
    for name, value in (("extra_files", extra_files), ("expected_opset_version", expected_opset_version)):
        if value is not None:
            raise NotImplementedError(f"torch.export.load: {name} is not supported")
    return ExportedProgram(weft.export.load(f)._program)


def register_dataclass(cls, *, serialized_type_name=None):
    """Objects of the dataclass nest arguments and results; files call it by serialized_type_name, and need one."""
    from weft.torch.utils import _pytree as pytree

    pytree.register_dataclass(cls, serialized_type_name=serialized_type_name)


__getattr__ = _absent.names(__name__)
