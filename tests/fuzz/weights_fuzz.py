"""Pickles composed of what torch.load allows: whatever they say, containers, tensors and numbers come of it, or an error.

    python tests/fuzz/weights_fuzz.py [--pickles 100000] [--seed 0]

A pickle is a random program of the stack machine: values, containers that hold themselves, every allowed name called, made and
built with whatever was made before. While it is read nothing may be executed, imported or opened, and afterwards no class,
function or module may have changed.
"""

import argparse
import collections
import contextlib
import pickle
import random
import struct
import sys

import numpy as np
import weft
import weft.torch as torch
from weft.torch import _rebuild, _weights_only, storage

# What is done to a program from outside of it; Python says so before.
FORBIDDEN = (
    "exec compile import open os. subprocess. socket. ctypes. shutil. marshal. pickle.find_class code.__new__ object.__setattr__ "
    "function.__new__ builtins."
).split()
RESULTS = {
    "tensor": weft.Tensor,
    "parameter": weft.nn.Parameter,
    "layout": torch.layout,
    "device": weft.device,
    "size": weft.Size,
    "ordered dict": collections.OrderedDict,
    "counter": collections.Counter,
    "bytes": bytes,
    "bytearray": bytearray,
    "set": set,
    "complex": complex,
}
PLAIN = (int, float, bool, complex, str, bytes, bytearray, type(None), weft.dtype, weft.device, torch.layout)
STORAGES = (storage.TypedStorage, storage.UntypedStorage)
CONTAINERS = (list, tuple, set, frozenset, weft.Size)
MAPPINGS = (dict, collections.OrderedDict, collections.Counter)
ERRORS = (pickle.UnpicklingError, RuntimeError, MemoryError)


def is_data(value):
    """Is all that the value reaches a tensor, a container, a number, text or a dtype?"""
    seen, left = set(), [value]
    while left:
        value = left.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        kind = type(value)
        if kind in MAPPINGS:
            left += [*value.keys(), *value.values(), *getattr(value, "__dict__", {}).values()]
        elif kind in CONTAINERS:
            left += value
        elif isinstance(value, weft.Tensor) and kind in (
            weft.Tensor,
            weft.nn.Parameter,
            weft.nn.UninitializedParameter,
        ):
            left += (
                [part for name, part in vars(value).items() if not name.startswith("_weft")]
                if hasattr(value, "__dict__")
                else []
            )
        elif kind not in PLAIN and not isinstance(value, STORAGES):
            return False
    return True


def _watched():
    """What no file may change: classes that it can name, and modules that their functions live in."""
    watched = [*RESULTS.values(), *STORAGES, _weights_only.Name, _rebuild.StorageClass]
    watched += [weft, torch, _weights_only, _rebuild, storage, torch.serialization]
    return [(thing, vars(thing)) for thing in watched]


def state():
    return {thing: {name: id(value) for name, value in names.items()} for thing, names in _watched()}


_events = None


def _hook(event, arguments):
    if _events is not None and event.startswith(tuple(FORBIDDEN)):
        _events.append((event, repr(arguments)[:200]))


sys.addaudithook(_hook)


@contextlib.contextmanager
def watching():
    """Within it nothing is executed, imported or opened; AssertionError with what was."""
    global _events
    before, events = state(), []
    _events = events
    try:
        yield
    finally:
        _events = None
    assert not events, events
    after = state()
    changed = [
        (thing, name)
        for thing in before
        for name in before[thing] | after[thing]
        if before[thing].get(name) != after[thing].get(name)
    ]
    assert not changed, changed


class Program:
    """A random pickle."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = sorted(_weights_only.allowed())
        self.memo = 0
        self.bytes = b"\x80" + bytes([self.random.choice((2, 2, 4, 5))])
        self.value(0)
        self.bytes += b"."

    def put(self, *parts):
        self.bytes += b"".join(part.encode() if isinstance(part, str) else part for part in parts)

    def name(self, name=None):
        module, _, name = (name or self.random.choice(self.names)).rpartition(".")
        self.put(b"c", module, "\n", name, "\n")

    def value(self, depth):
        kinds = ["plain"] * 3 + ["recall"]
        if depth < 6:
            kinds += ["list", "tuple", "dict", "set", "tensor", "storage"] + ["call"] * 6 + ["wild"]
        getattr(self, f"_{self.random.choice(kinds)}")(depth + 1)
        if self.random.random() < 0.3:
            self.put(b"r", struct.pack("<I", self.random.choice((self.memo, self.memo, 2**31 - 1))))
            self.memo += 1

    def values(self, depth, most=4):
        for _ in range(self.random.randrange(most)):
            self.value(depth)

    def _plain(self, depth):
        text = self.random.choice(
            ["", "a", "cpu", "cuda:0", "meta", "latin1", "rot13", "torch.strided", "save", "torch.save", "__class__", "__init__", "keys", "data",
             "__builtins__", "_metadata", "update", "eval", "os", "storage", "0", "__reduce__", "é"]
        ).encode()  # fmt: skip
        self.put(
            self.random.choice(
                [
                    b"N",
                    b"\x88",
                    b"\x89",
                    b"K" + self.random.randbytes(1),
                    b"J"
                    + self.random.choice((b"\xff\xff\xff\xff", b"\x00\x00\x00\x7f", b"\x02\x00\x00\x00")),
                    b"\x8a\x08" + self.random.randbytes(8),
                    b"G" + struct.pack(">d", self.random.choice((0.0, 2.5, float("nan"), 1e300))),
                    b"X" + struct.pack("<I", len(text)) + text,
                    b"X" + struct.pack("<I", len(text)) + text,
                    b"C" + bytes([len(text)]) + text,
                ]
            )
        )

    def _recall(self, depth):
        if self.memo:
            self.put(b"j", struct.pack("<I", self.random.randrange(self.memo)))
        else:
            self.put(b"]")

    def _list(self, depth):
        self.put(b"](")
        self.values(depth)
        self.put(b"e")

    def _tuple(self, depth):
        self.put(b"(")
        self.values(depth, 8)
        self.put(b"t")

    def _dict(self, depth):
        self.put(b"}(")
        for _ in range(self.random.randrange(3)):
            self._plain(depth)
            self.value(depth)
        self.put(b"u")

    def _set(self, depth):
        self.put(b"\x8f(")
        self.values(depth)
        self.put(b"\x90")

    def _storage(self, depth):
        self.put(b"(X\x07\x00\x00\x00storage")
        self.name(
            self.random.choice(
                ["torch.FloatStorage", "torch.storage.UntypedStorage", "torch.BFloat16Storage", None]
            )
        )
        self.put(
            b"X\x01\x00\x00\x000X\x03\x00\x00\x00cpuK", bytes([self.random.choice((0, 4, 16, 255))]), b"tQ"
        )

    def _tensor(self, depth):
        self.name("torch._utils._rebuild_tensor_v2")
        self.put(b"(")
        self._storage(depth)
        sizes = [
            b"(" + b"".join(b"K" + bytes([self.random.randrange(4)]) for _ in range(2)) + b"t"
            for _ in range(2)
        ]
        self.put(b"K\x00", *sizes, b"\x89")
        self.value(depth)
        self.put(b"tR")

    def _call(self, depth):
        self.name()
        self.put(b"(")
        self.values(depth, 7)
        self.put(b"t", self.random.choice((b"R", b"R", b"\x81")))
        if self.random.random() < 0.3:
            self.value(depth)
            self.put(b"b")

    def _wild(self, depth):
        """An opcode where none of its kind belongs."""
        self.value(depth)
        self.value(depth)
        self.put(
            self.random.choice(
                (b"R", b"\x81", b"b", b"a", b"Q", b"\x93", b"\x86R", b"u", b"e", b"0", b"\x92", b"i", b"o")
            )
        )


def load_storage(key, nbytes, location, view=None):
    if nbytes > 1 << 20:
        raise RuntimeError("more than the file has")
    return storage.UntypedStorage._of(weft.zeros((nbytes,), dtype=weft.uint8))


def read(pickled):
    """The value, or the error, that a pickle gives; AssertionError where it gives anything else."""
    with watching():
        try:
            value = _weights_only.unpickle(pickled, load_storage)[0]
        except ERRORS as error:
            return error
    assert is_data(value), f"{pickled!r} gave {type(value)}"
    return value


def arguments(seed):
    """Arguments of a call that a file can make."""
    choose = random.Random(seed)
    values = makable(choose)
    return tuple(choose.choice(values) for _ in range(choose.randrange(8)))


def changed_arguments(arguments, count):
    """These with one or two exchanged."""
    for seed in range(count):
        choose, changed = random.Random(seed), list(arguments)
        for _ in range(min(len(changed), choose.randrange(1, 3))):
            changed[choose.randrange(len(changed))] = choose.choice(makable(choose))
        yield tuple(changed)


def makable(choose):
    """What a file can make."""
    tensor = weft.ones((2, 2))
    names = [name for name in _weights_only.allowed().values() if isinstance(name, _weights_only.Name)]
    return [
        None, True, 0, 1, -1, 2**62, 2.5, "", "cpu", "latin1", "zlib", "torch.strided", "torch.save", "__class__", b"data", bytearray(b"x"), [], {}, (),
        (2, 2), [2, 2], [("a", 1)], {"a": 1}, {"__class__": 1}, ({"x": 1}, {"y": 2}), set(), tensor, weft.nn.Parameter(tensor), weft.float32,
        weft.uint8, load_storage("0", 16, "cpu"), storage.TypedStorage._of(load_storage("0", 16, "cpu"), weft.float32), collections.OrderedDict(),
        choose.choice(names), choose.choice(names),
    ]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--pickles", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warm_up()
    read_well = 0
    for seed in range(options.seed, options.seed + options.pickles):
        pickled = Program(seed).bytes
        try:
            read_well += not isinstance(read(pickled), Exception)
        except BaseException:
            print(f"weights_fuzz: seed {seed}: {pickled!r}", flush=True)
            raise
    print(
        f"weights_fuzz: {options.pickles} pickles from seed {options.seed}: {read_well} gave values, the rest errors"
    )


def warm_up():
    """What is imported by the first use of a thing, and not by a file."""
    for name in sorted(_weights_only.allowed()):
        for seed in range(20):
            with contextlib.suppress(Exception):
                _weights_only.allowed()[name].function(*arguments(seed))
    str(np.zeros(1)), repr(weft.zeros((2,))), weft.ArgumentError


if __name__ == "__main__":
    main()
