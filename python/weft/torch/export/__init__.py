"""torch.export's programs: those of files run; weft exports none itself."""

from weft.export import ExportedProgram, load, register_dataclass  # noqa: F401

from .. import _absent

__getattr__ = _absent.names(__name__)
