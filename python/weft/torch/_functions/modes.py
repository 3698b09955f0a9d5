"""Modes of PyTorch's training and of its mixed precision: noted, and without effect on what weft computes."""

import functools as _functools
import warnings as _warnings

import weft as _weft


class _Modes:
    """What is set: the same for all threads."""

    gradients = True
    inference = False
    anomalies = False


_modes = _Modes()


class _GradientMode:
    """Sets whether gradients are on for a with statement, or for calls of the function it decorates."""

    def __init__(self, mode):
        self.mode = mode
        self.previous = None

    def __enter__(self):
        self.previous = _modes.gradients
        _modes.gradients = self.mode

    def __exit__(self, kind, value, trace):
        _modes.gradients = self.previous

    def __call__(self, function):
        if isinstance(function, type):
            return function

        @_functools.wraps(function)
        def decorated(*args, **kwargs):
            with _GradientMode(self.mode):
                return function(*args, **kwargs)

        return decorated

    def clone(self):
        """Another of the same mode."""
        return _GradientMode(self.mode)


class no_grad(_GradientMode):
    """Within it, or in the function that it decorates, is_grad_enabled() is False."""

    def __new__(cls, orig_func=None):
        made = super().__new__(cls)
        if orig_func is None:
            return made
        made.__init__()
        return made(orig_func)

    def __init__(self, orig_func=None):
        super().__init__(False)


class enable_grad(_GradientMode):
    """Within it, or in the function that it decorates, is_grad_enabled() is True."""

    def __new__(cls, orig_func=None):
        made = super().__new__(cls)
        if orig_func is None:
            return made
        made.__init__()
        return made(orig_func)

    def __init__(self, orig_func=None):
        super().__init__(True)


class set_grad_enabled(_GradientMode):
    """Sets what is_grad_enabled() says; as a context, until its end."""

    def __init__(self, mode):
        super().__init__(bool(mode))
        self.previous = _modes.gradients
        _modes.gradients = self.mode

    def __enter__(self):
        _modes.gradients = self.mode

    def __call__(self, function):
        _modes.gradients = self.previous
        return super().__call__(function)


class inference_mode:
    """Within it, or in the function that it decorates, is_inference_mode_enabled() is True and gradients are off."""

    def __new__(cls, mode=True):
        made = super().__new__(cls)
        if isinstance(mode, bool):
            return made
        made.__init__()
        return made(mode)

    def __init__(self, mode=True):
        self.mode = mode
        self.previous = None

    def __enter__(self):
        self.previous = _modes.gradients, _modes.inference
        _modes.inference = self.mode
        _modes.gradients = False if self.mode else _modes.gradients

    def __exit__(self, kind, value, trace):
        _modes.gradients, _modes.inference = self.previous

    def __call__(self, function):
        if isinstance(function, type):
            return function

        @_functools.wraps(function)
        def decorated(*args, **kwargs):
            with inference_mode(self.mode):
                return function(*args, **kwargs)

        return decorated

    def clone(self):
        """Another of the same mode."""
        return inference_mode(self.mode)


def is_grad_enabled():
    """What the modes above say; weft computes no gradients."""
    return _modes.gradients


def is_inference_mode_enabled():
    """Whether inference_mode is entered."""
    return _modes.inference


def set_anomaly_enabled(enabled, check_nan=True):
    """Notes the choice; weft computes no gradients in which there could be anomalies."""
    _modes.anomalies = bool(enabled)


def is_anomaly_enabled():
    """What set_anomaly_enabled said."""
    return _modes.anomalies


def is_anomaly_check_nan_enabled():
    """What set_anomaly_enabled says of NaN where nothing is said: True."""
    return True


# ---- mixed precision -----------------------------------------------------------------------------------------


class _Autocast:
    """Per kind of device: whether it is on, and its dtype."""

    enabled = {"cpu": False, "cuda": False}
    dtypes = {"cpu": _weft.bfloat16, "cuda": _weft.float16}
    cache = True


_autocast = _Autocast()


def _device_type(device_type):
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
    return device_type.partition(":")[0]


class autocast:
    """Notes the choice. weft computes in the dtypes of the operands: a warning says so where it would matter."""

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        self.device = _device_type(device_type)
        self.fast_dtype = dtype if dtype is not None else _autocast.dtypes.get(self.device, _weft.bfloat16)
        self._enabled = enabled and self.device == "cpu"
        self.previous = None

    def __enter__(self):
        self.previous = _autocast.enabled.get(self.device, False), _autocast.dtypes.get(self.device)
        if self._enabled:
            _warnings.warn(
                "torch.autocast has no effect in weft: operators compute in their operands' dtypes",
                stacklevel=2,
            )
        _autocast.enabled[self.device], _autocast.dtypes[self.device] = self._enabled, self.fast_dtype
        return self

    def __exit__(self, kind, value, trace):
        _autocast.enabled[self.device], _autocast.dtypes[self.device] = self.previous

    def __call__(self, function):
        @_functools.wraps(function)
        def decorated(*args, **kwargs):
            with self:
                return function(*args, **kwargs)

        return decorated


def is_autocast_enabled(device_type="cuda"):
    """Whether autocast is entered for a kind of device."""
    return _autocast.enabled.get(_device_type(device_type), False)


def set_autocast_enabled(device_type, enabled=None):
    """Notes the choice."""
    if enabled is None:
        device_type, enabled = "cuda", device_type
    _autocast.enabled[_device_type(device_type)] = bool(enabled)


def get_autocast_dtype(device_type):
    """The dtype that autocast notes for a kind of device."""
    return _autocast.dtypes.get(_device_type(device_type), _weft.bfloat16)


def set_autocast_dtype(device_type, dtype):
    """Notes the dtype."""
    _autocast.dtypes[_device_type(device_type)] = dtype


def is_autocast_cpu_enabled():
    """is_autocast_enabled("cpu")."""
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled):
    """set_autocast_enabled("cpu", enabled)."""
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype():
    """get_autocast_dtype("cpu")."""
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype():
    """get_autocast_dtype("cuda")."""
    return get_autocast_dtype("cuda")


def set_autocast_cpu_dtype(dtype):
    """set_autocast_dtype("cpu", dtype)."""
    set_autocast_dtype("cpu", dtype)


def set_autocast_gpu_dtype(dtype):
    """set_autocast_dtype("cuda", dtype)."""
    set_autocast_dtype("cuda", dtype)


def is_autocast_cache_enabled():
    """What set_autocast_cache_enabled said."""
    return _autocast.cache


def set_autocast_cache_enabled(enabled):
    """Notes the choice."""
    _autocast.cache = bool(enabled)
