"""Every operator on the CPU and on the device cuda (docs/GPU.md): the same results, and a list of what the host computes.
GOLDEN_UPDATE=1 writes tests/golden/gpu_host_operators.txt anew."""

import json
import os
from pathlib import Path

import gpu_operators
import operator_samples
import pytest
from support.tiers import long_but
from test_gpu import run

GOLDEN = Path(__file__).resolve().parents[1] / "golden/gpu_host_operators.txt"
HEADER = """\
# Operators that the host computes for the device cuda, with a copy there and back: by operator, the dtypes of which that is so
# and, where it is made of others, which of these; "reads": a call copies elements to the host to go on. GOLDEN_UPDATE=1 on
# tests/python/test_gpu_operators.py writes this.
"""


OPERATORS = gpu_operators.all_operators()


# Pointwise ones are tests/gpu's, too, and composites are made of others.
@pytest.fixture(scope="module", params=long_but(["kernels", "all"], "kernels"))
def answers(request):
    names = [
        name
        for name, operator in OPERATORS.items()
        if operator.definition["kind"] not in ("pointwise", "composite")
    ]
    return json.loads(
        run(Path(gpu_operators.__file__), *(names if request.param == "kernels" else ())).stdout
    )


def test_every_operator_has_a_sample(answers):
    lacking = [name for name, answer in answers.items() if "kinds" not in answer]
    assert not lacking, {name: answers[name] for name in lacking}
    assert not {*operator_samples.SAMPLES} - {*OPERATORS}


def test_results_are_the_cpus(answers):
    wrong = {}
    for name, answer in answers.items():
        for _, differences in answer.get("kinds", {}).values():
            if differences:
                wrong.setdefault(name, []).extend(differences)
    assert not wrong, json.dumps(wrong, indent=1)


def listed(name, kinds):
    """Lines of one operator: dtypes that have the same reasons are on one."""
    by_reason = {}
    for kind, (host, _) in kinds.items():
        if host:
            parts = ["reads" if part == "elements are read" else part for part in host if part != name]
            by_reason.setdefault(" ".join(sorted(parts)), []).append(kind)
    for parts, of in by_reason.items():
        dtypes = "all" if of == [*kinds] else " ".join(of)
        yield f"{name}: {dtypes}" + (f" ({parts})" if parts else "")


def test_what_the_host_computes_is_listed(answers):
    lines = [line for name, answer in answers.items() for line in listed(name, answer.get("kinds", {}))]
    if any(name not in answers and operator_samples.reason(name) is None for name in OPERATORS):
        golden = GOLDEN.read_text().partition("\n# Without a sample call.\n")[0].splitlines()
        assert lines == [line for line in golden if line.partition(":")[0] in answers]
        return
    text = HEADER + "".join(line + "\n" for line in lines)
    by_reason = {}
    for name in OPERATORS:
        if why := operator_samples.reason(name):
            by_reason.setdefault(why, []).append(name)
    text += "\n# Without a sample call.\n"
    for why, names in by_reason.items():
        text += f"{why}: {' '.join(names)}\n"
    if os.environ.get("GOLDEN_UPDATE"):
        GOLDEN.write_text(text)
    assert text == GOLDEN.read_text(), "GOLDEN_UPDATE=1 accepts this"
