"""NumPy's public names: each has samples or a reason, none differs from NumPy, and docs/WHAT_COMPILES.md says so."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import numpy_surface
import pytest

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "WHAT_COMPILES.md"
SCRIPT = """
import json, sys
import numpy_keywords
import numpy_surface
rows = [(t, n, s, [vars(o) for o in outcomes]) for t, n, s, outcomes in numpy_surface.survey()]
calls = list(numpy_keywords.survey())
problems = [f"{o.call.text or o.call.name + ' ' + o.call.keyword}: {o.status}: {o.detail}"
            for o in calls if o.status not in ("same", "breaks")]
print(json.dumps({"rows": rows, "page": numpy_surface.page(rows, numpy_keywords.page(calls)), "problems": problems}))
"""


@pytest.fixture(scope="module")
def survey():
    """By the interpreter, which is the definition of what a graph means: nothing is compiled, which takes a second."""
    import json

    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(sys.path),
        "WEFT_INTERPRET": "1",
        "WEFT_TOOLCHAIN": "c++",
        "WEFT_CXX": "/nonexistent",
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        cwd=pathlib.Path(__file__).parent,
        env=env,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


needs_numpy_2_4 = pytest.mark.skipif(
    not np.__version__.startswith("2.4."), reason="the tables are of NumPy 2.4; others have other names"
)


@needs_numpy_2_4
def test_every_public_name_has_samples_or_a_reason(survey):
    assert [f"{title}.{name}" for title, name, status, _ in survey["rows"] if status == "missing"] == []
    assert list(numpy_surface.stale()) == []


def test_no_sample_differs_from_numpy(survey):
    wrong = [
        f"{o['sample']}: {o['status']}: {o['detail']}"
        for *_, outcomes in survey["rows"]
        for o in outcomes
        if o["status"] not in ("compiled", "breaks")
    ]
    assert wrong == []


@needs_numpy_2_4
def test_every_keyword_of_every_callable_is_numpys(survey):
    assert survey["problems"] == []


def test_floating_point_errors_are_raised_where_the_state_says_so():
    def function(x):
        return 1 / x + 1

    def inside(x):
        with np.errstate(divide="raise"):
            return 1 / x

    compiled, compiled_inside = numpy_surface.weft.compile(function), numpy_surface.weft.compile(inside)
    x = np.array([1.0, 0.0])
    for _ in range(2):
        with np.errstate(divide="ignore"):
            np.testing.assert_array_equal(compiled(x), [2.0, np.inf])
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
            compiled(x)
        with pytest.raises(FloatingPointError, match="divide by zero"):
            compiled_inside(x)


@needs_numpy_2_4
@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the page names what happens in Python 3.11")
def test_the_page_is_current(survey):
    assert PAGE.read_text() == survey["page"], "run `make docs`"
