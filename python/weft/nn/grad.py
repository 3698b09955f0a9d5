"""torch.nn.grad: gradients of convolutions, which weft, that trains no models, does not compute."""


def _left_out(name):
    def function(*args, **kwargs):
        raise NotImplementedError(f"torch.nn.grad.{name}: weft runs models and does not train them")

    function.__name__ = name
    return function


conv1d_input, conv1d_weight = _left_out("conv1d_input"), _left_out("conv1d_weight")
conv2d_input, conv2d_weight = _left_out("conv2d_input"), _left_out("conv2d_weight")
conv3d_input, conv3d_weight = _left_out("conv3d_input"), _left_out("conv3d_weight")
