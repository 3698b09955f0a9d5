"""torch.backends.kleidiai's names, without it."""


def is_available():
    return False
