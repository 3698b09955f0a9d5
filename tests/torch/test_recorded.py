"""PyTorch's recorded answers: each call gives the same here, but for those that `differences.txt` lists with a reason."""

from pathlib import Path

import pytest
import recorded

LISTED = Path(__file__).with_name("differences.txt")
pytestmark = pytest.mark.skipif(not recorded.DATA.exists(), reason=f"no recorded calls in {recorded.DATA}")


def listed():
    """From the code of each call that is known to differ to the reason."""
    known, reason = {}, ""
    for line in LISTED.read_text().splitlines():
        if line.startswith("# "):
            reason = line[2:]
        elif line:
            known[line] = reason
    return known


def test_every_other_call_gives_what_pytorch_gives():
    import weft.torch as torch

    known = listed()
    found = recorded.differences(recorded.Recorded(), torch)
    unknown = [f"{case['code']}: {why}" for _, case, why in found if case["code"] not in known]
    assert not unknown, f"{len(unknown)} calls differ:\n" + "\n".join(unknown[:50])


def test_what_is_listed_does_differ():
    import weft.torch as torch

    found = {case["code"] for _, case, _ in recorded.differences(recorded.Recorded(), torch)}
    always = {code for code, reason in listed().items() if not reason.startswith("On some processors")}
    assert not sorted(always - found)


def test_every_listed_call_has_a_reason():
    assert all(len(reason) > 10 for reason in listed().values())
