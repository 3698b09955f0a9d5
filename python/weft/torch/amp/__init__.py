"""torch.amp's names. On the CPU autocast casts the operands of operators as PyTorch's lists have it (`src/ops/autocast.cc`,
`weft/_autocast.py`); of other devices the state is kept, and nothing is computed there."""

import functools
import warnings

import weft
from weft import _C, _autocast

from .. import _absent

_SUPPORTED = ("cpu", "cuda", "xpu", "mps", "mtia", "hpu", "xla", "maia", "ipu")
_DTYPES = {"cpu": weft.bfloat16, "mps": weft.float16, "xla": weft.bfloat16, "hpu": weft.bfloat16}
_HALF = (weft.bfloat16, weft.float16)


class _State:
    enabled = {}  # device -> whether; not the CPU's
    dtype = {}
    nesting = 0


def is_autocast_available(device_type):
    """Whether PyTorch has autocast for the device."""
    return device_type in _SUPPORTED


class autocast:
    """A region, or a decorated function, where operators compute in `dtype`, in float32, or in what their operands have, as
    PyTorch's lists say. Regions can be nested; enabled=False switches it off inside of another one.

    device_type: "cpu" casts; dtype: bfloat16 or float16, by default get_autocast_dtype(device_type). Casts of weights are
    made at each call, whatever cache_enabled says.
    """

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self.device = device_type
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self._cache_enabled = is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        if enabled and device_type == "cuda":
            warnings.warn(
                "weft casts on the CPU alone. Disabling autocast."
                if weft.torch.cuda.is_available()
                else "CUDA is not available or torch_xla is imported. Disabling autocast.",
                stacklevel=2,
            )
            enabled = False
        elif enabled and self.fast_dtype not in _HALF:
            name = device_type.upper()
            warnings.warn(
                f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n"
                f"{name} Autocast only supports dtypes of torch.bfloat16, torch.float16 currently.",
                stacklevel=2,
            )
            enabled = False
        self._enabled = enabled

    def __enter__(self):
        self.prev_cache_enabled = is_autocast_cache_enabled()
        self.prev = is_autocast_enabled(self.device)
        self.prev_fastdtype = get_autocast_dtype(self.device)
        set_autocast_enabled(self.device, self._enabled)
        set_autocast_dtype(self.device, self.fast_dtype)
        set_autocast_cache_enabled(self._cache_enabled)
        return self

    def __exit__(self, *error):
        set_autocast_enabled(self.device, self.prev)
        set_autocast_dtype(self.device, self.prev_fastdtype)
        set_autocast_cache_enabled(self.prev_cache_enabled)
        return False

    def __call__(self, func):
        if not callable(func):
            raise TypeError(
                f"autocast()(func) requires a callable, but got {type(func).__name__}. "
                f"Did you mean to use autocast as a context manager? For example:\n"
                f"    with torch.autocast(device_type=...):\n"
                f"        output = model(input)"
            )

        @functools.wraps(func)
        def decorate_autocast(*args, **kwargs):
            with self:
                return func(*args, **kwargs)

        return decorate_autocast


def autocast_decorator(autocast_instance, func):
    return autocast_instance(func)


def _enter_autocast(*vals):
    return autocast(*vals).__enter__()


def _exit_autocast(mode):
    mode.__exit__(None, None, None)


def is_autocast_enabled(device_type="cuda"):
    return _C._autocast()[0] if device_type == "cpu" else _State.enabled.get(device_type, False)


def set_autocast_enabled(device_type, enabled=None):
    if enabled is None:
        device_type, enabled = "cuda", device_type
    if device_type == "cpu":
        _, dtype, keeps_casts = _C._autocast()
        _C._set_autocast(enabled, dtype, keeps_casts)
    else:
        _State.enabled[device_type] = enabled


def get_autocast_dtype(device_type):
    if device_type == "cpu":
        return _C._autocast()[1]
    return _State.dtype.get(device_type) or _DTYPES.get(device_type, weft.float16)


def set_autocast_dtype(device_type, dtype):
    if device_type == "cpu":
        enabled, _, keeps_casts = _C._autocast()
        _C._set_autocast(enabled, dtype, keeps_casts)
    else:
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
    return _C._autocast()[2]


def set_autocast_cache_enabled(enabled):
    """Notes the choice."""
    is_enabled, dtype, _ = _C._autocast()
    _C._set_autocast(is_enabled, dtype, enabled)


def clear_autocast_cache():
    """No casts are kept."""


def autocast_increment_nesting():
    _State.nesting += 1
    return _State.nesting


def autocast_decrement_nesting():
    _State.nesting -= 1
    return _State.nesting


def custom_fwd(fwd=None, *, device_type, cast_inputs=None):
    """The forward of a Function; where autocast is on, and cast_inputs a dtype, of inputs in this dtype, without autocast."""
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)
    if cast_inputs is None or device_type != "cpu":
        return fwd
    return _autocast.under(fwd, cast_inputs)


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
                "There are no gradients to scale. Disabling GradScaler."
                if weft.torch.cuda.is_available()
                else "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.",
                stacklevel=2,
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
