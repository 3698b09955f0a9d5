"""PyTorch's dispatch keys: for which of weft's devices an operator's kernel is, and which of several is called."""

import types

_DEVICES = {"CPU": "cpu", "CUDA": "cuda", "Meta": "meta"}
_DEVICE_TYPES = {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta", "default": "CompositeExplicitAutograd"}
_DEVICE_TYPES.update(
    (name.lower(), name) for name in "XLA MPS IPU XPU HPU VE Lazy MTIA MAIA PrivateUse1".split()
)
# Kernels for all devices; the first that is there is called. Those for gradients, which weft does not have, come last.
_FOR_ALL = ("CompositeImplicitAutograd", "CompositeExplicitAutograd", "Autograd", "AutogradCPU")
_BACKENDS = (
    "CPU CUDA HIP XLA MPS IPU XPU HPU VE Lazy MTIA MAIA PrivateUse1 PrivateUse2 PrivateUse3 Meta".split()
)
_KEYS = frozenset(
    """Undefined CompositeExplicitAutogradNonFunctional CompositeImplicitAutogradNestedTensor AutogradNestedTensor AutogradOther
    Conjugate ZeroTensor Negative BackendSelect ADInplaceOrView PythonTLSSnapshot Python FuncTorchDynamicLayerFrontMode
    FuncTorchDynamicLayerBackMode FuncTorchBatchedDecomposition FuncTorchBatched FuncTorchVmapMode FuncTorchGradWrapper
    PythonDispatcher PreDispatch Functionalize AutocastCPU AutocastMPS AutocastXPU AutocastHPU AutocastIPU AutocastCUDA
    AutocastPrivateUse1 Dense Quantized Sparse SparseCsr NestedTensor AutogradFunctionality""".split()
).union(_FOR_ALL, *([kind + name for name in _BACKENDS] for kind in ("", "Quantized", "Sparse", "Autograd")))


class DispatchKeySet(frozenset):
    """Keys, as PyTorch's of C++: `DispatchKeySet(DispatchKey.CPU) | …`."""

    def __new__(cls, keys=()):
        return super().__new__(cls, [keys] if isinstance(keys, str) else keys)

    def __or__(self, other):
        return DispatchKeySet(frozenset.__or__(self, other))

    def has(self, key):
        return key in self


DispatchKey = types.SimpleNamespace(**{key: key for key in sorted(_KEYS)})


def key_of(name):
    """The dispatch key that a name of one, a device's type or None says. RuntimeError for other names."""
    if not name:
        return "CompositeExplicitAutograd" if name is None else "CompositeImplicitAutograd"
    key = _DEVICE_TYPES.get(name, name)
    if key not in _KEYS:
        raise RuntimeError(f"could not parse dispatch key: {name}")
    return key


def fallthrough_kernel():
    """Stands for a kernel: there is none for the key."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


def register(operator, key, function):
    """A kernel of an operator for a key; those for devices and modes that weft does not have are never called."""
    key = key_of(key)
    kernels = operator._kernels
    if key in _DEVICES:
        place, target = kernels, _DEVICES[key]
    elif key in _FOR_ALL:
        given = {"CompositeExplicitAutograd": kernels[None]} if None in kernels else {}
        place, target = operator.__dict__.setdefault("_for_all", given), key
    else:
        return
    if function is fallthrough_kernel:
        place.pop(target, None)
    else:
        place[target] = function
    if place is not kernels:
        found = [place[one] for one in _FOR_ALL if one in place]
        kernels.update({None: found[0]} if found else {})
        if not found:
            kernels.pop(None, None)


def unregister(operator, key, function):
    """Takes the kernel away, if it is the one for the key still."""
    key = key_of(key)
    place = operator._kernels if key in _DEVICES else operator.__dict__.get("_for_all", {})
    if place.get(_DEVICES.get(key, key)) is function:
        register(operator, key, fallthrough_kernel)


def kernel_of(operator, key):
    """The kernel that a call with tensors of a key's device runs."""
    return operator._kernel(_DEVICES.get(key_of(str(key)), "cpu"))
