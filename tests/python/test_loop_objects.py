"""Attributes, methods and properties of the program's objects in native loops."""

import collections
import copy
import threading
from dataclasses import dataclass

import numpy as np
import pytest
import weft
from support.compare import assert_same, outcome


@dataclass
class Spring:
    mass: float
    stiffness: float

    def force(self, x):
        return -self.stiffness * x

    @property
    def ratio(self):
        return self.stiffness / self.mass


class Simulation:
    gravity = 9.81

    def __init__(self, n):
        self.time, self.rounds, self.done = 0.0, 0, False
        self.position, self.velocity = np.zeros(n), np.ones(n)

    def step(self, dt):
        for i in range(len(self.position)):
            self.position[i] += self.velocity[i] * dt
            self.velocity[i] -= self.gravity * dt
            if self.position[i] < -0.1:
                self.done = True
        self.time += dt
        self.rounds += 1

    def run(self, steps):
        for _ in range(steps):
            self.step(0.01)
            if self.done:
                break
        return self.time


class Generator:
    __slots__ = ("state",)

    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state * 1103515245 + 12345) % 2147483648
        return self.state / 2147483648


def state_of(thing):
    if isinstance(thing, Generator):
        return {"state": thing.state}
    return vars(thing)


def assert_same_state(one, other):
    assert type(one) is type(other)
    one, other = state_of(one), state_of(other)
    assert list(one) == list(other)
    for name, value in one.items():
        assert type(other[name]) is type(value), name
        np.testing.assert_array_equal(other[name], value)


def check_objects(function, *arguments, compiled=None):
    """The compiled function and Python's, on copies, do the same, and leave the objects alike."""
    compiled = compiled or weft.compile(function)
    ours, theirs = copy.deepcopy(arguments), copy.deepcopy(arguments)
    expected = outcome(function, *theirs)
    assert_same(outcome(compiled, *ours), expected)
    for mine, its in zip(ours, theirs):
        if hasattr(its, "__dict__") or isinstance(its, Generator):
            assert_same_state(its, mine)
    return compiled


def oscillate(spring, rounds):
    x, speed = 1.0, 0.0
    for _ in range(rounds):
        speed += spring.force(x) / spring.mass * 0.01
        x += speed * spring.ratio * 0.01
    return x


def test_a_dataclass_with_a_method_and_a_property():
    compiled = check_objects(oscillate, Spring(1.0, 2.0), 100)
    check_objects(oscillate, Spring(1.5, 3), 100, compiled=compiled)
    check_objects(oscillate, Spring(2, 3), 100, compiled=compiled)
    check_objects(oscillate, Spring(0, 3), 100, compiled=compiled)  # ZeroDivisionError


def test_loops_with_objects_are_native():
    def count(generator, rounds):
        inside = 0
        for _ in range(rounds):
            x, y = generator.next(), generator.next()
            inside += x * x + y * y <= 1
        return inside

    check_objects(count, Generator(7), 1000)
    kernels = weft.compiler.explain(count)(Generator(7), 1000).kernels
    assert any(kernel["name"].startswith("loop_count") for kernel in kernels)


def test_a_method_of_an_object_with_arrays():
    run = Simulation.run
    compiled = check_objects(run, Simulation(5), 1000)
    heavier = Simulation(5)
    heavier.gravity = 20  # the object's own, an int
    check_objects(run, heavier, 1000, compiled=compiled)
    shared = Simulation(4)
    shared.velocity = shared.position
    check_objects(run, shared, 20, compiled=compiled)


def test_a_bound_method():
    ours, theirs = Simulation(3), Simulation(3)
    assert weft.compile(ours.run)(50) == theirs.run(50)
    assert_same_state(theirs, ours)


def test_methods_that_change_between_calls():
    class Counter:
        def __init__(self):
            self.total = 0

        def add(self, k):
            self.total += k

    def run(counter):
        for i in range(50):
            counter.add(i)
        return counter.total

    compiled = check_objects(run, Counter())
    Counter.add = lambda self, k: setattr(self, "total", self.total + 2 * k)
    check_objects(run, Counter(), compiled=compiled)
    Counter.add = lambda self, k: None
    check_objects(run, Counter(), compiled=compiled)


def test_an_attribute_of_the_class_becomes_the_objects_own_when_it_is_set():
    class Thing:
        level = 1

    def run(thing, limit):
        for i in range(100):
            if i > limit:
                thing.level = thing.level + 1
        return thing.level

    compiled = check_objects(run, Thing(), 1000)  # never set
    check_objects(run, Thing(), 97, compiled=compiled)
    assert Thing.level == 1


def test_two_names_of_one_object():
    def run(a, b):
        for i in range(40):
            a.mass += i
            b.mass *= 1.01
        return a.mass, b.mass

    compiled = weft.compile(run)
    one, other = Spring(1.0, 2.0), Spring(1.0, 2.0)
    assert compiled(one, one) == run(other, other)
    assert one == other
    check_objects(run, Spring(1.0, 2.0), Spring(3.0, 2.0), compiled=compiled)


def test_objects_in_objects():
    class Owner:
        def __init__(self):
            self.spring, self.sum = Spring(1.0, 2.0), 0.0

    def run(owner):
        for i in range(60):
            owner.sum += owner.spring.force(i)
            owner.spring.mass = owner.sum
        return owner.sum, owner.spring.mass

    ours, theirs = Owner(), Owner()
    assert weft.compile(run)(ours) == run(theirs)
    assert ours.sum == theirs.sum and ours.spring == theirs.spring


def test_an_exception_leaves_the_object_as_it_was_then():
    def run(simulation, values):
        for i in range(100):
            simulation.rounds += 1
            simulation.time += values[i]

    values = np.arange(30.0)
    compiled = weft.compile(run)
    ours, theirs = Simulation(2), Simulation(2)
    for f, simulation in ((run, theirs), (compiled, ours)):
        with pytest.raises(IndexError, match="index 30 is out of bounds for axis 0 with size 30"):
            f(simulation, values)
    assert_same_state(theirs, ours)
    assert ours.rounds == 31


def test_a_number_that_outgrows_an_attribute():
    def run(simulation):
        for i in range(70):
            simulation.rounds = simulation.rounds * 2 + 1
        return simulation.rounds

    check_objects(run, Simulation(1))


def test_objects_that_look_their_attributes_up_themselves():
    class Lazy:
        def __init__(self):
            self.reads = 0

        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            self.reads += 1
            return 2.0

    class Checked:
        def __init__(self):
            object.__setattr__(self, "writes", 0)
            self.value = 1.0

        def __setattr__(self, name, value):
            object.__setattr__(self, "writes", self.writes + 1)
            object.__setattr__(self, name, value)

    def read(thing):
        total = 0.0
        for _ in range(30):
            total += thing.missing
        return total

    def write(thing):
        for _ in range(30):
            thing.value = thing.value + 1
        return thing.value

    check_objects(read, Lazy())
    check_objects(write, Checked())


def test_objects_of_the_library_and_descriptors():
    class Counts:
        def __init__(self):
            self.reads = 0

        def __get__(self, instance, owner):
            self.reads += 1
            return 1.0

    class Thing:
        counts = Counts()

        @classmethod
        def of_class(cls, x):
            return x + 1

        @staticmethod
        def plain(x):
            return x + 2

    class Queue(collections.deque):
        pass

    def read(thing):
        total = 0.0
        for i in range(40):
            total += thing.counts + thing.of_class(i) + thing.plain(i)
        return total

    def append(queue, x):
        for i in range(40):
            queue.append(x[i % 4])
        return list(queue), len(queue)

    ours, theirs = Thing(), Thing()
    expected = read(theirs)
    reads = vars(Thing)["counts"].reads
    assert weft.compile(read)(ours) == expected
    assert vars(Thing)["counts"].reads == 2 * reads
    for kind in (collections.deque, Queue):
        compiled = weft.compile(append)
        for _ in range(3):
            assert compiled(kind(), np.arange(4.0)) == append(kind(), np.arange(4.0))


def test_an_attribute_that_is_deleted_or_missing():
    def run(thing):
        for i in range(30):
            thing.mass += thing.height
        return thing.mass

    check_objects(run, Spring(1.0, 2.0))


@pytest.mark.parametrize("kind", ["global", "attribute"])
def test_another_thread_ends_the_loop(kind):
    namespace = {"stop": False}
    source = """
def wait(flag, limit):
    rounds = 0
    while not {}:
        rounds += 1
        if rounds > limit:
            return -1
    return rounds
""".format("stop" if kind == "global" else "flag.done")
    exec(source, namespace)
    flag = Simulation(1)
    compiled = weft.compile(namespace["wait"])
    assert compiled(flag, 1000) == -1

    def end():
        flag.done = namespace["stop"] = True

    timer = threading.Timer(0.2, end)
    timer.start()
    rounds = compiled(flag, 10**12)
    timer.join()
    assert rounds >= 0


def test_another_thread_reads_what_the_loop_counts():
    def count(simulation):
        while not simulation.done:
            simulation.rounds += 1

    simulation = Simulation(1)
    compiled = weft.compile(count)
    worker = threading.Thread(target=compiled, args=(simulation,))
    worker.start()
    while simulation.rounds == 0:
        pass
    simulation.done = True
    worker.join()
