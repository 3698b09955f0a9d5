"""RuntimeWarnings of floating-point errors: NumPy's, with its texts, lines and filters."""

import subprocess
import sys
import warnings

import numpy as np
import pytest
import weft


def divided(x):
    doubled = x * 2
    quotient = 1 / doubled
    return quotient + 1


def in_place(x):
    x /= 0
    return x


def of_chosen(x):
    chosen = x[x > -1]
    return np.sqrt(chosen - 3)


def cast(x):
    return (x / 0).astype(np.int32)


def logarithms(x):
    return np.log(x - 1), np.log1p(-x), np.log2(x), np.power(x - 1, -1.5)


def of_integers(x):
    whole = x.astype(np.int64)
    return 7 // whole, 7 % whole


def between_breaks(x):
    total = 0.0
    for value in sorted(x):
        total += np.float64(1) / value
    return total


FUNCTIONS = [divided, in_place, of_chosen, cast, logarithms, of_integers, between_breaks]
x = np.array([1.0, 0.0, 2.0])


@pytest.fixture(autouse=True)
def fresh():
    weft.compiler.reset()


def recorded(function, mode, argument=x):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter(mode)
        try:
            result = function(argument.copy())
        except RuntimeWarning as warning:
            result = str(warning)
    return result, [(str(one.message), one.category, one.filename, one.lineno) for one in caught]


@pytest.mark.parametrize("mode", ["always", "default", "error", "ignore", "once"])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_warnings_are_numpys(function, mode):
    compiled = weft.compile(function)
    for _ in range(3):
        (expected, given), (actual, found) = recorded(function, mode), recorded(compiled, mode)
        assert found == given
        if isinstance(expected, str):
            assert actual == expected
        else:
            np.testing.assert_array_equal(actual, expected)


def test_a_line_warns_once_by_default():
    compiled = weft.compile(divided)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(5):
            compiled(x)
    assert len(caught) == 1
    assert weft.compiler.stats()["captures"] == 1


def test_a_program_that_always_divides_by_zero_is_not_always_run_twice():
    compiled = weft.compile(divided)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(200):
            compiled(x)
    assert len(caught) == 1
    assert weft.compiler.stats()["warning_runs"] < 10


def test_padding_raises_no_flags():
    compiled = weft.compile(lambda x, y: (x / y, np.log(x), np.sqrt(y - 0.5), 7 // x.astype(np.int32)))
    for size in range(1, 40):
        compiled(np.full(size, 2.0), np.full(size, 3.0))
    assert weft.compiler.stats()["warning_runs"] == 0


def test_results_are_those_of_compiled_code():
    def function(x, out, log):
        log.append(np.exp(x) / 0)
        out += np.sin(x) / x[0]
        x[1:] = x[:-1] * 0.1
        return np.exp(out)

    def run(function):
        x, out, log = np.linspace(0, 1, 100), np.ones(100), []
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("always" if weft.compiler.stats()["runs"] == 0 else "ignore")
            result = function(x, out, log)
        return result, x, out, log[0], len(log)

    compiled = weft.compile(function)
    for first, again in zip(run(compiled), run(compiled)):
        np.testing.assert_array_equal(first, again)


def test_an_exception_leaves_what_numpy_leaves():
    def function(x, log):
        log.append(1)
        x += 1
        try:
            x /= 0
        except RuntimeWarning as warning:
            log.append(str(warning))
        log.append(np.log(x - x))
        log.append(2)

    def run(function):
        x, log = np.arange(3.0), []
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(RuntimeWarning) as raised:
                function(x, log)
        return x, log, str(raised.value), raised.traceback[-1].lineno

    compiled = weft.compile(function)
    for _ in range(2):
        (expected, log, message, line), (actual, compiled_log, compiled_message, compiled_line) = (
            run(function),
            run(compiled),
        )
        np.testing.assert_array_equal(actual, expected)
        assert (compiled_log, compiled_message, compiled_line) == (log, message, line)


def test_the_error_state_decides():
    compiled = weft.compile(divided)
    with np.errstate(divide="ignore"):
        assert recorded(compiled, "always")[1] == []
    assert len(recorded(compiled, "always")[1]) == 1
    with np.errstate(all="ignore"):
        assert recorded(compiled, "error")[1] == []


def test_what_raises_flags_but_is_no_error_gives_no_warning():
    def function(x):
        return np.maximum(x, 1), x > 1, np.exp(x), np.arcsin(x / 5), np.tanh(x * 1e300), x.max()

    values = np.array([1.0, np.nan, 2.0, -4.0, 0.5])
    assert recorded(function, "always", values)[1] == []
    assert recorded(weft.compile(function), "always", values)[1] == []


def test_threads_hand_their_flags_to_the_caller():
    def function(x):
        return 1 / (x + 1)

    values = np.ones(1_000_000)
    compiled = weft.compile(function)
    compiled(values)
    for place in (0, -1, 500_000):
        values[:] = 1
        values[place] = -1
        assert len(recorded(compiled, "always", values)[1]) == 1


def test_updates_in_place_warn_at_once_or_in_the_next_run():
    def function(x):
        x *= 2
        x += 1

    compiled = weft.compile(function)
    values = np.full(4, 1.0)
    for _ in range(3):
        compiled(values)
    values[:] = 1e308
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for _ in range(3):
            compiled(values)
            values[:] = 1e308
    assert [str(one.message) for one in caught] == ["overflow encountered in multiply"]


LOOP_IN_PYTHON = """
import numpy as np, weft

def total(a):
    found = 0.0
    for i in range(len(a)):
        found += hash(a[i])
    return found

compiled = weft.compile(total)
print([float(compiled(np.ones(n))) for n in (1500, 1500, 1500)])
"""


def test_loops_that_are_not_native_are_named_once_with_their_line(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(LOOP_IN_PYTHON)
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[1500.0, 1500.0, 1500.0]"
    assert done.stderr.count("runs round by round") == 1, done.stderr
    assert (
        f"the loop at {path}:6 runs round by round, not as native code: {path}:7: a call of hash"
        in done.stderr
    )


def _in_a_helper(x, events):
    y = np.log(x)
    events.append("helper")
    print("helper", end="")
    return y


class _Helping:
    def __init__(self, x, events):
        self.y = np.log(x)
        print("init", end="")
        events.append("init")

    @property
    def twice(self):
        y = np.log(self.y * 0)
        print("property", end="")
        return y


def ends_in_a_helper(x, events):
    y = _in_a_helper(x, events)
    events.append("after")
    return y


def ends_in_a_helper_called_twice(x, events):
    y = _in_a_helper(x + 1, events) + _in_a_helper(x, events=events)
    events.append("after")
    return y


def ends_in_an_init(x, events):
    y = _Helping(x, events).y
    events.append("after")
    return y


def ends_in_a_property(x, events):
    y = _Helping(x + 1, events).twice
    events.append("after")
    return y


def ends_in_a_function_of_numpys(x, events):
    np.log.at(x, [0])
    y = np.apply_along_axis(lambda row: _in_a_helper(row, events), 0, x)
    events.append("after")
    return y


@pytest.mark.parametrize(
    "function",
    [
        ends_in_a_helper,
        ends_in_a_helper_called_twice,
        ends_in_an_init,
        ends_in_a_property,
        ends_in_a_function_of_numpys,
    ],
    ids=lambda function: function.__name__,
)
@pytest.mark.parametrize("action", ["always", "default", "ignore"])
def test_what_happens_in_deeper_frames_happens_once(function, action, capsys):
    """NumPy performs a segment for its warnings up to the segment's end, which may lie in a frame that a call has made."""

    def outcome(call):
        events = []
        with warnings.catch_warnings():
            warnings.simplefilter(action)
            result = call(np.array([0.0, 1.0, -1.0]), events)
        return repr(result), events, capsys.readouterr().out

    compiled = weft.compile(function)
    for _ in range(3):
        assert outcome(compiled) == outcome(function)
