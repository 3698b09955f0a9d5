"""What torch.onnx answers: weft exports no ONNX."""


def is_in_onnx_export():
    """False: nothing is being exported."""
    return False
