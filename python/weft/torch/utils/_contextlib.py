"""torch.utils._contextlib's names."""

import functools

from ..autograd import _Switch as _DecoratorContextManager  # noqa: F401


def context_decorator(ctx, func):
    @functools.wraps(func)
    def call(*args, **kwargs):
        with ctx() if callable(ctx) else ctx:
            return func(*args, **kwargs)

    return call
