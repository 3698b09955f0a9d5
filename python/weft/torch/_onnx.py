"""What torch.onnx answers: weft exports no ONNX."""

import warnings


def is_in_onnx_export():
    """False: nothing is being exported."""
    return False


def register_custom_op_symbolic(symbolic_name, symbolic_fn, opset_version, custom_opsets=None):
    """Nothing, and a warning says so: what an operator is in ONNX is asked by nobody. Of torchvision's own, which its package
    registers whenever it is imported, none is given."""
    if not symbolic_name.startswith("torchvision::"):
        warnings.warn(
            f"torch.onnx.register_custom_op_symbolic: {symbolic_name} is not registered: weft exports no ONNX",
            stacklevel=2,
        )


def parse_args(*arg_descriptors):
    """A decorator of what register_custom_op_symbolic takes: the function itself."""
    return lambda function: function
