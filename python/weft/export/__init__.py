"""Programs that torch.export.save wrote (.pt2): loaded, checked and run without PyTorch.

program = weft.export.load("model.pt2")
y = program.module()(x)
"""

from ._program import ExportedModule, ExportedProgram, load
from ._tree import register_dataclass, register_namedtuple, registered_name

__all__ = [
    "ExportedModule",
    "ExportedProgram",
    "load",
    "register_dataclass",
    "register_namedtuple",
    "registered_name",
]
