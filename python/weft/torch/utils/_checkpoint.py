"""torch.utils.checkpoint's names. There is no backward pass to save memory for: the functions are called."""

import contextlib
import enum


def checkpoint(
    function,
    *args,
    use_reentrant=None,
    context_fn=None,
    determinism_check="default",
    debug=False,
    early_stop=True,
    preserve_rng_state=True,
    **kwargs,
):
    """function(*args, **kwargs)."""
    return function(*args, **kwargs)


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """The functions, or a Sequential's modules, one after another."""
    for function in functions.children() if hasattr(functions, "children") else functions:
        input = function(input)
    return input


def get_device_states(*args):
    """(devices, states of their generators) of the arguments: of the CPU's there are none."""
    return [], []


def set_device_states(devices, states, *, device_type=None):
    pass


def detach_variable(inputs):
    """The inputs: there is no graph to take them out of."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}"
        )
    return inputs


def noop_context_fn():
    return contextlib.nullcontext(), contextlib.nullcontext()


@contextlib.contextmanager
def set_checkpoint_early_stop(enable):
    yield


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled):
    yield


class CheckpointError(RuntimeError):
    pass


class CheckpointPolicy(enum.Enum):
    MUST_SAVE, PREFER_SAVE, MUST_RECOMPUTE, PREFER_RECOMPUTE, MUST_CPU_OFFLOAD = range(5)


class SelectiveCheckpointContext:
    def __init__(self, *, is_recompute, op_output=None):
        self.is_recompute, self.op_output = is_recompute, op_output


def create_selective_checkpoint_contexts(policy_fn_or_list, allow_cache_entry_mutation=False):
    return noop_context_fn()


def check_backward_validity(inputs):
    pass


class DefaultDeviceType:
    @staticmethod
    def set_device_type(device="cuda"):
        DefaultDeviceType._device = device

    @staticmethod
    def get_device_type():
        return getattr(DefaultDeviceType, "_device", "cuda")
