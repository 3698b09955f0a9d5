"""Tensors that a Module keeps: parameters, buffers, and those whose shape the first call decides."""

import abc

import weft


def _with_flag(text, requires_grad):
    """The text of a tensor, which says that gradients are wanted where they are."""
    if not requires_grad or "requires_grad" in text or not text.endswith(")"):
        return text
    flag, last = "requires_grad=True)", text.rpartition("\n")[2]
    separator = ", " if len(last) + len(flag) + 1 <= 80 else ",\n" + " " * len("tensor(")
    return text[:-1] + separator + flag


class PackedWeight(metaclass=abc.ABCMeta):  # noqa: B024
    """A weight that is several tensors, or has elements of another form: a base of classes with __weft_operator__. nn.Parameter
    gives it as it is, and modules list it among their parameters.

    Classes have shape, dtype, device, to() and what else programs ask of a weight.
    """

    requires_grad = False
    grad = grad_fn = None
    is_leaf = True
    is_sparse = is_nested = is_quantized = is_cuda = is_meta = False

    @property
    def ndim(self):
        return len(self.shape)

    def dim(self):
        return len(self.shape)

    def size(self, dim=None):
        return self.shape if dim is None else self.shape[dim]

    def numel(self):
        return weft.Size(self.shape).numel()

    def is_floating_point(self):
        return self.dtype.is_floating_point

    def is_complex(self):
        return self.dtype.is_complex

    @property
    def data(self):
        return self

    def detach(self):
        return self

    def requires_grad_(self, requires_grad=True):
        """weft computes no gradients."""
        return self


class Parameter(weft.Tensor):
    """A tensor that a Module lists among its parameters when it is assigned as an attribute. Of a PackedWeight, that itself.

    data: the tensor whose memory it shares; none stands for an empty one.
    requires_grad: kept as a flag; weft computes no gradients.
    """

    __slots__ = (
        "_weft_requires_grad",
    )  # beside __dict__, which has what programs put there and nothing else
    _is_module_tensor = True  # printed as a tensor

    def __new__(cls, data=None, *args, **kwargs):
        return data if isinstance(data, PackedWeight) else super().__new__(cls)

    def __init__(self, data=None, requires_grad=True):
        if data is None:
            data = weft.empty((0,))
        if not isinstance(data, weft.Tensor):
            raise TypeError(f"Parameter: expected a tensor, got {type(data).__name__}")
        super().__init__(data)
        self._weft_requires_grad = bool(requires_grad)

    @property
    def requires_grad(self):
        return self._weft_requires_grad

    @requires_grad.setter
    def requires_grad(self, value):
        self._weft_requires_grad = bool(value)

    def requires_grad_(self, requires_grad=True):
        """Sets the flag; weft computes no gradients."""
        self._weft_requires_grad = bool(requires_grad)
        return self

    def __repr__(self):
        return "Parameter containing:\n" + _with_flag(super().__repr__(), self._weft_requires_grad)

    def __deepcopy__(self, memo):
        result = type(self)(self.clone(), self._weft_requires_grad)
        memo[id(self)] = result
        return result

    def __reduce_ex__(self, protocol):
        return type(self), (self.detach(), self._weft_requires_grad)


class Buffer(weft.Tensor):
    """A tensor that a Module lists among its buffers when it is assigned as an attribute.

    persistent: it is in state_dict().
    """

    _is_module_tensor = True

    def __init__(self, data=None, *, persistent=True):
        if data is None:
            data = weft.empty((0,))
        if not isinstance(data, weft.Tensor):
            raise TypeError(f"Buffer: expected a tensor, got {type(data).__name__}")
        super().__init__(data)
        self.persistent = bool(persistent)

    def __deepcopy__(self, memo):
        result = type(self)(self.clone(), persistent=self.persistent)
        memo[id(self)] = result
        return result

    def __reduce_ex__(self, protocol):
        return _rebuild_buffer, (self.detach(), self.persistent)


def _rebuild_buffer(data, persistent):
    return Buffer(data, persistent=persistent)


class UninitializedParameter(Parameter):
    """A parameter of a lazy module before its first call: materialize(shape) gives it memory.

    dtype: of the tensor to come.
    """

    def __init__(self, requires_grad=True, device=None, dtype=None):
        super().__init__(weft.empty((0,), dtype=dtype, device=device), requires_grad)

    def materialize(self, shape, device=None, dtype=None):
        """The parameter that takes this one's place, not initialized."""
        return Parameter(
            weft.empty(tuple(shape), dtype=dtype or self.dtype, device=device or self.device),
            self.requires_grad,
        )

    def __deepcopy__(self, memo):
        result = type(self)(self.requires_grad, dtype=self.dtype)
        memo[id(self)] = result
        return result

    def __reduce_ex__(self, protocol):
        return type(self), (self.requires_grad, None, self.dtype)

    def __repr__(self):
        return "<UninitializedParameter>"


class UninitializedBuffer(Buffer):
    """A buffer of a lazy module before its first call."""

    def __init__(self, requires_grad=False, device=None, dtype=None):
        super().__init__(weft.empty((0,), dtype=dtype, device=device))

    def __deepcopy__(self, memo):
        result = type(self)(dtype=self.dtype)
        memo[id(self)] = result
        return result

    def __reduce_ex__(self, protocol):
        return type(self), (False, None, self.dtype)

    def __repr__(self):
        return "<UninitializedBuffer>"


def is_lazy(param):
    """Does the first call still have to decide the shape?"""
    return isinstance(param, (UninitializedParameter, UninitializedBuffer))


# What both of the uninitialized ones are, for isinstance.
UninitializedTensorMixin = (UninitializedParameter, UninitializedBuffer)
