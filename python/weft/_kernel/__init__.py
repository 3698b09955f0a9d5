"""weft.kernel: functions over elements and tiles, compiled natively, run in parallel for the blocks of a grid.

    @weft.kernel
    def add(i, x, y, out):
        out[i] = x[i] + y[i]

    add[n](x, y, out)

docs/KERNELS.md is the introduction. The function stays Python: add.python[n](x, y, out) runs it block by block.
"""

import functools
import itertools
import re
import struct
import threading

import numpy

import weft
from weft import _C
from weft._errors import ArgumentIndexError

from ._translate import Source, Translator
from ._values import NAMES, KernelError

__all__ = ["Kernel", "KernelError", "kernel"]


def _array_of(value):
    """NumPy's view of an argument's memory; None for what is no array."""
    if isinstance(value, weft.Tensor):
        return value.numpy()
    return value if isinstance(value, numpy.ndarray) and value.ndim else None


class _Call:
    """The arguments of a call: of which kinds, and as words."""

    def __init__(self, kernel, grid, args):
        self.grid, self.words, self.kinds, self.values, self.held = grid, list(grid), [], {}, []
        names = kernel._source.parameters[len(grid) :]
        if len(args) != len(names):
            raise TypeError(
                f"kernel {kernel.__name__}: with a grid of {len(grid)} it takes {len(names)} arguments "
                f"({', '.join(names)}), got {len(args)}"
            )
        for name, value in zip(names, args):
            self._add(kernel, name, value)

    def _add(self, kernel, name, value):
        array = _array_of(value)
        if array is not None:
            dtype = NAMES.get(array.dtype.name)
            if dtype is None or not array.dtype.isnative:
                raise TypeError(
                    f"kernel {kernel.__name__}: argument '{name}': arrays are of float32, float64, int32, int64, uint8 or bool, "
                    f"got {array.dtype}"
                )
            if any(step % array.itemsize for step in array.strides):
                raise ValueError(
                    f"kernel {kernel.__name__}: argument '{name}' lies at no multiple of its elements' size"
                )
            if name in kernel._source.stored and not array.flags.writeable:
                raise ValueError(f"kernel {kernel.__name__}: argument '{name}' is written to, and read-only")
            self.held.append(array)
            self.kinds.append(("array", dtype, array.ndim))
            strides = [step // array.itemsize for step in array.strides]
            self.words += [array.ctypes.data, *array.shape, *strides]
            self.values.update({f"p_{name}_n{axis}": size for axis, size in enumerate(array.shape)})
            if strides[-1] == 1:
                self.values[f"p_{name}_unit"] = 1
            return
        if isinstance(value, weft.Tensor) or isinstance(value, (numpy.ndarray, numpy.generic)):
            value = value.numpy()[()] if isinstance(value, weft.Tensor) else value[()]
            dtype = NAMES.get(value.dtype.name)
            if dtype is not None:
                self.kinds.append(("number", dtype))
                self.words.append(int.from_bytes(value.tobytes().ljust(8, b"\0"), "little", signed=True))
                return
        if isinstance(value, (bool, int)) and -(1 << 63) <= value < 1 << 63:
            self.kinds.append(("int",))
            self.values[f"p_{name}"] = int(value)
            self.words.append(int(value))
        elif isinstance(value, float):
            self.kinds.append(("float",))
            self.words.append(struct.unpack("<q", struct.pack("<d", value))[0])
        else:
            raise TypeError(
                f"kernel {kernel.__name__}: argument '{name}': expected an array, a tensor or a number, got {type(value).__name__}"
            )


class _Compiled:
    """One translation with its native code."""

    def __init__(self, kernel, call, is_debug):
        translator = Translator(
            kernel.__wrapped__, kernel._source, call.kinds, call.values, len(call.grid), is_debug
        )
        self.pinned, self.places = translator.pinned, translator.places
        self.scratch_bytes = translator.scratch_bytes
        name = "kernel_" + re.sub(r"\W", "_", kernel.__name__)
        self.native = _C._BlockKernel(name, translator.body(name), sorted(translator.elementary))

    def fits(self, values):
        return all(values.get(name) == value for name, value in self.pinned.items())


def _grid_of(kernel, grid):
    grid = tuple(grid) if isinstance(grid, (tuple, list)) else (grid,)
    if not grid or not all(isinstance(size, (int, numpy.integer)) and size >= 0 for size in grid):
        raise ValueError(
            f"kernel {kernel.__name__}: a grid is one or several numbers of blocks, got {grid!r}"
        )
    if len(grid) > len(kernel._source.parameters):
        raise ValueError(
            f"kernel {kernel.__name__}: a grid of {len(grid)} dimensions, and {len(kernel._source.parameters)} parameters"
        )
    return tuple(int(size) for size in grid)


class Kernel:
    """A function that is run for each block of a grid: kernel[grid](*arguments).

    Its first parameters, as many as the grid has dimensions, are the block's coordinates; the others are the arguments: arrays of
    NumPy or tensors (float32, float64; read and written by element also int32, int64, uint8 and bool) and numbers. Blocks run in
    any order and at once: each writes elements that no other block reads or writes.

    kernel.python[grid](…): the same by Python. kernel.debug[grid](…): natively with every index checked; IndexError names the line,
    the index and the block. KernelError (a ValueError) names what the language does not have, with its line, when the kernel is
    first called with arguments of these types.
    """

    def __init__(self, function, debug=False):
        functools.update_wrapper(self, function)
        self._source = Source(function)
        self._compiled = {}
        self._lock = threading.Lock()
        self._is_debug = debug

    def __getitem__(self, grid):
        return functools.partial(self._launch, _grid_of(self, grid), self._is_debug)

    @property
    def debug(self):
        return _Mode(self, lambda grid, *args: self._launch(grid, True, *args))

    @property
    def python(self):
        return _Mode(self, self._run_python)

    def __call__(self, *args):
        raise TypeError(f"kernel {self.__name__}: give it a grid: {self.__name__}[blocks](…)")

    def source(self):
        """The C++ of what has been compiled."""
        return "\n".join(one.native.source for found in self._compiled.values() for one in found)

    def _run_python(self, grid, *args):
        call = _Call(self, grid, args)  # checks them
        arrays = iter(call.held)
        args = [next(arrays) if _array_of(one) is not None else one for one in args]
        for block in itertools.product(*map(range, grid)):
            self.__wrapped__(*block, *args)

    def _launch(self, grid, is_debug, *args):
        call = _Call(self, grid, args)
        key = (
            len(grid),
            is_debug,
            tuple(call.kinds),
            tuple(name for name in call.values if name.endswith("_unit")),
        )
        compiled = next((one for one in self._compiled.get(key, ()) if one.fits(call.values)), None)
        if compiled is None:
            with self._lock:
                compiled = next((one for one in self._compiled.get(key, ()) if one.fits(call.values)), None)
                if compiled is None:
                    compiled = _Compiled(self, call, is_debug)
                    self._compiled[key] = (compiled, *self._compiled.get(key, ())[:31])
        blocks = 1
        for size in grid:
            blocks *= size
        if not blocks:
            return
        failed = compiled.native.launch(blocks, call.words, compiled.scratch_bytes)
        if failed is not None:
            self._raise(grid, compiled, *failed)

    def _raise(self, grid, compiled, block, place, axis, index, size):
        line, text, name = compiled.places[place]
        coordinates = numpy.unravel_index(block, grid)
        raise ArgumentIndexError(
            f"kernel {self.__name__}: '{name}': index {index} is out of bounds for axis {axis} of size {size}, in block "
            f"({', '.join(str(int(one)) for one in coordinates)})\n  at {self._source.file}:{line}\n    {text}"
        )

    def __repr__(self):
        return f"<weft.kernel {self.__name__}>"


class _Mode:
    def __init__(self, kernel, run):
        self._kernel, self._run = kernel, run

    def __getitem__(self, grid):
        return functools.partial(self._run, _grid_of(self._kernel, grid))


def kernel(function=None, *, debug=False):
    """Makes a Kernel of a function; a decorator. debug=True: every index is checked, as by Kernel.debug."""
    if function is None:
        return lambda one: Kernel(one, debug)
    return Kernel(function, debug)
