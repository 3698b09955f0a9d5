"""torch.ops._torchaudio as torchaudio's Python package calls it, beside TorchScript's builtins (torchaudio.cc)."""


def cuda_version():
    """None: there is no CUDA in it."""
    return None


def is_align_available():
    """False: torchaudio's functions that align texts say that they are not there."""
    return False
