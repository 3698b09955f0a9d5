"""Every callable of numpy, ndarray, numpy.linalg and numpy.fft with every keyword that its signature has.

The calls are made from numpy_keyword_samples.py. NumPy and weft's reference interpreter have to agree in result, outputs,
warnings and exceptions. `python tests/python/numpy_keywords.py [--all] [names]` prints what differs and what leaves the
graph; --all adds the keywords to every group of arguments instead of the first.
"""

import ast
import dataclasses
import inspect
import os
import sys
import warnings

os.environ.setdefault("WEFT_INTERPRET", "1")

import numpy as np
import numpy_forms  # noqa: F401 (its arrays)
import numpy_surface as surface
import weft
from numpy_keyword_samples import KEYWORDS_TEXT, USUAL

# Arrays for out=, from NumPy's own result.
OUTPUTS = {
    "OUT": lambda result: np.full(result.shape, 3, result.dtype),
    "STRIDED": lambda result: np.full((*result.shape, 2), 3, result.dtype)[..., 0],
    "NARROW": lambda result: np.full(
        result.shape, 1, {"f": "f4", "c": "f8", "i": "i2", "u": "i1"}.get(result.dtype.kind, "?")
    ),
    "OTHER": lambda result: np.full((2, *result.shape, 1), 3, result.dtype),
}
UFUNC_KEYWORDS = {
    "out": "OUT || (OUT,) || STRIDED || NARROW || OTHER || None",
    "where": "b, out=OUT || True || False, out=OUT || b[:, :1], out=OUT",
    "dtype": "np.float32 || complex || np.int16 || bool",
    "casting": "'no' || 'safe' || 'same_kind' || 'unsafe' || 'some' || 'unsafe', dtype=np.float32 || 'no', dtype=np.float32",
    "order": "'C' || 'F' || 'A' || 'K' || 'X'",
    "subok": "True || False",
    "signature": "SIGNATURE || 'f->f' || 'ff->f' || 'dd->?'",
    "axis": "0 || -1 || 5",
    "axes": "[0, 0, 0] || [(0, 1), (1, 0), (0, 1)] || [(0,), (0,), ()]",
    "keepdims": "True || False",
}
METHOD_KEYWORDS = {
    "reduce": {
        "axis": "0 || 1 || None || (0, 1) || 5",
        "dtype": "np.float32 || np.int16 || bool",
        "out": "OUT || (OUT,) || STRIDED || NARROW || OTHER",
        "keepdims": "True || False",
        "initial": "2 || None",
        "where": "b, initial=1 || True || b",
    },
    "accumulate": {
        "axis": "0 || 1 || 5",
        "dtype": "np.float32 || np.int16",
        "out": "OUT || STRIDED || NARROW || OTHER",
    },
    "reduceat": {
        "axis": "0 || 1 || 5",
        "dtype": "np.float32 || np.int16",
        "out": "OUT || STRIDED || NARROW || OTHER",
    },
    "outer": {"dtype": "np.float32", "out": "OUT || NARROW", "casting": "'safe' || 'same_kind'"},
    "at": {},
}
BINARY_METHOD_ARGUMENTS = {
    "reduce": ["A", "A.T", "A[:0]", "A[0]", "u", "b"],
    "accumulate": ["A", "A[0]", "u", "b"],
    "reduceat": ["A, [0, 2, 1]", "A[0], [0, 3]", "A, [0, 9]"],
    "outer": ["A[0], B[1]", "A, 2"],
    "at": ["A, [0, 2, 0], 1", "A, (r, r), B[0, :3]", "A, slice(0, 2), 2", "A, [9], 1"],
}
GUFUNCS = {
    "matmul": [
        "m, h",
        "f, g.T",
        "v, w",
        "b, b.T",
        "cube, m",
        "f, g",
        "s, s.T",
        "hz, hz",
        "half[None], half[:, None]",
    ],
    "matvec": ["m, v[:4]", "cube, m[0]", "f, v", "hz, hz[0]", "b, c"],
    "vecmat": ["v[:3], f", "hz[0], hz", "f, v", "b[:, 0], b"],
    "vecdot": ["f, g", "z, z", "i, j", "v, w", "f, v", "b, b"],
}
OPERANDS = [("f", "g"), ("i", "j"), ("b", "b[::-1]"), ("z", "z[::-1]"), ("s", "s[::-1]"), ("half", "half[::-1]"),
            ("u", "u[::-1]"), ("i8", "i8[::-1]"), ("i", "2"), ("f", "i"), ("2.5", "3"), ("f[0, 0]", "f[1]"), ("n", "-n"),
            ("nv", "1"), ("zz", "zz[::-1]"), ("f.T", "2"), ("u64", "u64[::-1]"), ("c64", "c64"), ("e1", "e1"), ("f", "v"),
            ("[1, 2]", "[3, 4]"), ("zd", "zd")]  # fmt: skip
REASONS = {**surface.words(surface.NOT_ARRAYS), **surface.words(surface.RUN_IN_NUMPY)}
# Whose elements are not defined, or in no defined order.
UNDEFINED, UNORDERED = {"empty", "empty_like"}, {"unique_values"}
# The interpreter's divisions of integers raise no flag, nor do its float16 numbers; compiled code's do (test_compile_warnings.py).
UNFLAGGED = {"floor_divide", "remainder", "mod", "fmod", "divmod", "exp2", "arctanh", "atanh"}
# Whose results may lie in another memory order: weft contracts in an order of its own.
OTHER_ORDER = {("einsum", "optimize")}
# Attributes and settings of the interpreter's: numpy_surface.py has their samples.
SETTINGS = {"errstate", "geterr", "geterrcall", "seterr", "seterrcall"}


@dataclasses.dataclass
class Call:
    """One call: the callable, the keyword it is about (empty: none), and its text."""

    name: str
    keyword: str
    text: str


def table():
    """(arguments, {keyword: values}) by name."""
    found = {}
    for line in KEYWORDS_TEXT.replace("\\\n", " ").strip().split("\n"):
        names, _, rest = line.partition(": ")
        groups, *keywords = rest.split(" | ")
        groups = [] if groups == "-" else groups.split(" || ")
        values = {}
        for keyword in keywords:
            word, _, text = keyword.partition("=")
            values[word.strip()] = alternatives(text)
        for name in names.split():
            found[name] = (groups, values)
    return found


def alternatives(text):
    return [value for value in " ".join(text.split()).split(" || ") if value]


def shape_of_call(arguments):
    """How many positional arguments the text has, and the names of the others."""
    call = ast.parse(f"F({arguments})", mode="eval").body
    return len(call.args), [keyword.arg for keyword in call.keywords], call


def calls_of(name, path, function, groups, values, every):
    """Each group alone, a function's arguments as keywords, and each keyword's values added to the first group (every: to all)."""
    signature = inspect.signature(function)
    for group in groups:
        yield Call(name, "", f"{path}({group})")
    by_keyword = "" if name.startswith(".") else as_keywords(signature, groups[0])
    if by_keyword:
        yield Call(name, "", f"{path}({by_keyword})")
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            continue
        wanted = (
            values[parameter.name]
            if parameter.name in values
            else alternatives(USUAL.get(parameter.name, ""))
        )
        takes = [group for group in groups if not binds(signature, group, parameter.name)]
        for group in takes if every else takes[:1]:
            for value in wanted:
                yield Call(
                    name,
                    parameter.name,
                    f"{path}({', '.join(filter(None, [group, f'{parameter.name}={value}']))})",
                )
        covered = (
            wanted or parameter.name in values or any(parameter.name in shape_of_call(g)[1] for g in groups)
        )
        if takes and not covered:
            yield Call(name, parameter.name, "")


def binds(signature, group, parameter):
    count, words, _ = shape_of_call(group)
    try:
        return parameter in signature.bind(*range(count), **dict.fromkeys(words)).arguments
    except TypeError:
        return parameter in words


def as_keywords(signature, group):
    """The group with names for its positional arguments; empty where they have none."""
    _, _, call = shape_of_call(group)
    parameters = list(signature.parameters.values())[: len(call.args)]
    if not call.args or any(p.kind is not p.POSITIONAL_OR_KEYWORD for p in parameters):
        return ""
    named = [f"{p.name}={ast.unparse(a)}" for p, a in zip(parameters, call.args)]
    return ", ".join(named + [f"{k.arg}={ast.unparse(k.value)}" for k in call.keywords])


def function_calls(every):
    samples = table()
    for prefix, module in (("", np), ("linalg.", np.linalg), ("fft.", np.fft)):
        for name in sorted(module.__all__):
            function, name = getattr(module, name), prefix + name
            if (
                name in REASONS
                or name in SETTINGS
                or isinstance(function, np.ufunc | type)
                or not callable(function)
            ):
                continue
            if name not in samples:
                yield Call(name, "", "")
            elif samples[name][0]:
                yield from calls_of(name, f"np.{name}", function, *samples[name], every)


def method_calls(every):
    """Methods have the samples of the function of their name, with the first argument as the object."""
    samples = table()
    for name in sorted(set(dir(np.ndarray))):
        function = getattr(np.ndarray, name)
        if (
            name.startswith("_")
            or not callable(function)
            or name in surface.words(surface.METHODS_RUN_IN_NUMPY)
        ):
            continue
        groups, values = samples.get("." + name) or samples.get(name) or ([], {})
        for index, group in enumerate(groups):
            receiver, rest = split_receiver(name, group)
            if receiver:
                keywords = {} if index and not every else values
                for call in calls_of(
                    "." + name, f"{receiver}.{name}", bound(function), [rest], keywords, every
                ):
                    if not call.keyword or index == 0 or every:
                        yield call
        if not groups:
            yield Call("." + name, "", "")


def bound(function):
    """What has the method's signature without self."""
    signature = inspect.signature(function)

    def stub():
        """Never called."""

    stub.__signature__ = signature.replace(parameters=list(signature.parameters.values())[1:])
    return stub


def split_receiver(name, group):
    _, _, call = shape_of_call(group)
    place = 1 if name == "compress" else 0
    if len(call.args) <= place:
        return "", ""
    receiver = call.args.pop(place)
    if isinstance(receiver, ast.Constant | ast.List | ast.Tuple | ast.Lambda | ast.UnaryOp):
        return "", ""
    text = ast.unparse(receiver)
    return (f"({text})" if isinstance(receiver, ast.BinOp | ast.Compare) else text), ast.unparse(call)[2:-1]


def ufunc_calls():
    for name in sorted(np.__all__):
        function = getattr(np, name)
        if not isinstance(function, np.ufunc) or name == "isnat":
            continue
        for group in GUFUNCS.get(name) or [", ".join(pair[: function.nin]) for pair in OPERANDS]:
            yield Call(name, "", f"np.{name}({group})")
        first, second = ("", "") if name in GUFUNCS else accepted(function)
        group = GUFUNCS[name][0] if name in GUFUNCS else ", ".join((first, second)[: function.nin])
        for keyword, text in UFUNC_KEYWORDS.items():
            if keyword in ("axis", "axes", "keepdims") and not function.signature:
                continue
            if keyword == "where" and function.signature:
                continue
            for value in alternatives(text):
                yield Call(
                    name,
                    keyword,
                    f"np.{name}({group}, {keyword}={value.replace('SIGNATURE', repr(usual_types(function)))})",
                )
        if function.signature is None and function.nin == 2 and function.nout == 1:
            yield from ufunc_method_calls(name, first, second)


def accepted(function):
    """The first pair of operands that the ufunc takes."""
    for pair in OPERANDS:
        arguments = [eval(operand, {**surface.ARRAYS}) for operand in pair[: function.nin]]
        if not isinstance(run(function, arguments)[0], TypeError):
            return pair
    raise AssertionError(function)


def usual_types(function):
    return next((t for t in function.types if set(t) <= set("d->?")), function.types[-1])


def ufunc_method_calls(name, first, second):
    for method, keywords in METHOD_KEYWORDS.items():
        for index, group in enumerate(BINARY_METHOD_ARGUMENTS[method]):
            group = group.replace("A", first).replace("B", second)
            yield Call(f"{name}.{method}", "", f"np.{name}.{method}({group})")
            for keyword, text in keywords.items():
                for value in alternatives(text) if index == 0 else ():
                    yield Call(f"{name}.{method}", keyword, f"np.{name}.{method}({group}, {keyword}={value})")


def calls(every=False):
    yield from function_calls(every)
    yield from method_calls(every)
    yield from ufunc_calls()


@dataclasses.dataclass
class Outcome:
    """What one call did: status is same, breaks (the same, with the reason of a graph break), differs, or missing."""

    call: Call
    status: str
    detail: str = ""


def program(text):
    """A function that makes the call, the names of its arrays, and which of them stands for an output."""
    code = compile(text, "<call>", "eval")
    used = surface.names_in(code)
    output = next((name for name in OUTPUTS if name in used), None)
    names = [name for name in surface.ARRAYS if name in used]
    scope = {"np": np}
    body = f"y = {text}; return y, y is {output}" if output else f"return {text}"
    exec(f"def call({', '.join(names + [output] * bool(output))}): {body}", scope)
    return scope["call"], names, output


def output_for(kind, text):
    """The array for out=: made from what NumPy gives without it, of any shape where that is an error."""
    call = ast.parse(text, mode="eval").body
    call.keywords = [keyword for keyword in call.keywords if keyword.arg not in ("out", "where")]
    without = ast.unparse(call)
    function, names, _ = program(without)
    result, _ = run(function, surface.arguments(names))
    if isinstance(result, Exception):
        result = surface.ARRAYS["f"]
    if isinstance(result, tuple):
        return tuple(OUTPUTS[kind](part) for part in result)
    return OUTPUTS[kind](np.asanyarray(result))


def run(function, args):
    """The result or the error, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = function(*args)
        except Exception as error:
            result = error
    return result, sorted(f"{w.category.__name__}: {w.message}" for w in caught)


def copied(value):
    if isinstance(value, tuple):
        return tuple(map(copied, value))
    whole = value if value.base is None or value.size == 0 else value.base
    return value.copy("K") if whole is value else whole.copy()[..., 0]


def measure(call):
    if not call.text:
        return Outcome(call, "missing")
    function, names, output = program(call.text)
    out = [output_for(output, call.text)] if output else []
    arguments = [*surface.arguments(names), *map(copied, out)]
    expected, expected_warnings = run(function, arguments)
    compiled = weft.compile(function)
    for _ in range(2):
        args = [*surface.arguments(names), *map(copied, out)]
        actual, actual_warnings = run(compiled, args)
        problem = compare(*(defined(call, value) for value in (actual, expected)))
        is_told = call.name.split(".")[0] not in UNFLAGGED
        if not problem and is_told and actual_warnings != expected_warnings:
            problem = f"warns {actual_warnings}, NumPy {expected_warnings}"
        problem = problem or surface.difference(args, arguments, 1e-13)
        if problem:
            return Outcome(call, "differs", problem)
    if isinstance(expected, Exception):
        return Outcome(call, "same")
    reasons = [entry["reason"] for entry in weft._C._report(compiled) if not entry["returns"]]
    return Outcome(call, "breaks", reasons[0]) if reasons else Outcome(call, "same")


def defined(call, value):
    """What of the result is compared."""
    if not isinstance(value, np.ndarray):
        return value
    if (call.name, call.keyword) in OTHER_ORDER:
        return value.copy("C")
    if call.name in UNORDERED:
        return np.sort(value)
    return np.zeros_like(value) if call.name in UNDEFINED else value


def compare(actual, expected):
    if isinstance(expected, Exception) or isinstance(actual, Exception):
        ours, theirs = (
            f"{type(e).__name__}: {e}" if isinstance(e, Exception) else "a result" for e in (actual, expected)
        )
        return "" if ours == theirs else f"{ours}; NumPy: {theirs}"
    return surface.difference(actual, expected, 1e-13)


def survey(every=False, only=()):
    for call in calls(every):
        if not only or call.name in only:
            yield measure(call)


PAGE = """
## Keywords

Every callable above is also called with every keyword that its signature has, and with arguments of every kind, right and
wrong (`tests/python/numpy_keywords.py`): results, outputs, memory order, warnings and exceptions, with their texts, are
NumPy's in all {calls} calls. Their memory order is weft's own in `einsum` with `optimize=`. {breaks} of these calls are run by NumPy:

| keyword | of | e.g. | why |
|---|---|---|---|
"""


def why(reason):
    """The reason of a graph break without the function's name, where weft has no source for such a call."""
    reason = reason.split("\n")[0]
    is_plain = (
        "with these arguments" in reason or "has no parameter" in reason or reason.startswith("a call ")
    )
    return "these arguments" if is_plain else reason


def page(outcomes):
    """The part of docs/WHAT_COMPILES.md on keywords."""
    broken = [outcome for outcome in outcomes if outcome.status == "breaks"]
    text = PAGE.format(calls=len(outcomes), breaks=len(broken))
    groups = {}
    for outcome in broken:
        groups.setdefault((outcome.call.keyword, why(outcome.detail)), []).append(outcome.call)
    for (keyword, reason), group in sorted(groups.items()):
        names = ", ".join(f"`{name}`" for name in dict.fromkeys(call.name for call in group))
        row = [f"`{keyword}`" if keyword else "none", names, f"`{group[0].text}`", reason]
        text += f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |\n"
    return text


def main():
    every = "--all" in sys.argv
    counts = {}
    for outcome in survey(every, [word for word in sys.argv[1:] if word != "--all"]):
        counts[outcome.status] = counts.get(outcome.status, 0) + 1
        if outcome.status != "same":
            call = outcome.call
            print(
                f"{outcome.status}: {call.text or f'{call.name} {call.keyword}'}: {outcome.detail}"[:400],
                flush=True,
            )
    print(counts)


if __name__ == "__main__":
    main()
