"""Saving and loading of a module's state: parameters and persistent buffers by dotted names."""

import collections

import weft
from weft.nn.parameter import Parameter, is_lazy


class _IncompatibleKeys(collections.namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """What load_state_dict did not find, and what it had no place for."""

    __slots__ = ()

    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()


IncompatibleKeys = _IncompatibleKeys


class State:
    """The half of Module that saves and loads. Its methods are PyTorch's: what helps them are functions, which no attribute
    of a module hides."""

    # Of the class's state; a newer one may load older states by overriding _load_from_state_dict.
    _version = 1

    def get_extra_state(self):
        raise NotImplementedError(f"{type(self).__name__} has no get_extra_state()")

    def set_extra_state(self, state):
        raise NotImplementedError(f"{type(self).__name__} has no set_extra_state()")

    # ---- saving ------------------------------------------------------------------------------------------
    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        """Parameters and persistent buffers by dotted name, as an OrderedDict. The tensors share memory with the
        module's; keep_vars: they are the module's own objects. args: destination, prefix, keep_vars by position."""
        given = dict(zip(("destination", "prefix", "keep_vars"), args))
        destination = given.get("destination", destination)
        prefix, keep_vars = given.get("prefix", prefix), given.get("keep_vars", keep_vars)
        if destination is None:
            destination = collections.OrderedDict()
            destination._metadata = collections.OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in tuple(self._state_dict_pre_hooks.values()):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in tuple(self._state_dict_hooks.values()):
            result = hook(self, destination, prefix, metadata)
            if result is not None:
                destination = result
        return destination

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for _, name, value in _own_state(self):
            destination[prefix + name] = value if keep_vars or is_lazy(value) else value.detach()
        if type(self).get_extra_state is not State.get_extra_state:
            destination[prefix + "_extra_state"] = self.get_extra_state()

    # ---- loading -----------------------------------------------------------------------------------------
    def load_state_dict(self, state_dict, strict=True, assign=False):
        """Copies (assign: puts) the tensors of `state_dict` into the module; shapes must match, dtypes are converted.

        strict: every key must match. Nothing is changed when an error is raised, unless hooks or modules of one's own
        change something.
        Returns: IncompatibleKeys(missing_keys, unexpected_keys).
        Raises: RuntimeError naming every missing and unexpected key and every shape that differs.
        """
        if not hasattr(state_dict, "items"):
            raise TypeError(f"load_state_dict: expected a dictionary, got {type(state_dict).__name__}")
        metadata = getattr(state_dict, "_metadata", None)
        state = collections.OrderedDict(state_dict)
        if metadata is not None:
            state._metadata = metadata
        keys, errors, pending = IncompatibleKeys([], []), [], []
        options = {"assign_to_params_buffers": assign, "pending": pending}
        _gather(self, state, "", metadata or {}, options, keys, errors)
        has_hooks = any(module._load_state_dict_post_hooks for module in self.modules())
        if not has_hooks:
            _raise_if(self, errors, strict, keys)
        if not errors:
            for put in pending:
                put()
        _run_load_hooks(self, keys)
        _raise_if(self, errors, strict, keys)
        return keys

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        """Takes the module's own tensors, those whose keys begin with `prefix`. Keys and errors are appended to the
        lists; what is to be copied is appended to local_metadata["pending"] if that is there, otherwise copied."""
        for hook in tuple(self._load_state_dict_pre_hooks.values()):
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        assign, pending = local_metadata.get("assign_to_params_buffers", False), local_metadata.get("pending")
        known = {"_extra_state"}
        for store, name, own in _own_state(self):
            known.add(name)
            key = prefix + name
            if key not in state_dict:
                if strict:
                    missing_keys.append(key)
                continue
            error = _mismatch(key, state_dict[key], own)
            if error:
                error_msgs.append(error)
                continue
            put = _putter(self, store, name, state_dict[key], assign)
            put() if pending is None else pending.append(put)
        _load_extra_state(
            self, state_dict, prefix + "_extra_state", strict, missing_keys, unexpected_keys, pending
        )
        if strict:
            unexpected_keys.extend(key for key in state_dict if _is_unexpected(self, key, prefix, known))


def _own_state(module):
    """(store, name, value) of every parameter and persistent buffer of the module itself."""
    for name, value in module._parameters.items():
        if value is not None:
            yield module._parameters, name, value
    left_out = module._non_persistent_buffers_set
    for name, value in module._buffers.items():
        if value is not None and name not in left_out:
            yield module._buffers, name, value


def _gather(module, state, prefix, metadata, options, keys, errors):
    local = {**metadata.get(prefix[:-1], {}), **options}
    module._load_from_state_dict(state, prefix, local, True, *keys, errors)
    for name, child in module._modules.items():
        if child is not None:
            inner = f"{prefix}{name}."
            part = {key: value for key, value in state.items() if key.startswith(inner)}
            _gather(child, part, inner, metadata, options, keys, errors)


def _run_load_hooks(module, keys):
    for child in module._modules.values():
        if child is not None:
            _run_load_hooks(child, keys)
    for hook in tuple(module._load_state_dict_post_hooks.values()):
        if hook(module, keys) is not None:
            raise RuntimeError("load_state_dict: a post-hook changes the two lists in place and returns None")


def _raise_if(module, errors, strict, keys):
    lines = list(errors)
    if strict:
        quoted = [", ".join(f'"{key}"' for key in each) for each in (keys.unexpected_keys, keys.missing_keys)]
        for title, each in zip(("Unexpected", "Missing"), quoted):
            if each:
                lines.insert(0, f"{title} key(s) in state_dict: {each}. ")
    if lines:
        raise RuntimeError(
            f"Error(s) in loading state_dict for {type(module).__name__}:\n\t" + "\n\t".join(lines)
        )


def _is_unexpected(module, key, prefix, known):
    """Does nobody take this key: neither the module itself nor one in it?"""
    if not key.startswith(prefix):
        return False
    first, dot, _ = key[len(prefix) :].partition(".")
    return module._modules.get(first) is None if dot else first not in known


def _load_extra_state(module, state_dict, key, strict, missing_keys, unexpected_keys, pending):
    if type(module).set_extra_state is State.set_extra_state:
        if strict and key in state_dict and type(module).get_extra_state is State.get_extra_state:
            unexpected_keys.append(key)
    elif key in state_dict:
        put = lambda: module.set_extra_state(state_dict[key])  # noqa: E731
        put() if pending is None else pending.append(put)
    elif strict:
        missing_keys.append(key)


def _putter(module, store, name, value, assign):
    def put():
        own = store[name]
        if assign or is_lazy(own):
            kept = value if assign else value.clone()
            is_parameter = isinstance(own, Parameter) and not isinstance(value, Parameter)
            setattr(module, name, Parameter(kept, own.requires_grad) if is_parameter else kept)
        else:
            own.copy_(value if value.shape == own.shape else value.reshape(own.shape))

    return put


def _mismatch(key, value, own):
    if not isinstance(value, weft.Tensor):
        return f'While copying the parameter named "{key}", expected a tensor from checkpoint but received {type(value)}'
    if is_lazy(own) or is_lazy(value):
        return f"{key}: the checkpoint's is not initialized, the model's is" if not is_lazy(own) else None
    # Scalars were once saved with one element.
    if value.shape != own.shape and not (own.ndim == 0 and tuple(value.shape) == (1,)):
        return (
            f"size mismatch for {key}: copying a param with shape torch.Size({list(value.shape)}) from checkpoint, "
            f"the shape in current model is torch.Size({list(own.shape)})."
        )
    return None
