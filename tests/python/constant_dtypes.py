"""What operators give with the constants of an archive, with PyTorch 2.15's answers in constant_dtypes.json: dtypes, for
tensors of every dtype with and without dimensions.

    python constant_dtypes.py

under a Python that has PyTorch records them anew.
"""

import io
import json
import pathlib

import numpy as np
import script_archives

ANSWERS = pathlib.Path(__file__).with_name("constant_dtypes.json")

# A letter for each dtype in the recorded answers; "x": PyTorch raises.
LETTERS = {
    "float32": "f", "float64": "d", "float16": "h", "bfloat16": "b", "int64": "l", "int32": "i", "uint8": "u", "bool": "?",
    "complex64": "c", "complex128": "z",
}  # fmt: skip
TENSORS = [dtype for dtype in LETTERS if dtype != "complex128"]
CONSTANTS = ["float64", "float32", "float16", "int64", "int32", "uint8", "bool", "complex64"]

_BODIES = {
    **{name: f"torch.{name}(x, c)" for name in ("add", "sub", "mul", "div", "subtract", "multiply", "divide", "true_divide")},
    **{f"{name}, first": f"torch.{name}(c, x)" for name in ("add", "sub", "mul", "div")},
    **{f"{name}_": f"torch.{name}_(torch.clone(x), c)" for name in ("add", "sub", "mul", "div")},
    **{
        name: f"torch.{name}(x, c)"
        for name in ("maximum", "minimum", "atan2", "fmod", "remainder", "floor_divide", "pow", "copysign", "hypot", "rsub",
                     "bitwise_and", "logical_and", "eq", "lt", "max", "float_power", "xlogy", "clamp_min")
    },
    "pow, first": "torch.pow(c, x)",
    "add, scaled": "torch.add(x, c, alpha=2)",
    "div, floored": 'torch.div(x, c, rounding_mode="floor")',
    "where": "torch.where(torch.eq(x, x), x, c)",
    "lerp": "torch.lerp(x, x, c)",
    "addcmul": "torch.addcmul(x, x, c)",
    "clamp": "torch.clamp(x, c)",
    "mul, detached": "torch.mul(x, torch.detach(c))",
    "mul, folded": "torch.mul(x, torch.neg(c))",
    "mul, twice": "torch.mul(torch.mul(x, c), c)",
    "sub of sum": "torch.sub(torch.add(x, x, alpha=2), c)",
    "mul of a shape of one": "torch.mul(x, torch.reshape(c, [1]))",
}  # fmt: skip
_WHOLE = {
    "mul, called": "return (self).helper(x, CONSTANTS.c0)",
    "mul, called by another": "return (self).outer(x, CONSTANTS.c0)",
    "mul, in a branch": "if torch.eq(torch.numel(x), 1):\n  y = torch.mul(x, CONSTANTS.c0)\nelse:\n  y = x\nreturn y",
    "mul, in a loop": "y = x\nfor i in range(2):\n  y = torch.mul(y, CONSTANTS.c0)\nreturn y",
}
NAMES = [*_BODIES, *_WHOLE]


def archive(constant):
    """The methods f0, f1, …, one for each of NAMES, with CONSTANTS.c0 a number of this dtype."""
    methods = [
        ("helper", ["x: Tensor", "y: Tensor"], "Tensor", "return torch.mul(x, y)"),
        ("outer", ["x: Tensor", "y: Tensor"], "Tensor", "return (self).helper(torch.neg(torch.neg(x)), y)"),
    ]
    bodies = [f"return {body}".replace("c)", "CONSTANTS.c0)").replace("(c,", "(CONSTANTS.c0,").replace(", c,", ", CONSTANTS.c0,")
              for body in _BODIES.values()]  # fmt: skip
    for i, body in enumerate([*bodies, *_WHOLE.values()]):
        methods.append((f"f{i}", ["x: Tensor"], "Tensor", body))
    return script_archives.archive(methods, [np.array(3).astype(constant)], version=10)


def answer(torch, method, dtype, shape):
    """The letter of what a method gives, three times: what runs after a profiling run, too."""
    found = set()
    for _ in range(3):
        try:
            result = method(torch.ones(shape, dtype=getattr(torch, dtype)))
            found.add(LETTERS[str(result.dtype).split(".")[-1]])
        except Exception:
            found.add("x")
    assert len(found) == 1, found
    return found.pop()


def answers(torch, constant, name):
    """A letter for each of TENSORS, without dimensions and with one."""
    module = torch.jit.load(io.BytesIO(archive(constant)))
    method = getattr(module, f"f{NAMES.index(name)}")
    return "".join(answer(torch, method, dtype, shape) for dtype in TENSORS for shape in ([], [1]))


if __name__ == "__main__":
    import torch

    recorded = {name: {each: answers(torch, each, name) for each in CONSTANTS} for name in NAMES}
    rows = (f"{json.dumps(name)}: {json.dumps(row)}" for name, row in recorded.items())
    ANSWERS.write_text("{\n" + ",\n".join(rows) + "\n}\n")
