"""Programs whose objects' ends are seen: __del__, weak references, generators that are closed. Each takes an array and a list of events."""

import contextlib
import gc
import sys
import tempfile
import warnings
import weakref

import numpy as np
from program_list import programs_of


class Thing:
    def __init__(self, events, name="thing"):
        self.events, self.name = events, name

    def __del__(self):
        self.events.append(f"end of {self.name}")


class Plain:
    def __init__(self, value=None):
        self.value = value


class Node:
    def __init__(self):
        self.other = None


def deleted(x, events):
    thing = Thing(events)
    events.append("before")
    del thing
    events.append("after")
    return x + 1


def rebound(x, events):
    thing = Thing(events)
    events.append("before")
    thing = None
    events.append("after")
    return x + 1, thing


def rebound_to_another(x, events):
    thing = Thing(events, "first")
    thing = Thing(events, "second")
    events.append("after")
    return x + 1


def returned_from(x, events):
    def inner(a):
        thing = Thing(events)
        events.append("inside")
        return a + 1

    y = inner(x)
    events.append("after")
    return y


def alive_until_return(x, events):
    thing = Thing(events)
    y = x + 1
    events.append("computed")
    print("printed")
    events.append("last")
    return y


def temporary(x, events):
    Thing(events)
    events.append("after")
    return x + 1


def temporary_argument(x, events):
    def use(thing):
        events.append("used")
        return 1

    y = x + use(Thing(events))
    events.append("after")
    return y


def temporary_attribute(x, events):
    name = Thing(events).name
    events.append("after")
    return name, x + 1


def temporary_chain(x, events):
    events.append(len(Thing(events, "chained").name))
    events.append("after")
    return x + 1


def in_list(x, events):
    things = [Thing(events, "a"), Thing(events, "b")]
    events.append("made")
    things.clear()
    events.append("cleared")
    return x + 1


def list_deleted(x, events):
    things = [Thing(events, "a"), Thing(events, "b")]
    events.append("made")
    del things
    events.append("deleted")
    return x + 1


def list_item_deleted(x, events):
    things = [Thing(events, "a"), Thing(events, "b")]
    del things[0]
    events.append("deleted")
    things[0] = None
    events.append("replaced")
    return x + 1


def list_popped(x, events):
    things = [Thing(events, "a"), Thing(events, "b"), Thing(events, "c")]
    things.pop()
    events.append("popped")
    one = things.pop(0)
    events.append("kept")
    del one
    events.append("gone")
    return x + 1


def list_slice(x, events):
    things = [Thing(events, "a"), Thing(events, "b"), Thing(events, "c")]
    things[:2] = []
    events.append("sliced")
    del things[:]
    events.append("emptied")
    return x + 1


def in_dict(x, events):
    table = {"a": Thing(events, "a"), "b": Thing(events, "b")}
    table["a"] = 1
    events.append("replaced")
    table.pop("b")
    events.append("popped")
    return x + 1


def dict_cleared(x, events):
    table = {"a": Thing(events, "a")}
    table.clear()
    events.append("cleared")
    table.update(a=Thing(events, "second"))
    table.update(a=2)
    events.append("updated")
    return x + 1


def in_tuple(x, events):
    pair = (Thing(events), 1)
    events.append("made")
    pair = None
    events.append("gone")
    return x + 1, pair


def in_set(x, events):
    things = {Thing(events)}
    events.append("made")
    things.clear()
    events.append("cleared")
    return x + 1


def in_attribute(x, events):
    holder = Plain(Thing(events))
    events.append("held")
    holder.value = None
    events.append("replaced")
    return x + 1


def attribute_deleted(x, events):
    holder = Plain(Thing(events))
    del holder.value
    events.append("deleted")
    return x + 1


def holder_deleted(x, events):
    holder = Plain(Plain(Thing(events)))
    events.append("held")
    del holder
    events.append("deleted")
    return x + 1


def nested_containers(x, events):
    table = {"list": [(Thing(events),)]}
    events.append("made")
    table = 3
    events.append("gone")
    return x + table


def in_closure(x, events):
    thing = Thing(events)

    def read():
        return thing.name

    events.append(read())
    del read
    events.append("function deleted")
    thing = None
    events.append("rebound")
    return x + 1


def closure_deleted(x, events):
    def make():
        thing = Thing(events)
        return lambda: thing.name

    read = make()
    events.append(read())
    del read
    events.append("deleted")
    return x + 1


def in_loop(x, events):
    for i in range(3):
        thing = Thing(events, f"round {i}")
        events.append(i)
    events.append("loop done")
    return x + 1


def loop_variable(x, events):
    for thing in [Thing(events, "a"), Thing(events, "b")]:
        events.append(thing.name)
    events.append("loop done")
    return x + 1


def comprehension(x, events):
    names = [Thing(events, name).name for name in "ab"]
    events.append("done")
    return names, x + 1


def generator_of_things(x, events):
    for thing in (Thing(events, name) for name in "ab"):
        events.append(thing.name)
        del thing
        events.append("deleted")
    return x + 1


def generator_deleted(x, events):
    def numbers():
        try:
            yield 1
            yield 2
        finally:
            events.append("closed")

    generator = numbers()
    next(generator)
    events.append("before")
    del generator
    events.append("after")
    return x + 1


def generator_left(x, events):
    def numbers():
        try:
            for i in range(10):
                yield i
        finally:
            events.append("closed")

    for i in numbers():
        if i == 2:
            break
    events.append("left")
    return x + i


def generator_left_by_return(x, events):
    def numbers():
        try:
            for i in range(10):
                yield i
        finally:
            events.append("closed")

    def find():
        for i in numbers():
            if i == 2:
                return i

    i = find()
    events.append("found")
    return x + i


def generator_at_return(x, events):
    def numbers():
        try:
            yield 1
        finally:
            events.append("closed")

    generator = numbers()
    y = x + next(generator)
    events.append("returning")
    return y


def generator_with_manager(x, events):
    @contextlib.contextmanager
    def manage():
        events.append("enter")
        try:
            yield
        finally:
            events.append("exit")

    def numbers():
        with manage():
            yield 1
            yield 2

    first = next(iter(numbers()))
    events.append("after")
    return x + first


def generator_not_started(x, events):
    def numbers():
        try:
            yield 1
        finally:
            events.append("closed")

    generator = numbers()
    del generator
    events.append("after")
    return x + 1


def generator_in_any(x, events):
    def numbers():
        try:
            for i in range(5):
                yield i
        finally:
            events.append("closed")

    found = any(i == 2 for i in numbers())
    events.append("after any")
    return found, x + 1


def generator_in_zip(x, events):
    def numbers():
        try:
            for i in range(5):
                yield i
        finally:
            events.append("closed")

    pairs = list(zip("ab", numbers()))
    events.append("after zip")
    return pairs, x + 1


def generator_unpacked(x, events):
    def numbers():
        try:
            yield 1
            yield 2
        finally:
            events.append("closed")

    a, b = numbers()
    events.append("unpacked")
    return x + a + b


def weak_plain(x, events):
    thing = Plain(x + 1)
    reference = weakref.ref(thing)
    first = reference() is thing
    del thing
    return first, reference() is None


def weak_alive(x, events):
    thing = Plain(x + 1)
    reference = weakref.ref(thing)
    y = x * 2
    alive = reference() is not None
    print("printed")
    return alive, reference() is not None, y


def weak_array(x, events):
    y = x + 1
    reference = weakref.ref(y)
    first = reference() is not None
    z = y * 2
    del y
    return first, reference() is None, z


def weak_array_alive(x, events):
    y = x + 1
    reference = weakref.ref(y)
    z = y * 2
    print("printed")
    return reference() is not None, z


def weak_argument(x, events):
    reference = weakref.ref(x)
    y = x + 1
    return reference() is x, y


def weak_rebound(x, events):
    y = x + 1
    reference = weakref.ref(y)
    y = y * 2
    return reference() is None, y


def weak_callback(x, events):
    thing = Plain()
    reference = weakref.ref(thing, lambda ref: events.append("callback"))
    events.append("before")
    del thing
    events.append("after")
    return reference() is None, x + 1


def weak_callback_array(x, events):
    y = x + 1
    reference = weakref.ref(y, lambda ref: events.append("callback"))
    events.append("before")
    y = None
    events.append("after")
    return reference() is None, x + 1, y


def weak_callback_at_return(x, events):
    def inner(a):
        thing = Plain()
        events.append("made")
        weakref.finalize(thing, events.append, "finalized")
        return a + 1

    y = inner(x)
    events.append("after")
    return y


def finalizer(x, events):
    thing = Plain()
    end = weakref.finalize(thing, events.append, "finalized")
    events.append(end.alive)
    del thing
    events.append(end.alive)
    return x + 1


def finalizer_detached(x, events):
    thing = Plain()
    end = weakref.finalize(thing, events.append, "finalized")
    end.detach()
    del thing
    events.append("after")
    return x + 1


def weak_dict(x, events):
    table = weakref.WeakValueDictionary()
    thing = Plain()
    table["a"] = thing
    events.append(len(table))
    del thing
    events.append(len(table))
    return x + 1


def weak_key_dict(x, events):
    table = weakref.WeakKeyDictionary()
    thing = Plain()
    table[thing] = 1
    events.append(len(table))
    thing = None
    events.append(len(table))
    return x + 1


def weak_set(x, events):
    members = weakref.WeakSet()
    things = [Plain(), Plain()]
    for one in things:
        members.add(one)
    events.append(len(members))
    things.pop()
    events.append(len(members))
    del one
    events.append(len(members))
    return x + 1


def weak_method(x, events):
    class Local:
        def run(self):
            return 1

    one = Local()
    reference = weakref.WeakMethod(one.run)
    y = x + reference()()
    del one
    return reference() is None, y


def weak_proxy(x, events):
    thing = Plain(5)
    proxy = weakref.proxy(thing)
    y = x + proxy.value
    del thing
    try:
        proxy.value
    except ReferenceError as error:
        return str(error), y


def weak_function(x, events):
    def inner(a):
        return a + 1

    reference = weakref.ref(inner)
    y = inner(x)
    del inner
    return reference() is None, y


def weak_lambda_dead(x, events):
    reference = weakref.ref(lambda: 1)
    return reference() is None, x + 1


def weak_in_helper(x, events):
    def make():
        thing = Plain()
        return weakref.ref(thing)

    return make()() is None, x + 1


def weak_cycle(x, events):
    a, b = Node(), Node()
    a.other, b.other = b, a
    reference = weakref.ref(a)
    del a, b
    events.append(reference() is None)
    gc.collect()
    events.append(reference() is None)
    return x + 1


def weak_count(x, events):
    thing = Plain()
    first, second = weakref.ref(thing), weakref.ref(thing)
    return weakref.getweakrefcount(thing), first is second, x + 1


def weak_loop(x, events):
    references = []
    for i in range(3):
        thing = Plain(x + i)
        references.append(weakref.ref(thing))
    alive = [reference() is not None for reference in references]
    return alive, thing.value


def weak_dead_local(x, events):
    thing = Plain()
    reference = weakref.ref(thing)
    for _ in range(3):
        print("printed")
    return reference() is not None, x + 1


def weak_dead_list(x, events):
    things = [Plain(), Plain()]
    references = [weakref.ref(one) for one in things]
    print("printed")
    return [reference() is not None for reference in references], x + 1


def weak_dead_tuple_of_real(x, events):
    thing = Plain()
    reference = weakref.ref(thing)
    pair = (thing, 1)
    del thing
    print("printed")
    return reference() is not None, x + 1


def weak_local_of_helper(x, events):
    def helper(a):
        thing = Plain()
        reference = weakref.ref(thing)
        print("inside")
        b = a + 1
        print("again")
        return b, reference() is not None, reference

    y, alive, reference = helper(x)
    return y, alive, reference() is None


def refcount_rises(x, events):
    thing = Plain()
    first = sys.getrefcount(thing)
    other = thing
    second = sys.getrefcount(thing)
    return second - first, other is thing, x + 1


def tracked(x, events):
    y = x + 1
    return gc.is_tracked([]), gc.is_tracked({}), gc.is_tracked(1), y


def temporary_directory(x, events):
    import os

    with tempfile.TemporaryDirectory() as folder:
        exists = os.path.isdir(folder)
        y = x + 1
    return exists, os.path.isdir(folder), y


def context_object(x, events):
    class Manager:
        def __enter__(self):
            return self

        def __exit__(self, *args):
            events.append("exit")

        def __del__(self):
            events.append("end")

    with Manager():
        events.append("inside")
    events.append("after")
    return x + 1


def exception_keeps(x, events):
    def fail():
        thing = Thing(events)
        raise ValueError("x")

    try:
        fail()
    except ValueError:
        events.append("handling")
    events.append("after")
    return x + 1


def exception_escapes(x, events):
    thing = Thing(events)
    events.append("raising")
    raise ValueError("x")


def exception_with_thing(x, events):
    try:
        raise ValueError(Thing(events))
    except ValueError as error:
        events.append("handling")
    events.append("after")
    return x + 1


def del_reads_state(x, events):
    class Counter:
        def __init__(self):
            self.count = 0

    counter = Counter()

    class Local:
        def __del__(self):
            events.append(counter.count)

    one = Local()
    counter.count = 1
    del one
    counter.count = 2
    return x + counter.count


def del_changes_state(x, events):
    state = {"open": 0}

    class Handle:
        def __init__(self):
            state["open"] += 1

        def __del__(self):
            state["open"] -= 1

    handle = Handle()
    first = state["open"]
    handle = None
    return first, state["open"], x + 1, handle


def del_writes_array(x, events):
    log = np.zeros(3)

    class Handle:
        def __del__(self):
            log[0] += 1

    handle = Handle()
    before = log.sum()
    del handle
    return before, log.sum(), x + 1


def del_resurrects(x, events):
    kept = []

    class Local:
        def __del__(self):
            kept.append(self)

    one = Local()
    del one
    return len(kept), x + 1


def del_raises(x, events):
    class Local:
        def __del__(self):
            events.append("del")

    one = Local()
    y = x + 1
    one = y
    events.append("after")
    return one


def del_inherited(x, events):
    class Child(Thing):
        pass

    child = Child(events, "child")
    events.append("before")
    del child
    events.append("after")
    return x + 1


def del_of_slots(x, events):
    class Slotted:
        __slots__ = ("events",)

        def __init__(self, events):
            self.events = events

        def __del__(self):
            self.events.append("slots")

    one = Slotted(events)
    one = None
    events.append("after")
    return x + 1, one


def del_in_global(x, events):
    global KEPT
    KEPT = Thing(events)
    events.append("kept")
    KEPT = None
    events.append("gone")
    return x + 1


KEPT = None


def del_at_swap(x, events):
    a, b = Thing(events, "a"), Thing(events, "b")
    a, b = b, a
    events.append("swapped")
    a = None
    events.append("first")
    b = None
    events.append("second")
    return x + 1, a, b


def order_at_return(x, events):
    c = Thing(events, "c")
    a = Thing(events, "a")
    b = Thing(events, "b")
    events.append("returning")
    return x + 1


def order_of_list(x, events):
    things = [Thing(events, name) for name in "abc"]
    events.append("returning")
    return x + len(things)


def array_subclass_end(x, events):
    class Own(np.ndarray):
        def __del__(self):
            events.append("own")

    one = x.view(Own)
    y = np.asarray(x) + 1
    del one
    events.append("after")
    return y


def object_array(x, events):
    things = np.empty(2, dtype=object)
    things[0] = Thing(events)
    events.append("held")
    things[0] = None
    events.append("gone")
    return x + 1


def object_array_deleted(x, events):
    things = np.empty(1, dtype=object)
    things[0] = Thing(events)
    events.append("held")
    del things
    events.append("gone")
    return x + 1


def base_of_view(x, events):
    y = x + 1
    reference = weakref.ref(y)
    view = y[1:]
    del y
    alive = reference() is not None
    del view
    return alive, reference() is None


def in_global_list(x, events):
    events.append(Thing(events))
    events.append("held")
    events.pop(0)
    events.append("gone")
    return x + 1


def returned_thing(x, events):
    thing = Thing(events, "returned")
    events.append("returning")
    return thing.name, [thing][0].name, x + 1


def function_argument_rebound(x, events):
    def use(thing, a):
        thing = None
        events.append("rebound")
        return a + 1

    one = Thing(events)
    y = use(one, x)
    events.append("after")
    del one
    events.append("deleted")
    return y


def partial_holds(x, events):
    import functools

    call = functools.partial(lambda thing, a: a + 1, Thing(events))
    y = call(x)
    events.append("called")
    del call
    events.append("gone")
    return y


def method_holds(x, events):
    class Local:
        def __del__(self):
            events.append("end")

        def run(self, a):
            return a + 1

    run = Local().run
    y = run(x)
    events.append("ran")
    del run
    events.append("gone")
    return y


def with_as_thing(x, events):
    class Manager:
        def __enter__(self):
            return Thing(events, "entered")

        def __exit__(self, *args):
            events.append("exit")

    with Manager() as thing:
        events.append(thing.name)
    events.append("after")
    del thing
    events.append("gone")
    return x + 1


def walrus(x, events):
    if (thing := Thing(events)).name:
        events.append("true")
    thing = 1
    events.append("gone")
    return x + thing


def starred(x, events):
    first, *rest = [Thing(events, name) for name in "abc"]
    del first
    events.append("first")
    rest = None
    events.append("rest")
    return x + 1, rest


def iterator_holds(x, events):
    it = iter([Thing(events, "a"), Thing(events, "b")])
    next(it)
    events.append("one")
    del it
    events.append("gone")
    return x + 1


def cached(x, events):
    import functools

    @functools.lru_cache
    def make(n):
        return Thing(events, f"cached {n}")

    make(1)
    events.append("made")
    make.cache_clear()
    events.append("cleared")
    return x + 1


def deque_bounded(x, events):
    from collections import deque

    window = deque(maxlen=1)
    window.append(Thing(events, "a"))
    window.append(Thing(events, "b"))
    events.append("replaced")
    window.clear()
    events.append("cleared")
    return x + 1


def lambda_default(x, events):
    f = lambda a, thing=Thing(events): a + 1  # noqa: E731
    y = f(x)
    events.append("called")
    f = None
    events.append("gone")
    return y, f


def made_by_map(x, events):
    one = next(map(lambda name: Thing(events, name), "a"))
    y = x + 1
    events.append("computed")
    del one
    events.append("deleted")
    return y


def made_by_list_of_map(x, events):
    things = list(map(lambda name: Thing(events, name), "ab"))
    y = x + 1
    print("printed")
    events.append("computed")
    things.pop()
    events.append("popped")
    return y


def made_by_type(x, events):
    first = Thing(events, "first")
    second = type(first)(events, "second")
    first = None
    events.append("one")
    return x + 1, second.name, first


def made_by_class_method(x, events):
    class Local(Thing):
        @classmethod
        def make(cls, name):
            return cls(events, name)

    Local.make("temporary")
    events.append("after")
    return x + 1


def made_by_copy(x, events):
    import copy

    one = copy.copy(Thing(events, "copied"))
    events.append("made")
    del one
    events.append("gone")
    return x + 1


def made_by_new(x, events):
    class Local:
        def __new__(cls):
            events.append("new")
            return object.__new__(cls)

        def __del__(self):
            events.append("end")

    Local()
    events.append("after")
    return x + 1


def made_by_object_new(x, events):
    one = object.__new__(Thing)
    one.events, one.name = events, "bare"
    del one
    events.append("after")
    return x + 1


def made_by_dataclass(x, events):
    from dataclasses import dataclass

    @dataclass
    class Local:
        name: str

        def __del__(self):
            events.append("end of " + self.name)

    one = Local("a")
    one = Local("b")
    events.append("after")
    return x + 1, one.name


STORE = []


def popped_from_global(x, events):
    STORE.extend(map(lambda name: Thing(events, name), "ab"))
    y = x + 1
    print("printed")
    STORE.pop()
    events.append("popped")
    STORE.clear()
    events.append("cleared")
    return y


def named_temporary_file(x, events):
    import os

    warnings.simplefilter("ignore")  # of files that are not closed: they name the path
    file = tempfile.NamedTemporaryFile()
    name = file.name
    y = x + 1
    print("printed")
    first = os.path.exists(name)
    print("again")
    return first, os.path.exists(name), y


def file_closed_when_dropped(x, events):
    import os

    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "a")
    warnings.simplefilter("ignore")  # of files that are not closed: they name the path
    file = open(path, "w")
    file.write("text")
    y = x + 1
    size = os.path.getsize(path)
    del file
    events.append((size, os.path.getsize(path)))
    os.remove(path)
    os.rmdir(folder)
    return y


def file_alive_until_return(x, events):
    import os

    read, write = os.pipe()
    file = os.fdopen(write, "w")
    number = file.fileno()
    y = x + 1
    print("printed")
    os.fstat(number)
    os.close(read)
    return y


def executor(x, events):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(2) as pool:
        parts = list(pool.map(lambda one: float(one) + 1, [1, 2, 3]))
    return parts, x + 1


def memory_view_released(x, events):
    buffer = bytearray(8)
    view = memoryview(buffer)
    y = x + 1
    try:
        buffer.append(1)
    except BufferError as error:
        events.append(str(error))
    del view
    buffer.append(1)
    return len(buffer), y


def export_of_array(x, events):
    y = np.arange(4.0)
    view = memoryview(y)
    try:
        y.resize(8)
    except ValueError:
        events.append("refused")
    del view
    return y.shape, x + 1


def lock_of_thread(x, events):
    import threading

    lock = threading.Lock()
    with lock:
        y = x + 1
        events.append(lock.locked())
    events.append(lock.locked())
    return y


def generator_closed_by_hand(x, events):
    def numbers():
        try:
            yield 1
            yield 2
        finally:
            events.append("closed")

    generator = numbers()
    first = next(generator)
    generator.close()
    events.append("after")
    return x + first


def generator_in_list(x, events):
    def numbers():
        try:
            yield 1
        finally:
            events.append("closed")

    held = [numbers()]
    first = next(held[0])
    events.append("started")
    held.clear()
    events.append("cleared")
    return x + first


def generator_of_helper(x, events):
    def numbers():
        with contextlib.ExitStack() as stack:
            stack.callback(events.append, "closed")
            yield 1
            yield 2

    def first_of(generator):
        return next(generator)

    value = first_of(numbers())
    events.append("after")
    return x + value


def generators_interleaved(x, events):
    def numbers(name):
        try:
            for i in range(3):
                yield i
        finally:
            events.append("closed " + name)

    a, b = numbers("a"), numbers("b")
    total = 0
    for one, two in zip(a, b):
        total += one + two
    events.append("summed")
    return x + total


def generator_exception(x, events):
    def numbers():
        try:
            yield 1
            yield 2
        except GeneratorExit:
            events.append("exit")
            raise
        finally:
            events.append("closed")

    for one in numbers():
        events.append(one)
        break
    events.append("after")
    return x + 1


def result_cache(x, events):
    cache = weakref.WeakValueDictionary()

    def get(key):
        if key not in cache:
            one = Plain(x + key)
            cache[key] = one
            events.append(("made", key))
            return one
        return cache[key]

    first = get(1)
    again = get(1)
    same = first is again
    del first, again
    events.append(len(cache))
    get(1)
    return same


def observer(x, events):
    class Subject:
        def __init__(self):
            self.observers = weakref.WeakSet()

        def notify(self, value):
            events.append(sorted(one.name for one in self.observers))

    class Observer:
        def __init__(self, name):
            self.name = name

    subject = Subject()
    one, two = Observer("one"), Observer("two")
    subject.observers.add(one)
    subject.observers.add(two)
    subject.notify(x.sum())
    del one
    subject.notify(x.sum())
    return x + 1


def parent_links(x, events):
    class Tree:
        def __init__(self, parent=None):
            self.parent = weakref.ref(parent) if parent is not None else None
            self.children = []
            if parent is not None:
                parent.children.append(self)

    root = Tree()
    child = Tree(root)
    alive = child.parent() is root
    del root
    return alive, child.parent() is None, x + 1


PROGRAMS = programs_of(globals())
