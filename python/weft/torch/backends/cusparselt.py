"""torch.backends.cusparselt's names, without it."""


def version():
    return None


def is_available():
    return False
