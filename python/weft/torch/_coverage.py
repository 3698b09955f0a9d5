"""How many of PyTorch's names are here: `python -m weft.torch --coverage [--missing]`."""

import collections

from . import _names

# Reasons for which a name counts as not wanted: it belongs to something that weft is not.
OUT_OF_SCOPE = (_names.TRAINING, _names.INTERNAL, _names.QUANTIZED, _names.DISTRIBUTED, _names.SPARSE)


def main(arguments):
    """Prints a line per namespace; with --missing, the names that are not here by reason."""
    print(f"{'namespace':24} {'here':>5} {'wanted':>6}  {'':6} {'public':>6}")
    for space in _names.NAMESPACES:
        wanted = len(space.found) + sum(reason not in OUT_OF_SCOPE for reason in space.left_out.values())
        public = len(space.found) + len(space.left_out)
        here = len(space.found)
        print(f"{space.title:24} {here:5} {wanted:6} {100 * here / max(wanted, 1):5.1f}% {public:7}")
    if "--missing" in arguments:
        for space in _names.NAMESPACES:
            reasons = collections.defaultdict(list)
            for name, reason in sorted(space.left_out.items()):
                reasons[reason].append(name)
            for reason, names in reasons.items():
                print(f"\n{space.title}: {reason}\n  " + "\n  ".join(names))
    return 0
