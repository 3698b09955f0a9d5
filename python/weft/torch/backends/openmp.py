"""torch.backends.openmp's names: weft has its own threads."""


def is_available():
    return False
