"""Random tensor programs, grown while plain weft runs them, so that most statements are valid."""

from __future__ import annotations

import collections
import contextlib
import copy
import dataclasses
import enum
import functools
import random
import re
import threading
import types

import numpy as np
import weft
import weft.nn.functional as F
from tensor_calls import CONVERTING, DECIDING, EXACT, IN_PLACE, RANDOM, ROUNDED, entries
from tensor_surroundings import MODULES, SURROUNDINGS, for_owner
from tensor_values import arg, filled
from time_limits import TimedOut, time_limit
from weft import nn

SECONDS_PER_STATEMENT = 3
DTYPES = ["float32"] * 5 + ["float64", "int64", "int32", "bool", "bfloat16", "float16", "uint8", "int8"]
LAYOUTS = ["C"] * 6 + ["transposed", "strided", "offset", "expanded", "unaligned"]
SIZES = [0, 1, 2, 3, 4, 5, 8]
BIG = 40_000  # elements of a row: what is done to two of them is parallel
LARGEST = 1 << 18  # elements of what they make
HUGE = 1 << 22  # elements: 16 MiB of float32, from which on other memory and other stores are used
CONSTANTS = ["2", "3", "-1", "0.5", "-1.5", "2.0", "1", "0", "True", "4.0"]
HEADS = entries("""
if {s}.sum() > 0: | if {x}.sum() > {c}: | if {x}.shape[0] > 2: | if flag: | if k > 1: | if {x}.any(): | if {x}.sum().item() > 0: | if {n} % 2: | if {x}.dtype == T.float32: | if {x} is {x}: | if not {x}.numel(): | if {x}.is_contiguous(): | if {c}: | if {x}.ndim == 2 and {x}.shape[1] == 4:
for i in range({n}): | for row in {x}: | for i in range(2): | for i, row in enumerate({x}): | for y in ({x}, {x}): | for y, z in zip({x}, {x}): | for y in [{x}, {x}, 1.0]: | for i in range({x}.shape[0]): | for y in {x}.split(1): | while {x}.sum() < 4 and bound(9): | for key, y in {{'a': {x}, 'b': {x}}}.items(): | for y in reversed([{x}, {c}]):
with T.no_grad(): | with T.inference_mode(): | with T.enable_grad(): | with T.set_grad_enabled(flag): | with contextlib.suppress(ZeroDivisionError): | with T.device("cpu"): | with T.autocast("cpu", dtype=T.bfloat16): | with contextlib.nullcontext({x}) as y: | with T.autocast("cpu", enabled=False): | with T.random.fork_rng():
try: | def local(y, n={n}):
""")  # fmt: skip
ENDINGS = entries("""
except ValueError as error: | except (TypeError, IndexError): | except Exception as error: | finally: | except RuntimeError: | except KeyError: | except BaseException:
""")  # fmt: skip
RAISING = entries("""
raise ValueError(f"bad {{{x}.shape}}") | raise KeyError({n}) | assert {x}.sum() > 100, "small" | {x} / 0 // 0 + [] | {x}[100] | {x}.nothing | undefined_name | {x}.reshape(7, 11) | {{}}['missing'] | int('x') | {x} @ T.ones(97, 3) | 1 / ({n} * 0) | raise RuntimeError(str({n})) | T.cat([]) | {x} + 'a' | {x}.view(-3)
""")  # fmt: skip
RESULTS = entries("""
{x} | {x}, {x} | [{x}, {x}] | {{'a': {x}, 'b': [{x}, {n}]}} | {x}, {n} | {x}, {c}, {x} | ({x}, [{x}], {{'z': ({x},)}}) | {n} | None | [{x}, *{x}] | {x}, {x}.shape, {x}.dtype | {x}.sum().item() | {x}, {x}.view(-1) | {x}.tolist() | [y for y in {x}] | f"{{{n}}}" | {x}, {x} is {x} | collections.OrderedDict(a={x}) | {x}, {x}[0], {x}.t() | {{1: {x}, None: {x}}} | slice({n}, {x}) | {x}.detach(), {x} | (y for y in [{x}]).__next__() | types.SimpleNamespace(a={x}, n={n}) | {x}, not {x}.numel() | dict(zip('ab', [{x}, {c}]))
""")  # fmt: skip
CONTAINERS = entries("""
box = [{x}, {c}, {x}] | box = ({x}, {{'a': {x}}}) | box = {{'a': {x}, 'b': {x}}} | box = list({x}) | box = [y * 2 for y in {x}] | box = {{i: {x} for i in range(2)}} | box = [[{x}], [{x}]] | box = {x}.shape | box = [{x}] * 2 | box = sorted([{n}, {c}, 1]) | box = {x}.chunk(2) | box = {x}.max(0) | box = {x}.tolist() | box = collections.deque([{x}]) | box = set([{n}, 1]) | box = [{x}, {x}][::-1] | box = dict(a={x}, **{{'c': {n}}}) | box = tuple(y for y in ({x}, {x}))
""")  # fmt: skip
BOX = entries("""
box[0] | box[-1] | box['a'] | box[1]['a'] | sum(box) | [*box][0] | list(box.values())[0] | box[0][0] | len(box) | box.values | {x} + len(box) | [y for y in box][-1] | next(iter(box)) | T.stack(list(box)) | T.cat([*box]) | T.tensor(box) | {x}.new_zeros(box) | {x}.reshape(box) | {x} * box[1]
""")  # fmt: skip
BOX_STATEMENTS = entries("""
box.append({x}) | box[0] = {x} | box['b'] = {x} | box[0].add_(1) | box += [{x}] | box.pop() | first, *rest = box | del box[0] | box[0] += 1 | box.extend([{x}]) | box['n'] = {n} | box.insert(0, {x}) | box['a'] = box['a'] + 1 | box.update(b={x}) | a, b = box[0], box[-1]
""")  # fmt: skip
# Entries that make an object of each row or element of a tensor.
BY_ROWS = re.compile(
    r"\bin \{\w\}|tolist|\b(list|tuple|sorted|sum|max|min|zip|iter|enumerate|map|deque|any|all|set)\(\{\w\}|split\(1\)"
    r"|unbind|\bzip\(|range\(\{\w\}\.shape|\*\{\w\}|\bin \(\{\w\}\)"
)
# Entries whose results or work grow with the square of a size.
BY_SQUARES = re.compile(
    r"@|\bmm\(|\bbmm|addmm|matmul|einsum|linear\(|outer|diag|combinations|cartesian|meshgrid|tensordot|attention|eye\(|tril\(T"
    r"|one_hot|zeros\(\{x\}\.shape\[0\], \{n\}"
)
MOST_ITEMS = 1000  # of a container
THREADS = 3


def bounded():
    """bound(n): whether it has been asked at most n times, so that every loop ends."""
    asked = [0]

    def bound(n):
        asked[0] += 1
        return asked[0] <= n

    return bound


def call_in_threads(function, count, *args, **kwargs):
    """What so many threads get that call it at once, each with tensors of its own."""
    outcomes = [None] * count

    def call(number, args):
        try:
            outcomes[number] = function(*args, **kwargs)
        except Exception as error:
            outcomes[number] = f"{type(error).__name__}: {error}"

    threads = [
        threading.Thread(target=call, args=(number, copy.deepcopy(args)), daemon=True)
        for number in range(count)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        if thread.is_alive():
            raise RuntimeError("a thread hangs")
    return outcomes


def namespace(library, is_exact, compiled):
    """What programs find. `compiled`: makes a compiled function of one, or gives it back."""
    return {
        "T": library,
        "weft": weft,
        "np": np,
        "nn": nn,
        "F": F,
        "arg": arg,
        "filled": filled,
        "compiled": compiled,
        "EXACT": is_exact,
        "GENERATOR": weft.random.Generator().manual_seed(3),
        "bound": bounded(),
        "call_in_threads": call_in_threads,
        **{
            m.__name__: m
            for m in (functools, collections, contextlib, dataclasses, enum, types, threading, copy)
        },
    }


def ungraded(function, **options):
    return function


@dataclasses.dataclass
class Program:
    lines: list  # of the module
    steps: list  # lines that are run one after the other, the namespaces compared after each
    is_exact: bool
    settings: dict  # of weft.compile
    size: str = (
        "small"  # of its arguments: above "big" loops are parallel, above "huge" memory is used otherwise
    )

    def text(self):
        return "\n".join(self.lines)


class Generator:
    def __init__(self, seed, library):
        self.random = random.Random(seed)
        self.seed, self.library = seed, library
        self.counter = 0
        chance = self.chance
        self.is_exact = chance(0.7)
        self.is_special = self.is_exact and chance(0.15)
        self.has_random = chance(0.15)
        self.is_huge = chance(0.001)
        self.is_big = self.is_huge or chance(0.02)
        self.kind = self.pick("function", "function", "method", "forward", "forward")
        self.has_modules = self.kind == "forward" or chance(0.15)
        self.names = []
        self.body = []
        self.surroundings = self.random.sample(
            list(SURROUNDINGS.values()),
            self.pick(0, 0, 1, 1, 2, 3) if self.kind != "forward" else self.pick(0, 0, 1),
        )
        if self.has_modules:
            owner = "self" if self.kind == "forward" else "NET"
            self.owned = dataclasses.replace(
                MODULES,
                **{
                    field: for_owner(getattr(MODULES, field), owner)
                    for field in ("numbers", "tensors", "expressions", "statements")
                },
            )
            self.surroundings.insert(0, self.owned)
        # A subset of what there is, so that programs differ in kind.
        self.exact = self.random.sample(EXACT, self.pick(20, 60, 200))
        self.share_in_place = self.pick(0, 0.1, 0.3)
        self.share_control = self.pick(0, 0.1, 0.25)
        self.share_containers = self.pick(0, 0, 0.15)

    def pick(self, *choices):
        return self.random.choice(choices)

    def chance(self, probability):
        return self.random.random() < probability

    # ---- arguments ----
    def make_arguments(self):
        """(N, 4) and what broadcasts with it, mostly."""
        forms = [["N", 4]] * 3 + [["N", 4], [4], ["N"], [], ["N", 1], ["M", 4], ["N", "M"], ["N", "M", 4], [1, 4], ["M"], [2, "N", "M"]]  # fmt: skip
        if self.is_big:
            forms = [["B", 4], ["B"], [4, "B"], ["B", 1]]
        if self.is_huge:
            forms = [["R", 4], ["R", 4], ["H"], [4, "R"], ["R", 1]]
        self.arguments = []
        for i in range(self.pick(1, 2, 2, 3)):
            form = self.pick(*forms)
            if i == 0 and self.has_modules:
                form = ["R" if self.is_huge else "N", 4]
            dtype = "float32" if i == 0 and self.has_modules or self.chance(0.4) else self.pick(*DTYPES)
            if not self.is_exact and dtype in ("bfloat16", "float16"):
                dtype = "float64"
            self.arguments.append([form, dtype, self.pick(*LAYOUTS)])
        self.sizes = {
            "N": self.pick(*SIZES[1:]),
            "M": self.pick(*SIZES),
            "B": self.pick(BIG, BIG + 1, BIG * 2),
            **self.huge_sizes(),
        }

    def huge_sizes(self):
        return {"R": HUGE // 4 + self.pick(0, 0, 1, -1), "H": HUGE + self.pick(0, 0, 1, -1, 16)}

    def argument_text(self, i):
        form, dtype, layout = self.arguments[i]
        shape = tuple(self.sizes.get(size, size) for size in form)
        special = ", special=True" if self.is_special and self.chance(0.5) else ""
        return f"a{i} = arg({self.random.randrange(100)}, {shape}, {dtype!r}, {layout!r}{special})"

    # ---- statements ----
    def fits(self, name, kind):
        value = self.scope.get(name)
        if not isinstance(value, weft.Tensor):
            return False
        if kind == "x":
            return True
        if kind == "f":
            return value.is_floating_point()
        if kind == "b":
            return value.dtype == weft.bool
        if kind == "i":
            return not value.is_floating_point() and value.dtype != weft.bool
        return value.ndim == {"s": 0, "v": 1}.get(kind, value.ndim) and (kind != "w" or value.ndim >= 2)

    def tensor(self, kind):
        if self.chance(0.12):
            owned = [t for s in self.surroundings for t in s.tensors]
            if owned:
                return self.pick(*owned)
        names = [name for name in self.names if self.fits(name, kind)]
        if names:
            return names[-1] if self.chance(0.4) else self.pick(*names)
        x = self.pick(*self.names) if self.names else "a0"
        made = {"x": "{}", "f": "{}.float()", "b": "({} > 0)", "i": "{}.long()", "s": "{}.sum()", "v": "{}.reshape(-1)", "w": "{}.reshape(2, -1)"}[kind]  # fmt: skip
        return made.format(x)

    def number(self):
        owned = [n for s in self.surroundings for n in s.numbers]
        if owned and self.chance(0.4):
            return self.pick(*owned)
        return self.pick(*CONSTANTS, "bias", "bias", "k")

    def small(self):
        if self.is_big and self.chance(0.7 if not self.is_huge else 1):
            return self.pick("k", "1", "2", "(k + 1)", "int(bias)")
        return self.pick("k", "k", "1", "2", f"{self.tensor('x')}.shape[0]", "(k + 1)", "len(" + self.tensor("x") + ")", "x0", "int(bias)")  # fmt: skip

    def filled(self, entry):
        def replaced(match):
            kind = match.group(1)
            if kind == "c":
                return self.number()
            if kind == "n":
                return self.small()
            if kind == "d":
                return self.pick("0", "-1", "1", "0", "-2", "k")
            return self.tensor(kind)

        text = re.sub(r"(?<!\{)\{([xfibsvwcnd])\}(?!\})", replaced, entry)
        if "{{" in text:
            text = re.sub(r"\{\{\{([xn])\}\}\}", lambda m: "{" + replaced(m) + "}", text)
            text = text.replace("{{", "{").replace("}}", "}")
        return text

    def pick_allowed(self, entries):
        """Programs over large tensors do not go over them row by row: that and comparing the rows takes minutes."""
        return self.pick(*filter(self.is_small_enough, entries))

    def is_small_enough(self, entry):
        return not self.is_big or not (BY_ROWS.search(entry) or BY_SQUARES.search(entry))

    def is_allowed(self, entry):
        if not self.is_small_enough(entry):
            return False
        if self.is_special and any(part in entry for part in CONVERTING):
            return False
        return self.is_exact or not any(part in entry for part in DECIDING)

    def expression(self):
        for _ in range(20):
            if self.has_random and self.chance(0.2):
                entry = self.pick(*RANDOM)
            elif not self.is_exact and self.chance(0.35):
                entry = self.pick(*ROUNDED)
            elif self.surroundings and self.chance(0.35):
                owned = [e for s in self.surroundings for e in s.expressions]
                entry = self.pick(*owned)
            elif self.has_box and self.chance(0.3):
                entry = self.pick(*BOX)
            else:
                entry = self.pick(*self.exact) if self.chance(0.8) else self.pick(*EXACT)
            if self.is_allowed(entry):
                return self.filled(entry)
        return "a0 + 1"

    def simple(self):
        """Text of a statement and the name that it gives a value."""
        if self.chance(self.share_in_place):
            owned = [e for s in self.surroundings for e in s.statements]
            entry = self.pick(*owned) if owned and self.chance(0.4) else self.pick(*IN_PLACE)
            if self.is_allowed(entry):
                return self.filled(entry), None
        if self.chance(self.share_containers):
            if self.has_box and self.chance(0.5):
                return self.filled(self.pick(*BOX_STATEMENTS)), None
            return self.filled(self.pick_allowed(CONTAINERS)), "box"
        if self.chance(0.15) and self.names:
            name = self.pick(*self.names)
        else:
            self.counter += 1
            name = f"v{self.counter}"
        return f"{name} = {self.expression()}", name

    def block(self, depth=0):
        head = self.filled(self.pick_allowed(HEADS))
        if not self.is_exact and head.startswith(("if", "while")) and not head.startswith(("if flag", "if k", "if x.shape")):  # fmt: skip
            head = "if flag:"
        lines, given = [head], []
        for _ in range(self.pick(1, 1, 2, 3)):
            text, name = self.nested(depth)
            lines += ["    " + line for line in text.split("\n")]
            given.append(name)
        if head.startswith(("for", "while", "if")) and self.chance(0.15):
            lines.append(
                "    " + self.pick("continue", "break") if head.startswith(("for", "while")) else "    pass"
            )
        if head.startswith("for row") and self.names:
            lines.append(f"    {self.pick(*self.names)} = {self.pick(*self.names)} + row")
        if head.startswith("try"):
            if self.chance(0.4):
                lines.append("    " + self.filled(self.pick(*RAISING)))
            lines.append(self.pick(*ENDINGS))
            lines.append("    " + self.simple()[0])
        if head.startswith("def"):
            lines += [f"    return y + n + {self.pick(*self.names)}" if self.names else "    return y"]
            self.counter += 1
            name = f"v{self.counter}"
            lines.append(f"{name} = local({self.tensor('x')})")
            return "\n".join(lines), [name]
        if head.startswith("if") and self.chance(0.5):
            lines.append("else:")
            lines += ["    " + line for line in self.nested(depth)[0].split("\n")]
        return "\n".join(lines), given

    def nested(self, depth):
        if depth < 2 and self.chance(0.15):
            text, names = self.block(depth + 1)
            return text, names[0] if names else None
        return self.simple()

    def grow(self):
        """One more statement that runs; seldom one that raises."""
        for _ in range(8):
            if self.chance(self.share_control):
                text, names = self.block()
            else:
                text, name = self.simple()
                names = [name]
            if "global " in text:
                continue
            try:
                with time_limit(SECONDS_PER_STATEMENT, of_processor=True):
                    exec(compile(text, "<statement>", "exec"), self.scope)
            except (SyntaxError, TimedOut):
                continue
            except Exception:
                if not self.chance(0.004):
                    continue
                self.body.append(text)
                return False
            if not all(self.is_usable(self.scope.get(name)) for name in names):
                for name in names:
                    self.scope.pop(name, None)
                    if name in self.names:
                        self.names.remove(name)
                self.broken = True
                continue
            self.body.append(text)
            for name in names:
                if name == "box":
                    self.has_box = True
                elif name and name not in self.names and name in self.scope:
                    self.names.append(name)
            return True
        return True

    def is_usable(self, value):
        """Not too large, and exact where the program is."""
        if isinstance(value, list | tuple | dict | set | collections.deque):
            return len(value) <= MOST_ITEMS
        if not isinstance(value, weft.Tensor):
            return True
        if value.numel() > (2 * HUGE if self.is_huge else LARGEST if self.is_big else 4096):
            return False
        if value.dtype == weft.bool or not value.is_floating_point() or not value.numel():
            return not str(value.dtype).endswith(("complex64", "complex128"))
        numbers = value.detach().double().numpy()
        numbers = numbers[np.isfinite(numbers)] if self.is_special else numbers
        if not numbers.size:
            return True
        if not self.is_exact:
            return bool(np.all(np.abs(numbers) < 1e4))
        return bool(np.all(np.abs(numbers) < 4096) and np.all(numbers * 64 == np.floor(numbers * 64)))

    # ---- the whole ----
    def generate(self):
        self.make_arguments()
        self.has_box = False
        scope = self.scope = namespace(self.library, self.is_exact, ungraded)
        lines = [line for s in self.surroundings for line in s.lines.split("\n")]
        exec(compile("\n".join(lines), "<surroundings>", "exec"), scope)
        scope.update(k=2, flag=False, bias=0.5)
        if self.kind == "forward":
            scope["self"] = scope["NET"]
        self.steps = []
        for i in range(len(self.arguments)):
            text = self.argument_text(i)
            self.steps.append(text)
            exec(text, scope)
            self.names.append(f"a{i}")
        self.body.append(f"x0 = {self.pick('a0.shape[0] if a0.ndim else 1', 'k', 'a0.ndim')}")
        exec(self.body[0], scope)
        for _ in range(self.pick(1, 2, 3, 4) if self.is_huge else self.pick(1, 2, 3, 4, 6, 8, 12)):
            if not self.grow():
                break
        results = self.filled(
            self.pick_allowed(RESULTS) if self.chance(0.6) else self.pick("{x}", "{x}, {x}")
        )
        if self.chance(0.01):
            self.body.append(self.filled(self.pick(*RAISING)))
        names = ", ".join(f"a{i}" for i in range(len(self.arguments)))
        of_object = "self, " if self.kind in ("method", "forward") else ""
        head = f"def {'forward' if self.kind == 'forward' else 'program'}({of_object}{names}, k=2, flag=False, *, bias=0.5):"  # fmt: skip
        body = ["    " + line for text in self.body for line in text.split("\n")] + [f"    return {results}"]
        size = "huge" if self.is_huge else "big" if self.is_big else "small"
        return Program(
            lines + self.defined(head, body), self.all_steps(), self.is_exact, self.settings(), size
        )

    def settings(self):
        settings = {"dynamic": self.pick(None, None, None, True, False)}
        if self.chance(0.1):
            settings["mode"] = "reduce-overhead"
        return settings

    def defined(self, head, body):
        if self.kind == "function":
            made = self.pick(
                "call = compiled(program)", "call = compiled(program)", "call = compiled(functools.partial(program, k=3))",
                "call = compiled(lambda *args, **kwargs: program(*args, **kwargs))",
            )  # fmt: skip
            return [head, *body, made]
        if self.kind == "method":
            return [
                "class Owner:",
                "    k = 1",
                *("    " + line for line in [head, *body]),
                "OWNER = Owner()",
                self.pick(
                    "call = compiled(OWNER.program)",
                    "call = functools.partial(compiled(Owner.program), OWNER)",
                ),
            ]
        # Calls of itself end where Python's frames do: elsewhere in another one.
        body = [re.sub(r"\b(OTHER_NET|(self|P|NET)\.(__call__|forward))\(", "F.relu(", line) for line in body]
        return [head, *body, "Net.forward = forward", self.pick("call = compiled(NET)", "call = compiled(NET)", "call = compiled(NET.forward)")]  # fmt: skip

    def call_text(self):
        names = [f"a{i}" for i in range(len(self.arguments))]
        if self.chance(0.08) and len(names) > 1:
            names[-1] = self.pick("a0", "a0[:]", "a0[1:]", "a0.t()", "a0.view(-1)")
        elif self.chance(0.02):
            names[-1] = self.pick("2.0", "3", "None", "a0.numpy()", "[a0]", "True")
        keywords = self.pick(
            "", "", "", f", {self.pick(0, 1, 2, 3)}", f", k={self.pick(0, 1, 2, 3, 5)}", f", flag={self.pick(True, False)}", f", bias={self.pick(0.5, 1.5, 2, -1.0, True)}",
        )  # fmt: skip
        arguments = ", ".join(names) + keywords
        if self.has_threads and self.chance(0.5):
            return f"r = call_in_threads(call, {THREADS}, {arguments})"
        return f"r = call({arguments})"

    def all_steps(self):
        self.has_threads = (
            self.chance(0.05) and not self.surroundings and not self.has_random
            and not any("GENERATOR" in text or "bound(" in text for text in self.body)
        )  # fmt: skip
        steps = self.steps
        owned = [c for s in self.surroundings for c in s.changes]
        for number in range(self.pick(3, 4, 5, 6)):
            if number:
                self.change_arguments(steps)
                if owned and self.chance(0.7):
                    for _ in range(self.pick(1, 1, 2)):
                        steps.append(self.pick(*owned))
                if self.chance(0.06):
                    steps.append(self.pick(*AMBIENT))
                if self.chance(0.1):
                    steps.append(self.pick("r = None", "a0.add_(1)", "a0 = a0.clone()", "a0.mul_(2)", "r[0].add_(1)", "a0 = r", "a0 = r[0]", "a0.numpy()[...] = 1", "call = compiled(call)", "a0 = a0.requires_grad_(True)", "a0 = a0[1:]"))  # fmt: skip
            steps.append(self.call_text())
            if self.chance(0.15):
                steps.append(steps[-1])
        return steps

    def change_arguments(self, steps):
        if self.chance(0.45):
            name = self.pick("N", "N", "M")
            self.sizes[name] = self.pick(*SIZES)
            if self.is_big:
                self.sizes["B"] = self.pick(BIG, BIG + 3, BIG * 2, 5)
            if self.is_huge:
                self.sizes.update(self.huge_sizes())
            made = range(len(self.arguments))
        elif self.chance(0.6):
            made = [self.random.randrange(len(self.arguments))]
        else:
            return
        if self.chance(0.25):
            self.arguments[made[-1]][2] = self.pick(*LAYOUTS)
        if self.chance(0.1):
            self.arguments[made[-1]][1] = self.pick(*DTYPES[:9])
        if self.chance(0.03):
            self.arguments[made[-1]][0] = self.pick(["N"], [4], [], ["N", 4], ["N", 2, 4])
        steps += [self.argument_text(i) for i in made]


AMBIENT = entries("""
T.set_num_threads(1) | T.set_num_threads(2) | T.set_default_dtype(T.float64) | T.set_default_dtype(T.float32) | T.set_grad_enabled(False) | T.set_grad_enabled(True) | weft.random.manual_seed(5) | GENERATOR.manual_seed(4) | GENERATOR = weft.random.Generator().manual_seed(9) | F = types.SimpleNamespace(**vars(F)); F.relu = F.relu6
""")  # fmt: skip


def generate(seed, library=weft):
    return Generator(seed, library).generate()
