"""torch.autograd's names. weft computes no gradients: what switches them is kept for programs that ask, and changes nothing."""

import functools
import inspect

from ... import _C
from .. import _absent

NO_GRADIENTS = "element 0 of tensors does not require grad and does not have a grad_fn"


# What programs have set, for them to ask. A dictionary: weft.compile keeps changes of its items within a graph.
# Of the process, as in PyTorch; grad and inference mode are of the thread (`_C._grad_mode`).
_state = {"anomaly": False, "anomaly checks nan": True}


def _set_grad(mode):
    _C._set_grad_mode(mode, _C._grad_mode()[1])


class _Switch:
    """A context manager and decorator that sets grad mode."""

    def __call__(self, function):
        if isinstance(function, type):
            function.__init__ = self(function.__init__)
            return function
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def generate(*args, **kwargs):
                with self._again():
                    yield from function(*args, **kwargs)

            return generate

        @functools.wraps(function)
        def call(*args, **kwargs):
            with self._again():
                return function(*args, **kwargs)

        return call

    def _again(self):
        return type(self)()


class no_grad(_Switch):
    """Within it, is_grad_enabled() is False. With or without parentheses as a decorator."""

    _grad = False

    def __new__(cls, orig_func=None):
        return object.__new__(cls) if orig_func is None else object.__new__(cls)(orig_func)

    def __init__(self, orig_func=None):
        pass

    def __enter__(self):
        self._before = _C._grad_mode()[0]
        _set_grad(self._grad)

    def __exit__(self, *error):
        _set_grad(self._before)


class enable_grad(no_grad):
    """Within it, is_grad_enabled() is True."""

    _grad = True


class set_grad_enabled(_Switch):
    """Sets what is_grad_enabled() says, from now on or within a `with` statement."""

    def __init__(self, mode):
        self.mode, self.prev = mode, _C._grad_mode()[0]
        _set_grad(bool(mode))

    def __call__(self, function):
        _set_grad(self.prev)
        return super().__call__(function)

    def __enter__(self):
        _set_grad(bool(self.mode))

    def __exit__(self, *error):
        _set_grad(self.prev)

    def _again(self):
        return set_grad_enabled(self.mode)

    def __repr__(self):
        return f"set_grad_enabled(mode={self.mode})"


class inference_mode(_Switch):
    """Within it, is_inference_mode_enabled() is True and is_grad_enabled() False."""

    def __new__(cls, mode=True):
        return object.__new__(cls) if isinstance(mode, bool) else cls()(mode)

    def __init__(self, mode=True):
        self.mode = mode if isinstance(mode, bool) else True

    def __enter__(self):
        self._before = _C._grad_mode()
        _C._set_grad_mode(not self.mode, self.mode)

    def __exit__(self, *error):
        _C._set_grad_mode(*self._before)

    def _again(self):
        return inference_mode(self.mode)


def is_grad_enabled():
    """True, unless a program has switched gradients off. There are none either way."""
    return _C._grad_mode()[0]


def is_inference_mode_enabled():
    return _C._grad_mode()[1]


class set_detect_anomaly:
    """Kept, and does nothing: there is no backward pass to watch."""

    def __init__(self, mode, check_nan=True):
        self._before = _state["anomaly"], _state["anomaly checks nan"]
        _state["anomaly"], _state["anomaly checks nan"] = bool(mode), check_nan

    def __enter__(self):
        pass

    def __exit__(self, *error):
        _state["anomaly"], _state["anomaly checks nan"] = self._before


class detect_anomaly(set_detect_anomaly):
    """set_detect_anomaly(True) within a `with` statement."""

    def __init__(self, check_nan=True):
        super().__init__(True, check_nan)


def is_anomaly_enabled():
    return _state["anomaly"]


def is_anomaly_check_nan_enabled():
    return _state["anomaly checks nan"]


def set_anomaly_enabled(mode, check_nan=True):
    _state["anomaly"], _state["anomaly checks nan"] = bool(mode), check_nan


def grad(
    outputs,
    inputs,
    grad_outputs=None,
    retain_graph=None,
    create_graph=False,
    only_inputs=True,
    allow_unused=None,
    is_grads_batched=False,
    materialize_grads=False,
):
    """raises: RuntimeError; weft computes no gradients."""
    raise RuntimeError(f"{NO_GRADIENTS}: weft runs models and does not train them")


def backward(
    tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None
):
    """raises: RuntimeError; weft computes no gradients."""
    raise RuntimeError(f"{NO_GRADIENTS}: weft runs models and does not train them")


class FunctionCtx:
    """What forward() of a Function is called with."""

    needs_input_grad = ()

    def save_for_backward(self, *tensors):
        self.saved_tensors = tensors

    def save_for_forward(self, *tensors):
        self.saved_for_forward = tensors

    def mark_dirty(self, *args):
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args):
        self.non_differentiable = args

    def set_materialize_grads(self, value):
        self.materialize_grads = value


BackwardCFunction = FunctionCtx


class Function(FunctionCtx):
    """A function with a forward() of its own, which apply() calls. backward() is never called."""

    generate_vmap_rule = False

    def __init__(self, *args, **kwargs):
        raise RuntimeError(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should invoke "
            "them on the class itself: use apply()"
        )

    @staticmethod
    def forward(*args, **kwargs):
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def backward(ctx, *grad_outputs):
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    vjp = backward

    @staticmethod
    def setup_context(ctx, inputs, output):
        raise NotImplementedError("setup_context is not implemented.")

    @classmethod
    def apply(cls, *args, **kwargs):
        context = FunctionCtx()
        if cls.setup_context is Function.setup_context:
            return cls.forward(context, *args, **kwargs)
        output = cls.forward(*args, **kwargs)
        cls.setup_context(context, args, output)
        return output


InplaceFunction = Function


def once_differentiable(function):
    return function


def Variable(data, requires_grad=False, volatile=None):
    """The tensor: Variable has long been Tensor."""
    return data


__getattr__ = _absent.names(__name__)
