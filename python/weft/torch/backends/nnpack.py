"""torch.backends.nnpack's names, without it."""

from ._settings import flags

enabled = False


def is_available():
    return False


def set_flags(_enabled):
    global enabled
    before, enabled = enabled, _enabled
    return (before,)


flags = flags(__name__, enabled=False)
