"""torch.version's names."""

from ._table import TORCH_VERSION

__all__ = ["__version__", "debug", "cuda", "git_version", "hip", "rocm", "xpu"]


class TorchVersion(str):
    """A version that compares with others by their numbers."""

    def _key(self, other):
        import re

        def numbers(version):
            return [int(part) for part in re.findall(r"\d+", version.partition("+")[0])[:3]]

        if isinstance(other, (tuple, list)):
            other = ".".join(str(part) for part in other)
        mine, theirs = numbers(self), numbers(str(other))
        size = max(len(mine), len(theirs))
        return mine + [0] * (size - len(mine)), theirs + [0] * (size - len(theirs))

    def __lt__(self, other):
        mine, theirs = self._key(other)
        return mine < theirs

    def __le__(self, other):
        mine, theirs = self._key(other)
        return mine <= theirs

    def __gt__(self, other):
        mine, theirs = self._key(other)
        return mine > theirs

    def __ge__(self, other):
        mine, theirs = self._key(other)
        return mine >= theirs

    def __eq__(self, other):
        mine, theirs = self._key(other)
        return mine == theirs

    def __ne__(self, other):
        return not self == other

    __hash__ = str.__hash__


__version__ = TorchVersion(TORCH_VERSION)
debug = False
cuda = hip = rocm = xpu = None
git_version = "Unknown"
