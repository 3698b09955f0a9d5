"""Python functions that capture enters in place of functions written in C."""


def reduce(function, iterable, *initial):
    iterator = iter(iterable)
    if initial:
        (value,) = initial
    else:
        value = next(iterator)
    for element in iterator:
        value = function(value, element)
    return value


REPLACEMENTS = {"functools.reduce": reduce}
