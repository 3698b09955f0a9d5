"""Attributes, methods and properties of the program's objects; what is stored is stored when the graph has run."""

import numpy as np


class Layer:
    def __init__(self, weight, bias):
        self.weight, self.bias, self.calls = weight, bias, 0

    @property
    def scaled(self):
        return self.weight * 0.5

    def __call__(self, x):
        self.calls += 1
        return np.maximum(x @ self.scaled + self.bias, 0.0)


def objects(layer, x):
    return layer(x)


ARGUMENTS = Layer(np.ones((3, 2)), np.zeros(2)), np.ones((4, 3))
