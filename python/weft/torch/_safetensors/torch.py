"""safetensors.torch's names."""

import os

import weft

from . import _bytes_tensor, map_file, parts, read_header, serialize_file, tensor_of


def storage_ptr(tensor):
    """The address of the memory that the tensor is a view of."""
    return tensor.untyped_storage().data_ptr()


def storage_size(tensor):
    """The bytes of the memory that the tensor is a view of."""
    return tensor.untyped_storage().nbytes()


def _end_ptr(tensor):
    """The address behind the tensor's last element."""
    last = sum((size - 1) * stride for size, stride in zip(tensor.shape, tensor.stride()))
    return tensor.data_ptr() + ((last + 1) * tensor.element_size() if tensor.numel() else 0)


def _is_complete(tensor):
    """Does the tensor fill the memory that it is a view of?"""
    return tensor.data_ptr() == storage_ptr(tensor) and tensor.nbytes == storage_size(tensor)


def _find_shared_tensors(state_dict):
    """The names in sets: of each set, tensors that overlap in memory."""
    areas = {}
    for name, tensor in state_dict.items():
        if tensor.device.type != "meta" and storage_size(tensor):
            area = tensor.data_ptr(), _end_ptr(tensor), name
            areas.setdefault((tensor.device, storage_ptr(tensor)), []).append(area)
    found = []
    for here in areas.values():
        end = None
        for begin, stop, name in sorted(here):
            if end is None or begin >= end:
                found.append(set())
            found[-1].add(name)
            end = stop
    return found


def _check(tensors):
    if not isinstance(tensors, dict):
        raise ValueError(f"Expected a dict of [str, torch.Tensor] but received {type(tensors)}")
    for name, tensor in tensors.items():
        if not isinstance(tensor, weft.Tensor):
            raise ValueError(f"Key `{name}` is invalid, expected torch.Tensor but received {type(tensor)}")
        if not tensor.is_contiguous():
            raise ValueError(
                f"You are trying to save a non contiguous tensor: `{name}` which is not allowed. It either means you are trying "
                "to save tensors which are reference of each other in which case it's recommended to save only the full "
                "tensors, or you need to call `.contiguous()` on your tensor to pack it before saving."
            )
    shared = [names for names in _find_shared_tensors(tensors) if len(names) > 1]
    if shared:
        raise RuntimeError(
            f"Some tensors share memory, this will lead to duplicate memory on disk and potential differences when loading them "
            f"again: {shared}. Use save_model() instead, or save clones"
        )


def save(tensors, metadata=None):
    """The bytes of a file of the tensors."""
    _check(tensors)
    return b"".join(bytes(part) for part in parts(tensors, metadata))


def save_file(tensors, filename, metadata=None):
    """Writes the tensors to a file."""
    _check(tensors)
    serialize_file(tensors, filename, metadata)


def load(data):
    """The tensors of a file's bytes."""
    import io

    entries, _, start = read_header(io.BytesIO(data).read, len(data))
    whole = _bytes_tensor(bytearray(data))
    return {name: tensor_of(whole, entry, start) for name, entry in entries.items()}


def load_file(filename, device="cpu"):
    """The tensors of a file, which is mapped: writing to them does not change it."""
    size = os.path.getsize(filename)
    with open(filename, "rb") as file:
        entries, _, start = read_header(file.read, size)
    whole = map_file(filename)
    tensors = {name: tensor_of(whole, entry, start) for name, entry in entries.items()}
    return tensors if str(device) == "cpu" else {name: tensor.to(device) for name, tensor in tensors.items()}


def _shared_names(state):
    places = {}
    for name, tensor in state.items():
        key = tensor.data_ptr(), tuple(tensor.shape), tuple(tensor.stride()), tensor.dtype
        places.setdefault(key if tensor.numel() else name, []).append(name)
    return [names for names in places.values() if len(names) > 1]


def save_model(model, filename, metadata=None, force_contiguous=True):
    """Writes the module's tensors; of those that are one tensor, one."""
    state, metadata = dict(model.state_dict()), dict(metadata or {})
    for names in _shared_names(state):
        kept = min(names)
        for name in names:
            if name != kept:
                del state[name]
                metadata[name] = kept
    if force_contiguous:
        state = {name: tensor.contiguous() for name, tensor in state.items()}
    save_file(state, filename, {"format": "pt", **metadata})


def load_model(model, filename, strict=True, device="cpu"):
    """Gives the module the tensors of a file. Result: (names that it misses, names that it does not have)."""
    state = load_file(filename, device=device)
    for names in _shared_names(dict(model.state_dict())):
        kept = next((name for name in names if name in state), None)
        if kept is not None:
            state.update({name: state[kept] for name in names})
    missing, unexpected = model.load_state_dict(state, strict=False)
    if strict and (missing or unexpected):
        raise RuntimeError(
            f"Error(s) in loading state_dict for {type(model).__name__}: missing {sorted(missing)}, unexpected {sorted(unexpected)}"
        )
    return missing, unexpected
