"""Tensors as text in captured functions: always the elements, whichever way Python asks for them."""

import io
import logging
import operator
import pprint
import string

import pytest
import weft.torch as torch


def printed(t):
    file = io.StringIO()
    print("is", t + 1, t, sep=" | ", file=file)
    return file.getvalue()


def written(t):
    file = io.StringIO()
    file.write(str(t * 2))
    file.writelines(["a", repr(t)])
    return file.getvalue()


def logged(t):
    record = logging.LogRecord("name", logging.INFO, "path", 1, "got %s and %r", (t + 1, t), None)
    return record.getMessage()


def raised(t):
    try:
        raise ValueError("got %s" % (t + 1))
    except ValueError as error:
        return str(error)


def raised_with_it(t):
    try:
        raise ValueError(t + 1)
    except ValueError as error:
        return str(error)


def in_place(t):
    text = "%s"
    text %= t + 1
    return text


PROGRAMS = {
    "%s": lambda t: "%s" % (t + 1),
    "%s of an argument": lambda t: "%s" % t,
    "%r": lambda t: "%r" % (t + 1),
    "%a": lambda t: "%a" % (t + 1),
    "%s of a tuple": lambda t: "%s, %s" % (t + 1, 2),
    "%s of a list": lambda t: "%s" % [t + 1],
    "%s by name": lambda t: "%(a)s" % {"a": t + 1},
    "%= in place": in_place,
    "% of bytes": lambda t: b"%a" % (t + 1),
    "operator.mod": lambda t: operator.mod("%s", t + 1),
    "str.__mod__": lambda t: "%s".__mod__(t + 1),
    "str.__mod__ of the class": lambda t: str.__mod__("%s", t + 1),
    "str": lambda t: str(t + 1),
    "repr": lambda t: repr(t + 1),
    "ascii": lambda t: ascii(t + 1),
    "format": lambda t: format(t + 1),
    "f-string": lambda t: f"{t + 1} and {t!r} and {t!s:>80}",
    "f-string of a list": lambda t: f"{[t + 1]}",
    "str.format": lambda t: "{} {!r} {x}".format(t + 1, t, x=t),
    "str.format of the class": lambda t: str.format("{0} {0!s}", t + 1),
    "format_map": lambda t: "{x}".format_map({"x": t + 1}),
    "template": lambda t: string.Template("$x").substitute(x=t + 1),
    "join": lambda t: ", ".join([str(t), str(t + 1)]),
    "join of a map": lambda t: ", ".join(map(str, [t, t + 1])),
    "join of a generator": lambda t: ", ".join(repr(each) for each in (t, t + 1)),
    "str of a list": lambda t: str([t + 1, 2]),
    "str of a dict": lambda t: str({"a": t + 1}),
    "repr of a tuple": lambda t: repr((t + 1,)),
    "methods": lambda t: (t + 1).__repr__() + (t + 1).__str__() + (t + 1).__format__(""),
    "methods of the class": lambda t: torch.Tensor.__repr__(t + 1) + type(t).__str__(t),
    "added": lambda t: "got " + str(t + 1),
    "pprint": lambda t: pprint.pformat({"a": t + 1}),
    "print": printed,
    "write": written,
    "log": logged,
    "error": raised,
    "error with it": raised_with_it,
}  # fmt: skip
NUMBERS = {
    "%d": lambda t: "%d" % (t + 1),
    "%.2f": lambda t: "%.2f" % (t + 1),
    "%5.1f of a tuple": lambda t: "%5.1f %s" % (t, t),
    "f-string": lambda t: f"{t + 1:.2f} {t:8.3e}",
    "format": lambda t: format(t + 1, ".3f"),
    "str.format": lambda t: "{:.1f}".format(t + 1),
    "%s": lambda t: "%s" % (t + 1),
}  # fmt: skip


def check_formatted(program, *examples):
    compiled = torch.compile(program)
    for example in examples:
        expected = program(example)
        assert "traced" not in str(expected)
        assert compiled(example) == expected and compiled(example) == expected


@pytest.mark.parametrize("name", PROGRAMS)
def test_text(name):
    check_formatted(
        PROGRAMS[name], torch.tensor([1.0, 2.5]), torch.tensor([3.0, 0.125]), torch.tensor([[1, 2], [3, 4]])
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_text_of_parameters(name):
    check_formatted(
        PROGRAMS[name], torch.nn.Parameter(torch.tensor([1.0, 2.5])), torch.nn.Parameter(torch.tensor([4.0]))
    )


@pytest.mark.parametrize("name", NUMBERS)
def test_text_of_one_number(name):
    check_formatted(NUMBERS[name], torch.tensor(1.5), torch.tensor(2.25), torch.tensor(7.0))


def test_a_repr_of_ones_own():
    class Scaled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = torch.nn.Parameter(torch.tensor([2.0]))

        def forward(self, x):
            self.text = "%s times %r" % (self.scale, x * 2)
            return x * self.scale

    plain, module = Scaled(), Scaled()
    compiled = torch.compile(module)
    for value in (1.0, 3.0):
        x = torch.tensor([value])
        assert compiled(x).tolist() == plain(x).tolist() and module.text == plain.text
