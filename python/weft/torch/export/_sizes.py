"""Sizes as polynomials of symbols, and what size a number is that was seen in several runs."""

import ast
import itertools


class Size:
    """A polynomial with whole coefficients: {("s0", "s0"): 2, (): 1} is 2*s0**2 + 1. Symbols may be floor divisions."""

    def __init__(self, terms):
        self.terms = {key: value for key, value in terms.items() if value}

    @staticmethod
    def number(value):
        return Size({(): value})

    @staticmethod
    def symbol(name):
        return Size({(name,): 1})

    @staticmethod
    def parse(text):
        """Of "2*s0 + 1", "s0//2"."""
        return _of_tree(ast.parse(text, mode="eval").body)

    def __add__(self, other):
        terms = dict(self.terms)
        for key, value in other.terms.items():
            terms[key] = terms.get(key, 0) + value
        return Size(terms)

    def __mul__(self, other):
        total = Size({})
        for (one, factor), (two, times) in itertools.product(self.terms.items(), other.terms.items()):
            total = total + Size({tuple(sorted((*one, *two), key=str)): factor * times})
        return total

    @property
    def constant(self):
        """The number that it is; None where it has symbols."""
        return self.terms.get((), 0) if not set(self.terms) - {()} else None

    @property
    def alone(self):
        """The symbol that it is; None where it is more than one."""
        if len(self.terms) != 1:
            return None
        (key, factor) = next(iter(self.terms.items()))
        return key[0] if len(key) == 1 and factor == 1 and isinstance(key[0], str) else None

    @property
    def symbols(self):
        found = set()
        for key in self.terms:
            for atom in key:
                found |= {atom} if isinstance(atom, str) else atom.size.symbols
        return found

    def evaluate(self, values):
        total = 0
        for key, factor in self.terms.items():
            for atom in key:
                factor *= values[atom] if isinstance(atom, str) else atom.evaluate(values)
            total += factor
        return total

    def is_affine(self):
        return all(len(key) <= 1 and all(isinstance(atom, str) for atom in key) for key in self.terms)

    def _sorted(self):
        return sorted(self.terms.items(), key=lambda item: (-len(item[0]), [str(atom) for atom in item[0]]))

    def __str__(self):
        parts = []
        for key, factor in self._sorted():
            atoms = [
                f"{atom}**{count}" if (count := len(list(same))) > 1 else str(atom)
                for atom, same in itertools.groupby(key, key=str)
            ]
            if not key or factor not in (1, -1):
                atoms.insert(0, str(abs(factor)))
            parts.append(("-" if factor < 0 else "+", "*".join(atoms)))
        if not parts:
            return "0"
        text = " ".join(f"{sign} {part}" for sign, part in parts)
        return text[2:] if text[0] == "+" else f"-{text[2:]}"

    def sympy(self):
        """As sympy.srepr writes it."""
        terms = []
        for key, factor in self._sorted():
            atoms = [_symbol(atom) if isinstance(atom, str) else atom.sympy() for atom in key]
            if not key or factor != 1:
                atoms.insert(0, f"Integer({factor})")
            terms.append(atoms[0] if len(atoms) == 1 else f"Mul({', '.join(atoms)})")
        return (
            "Integer(0)"
            if not terms
            else terms[0]
            if len(terms) == 1
            else f"Add({', '.join(reversed(terms))})"
        )

    def __eq__(self, other):
        return isinstance(other, Size) and self.terms == other.terms

    def __hash__(self):
        return hash(str(self))


def _of_tree(tree):
    """Of Python's syntax. raises: ValueError for what is no size."""
    if isinstance(tree, ast.Constant) and type(tree.value) is int:
        return Size.number(tree.value)
    if isinstance(tree, ast.Name):
        return Size.symbol(tree.id)
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        return Size.number(-1) * _of_tree(tree.operand)
    if isinstance(tree, ast.BinOp):
        left, right = _of_tree(tree.left), _of_tree(tree.right)
        if isinstance(tree.op, ast.Add):
            return left + right
        if isinstance(tree.op, ast.Sub):
            return left + Size.number(-1) * right
        if isinstance(tree.op, ast.Mult):
            return left * right
        if isinstance(tree.op, ast.FloorDiv) and (right.constant or 0) > 0:
            return Size({(_Quotient(left, right.constant),): 1})
        if isinstance(tree.op, ast.Pow) and (right.constant or 0) > 0:
            result = left
            for _ in range(right.constant - 1):
                result = result * left
            return result
    raise ValueError(f"a size that weft cannot write: {ast.unparse(tree)}")


class _Quotient:
    """size // divisor, as an atom of polynomials."""

    def __init__(self, size, divisor):
        self.size, self.divisor = size, divisor

    def evaluate(self, values):
        return self.size.evaluate(values) // self.divisor

    def __str__(self):
        inner = str(self.size)
        return f"(({inner})//{self.divisor})" if " " in inner else f"({inner}//{self.divisor})"

    def sympy(self):
        return f"FloorDiv({self.size.sympy()}, Integer({self.divisor}))"

    def __eq__(self, other):
        return str(self) == str(other)

    def __hash__(self):
        return hash(str(self))


def _symbol(name):
    """A size that arguments have is positive; one that values decide may be nothing."""
    return (
        f"Symbol('{name}', positive=True, integer=True)"
        if name[0] == "s"
        else f"Symbol('{name}', integer=True)"
    )


_DIVISORS, _OFFSETS = range(2, 65), range(-64, 65)


def _affine(values, runs, symbols):
    """Where sizes are a sum: each run but the last ones differs from the first by one symbol."""
    factors = {}
    for at, symbol in enumerate(symbols, start=1):
        change, step = values[at] - values[0], runs[at][symbol] - runs[0][symbol]
        if change % step:
            return None
        factors[(symbol,)] = change // step
    factors[()] = values[0] - sum(factor * runs[0][key[0]] for key, factor in factors.items())
    return Size(factors)


def _products(values, symbols):
    for count in (2, 3):
        for key in itertools.combinations_with_replacement(sorted(symbols), count):
            base = Size({key: 1})
            yield lambda runs, base=base, key=key: (
                Size({key: values[0] // base.evaluate(runs[0])}) if base.evaluate(runs[0]) else None
            )


def _quotients(values, runs, symbols):
    """(a * s + b) // c * factor + d, the least c first: what strides and pools make of a size."""
    for symbol in symbols:
        if len({value for value, run in zip(values, runs) if run[symbol] == runs[0][symbol]}) > 1:
            continue  # it depends on others, too
        for divisor in _DIVISORS:
            for offset in range(divisor):
                inner = Size({(symbol,): 1, (): offset})
                quotient = _Quotient(inner, divisor)
                seen = [quotient.evaluate(run) for run in runs]
                moved = next((at for at in range(len(runs)) if seen[at] != seen[0]), None)
                if moved is None or (values[moved] - values[0]) % (seen[moved] - seen[0]):
                    continue
                factor = (values[moved] - values[0]) // (seen[moved] - seen[0])
                yield Size({(quotient,): factor, (): values[0] - factor * seen[0]})


def fitted(values, runs, symbols):
    """The size that was these numbers in the runs, which are {symbol: value}; None where no such size was."""
    if len(set(values)) == 1:
        return Size.number(values[0])

    def fits(size):
        return size is not None and all(size.evaluate(run) == value for value, run in zip(values, runs))

    candidate = _affine(values, runs, symbols)
    if fits(candidate):
        return candidate
    for make in _products(values, symbols):
        candidate = make(runs)
        if fits(candidate):
            return candidate
    return next((each for each in _quotients(values, runs, symbols) if fits(each)), None)
