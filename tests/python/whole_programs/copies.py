"""Copies: copy.copy and copy.deepcopy of instances, containers and arrays."""

import copy
import dataclasses

import numpy as np

from .program import X, program


@dataclasses.dataclass
class Sample:
    pos: np.ndarray
    log: list = dataclasses.field(default_factory=list)
    t: float = 0.0


class Node:
    def __init__(self, v, next=None):
        self.v = v
        self.next = next


@dataclasses.dataclass(frozen=True)
class Fr:
    a: np.ndarray
    k: tuple = (1, [2])


class Own:
    def __init__(self, v):
        self.v = v

    def __copy__(self):
        return Own(self.v * 2)


@program(Sample(X, [1]))
def copy_arg_copy(s):
    s.t = 2.0
    c = copy.copy(s)
    c.log.append(3)
    c.pos = c.pos + 1
    c.extra = 1
    return c.pos, s.pos, s.log, c.t, s.t, c.extra


@program(Sample(X, [1]))
def copy_arg_deep(s):
    s.new = 5
    c = copy.deepcopy(s)
    c.pos[0] = 7
    c.log.append(2)
    c.new = 6
    return c.pos, s.pos, s.log, c.log, s.new, c.new, type(c) is Sample


@program(X)
def copy_shared(x):
    a = [1]
    s = {"a": a, "b": a, "x": x, "y": x}
    c = copy.deepcopy(s)
    c["a"].append(2)
    return c["b"], s["a"], c["x"] is c["y"], c["x"] is x, c["a"] is c["b"]


@program(X)
def copy_tuple(x):
    t = (1, "a", (2, 3))
    u = (x, [1])
    return copy.deepcopy(t) is t, copy.copy(u) is u, copy.deepcopy(u)[1] is u[1], copy.deepcopy(u)[0]


@program(X)
def copy_frozen(x):
    f = Fr(x)
    g = copy.deepcopy(f)
    h = copy.copy(f)
    g.k[1].append(5)
    return f.k, g.k, g.a + h.a, h.k is f.k


@program(X)
def copy_own(x):
    return copy.copy(Own(x)).v


@program(X)
def copy_linked(x):
    n = Node(x, Node(x + 1))
    c = copy.deepcopy(n)
    c.next.v[0] = 0
    return n.next.v, c.next.v, c.v


@program(X)
def copy_misc(x):
    return (
        copy.copy([1, x])[1],
        copy.deepcopy({1: {2: [x]}})[1][2][0],
        copy.copy({"a": 1}),
        copy.copy({1, 2}),
        copy.deepcopy("s"),
        copy.deepcopy(None),
        copy.copy(len) is len,
        copy.deepcopy(np.float64(2)),
        copy.deepcopy(x.sum()),
    )


@program(np.asfortranarray(X))
def copy_order(x):
    y = copy.deepcopy(x)
    z = copy.copy(x.T)
    return y.flags.f_contiguous, z.flags.c_contiguous, y, z


@program(X)
def copy_cycle(x):
    n = Node(x)
    n.next = n
    c = copy.deepcopy(n)
    return c.next is c, c.v


@program(X)
def copy_set(x):
    return copy.deepcopy({1, 2}), copy.deepcopy([{3}, x])[1]


@program(Sample(X, [1]), Sample(X + 1))
def copy_twice(s, o):
    a = copy.copy(s)
    b = copy.copy(s)
    s.pos = o.pos
    d = copy.deepcopy(s)
    e = copy.deepcopy([s, o, s])
    return (
        a.pos,
        b.pos,
        d.pos,
        e[0].pos,
        e[0] is e[2],
        e[1].log is o.log,
        a.log is b.log,
        e[0].pos is e[1].pos,
    )


@program(Sample(X, [1]))
def copy_loop(s):
    h = []
    for i in range(3):
        s = copy.deepcopy(s)
        s.t += 1
        s.log.append(i)
        h.append(s)
    return [k.t for k in h], [k.log for k in h], h[2].pos


@program(Sample(X, [1]))
def copy_returned(s):
    c = copy.deepcopy(s)
    c.pos = c.pos * 2
    return dataclasses.astuple(c), dataclasses.asdict(c)
