"""Generators of random numbers, and the state of the default one: `weft.torch.random` is this module.

Numbers are PyTorch's on the CPU, seed for seed; functions that draw them are in `_drawing`.
"""

import contextlib
import os

import weft as _weft

__all__ = [
    "Generator",
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]

_MASK = (1 << 64) - 1


def _seed_number(seed, name):
    """The seed as an int of 64 bits, as operators take it."""
    if isinstance(seed, float):
        if name == "Generator.manual_seed":
            raise RuntimeError(f"{name}: expected an int, got float {seed}")
        seed = int(seed)
    elif not isinstance(seed, int):
        seed = int(seed)
    if not -(1 << 63) <= seed <= _MASK:
        raise ValueError(f"{name}: a seed has 64 bits, got {seed}")
    return seed - (1 << 64) if seed >= 1 << 63 else seed


class Generator:
    """A generator of random numbers of the CPU, with the streams and saved states of PyTorch's."""

    def __init__(self, device="cpu"):
        if str(device).split(":")[0] != "cpu":
            raise RuntimeError(f"Generator: expected device 'cpu', got '{device}'")
        self._handle = _weft.random_new()

    @property
    def device(self):
        return _weft.device("cpu")

    def manual_seed(self, seed):
        """Starts the stream that the seed names; gives the generator."""
        _weft.random_seed(self._handle, _seed_number(seed, "Generator.manual_seed"))
        return self

    def seed(self):
        """Seeds the generator with a number of the system's, which is returned."""
        number = int.from_bytes(os.urandom(8), "little")
        _weft.random_seed(self._handle, _seed_number(number, "Generator.seed"))
        return number

    def initial_seed(self):
        """The seed that the stream began with."""
        return int.from_bytes(bytes(self.get_state()[:8].tolist()), "little")

    def get_state(self):
        """All the generator holds: uint8[5056], PyTorch's layout."""
        return _weft.random_state(self._handle)

    def set_state(self, state):
        """Goes on from a state of get_state()."""
        if not isinstance(state, _weft.Tensor):
            raise TypeError(f"Generator.set_state: expected a Tensor, got {type(state).__name__}")
        _weft.random_set_state(self._handle, state)
        return self

    def clone_state(self):
        """A new generator that goes on as this one would."""
        return Generator().set_state(self.get_state())

    graphsafe_get_state = clone_state

    def graphsafe_set_state(self, other):
        return self.set_state(other.get_state())

    def __reduce__(self):
        return _restored, (self.get_state(),)


def _restored(state):
    return Generator().set_state(state)


class _DefaultGenerator(Generator):
    """The process's own, which scripts draw from, too."""

    def __init__(self):
        self._handle = _weft.tensor(0)

    def __reduce__(self):
        return _restored, (self.get_state(),)


default_generator = _DefaultGenerator()


def _handle_of(generator, name):
    """What operators are given for a Generator, or for None."""
    if generator is None:
        return default_generator._handle
    if isinstance(generator, Generator):
        return generator._handle
    if isinstance(generator, _weft.Tensor):
        return generator
    raise TypeError(f"{name}: generator: expected a Generator, got {type(generator).__name__}")


def manual_seed(seed):
    """Starts the default generator's stream that the seed names; gives the generator."""
    _weft.random_seed(default_generator._handle, _seed_number(seed, "manual_seed"))
    return default_generator


def seed():
    """Seeds the default generator with a number of the system's, which is returned."""
    return default_generator.seed()


def initial_seed():
    """The seed that the default generator's stream began with."""
    return default_generator.initial_seed()


def get_rng_state():
    """The default generator's state."""
    return default_generator.get_state()


def set_rng_state(new_state):
    """Gives the default generator a state of get_rng_state()."""
    default_generator.set_state(new_state)


class fork_rng(contextlib.ContextDecorator):
    """Within `with fork_rng():` the default generator goes on from where it is; afterwards it is where it was."""

    def __init__(self, devices=None, enabled=True, _caller="fork_rng", _devices_kw="devices", device_type="cuda"):
        self.enabled = enabled
        self.state = None

    def __enter__(self):
        if self.enabled:
            self.state = get_rng_state()

    def __exit__(self, *error):
        if self.enabled:
            set_rng_state(self.state)
        return False
