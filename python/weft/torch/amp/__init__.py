"""torch.amp's names. weft computes in the dtypes of a program's own tensors: autocast is accepted, and casts nothing."""

import functools
import warnings

import weft

from .. import _absent

_DEVICES = (
    "cpu cuda ipu xpu mkldnn opengl opencl ideep hip ve fpga maia xla lazy vulkan mps meta hpu mtia privateuseone"
).split()
_DTYPES = {"cpu": weft.bfloat16, "mps": weft.float16, "xla": weft.bfloat16, "hpu": weft.bfloat16}


class _State:
    enabled = {}  # device -> whether
    dtype = {}
    cache = True
    nesting = 0


def is_autocast_available(device_type):
    """Whether PyTorch has autocast for the device."""
    return device_type in ("cpu", "cuda", "xpu", "mps", "mtia", "hpu", "xla", "maia", "ipu")


class autocast:
    """Accepted, and casts nothing: operators compute in the dtypes of their operands. A program whose model is to run in bfloat16
    converts it: model.bfloat16()."""

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if device_type not in _DEVICES:
            raise RuntimeError(
                f"autocast: expected device_type to be one of {', '.join(_DEVICES)}, got {device_type!r}"
            )
        if enabled and device_type == "cuda":
            warnings.warn("CUDA is not available or torch_xla is imported. Disabling autocast.", stacklevel=2)
            enabled = False
        self.device = device_type
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self._enabled, self._cache_enabled = enabled, cache_enabled
        if enabled and self.fast_dtype not in (weft.bfloat16, weft.float16):
            warnings.warn(
                "In CPU autocast, but the target dtype is not supported. Disabling autocast.\n"
                "CPU Autocast only supports dtypes of torch.bfloat16, torch.float16 currently.",
                stacklevel=2,
            )
            self._enabled = False

    def __enter__(self):
        self._before = _State.enabled.get(self.device, False), _State.dtype.get(self.device)
        _State.enabled[self.device], _State.dtype[self.device] = self._enabled, self.fast_dtype
        return self

    def __exit__(self, *error):
        enabled, dtype = self._before
        _State.enabled[self.device] = enabled
        if dtype is None:
            _State.dtype.pop(self.device, None)
        else:
            _State.dtype[self.device] = dtype
        return False

    def __call__(self, function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            with self:
                return function(*args, **kwargs)

        return call


def autocast_decorator(autocast_instance, func):
    return autocast_instance(func)


def is_autocast_enabled(device_type="cuda"):
    return _State.enabled.get(device_type, False)


def set_autocast_enabled(device_type, enabled=None):
    if enabled is None:
        device_type, enabled = "cuda", device_type
    _State.enabled[device_type] = enabled


def get_autocast_dtype(device_type):
    return _State.dtype.get(device_type) or _DTYPES.get(device_type, weft.float16)


def set_autocast_dtype(device_type, dtype):
    _State.dtype[device_type] = dtype


def is_autocast_cpu_enabled():
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled):
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype():
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype):
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype():
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype):
    set_autocast_dtype("cuda", dtype)


def is_autocast_ipu_enabled():
    return is_autocast_enabled("ipu")


def set_autocast_ipu_enabled(enabled):
    set_autocast_enabled("ipu", enabled)


def get_autocast_ipu_dtype():
    return get_autocast_dtype("ipu")


def set_autocast_ipu_dtype(dtype):
    set_autocast_dtype("ipu", dtype)


def is_autocast_xla_enabled():
    return is_autocast_enabled("xla")


def set_autocast_xla_enabled(enabled):
    set_autocast_enabled("xla", enabled)


def get_autocast_xla_dtype():
    return get_autocast_dtype("xla")


def set_autocast_xla_dtype(dtype):
    set_autocast_dtype("xla", dtype)


def is_autocast_cache_enabled():
    return _State.cache


def set_autocast_cache_enabled(enabled):
    _State.cache = enabled


def clear_autocast_cache():
    pass


def autocast_increment_nesting():
    _State.nesting += 1
    return _State.nesting


def autocast_decrement_nesting():
    _State.nesting -= 1
    return _State.nesting


def custom_fwd(fwd=None, *, device_type, cast_inputs=None):
    """The forward of a Function as it is."""
    return (
        functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
        if fwd is None
        else fwd
    )


def custom_bwd(bwd=None, *, device_type):
    """The backward of a Function as it is."""
    return functools.partial(custom_bwd, device_type=device_type) if bwd is None else bwd


class GradScaler:
    """As a disabled one is: it scales nothing. There are no gradients."""

    def __init__(
        self,
        device="cuda",
        init_scale=65536.0,
        growth_factor=2.0,
        backoff_factor=0.5,
        growth_interval=2000,
        enabled=True,
    ):
        if enabled and device == "cuda":
            warnings.warn(
                "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.", stacklevel=2
            )
        self._device = device

    def is_enabled(self):
        return False

    def scale(self, outputs):
        return outputs

    def unscale_(self, optimizer):
        pass

    def step(self, optimizer, *args, **kwargs):
        return optimizer.step(*args, **kwargs)

    def update(self, new_scale=None):
        pass

    def get_scale(self):
        return 1.0

    def state_dict(self):
        return {}

    def load_state_dict(self, state_dict):
        pass


__getattr__ = _absent.names(__name__)
