"""Random TorchScript programs, run by weft and by PyTorch: values, dtypes, shapes, strides, errors.

    WEFT_TORCH_PYTHON=/usr/bin/python3 python tests/fuzz/script_fuzz.py --seed 1 --count 2000

A difference is printed with the program and what each gave; the exit status is the number of programs that differ.
"""

import argparse
import functools
import io
import json
import math
import os
import pathlib
import random
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "python"))

PARAMETERS = {
    "a": ("Tensor", ["float32", [2, 3], [0.5, -1.5, 2.0, 3.25, -0.75, 1.0]]),
    "b": ("Tensor", ["float32", [3], [1.5, -2.0, 0.25]]),
    "c": ("Tensor", ["float64", [2, 1], [2.5, -0.5]]),
    "k": ("Tensor", ["int64", [2, 3], [3, -7, 2, 5, 0, -1]]),
    "m": ("Tensor", ["bool", [2, 3], [True, False, True, True, False, False]]),
    "u": ("Tensor", ["uint8", [3], [200, 3, 77]]),
    "z": ("Tensor", ["float32", [], [2.5]]),
    "i": ("int", 7),
    "j": ("int", -3),
    "f": ("float", 2.75),
    "g": ("float", -0.5),
    "p": ("bool", True),
    "s": ("str", "abc,De"),
    "l": ("List[int]", [4, -2, 9]),
    "d": ("Dict[str, int]", {"x": 1, "y": -5}),
}


class Program:
    """Statements over typed variables; every expression is of the type that was asked for."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.variables = {name: kind for name, (kind, _) in PARAMETERS.items()}
        self.lines = []
        for name in "abckmu":  # programs write in place: into copies
            self.lines.append(f"{name} = {name}.clone()")
        self.count = 0
        for _ in range(self.random.randint(1, 5)):
            self.statement("")
        kinds = self.variables.values()
        self.text = "def f(" + ", ".join(f"{name}: {kind}" for name, (kind, _) in PARAMETERS.items()) + ")"
        self.text += f" -> Tuple[{', '.join(kinds)}]:\n"
        self.text += "".join(f"    {line}\n" for line in self.lines)
        self.text += f"    return ({', '.join(self.variables)})\n"

    def pick(self, *choices):
        return self.random.choice(choices)

    def statement(self, indent):
        kind = self.pick("Tensor", "Tensor", "Tensor", "int", "float", "bool", "str", "List[int]")
        shape = self.random.random()
        if indent == "" and shape < 0.12:
            self.lines.append(f"if {self.make('bool', 2)}:")
            self.assign("  ", kind)
            self.lines.append("else:")
            self.assign("  ", kind)
        elif indent == "" and shape < 0.2:
            self.lines.append(
                f"for {self.pick('n0', 'n1')} in range({self.pick('3', 'len(l)', 'abs(j)', '0')}):"
            )
            self.assign("  ", kind)
        elif kind == "Tensor" and shape < 0.4:
            self.lines.append(f"{indent}{self.inplace()}")
        elif kind == "List[int]" and shape < 0.6:
            self.lines.append(
                indent
                + self.pick(
                    f"l.append({self.make('int', 2)})",
                    f"l[{self.make('int', 1)}] = {self.make('int', 1)}",
                    "l.reverse()",
                    "l.sort()",
                    f"l.insert({self.make('int', 1)}, {self.make('int', 1)})",
                    f"l.extend({self.make('List[int]', 1)})",
                    f"d[{self.make('str', 1)}] = {self.make('int', 1)}",
                    f"l.remove({self.make('int', 0)})",
                )
            )
        elif indent == "" and shape < 0.75:
            name = f"v{self.count}"
            self.count += 1
            self.lines.append(f"{name} = {self.make(kind, 3)}")
            self.variables[name] = kind
        else:
            self.assign(indent, kind)

    def assign(self, indent, kind):
        self.lines.append(f"{indent}{self.name(kind)} = {self.make(kind, 3)}")

    def name(self, kind):
        return self.pick(*[name for name, of in self.variables.items() if of == kind])

    def make(self, kind, depth):
        if depth <= 0 or self.random.random() < 0.15:
            return self.leaf(kind)
        t, i, f, b, s = (
            lambda k=k: self.make(k, depth - 1) for k in ("Tensor", "int", "float", "bool", "str")
        )
        ints = functools.partial(self.make, "List[int]", depth - 1)
        n = self.random.randint(-3, 3)
        if kind == "int":
            return self.pick(
                lambda: f"({i()} {self.pick('+', '-', '*', '//', '%', '&', '|', '^')} {i()})",
                lambda: f"-({i()})",
                lambda: f"abs({i()})",
                lambda: f"int({f()})",
                lambda: f"int({b()})",
                lambda: f"len({ints()})",
                lambda: f"len({s()})",
                lambda: f"min({i()}, {i()})",
                lambda: f"max({i()}, {i()})",
                lambda: f"sum({ints()})",
                lambda: f"{ints()}[{n}]",
                lambda: f"round({f()})",
                lambda: f"{t()}.dim()",
                lambda: f"{t()}.numel()",
                lambda: f"{t()}.size({n})",
                lambda: f"math.floor({f()})",
                lambda: f"math.ceil({f()})",
                lambda: f"({i()} if {b()} else {i()})",
                lambda: f"({i()} << {abs(n)})",
                lambda: f"({i()} >> {abs(n)})",
                lambda: f"{s()}.find({s()})",
                lambda: f"{s()}.count({s()})",
                lambda: f"ord({self.pick('s[0]', 's[-1]')})",
                lambda: f"d[{s()}]",
                lambda: f"{ints()}.index({i()})",
                lambda: f"max({ints()})",
                lambda: f"int({t()}.sum())",
            )()
        if kind == "float":
            return self.pick(
                lambda: f"({f()} {self.pick('+', '-', '*', '/', '//', '%')} {f()})",
                lambda: f"({i()} / {i()})",
                lambda: f"-({f()})",
                lambda: f"abs({f()})",
                lambda: f"float({i()})",
                lambda: f"({f()} + {i()})",
                lambda: f"({i()} * {f()})",
                lambda: f"min({f()}, {f()})",
                lambda: f"max({f()}, {f()})",
                lambda: f"math.sqrt({f()})",
                lambda: f"math.exp({f()})",
                lambda: f"math.log({f()})",
                lambda: f"math.pow({f()}, {f()})",
                lambda: f"({f()} ** {f()})",
                lambda: f"({i()} ** {i()})",
                lambda: f"math.fmod({f()}, {f()})",
                lambda: f"math.copysign({f()}, {f()})",
                lambda: f"float({t()}.mean())",
                lambda: f"math.tanh({f()})",
                lambda: f"math.atan2({f()}, {f()})",
                lambda: f"float({s()})",
            )()
        if kind == "bool":
            return self.pick(
                lambda: f"({i()} {self.pick('<', '<=', '==', '!=', '>', '>=')} {i()})",
                lambda: f"({f()} {self.pick('<', '<=', '==', '!=', '>', '>=')} {f()})",
                lambda: f"({i()} < {f()})",
                lambda: f"(not {b()})",
                lambda: f"({b()} and {b()})",
                lambda: f"({b()} or {b()})",
                lambda: f"({s()} == {s()})",
                lambda: f"({i()} in {ints()})",
                lambda: f"({s()} in {s()})",
                lambda: f"({ints()} == {ints()})",
                lambda: f"bool({i()})",
                lambda: f"bool({f()})",
                lambda: f"{s()}.startswith({s()})",
                lambda: f"{s()}.isdigit()",
                lambda: f"bool(({t()}).any())",
                lambda: f"torch.is_floating_point({t()})",
                lambda: f"({s()} < {s()})",
                lambda: f"({b()} ^ {b()})",
                lambda: f"torch.equal({t()}, {t()})",
                lambda: f"{t()}.is_contiguous()",
            )()
        if kind == "str":
            return self.pick(
                lambda: f"({s()} + {s()})",
                lambda: f"str({i()})",
                lambda: f"str({f()})",
                lambda: f"str({b()})",
                lambda: f"str({ints()})",
                lambda: f"{s()}.upper()",
                lambda: f"{s()}[{n}]",
                lambda: f"{s()}[{n}:]",
                lambda: f"{s()}[:{n}:2]",
                lambda: f"{s()}.strip()",
                lambda: f"{s()}.replace({s()}, {s()})",
                lambda: f"'{{}}-{{}}'.format({i()}, {f()})",
                lambda: f"'%d %s' % ({i()}, {s()})",
                lambda: f"({s()} * {abs(n)})",
                lambda: f"{s()}.join([{s()}, {s()}])",
                lambda: f"str({t()}.size())",
                lambda: f"{s()}.zfill({abs(n) * 2})",
                lambda: f"{s()}.center(9, '*')",
                lambda: f"{s()}.title()",
                lambda: f"chr(65 + {abs(n)})",
                lambda: f"hex({i()})",
                lambda: f"{s()}.split(',')[{self.pick(0, -1)}]",
            )()
        if kind == "List[int]":
            return self.pick(
                lambda: f"[{i()}, {i()}]",
                lambda: f"({ints()} + {ints()})",
                lambda: f"{ints()}[{n}:]",
                lambda: f"{ints()}[::{self.pick(1, 2, -1)}]",
                lambda: f"({ints()} * {abs(n)})",
                lambda: f"sorted({ints()})",
                lambda: f"list(range({i()} % 5))",
                lambda: f"[q * 2 for q in {ints()}]",
                lambda: f"{t()}.size()",
                lambda: f"{ints()}.copy()",
            )()
        return self.tensor(t, i, f, b, ints, n)

    def tensor(self, t, i, f, b, ints, n):
        unary = "abs neg relu sigmoid tanh exp floor ceil round sign sqrt square trunc erf isnan sin cos log1p reciprocal logical_not bitwise_not frac".split()
        binary = "add sub mul div maximum minimum pow fmod remainder atan2 eq ne lt le gt ge logical_and logical_or logical_xor bitwise_and bitwise_or floor_divide hypot copysign true_divide".split()
        reduce = "sum mean prod amax amin any all argmax argmin std var logsumexp cumsum cumprod softmax log_softmax".split()
        return self.pick(
            lambda: f"torch.{self.pick(*unary)}({t()})",
            lambda: f"torch.{self.pick(*unary)}({t()})",
            lambda: f"torch.{self.pick(*binary)}({t()}, {t()})",
            lambda: f"torch.{self.pick(*binary)}({t()}, {t()})",
            lambda: f"torch.{self.pick(*binary)}({t()}, {self.pick(i, f)()})",
            lambda: (
                f"({t()} {self.pick('+', '-', '*', '/', '//', '%', '<', '>', '==', '&', '|', '**')} {self.pick(t, i, f, t)()})"
            ),
            lambda: f"({self.pick(i, f)()} {self.pick('+', '-', '*', '/', '<', '>=', '**', '//')} {t()})",
            lambda: f"({t()} @ {t()})",
            lambda: f"torch.{self.pick(*reduce)}({t()}, {n})",
            lambda: f"torch.{self.pick('sum', 'mean', 'amax', 'prod')}({t()})",
            lambda: f"({t()}).t()",
            lambda: f"({t()})[{n}]",
            lambda: f"({t()})[{n}:]",
            lambda: f"({t()})[..., {n}]",
            lambda: f"({t()})[:, None]",
            lambda: f"({t()})[({t()}) > 0]",
            lambda: f"({t()})[:, ::{self.pick(1, 2)}]",
            lambda: f"({t()}).view({self.pick('-1', '[3, 2]', '[6]', '[-1, 3]')})",
            lambda: f"({t()}).reshape([{self.pick('-1', '3, 2', '2, 3')}])",
            lambda: f"({t()}).unsqueeze({n})",
            lambda: f"({t()}).squeeze({n})",
            lambda: f"({t()}).transpose({n}, {self.pick(0, 1, -1)})",
            lambda: f"({t()}).permute([1, 0])",
            lambda: f"({t()}).expand([{self.pick('2, 3', '-1, 3', '4, 2, 3')}])",
            lambda: f"torch.cat([{t()}, {t()}], {self.pick(0, -1)})",
            lambda: f"torch.stack([{t()}, {t()}])",
            lambda: f"torch.where({t()} > 0, {t()}, {t()})",
            lambda: f"torch.clamp({t()}, {self.pick('-1', '-0.5', 'None')}, {self.pick('1', '1.5', '2')})",
            lambda: (
                f"({t()}).to({self.pick('torch.float64', 'torch.int64', 'torch.float32', 'torch.bool', 'torch.uint8', 'torch.int32', 'torch.float16')})"
            ),
            lambda: f"torch.arange({i()} % 6)",
            lambda: (
                f"torch.arange({self.pick('0', '1')}, {self.pick('5', '4.5')}, {self.pick('1', '2', '0.5')})"
            ),
            lambda: f"torch.zeros([{i()} % 4, 2])",
            lambda: f"torch.full([2, 3], {self.pick(i, f, b)()})",
            lambda: f"torch.tensor({self.pick(i, f, b, ints)()})",
            lambda: f"torch.ones_like({t()})",
            lambda: f"torch.gather({t()}, {self.pick(0, 1)}, torch.zeros([1, 2], dtype=torch.int64))",
            lambda: f"({t()}).masked_fill({t()} > 0, {self.pick(i, f)()})",
            lambda: f"torch.sort({t()}, {self.pick(-1, 0)})[0]",
            lambda: f"torch.topk({t()}, 2)[0]",
            lambda: f"torch.max({t()}, {n})[1]",
            lambda: f"({t()}).flip([0])",
            lambda: f"torch.roll({t()}, {n}, 0)",
            lambda: f"({t()}).repeat([2, {self.pick(1, 2)}])",
            lambda: f"torch.flatten({t()})",
            lambda: f"torch.tril({t()})",
            lambda: f"torch.nonzero({t()})",
            lambda: f"torch.index_select({t()}, {self.pick(0, 1)}, torch.tensor([0, 1, 0]))",
            lambda: f"({t()}).clone()",
            lambda: f"({t()}).contiguous()",
            lambda: f"torch.matmul({t()}, ({t()}).t())",
            lambda: f"torch.chunk({t()}, 2, {self.pick(0, 1)})[0]",
            lambda: f"torch.split({t()}, 2, {self.pick(0, -1)})[-1]",
            lambda: f"torch.norm({t()})",
            lambda: f"torch.cumsum({t()}, {n})",
            lambda: f"({t()}).narrow({self.pick(0, 1)}, {self.pick(0, 1)}, 1)",
            lambda: f"torch.outer(b, {t()})",
            lambda: f"torch.linspace({f()}, {f()}, 4)",
            lambda: f"torch.eye({i()} % 4)",
            lambda: f"torch.bincount(torch.relu(({t()}).to(torch.int64)).flatten())",
            lambda: f"torch.diff({t()})",
        )()

    def leaf(self, kind):
        if kind == "int":
            return self.pick(
                self.name(kind), str(self.random.randint(-9, 9)), self.pick("9223372036854775807", "100", "0")
            )
        if kind == "float":
            return self.pick(
                self.name(kind), f"({self.random.uniform(-4, 4):.3f})", self.pick("0.0", "1e30", "(-2.0)")
            )
        if kind == "bool":
            return self.pick(self.name(kind), "True", "False")
        if kind == "str":
            return self.pick(self.name(kind), "'b'", "'x'", "','", "''", "'12'")
        return self.name(kind)

    def inplace(self):
        x, t = self.name("Tensor"), self.make("Tensor", 2)
        number = self.make(self.pick("int", "float"), 1)
        method = self.pick("add_", "sub_", "mul_", "div_", "pow_", "fmod_", "copy_", "add_")
        view = self.pick("", "", "[0]", "[..., 1:]", ".view(-1)", ".transpose(0, -1)")
        return self.pick(
            f"{x}{view}.{method}({t})",
            f"{x}{view}.add_({number})",
            f"{x}{view}.mul_({number})",
            f"{x} += {t}",
            f"{x} *= {number}",
            f"{x}{view}.zero_()",
            f"{x}{view}.fill_({number})",
            f"{x}{view}.relu_()",
            f"{x}{view}.clamp_(-1, 1)",
            f"{x}[0] = {number}",
            f"{x}[..., 0] = {t}",
            f"{x}[{x} > 0] = {number}",
            f"{x}{view}.masked_fill_({x}{view} > 0, {number})",
            f"{x}{view}.neg_()",
            f"{x}{view}.exp_()",
            f"{x}.unsqueeze_(0)",
            f"{x}.t_()",
            f"{x}[1:] -= {number}",
        )


# ---- running ---------------------------------------------------------------------------------------------------------
def encode(value, is_tensor):
    if is_tensor(value):
        strides = value.stride() if hasattr(value, "stride") else value.strides
        return {
            "dtype": str(value.dtype).split(".")[-1],
            "shape": list(value.shape),
            "stride": list(strides),
            "values": [repr(float(x)) for x in value.reshape([-1])[:100].tolist()],
        }
    if isinstance(value, (list, tuple)):
        return [encode(item, is_tensor) for item in value]
    if isinstance(value, dict):
        return [[key, encode(item, is_tensor)] for key, item in value.items()]
    return {"type": type(value).__name__, "value": repr(value)}


def run_torch(texts):
    import torch

    torch.set_num_threads(1)
    results = []
    for text in texts:
        try:
            function = torch.jit.CompilationUnit(text).f
        except Exception as error:
            results.append({"refused": str(error)[-300:]})
            continue
        try:
            arguments = [
                torch.tensor(v[2], dtype=getattr(torch, v[0])).reshape(v[1]) if kind == "Tensor" else v
                for kind, v in PARAMETERS.values()
            ]
            results.append({"result": encode(function(*arguments), torch.is_tensor)})
        except Exception as error:
            results.append({"error": str(error).strip().splitlines()[-1][:300]})
    return results


def run_weft(texts):
    import weft
    from script_archives import archive

    results = []
    for text in texts:
        head, body = text.split(":\n", 1)
        parameters, result = head[len("def f(") :].rsplit(") -> ", 1)
        names = [f"{name}: {kind}" for name, (kind, _) in PARAMETERS.items()]
        try:
            body = "\n".join(line[4:] for line in body.splitlines())
            module = weft.jit.load(io.BytesIO(archive([("f", names, result, body)])))
            function = module.f
        except Exception as error:
            results.append({"refused": str(error)[:600]})
            continue
        try:
            arguments = [
                weft.tensor(v[2], dtype=getattr(weft, v[0])).reshape(v[1])
                if kind == "Tensor"
                else json.loads(json.dumps(v))
                for kind, v in PARAMETERS.values()
            ]
            results.append({"result": encode(function(*arguments), lambda x: isinstance(x, weft.Tensor))})
        except Exception as error:
            results.append({"error": f"{type(error).__name__}: {error}"[:600]})
    return results


def close(a, b, tolerance):
    a, b = float(a), float(b)
    return a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= tolerance * max(1, abs(a), abs(b))


def difference(ours, theirs):
    """What differs, in words; None when nothing does."""
    if isinstance(theirs, list):
        if len(ours) != len(theirs):
            return "length"
        return next((found for a, b in zip(ours, theirs, strict=True) if (found := difference(a, b))), None)
    if not isinstance(theirs, dict):
        return None if ours == theirs else "value"
    if "dtype" in theirs:
        for key in ("dtype", "shape"):
            if ours.get(key) != theirs[key]:
                return f"{key} {ours.get(key)}, not {theirs[key]}"
        tolerance = {"float16": 2e-3, "float32": 2e-6}.get(theirs["dtype"], 1e-12)
        if not all(close(a, b, tolerance) for a, b in zip(ours["values"], theirs["values"], strict=True)):
            return f"elements {ours['values']}, not {theirs['values']}"
        sizes = theirs["shape"]
        relevant = [[s for s, n in zip(x["stride"], sizes, strict=True) if n > 1] for x in (ours, theirs)]
        return (
            f"strides {relevant[0]}, not {relevant[1]}"
            if relevant[0] != relevant[1] and 0 not in sizes
            else None
        )
    if ours.get("type") == theirs["type"]:
        same = (
            close(ours["value"], theirs["value"], 1e-12)
            if theirs["type"] == "float"
            else ours["value"] == theirs["value"]
        )
        if same:
            return None
    return f"{ours}, not {theirs}"


def verdict(ours, theirs):
    if "refused" in theirs:
        return None  # not a program
    if "refused" in ours:
        return "refused"
    if ("error" in ours) != ("error" in theirs):
        return "error" if "error" in ours else "no error"
    return None if "error" in ours else difference(ours["result"], theirs["result"])


def torch_results(texts):
    command = [os.environ["WEFT_TORCH_PYTHON"], __file__, "--torch"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    output = subprocess.run(
        command, input=json.dumps(texts), check=True, stdout=subprocess.PIPE, text=True, env=environment
    ).stdout
    return json.loads(output)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--torch", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--show", type=int, default=20, help="differences that are printed")
    options = parser.parse_args()
    if options.torch:
        json.dump(run_torch(json.load(sys.stdin)), sys.stdout)
        return 0
    if "WEFT_TORCH_PYTHON" not in os.environ:
        print("script_fuzz: skipped: WEFT_TORCH_PYTHON names no Python that has torch")
        return 0
    texts = [Program(options.seed * 1_000_003 + i).text for i in range(options.count)]
    theirs, ours = torch_results(texts), run_weft(texts)
    shown = differing = 0
    for index, (text, a, b) in enumerate(zip(texts, ours, theirs, strict=True)):
        kind = verdict(a, b)
        if kind is None:
            continue
        differing += 1
        if (shown := shown + 1) <= options.show:
            print(f"---- program {index} of seed {options.seed}: {kind}\n{text}")
            print(
                "".join(
                    f"  {name}: {result.get('error', result.get('refused'))}\n"
                    for name, result in (("weft", a), ("torch", b))
                    if "result" not in result
                ),
                end="",
            )
    ran = sum("result" in b for b in theirs)
    refused = sum("refused" in b for b in theirs)
    print(
        f"{options.count} programs: {ran} with results, {len(theirs) - ran - refused} with errors, {refused} that PyTorch refuses; {differing} differ"
    )
    return min(differing, 100)


if __name__ == "__main__":
    sys.exit(main())
