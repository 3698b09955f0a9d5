"""Differential fuzzing of weft.compile over tensors: random modules and functions, plain and compiled.

    tensor_fuzz.py [--programs N] [--seed S] [--minutes M]

A program is a module with layers, buffers, numbers, lists and hooks, and a forward of random statements: operators,
views, slices by symbolic integers, updates in place, out=, assigned buffers, branches on sizes, on flags and on data,
loops, containers, globals, closures and functions that are not compiled. It is made
twice from one seed; one of the two is compiled. Both are called, changed in the same way, and called again, with other
sizes too; results, states and what was logged must be the same. Prints the source of a program that differs, and exits
with 1.
"""

import argparse
import random
import sys
import time
import traceback

import numpy as np
import weft
from weft import nn

WIDTH = 4
UNARY = [
    "relu()",
    "sigmoid()",
    "tanh()",
    "abs()",
    "neg()",
    "exp().clamp(max=5.0)",
    "contiguous()",
    "clone()",
    "float()",
]
KEEPING = ["softmax(-1)", "cumsum(0)", "flip(0)", "roll(1, 0)", "sort(0)[0]", "double().float()", "detach()"]


class Program:
    """Source text of a class M(nn.Module) and of the changes between its calls."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines, self.names, self.count = [], ["x"], 0
        self.returned = None

    def pick(self, *choices):
        return self.random.choice(choices)

    def name(self):
        return self.random.choice(self.names)

    def number(self):
        return self.pick(
            "2.0", "0.5", "-1.5", "3", "self.scale", "FACTOR[0]", "self.options['k']", "bias", "self.calls"
        )

    def new(self):
        self.count += 1
        return f"v{self.count}"

    def expression(self):
        a, b = self.name(), self.name()
        kind = self.random.randrange(18)
        if kind == 15:
            return self.pick(
                f"weft.cat([{a}[k:], {a}[:k]], 0)",
                f"{a} * {b}[:k].mean(0)",
                f"{a} + {b}[-k:].sum(0, keepdim=True)",
                f"{a} + weft.arange(k + 1).sum()",
                f"{a} + weft.arange(k, k + 4)",
                f"{a}.narrow(0, 0, 1) + {b}",
                f"{a} * k",
                f"{a}[:, : k + 1].sum(1, keepdim=True) + {b}",
            )
        if kind == 16:
            return f"{self.pick('outside', 'helper')}({a}, {self.pick('k', '2', 'self.scale')})"
        if kind == 17:
            return self.pick(
                f"{a}.reshape(-1).reshape({b}.shape)",
                f"{a} + len({b})",
                f"{a}.clone().masked_fill({b} > 0, 0.5)",
                f"{a}.chunk(2, 1)[0].repeat(1, 2)",
                f"weft.stack([{a}, {b}]).amax(0)",
                f"{a}.unsqueeze(0).expand(2, -1, -1).mean(0)",
            )
        if kind < 3:
            return f"{a} {self.pick('+', '-', '*')} {b}"
        if kind < 5:
            return f"{a} {self.pick('+', '-', '*', '/')} {self.number().replace('self.calls', '(self.calls + 1)')}"
        if kind < 7:
            return f"{a}.{self.pick(*UNARY)}"
        if kind < 8:
            return f"{a}.{self.pick(*KEEPING)}"
        if kind < 9:
            return f"self.layers[{self.pick('0', '-1')}]({a})"
        if kind < 10:
            return f"self.{self.pick('first', 'last')}({a})"
        if kind < 11:
            return f"weft.where({a} > {b}, {a}, {b})"
        if kind < 12:
            return f"{a} + self.{self.pick('shift', 'first.weight[0]', 'last.bias')}"
        if kind < 13:
            return f"weft.cat([{a}, {b}], 0)[: x.shape[0]]"
        if kind < 14:
            return f"helper({a}, {self.number()})"
        return f"({a} @ {b}.t()).sum(-1, keepdim=True) * {a}"

    def statement(self, indent, depth):
        kind = self.random.randrange(20)
        put = lambda text: self.lines.append("    " * indent + text)  # noqa: E731
        if kind < 10 or depth > 2:
            expression, name = self.expression(), self.new()
            put(f"{name} = {expression}")
            if depth == 0:
                self.names.append(name)
            else:
                put(f"{self.name()} = {name}")
        elif kind < 12:
            fresh = [n for n in self.names if n != "x"]
            put("pass")
            if fresh:
                target = self.random.choice(fresh)
                put(f"{target} = {target}.clone()" if self.random.random() < 0.5 else "pass")
                put(
                    self.pick(
                        f"{target} += {self.name()}",
                        f"{target}.mul_({self.number()})",
                        f"{target}[0] = {self.name()}[-1]",
                        f"{target}[:, 1:3].add_(1)",
                        f"{target}.t()[0] *= 2",
                    )
                )
        elif kind < 13:
            put(
                self.pick(
                    "self.shift.add_(0.5)",
                    f"self.shift[1] = {self.name()}.mean()",
                    "self.total += x.shape[0]",
                    f"self.shift = self.shift * 0.5 + {self.name()}.mean(0)",
                    f"self.shift = {self.name()}[0].clone()",
                    f"self.shift[: k + 1] = {self.name()}[0, : k + 1]",
                    f"weft.add(self.shift, {self.name()}[0], out=self.shift)",
                )
            )
        elif kind < 14:
            put(self.pick("self.calls += 1", "self.log.append(x.shape[0])", "LOG.append(len(self.layers))"))
        elif kind < 17:
            condition = self.pick(
                "self.flag", "x.shape[0] > 3", "self.training", f"{self.name()}.sum() > 0", "bias > 1",
                f"{self.name()}.mean().item() > 0", "len(self.log) % 2", "FACTOR[0] > 1",
            )  # fmt: skip
            put(f"if {condition}:")
            put("    pass")
            self.statement(indent + 1, depth + 1)
            if self.random.random() < 0.5:
                put("else:")
                put("    pass")
                self.statement(indent + 1, depth + 1)
        elif kind < 19:
            loop = self.pick("for layer in self.layers:", "for i in range(2):", "for row in [x, x * 2]:")
            put(loop)
            put("    pass")
            target = self.name()
            if "layer" in loop:
                put(f"    {target} = layer({target})")
            elif "row" in loop:
                put(f"    {target} = {target} + row")
            else:
                self.statement(indent + 1, depth + 1)
        else:
            put(f"pair = ({self.name()}, {{'a': {self.name()}}})")
            put(f"{self.name()} = pair[0] + pair[1]['a']")

    def source(self):
        for _ in range(self.random.randint(3, 10)):
            self.statement(2, 0)
        results = [self.name() for _ in range(self.random.randint(1, 3))]
        layer = self.pick("nn.Linear(4, 4)", "nn.LayerNorm(4)", "nn.ReLU()", "nn.Linear(4, 4, bias=False)")
        lines = [
            "FACTOR, LOG = [1.5], []",
            "def helper(x, k):",
            "    return x * k + 1",
            "@weft.compiler.disable",
            "def outside(x, k):",
            "    return x - k",
            "class M(nn.Module):",
            "    def __init__(self):",
            "        super().__init__()",
            "        self.first, self.last = nn.Linear(4, 4), nn.Linear(4, 4)",
            f"        self.layers = nn.ModuleList([{layer}, nn.Tanh()])",
            "        self.scale, self.flag, self.calls, self.log, self.total = 1.5, False, 0, [], 0",
            "        self.options = {'k': 2.0}",
            "        self.register_buffer('shift', weft.ones(4))",
            "    def forward(self, x, bias=0.5, k=1):",
            *self.lines,
            f"        return {', '.join(results)}{',' if len(results) == 1 else ''}",
        ]
        return "\n".join(lines)

    def change(self):
        return self.pick(
            "m.first.weight.mul_(0.5)", "m.scale = 2.5", "m.flag = not m.flag", "m.eval()", "m.train()",
            "m.layers.append(filled(nn.Linear(4, 4), 7))", "m.options['k'] = 3.0", "FACTOR[0] = 0.5", "m.shift.fill_(2)",
            "m.last.register_forward_hook(lambda mod, args, out: out * 2)", "m.first = nn.Identity()",
            "m.first.__dict__['forward'] = lambda x: x + 2", "m.layers[0] = nn.Sigmoid()", "pass",
            "m.last.bias = nn.Parameter(weft.ones(4))", "m.first.float()", "m.last.weight.numpy()[1] = 0.25",
        )  # fmt: skip


def filled(module, seed):
    numbers = np.random.default_rng(seed)
    for parameter in module.parameters():
        parameter.copy_(weft.tensor(numbers.standard_normal(tuple(parameter.shape)).astype(np.float32) * 0.5))
    return module


def made(text, seed):
    namespace = {"weft": weft, "nn": nn, "filled": filled}
    exec(compile(text, f"<program {seed}>", "exec"), namespace)
    namespace["m"] = filled(namespace["M"](), seed)
    return namespace


def outcome(call, *args, **kwargs):
    try:
        return call(*args, **kwargs), None
    except Exception as error:
        return None, f"{type(error).__name__}: {error}"


def is_same(a, b):
    return (
        a.dtype == b.dtype
        and a.shape == b.shape
        and np.allclose(a.numpy(), b.numpy(), 1e-3, 1e-4, equal_nan=True)
    )


def difference(seed):
    program = Program(seed)
    text = program.source()
    plain, compiled = made(text, seed), made(text, seed)
    function = weft.compile(compiled["m"], dynamic=program.pick(None, None, True, False))
    steps = []
    for call in range(6):
        rows = program.pick(2, 3, 3, 4, 6)
        x = np.random.default_rng(seed + call).standard_normal((rows, WIDTH)).astype(np.float32)
        keywords = program.pick({}, {"k": program.pick(1, 2, 3)}, {"bias": program.pick(0.5, 1.5, 2)})
        steps.append(f"call with {rows} rows, {keywords}")
        arguments = [weft.tensor(x), weft.tensor(x)]
        expected, refused = outcome(plain["m"], arguments[0], **keywords)
        got, refusal = outcome(function, arguments[1], **keywords)
        what = None
        if (refused is None) != (refusal is None) or (refused and refused != refusal):
            what = f"raised {refusal}, not {refused}"
        elif refused is None and not all(is_same(a, b) for a, b in zip(expected, got)):
            what = f"results\n{got}\nnot\n{expected}"
        elif not is_same(*arguments) or not is_same(plain["m"].shift, compiled["m"].shift):
            what = "an argument or a buffer"
        else:
            states = [(n["m"].calls, n["m"].log, n["m"].total, n["LOG"]) for n in (plain, compiled)]
            if states[0] != states[1]:
                what = f"state {states[1]}, not {states[0]}"
        if what:
            return f"seed {seed}: {what}\n{text}\n" + "\n".join(steps)
        if refused:
            return None
        change = program.change()
        steps.append(change)
        for namespace in (plain, compiled):
            outcome(exec, change, namespace)
    return None


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    options = parser.parse_args()
    start, failures, tried = time.monotonic(), 0, 0
    for seed in range(options.seed, options.seed + options.programs):
        if time.monotonic() - start > options.minutes * 60:
            break
        tried += 1
        try:
            found = difference(seed)
        except Exception:
            found = f"seed {seed}: {traceback.format_exc()}"
        if found:
            failures += 1
            print(found, end="\n\n", flush=True)
        if seed % 50 == 0:
            weft.compiler.reset()
    print(f"{tried} programs, {failures} failures")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
