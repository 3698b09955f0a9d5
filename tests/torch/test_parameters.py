"""What a parameter keeps of its own: what programs put into its __dict__, and nothing else."""

import copy

import weft.torch as torch

nn = torch.nn


def test_parameters_keep_nothing_of_weft_s():
    for value in (nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2), requires_grad=False),
                  nn.Linear(2, 2).weight, copy.deepcopy(nn.Linear(2, 2)).bias):  # fmt: skip
        assert vars(value) == {}
    value = nn.Parameter(torch.ones(2), requires_grad=False)
    value.note = "mine"
    assert vars(value) == {"note": "mine"} and value.requires_grad is False
    assert value.requires_grad_() is value and value.requires_grad and vars(value) == {"note": "mine"}


def test_parameters_are_made_again_of_their_attributes():
    """accelerate.init_empty_weights: register_parameter() moves what it has registered."""
    plain = nn.Module.register_parameter

    def register_empty_parameter(module, name, param):
        plain(module, name, param)
        if param is not None:
            own, attributes = type(module._parameters[name]), module._parameters[name].__dict__
            attributes["requires_grad"] = param.requires_grad
            module._parameters[name] = own(module._parameters[name].to("meta"), **attributes)

    nn.Module.register_parameter = register_empty_parameter
    try:
        model = nn.Sequential(
            nn.Linear(3, 4), nn.LayerNorm(4), nn.LSTM(4, 2), nn.Embedding(5, 2, padding_idx=1)
        )
    finally:
        nn.Module.register_parameter = plain
    assert {str(value.device) for value in model.parameters()} == {"meta"}
    assert all(value.requires_grad for value in model.parameters())
    assert list(model.state_dict()) == list(
        nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.LSTM(4, 2), nn.Embedding(5, 2)).state_dict()
    )
