"""Functions that functools and operator make, and calls of classes."""

from .._entered import plainly


def itemgetter(item, *items):
    if not items:
        return lambda object: object[item]
    return lambda object: tuple([object[key] for key in (item, *items)])


def attrgetter(attribute, *attributes):
    if attributes:
        return lambda object: tuple([_attribute(object, name) for name in (attribute, *attributes)])
    return lambda object: _attribute(object, attribute)


def _attribute(object, path):
    for name in path.split("."):
        object = getattr(object, name)
    return object


def methodcaller(method, *args, **kwargs):
    return lambda object: getattr(object, method)(*args, **kwargs)


def vars_(object, /):
    if not hasattr(object, "__dict__"):
        raise TypeError("vars() argument must have __dict__ attribute")
    return object.__dict__


def dict_fromkeys(keys, value=None):
    return {key: value for key in keys}


def lru_cache(maxsize=128, typed=False):
    return cached(maxsize) if callable(maxsize) else cached


def cached(function):
    results = {}

    def call(*args):
        if args not in results:
            results[args] = function(*args)
        return results[args]

    return call


def is_recording():
    """In captured code nobody asks whether a profile records: its ranges are the graphs' own."""
    return False


def tensor_of_numbers(numbers, dtype):
    """torch.Tensor([1, 2]), of the default dtype, and torch.LongTensor([1, 2])."""
    import weft

    return weft.tensor(numbers, dtype=weft.get_default_dtype() if dtype is None else dtype)


def as_tensor(data, dtype=None, device=None):
    """weft.as_tensor: of a tensor or an array itself, where its dtype and device allow."""
    import weft

    if not weft.is_tensor(data):
        if isinstance(data, (bool, int, float, complex, list, tuple)):
            return weft.tensor(data, dtype=dtype, device=device)
        if not _is_array(data):
            return plainly(weft.as_tensor, data, dtype, device)
        data = weft.from_numpy(data)
    if dtype is not None:
        data = data.to(dtype)
    return data if device is None else data.to(device)


def _is_array(data):
    import numpy

    return isinstance(data, numpy.ndarray)


def construct(cls, *args, **keywords):
    """A call of a class that has its own __new__."""
    instance = cls.__new__(cls, *args, **keywords)
    if isinstance(instance, cls):
        instance.__init__(*args, **keywords)
    return instance
