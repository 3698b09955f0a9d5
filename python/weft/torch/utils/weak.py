"""torch.utils.weak's names: weak references by identity."""

import weakref


class WeakIdRef(weakref.ref):
    """Equal where the objects are the same one."""

    __slots__ = ["_id"]

    def __init__(self, key, callback=None):
        super().__init__(key, callback)
        self._id = id(key)

    def __hash__(self):
        return self._id

    def __eq__(self, other):
        mine, theirs = self(), other()
        return mine is theirs if mine is not None and theirs is not None else self is other


TensorWeakRef = WeakTensorRef = WeakIdRef


class WeakIdKeyDictionary:
    """From objects, by identity and weakly, to values."""

    def __init__(self, dict=None):
        self.data = {}
        for key, value in (dict or {}).items():
            self[key] = value

    def __setitem__(self, key, value):
        self.data[WeakIdRef(key, lambda reference: self.data.pop(reference, None))] = value

    def __getitem__(self, key):
        return self.data[WeakIdRef(key)]

    def __delitem__(self, key):
        del self.data[WeakIdRef(key)]

    def __contains__(self, key):
        return WeakIdRef(key) in self.data

    def get(self, key, default=None):
        return self.data.get(WeakIdRef(key), default)

    def __len__(self):
        return len(self.data)

    def items(self):
        return [
            (reference(), value) for reference, value in list(self.data.items()) if reference() is not None
        ]

    def keys(self):
        return [key for key, _ in self.items()]

    def values(self):
        return [value for _, value in self.items()]

    def __iter__(self):
        return iter(self.keys())


WeakTensorKeyDictionary = WeakIdKeyDictionary
