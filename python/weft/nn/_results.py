"""Where functions' results go."""


def into(out, result):
    """The result, or out= with the result in it."""
    if out is None:
        return result
    from weft.torch._functions._support import written

    return written(out, result)
