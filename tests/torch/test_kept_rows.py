"""Kernels that keep values of a row in the result's memory (the exponentials of a softmax) while other operands are still to be
read: none of those may have that memory, whether it is a temporary's or an input's that is written in place."""

import pytest
import weft.torch as torch

F = torch.nn.functional


def product(x):
    """A temporary of its own that nothing else uses."""
    return x @ x.transpose(-1, -2)


def in_place(x, y):
    y.mul_(torch.softmax(x, -1))
    return y + 1


def in_place_of_a_part(x, y):
    y[0].mul_(torch.softmax(x[0], -1))
    return y * 2


def weighted_sum(x, y):
    weights = product(y) + 1
    exponentials = torch.exp(product(x) * 0.1)
    return exponentials / (exponentials * weights).sum(-1, keepdim=True) * weights


def dropped(function):
    def program(x, y):
        torch.manual_seed(4)
        return function(x, y)

    return program


PROGRAMS = {
    "a mask": lambda x, y: torch.softmax(product(x), -1) * product(y),
    "a mask first": lambda x, y: product(y) * torch.softmax(product(x), -1),
    "a residual": lambda x, y: torch.softmax(product(x), -1) + product(y),
    "two": lambda x, y: torch.softmax(product(x), -1) * product(y) + product(x + y),
    "of itself": lambda x, y: torch.softmax(product(x), -1) * product(x),
    "log": lambda x, y: torch.log_softmax(product(x), -1) * product(y),
    "where": lambda x, y: torch.where(product(y) > 0, torch.softmax(product(x), -1), 0.0),
    "weights": weighted_sum,
    "in place": in_place,
    "in place of a part": in_place_of_a_part,
    "dropout": dropped(lambda x, y: F.dropout(torch.softmax(product(x), -1), 0.5)),
    "attention": dropped(lambda x, y: F.scaled_dot_product_attention(x, y, x, dropout_p=0.5)),
    "causal attention": dropped(lambda x, y: F.scaled_dot_product_attention(x, y, x, dropout_p=0.3, is_causal=True)),
}  # fmt: skip
LENGTHS = (4, 5, 6, 40, 7, 17, 70)


def square(length):
    return torch.arange(float(2 * length * length)).reshape(2, length, length).sin()


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_operands_stay_until_they_are_read(name, mode):
    program = PROGRAMS[name]
    compiled = torch.compile(program, mode=mode)
    for length in LENGTHS:
        x = square(length)
        expected = program(x.clone(), x * 0.5 + 1)
        for _ in range(2):
            got = compiled(x.clone(), x * 0.5 + 1)
            torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("options", [{}, {"batch_first": True}])
def test_attention_layers_draw_the_same(options):
    layer = torch.nn.MultiheadAttention(8, 2, dropout=0.5, **options)

    def program(x):
        torch.manual_seed(1)
        return layer(x, x, x)

    compiled = torch.compile(program)
    for length in LENGTHS:
        x = square(length)[:, :, :1].repeat(1, 1, 8)
        for got, expected in zip(compiled(x), program(x)):
            torch.testing.assert_close(got, expected, rtol=1e-5, atol=1e-6)
