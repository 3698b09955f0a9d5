"""PyTorch's OpInfo database as calls with answers, for opinfo.py: a file per entry of the database in a folder.

Run with a Python that has PyTorch and expecttest: python tests/torch/record_opinfo.py FOLDER [--only REGEX] [--processes N]

Kept is for each sample of each dtype what the function, the method, the in-place method and out= give, and for each
erroneous call what is raised. An entry whose function is a wrapper of the database's own is recorded as the calls of
PyTorch that it makes.
"""

import argparse
import contextlib
import functools
import multiprocessing
import pickle
import re
import sys
import warnings
from pathlib import Path

import torch
from opinfo_values import NotPlain, Results, Writer, short_name
from torch.overrides import TorchFunctionMode, resolve_name
from torch.testing._internal.common_methods_invocations import op_db

DTYPES = [getattr(torch, name) for name in "float32 int64 float16 bfloat16 complex64 bool int32".split()]
PLACES = (
    "torch torch.nn.functional torch.linalg torch.special torch.fft torch.masked torch.signal.windows".split()
)


def at(path):
    """The object of a name that begins with torch."""
    found = torch
    for part in path.split(".")[1:]:
        found = getattr(found, part)
    return found


def path_of(op):
    """The public name of an entry's function, or None."""
    for path in (f"torch.{op.name}", *(f"{place}.{op.name.split('.')[-1]}" for place in PLACES)):
        try:
            if at(path) is op.op:
                return path
        except AttributeError:
            pass
    return None


def whole_name(op):
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else op.name


def written(path, args, kwargs):
    writer = Writer(torch)
    return {
        "path": path,
        "args": writer(tuple(args)),
        "kwargs": writer(dict(kwargs)),
        "memory": writer.memory,
    }


def recorded_call(call, changed=None):
    """What a call gives or raises, as plain data; `changed`: a tensor that it changes."""
    torch.manual_seed(0)
    try:
        result = call()
    except Exception as error:
        return {"error": type(error).__name__, "text": str(error)}
    results = Results(torch)
    found = {"result": results(result), "arrays": results.arrays}
    if changed is not None:
        found["changed"] = results(changed)
    return found


class CallRecorder(TorchFunctionMode):
    """The calls that a wrapper makes, each with its answer; calls within calls are no part of it."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        path = resolve_name(func)
        if not path or path.endswith((".__get__", ".__set__")):
            return func(*args, **kwargs)
        call = written(path, args, kwargs)
        results = []
        call["answer"] = recorded_call(lambda: results.append(func(*args, **kwargs)) or results[0])
        self.calls.append(call)
        if not results:
            raise RuntimeError(call["answer"]["text"])
        return results[0]


def calls_of_wrapper(op, sample):
    with CallRecorder() as recorder, contextlib.suppress(Exception):
        op.op(sample.input, *sample.args, **sample.kwargs)
    return recorder.calls


def fresh(value):
    """A copy that calls may change."""
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


def named_method(method):
    name = getattr(method, "__name__", "")
    return name if name and name.isidentifier() and hasattr(torch.Tensor, name) else None


def like(tree, arrays):
    """Tensors for out= that fit a result: memory of its dtype, sizes and strides; None where it is none of tensors."""
    if "tensor" in tree:
        array = arrays[tree["tensor"]]
        return torch.zeros(array.shape, dtype=getattr(torch, tree["dtype"]))
    if not tree.get("items"):
        return None
    each = [like(item, arrays) for item in tree["items"]]
    return None if any(one is None for one in each) else tuple(each)


def calls_of_sample(op, path, sample):
    """(way, call) for each way to make a sample's call, with its answer."""
    args, kwargs = (sample.input, *sample.args), sample.kwargs
    if path is None:
        for call in calls_of_wrapper(op, sample):
            yield "function", call
    else:
        call = written(path, args, kwargs)
        call["answer"] = recorded_call(lambda: op.op(*args, **kwargs))
        yield "function", call
    if not isinstance(sample.input, torch.Tensor):
        return
    method = named_method(op.method_variant)
    if method:
        call = written(f"torch.Tensor.{method}", args, kwargs)
        call["answer"] = recorded_call(lambda: op.method_variant(*args, **kwargs))
        yield "method", call
    in_place = named_method(op.inplace_variant)
    if in_place:
        args = (fresh(sample.input), *sample.args)
        call = written(f"torch.Tensor.{in_place}", args, kwargs)
        call["answer"] = recorded_call(lambda: op.inplace_variant(*args, **kwargs), args[0])
        yield "in-place", call


def calls_of_wrong_sample(op, path, wrong):
    """A call that PyTorch refuses."""
    sample = wrong.sample_input
    if path is None:
        return calls_of_wrapper(op, sample)[-1:]
    args = (sample.input, *sample.args)
    call = written(path, args, sample.kwargs)
    return [{**call, "answer": recorded_call(lambda: op.op(*args, **sample.kwargs))}]


def calls_with_out(op, path, sample, answer):
    """out= of the result's dtype, of a wider one and of integers."""
    out = like(answer["result"], answer["arrays"]) if "result" in answer else None
    if out is None:
        return
    args = (sample.input, *sample.args)
    for way, dtype in (("out", None), ("out-wider", torch.complex128), ("out-integer", torch.int64)):
        given = out
        if dtype is not None:
            if not isinstance(out, torch.Tensor) or out.dtype == dtype:
                continue
            given = out.to(dtype)
        kwargs = {**sample.kwargs, "out": given}
        call = written(path, args, kwargs)
        call["answer"] = recorded_call(lambda: op.op(*args, **kwargs))  # noqa: B023
        yield way, call


def calls_of(op):
    """All of an entry's calls, and how many of its samples are no plain data."""
    calls, left_out = [], 0
    path = path_of(op)
    supported = op.supported_dtypes("cpu")
    for dtype in DTYPES:
        if dtype not in supported:
            continue
        torch.manual_seed(0)
        for number, sample in enumerate(op.sample_inputs("cpu", dtype, requires_grad=False)):
            try:
                for way, call in calls_of_sample(op, path, sample):
                    calls.append({"way": way, "dtype": short_name(dtype), "number": number, **call})
                    if (
                        way == "function"
                        and op.supports_out
                        and path is not None
                        and "out" not in sample.kwargs
                    ):
                        for out_way, out_call in calls_with_out(op, path, sample, call["answer"]):
                            calls.append(
                                {"way": out_way, "dtype": short_name(dtype), "number": number, **out_call}
                            )
            except NotPlain:
                left_out += 1
    if op.error_inputs_func is not None:
        torch.manual_seed(0)
        for number, wrong in enumerate(op.error_inputs("cpu")):
            try:
                for call in calls_of_wrong_sample(op, path, wrong):
                    calls.append({"way": "error", "dtype": "any", "number": number, **call})
            except NotPlain:
                left_out += 1
    return calls, left_out


def record(number, folder):
    op = op_db[number]
    torch.set_num_threads(1)
    name = whole_name(op)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        try:
            calls, left_out = calls_of(op)
        except Exception as error:
            return name, 0, f"{type(error).__name__}: {error}"
    (folder / f"{name}.pickle").write_bytes(pickle.dumps({"name": name, "calls": calls}))
    return name, len(calls), left_out


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="a regular expression that is found in the entry's name")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    numbers = [at for at, op in enumerate(op_db) if re.search(options.only, whole_name(op))]
    failed, count = 0, 0
    with multiprocessing.Pool(options.processes) as pool:
        work = functools.partial(record, folder=options.folder)
        for name, calls, left_out in pool.imap_unordered(work, numbers, chunksize=4):
            count += calls
            if isinstance(left_out, str):
                failed += 1
            if left_out:
                print(f"{name}: not recorded: {left_out}")
    print(f"{count} calls of {len(numbers)} entries, {failed} of which failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
