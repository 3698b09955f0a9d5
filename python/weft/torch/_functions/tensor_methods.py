"""Methods and attributes of tensors that are no functions of torch: shapes changed in place, tensors made beside a tensor,
what PyTorch asks of a tensor's kind, and the bookkeeping of gradients, which weft does not compute."""

import math

import weft as _weft
from weft._C import _storage_bytes
from weft._composed import shapes

from .. import _kinds
from .. import storage as _storage

_QUANTIZED = {_kinds.qint8, _kinds.quint8, _kinds.qint32, _kinds.quint4x2}
_NO_TRAINING = "weft runs models and does not train them: there are no gradients to compute"


def _size(size):
    return size if len(size) != 1 else size[0]


# ---- shapes ------------------------------------------------------------------------------------------------------


def view_as(self, other):
    """The same memory in other's shape."""
    return self.view(other.shape)


def reshape_as(self, other):
    """The elements in other's shape; a view where the strides allow."""
    return self.reshape(other.shape)


def expand_as(self, other):
    """Broadcast to other's shape, without copying."""
    return self.expand(other.shape)


def type_as(self, other):
    """In other's dtype, on its device."""
    return self.to(other.dtype) if self.device == other.device else self.to(other)


def ndimension(self):
    """How many dimensions there are."""
    return self.ndim


def hsplit(self, *sections):
    """Parts along the columns: so many, or up to each of these positions."""
    return _weft.hsplit(self, _size(sections))


def vsplit(self, *sections):
    """Parts along the rows: so many, or up to each of these positions."""
    return _weft.vsplit(self, _size(sections))


def dsplit(self, *sections):
    """Parts along the third dimension: so many, or up to each of these positions."""
    return _weft.dsplit(self, _size(sections))


def sum_to_size(self, *size):
    """The sum over the dimensions that broadcasting to this tensor's shape would stretch in a tensor of shape `size`."""
    size = list(size[0]) if len(size) == 1 and not isinstance(size[0], int) else list(size)
    return shapes.sum_to_size(self, size)


def _matrix(self, name):
    if self.ndim != 2:
        raise RuntimeError(f"tensor.{name} is a matrix's: expected 2 dimensions, got {self.ndim}")
    return self


@property
def H(self):
    """The conjugate transpose of a matrix."""
    if self.ndim == 0:
        return self
    transposed = _matrix(self, "H").transpose(0, 1)
    return transposed.conj() if self.dtype.is_complex else transposed


@property
def mH(self):
    """The conjugate transpose of the last two dimensions."""
    return shapes.mH(self)


# ---- shapes and memory, changed in place ----------------------------------------------------------------------------


def squeeze_(self, *dim, **named):
    """Without dimensions of size 1, in place."""
    return self._become_(self.squeeze(*dim, **named))


def unsqueeze_(self, dim):
    """With one more dimension of size 1, in place."""
    return self._become_(self.unsqueeze(dim))


def t_(self):
    """The two dimensions exchanged, in place."""
    if self.ndim > 2:
        raise RuntimeError(f"t_: expected at most 2 dimensions, got {self.ndim}")
    return self._become_(self.T) if self.ndim == 2 else self


def transpose_(self, dim0, dim1):
    """Two dimensions exchanged, in place."""
    return self._become_(self.transpose(dim0, dim1))


swapaxes_ = swapdims_ = transpose_


def as_strided_(self, size, stride, storage_offset=None):
    """This shape, these strides and this offset over the same memory, in place."""
    offset = self.storage_offset() if storage_offset is None else storage_offset
    return self._become_(self.as_strided(size, stride, offset))


def detach_(self):
    """The tensor itself: it has no history."""
    if self.requires_grad:
        self.requires_grad = False
    return self


def resize_(self, *sizes, memory_format=None):
    """Another shape over the memory, which grows where it is too small; what is new is 0."""
    sizes = tuple(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
    wanted = math.prod(sizes)
    have = _storage_bytes(self).numel() // self.itemsize - self.storage_offset()
    if wanted <= have:
        return self._become_(self.as_strided(sizes, _contiguous_strides(sizes), self.storage_offset()))
    grown = _weft.zeros((wanted,), dtype=self.dtype, device=self.device)
    flat = self.as_strided((max(have, 0),), (1,), self.storage_offset())
    grown[: flat.numel()].copy_(flat)
    return self._become_(grown.view(sizes))


def resize_as_(self, the_template, *, memory_format=None):
    """The shape of another tensor, as resize_."""
    return self.resize_(tuple(the_template.shape))


def resize(self, *sizes):
    """The elements in another shape of as many."""
    sizes = tuple(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
    if math.prod(sizes) != self.numel():
        raise RuntimeError(f"resize: expected a shape of {self.numel()} elements, got {list(sizes)}")
    return self.reshape(sizes)


def resize_as(self, tensor):
    """The elements in the shape of another tensor of as many."""
    return resize(self, tuple(tensor.shape))


def set_(self, source=None, storage_offset=0, size=None, stride=None):
    """Stands for another tensor, or for a view of a storage, from now on."""
    if source is None:
        return self._become_(_weft.empty((0,), dtype=self.dtype))
    if isinstance(source, _weft.Tensor) and size is None:
        if source.dtype != self.dtype:
            raise RuntimeError(f"set_: expected a tensor of {self.dtype}, got one of {source.dtype}")
        return self._become_(source.detach())
    if isinstance(source, _weft.Tensor):
        held = _storage_bytes(source)
    else:
        held = source.untyped()._bytes
    flat = held.view(self.dtype)
    size = (flat.numel() - storage_offset,) if size is None else tuple(size)
    stride = _contiguous_strides(size) if stride is None else tuple(stride)
    return self._become_(flat.as_strided(size, stride, storage_offset))


def _contiguous_strides(shape):
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


# ---- elements, changed in place -------------------------------------------------------------------------------------


def fill_diagonal_(self, fill_value, wrap=False):
    """The main diagonal set to a value; wrap: again after every square of a tall matrix."""
    return shapes.fill_diagonal_(self, fill_value, wrap)


def apply_(self, callable):
    """Each element replaced by what a Python function gives for it; slow."""
    return _mapped(self, callable)


def map_(self, tensor, callable):
    """Each element replaced by what a Python function gives for it and the other tensor's; slow."""
    return _mapped(self, callable, tensor)


def map2_(self, x, y, callable):
    """Each element replaced by what a Python function gives for it and those of two others; slow."""
    return _mapped(self, callable, x, y)


def _mapped(self, function, *others):
    columns = [each.expand(self.shape).reshape(-1).tolist() for each in (self, *others)]
    values = [function(*items) for items in zip(*columns)]
    return self.copy_(_weft.tensor(values, dtype=self.dtype).reshape(self.shape))


# ---- tensors made beside this one -----------------------------------------------------------------------------------


def _made(self, make, size, dtype, device, options):
    sizes = size if not (len(size) == 1 and hasattr(size[0], "__len__")) else size[0]
    return make(
        sizes,
        dtype=self.dtype if dtype is None else dtype,
        device=self.device if device is None else device,
        **options,
    )


def new_zeros(self, *size, dtype=None, device=None, **options):
    """Zeros of this shape, in the tensor's dtype and on its device unless told otherwise."""
    return _made(self, _weft.zeros, size or (options.pop("size"),), dtype, device, options)


def new_ones(self, *size, dtype=None, device=None, **options):
    """Ones of this shape, in the tensor's dtype and on its device unless told otherwise."""
    return _made(self, _weft.ones, size or (options.pop("size"),), dtype, device, options)


def new_empty(self, *size, dtype=None, device=None, **options):
    """A tensor of this shape that is not initialized, in the tensor's dtype and on its device unless told otherwise."""
    return _made(self, _weft.empty, size or (options.pop("size"),), dtype, device, options)


def new_full(self, size, fill_value, *, dtype=None, device=None, **options):
    """One value in this shape, in the tensor's dtype and on its device unless told otherwise."""
    return _weft.full(
        size,
        fill_value,
        dtype=self.dtype if dtype is None else dtype,
        device=self.device if device is None else device,
        **options,
    )


def new_empty_strided(self, size, stride, dtype=None, device=None, **options):
    """A tensor of this shape and these strides that is not initialized."""
    from . import making

    return making.empty_strided(
        size,
        stride,
        dtype=self.dtype if dtype is None else dtype,
        device=self.device if device is None else device,
        **options,
    )


def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False, **options):
    """A tensor of this data, in the tensor's dtype and on its device unless told otherwise."""
    return _weft.tensor(
        data,
        dtype=self.dtype if dtype is None else dtype,
        device=self.device if device is None else device,
        requires_grad=requires_grad,
    )


def new(self, *args, device=None):
    """PyTorch's older form of new_empty and new_tensor: sizes, or a sequence of numbers."""
    if len(args) == 1 and isinstance(args[0], _weft.Tensor):
        return args[0].detach()
    if len(args) == 1 and not isinstance(args[0], (int, _weft.Size)):
        return _weft.tensor(args[0], dtype=self.dtype)
    sizes = (0,) if not args else args[0] if isinstance(args[0], _weft.Size) else args
    return _weft.empty(tuple(sizes), dtype=self.dtype, device=self.device)


def as_subclass(self, cls):
    """The same tensor as an object of a subclass of Tensor."""
    if not (isinstance(cls, type) and issubclass(cls, _weft.Tensor)):
        raise TypeError(f"as_subclass: expected a subclass of Tensor, got {cls!r}")
    made = _weft.Tensor.__new__(cls)  # the class's own __new__ and __init__ may take other arguments
    _weft.Tensor.__init__(made, self)
    return made


def _make_wrapper_subclass(cls, size, *args, **kwargs):
    """An object of a program's class of tensors that wraps others: its shape, dtype and device, without elements."""
    from .. import _wrapper

    return _wrapper.make(cls, size, *args, **kwargs)


# ---- memory ---------------------------------------------------------------------------------------------------------


def untyped_storage(self):
    """The memory that the tensor is a view of."""
    return _storage.untyped_storage(self)


def storage(self):
    """The memory that the tensor is a view of, as elements of its dtype."""
    return _storage.storage(self)


def storage_type(self):
    """The class of `storage()`."""
    return _storage.TYPES.get(self.dtype, _storage.TypedStorage)


def const_data_ptr(self):
    """The address of the first element."""
    return self.data_ptr()


def is_set_to(self, tensor):
    """Are both the same view of the same memory?"""
    return (
        _storage_bytes(self).data_ptr() == _storage_bytes(tensor).data_ptr()
        and self.storage_offset() == tensor.storage_offset()
        and tuple(self.shape) == tuple(tensor.shape)
        and self.stride() == tensor.stride()
    )


def dim_order(self, ambiguity_check=False):
    """The dimensions from the one that lies widest in memory to the one that lies densest."""
    strides = self.stride()
    return tuple(sorted(range(self.ndim), key=lambda d: -strides[d]))


def is_shared(self):
    """False: no memory is shared with other processes."""
    return False


def share_memory_(self):
    """The tensor itself; weft shares no memory between processes."""
    return self


def record_stream(self, stream):
    """Nothing: there are no streams on the CPU."""


# ---- kinds of tensors -----------------------------------------------------------------------------------------------


def _never(what):
    return property(lambda self: False, doc=f"False: weft has no tensors {what}.")


is_sparse = _never("that are sparse")
is_sparse_csr = _never("that are sparse")
is_quantized = property(lambda self: self.dtype in _QUANTIZED, doc="Is it of a quantized dtype?")
is_mkldnn = _never("of oneDNN's layout")
is_nested = _never("of several shapes")
is_vulkan = _never("on such a device")
is_ipu = is_maia = is_mps = is_mtia = is_xla = is_xpu = is_vulkan
is_cpu = property(lambda self: self.device.type == "cpu", doc="Does it live in the process's memory?")
layout = property(lambda self: _kinds.strided, doc="torch.strided.")


def dense_dim(self):
    """All dimensions: none is sparse."""
    return self.ndim


def sparse_dim(self):
    """0: no dimension is sparse."""
    return 0


def to_dense(self, dtype=None, *, masked_grad=None):
    """The tensor itself, or in another dtype."""
    return self if dtype is None else self.to(dtype)


def to_sparse(self, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None):
    """The elements that are not 0, in coordinate format, CSR or CSC. NotImplementedError for other layouts."""
    if blocksize is not None or dense_dim is not None:
        raise NotImplementedError("to_sparse: weft's sparse tensors have no blocks and no dense dimensions")
    return _weft.sparse._csr.to_sparse(self, sparse_dim, layout)


def to_sparse_csr(self, dense_dim=None):
    """The elements of a matrix that are not 0, row by row."""
    return to_sparse(self, layout="sparse_csr", dense_dim=dense_dim)


def to_sparse_csc(self, dense_dim=None):
    """The same, column by column."""
    return to_sparse(self, layout="sparse_csc", dense_dim=dense_dim)


def is_coalesced(self):
    """raises: RuntimeError: only sparse tensors can be."""
    raise RuntimeError("is_coalesced: expected a sparse tensor, got a strided one")


def coalesce(self):
    """raises: RuntimeError: only sparse tensors can be."""
    raise RuntimeError("coalesce: expected a sparse tensor, got a strided one")


def chalf(self, *, memory_format=None):
    """raises: NotImplementedError: weft has no complex numbers of 32 bits."""
    raise NotImplementedError("chalf: weft has no complex numbers of 32 bits")


# ---- gradients, which weft does not compute ---------------------------------------------------------------------------


def _get_grad(self):
    return self.__dict__.get("_grad")


def _set_grad(self, value):
    if value is not None and not isinstance(value, _weft.Tensor):
        raise TypeError(f"grad: expected a tensor or None, got {type(value).__name__}")
    self.__dict__["_grad"] = value


def _delete_grad(self):
    self.__dict__.pop("_grad", None)


grad = property(
    _get_grad, _set_grad, _delete_grad, "What a program has put there: weft computes no gradients."
)
grad_fn = property(lambda self: None, doc="None: weft records no history.")
is_leaf = property(lambda self: True, doc="True: weft records no history.")
retains_grad = property(lambda self: False, doc="False: weft computes no gradients.")
output_nr = property(lambda self: 0, doc="0: weft records no history.")
grad_dtype = property(lambda self: self.dtype, doc="The dtype that a gradient would have.")
_version = property(lambda self: 0, doc="0: weft counts no changes.")
volatile = property(lambda self: False, doc="False.")
name = property(lambda self: None, doc="None: tensors have no names.")


def requires_grad_(self, requires_grad=True):
    """Sets the flag; weft computes no gradients."""
    self.requires_grad = requires_grad
    return self


def retain_grad(self):
    """Nothing: weft computes no gradients. raises: RuntimeError where the flag requires_grad is not set."""
    if not self.requires_grad:
        raise RuntimeError("retain_grad: the tensor does not have requires_grad=True")


def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    """raises: RuntimeError."""
    raise RuntimeError(_NO_TRAINING)


def register_hook(self, hook):
    """A hook of a gradient that is never computed. raises: RuntimeError where requires_grad is not set."""
    if not self.requires_grad:
        raise RuntimeError("register_hook: the tensor does not have requires_grad=True")
    return _Handle()


register_post_accumulate_grad_hook = register_hook


class _Handle:
    def remove(self):
        """Takes the hook away."""


# ---- protocols ------------------------------------------------------------------------------------------------------


def contains(self, element):
    """Is one of the elements equal to it?"""
    if not isinstance(element, (_weft.Tensor, bool, int, float, complex)):
        raise RuntimeError(f"in: expected a tensor or a number, got {type(element).__name__}")
    return (self == element).any().item()


def backwards(self):
    """The rows from the last to the first, as a tensor."""
    return self.flip(0) if self.ndim else self


def array_wrap(self, array, context=None, return_scalar=False):
    """What NumPy's functions make of a tensor, as a tensor."""
    return _weft.from_numpy(array) if array.ndim else _weft.tensor(array)


def index(self, positions, dims):
    """The tensor indexed at some of its dimensions, counted around: dims[i] at the dimension positions[i]; True there is a
    new one. A number for several dimensions counts their elements, the last one's first."""
    if not isinstance(dims, (list, tuple)) and isinstance(positions, (list, tuple)):
        sizes = [self.shape[position % self.ndim] for position in positions]
        dims = [dims // math.prod(sizes[at + 1 :]) % size for at, size in enumerate(sizes)]
    positions = positions if isinstance(positions, (list, tuple)) else (positions,)
    dims = dims if isinstance(dims, (list, tuple)) else (dims,)
    found = [slice(None)] * self.ndim
    for position, chosen in sorted(
        zip(positions, dims), key=lambda pair: pair[0] % max(self.ndim, 1), reverse=True
    ):
        if chosen is True:
            found.insert(position, None)
        else:
            found[position % max(self.ndim, 1)] = chosen
    return self[tuple(found)]
