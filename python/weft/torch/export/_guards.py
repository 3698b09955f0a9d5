"""Comparisons of sizes that a program went on by: they hold for the whole range of a size, or narrow it, or are errors."""

import dataclasses
import itertools

import weft
from weft.torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

from ._sizes import Size, fitted
from ._tracing import Number

LEAST = 2  # sizes of 0 and 1 mean something else to many operators: programs are not asked about them
_MANY = 4096  # values of a symbol that a comparison is tried for, all of them


@dataclasses.dataclass
class Symbol:
    """min, max: of its range; max None: any."""

    name: str
    hint: int
    min: int
    max: int | None
    shown: str  # as the user calls it
    source: str  # the size that it is: "L['x'].size()[0]"
    kind: str  # "named", "AUTO", "DYNAMIC"

    @property
    def least(self):
        return max(self.min, LEAST)


class Specialized(Exception):
    """The program holds for one value of a symbol only."""

    def __init__(self, symbol, text):
        super().__init__(text)
        self.symbol, self.text = symbol, text


_COMPUTED = {
    "add.int": lambda a, b: a + b, "sub.int": lambda a, b: a - b, "mul.int": lambda a, b: a * b,
    "floordiv.int": lambda a, b: a // b, "remainder.int": lambda a, b: a % b, "neg.int": lambda a: -a,
}  # fmt: skip


class Sizes:
    """What integers of the graph are, for any values of the symbols."""

    def __init__(self, runs, values, symbols):
        self.runs, self.values, self.symbols = runs, values, list(symbols)
        self.known, self.unbacked = {}, {}
        self.data_dependent, producers = _data_dependent(runs[0].graph)
        forms = [run.graph["forms"] for run in runs]
        # How many elements values decide; behind them, sizes that are equal to those are the same ones.
        self.counts = {
            tuple(form[value][1][0] for form in forms) for value in producers if forms[0][value][1]
        }

    def fit(self, seen, source=None):
        """source: the number of the tensor's value whose size it is."""
        key = tuple(seen)
        is_count = source in self.data_dependent and key in self.counts
        size = None if is_count or source == "element" else fitted(key, self.values, self.symbols)
        if size is None:
            size = self.unbacked.setdefault(key, Size.symbol(f"u{len(self.unbacked)}"))
        return size

    def of_int(self, number):
        if number not in self.known:
            self.known[number] = self.fit(
                [run.ints[number] for run in self.runs], self.runs[0].sized.get(number)
            )
        return self.known[number]

    def evaluate(self, operand, values):
        if isinstance(operand, Number):
            return operand.value
        formed = self.runs[0].formed.get(operand)
        if formed is not None:
            return _COMPUTED[formed[0]](*(self.evaluate(each, values) for each in formed[1]))
        return self.of_int(operand).evaluate(values)

    def symbols_of(self, operand):
        if isinstance(operand, Number):
            return set()
        formed = self.runs[0].formed.get(operand)
        if formed is not None:
            return set().union(*(self.symbols_of(each) for each in formed[1]))
        return self.of_int(operand).symbols

    def show(self, operand):
        if isinstance(operand, Number):
            return str(operand.value)
        name, operands = self.runs[0].formed.get(operand, (None, None))
        if name is None:
            return str(self.of_int(operand))
        signs = {"add.int": "+", "sub.int": "-", "mul.int": "*", "floordiv.int": "//", "remainder.int": "%"}
        shown = [self.show(each) for each in operands]
        return f"({f' {signs[name]} '.join(shown)})" if name in signs else f"(-{shown[0]})"


_VALUES_DECIDE = {
    "aten::nonzero", "aten::masked_select", "aten::unique", "aten::_unique2", "aten::unique_consecutive", "aten::unique_dim",
    "aten::bincount", "torchvision::nms",
}  # fmt: skip


def _data_dependent(graph):
    """Numbers of the values that depend on how many elements of tensors hold something; of those that come first."""
    found, producers, lists = set(), set(), {}
    for kind, _, arguments, results, _, _ in graph["nodes"]:
        operands = [operand for _, _, _, operand in arguments if isinstance(operand, int)]
        form = [graph["forms"].get(operand) for operand in operands]
        by_mask = kind == "aten::index" and any(
            graph["forms"][each][0] in (weft.bool, weft.uint8)
            for each in lists.get(operands[1], ())
            if each in graph["forms"]
        )
        if kind == "prim::ListConstruct":
            lists[results[0]] = operands
        repeats = kind == "aten::repeat_interleave" and len([each for each in form if each is not None]) > 1
        if kind in _VALUES_DECIDE or by_mask or repeats:
            producers.update(value for value in results if value in graph["forms"])
            found.update(results)
        elif found.intersection(operands):
            found.update(results)
    return found, producers


def _domain(symbol):
    most = symbol.max if symbol.max is not None else max(4 * symbol.hint, _MANY)
    values = list(range(symbol.least, min(most, symbol.least + _MANY) + 1))
    far = [symbol.max] if symbol.max is not None else [2**16 + 1, 2**20 + 3, 2**31 + 11]
    return sorted({*values, symbol.hint, *far})


def ask(question, sizes, plan):
    """Narrows ranges so that the answer is always the example's. raises: Specialized."""
    operands = (question.left, question.right)
    symbols = set().union(*(sizes.symbols_of(each) for each in operands))
    if any(name not in plan.symbols for name in symbols):
        if question.is_weft:
            return  # it would have raised
        raise GuardOnDataDependentSymNode(
            f"Could not guard on data-dependent expression {question.text(sizes.show)}\n\nThe following call raised this error:\n"
            f"  {question.place}"
        )
    hints = {name: symbol.hint for name, symbol in plan.symbols.items()}

    def answer(values):
        return question.compare(*(sizes.evaluate(each, {**hints, **values}) for each in operands))

    wanted = answer({})
    if len(symbols) == 1:
        _narrow(question, sizes, plan.symbols[symbols.pop()], answer, wanted)
        return
    few = {name: _few(plan.symbols[name]) for name in sorted(symbols)}
    for values in itertools.product(*few.values()):
        if answer(dict(zip(few, values))) != wanted:
            raise Specialized(
                plan.symbols[sorted(symbols)[-1]],
                f"  - Not all values of {', '.join(plan.symbols[name].shown for name in sorted(symbols))} satisfy the generated "
                f"guard {_holding(question, sizes, wanted)}\n    asked for at {question.place}",
            )


def _few(symbol):
    most = symbol.max if symbol.max is not None else 4 * symbol.hint + 9
    near = (symbol.least, symbol.least + 1, symbol.hint - 1, symbol.hint, symbol.hint + 1, most // 2, most)
    return sorted({value for value in near if symbol.least <= value <= most})


def _holding(question, sizes, wanted):
    text = question.text(sizes.show)
    return text if wanted else f"not ({text})"


def _narrow(question, sizes, symbol, answer, wanted):
    """The range of one symbol, or an error, for a question about it."""
    values = _domain(symbol)
    answers = [answer({symbol.name: value}) == wanted for value in values]
    if all(answers):
        return
    at = values.index(symbol.hint)
    low, high = at, at
    while low > 0 and answers[low - 1]:
        low -= 1
    while high + 1 < len(values) and answers[high + 1]:
        high += 1

    def edge(inside, outside):
        while abs(inside - outside) > 1:
            middle = (inside + outside) // 2
            inside, outside = (
                (middle, outside) if answer({symbol.name: middle}) == wanted else (inside, middle)
            )
        return inside

    least = None if low == 0 else edge(values[low], values[low - 1])
    most = None if high + 1 == len(values) else edge(values[high], values[high + 1])
    is_range = not any(answers[:low]) and not any(answers[high + 1 :])
    guard = _holding(question, sizes, wanted)
    if is_range and symbol.kind != "named" and most != least:
        symbol.min, symbol.max = (
            (symbol.min if least is None else least),
            (symbol.max if most is None else most),
        )
        return
    bounds = f" in the specified range {_range_text(symbol)}" if _range_text(symbol) else ""
    fixes = ""
    if is_range and least != most:
        limits = [f", {key}={value}" for key, value in (("min", least), ("max", most)) if value is not None]
        fixes = f"\nSuggested fixes:\n  {symbol.shown} = Dim('{symbol.shown}'{''.join(limits)})"
    raise Specialized(
        symbol,
        f"  - Not all values of {symbol.shown} = {symbol.source}{bounds} satisfy the generated guard "
        f"{guard.replace(symbol.name, symbol.shown)}\n    asked for at {question.place}{fixes}",
    )


def _range_text(symbol):
    least = f"{symbol.min} <= " if symbol.min > 0 else ""
    most = f" <= {symbol.max}" if symbol.max is not None else ""
    return f"{least}{symbol.shown}{most}" if least or most else ""
