"""torch.types' names: what annotations say."""

import builtins
import os
from collections.abc import Sequence
from typing import IO, Any, List, Optional, Tuple, TypeAlias, Union  # noqa: F401, UP035

import weft
from weft import Tensor, device, dtype  # noqa: F401
from weft import device as _device
from weft import dtype as _dtype  # noqa: F401

_bool, _int, _float, _complex = builtins.bool, builtins.int, builtins.float, builtins.complex
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_TensorOrTensorsOrGradEdge: TypeAlias = _TensorOrTensors
_symtype: TypeAlias = int | float | bool
_size: TypeAlias = list[int] | tuple[int, ...]
_dispatchkey: TypeAlias = str
_layout: TypeAlias = object
_qscheme: TypeAlias = object
Number: TypeAlias = int | float | bool
_Number = (int, float, bool)
PyNumber: TypeAlias = int | float | bool
Device: TypeAlias = _device | str | int | None
FileLike: TypeAlias = str | os.PathLike | IO[bytes]
Storage: TypeAlias = object
IntLikeType: TypeAlias = int
FloatLikeType: TypeAlias = float
BoolLikeType: TypeAlias = bool
py_sym_types = (int, float, bool)
PySymType: TypeAlias = int | float | bool
DispatchKey: TypeAlias = str
Size: TypeAlias = getattr(weft, "Size", tuple)
