"""Makes a failing program small: fewer lines, results and special values, simpler expressions and layouts."""

import dataclasses
import re
import time

from program_values import SECONDS_PER_PLAIN_RUN, Argument, run
from time_limits import TimedOut

SECONDS = 240  # then what is small so far is good enough


def indentation(line):
    return len(line) - len(line.lstrip())


def block_end(lines, i):
    """One past the last line of the statement at i, its block included."""
    end = i + 1
    while end < len(lines) and indentation(lines[end]) > indentation(lines[i]):
        end += 1
    return end


def without_lines(lines):
    """Every way to leave something out, the largest first."""
    count = len(lines)
    size = count // 2
    while size > 1:
        for start in range(0, count, size):
            yield lines[:start] + lines[start + size :]
        size //= 2
    for i in reversed(range(count)):
        end = block_end(lines, i)
        yield lines[:i] + lines[end:]
        if end > i + 1:  # the block without its head
            dedent = indentation(lines[i + 1]) - indentation(lines[i])
            yield lines[:i] + [line[dedent:] for line in lines[i + 1 : end]] + lines[end:]


def simpler_lines(lines):
    """Operands in place of innermost expressions."""
    for i, line in enumerate(lines):
        for match in re.finditer(r"\(([^()]+?) (?:[-+*/%&|^]|//|>>) ([^()]+?)\)", line):
            for operand in match.groups():
                yield lines[:i] + [line[: match.start()] + operand + line[match.end() :]] + lines[i + 1 :]


def simpler_arguments(arguments):
    for i, argument in enumerate(arguments):
        if not isinstance(argument, Argument):
            continue
        for change in ({"special": False}, {"layout": "C"}, {"same_as": -1}, {"offset": 0}):
            simpler = dataclasses.replace(argument, **change)
            if simpler != argument:
                yield [*arguments[:i], simpler, *arguments[i + 1 :]]


def candidates(program):
    lines = [line for statement in program.statements for line in statement.split("\n")]
    for fewer in without_lines(lines):
        yield dataclasses.replace(program, statements=fewer)
    for i in reversed(range(len(program.results))):
        if len(program.results) > 1:
            yield dataclasses.replace(program, results=program.results[:i] + program.results[i + 1 :])
    for simpler in simpler_lines(lines):
        yield dataclasses.replace(program, statements=simpler)
    for arguments in simpler_arguments(program.arguments):
        yield dataclasses.replace(program, arguments=arguments)


def kind_of(message):
    """What has to stay the same: a program that raises is not a smaller case of a wrong element."""
    return re.sub(r"[\d.e+-]+", "#", message.split("\n")[0])[:24]


def error_of(program):
    try:
        return type(run(program.function(), program, SECONDS_PER_PLAIN_RUN)[2])
    except (SyntaxError, TimedOut) as error:
        return type(error)


def shrink(program, fails, message):
    """`fails(program)`: its message or None."""
    wanted, error = kind_of(message), error_of(program)
    deadline = time.monotonic() + SECONDS
    changed = True
    while changed:
        changed = False
        for smaller in candidates(program):
            if time.monotonic() > deadline:
                return program
            if error_of(smaller) is not error:
                continue
            found = fails(smaller)
            if found and kind_of(found) == wanted:
                program, changed = smaller, True
                break
    return program
