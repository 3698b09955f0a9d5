"""Hooks of modules: functions that run before and after forward, and around saving and loading of states."""

import collections
import itertools
import warnings

_NONE = {}  # a class's default, until the first hook of a kind is registered


class RemovableHandle:
    """Takes a hook away again: `handle.remove()`, or at the end of a `with` statement."""

    _ids = itertools.count()

    def __init__(self, hooks, *others):
        self._hooks = (hooks, *others)
        self.id = next(self._ids)

    def remove(self):
        for hooks in self._hooks:
            hooks.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()


# Where a kind's options are kept.
_OPTIONS = {
    "_forward_hooks": "_weft_forward_hook_options",
    "_forward_pre_hooks": "_weft_forward_pre_hook_options",
}


def _store_of(module, name):
    if name not in module.__dict__:
        module.__dict__[name] = collections.OrderedDict()
    return module.__dict__[name]


def add_hook(module, store, hook, options=None, prepend=False):
    hooks = _store_of(module, store)
    if options is None:
        handle = RemovableHandle(hooks)
    else:
        option_store = _store_of(module, _OPTIONS[store])
        handle = RemovableHandle(hooks, option_store)
        if any(options):
            option_store[handle.id] = options
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def call_with_hooks(module, args, kwargs):
    """forward() of the module between its hooks."""
    called, output = set(), None
    try:
        args, kwargs = _before_forward(module, args, kwargs)
        output = module.forward(*args, **kwargs)
        for key, hook in tuple(module._forward_hooks.items()):
            called.add(key)
            output = _after_forward(module, key, hook, args, kwargs, output)
        return output
    except Exception:
        _after_error(module, called, args, kwargs, output)
        raise


def _before_forward(module, args, kwargs):
    for key, hook in tuple(module._forward_pre_hooks.items()):
        if key not in module._weft_forward_pre_hook_options:
            result = hook(module, args)
            if result is not None:
                args = result if isinstance(result, tuple) else (result,)
            continue
        result = hook(module, args, kwargs)
        if result is None:
            continue
        if not isinstance(result, tuple) or len(result) != 2:
            raise RuntimeError(
                f"forward pre-hook of {type(module).__name__}: expected None or (args, kwargs), got {result!r}"
            )
        args, kwargs = result
    return args, kwargs


def _after_forward(module, key, hook, args, kwargs, output):
    with_kwargs, _ = module._weft_forward_hook_options.get(key, (False, False))
    result = hook(module, args, kwargs, output) if with_kwargs else hook(module, args, output)
    return output if result is None else result


def _after_error(module, called, args, kwargs, output):
    for key, hook in tuple(module._forward_hooks.items()):
        _, always_call = module._weft_forward_hook_options.get(key, (False, False))
        if not always_call or key in called:
            continue
        try:
            output = _after_forward(module, key, hook, args, kwargs, output)
        except Exception as error:
            warnings.warn(
                f"forward hook with always_call=True raised {error!r} after forward had failed",
                stacklevel=4,
            )


class Hooks:
    """The half of Module that keeps hooks."""

    _forward_hooks = _forward_pre_hooks = _weft_forward_hook_options = _weft_forward_pre_hook_options = _NONE
    _state_dict_hooks = _state_dict_pre_hooks = _NONE
    _backward_hooks = _backward_pre_hooks = _NONE
    _is_full_backward_hook = None
    _load_state_dict_pre_hooks = _load_state_dict_post_hooks = _NONE

    # ---- calls -------------------------------------------------------------------------------------------
    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """hook(module, args) is called before forward; what it returns, unless None, replaces the arguments.

        prepend: before the hooks that there are. with_kwargs: hook(module, args, kwargs) returns None or
        (args, kwargs).
        """
        return add_hook(self, "_forward_pre_hooks", hook, (with_kwargs,), prepend)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """hook(module, args, output) is called after forward; what it returns, unless None, replaces the output.

        prepend: before the hooks that there are. with_kwargs: hook(module, args, kwargs, output). always_call: also
        where forward or an earlier hook raised, with the output None as long as there is none.
        """
        return add_hook(self, "_forward_hooks", hook, (with_kwargs, always_call), prepend)

    # ---- gradients ---------------------------------------------------------------------------------------
    def register_full_backward_hook(self, hook, prepend=False):
        """Accepted, but never called: weft computes no gradients."""
        return add_hook(self, "_backward_hooks", hook, prepend=prepend)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """Accepted, but never called: weft computes no gradients."""
        return add_hook(self, "_backward_pre_hooks", hook, prepend=prepend)

    def register_backward_hook(self, hook):
        """Accepted, but never called: weft computes no gradients."""
        return add_hook(self, "_backward_hooks", hook)

    # ---- states ------------------------------------------------------------------------------------------
    def register_state_dict_pre_hook(self, hook):
        """hook(module, prefix, keep_vars) is called before state_dict() reads the module."""
        return add_hook(self, "_state_dict_pre_hooks", hook)

    def register_state_dict_post_hook(self, hook):
        """hook(module, state_dict, prefix, local_metadata) may change the dictionary in place."""
        return add_hook(self, "_state_dict_hooks", hook)

    def _register_state_dict_hook(self, hook):
        """As register_state_dict_post_hook; what it returns, unless None, is the result."""
        return add_hook(self, "_state_dict_hooks", hook)

    def register_load_state_dict_pre_hook(self, hook):
        """hook(module, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs) is called
        before the module takes its tensors from the dictionary, which it may change in place."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        return add_hook(
            self, "_load_state_dict_pre_hooks", (lambda *args: hook(self, *args)) if with_module else hook
        )

    def register_load_state_dict_post_hook(self, hook):
        """hook(module, incompatible_keys) is called when load_state_dict() has done this module and those in it; it may
        change the two lists in place."""
        return add_hook(self, "_load_state_dict_post_hooks", hook)
