"""safetensors.numpy's names."""

import weft

from . import torch as _torch


def save(tensor_dict, metadata=None):
    return _torch.save({name: weft.from_numpy(array) for name, array in tensor_dict.items()}, metadata)


def save_file(tensor_dict, filename, metadata=None):
    _torch.save_file(
        {name: weft.from_numpy(array) for name, array in tensor_dict.items()}, filename, metadata
    )


def load(data):
    return {name: tensor.numpy() for name, tensor in _torch.load(data).items()}


def load_file(filename):
    return {name: tensor.numpy() for name, tensor in _torch.load_file(filename).items()}
