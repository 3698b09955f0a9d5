"""Every public function, method and constructor, called with what it cannot take: errors in Python's and weft's words."""

import inspect
import os
import pathlib
import re
import subprocess
import sys
import textwrap
import types

import numpy as np
import pytest
import weft
import weft.models
import weft.nn
import weft.nn.functional
import weft.nn.utils
import weft.numpy

STORIES = pathlib.Path(os.environ.get("WEFT_SHARED_DATA", "../shared/data")) / "stories260k"

# What belongs to C++, and what says that weft is at fault.
FORBIDDEN = re.compile(
    r"incompatible function arguments|nanobind|std::|int64_t|nb::|bad_cast|basic_string|PyObject|internal error|\bInvoked with\b"
)
# They change the process for all that follows.
LEFT_OUT = {"imag", "set_logs", "set_num_interop_threads", "empty_cache", "manual_seed", "seed"}

WRONG_CALLS = [
    ((), {}),
    ((None,), {}),
    (("text",), {}),
    ((object(),), {}),
    ((["a", "b"],), {}),
    ((2**70,), {}),
    ((-1,), {}),
    ((float("nan"),), {}),
    ((b"\xff",), {}),
    (("\udc80",), {}),
    ((None, None), {}),
    (("text", "text"), {}),
    ((object(), ["a"]), {}),
    (("text", object(), object()), {}),
    ((1,) * 12, {}),
    ((), {"no_such_keyword": 1}),
    (("text",), {"no_such_keyword": 1}),
]


def members_of(owner, prefix):
    for name in sorted(dir(owner)):
        if name.startswith("_") and not (name.startswith("__") and name.endswith("__")):
            continue
        if name in LEFT_OUT:
            continue
        value = getattr(owner, name, None)
        is_ours = str(getattr(value, "__module__", "")).split(".")[0] == "weft"
        if callable(value) and is_ours and not isinstance(value, types.ModuleType):
            yield f"{prefix}.{name}", value


def modules():
    jit = weft.jit
    yield from members_of(weft, "weft")
    for module, name in [
        (jit, "weft.jit"),
        (weft.compiler, "weft.compiler"),
        (weft.models, "weft.models"),
        (weft.models._models, "weft._models"),
        (weft.nn, "weft.nn"),
        (weft.nn.functional, "weft.nn.functional"),
        (weft.nn.init, "weft.nn.init"),
        (weft.nn.utils, "weft.nn.utils"),
        (weft.numpy, "weft.numpy"),
        (weft.numpy.linalg, "weft.numpy.linalg"),
        (weft.numpy.fft, "weft.numpy.fft"),
        (weft.profiler, "weft.profiler"),
    ]:
        for full, value in members_of(module, name):
            if not full.rsplit(".", 1)[1].startswith("__"):
                yield full, value


SKIPPED_METHODS = {
    "__class__",
    "__init__",
    "__init_subclass__",
    "__subclasshook__",
    "__new__",
    "__del__",
    "__exit__",
    "__enter__",
    "__getattribute__",
    "__setattr__",
    "__delattr__",
    "__dir__",
    "__sizeof__",
    "__reduce_ex__",
}


def instances():
    @weft.jit.script
    def double(x: weft.Tensor, n: int = 2) -> weft.Tensor:
        return x * n

    module = weft.jit.script(weft.nn.Linear(2, 2))
    yield "Tensor", lambda: weft.ones(2, 3)
    yield "dtype", lambda: weft.float32
    yield "device", lambda: weft.device("cpu")
    yield "compiled", lambda: weft.compile(lambda x: x + 1)
    yield "ScriptFunction", lambda: double
    yield "ScriptModule", lambda: module
    yield "Linear", lambda: weft.nn.Linear(2, 2)
    yield "Context", weft.models.Context
    if STORIES.is_dir():
        model = weft.models.Llama.from_pretrained(STORIES)
        yield "Llama", lambda: model
        yield "tokenizer", lambda: model.tokenizer
        yield "KVCache", lambda: model.make_cache(8)


def methods():
    for name, make in instances():
        for full, _ in members_of(make(), name):
            method = full.rsplit(".", 1)[1]
            if method not in SKIPPED_METHODS:
                yield (
                    full,
                    lambda *args, _make=make, _name=method, **kwargs: getattr(_make(), _name)(
                        *args, **kwargs
                    ),
                )


def wrong_answers(name, function):
    found = []
    for args, kwargs in WRONG_CALLS:
        try:
            result = function(*args, **kwargs)
            if inspect.isgenerator(result):
                next(result, None)
        except Exception as error:
            text = str(error)
            text.encode("utf-8", "backslashreplace")
            if FORBIDDEN.search(text) or isinstance(error, UnicodeDecodeError | SystemError):
                shown = ", ".join(map(repr, args)) + "".join(f", {k}={v}" for k, v in kwargs.items())
                found.append(f"{name}({shown}): {type(error).__name__}: {text[:300]}")
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [modules, methods])
def test_messages(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("builtins.print", lambda *args, **kwargs: None)
    threads = weft.get_num_threads()
    found = []
    try:
        for name, function in kind():
            found += wrong_answers(name, function)
            try:
                weft.profiler.stop()
            except RuntimeError:
                pass
    finally:
        weft.set_num_threads(threads)
    assert not found, f"{len(found)}:\n" + "\n".join(found[:40])


CASES = [
    (
        lambda: weft.set_num_threads("2"),
        TypeError,
        "set_num_threads: expected an int for argument 'n', got str '2'",
    ),
    (lambda: weft.set_num_threads(), TypeError, "set_num_threads: argument 'n' is missing: expected an int"),
    (lambda: weft.set_num_threads(1, 2), TypeError, "set_num_threads: expected 1 argument, got 2"),
    (lambda: weft.set_num_threads(m=1), TypeError, "unknown argument 'm'; the arguments are: n"),
    (lambda: weft.set_num_threads(0), ValueError, "set_num_threads: expected 1 <= n <= "),
    (lambda: weft.set_num_threads(2**70), TypeError, "expected an int of at most 64 bits for argument 'n'"),
    (
        lambda: weft.set_num_interop_threads(10**9),
        (ValueError,),
        "set_num_interop_threads: expected 1 <= n <= ",
    ),
    (
        lambda: weft.ones(2).to("float33"),
        TypeError,
        "to: expected a dtype or a device, got 'float33'; did you mean 'float32'?",
    ),
    (lambda: weft.ones(2).to("cdua"), TypeError, "did you mean 'cuda'?"),
    (lambda: weft.ones(2).to("cuda:x"), ValueError, "device: expected 'cpu', 'cuda'"),
    (lambda: weft.ones(2).astype("flot64"), TypeError, "did you mean 'float64'?"),
    (
        lambda: weft.ones(2).stride("x"),
        TypeError,
        "Tensor.stride: expected an int or None for argument 'dim', got str 'x'",
    ),
    (lambda: weft.device("cpu", "x"), TypeError, "device: expected a str and an int, got str and str"),
    (
        lambda: weft.ones(2).__dlpack__(dl_device=5),
        TypeError,
        "__dlpack__: expected dl_device to be a pair of ints, got 5",
    ),
    (lambda: weft.Tensor("x"), TypeError, "Tensor: expected sizes or a sequence of numbers, got str"),
    (
        lambda: weft.compile(len, dynamic="yes"),
        TypeError,
        "expected dynamic to be None, True or False, got 'yes'",
    ),
    (lambda: weft.compile(dynamic=1), TypeError, "expected dynamic to be None, True or False, got 1"),
    (
        lambda: weft.compile(len, fullgraph="no"),
        TypeError,
        "expected fullgraph to be True or False, got 'no'",
    ),
    (lambda: weft.compile(len, mode="fast"), ValueError, "expected mode to be one of default, "),
    (lambda: weft.compile(5), TypeError, "expected a callable, got int"),
    (lambda: weft.models.Llama.random("tinny"), ValueError, "unknown model shape 'tinny'; the shapes are "),
    (lambda: weft.models.Llama.random("tiny", num_layers=-1), ValueError, "num_layers must be between 0"),
    (
        lambda: weft.models.Llama.random("tiny", dtype="float33"),
        ValueError,
        "got 'float33'; did you mean 'float32'?",
    ),
    (
        lambda: weft.models.Llama.random("tiny", quantize="int4-g31"),
        ValueError,
        "unknown quantization scheme 'int4-g31'; they are int8, ",
    ),
    (
        lambda: weft.models.Llama.random("tiny", quantize="int4-g128"),
        ValueError,
        "int4-g128: groups of 128 weights are longer than the model's rows of 64",
    ),
    (
        lambda: weft.models.Llama.random("tiny", seed=-1),
        TypeError,
        "expected an int of at least 0 for argument 'seed', got int -1",
    ),
    (
        lambda: weft.models.Llama.random("tiny", seed="x"),
        TypeError,
        "expected an int for argument 'seed', got str 'x'",
    ),
    (lambda: weft.models.Llama.from_pretrained(5), TypeError, "int"),
    (
        lambda: weft.models.Tokenizer.open(5),
        TypeError,
        "Tokenizer.open: expected a str for argument 'folder_or_file', got int 5",
    ),
    (
        lambda: weft.models.load_safetensors(None),
        TypeError,
        "load_safetensors: expected a str for argument 'path', got None",
    ),
]


@pytest.mark.parametrize("call, kind, message", CASES, ids=[str(i) for i in range(len(CASES))])
def test_wording(call, kind, message):
    with pytest.raises(kind) as raised:
        call()
    assert message in str(raised.value)


@pytest.mark.skipif(not STORIES.is_dir(), reason="no shared data (WEFT_SHARED_DATA)")
@pytest.mark.parametrize(
    "options, message",
    [
        ({"temperature": float("nan")}, "temperature must be at least 0"),
        ({"temperature": float("inf")}, "temperature must be at least 0"),
        ({"temperature": -1}, "temperature must be at least 0"),
        ({"temperature": "hot"}, "expected a number for argument 'temperature', got str 'hot'"),
        ({"top_p": 0}, "top_p must be above 0 and at most 1"),
        ({"top_p": 1.5}, "top_p must be above 0 and at most 1"),
        ({"top_p": float("nan")}, "top_p must be above 0 and at most 1"),
        ({"top_k": -1}, "top_k must be at least 0"),
        ({"top_k": 1.5}, "expected an int for argument 'top_k', got float 1.5"),
        ({"min_p": 2}, "min_p must be between 0 and 1"),
        ({"repetition_penalty": 0}, "repetition_penalty must be positive"),
        ({"repetition_penalty": float("inf")}, "repetition_penalty must be positive"),
        ({"max_new_tokens": -1}, "max_new_tokens must be at least 0"),
        ({"max_new_tokens": "5"}, "expected an int for argument 'max_new_tokens', got str '5'"),
        ({"seed": -1}, "expected an int of at least 0 for argument 'seed', got int -1"),
        ({"stop": ""}, "a stop string is empty"),
        ({"stop": ["", "x"]}, "a stop string is empty"),
        ({"stop": 5}, "stop must be a str or a list of str, got int"),
        ({"stop": [5]}, "expected a sequence of str for argument 'stop', got list"),
        ({"ignore_eos": "no"}, "expected True or False for argument 'ignore_eos', got str 'no'"),
        ({"draft": 5}, "draft must be a CausalModel or 'prompt-lookup', got int"),
        ({"draft": "lookup"}, "draft must be a CausalModel or 'prompt-lookup', got 'lookup'"),
        ({"draft": "prompt-lookup", "speculate_k": 0}, "speculate_k must be between 1 and 7"),
        ({"draft": "prompt-lookup", "speculate_k": 8}, "speculate_k must be between 1 and 7"),
        ({"context": 5}, "expected a weft Context or None for argument 'context', got int 5"),
        ({"no_such": 1}, "no_such"),
        ({"prompt": 5}, "generate: expected text, token ids or a conversation, got int"),
        ({"prompt": None}, "generate: expected text, token ids or a conversation, got NoneType"),
        ({"prompt": [1.5]}, "generate: expected text, token ids or a conversation, got list"),
        ({"prompt": []}, "the prompt has no tokens"),
        ({"prompt": [1, 512]}, "512"),
        ({"prompt": [-1]}, "-1"),
        ({"prompt": [{"role": "user"}]}, "has no attribute 'content'"),
        ({"prompt": "Once", "tools": []}, "need a conversation"),
    ],
)
def test_generation_options(options, message):
    model = weft.models.Llama.from_pretrained(STORIES)
    with pytest.raises((TypeError, ValueError, IndexError)) as raised:
        model.generate(**({"prompt": "Once", "max_new_tokens": 2} | options))
    assert message in str(raised.value)


def script_module():
    return weft.jit.script(weft.nn.Linear(2, 2)).eval()


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: weft.jit.freeze(script_module(), "forward"),
            "preserved_attrs: expected a list of names, got 'forward'",
        ),
        (lambda: weft.jit.freeze(script_module(), [5]), "preserved_attrs: expected a list of names, got [5]"),
        (
            lambda: weft.jit.optimize_for_inference(script_module(), "forward"),
            "other_methods: expected a list of names",
        ),
        (lambda: weft.jit.optimized_execution("no").__enter__(), "expected True or False, got 'no'"),
        (lambda: weft.jit.load("x", _extra_files=["a"]), "expected _extra_files to be a dict, got list"),
        (lambda: weft.jit.load("x", map_location="gpu"), "device: expected 'cpu', 'cuda'"),
        (
            lambda: weft.jit.save(script_module(), "x.pt", _extra_files={"a": 5}),
            "expected str or bytes in _extra_files['a'], got int",
        ),
        (
            lambda: weft.jit.save(script_module(), "x.pt", _extra_files={5: "a"}),
            "expected names of files in _extra_files, got 5",
        ),
        (
            lambda: weft.jit.trace(abs, weft.ones(2), check_trace="no"),
            "expected check_trace to be True or False, got 'no'",
        ),
        (
            lambda: weft.jit.trace(abs, weft.ones(2), strict=None),
            "expected strict to be True or False, got None",
        ),
        (
            lambda: weft.jit.trace(abs, weft.ones(2), check_tolerance=-1),
            "check_tolerance to be a number of at least 0, got -1",
        ),
        (
            lambda: weft.jit.trace(abs, weft.ones(2), check_tolerance=float("nan")),
            "a number of at least 0, got nan",
        ),
        (
            lambda: weft.jit.trace(abs, weft.ones(2), check_inputs=5),
            "expected check_inputs to be a list, got int",
        ),
        (
            lambda: weft.jit.trace_module(weft.nn.Linear(2, 2), {"forward": weft.ones(2)}, strict="x"),
            "expected strict to be True or False",
        ),
        (lambda: weft.jit.trace(5, weft.ones(2)), "expected a function or a module, got int"),
        (
            lambda: setattr(weft.config, "numpy_default_float", "float16"),
            "expected one of 'float64', 'float32', got 'float16'",
        ),
        (
            lambda: setattr(weft.config, "numpy_default", "float32"),
            "weft.config has no setting 'numpy_default'",
        ),
        (lambda: weft.profiler.start(5), "not int"),
    ],
    ids=range(18),
)
def test_options_of_other_functions(call, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises((TypeError, ValueError, RuntimeError, AttributeError)) as raised:
        call()
    assert message in str(raised.value)
    assert not list(tmp_path.iterdir())


def test_arguments_of_other_types_still_fit():
    x = weft.ones(2, 3)
    assert x.stride(np.int64(0)) == 3 and x.stride(dim=-1) == 1 and x.size(1) == 3
    weft.set_num_threads(np.int32(weft.get_num_threads()))


def test_operators_on_no_dimensions_and_no_elements():
    """0-d and empty tensors for every operand, with each dimension named: results or errors, in a process of its own."""
    program = textwrap.dedent(
        """
        import itertools, sys, warnings, weft
        warnings.simplefilter("ignore")
        makers = [lambda: weft.tensor(1.5), lambda: weft.tensor(1), lambda: weft.ones(0), lambda: weft.ones(2, 0, 3)]
        for name in dir(weft):
            operator = getattr(weft, name)
            if not isinstance(operator, weft.Operator):
                continue
            for count in (1, 2, 3):
                combinations = itertools.product(makers, repeat=count) if count < 3 else [(m,) * 3 for m in makers]
                for combination in combinations:
                    for dim in ((), (-1,), (0,), (1,)):
                        print(name, [m().shape for m in combination], dim, flush=True)
                        try:
                            operator(*[m() for m in combination], *dim)
                        except Exception as error:
                            assert "internal error" not in str(error), error
        """
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout.splitlines()[-1:] + [done.stderr[-2000:]]
