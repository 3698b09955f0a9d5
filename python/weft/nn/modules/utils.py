"""What programs import from torch.nn.modules.utils."""

import collections.abc
import itertools


def _ntuple(count, name="parse"):
    """A function that makes a tuple: of the elements of what can be iterated over, else `count` times the value."""

    def parse(x):
        if isinstance(x, collections.abc.Iterable):
            return tuple(x)
        return tuple(itertools.repeat(x, count))

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t, n):
    """Each element n times, the last ones first."""
    return tuple(x for x in reversed(t) for _ in range(n))


def _list_with_default(out_size, defaults):
    """out_size with the last defaults in place of None."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    return [
        own if size is None else size
        for size, own in zip(out_size, defaults[len(defaults) - len(out_size) :])
    ]


def consume_prefix_in_state_dict_if_present(state_dict, prefix):
    """Takes a prefix off the keys of a state, in place."""
    for key in list(state_dict.keys()):
        if key.startswith(prefix):
            state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is None:
        return
    for key in list(metadata.keys()):
        if key.startswith(prefix) or key == prefix[:-1]:
            metadata[key[len(prefix) :]] = metadata.pop(key)
