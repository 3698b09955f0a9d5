"""PyTorch's mark of what stays as it is between versions: of no effect here."""


def compatibility(is_backward_compatible):
    """A decorator that changes nothing."""
    return lambda function: function
