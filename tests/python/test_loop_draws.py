"""Random numbers drawn in native loops: the numbers, types, errors and states that NumPy's and Python's generators give."""

import random
import threading

import numpy as np
import pytest
import weft
from support.compare import assert_same, outcome

ROUNDS = 300

# Of a Generator, g; i is the round.
OF_GENERATOR = """g.random();g.uniform();g.uniform(0.25);g.uniform(-1, 3);g.uniform(low=0.5, high=i + 1);g.standard_normal();g.normal();
g.normal(1);g.normal(0.5, 2);g.normal(loc=i, scale=0.0);g.normal(scale=3, size=None);g.standard_exponential();g.exponential();
g.exponential(2.5);g.standard_cauchy();g.lognormal();g.lognormal(0.1, 0.2);g.rayleigh(2);g.standard_gamma(0.5);g.standard_gamma(3.0);
g.gamma(2.0, 3.0);g.gamma(0.3);g.beta(0.5, 0.5);g.beta(2, 3);g.chisquare(3);g.standard_t(4);g.weibull(1.5);g.pareto(2.0);g.power(3);
g.laplace();g.laplace(1, 2);g.logistic(0.5);g.gumbel(1, 0.25);g.poisson();g.poisson(0.3);g.poisson(50.0);g.poisson(lam=i);
g.binomial(10, 0.3);g.binomial(100, 0.7);g.binomial(n=i, p=0.5);g.binomial(1, 0.0);g.integers(5);g.integers(1);g.integers(2, 9);
g.integers(-3, i + 1);g.integers(0, 2**32);g.integers(0, 2**32 - 1);g.integers(2**40);g.integers(-(2**60), 2**60);
g.integers(low=0, high=6);g.choice(7);g.choice(x);g.choice(a=5);g.choice([-1, 1]);
g.choice([1.5, 2.5, 4.0]);g.choice((2, 3, 5, 7));g.choice([True, False])""".replace("\n", "").split(";")
# Of a RandomState, and with numpy.random for g.
OF_RANDOM_STATE = """g.random();g.random_sample();g.rand();g.uniform();g.uniform(0.25);g.uniform(-1, 3);g.uniform(low=0.5, high=i + 1);
g.randn();g.standard_normal();g.normal();g.normal(1);g.normal(0.5, 2);g.normal(loc=i, scale=0.0);g.standard_exponential();
g.exponential();g.exponential(2.5);g.laplace(1, 2);g.logistic(0.5);g.gumbel(1, 0.25);g.poisson(0.3);g.poisson(50.0);
g.randint(5);g.randint(1);g.randint(2, 9);g.randint(-3, i + 1);g.randint(0, 2**32);g.randint(2**40);
g.randint(low=0, high=6);g.choice(7);g.choice(x);g.choice([-1, 1]);g.choice([0.5, 2.0 * i])""".replace(
    "\n", ""
).split(";")
# Of a random.Random, and with the module for g.
OF_PYTHON = """g.random();g.uniform(1, 2);g.uniform(-1.5, i);g.uniform(b=0.5, a=3);g.gauss(0, 1);g.gauss(1.5, i);g.gauss();
g.expovariate(2.0);g.randint(1, 6);g.randint(-5, 5);g.randint(3, 3);g.randint(a=0, b=2**50);g.randrange(7);g.randrange(2, 9);
g.randrange(0, 2**32);g.randrange(0, 2**32 + 1);g.getrandbits(1);g.getrandbits(32);g.getrandbits(33);g.getrandbits(63);g.choice(x);
g.choice([-1, 1]);g.choice([1.5, 2.5, 4.0]);g.choice((2, 3, 5, 7))""".replace("\n", "").split(";")
# What Python or NumPy refuses, in the round of i == 250.
REFUSED = {
    "generator": """g.normal(0, 200 - i);g.exponential(249.5 - i);g.uniform(0, 249.5 - i);g.uniform(0, 1e308 * (1 + i // 250) * 1.5);
g.integers(250 - i);g.integers(i, 250);g.binomial(5, i / 249);g.binomial(249 - i, 0.5);g.poisson(249.0 - i);g.gamma(249.5 - i);
g.beta(250 - i, 1);g.choice(x[i:]);g.normal(0, -0.0 if i == 250 else 1.0)""",
    "state": "g.normal(0, 249 - i);g.exponential(249.5 - i);g.randint(250 - i);g.randint(i, 250);g.choice(x[i:])",
    "python": "g.randint(i, 249);g.randrange(250 - i);g.choice(x[i:]);g.expovariate(250 - i)",
}


def program_of(text, is_global=False):
    """A function of the generator and an array that makes a list of draws."""
    lines = [
        f"def program({'_' if is_global else 'g'}, x, out):",
        f"    for i in range({ROUNDS}):",
        f"        out.append({text})",
        "    return len(out)",
    ]
    scope = {"np": np, "random": random}
    exec(compile("\n".join(lines), "<draws>", "exec"), scope)
    return scope["program"]


def state_of(generator):
    if isinstance(generator, np.random.Generator):
        return repr(generator.bit_generator.state)
    if isinstance(generator, np.random.RandomState):
        return repr(generator.get_state(legacy=False))
    return generator.getstate()


def check_draws(text, make, is_native=True):
    program = program_of(text)
    compiled = weft.compile(program)
    x = np.arange(250) * 0.5
    mine, theirs = make(), make()
    for _ in range(3):  # each goes on where the last one ended
        expected, actual = [], []
        want, got = outcome(program, theirs, x, expected), outcome(compiled, mine, x, actual)
        assert_same(actual, expected)
        assert got == want, text
        assert state_of(mine) == state_of(theirs), text
    if is_native:
        report = weft.compiler.explain(program)(make(), x, [])
        assert not report.breaks, (text, report.breaks)
        assert any(kernel["name"].startswith("loop_") for kernel in report.kernels), text


BITS = {
    "PCG64": np.random.PCG64,
    "MT19937": np.random.MT19937,
    "Philox": np.random.Philox,
    "SFC64": np.random.SFC64,
    "PCG64DXSM": np.random.PCG64DXSM,
}


@pytest.mark.parametrize("text", OF_GENERATOR)
def test_generator(text):
    check_draws(text, lambda: np.random.default_rng(7))


@pytest.mark.parametrize("bits", BITS)
def test_generators_over_each_kind_of_bits(bits):
    for text in ("g.random()", "g.normal(1, 2)", "g.integers(10)", "g.integers(2**40)"):
        check_draws(text, lambda: np.random.Generator(BITS[bits](3)))


@pytest.mark.parametrize("text", OF_RANDOM_STATE)
def test_random_state(text):
    check_draws(text, lambda: np.random.RandomState(7))


@pytest.mark.parametrize("text", OF_PYTHON)
def test_python_random(text):
    check_draws(text, lambda: random.Random(7))


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_refused_is_pythons_own_error(kind):
    make = {"generator": np.random.default_rng, "state": np.random.RandomState, "python": random.Random}[kind]
    for text in REFUSED[kind].replace("\n", "").split(";"):
        check_draws(text, lambda: make(5), is_native=False)


def check_global(text, seed, state):
    program = program_of(text, is_global=True)
    compiled = weft.compile(program)
    x = np.arange(250) * 0.5
    results = []
    for function in (program, compiled):
        seed()
        drawn = [[], []]
        for part in drawn:
            outcome(function, None, x, part)
        results.append((drawn, state()))
    assert_same(results[1][0], results[0][0])
    assert results[1][1] == results[0][1], text
    report = weft.compiler.explain(program)(None, x, [])
    assert not report.breaks, (text, report.breaks)


@pytest.mark.parametrize("text", OF_RANDOM_STATE)
def test_functions_of_numpy_random(text):
    check_global(
        text.replace("g.", "np.random."),
        lambda: np.random.seed(11),
        lambda: repr(np.random.get_state(legacy=False)),
    )


@pytest.mark.parametrize("text", OF_PYTHON)
def test_functions_of_the_module_random(text):
    check_global(text.replace("g.", "random."), lambda: random.seed(11), random.getstate)


def test_draws_in_programs():
    def walk(rng, n):
        position = np.zeros(n)
        at = 0.0
        for i in range(n):
            if rng.random() < 0.5:
                at += rng.normal(0, 0.1)
            else:
                at -= 1
            position[i] = at
        return position

    def inside(n):
        count = 0
        for _ in range(n):
            x, y = np.random.rand(), np.random.rand()
            if x * x + y * y <= 1:
                count += 1
        return 4 * count / n

    def ising(spins, rng, beta):
        n = spins.shape[0]
        for _ in range(n * n):
            i, j = rng.integers(n), rng.integers(n)
            around = spins[(i + 1) % n, j] + spins[i - 1, j] + spins[i, (j + 1) % n] + spins[i, j - 1]
            change = 2 * spins[i, j] * around
            if change < 0 or rng.random() < np.exp(-beta * change):
                spins[i, j] = -spins[i, j]
        return spins.sum()

    def rows(rng, n):
        # Neither the rows nor the columns may be shared or reordered.
        table = np.zeros((n, n))
        for i in range(n):
            for j in range(n):
                table[i, j] = rng.random() + i
        return table

    make = np.random.default_rng
    np.testing.assert_array_equal(weft.compile(walk)(make(1), 5000), walk(make(1), 5000))
    np.testing.assert_array_equal(weft.compile(rows)(make(1), 300), rows(make(1), 300))
    np.random.seed(4)
    expected = inside(5000)
    np.random.seed(4)
    assert weft.compile(inside)(5000) == expected
    spins = make(0).choice([-1, 1], size=(12, 12))
    mine, theirs = spins.copy(), spins.copy()
    assert weft.compile(ising)(mine, make(3), 0.4) == ising(theirs, make(3), 0.4)
    np.testing.assert_array_equal(mine, theirs)
    for function, call in ((walk, (make(1), 500)), (inside, (500,)), (ising, (spins, make(3), 0.4))):
        assert not weft.compiler.explain(function)(*call).breaks


class Dice:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.total = 0

    def roll(self):
        return self.rng.integers(1, 7)

    def rolled(self, n):
        for _ in range(n):
            self.total += self.roll()
        return self.total


def test_generators_in_objects():
    expected = Dice(3).rolled(400)
    mine = Dice(3)
    assert weft.compile(Dice.rolled)(mine, 400) == expected
    assert mine.rng.random() == (lambda other: (other.rolled(400), other.rng.random())[1])(Dice(3))


def test_two_generators_and_one_by_two_names():
    def program(a, b, n):
        total = 0.0
        for _ in range(n):
            total += a.normal() - b.random()
        return total

    compiled, make = weft.compile(program), np.random.default_rng
    for _ in range(2):
        assert compiled(make(1), make(2), 200) == program(make(1), make(2), 200)
        one, other = make(1), make(1)
        assert compiled(one, one, 200) == program(other, other, 200)
        assert compiled(np.random.RandomState(1), make(2), 200) == program(
            np.random.RandomState(1), make(2), 200
        )


def test_a_method_that_is_replaced_is_called(monkeypatch):
    def program(g, n):
        total = 0.0
        for _ in range(n):
            total += g.random()
        return total

    compiled = weft.compile(program)
    assert compiled(random.Random(1), 100) == program(random.Random(1), 100)
    replaced = random.Random(1)
    replaced.random = lambda: 2.0
    assert compiled(replaced, 100) == 200.0

    class Fixed(random.Random):
        def random(self):
            return 0.25

    assert compiled(Fixed(1), 100) == 25.0
    monkeypatch.setattr(random, "random", lambda: 0.5)

    def of_module(n):
        total = 0.0
        for _ in range(n):
            total += random.random()
        return total

    assert weft.compile(of_module)(100) == 50.0


def test_a_generator_that_another_thread_draws_from():
    """Whole arrays are drawn without the interpreter's lock: a loop that begins meanwhile waits, and each gets numbers of its own."""

    def program(g, n):
        total = 0.0
        for _ in range(n):
            total += g.random()
        return total

    compiled = weft.compile(program)
    g = np.random.default_rng(0)
    compiled(g, 100)
    g = np.random.default_rng(0)
    stop = threading.Event()
    sizes = []

    def fill():
        while not stop.is_set():
            sizes.append(g.standard_normal(200_000).size)

    thread = threading.Thread(target=fill)
    thread.start()
    for _ in range(50):
        assert 0 < compiled(g, 1000) < 1000
    stop.set()
    thread.join()
    assert sizes


def test_the_stream_that_set_bit_generator_gives():
    program = program_of("np.random.rand() + np.random.randint(10)", is_global=True)
    compiled = weft.compile(program)
    kept = np.random.get_bit_generator()
    results = []
    try:
        for function in (program, compiled):
            np.random.set_bit_generator(np.random.PCG64(5))
            out = []
            function(None, None, out)
            np.random.set_bit_generator(np.random.MT19937(6))
            function(None, None, out)
            results.append(out)
    finally:
        np.random.set_bit_generator(kept)
    assert_same(results[1], results[0])
