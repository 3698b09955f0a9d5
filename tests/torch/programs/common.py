"""What the programs share: weights made by arithmetic, and the command line."""

import argparse

import torch


def wave(*shape, frequency=0.37, phase=0.0, scale=1.0):
    count = 1
    for size in shape:
        count *= size
    return (
        (torch.arange(count, dtype=torch.float64) * frequency + phase)
        .sin()
        .mul(scale)
        .reshape(shape)
        .to(torch.float32)
    )


@torch.no_grad()
def fill(module):
    """Weights that do not depend on random numbers."""
    for index, (name, parameter) in enumerate(module.named_parameters()):
        if parameter.dim() > 1:
            fan_in = parameter.numel() // parameter.shape[0]
            parameter.copy_(
                wave(*parameter.shape, frequency=0.7 + 0.01 * index, phase=index, scale=(2.0 / fan_in) ** 0.5)
            )
        elif name.endswith("weight"):
            parameter.copy_(1 + wave(*parameter.shape, phase=index, scale=0.1))
        else:
            parameter.copy_(wave(*parameter.shape, phase=index, scale=0.1))
    for index, (name, buffer) in enumerate(module.named_buffers()):
        if name.endswith("running_mean"):
            buffer.copy_(wave(*buffer.shape, phase=index, scale=0.1))
        elif name.endswith("running_var"):
            buffer.copy_(1 + wave(*buffer.shape, phase=index, scale=0.2))
    return module.eval()


def main(results):
    parser = argparse.ArgumentParser()
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--save")
    options = parser.parse_args()
    found = results(options.compile)
    for name, value in found.items():
        print(
            f"{name}: {tuple(value.shape)} mean {value.double().mean():.6f} std {value.double().std(unbiased=False):.6f}"
        )
    if options.save:
        torch.save(found, options.save)
