"""Exported programs and the modules that they are."""

from weft._C import _export
from weft.jit._archive import _contents
from weft.jit._module import wrap
from weft.jit._saving import path_of

from ._quantize import quantized_program
from ._tree import flatten, unflatten


class ExportedModule:
    """What an exported program does: called as the module was that it was exported from.

    Parameters, buffers and sub-modules have the names they had there. Sizes are held to the program's ranges at each
    call. Calls are safe from many threads; those that write buffers are in the order in which they come. Weights are
    packed at the first call, and again after one was replaced or written to.
    """

    def __init__(self, program):
        self.__dict__.update(
            _program=program,
            _script=wrap(program.module()),
            _arguments=program.arguments(),
            _results=program.results(),
        )

    def __call__(self, *args, **kwargs):
        """raises: TypeError where the arguments nest otherwise than those that the program was exported with; ValueError
        naming the argument and the dimension whose size it does not take."""
        (_, _, _, (positional, named), _) = self._arguments
        if len(args) != len(positional[3]):
            raise TypeError(f"the program takes {len(positional[3])} positional arguments, got {len(args)}")
        leaves = []
        for at, (tree, value) in enumerate(zip(positional[3], args)):
            flatten(tree, value, f"*args[{at}]", leaves)
        for key in kwargs:
            if key not in named[2]:
                raise TypeError(f"the program has no keyword argument '{key}'")
        for key, tree in zip(named[2], named[3]):
            if key not in kwargs:
                raise TypeError(f"the program's keyword argument '{key}' is missing")
            flatten(tree, kwargs[key], f"**kwargs['{key}']", leaves)
        return unflatten(self._results, iter(self._program.run(leaves)))

    forward = __call__

    def optimize_for_inference(self, dtype=None, mode="default"):
        """See weft.jit.optimize_for_inference. Returns: ExportedModule, whose parameters are constants."""
        return ExportedModule(self._program.optimize_for_inference(dtype, mode))

    def _weft_quantize(self, scheme, wanted):
        """See weft.quantization.quantize_: products with parameters, but for those within branches and loops."""
        self.__init__(quantized_program(self._program, scheme, wanted))

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._script, name)

    def __setattr__(self, name, value):
        """Tensors of the program are replaced in it."""
        script = self.__dict__.get("_script")
        if script is not None and hasattr(script, name):
            setattr(script, name, value)
        else:
            object.__setattr__(self, name, value)

    def train(self, mode=True):
        """raises: NotImplementedError; a program is what it was exported as."""
        raise NotImplementedError("Calling train() is not supported yet.")

    def eval(self):
        """raises: NotImplementedError; a program is what it was exported as."""
        raise NotImplementedError("Calling eval() is not supported yet.")

    def __repr__(self):
        return f"ExportedModule(\n{self._script.code})"


class ExportedProgram:
    """A program as a file has it. `module()` is what it does."""

    def __init__(self, program):
        self._program = program

    def module(self):
        """Returns: ExportedModule."""
        return ExportedModule(self._program)

    def __call__(self, *args, **kwargs):
        """raises: RuntimeError, as PyTorch's: module() is what can be called."""
        raise RuntimeError(
            "Unable to call ExportedProgram directly. You should use `exported_program.module()` instead."
        )

    @property
    def state_dict(self):
        """Parameters and persistent buffers by name."""
        return self.module().state_dict()

    def named_parameters(self):
        return self.module().named_parameters()

    def parameters(self):
        return self.module().parameters()

    def named_buffers(self):
        return self.module().named_buffers()

    def buffers(self):
        return self.module().buffers()

    @property
    def range_constraints(self):
        """From each symbol of a size to the least and the greatest value that it may have, None for any."""
        return self._program.ranges()

    @property
    def inputs(self):
        """(name, place, dtype, sizes) of each leaf of the arguments that is a tensor: "x", "*args[0]", float32, ("s0", "4")."""
        return [tuple(each[:4]) for each in self._program.inputs() if each[2] is not None]

    @property
    def graph(self):
        """The graph as TorchScript."""
        return wrap(self._program.module()).graph

    def __repr__(self):
        return f"ExportedProgram:\n{self.module().code}"


def load(f, *, verify=False):
    """The program of a file that torch.export.save wrote (schema 8, PyTorch 2.8 and later).

    f: a path, a file object opened in binary mode, or the file's bytes. Weights are mapped from a path, not read.
    verify: read the whole file first, and compare the checksum (CRC-32) of every entry.
    Nothing in the file is run but the program, by operators of weft's.
    Returns: ExportedProgram.
    Raises: OSError where the file cannot be opened; ValueError naming what is damaged, or of another schema;
    NotImplementedError listing the operators that weft does not have.
    """
    path = path_of(f)
    if path is None:
        return ExportedProgram(_export.load_bytes(_contents(f), verify))
    with open(path, "rb"):  # OSError of the right kind
        pass
    return ExportedProgram(_export.load(path, verify))
