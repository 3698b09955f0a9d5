"""Native loops are instructions until they are printed: nothing looks into their C++ but the words of an expression.

A search in text that was printed makes what runs depend on how it is spelled. What may be searched are names that come from
the program or from tables; those lines are counted here.
"""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Ways to look into a string: containers have `find` as well, but neither of a literal nor with a second argument.
SEARCH = re.compile(
    r"\bnpos\b|\brfind\(|\.substr\(|\bstrto[dfl]|\bisalnum\(|\bisdigit\(|\.find\(['\"]|\.find\([^(){}]*, |\.replace\("
    r"|find_(?:first|last)_|\.(?:starts|ends)_with\("
)
# The words of an expression, and what reads the form's own text.
READERS = {"src/loopir/expression.cc", "src/loopir/parse.cc"}
# Names: of the program's variables (builder.cc), of functions that the program or the form calls; literals (evaluate.cc).
NAMES = {
    "builder.cc": 1,
    "calls.cc": 8,
    "either.cc": 1,
    "evaluate.cc": 3,
    "functions.cc": 1,
    "python_calls.cc": 1,
    "reductions.cc": 3,
    "verify.cc": 1,
}


def searches(path):
    lines = (line.partition("//")[0] for line in path.read_text().splitlines())
    return sum(bool(SEARCH.search(line)) for line in lines)


def test_nothing_searches_in_generated_text():
    files = [*ROOT.glob("python/capture/loops/*"), *ROOT.glob("src/loopir/*")]
    assert len(files) > 60
    found = {path.name: searches(path) for path in files if str(path.relative_to(ROOT)) not in READERS}
    assert {name: count for name, count in found.items() if count} == NAMES


def test_what_counts_as_a_search():
    for line in ['text.find("goto ")', "code.find(part, at + 1)", "line.starts_with(test)", "text.substr(2)"]:
        assert SEARCH.search(line)
    for line in ["blocks.find(id)", "stops.find({id, variable})", "std::find(a.begin(), a.end(), x)"]:
        assert not SEARCH.search(line)
