"""What torch._subclasses.fake_tensor answers: there are no fake tensors."""


def is_fake(x):
    """False."""
    return False
