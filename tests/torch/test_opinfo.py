"""The list of what differs from PyTorch's OpInfo database, and how calls are written to files: what `scripts/test opinfo` rests on."""

import argparse

import numpy
import opinfo
import opinfo_values
import pytest
import recorded
import weft.torch as torch

ALL = argparse.Namespace(dtypes=None, samples=None, ways=["function"])


def test_every_row_is_read_and_has_a_reason():
    rows = opinfo.listed()
    assert rows and all(len(reason) > 10 for _, reason in rows.values())
    for (_, way, _), (numbers, _) in rows.items():
        assert way in (*opinfo.WAYS, "process")
        assert opinfo.spans(opinfo.numbers_of(numbers)) == numbers


@pytest.mark.parametrize(
    ("numbers", "text"), [([], ""), ([0], "0"), ([1, 0, 2, 4], "0-2 4"), ([3, 3, 9, 10], "3 9-10")]
)
def test_spans(numbers, text):
    assert opinfo.spans(numbers) == text
    assert list(opinfo.numbers_of(text)) == sorted(set(numbers))


def test_the_list_is_held_exact(monkeypatch):
    known = {
        ("add", "function", "float32"): ("1-2", "why"),
        ("mul", "function", "int64"): ("0", "On some machines"),
    }
    monkeypatch.setattr(opinfo, "listed", lambda: known)
    names = ["add", "mul"]
    assert opinfo.check({("add", "function", "float32"): [1, 2]}, ALL, names) == []
    assert len(opinfo.check({("add", "function", "float32"): [1, 2, 3]}, ALL, names)) == 1  # a new difference
    assert len(opinfo.check({}, ALL, names)) == 1  # one that is gone
    assert len(opinfo.check({("sub", "function", "int64"): [0]}, ALL, names)) == 2
    few = argparse.Namespace(dtypes=None, samples=2, ways=["function"])
    assert opinfo.check({("add", "function", "float32"): [1]}, few, names) == []


def test_tensors_that_share_memory_share_it_when_they_are_read():
    memory = torch.arange(12.0)
    given = (
        memory[2:8].reshape(2, 3),
        memory[4:6],
        torch.tensor([1, 2]).to(torch.bfloat16),
        [True, None, slice(1, 2)],
    )
    writer = opinfo_values.Writer(torch)
    tree = writer(given)
    read = opinfo_values.Reader(torch, writer.memory)(tree)
    assert len(writer.memory) == 2
    assert torch.equal(read[0], given[0]) and read[2].dtype == torch.bfloat16 and read[3] == given[3]
    read[1].fill_(-1)
    assert read[0].tolist() == [[2.0, 3.0, -1.0], [-1.0, 6.0, 7.0]] and memory.tolist() == list(range(12))


def test_results_are_compared():
    results = opinfo_values.Results(torch)
    tree = results((torch.tensor([1.0, 2.0]), 3, 0.5))
    answers = recorded.Answers(results.arrays)
    answers.compare(torch, (torch.tensor([1.0, 2.0]), 3, 0.5), tree, "r", False)
    for wrong in (
        (torch.tensor([1.0, 2.1]), 3, 0.5),
        (torch.tensor([1, 2]), 3, 0.5),
        (torch.tensor([1.0, 2.0]), 4, 0.5),
    ):
        with pytest.raises(recorded.Difference):
            answers.compare(torch, wrong, tree, "r", False)
    assert isinstance(results.arrays["0"], numpy.ndarray)
