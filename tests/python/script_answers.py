"""Programs of TorchScript's language with PyTorch 2.15's answers to their calls, in script_answers.json.

    python script_answers.py

under a Python that has PyTorch records the answers anew. A program is a function's text; its arguments are Python
expressions over `torch`; an answer is the result, or the end of an error's message where the call raises.
"""

import importlib.util
import io
import json
import pathlib
import sys
import tempfile

import script_archives

ANSWERS = pathlib.Path(__file__).with_name("script_answers.json")

_HEAD = """import enum
import math
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union
import {module} as torch
from torch import Tensor

class Color(enum.Enum):
    RED = 1
    BLUE = 2

class Point(NamedTuple):
    x: int
    y: float

"""


def _function(result, *parameters):
    """The text of a function of these parameters that returns an expression."""

    def of(expression):
        return f"def f({', '.join(parameters)}) -> {result}:\n    return {expression}\n"

    return of


def _body(head, *lines):
    return f"def f({head}:\n" + "".join(f"    {line}\n" for line in lines)


_VALUES = ["{'a': 1}", "{1: 2}", "{'a': torch.ones(1)}", "[1]", "['a']", "[torch.ones(1)]", "(1, 2)", "(1, 'a')",
           "1", "1.5", "True", "None", "'a'", "1j", "torch.ones(2)"]  # fmt: skip
_TYPES = ["Dict[str, int]", "Dict[int, int]", "Dict[str, Tensor]", "Dict[str, float]", "List[int]", "List[str]",
          "List[Tensor]", "Tuple[int, int]", "Tuple[int, str]", "int", "float", "bool", "str", "complex", "Tensor",
          "Optional[int]", "(int, float)", "(List[int], Dict[str, int])", "list"]  # fmt: skip
_ONE, _TWO = "torch.ones(1)", "torch.full([1], 2.0)"
_TENSORS = ["torch.tensor(3)", "torch.tensor(3.7)", "torch.tensor([3])", "torch.tensor([1, 2])", "torch.tensor(True)",
            "torch.tensor(1j)", "torch.tensor(0)"]  # fmt: skip
_LISTS = [f"[{_ONE}, {_TWO}, {_ONE}], {_ONE}", f"[{_TWO}], {_ONE}", f"[], {_ONE}", f"[torch.ones(2)], {_ONE}",
          "[torch.ones(2)], torch.ones(2)", "[torch.ones(2)], torch.ones(3)",
          "[torch.tensor(1), torch.tensor(2)], torch.tensor(2.0)"]  # fmt: skip


def programs():
    """{name: (source, calls)}"""
    found = {}
    for each in _TYPES:
        found[f"isinstance of Any, {each}"] = _function("bool", "x: Any")(f"isinstance(x, {each})"), _VALUES
    found["isinstance of declared types"] = (
        _body("d: Dict[str, int], l: List[int], o: Optional[Dict[str, int]]) -> List[bool]",
              "x: Any = d", "y: Any = l", "z: Any = o",
              "return [isinstance(x, Dict[str, int]), isinstance(x, Dict[str, float]), isinstance(y, List[int]),",
              "        isinstance(y, List[float]), isinstance(z, Dict[str, int]), isinstance(z, Dict[int, int])]"),
        ["{'a': 1}, [1], None", "{}, [], {}"],
    )  # fmt: skip
    lists = [f"[{_ONE}], [{_ONE}]", f"[{_ONE}], [{_TWO}]", "[], []", f"[{_ONE}], [{_ONE}, {_ONE}]",
             "[torch.ones(2)], [torch.ones(2)]", f"[{_ONE}, {_TWO}], [{_ONE}, {_TWO}]",
             "[torch.tensor(1)], [torch.tensor([1.0])]"]  # fmt: skip
    for operator in ("==", "!="):
        found[f"lists of tensors {operator}"] = (
            _function("bool", "x: List[Tensor]", "y: List[Tensor]")(f"x {operator} y"), lists,
        )  # fmt: skip
        for kind, calls in {
            "int": ["[1, 2], [1, 2]", "[1], [2]", "[], []", "[1], [1, 2]"],
            "float": ["[1.0], [1.0]", "[math.nan], [math.nan]", "[0.0], [-0.0]"],
            "bool": ["[True], [True]", "[True], [False]"],
            "str": ["['a'], ['a']", "['a'], ['b']"],
        }.items():
            found[f"lists of {kind} {operator}"] = (
                _function("bool", f"x: List[{kind}]", f"y: List[{kind}]")(f"x {operator} y"), calls,
            )  # fmt: skip
    for kind, calls in {
        "int": ["5", "-1", "0", "2 ** 62"], "float": ["0.0", "-0.0", "1.5", "math.inf"], "bool": ["True", "False"],
        "str": ["''", "'a'", "'abc' * 9"], "Tuple[int, int]": ["(1, 2)", "(2, 1)"], "Optional[int]": ["None", "4"],
        "Tuple[int, str, float]": ["(1, 'a', 2.5)"], "List[int]": ["[1]"], "Tuple[int, List[int]]": ["(1, [2])"],
        "complex": ["1j", "2.5+0j"],
    }.items():  # fmt: skip
        found[f"hash of {kind}"] = _function("int", f"x: {kind}")("hash(x)"), calls
    for key, given in {"str": "{'b': 1, 'a': 2, 'c': 3}", "int": "{3: 1, 1: 2}", "float": "{0.5: 1}"}.items():
        found[f"popitem of {key}"] = (
            _body(f"d: Dict[{key}, int]) -> Tuple[Tuple[{key}, int], Dict[{key}, int]]",
                  "first = d.popitem()", "d[first[0]] = 9", "return d.popitem(), d"),
            [given, "{}"],
        )  # fmt: skip
    for name in ("linspace", "logspace"):
        for start, end, steps, rest in [
            ("0", "1j", 3, ""), ("1+1j", "2-1j", 4, ""), ("1j", "2", 3, ", dtype=torch.complex128"), ("1j", "2", 1, ""),
            ("0", "1", 2, ", dtype=torch.complex64"), ("1j", "2", 0, ""), ("0.5", "2", 4, ""), ("1", "7", 3, ""),
            ("1", "7", 3, ", dtype=torch.int64"), ("True", "3", 3, ""),
        ]:  # fmt: skip
            found[f"{name} of {start}, {end}, {steps}{rest}"] = (
                _function("Tensor", "n: int")(f"torch.{name}({start}, {end}, n{rest})"), [str(steps)],
            )  # fmt: skip
    for kind in (
        "int",
        "float",
        "bool",
        "complex",
        "Optional[int]",
        "Union[int, str]",
        "Union[float, Tensor]",
        "Tensor",
    ):
        found[f"a tensor given for {kind}"] = _function(kind, f"x: {kind}")("x"), _TENSORS
    found["tensors given in a list of int"] = (
        _function("List[int]", "x: List[int]")("x"),
        ["[torch.tensor(3), 2]"],
    )
    found["tensors given in a dict of int"] = (
        _function("Dict[str, int]", "x: Dict[str, int]")("x"), ["{'a': torch.tensor(3)}"],
    )  # fmt: skip
    found["tensors given in a tuple"] = (
        _function("Tuple[int, float]", "x: Tuple[int, float]")("x"), ["(torch.tensor(3), torch.tensor(2))"],
    )  # fmt: skip
    scripted = ["torch.arange(6).reshape(2, 3), torch.tensor(1)", "torch.arange(6).reshape(2, 3), torch.tensor(1.0)",
                "torch.arange(6).reshape(2, 3), torch.tensor([1])"]  # fmt: skip
    for expression in ("torch.select(x, 0, n)", "x[n]", "x[n:]", "torch.flatten(x, n)", "torch.unsqueeze(x, n)",
                       "torch.sum(x, [int(n)])", "torch.narrow(x, 1, n, 1)", "torch.zeros([int(n), 2])"):  # fmt: skip
        found[f"a tensor for an int in {expression}"] = (
            _function("Tensor", "x: Tensor", "n: Tensor")(expression),
            scripted,
        )
    found["a tensor for a float in leaky_relu"] = (
        _function("Tensor", "x: Tensor", "n: Tensor")("torch.nn.functional.leaky_relu(x, float(n))"),
        ["torch.tensor([-2.0, 2.0]), torch.tensor(0.5)"],
    )  # fmt: skip
    for kind, calls in {"Tensor": ["torch.tensor([-1.0, 2.0])", "torch.tensor([-3, 2])", "torch.tensor([3+4j])"],
                        "int": ["-3"], "float": ["-2.5"], "complex": ["3-4j"], "bool": ["True"]}.items():  # fmt: skip
        result = {"complex": "float", "bool": "int"}.get(kind, kind)
        found[f"abs of {kind}"] = _function(result, f"x: {kind}")("abs(x)"), calls
    for expression in ("complex(x)", "complex(x, 1)", "complex(1.5, x)", "complex(True, x)", "complex(x, 2.5)",
                       "complex(x, x)"):  # fmt: skip
        found[expression + " of a tensor"] = (
            _function("complex", "x: Tensor")(expression),
            [each for each in _TENSORS if expression != "complex(x)" or "True" not in each],
        )
    for name, result in {"count": "int", "index": "int"}.items():
        found[f"{name} in a list of tensors"] = (
            _function(result, "x: List[Tensor]", "y: Tensor")(f"x.{name}(y)"),
            _LISTS,
        )
    found["remove from a list of tensors"] = (
        _body("x: List[Tensor], y: Tensor) -> List[Tensor]", "x.remove(y)", "return x"), _LISTS,
    )  # fmt: skip
    for expression in ("torch.add(x, b)", "x * b", "torch.where(x == x, x, b)", "torch.masked_fill(x, x == x, b)", "torch.eq(x, b)",
                       "torch.full([2], b)", "torch.full_like(x, b)", "torch.tensor(b)",
                       "torch.pow(x, b)", "torch.clamp(x, b)", "torch.full([2], True)", "torch.tensor([b])"):  # fmt: skip
        found[f"a truth value in {expression}"] = (
            _function("Tensor", "x: Tensor", "b: bool")(expression),
            [f"torch.ones(1).to(torch.{dtype}), {value}" for dtype in ("bool", "uint8", "float32") for value in (True, False)],
        )  # fmt: skip
    found["default: a member of an enumeration"] = (
        _function("int", "x: int", "c: Color = Color.BLUE")("x + c.value"), ["1", "1, Color.RED", "1, c=Color.RED"],
    )  # fmt: skip
    found["default: an enumeration's name"] = (
        _function("str", "c: Color = Color.RED")("c.name"), ["", "Color.BLUE"],
    )  # fmt: skip
    found["defaults of other types"] = (
        _function("Tuple[torch.device, str, Tuple[int, int], Optional[float], int, float]", "d: torch.device = torch.device('cpu')",
                  "s: str = 'a'", "t: Tuple[int, int] = (1, 2)", "o: Optional[float] = None",
                  "p: float = 2")("(d, s, t, o, 3, p)"), [""],
    )  # fmt: skip
    sequences = "[torch.ones(2), torch.full([3], 2.0)]"
    for rest in ("", "True", "True, 9.5", "False, 9.5, 'left'", "True, 0.0, 'right'", "True, padding_side='left'",
                 "True, 0.0, 'middle'"):  # fmt: skip
        found[f"pad_sequence({rest})"] = (
            _function("Tensor", "x: List[Tensor]")(f"torch.nn.utils.rnn.pad_sequence(x{', ' * bool(rest)}{rest})"),
            [sequences, "[torch.ones(2, 3), torch.zeros(1, 3)]", "[torch.ones(1)]"],
        )  # fmt: skip
    return found


# ---- archives ------------------------------------------------------------------------------------------------
_VERSIONED = {
    "div": ("Tensor", "torch.div(x, y)"),
    "div of numbers": ("int", "torch.div(x, y)"),
    "div of floats": ("float", "torch.div(x, y)"),
    "div_": ("Tensor", "torch.div_(torch.clone(x), y)"),
    "div_ of numbers": ("int", "torch.div_(torch.clone(x), y)"),
    "div, floored": ("Tensor", 'torch.div(x, y, rounding_mode="floor")'),
    "full": ("int", "torch.full([2], y)"),
    "full of a truth value": ("bool", "torch.full([2], y)"),
    "full of a dtype": ("int", "torch.full([2], y, dtype=3)"),
    "full of a float": ("float", "torch.full([2], y)"),
    "linspace": ("int", "torch.linspace(0, y, 3)"),
    "linspace without steps": ("int", "torch.slice(torch.linspace(0, y), 0, 0, 200, 33)"),
    "logspace": ("int", "torch.logspace(0, y, 3)"),
    "logspace without steps": ("int", "torch.slice(torch.logspace(0, y), 0, 0, 200, 33)"),
    "gelu": ("int", "torch.gelu(torch.add(x, 0.5))"),
}
_X = ["torch.tensor([-7, 7])", "torch.tensor([-7.5, 7.0])", "torch.tensor([250, 3], dtype=torch.uint8)"]
_Y = {
    "Tensor": ["torch.tensor([2, 2])", "torch.tensor([2.0, 0.5])"],
    "int": ["2"],
    "float": ["2.0"],
    "bool": ["True"],
}

_LAYERS = {
    "conv1d": "torch.conv1d(torch.reshape(x, [1, 2, 16]), torch.reshape(w, [2, 2, 4]))",
    "conv2d": "torch.conv2d(x, w)",
    "conv2d, bias": "torch.conv2d(x, w, torch.select(torch.select(torch.select(w, 0, 0), 0, 0), 0, 0), [2, 2], [1, 1])",
    "conv2d, groups": "torch.conv2d(x, torch.slice(w, 1, 0, 1), None, [1, 1], [0, 0], [1, 1], 2)",
    "conv2d, named padding": 'torch._convolution_mode(x, w, None, [1, 1], "same", [1, 1], 1)',
    "conv3d": "torch.conv3d(torch.reshape(x, [1, 2, 4, 2, 2]), torch.reshape(w, [2, 2, 2, 2, 1]))",
    "_convolution": "torch._convolution(x, w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, False, False, True, True)",
    "_convolution, transposed": "torch._convolution(x, w, None, [1, 1], [0, 0], [1, 1], True, [0, 0], 1, False, False, True, True)",
    "conv_transpose2d": "torch.conv_transpose2d(x, w)",
    "max_pool2d": "torch.max_pool2d(x, [2, 2])",
    "max_pool3d": "torch.max_pool3d(torch.reshape(x, [1, 2, 4, 2, 2]), [2, 1, 1])",
    "avg_pool1d": "torch.avg_pool1d(torch.reshape(x, [1, 2, 16]), [3])",
    "avg_pool2d": "torch.avg_pool2d(torch.sub(x, 20), [2, 2], [2, 2], [1, 1])",
    "avg_pool2d, divisor": "torch.avg_pool2d(x, [2, 2], [1, 1], [0, 0], False, True, 3)",
    "avg_pool3d": "torch.avg_pool3d(torch.reshape(x, [1, 2, 4, 2, 2]), [2, 1, 1])",
}
_GROUPED = [
    "torch.arange(32).reshape(4, 8).{0}(), torch.arange(256).reshape(2, 8, 16).{0}(), torch.tensor([1, 4], dtype=torch.int32)",
    "torch.arange(64).reshape(2, 4, 8).{0}(), torch.arange(256).reshape(2, 8, 16).{0}(), None",
    "torch.arange(64).reshape(2, 4, 8).{0}(), torch.arange(128).reshape(8, 16).{0}(), torch.tensor([8, 16], dtype=torch.int32)",
    "torch.arange(64).reshape(4, 16).{0}(), torch.arange(128).reshape(16, 8).{0}(), torch.tensor([8, 16], dtype=torch.int32)",
    "torch.arange(32).reshape(4, 8).{0}(), torch.arange(256).reshape(2, 8, 16).{0}(), None",
]


def archives():
    """{name: (parameters, body, version, calls)} of methods forward"""
    found = {}
    for version in (3, 4, 5, 7, 8, 9, 10):  # both sides of each change
        for name, (kind, expression) in _VERSIONED.items():
            calls = [f"{x}, {y}" for x in _X for y in _Y[kind]]
            found[f"{name}, version {version}"] = (
                ["x: Tensor", f"y: {kind}"],
                f"return {expression}",
                version,
                calls,
            )
    for name, expression in _LAYERS.items():
        calls = [f"torch.arange(32, dtype=torch.{dtype}).reshape(1, 2, 4, 4), torch.arange(16, dtype=torch.{dtype}).reshape(2, 2, 2, 2)"
                 for dtype in ("int64", "int32", "int16", "int8", "uint8", "float32")]  # fmt: skip
        found[f"{name} of integers"] = ["x: Tensor", "w: Tensor"], f"return {expression}", 10, calls
    found["_grouped_mm"] = (
        ["x: Tensor", "y: Tensor", "offs: Optional[Tensor]"], "return torch._grouped_mm(x, y, offs)", 10,
        [call.format(dtype) for call in _GROUPED for dtype in ("float", "bfloat16")],
    )  # fmt: skip
    return found


# ---- values ----------------------------------------------------------------------------------------------------
def described(torch, value):
    """The value as JSON has it."""
    if isinstance(value, torch.Tensor):
        plain = value.float() if value.dtype in (torch.bfloat16, torch.float16) else value
        flat = plain.reshape(-1).tolist()
        if plain.is_complex():
            flat = [part for number in flat for part in (number.real, number.imag)]
        return {
            "tensor": str(value.dtype).removeprefix("torch.").removeprefix("weft."),
            "shape": list(value.shape),
            "values": flat,
        }
    if isinstance(value, complex):
        return {"complex": [value.real, value.imag]}
    if isinstance(value, torch.device):
        return {"device": str(value)}
    if isinstance(value, dict):
        return {"dict": [[described(torch, key), described(torch, item)] for key, item in value.items()]}
    if isinstance(value, (list, tuple)):
        return {type(value).__name__: [described(torch, item) for item in value]}
    return value


def module_of(source, module, folder):
    """The functions of a program: scripts are compiled from files."""
    path = pathlib.Path(folder) / f"program_{len(list(pathlib.Path(folder).iterdir()))}.py"
    path.write_text(
        _HEAD.format(module=module).replace("from torch import Tensor", "Tensor = torch.Tensor") + source
    )
    spec = importlib.util.spec_from_file_location(path.stem, path)
    made = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def answers(torch, source, calls, folder):
    """What each call gives, of the function as a script."""
    program = module_of(source, torch.__name__, folder)
    try:
        function = torch.jit.script(program.f)
    except Exception as error:
        return [{"refused": str(error)}]
    return called(torch, calls, vars(program) | {"function": function})


def called(torch, calls, scope):
    """The answers to each call, three times: what runs after a profiling run, too."""

    def answer(call):
        try:
            return {"result": described(torch, eval(f"function({call})", scope))}
        except Exception as error:
            return {"error": str(error).strip().split("\n")[-1][:80]}

    return [[answer(call) for _ in range(3)] for call in calls]


def archive_answers(torch, parameters, body, version, calls):
    """What each call of an archive's method gives."""
    file = io.BytesIO(script_archives.archive([("forward", parameters, "Tensor", body)], version=version))
    try:
        module = torch.jit.load(file)
    except Exception as error:
        return [{"refused": str(error)}]
    return called(torch, calls, {"torch": torch, "function": module})


def every_answer(torch):
    """(name, calls, answers) of every program and archive."""
    with tempfile.TemporaryDirectory() as folder:
        for name, (source, calls) in programs().items():
            yield name, calls, answers(torch, source, calls, folder)
    for name, (parameters, body, version, calls) in archives().items():
        yield name, calls, archive_answers(torch, parameters, body, version, calls)


def record():
    import torch

    recorded = {}
    for name, calls, got in every_answer(torch):
        if "refused" in got[0]:
            print(f"{name} is refused: {got[0]['refused']}", file=sys.stderr)
            recorded[name] = "refused"
            continue
        for call, results in zip(calls, got, strict=True):
            assert all(str(each) == str(results[0]) for each in results), (name, call, results)
        recorded[name] = [results[0] for results in got]
    lines = [f"{json.dumps(name)}: {json.dumps(each)}" for name, each in recorded.items()]
    ANSWERS.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    record()
