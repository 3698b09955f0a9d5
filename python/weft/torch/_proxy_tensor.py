"""What torch.fx.experimental.proxy_tensor answers: nothing records graphs of torch.fx."""


def get_proxy_mode():
    """None: no mode records."""


def get_innermost_proxy_mode():
    """None: no mode records."""
