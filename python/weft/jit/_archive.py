"""Loading, saving and freezing of script modules."""

import contextlib

import weft
from weft._C import _jit

from ._module import RecursiveScriptModule, ScriptModule, wrap
from ._saving import check_extra_files, path_of, write, written
from ._values import ScriptFunction


def _check_device(map_location):
    if map_location is not None and str(map_location).partition(":")[0] != "cpu":
        weft.empty((0,), device=map_location)  # says why it cannot be used


def load(f, map_location=None, _extra_files=None, *, verify=False):
    """The module of an archive that torch.jit.save or weft.jit.save wrote.

    f: a path, a file object opened in binary mode, or the archive's bytes. Parameters are mapped from a path, not
    read: writing to one does not change the file, and the file must not be changed in place while they live.
    map_location: the device that parameters are put on; they come to the CPU, whatever the archive says.
    _extra_files: a dict whose keys name files of the archive's extra/ folder; its values are set to their bytes.
    verify: read the whole file first, and compare the checksum (CRC-32) of every entry. Otherwise those of what is read
    are compared, and those of tensors, which are mapped, are not.
    Nothing in the archive is run but its own TorchScript (__setstate__), and nothing outside it is called.
    Returns: ScriptModule, in the mode (train or eval) that it was saved in.
    Raises: OSError where the file cannot be opened; ValueError naming file and entry where it is damaged or no
    TorchScript archive.
    """
    _check_device(map_location)
    path = path_of(f)
    check_extra_files(_extra_files, "load")
    names = list(_extra_files) if _extra_files is not None else None
    if path is not None:
        with open(path, "rb"):  # OSError of the right kind
            pass
        module, extra = _jit.load(path, names, verify)
    else:
        module, extra = _jit.load_bytes(_contents(f), names, verify)
    if _extra_files is not None:
        _extra_files.update(extra)
    return wrap(module)


def _contents(f):
    if isinstance(f, (bytes, bytearray, memoryview)):
        return bytes(f)
    if not hasattr(f, "read"):
        raise TypeError(f"load: expected a path, bytes, or a file opened for reading, got {type(f).__name__}")
    contents = f.read()
    if not isinstance(contents, bytes):
        raise TypeError(f"load: expected a file opened in binary mode: read() gave {type(contents).__name__}")
    return contents


def _module_to_save(m):
    if isinstance(m, ScriptModule):
        return m._c
    if isinstance(m, ScriptFunction):
        return _jit.module_of_function(m._c)
    raise TypeError(
        f"save: expected a ScriptModule or ScriptFunction, got {type(m).__name__}; weft.jit.script and "
        "weft.jit.trace make them"
    )


def save(m, f, _extra_files=None):
    """Writes an archive that weft.jit.load and torch.jit.load (PyTorch 1.13 and later) read.

    m: a ScriptModule, or a ScriptFunction, which becomes the forward() of a module.
    f: a path, which is replaced when all is written and never left half full; or a file object opened in binary mode.
    _extra_files: a dict of names and contents (str or bytes) that go into the archive's extra/ folder.
    Raises: ValueError naming what cannot be saved, such as a method that calls Python (@weft.jit.ignore).
    """
    write(_module_to_save(m), f, _extra_files)


def _names(names, argument):
    """A list of names, of which one alone is no list of its letters."""
    if names is None:
        return []
    if not isinstance(names, (list, tuple, set)) or not all(isinstance(name, str) for name in names):
        raise TypeError(f"{argument}: expected a list of names, got {names!r}")
    return list(names)


def save_to_buffer(m, _extra_files=None):
    """The archive that save() writes, as bytes."""
    return written(_module_to_save(m), _extra_files)


def _check_module(m, function):
    if not isinstance(m, ScriptModule):
        raise TypeError(
            f"{function}: expected a ScriptModule, got {type(m).__name__}; weft.jit.script makes one"
        )


def freeze(mod, preserved_attrs=None, optimize_numerics=True):
    """A copy of a module in eval mode without attributes: parameters become constants, calls are inlined, what eval
    mode does not need is removed.

    preserved_attrs: names of further methods and attributes to keep beside forward().
    optimize_numerics: batch normalization is folded into the convolution or linear layer before it, which changes
    results by rounding.
    Raises: ValueError for a module in training mode and for names that it does not have.
    """
    _check_module(mod, "freeze")
    return RecursiveScriptModule._weft_of(
        _jit.freeze(mod._c, _names(preserved_attrs, "freeze: preserved_attrs"), bool(optimize_numerics))
    )


def optimize_for_inference(mod, other_methods=None, *, dtype=None, mode=None):
    """freeze, and then whatever makes the module faster here: batch normalization folded, weights packed. Results
    change by rounding.

    other_methods: names of further methods to keep beside forward().
    dtype: bfloat16 or float16: parameters are rounded to it (after folding), float32 arguments are cast to it, and results
    have it.
    mode: as of weft.compile: "default", "reduce-overhead" or "max-autotune"; None: the default. A saved module does not
    keep it.
    """
    _check_module(mod, "optimize_for_inference")
    if mode is not None and not isinstance(mode, str):
        raise TypeError(f"optimize_for_inference: expected mode to be a str or None, got {mode!r}")
    return RecursiveScriptModule._weft_of(
        _jit.optimize_for_inference(
            mod._c, _names(other_methods, "optimize_for_inference: other_methods"), dtype, mode or "default"
        )
    )


@contextlib.contextmanager
def optimized_execution(should_optimize):
    """Within it, calls of TorchScript are compiled after a profiling run (True, as they are by default), or interpreted
    (False). For the whole process; WEFT_JIT_COMPILE=0 is the same from the start.
    """
    if not isinstance(should_optimize, (bool, int)):
        raise TypeError(f"optimized_execution: expected True or False, got {should_optimize!r}")
    before = _jit.profiling_executor()
    _jit.set_profiling_executor(bool(should_optimize))
    try:
        yield
    finally:
        _jit.set_profiling_executor(before)
