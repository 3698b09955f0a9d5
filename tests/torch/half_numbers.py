"""Calls of 16-bit tensors with numbers that 16 bits do not hold, and what PyTorch gives: to the last bit.

python half_numbers.py > test_half_numbers.json      (by a Python that has PyTorch)
"""

import itertools
import json
import zlib

DTYPES = ("float16", "bfloat16")
# Numbers that no dtype of 16 bits refuses as alpha.
SMALL = ("1e-8", "0.1", "1 / 3", "-0.7", "1000.3", "0.5")
NUMBERS = ("70000.0", "1e-8", "0.1", "1 / 3", "3.3e38", "-0.7", "1000.3", "70001", "0.5")
X = [1.0, -2.5, 0.375, 7.0, 100.0, -0.1, 3.0, 0.01, 1e-3, 5e4, 0.0, 300.0, -33.0, 0.2]

# n: the number; z: it as a tensor of no dimension; x: a vector, w: a longer one; s: an element. Of what PyTorch rounds to 16
# bits between its steps (floor_divide, remainder and pow of a number and a tensor; sums with alpha of what fills no
# register), and what it refuses, there is none. Zeros of its remainder have the sign of x, of weft's that of the divisor: they are made one.
FORMS = (
    *(f"x {sign} n" for sign in ("+", "-", "*", "/", "//", "<", "<=", "==", "!=", ">", ">=")),
    *(f"n {sign} x" for sign in ("+", "-", "*", "/", "<", ">=")),
    *(f"x {sign} z" for sign in ("+", "-", "*", "/", "//", "<", "==")),
    *(f"{call} + 0.0" for call in ("x % n", "x % z", "torch.remainder(x, n)", "x.clone().remainder_(n)")),
    *(f"z {sign} x" for sign in ("+", "-", "*", "/", ">=", "!=")),
    *(f"s {sign} n" for sign in ("+", "-", "*", "/", "//")),
    *(f"torch.{name}(x, n)" for name in ("add", "sub", "mul", "multiply", "div", "divide", "true_divide")),
    *(f"torch.{name}(x, n)" for name in ("floor_divide", "fmod", "copysign", "rsub")),
    *(f"torch.{name}(n, x)" for name in ("add", "sub", "mul", "div")),
    *(f"torch.{name}(x, z)" for name in ("fmod", "maximum", "minimum", "fmax", "fmin", "copysign", "hypot")),
    *(f"torch.{name}(z, x)" for name in ("maximum", "fmin", "copysign")),
    *(f"torch.div({operands}, rounding_mode='{mode}')" for operands in ("x, n", "x, z") for mode in ("floor", "trunc")),
    *(f"x.clone().{name}_(n)" for name in ("add", "sub", "mul", "div", "floor_divide", "fmod")),
    *(f"x.clone().{name}_(z)" for name in ("mul", "div", "floor_divide")),
    "torch.mul(x, n, out=torch.empty_like(x))",
    "torch.lerp(x, x.flip(0), n)",
    "torch.float_power(x, n).float()",
    "torch.add(w, w.flip(0), alpha=n)",
    "torch.sub(w, w.flip(0), alpha=n)",
    "w.clone().add_(w.flip(0), alpha=n)",
    "x[:, None].repeat(1, 5).t() / n",
    "x.repeat(70)[::3] * n",
    "x * torch.tensor([7]) / torch.tensor([[70000]])",
)  # fmt: skip


def numbers_of(code):
    return SMALL if "alpha" in code else NUMBERS


def calls():
    """(code, dtype, number)"""
    for code, dtype in itertools.product(FORMS, DTYPES):
        yield from ((code, dtype, number) for number in numbers_of(code))


def scope(torch, dtype, number):
    n = eval(number)
    x = torch.tensor(X, dtype=getattr(torch, dtype))
    z = torch.tensor(n, dtype=torch.int64 if isinstance(n, int) else torch.float64)
    return {"torch": torch, "x": x, "w": x.repeat(16), "s": x[5], "n": n, "z": z}


def answer(torch, result):
    """A checksum of dtype, shape and elements, in which all NaN are one."""
    elements = result.tolist() if result.dtype == torch.bool else result.double().tolist()
    return zlib.crc32(f"{str(result.dtype).rpartition('.')[2]} {list(result.shape)} {elements}".encode())


def main():
    import torch

    lines = {}
    for code, dtype, number in calls():
        found = answer(torch, eval(code, scope(torch, dtype, number)))
        lines.setdefault(code, {}).setdefault(dtype, []).append(found)
    text = ",\n".join(f"{json.dumps(code)}: {json.dumps(found)}" for code, found in lines.items())
    print("{\n" + text + "\n}")


if __name__ == "__main__":
    main()
