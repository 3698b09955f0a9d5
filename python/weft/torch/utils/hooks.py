"""torch.utils.hooks' names."""

import weakref


class RemovableHandle:
    """What takes a hook out of the dictionary it is in. A context manager too."""

    next_id = 0

    def __init__(self, hooks_dict, *, extra_dict=None):
        self.hooks_dict_ref = weakref.ref(hooks_dict)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        self.extra_dict_ref = tuple(
            weakref.ref(extra)
            for extra in (extra_dict if isinstance(extra_dict, list) else [extra_dict] if extra_dict else [])
        )

    def remove(self):
        for reference in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = reference()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.remove()


def unserializable_hook(f):
    f.__torch_unserializable__ = True
    return f


def warn_if_has_hooks(tensor):
    pass
