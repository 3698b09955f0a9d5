"""`weft convert model.pt model.pt2 --input x.npz`: a TorchScript archive as an exported program."""

import argparse
import sys

import weft
from weft.torch import export as torch_export

from ._script import signature_of


def _arguments(module, path):
    """The arguments of forward from a .npz as `weft run` takes it: those in front by position, others by name."""
    found = module.forward._function._c.arguments_of_npz(path)
    positional = []
    for name in signature_of(module).parameters:
        if name not in found:
            break  # it has a default
        positional.append(found.pop(name))
    return tuple(positional), found


def _shapes(names, said):
    """dynamic_shapes of --dynamic x:0 and --dynamic x:0=batch."""
    dims, shapes = {}, {name: {} for name in names}
    for each in said:
        place, _, called = each.partition("=")
        name, _, dim = place.rpartition(":")
        if name not in shapes or not dim.lstrip("-").isdecimal():
            raise ValueError(
                f"--dynamic {each}: expected ARGUMENT:DIMENSION or ARGUMENT:DIMENSION=NAME, of {', '.join(names)}"
            )
        called = called or f"{name}_{dim.replace('-', 'last')}"
        shapes[name][int(dim)] = dims.setdefault(called, torch_export.Dim(called))
    return {name: dims_of or None for name, dims_of in shapes.items()}


def main(arguments):
    parser = argparse.ArgumentParser(prog="weft convert", description=__doc__)
    parser.add_argument("model", help="the TorchScript archive (.pt)")
    parser.add_argument("output", help="the program to write (.pt2)")
    parser.add_argument(
        "--input", "-i", required=True, help="a .npz with example arguments of forward, by name or position"
    )
    parser.add_argument(
        "--dynamic", action="append", default=[], metavar="ARGUMENT:DIMENSION[=NAME]",
        help="a size that may differ from call to call; sizes of one name are equal",
    )  # fmt: skip
    options = parser.parse_args(arguments)
    try:
        if not options.output.endswith(".pt2"):
            raise ValueError(f"{options.output}: programs' files end in .pt2")
        module = weft.jit.load(options.model)
        args, kwargs = _arguments(module, options.input)
        names = [*list(signature_of(module).parameters)[: len(args)], *kwargs]
        shapes = _shapes(names, options.dynamic)
        program = torch_export.export(module.eval(), args, kwargs, dynamic_shapes=shapes)
        torch_export.save(program, options.output)
    except (OSError, ValueError, TypeError, RuntimeError, NotImplementedError) as error:
        print(f"weft: {options.model} cannot be converted: {error}", file=sys.stderr)
        return 1
    print(f"{options.output}: {len(program.graph.nodes)} nodes, {len(program.state_dict)} tensors of weights")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
