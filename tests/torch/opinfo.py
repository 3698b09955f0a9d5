#!/usr/bin/env python3
"""The calls of PyTorch's OpInfo database that record_opinfo.py wrote, on weft, against PyTorch's answers.

    opinfo.py FOLDER [--only REGEX] [--ways WAY...] [--dtypes DTYPE...] [--samples N] [--processes N] [--show] [--check]

prints what differs, a line per entry, way and dtype: `linalg.eig function complex64: 0 3-7`, the samples' numbers. --show
adds why; --check compares with opinfo_differences.txt instead: a difference that is not listed is an error, and so is a
listed one that is none any more.

Ways: function, method, in-place, out, out-wider and out-integer (out= of another dtype), error (a call that PyTorch
refuses: it raises an exception of that class), fresh (the function compiled for this sample), once (one compiled function for all samples of a dtype),
traced (what torch.jit.trace makes of the call, of those whose results are tensors).
"""

import argparse
import collections
import concurrent.futures
import json
import pickle
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy
import recorded
from opinfo_values import Reader

LISTED = Path(__file__).with_name("opinfo_differences.txt")
COMPILED = ("fresh", "once")
OF_FUNCTIONS = (*COMPILED, "traced")  # the function's calls, in other ways
WAYS = ("function", "method", "in-place", "out", "out-wider", "out-integer", "error", *OF_FUNCTIONS)
# What their results hold is whatever was in memory: dtypes and sizes are compared.
UNINITIALIZED = ("empty", "resize_", "resize_as_")


def function_at(torch, path):
    first, *parts = path.split(".")
    found = torch.ops.aten if first == "aten" else torch
    for part in parts:
        found = getattr(found, part)
    return found


class Entry:
    """One entry of the database: its calls, run and compared."""

    def __init__(self, torch, path):
        self.torch = torch
        content = pickle.loads(path.read_bytes())
        self.name = content["name"]
        self.calls = content["calls"]
        self.compiled = {}

    def compare(self, call, way):
        """Raises Difference, or what the call raised; True where PyTorch's answer was an error, too."""
        torch = self.torch
        read = Reader(torch, call["memory"])
        args, kwargs = read(call["args"]), read(call["kwargs"])
        function = self.function(call, way)
        answer = call["answer"]
        if way == "traced":
            function, args, kwargs = self.traced(call, args, kwargs), [*tensors_in([args, kwargs])], {}
            answer = {**answer, "result": without_names(answer["result"])}
        torch.manual_seed(0)
        if "error" in answer:
            self.compare_error(call, lambda: function(*args, **kwargs))
            return
        result = function(*args, **kwargs)
        is_uninitialized = any(name in call["path"] for name in UNINITIALIZED)
        if is_uninitialized:
            result = zeros_like(torch, result)
            zeros = {key: numpy.zeros_like(array) for key, array in answer["arrays"].items()}
            answer = {**answer, "arrays": zeros}
        # Into a wider out= PyTorch computes in out's dtype, or in the operands', and casts.
        tolerance = recorded.TOLERANCE.get(call["dtype"], 1e-5) if way == "out-wider" else None
        answers = recorded.Answers(answer["arrays"], tolerance)
        answers.compare(torch, result, answer["result"], "the result", False)
        if "changed" in answer:
            answers.compare(
                torch, result if is_uninitialized else args[0], answer["changed"], "the operand", False
            )

    def function(self, call, way):
        function = function_at(self.torch, call["path"])
        function = function.fget if isinstance(function, property) else function
        if way not in COMPILED:
            return function
        key = (call["path"], call["dtype"])
        if way == "fresh" or key not in self.compiled:
            self.compiled[key] = self.torch.compile(lambda *args, **kwargs: function(*args, **kwargs))
        return self.compiled[key]

    def traced(self, call, args, kwargs):
        """The trace of a call, a function of its tensors; made of others of the same values."""

        def of_tensors(*tensors):
            given, function = iter(tensors), self.function(call, "traced")
            return function(*with_tensors(args, given), **with_tensors(kwargs, given))

        read = Reader(self.torch, call["memory"])
        examples = (*tensors_in([read(call["args"]), read(call["kwargs"])]),)
        return self.torch.jit.trace(of_tensors, examples, check_trace=False, strict=False)

    def compare_error(self, call, run):
        answer = call["answer"]
        try:
            run()
        except Exception as error:
            raised = {each.__name__ for each in type(error).__mro__}
            if answer["error"] not in raised and answer["error"].lstrip("_") not in raised:
                raise recorded.Difference(
                    f"raised {type(error).__name__} ({error}), expected {answer['error']} ({answer['text']})"
                ) from error
            return
        raise recorded.Difference(f"no {answer['error']} was raised: {answer['text']}")

    def run(self, options):
        """(way, dtype, number, why) of each call: why it differs, or None."""
        for way in options.ways:
            kept = "function" if way in OF_FUNCTIONS else way
            for call in self.calls:
                if call["way"] != kept or not is_chosen(options, call["dtype"], call["number"]):
                    continue
                if way == "traced" and not is_of_tensors(call["answer"].get("result", {})):
                    continue
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        self.compare(call, way)
                    why = None
                except recorded.Difference as difference:
                    why = str(difference)
                except Exception as error:  # whatever the call raised
                    why = f"{type(error).__name__}: {error}"
                yield way, call["dtype"], call["number"], why


def is_chosen(options, dtype, number):
    return (not options.dtypes or dtype in options.dtypes) and (
        options.samples is None or number < options.samples
    )


def tensors_in(value):
    """The tensors of lists, tuples and dictionaries, in order."""
    if hasattr(value, "dtype") and hasattr(value, "stride"):
        yield value
    elif isinstance(value, (list, tuple, dict)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from tensors_in(each)


def with_tensors(value, tensors):
    """The same value with other tensors."""
    if hasattr(value, "dtype") and hasattr(value, "stride"):
        return next(tensors)
    if isinstance(value, dict):
        return {key: with_tensors(each, tensors) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(with_tensors(each, tensors) for each in value)
    return value


def is_of_tensors(expected):
    """Is a recorded result a tensor, or lists and tuples of tensors?"""
    items = expected.get("items")
    return "tensor" in expected or (bool(items) and all(is_of_tensors(each) for each in items))


def without_names(expected):
    """A recorded result as traces give it: named tuples are tuples."""
    if expected.get("items") is None:
        return expected
    kind = "list" if expected["type"] == "list" else "tuple"
    return {"type": kind, "items": [without_names(each) for each in expected["items"]]}


def zeros_like(torch, result):
    if isinstance(result, torch.Tensor):
        return torch.zeros_like(result)
    return type(result)(zeros_like(torch, each) for each in result)


def spans(numbers):
    """`0 3-7` of 0, 3, 4, 5, 6, 7."""
    parts = []
    for number in sorted(set(numbers)):
        if parts and number == parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return " ".join(f"{first}-{last}" if last > first else str(first) for first, last in parts)


def numbers_of(text):
    """0, 3, 4, 5 of `0 3-5`."""
    for span in text.split():
        first, _, last = span.partition("-")
        yield from range(int(first), int(last or first) + 1)


def work(options):
    """Runs the entries named on standard input, and writes a line of JSON for each call."""
    import weft.torch as torch

    torch.set_num_threads(1)
    for line in sys.stdin:
        name = line.strip()
        print(json.dumps([name, "begun", "", 0, None]), flush=True)
        with torch.no_grad():
            for row in Entry(torch, options.folder / f"{name}.pickle").run(options):
                print(json.dumps([name, *row]))
        print(json.dumps([name, "done", "", 0, None]), flush=True)


def all_outcomes(options, names):
    """The rows of all entries, so many processes at once."""
    shares = [names[at :: options.processes] for at in range(options.processes)]
    with concurrent.futures.ThreadPoolExecutor(options.processes) as pool:
        for rows in pool.map(lambda share: list(outcomes(options, share)), shares):
            yield from rows


def outcomes(options, names):
    """The rows of `work` in processes of its own: an entry that ends its process is a difference as well."""
    left = list(names)
    while left:
        command = [sys.executable, __file__, str(options.folder), "--work", "--ways", *options.ways]
        command += ["--dtypes", *options.dtypes] if options.dtypes else []
        command += ["--samples", str(options.samples)] if options.samples is not None else []
        found = subprocess.run(command, input="\n".join(left), stdout=subprocess.PIPE, text=True, check=False)
        begun, done = None, set()
        for line in found.stdout.splitlines():
            row = json.loads(line)
            if row[1] == "begun":
                begun = row[0]
            elif row[1] == "done":
                done.add(row[0])
            else:
                yield tuple(row)
        if found.returncode == 0:
            return
        yield begun, "process", "any", 0, f"ended with {found.returncode}"
        left = [name for name in left if name not in done and name != begun]


def listed():
    """From (entry, way, dtype) to the numbers of samples that are known to differ, as text, and the reason."""
    known, reason = {}, ""
    for line in LISTED.read_text().splitlines():
        if line.startswith("# "):
            reason = line[2:]
        elif line:
            key, _, numbers = line.partition(": ")
            assert reason and tuple(key.split()) not in known, line
            known[tuple(key.split())] = (numbers, reason)
    return known


def check(found, options, names):
    """The lines of what is different from the list."""
    known = {}
    for key, (text, reason) in listed().items():
        numbers = [number for number in numbers_of(text) if is_chosen(options, key[2], number)]
        if key[0] in names and key[1] in (*options.ways, "process") and numbers:
            known[key] = (spans(numbers), reason)
    wrong = []
    for key, numbers in found.items():
        if spans(numbers) != known.get(key, ("",))[0] and not known.get(key, ("", ""))[1].startswith(
            "On some"
        ):
            wrong.append(f"{' '.join(key)}: {spans(numbers)} (listed: {known.get(key, ('none',))[0]})")
    for key, (numbers, reason) in known.items():
        if key not in found and not reason.startswith("On some"):
            wrong.append(f"{' '.join(key)}: {numbers}: listed, and no longer different")
    return wrong


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="a regular expression that is found in the entry's name")
    parser.add_argument("--ways", nargs="+", default=WAYS, choices=WAYS)
    parser.add_argument("--dtypes", nargs="+", help="calls of these alone; of errors: any")
    parser.add_argument("--samples", type=int, help="so many of the first samples of a dtype")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="why each differs")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        return work(options)
    names = sorted(
        path.stem for path in options.folder.glob("*.pickle") if re.search(options.only, path.stem)
    )
    found, count = collections.defaultdict(list), collections.Counter()
    for name, way, dtype, number, why in all_outcomes(options, names):
        count[way] += 1
        if why is not None:
            found[name, way, dtype].append(number)
            if options.show:
                print(f"{name} {way} {dtype} {number}: {why}"[:300].replace("\n", " "))
    for key, numbers in found.items():
        if not options.show and not options.check:
            print(f"{' '.join(key)}: {spans(numbers)}")
    for way in options.ways:
        wrong = sum(len(numbers) for key, numbers in found.items() if key[1] == way)
        print(f"{way}: {count[way] - wrong} of {count[way]} the same")
    if not options.check:
        return 0
    wrong = check(found, options, names)
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
