"""How a program is declared: the function as a NumPy user writes it, and around it what a benchmark needs."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

try:
    from numba import prange
except ImportError:  # the loops that numba runs are then never called
    prange = range

__all__ = ["PROGRAMS", "Program", "peer", "prange", "program", "same"]

PEERS = ("numba", "jax", "torch", "numexpr")


@dataclass
class Program:
    """A NumPy function with the sizes it is measured and tested at."""

    name: str
    field: str
    function: Callable
    inputs: Callable[..., tuple]  # (rng, **sizes) -> arguments
    size: dict[str, int]  # for benchmarks
    small: dict[str, int]  # for tests
    rtol: float  # against NumPy, for float64 sums whose order may differ; 0: identical
    loops: bool  # has explicit loops over elements
    peers: dict[str, Callable] = field(default_factory=dict)

    def arguments(self, sizes: dict[str, int]) -> tuple:
        return self.inputs(np.random.default_rng(0), **sizes)


PROGRAMS: dict[str, Program] = {}


def program(inputs, *, size, small, rtol=0.0, loops=False):
    """Registers the decorated function, which stays the plain function that it is."""

    def register(function):
        name = function.__name__
        area = function.__module__.rpartition(".")[2]
        if name in PROGRAMS:
            raise ValueError(f"two programs are called {name!r}: in {PROGRAMS[name].field} and in {area}")
        PROGRAMS[name] = Program(name, area, function, inputs, size, small, rtol, loops)
        return function

    return register


def peer(implementation: str, of: Callable):
    """Registers what `implementation` runs in the place of the program `of`. numba's is compiled by the worker."""

    def register(function):
        if implementation not in PEERS:
            raise ValueError(f"expected one of {', '.join(PEERS)}, got {implementation!r}")
        PROGRAMS[of.__name__].peers[implementation] = function
        return function

    return register


def same(got, expected, rtol: float, strict: bool = True) -> str:
    """What differs, or "". Floats may be off by rtol of the larger of the element and of the largest result.

    strict: types and dtypes count as well; peers have their own.
    """
    if isinstance(expected, tuple | list):
        if len(got) != len(expected):
            return f"{len(got)} results instead of {len(expected)}"
        return next(filter(None, (same(g, e, rtol, strict) for g, e in zip(got, expected))), "")
    if strict and type(got) is not type(expected):
        return f"a {type(got).__name__} instead of a {type(expected).__name__}"
    got, expected = np.asarray(got), np.asarray(expected)
    if got.shape != expected.shape:
        return f"shape {got.shape} instead of {expected.shape}"
    if strict and got.dtype != expected.dtype:
        return f"dtype {got.dtype} instead of {expected.dtype}"
    if expected.dtype.kind in "fc" and rtol:
        finite = np.isfinite(expected)
        scale = np.abs(expected[finite]).max(initial=0.0)
        with np.errstate(invalid="ignore"):
            equal = np.where(
                finite,
                np.abs(got - expected) <= rtol * scale,
                (got == expected) | (got != got) & (expected != expected),
            )
    else:
        equal = (got == expected) | ((got != got) & (expected != expected))
    differing = equal.size - np.count_nonzero(equal)
    return f"{differing} of {equal.size} elements differ" if differing else ""


def copied(arguments: tuple) -> tuple:
    """Arguments that a program may write to."""
    return copy.deepcopy(arguments)
