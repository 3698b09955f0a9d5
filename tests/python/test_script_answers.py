"""TorchScript's language beside PyTorch 2.15's recorded answers (script_answers.json): scripts, and methods of archives of
older versions."""

import io
import json
import math

import pytest
import script_answers
import script_archives
import weft

RECORDED = json.loads(script_answers.ANSWERS.read_text())
PROGRAMS, ARCHIVES = script_answers.programs(), script_answers.archives()


def test_every_program_is_recorded():
    assert [*RECORDED] == [*PROGRAMS, *ARCHIVES]


def is_same(got, wanted):
    if isinstance(got, float) or isinstance(wanted, float):
        numbers = isinstance(got, (int, float)) and isinstance(wanted, (int, float))
        return numbers and (
            math.isclose(got, wanted, rel_tol=1e-5, abs_tol=1e-5) or got != got and wanted != wanted
        )
    if type(got) is not type(wanted):
        return False
    if isinstance(got, dict):
        return got.keys() == wanted.keys() and all(is_same(got[key], wanted[key]) for key in got)
    if isinstance(got, list):
        return len(got) == len(wanted) and all(map(is_same, got, wanted))
    return got == wanted


def check_answers(name, calls, got):
    expected = RECORDED[name]
    if expected == "refused":  # when it is read; weft raises when the program gets there
        assert "refused" in got[0] or all("error" in each for results in got for each in results)
        return
    assert "refused" not in got[0], got[0]
    for call, results, wanted in zip(calls, got, expected, strict=True):
        for each in results:
            if "error" in wanted:
                assert "error" in each, (call, each, wanted)
            else:
                assert is_same(each.get("result", each), wanted["result"]), (call, each, wanted)


@pytest.mark.parametrize("name", PROGRAMS)
def test_scripts(name, tmp_path):
    source, calls = PROGRAMS[name]
    check_answers(name, calls, script_answers.answers(weft, source, calls, tmp_path))


@pytest.mark.parametrize("name", ARCHIVES)
def test_archives(name):
    parameters, body, version, calls = ARCHIVES[name]
    check_answers(name, calls, script_answers.archive_answers(weft, parameters, body, version, calls))


@pytest.mark.parametrize("name", [name for name in ARCHIVES if "version 3" in name])
def test_archives_of_older_versions_are_saved_as_new_ones(name):
    parameters, body, version, calls = ARCHIVES[name]
    archive = script_archives.archive([("forward", parameters, "Tensor", body)], version=version)
    saved = weft.jit.load(io.BytesIO(archive)).save_to_buffer()
    scope = {"torch": weft, "function": weft.jit.load(io.BytesIO(saved))}
    check_answers(name, calls, script_answers.called(weft, calls, scope))


# ---- what archives say of types and defaults -------------------------------------------------------------------


def test_isinstance_in_archives():
    body = """_0 = isinstance(x, list)
_1 = isinstance(x, tuple)
_2 = isinstance(x, (int, list))
_3 = isinstance(x, Dict[str, List[int]])
return [_0, _1, _2, _3]"""
    archive = script_archives.archive([("forward", ["x: Any"], "List[bool]", body)])
    module = weft.jit.load(io.BytesIO(archive))
    again = weft.jit.load(io.BytesIO(module.save_to_buffer()))
    for each in (module, again):
        assert each([1]) == [True, False, True, False]
        assert each((1, 2)) == [False, True, False, False]
        assert each([(1,)]) == [True, False, True, False]
        assert each(2) == [False, False, True, False]
        assert each({"a": [1]}) == [False, False, False, True]
        assert each({"a": [1.5]}) == [False, False, False, False]
        assert each("a") == [False] * 4


def test_large_values_of_any_type_are_not_looked_through():
    shared = [1]
    for _ in range(60):
        shared = [shared, shared]
    archive = script_archives.archive([("forward", ["x: Any"], "bool", "return isinstance(x, list)")])
    assert weft.jit.load(io.BytesIO(archive))(shared) is True


ENUM = """class Color(Enum):
  RED = 1
  BLUE = 2
"""


def test_defaults_that_are_members_of_enumerations():
    parameters = [
        "x: int",
        "c: __torch__.Color=__torch__.Color.BLUE",
        'd: Device=torch.device("cpu")',
        "f: float=inf",
    ]
    for more in ([], ["y: complex=0.+2.j"]):
        method = ("forward", [*parameters, *more], "int", "return torch.add(x, (c).value)")
        module = weft.jit.load(io.BytesIO(script_archives.archive([method], classes=ENUM)))
        assert module(1) == 3
        if not more:
            assert weft.jit.load(io.BytesIO(module.save_to_buffer()))(1) == 3
