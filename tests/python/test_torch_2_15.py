"""Recorded calls of PyTorch 2.15 on weft, for the names that weft has: the same answer, or a row of torch_differences.txt.

A name that weft does not have is no test: such cases are only counted.
"""

import collections
import os
import pathlib

import pytest
import torch_cases
import weft

SHARED = pathlib.Path(
    os.environ.get("WEFT_SHARED_DATA") or pathlib.Path(__file__).parents[3] / "shared" / "data"
)
FOLDER = SHARED / "torch_2_15"
TABLE = pathlib.Path(__file__).with_name("torch_differences.txt")

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason=f"no test data at {FOLDER}")


def known_differences():
    """{(kind, code)}, each with a reason: the comment above it."""
    known, reason = {}, ""
    for line in TABLE.read_text().splitlines():
        if line.startswith("# "):
            reason = line
        elif line:
            kind, _, code = line.partition(": ")
            assert reason and (kind, code) not in known, line
            known[kind, code] = reason
    return known


def depends_on_processor(reason):
    return reason.startswith("# On some processors")


# Of the calls that agree, one in so many is made in a compiled function, too.
EVERY = 12


@pytest.fixture(scope="module")
def outcomes():
    cases, inputs, results = torch_cases.load(FOLDER)
    return [
        (case["code"].removeprefix("r = "), *torch_cases.verdict(case, inputs, results)) for case in cases
    ]


def test_weft_answers_as_pytorch_does(outcomes):
    found = {(kind, code): text for code, kind, text in outcomes if kind in ("differs", "refused")}
    known = known_differences()
    new = {row: text for row, text in found.items() if row not in known}
    gone = [row for row, why in known.items() if row not in found and not depends_on_processor(why)]
    assert new == {}
    assert gone == [], "these agree now: their rows must go"


def test_most_of_what_weft_has_is_compared(outcomes):
    counts = collections.Counter(kind for _, kind, _ in outcomes)
    print(dict(counts))
    assert counts["same"] > 3000
    assert sum(counts.values()) == len(outcomes)


def test_compiled_functions_answer_alike(outcomes):
    cases, inputs, results = torch_cases.load(FOLDER)
    agreeing = [
        case
        for case, (_, kind, _) in zip(cases, outcomes)
        # Random numbers, and calls that change their inputs, are no functions of them.
        if kind == "same"
        and "changed" not in case
        and not case["name"].startswith(("random", "assign", "error"))
    ]
    differing = {}
    for case in agreeing[::EVERY]:
        got = torch_cases.run_compiled(case, inputs)
        # While it is traced, one bool is a 0-d tensor: there is no value yet.
        one_bool = case["name"].endswith("equal") and isinstance(got, weft.Tensor) and got.shape == ()
        if got is not None and not one_bool:
            text = torch_cases.difference(got, case["result"], results)
            if text:
                differing[case["code"]] = text
    assert differing == {}
