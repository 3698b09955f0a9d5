"""Every reason that explain(), a report or WEFT_LOGS=graph_breaks can give is in a user's words and says what to do."""

import pathlib
import re

import numpy as np
import pytest
import weft

CAPTURE = pathlib.Path(__file__).parents[2] / "python" / "capture"
GIVEN = re.compile(
    r"(?:graph_break\(|CaptureAborted\{|LoopUnsupported\{|GraphBreak\{|unsupported = |why = |leave_library\(|"
    r"(?:begin_again|leave_to_python|fall_back|give_up_suspecting)\((?:[^;]*?,)?)"
    r'\s*(?:\.reason = )?(?:fmt::format\()?\s*((?:"(?:[^"\\]|\\.)*"\s*)+)'
)
# Words of weft's own.
JARGON = re.compile(
    r"\b(capture|captured|segments?|symbolic|variant|guard|evaluator|abstract values?|lazy)\b"
)


def reasons():
    found = {}
    for path in sorted(CAPTURE.rglob("*.cc")):
        for match in GIVEN.finditer(path.read_text()):
            text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', match[1]))
            found.setdefault(text, path.name)
    return found


def test_reasons_are_found():
    assert len(reasons()) > 300


def test_reasons_are_in_a_users_words():
    wrong = [f"{file}: {reason}" for reason, file in reasons().items() if JARGON.search(reason)]
    assert not wrong, "\n".join(wrong)


def test_each_reason_has_advice():
    for reason in reasons():
        assert len(weft._C._advice_for(reason.replace("{}", "something"))) > 20, reason


def positive(x):
    if x.sum() > 0:
        return x
    return -x


def printed(x):
    print("x")
    return x + 1


def opened(x):
    with open("/dev/null") as file:
        return x + len(file.read())


@pytest.mark.parametrize(
    "function, advice",
    [
        (positive, "numpy.where"),
        (printed, "outside of the function"),
        (opened, "in its caller"),
    ],
)
def test_explain_gives_it(function, advice):
    explained = weft.compiler.explain(function)(np.ones(3))
    entries = explained.breaks + explained.fallbacks
    assert entries and all(entry.advice and entry.line and entry.source for entry in entries)
    assert any(advice in entry.advice for entry in entries), [str(entry) for entry in entries]
    assert any(advice in line for line in str(explained).splitlines())


def test_fullgraph_gives_it():
    with pytest.raises(RuntimeError, match="numpy.where") as raised:
        weft.compile(positive, fullgraph=True)(np.ones(3))
    assert "test_compile_advice.py:" in str(raised.value) and "if x.sum() > 0:" in str(raised.value)


def test_unrolled_loops_give_it():
    def layers(x, weights):
        for weight in weights:
            x = x + weight
        return x

    (loop,) = weft.compiler.explain(layers)(np.ones(3), [np.ones(3)] * 20).unrolled
    assert loop.advice and loop.advice in str(loop)


def test_the_log_gives_it(capfd):
    weft.set_logs("graph_breaks")
    try:
        weft.compile(printed)(np.ones(3))
    finally:
        weft.set_logs("")
    assert "outside of the function" in capfd.readouterr().err
