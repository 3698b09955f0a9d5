"""What torch.onnx answers: weft exports no ONNX."""


def is_in_onnx_export():
    """False: nothing is being exported."""
    return False


def register_custom_op_symbolic(symbolic_name, symbolic_fn, opset_version, custom_opsets=None):
    """Nothing: what an operator is in ONNX is asked by nobody."""


def parse_args(*arg_descriptors):
    """A decorator of what register_custom_op_symbolic takes: the function itself."""
    return lambda function: function
