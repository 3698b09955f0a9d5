"""Functions of PyTorch that are no operators of weft's table, or whose arguments and results differ from its operators'."""
