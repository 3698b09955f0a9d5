"""What torch.onnx has without exporting."""


def is_in_onnx_export():
    """False: nothing is exported."""
    return False
